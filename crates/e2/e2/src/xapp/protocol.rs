//! The messages of the RIC-xApp protocol; `wire` has their encoding.

use core::fmt;

use e2ap::{Cause, GlobalE2NodeId, GlobalRicId, RanFunctionId, RanFunctionRevision, RicActionId, Version};

use crate::{NodeId, RefusalCode, RequestEvent, SubscriptionChange, SubscriptionId, SubscriptionOrder, Ticket};

/// The version of the protocol.
pub const PROTOCOL_VERSION: u16 = 4;

/// The oldest version that RIC and xApps support: it lacks [`XappMessage::Service`] and [`RicMessage::Service`].
pub const OLDEST_PROTOCOL_VERSION: u16 = 3;

/// The octets of an envelope before its PDU.
pub const ENVELOPE_OCTETS: usize = 13;

/// A message that contains the unchanged PDU of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// The node.
    pub node: NodeId,
    /// The subscription.
    pub subscription: SubscriptionId,
    /// The unchanged PDU.
    pub pdu: &'a [u8],
}

/// The description of a node for xApps.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeInfo {
    /// Its id from now on.
    pub id: NodeId,
    /// Its global id.
    pub global_id: GlobalE2NodeId,
    /// Its E2AP version, in which its PDUs are written.
    pub version: Version,
    /// The name of the encoding of its PDUs, see `e2ap::Codec`.
    pub encoding: String,
    /// Its RAN functions, as far as the xApp has rights to them.
    pub functions: Vec<FunctionInfo>,
}

/// The description of a RAN function for xApps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Its id within the node.
    pub id: RanFunctionId,
    /// The revision of its definition.
    pub revision: RanFunctionRevision,
    /// The OID of the service model; empty for a v01.00 node.
    pub oid: String,
    /// The service model's RAN function definition.
    pub definition: Vec<u8>,
    /// The revision of the service model, if the operator of the RIC has configured it.
    pub model_revision: Option<String>,
}

/// A message of an xApp.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum XappMessage {
    /// The first message: name and protocol versions.
    Hello {
        /// Lowest version.
        lowest: u16,
        /// Highest version.
        highest: u16,
        /// The name for the log, up to 64 octets.
        name: String,
    },
    /// Subscribe.
    Subscribe {
        /// The ticket of the command.
        ticket: Ticket,
        /// The node.
        node: NodeId,
        /// The RAN function.
        function: RanFunctionId,
        /// The subscription.
        order: SubscriptionOrder,
    },
    /// Unsubscribe.
    Unsubscribe {
        /// The subscription.
        subscription: SubscriptionId,
    },
    /// Control.
    Control {
        /// The ticket of the command.
        ticket: Ticket,
        /// The node.
        node: NodeId,
        /// The RAN function.
        function: RanFunctionId,
        /// Whether an acknowledgement is requested.
        ack: bool,
        /// The id of the suspended procedure that this answers.
        call_process_id: Option<Vec<u8>>,
        /// The service model's header.
        header: Vec<u8>,
        /// The service model's message.
        message: Vec<u8>,
    },
    /// Change a subscription.
    Modify {
        /// The ticket of the command.
        ticket: Ticket,
        /// The subscription.
        subscription: SubscriptionId,
        /// The change.
        change: SubscriptionChange,
    },
    /// Query.
    Query {
        /// The ticket of the command.
        ticket: Ticket,
        /// The node.
        node: NodeId,
        /// The RAN function.
        function: RanFunctionId,
        /// The service model's header.
        header: Vec<u8>,
        /// The service model's query definition.
        definition: Vec<u8>,
    },
    /// A message for a service of the RIC that is not E2.
    Service {
        /// Which message of which service.
        kind: u32,
        /// Its content, up to 128 KiB.
        document: Vec<u8>,
    },
    /// Answer a change that a node requires.
    AnswerChange {
        /// The subscription.
        subscription: SubscriptionId,
        /// Actions to keep unchanged, and why.
        refused: Vec<(RicActionId, Cause)>,
    },
    /// Be an arbiter on conflicts between controls, or none any more. Since version 4.
    SetArbiter {
        /// Whether it offers to be one.
        is_offered: bool,
    },
    /// Decide on a control that waits. Since version 4.
    Decide {
        /// The number of the question.
        question: u64,
        /// Whether the control is sent.
        accepts: bool,
    },
}

impl XappMessage {
    /// The first version of the protocol that has the message.
    pub(super) const fn since(&self) -> u16 {
        match self {
            XappMessage::SetArbiter { .. } | XappMessage::Decide { .. } => 4,
            _ => OLDEST_PROTOCOL_VERSION,
        }
    }
}

/// A message of a RIC.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RicMessage<'a> {
    /// The answer to Hello.
    Welcome {
        /// The protocol version.
        version: u16,
        /// The global id of the RIC.
        ric_id: GlobalRicId,
    },
    /// A node has set up.
    NodeUp(NodeInfo),
    /// The description of a node has changed.
    NodeChanged(NodeInfo),
    /// A node is lost. Its subscriptions have ended, except the suspended ones.
    NodeLost(NodeId),
    /// Something happened to a subscription, control or query of the xApp.
    Request(RequestEvent),
    /// A node's PDU.
    Envelope(Envelope<'a>),
    /// Reports were dropped because the xApp reads too slowly.
    Dropped {
        /// Their number so far in this session.
        reports: u64,
    },
    /// A message of a service of the RIC that is not E2.
    Service {
        /// Which message of which service.
        kind: u32,
        /// Its content, up to 128 KiB.
        document: &'a [u8],
    },
    /// A message was refused; after `Version` and `Protocol` the RIC closes the association.
    Refused(RefusalCode),
}

/// Why a message cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The peer does not use this protocol.
    NotThisProtocol,
    /// The peer has no message of this type.
    UnknownMessage(u8),
    /// The message ends too early.
    Truncated,
    /// Octets follow the message.
    Trailing,
    /// A field is too long or has an invalid value.
    BadField,
    /// A message comes before the welcome, or a second welcome.
    OutOfOrder,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProtocolError::NotThisProtocol => f.write_str("the peer does not use the RIC-xApp protocol"),
            ProtocolError::UnknownMessage(kind) => write!(f, "unknown message type {kind:#04x}"),
            ProtocolError::Truncated => f.write_str("the message ends too early"),
            ProtocolError::Trailing => f.write_str("octets follow the message"),
            ProtocolError::BadField => f.write_str("a field is too long or has an invalid value"),
            ProtocolError::OutOfOrder => {
                f.write_str("the RIC sends a message before the welcome, or welcomes the xApp twice")
            }
        }
    }
}

impl std::error::Error for ProtocolError {}
