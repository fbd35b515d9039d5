//! What an xApp asks for.

use e2::{NodeId, SubscriptionChange, SubscriptionId, SubscriptionOrder, Ticket, XappClient};
use e2ap::{Cause, RanFunctionId, RicActionId};

use super::kept::{Asked, Kept};
use super::verify::Verifications;
use super::{TooManyVerifications, Verify};

/// What an xApp can ask for.
#[derive(Debug)]
pub struct Commands<'a>(pub(super) &'a mut Desk);

/// What is asked for until it is sent, and what is known of it until it is answered.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) client: XappClient,
    /// Messages, each behind its end within `bytes`.
    pub(super) ends: Vec<usize>,
    pub(super) bytes: Vec<u8>,
    pub(super) verifications: Verifications,
    pub(super) kept: Kept,
}

impl Desk {
    pub(super) fn subscribe(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        order: SubscriptionOrder,
        again: Option<SubscriptionId>,
    ) -> Ticket {
        let ticket = self.client.subscribe(node, function, order.clone(), &mut self.bytes);
        self.ends.push(self.bytes.len());
        self.kept.ask(ticket, || Asked::Subscribe { node, function, order, again });
        ticket
    }
}

impl Commands<'_> {
    /// Subscribes to a node's function; the ticket comes back with what becomes of it. A plain
    /// [`SubscriptionSpec`](e2::SubscriptionSpec) will do: it comes back by itself after its node was lost.
    pub fn subscribe(&mut self, node: NodeId, function: RanFunctionId, order: impl Into<SubscriptionOrder>) -> Ticket {
        self.0.subscribe(node, function, order.into(), None)
    }

    /// Changes a subscription, which E2AP has from v3 on; the ticket comes back with what becomes of it.
    pub fn modify(&mut self, subscription: SubscriptionId, change: SubscriptionChange) -> Ticket {
        let Desk { client, ends, bytes, kept, .. } = &mut *self.0;
        // one that the RIC does not have now is none of its, whatever it is called there
        let remote = kept.remote(subscription).unwrap_or(SubscriptionId(u32::MAX));
        let ticket = client.modify(remote, change, bytes);
        ends.push(bytes.len());
        kept.ask(ticket, || Asked::Modify(subscription));
        ticket
    }

    /// Answers an [`RequestEvent::ChangeRequired`](super::RequestEvent::ChangeRequired): actions that are to stay as they
    /// are, each with the cause that the node is told. The RIC agrees to the rest. An answer that comes too late
    /// changes nothing.
    pub fn answer_change(&mut self, subscription: SubscriptionId, refused: &[(RicActionId, Cause)]) {
        let Desk { client, ends, bytes, kept, .. } = &mut *self.0;
        if let Some(remote) = kept.remote(subscription) {
            client.answer_change(remote, refused, bytes);
            ends.push(bytes.len());
        }
    }

    /// Leaves a subscription.
    pub fn unsubscribe(&mut self, subscription: SubscriptionId) {
        let Desk { client, ends, bytes, kept, .. } = &mut *self.0;
        if let Some(remote) = kept.leave(subscription) {
            client.unsubscribe(remote, bytes);
            ends.push(bytes.len());
        }
    }

    /// Asks a function to do something and to acknowledge it; the ticket comes back with what becomes of it.
    pub fn control(&mut self, node: NodeId, function: RanFunctionId, header: &[u8], message: &[u8]) -> Ticket {
        self.send_control(node, function, None, header, message)
    }

    /// The same, and looks whether the control had its effect: once it is acknowledged, the reports of a subscription
    /// are watched, and [`XappEvent::Verified`](super::XappEvent::Verified) says what they show. A control that fails
    /// is told as ever, and not verified.
    ///
    /// # Errors
    /// Where [`MAX_VERIFICATIONS`](super::MAX_VERIFICATIONS) are under way; then nothing was sent.
    pub fn control_verified(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        header: &[u8],
        message: &[u8],
        verify: Verify,
    ) -> Result<Ticket, TooManyVerifications> {
        if !self.0.verifications.has_room() {
            return Err(TooManyVerifications);
        }
        let ticket = self.control(node, function, header, message);
        self.0.verifications.add(ticket, verify);
        Ok(ticket)
    }

    /// Answers an insert: a control that carries the insert's call process id, and that is to be acknowledged.
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
        let Desk { client, ends, bytes, kept, .. } = &mut *self.0;
        let ticket = client.control(node, function, header, message, call_process_id, true, bytes);
        ends.push(bytes.len());
        kept.ask(ticket, || Asked::Control);
        ticket
    }

    /// Asks a function something, which E2AP has from v3 on; the ticket comes back with what becomes of it.
    pub fn query(&mut self, node: NodeId, function: RanFunctionId, header: &[u8], definition: &[u8]) -> Ticket {
        let Desk { client, ends, bytes, kept, .. } = &mut *self.0;
        let ticket = client.query(node, function, header, definition, bytes);
        ends.push(bytes.len());
        kept.ask(ticket, || Asked::Query);
        ticket
    }
}
