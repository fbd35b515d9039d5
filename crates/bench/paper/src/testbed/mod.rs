//! A RIC with REST and an emulated RAN in this process, connected over E2, with an xApp and a client of REST.
//!
//! The model advances in steps, and pauses while controllers read, decide and control: a figure is the same on every machine
//! under any load. In live mode real programs run, and the model advances in real time; [`Punctuality`] states whether the
//! machine was fast enough.

mod clock;
mod programs;
mod punctuality;
mod rest;
mod throughput;
mod watch;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use bench::part::any_port;
use e2sm::Model;
use ferric::link::Address;
use ferric::server::ServerConfig;
use ferric::{Endpoint, StopHandle};
use radio::{CellConfig, Network};
use ran::scenario::CellScenario;
use ran::{LiveConfig, LiveCounts, Namespace, Namespaces, Ran, RanConfig, Scenario, Steps};
use ric::RicConfig;

pub(super) use programs::{Program, require};
pub(super) use punctuality::Punctuality;
pub(super) use rest::Rest;
pub(super) use throughput::Throughput;
pub(super) use watch::{Report, Watch};

/// The RAN's only node.
pub(super) const NODE: &str = "gnb-00101-e00";
/// The PLMN of the node.
pub(super) const PLMN: (u16, u16) = (1, 1);
/// The model's seconds before the measurement, in which all parts connect.
pub(super) const LEAD_S: f64 = 5.0;
/// The reporting period of the statistics that REST shows.
const STATISTICS: Duration = Duration::from_millis(100);
/// The longest time to wait for any condition.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// A slot of 30 kHz subcarrier spacing.
const SLOT: Duration = Duration::from_micros(500);

/// How the model advances.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mode<'a> {
    /// In steps, when its reports have been read; reproducible.
    Stepped,
    /// In real time, with real programs.
    Live {
        /// Ends the measurement when raised.
        is_interrupted: &'a AtomicBool,
    },
}

impl Mode<'_> {
    pub fn is_live(self) -> bool {
        matches!(self, Mode::Live { .. })
    }

    /// # Errors
    /// If the measurement is interrupted.
    fn check(self) -> anyhow::Result<()> {
        match self {
            Mode::Live { is_interrupted } if is_interrupted.load(Ordering::Relaxed) => bail!("interrupted"),
            _ => Ok(()),
        }
    }
}

/// The period of a UE's scheduling requests, as OAI's base station configured it when the paper was written.
const REQUEST_PERIOD_SLOTS: u16 = 40;

/// The cell of both experiments of section 6.1: NR, 106 PRBs of 30 kHz, TDD.
pub(super) fn cell() -> CellScenario {
    let radio = CellConfig { request_period_slots: REQUEST_PERIOD_SLOTS, ..CellConfig::default() };
    CellScenario { radio, ..CellScenario::default() }
}

/// Live mode with all UEs of a scenario as namespaces, whose names contain the process id.
fn live(scenario: &Scenario) -> LiveConfig {
    let ues = scenario.ues.len() as u16; // few
    // at most seven digits: names of devices are short
    LiveConfig { ues, prefix: format!("fig{}", std::process::id() % 10_000_000), ..LiveConfig::default() }
}

/// The namespace of programs on the core's side.
pub(super) fn core(namespaces: &Namespaces) -> &Namespace {
    namespaces
        .core
        .as_ref()
        .unwrap_or_else(|| panic!("live mode has a namespace for the core where the host is not it"))
}

/// The address of a UE in live mode, counted from 0.
pub(super) fn address_of_ue(ue: usize) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 45, 0, 2)) + ue as u32)
}

/// The addresses of a RIC.
pub(super) struct Addresses {
    /// For E2 nodes.
    pub e2: Endpoint,
    /// For xApps.
    pub xapp: Address,
    pub rest: SocketAddr,
}

/// Starts a RIC with REST on a thread.
pub(super) fn start_ric() -> anyhow::Result<(Part<()>, Addresses)> {
    start_ric_with(|_| ())
}

/// The same, with a configuration that `adapt` has changed.
pub(super) fn start_ric_with(
    adapt: impl FnOnce(&mut RicConfig) + Send + 'static,
) -> anyhow::Result<(Part<()>, Addresses)> {
    Part::start("RIC", |sender| {
        let server = ServerConfig { e2: vec![any_port().into()], xapp: Some(any_port()), ..ServerConfig::default() };
        let rest = Some(::rest::ServerConfig::new(SocketAddr::from(([127, 0, 0, 1], 0))));
        let mut config = RicConfig { server, rest, statistics_period: STATISTICS, ..RicConfig::default() };
        adapt(&mut config);
        let mut ric = ric::bind(config)?;
        let e2 = ric.server.e2_endpoints().next().context("the RIC has no address for E2")?;
        let xapp = ric.server.xapp_address().cloned().context("the RIC has no address for xApps")?;
        let rest = ric.rest().context("the RIC has no REST interface")?.address();
        let _ = sender.send((ric.server.stop_handle(), Addresses { e2, xapp, rest }));
        Ok(ric.server.run()?)
    })
}

/// A RIC and a RAN, each on a thread. They end when this is dropped.
pub(super) struct Testbed<T> {
    /// The RIC's address for xApps.
    xapp: Address,
    rest: SocketAddr,
    /// The time until which the model may advance, outside of live mode.
    steps: Steps,
    /// The namespaces of live mode.
    namespaces: Option<Namespaces>,
    ric: Part<()>,
    ran: Part<(T, Option<LiveCounts>)>,
}

impl<T: Send + 'static> Testbed<T> {
    /// Starts both. At the end, `look` reads values of the model that no base station knows, such as measurements of a UE's
    /// programs.
    pub fn start(
        scenario: Scenario,
        mode: Mode<'_>,
        look: impl FnOnce(&Network) -> T + Send + 'static,
    ) -> anyhow::Result<Self> {
        let (ric, Addresses { e2, xapp, rest }) = start_ric()?;
        let steps = Steps::default();
        let live = mode.is_live().then(|| live(&scenario));
        let of_ran = live.is_none().then(|| steps.clone());
        let (ran, namespaces) = Part::start("RAN", move |sender| {
            let mut ran =
                Ran::new(RanConfig { rics: vec![e2], scenario, live, steps: of_ran, ..RanConfig::default() })?;
            let _ = sender.send((ran.stop_handle(), ran.take_namespaces()));
            ran.run()?;
            Ok((look(&ran.network()), ran.live_counts()))
        })?;
        Ok(Testbed { xapp, rest, steps, namespaces, ric, ran })
    }

    pub fn rest(&self) -> anyhow::Result<Rest> {
        Rest::new(self.rest)
    }

    /// Starts an xApp that reads these service models.
    pub fn watch<'a>(&self, models: &'static [Model], mode: Mode<'a>) -> anyhow::Result<Watch<'a>> {
        Watch::new(&self.xapp, models, mode, &self.steps)
    }

    /// The namespaces of live mode.
    pub fn namespaces(&self) -> Option<&Namespaces> {
        self.namespaces.as_ref()
    }

    /// Ends both; returns the result of `look`, and the timing of live mode.
    pub fn end(self) -> anyhow::Result<(T, Option<Punctuality>)> {
        let (seen, counts) = self.ran.end()?;
        self.ric.end()?;
        Ok((seen, counts.as_ref().map(Punctuality::of)))
    }
}

/// A thread that runs until it is stopped.
pub(super) struct Part<T> {
    name: &'static str,
    stop: StopHandle,
    thread: Option<JoinHandle<anyhow::Result<T>>>,
}

impl<T: Send + 'static> Part<T> {
    /// Starts a thread, which sends its stop handle and its initial values.
    pub fn start<U: Send + 'static>(
        name: &'static str,
        work: impl FnOnce(mpsc::Sender<(StopHandle, U)>) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<(Self, U)> {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || work(sender))?;
        match receiver.recv() {
            Ok((stop, known)) => Ok((Part { name, stop, thread: Some(thread) }, known)),
            // the thread has ended
            Err(_) => Err(joined(name, thread).err().unwrap_or_else(|| anyhow!("the {name} ended at once"))),
        }
    }

    /// Stops it, and returns its result.
    pub fn end(mut self) -> anyhow::Result<T> {
        self.stop.stop();
        let thread = self.thread.take().unwrap_or_else(|| panic!("a part ends once"));
        joined(self.name, thread)
    }
}

fn joined<T>(name: &str, thread: JoinHandle<anyhow::Result<T>>) -> anyhow::Result<T> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).with_context(|| format!("the {name}"))
}

impl<T> Drop for Part<T> {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            // an error is of no interest any more
            let _ = thread.join();
        }
    }
}
