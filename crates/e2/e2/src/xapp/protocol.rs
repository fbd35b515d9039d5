//! Messages of the RIC-xApp protocol; `wire` has their bytes.

use core::fmt;

use e2ap::{Cause, GlobalE2NodeId, GlobalRicId, RanFunctionId, RanFunctionRevision, RicActionId, Version};

use crate::{NodeId, RefusalCode, RequestEvent, SubscriptionChange, SubscriptionId, SubscriptionOrder, Ticket};

/// The one version that is spoken here.
pub const PROTOCOL_VERSION: u16 = 3;

/// Octets of an envelope before the PDU in it.
pub const ENVELOPE_OCTETS: usize = 13;

/// Around a node's untouched PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// From which node.
    pub node: NodeId,
    /// Of which subscription.
    pub subscription: SubscriptionId,
    /// The node's very bytes.
    pub pdu: &'a [u8],
}

/// A node as xApps see it.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeInfo {
    /// Its name from now on.
    pub id: NodeId,
    /// Its key.
    pub global_id: GlobalE2NodeId,
    /// The version that it speaks, in which its PDUs are written.
    pub version: Version,
    /// The name of the encoding that its PDUs are written in, as `e2ap::Codec` names it.
    pub encoding: String,
    /// What it offers.
    pub functions: Vec<FunctionInfo>,
}

/// A RAN function as xApps see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Its id within the node.
    pub id: RanFunctionId,
    /// Counts changes of its definition.
    pub revision: RanFunctionRevision,
    /// The service model; empty where v01.00 has none.
    pub oid: String,
    /// The service model's RAN function definition.
    pub definition: Vec<u8>,
    /// The revision of the service model, where the RIC's operator has configured it.
    pub model_revision: Option<String>,
}

/// What an xApp says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum XappMessage {
    /// Who it is, and the versions that it speaks.
    Hello {
        /// Lowest version.
        lowest: u16,
        /// Highest version.
        highest: u16,
        /// For the log: up to 64 octets.
        name: String,
    },
    /// Subscribe.
    Subscribe {
        /// Names the command.
        ticket: Ticket,
        /// The node.
        node: NodeId,
        /// Its function.
        function: RanFunctionId,
        /// When and what, and on which terms.
        order: SubscriptionOrder,
    },
    /// Leave a subscription.
    Unsubscribe {
        /// Which one.
        subscription: SubscriptionId,
    },
    /// Control.
    Control {
        /// Names the command.
        ticket: Ticket,
        /// The node.
        node: NodeId,
        /// Its function.
        function: RanFunctionId,
        /// Whether to wait for an acknowledgement.
        ack: bool,
        /// The process that waits for this.
        call_process_id: Option<Vec<u8>>,
        /// The service model's header.
        header: Vec<u8>,
        /// The service model's message.
        message: Vec<u8>,
    },
    /// Change a subscription.
    Modify {
        /// Names the command.
        ticket: Ticket,
        /// Which one.
        subscription: SubscriptionId,
        /// What is to become of it.
        change: SubscriptionChange,
    },
    /// Query.
    Query {
        /// Names the command.
        ticket: Ticket,
        /// The node.
        node: NodeId,
        /// Its function.
        function: RanFunctionId,
        /// The service model's header.
        header: Vec<u8>,
        /// The service model's question.
        definition: Vec<u8>,
    },
    /// Answer a change that a node requires.
    AnswerChange {
        /// Of which subscription.
        subscription: SubscriptionId,
        /// Actions that are to stay as they are, and why.
        refused: Vec<(RicActionId, Cause)>,
    },
}

/// What a RIC says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RicMessage<'a> {
    /// The hello is taken.
    Welcome {
        /// The version that is spoken.
        version: u16,
        /// Who the RIC is.
        ric_id: GlobalRicId,
    },
    /// A node is there.
    NodeUp(NodeInfo),
    /// A node is not what was told of it before.
    NodeChanged(NodeInfo),
    /// A node is gone, and every subscription with it that is not suspended.
    NodeLost(NodeId),
    /// Something happened to a subscription, control or query of the xApp.
    Request(RequestEvent),
    /// A node's PDU.
    Envelope(Envelope<'a>),
    /// Reports were lost because the xApp read too slowly; all of this session's until now.
    Dropped {
        /// How many.
        reports: u64,
    },
    /// What was said is refused; after `Version` and `Protocol` the RIC closes.
    Refused(RefusalCode),
}

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// Nobody speaks this protocol there.
    NotThisProtocol,
    /// No message of that side has this name.
    UnknownMessage(u8),
    /// The message ends too early.
    Truncated,
    /// The message goes on after its end.
    Trailing,
    /// A field is longer than it may be, or holds what it may not.
    BadField,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProtocolError::NotThisProtocol => f.write_str("the peer does not speak the RIC-xApp protocol"),
            ProtocolError::UnknownMessage(kind) => write!(f, "no message is named {kind:#04x}"),
            ProtocolError::Truncated => f.write_str("the message ends too early"),
            ProtocolError::Trailing => f.write_str("the message goes on after its end"),
            ProtocolError::BadField => f.write_str("a field is out of its bounds"),
        }
    }
}

impl std::error::Error for ProtocolError {}
