//! Instances under a supervisor: a step of the load with automatic dimensioning, and an overloaded instance beside another one.

use std::fmt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde::Serialize;
use serde_json::{Value, json};

use super::receivers::Receivers;
use super::run::{request, subscribe_all};
use crate::process::Process;

/// The resource of the supervisor.
const PATH: &str = "/rnis/v1/instances";
/// How long something is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// The 99th percentile that is to be kept, in milliseconds.
const TARGET_MS: f64 = 10.0;
/// Subscribers, and subscriptions of each of them.
const SUBSCRIBERS: usize = 50;
const SUBSCRIPTIONS: usize = 8;
/// Messages per second before and after the step.
const RATES: [u32; 2] = [100, 1000];
/// The time over which a percentile is taken.
const WINDOW: Duration = Duration::from_millis(250);
/// How long the instance runs before the step, and at least after it.
const SETTLE: Duration = Duration::from_secs(8);
const AFTER: Duration = Duration::from_secs(10);
/// Subscribers of each of the two instances, and their rates: the overloaded one is at rest in every other round.
const BESIDE_SUBSCRIBERS: usize = 10;
const QUIET_RATE: u32 = 100;
const LOUD_RATES: [u32; 2] = [1, 10_000];
/// The processors that the overloaded instance may use.
const LOUD_SHARE: f64 = 0.3;
const ROUNDS: u32 = 5;

/// A step of the load.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Step {
    /// Subscribers, and subscriptions of each.
    pub subscribers: usize,
    /// Subscriptions of each.
    pub subscriptions: usize,
    /// Messages per second before it, each of which meets one subscription of each subscriber.
    pub from_per_s: u32,
    /// Messages per second after it.
    pub to_per_s: u32,
    /// The 99th percentile that the instance is to keep.
    pub target_ms: f64,
    /// When all further windows of 0.25 s had a 99th percentile inside the target; `None`: never.
    pub back_within_s: Option<f64>,
    /// The 99th percentile before it.
    pub before_p99_ms: f64,
    /// The greatest 99th percentile of a window after it.
    pub peak_p99_ms: f64,
    /// The 99th percentile of the last half of the time after it.
    pub after_p99_ms: f64,
    /// The share before it, in processors.
    pub before_share: f64,
    /// The share at the end.
    pub after_share: f64,
    /// The notifications that the instance has dropped.
    pub dropped: u64,
}

/// An instance alone, and beside one that is offered more than its share allows: medians of rounds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct InstanceIsolation {
    /// Notifications per second of the quiet instance.
    pub quiet_per_s: u32,
    /// Notifications per second that the other one is offered.
    pub offered_per_s: u32,
    /// What its subscribers received.
    pub sent_per_s: f64,
    /// The processors that it may use.
    pub loud_share: f64,
    /// The 99th percentile of the quiet instance alone.
    pub alone_p99_ms: f64,
    /// The same beside the overloaded one.
    pub beside_p99_ms: f64,
    /// The second divided by the first.
    pub ratio: f64,
}

/// A supervisor.
struct Supervisor {
    address: String,
    _process: Process,
}

impl Supervisor {
    fn start(program: &Path, types: usize) -> anyhow::Result<Self> {
        let types = types.to_string();
        let supervisor = ["serve", "--instances", "--rest", "127.0.0.1:0", "--allow-load", "--log", "error"];
        let of_instances = ["--", "--log", "error", "--load-types", &types];
        let process = Process::start(program, &[&supervisor[..], &of_instances].concat(), 1)?;
        let address = process.value("instances")?.trim_start_matches("http://").trim_end_matches(PATH).to_owned();
        Ok(Supervisor { address, _process: process })
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let (status, answer) = request(&self.address, method, path, body)?;
        ensure!((200..300).contains(&status), "{method} {path} is answered with {status}: {answer}");
        Ok(answer)
    }

    /// Creates an instance. Returns the address where it serves.
    fn create(&self, definition: &Value) -> anyhow::Result<String> {
        let created = self.ask("POST", PATH, Some(definition))?;
        let name = created["name"].as_str().context("a name")?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if self.state(name)?["phase"] == "running" {
                return Ok(created["rest"].as_str().context("an address")?.to_owned());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("the instance `{name}` does not serve")
    }

    fn change(&self, definition: &Value) -> anyhow::Result<()> {
        let name = definition["name"].as_str().unwrap_or_default();
        self.ask("PUT", &format!("{PATH}/{name}"), Some(definition)).map(drop)
    }

    fn state(&self, name: &str) -> anyhow::Result<Value> {
        self.ask("GET", &format!("{PATH}/{name}/state"), None)
    }

    fn share(&self, name: &str) -> anyhow::Result<f64> {
        self.state(name)?["share"].as_f64().context("a share")
    }
}

/// The 99th percentile of what arrives in a time; `None` if nothing does.
fn p99_ms(receivers: &Receivers, time: Duration) -> Option<f64> {
    receivers.take();
    thread::sleep(time);
    let received = receivers.take().latencies_ns;
    (!received.is_empty()).then(|| received.value_at_quantile(0.99) as f64 / 1e6)
}

/// Measures a step of the load for `time`, at least ten seconds.
pub fn step(program: &Path, time: Duration) -> anyhow::Result<Step> {
    let supervisor = Supervisor::start(program, SUBSCRIPTIONS)?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let definition =
        |rate: u32| json!({ "name": "step", "loadPerS": rate, "p99TargetMs": TARGET_MS, "maxShare": cores });
    let receivers = Receivers::start(SUBSCRIBERS)?;
    let instance = supervisor.create(&definition(RATES[0]))?;
    subscribe_all(&instance, &receivers, SUBSCRIPTIONS)?;
    thread::sleep(SETTLE);
    let before_p99_ms = p99_ms(&receivers, Duration::from_secs(2)).context("no notification has arrived")?;
    let before_share = supervisor.share("step")?;
    let (begun, time) = (Instant::now(), time.max(AFTER));
    supervisor.change(&definition(RATES[1]))?;
    let (mut windows, mut last) = (Vec::new(), crate::latency_histogram());
    receivers.take();
    while begun.elapsed() < time {
        thread::sleep(WINDOW);
        let received = receivers.take().latencies_ns;
        if begun.elapsed() > time / 2 {
            last.add(&received)?;
        }
        // a window without a notification is outside as well
        let p99_ms = if received.is_empty() { f64::INFINITY } else { received.value_at_quantile(0.99) as f64 / 1e6 };
        windows.push((begun.elapsed(), p99_ms));
    }
    let late = windows.iter().rposition(|(_, p99_ms)| *p99_ms > TARGET_MS);
    let back_within_s = match late {
        None => Some(0.0),
        Some(at) if at + 1 == windows.len() => None,
        Some(at) => Some(windows[at].0.as_secs_f64()),
    };
    let (_, deliveries) = request(&instance, "GET", "/rnis/v1/subscriptions", None)?;
    let deliveries = deliveries["subscriptions"].as_array().context("the deliveries")?;
    Ok(Step {
        subscribers: SUBSCRIBERS,
        subscriptions: SUBSCRIPTIONS,
        from_per_s: RATES[0],
        to_per_s: RATES[1],
        target_ms: TARGET_MS,
        back_within_s,
        before_p99_ms,
        peak_p99_ms: windows.iter().map(|(_, p99_ms)| *p99_ms).filter(|p99_ms| p99_ms.is_finite()).fold(0.0, f64::max),
        after_p99_ms: last.value_at_quantile(0.99) as f64 / 1e6,
        before_share,
        after_share: supervisor.share("step")?,
        dropped: deliveries.iter().filter_map(|it| it["dropped"].as_u64()).sum(),
    })
}

/// Measures an overloaded instance beside another one.
pub fn isolation(program: &Path, time: Duration) -> anyhow::Result<InstanceIsolation> {
    let supervisor = Supervisor::start(program, 1)?;
    let loud = |rate: u32| json!({ "name": "loud", "loadPerS": rate, "maxShare": LOUD_SHARE });
    let quiet = json!({ "name": "quiet", "loadPerS": QUIET_RATE, "minShare": 0.3 });
    let [of_quiet, of_loud] = [Receivers::start(BESIDE_SUBSCRIBERS)?, Receivers::start(BESIDE_SUBSCRIBERS)?];
    for (definition, receivers) in [(&quiet, &of_quiet), (&loud(LOUD_RATES[0]), &of_loud)] {
        subscribe_all(&supervisor.create(definition)?, receivers, 1)?;
    }
    let (mut alone, mut beside, mut sent, mut loud_time) = (Vec::new(), Vec::new(), 0, Duration::ZERO);
    for round in 0..2 * ROUNDS {
        let is_loud = round % 2 == 1;
        supervisor.change(&loud(LOUD_RATES[usize::from(is_loud)]))?;
        // what still waits for the overloaded one is worked off, or its share follows the load
        thread::sleep(Duration::from_secs(1));
        let (begun, before) = (Instant::now(), of_loud.total());
        let p99_ms = p99_ms(&of_quiet, time / (2 * ROUNDS)).context("no notification has arrived")?;
        if is_loud {
            beside.push(p99_ms);
            sent += of_loud.total() - before;
            loud_time += begun.elapsed();
        } else {
            alone.push(p99_ms);
        }
    }
    let (alone_p99_ms, beside_p99_ms) = (crate::median(alone), crate::median(beside));
    let per_s = |rate: u32| rate * BESIDE_SUBSCRIBERS as u32;
    Ok(InstanceIsolation {
        quiet_per_s: per_s(QUIET_RATE),
        offered_per_s: per_s(LOUD_RATES[1]),
        sent_per_s: sent as f64 / loud_time.as_secs_f64(),
        loud_share: LOUD_SHARE,
        alone_p99_ms,
        beside_p99_ms,
        ratio: beside_p99_ms / alone_p99_ms,
    })
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Step { from_per_s, to_per_s, target_ms, before_p99_ms, peak_p99_ms, after_p99_ms, .. } = self;
        let Step { before_share, after_share, dropped, .. } = self;
        let back = self.back_within_s.map_or_else(|| "never".into(), |seconds| format!("after {seconds:.2} s"));
        writeln!(
            f,
            "An instance with automatic dimensioning, from {from_per_s} to {to_per_s} messages/s, p99 at most {target_ms} ms"
        )?;
        write!(
            f,
            "  inside again {back}; p99 before {before_p99_ms:.3} ms, peak {peak_p99_ms:.3} ms, then {after_p99_ms:.3} ms; \
             share {before_share:.2} -> {after_share:.2}; dropped {dropped}"
        )
    }
}

impl fmt::Display for InstanceIsolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InstanceIsolation { offered_per_s, sent_per_s, loud_share, alone_p99_ms, beside_p99_ms, ratio, .. } = self;
        writeln!(
            f,
            "An instance with at most {loud_share} processors that is offered {offered_per_s}/s, beside another instance"
        )?;
        write!(
            f,
            "  it sends {sent_per_s:.0}/s; the other's p99 alone {alone_p99_ms:.3} ms, beside it {beside_p99_ms:.3} ms, ratio {ratio:.2}"
        )
    }
}
