//! The world of the simulation: what can happen in it, and how what the machines want is carried about.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use e2::{
    Action, AddedAction, AgentEvent, AssocId, CloseReason, ConnectionResult, ConnectionUpdate, Consumer, Controller,
    ControllerConfig, Event, NodeId, Routed, SubscriptionChange, SubscriptionId, SubscriptionSpec, Ticket, Time,
    XappClient, XappHost, xapp::ClientEvent,
};
use e2ap::{Cause, CauseMisc, RanFunctionId, RicActionId, RicActionType, RicIndicationType, Version};

use super::build::{component, connection};
use super::random::Random;
use super::sim_parts::{Knowledge, Node, offering};

pub const AGENTS: usize = 3;
pub const IAPP: Consumer = Consumer(1);

/// Request ids that there are: few, so that they are used again.
pub const REQUESTS: u32 = 24;

/// A link between an agent and the controller, in order both ways, as long as both ends hold it.
pub struct Wire {
    pub assoc: AssocId,
    pub up: VecDeque<Vec<u8>>,
    pub down: VecDeque<Vec<u8>>,
    pub agent_holds: bool,
    pub ric_holds: bool,
}

pub struct Xapp {
    pub assoc: AssocId,
    pub client: XappClient,
    pub knows: Knowledge,
}

pub struct World {
    pub random: Random,
    pub hostile: bool,
    pub trace: Option<u64>,
    pub now: Time,
    pub controller: Controller,
    pub host: XappHost,
    pub nodes: Vec<Node>,
    pub wires: Vec<Wire>,
    pub xapps: Vec<Option<Xapp>>,
    pub iapp: Knowledge,
    /// What somebody knows of routes who only asks for those that may have changed.
    pub routes: BTreeMap<SubscriptionId, (AssocId, Vec<Consumer>)>,
    pub next_assoc: u64,
    pub next_ticket: u32,
    pub ups: u64,
    pub indications: u64,
    /// Of everything that was sent: two runs of a seed have the same.
    pub digest: u64,
}

impl World {
    pub fn new(seed: u64, hostile: bool) -> Self {
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
            ..Default::default()
        };
        World {
            random,
            hostile,
            trace: std::env::var_os("FERRIC_SEED").map(|_| seed),
            now: Time::from_nanos(0),
            controller: {
                let mut controller = Controller::new(config);
                controller.track_routes();
                controller
            },
            host: XappHost::new(),
            nodes,
            wires: Vec::new(),
            xapps: vec![None, None],
            iapp: Knowledge::default(),
            routes: BTreeMap::new(),
            next_assoc: 0,
            next_ticket: 0,
            ups: 0,
            indications: 0,
            digest: seed,
        }
    }

    fn note(&mut self, what: impl Fn() -> String) {
        if self.trace.is_some() {
            println!("{:>12} {}", self.now.as_nanos() / 1_000_000, what());
        }
    }

    fn assoc(&mut self) -> AssocId {
        self.next_assoc += 1;
        AssocId(self.next_assoc)
    }

    pub fn step(&mut self) {
        match self.random.below(100) {
            0..43 => self.deliver(),
            43..45 => self.node_acts(),
            45..57 => self.command(),
            57..69 => self.answer(),
            69..80 => self.indicate(),
            80..90 => {
                let ms = *self.random.pick(&[0, 1, 20, 300, 1000, 2500, 6000]);
                self.pass(Duration::from_millis(ms));
            }
            90 => self.lose_wire(),
            91 if self.random.once_in(2) => self.recall(),
            91 => self.restart_agent(),
            92..94 => self.xapp_comes_or_goes(),
            94 => self.node_acts(),
            95 => self.ric_acts(),
            _ if self.hostile => self.harm(),
            _ => self.deliver(),
        }
        self.settle();
    }

    /// One PDU arrives, from a random end of a random wire.
    fn deliver(&mut self) {
        let full: Vec<(usize, bool)> = self
            .wires
            .iter()
            .enumerate()
            .flat_map(|(at, w)| [(at, true, !w.up.is_empty()), (at, false, !w.down.is_empty())])
            .filter(|(.., full)| *full)
            .map(|(at, up, _)| (at, up))
            .collect();
        if full.is_empty() {
            return;
        }
        let (at, up) = *self.random.pick(&full);
        self.deliver_on(at, up);
    }

    pub fn deliver_on(&mut self, at: usize, up: bool) {
        let wire = &mut self.wires[at];
        if up {
            let pdu = wire.up.pop_front().expect("chosen since it is full");
            let assoc = wire.assoc;
            if wire.ric_holds {
                self.ric_hears(assoc, &pdu);
            }
        } else {
            let pdu = wire.down.pop_front().expect("chosen since it is full");
            let now = self.now;
            if let Some(node) = self.nodes.iter_mut().find(|n| n.wire == Some(at)) {
                node.agent.handle_pdu(now, &pdu);
            }
        }
    }

    fn ric_hears(&mut self, assoc: AssocId, pdu: &[u8]) {
        let Routed::Indication(indication) = self.controller.handle_pdu(self.now, assoc, pdu) else { return };
        self.indications += 1;
        let consumers = self.controller.consumers(indication.subscription);
        assert!(!consumers.is_empty());
        assert_eq!(self.controller.node(indication.node).expect("the node is up").assoc, assoc);
    }

    fn spec(&mut self) -> SubscriptionSpec {
        let kind = if self.random.once_in(5) { RicActionType::Insert } else { RicActionType::Report };
        let actions = (0..=self.random.below(2) as u8).map(|id| Action {
            id: RicActionId(id),
            kind,
            definition: None,
            subsequent: None,
        });
        SubscriptionSpec { event_trigger: vec![self.random.below(2) as u8], actions: actions.collect() }
    }

    fn command(&mut self) {
        let node = NodeId(1 + self.random.below(self.ups as usize + 2) as u32);
        let node = self.controller.nodes().nth(self.random.below(AGENTS)).map_or(node, |n| n.id);
        let function = RanFunctionId(2 + self.random.below(3) as u16); // 4 is none
        let function = if self.random.once_in(4) { function } else { RanFunctionId(2) };
        let (what, who) = (self.random.below(14), self.random.below(3));
        let change = self.change();
        let subscription = SubscriptionId(self.random.below(REQUESTS as usize) as u32);
        let spec = self.spec();
        let own = |knows: &Knowledge, random: &mut Random| {
            let own: Vec<_> = knows.active.iter().copied().collect();
            if own.is_empty() || random.once_in(6) { subscription } else { *random.pick(&own) }
        };
        let Some(slot) = self.xapps.get_mut(who) else {
            self.next_ticket += 1;
            let ticket = Ticket(self.next_ticket);
            let result = match what {
                0..5 => self.controller.subscribe(self.now, IAPP, ticket, node, function, spec),
                5..7 => {
                    let subscription = own(&self.iapp, &mut self.random);
                    let known = self.iapp.active.contains(&subscription);
                    let result = self.controller.unsubscribe(self.now, IAPP, subscription);
                    assert_eq!(result.is_ok(), known, "one leaves what is one's own, and nothing else");
                    return;
                }
                7..10 => self.controller.control(self.now, IAPP, ticket, node, function, &[1], &[2], None, what < 9),
                10..12 => self.controller.query(self.now, IAPP, ticket, node, function, &[1], &[2]),
                _ => {
                    let subscription = own(&self.iapp, &mut self.random);
                    if self.controller.modify(self.now, IAPP, ticket, subscription, change).is_ok() {
                        self.iapp.changing.insert(ticket);
                    }
                    return;
                }
            };
            if result.is_ok() {
                self.iapp.pending.insert(ticket);
            }
            return;
        };
        let Some(xapp) = slot else { return };
        let mut pdu = Vec::new();
        match what {
            0..5 => {
                let ticket = xapp.client.subscribe(node, function, spec, &mut pdu);
                xapp.knows.pending.insert(ticket);
            }
            5..7 => {
                let subscription = own(&xapp.knows, &mut self.random);
                xapp.client.unsubscribe(subscription, &mut pdu);
            }
            7..10 => {
                let ticket = xapp.client.control(node, function, &[1], &[2], None, what < 9, &mut pdu);
                xapp.knows.pending.insert(ticket);
            }
            10..12 => {
                let ticket = xapp.client.query(node, function, &[1], &[2], &mut pdu);
                xapp.knows.pending.insert(ticket);
            }
            _ => {
                let subscription = own(&xapp.knows, &mut self.random);
                let ticket = xapp.client.modify(subscription, change, &mut pdu);
                xapp.knows.changing.insert(ticket);
            }
        }
        let assoc = xapp.assoc;
        self.host.handle_pdu(self.now, assoc, &pdu, &mut self.controller);
    }

    /// A change that leaves a subscription its first action.
    fn change(&mut self) -> SubscriptionChange {
        let action = Action { id: RicActionId(7), kind: RicActionType::Report, definition: None, subsequent: None };
        let mut change = SubscriptionChange::default();
        match self.random.below(3) {
            0 => change.event_trigger = Some(vec![self.random.below(2) as u8]),
            1 => change.add = vec![AddedAction { action, execution_order: 1 }],
            _ => change.remove = vec![RicActionId(7)],
        }
        change
    }

    /// A RAN function answers something that waits for it, if anything does.
    fn answer(&mut self) {
        let at = self.random.below(AGENTS);
        let (refuse, control) = (self.random.once_in(4), self.random.once_in(2));
        self.answer_of(at, refuse, control);
    }

    pub fn answer_of(&mut self, at: usize, refuse: bool, control: bool) {
        let node = &mut self.nodes[at];
        if let Some(update) = node.waiting_connection.take() {
            let result = match refuse {
                true => node.agent.refuse_connection_update(Cause::Misc(CauseMisc::OmIntervention), None),
                false => node.agent.connection_updated(&ConnectionResult { set_up: update.add, failed: Vec::new() }),
            };
            result.expect("it waits");
        } else if let Some((id, change)) = node.waiting_changes.pop() {
            let result = match refuse {
                true => node.agent.refuse_modification(id, Cause::Misc(CauseMisc::OmIntervention)),
                false => node.agent.modified(id, &change.all_done()),
            };
            result.expect("it waits");
        } else if control && let Some((id, _)) = node.waiting_queries.pop() {
            let result = match refuse {
                true => node.agent.fail_query(id, Cause::Misc(CauseMisc::HardwareFailure)),
                false => node.agent.answer_query(id, &[7]),
            };
            result.expect("it waits");
        } else if control && let Some((id, _)) = node.waiting_controls.pop() {
            let result = match refuse {
                true => node.agent.fail(id, Cause::Misc(CauseMisc::HardwareFailure), None),
                false => node.agent.acknowledge(id, Some(&[7])),
            };
            result.expect("it waits");
        } else if let Some((id, actions)) = node.waiting_subscriptions.pop() {
            if refuse {
                node.agent.refuse(id, Cause::Misc(CauseMisc::ControlProcessingOverload)).expect("it waits");
            } else {
                let not: Vec<_> = actions[1..].iter().map(|id| (*id, Cause::Misc(CauseMisc::OmIntervention))).collect();
                node.agent.admit(id, &actions[..1], &not).expect("it waits");
                node.active.insert(id, actions[0]);
            }
        }
    }

    fn indicate(&mut self) {
        let at = self.random.below(AGENTS);
        let node = &mut self.nodes[at];
        let active: Vec<_> = node.active.iter().map(|(id, action)| (*id, *action)).collect();
        if active.is_empty() {
            return;
        }
        let (id, action) = *self.random.pick(&active);
        let octets = if self.random.once_in(20) { 20_000 } else { 10 };
        let (mut pdu, kind) = (Vec::new(), RicIndicationType::Report);
        node.agent.write_indication(id, action, kind, &[1], &vec![2; octets], &mut pdu).expect("it stands");
        if let Some(wire) = node.wire {
            self.wires[wire].up.push_back(pdu);
        }
    }

    pub fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            let agents = self.nodes.iter().filter_map(|n| n.agent.poll_timeout());
            let Some(at) = agents.chain(self.controller.poll_timeout()).min().filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            self.timeout();
            self.settle();
        }
        self.now = end;
        self.timeout(); // too often does no harm
    }

    fn timeout(&mut self) {
        self.controller.handle_timeout(self.now);
        for node in &mut self.nodes {
            node.agent.handle_timeout(self.now);
        }
    }

    /// An association breaks: one end learns of it, or both.
    fn lose_wire(&mut self) {
        if self.wires.is_empty() {
            return;
        }
        let at = self.random.below(self.wires.len());
        let which = self.random.below(3);
        if which != 0 {
            self.close_at_agent(at);
        }
        if which != 1 {
            self.close_at_ric(at);
        }
        self.note(|| format!("wire {at} breaks: {which}"));
    }

    pub fn close_at_agent(&mut self, at: usize) {
        self.wires[at].agent_holds = false;
        self.wires[at].down.clear();
        if let Some(node) = self.nodes.iter_mut().find(|n| n.wire == Some(at)) {
            node.wire = None;
            node.agent.handle_close(self.now, CloseReason::Transport);
        }
    }

    pub fn close_at_ric(&mut self, at: usize) {
        let wire = &mut self.wires[at];
        if wire.ric_holds {
            wire.ric_holds = false;
            wire.up.clear();
            self.controller.handle_close(self.now, wire.assoc, CloseReason::Transport);
        }
    }

    /// A node begins anew, and its RIC need not notice that the old association is gone.
    fn restart_agent(&mut self) {
        let at = self.random.below(AGENTS);
        let (number, version) = (self.nodes[at].number, self.nodes[at].version);
        if let Some(wire) = self.nodes[at].wire {
            self.wires[wire].agent_holds = false;
            self.wires[wire].down.clear();
        }
        self.nodes[at] = Node::new(number, version);
        self.note(|| format!("agent {at} begins anew"));
    }

    fn xapp_comes_or_goes(&mut self) {
        let at = self.random.below(self.xapps.len());
        match self.xapps[at].take() {
            Some(xapp) if self.random.once_in(3) => {
                self.host.handle_close(self.now, xapp.assoc, &mut self.controller);
                self.note(|| format!("xApp {at} goes"));
            }
            Some(xapp) => self.xapps[at] = Some(xapp),
            None => {
                let assoc = self.assoc();
                let xapp = Xapp { assoc, client: XappClient::new(), knows: Knowledge::default() };
                self.host.handle_open(assoc);
                let mut pdu = Vec::new();
                xapp.client.hello("simulated", &mut pdu);
                self.xapps[at] = Some(xapp);
                self.host.handle_pdu(self.now, assoc, &pdu, &mut self.controller);
            }
        }
    }

    /// A node begins a procedure of its own. Whatever makes no sense in its state is refused.
    fn node_acts(&mut self) {
        let at = self.random.below(AGENTS);
        let (what, now) = (self.random.below(6), self.now);
        let cause = Cause::Misc(CauseMisc::OmIntervention);
        let revision = 1 + self.random.below(9) as u16;
        let node = &mut self.nodes[at];
        let first = node.active.iter().next().map(|(id, action)| (*id, *action));
        match (what, first) {
            (0, _) => {
                // a function comes, changes or goes
                if node.functions.remove(&3).is_none() || revision > 4 {
                    node.functions.insert(3, revision);
                }
                let offered = node.functions.clone();
                node.agent.update_functions(now, offering(&offered)).expect("there can be such a node");
                node.waiting_controls.retain(|(_, function)| offered.contains_key(&function.0));
                node.waiting_queries.retain(|(_, function)| offered.contains_key(&function.0));
            }
            (1, _) => {
                let components = vec![component(i64::from(revision), 3)];
                let _ = node.agent.update_components(now, components);
            }
            (2, _) if revision < 4 => drop(node.agent.remove(now)),
            (3, Some(first)) => drop(node.agent.require_deletion(&[(first.0, cause)])),
            (4, Some((id, action))) => drop(node.agent.require_modification(now, id, &[], &[(action, cause)])),
            _ => drop(node.agent.reset(now, cause)),
        }
        self.note(|| format!("agent {at} acts: {what}"));
    }

    /// The RIC begins a procedure about a node as a whole. One may be under way, or not in the node's version.
    fn ric_acts(&mut self) {
        let (what, which) = (self.random.below(8), self.random.below(AGENTS));
        let Some(id) = self.controller.nodes().nth(which).map(|n| n.id) else { return };
        let _ = match what {
            0 => self.controller.remove(self.now, id),
            1..4 => self.controller.service_query(self.now, id),
            4..6 => {
                let update = ConnectionUpdate { add: vec![connection(2)], ..ConnectionUpdate::default() };
                self.controller.connection_update(self.now, id, &update)
            }
            _ => self.controller.reset(self.now, id, Cause::Misc(CauseMisc::OmIntervention)),
        };
    }

    /// A PDU is repeated, tampered with, moved to another wire, or invented.
    fn harm(&mut self) {
        if self.wires.is_empty() {
            return;
        }
        let from = self.random.below(self.wires.len());
        let (up, to) = (self.random.once_in(2), self.random.below(self.wires.len()));
        let queue = if up { &self.wires[from].up } else { &self.wires[from].down };
        let mut pdu = match queue.len() {
            0 => (0..self.random.below(40)).map(|_| self.random.next() as u8).collect(),
            len => queue[self.random.below(len)].clone(),
        };
        for _ in 0..self.random.below(4) {
            if pdu.is_empty() {
                break;
            }
            let at = self.random.below(pdu.len());
            match self.random.below(3) {
                0 => pdu[at] ^= 1 << self.random.below(8),
                1 => pdu.truncate(at),
                _ => pdu[at] = self.random.next() as u8,
            }
        }
        let up = up != self.random.once_in(10);
        self.note(|| format!("harm on wire {to}: {pdu:02x?}"));
        let wire = &mut self.wires[to];
        if up && wire.ric_holds {
            wire.up.push_back(pdu);
        } else if !up && wire.agent_holds {
            wire.down.push_back(pdu);
        }
    }

    /// Does what the machines want until they want nothing more.
    pub fn settle(&mut self) {
        let mut bytes = Vec::new();
        while let Some(event) = self.controller.poll_event() {
            self.note(|| format!("ric: {event:?}"));
            if matches!(event, Event::NodeUp(_)) {
                self.ups += 1;
            }
            match self.host.handle_event(event, &self.controller) {
                Some(Event::Subscribed { consumer: IAPP, ticket, subscription, .. }) => {
                    self.iapp.subscribed(ticket, subscription);
                }
                Some(Event::SubscriptionFailed { consumer: IAPP, ticket, .. })
                | Some(Event::Controlled { consumer: IAPP, ticket, .. })
                | Some(Event::Queried { consumer: IAPP, ticket, .. }) => self.iapp.answered(ticket),
                Some(Event::Modified { consumer: IAPP, ticket, .. }) => self.iapp.changed(ticket),
                Some(Event::SubscriptionSuspended { consumer: IAPP, subscription }) => self.iapp.waits(subscription),
                Some(Event::SubscriptionResumed { consumer: IAPP, subscription, .. }) => self.iapp.stands(subscription),
                Some(Event::SubscriptionChanged { consumer: IAPP, subscription, .. }) => {
                    assert!(self.iapp.active.contains(&subscription), "{subscription:?} stands");
                }
                Some(Event::SubscriptionEnded { consumer: IAPP, subscription, .. }) => self.iapp.ended(subscription),
                Some(event) => assert_eq!(event.consumer(), None, "news for nobody: {event:?}"),
                None => {}
            }
        }
        while self.host.poll_notice().is_some() {}
        while let Some(assoc) = self.controller.poll_transmit(&mut bytes) {
            self.digest(assoc, &bytes);
            if let Some(wire) = self.wires.iter_mut().find(|w| w.assoc == assoc && w.agent_holds) {
                wire.down.push_back(bytes.clone());
            }
            bytes.clear();
        }
        while let Some((assoc, reason)) = self.controller.poll_close() {
            self.note(|| format!("ric closes {assoc:?}: {reason}"));
            let at = self.wires.iter().position(|w| w.assoc == assoc).expect("it is one of ours");
            self.wires[at].ric_holds = false;
            self.wires[at].up.clear();
            self.close_at_agent(at);
        }
        while let Some(assoc) =
            self.host.poll_transmit(&mut bytes).or_else(|| self.host.poll_news(&self.controller, &mut bytes, |_| true))
        {
            self.digest(assoc, &bytes);
            let xapp = self.xapps.iter_mut().flatten().find(|x| x.assoc == assoc);
            let xapp = xapp.expect("nothing is sent to an xApp that is gone");
            match xapp.client.handle_pdu(&bytes).expect("a host speaks the protocol") {
                ClientEvent::NodeUp(node) => assert!(xapp.knows.nodes.insert(node.id), "{:?} is new", node.id),
                ClientEvent::NodeLost(node) => {
                    xapp.knows.nodes.remove(&node);
                }
                ClientEvent::Subscribed { ticket, subscription, .. } => xapp.knows.subscribed(ticket, subscription),
                ClientEvent::SubscribeFailed { ticket, .. }
                | ClientEvent::Controlled { ticket, .. }
                | ClientEvent::Queried { ticket, .. } => xapp.knows.answered(ticket),
                ClientEvent::Modified { ticket, .. } => xapp.knows.changed(ticket),
                ClientEvent::NodeChanged(node) => {
                    assert!(xapp.knows.nodes.contains(&node.id), "{:?} is known", node.id);
                }
                ClientEvent::SubscriptionSuspended(subscription) => xapp.knows.waits(subscription),
                ClientEvent::SubscriptionResumed { subscription, .. } => xapp.knows.stands(subscription),
                ClientEvent::SubscriptionChanged { subscription, .. } => {
                    assert!(xapp.knows.active.contains(&subscription), "{subscription:?} stands");
                }
                ClientEvent::SubscriptionEnded { subscription, .. } => xapp.knows.ended(subscription),
                ClientEvent::Welcome(_) | ClientEvent::Refused(_) => {}
                other => panic!("not in this world: {other:?}"),
            }
            bytes.clear();
        }
        assert!(self.host.poll_close().is_none(), "these xApps behave");
        for at in 0..AGENTS {
            self.settle_agent(at);
        }
    }

    /// Nodes that left in order come back.
    pub fn recall(&mut self) {
        for node in &mut self.nodes {
            if std::mem::take(&mut node.removed) {
                node.agent.connect().expect("it was removed");
            }
        }
    }

    fn settle_agent(&mut self, at: usize) {
        while let Some(event) = self.nodes[at].agent.poll_event() {
            self.note(|| format!("agent {at}: {event:?}"));
            let node = &mut self.nodes[at];
            match event {
                AgentEvent::Connect => {
                    let assoc = self.assoc();
                    self.nodes[at].wire = Some(self.wires.len());
                    let (up, down) = (VecDeque::new(), VecDeque::new());
                    self.wires.push(Wire { assoc, up, down, agent_holds: true, ric_holds: true });
                    self.controller.handle_open(self.now, assoc);
                    self.nodes[at].agent.handle_open(self.now);
                }
                AgentEvent::Subscribe(request) => {
                    let actions = request.actions.iter().map(|a| a.id).collect();
                    node.waiting_subscriptions.push((request.request_id, actions));
                }
                AgentEvent::Unsubscribe { request_id, .. } => {
                    node.waiting_subscriptions.retain(|(id, _)| *id != request_id);
                    node.waiting_changes.retain(|(id, _)| *id != request_id);
                    node.active.remove(&request_id);
                }
                AgentEvent::Control(request) => {
                    node.waiting_controls.push((request.request_id, request.ran_function_id));
                }
                AgentEvent::Query(request) => node.waiting_queries.push((request.request_id, request.ran_function_id)),
                AgentEvent::Modify(request) => node.waiting_changes.push((request.request_id, request.change)),
                AgentEvent::ConnectionUpdate(update) => node.waiting_connection = Some(update),
                AgentEvent::ModificationConfirmed { request_id, removed, .. } => {
                    if node.active.get(&request_id).is_some_and(|action| removed.contains(action)) {
                        node.active.remove(&request_id);
                    }
                }
                AgentEvent::Down { .. } => node.forget(true),
                AgentEvent::Removed { .. } => {
                    node.forget(true);
                    node.removed = true;
                }
                AgentEvent::Notice(e2::Notice::Reset { .. }) => node.forget(false),
                other => node.agent.decline(&other),
            }
        }
        // what a reset of its own forgot
        let node = &mut self.nodes[at];
        let mut bytes = Vec::new();
        while node.agent.poll_transmit(&mut bytes) {
            if matches!(bytes[..2], [0, 3]) {
                node.forget(false);
            }
            if let Some(wire) = node.wire {
                self.wires[wire].up.push_back(std::mem::take(&mut bytes));
            }
            bytes.clear();
        }
        if node.agent.poll_close().is_some()
            && let Some(wire) = node.wire.take()
        {
            self.wires[wire].agent_holds = false;
            self.wires[wire].down.clear();
        }
    }

    fn digest(&mut self, assoc: AssocId, bytes: &[u8]) {
        for octet in bytes.iter().chain(&assoc.0.to_be_bytes()) {
            self.digest = (self.digest ^ u64::from(*octet)).wrapping_mul(0x100_0000_01B3);
        }
    }
}
