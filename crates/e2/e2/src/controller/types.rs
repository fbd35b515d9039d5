//! What a controller is told, and what it tells.

use core::time::Duration;
use std::collections::HashMap;

use e2ap::{
    Cause, Codec, GlobalE2NodeId, GlobalRicId, RanFunctionId, RanFunctionRevision, RicActionId, RicIndication,
    RicIndicationSn, RicIndicationType, Version,
};
use per::Gather;

use super::components::Components;
use super::ids::{Consumer, NodeId, SubscriptionId};
use super::outcomes::{ConnectionOutcome, RequestEvent};
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
#[non_exhaustive]
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
    /// Something happened to a subscription, control or query of a consumer.
    Request {
        /// The consumer.
        consumer: Consumer,
        /// What happened.
        event: RequestEvent,
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
            Event::Request { consumer, .. } => Some(*consumer),
            _ => None,
        }
    }
}

/// Why a node is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostReason {
    /// Its association ended.
    Closed(CloseReason),
    /// It set up again, on the same association or another.
    SetupAgain,
    /// It left in order, or was let go.
    Removed,
}

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
