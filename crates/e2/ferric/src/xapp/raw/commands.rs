//! The commands of an xApp.

use e2::{NodeId, SubscriptionChange, SubscriptionId, SubscriptionOrder, Ticket, XappClient};
use e2ap::{Cause, RanFunctionId, RicActionId};

use super::group::GroupCommands;
use super::session_state::{PendingRequest, SessionState};
use super::verify::Verifications;
use super::{TooManyVerifications, Verification};

/// The first version of the protocol with arbiters.
const ARBITERS: u16 = 4;

/// The commands of an xApp. Each returns a ticket; the event with this ticket is its result.
#[derive(Debug)]
pub struct Commands<'a>(Target<'a>);

/// Where commands go.
#[derive(Debug)]
enum Target<'a> {
    Ric(&'a mut RequestQueue),
    /// The RICs of a group: to the one that serves the node.
    Group(GroupCommands<'a>),
}

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
    /// The version of the protocol, since the welcome.
    pub(super) version: u16,
}

/// A control, or the answer to an insert.
#[derive(Clone, Copy, Debug)]
pub(super) struct ControlMessage<'a> {
    pub function: RanFunctionId,
    /// That of the insert that it answers.
    pub call_process_id: Option<&'a [u8]>,
    pub header: &'a [u8],
    pub message: &'a [u8],
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

    pub(super) fn modify(&mut self, subscription: SubscriptionId, change: SubscriptionChange) -> Ticket {
        // an id that the RIC does not have: the command fails there
        let remote = self.state.remote(subscription).unwrap_or(SubscriptionId(u32::MAX));
        let ticket = self.client.modify(remote, change, &mut self.bytes);
        self.ends.push(self.bytes.len());
        self.state.add_request(ticket, || PendingRequest::Modify(subscription));
        ticket
    }

    pub(super) fn answer_change(&mut self, subscription: SubscriptionId, refused: &[(RicActionId, Cause)]) {
        if let Some(remote) = self.state.remote(subscription) {
            self.client.answer_change(remote, refused, &mut self.bytes);
            self.ends.push(self.bytes.len());
        }
    }

    pub(super) fn unsubscribe(&mut self, subscription: SubscriptionId) {
        if let Some(remote) = self.state.unsubscribe(subscription) {
            self.client.unsubscribe(remote, &mut self.bytes);
            self.ends.push(self.bytes.len());
        }
    }

    pub(super) fn control(&mut self, node: NodeId, control: &ControlMessage<'_>) -> Ticket {
        let ControlMessage { function, call_process_id, header, message } = *control;
        let RequestQueue { client, ends, bytes, state, .. } = self;
        let ticket = client.control(node, function, header, message, call_process_id, true, bytes);
        ends.push(bytes.len());
        state.add_request(ticket, || PendingRequest::Control);
        ticket
    }

    pub(super) fn control_verified(
        &mut self,
        node: NodeId,
        control: &ControlMessage<'_>,
        verify: Verification,
    ) -> Result<Ticket, TooManyVerifications> {
        if !self.verifications.has_room() {
            return Err(TooManyVerifications);
        }
        let ticket = self.control(node, control);
        self.verifications.add(ticket, verify);
        Ok(ticket)
    }

    pub(super) fn set_arbiter(&mut self, is_offered: bool) -> bool {
        let has_arbiters = self.version >= ARBITERS;
        if has_arbiters {
            self.client.set_arbiter(is_offered, &mut self.bytes);
            self.ends.push(self.bytes.len());
        }
        has_arbiters
    }

    pub(super) fn decide(&mut self, question: u64, accepts: bool) {
        if self.version >= ARBITERS {
            self.client.decide(question, accepts, &mut self.bytes);
            self.ends.push(self.bytes.len());
        }
    }

    pub(super) fn service(&mut self, kind: u32, document: &[u8]) -> bool {
        if self.has_services {
            self.client.service(kind, document, &mut self.bytes);
            self.ends.push(self.bytes.len());
        }
        self.has_services
    }

    pub(super) fn query(&mut self, node: NodeId, function: RanFunctionId, header: &[u8], definition: &[u8]) -> Ticket {
        let ticket = self.client.query(node, function, header, definition, &mut self.bytes);
        self.ends.push(self.bytes.len());
        self.state.add_request(ticket, || PendingRequest::Query);
        ticket
    }
}

impl<'a> Commands<'a> {
    /// To one RIC.
    pub(super) fn of(queue: &'a mut RequestQueue) -> Self {
        Commands(Target::Ric(queue))
    }

    /// To the RICs of a group.
    pub(super) fn of_group(group: GroupCommands<'a>) -> Self {
        Commands(Target::Group(group))
    }

    /// The queue of the one RIC; `None` in a group.
    pub(super) fn queue(&mut self) -> Option<&mut RequestQueue> {
        match &mut self.0 {
            Target::Ric(queue) => Some(queue),
            Target::Group(_) => None,
        }
    }

    /// Subscribes to a RAN function of a node. A plain [`SubscriptionSpec`](e2::SubscriptionSpec) is resumed after the
    /// loss of its node.
    pub fn subscribe(&mut self, node: NodeId, function: RanFunctionId, order: impl Into<SubscriptionOrder>) -> Ticket {
        match &mut self.0 {
            Target::Ric(queue) => queue.subscribe(node, function, order.into(), None),
            Target::Group(group) => group.subscribe(node, function, order.into()),
        }
    }

    /// Modifies a subscription (E2AP v3).
    pub fn modify(&mut self, subscription: SubscriptionId, change: SubscriptionChange) -> Ticket {
        match &mut self.0 {
            Target::Ric(queue) => queue.modify(subscription, change),
            Target::Group(group) => group.modify(subscription, change),
        }
    }

    /// Answers a [`RequestEvent::ChangeRequired`](super::RequestEvent::ChangeRequired) with the actions that must stay
    /// as they are, each with the cause for the node. The RIC agrees to the others. A late answer has no effect.
    pub fn answer_change(&mut self, subscription: SubscriptionId, refused: &[(RicActionId, Cause)]) {
        match &mut self.0 {
            Target::Ric(queue) => queue.answer_change(subscription, refused),
            Target::Group(group) => group.answer_change(subscription, refused),
        }
    }

    /// Deletes a subscription.
    pub fn unsubscribe(&mut self, subscription: SubscriptionId) {
        match &mut self.0 {
            Target::Ric(queue) => queue.unsubscribe(subscription),
            Target::Group(group) => group.unsubscribe(subscription),
        }
    }

    /// Sends a control that the function is to acknowledge.
    pub fn control(&mut self, node: NodeId, function: RanFunctionId, header: &[u8], message: &[u8]) -> Ticket {
        self.send_control(node, &ControlMessage { function, call_process_id: None, header, message })
    }

    /// Sends a control and verifies its effect: after the acknowledgement, the reports of a subscription are checked,
    /// and [`XappEvent::Verified`](super::XappEvent::Verified) reports the result. A control that fails is not
    /// verified.
    ///
    /// # Errors
    /// When [`MAX_VERIFICATIONS`](super::MAX_VERIFICATIONS) are in progress, in a group of RICs at that of the node; the control was
    /// not sent.
    pub fn control_verified(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        header: &[u8],
        message: &[u8],
        verify: Verification,
    ) -> Result<Ticket, TooManyVerifications> {
        let control = ControlMessage { function, call_process_id: None, header, message };
        match &mut self.0 {
            Target::Ric(queue) => queue.control_verified(node, &control, verify),
            Target::Group(group) => group.control_verified(node, &control, verify),
        }
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
        let call_process_id = Some(call_process_id);
        self.send_control(node, &ControlMessage { function, call_process_id, header, message })
    }

    fn send_control(&mut self, node: NodeId, control: &ControlMessage<'_>) -> Ticket {
        match &mut self.0 {
            Target::Ric(queue) => queue.control(node, control),
            Target::Group(group) => group.control(node, control),
        }
    }

    /// Offers to be an arbiter on conflicts between controls of xApps, or takes that back. The answer is
    /// [`RequestEvent::ArbiterSet`](super::RequestEvent::ArbiterSet), then questions come as
    /// [`RequestEvent::ControlAsked`](super::RequestEvent::ControlAsked). Returns whether the RIC has arbiters; the others speak an older
    /// version of the protocol.
    pub fn set_arbiter(&mut self, is_offered: bool) -> bool {
        match &mut self.0 {
            Target::Ric(queue) => queue.set_arbiter(is_offered),
            Target::Group(group) => group.set_arbiter(is_offered),
        }
    }

    /// Decides on a control that waits. [`RequestEvent::Decided`](super::RequestEvent::Decided) says whether it was in time. Has no
    /// effect if the RIC has no arbiters.
    pub fn decide(&mut self, question: u64, accepts: bool) {
        match &mut self.0 {
            Target::Ric(queue) => queue.decide(question, accepts),
            Target::Group(group) => group.decide(question, accepts),
        }
    }

    /// Sends a message to a service of the RIC that is not E2. It answers by [`XappEvent::Service`](super::XappEvent::Service);
    /// a RIC without it by [`XappEvent::NoService`](super::XappEvent::NoService). Nothing is repeated when the RIC was lost. A document
    /// above 128 KiB ends the session. Returns whether it is sent: not to a RIC whose version of the RIC-xApp protocol has no such
    /// messages.
    pub fn service(&mut self, kind: u32, document: &[u8]) -> bool {
        match &mut self.0 {
            Target::Ric(queue) => queue.service(kind, document),
            Target::Group(group) => group.service(kind, document),
        }
    }

    /// Sends a query (E2AP v3).
    pub fn query(&mut self, node: NodeId, function: RanFunctionId, header: &[u8], definition: &[u8]) -> Ticket {
        match &mut self.0 {
            Target::Ric(queue) => queue.query(node, function, header, definition),
            Target::Group(group) => group.query(node, function, header, definition),
        }
    }
}
