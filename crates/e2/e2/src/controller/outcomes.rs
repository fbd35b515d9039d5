//! The outcomes of requests, and the errors of the calls that make them.

use core::fmt;
use core::time::Duration;

use e2ap::{Cause, ProcedureCode, RicActionId, RicTimeToWait, Version};

use super::ids::{NodeId, SubscriptionId, Ticket};
use super::mediation::ControlQuestion;
use crate::{ChangeResult, ConnectionResult};

/// What happened to a subscription, control or query of a consumer.
///
/// The controller reports it in [`Event::Request`](super::Event::Request); the RIC-xApp protocol carries the same type in
/// [`RicMessage::Request`](crate::xapp::RicMessage::Request).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RequestEvent {
    /// A subscription was set up.
    Subscribed {
        /// The ticket of the subscribe command.
        ticket: Ticket,
        /// The id of the subscription from now on.
        subscription: SubscriptionId,
        /// Actions that the node admitted.
        admitted: Vec<RicActionId>,
        /// Actions that the node did not admit, and why.
        not_admitted: Vec<(RicActionId, Cause)>,
    },
    /// A subscription could not be set up.
    SubscriptionFailed {
        /// The ticket of the subscribe command.
        ticket: Ticket,
        /// Why.
        error: SubscribeError,
    },
    /// The node of a subscription was lost. The subscription is resumed when the node sets up again in time; otherwise it
    /// ends.
    SubscriptionSuspended(SubscriptionId),
    /// A suspended subscription is active again.
    SubscriptionResumed {
        /// The subscription.
        subscription: SubscriptionId,
        /// The node's new id. Towards an xApp this may precede the node's own `NodeUp`.
        node: NodeId,
        /// Actions that the node admitted this time.
        admitted: Vec<RicActionId>,
        /// Actions that the node did not admit, and why.
        not_admitted: Vec<(RicActionId, Cause)>,
    },
    /// The node requires a change of a subscription whose consumer asked for
    /// [`consent`](super::SubscriptionOrder::consent). The consumer answers by
    /// [`Controller::answer_change`](super::Controller::answer_change); the RIC agrees to whatever is not refused in time.
    ChangeRequired {
        /// The subscription.
        subscription: SubscriptionId,
        /// Actions to be removed, and why.
        remove: Vec<(RicActionId, Cause)>,
        /// Actions whose subsequent action gets another time to wait.
        modify: Vec<(RicActionId, RicTimeToWait)>,
    },
    /// A subscription changed because its node required that and the RIC agreed.
    SubscriptionChanged {
        /// The subscription.
        subscription: SubscriptionId,
        /// Actions that were removed, and why.
        removed: Vec<(RicActionId, Cause)>,
        /// Actions whose subsequent action has another time to wait.
        modified: Vec<(RicActionId, RicTimeToWait)>,
    },
    /// A modification that the consumer requested has ended.
    Modified {
        /// The ticket of the modify command.
        ticket: Ticket,
        /// The subscription.
        subscription: SubscriptionId,
        /// Its outcome.
        outcome: ModifyOutcome,
    },
    /// A subscription has ended.
    SubscriptionEnded {
        /// The subscription.
        subscription: SubscriptionId,
        /// Why.
        end: SubscriptionEnd,
    },
    /// A control has ended.
    Controlled {
        /// The ticket of the control command.
        ticket: Ticket,
        /// Its outcome.
        outcome: ControlOutcome,
    },
    /// A query has ended.
    Queried {
        /// The ticket of the query command.
        ticket: Ticket,
        /// Its outcome.
        outcome: QueryOutcome,
    },
    /// The consumer is asked, as an arbiter, about a control of another one. It answers by
    /// [`Controller::decide`](super::Controller::decide).
    ControlAsked(Box<ControlQuestion>),
    /// Whether the xApp is an arbiter now, as it has offered. Only xApps see this and the following:
    /// [`Controller::set_arbiter`](super::Controller::set_arbiter) returns it.
    ArbiterSet {
        /// Why it is none; `None` if it is one, or is none any more as it wants.
        refusal: Option<RefusalCode>,
    },
    /// What became of a decision of the xApp.
    Decided {
        /// The number of the question.
        question: u64,
        /// Why the decision does not count; `None` if it does.
        refusal: Option<RefusalCode>,
    },
}

/// Why a subscription could not be set up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubscribeError {
    /// The RIC refused the command and sent nothing to the node. Only xApps see this:
    /// [`Controller::subscribe`](super::Controller::subscribe) returns it as an error.
    Misuse(RefusalCode),
    /// The node refused.
    Refused {
        /// Why.
        cause: Cause,
        /// Why, for each action. Only E2AP v1 nodes send this, and the RIC-xApp protocol does not carry it.
        actions: Vec<(RicActionId, Cause)>,
    },
    /// The node did not answer in time.
    TimedOut,
    /// The node was lost or reset.
    NodeLost,
}

impl fmt::Display for SubscribeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubscribeError::Misuse(code) => write!(f, "the RIC refused the subscription: {code}"),
            SubscribeError::Refused { cause, .. } => write!(f, "the node refused the subscription: {cause}"),
            SubscribeError::TimedOut => f.write_str("the node did not answer the subscription request in time"),
            SubscribeError::NodeLost => f.write_str("the node was lost or reset before it answered"),
        }
    }
}

impl std::error::Error for SubscribeError {}

/// Why a subscription has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubscriptionEnd {
    /// Its consumer unsubscribed.
    Deleted,
    /// The node was lost.
    NodeLost,
    /// The node was reset.
    Reset,
    /// The node required its deletion, or refused to set it up again.
    ByNode(Cause),
    /// The node does not offer the RAN function any more.
    FunctionRemoved,
    /// The node set up again, but did not answer the repeated subscription request.
    NotRestored,
}

impl fmt::Display for SubscriptionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubscriptionEnd::Deleted => f.write_str("its consumer unsubscribed"),
            SubscriptionEnd::NodeLost => f.write_str("the node was lost"),
            SubscriptionEnd::Reset => f.write_str("the node was reset"),
            SubscriptionEnd::ByNode(cause) => write!(f, "the node ended it: {cause}"),
            SubscriptionEnd::FunctionRemoved => f.write_str("the node does not offer the RAN function any more"),
            SubscriptionEnd::NotRestored => {
                f.write_str("the node set up again, but did not answer the repeated subscription request")
            }
        }
    }
}

/// The outcome of a modification that a consumer requested.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModifyOutcome {
    /// The RIC refused the command and sent nothing to the node. Only xApps see this.
    Misuse(RefusalCode),
    /// The node applied all or part of it.
    Done(ChangeResult),
    /// The node refused; the subscription is unchanged.
    Refused(Cause),
    /// The node did not answer in time. Which actions the subscription has now is unknown.
    TimedOut,
    /// The subscription ended or was suspended before the node answered.
    Ended,
}

/// The outcome of a control.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlOutcome {
    /// The RIC refused the command and sent nothing to the node. Only xApps see this.
    Misuse(RefusalCode),
    /// The node acknowledged it, with the service model's control outcome.
    Acknowledged(Option<Box<[u8]>>),
    /// No acknowledgement was requested, and no failure arrived in time.
    Sent,
    /// The node failed to execute it.
    Failed {
        /// Why.
        cause: Cause,
        /// The service model's control outcome.
        outcome: Option<Box<[u8]>>,
    },
    /// The node did not answer in time.
    TimedOut,
    /// The node was lost or reset.
    NodeLost,
}

impl fmt::Display for ControlOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlOutcome::Misuse(code) => write!(f, "the RIC refused the control: {code}"),
            ControlOutcome::Acknowledged(_) => f.write_str("the node acknowledged the control"),
            ControlOutcome::Sent => f.write_str("the control was sent without a request for acknowledgement"),
            ControlOutcome::Failed { cause, .. } => write!(f, "the node refused the control: {cause}"),
            ControlOutcome::TimedOut => f.write_str("the node did not answer the control in time"),
            ControlOutcome::NodeLost => f.write_str("the node was lost or reset before it answered the control"),
        }
    }
}

/// The outcome of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryOutcome {
    /// The RIC refused the command and sent nothing to the node. Only xApps see this.
    Misuse(RefusalCode),
    /// The service model's query outcome.
    Answered(Box<[u8]>),
    /// The node failed to answer it.
    Failed(Cause),
    /// The node did not answer in time.
    TimedOut,
    /// The node was lost or reset.
    NodeLost,
}

/// The outcome of a [`Controller::connection_update`](super::Controller::connection_update).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionOutcome {
    /// The node applied it, or tried to.
    Done(ConnectionResult),
    /// The node refused all of it.
    Refused {
        /// Why, if the node states it.
        cause: Option<Cause>,
        /// How long the RIC must wait before it asks again.
        wait: Option<Duration>,
    },
    /// The node did not answer in time.
    TimedOut,
}

impl fmt::Display for ConnectionOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectionOutcome::Done(result) => {
                write!(f, "{} associations set up, {} failed", result.set_up.len(), result.failed.len())?;
                result.failed.first().map_or(Ok(()), |(_, cause)| write!(f, ", the first with {cause}"))
            }
            ConnectionOutcome::Refused { cause: Some(cause), .. } => write!(f, "the node refused it: {cause}"),
            ConnectionOutcome::Refused { cause: None, .. } => f.write_str("the node refused it without a cause"),
            ConnectionOutcome::TimedOut => f.write_str("the node did not answer in time"),
        }
    }
}

/// An invalid call of a [`Controller`](super::Controller) method: the caller's fault. Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// No such node.
    UnknownNode,
    /// The node has no such RAN function.
    UnknownFunction,
    /// No such subscription, or it belongs to another consumer.
    UnknownSubscription,
    /// The subscription has no actions, more than 16, a duplicate action id, or a time to wait that the node's version does
    /// not have; or the change names unknown actions or would lead to such a subscription.
    BadActions,
    /// The consumer's quota of requests or of octets is exhausted.
    TooManyRequests,
    /// All request ids are in use, or not reusable yet.
    NoRequestId,
    /// The PDU would exceed [`ControllerConfig::max_pdu_octets`](super::ControllerConfig::max_pdu_octets).
    TooLarge,
    /// The node reads slowly, and the consumer's share of what may wait to be sent to it is used up.
    NodeBusy,
    /// A procedure of this kind is already in progress.
    InProgress,
    /// The node's E2AP version does not have this field.
    NotInVersion,
    /// The node's E2AP version does not have this procedure.
    NoProcedure {
        /// The procedure.
        procedure_code: ProcedureCode,
        /// The node's version.
        version: Version,
    },
    /// The node requested a time to wait that has not passed yet.
    TooEarly,
    /// Other consumers share the subscription.
    Shared,
    /// The connection update both adds and removes an association, lists too many, or contains an invalid address.
    BadUpdate,
    /// The rights of the consumer do not allow it.
    NotAllowed,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Misuse::NoProcedure { procedure_code, version } => {
                return write!(f, "the node's E2AP v{version} has no procedure {procedure_code:?}");
            }
            Misuse::UnknownNode => "no such node",
            Misuse::UnknownFunction => "the node has no such RAN function",
            Misuse::UnknownSubscription => "no such subscription of this consumer",
            Misuse::BadActions => "a subscription has 1 to 16 actions with different ids and valid times to wait",
            Misuse::TooManyRequests => "the consumer's quota of requests or octets is exhausted",
            Misuse::NoRequestId => "all RIC request ids are in use, or not reusable yet",
            Misuse::TooLarge => "the PDU would exceed the maximum length",
            Misuse::NodeBusy => {
                "too much of this consumer waits to be sent to the node, which reads slowly; try again later"
            }
            Misuse::InProgress => "a procedure of this kind is already in progress",
            Misuse::NotInVersion => "the node's E2AP version does not support this",
            Misuse::TooEarly => "the node requested a time to wait that has not passed yet",
            Misuse::Shared => "other consumers share the subscription",
            Misuse::NotAllowed => "the rights of the xApp do not allow this",
            Misuse::BadUpdate => "each association is added or removed, with an address and port, at most 32 in a list",
        })
    }
}

impl std::error::Error for Misuse {}

/// Why the RIC refuses an xApp or one of its commands, as the RIC-xApp protocol encodes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum RefusalCode {
    /// The RIC does not support any of the xApp's protocol versions.
    Version = 1,
    /// An invalid message, or one that is not allowed in this state.
    Protocol = 2,
    /// No such node.
    UnknownNode = 3,
    /// The node has no such RAN function.
    UnknownFunction = 4,
    /// No such subscription, or it belongs to another consumer.
    UnknownSubscription = 5,
    /// Invalid actions.
    BadActions = 6,
    /// The xApp's quota of requests or of octets is exhausted.
    TooManyRequests = 7,
    /// The RIC has no free request ids.
    NoRequestId = 8,
    /// The PDU would exceed the maximum length of the node's link.
    TooLarge = 9,
    /// The node's E2AP version does not have this procedure or field.
    NotInVersion = 10,
    /// The previous change of the subscription is still in progress.
    InProgress = 11,
    /// Other consumers share the subscription.
    Shared = 12,
    /// The xApp's rights do not allow this, or it has no rights at all.
    NotAllowed = 13,
    /// The node reads slowly, and the xApp's share of what may wait to be sent to it is used up.
    NodeBusy = 14,
    /// The RIC has no such service, or its program was built without it.
    NoService = 15,
    /// No such question: it was answered, or its time is over.
    UnknownQuestion = 16,
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RefusalCode::Version => "it supports none of the xApp's protocol versions",
            RefusalCode::Protocol => "invalid message, or not allowed in this state",
            RefusalCode::UnknownNode => "no such node",
            RefusalCode::UnknownFunction => "the node has no such RAN function",
            RefusalCode::UnknownSubscription => "no such subscription of this xApp",
            RefusalCode::BadActions => "a subscription has 1 to 16 actions with different ids and valid times to wait",
            RefusalCode::TooManyRequests => "the xApp's quota of requests or octets is exhausted",
            RefusalCode::NoRequestId => "all RIC request ids are in use, or not reusable yet",
            RefusalCode::TooLarge => "the PDU would exceed the maximum length of the node's link",
            RefusalCode::NotInVersion => "the node's E2AP version does not support this",
            RefusalCode::InProgress => "the previous change of the subscription is still in progress",
            RefusalCode::Shared => "other consumers share the subscription",
            RefusalCode::NodeBusy => {
                "too much of this xApp waits to be sent to the node, which reads slowly; try again later"
            }
            RefusalCode::NotAllowed => {
                "the rights of the xApp's certificate, or the rules of the RIC, do not allow this"
            }
            RefusalCode::UnknownQuestion => "no such question: it was answered, or its time is over",
            RefusalCode::NoService => "the RIC has no such service",
        })
    }
}

impl RefusalCode {
    /// Returns the code with this number.
    pub(crate) const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => RefusalCode::Version,
            2 => RefusalCode::Protocol,
            3 => RefusalCode::UnknownNode,
            4 => RefusalCode::UnknownFunction,
            5 => RefusalCode::UnknownSubscription,
            6 => RefusalCode::BadActions,
            7 => RefusalCode::TooManyRequests,
            8 => RefusalCode::NoRequestId,
            9 => RefusalCode::TooLarge,
            10 => RefusalCode::NotInVersion,
            11 => RefusalCode::InProgress,
            12 => RefusalCode::Shared,
            13 => RefusalCode::NotAllowed,
            14 => RefusalCode::NodeBusy,
            15 => RefusalCode::NoService,
            16 => RefusalCode::UnknownQuestion,
            _ => return None,
        })
    }
}
