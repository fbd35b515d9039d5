//! The simulation of a RIC, three nodes, two xApps and an iApp: its parties, virtual time, and the delivery of PDUs.

pub mod actions;
pub mod faults;
pub mod invariants;
mod outputs;
pub mod parties;

use core::time::Duration;
use std::collections::BTreeMap;

use e2::{AssocId, Consumer, Controller, ControllerConfig, Routed, SubscriptionId, Time, XappHost};
use e2ap::Version;

use super::random::Random;
use faults::Tally;
use parties::{AppState, Clock, Connection, MessageKind, Node, PduQueue, Xapp};

pub const AGENTS: usize = 3;
pub const XAPPS: usize = 2;
pub const IAPP: Consumer = Consumer(1);

/// The number of request ids: few, so that they are reused.
pub const REQUESTS: u32 = 24;

/// The start of the hosts' clocks: late enough for backward jumps.
pub const START: Time = Time::from_nanos(1_000_000_000_000_000);

pub struct Simulation {
    pub random: Random,
    /// Whether peers and network are hostile.
    pub hostile: bool,
    pub trace: bool,
    pub now: Time,
    pub config: ControllerConfig,
    pub controller: Controller,
    pub host: XappHost,
    pub ric_clock: Clock,
    /// Connection attempts fail until this time.
    pub ric_down_until: Time,
    pub nodes: Vec<Node>,
    pub connections: Vec<Connection>,
    pub xapps: Vec<Option<Xapp>>,
    pub iapp: AppState,
    /// The routes known to an observer that polls changed routes only.
    pub routes: BTreeMap<SubscriptionId, (AssocId, Vec<Consumer>)>,
    pub next_assoc: u64,
    pub next_ticket: u32,
    /// The number of the latest report.
    pub next_report: u64,
    pub tally: Tally,
    /// The digest of everything sent: equal in all runs of a seed.
    pub digest: u64,
}

impl Simulation {
    pub fn new(seed: u64, hostile: bool, trace: bool) -> Self {
        let mut random = Random::new(seed);
        // the RIC uses v3 procedures only with nodes known to speak v3
        let newest = seed.is_multiple_of(3);
        let versions: &[Version] =
            if newest { &[Version::V3_01] } else { &[Version::V1_01, Version::V2_03, Version::V3_01] };
        let nodes = (0..AGENTS as u32).map(|number| Node::new(number, *random.pick(versions))).collect();
        let config = ControllerConfig {
            max_requests: REQUESTS,
            max_requests_per_consumer: 8,
            max_suspended: 6,
            version: newest.then_some(Version::V3_01),
            // some setups and restorations time out
            setup_timeout: Duration::from_secs(4),
            restore_within: Duration::from_secs(*random.pick(&[3, 60])),
            ..Default::default()
        };
        let mut simulation = Simulation {
            random,
            hostile,
            trace,
            now: START,
            controller: Controller::new(config.clone()),
            config,
            host: XappHost::new(),
            ric_clock: Clock::default(),
            ric_down_until: START,
            nodes,
            connections: Vec::new(),
            xapps: (0..XAPPS).map(|_| None).collect(),
            iapp: AppState::default(),
            routes: BTreeMap::new(),
            next_assoc: 0,
            next_ticket: 0,
            next_report: 0,
            tally: Tally::default(),
            digest: seed,
        };
        simulation.start_ric();
        simulation
    }

    /// Starts a RIC without state.
    pub fn start_ric(&mut self) {
        self.controller = Controller::new(self.config.clone());
        self.controller.track_routes();
        self.host = XappHost::new();
        self.routes.clear();
    }

    /// Prints a line if the run is traced.
    pub fn log(&self, what: impl Fn() -> String) {
        if self.trace {
            println!("{:>12} {}", (self.now - START).as_millis(), what());
        }
    }

    /// Returns the time of the RIC's clock.
    pub fn ric_now(&self) -> Time {
        self.ric_clock.at(self.now)
    }

    pub fn next_assoc(&mut self) -> AssocId {
        self.next_assoc += 1;
        AssocId(self.next_assoc)
    }

    /// Executes a random step.
    pub fn step(&mut self) {
        match self.random.below(200) {
            0..80 => drop(self.deliver()),
            80..110 => self.answer(),
            110..114 => self.read_some_xapp(),
            114..140 => self.command(),
            140..175 => self.indicate(),
            175..190 => {
                let ms = *self.random.pick(&[0, 1, 20, 20, 100, 100, 300, 700, 2000]);
                self.advance(Duration::from_millis(ms));
            }
            190..192 => self.start_node_procedure(),
            192 => self.start_ric_procedure(),
            193 => self.reconnect_removed(),
            194 => self.connect_some_xapp(),
            _ => self.fault(),
        }
        self.settle();
    }

    /// Picks a queue that satisfies `is`. Returns its connection and whether it is the queue to the RIC.
    pub fn pick_queue(&mut self, is: impl Fn(&PduQueue, Time) -> bool) -> Option<(usize, bool)> {
        let (now, queues) = (self.now, self.connections.iter().enumerate());
        let queues = queues.flat_map(|(at, connection)| [(at, true, &connection.up), (at, false, &connection.down)]);
        let queues: Vec<_> = queues.filter(|(.., queue)| is(queue, now)).map(|(at, up, _)| (at, up)).collect();
        (!queues.is_empty()).then(|| *self.random.pick(&queues))
    }

    /// Delivers a PDU from a random end of a random connection. Returns whether there was one.
    pub fn deliver(&mut self) -> bool {
        let Some((at, up)) = self.pick_queue(PduQueue::is_ready) else { return false };
        let connection = &mut self.connections[at];
        let pdu = connection.queue(up).pdus.pop_front().expect("the queue is not empty");
        match up {
            true if connection.ric_open => {
                let assoc = connection.assoc;
                self.deliver_to_ric(assoc, &pdu);
            }
            false if connection.agent_open => {
                let now = self.now;
                if let Some(node) = self.nodes.iter_mut().find(|n| n.connection == Some(at)) {
                    node.agent.handle_pdu(node.clock.at(now), &pdu);
                }
            }
            // a restarted host resets an unknown link; a host that is down does not
            true if self.random.once_in(2) => self.close_at_agent(at),
            false if self.random.once_in(2) => self.close_at_ric(at),
            _ => {}
        }
        true
    }

    fn deliver_to_ric(&mut self, assoc: AssocId, pdu: &[u8]) {
        let now = self.ric_now();
        let Routed::Indication(indication) = self.controller.handle_pdu(now, assoc, pdu) else { return };
        self.tally.count("an indication was routed");
        let (node, subscription) = (indication.node, indication.subscription);
        let gather = per::Gather::new();
        let message = indication.decode(&gather).expect("a routed indication decodes");
        // an invalid header has been tampered with
        let number = message.header.to_cow().as_ref().try_into().map_or(u64::MAX, u64::from_be_bytes);
        let consumers = self.controller.consumers(subscription);
        assert!(!consumers.is_empty());
        assert_eq!(self.controller.node(node).expect("the node is up").assoc, assoc);
        for consumer in consumers {
            if *consumer == IAPP {
                self.iapp.reports.push((subscription, number));
                continue;
            }
            let assoc = self.host.assoc(*consumer).expect("a consumer is connected");
            let xapp = self.xapps.iter_mut().flatten().find(|x| x.assoc == assoc);
            let xapp = xapp.expect("a consumer is connected");
            assert!(xapp.state.active.contains(&subscription), "an xApp receives reports of active subscriptions only");
            if xapp.report(subscription, number) {
                self.tally.count("a slow xApp lost a report");
            }
        }
    }

    /// The RIC reads a message of an xApp. Returns whether there was one.
    pub fn read_xapp(&mut self, at: usize) -> bool {
        let Some(xapp) = &mut self.xapps[at] else { return false };
        let Some(message) = xapp.sent.pop_front() else { return false };
        match message.kind {
            MessageKind::Hello => xapp.greeted = true,
            MessageKind::Command(ticket) => drop(xapp.state.pending.insert(ticket)),
            MessageKind::Change(ticket) => drop(xapp.state.changing.insert(ticket)),
            MessageKind::Unsubscribe => {}
        }
        let (assoc, now) = (xapp.assoc, self.ric_now());
        self.host.handle_pdu(now, assoc, &message.pdu, &mut self.controller);
        true
    }

    /// Advances the time. Timeouts on the way are handled.
    pub fn advance(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            let nodes = self.nodes.iter().filter_map(|n| n.agent.poll_timeout().map(|at| n.clock.moment(at)));
            let ric = self.controller.poll_timeout().map(|at| self.ric_clock.moment(at));
            let links = self.connections.iter().filter_map(|connection| connection.noticed_at);
            let Some(at) = nodes.chain(ric).chain(links).min().filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            self.timeout();
            self.settle();
        }
        self.now = end;
        self.timeout(); // extra calls have no effect
    }

    fn timeout(&mut self) {
        self.controller.handle_timeout(self.ric_now());
        for node in &mut self.nodes {
            node.agent.handle_timeout(node.clock.at(self.now));
        }
        self.keep_alive();
    }

    /// Reconnects the removed nodes.
    pub fn reconnect_removed(&mut self) {
        for node in &mut self.nodes {
            if std::mem::take(&mut node.removed) {
                node.agent.connect().expect("the agent was removed");
            }
        }
    }

    pub fn digest(&mut self, assoc: AssocId, bytes: &[u8]) {
        for octet in bytes.iter().chain(&assoc.0.to_be_bytes()) {
            self.digest = (self.digest ^ u64::from(*octet)).wrapping_mul(0x100_0000_01B3);
        }
    }
}
