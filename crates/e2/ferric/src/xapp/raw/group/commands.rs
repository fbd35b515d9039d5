//! Commands to the RICs of a group.

use std::collections::BTreeSet;
use std::fmt;

use e2::{
    ControlOutcome, ModifyOutcome, NodeId, QueryOutcome, RequestEvent, SubscribeError, SubscriptionChange,
    SubscriptionId, SubscriptionOrder, Ticket,
};
use e2ap::{Cause, RanFunctionId, RicActionId};

use super::super::commands::{ControlMessage, RequestQueue};
use super::super::{TooManyVerifications, Verification};
use super::{ArbiterOffer, GroupState, Member, PendingRequest, QuestionNumber, RequestKind, unknown_question};

/// The commands of a group, with the numbers of the group.
pub(in super::super) struct GroupCommands<'a> {
    pub(super) state: &'a mut GroupState,
    pub(super) members: &'a mut [Member],
    /// The RIC whose events are being handled, and its queue.
    pub(super) current: Option<(usize, &'a mut RequestQueue)>,
}

impl GroupState {
    pub(super) fn ticket(&mut self) -> Ticket {
        self.next_ticket = self.next_ticket.wrapping_add(1);
        Ticket(self.next_ticket)
    }
}

impl GroupCommands<'_> {
    fn queue(&mut self, member: usize) -> Option<&mut RequestQueue> {
        match &mut self.current {
            Some((current, queue)) if *current == member => Some(queue),
            _ => self.members.get_mut(member)?.xapp.as_mut().map(|xapp| &mut xapp.requests),
        }
    }

    /// Has the RIC of a node do something. What concerns a node that is lost fails.
    fn at_node(
        &mut self,
        node: NodeId,
        kind: RequestKind,
        request: impl FnOnce(&mut RequestQueue, NodeId) -> Ticket,
    ) -> Ticket {
        let ticket = self.state.ticket();
        let route = self.state.nodes.get(&node).map(|route| (route.member, route.own));
        match route.and_then(|(member, own)| Some((member, request(self.queue(member)?, own)))) {
            Some((member, own)) => self.add_request(member, own, PendingRequest { ticket, kind }),
            None => self.state.undeliverable.push(PendingRequest { ticket, kind }.lost()),
        }
        ticket
    }

    fn add_request(&mut self, member: usize, own: Ticket, request: PendingRequest) {
        if let RequestKind::Subscribe(node) = request.kind
            && let Some(route) = self.state.nodes.get_mut(&node)
        {
            route.requests.insert(own);
        }
        self.state.requests.insert((member, own), request);
    }

    pub fn subscribe(&mut self, node: NodeId, function: RanFunctionId, order: SubscriptionOrder) -> Ticket {
        // it is not resumed at a RIC that the node has left
        let order = SubscriptionOrder { restore: false, ..order };
        self.at_node(node, RequestKind::Subscribe(node), |queue, node| queue.subscribe(node, function, order, None))
    }

    pub fn modify(&mut self, subscription: SubscriptionId, change: SubscriptionChange) -> Ticket {
        let ticket = self.state.ticket();
        let request = PendingRequest { ticket, kind: RequestKind::Modify(subscription) };
        let route = self.state.subscriptions.get(&subscription).copied();
        match route.and_then(|(member, own)| Some((member, self.queue(member)?.modify(own, change)))) {
            Some((member, own)) => self.add_request(member, own, request),
            None => self.state.undeliverable.push(request.lost()),
        }
        ticket
    }

    pub fn answer_change(&mut self, subscription: SubscriptionId, refused: &[(RicActionId, Cause)]) {
        if let Some((member, own)) = self.state.subscriptions.get(&subscription).copied()
            && let Some(queue) = self.queue(member)
        {
            queue.answer_change(own, refused);
        }
    }

    pub fn unsubscribe(&mut self, subscription: SubscriptionId) {
        if let Some((member, own)) = self.state.subscriptions.get(&subscription).copied()
            && let Some(queue) = self.queue(member)
        {
            queue.unsubscribe(own);
        }
    }

    pub fn control(&mut self, node: NodeId, control: &ControlMessage<'_>) -> Ticket {
        self.at_node(node, RequestKind::Control, |queue, node| queue.control(node, control))
    }

    pub fn control_verified(
        &mut self,
        node: NodeId,
        control: &ControlMessage<'_>,
        verify: Verification,
    ) -> Result<Ticket, TooManyVerifications> {
        let Some(member) = self.state.nodes.get(&node).map(|route| route.member) else {
            return Ok(self.control(node, control));
        };
        // a subscription at another RIC reports nothing here
        let own = self.state.subscriptions.get(&verify.subscription()).filter(|(at, _)| *at == member);
        let verify = verify.by(own.map_or(SubscriptionId(u32::MAX), |(_, own)| *own));
        if !self.queue(member).is_some_and(|queue| queue.verifications.has_room()) {
            return Err(TooManyVerifications);
        }
        let mut own = None;
        let ticket = self.at_node(node, RequestKind::Control, |queue, node| {
            let ticket = queue.control(node, control);
            queue.verifications.add(ticket, verify);
            *own.insert(ticket)
        });
        if let Some(own) = own {
            self.state.verified.insert((member, own), ticket);
        }
        Ok(ticket)
    }

    pub fn query(&mut self, node: NodeId, function: RanFunctionId, header: &[u8], definition: &[u8]) -> Ticket {
        self.at_node(node, RequestKind::Query, |queue, node| queue.query(node, function, header, definition))
    }

    pub fn set_arbiter(&mut self, is_offered: bool) -> bool {
        let open: Vec<_> = (0..self.members.len()).filter(|at| self.members[*at].is_open).collect();
        let asked = |at: &usize| self.queue(*at).is_some_and(|queue| queue.set_arbiter(is_offered));
        let unanswered: BTreeSet<_> = open.iter().copied().filter(asked).collect();
        // those that are absent are asked when they are there
        let is_possible = open.is_empty() || !unanswered.is_empty();
        let offer = ArbiterOffer { unanswered, admitted: BTreeSet::new(), refusal: None };
        self.state.offer = (is_offered && is_possible).then_some(offer);
        is_possible
    }

    pub fn decide(&mut self, question: u64, accepts: bool) {
        let QuestionNumber { member, session, own } = QuestionNumber::read(question);
        // a question of a session that is over is none of the present one
        let is_open = self.members.get(member).is_some_and(|at| at.is_open && at.session == session);
        match self.queue(member).filter(|_| is_open) {
            Some(queue) => {
                queue.decide(own, accepts);
                self.state.decisions.insert((member, question));
            }
            None => self.state.undeliverable.push(unknown_question(question)),
        }
    }

    pub fn service(&mut self, kind: u32, document: &[u8]) -> bool {
        // without a RIC it is requested again when there is one
        let Some(home) = self.state.home else { return true };
        self.queue(home).is_some_and(|queue| queue.service(kind, document))
    }
}

impl PendingRequest {
    /// The result of a request to a node that is lost.
    pub(super) fn lost(self) -> RequestEvent {
        let PendingRequest { ticket, kind } = self;
        match kind {
            RequestKind::Subscribe(_) => RequestEvent::SubscriptionFailed { ticket, error: SubscribeError::NodeLost },
            RequestKind::Modify(subscription) => {
                RequestEvent::Modified { ticket, subscription, outcome: ModifyOutcome::Ended }
            }
            RequestKind::Control => RequestEvent::Controlled { ticket, outcome: ControlOutcome::NodeLost },
            RequestKind::Query => RequestEvent::Queried { ticket, outcome: QueryOutcome::NodeLost },
        }
    }
}

impl fmt::Debug for GroupCommands<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupCommands").finish_non_exhaustive()
    }
}
