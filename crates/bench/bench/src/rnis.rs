//! The radio network information service: notifications from the reception of an event to their HTTP callbacks.
//!
//! The program `ferric-rnis` runs in a process of its own, with its load generator in the place of a RAN. The receivers of this
//! process answer its callbacks. Latencies are those of the time stamps in the notifications, which the collector sets.

mod brokers;
mod instances;
mod isolation;
mod matching;
mod receivers;
mod run;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::Host;
pub use brokers::{Arrangement, Brokers, Server, WITHOUT_BROKERS};
pub use instances::{InstanceIsolation, Step};
pub use isolation::Isolation;
pub use matching::Matching;
pub use run::{RnisLoad, RnisRun, run, run_watched};

/// The result of `ferric bench rnis`.
#[derive(Clone, Debug, Serialize)]
pub struct RnisReport {
    /// The brokers.
    pub rows: Vec<RnisRow>,
    /// What is left out, and why.
    pub not_measured: Option<&'static str>,
    /// A tenant far beyond its quota beside another one.
    pub isolation: Isolation,
    /// A step of the load of an instance with automatic dimensioning.
    pub step: Step,
    /// An overloaded instance beside another one.
    pub instances: InstanceIsolation,
    /// An event among few and many subscriptions.
    pub matching: Matching,
    /// The host of the measurement.
    pub host: Host,
}

/// A broker at a rate.
#[derive(Clone, Debug, Serialize)]
pub struct RnisRow {
    /// The broker.
    pub broker: &'static str,
    /// How its queues are arranged.
    pub topology: &'static str,
    /// Applications, each with a server of its own.
    pub subscribers: usize,
    /// Subscriptions of each of them.
    pub subscriptions: usize,
    /// Subscriptions beside those, which no event meets.
    pub idle_subscriptions: u32,
    /// Events per second, each of which meets one subscription of each subscriber.
    pub rate_per_s: u32,
    /// Callbacks per second that were received.
    pub callbacks_per_s: f64,
    /// Median time from the reception of an event by the collector to that of its notification by the subscriber.
    pub p50_ms: f64,
    /// The 99th percentile of it.
    pub p99_ms: f64,
    /// Notifications that did not arrive.
    pub lost: u64,
    /// Processor time of the service, all its threads, divided by the time.
    pub cpu_cores: f64,
    /// The same for a callback, in microseconds.
    pub cpu_us_per_callback: f64,
    /// Resident memory of the service.
    pub rss_bytes: u64,
    /// Processor time of the broker's processes, divided by the time; of the embedded one it is the service's.
    pub broker_cpu_cores: Option<f64>,
    /// Resident memory of the broker's processes.
    pub broker_rss_bytes: Option<u64>,
}

const EMBEDDED: RnisLoad = RnisLoad {
    arrangement: Arrangement::Embedded,
    subscribers: 50,
    subscriptions: 8,
    rate_per_s: 10,
    idle_subscriptions: 0,
};

const fn at(arrangement: Arrangement, rate_per_s: u32) -> RnisLoad {
    RnisLoad { arrangement, rate_per_s, ..EMBEDDED }
}

/// The rows. Those with a server are left out where there is none.
const LOADS: [RnisLoad; 9] = [
    EMBEDDED,
    at(Arrangement::Embedded, 1000),
    RnisLoad { rate_per_s: 1000, idle_subscriptions: 100_000, ..EMBEDDED },
    at(Arrangement::RabbitMqShared, 10),
    at(Arrangement::RabbitMqSubscriber, 10),
    at(Arrangement::KafkaShared, 10),
    at(Arrangement::KafkaSubscriber, 10),
    at(Arrangement::RabbitMqShared, 1000),
    at(Arrangement::RabbitMqSubscriber, 1000),
];

/// Measures the service with the program `ferric-rnis`.
///
/// # Errors
/// If a process cannot be started or does not answer.
pub fn rnis(program: &Path, seconds: f64) -> anyhow::Result<RnisReport> {
    let time = Duration::from_secs_f64(seconds);
    let brokers = Brokers::start();
    let loads = LOADS.iter().filter(|load| brokers.is_some() || load.arrangement == Arrangement::Embedded);
    let row = |load: &RnisLoad| measure(program, *load, brokers.as_ref(), time);
    Ok(RnisReport {
        rows: loads.map(row).collect::<anyhow::Result<_>>()?,
        not_measured: brokers.is_none().then_some(WITHOUT_BROKERS),
        isolation: isolation::measure(time)?,
        step: instances::step(program, time)?,
        instances: instances::isolation(program, time)?,
        matching: matching::measure()?,
        host: Host::current(),
    })
}

fn measure(program: &Path, load: RnisLoad, brokers: Option<&Brokers>, time: Duration) -> anyhow::Result<RnisRow> {
    let run = run(program, load, brokers, time)?;
    let RnisLoad { arrangement, subscribers, subscriptions, rate_per_s, idle_subscriptions } = load;
    Ok(RnisRow {
        broker: arrangement.broker(),
        topology: arrangement.topology(),
        subscribers,
        subscriptions,
        idle_subscriptions,
        rate_per_s,
        callbacks_per_s: run.callbacks as f64 / run.elapsed.as_secs_f64(),
        p50_ms: run.quantile_ms(0.5),
        p99_ms: run.quantile_ms(0.99),
        lost: run.lost,
        cpu_cores: run.cores(run.cpu_ns),
        cpu_us_per_callback: run.cpu_ns as f64 / 1e3 / run.callbacks as f64,
        rss_bytes: run.rss_bytes,
        broker_cpu_cores: run.broker_cpu_ns.map(|cpu_ns| run.cores(cpu_ns)),
        broker_rss_bytes: run.broker_rss_bytes,
    })
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

impl fmt::Display for RnisReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({} cores, Linux {})\n", self.host.cpu, self.host.cores, self.host.kernel)?;
        writeln!(
            f,
            "{} subscribers with {} subscriptions; each event meets one of each subscriber",
            EMBEDDED.subscribers, EMBEDDED.subscriptions
        )?;
        writeln!(
            f,
            "  {:<10} {:<12} {:>7} {:>9} {:>11} {:>8} {:>8} {:>5} {:>6} {:>12} {:>8} {:>12} {:>14}",
            "broker",
            "topology",
            "idle",
            "events/s",
            "callbacks/s",
            "p50 ms",
            "p99 ms",
            "lost",
            "cores",
            "us/callback",
            "RSS MiB",
            "broker cores",
            "broker RSS MiB"
        )?;
        for row in &self.rows {
            writeln!(
                f,
                "  {:<10} {:<12} {:>7} {:>9} {:>11.0} {:>8.3} {:>8.3} {:>5} {:>6.2} {:>12.1} {:>8.1} {:>12} {:>14}",
                row.broker,
                row.topology,
                row.idle_subscriptions,
                row.rate_per_s,
                row.callbacks_per_s,
                row.p50_ms,
                row.p99_ms,
                row.lost,
                row.cpu_cores,
                row.cpu_us_per_callback,
                mib(row.rss_bytes),
                row.broker_cpu_cores.map_or_else(|| "-".into(), |cores| format!("{cores:.2}")),
                row.broker_rss_bytes.map_or_else(|| "-".into(), |bytes| format!("{:.1}", mib(bytes)))
            )?;
        }
        if let Some(line) = self.not_measured {
            writeln!(f, "  {line}")?;
        }
        let Isolation { quota_per_s, offered_per_s, sent_per_s, alone_p99_ms, beside_p99_ms, ratio } = self.isolation;
        writeln!(
            f,
            "\nA tenant with a quota of {quota_per_s}/s that is offered {offered_per_s:.0}/s, beside another one"
        )?;
        writeln!(
            f,
            "  it gets {sent_per_s:.0}/s; the other's p99 alone {alone_p99_ms:.3} ms, beside it {beside_p99_ms:.3} ms, ratio {ratio:.2}"
        )?;
        writeln!(f, "\n{}\n\n{}", self.step, self.instances)?;
        let Matching { ns_of_100, ns_of_100000, ratio } = self.matching;
        writeln!(f, "\nAn event that meets ten subscriptions")?;
        writeln!(f, "  of 100: {ns_of_100:.0} ns, of 100,000: {ns_of_100000:.0} ns, ratio {ratio:.2}")
    }
}
