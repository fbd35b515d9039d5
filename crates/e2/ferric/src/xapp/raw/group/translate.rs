//! The events of the sessions of a group, with the numbers of the group.

use std::sync::Arc;
use std::time::{Duration, Instant};

use e2::xapp::{NodeInfo, RicList};
use e2::{ControlOutcome, ControlQuestion, NodeId, RequestEvent, SubscriptionEnd, SubscriptionId, Ticket};
use e2ap::GlobalRicId;

use super::super::commands::RequestQueue;
use super::super::exchange::SessionEvent;
use super::super::{Commands, Indication, XappEvent};
use super::{
    GroupCommands, GroupState, KnownNode, LIST_PAUSE, MAX_HANDOVER, MAX_MOVES, MAX_NODES, Member, NamedRics,
    PendingRequest, QuestionNumber, RequestKind, Route, unknown_question,
};

type Handler<'h> = dyn FnMut(XappEvent<'_>, &mut Commands<'_>) + 'h;

/// Handles an event of a RIC.
pub(super) struct Translator<'a> {
    pub state: &'a mut GroupState,
    pub members: &'a mut [Member],
    /// The RIC.
    pub at: usize,
    /// Its queue of commands.
    pub own: &'a mut RequestQueue,
}

impl Translator<'_> {
    pub fn handle(&mut self, event: SessionEvent<'_>, handler: &mut Handler<'_>) {
        let event = match event {
            SessionEvent::Welcome(ric_id) => return self.opened(ric_id, handler),
            SessionEvent::Event(event) => event,
        };
        match event {
            XappEvent::Indication(indication) => {
                let own = (self.at, indication.subscription);
                // of one that has ended the rest is dropped
                if let Some((subscription, node)) = self.state.own_subscriptions.get(&own).copied() {
                    self.emit(XappEvent::Indication(Indication { node, subscription, ..indication }), handler);
                }
            }
            XappEvent::NodeUp(node) => self.node_up(node, handler),
            XappEvent::NodeChanged(node) => self.node_changed(node, handler),
            XappEvent::NodeLost(node) => self.node_lost(node, handler),
            XappEvent::Request(event) => self.handle_request(event, handler),
            XappEvent::Disconnected { retry_in } => self.closed(retry_in, handler),
            XappEvent::ReportsDropped(reports) => {
                self.members[self.at].dropped = reports;
                let dropped: u64 = self.members.iter().map(|member| member.dropped).sum();
                self.emit(XappEvent::ReportsDropped(self.state.dropped_before + dropped), handler);
            }
            XappEvent::Verified { ticket, verdict } => {
                if let Some(ticket) = self.state.verified.remove(&(self.at, ticket)) {
                    self.emit(XappEvent::Verified { ticket, verdict }, handler);
                }
            }
            XappEvent::Service { kind: RicList::ANSWER, document } => self.take_list(document),
            // RICs that share nodes with no others, and those of earlier releases
            XappEvent::NoService if std::mem::take(&mut self.members[self.at].is_asked) => {}
            XappEvent::Service { .. } | XappEvent::NoService => {
                if self.state.home == Some(self.at) {
                    self.emit(event, handler);
                }
            }
            // of groups themselves
            XappEvent::Reconnected(_) | XappEvent::NodeMoved { .. } | XappEvent::ServicesMoved => {}
        }
    }

    fn emit(&mut self, event: XappEvent<'_>, handler: &mut Handler<'_>) {
        let current = Some((self.at, &mut *self.own));
        let commands = GroupCommands { state: &mut *self.state, members: &mut *self.members, current };
        handler(event, &mut Commands::of_group(commands));
    }

    fn opened(&mut self, ric_id: GlobalRicId, handler: &mut Handler<'_>) {
        let is_first = !self.members.iter().any(|member| member.is_open);
        let member = &mut self.members[self.at];
        tracing::info!(ric = %member.address, %ric_id, "session with the RIC");
        (member.is_open, member.failure) = (true, None);
        member.listing = Some(Instant::now() + LIST_PAUSE);
        member.session = member.session.wrapping_add(1);
        // the first message to a service, and so the first that may be refused
        member.is_asked = self.state.learns_rics && self.own.service(RicList::QUERY, &[]);
        self.state.dropped_before += std::mem::take(&mut member.dropped);
        if is_first {
            self.state.home = Some(self.at);
            // what is requested of all RICs is requested now
            self.emit(XappEvent::Reconnected(ric_id), handler);
        } else if let Some(offer) = &mut self.state.offer {
            if self.own.set_arbiter(true) {
                offer.unanswered.insert(self.at);
            } else {
                offer.unanswered.remove(&self.at);
                self.tell_refusal(handler);
            }
        }
    }

    /// The RIC has named the others.
    fn take_list(&mut self, document: &[u8]) {
        let member = &mut self.members[self.at];
        // one that was not asked has nothing to tell
        if !self.state.learns_rics {
            return;
        }
        member.is_asked = false;
        member.named = NamedRics::read(document);
        self.state.schedule_lists();
    }

    /// The session is lost. Its nodes are already.
    fn closed(&mut self, retry_in: Duration, handler: &mut Handler<'_>) {
        let at = self.at;
        let lost: Vec<_> = self.state.requests.extract_if(|(member, _), _| *member == at).collect();
        for (_, request) in lost {
            self.emit(XappEvent::Request(request.lost()), handler);
        }
        self.state.verified.retain(|(member, _), _| *member != at);
        if self.members[at].is_learned {
            self.state.schedule_lists();
        }
        if !std::mem::replace(&mut self.members[at].is_open, false) {
            return;
        }
        let lost: Vec<_> = self.state.decisions.extract_if(|(member, _)| *member == at).collect();
        for (_, question) in lost {
            self.emit(XappEvent::Request(unknown_question(question)), handler);
        }
        if let Some(offer) = &mut self.state.offer {
            // one that has admitted it is asked again when it is back, and may be the only one
            if offer.admitted.remove(&at) {
                offer.unanswered.insert(at);
            } else {
                offer.unanswered.remove(&at);
            }
        }
        let next = self.members.iter().position(|member| member.is_open);
        if next.is_none() {
            self.state.home = None;
            self.emit(XappEvent::Disconnected { retry_in }, handler);
        } else if self.state.home == Some(at) {
            self.state.home = next;
            self.emit(XappEvent::ServicesMoved, handler);
        }
        // without a RIC it is offered again to the first one
        if next.is_some() {
            self.tell_refusal(handler);
        }
    }

    fn node_up(&mut self, info: &NodeInfo, handler: &mut Handler<'_>) {
        if !self.state.known.contains_key(&info.global_id) && self.state.known.len() >= MAX_NODES {
            let is_gone = |known: &KnownNode| known.used.is_none() && known.others.is_empty();
            let gone = self.state.known.iter().find(|(_, known)| is_gone(known)).map(|(id, _)| *id);
            gone.and_then(|gone| self.state.known.remove(&gone));
        }
        let (at, now) = (self.at, Instant::now());
        let is_listed = self.members[at].is_listed(now);
        let GroupState { known, nodes, .. } = &mut *self.state;
        let known = known.entry(info.global_id).or_default();
        known.others.retain(|(member, _)| *member != at);
        if let Some(route) = known.used.and_then(|used| nodes.get(&used)) {
            let (member, own) = (route.member, route.own);
            if (member, own) == (at, info.id) {
                return self.node_changed(info, handler);
            }
            // a list says who has a node, not where it has set up at last
            let is_listed = member != at && is_listed;
            let is_unsteady = !is_listed && !known.may_move(now);
            if is_listed || is_unsteady {
                known.add_other(at, info.clone(), now);
                self.state.next_check.get_or_insert(now + MAX_HANDOVER);
                if is_unsteady {
                    self.report_hold(info, member, now);
                }
                return;
            }
            known.moves.push(now);
        }
        let used = known.used;
        if let Some(route) = used.and_then(|used| self.state.nodes.remove(&used)) {
            if let Some(known) = self.state.known.get_mut(&info.global_id)
                && route.member != at
            {
                known.add_other(route.member, NodeInfo { id: route.own, ..(*route.info).clone() }, now);
                self.state.next_check.get_or_insert(now + MAX_HANDOVER);
            }
            self.leave(route, handler);
        }
        self.enter(at, info, handler);
    }

    /// Logs that a node stays where it is, at most once within the time.
    fn report_hold(&mut self, info: &NodeInfo, used: usize, now: Instant) {
        self.state.holds += 1;
        if self.state.holds_logged.is_some_and(|at| now.saturating_duration_since(at) < MAX_HANDOVER) {
            return;
        }
        self.state.holds_logged = Some(now);
        let (ric, used) = (&self.members[self.at].address, &self.members[used].address);
        tracing::warn!(
            node = %info.global_id, %ric, %used, setups = self.state.holds,
            "the node has moved {MAX_MOVES} times within {} s: it stays in use where it is. Check whether both RICs have it",
            MAX_HANDOVER.as_secs()
        );
    }

    /// Uses a node at a RIC.
    fn enter(&mut self, member: usize, info: &NodeInfo, handler: &mut Handler<'_>) {
        let state = &mut *self.state;
        state.next_node = state.next_node.wrapping_add(1);
        let id = NodeId(state.next_node);
        let known = state.known.entry(info.global_id).or_default();
        known.used = Some(id);
        let from = known.last.replace(member).filter(|last| *last != member);
        let own = info.id;
        let info = Arc::new(NodeInfo { id, ..info.clone() });
        let (subscriptions, requests) = Default::default();
        state.nodes.insert(id, Route { member, own, info: Arc::clone(&info), subscriptions, requests });
        self.emit(XappEvent::NodeUp(&info), handler);
        if let Some(from) = from {
            let (from, to) = (Arc::clone(&self.members[from].address), Arc::clone(&self.members[member].address));
            tracing::info!(node = %info.global_id, %from, %to, "the node has moved to another RIC");
            self.emit(XappEvent::NodeMoved { node: id, from: &from, to: &to }, handler);
        }
    }

    /// Ends what there is of a node at a RIC.
    fn leave(&mut self, route: Route, handler: &mut Handler<'_>) {
        let Route { member, info, subscriptions, requests, .. } = route;
        for ticket in requests {
            // if it is answered nevertheless the subscription is deleted
            if let Some(request) = self.state.requests.remove(&(member, ticket)) {
                self.emit(XappEvent::Request(request.lost()), handler);
            }
        }
        self.emit(XappEvent::NodeLost(&info), handler);
        for subscription in subscriptions {
            let current = Some((self.at, &mut *self.own));
            GroupCommands { state: &mut *self.state, members: &mut *self.members, current }.unsubscribe(subscription);
            self.state.forget_subscription(subscription);
            let end = SubscriptionEnd::NodeLost;
            self.emit(XappEvent::Request(RequestEvent::SubscriptionEnded { subscription, end }), handler);
        }
    }

    fn node_changed(&mut self, info: &NodeInfo, handler: &mut Handler<'_>) {
        let Some(known) = self.state.known.get_mut(&info.global_id) else { return };
        if let Some((_, other)) =
            known.others.iter_mut().find(|(member, other)| (*member, other.id) == (self.at, info.id))
        {
            *other = info.clone();
            return;
        }
        let Some(route) = known.used.and_then(|used| self.state.nodes.get_mut(&used)) else { return };
        if (route.member, route.own) != (self.at, info.id) {
            return;
        }
        route.info = Arc::new(NodeInfo { id: route.info.id, ..info.clone() });
        let info = Arc::clone(&route.info);
        self.emit(XappEvent::NodeChanged(&info), handler);
    }

    fn node_lost(&mut self, info: &NodeInfo, handler: &mut Handler<'_>) {
        let GroupState { known, nodes, .. } = &mut *self.state;
        let Some(known) = known.get_mut(&info.global_id) else { return };
        known.others.retain(|(member, other)| (*member, other.id) != (self.at, info.id));
        let is_here = |used: &NodeId| nodes.get(used).is_some_and(|at| (at.member, at.own) == (self.at, info.id));
        let lost = known.used.take_if(|used| is_here(used)).and_then(|used| nodes.remove(&used));
        let other = if lost.is_some() { known.others.pop() } else { None };
        if known.others.is_empty() {
            known.since = None;
        }
        let Some(route) = lost else { return };
        self.leave(route, handler);
        if let Some((member, info)) = other {
            self.enter(member, &info, handler);
        }
    }

    fn take_request(&mut self, ticket: Ticket) -> Option<PendingRequest> {
        let request = self.state.requests.remove(&(self.at, ticket))?;
        if let RequestKind::Subscribe(node) = request.kind
            && let Some(route) = self.state.nodes.get_mut(&node)
        {
            route.requests.remove(&ticket);
        }
        Some(request)
    }

    fn handle_request(&mut self, event: RequestEvent, handler: &mut Handler<'_>) {
        let event = match event {
            RequestEvent::Subscribed { ticket, subscription: own, admitted, not_admitted } => {
                let Some(PendingRequest { ticket, kind: RequestKind::Subscribe(node) }) = self.take_request(ticket)
                else {
                    return self.own.unsubscribe(own);
                };
                let subscription = self.state.add_subscription(self.at, own, node);
                Some(RequestEvent::Subscribed { ticket, subscription, admitted, not_admitted })
            }
            RequestEvent::SubscriptionFailed { ticket, error } => self
                .take_request(ticket)
                .map(|request| RequestEvent::SubscriptionFailed { ticket: request.ticket, error }),
            RequestEvent::SubscriptionEnded { subscription, end } => {
                self.group_subscription(subscription).map(|subscription| {
                    self.state.forget_subscription(subscription);
                    RequestEvent::SubscriptionEnded { subscription, end }
                })
            }
            RequestEvent::ChangeRequired { subscription, remove, modify } => self
                .group_subscription(subscription)
                .map(|subscription| RequestEvent::ChangeRequired { subscription, remove, modify }),
            RequestEvent::SubscriptionChanged { subscription, removed, modified } => self
                .group_subscription(subscription)
                .map(|subscription| RequestEvent::SubscriptionChanged { subscription, removed, modified }),
            RequestEvent::Modified { ticket, outcome, .. } => match self.take_request(ticket) {
                Some(PendingRequest { ticket, kind: RequestKind::Modify(subscription) }) => {
                    Some(RequestEvent::Modified { ticket, subscription, outcome })
                }
                _ => None,
            },
            RequestEvent::Controlled { ticket, outcome } => {
                if !matches!(outcome, ControlOutcome::Acknowledged(_)) {
                    self.state.verified.remove(&(self.at, ticket));
                }
                self.take_request(ticket).map(|request| RequestEvent::Controlled { ticket: request.ticket, outcome })
            }
            RequestEvent::Queried { ticket, outcome } => {
                self.take_request(ticket).map(|request| RequestEvent::Queried { ticket: request.ticket, outcome })
            }
            RequestEvent::ControlAsked(asked) => self.group_question(*asked),
            RequestEvent::ArbiterSet { refusal: None } => {
                let is_new = self.state.offer.as_mut().is_none_or(|offer| {
                    offer.unanswered.remove(&self.at);
                    offer.admitted.insert(self.at) && offer.admitted.len() == 1
                });
                is_new.then_some(RequestEvent::ArbiterSet { refusal: None })
            }
            RequestEvent::ArbiterSet { refusal: Some(code) } => {
                if let Some(offer) = &mut self.state.offer {
                    tracing::warn!(ric = %self.members[self.at].address, %code, "the RIC does not admit this xApp as an arbiter");
                    offer.unanswered.remove(&self.at);
                    offer.admitted.remove(&self.at);
                    offer.refusal = Some(code);
                }
                return self.tell_refusal(handler);
            }
            RequestEvent::Decided { question, refusal } => self.question(question).map(|question| {
                self.state.decisions.remove(&(self.at, question));
                RequestEvent::Decided { question, refusal }
            }),
            // no subscription is suspended, so that none is resumed
            _ => None,
        };
        if let Some(event) = event {
            self.emit(XappEvent::Request(event), handler);
        }
    }

    /// Says that no RIC admits the xApp as an arbiter, once all have answered.
    fn tell_refusal(&mut self, handler: &mut Handler<'_>) {
        let is_over = |offer: &&mut super::ArbiterOffer| offer.unanswered.is_empty() && offer.admitted.is_empty();
        let Some(refusal) = self.state.offer.as_mut().filter(is_over).and_then(|offer| offer.refusal) else { return };
        self.state.offer = None;
        self.emit(XappEvent::Request(RequestEvent::ArbiterSet { refusal: Some(refusal) }), handler);
    }

    fn group_subscription(&self, own: SubscriptionId) -> Option<SubscriptionId> {
        self.state.own_subscriptions.get(&(self.at, own)).map(|(subscription, _)| *subscription)
    }

    /// The number of a question in the group.
    fn question(&self, own: u64) -> Option<u64> {
        QuestionNumber { member: self.at, session: self.members[self.at].session, own }.number()
    }

    /// A question about a node that is used at this RIC.
    fn group_question(&self, asked: ControlQuestion) -> Option<RequestEvent> {
        let is_it = |route: &Route| (route.member, route.own) == (self.at, asked.node);
        let (node, _) = self.state.nodes.iter().find(|(_, route)| is_it(route))?;
        let question = self.question(asked.question)?;
        Some(RequestEvent::ControlAsked(Box::new(ControlQuestion { node: *node, question, ..asked })))
    }
}

impl GroupState {
    fn add_subscription(&mut self, member: usize, own: SubscriptionId, node: NodeId) -> SubscriptionId {
        if let Some((known, _)) = self.own_subscriptions.get(&(member, own)) {
            return *known;
        }
        loop {
            self.next_subscription = self.next_subscription.wrapping_add(1);
            if !self.subscriptions.contains_key(&SubscriptionId(self.next_subscription)) {
                break;
            }
        }
        let subscription = SubscriptionId(self.next_subscription);
        self.subscriptions.insert(subscription, (member, own));
        self.own_subscriptions.insert((member, own), (subscription, node));
        if let Some(route) = self.nodes.get_mut(&node) {
            route.subscriptions.insert(subscription);
        }
        subscription
    }

    fn forget_subscription(&mut self, subscription: SubscriptionId) {
        let Some(own) = self.subscriptions.remove(&subscription) else { return };
        if let Some((_, node)) = self.own_subscriptions.remove(&own)
            && let Some(route) = self.nodes.get_mut(&node)
        {
            route.subscriptions.remove(&subscription);
        }
    }
}
