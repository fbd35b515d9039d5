//! `ferric rnis demo`: everything in one process, with a sample edge application.

mod video;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use ferric::StopHandle;
use ferric::link::Address;
use program::signals;
use ran::scenario::{Scenario, ScenarioFolders};
use ran::{Ran, RanConfig};
use rest::{Server, ServerConfig};
use ric::RicConfig;
use rnis::api::ApiConfig;
use rnis::collector::e2::{E2Collector, E2Config};
use rnis::{Delivery, DeliveryConfig, Directory, Embedded, Service};
use tracing::level_filters::LevelFilter;

use video::{Received, VideoService};

/// The port of REST where none is given.
const DEFAULT_REST_PORT: u16 = 8092;
/// How long one wait for reports lasts.
const TICK: Duration = Duration::from_millis(50);
/// How long the end waits for notifications that are on their way.
const SETTLE: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// End after N seconds [default: run until Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// The address of the REST interface [default: 127.0.0.1:8092, or another port if it is taken]
    #[arg(long, value_name = "ADDRESS:PORT")]
    rest: Option<SocketAddr>,
}

/// The usual address for REST, if nothing listens there.
fn free_address() -> SocketAddr {
    let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
    if TcpListener::bind(at(DEFAULT_REST_PORT)).is_ok() { at(DEFAULT_REST_PORT) } else { at(0) }
}

/// A thread of a RIC or RAN.
struct Part {
    name: &'static str,
    stop: StopHandle,
    thread: JoinHandle<anyhow::Result<()>>,
}

impl Part {
    fn end(self) -> anyhow::Result<()> {
        self.stop.stop();
        self.thread.join().map_err(|_| anyhow!("the {} panicked", self.name))?
    }
}

/// Starts a RIC. Returns its addresses for nodes and xApps.
fn start_ric() -> anyhow::Result<(Part, Address, Address)> {
    let any_port = || Address::Tcp { host: "127.0.0.1".into(), port: 0 };
    let mut config = RicConfig::default();
    config.server.e2 = vec![any_port().into()];
    config.server.xapp = Some(any_port());
    let mut ric = ric::bind(config)?.server;
    let e2 = ric.e2_addresses().next().cloned().context("the RIC has no address for E2")?;
    let xapp = ric.xapp_address().cloned().context("the RIC has no address for xApps")?;
    let stop = ric.stop_handle();
    let thread = thread::Builder::new().name("ric".into()).spawn(move || Ok(ric.run()?))?;
    Ok((Part { name: "RIC", stop, thread }, e2, xapp))
}

/// Starts the emulated RAN of the demo.
fn start_ran(ric: Address) -> anyhow::Result<Part> {
    let scenario = Scenario::from_toml(include_str!("scenario.toml"), &ScenarioFolders::with_traces(Path::new("")))?;
    let config = RanConfig { rics: vec![ric.into()], scenario, ..RanConfig::default() };
    // an emulated RAN stays on the thread that creates it
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = thread::Builder::new().name("ran".into()).spawn(move || {
        let mut ran = Ran::new(config)?;
        let _ = sender.send(ran.stop_handle());
        Ok(ran.run()?)
    })?;
    match receiver.recv() {
        Ok(stop) => Ok(Part { name: "emulated RAN", stop, thread }),
        Err(_) => match thread.join().map_err(|_| anyhow!("the emulated RAN panicked"))? {
            Err(error) => Err(error),
            Ok(()) => bail!("the emulated RAN has ended"),
        },
    }
}

pub fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let interrupted = signals::flag_on_signal()?;
    let (ric, e2, xapp) = start_ric()?;
    let ran = start_ran(e2)?;

    let delivery = Delivery::start(DeliveryConfig::default())?;
    let service = Service::new(delivery, |sink| anyhow::Ok(Box::new(Embedded::new(sink)) as _))?;
    let service = Arc::new(service);
    let address = args.rest.unwrap_or_else(free_address);
    let server = Server::start(
        ServerConfig { metrics: service.metrics().clone(), ..ServerConfig::new(address) },
        rnis::api::routes(&service, &ApiConfig::default())?,
    )?;
    program::outln!("rnis={}/rni/v2", server.url());
    program::outln!("page={}/", server.url());

    // it subscribes before anything is collected, so that no event precedes it
    let mut video = VideoService::start(&server.url())?;
    let ended = Arc::new(AtomicBool::new(false));
    let collecting = {
        let (service, ended) = (Arc::clone(&service), Arc::clone(&ended));
        let mut collector = E2Collector::connect(&xapp, E2Config::default(), Arc::new(Directory::default()))?;
        thread::Builder::new().name("collector".into()).spawn(move || {
            while !ended.load(Ordering::Acquire) {
                collector.poll(Some(TICK), &*service)?;
                service.expire();
            }
            anyhow::Ok(())
        })?
    };
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
    while !interrupted.load(Ordering::Acquire) && end.is_none_or(|end| Instant::now() < end) {
        thread::sleep(TICK);
        for decision in video.take_decisions() {
            program::outln!("{decision}");
        }
    }
    // both ends see the other one go
    program::set_log_level(LevelFilter::ERROR);
    ended.store(true, Ordering::Release);
    collecting.join().map_err(|_| anyhow!("the collector panicked"))??;
    let sent = sent(&service);
    let settled = Instant::now() + SETTLE;
    while video.received().notifications < sent && Instant::now() < settled {
        thread::sleep(TICK);
    }
    let Received { notifications, p50_ms, p99_ms } = video.received();
    video.unsubscribe()?;
    ran.end()?;
    ric.end()?;
    let lost = sent.saturating_sub(notifications);
    program::outln!("notifications={notifications} lost={lost} p50_ms={p50_ms:.2} p99_ms={p99_ms:.2}");
    if lost > 0 {
        bail!("{lost} notifications did not arrive within {} s", SETTLE.as_secs());
    }
    Ok(())
}

/// Notifications that the service had for its subscribers.
fn sent(service: &Service) -> u64 {
    service.notifications()
}
