//! Three RICs share 300 nodes through a real Redis, or a Redis Cluster: a RIC is killed and started again, Redis is paused and
//! restarted, a master of the cluster is killed, one RIC alone does not reach Redis. xApps have a session with each RIC and subscribe
//! wherever a node sets up, another xApp has one session with all. No report comes twice.

mod program;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ferric::agent::{
    Admission, AgentLoop, AgentLoopConfig, ControllerId, FunctionContext, NodeConfig, RanFunction, RequestKey, Views,
};
use ferric::e2::{Action, Function, NodeId, SubscriptionRequest, SubscriptionSpec, Time};
use ferric::e2ap::{
    Cause, GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType,
};
use ferric::xapp::{Commands, Reconnect, Xapp, XappConfig, XappEvent, XappGroup};
use ferric::{Endpoint, StopHandle};
use per::Gather;
use program::{File, Program};
use testkit::{Redis, RedisCluster, RedisStore, Relay, eventually};

const NODES: u32 = 300;
const FUNCTION: RanFunctionId = RanFunctionId(7);
const ANY_PORT: &str = "tcp://127.0.0.1:0";
/// The key in the store that has the names of the RICs.
const NAMES: &str = "{ferric-peers},names";
const PERIOD: Duration = Duration::from_millis(100);
const TIME_TO_LIVE: Duration = Duration::from_millis(1500);

/// Reports a number that grows with each report to all subscriptions.
#[derive(Default)]
struct Counter {
    number: u64,
    subscriptions: Vec<(RequestKey, RicActionId)>,
    next: Option<Time>,
}

impl RanFunction for Counter {
    fn id(&self) -> RanFunctionId {
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
        self.subscriptions.push((key, request.actions[0].id));
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
            reports.report(*key, *action, b"", &self.number.to_be_bytes()).unwrap();
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
    fn start(rics: Vec<Endpoint>) -> Self {
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut agents: AgentLoop<dyn RanFunction> = AgentLoop::new(AgentLoopConfig::default()).unwrap();
            for number in 0..NODES {
                let id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 22));
                let node = agents.add_node(NodeConfig::new(id), vec![Box::new(Counter::default())]);
                agents.add_redundant_controller(node, rics.clone());
            }
            sender.send(agents.stop_handle()).unwrap();
            agents.run().unwrap();
        });
        Nodes { stop: receiver.recv().unwrap(), thread: Some(thread) }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

/// What xApps got of a node.
#[derive(Default)]
struct Received {
    numbers: HashSet<u64>,
    /// The RIC, its run, and when the last report came.
    last: Option<(usize, Instant)>,
}

#[derive(Clone, Default)]
struct Reports(Arc<Mutex<(HashMap<GlobalE2NodeId, Received>, u64)>>);

impl Reports {
    fn take(&self, session: usize, node: GlobalE2NodeId, number: u64) {
        let mut reports = self.0.lock().unwrap();
        let received = reports.0.entry(node).or_default();
        let is_new = received.numbers.insert(number);
        received.last = Some((session, Instant::now()));
        reports.1 += u64::from(!is_new);
    }

    /// The session that got the last report of each node, of those that have reported since.
    fn since(&self, begin: Instant) -> BTreeMap<String, usize> {
        let reports = self.0.lock().unwrap();
        let recent = reports.0.iter().filter_map(|(node, received)| Some((node, received.last?)));
        recent.filter(|(_, (_, at))| *at > begin).map(|(node, (session, _))| (node.to_string(), session)).collect()
    }

    /// How many reports came.
    fn count(&self) -> usize {
        self.0.lock().unwrap().0.values().map(|received| received.numbers.len()).sum()
    }

    fn doubled(&self) -> u64 {
        self.0.lock().unwrap().1
    }

    /// Waits until all nodes have reported again, and returns their sessions.
    #[track_caller]
    fn all(&self) -> BTreeMap<String, usize> {
        let begin = Instant::now();
        eventually("reports of all nodes", || self.since(begin).len() == NODES as usize);
        self.since(begin)
    }
}

/// A session that subscribes to each node that sets up.
struct Session {
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

/// The number of the session with all RICs.
const GROUP: usize = 100;

impl Session {
    /// A session with one RIC.
    fn start(number: usize, address: &str, reports: &Reports) -> Self {
        let mut xapp = Xapp::connect(&address.parse().unwrap(), "counter", XappConfig::default()).unwrap();
        let handler = Session::handler(number, reports);
        let stop = xapp.stop_handle();
        Session::run(stop, handler, move |handler| xapp.poll(None, handler).unwrap())
    }

    /// A session with all RICs.
    fn start_group(rics: &[Ric], reports: &Reports) -> Self {
        let addresses: Vec<_> = rics.iter().map(|ric| ric.xapp.parse().unwrap()).collect();
        let reconnect = Some(Reconnect { first: Duration::from_millis(100), last: Duration::from_millis(500) });
        let config = XappConfig { reconnect, ..XappConfig::default() };
        let mut group = XappGroup::connect(&addresses, "group", config, testkit::PATIENCE).unwrap();
        let handler = Session::handler(GROUP, reports);
        let stop = group.stop_handle();
        Session::run(stop, handler, move |handler| group.poll(None, handler).unwrap())
    }

    fn handler(number: usize, reports: &Reports) -> impl FnMut(XappEvent<'_>, &mut Commands<'_>) + Send + 'static {
        let reports = reports.clone();
        let mut names: HashMap<NodeId, GlobalE2NodeId> = HashMap::new();
        move |event, ric| match event {
            XappEvent::NodeUp(node) => {
                names.insert(node.id, node.global_id);
                let kind = RicActionType::Report;
                let action = Action { id: RicActionId(1), kind, definition: None, subsequent: None };
                ric.subscribe(node.id, FUNCTION, SubscriptionSpec { event_trigger: vec![1], actions: vec![action] });
            }
            XappEvent::Indication(indication) => {
                let gather = Gather::new();
                let message = indication.decode(&gather).unwrap().message.to_cow().into_owned();
                let number_of = u64::from_be_bytes(message.try_into().unwrap());
                reports.take(number, names[&indication.node], number_of);
            }
            _ => {}
        }
    }

    fn run<H: Send + 'static>(stop: StopHandle, mut handler: H, mut poll: impl FnMut(&mut H) + Send + 'static) -> Self {
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            while !stopped.is_stopped() {
                poll(&mut handler);
            }
        });
        Session { stop, thread: Some(thread) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

struct Ric {
    program: Program,
    e2: String,
    xapp: String,
}

impl Ric {
    /// Starts a RIC with an address for xApps, which reaches the store at a URL.
    fn start(url: &str, number: usize, xapp: &str) -> Self {
        let ttl_ms = TIME_TO_LIVE.as_millis();
        let text = format!("[peers]\nurl = \"{url}\"\nname = \"ric-{number}\"\ntime_to_live_ms = {ttl_ms}\n");
        let config = File::new(&format!("peers-{number}.toml"), text.as_bytes());
        let arguments = ["ric", "--config", config.name(), "--e2", ANY_PORT, "--xapp", xapp];
        let mut program = program::start(&arguments);
        let (e2, xapp) = (program.line("e2="), program.line("xapp="));
        Ric { program, e2, xapp }
    }
}

/// How many nodes each session has.
fn counts(sessions: &BTreeMap<String, usize>) -> BTreeMap<usize, usize> {
    sessions.values().fold(BTreeMap::new(), |mut counts, session| {
        *counts.entry(*session).or_default() += 1;
        counts
    })
}

/// One test after another: each has two processors for itself.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Three RICs with 300 nodes, and what xApps got of these: those with a session for each RIC, and one with a session for all.
struct Running {
    rics: Vec<Ric>,
    sessions: Vec<Session>,
    reports: Reports,
    group: Session,
    by_group: Reports,
    /// The RIC of each node.
    spread: BTreeMap<String, usize>,
    _nodes: Nodes,
}

impl Running {
    fn start(urls: &[String; 3]) -> Running {
        let mut rics: Vec<_> = urls.iter().enumerate().map(|(number, url)| Ric::start(url, number, ANY_PORT)).collect();
        for ric in &mut rics {
            ric.program.logs("3 RICs share the nodes: ric-0, ric-1, ric-2");
        }
        let (reports, by_group) = (Reports::default(), Reports::default());
        let sessions = rics.iter().enumerate().map(|(at, ric)| Session::start(at, &ric.xapp, &reports)).collect();
        let group = Session::start_group(&rics, &by_group);
        let nodes = Nodes::start(rics.iter().map(|ric| ric.e2.parse().unwrap()).collect());
        let spread = reports.all();
        // rendezvous hashing gives each 100, with a standard deviation of 8
        assert!(counts(&spread).values().all(|count| (60..=140).contains(count)), "{:?}", counts(&spread));
        Running { rics, sessions, reports, group, by_group, spread, _nodes: nodes }
    }

    /// The nodes that were of a RIC at the start.
    fn nodes_of(&self, number: usize) -> Vec<String> {
        self.spread.iter().filter(|(_, session)| **session == number).map(|(node, _)| node.clone()).collect()
    }

    /// Kills the first RIC of the list, whose number is given, and waits until its nodes report at the others.
    fn kill_first(&mut self, number: usize) {
        let nodes = self.nodes_of(number);
        self.by_group.all();
        let killed = Instant::now();
        drop(self.rics.remove(0));
        eventually("the nodes of the RIC that was killed report", || {
            let since = self.reports.since(killed);
            nodes.iter().all(|node| since.get(node).is_some_and(|session| *session != number))
        });
        println!("failover: {} nodes report again after {:?}", nodes.len(), killed.elapsed());
        eventually("they report in the session with all RICs", || {
            let since = self.by_group.since(killed);
            nodes.iter().all(|node| since.contains_key(node))
        });
    }

    /// Ends all, and checks that no report came twice.
    fn end(self) {
        self.by_group.all();
        assert_eq!((self.reports.doubled(), self.by_group.doubled()), (0, 0));
        drop(self.group);
        let [received, at_each] = [&self.by_group, &self.reports].map(Reports::count);
        println!("reports received: {received} by the session with all RICs, {at_each} by those with one each");
        assert!(received * 10 > at_each * 9, "{received} of {at_each}");
    }
}

/// Nodes move once when RICs are killed and started, and none when something happens to the store.
fn nodes_move_once<S: RedisStore>(store: &mut S, harm: impl FnOnce(&mut S)) {
    let urls = [store.url(), store.url(), store.url()];
    let mut running = Running::start(&urls);
    let spread = running.spread.clone();
    // the store does not answer for longer than the time to live
    store.pause();
    std::thread::sleep(2 * TIME_TO_LIVE);
    assert_eq!(running.reports.all(), spread);
    store.resume();
    harm(store);
    std::thread::sleep(4 * TIME_TO_LIVE);
    assert_eq!(running.reports.all(), spread);

    // a RIC is killed: its nodes go to the others, which keep theirs
    let xapp = running.rics[0].xapp.clone();
    running.kill_first(0);
    let moved = running.reports.all();
    for (node, session) in &spread {
        assert!(*session == 0 || moved[node] == *session, "{node}");
    }
    // they are where the remaining RICs want them: nothing moves when the loss is noticed
    running.rics[0].program.logs("2 RICs share the nodes: ric-1, ric-2");
    std::thread::sleep(5 * TIME_TO_LIVE);
    assert_eq!(running.reports.all(), moved);

    // it is started again: its nodes return
    running.sessions.remove(0);
    let first = Ric::start(&urls[0], 0, &xapp);
    running.sessions.push(Session::start(3, &first.xapp, &running.reports));
    let restored: BTreeMap<_, _> =
        spread.iter().map(|(node, session)| (node.clone(), if *session == 0 { 3 } else { *session })).collect();
    eventually("the nodes return", || running.reports.all() == restored);
    running.rics.push(first);

    // a RIC is killed while the store is away
    store.pause();
    let killed = Instant::now();
    drop(running.rics.remove(0));
    let without = |sessions: &BTreeMap<String, usize>| sessions.values().all(|session| *session != 1);
    eventually("the nodes report without the store", || {
        let since = running.reports.since(killed);
        since.len() == NODES as usize && without(&since)
    });
    println!("failover without the store: {:?}", killed.elapsed());
    store.resume();
    std::thread::sleep(4 * TIME_TO_LIVE);
    assert!(without(&running.reports.all()));
    running.end();
}

#[test]
fn nodes_move_once_and_nothing_is_doubled() {
    let _alone = alone();
    let Some(mut redis) = Redis::start(&[]) else { return };
    nodes_move_once(&mut redis, |redis| {
        // it loses everything
        redis.kill();
        std::thread::sleep(TIME_TO_LIVE);
        redis.restart();
    });
}

#[test]
fn nodes_move_once_with_a_cluster_whose_master_is_killed() {
    let _alone = alone();
    let Some(mut cluster) = RedisCluster::start_with_replicas(3) else { return };
    nodes_move_once(&mut cluster, |cluster| {
        let master = cluster.server_of(NAMES);
        cluster.servers[master].await_replicas();
        cluster.servers[master].kill();
        assert_eq!(cluster.server_of(NAMES), master + 3, "its replica takes over");
        cluster.servers[master].restart();
    });
}

#[test]
fn ric_that_does_not_reach_redis_keeps_its_nodes() {
    let _alone = alone();
    let Some(redis) = Redis::start(&[]) else { return };
    let relay = Relay::start(redis.port());
    let urls = [redis.url(), format!("redis://127.0.0.1:{}", relay.port()), redis.url()];
    let mut running = Running::start(&urls);
    let spread = running.spread.clone();
    relay.cut();
    for at in [0, 2] {
        running.rics[at].program.logs("2 RICs share the nodes: ric-0, ric-2");
    }
    running.rics[1].program.logs("remedy: check the host, its load and the network: Redis does not answer in time");
    // longer than nodes are handed over after
    std::thread::sleep(4 * TIME_TO_LIVE);
    assert_eq!(running.reports.all(), spread);

    // another one is killed: its nodes go to one that knows the others, and to one that does not
    running.kill_first(0);
    let moved = running.reports.all();
    for (node, session) in &spread {
        assert!(*session == 0 || moved[node] == *session, "{node}");
    }
    // all is as without the partition
    relay.restore();
    running.rics[1].program.logs("2 RICs share the nodes: ric-1, ric-2");
    std::thread::sleep(6 * TIME_TO_LIVE);
    eventually("each of the nodes is at its RIC", || {
        let settled = running.reports.all();
        std::thread::sleep(2 * TIME_TO_LIVE);
        running.reports.all() == settled
    });
    let settled = running.reports.all();
    for (node, session) in &spread {
        assert!(*session == 0 || settled[node] == *session, "{node}");
    }
    running.end();
}
