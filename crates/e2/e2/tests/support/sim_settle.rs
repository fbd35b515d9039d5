//! Processes the output of the simulation's state machines until there is none.

use e2::xapp::RicMessage;
use e2::{AgentEvent, CloseReason, Event, Notice, RequestEvent, SubscriptionEnd};

use super::sim_faults::Tally;
use super::sim_parts::{Knowledge, Wire, Xapp};
use super::sim_world::{AGENTS, IAPP, World};

impl World {
    pub fn settle(&mut self) {
        self.settle_ric();
        self.settle_xapps();
        for at in 0..AGENTS {
            self.settle_agent(at);
        }
    }

    fn settle_ric(&mut self) {
        while let Some(event) = self.controller.poll_event() {
            self.note(|| format!("ric: {event:?}"));
            match &event {
                Event::NodeUp(_) => self.tally.saw("a node came up"),
                Event::NodeLost { .. } => self.iapp.lost(),
                Event::Notice { notice: Notice::TimedOut { .. }, .. } => {
                    self.tally.saw("a node did not answer in time");
                }
                _ => {}
            }
            match self.host.handle_event(event, &self.controller) {
                Some(Event::Request { consumer: IAPP, event }) => apply(&mut self.iapp, event, &mut self.tally),
                Some(event) => assert_eq!(event.consumer(), None, "event of an unknown consumer: {event:?}"),
                None => {}
            }
        }
        while self.host.poll_notice().is_some() {}
        let mut bytes = Vec::new();
        while let Some(assoc) = self.controller.poll_transmit(&mut bytes) {
            self.digest(assoc, &bytes);
            if let Some(wire) = self.wires.iter_mut().find(|w| w.assoc == assoc && w.agent_holds) {
                wire.down.pdus.push_back(bytes.clone());
            }
            bytes.clear();
        }
        while let Some((assoc, reason)) = self.controller.poll_close() {
            self.note(|| format!("ric closes {assoc:?}: {reason}"));
            if reason == CloseReason::SetupTimeout {
                self.tally.saw("a setup timed out");
            }
            let at = self.wires.iter().position(|w| w.assoc == assoc).expect("the wire exists");
            self.wires[at].ric_holds = false;
            self.wires[at].up.pdus.clear();
            self.close_at_agent(at);
        }
    }

    fn settle_xapps(&mut self) {
        loop {
            self.deliver_to_xapps();
            let (now, host) = (self.now, &mut self.host);
            let mut has_read = false;
            for xapp in self.xapps.iter_mut().flatten() {
                if xapp.read(now) {
                    has_read = true;
                    host.handle_room(xapp.assoc);
                }
            }
            if !has_read {
                break;
            }
        }
        assert!(self.host.poll_close().is_none(), "no xApp is misbehaving");
    }

    fn deliver_to_xapps(&mut self) {
        let mut bytes = Vec::new();
        loop {
            let World { host, controller, xapps, .. } = self;
            let has_room = |assoc| xapps.iter().flatten().any(|x| x.assoc == assoc && x.has_room_for_announcement());
            let to =
                host.poll_transmit(&mut bytes).or_else(|| host.poll_announcement(controller, &mut bytes, has_room));
            let Some(assoc) = to else { return };
            self.digest(assoc, &bytes);
            // an xApp closed just now may still have output
            let at = self.xapps.iter().position(|x| x.as_ref().is_some_and(|x| x.assoc == assoc));
            if let Some(at) = at {
                self.deliver_to_xapp(at, &bytes);
            }
            bytes.clear();
        }
    }

    fn deliver_to_xapp(&mut self, at: usize, bytes: &[u8]) {
        let Some(xapp) = &mut self.xapps[at] else { return };
        let Xapp { knows, .. } = xapp;
        match RicMessage::decode(bytes).expect("a message of the host decodes") {
            RicMessage::NodeUp(node) => assert!(knows.nodes.insert(node.id), "{:?} is new", node.id),
            RicMessage::NodeLost(node) => {
                assert!(knows.nodes.remove(&node), "{node:?} is known");
                knows.lost();
            }
            RicMessage::NodeChanged(node) => assert!(knows.nodes.contains(&node.id), "{:?} is known", node.id),
            RicMessage::Request(event) => apply(knows, event, &mut self.tally),
            RicMessage::Welcome { .. } | RicMessage::Refused(_) => {}
            other => panic!("unexpected message: {other:?}"),
        }
        if let Some(xapp) = self.xapps[at].as_mut()
            && !xapp.queue_message()
        {
            let assoc = xapp.assoc;
            self.xapps[at] = None;
            self.host.handle_close(self.ric_clock.at(self.now), assoc, &mut self.controller);
            self.tally.saw("an xApp that did not read was closed");
        }
    }

    fn settle_agent(&mut self, at: usize) {
        while let Some(event) = self.nodes[at].agent.poll_event() {
            self.note(|| format!("agent {at}: {event:?}"));
            let node = &mut self.nodes[at];
            match event {
                AgentEvent::Connect => self.connect(at),
                AgentEvent::Subscribe(request) => {
                    let actions = request.actions.iter().map(|a| (a.id, a.kind)).collect();
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
                    if let Some(actions) = node.active.get_mut(&request_id) {
                        actions.retain(|id, _| !removed.contains(id));
                        if actions.is_empty() {
                            node.active.remove(&request_id);
                        }
                    }
                }
                AgentEvent::Down { .. } => node.forget(true),
                AgentEvent::Removed { .. } => {
                    node.forget(true);
                    node.removed = true;
                }
                AgentEvent::Notice(Notice::Reset { .. }) => node.forget(false),
                AgentEvent::Notice(Notice::TimedOut { .. }) => self.tally.saw("the RIC did not answer in time"),
                other => node.agent.decline(&other),
            }
        }
        // a reset by the node discards its pending requests
        let node = &mut self.nodes[at];
        let mut bytes = Vec::new();
        while node.agent.poll_transmit(&mut bytes) {
            if matches!(bytes[..2], [0, 3]) {
                node.forget(false);
            }
            if let Some(wire) = node.wire {
                self.wires[wire].up.pdus.push_back(std::mem::take(&mut bytes));
            }
            bytes.clear();
        }
        if node.agent.poll_close().is_some()
            && let Some(wire) = node.wire.take()
        {
            self.drop_agents_end(wire);
        }
    }

    fn connect(&mut self, at: usize) {
        let (node, now) = (&mut self.nodes[at], self.now);
        if now < self.ric_down_until.max(node.cut_off_until) {
            node.agent.handle_close(node.clock.at(now), CloseReason::Transport);
            self.tally.saw("a connection attempt failed");
            return;
        }
        let assoc = self.assoc();
        self.nodes[at].wire = Some(self.wires.len());
        self.wires.push(Wire::new(assoc));
        self.controller.handle_open(self.ric_now(), assoc);
        let node = &mut self.nodes[at];
        node.agent.handle_open(node.clock.at(now));
    }
}

/// Updates the state of an app by an event.
fn apply(knows: &mut Knowledge, event: RequestEvent, tally: &mut Tally) {
    match event {
        RequestEvent::Subscribed { ticket, subscription, .. } => knows.subscribed(ticket, subscription),
        RequestEvent::SubscriptionFailed { ticket, .. }
        | RequestEvent::Controlled { ticket, .. }
        | RequestEvent::Queried { ticket, .. } => knows.answered(ticket),
        RequestEvent::Modified { ticket, .. } => knows.changed(ticket),
        RequestEvent::SubscriptionSuspended(subscription) => knows.waits(subscription),
        RequestEvent::SubscriptionResumed { subscription, .. } => {
            knows.stands(subscription);
            tally.saw("a subscription was restored");
        }
        RequestEvent::SubscriptionChanged { subscription, .. } => {
            assert!(knows.active.contains(&subscription), "{subscription:?} is active");
        }
        RequestEvent::SubscriptionEnded { subscription, end } => {
            let waited = knows.ended(subscription);
            if waited && end == SubscriptionEnd::NodeLost {
                tally.saw("a suspended subscription ended");
            }
        }
        other => panic!("unexpected event: {other:?}"),
    }
}
