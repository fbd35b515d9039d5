//! An xApp's side of the RIC-xApp protocol.

use e2ap::{Cause, GlobalRicId, RanFunctionId, RicActionId, RicTimeToWait};

use super::Envelope;
use super::protocol::{
    ControlResult, Message, ModifyResult, NodeInfo, PROTOCOL_VERSION, ProtocolError, QueryResult, RefusalCode,
    SubscribeFailure,
};
use crate::{NodeId, SubscriptionChange, SubscriptionEnd, SubscriptionId, SubscriptionOrder, Ticket};

/// News from a RIC.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent<'a> {
    /// The RIC has taken the hello.
    Welcome(GlobalRicId),
    /// A node is there.
    NodeUp(NodeInfo),
    /// A node is not what was told of it before.
    NodeChanged(NodeInfo),
    /// A node is gone, and every subscription with it that is not suspended.
    NodeLost(NodeId),
    /// A subscription stands.
    Subscribed {
        /// Of which command.
        ticket: Ticket,
        /// Its name from now on.
        subscription: SubscriptionId,
        /// Actions that are set up.
        admitted: Vec<RicActionId>,
        /// Actions that are not, and why.
        not_admitted: Vec<(RicActionId, Cause)>,
    },
    /// A subscription does not stand.
    SubscribeFailed {
        /// Of which command.
        ticket: Ticket,
        /// Why.
        failure: SubscribeFailure,
    },
    /// A subscription waits for its node to come back: it is resumed, or ends.
    SubscriptionSuspended(SubscriptionId),
    /// A subscription that was suspended stands again.
    SubscriptionResumed {
        /// Which one.
        subscription: SubscriptionId,
        /// Its node's present name, which may be told before the node itself.
        node: NodeId,
        /// Actions that are set up now.
        admitted: Vec<RicActionId>,
        /// Actions that are not, and why.
        not_admitted: Vec<(RicActionId, Cause)>,
    },
    /// The node requires a subscription to change: answered by [`XappClient::answer_change`].
    ChangeRequired {
        /// Which one.
        subscription: SubscriptionId,
        /// Actions that are to go, and why.
        remove: Vec<(RicActionId, Cause)>,
        /// Actions that are to be followed by another time to wait.
        modify: Vec<(RicActionId, RicTimeToWait)>,
    },
    /// The node required a subscription to change.
    SubscriptionChanged {
        /// Which one.
        subscription: SubscriptionId,
        /// Actions that are gone, and why.
        removed: Vec<(RicActionId, Cause)>,
        /// Actions that are followed by another time to wait.
        modified: Vec<(RicActionId, RicTimeToWait)>,
    },
    /// What became of a subscription's change.
    Modified {
        /// Of which command.
        ticket: Ticket,
        /// Of which subscription.
        subscription: SubscriptionId,
        /// What became of it.
        result: ModifyResult,
    },
    /// What became of a query.
    Queried {
        /// Of which command.
        ticket: Ticket,
        /// What became of it.
        result: QueryResult,
    },
    /// A subscription stands no more.
    SubscriptionEnded {
        /// Which one.
        subscription: SubscriptionId,
        /// Why.
        end: SubscriptionEnd,
    },
    /// An indication: the node's very bytes.
    Indication(Envelope<'a>),
    /// What became of a control.
    Controlled {
        /// Of which command.
        ticket: Ticket,
        /// What became of it.
        result: ControlResult,
    },
    /// Reports were lost because we read too slowly: all of this session's until now.
    Dropped(u64),
    /// The RIC refuses what was said; after `Version` and `Protocol` it closes.
    Refused(RefusalCode),
}

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
        Message::Hello { lowest: PROTOCOL_VERSION, highest: PROTOCOL_VERSION, name }.encode(out);
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
        Message::Subscribe { ticket, node, function, order: order.into() }.encode(out);
        ticket
    }

    /// Asks for a change of a subscription; the ticket comes back with what becomes of it.
    ///
    /// Octets above 1 MiB in a piece, or more than 256 actions of a kind, are no message of the protocol: the RIC would end
    /// the session.
    pub fn modify(&mut self, subscription: SubscriptionId, change: SubscriptionChange, out: &mut Vec<u8>) -> Ticket {
        let ticket = self.ticket();
        Message::Modify { ticket, subscription, change }.encode(out);
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
        Message::Query { ticket, node, function, header, definition }.encode(out);
        ticket
    }

    /// Answers a change that a node requires: actions that are to stay as they are, each with the cause that the node is
    /// told. The RIC agrees to the rest.
    ///
    /// More than 16 are no message of the protocol: the RIC would end the session.
    pub fn answer_change(&mut self, subscription: SubscriptionId, refused: &[(RicActionId, Cause)], out: &mut Vec<u8>) {
        Message::AnswerChange { subscription, refused: refused.to_vec() }.encode(out);
    }

    /// Leaves a subscription.
    pub fn unsubscribe(&mut self, subscription: SubscriptionId, out: &mut Vec<u8>) {
        Message::Unsubscribe { subscription }.encode(out);
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
        Message::Control { ticket, node, function, ack, call_process_id, header, message }.encode(out);
        ticket
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket = self.next_ticket.wrapping_add(1);
        Ticket(self.next_ticket)
    }

    /// Reads what the RIC says.
    ///
    /// # Errors
    /// Where it is no message, or one that only xApps send: the association is of no more use.
    #[inline]
    pub fn handle_pdu<'a>(&mut self, pdu: &'a [u8]) -> Result<ClientEvent<'a>, ProtocolError> {
        Ok(match Message::decode(pdu)? {
            Message::Envelope(envelope) => ClientEvent::Indication(envelope),
            Message::Welcome { ric_id, .. } => ClientEvent::Welcome(ric_id),
            Message::NodeUp(node) => ClientEvent::NodeUp(node),
            Message::NodeChanged(node) => ClientEvent::NodeChanged(node),
            Message::NodeLost(node) => ClientEvent::NodeLost(node),
            Message::Subscribed { ticket, subscription, admitted, not_admitted } => {
                ClientEvent::Subscribed { ticket, subscription, admitted, not_admitted }
            }
            Message::SubscribeFailed { ticket, failure } => ClientEvent::SubscribeFailed { ticket, failure },
            Message::SubscriptionEnded { subscription, end } => ClientEvent::SubscriptionEnded { subscription, end },
            Message::SubscriptionSuspended(subscription) => ClientEvent::SubscriptionSuspended(subscription),
            Message::SubscriptionResumed { subscription, node, admitted, not_admitted } => {
                ClientEvent::SubscriptionResumed { subscription, node, admitted, not_admitted }
            }
            Message::SubscriptionChanged { subscription, removed, modified } => {
                ClientEvent::SubscriptionChanged { subscription, removed, modified }
            }
            Message::ChangeRequired { subscription, remove, modify } => {
                ClientEvent::ChangeRequired { subscription, remove, modify }
            }
            Message::Modified { ticket, subscription, result } => {
                ClientEvent::Modified { ticket, subscription, result }
            }
            Message::Controlled { ticket, result } => ClientEvent::Controlled { ticket, result },
            Message::Queried { ticket, result } => ClientEvent::Queried { ticket, result },
            Message::Dropped { reports } => ClientEvent::Dropped(reports),
            Message::Refused(code) => ClientEvent::Refused(code),
            Message::Hello { .. }
            | Message::Subscribe { .. }
            | Message::Unsubscribe { .. }
            | Message::Modify { .. }
            | Message::AnswerChange { .. }
            | Message::Control { .. }
            | Message::Query { .. } => {
                return Err(ProtocolError::NotThisProtocol);
            }
        })
    }
}
