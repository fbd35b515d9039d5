//! RICs that share nodes, of which one is killed: the time until its nodes report again through the others.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use e2ap::{Cause, GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionRevision, RicActionId, RicActionType};
use ferric::agent::{
    Admission, AgentLoop, AgentLoopConfig, ControllerId, FunctionContext, NodeConfig, RanFunction, RequestKey, Views,
};
use ferric::e2::{Action, Function, NodeId, SubscriptionRequest, SubscriptionSpec, Time};
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};
use ferric::{Endpoint, StopHandle};
use hdrhistogram::Histogram;
use per::Gather;
use serde::Serialize;
use testkit::Redis;

use crate::load::FUNCTION;
use crate::process::RicProcess;
use crate::{Host, latency_histogram};

const RICS: usize = 3;
/// The period of each node's reports.
const PERIOD: Duration = Duration::from_millis(20);
/// For what is awaited.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long reports are received after all nodes have moved, to find those that come twice.
const AFTERWARDS: Duration = Duration::from_secs(1);

/// The result of `ferric bench failover`.
#[derive(Clone, Debug, Serialize)]
pub struct FailoverReport {
    /// RICs that share the nodes, of which one is killed.
    pub rics: usize,
    /// Nodes.
    pub nodes: u32,
    /// The repetitions, each with RICs of their own.
    pub runs: Vec<FailoverRun>,
    /// The host of the measurement.
    pub host: Host,
}

/// A repetition. Times are counted from the signal that kills the RIC.
#[derive(Clone, Debug, Serialize)]
pub struct FailoverRun {
    /// Nodes of the RIC that was killed.
    pub moved: usize,
    /// Until xApps learn that a node has set up at another RIC.
    pub set_up_ms: Times,
    /// Until its subscription is active there.
    pub subscribed_ms: Times,
    /// Until its first report arrives from there.
    pub report_ms: Times,
    /// Reports that came twice.
    pub doubled: u64,
    /// Nodes of other RICs that have moved.
    pub moved_needlessly: usize,
}

/// Times of all nodes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Times {
    /// The median.
    pub p50: f64,
    /// The longest.
    pub max: f64,
}

impl fmt::Display for FailoverReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({} cores, Linux {})\n", self.host.cpu, self.host.cores, self.host.kernel)?;
        writeln!(
            f,
            "{} RICs share {} nodes; one is killed. Milliseconds since then, median and longest:",
            self.rics, self.nodes
        )?;
        writeln!(
            f,
            "{:>6} {:>14} {:>14} {:>14} {:>8} {:>12}",
            "moved", "set up", "subscribed", "report", "doubled", "others moved"
        )?;
        for run in &self.runs {
            let times = |Times { p50, max }: Times| format!("{p50:.0} {max:.0}");
            let (set_up, subscribed, report) = (times(run.set_up_ms), times(run.subscribed_ms), times(run.report_ms));
            let FailoverRun { moved, doubled, moved_needlessly, .. } = run;
            writeln!(f, "{moved:>6} {set_up:>14} {subscribed:>14} {report:>14} {doubled:>8} {moved_needlessly:>12}")?;
        }
        Ok(())
    }
}

/// Measures the failover of nodes with the program `ferric` and a Redis server.
///
/// # Errors
/// If there is no `redis-server`, a process cannot be started, or nodes do not report again within half a minute.
pub fn failover(ferric: &Path, nodes: u32, repetitions: usize) -> anyhow::Result<FailoverReport> {
    let runs = (0..repetitions).map(|_| run(ferric, nodes)).collect::<anyhow::Result<_>>()?;
    Ok(FailoverReport { rics: RICS, nodes, runs, host: Host::current() })
}

fn run(ferric: &Path, count: u32) -> anyhow::Result<FailoverRun> {
    let redis = Redis::start(&[]).context("there is no `redis-server` on the PATH")?;
    let mut rics = Vec::new();
    for number in 0..RICS {
        let (url, name) = (redis.url(), format!("ric-{number}"));
        rics.push(RicProcess::start(ferric, &["--peers", &url, "--peer-name", &name])?);
    }
    // each of them reads who is there once a second
    let begun = Instant::now();
    while redis.command(&["SCARD", "{ferric-peers},names"]) != format!(":{RICS}\r\n") && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(1500));
    let reports = Reports::default();
    let mut sessions = Vec::new();
    for (number, ric) in rics.iter().enumerate() {
        sessions.push(Session::start(number, ric, &reports)?);
    }
    let _nodes = Nodes::start(rics.iter().map(|ric| ric.e2.clone()).collect(), count)?;
    let await_all = |since: Instant, without: Option<usize>| -> anyhow::Result<HashMap<GlobalE2NodeId, usize>> {
        let begun = Instant::now();
        loop {
            let last = reports.since(since);
            if last.len() == count as usize && last.values().all(|ric| Some(*ric) != without) {
                return Ok(last);
            }
            if begun.elapsed() >= PATIENCE {
                bail!("{} of {count} nodes report", last.values().filter(|ric| Some(**ric) != without).count());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let before = await_all(Instant::now(), None)?;
    reports.lock().steps.clear();
    let killed = Instant::now();
    drop(rics.remove(0));
    await_all(killed, Some(0))?;
    std::thread::sleep(AFTERWARDS);
    let after = await_all(Instant::now(), Some(0))?;
    drop(sessions);
    let moved: HashSet<_> = before.iter().filter(|(_, ric)| **ric == 0).map(|(node, _)| *node).collect();
    let moved_needlessly = before.iter().filter(|(node, ric)| **ric != 0 && after.get(node) != Some(ric)).count();
    let state = reports.lock();
    let times = |step: Step| -> anyhow::Result<Times> {
        let mut histogram = latency_histogram();
        for node in &moved {
            let at = state.steps.get(&(*node, step)).ok_or_else(|| anyhow!("{node} has not done all steps"))?;
            histogram.record(u64::try_from(at.duration_since(killed).as_nanos())?)?;
        }
        let ms = |quantile: f64, histogram: &Histogram<u64>| histogram.value_at_quantile(quantile) as f64 / 1e6;
        Ok(Times { p50: ms(0.5, &histogram), max: ms(1.0, &histogram) })
    };
    Ok(FailoverRun {
        moved: moved.len(),
        set_up_ms: times(Step::SetUp)?,
        subscribed_ms: times(Step::Subscribed)?,
        report_ms: times(Step::Report)?,
        doubled: state.doubled,
        moved_needlessly,
    })
}

/// Reports a number that grows with each report to all subscriptions.
#[derive(Default)]
struct Counter {
    number: u64,
    subscriptions: Vec<(RequestKey, RicActionId)>,
    next: Option<Time>,
}

impl RanFunction for Counter {
    fn id(&self) -> e2ap::RanFunctionId {
        FUNCTION
    }

    fn definition(&self) -> Function {
        let (revision, oid) = (RanFunctionRevision(1), "1.3.6.1.4.1.53148.1.2.2.99".to_owned());
        Function { id: FUNCTION, revision, oid, definition: b"counter".to_vec() }
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _: &Views,
    ) -> Result<Admission, Cause> {
        let key = RequestKey { controller, id: request.request_id };
        self.subscriptions.extend(request.actions.first().map(|action| (key, action.id)));
        self.next.get_or_insert(now);
        Ok(Admission { admitted: request.actions.iter().map(|action| action.id).collect(), not_admitted: Vec::new() })
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.subscriptions.retain(|(other, _)| *other != key);
        if self.subscriptions.is_empty() {
            self.next = None;
        }
    }

    fn next_report(&self) -> Option<Time> {
        self.next
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        self.number += 1;
        for (key, action) in &self.subscriptions {
            // a subscription that has just ended has no receiver
            let _ = reports.report(*key, *action, b"", &self.number.to_be_bytes());
        }
        self.next = Some(now + PERIOD);
    }
}

/// Runs all nodes on one thread.
struct Nodes {
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

impl Nodes {
    fn start(rics: Vec<Endpoint>, count: u32) -> anyhow::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let Ok(mut agents) = AgentLoop::<dyn RanFunction>::new(AgentLoopConfig::default()) else { return };
            for number in 0..count {
                let id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 22));
                let node = agents.add_node(NodeConfig::new(id), vec![Box::new(Counter::default())]);
                agents.add_redundant_controller(node, rics.clone());
            }
            // the reader of the error is gone if the measurement has failed
            if sender.send(agents.stop_handle()).is_ok() {
                let _ = agents.run();
            }
        });
        let stop = receiver.recv().context("the nodes cannot be started")?;
        Ok(Nodes { stop, thread: Some(thread) })
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.stop.stop();
        // a panic was reported by its thread
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What a node that has moved has done first at its new RIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    SetUp,
    Subscribed,
    Report,
}

#[derive(Default)]
struct State {
    numbers: HashMap<GlobalE2NodeId, HashSet<u64>>,
    doubled: u64,
    /// The RIC of the last report, and when it came.
    last: HashMap<GlobalE2NodeId, (usize, Instant)>,
    steps: HashMap<(GlobalE2NodeId, Step), Instant>,
}

/// What all sessions have received.
#[derive(Clone, Default)]
struct Reports(Arc<Mutex<State>>);

impl Reports {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step(&self, node: GlobalE2NodeId, step: Step) {
        self.lock().steps.entry((node, step)).or_insert_with(Instant::now);
    }

    fn take(&self, ric: usize, node: GlobalE2NodeId, number: u64) {
        let mut state = self.lock();
        let is_new = state.numbers.entry(node).or_default().insert(number);
        state.doubled += u64::from(!is_new);
        let moved = state.last.insert(node, (ric, Instant::now())).is_none_or(|(former, _)| former != ric);
        if moved {
            state.steps.entry((node, Step::Report)).or_insert_with(Instant::now);
        }
    }

    /// The RIC of the last report of each node that has reported since.
    fn since(&self, begin: Instant) -> HashMap<GlobalE2NodeId, usize> {
        let state = self.lock();
        state.last.iter().filter(|(_, (_, at))| *at > begin).map(|(node, (ric, _))| (*node, *ric)).collect()
    }
}

/// An xApp with one session, which subscribes to each node that sets up.
struct Session {
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

impl Session {
    fn start(number: usize, ric: &RicProcess, reports: &Reports) -> anyhow::Result<Self> {
        let mut xapp = Xapp::connect(&ric.xapp, "failover", XappConfig::default())?;
        let (stop, reports) = (xapp.stop_handle(), reports.clone());
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut names: HashMap<NodeId, GlobalE2NodeId> = HashMap::new();
            let mut requested = HashMap::new();
            while !stopped.is_stopped() {
                let polled = xapp.poll(None, |event, ric| match event {
                    XappEvent::NodeUp(node) => {
                        names.insert(node.id, node.global_id);
                        reports.step(node.global_id, Step::SetUp);
                        let (id, kind) = (RicActionId(1), RicActionType::Report);
                        let action = Action { id, kind, definition: None, subsequent: None };
                        let spec = SubscriptionSpec { event_trigger: vec![1], actions: vec![action] };
                        requested.insert(ric.subscribe(node.id, FUNCTION, spec), node.global_id);
                    }
                    XappEvent::Request(RequestEvent::Subscribed { ticket, .. }) => {
                        if let Some(node) = requested.remove(&ticket) {
                            reports.step(node, Step::Subscribed);
                        }
                    }
                    XappEvent::Indication(indication) => {
                        let gather = Gather::new();
                        let message = indication.decode(&gather).ok().map(|of| of.message.to_cow().into_owned());
                        let number_of = message.and_then(|octets| octets.try_into().ok()).map(u64::from_be_bytes);
                        if let (Some(node), Some(number_of)) = (names.get(&indication.node), number_of) {
                            reports.take(number, *node, number_of);
                        }
                    }
                    _ => {}
                });
                if polled.is_err() {
                    return;
                }
            }
        });
        Ok(Session { stop, thread: Some(thread) })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop.stop();
        // a panic was reported by its thread
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
