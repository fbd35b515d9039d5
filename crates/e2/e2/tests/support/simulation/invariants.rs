//! Invariants of the simulation, and its checks at the end.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use e2::{AssocId, Consumer, SubscriptionId, SubscriptionSpec, Ticket};
use e2ap::{RanFunctionId, RicActionType, RicRequestId};

use super::super::notation::gnb;
use super::actions::action;
use super::parties::{AppState, MessageKind, SentMessage};
use super::{AGENTS, IAPP, REQUESTS, Simulation, XAPPS};

impl Simulation {
    /// Checks the invariants.
    pub fn check_invariants(&mut self) {
        self.check_consumers();
        self.check_routes();
        self.check_reports();
    }

    /// Ends the faults and checks that everything recovers.
    pub fn finish(&mut self) {
        self.stop_faults();
        self.check_normal_operation();
        self.disconnect_all();
    }

    /// Checks that the controller and its consumers agree.
    fn check_consumers(&self) {
        let sessions: BTreeMap<AssocId, &AppState> =
            self.xapps.iter().flatten().filter(|xapp| xapp.greeted).map(|xapp| (xapp.assoc, &xapp.state)).collect();
        let mut has: BTreeMap<Option<AssocId>, BTreeSet<SubscriptionId>> = BTreeMap::new();
        for subscription in (0..REQUESTS).map(SubscriptionId) {
            for consumer in self.controller.consumers(subscription) {
                let assoc = self.host.assoc(*consumer);
                assert!(*consumer == IAPP || assoc.is_some_and(|a| sessions.contains_key(&a)), "{consumer:?} is dead");
                assert!(has.entry(assoc).or_default().insert(subscription), "a consumer is listed once");
            }
        }
        let mut held = 0;
        for (assoc, state) in sessions.iter().map(|(a, k)| (Some(*a), *k)).chain([(None, &self.iapp)]) {
            assert_eq!(
                has.remove(&assoc).unwrap_or_default(),
                state.active,
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
                state.pending.len() + state.active.len(),
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
        let Simulation { controller, routes, .. } = self;
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
        for state in self.all_apps() {
            let mut last = BTreeMap::new();
            for (subscription, number) in &state.reports {
                let before = last.insert(*subscription, *number);
                assert!(
                    hostile || before < Some(*number),
                    "{subscription:?}: {number} comes once, and after {before:?}"
                );
            }
            // the latest ones suffice for the next check
            state.reports = last.into_iter().collect();
        }
    }

    fn all_apps(&mut self) -> impl Iterator<Item = &mut AppState> {
        self.xapps.iter_mut().flatten().map(|xapp| &mut xapp.state).chain([&mut self.iapp])
    }

    /// Delivers all PDUs in transit and answers all pending requests.
    fn deliver_all(&mut self) {
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
                self.answer_at(at, false, control);
            }
        }
    }

    /// Runs for a while without faults.
    fn run_without_faults(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.deliver_all();
            self.advance(Duration::from_millis(700));
            self.settle();
            self.check_consumers();
        }
    }

    /// Ends the faults and runs until nothing is pending.
    fn stop_faults(&mut self) {
        self.end_faults();
        for _ in 0..4 {
            self.reconnect_removed(); // nodes removed in the meantime, too
            self.run_without_faults(40);
        }
        self.check_routes();
        self.check_reports();
        assert!(self.nodes.iter().all(|node| node.agent.is_up()), "every node is up");
        for state in self.all_apps() {
            assert!(state.is_settled(), "every command and change is answered, and no subscription is suspended");
        }
        self.check_agreement();
    }

    /// Checks that nodes and controller have the same functions and subscriptions.
    fn check_agreement(&self) {
        assert_eq!(self.controller.nodes().count(), AGENTS);
        for node in &self.nodes {
            let known = self.controller.nodes().find(|n| n.global_id == gnb(node.number));
            assert_eq!(
                known.map(|n| n.assoc),
                node.connection.map(|connection| self.connections[connection].assoc),
                "{}",
                node.number
            );
            let functions = known.into_iter().flat_map(|n| &n.functions).map(|f| (f.id.0, f.revision.0));
            assert_eq!(functions.collect::<BTreeMap<_, _>>(), node.functions, "node {}", node.number);
        }
        let at_nodes: BTreeSet<RicRequestId> = self.nodes.iter().flat_map(|n| n.active.keys().copied()).collect();
        let at_nodes: BTreeSet<_> = at_nodes.iter().map(subscription_of).collect();
        let here: BTreeSet<_> =
            (0..REQUESTS).map(SubscriptionId).filter(|s| !self.controller.consumers(*s).is_empty()).collect();
        assert_eq!(at_nodes, here, "nodes and controller agree");
        assert_eq!(self.controller.requests(), here.len(), "no other request is pending");
    }

    /// Ends all subscriptions.
    fn unsubscribe_all(&mut self) {
        for subscription in self.iapp.active.clone() {
            let now = self.ric_now();
            self.controller.unsubscribe(now, IAPP, subscription).expect("the iApp owns the subscription");
        }
        for xapp in self.xapps.iter_mut().flatten() {
            for subscription in &xapp.state.active {
                let mut pdu = Vec::new();
                xapp.client.unsubscribe(*subscription, &mut pdu);
                xapp.sent.push_back(SentMessage { pdu, kind: MessageKind::Unsubscribe });
            }
        }
        self.run_without_faults(2);
        assert!(self.all_apps().all(|state| state.active.is_empty()));
        assert_eq!(self.controller.requests(), 0, "no request is left over");
        assert!(self.nodes.iter().all(|node| node.active.is_empty()), "no subscription is left at the nodes");
    }

    /// Checks normal operation after the faults: each app subscribes again and receives each report exactly once.
    fn check_normal_operation(&mut self) {
        self.unsubscribe_all();
        (0..XAPPS).for_each(|at| self.connect_xapp(at));
        self.run_without_faults(20); // until request ids may be reused
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
        self.run_without_faults(6);
        assert_eq!(self.xapps.iter().flatten().count(), XAPPS);
        for state in self.all_apps() {
            assert_eq!((state.pending.len(), state.active.len()), (0, AGENTS), "all subscriptions are active");
            assert_eq!(state.nodes.len() % AGENTS, 0, "an xApp state the nodes, the iApp does not");
            state.reports.clear();
        }
        let mut reported: BTreeMap<SubscriptionId, Vec<u64>> = BTreeMap::new();
        for round in 0..4 {
            for at in 0..AGENTS {
                let active: Vec<_> = self.nodes[at].active.keys().copied().collect();
                assert_eq!(active.len(), 2, "one of the first xApp and the iApp, one of the second");
                for id in active {
                    reported.entry(subscription_of(&id)).or_default().extend(self.report(at, id));
                }
            }
            if round % 2 == 1 {
                self.deliver_all();
            }
        }
        for state in self.all_apps() {
            let mut got: BTreeMap<SubscriptionId, Vec<u64>> = BTreeMap::new();
            for (subscription, number) in std::mem::take(&mut state.reports) {
                got.entry(subscription).or_default().push(number);
            }
            let wanted = reported.iter().filter(|(subscription, _)| state.active.contains(subscription));
            assert_eq!(got, wanted.map(|(s, numbers)| (*s, numbers.clone())).collect(), "each exactly once, in order");
        }
    }

    /// Disconnects all apps.
    fn disconnect_all(&mut self) {
        let now = self.ric_now();
        for xapp in std::mem::take(&mut self.xapps).into_iter().flatten() {
            self.host.handle_close(now, xapp.assoc, &mut self.controller);
        }
        self.xapps = (0..XAPPS).map(|_| None).collect();
        self.controller.drop_consumer(now, IAPP);
        self.iapp = AppState::default();
        self.run_without_faults(2);
        self.check_agreement();
        assert_eq!(self.controller.requests(), 0, "no request is left");
        assert_eq!(self.controller.requests_of(IAPP), 0);
    }
}

/// Returns the subscription of a node's request id.
fn subscription_of(id: &RicRequestId) -> SubscriptionId {
    SubscriptionId(u32::from(id.instance))
}
