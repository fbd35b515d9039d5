//! `ferric xapp`

pub mod kpm;
mod kpm_report;
mod kpm_request;
mod kpm_source;
mod kpm_v1;
#[cfg(feature = "xapp")]
mod ping;
#[cfg(feature = "xapp")]
mod rc;
mod table;
#[cfg(feature = "xapp")]
mod tc;

use anyhow::Context;
use ferric::link::Address;
#[cfg(feature = "xapp")]
use ferric::record::Protocol;
use ferric::xapp::{Xapp, XappConfig};
use hdrhistogram::Histogram;

#[cfg(feature = "xapp")]
use crate::{record, tls};

/// Run a built-in xApp.
#[cfg(feature = "xapp")]
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    app: App,
    /// End when the connection to the RIC is lost, instead of connecting again.
    #[arg(long, global = true, display_order = 800)]
    no_reconnect: bool,
    #[command(flatten)]
    tls: tls::TlsArgs,
    #[command(flatten)]
    record: record::RecordArgs,
}

#[cfg(feature = "xapp")]
#[derive(clap::Subcommand)]
enum App {
    Kpm(kpm::Args),
    Ping(ping::Args),
    Rc(rc::Args),
    Tc(Box<tc::Args>),
}

#[cfg(feature = "xapp")]
pub fn run(args: &Args) -> anyhow::Result<()> {
    let recorder = args.record.start()?;
    let mut config = XappConfig::default();
    if args.no_reconnect {
        config.reconnect = None;
    }
    config.link.tls = args.tls.load(None)?;
    config.link.tap = recorder.as_ref().map(|recorder| recorder.tap(Protocol::Xapp));
    match &args.app {
        App::Kpm(args) => kpm::run(args, config),
        App::Ping(args) => ping::run(args, config),
        App::Rc(args) => rc::run(args, config),
        App::Tc(args) => tc::run(args, config),
    }
}

/// Connects to a RIC as an xApp.
fn connect(ric: &Address, name: &str, config: XappConfig) -> anyhow::Result<Xapp> {
    Xapp::connect(ric, name, config).with_context(|| {
        format!("cannot use the RIC at {ric} (`ferric ric` starts one and prints its address for xApps: xapp=URL)")
    })
}

/// An empty histogram of latencies with a relative error of at most 0.1 %.
fn latency_histogram() -> anyhow::Result<Histogram<u64>> {
    Histogram::new(3).context("cannot create a histogram")
}

/// The median and the 99th percentile; zeros of an empty histogram.
fn p50_p99(histogram: &Histogram<u64>) -> [u64; 2] {
    [0.5, 0.99].map(|quantile| histogram.value_at_quantile(quantile))
}
