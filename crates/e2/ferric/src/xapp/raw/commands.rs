//! The commands of an xApp.

use e2::{NodeId, SubscriptionChange, SubscriptionId, SubscriptionOrder, Ticket, XappClient};
use e2ap::{Cause, RanFunctionId, RicActionId};

use super::session_state::{PendingRequest, SessionState};
use super::verify::Verifications;
use super::{TooManyVerifications, Verification};

/// The commands of an xApp. Each returns a ticket; the event with this ticket is its result.
#[derive(Debug)]
pub struct Commands<'a>(pub(super) &'a mut RequestQueue);

/// The commands that are not sent yet, and the state of those that are not answered yet.
#[derive(Debug)]
pub(super) struct RequestQueue {
    pub(super) client: XappClient,
    /// Whether the version of the protocol has messages of services.
    pub(super) has_services: bool,
    /// The end of each message within `bytes`.
    pub(super) ends: Vec<usize>,
    pub(super) bytes: Vec<u8>,
    pub(super) verifications: Verifications,
    pub(super) state: SessionState,
}

impl RequestQueue {
    pub(super) fn subscribe(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        order: SubscriptionOrder,
        resumes: Option<SubscriptionId>,
    ) -> Ticket {
        let ticket = self.client.subscribe(node, function, order.clone(), &mut self.bytes);
        self.ends.push(self.bytes.len());
        self.state.add_request(ticket, || PendingRequest::Subscribe { node, function, order, resumes });
        ticket
    }
}

impl Commands<'_> {
    /// Subscribes to a RAN function of a node. A plain [`SubscriptionSpec`](e2::SubscriptionSpec) is resumed after the
    /// loss of its node.
    pub fn subscribe(&mut self, node: NodeId, function: RanFunctionId, order: impl Into<SubscriptionOrder>) -> Ticket {
        self.0.subscribe(node, function, order.into(), None)
    }

    /// Modifies a subscription (E2AP v3).
    pub fn modify(&mut self, subscription: SubscriptionId, change: SubscriptionChange) -> Ticket {
        let RequestQueue { client, ends, bytes, state, .. } = &mut *self.0;
        // an id that the RIC does not have: the command fails there
        let remote = state.remote(subscription).unwrap_or(SubscriptionId(u32::MAX));
        let ticket = client.modify(remote, change, bytes);
        ends.push(bytes.len());
        state.add_request(ticket, || PendingRequest::Modify(subscription));
        ticket
    }

    /// Answers a [`RequestEvent::ChangeRequired`](super::RequestEvent::ChangeRequired) with the actions that must stay
    /// as they are, each with the cause for the node. The RIC agrees to the others. A late answer has no effect.
    pub fn answer_change(&mut self, subscription: SubscriptionId, refused: &[(RicActionId, Cause)]) {
        let RequestQueue { client, ends, bytes, state, .. } = &mut *self.0;
        if let Some(remote) = state.remote(subscription) {
            client.answer_change(remote, refused, bytes);
            ends.push(bytes.len());
        }
    }

    /// Deletes a subscription.
    pub fn unsubscribe(&mut self, subscription: SubscriptionId) {
        let RequestQueue { client, ends, bytes, state, .. } = &mut *self.0;
        if let Some(remote) = state.unsubscribe(subscription) {
            client.unsubscribe(remote, bytes);
            ends.push(bytes.len());
        }
    }

    /// Sends a control that the function is to acknowledge.
    pub fn control(&mut self, node: NodeId, function: RanFunctionId, header: &[u8], message: &[u8]) -> Ticket {
        self.send_control(node, function, None, header, message)
    }

    /// Sends a control and verifies its effect: after the acknowledgement, the reports of a subscription are checked,
    /// and [`XappEvent::Verified`](super::XappEvent::Verified) reports the result. A control that fails is not
    /// verified.
    ///
    /// # Errors
    /// When [`MAX_VERIFICATIONS`](super::MAX_VERIFICATIONS) are in progress; the control was not sent.
    pub fn control_verified(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        header: &[u8],
        message: &[u8],
        verify: Verification,
    ) -> Result<Ticket, TooManyVerifications> {
        if !self.0.verifications.has_room() {
            return Err(TooManyVerifications);
        }
        let ticket = self.control(node, function, header, message);
        self.0.verifications.add(ticket, verify);
        Ok(ticket)
    }

    /// Answers an insert with a control that carries the insert's call process id and is to be acknowledged.
    pub fn answer_insert(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        call_process_id: &[u8],
        header: &[u8],
        message: &[u8],
    ) -> Ticket {
        self.send_control(node, function, Some(call_process_id), header, message)
    }

    fn send_control(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        call_process_id: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
    ) -> Ticket {
        let RequestQueue { client, ends, bytes, state, .. } = &mut *self.0;
        let ticket = client.control(node, function, header, message, call_process_id, true, bytes);
        ends.push(bytes.len());
        state.add_request(ticket, || PendingRequest::Control);
        ticket
    }

    /// Sends a message to a service of the RIC that is not E2. It answers by [`XappEvent::Service`](super::XappEvent::Service);
    /// a RIC without it by [`XappEvent::NoService`](super::XappEvent::NoService). Nothing is repeated when the RIC was lost. A document
    /// above 128 KiB ends the session. Returns whether it is sent: not to a RIC whose version of the RIC-xApp protocol has no such
    /// messages.
    pub fn service(&mut self, kind: u32, document: &[u8]) -> bool {
        let RequestQueue { client, has_services, ends, bytes, .. } = &mut *self.0;
        if *has_services {
            client.service(kind, document, bytes);
            ends.push(bytes.len());
        }
        *has_services
    }

    /// Sends a query (E2AP v3).
    pub fn query(&mut self, node: NodeId, function: RanFunctionId, header: &[u8], definition: &[u8]) -> Ticket {
        let RequestQueue { client, ends, bytes, state, .. } = &mut *self.0;
        let ticket = client.query(node, function, header, definition, bytes);
        ends.push(bytes.len());
        state.add_request(ticket, || PendingRequest::Query);
        ticket
    }
}
