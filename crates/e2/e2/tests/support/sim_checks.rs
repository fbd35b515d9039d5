//! What holds in the simulation's world at any time, and in the end.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use e2::{AssocId, Consumer, SubscriptionId, SubscriptionSpec, Ticket};
use e2ap::{RanFunctionId, RicActionType, RicRequestId};

use super::short::gnb;
use super::sim_acts::action;
use super::sim_parts::{Knowledge, Said, What};
use super::sim_world::{AGENTS, IAPP, REQUESTS, World, XAPPS};

impl World {
    /// What holds at any time.
    pub fn check_all(&mut self) {
        self.check();
        self.check_routes();
        self.check_reports();
    }

    /// Nothing goes wrong any more: all is well in the end.
    pub fn finish(&mut self) {
        self.quiesce();
        self.start_over();
        self.end();
    }

    /// The controller and its consumers know the same.
    fn check(&self) {
        let sessions: BTreeMap<AssocId, &Knowledge> =
            self.xapps.iter().flatten().filter(|xapp| xapp.greeted).map(|xapp| (xapp.assoc, &xapp.knows)).collect();
        let mut has: BTreeMap<Option<AssocId>, BTreeSet<SubscriptionId>> = BTreeMap::new();
        for subscription in (0..REQUESTS).map(SubscriptionId) {
            for consumer in self.controller.consumers(subscription) {
                let assoc = self.host.assoc(*consumer);
                assert!(*consumer == IAPP || assoc.is_some_and(|a| sessions.contains_key(&a)), "{consumer:?} is dead");
                assert!(has.entry(assoc).or_default().insert(subscription), "a consumer is there once");
            }
        }
        let mut held = 0;
        for (assoc, knows) in sessions.iter().map(|(a, k)| (Some(*a), *k)).chain([(None, &self.iapp)]) {
            assert_eq!(has.remove(&assoc).unwrap_or_default(), knows.active, "{assoc:?} takes what it was told");
            let consumer = match assoc {
                None => IAPP,
                some => (1 << 16..).map(Consumer).find(|c| self.host.assoc(*c) == some).expect("it said hello"),
            };
            let count = self.controller.requests_of(consumer);
            assert_eq!(count, knows.pending.len() + knows.active.len(), "{consumer:?} has what it waits for or has");
            held += count;
        }
        assert!(self.controller.requests() <= REQUESTS as usize);
        assert!(held == 0 || self.controller.requests() > 0);
        assert_eq!(self.host.sessions(), sessions.len());
    }

    /// Who asks for changed routes only knows all of them.
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

    /// Where nobody lies, nothing is reported twice or late.
    fn check_reports(&mut self) {
        let hostile = self.hostile;
        for knows in self.everybody() {
            let mut last = BTreeMap::new();
            for (subscription, number) in &knows.reports {
                let before = last.insert(*subscription, *number);
                assert!(
                    hostile || before < Some(*number),
                    "{subscription:?}: {number} comes once, and after {before:?}"
                );
            }
            // the last ones are enough to go on from
            knows.reports = last.into_iter().collect();
        }
    }

    fn everybody(&mut self) -> impl Iterator<Item = &mut Knowledge> {
        self.xapps.iter_mut().flatten().map(|xapp| &mut xapp.knows).chain([&mut self.iapp])
    }

    /// Everything that is on its way arrives, and everything that waits is answered.
    fn flow(&mut self) {
        self.settle();
        loop {
            let mut moved = false;
            for at in 0..XAPPS {
                while self.hear_xapp(at) {
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

    /// A while in which nothing goes wrong.
    fn calm(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.flow();
            self.pass(Duration::from_millis(700));
            self.settle();
            self.check();
        }
    }

    /// No more faults, until nothing more happens.
    fn quiesce(&mut self) {
        self.end_of_faults();
        for _ in 0..4 {
            self.recall(); // who left meanwhile, too
            self.calm(40);
        }
        self.check_routes();
        self.check_reports();
        assert!(self.nodes.iter().all(|node| node.agent.is_up()), "everybody comes up at last");
        for knows in self.everybody() {
            assert!(knows.is_settled(), "every command and change has its answer, and what waited came back or ended");
        }
        self.agree();
    }

    /// Nodes and controller have the same functions and subscriptions.
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
        assert_eq!(self.controller.requests(), here.len(), "and nothing else runs");
    }

    /// Everybody leaves what they have.
    fn leave(&mut self) {
        for subscription in self.iapp.active.clone() {
            let now = self.ric_now();
            self.controller.unsubscribe(now, IAPP, subscription).expect("it is its own");
        }
        for xapp in self.xapps.iter_mut().flatten() {
            for subscription in &xapp.knows.active {
                let mut pdu = Vec::new();
                xapp.client.unsubscribe(*subscription, &mut pdu);
                xapp.said.push_back(Said { pdu, what: What::Leave });
            }
        }
        self.calm(2);
        assert!(self.everybody().all(|knows| knows.active.is_empty()));
        assert_eq!(self.controller.requests(), 0, "no request is left over");
        assert!(self.nodes.iter().all(|node| node.active.is_empty()), "nor at the nodes");
    }

    /// It all works as if nothing had ever gone wrong: everybody subscribes anew, and gets each report exactly once.
    fn start_over(&mut self) {
        self.leave();
        (0..XAPPS).for_each(|at| self.connect_xapp(at));
        self.calm(20); // request ids rest
        let nodes: Vec<_> = self.controller.nodes().map(|node| node.id).collect();
        let (function, now) = (RanFunctionId(2), self.ric_now());
        // the iApp shares the first xApp's
        let spec =
            |what: u8| SubscriptionSpec { event_trigger: vec![what], actions: vec![action(1, RicActionType::Report)] };
        for node in &nodes {
            for (at, xapp) in self.xapps.iter_mut().flatten().enumerate() {
                let mut pdu = Vec::new();
                let ticket = xapp.client.subscribe(*node, function, spec(at as u8), &mut pdu);
                xapp.said.push_back(Said { pdu, what: What::Command(ticket) });
            }
            self.next_ticket += 1;
            let ticket = Ticket(self.next_ticket);
            self.controller.subscribe(now, IAPP, ticket, *node, function, spec(0)).expect("there is room");
            self.iapp.pending.insert(ticket);
        }
        self.calm(6);
        assert_eq!(self.xapps.iter().flatten().count(), XAPPS);
        for knows in self.everybody() {
            assert_eq!((knows.pending.len(), knows.active.len()), (0, AGENTS), "all of them stand");
            assert_eq!(knows.nodes.len() % AGENTS, 0, "an xApp knows the nodes, the iApp was not told");
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
        for knows in self.everybody() {
            let mut got: BTreeMap<SubscriptionId, Vec<u64>> = BTreeMap::new();
            for (subscription, number) in std::mem::take(&mut knows.reports) {
                got.entry(subscription).or_default().push(number);
            }
            let wanted = reported.iter().filter(|(subscription, _)| knows.active.contains(subscription));
            assert_eq!(got, wanted.map(|(s, numbers)| (*s, numbers.clone())).collect(), "each exactly once, in order");
        }
    }

    /// Everybody goes.
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
        assert_eq!(self.controller.requests(), 0, "nobody wants anything");
        assert_eq!(self.controller.requests_of(IAPP), 0);
    }
}

/// The name of what a node knows by its request id.
fn place(id: &RicRequestId) -> SubscriptionId {
    SubscriptionId(u32::from(id.instance))
}
