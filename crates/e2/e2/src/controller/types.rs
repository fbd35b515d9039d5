//! What a controller is told, and what it tells.

use core::fmt;
use core::time::Duration;
use std::collections::HashMap;

use e2ap::{
    Cause, Codec, GlobalE2NodeId, GlobalRicId, RanFunctionId, RanFunctionRevision, RicActionId, RicIndication,
    RicIndicationSn, RicIndicationType, RicTimeToWait, Version,
};
use per::Gather;

use super::components::Components;
use super::{ConnectionOutcome, ControlOutcome, ModifyOutcome, QueryOutcome, SubscribeError, SubscriptionEnd};
use crate::{AssocId, CloseReason, Notice};

/// What a controller is and when it loses patience.
#[derive(Clone, Debug)]
pub struct ControllerConfig {
    /// Who we are.
    pub ric_id: GlobalRicId,
    /// The version that a peer speaks, where it is to be another than its setup tells. Default: none.
    pub version: Option<Version>,
    /// The versions that certain nodes speak, by their ids as these are written (`gnb-00101-e00`), where that is not what their setups tell: v02.03 and v03.01 write the same setup,
    /// so that a v3 node is only asked what v3 has once it is known for one. A version whose setup is another than the one
    /// that came is not taken. Default: none.
    pub node_versions: HashMap<String, Version>,
    /// The first requestor id that is given out; more are taken once its 65536 instances are used up. Default: 1021.
    pub first_requestor: u16,
    /// Requests that may run or rest at a time. Default: 262144.
    pub max_requests: u32,
    /// How long a request id rests before it is used again. Default: 10 s.
    pub request_rest: Duration,
    /// A new association must set up within this. Default: 10 s.
    pub setup_timeout: Duration,
    /// A subscription must be answered within this. Default: 5 s.
    pub subscription_timeout: Duration,
    /// A subscription's deletion must be answered within this. Default: 5 s.
    pub delete_timeout: Duration,
    /// A control must be answered within this. Default: 5 s.
    pub control_timeout: Duration,
    /// A reset must be answered within this. Default: 5 s.
    pub reset_timeout: Duration,
    /// A query must be answered within this. Default: 5 s.
    pub query_timeout: Duration,
    /// The change of a subscription must be answered within this. Default: 5 s.
    pub modification_timeout: Duration,
    /// A consumer that wants to be asked about changes that a node requires must answer within this; what it has not
    /// refused by then is agreed to. Default: 1 s.
    pub consent_timeout: Duration,
    /// What is asked of a node as a whole must be answered within this: which functions it offers, other associations, its
    /// removal. Default: 5 s.
    pub answer_timeout: Duration,
    /// How long subscriptions wait for their node to come back before they end. Default: 60 s.
    pub restore_within: Duration,
    /// Subscriptions that wait for their nodes at a time; those of which there would be more end at once. Default: 16384.
    pub max_suspended: usize,
    /// Nodes at a time; more are told to wait. Default: 4096.
    pub max_nodes: usize,
    /// Octets of functions (definitions and OIDs) that are kept of one node; functions beyond are rejected. They go to
    /// xApps in one message, so that this must be well below what their links carry. Default: 960 KiB.
    pub max_function_octets: usize,
    /// Octets of components (the messages that set interfaces up) that are kept of one node; components beyond are rejected.
    /// Default: 256 KiB.
    pub max_component_octets: usize,
    /// Octets of functions and components that are kept of all nodes together. A node with which there would be more is told
    /// to wait, and more of one that is there is rejected. Default: 256 MiB.
    pub max_octets_of_nodes: usize,
    /// Subscriptions, controls and queries that one consumer may have at a time. Default: 16384.
    pub max_requests_per_consumer: usize,
    /// Octets of triggers and action definitions that are kept for one consumer. Default: 16 MiB.
    pub max_octets_per_consumer: usize,
    /// The longest PDU that the nodes' links carry; what would be longer is refused. Default: 1 MiB.
    pub max_pdu_octets: usize,
}

impl Default for ControllerConfig {
    fn default() -> Self {
        ControllerConfig {
            ric_id: GlobalRicId::new(e2ap::PlmnIdentity::from_codes(1, 1, 2), 1),
            version: None,
            node_versions: HashMap::new(),
            first_requestor: 1021,
            max_requests: 262_144,
            request_rest: Duration::from_secs(10),
            setup_timeout: Duration::from_secs(10),
            subscription_timeout: Duration::from_secs(5),
            delete_timeout: Duration::from_secs(5),
            control_timeout: Duration::from_secs(5),
            reset_timeout: Duration::from_secs(5),
            query_timeout: Duration::from_secs(5),
            modification_timeout: Duration::from_secs(5),
            consent_timeout: Duration::from_secs(1),
            answer_timeout: Duration::from_secs(5),
            restore_within: Duration::from_secs(60),
            max_suspended: 16_384,
            max_nodes: 4096,
            max_function_octets: 960 * 1024,
            max_component_octets: 256 * 1024,
            max_octets_of_nodes: 256 * 1024 * 1024,
            max_requests_per_consumer: 16_384,
            max_octets_per_consumer: 16 * 1024 * 1024,
            max_pdu_octets: 1024 * 1024,
        }
    }
}

/// Names a node from its setup to its loss; not used again before 2^32 others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// Names a subscription towards a node; several consumers may share it. One that has ended rests as its request id does
/// before it is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriptionId(pub u32);

/// Who subscribes and controls: an iApp, or an xApp's session. The caller gives the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Consumer(pub u32);

/// Pairs an event with the command that asked for it. The caller gives the numbers, each consumer its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u32);

/// A RAN function as its node tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanFunction {
    /// Its id within the node.
    pub id: RanFunctionId,
    /// Counts changes of its definition.
    pub revision: RanFunctionRevision,
    /// The service model's object identifier; empty in v01.00, which has none.
    pub oid: Box<str>,
    /// The service model's RAN function definition.
    pub definition: Box<[u8]>,
}

/// A node in the RAN database.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name here.
    pub id: NodeId,
    /// Its key.
    pub global_id: GlobalE2NodeId,
    /// The association it is on.
    pub assoc: AssocId,
    /// The version that it speaks.
    pub version: Version,
    /// The encoding that it writes.
    pub codec: Codec,
    /// What it offers, by id.
    pub functions: Vec<RanFunction>,
    /// Its interfaces.
    pub components: Components,
}

impl Node {
    /// Octets that are kept of it.
    pub(super) fn octets(&self) -> usize {
        self.functions.iter().map(super::functions::octets).sum::<usize>() + self.components.octets()
    }

    /// One of the node's functions.
    #[must_use]
    pub fn function(&self, id: RanFunctionId) -> Option<&RanFunction> {
        self.functions.binary_search_by_key(&id, |f| f.id).ok().map(|at| &self.functions[at])
    }
}

/// News from the machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A node has set up; [`Controller::node`](super::Controller::node) tells of it.
    NodeUp(NodeId),
    /// A node tells of other functions or components than before, or speaks a later version.
    NodeChanged(NodeId),
    /// A node is gone. So is every subscription with it that is not told to be suspended.
    NodeLost {
        /// Which one.
        node: NodeId,
        /// Its key.
        global_id: GlobalE2NodeId,
        /// Why.
        reason: LostReason,
    },
    /// A subscription stands.
    Subscribed {
        /// Whose.
        consumer: Consumer,
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
    SubscriptionFailed {
        /// Whose.
        consumer: Consumer,
        /// Of which command.
        ticket: Ticket,
        /// Why.
        error: SubscribeError,
    },
    /// A subscription's node is gone, and it waits for that to come back: it is resumed, or ends.
    SubscriptionSuspended {
        /// Whose.
        consumer: Consumer,
        /// Which one.
        subscription: SubscriptionId,
    },
    /// A subscription's node is back, and it stands again.
    SubscriptionResumed {
        /// Whose.
        consumer: Consumer,
        /// Which one.
        subscription: SubscriptionId,
        /// The node's present name.
        node: NodeId,
        /// Actions that are set up now.
        admitted: Vec<RicActionId>,
        /// Actions that are not, and why.
        not_admitted: Vec<(RicActionId, Cause)>,
    },
    /// A node requires a subscription to change, and its consumer wants to be asked: answered by
    /// [`Controller::answer_change`](super::Controller::answer_change). What is not refused in time is agreed to.
    ChangeRequired {
        /// Whose.
        consumer: Consumer,
        /// Which one.
        subscription: SubscriptionId,
        /// Actions that are to go, and why.
        remove: Vec<(RicActionId, Cause)>,
        /// Actions that are to be followed by another time to wait.
        modify: Vec<(RicActionId, RicTimeToWait)>,
    },
    /// A subscription is not what it was: its node required that.
    SubscriptionChanged {
        /// Whose.
        consumer: Consumer,
        /// Which one.
        subscription: SubscriptionId,
        /// Actions that are gone, and why.
        removed: Vec<(RicActionId, Cause)>,
        /// Actions that are followed by another time to wait.
        modified: Vec<(RicActionId, RicTimeToWait)>,
    },
    /// What became of a change.
    Modified {
        /// Whose.
        consumer: Consumer,
        /// Of which command.
        ticket: Ticket,
        /// Of which subscription.
        subscription: SubscriptionId,
        /// What became of it.
        outcome: ModifyOutcome,
    },
    /// A subscription stands no more.
    SubscriptionEnded {
        /// Whose.
        consumer: Consumer,
        /// Which one.
        subscription: SubscriptionId,
        /// Why.
        end: SubscriptionEnd,
    },
    /// What became of a control.
    Controlled {
        /// Whose.
        consumer: Consumer,
        /// Of which command.
        ticket: Ticket,
        /// What became of it.
        outcome: ControlOutcome,
    },
    /// What became of a query.
    Queried {
        /// Whose.
        consumer: Consumer,
        /// Of which command.
        ticket: Ticket,
        /// What became of it.
        outcome: QueryOutcome,
    },
    /// What became of [`Controller::connection_update`](super::Controller::connection_update).
    ConnectionUpdated {
        /// Of which node.
        node: NodeId,
        /// What became of it.
        outcome: ConnectionOutcome,
    },
    /// A node does not let itself be removed: it stays.
    RemovalRefused {
        /// Which one.
        node: NodeId,
        /// Why.
        cause: Cause,
    },
    /// For the log.
    Notice {
        /// Where.
        assoc: AssocId,
        /// What.
        notice: Notice,
    },
}

impl Event {
    /// Whom the news is for, where it is one consumer's.
    #[must_use]
    pub fn consumer(&self) -> Option<Consumer> {
        match self {
            Event::Subscribed { consumer, .. }
            | Event::SubscriptionFailed { consumer, .. }
            | Event::SubscriptionEnded { consumer, .. }
            | Event::SubscriptionSuspended { consumer, .. }
            | Event::SubscriptionResumed { consumer, .. }
            | Event::ChangeRequired { consumer, .. }
            | Event::SubscriptionChanged { consumer, .. }
            | Event::Modified { consumer, .. }
            | Event::Controlled { consumer, .. }
            | Event::Queried { consumer, .. } => Some(*consumer),
            Event::NodeUp(_)
            | Event::NodeChanged(_)
            | Event::NodeLost { .. }
            | Event::ConnectionUpdated { .. }
            | Event::RemovalRefused { .. }
            | Event::Notice { .. } => None,
        }
    }
}

/// Why a node is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostReason {
    /// Its association ended.
    Closed(CloseReason),
    /// It set up again, on the same association or another.
    SetupAgain,
    /// It left in order, or was let go.
    Removed,
}

/// A command that makes no sense: the caller's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// No such node.
    UnknownNode,
    /// The node has no such function.
    UnknownFunction,
    /// No such subscription, or not this consumer's.
    UnknownSubscription,
    /// A subscription without actions, with more than 16, with one id twice, or with a time to wait that the node's
    /// version does not have; or a change that names actions that are not there, or leaves such a subscription.
    BadActions,
    /// The consumer has as many requests as it may have, or as many octets in them.
    TooManyRequests,
    /// All request ids are in use or at rest.
    NoRequestId,
    /// The PDU would be longer than links carry.
    TooLarge,
    /// A procedure of this kind is under way already.
    UnderWay,
    /// The node's version does not have this.
    NotInVersion,
    /// The node wants not to be asked again yet.
    TooEarly,
    /// The subscription is not the consumer's alone.
    Shared,
    /// Associations that are wanted and not wanted at once, too many of them, or addresses that are none.
    BadUpdate,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Misuse::UnknownNode => "no such node",
            Misuse::UnknownFunction => "the node has no such RAN function",
            Misuse::UnknownSubscription => "no such subscription, or not yours",
            Misuse::BadActions => "a subscription has 1 to 16 actions with different ids and possible times to wait",
            Misuse::TooManyRequests => "too many subscriptions and controls at a time, or too much in them",
            Misuse::NoRequestId => "all request ids are in use or at rest",
            Misuse::TooLarge => "the PDU would be longer than links carry",
            Misuse::UnderWay => "a procedure of this kind is under way",
            Misuse::NotInVersion => "the version of E2AP that the node speaks does not have this",
            Misuse::TooEarly => "the node wants not to be asked again yet",
            Misuse::Shared => "others share the subscription: it is not yours to change",
            Misuse::BadUpdate => "each association is wanted or not, with an address and port, at most 32 in a list",
        })
    }
}

impl std::error::Error for Misuse {}

/// What came of a PDU.
#[derive(Clone, Debug)]
pub enum Routed<'a> {
    /// It was an indication of a subscription that stands: whose, tells [`Controller::consumers`](super::Controller::consumers).
    Indication(Indication<'a>),
    /// It was something else, or nothing; see the polls.
    Done,
}

/// An indication, borrowed from the bytes that came.
#[derive(Clone, Copy, Debug)]
pub struct Indication<'a> {
    /// From which node.
    pub node: NodeId,
    /// Of which subscription.
    pub subscription: SubscriptionId,
    /// From which function.
    pub ran_function_id: RanFunctionId,
    /// From which action.
    pub action_id: RicActionId,
    /// Its number.
    pub sn: Option<RicIndicationSn>,
    /// Report or insert.
    pub kind: RicIndicationType,
    /// The version it is written in.
    pub version: Version,
    /// The encoding it is written in.
    pub codec: Codec,
    /// The whole PDU, untouched.
    pub pdu: &'a [u8],
    /// Header and message, where they lie in one piece each: below 16384 octets.
    pub payload: Option<(&'a [u8], &'a [u8])>,
}

impl<'a> Indication<'a> {
    /// The full message; `gather` takes the payload of one that came in fragments.
    ///
    /// # Errors
    /// Where `pdu` is no indication: the controller routes nothing else.
    pub fn decode(&self, gather: &'a Gather) -> Result<RicIndication<'a>, e2ap::Error> {
        self.codec.decode_indication(self.pdu, self.version, gather)
    }
}
