//! An application, apart from the interface: what it subscribes to, what it requests and when, and what it counts.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use e2ap::RanFunctionId;
use radio::Random;

use super::slices::{Tenant, slice_request};
use super::{NorthboundConfig, Order, Progress, Received};
use crate::clock::thread_cpu_ns;
use crate::content::{SLICE_FUNCTION, time_stamp};
use crate::statistics::count;

/// Subscriptions that wait for their answers at the same time: a RIC bounds what a consumer has waiting.
const IN_FLIGHT: usize = 64;
/// How long an event may wait for an order.
pub(super) const TICK: Duration = Duration::from_millis(5);
const SECOND_NS: u64 = 1_000_000_000;

/// Sends the requests of an application. The number that a request returns names it in its answer.
pub(super) trait Interface {
    /// How it names nodes.
    type Node: Copy + PartialEq;
    /// Whether it tells of nodes that come and go. If not, the nodes are listed again for each step.
    const FOLLOWS_NODES: bool;

    /// Subscribes to the reports of a node.
    fn subscribe(&mut self, node: Self::Node, function: RanFunctionId, reports: &Reports) -> anyhow::Result<u32>;

    /// Ends a subscription, which an answer has named.
    fn unsubscribe(&mut self, subscription: u32) -> anyhow::Result<()>;

    /// Sends a control without a header, whose acknowledgement is requested.
    fn control(&mut self, node: Self::Node, function: RanFunctionId, message: &[u8]) -> anyhow::Result<u32>;
}

/// What is subscribed to, as the service model encodes it.
#[derive(Clone, Debug)]
pub(super) struct Reports {
    pub event_trigger: Vec<u8>,
    pub action: Vec<u8>,
}

/// A request that awaits its answer.
enum Pending<N> {
    Subscribe { node: N, since_ns: u64, step: u64 },
    Control { due_ns: u64, tenant: usize },
}

/// A node that can be subscribed to.
#[derive(Clone, Copy, Debug)]
struct Known<N> {
    node: N,
    /// Its function for reports.
    function: RanFunctionId,
    /// The number of the agent.
    number: u32,
}

pub(super) struct Session<'p, N> {
    config: NorthboundConfig,
    progress: &'p Progress,
    random: Random,
    received: Received,
    reports: Option<Reports>,
    /// The number of the step.
    step: u64,
    /// The agents of the step.
    agents: u32,
    nodes: Vec<Known<N>>,
    /// Nodes that are not subscribed to yet.
    waiting: Vec<Known<N>>,
    pending: HashMap<u32, Pending<N>>,
    in_flight: usize,
    /// The subscriptions of the step, and those among them that wait for their nodes.
    subscriptions: HashMap<u32, N>,
    suspended: HashSet<u32>,
    tenants: Vec<Tenant<N>>,
    next_slice_ns: Option<u64>,
    next_resubscription_ns: Option<u64>,
    /// Whether resubscriptions of the step have begun.
    resubscribes: bool,
    next_second_ns: u64,
    /// The clock and the processor time of this thread when the window was announced.
    begun: (u64, u64),
    /// Reports that were read before the last pause.
    read: u64,
}

impl<'p, N: Copy + PartialEq> Session<'p, N> {
    pub fn new(config: &NorthboundConfig, progress: &'p Progress) -> Self {
        let tenants = config.requests.tenants;
        Session {
            config: config.clone(),
            progress,
            // streams apart from those of the generator's threads
            random: Random::new(config.seed, 1000 + u64::from(config.number)),
            received: Received::default(),
            reports: None,
            step: 0,
            agents: 0,
            nodes: Vec::new(),
            waiting: Vec::new(),
            pending: HashMap::new(),
            in_flight: 0,
            subscriptions: HashMap::new(),
            suspended: HashSet::new(),
            tenants: (0..tenants).map(|tenant| Tenant::new(config.number * tenants + tenant + 1)).collect(),
            next_slice_ns: None,
            next_resubscription_ns: None,
            resubscribes: false,
            next_second_ns: 0,
            begun: (0, 0),
            read: 0,
        }
    }

    /// Carries out the orders that wait. Returns whether there is still somebody who gives them.
    pub fn take_orders<I: Interface<Node = N>>(
        &mut self,
        orders: &Receiver<Order>,
        interface: &mut I,
    ) -> anyhow::Result<bool> {
        loop {
            match orders.try_recv() {
                Ok(Order::Subscribe { period_ms, agents }) => self.begin_step(period_ms, agents, interface)?,
                Ok(Order::Count(window)) => {
                    self.received.begin(window);
                    self.begin_resubscriptions();
                    self.begun = (self.config.clock.now_ns(), thread_cpu_ns());
                }
                Ok(Order::Collect(reply)) => {
                    let (begun_ns, before_ns) = self.begun;
                    let elapsed_ns = self.config.clock.now_ns().saturating_sub(begun_ns).max(1);
                    self.received.cpu_share = thread_cpu_ns().saturating_sub(before_ns) as f64 / elapsed_ns as f64;
                    // nobody waits any more if the run was stopped
                    let _ = reply.send(self.received.take());
                }
                Ok(Order::Sleep(length)) => std::thread::sleep(length),
                Err(TryRecvError::Empty) => return Ok(true),
                Err(TryRecvError::Disconnected) => return Ok(false),
            }
        }
    }

    fn begin_step<I: Interface<Node = N>>(
        &mut self,
        period_ms: u32,
        agents: u32,
        interface: &mut I,
    ) -> anyhow::Result<()> {
        let (event_trigger, action) = self.config.content.subscription(period_ms)?;
        self.reports = Some(Reports { event_trigger, action });
        self.agents = agents;
        self.step += 1;
        for (subscription, _) in self.subscriptions.drain() {
            interface.unsubscribe(subscription)?;
        }
        self.suspended.clear();
        self.count_subscriptions();
        // the subscriptions of the step before are seen no more
        self.progress.steps.store(self.step, Ordering::Release);
        if !I::FOLLOWS_NODES {
            self.nodes.clear();
        }
        let is_own = |known: &&Known<N>| is_own(self.config.first, agents, known.number);
        self.waiting = self.nodes.iter().filter(is_own).copied().collect();
        let now_ns = self.config.clock.now_ns();
        self.next_slice_ns = self.plan(self.config.requests.slices_per_s, now_ns);
        // these begin when the application has all subscriptions, at the latest with the first repetition
        (self.next_resubscription_ns, self.resubscribes) = (None, false);
        self.subscribe(interface)
    }

    fn begin_resubscriptions(&mut self) {
        if !std::mem::replace(&mut self.resubscribes, true) {
            let now_ns = self.config.clock.now_ns();
            self.next_resubscription_ns = self.plan(self.config.requests.resubscriptions_per_s, now_ns);
        }
    }

    /// Whether fewer nodes are known than the step has agents.
    pub fn lacks_nodes(&self) -> bool {
        self.nodes.len() < self.agents as usize
    }

    fn plan(&mut self, per_s: f64, after_ns: u64) -> Option<u64> {
        (per_s > 0.0).then(|| after_ns + (self.random.exponential(1.0 / per_s) * 1e9) as u64)
    }

    /// Subscribes to nodes that wait, as far as the bound allows.
    fn subscribe<I: Interface<Node = N>>(&mut self, interface: &mut I) -> anyhow::Result<()> {
        let Some(reports) = &self.reports else { return Ok(()) };
        while self.in_flight < IN_FLIGHT
            && let Some(Known { node, function, .. }) = self.waiting.pop()
        {
            let request = interface.subscribe(node, function, reports)?;
            let since_ns = self.config.clock.now_ns();
            self.pending.insert(request, Pending::Subscribe { node, since_ns, step: self.step });
            self.in_flight += 1;
        }
        Ok(())
    }

    /// Pauses if reports were read since the last pause, so that those of the meantime are read at once; not beyond a planned request.
    pub fn pause(&mut self) {
        let read = self.received.read();
        let pause = self.config.read_pause.min(self.until_request());
        if std::mem::replace(&mut self.read, read) != read && !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }

    /// The time until the next planned request.
    pub fn until_request(&self) -> Duration {
        let next_ns = [self.next_slice_ns, self.next_resubscription_ns].into_iter().flatten().min();
        let now_ns = self.config.clock.now_ns();
        next_ns.map_or(Duration::MAX, |at_ns| Duration::from_nanos(at_ns.saturating_sub(now_ns)))
    }

    /// Sends the requests that are due, and closes a second of the course.
    pub fn request<I: Interface<Node = N>>(&mut self, interface: &mut I) -> anyhow::Result<()> {
        let now_ns = self.config.clock.now_ns();
        while let Some(due_ns) = self.next_slice_ns.filter(|due_ns| *due_ns <= now_ns) {
            self.next_slice_ns = self.plan(self.config.requests.slices_per_s, due_ns);
            self.request_slice(due_ns, interface)?;
        }
        while let Some(due_ns) = self.next_resubscription_ns.filter(|due_ns| *due_ns <= now_ns) {
            self.next_resubscription_ns = self.plan(self.config.requests.resubscriptions_per_s, due_ns);
            let at = self.random.next_u64() as usize % self.subscriptions.len().max(1);
            let chosen = self.subscriptions.iter().nth(at).map(|(subscription, node)| (*subscription, *node));
            if let Some((subscription, node)) = chosen {
                self.ended(subscription);
                interface.unsubscribe(subscription)?;
                self.waiting.extend(self.nodes.iter().find(|known| known.node == node).copied());
            }
        }
        self.subscribe(interface)?;
        if now_ns >= self.next_second_ns {
            self.received.end_second(now_ns);
            self.next_second_ns = (now_ns / SECOND_NS + 1) * SECOND_NS;
        }
        Ok(())
    }

    /// A random tenant creates, changes or deletes its slice.
    fn request_slice<I: Interface<Node = N>>(&mut self, due_ns: u64, interface: &mut I) -> anyhow::Result<()> {
        if self.nodes.is_empty() || self.tenants.is_empty() {
            return Ok(());
        }
        let at = self.random.next_u64() as usize % self.tenants.len();
        let tenant = &mut self.tenants[at];
        // a node that is gone has lost the slice, too
        let node = tenant.node().filter(|node| self.nodes.iter().any(|known| known.node == *node));
        let other = self.nodes[self.random.next_u64() as usize % self.nodes.len()].node;
        let (node, step) = tenant.next(node, other);
        let request = interface.control(node, SLICE_FUNCTION, &slice_request(tenant.number(), step)?)?;
        self.pending.insert(request, Pending::Control { due_ns, tenant: at });
        Ok(())
    }

    /// A report has arrived.
    pub fn report(&mut self, subscription: u32, sn: Option<u16>, header: &[u8]) {
        let due_ns = time_stamp(header).and_then(|stamp| self.config.clock.at_ns(stamp));
        if let Some(due_ns) = due_ns {
            self.received.report(subscription, sn, due_ns, self.config.clock.now_ns());
        }
    }

    /// The controller has a node; those of other generators are left alone.
    pub fn node_up<I: Interface<Node = N>>(
        &mut self,
        node: N,
        function: RanFunctionId,
        number: u32,
        interface: &mut I,
    ) -> anyhow::Result<()> {
        // a list may still have the nodes that the step before had more; where nodes are followed, they are reported as lost
        let most = if I::FOLLOWS_NODES { u32::MAX } else { self.agents };
        if self.nodes.iter().any(|known| known.node == node) || !is_own(self.config.first, most, number) {
            return Ok(());
        }
        let known = Known { node, function, number };
        self.nodes.push(known);
        self.progress.nodes.store(self.nodes.len() as u64, Ordering::Relaxed);
        let is_subscribed = self.subscriptions.values().any(|subscribed| *subscribed == node);
        if self.reports.is_some() && !is_subscribed && is_own(self.config.first, self.agents, number) {
            self.waiting.push(known);
            self.subscribe(interface)?;
        }
        Ok(())
    }

    /// The controller has lost a node.
    pub fn node_lost(&mut self, node: N) {
        self.nodes.retain(|known| known.node != node);
        self.waiting.retain(|known| known.node != node);
        self.progress.nodes.store(self.nodes.len() as u64, Ordering::Relaxed);
    }

    /// A subscription was accepted.
    pub fn subscribed<I: Interface<Node = N>>(
        &mut self,
        request: u32,
        subscription: u32,
        interface: &mut I,
    ) -> anyhow::Result<()> {
        if let Some(Pending::Subscribe { node, since_ns, step }) = self.pending.remove(&request) {
            self.in_flight -= 1;
            if step == self.step {
                count(&mut self.received.subscriptions, self.config.clock.now_ns() - since_ns);
                self.subscriptions.insert(subscription, node);
                self.count_subscriptions();
                if self.subscriptions.len() >= self.agents as usize {
                    self.begin_resubscriptions();
                }
            } else {
                // the step for which it was requested is over: it has another period
                interface.unsubscribe(subscription)?;
            }
        }
        self.subscribe(interface)
    }

    /// A subscription was refused.
    pub fn subscription_failed<I: Interface<Node = N>>(
        &mut self,
        request: u32,
        reason: &str,
        interface: &mut I,
    ) -> anyhow::Result<()> {
        if let Some(Pending::Subscribe { step, .. }) = self.pending.remove(&request) {
            self.in_flight -= 1;
            // the agents of a step that is over may be gone
            if step == self.step {
                self.failed();
                self.progress.refuse(reason);
            }
        }
        self.subscribe(interface)
    }

    /// A subscription goes on after its node was lost.
    pub fn resumed(&mut self, subscription: u32, node: N) {
        // what is said of one that was ended here crosses its deletion
        if let Some(resumed) = self.subscriptions.get_mut(&subscription) {
            *resumed = node;
            self.suspended.remove(&subscription);
            self.waiting.retain(|waiting| waiting.node != node);
            self.count_subscriptions();
        }
    }

    /// A subscription waits for its node.
    pub fn suspended(&mut self, subscription: u32) {
        if self.subscriptions.contains_key(&subscription) {
            self.suspended.insert(subscription);
            self.count_subscriptions();
        }
    }

    /// A subscription has ended.
    pub fn ended(&mut self, subscription: u32) {
        self.subscriptions.remove(&subscription);
        self.suspended.remove(&subscription);
        self.count_subscriptions();
    }

    /// Tells the progress how many subscriptions of the step are active.
    fn count_subscriptions(&self) {
        let active = self.subscriptions.len() - self.suspended.len();
        self.progress.subscribed.store(active as u64, Ordering::Relaxed);
    }

    /// A control was answered.
    pub fn controlled(&mut self, request: u32, is_acknowledged: bool) {
        let Some(Pending::Control { due_ns, tenant }) = self.pending.remove(&request) else { return };
        if !is_acknowledged {
            return self.failed();
        }
        if self.received.counts(due_ns) {
            let delay_ns = self.config.clock.now_ns().saturating_sub(due_ns);
            self.received.control(self.tenants[tenant].number(), delay_ns);
        }
    }

    /// A request has failed.
    pub fn failed(&mut self) {
        self.received.failed += 1;
        self.progress.failed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether a number is one of `agents` from `first` on: nodes of other generators, probes and faults are not.
fn is_own(first: u32, agents: u32, number: u32) -> bool {
    number.checked_sub(first).is_some_and(|at| at < agents) && number < crate::generator::FIRST_PROBE
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc;

    use super::*;
    use crate::clock::Clock;
    use crate::content::{Content, ContentConfig};
    use crate::northbound::Requests;

    const FUNCTION: RanFunctionId = RanFunctionId(2);

    /// Keeps what a session has sent.
    #[derive(Default)]
    struct Sent {
        requests: u32,
        subscribed: Vec<u32>,
        unsubscribed: Vec<u32>,
    }

    impl Interface for Sent {
        type Node = u32;
        const FOLLOWS_NODES: bool = true;

        fn subscribe(&mut self, node: u32, _: RanFunctionId, _: &Reports) -> anyhow::Result<u32> {
            self.subscribed.push(node);
            self.requests += 1;
            Ok(self.requests)
        }

        fn unsubscribe(&mut self, subscription: u32) -> anyhow::Result<()> {
            self.unsubscribed.push(subscription);
            Ok(())
        }

        fn control(&mut self, _: u32, _: RanFunctionId, _: &[u8]) -> anyhow::Result<u32> {
            self.requests += 1;
            Ok(self.requests)
        }
    }

    fn config() -> NorthboundConfig {
        let measurements = vec!["DRB.UEThpDl".to_owned()];
        NorthboundConfig {
            clock: Clock::start(),
            content: Arc::new(Content::record(&ContentConfig { max_ues: 1, measurements, seed: 1 }).unwrap()),
            requests: Requests::default(),
            seed: 1,
            number: 0,
            first: 1,
            read_pause: Duration::ZERO,
            cpus: Vec::new(),
        }
    }

    /// A session in a step with two nodes, whose requests 1 and 2 await their answers.
    fn session<'p>(progress: &'p Progress, sent: &mut Sent) -> Session<'p, u32> {
        let mut session = Session::new(&config(), progress);
        begin_step(&mut session, 2, sent);
        for node in [1, 2] {
            session.node_up(node, FUNCTION, node, sent).unwrap();
        }
        assert_eq!((sent.requests, progress.subscribed.load(Ordering::Relaxed)), (2, 0));
        session
    }

    fn begin_step(session: &mut Session<'_, u32>, agents: u32, sent: &mut Sent) {
        let (orders, received) = mpsc::channel();
        orders.send(Order::Subscribe { period_ms: 10, agents }).unwrap();
        assert!(session.take_orders(&received, sent).unwrap());
    }

    #[test]
    fn notification_of_a_subscription_of_the_step_before_is_not_counted() {
        let (progress, mut sent) = (Progress::default(), Sent::default());
        let mut session = session(&progress, &mut sent);
        let subscribed = || progress.subscribed.load(Ordering::Relaxed);
        session.subscribed(1, 11, &mut sent).unwrap();
        session.subscribed(2, 12, &mut sent).unwrap();
        assert_eq!(subscribed(), 2);
        session.suspended(12);
        assert_eq!(subscribed(), 1);
        session.resumed(12, 2);
        assert_eq!(subscribed(), 2);

        // node 2 is lost as the next step begins: the RIC's notification crosses the deletion
        begin_step(&mut session, 1, &mut sent);
        sent.unsubscribed.sort_unstable();
        assert_eq!((subscribed(), &*sent.unsubscribed), (0, &[11, 12][..]));
        session.suspended(12);
        session.node_lost(2);
        assert_eq!(subscribed(), 0);
        session.subscribed(3, 13, &mut sent).unwrap();
        session.resumed(12, 2);
        session.ended(12);
        assert_eq!((subscribed(), progress.steps.load(Ordering::Relaxed)), (1, 2));
    }

    #[test]
    fn answer_to_a_request_of_the_step_before_ends_its_subscription() {
        let (progress, mut sent) = (Progress::default(), Sent::default());
        let mut session = session(&progress, &mut sent);
        begin_step(&mut session, 2, &mut sent);
        sent.subscribed.sort_unstable();
        assert_eq!(sent.subscribed, [1, 1, 2, 2]);
        session.subscribed(1, 11, &mut sent).unwrap();
        session.subscription_failed(2, "the node is lost", &mut sent).unwrap();
        assert_eq!((progress.subscribed.load(Ordering::Relaxed), &*sent.unsubscribed), (0, &[11][..]));
        assert_eq!((progress.failed.load(Ordering::Relaxed), progress.refusal()), (0, None));

        session.subscribed(3, 13, &mut sent).unwrap();
        session.subscription_failed(4, "no memory", &mut sent).unwrap();
        assert_eq!(progress.subscribed.load(Ordering::Relaxed), 1);
        assert_eq!((progress.failed.load(Ordering::Relaxed), progress.refusal()), (1, Some("no memory".to_owned())));
    }
}
