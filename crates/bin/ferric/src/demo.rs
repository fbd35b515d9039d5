//! `ferric demo`

#[cfg(feature = "virtual")]
mod virtual_networks;

#[cfg(feature = "rest")]
use std::net::SocketAddr;
use std::net::TcpListener;
use std::thread;

use ::ran::{Ran, RanConfig};
use ::ric::RicConfig;
use anyhow::{Context, anyhow};
use ferric::link::Address;
use ferric::server::DEFAULT_XAPP_PORT;
use ferric::xapp::XappConfig;
use program::LogLevel;
#[cfg(feature = "top")]
use program::LogLines;
#[cfg(feature = "rest")]
use rest::client::ClientConfig;
use tracing::level_filters::LevelFilter;

#[cfg(feature = "rest")]
use crate::positions;
#[cfg(feature = "top")]
use crate::top::{self, Form, OutputArgs};
#[cfg(feature = "top")]
use crate::xapp::connect;
use crate::xapp::kpm;

/// The port of REST where none is given.
#[cfg(feature = "rest")]
const DEFAULT_REST_PORT: u16 = 8080;

/// Run a RIC, an emulated gNB with 32 UEs and a KPM xApp.
///
/// Other xApps can connect to the RIC at the default port, 36423, if it is free. Needs no privileges and no other program.
#[derive(clap::Args)]
pub struct Args {
    /// End after N seconds. [default: run until Ctrl-C]
    #[cfg(not(feature = "top"))]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// Address for REST and the live page, such as 127.0.0.1:8080. [default: 127.0.0.1:8080, or another port if it is taken]
    #[cfg(feature = "rest")]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = crate::address::rest)]
    rest: Option<SocketAddr>,
    /// Show two operators that share a base station, each with a controller of its own, for 24 s unless --seconds is given.
    #[cfg(feature = "virtual")]
    #[cfg_attr(all(feature = "rest", feature = "top"), arg(conflicts_with_all = ["rest", "json", "plain"]))]
    #[arg(long = "virtual")]
    is_virtual: bool,
    #[cfg(feature = "top")]
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    /// The log level where none is given: on a screen, what happens is among the events.
    pub fn log_level(&self) -> LogLevel {
        #[cfg(feature = "top")]
        if self.output.form() == Form::Screen {
            return LogLevel::Info;
        }
        LogLevel::Warn
    }

    /// Whether other lines than JSON objects may be printed.
    #[cfg(any(feature = "rest", feature = "top"))]
    fn prints_lines(&self) -> bool {
        #[cfg(feature = "top")]
        return self.output.form() == Form::Plain;
        #[cfg(not(feature = "top"))]
        true
    }

    /// Runs the xApp until its end.
    fn show(&self, ric: Address, #[cfg(feature = "top")] log: Option<LogLines>) -> anyhow::Result<()> {
        #[cfg(feature = "top")]
        {
            if self.prints_lines() {
                return kpm_xapp(ric, self.output.period_ms, self.output.seconds);
            }
            let name = ric.to_string();
            let xapp = connect(&ric, "ferric-top", XappConfig::default(), None)?;
            top::show(xapp, &self.output, &name, log)
        }
        #[cfg(not(feature = "top"))]
        kpm_xapp(ric, 500, self.seconds)
    }
}

/// The xApp that prints lines.
fn kpm_xapp(ric: Address, period_ms: u32, seconds: Option<u32>) -> anyhow::Result<()> {
    kpm::run(&kpm::Args { ric, period_ms, seconds, ..kpm::Args::default() }, XappConfig::default())
}

/// The usual address for REST, if nothing listens there.
#[cfg(feature = "rest")]
fn free_rest_address() -> SocketAddr {
    let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
    if TcpListener::bind(at(DEFAULT_REST_PORT)).is_ok() { at(DEFAULT_REST_PORT) } else { at(0) }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    #[cfg(feature = "virtual")]
    if args.is_virtual {
        #[cfg(feature = "top")]
        let seconds = args.output.seconds;
        #[cfg(not(feature = "top"))]
        let seconds = args.seconds;
        return virtual_networks::run(seconds);
    }
    #[cfg(feature = "top")]
    let log = top::capture_log(&args.output);
    let at = |port| Address::Tcp { host: "127.0.0.1".into(), port };
    let mut config = RicConfig::default();
    config.server.e2 = vec![at(0).into()];
    // other xApps find the demo where they look for a RIC, unless there is one
    let is_free = TcpListener::bind(("127.0.0.1", DEFAULT_XAPP_PORT)).is_ok();
    config.server.xapp = Some(at(if is_free { DEFAULT_XAPP_PORT } else { 0 }));
    #[cfg(feature = "rest")]
    {
        config.rest = Some(rest::ServerConfig::new(args.rest.unwrap_or_else(free_rest_address)));
    }
    let bound = ::ric::bind(config)?;
    #[cfg(feature = "rest")]
    if let Some(rest) = bound.rest() {
        if args.prints_lines() {
            program::outln!("rest={}", rest.url());
            program::outln!("page={}/", rest.url());
        } else {
            tracing::warn!("page at {}/", rest.url());
        }
    }
    #[cfg(feature = "rest")]
    let page = bound.rest().map(|rest| ClientConfig::new(&rest.url()));
    let mut ric = bound.server; // REST runs until it is dropped
    let e2 = ric.e2_addresses().next().cloned().context("the RIC has no address for E2")?;
    let xapp = ric.xapp_address().cloned().context("the RIC has no address for xApps")?;
    let ran = RanConfig { rics: vec![e2.into()], ..RanConfig::default() };

    let ric_stop = ric.stop_handle();
    let ric = thread::Builder::new().name("ric".into()).spawn(move || ric.run())?;
    // an emulated RAN stays on the thread that creates it
    let (sender, receiver) = std::sync::mpsc::channel();
    let ran = thread::Builder::new().name("ran".into()).spawn(move || {
        let mut ran = Ran::new(ran)?;
        let _ = sender.send(ran.stop_handle());
        #[cfg(feature = "rest")]
        if let Some(page) = page {
            return positions::run(&mut ran, &page);
        }
        ran.run().map_err(anyhow::Error::from)
    })?;
    let ran_stop = receiver.recv();

    let result = args.show(
        xapp,
        #[cfg(feature = "top")]
        log,
    );
    // both ends see the other one go
    program::set_log_level(LevelFilter::ERROR);

    ric_stop.stop();
    if let Ok(stop) = ran_stop {
        stop.stop();
    }
    ric.join().map_err(|_| anyhow!("the RIC panicked"))??;
    ran.join().map_err(|_| anyhow!("the RAN panicked"))??;
    result
}
