//! How long threads wait for a CPU: a live table, and JSON.

use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use cpu::Profile;
use cpu::latency::{Histogram, Latency, Report, Source, ThreadLatency};
use program::outln;
use serde_json::{Map, Value, json};

use crate::target::TargetArgs;

const POLL_PERIOD: Duration = Duration::from_millis(100);
const SHOW_PERIOD: Duration = Duration::from_secs(1);

/// What is measured.
#[derive(Clone, Debug, Args)]
pub struct LatencyArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// The length of the measurement, from 0.1 to 86400
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    seconds: f64,
    /// The period of the threads, against which their lateness is measured [default: found by itself]
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    period_us: Option<u64>,
    /// How waits are counted [default: by BPF, else by samples of perf_event, else by a trace of tracefs]
    #[arg(long, value_enum)]
    source: Option<SourceArg>,
    /// Print JSON, at the end
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SourceArg {
    Bpf,
    PerfEvent,
    Tracefs,
}

pub(crate) fn seconds(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|seconds| (0.1..=86400.0).contains(seconds)).ok_or("not a number from 0.1 to 86400")
}

/// Measures.
pub fn run(args: &LatencyArgs) -> anyhow::Result<()> {
    let stop = program::signals::flag_on_signal()?;
    let selection = args.target.selection(&Profile::default())?;
    let (mut latency, mut warnings) = match args.source {
        None => {
            Latency::start(selection, args.period_us).map(|(latency, warning)| (latency, Vec::from_iter(warning)))?
        }
        Some(source) => {
            let source = match source {
                SourceArg::Bpf => Source::Bpf,
                SourceArg::PerfEvent => Source::PerfEvent,
                SourceArg::Tracefs => Source::Tracefs,
            };
            (Latency::start_with(selection, args.period_us, source)?, Vec::new())
        }
    };
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    tracing::info!("measuring for {} s", args.seconds);
    let is_live = !args.json && std::io::stdout().is_terminal();
    let end = Instant::now() + Duration::from_secs_f64(args.seconds);
    let mut shown = Instant::now();
    while !stop.load(Ordering::Acquire) && Instant::now() < end {
        sleep(POLL_PERIOD.min(end.saturating_duration_since(Instant::now())));
        latency.poll()?;
        if is_live && shown.elapsed() >= SHOW_PERIOD {
            shown = Instant::now();
            show(&latency.report()?);
            outln!("");
        }
    }
    let report = latency.report()?;
    let faults = report.faults();
    if args.json {
        warnings.extend(faults.iter().cloned());
        outln!("{}", document(&report, faults.is_empty(), &warnings));
    } else {
        show(&report);
        faults.iter().for_each(|fault| tracing::warn!("{fault}"));
    }
    Ok(())
}

fn show(report: &Report) {
    outln!(
        "{:15} {:>8} {:>9} {:>6} {:>6} {:>6} {:>6} {:>6} {:>9} {:>9} {:>9}",
        "thread",
        "tid",
        "waits",
        "0-1",
        "2-3",
        "4-7",
        "8-15",
        "16-",
        "longest",
        "preempted",
        "late p99"
    );
    for thread in &report.threads {
        let kinds = [(&*thread.name, &thread.wakeup_waits), ("  preempted", &thread.preemption_waits)];
        for (index, (name, waits)) in
            kinds.into_iter().enumerate().filter(|(index, (_, waits))| *index == 0 || waits.total() > 0)
        {
            let [a, b, c, d, e] = waits.percentages();
            let rest = match index {
                0 => format!("{:>9.0} {:>9} {:>9}", thread.longest_us, thread.preempted, late(thread)),
                _ => String::new(),
            };
            outln!(
                "{:15} {:>8} {:>9} {a:>6.1} {b:>6.1} {c:>6.1} {d:>6.1} {e:>6.1} {rest}",
                program::escaped(name).to_string(),
                thread.tid,
                waits.total()
            );
        }
    }
    outln!("waits in us, shares in %; {:.1} s; host stalls: {}", report.seconds, report.stalls.count);
}

/// The lateness that 99 % of a periodic thread's activations do not exceed, as the upper end of its class.
fn late(thread: &ThreadLatency) -> String {
    let total = thread.lateness.total();
    let mut sum = 0;
    let class = thread.lateness.0.iter().position(|count| {
        sum += count;
        total > 0 && 100 * sum >= 99 * total
    });
    class.map_or("-".to_owned(), |class| format!("<{}", 2_u64 << class))
}

/// A number with three decimals.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

fn buckets(histogram: &Histogram) -> Value {
    let shares = histogram.percentages().map(|share| json!(rounded(share)));
    Value::Object(Histogram::BUCKETS.map(str::to_owned).into_iter().zip(shares).collect::<Map<_, _>>())
}

fn document(report: &Report, is_valid: bool, warnings: &[String]) -> Value {
    let thread = |thread: &ThreadLatency| {
        json!({
            "name": thread.name,
            "tid": thread.tid,
            "wakeups": thread.wakeup_waits.total(),
            "buckets_us": buckets(&thread.wakeup_waits),
            "preempted": thread.preempted,
            "preempted_buckets_us": buckets(&thread.preemption_waits),
            "stalls": thread.stalls,
            "mean_us": rounded(thread.mean_us),
            "longest_us": rounded(thread.longest_us),
            "period_us": thread.period_us.map(rounded),
            "late_us": thread.period_us.map(|_| buckets(&thread.lateness)),
        })
    };
    let stalls = &report.stalls;
    json!({
        "threads": report.threads.iter().map(thread).collect::<Vec<_>>(),
        "valid": is_valid,
        "stalls": {"count": stalls.count, "total_us": rounded(stalls.total_us), "longest_us": rounded(stalls.longest_us), "cpus": stalls.cpus.to_string()},
        "seconds": rounded(report.seconds),
        "source": report.source.name(),
        "warnings": warnings,
    })
}
