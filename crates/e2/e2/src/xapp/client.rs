//! An xApp's side of the RIC-xApp protocol: what it says. What it hears, [`RicMessage::decode`](super::RicMessage::decode) reads.

use e2ap::{Cause, RanFunctionId, RicActionId};

use super::protocol::{PROTOCOL_VERSION, XappMessage};
use crate::{NodeId, SubscriptionChange, SubscriptionId, SubscriptionOrder, Ticket};

/// An xApp's side of one association.
#[derive(Debug, Default)]
pub struct XappClient {
    next_ticket: u32,
}

impl XappClient {
    /// A client that has said nothing yet.
    #[must_use]
    pub fn new() -> Self {
        XappClient::default()
    }

    /// The first message of an association.
    pub fn hello(&self, name: &str, out: &mut Vec<u8>) {
        let mut end = name.len().min(64);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        let name = name[..end].to_owned();
        XappMessage::Hello { lowest: PROTOCOL_VERSION, highest: PROTOCOL_VERSION, name }.encode(out);
    }

    /// Asks for a subscription; the ticket comes back with what becomes of it.
    ///
    /// A trigger or definition above 1 MiB, or more than 256 actions, is no message of the protocol: the RIC would end the
    /// session.
    ///
    /// # Panics
    /// Where an action's time to wait is zero, which E2AP has no more from v2 on.
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

    /// Asks for a change of a subscription; the ticket comes back with what becomes of it.
    ///
    /// Octets above 1 MiB in a piece, or more than 256 actions of a kind, are no message of the protocol: the RIC would end
    /// the session.
    pub fn modify(&mut self, subscription: SubscriptionId, change: SubscriptionChange, out: &mut Vec<u8>) -> Ticket {
        let ticket = self.ticket();
        XappMessage::Modify { ticket, subscription, change }.encode(out);
        ticket
    }

    /// Asks a function something; the ticket comes back with what becomes of it.
    ///
    /// Octets above 1 MiB in a piece are no message of the protocol: the RIC would end the session.
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

    /// Answers a change that a node requires: actions that are to stay as they are, each with the cause that the node is
    /// told. The RIC agrees to the rest.
    ///
    /// More than 16 are no message of the protocol: the RIC would end the session.
    pub fn answer_change(&mut self, subscription: SubscriptionId, refused: &[(RicActionId, Cause)], out: &mut Vec<u8>) {
        XappMessage::AnswerChange { subscription, refused: refused.to_vec() }.encode(out);
    }

    /// Leaves a subscription.
    pub fn unsubscribe(&mut self, subscription: SubscriptionId, out: &mut Vec<u8>) {
        XappMessage::Unsubscribe { subscription }.encode(out);
    }

    /// Asks a function to do something; the ticket comes back with what becomes of it.
    ///
    /// Octets above 1 MiB in a piece are no message of the protocol: the RIC would end the session.
    #[allow(clippy::too_many_arguments)] // what the message has
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

    fn ticket(&mut self) -> Ticket {
        self.next_ticket = self.next_ticket.wrapping_add(1);
        Ticket(self.next_ticket)
    }
}
