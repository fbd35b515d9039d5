//! Processes the output of the simulation's state machines until there is none.

use e2::xapp::RicMessage;
use e2::{AgentEvent, CloseReason, Event, Notice, RequestEvent, SubscriptionEnd};

use super::faults::Tally;
use super::parties::{AppState, Connection, Xapp};
use super::{AGENTS, IAPP, Simulation};

impl Simulation {
    pub fn settle(&mut self) {
        self.settle_ric();
        self.settle_xapps();
        for at in 0..AGENTS {
            self.settle_agent(at);
        }
    }

    fn settle_ric(&mut self) {
        while let Some(event) = self.controller.poll_event() {
            self.log(|| format!("ric: {event:?}"));
            match &event {
                Event::NodeUp(_) => self.tally.count("a node came up"),
                Event::NodeLost { .. } => self.iapp.lost(),
                Event::Notice { notice: Notice::TimedOut { .. }, .. } => {
                    self.tally.count("a node did not answer in time");
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
            if let Some(connection) = self.connections.iter_mut().find(|w| w.assoc == assoc && w.agent_open) {
                connection.down.pdus.push_back(bytes.clone());
            }
            bytes.clear();
        }
        while let Some((assoc, reason)) = self.controller.poll_close() {
            self.log(|| format!("ric closes {assoc:?}: {reason}"));
            if reason == CloseReason::SetupTimeout {
                self.tally.count("a setup timed out");
            }
            let at = self.connections.iter().position(|w| w.assoc == assoc).expect("the connection exists");
            self.connections[at].ric_open = false;
            self.connections[at].up.pdus.clear();
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
            let Simulation { host, controller, xapps, .. } = self;
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
        let Xapp { state, .. } = xapp;
        match RicMessage::decode(bytes).expect("a message of the host decodes") {
            RicMessage::NodeUp(node) => assert!(state.nodes.insert(node.id), "{:?} is new", node.id),
            RicMessage::NodeLost(node) => {
                assert!(state.nodes.remove(&node), "{node:?} is known");
                state.lost();
            }
            RicMessage::NodeChanged(node) => assert!(state.nodes.contains(&node.id), "{:?} is known", node.id),
            RicMessage::Request(event) => apply(state, event, &mut self.tally),
            RicMessage::Welcome { .. } | RicMessage::Refused(_) => {}
            other => panic!("unexpected message: {other:?}"),
        }
        if let Some(xapp) = self.xapps[at].as_mut()
            && !xapp.queue_message()
        {
            let assoc = xapp.assoc;
            self.xapps[at] = None;
            self.host.handle_close(self.ric_clock.at(self.now), assoc, &mut self.controller);
            self.tally.count("an xApp that did not read was closed");
        }
    }

    fn settle_agent(&mut self, at: usize) {
        while let Some(event) = self.nodes[at].agent.poll_event() {
            self.log(|| format!("agent {at}: {event:?}"));
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
                AgentEvent::Notice(Notice::TimedOut { .. }) => self.tally.count("the RIC did not answer in time"),
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
            if let Some(connection) = node.connection {
                self.connections[connection].up.pdus.push_back(std::mem::take(&mut bytes));
            }
            bytes.clear();
        }
        if node.agent.poll_close().is_some()
            && let Some(connection) = node.connection.take()
        {
            self.drop_agent_end(connection);
        }
    }

    fn connect(&mut self, at: usize) {
        let (node, now) = (&mut self.nodes[at], self.now);
        if now < self.ric_down_until.max(node.cut_off_until) {
            node.agent.handle_close(node.clock.at(now), CloseReason::Transport);
            self.tally.count("a connection attempt failed");
            return;
        }
        let assoc = self.next_assoc();
        self.nodes[at].connection = Some(self.connections.len());
        self.connections.push(Connection::new(assoc));
        self.controller.handle_open(self.ric_now(), assoc);
        let node = &mut self.nodes[at];
        node.agent.handle_open(node.clock.at(now));
    }
}

/// Updates the state of an app by an event.
fn apply(state: &mut AppState, event: RequestEvent, tally: &mut Tally) {
    match event {
        RequestEvent::Subscribed { ticket, subscription, .. } => state.subscribed(ticket, subscription),
        RequestEvent::SubscriptionFailed { ticket, .. }
        | RequestEvent::Controlled { ticket, .. }
        | RequestEvent::Queried { ticket, .. } => state.answered(ticket),
        RequestEvent::Modified { ticket, .. } => state.changed(ticket),
        RequestEvent::SubscriptionSuspended(subscription) => state.suspended(subscription),
        RequestEvent::SubscriptionResumed { subscription, .. } => {
            state.resumed(subscription);
            tally.count("a subscription was restored");
        }
        RequestEvent::SubscriptionChanged { subscription, .. } => {
            assert!(state.active.contains(&subscription), "{subscription:?} is active");
        }
        RequestEvent::SubscriptionEnded { subscription, end } => {
            let was_suspended = state.ended(subscription);
            if was_suspended && end == SubscriptionEnd::NodeLost {
                tally.count("a suspended subscription ended");
            }
        }
        other => panic!("unexpected event: {other:?}"),
    }
}
