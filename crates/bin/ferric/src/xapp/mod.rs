//! `ferric xapp`

#[cfg(any(feature = "demo", feature = "xapp"))]
pub mod kpm;
#[cfg(any(feature = "demo", feature = "xapp"))]
mod kpm_report;
#[cfg(any(feature = "demo", feature = "xapp"))]
mod kpm_request;
#[cfg(any(feature = "demo", feature = "xapp"))]
mod kpm_source;
#[cfg(any(feature = "demo", feature = "xapp"))]
mod kpm_v1;
#[cfg(feature = "xapp")]
mod ping;
#[cfg(feature = "xapp")]
mod rc;
#[cfg(any(feature = "demo", feature = "xapp"))]
mod table;
#[cfg(feature = "xapp")]
mod tc;
#[cfg(any(feature = "demo", feature = "xapp", feature = "top"))]
pub mod ues;

use std::time::{Duration, Instant};

use anyhow::Context;
use ferric::link::Address;
#[cfg(feature = "xapp")]
use ferric::record::Protocol;
use ferric::xapp::{Xapp, XappConfig};
#[cfg(any(feature = "demo", feature = "xapp"))]
use hdrhistogram::Histogram;
use tracing::warn;

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

/// Connects to a RIC as an xApp. Unless `config` excludes reconnection, it waits for a RIC that does not listen yet, for at most
/// `seconds` where they are given.
pub fn connect(ric: &Address, name: &str, config: XappConfig, seconds: Option<u32>) -> anyhow::Result<Xapp> {
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
    let mut waits = false;
    loop {
        let error = match Xapp::connect(ric, name, config.clone()) {
            Ok(xapp) => return Ok(xapp),
            Err(error) => error,
        };
        let has_time = end.is_none_or(|end| Instant::now() + RETRY < end);
        if config.reconnect.is_none() || !has_time || !error.is_absent() {
            return Err(error).with_context(|| {
                format!(
                    "cannot use the RIC at {ric} (`ferric ric` starts one and prints its address for xApps: xapp=URL)"
                )
            });
        }
        if !std::mem::replace(&mut waits, true) {
            warn!(%ric, %error, "no RIC at this address yet: waiting for it; `ferric ric` starts one");
        }
        std::thread::sleep(RETRY);
    }
}

/// The time between two attempts to connect.
const RETRY: Duration = Duration::from_millis(500);

/// An empty histogram of latencies with a relative error of at most 0.1 %.
#[cfg(any(feature = "demo", feature = "xapp"))]
fn latency_histogram() -> anyhow::Result<Histogram<u64>> {
    Histogram::new(3).context("cannot create a histogram")
}

/// The median and the 99th percentile; zeros of an empty histogram.
#[cfg(any(feature = "demo", feature = "xapp"))]
fn p50_p99(histogram: &Histogram<u64>) -> [u64; 2] {
    [0.5, 0.99].map(|quantile| histogram.value_at_quantile(quantile))
}
