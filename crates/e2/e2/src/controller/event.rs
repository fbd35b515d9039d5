//! What a controller reports: events, and the indications among the received PDUs.

use core::time::Duration;

use e2ap::{
    Cause, Codec, GlobalE2NodeId, RanFunctionId, RicActionId, RicIndication, RicIndicationSn, RicIndicationType,
    Version,
};
use per::Gather;

use super::ids::{Consumer, NodeId, SubscriptionId};
use super::outcomes::{ConnectionOutcome, ControlOutcome, RequestEvent};
use crate::{AssocId, CloseReason, Notice};

/// An event that a [`Controller`](super::Controller) reports.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A node has set up; [`Controller::node`](super::Controller::node) returns it.
    NodeUp(NodeId),
    /// The functions, components or E2AP version of a node have changed.
    NodeChanged(NodeId),
    /// A node is lost. Its subscriptions have ended, except those reported as suspended.
    NodeLost {
        /// The node.
        node: NodeId,
        /// Its global id.
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
    /// A control has ended: for the log, and reported before the [`Event::Request`] of its consumer. Only if
    /// [`ControllerConfig::kept_control_octets`](super::ControllerConfig::kept_control_octets) allows it.
    ControlEnded(Box<EndedControl>),
    /// A [`Controller::connection_update`](super::Controller::connection_update) has ended.
    ConnectionUpdated {
        /// The node.
        node: NodeId,
        /// Its outcome.
        outcome: ConnectionOutcome,
    },
    /// A node refused its removal and remains connected.
    RemovalRefused {
        /// The node.
        node: NodeId,
        /// Why.
        cause: Cause,
    },
    /// A line for the log.
    Notice {
        /// The association that it is about.
        assoc: AssocId,
        /// The text, as a value.
        notice: Notice,
    },
}

impl Event {
    /// The consumer of a [`Event::Request`]; `None` for the other events.
    #[must_use]
    pub fn consumer(&self) -> Option<Consumer> {
        match self {
            Event::Request { consumer, .. } => Some(*consumer),
            _ => None,
        }
    }
}

/// A control that has ended, for a log.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedControl {
    /// The consumer that sent it.
    pub consumer: Consumer,
    /// The node.
    pub node: NodeId,
    /// The RAN function.
    pub function: RanFunctionId,
    /// Header and message, unless they were too many octets to keep.
    pub content: Option<Box<(Vec<u8>, Vec<u8>)>>,
    /// The time from the request to its end.
    pub duration: Duration,
    /// Its outcome.
    pub outcome: ControlOutcome,
}

/// Why a node is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostReason {
    /// Its association ended.
    Closed(CloseReason),
    /// It set up again, on the same association or another.
    SetupAgain,
    /// An E2 Removal procedure, begun by either side.
    Removed,
}

/// The result of [`Controller::handle_pdu`](super::Controller::handle_pdu).
#[derive(Clone, Debug)]
pub enum Routed<'a> {
    /// An indication of an active subscription, for its [`Controller::consumers`](super::Controller::consumers).
    Indication(Indication<'a>),
    /// The controller has handled the PDU; drain the polls.
    Done,
}

/// An indication, borrowed from the received PDU.
#[derive(Clone, Copy, Debug)]
pub struct Indication<'a> {
    /// The node.
    pub node: NodeId,
    /// The subscription.
    pub subscription: SubscriptionId,
    /// The RAN function.
    pub ran_function_id: RanFunctionId,
    /// The action.
    pub action_id: RicActionId,
    /// Its sequence number.
    pub sn: Option<RicIndicationSn>,
    /// Report or insert.
    pub kind: RicIndicationType,
    /// The E2AP version of the PDU.
    pub version: Version,
    /// The encoding of the PDU.
    pub codec: Codec,
    /// The whole PDU, unchanged.
    pub pdu: &'a [u8],
    /// Header and message, if each is contiguous, which it is below 16384 octets.
    pub payload: Option<(&'a [u8], &'a [u8])>,
}

impl<'a> Indication<'a> {
    /// Decodes the message; `gather` collects a fragmented payload.
    ///
    /// # Errors
    /// If `pdu` is not an indication. The controller routes nothing else.
    pub fn decode(&self, gather: &'a Gather) -> Result<RicIndication<'a>, e2ap::Error> {
        self.codec.decode_indication(self.pdu, self.version, gather)
    }
}
