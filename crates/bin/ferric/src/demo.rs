//! `ferric demo`

#[cfg(feature = "rest")]
use std::net::SocketAddr;
use std::thread;

use ::ran::{Ran, RanConfig};
use ::ric::RicConfig;
use anyhow::{Context, anyhow};
use ferric::link::Address;
use ferric::xapp::XappConfig;

use crate::xapp::kpm;

/// Run a RIC, an emulated gNB with 32 UEs and a KPM xApp.
///
/// Uses free ports of this host, and needs no privileges and no other program. The output is that of `ferric xapp kpm`.
#[derive(clap::Args)]
pub struct Args {
    /// End after N seconds. [default: run until Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// Address for REST, such as 127.0.0.1:8080: docs/slicing-controller.md shows how to give a UE half of the cell by `curl`.
    /// [default: none]
    #[cfg(feature = "rest")]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = crate::address::rest)]
    rest: Option<SocketAddr>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
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
        program::outln!("rest=http://{}", rest.address());
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

    let kpm = kpm::Args { ric: xapp, period_ms: 500, seconds: args.seconds, ..kpm::Args::default() };
    let result = kpm::run(&kpm, XappConfig::default());

    ric_stop.stop();
    if let Ok(stop) = ran_stop {
        stop.stop();
    }
    ric.join().map_err(|_| anyhow!("the RIC panicked"))??;
    ran.join().map_err(|_| anyhow!("the RAN panicked"))??;
    result
}
