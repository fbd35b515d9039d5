//! The xApp's side of the RIC-xApp protocol: writes its messages. [`RicMessage::decode`](super::RicMessage::decode) reads the
//! RIC's.

use e2ap::{Cause, RanFunctionId, RicActionId};

use super::protocol::{OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION, XappMessage};
use crate::{NodeId, SubscriptionChange, SubscriptionId, SubscriptionOrder, Ticket};

/// The xApp's side of one association.
#[derive(Debug, Default)]
pub struct XappClient {
    next_ticket: u32,
}

impl XappClient {
    /// Creates a client.
    #[must_use]
    pub fn new() -> Self {
        XappClient::default()
    }

    /// Writes the first message of an association.
    pub fn hello(&self, name: &str, out: &mut Vec<u8>) {
        let mut end = name.len().min(64);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        let name = name[..end].to_owned();
        XappMessage::Hello { lowest: OLDEST_PROTOCOL_VERSION, highest: PROTOCOL_VERSION, name }.encode(out);
    }

    /// Subscribes to a RAN function. The returned ticket identifies the outcome.
    ///
    /// A trigger or definition above 1 MiB, or more than 256 actions, makes the message invalid: the RIC would end the session.
    ///
    /// # Panics
    /// If an action's time to wait is zero, which E2AP does not have since v2.
    pub fn subscribe(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        order: impl Into<SubscriptionOrder>,
        out: &mut Vec<u8>,
    ) -> Ticket {
        let ticket = self.ticket();
        XappMessage::Subscribe { ticket, node, function, order: order.into() }.encode(out);
        ticket
    }

    /// Changes a subscription. The returned ticket identifies the outcome.
    ///
    /// A field above 1 MiB, or a list of more than 256 actions, makes the message invalid: the RIC would end the session.
    pub fn modify(&mut self, subscription: SubscriptionId, change: SubscriptionChange, out: &mut Vec<u8>) -> Ticket {
        let ticket = self.ticket();
        XappMessage::Modify { ticket, subscription, change }.encode(out);
        ticket
    }

    /// Sends a query to a RAN function. The returned ticket identifies the outcome.
    ///
    /// A field above 1 MiB makes the message invalid: the RIC would end the session.
    pub fn query(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        header: &[u8],
        definition: &[u8],
        out: &mut Vec<u8>,
    ) -> Ticket {
        let ticket = self.ticket();
        let (header, definition) = (header.to_vec(), definition.to_vec());
        XappMessage::Query { ticket, node, function, header, definition }.encode(out);
        ticket
    }

    /// Answers a change that a node requires: `refused` lists the actions to keep unchanged, each with the cause sent to the
    /// node. The RIC agrees to the rest.
    ///
    /// More than 16 actions make the message invalid: the RIC would end the session.
    pub fn answer_change(&mut self, subscription: SubscriptionId, refused: &[(RicActionId, Cause)], out: &mut Vec<u8>) {
        XappMessage::AnswerChange { subscription, refused: refused.to_vec() }.encode(out);
    }

    /// Unsubscribes.
    pub fn unsubscribe(&mut self, subscription: SubscriptionId, out: &mut Vec<u8>) {
        XappMessage::Unsubscribe { subscription }.encode(out);
    }

    /// Sends a control to a RAN function. The returned ticket identifies the outcome.
    ///
    /// A field above 1 MiB makes the message invalid: the RIC would end the session.
    #[allow(clippy::too_many_arguments)] // the fields of the message
    pub fn control(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        header: &[u8],
        message: &[u8],
        call_process_id: Option<&[u8]>,
        ack: bool,
        out: &mut Vec<u8>,
    ) -> Ticket {
        let ticket = self.ticket();
        let (header, message) = (header.to_vec(), message.to_vec());
        let call_process_id = call_process_id.map(<[u8]>::to_vec);
        XappMessage::Control { ticket, node, function, ack, call_process_id, header, message }.encode(out);
        ticket
    }

    /// Sends a message to a service of the RIC that is not E2. There is no ticket: the service answers by messages of its own.
    ///
    /// A document above 128 KiB makes the message invalid, and so does version 3 of the protocol: the RIC would end the session.
    pub fn service(&mut self, kind: u32, document: &[u8], out: &mut Vec<u8>) {
        XappMessage::Service { kind, document: document.to_vec() }.encode(out);
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket = self.next_ticket.wrapping_add(1);
        Ticket(self.next_ticket)
    }
}
