//! xApps of the O-RAN reference platform: the relay over RMR beside those of other xApps, and subscriptions by REST.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use e2ap::RanFunctionId;
use e2sm::{Wire, mac};
use ferric::link::{Address, Config, Events, Interest, Poll};
use ferric::xapp::{Xapp, XappConfig, XappEvent};
use hdrhistogram::Histogram;
use rest::client::{Client, ClientConfig};
use rmr::MessageType;
use serde::Serialize;

use crate::oran_xapp::{
    Instance, RmrLinks, SUBSCRIPTIONS, SubscriptionRequest, connected_nodes, receive_notifications,
};
use crate::part::{self, Agents, AgentsCount, Encoding, Part};
use crate::process::RicProcess;
use crate::relay::{Load, RicShape, Run, XappsOn, through_ric};
use crate::{Host, latency_histogram, median};

/// The options of `ferric ric` for these xApps.
pub(crate) const OPTIONS: [&str; 4] = ["--rmr", "tcp://127.0.0.1:0", "--oran-rest", "127.0.0.1:0"];
const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// The xApps of the rows of subscriptions.
const XAPPS: [usize; 2] = [1, 100];
/// E2 nodes of these rows, and UEs of each.
const AGENTS: u16 = 10;
const UES: u16 = 8;
/// Subscriptions that are requested per second.
const REQUESTS_PER_S: u32 = 100;
/// The periods of the xApps' reports. Each differs, so that no two subscriptions are one.
const FIRST_PERIOD_MS: u32 = 100;
/// The periods of the subscriptions that are measured, which end before their first report.
const MEASURED_PERIOD_MS: u32 = 60_000;
const PATIENCE: Duration = Duration::from_secs(10);

/// The result of `ferric bench oran`: medians of repetitions, which alternate.
#[derive(Clone, Debug, Serialize)]
pub struct OranReport {
    /// The relay to one xApp, by number of nodes.
    pub relay: Vec<OranRelayRow>,
    /// Subscriptions by REST, by number of xApps.
    pub subscriptions: Vec<OranSubscriptionRow>,
    /// The host of the measurement.
    pub host: Host,
}

/// The RIC as a relay over RMR, beside that to an xApp of ferric and to one of FlexRIC, all over TCP.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OranRelayRow {
    /// Number of nodes, each with three indications of 4,285 octets per millisecond.
    pub nodes: usize,
    /// Indications that the xApp over RMR received, in all repetitions.
    pub indications: u64,
    /// Indications lost in all cases.
    pub lost: u64,
    /// The relay over RMR.
    pub rmr: OranRelay,
    /// The relay to an xApp of ferric.
    pub native: OranRelay,
    /// The relay to an xApp over E42.
    pub e42: OranRelay,
    /// The processor time over RMR divided by that to an xApp of ferric: the median of the ratios of each repetition.
    pub ratio_to_native: f64,
    /// The same, divided by that over E42.
    pub ratio_to_e42: f64,
}

/// A relay.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OranRelay {
    /// Processor time of the RIC per indication.
    pub cpu_us: f64,
    /// Median time from a node's write to the xApp's read.
    pub p50_us: f64,
    /// The 99th percentile of it.
    pub p99_us: f64,
}

/// Subscriptions by the REST interface of the subscription manager, each of which a node sets up.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OranSubscriptionRow {
    /// xApps that are connected over RMR and receive reports by a subscription of their own.
    pub xapps: usize,
    /// E2 nodes, which are agents of this project.
    pub agents: u16,
    /// Requests to subscribe, in all repetitions.
    pub requests: u64,
    /// Requests that were refused, or whose subscription a node did not set up.
    pub failures: u64,
    /// Indications that the xApps received meanwhile.
    pub indications: u64,
    /// The time from the planned instant of a request to the answer 201 with the id of the subscription.
    pub answer_ms: Percentiles,
    /// The time from the same instant to the notification that the node has set it up.
    pub notification_ms: Percentiles,
}

/// Percentiles of a time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Percentiles {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Percentiles {
    fn of_ms(times_ns: &Histogram<u64>) -> Self {
        let ms = |ns: u64| ns as f64 / 1e6;
        let [p50, p99] = [0.5, 0.99].map(|quantile| ms(times_ns.value_at_quantile(quantile)));
        Percentiles { p50, p99, max: ms(times_ns.max()) }
    }
}

/// Measures the services for xApps of the O-RAN reference platform with the program `ferric`.
///
/// # Errors
/// If a process cannot be started or does not answer.
pub fn oran(ferric: &Path, repetitions: usize, seconds: f64) -> anyhow::Result<OranReport> {
    let loads = [Load::staggered(1), Load::synchronized(16)];
    let relay =
        loads.into_iter().map(|load| relay_row(ferric, load, repetitions, seconds)).collect::<Result<_, _>>()?;
    let mut runs = XAPPS.map(|_| Requests::new());
    for _ in 0..repetitions {
        for (xapps, runs) in XAPPS.into_iter().zip(&mut runs) {
            subscribe_beside(ferric, xapps, seconds, runs)?;
        }
    }
    let row = |(xapps, requests): (usize, &Requests)| OranSubscriptionRow {
        xapps,
        agents: AGENTS,
        requests: requests.sent,
        failures: requests.failures,
        indications: requests.indications,
        answer_ms: Percentiles::of_ms(&requests.answers_ns),
        notification_ms: Percentiles::of_ms(&requests.notifications_ns),
    };
    let subscriptions = XAPPS.into_iter().zip(&runs).map(row).collect();
    Ok(OranReport { relay, subscriptions, host: Host::current() })
}

fn relay_row(ferric: &Path, load: Load, repetitions: usize, seconds: f64) -> anyhow::Result<OranRelayRow> {
    let mut runs = [const { Vec::new() }; 3];
    for _ in 0..repetitions {
        for (xapps_on, runs) in [XappsOn::Rmr, XappsOn::Tcp, XappsOn::E42].into_iter().zip(&mut runs) {
            runs.push(through_ric(ferric, load, RicShape::with_xapp_on(xapps_on), seconds)?);
        }
    }
    let of = |runs: &[Run], value: fn(&Run) -> f64| median(runs.iter().map(value).collect());
    let relay = |runs: &[Run]| OranRelay {
        cpu_us: of(runs, |run| run.cpu_us),
        p50_us: of(runs, |run| run.p50_us),
        p99_us: of(runs, |run| run.p99_us),
    };
    let [rmr, native, e42] = &runs;
    let ratio = |others: &[Run]| median(rmr.iter().zip(others).map(|(of, other)| of.cpu_us / other.cpu_us).collect());
    Ok(OranRelayRow {
        nodes: load.nodes,
        indications: rmr.iter().map(|run| run.received).sum(),
        lost: runs.iter().flatten().map(|run| run.sent - run.received).sum(),
        rmr: relay(rmr),
        native: relay(native),
        e42: relay(e42),
        ratio_to_native: ratio(native),
        ratio_to_e42: ratio(e42),
    })
}

/// The interfaces of a RIC for these xApps.
#[derive(Clone)]
pub(crate) struct Platform {
    rest: String,
    rmr: Address,
}

impl Platform {
    /// Returns those of a RIC with [`OPTIONS`].
    pub fn of(ric: &RicProcess) -> Option<Self> {
        Some(Platform { rest: ric.oran_rest.clone()?, rmr: ric.rmr.clone()? })
    }

    /// A client of the REST interfaces.
    pub fn client(&self) -> anyhow::Result<Client> {
        Ok(Client::new(&ClientConfig { timeout: PATIENCE, ..ClientConfig::new(&self.rest) })?)
    }

    /// The names of the nodes that are connected.
    pub fn nodes(&self) -> anyhow::Result<Vec<String>> {
        Ok(connected_nodes(&self.client()?)?.into_iter().map(|node| node.name).collect())
    }

    /// The connections of a further xApp.
    pub fn links(&self) -> anyhow::Result<RmrLinks> {
        RmrLinks::start(&self.rmr, HOST, &Config::default())
    }

    /// A server that passes each outcome of a subscription to `sink`.
    pub fn outcomes(&self, sink: impl Fn(Instance) + Send + Sync + 'static) -> anyhow::Result<rest::Server> {
        receive_notifications(HOST, move |notification| notification.instances.into_iter().for_each(&sink))
    }
}

/// A subscription.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub number: u16,
    pub node: &'a str,
    pub function: RanFunctionId,
    pub event_trigger: &'a [u8],
}

/// Requests a subscription, whose outcome is notified. Returns its id.
pub(crate) fn subscribe(
    client: &Client,
    wanted: Wanted<'_>,
    outcomes: &rest::Server,
    rmr_port: u16,
) -> anyhow::Result<String> {
    let Wanted { number, node, function, event_trigger } = wanted;
    let http_port = outcomes.address().port();
    let request =
        SubscriptionRequest { number, node, function, event_trigger, action: &[], host: HOST, http_port, rmr_port };
    let response = client.request("POST", SUBSCRIPTIONS, Some(&request.document()))?;
    ensure!(response.status == 201, "POST {SUBSCRIPTIONS}: status {}: {:?}", response.status, response.detail());
    response.body["SubscriptionId"].as_str().map(str::to_owned).context("a subscription without an id")
}

/// What became of requests.
struct Requests {
    sent: u64,
    failures: u64,
    indications: u64,
    answers_ns: Histogram<u64>,
    notifications_ns: Histogram<u64>,
}

impl Requests {
    fn new() -> Self {
        let (answers_ns, notifications_ns) = (latency_histogram(), latency_histogram());
        Requests { sent: 0, failures: 0, indications: 0, answers_ns, notifications_ns }
    }
}

/// Requests subscriptions for `seconds` of a RIC with `xapps` xApps that receive reports. Each is deleted once its outcome is notified.
fn subscribe_beside(ferric: &Path, xapps: usize, seconds: f64, requests: &mut Requests) -> anyhow::Result<()> {
    let ric = RicProcess::start(ferric, &OPTIONS)?;
    let platform = Platform::of(&ric).context("the RIC has no interfaces for these xApps")?;
    let load = part::Load::Mac;
    let agents =
        Agents { ric: ric.e2.to_string(), nodes: AGENTS, ues: UES, load, encoding: Encoding::Per, stages: false };
    let mut agents = Part::Agents(agents).start()?;
    let deadline = Instant::now() + PATIENCE;
    while part::ask::<AgentsCount>(&mut agents)?.up < u64::from(AGENTS) {
        ensure!(Instant::now() < deadline, "the agents are not set up within {} s", PATIENCE.as_secs());
        thread::sleep(Duration::from_millis(10));
    }
    let (function, nodes) = (mac_function(&ric.xapp)?, platform.nodes()?);
    ensure!(nodes.len() == usize::from(AGENTS), "the RIC lists {} nodes in place of {AGENTS}", nodes.len());
    let client = platform.client()?;
    let (sender, notified) = mpsc::channel();
    let outcomes = platform.outcomes(move |outcome| {
        // the receiver exists, unless the measurement has failed
        let _ = sender.send((outcome, Instant::now()));
    })?;
    let readers = Readers::start((0..xapps).map(|_| platform.links()).collect::<Result<_, _>>()?)?;
    let subscribe = |number: u16, period_ms: u32| {
        let mut event_trigger = Vec::new();
        mac::EventTriggerDefinition { period_ms }.encode(Wire::Per, &mut event_trigger)?;
        let node = &nodes[usize::from(number) % nodes.len()];
        let wanted = Wanted { number, node, function, event_trigger: &event_trigger };
        subscribe(&client, wanted, &outcomes, readers.ports[usize::from(number) % xapps])
    };
    for xapp in 0..xapps as u16 {
        subscribe(xapp, FIRST_PERIOD_MS + u32::from(xapp))?;
        let (outcome, _) = next_outcome(&notified, xapp)?;
        ensure!(outcome.error.is_empty(), "a node does not report: {}", outcome.error);
    }
    let deadline = Instant::now() + PATIENCE;
    while readers.served() < xapps {
        ensure!(Instant::now() < deadline, "{} of {xapps} xApps receive reports", readers.served());
        thread::sleep(Duration::from_millis(10));
    }
    let before = readers.indications();
    let (begin, period) = (Instant::now(), Duration::from_secs(1) / REQUESTS_PER_S);
    let count = (seconds * f64::from(REQUESTS_PER_S)).ceil() as u16;
    for at in 0..count {
        let planned = begin + u32::from(at) * period;
        thread::sleep(planned.saturating_duration_since(Instant::now()));
        let number = xapps as u16 + at;
        requests.sent += 1;
        let Ok(id) = subscribe(number, MEASURED_PERIOD_MS + u32::from(at)) else {
            requests.failures += 1;
            continue;
        };
        requests.answers_ns += planned.elapsed().as_nanos() as u64;
        let (outcome, moment) = next_outcome(&notified, number)?;
        if outcome.error.is_empty() {
            requests.notifications_ns += moment.saturating_duration_since(planned).as_nanos() as u64;
        } else {
            requests.failures += 1;
        }
        let deleted = client.request("DELETE", &format!("{SUBSCRIPTIONS}/{id}"), None)?;
        ensure!(deleted.is_success(), "DELETE {SUBSCRIPTIONS}/{id}: status {}", deleted.status);
    }
    requests.indications += readers.indications() - before;
    readers.stop()
}

/// Waits for the outcome of a subscription.
fn next_outcome(notified: &Receiver<(Instance, Instant)>, number: u16) -> anyhow::Result<(Instance, Instant)> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match notified.recv_timeout(left) {
            Ok((outcome, moment)) if outcome.number == number => return Ok((outcome, moment)),
            Ok(_) => {}
            Err(_) => bail!("the outcome of a subscription is not notified within {} s", PATIENCE.as_secs()),
        }
    }
}

/// The function of the agents that reports of MAC.
fn mac_function(ric: &Address) -> anyhow::Result<RanFunctionId> {
    let mut xapp = Xapp::connect(ric, "bench", XappConfig { reconnect: None, ..XappConfig::default() })?;
    let deadline = Instant::now() + PATIENCE;
    let mut found = None;
    while found.is_none() && Instant::now() < deadline {
        xapp.poll(Some(Duration::from_millis(100)), |event, _| {
            if let XappEvent::NodeUp(node) = event {
                let mac = node.functions.iter().find(|known| mac::MODEL.wire_of(&known.oid) == Some(Wire::Per));
                found = found.or(mac.map(|known| known.id));
            }
        })?;
    }
    found.context("no node reports of MAC")
}

/// xApps that count what they receive, on one thread.
struct Readers {
    /// Where each receives indications.
    ports: Vec<u16>,
    counts: Arc<Counts>,
    thread: JoinHandle<anyhow::Result<()>>,
}

/// What the xApps have received.
struct Counts {
    is_over: AtomicBool,
    /// Indications, by xApp.
    indications: Vec<AtomicU64>,
}

impl Readers {
    fn start(mut xapps: Vec<RmrLinks>) -> anyhow::Result<Self> {
        let ports = xapps.iter().map(RmrLinks::port).collect();
        let indications = xapps.iter().map(|_| Default::default()).collect();
        let counts = Arc::new(Counts { is_over: AtomicBool::new(false), indications });
        let poll = Poll::new()?;
        for (at, xapp) in xapps.iter().enumerate() {
            poll.add(xapp, at as u64, Interest::READ)?;
        }
        let of_thread = Arc::clone(&counts);
        let thread = thread::spawn(move || {
            let mut events = Events::new();
            while !of_thread.is_over.load(Ordering::Acquire) {
                poll.wait(&mut events, Some(Duration::from_millis(50)))?;
                for event in events.iter() {
                    let (xapp, count) =
                        (&mut xapps[event.token as usize], &of_thread.indications[event.token as usize]);
                    xapp.receive(Duration::ZERO, |message| {
                        if message.kind == MessageType::INDICATION {
                            count.fetch_add(1, Ordering::Relaxed);
                        }
                    })?;
                }
            }
            Ok(())
        });
        Ok(Readers { ports, counts, thread })
    }

    /// xApps that have received an indication.
    fn served(&self) -> usize {
        self.counts.indications.iter().filter(|count| count.load(Ordering::Relaxed) > 0).count()
    }

    fn indications(&self) -> u64 {
        self.counts.indications.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    fn stop(self) -> anyhow::Result<()> {
        self.counts.is_over.store(true, Ordering::Release);
        self.thread.join().map_err(|_| anyhow!("the xApps panicked"))?
    }
}

impl fmt::Display for OranReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({} cores, Linux {})\n", self.host.cpu, self.host.cores, self.host.kernel)?;
        writeln!(f, "The relay to an xApp over RMR, of ferric, and over E42; processor time in us per indication")?;
        writeln!(
            f,
            "  {:>5} {:>11} {:>5} {:>7} {:>7} {:>7} {:>10} {:>7} {:>15} {:>15} {:>15}",
            "nodes",
            "indications",
            "lost",
            "RMR",
            "native",
            "E42",
            "RMR/native",
            "RMR/E42",
            "RMR p50, p99",
            "native",
            "E42"
        )?;
        for row in &self.relay {
            let times = |of: &OranRelay| format!("{:.0}, {:.0}", of.p50_us, of.p99_us);
            writeln!(
                f,
                "  {:>5} {:>11} {:>5} {:>7.2} {:>7.2} {:>7.2} {:>10.2} {:>7.2} {:>15} {:>15} {:>15}",
                row.nodes,
                row.indications,
                row.lost,
                row.rmr.cpu_us,
                row.native.cpu_us,
                row.e42.cpu_us,
                row.ratio_to_native,
                row.ratio_to_e42,
                times(&row.rmr),
                times(&row.native),
                times(&row.e42)
            )?;
        }
        writeln!(f, "\nSubscriptions by REST, {REQUESTS_PER_S} per second, {AGENTS} nodes; ms")?;
        writeln!(
            f,
            "  {:>5} {:>8} {:>8} {:>11} {:>24} {:>24}",
            "xApps", "requests", "failures", "indications", "answer p50, p99, max", "notified p50, p99, max"
        )?;
        for row in &self.subscriptions {
            let times = |of: Percentiles| format!("{:.2}, {:.2}, {:.2}", of.p50, of.p99, of.max);
            writeln!(
                f,
                "  {:>5} {:>8} {:>8} {:>11} {:>24} {:>24}",
                row.xapps,
                row.requests,
                row.failures,
                row.indications,
                times(row.answer_ms),
                times(row.notification_ms)
            )?;
        }
        Ok(())
    }
}
