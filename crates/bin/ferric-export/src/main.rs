//! The program `ferric-export`, which `ferric export` runs: an xApp that writes KPM records to files and databases.

#![forbid(unsafe_code)]

mod arguments;
mod files;
mod influx;
#[cfg(feature = "parquet")]
mod parquet;
mod sink;
#[cfg(feature = "sqlite")]
mod sqlite;
mod text;
mod text_file;

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Parser;
use ferric::xapp::{Batch, Error, KpmStream, Ric, XappConfig};
use program::{LogLevel, signals};
use tracing::{info, warn};

use arguments::Args;
use sink::Sink;

/// How long one read waits: so often the time limit, signals and what is due in the sink are looked at.
const TICK: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    let args = Args::parse();
    program::init_log(args.log, LogLevel::Info, LogLevel::Info);
    program::exit_code("ferric export", run(&args))
}

fn run(args: &Args) -> anyhow::Result<()> {
    args.check()?;
    // what is wrong with the destination is reported before anything is asked of the RIC
    let mut sink = sink::open(args)?;
    let stop = signals::flag_on_signal()?;
    let mut config = XappConfig::default();
    config.link.tls = args.tls.load(None)?;
    let options = Ric::options().name("export").config(config);
    let ric = match &args.ric {
        Some(address) => options.address(address),
        None => options,
    }
    .connect()?;
    let mut stream = args.request(&ric)?.every(args.period_ms)?;
    info!(to = %args.to, measurements = args.measurements.join(","), period_ms = args.period_ms, "exporting");
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
    let is_over = || stop.load(Ordering::Acquire) || end.is_some_and(|end| Instant::now() >= end);
    let ended = transfer(&mut stream, &mut *sink, args.records, is_over);
    let dropped_by_ric = ric.dropped().unwrap_or(0);
    // what is buffered is written even if the session has failed
    let closed = sink.close();
    let counts = closed.counts;
    let by_stream = stream.lost();
    info!(
        written = counts.written,
        lost = counts.lost + by_stream,
        lost_by_sink = counts.lost,
        lost_by_stream = by_stream,
        reports_dropped_by_ric = dropped_by_ric,
        refusals = stream.refusals(),
        "export ended"
    );
    closed.result?;
    ended?;
    if counts.lost + by_stream > 0 {
        bail!(
            "{} records were lost: {} by the destination, {by_stream} because it was slower than the records",
            counts.lost + by_stream,
            counts.lost
        );
    }
    if dropped_by_ric > 0 {
        bail!("the RIC dropped {dropped_by_ric} reports because this xApp reads too slowly");
    }
    Ok(())
}

/// Moves records until the limit, the end of the session, or `is_over`.
fn transfer(
    stream: &mut KpmStream,
    sink: &mut dyn Sink,
    most_records: Option<u64>,
    is_over: impl Fn() -> bool,
) -> anyhow::Result<()> {
    let mut batch = Batch::default();
    let mut left = most_records.unwrap_or(u64::MAX);
    let mut refusals = 0;
    while left > 0 && !is_over() {
        match stream.next_batch(&mut batch, Some(TICK)) {
            Ok(true) => {
                let rows = batch.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                left -= rows as u64;
                sink.write(&batch, rows).context("cannot export")?;
            }
            Ok(false) => bail!("the session with the RIC has ended"),
            Err(Error::Timeout { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        if stream.refusals() > refusals {
            refusals = stream.refusals();
            warn!(refusals, "nodes have refused the measurements: their records are missing");
        }
        if !sink.tick().context("cannot export")? {
            break;
        }
    }
    Ok(())
}
