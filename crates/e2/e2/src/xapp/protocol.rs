//! Messages of the RIC-xApp protocol; `wire` has their bytes.

use core::fmt;

use e2ap::{
    Cause, GlobalE2NodeId, GlobalRicId, RanFunctionId, RanFunctionRevision, RicActionId, RicTimeToWait, Version,
};

use crate::{ChangeResult, NodeId, SubscriptionChange, SubscriptionEnd, SubscriptionId, SubscriptionOrder, Ticket};

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

/// Why an xApp is turned away, or a command of its.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RefusalCode {
    /// The protocol's version is not spoken here.
    Version = 1,
    /// A message that is none, or out of turn.
    Protocol = 2,
    /// No such node.
    UnknownNode = 3,
    /// The node has no such function.
    UnknownFunction = 4,
    /// No such subscription, or not this xApp's.
    UnknownSubscription = 5,
    /// Actions that make no sense.
    BadActions = 6,
    /// Too many subscriptions and controls at a time.
    TooManyRequests = 7,
    /// The RIC has no more request ids.
    NoRequestId = 8,
    /// The node's link does not carry so much.
    TooLarge = 9,
    /// The version of E2AP that the node speaks does not have this.
    NotInVersion = 10,
    /// The last change of the subscription is not answered yet.
    UnderWay = 11,
    /// Others have a part in the subscription.
    Shared = 12,
    /// Whoever vouches for the xApp gives it no right to that, or none at all.
    NotAllowed = 13,
}

/// Why a subscription was not set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubscribeFailure {
    /// The RIC does not ask the node for this.
    Misuse(RefusalCode),
    /// The node refuses.
    Refused(Cause),
    /// The node did not answer.
    TimedOut,
    /// The node is gone.
    NodeLost,
}

/// What became of a control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlResult {
    /// The RIC does not ask the node for this.
    Misuse(RefusalCode),
    /// Done, with the service model's outcome.
    Acknowledged(Option<Vec<u8>>),
    /// Sent, and nothing bad heard of it.
    Sent,
    /// The node could not or would not.
    Failed(Cause, Option<Vec<u8>>),
    /// The node did not answer.
    TimedOut,
    /// The node is gone.
    NodeLost,
}

/// What became of a subscription's change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModifyResult {
    /// The RIC does not ask the node for this.
    Misuse(RefusalCode),
    /// Done, or some of it.
    Done(ChangeResult),
    /// The node refuses: the subscription stands as it was.
    Refused(Cause),
    /// The node did not answer: in which form the subscription stands is not known.
    TimedOut,
    /// The subscription ended before, or is suspended.
    Ended,
}

/// What became of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryResult {
    /// The RIC does not ask the node for this.
    Misuse(RefusalCode),
    /// The service model's answer.
    Answered(Vec<u8>),
    /// The node could not or would not.
    Failed(Cause),
    /// The node did not answer.
    TimedOut,
    /// The node is gone.
    NodeLost,
}

/// What an xApp says.
#[derive(Clone, Debug, PartialEq)]
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
    /// The node requires a subscription to change, and the xApp wants to be asked: answered by
    /// [`XappMessage::AnswerChange`].
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
    /// A node's PDU.
    Envelope(Envelope<'a>),
    /// What became of a control.
    Controlled {
        /// Of which command.
        ticket: Ticket,
        /// What became of it.
        result: ControlResult,
    },
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
