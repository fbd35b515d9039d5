//! Actions in the simulation: apps send commands, nodes answer and report, and both ends start procedures. Many of them are
//! invalid in the current state and are refused.

use std::collections::BTreeMap;

use e2::{Action, AddedAction, ConnectionResult, ConnectionUpdate, NodeId, SubscriptionChange, SubscriptionId};
use e2::{SubscriptionSpec, Ticket};
use e2ap::{Cause, CauseMisc, RanFunctionId, RicActionId, RicActionType, RicIndicationType, RicRequestId};

use super::super::notation_parse::{component, connection};
use super::super::random::Random;
use super::parties::{AppState, MessageKind, SentMessage, Xapp, offering};
use super::{AGENTS, IAPP, REQUESTS, Simulation, XAPPS};

const INTERVENTION: Cause = Cause::Misc(CauseMisc::OmIntervention);

pub fn action(id: u8, kind: RicActionType) -> Action {
    Action { id: RicActionId(id), kind, definition: None, subsequent: None }
}

impl Simulation {
    fn spec(&mut self) -> SubscriptionSpec {
        let kind = match self.random.below(6) {
            0 => RicActionType::Insert,
            1 => RicActionType::Policy,
            _ => RicActionType::Report,
        };
        let actions = (0..=self.random.below(2) as u8).map(|id| action(id, kind));
        SubscriptionSpec { event_trigger: vec![self.random.below(2) as u8], actions: actions.collect() }
    }

    /// An app sends a command, which may be invalid.
    pub fn command(&mut self) {
        let random_node = NodeId(1 + self.random.below(20) as u32);
        let node = self.controller.nodes().nth(self.random.below(AGENTS)).map_or(random_node, |n| n.id);
        let function = RanFunctionId(2 + self.random.below(3) as u16); // 4 does not exist
        let function = if self.random.once_in(4) { function } else { RanFunctionId(2) };
        let (what, app) = (self.random.below(14), self.random.below(XAPPS + 1));
        if app == XAPPS {
            return self.command_of_iapp(what, node, function);
        }
        let (spec, change) = (self.spec(), self.change());
        let other = SubscriptionId(self.random.below(REQUESTS as usize) as u32);
        let Some(xapp) = &mut self.xapps[app] else { return };
        let subscription = own(&xapp.state, &mut self.random).unwrap_or(other);
        let (client, mut pdu) = (&mut xapp.client, Vec::new());
        let kind = match what {
            0..5 => MessageKind::Command(client.subscribe(node, function, spec, &mut pdu)),
            5..7 => {
                client.unsubscribe(subscription, &mut pdu);
                MessageKind::Unsubscribe
            }
            7..10 => MessageKind::Command(client.control(node, function, &[1], &[2], Some(&[3]), what < 9, &mut pdu)),
            10..12 => MessageKind::Command(client.query(node, function, &[1], &[2], &mut pdu)),
            _ => MessageKind::Change(client.modify(subscription, change, &mut pdu)),
        };
        xapp.sent.push_back(SentMessage { pdu, kind });
        if !self.random.once_in(3) {
            self.read_xapp(app);
        }
    }

    fn command_of_iapp(&mut self, what: usize, node: NodeId, function: RanFunctionId) {
        let (spec, change, now) = (self.spec(), self.change(), self.ric_now());
        let other = SubscriptionId(self.random.below(REQUESTS as usize) as u32);
        let subscription = own(&self.iapp, &mut self.random).unwrap_or(other);
        self.next_ticket += 1;
        let (ticket, controller) = (Ticket(self.next_ticket), &mut self.controller);
        let result = match what {
            0..5 => controller.subscribe(now, IAPP, ticket, node, function, spec),
            5..7 => {
                let known = self.iapp.active.contains(&subscription);
                let result = controller.unsubscribe(now, IAPP, subscription);
                assert_eq!(result.is_ok(), known, "an iApp can end its own subscriptions only");
                return;
            }
            7..10 => controller.control(now, IAPP, ticket, node, function, &[1], &[2], None, what < 9),
            10..12 => controller.query(now, IAPP, ticket, node, function, &[1], &[2]),
            _ => {
                if controller.modify(now, IAPP, ticket, subscription, change).is_ok() {
                    self.iapp.changing.insert(ticket);
                }
                return;
            }
        };
        if result.is_ok() {
            self.iapp.pending.insert(ticket);
        }
    }

    /// Returns a change that keeps the first action.
    fn change(&mut self) -> SubscriptionChange {
        let mut change = SubscriptionChange::default();
        match self.random.below(3) {
            0 => change.event_trigger = Some(vec![self.random.below(2) as u8]),
            1 => change.add = vec![AddedAction { action: action(7, RicActionType::Report), execution_order: 1 }],
            _ => change.remove = vec![RicActionId(7)],
        }
        change
    }

    pub fn connect_some_xapp(&mut self) {
        let at = self.random.below(XAPPS);
        self.connect_xapp(at);
    }

    pub fn connect_xapp(&mut self, at: usize) {
        if self.xapps[at].is_some() || self.now < self.ric_down_until {
            return;
        }
        let assoc = self.next_assoc();
        self.host.handle_open(assoc);
        let (mut xapp, mut pdu) = (Xapp::new(assoc), Vec::new());
        xapp.client.hello("simulated", &mut pdu);
        xapp.sent.push_back(SentMessage { pdu, kind: MessageKind::Hello });
        self.xapps[at] = Some(xapp);
    }

    pub fn read_some_xapp(&mut self) {
        let at = self.random.below(XAPPS);
        while self.read_xapp(at) {
            self.settle();
        }
    }

    /// A RAN function answers a pending request, if there is one.
    pub fn answer(&mut self) {
        let at = self.random.below(AGENTS);
        let (refuse, control) = (self.random.once_in(4), self.random.once_in(2));
        self.answer_at(at, refuse, control);
    }

    pub fn answer_at(&mut self, at: usize, refuse: bool, control: bool) {
        let node = &mut self.nodes[at];
        if let Some(update) = node.waiting_connection.take() {
            let result = match refuse {
                true => node.agent.refuse_connection_update(INTERVENTION, None),
                false => node.agent.connection_updated(&ConnectionResult { set_up: update.add, failed: Vec::new() }),
            };
            result.expect("the request is pending");
        } else if let Some((id, change)) = node.waiting_changes.pop() {
            let result = match refuse {
                true => node.agent.refuse_modification(id, INTERVENTION),
                false => node.agent.modified(id, &change.all_done()),
            };
            result.expect("the request is pending");
            if let Some(actions) = node.active.get_mut(&id).filter(|_| !refuse) {
                actions.retain(|id, _| !change.remove.contains(id));
                actions.extend(change.add.iter().map(|added| (added.action.id, added.action.kind)));
            }
        } else if control && let Some((id, _)) = node.waiting_queries.pop() {
            let result = match refuse {
                true => node.agent.fail_query(id, Cause::Misc(CauseMisc::HardwareFailure)),
                false => node.agent.answer_query(id, &[7]),
            };
            result.expect("the request is pending");
        } else if control && let Some((id, _)) = node.waiting_controls.pop() {
            let result = match refuse {
                true => node.agent.fail(id, Cause::Misc(CauseMisc::HardwareFailure), None),
                false => node.agent.acknowledge(id, Some(&[7])),
            };
            result.expect("the request is pending");
        } else if let Some((id, actions)) = node.waiting_subscriptions.pop() {
            if refuse {
                node.agent
                    .refuse(id, Cause::Misc(CauseMisc::ControlProcessingOverload))
                    .expect("the request is pending");
            } else {
                let not: Vec<_> = actions[1..].iter().map(|(id, _)| (*id, INTERVENTION)).collect();
                node.agent.admit(id, &[actions[0].0], &not).expect("the request is pending");
                node.active.insert(id, BTreeMap::from([actions[0]]));
            }
        }
    }

    pub fn indicate(&mut self) {
        let at = self.random.below(AGENTS);
        let active: Vec<_> = self.nodes[at].active.keys().copied().collect();
        if !active.is_empty() {
            let id = *self.random.pick(&active);
            self.report(at, id);
        }
    }

    /// A node sends an indication of a subscription. Returns its number; `None` for a policy.
    pub fn report(&mut self, at: usize, id: RicRequestId) -> Option<u64> {
        let octets = if self.random.once_in(20) { 20_000 } else { 10 };
        self.next_report += 1;
        let (number, node, mut pdu) = (self.next_report, &mut self.nodes[at], Vec::new());
        let (&action, &kind) = node.active[&id].iter().next().expect("a subscription has an action");
        let (header, message) = (number.to_be_bytes(), vec![2; octets]);
        let written = match kind {
            RicActionType::Policy => return None,
            RicActionType::Insert => node.agent.write_insert(id, action, &[3], &header, &message, &mut pdu),
            RicActionType::Report => {
                node.agent.write_indication(id, action, RicIndicationType::Report, &header, &message, &mut pdu)
            }
        };
        written.expect("the subscription is active");
        self.connections[node.connection?].up.pdus.push_back(pdu);
        Some(number)
    }

    /// A node starts a procedure. One that is invalid in its state is refused.
    pub fn start_node_procedure(&mut self) {
        let (at, what) = (self.random.below(AGENTS), self.random.below(6));
        let revision = 1 + self.random.below(9) as u16;
        let node = &mut self.nodes[at];
        let now = node.clock.at(self.now);
        let first = node.active.iter().next().and_then(|(id, actions)| Some((*id, *actions.keys().next()?)));
        match (what, first) {
            (0, _) => {
                // a function is added, changed or removed
                if node.functions.remove(&3).is_none() || revision > 4 {
                    node.functions.insert(3, revision);
                }
                let offered = node.functions.clone();
                node.agent.update_functions(now, offering(&offered)).expect("the functions are valid");
                node.waiting_controls.retain(|(_, function)| offered.contains_key(&function.0));
                node.waiting_queries.retain(|(_, function)| offered.contains_key(&function.0));
            }
            (1, _) => {
                let components = vec![component(i64::from(revision), 3)];
                let _ = node.agent.update_components(now, components);
            }
            (2, _) if revision < 4 => drop(node.agent.remove(now)),
            (3, Some(first)) => drop(node.agent.require_deletion(&[(first.0, INTERVENTION)])),
            (4, Some((id, action))) => drop(node.agent.require_modification(now, id, &[], &[(action, INTERVENTION)])),
            _ => drop(node.agent.reset(now, INTERVENTION)),
        }
        self.log(|| format!("agent {at} acts: {what}"));
    }

    /// The RIC starts a node-level procedure. It fails if one is pending or if the node's version does not have it.
    pub fn start_ric_procedure(&mut self) {
        let (what, which, now) = (self.random.below(8), self.random.below(AGENTS), self.ric_now());
        let Some(id) = self.controller.nodes().nth(which).map(|n| n.id) else { return };
        let _ = match what {
            0 => self.controller.remove(now, id),
            1..4 => self.controller.service_query(now, id),
            4..6 => {
                let update = ConnectionUpdate { add: vec![connection(2)], ..ConnectionUpdate::default() };
                self.controller.connection_update(now, id, &update)
            }
            _ => self.controller.reset(now, id, INTERVENTION),
        };
    }
}

/// Returns one of the app's own subscriptions in most cases.
fn own(state: &AppState, random: &mut Random) -> Option<SubscriptionId> {
    let own: Vec<_> = state.active.iter().copied().collect();
    if own.is_empty() || random.once_in(6) { None } else { Some(*random.pick(&own)) }
}
