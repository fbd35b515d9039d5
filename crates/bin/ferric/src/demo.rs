//! `ferric demo`

#[cfg(feature = "rest")]
use std::net::SocketAddr;
use std::thread;

use ::ran::{Ran, RanConfig};
use ::ric::RicConfig;
use anyhow::{Context, anyhow};
use ferric::link::Address;
use ferric::xapp::XappConfig;
use program::LogLevel;
#[cfg(feature = "top")]
use program::LogLines;
use tracing::level_filters::LevelFilter;

#[cfg(feature = "top")]
use crate::top::{self, Form, OutputArgs};
#[cfg(feature = "top")]
use crate::xapp::connect;
use crate::xapp::kpm;

/// Run a RIC, an emulated gNB with 32 UEs and a KPM xApp.
///
/// Uses free ports of this host, and needs no privileges and no other program.
#[derive(clap::Args)]
pub struct Args {
    /// End after N seconds. [default: run until Ctrl-C]
    #[cfg(not(feature = "top"))]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// Address for REST, such as 127.0.0.1:8080: docs/slicing-controller.md shows how to give a UE half of the cell by `curl`.
    /// [default: none]
    #[cfg(feature = "rest")]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = crate::address::rest)]
    rest: Option<SocketAddr>,
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

pub fn run(args: &Args) -> anyhow::Result<()> {
    #[cfg(feature = "top")]
    let log = top::capture_log(&args.output);
    let any_port = || Address::Tcp { host: "127.0.0.1".into(), port: 0 };
    let mut config = RicConfig::default();
    config.server.e2 = vec![any_port().into()];
    config.server.xapp = Some(any_port());
    #[cfg(feature = "rest")]
    {
        config.rest = args.rest.map(rest::ServerConfig::new);
    }
    let bound = ::ric::bind(config)?;
    #[cfg(feature = "rest")]
    if let Some(rest) = bound.rest() {
        if args.prints_lines() {
            program::outln!("rest=http://{}", rest.address());
        } else {
            tracing::warn!("REST at http://{}", rest.address());
        }
    }
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
        ran.run()
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
