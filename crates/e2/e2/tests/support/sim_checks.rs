//! Invariants of the simulation, and its checks at the end.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use e2::{AssocId, Consumer, SubscriptionId, SubscriptionSpec, Ticket};
use e2ap::{RanFunctionId, RicActionType, RicRequestId};

use super::short::gnb;
use super::sim_acts::action;
use super::sim_parts::{Knowledge, MessageKind, SentMessage};
use super::sim_world::{AGENTS, IAPP, REQUESTS, World, XAPPS};

impl World {
    /// Checks the invariants.
    pub fn check_all(&mut self) {
        self.check();
        self.check_routes();
        self.check_reports();
    }

    /// Ends the faults and checks that everything recovers.
    pub fn finish(&mut self) {
        self.quiesce();
        self.start_over();
        self.end();
    }

    /// Checks that the controller and its consumers agree.
    fn check(&self) {
        let sessions: BTreeMap<AssocId, &Knowledge> =
            self.xapps.iter().flatten().filter(|xapp| xapp.greeted).map(|xapp| (xapp.assoc, &xapp.knows)).collect();
        let mut has: BTreeMap<Option<AssocId>, BTreeSet<SubscriptionId>> = BTreeMap::new();
        for subscription in (0..REQUESTS).map(SubscriptionId) {
            for consumer in self.controller.consumers(subscription) {
                let assoc = self.host.assoc(*consumer);
                assert!(*consumer == IAPP || assoc.is_some_and(|a| sessions.contains_key(&a)), "{consumer:?} is dead");
                assert!(has.entry(assoc).or_default().insert(subscription), "a consumer is listed once");
            }
        }
        let mut held = 0;
        for (assoc, knows) in sessions.iter().map(|(a, k)| (Some(*a), *k)).chain([(None, &self.iapp)]) {
            assert_eq!(
                has.remove(&assoc).unwrap_or_default(),
                knows.active,
                "{assoc:?} consumes its active subscriptions"
            );
            let consumer = match assoc {
                None => IAPP,
                some => {
                    (1 << 16..).map(Consumer).find(|c| self.host.assoc(*c) == some).expect("the session has a consumer")
                }
            };
            let count = self.controller.requests_of(consumer);
            assert_eq!(
                count,
                knows.pending.len() + knows.active.len(),
                "{consumer:?} has its pending and active requests"
            );
            held += count;
        }
        assert!(self.controller.requests() <= REQUESTS as usize);
        assert!(held == 0 || self.controller.requests() > 0);
        assert_eq!(self.host.sessions(), sessions.len());
    }

    /// Checks that polling changed routes is sufficient to know all routes.
    fn check_routes(&mut self) {
        let World { controller, routes, .. } = self;
        while let Some(changed) = controller.poll_route() {
            routes.remove(&changed);
            if let Some(route) = controller.route_of(changed) {
                routes.insert(changed, (route.assoc, route.consumers.to_vec()));
            }
        }
        for subscription in (0..REQUESTS).map(SubscriptionId) {
            let real = controller.route_of(subscription);
            let known = routes.get(&subscription).map(|(assoc, consumers)| (*assoc, consumers.as_slice()));
            assert_eq!(known, real.map(|route| (route.assoc, route.consumers)), "{subscription:?}");
        }
    }

    /// Checks that no report is repeated or late in runs that are not hostile.
    fn check_reports(&mut self) {
        let hostile = self.hostile;
        for knows in self.all_apps() {
            let mut last = BTreeMap::new();
            for (subscription, number) in &knows.reports {
                let before = last.insert(*subscription, *number);
                assert!(
                    hostile || before < Some(*number),
                    "{subscription:?}: {number} comes once, and after {before:?}"
                );
            }
            // the latest ones suffice for the next check
            knows.reports = last.into_iter().collect();
        }
    }

    fn all_apps(&mut self) -> impl Iterator<Item = &mut Knowledge> {
        self.xapps.iter_mut().flatten().map(|xapp| &mut xapp.knows).chain([&mut self.iapp])
    }

    /// Delivers all PDUs in transit and answers all pending requests.
    fn flow(&mut self) {
        self.settle();
        loop {
            let mut moved = false;
            for at in 0..XAPPS {
                while self.read_xapp(at) {
                    self.settle();
                    moved = true;
                }
            }
            while self.deliver() {
                self.settle();
                moved = true;
            }
            if !moved {
                break;
            }
        }
        for at in 0..AGENTS {
            for control in [true, false, true, false] {
                self.answer_of(at, false, control);
            }
        }
    }

    /// Runs for a while without faults.
    fn calm(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.flow();
            self.pass(Duration::from_millis(700));
            self.settle();
            self.check();
        }
    }

    /// Ends the faults and runs until nothing is pending.
    fn quiesce(&mut self) {
        self.end_of_faults();
        for _ in 0..4 {
            self.recall(); // nodes removed in the meantime, too
            self.calm(40);
        }
        self.check_routes();
        self.check_reports();
        assert!(self.nodes.iter().all(|node| node.agent.is_up()), "every node is up");
        for knows in self.all_apps() {
            assert!(knows.is_settled(), "every command and change is answered, and no subscription is suspended");
        }
        self.agree();
    }

    /// Checks that nodes and controller have the same functions and subscriptions.
    fn agree(&self) {
        assert_eq!(self.controller.nodes().count(), AGENTS);
        for node in &self.nodes {
            let known = self.controller.nodes().find(|n| n.global_id == gnb(node.number));
            assert_eq!(known.map(|n| n.assoc), node.wire.map(|wire| self.wires[wire].assoc), "{}", node.number);
            let functions = known.into_iter().flat_map(|n| &n.functions).map(|f| (f.id.0, f.revision.0));
            assert_eq!(functions.collect::<BTreeMap<_, _>>(), node.functions, "node {}", node.number);
        }
        let at_nodes: BTreeSet<RicRequestId> = self.nodes.iter().flat_map(|n| n.active.keys().copied()).collect();
        let at_nodes: BTreeSet<_> = at_nodes.iter().map(place).collect();
        let here: BTreeSet<_> =
            (0..REQUESTS).map(SubscriptionId).filter(|s| !self.controller.consumers(*s).is_empty()).collect();
        assert_eq!(at_nodes, here, "nodes and controller agree");
        assert_eq!(self.controller.requests(), here.len(), "no other request is pending");
    }

    /// Ends all subscriptions.
    fn leave(&mut self) {
        for subscription in self.iapp.active.clone() {
            let now = self.ric_now();
            self.controller.unsubscribe(now, IAPP, subscription).expect("the iApp owns the subscription");
        }
        for xapp in self.xapps.iter_mut().flatten() {
            for subscription in &xapp.knows.active {
                let mut pdu = Vec::new();
                xapp.client.unsubscribe(*subscription, &mut pdu);
                xapp.sent.push_back(SentMessage { pdu, kind: MessageKind::Leave });
            }
        }
        self.calm(2);
        assert!(self.all_apps().all(|knows| knows.active.is_empty()));
        assert_eq!(self.controller.requests(), 0, "no request is left over");
        assert!(self.nodes.iter().all(|node| node.active.is_empty()), "no subscription is left at the nodes");
    }

    /// Checks normal operation after the faults: each app subscribes again and receives each report exactly once.
    fn start_over(&mut self) {
        self.leave();
        (0..XAPPS).for_each(|at| self.connect_xapp(at));
        self.calm(20); // until request ids may be reused
        let nodes: Vec<_> = self.controller.nodes().map(|node| node.id).collect();
        let (function, now) = (RanFunctionId(2), self.ric_now());
        // the iApp shares the first xApp's subscriptions
        let spec =
            |what: u8| SubscriptionSpec { event_trigger: vec![what], actions: vec![action(1, RicActionType::Report)] };
        for node in &nodes {
            for (at, xapp) in self.xapps.iter_mut().flatten().enumerate() {
                let mut pdu = Vec::new();
                let ticket = xapp.client.subscribe(*node, function, spec(at as u8), &mut pdu);
                xapp.sent.push_back(SentMessage { pdu, kind: MessageKind::Command(ticket) });
            }
            self.next_ticket += 1;
            let ticket = Ticket(self.next_ticket);
            self.controller.subscribe(now, IAPP, ticket, *node, function, spec(0)).expect("there is room");
            self.iapp.pending.insert(ticket);
        }
        self.calm(6);
        assert_eq!(self.xapps.iter().flatten().count(), XAPPS);
        for knows in self.all_apps() {
            assert_eq!((knows.pending.len(), knows.active.len()), (0, AGENTS), "all subscriptions are active");
            assert_eq!(knows.nodes.len() % AGENTS, 0, "an xApp knows the nodes, the iApp does not");
            knows.reports.clear();
        }
        let mut reported: BTreeMap<SubscriptionId, Vec<u64>> = BTreeMap::new();
        for round in 0..4 {
            for at in 0..AGENTS {
                let active: Vec<_> = self.nodes[at].active.keys().copied().collect();
                assert_eq!(active.len(), 2, "one of the first xApp and the iApp, one of the second");
                for id in active {
                    reported.entry(place(&id)).or_default().extend(self.report(at, id));
                }
            }
            if round % 2 == 1 {
                self.flow();
            }
        }
        for knows in self.all_apps() {
            let mut got: BTreeMap<SubscriptionId, Vec<u64>> = BTreeMap::new();
            for (subscription, number) in std::mem::take(&mut knows.reports) {
                got.entry(subscription).or_default().push(number);
            }
            let wanted = reported.iter().filter(|(subscription, _)| knows.active.contains(subscription));
            assert_eq!(got, wanted.map(|(s, numbers)| (*s, numbers.clone())).collect(), "each exactly once, in order");
        }
    }

    /// Disconnects all apps.
    fn end(&mut self) {
        let now = self.ric_now();
        for xapp in std::mem::take(&mut self.xapps).into_iter().flatten() {
            self.host.handle_close(now, xapp.assoc, &mut self.controller);
        }
        self.xapps = (0..XAPPS).map(|_| None).collect();
        self.controller.drop_consumer(now, IAPP);
        self.iapp = Knowledge::default();
        self.calm(2);
        self.agree();
        assert_eq!(self.controller.requests(), 0, "no request is left");
        assert_eq!(self.controller.requests_of(IAPP), 0);
    }
}

/// Returns the subscription of a node's request id.
fn place(id: &RicRequestId) -> SubscriptionId {
    SubscriptionId(u32::from(id.instance))
}
