//! The world of the simulation: who is in it, how time passes, and how PDUs cross it. [`super::sim_acts`] has what everybody
//! does in it, [`super::sim_settle`] carries about what the machines want, [`super::sim_faults`] spoils it.

use core::time::Duration;
use std::collections::BTreeMap;

use e2::{AssocId, Consumer, Controller, ControllerConfig, Routed, SubscriptionId, Time, XappHost};
use e2ap::Version;

use super::random::Random;
use super::sim_faults::Tally;
use super::sim_parts::{Clock, Knowledge, Lane, Node, What, Wire, Xapp};

pub const AGENTS: usize = 3;
pub const XAPPS: usize = 2;
pub const IAPP: Consumer = Consumer(1);

/// Request ids that there are: few, so that they are used again.
pub const REQUESTS: u32 = 24;

/// Where the hosts' clocks begin; so late that they may jump back.
pub const BEGINNING: Time = Time::from_nanos(1_000_000_000_000_000);

pub struct World {
    pub random: Random,
    /// Peers and the network lie.
    pub hostile: bool,
    pub trace: bool,
    pub now: Time,
    pub config: ControllerConfig,
    pub controller: Controller,
    pub host: XappHost,
    pub ric_clock: Clock,
    /// Nobody gets a connection before.
    pub ric_down_until: Time,
    pub nodes: Vec<Node>,
    pub wires: Vec<Wire>,
    pub xapps: Vec<Option<Xapp>>,
    pub iapp: Knowledge,
    /// What somebody knows of routes who only asks for those that may have changed.
    pub routes: BTreeMap<SubscriptionId, (AssocId, Vec<Consumer>)>,
    pub next_assoc: u64,
    pub next_ticket: u32,
    /// Numbers what nodes report.
    pub next_report: u64,
    pub tally: Tally,
    /// Of everything that was sent: two runs of a seed have the same.
    pub digest: u64,
}

impl World {
    pub fn new(seed: u64, hostile: bool, trace: bool) -> Self {
        let mut random = Random::new(seed);
        // a v3 node is only asked what v3 has where it is known for one
        let newest = seed.is_multiple_of(3);
        let versions: &[Version] =
            if newest { &[Version::V3_01] } else { &[Version::V1_01, Version::V2_03, Version::V3_01] };
        let nodes = (0..AGENTS as u32).map(|number| Node::new(number, *random.pick(versions))).collect();
        let config = ControllerConfig {
            max_requests: REQUESTS,
            max_requests_per_consumer: 8,
            max_suspended: 6,
            version: newest.then_some(Version::V3_01),
            // so that some set up too late, and some wait in vain
            setup_timeout: Duration::from_secs(4),
            restore_within: Duration::from_secs(*random.pick(&[3, 60])),
            ..Default::default()
        };
        let mut world = World {
            random,
            hostile,
            trace,
            now: BEGINNING,
            controller: Controller::new(config.clone()),
            config,
            host: XappHost::new(),
            ric_clock: Clock::default(),
            ric_down_until: BEGINNING,
            nodes,
            wires: Vec::new(),
            xapps: (0..XAPPS).map(|_| None).collect(),
            iapp: Knowledge::default(),
            routes: BTreeMap::new(),
            next_assoc: 0,
            next_ticket: 0,
            next_report: 0,
            tally: Tally::default(),
            digest: seed,
        };
        world.begin_ric();
        world
    }

    /// A RIC that knows nothing.
    pub fn begin_ric(&mut self) {
        self.controller = Controller::new(self.config.clone());
        self.controller.track_routes();
        self.host = XappHost::new();
        self.routes.clear();
    }

    pub fn note(&self, what: impl Fn() -> String) {
        if self.trace {
            println!("{:>12} {}", (self.now - BEGINNING).as_millis(), what());
        }
    }

    /// What the RIC's clock shows.
    pub fn ric_now(&self) -> Time {
        self.ric_clock.at(self.now)
    }

    pub fn assoc(&mut self) -> AssocId {
        self.next_assoc += 1;
        AssocId(self.next_assoc)
    }

    pub fn step(&mut self) {
        match self.random.below(200) {
            0..80 => drop(self.deliver()),
            80..110 => self.answer(),
            110..114 => self.an_xapp_is_heard(),
            114..140 => self.command(),
            140..175 => self.indicate(),
            175..190 => {
                let ms = *self.random.pick(&[0, 1, 20, 20, 100, 100, 300, 700, 2000]);
                self.pass(Duration::from_millis(ms));
            }
            190..192 => self.node_acts(),
            192 => self.ric_acts(),
            193 => self.recall(),
            194 => self.xapp_comes(),
            _ => self.fault(),
        }
        self.settle();
    }

    /// One of the lanes that are such: which wire's, and whether it is the way up.
    pub fn lane_where(&mut self, is: impl Fn(&Lane, Time) -> bool) -> Option<(usize, bool)> {
        let (now, lanes) = (self.now, self.wires.iter().enumerate());
        let lanes = lanes.flat_map(|(at, wire)| [(at, true, &wire.up), (at, false, &wire.down)]);
        let lanes: Vec<_> = lanes.filter(|(.., lane)| is(lane, now)).map(|(at, up, _)| (at, up)).collect();
        (!lanes.is_empty()).then(|| *self.random.pick(&lanes))
    }

    /// One PDU arrives, from a random end of a random wire. Whether there was one.
    pub fn deliver(&mut self) -> bool {
        let Some((at, up)) = self.lane_where(Lane::is_ready) else { return false };
        let wire = &mut self.wires[at];
        let pdu = wire.lane(up).pdus.pop_front().expect("chosen since it is full");
        match up {
            true if wire.ric_holds => {
                let assoc = wire.assoc;
                self.ric_hears(assoc, &pdu);
            }
            false if wire.agent_holds => {
                let now = self.now;
                if let Some(node) = self.nodes.iter_mut().find(|n| n.wire == Some(at)) {
                    node.agent.handle_pdu(node.clock.at(now), &pdu);
                }
            }
            // a host that knows nothing of the link says so; one that is gone says nothing
            true if self.random.once_in(2) => self.close_at_agent(at),
            false if self.random.once_in(2) => self.close_at_ric(at),
            _ => {}
        }
        true
    }

    fn ric_hears(&mut self, assoc: AssocId, pdu: &[u8]) {
        let now = self.ric_now();
        let Routed::Indication(indication) = self.controller.handle_pdu(now, assoc, pdu) else { return };
        self.tally.saw("an indication was routed");
        let (node, subscription) = (indication.node, indication.subscription);
        let gather = per::Gather::new();
        let message = indication.decode(&gather).expect("what is routed can be read");
        // else it was tampered with
        let number = message.header.to_cow().as_ref().try_into().map_or(u64::MAX, u64::from_be_bytes);
        let consumers = self.controller.consumers(subscription);
        assert!(!consumers.is_empty());
        assert_eq!(self.controller.node(node).expect("the node is up").assoc, assoc);
        for consumer in consumers {
            if *consumer == IAPP {
                self.iapp.reports.push((subscription, number));
                continue;
            }
            let assoc = self.host.assoc(*consumer).expect("who takes something is there");
            let xapp = self.xapps.iter_mut().flatten().find(|x| x.assoc == assoc);
            let xapp = xapp.expect("who takes something is there");
            assert!(xapp.knows.active.contains(&subscription), "what an xApp gets it was told of before");
            if xapp.report(subscription, number) {
                self.tally.saw("a slow xApp lost a report");
            }
        }
    }

    /// The RIC reads what an xApp has said.
    pub fn hear_xapp(&mut self, at: usize) -> bool {
        let Some(xapp) = &mut self.xapps[at] else { return false };
        let Some(said) = xapp.said.pop_front() else { return false };
        match said.what {
            What::Hello => xapp.greeted = true,
            What::Command(ticket) => drop(xapp.knows.pending.insert(ticket)),
            What::Change(ticket) => drop(xapp.knows.changing.insert(ticket)),
            What::Leave => {}
        }
        let (assoc, now) = (xapp.assoc, self.ric_now());
        self.host.handle_pdu(now, assoc, &said.pdu, &mut self.controller);
        true
    }

    pub fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            let nodes = self.nodes.iter().filter_map(|n| n.agent.poll_timeout().map(|at| n.clock.moment(at)));
            let ric = self.controller.poll_timeout().map(|at| self.ric_clock.moment(at));
            let links = self.wires.iter().filter_map(|wire| wire.noticed_at);
            let Some(at) = nodes.chain(ric).chain(links).min().filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            self.timeout();
            self.settle();
        }
        self.now = end;
        self.timeout(); // too often does no harm
    }

    fn timeout(&mut self) {
        self.controller.handle_timeout(self.ric_now());
        for node in &mut self.nodes {
            node.agent.handle_timeout(node.clock.at(self.now));
        }
        self.keep_alive();
    }

    /// Nodes that left in order come back.
    pub fn recall(&mut self) {
        for node in &mut self.nodes {
            if std::mem::take(&mut node.removed) {
                node.agent.connect().expect("it was removed");
            }
        }
    }

    pub fn digest(&mut self, assoc: AssocId, bytes: &[u8]) {
        for octet in bytes.iter().chain(&assoc.0.to_be_bytes()) {
            self.digest = (self.digest ^ u64::from(*octet)).wrapping_mul(0x100_0000_01B3);
        }
    }
}
