//! One run: the service, subscribers, a load, and what became of the notifications.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::brokers::{Arrangement, Brokers};
use super::receivers::Receivers;
use crate::process::Process;

/// How long an answer, and what is in flight at the end, is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// A broker that has delivered nothing for so long has nothing more.
const QUIET: Duration = Duration::from_secs(5);
/// The load before the measurement: each type of event comes at least once, so that every consumer has received one.
const WARM_UP: Duration = Duration::from_secs(1);
/// Subscribers that subscribe at the same time: a consumer of Kafka needs a part of a second.
const CONCURRENT: usize = 8;

/// A load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RnisLoad {
    /// The way of events.
    pub arrangement: Arrangement,
    /// Applications, each with a server of its own.
    pub subscribers: usize,
    /// Subscriptions of each of them, 1 to 8, each of another type.
    pub subscriptions: usize,
    /// Events per second, each of which meets one subscription of each subscriber.
    pub rate_per_s: u32,
    /// Subscriptions beside those, which no event meets.
    pub idle_subscriptions: u32,
}

/// What a run has shown.
#[derive(Clone, Debug)]
pub struct RnisRun {
    /// From the reception of an event by the collector to that of its notification by the subscriber: all events that were
    /// published, also those whose notifications came after the end.
    pub latencies_ns: Histogram<u64>,
    /// The same of the first subscriber, each.
    pub of_first_ns: Vec<u64>,
    /// Notifications that arrived while events were published.
    pub callbacks: u64,
    /// How long events were published.
    pub elapsed: Duration,
    /// Notifications that did not arrive within a minute after the end.
    pub lost: u64,
    /// Processor time of the service in that time, in nanoseconds.
    pub cpu_ns: u64,
    /// Resident memory of the service.
    pub rss_bytes: u64,
    /// Processor time of the broker's processes in that time, in nanoseconds.
    pub broker_cpu_ns: Option<u64>,
    /// Resident memory of the broker's processes.
    pub broker_rss_bytes: Option<u64>,
}

impl RnisRun {
    /// The mean latency in milliseconds.
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        self.latencies_ns.mean() / 1e6
    }

    /// A quantile of the latencies in milliseconds.
    #[must_use]
    pub fn quantile_ms(&self, quantile: f64) -> f64 {
        self.latencies_ns.value_at_quantile(quantile) as f64 / 1e6
    }

    /// A processor time as a number of busy processors.
    #[must_use]
    pub fn cores(&self, cpu_ns: u64) -> f64 {
        cpu_ns as f64 / self.elapsed.as_nanos() as f64
    }
}

/// One subscription of each type but that of bearers towards the core, of the application instance. Their order is that of the
/// load generator's types, their criteria are those of its bearers.
fn subscriptions(application: &str) -> Vec<Value> {
    let bearer = json!({ "qci": 9, "erabId": 5 });
    [
        ("CellChangeSubscription", "filterCriteriaAssocHo", json!({})),
        ("RabEstSubscription", "filterCriteriaQci", json!({ "qci": 9 })),
        ("RabModSubscription", "filterCriteriaQci", bearer.clone()),
        ("RabRelSubscription", "filterCriteriaQci", bearer),
        ("MeasRepUeSubscription", "filterCriteriaAssocTri", json!({})),
        ("NrMeasRepUeSubscription", "filterCriteriaNrMrs", json!({})),
        ("MeasTaSubscription", "filterCriteriaAssoc", json!({})),
        ("CaReconfSubscription", "filterCriteriaAssoc", json!({})),
    ]
    .map(|(kind, member, mut criteria)| {
        criteria["appInstanceId"] = application.into();
        json!({ "subscriptionType": kind, member: criteria })
    })
    .into()
}

/// Runs the program `ferric-rnis` under a load for a time. Brokers are needed by all arrangements but the embedded one.
///
/// # Errors
/// If a process cannot be started or does not answer, a subscription is refused, or nothing arrives.
pub fn run(program: &Path, load: RnisLoad, brokers: Option<&Brokers>, time: Duration) -> anyhow::Result<RnisRun> {
    run_watched(program, load, brokers, time, |_| ())
}

/// As [`run`], and calls `watch` with the process of the service at the beginning and at the end of the measurement.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    program: &Path,
    load: RnisLoad,
    brokers: Option<&Brokers>,
    time: Duration,
    mut watch: impl FnMut(u32),
) -> anyhow::Result<RnisRun> {
    let RnisLoad { arrangement, subscribers, .. } = load;
    let server = brokers.and_then(|brokers| brokers.server(arrangement));
    ensure!(arrangement == Arrangement::Embedded || server.is_some(), "{} is not there", arrangement.broker());
    let receivers = Receivers::start(subscribers)?;
    let mut service = start(program, load, brokers)?;
    let address = service.value("rnis")?.trim_start_matches("http://").to_owned();
    let address = address.split('/').next().unwrap_or_default();
    subscribe_all(address, &receivers, load.subscriptions)?;
    // connections are opened, pages are touched, and the members of Kafka's groups have their partitions
    service.ask("start")?;
    thread::sleep(WARM_UP);
    service.ask("stop")?;
    let not_arrived = missing(&mut service, &receivers, load)?;
    receivers.take();
    let before = receivers.total();
    watch(service.id());
    let broker_cpu_ns = server.map(|server| server.cpu_ns()).transpose()?;
    let (begun, cpu_ns) = (Instant::now(), service.cpu_ns()?);
    service.ask("start")?;
    thread::sleep(time);
    let callbacks = receivers.total() - before;
    let cpu_ns = service.cpu_ns()?.saturating_sub(cpu_ns);
    let elapsed = begun.elapsed();
    watch(service.id());
    let broker_cpu_ns = match (server, broker_cpu_ns) {
        (Some(server), Some(before)) => Some(server.cpu_ns()?.saturating_sub(before)),
        _ => None,
    };
    let (rss_bytes, broker_rss_bytes) = (service.rss_bytes()?, server.map(|server| server.rss_bytes()).transpose()?);
    service.ask("stop")?;
    let lost = missing(&mut service, &receivers, load)?.saturating_sub(not_arrived);
    let received = receivers.take();
    ensure!(!received.latencies_ns.is_empty(), "no notification has arrived");
    Ok(RnisRun {
        latencies_ns: received.latencies_ns,
        of_first_ns: received.of_first_ns,
        callbacks,
        elapsed,
        lost,
        cpu_ns,
        rss_bytes,
        broker_cpu_ns,
        broker_rss_bytes,
    })
}

fn start(program: &Path, load: RnisLoad, brokers: Option<&Brokers>) -> anyhow::Result<Process> {
    let (rate, idle) = (load.rate_per_s.to_string(), load.idle_subscriptions.to_string());
    let types = load.subscriptions.to_string();
    let url = brokers.map_or_else(|| "embedded".to_owned(), |brokers| brokers.url(load.arrangement));
    // a prefix of its own: nothing remains of an earlier run
    let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let prefix = format!("bench{}", started.as_nanos());
    let limits = ["--max-application-subscriptions", "200000", "--max-subscriptions", "200000"];
    let generator = ["--rest", "127.0.0.1:0", "--load", &rate, "--load-idle", &idle, "--load-types", &types];
    let broker = ["--broker", &url, "--broker-prefix", &prefix, "--log", "error"];
    let topology = match load.arrangement {
        Arrangement::Embedded => [].as_slice(),
        arrangement => &["--topology", arrangement.topology()],
    };
    Process::start(program, &[&generator[..], &limits, &broker, topology].concat(), 1)
}

/// Waits until nothing more arrives, and returns how many notifications of all published events have not arrived.
fn missing(service: &mut Process, receivers: &Receivers, load: RnisLoad) -> anyhow::Result<u64> {
    let patience = Instant::now() + PATIENCE;
    let (mut last, mut last_change) = (receivers.total(), Instant::now());
    loop {
        let totals: Value = serde_json::from_str(&service.ask("?")?)?;
        let published = totals["published"].as_u64().context("the service counts what it publishes")?;
        let expected = published * load.subscribers as u64;
        let arrived = receivers.total();
        if arrived != last {
            (last, last_change) = (arrived, Instant::now());
        }
        // what an external broker has is not among the service's counters
        let is_idle = totals["waiting"] == 0 && totals["inFlight"] == 0;
        let is_done = is_idle && (load.arrangement == Arrangement::Embedded || last_change.elapsed() >= QUIET);
        if arrived >= expected || is_done || Instant::now() >= patience {
            return Ok(expected.saturating_sub(arrived));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Creates the subscriptions of all subscribers.
pub(super) fn subscribe_all(address: &str, receivers: &Receivers, subscriptions_each: usize) -> anyhow::Result<()> {
    let of_subscriber = |number: usize| -> anyhow::Result<()> {
        let bodies = subscriptions(&format!("application-{number}"));
        for (kind, mut body) in bodies.into_iter().take(subscriptions_each).enumerate() {
            body["callbackReference"] = format!("http://{}/{kind}", receivers.addresses[number]).into();
            subscribe(address, &body)?;
        }
        Ok(())
    };
    let count = receivers.addresses.len();
    thread::scope(|scope| {
        let of_thread = |first| scope.spawn(move || (first..count).step_by(CONCURRENT).try_for_each(of_subscriber));
        let threads: Vec<_> = (0..CONCURRENT.min(count)).map(of_thread).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Creates a subscription.
fn subscribe(address: &str, body: &Value) -> anyhow::Result<()> {
    let (status, answer) = request(address, "POST", "/rni/v2/subscriptions", Some(body))?;
    ensure!(status == 201, "the subscription is refused: {status}: {answer}");
    Ok(())
}

/// Sends a request. Returns the status and the document of the answer.
pub(super) fn request(address: &str, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<(u16, Value)> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let (_, document) = answer.split_once("\r\n\r\n").context("an answer without a head")?;
    let document = if document.is_empty() { Value::Null } else { serde_json::from_str(document)? };
    Ok((status.context("an answer without a status")?, document))
}
