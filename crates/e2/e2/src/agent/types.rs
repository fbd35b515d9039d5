//! What the machine tells, and what its owner can do wrong.

use core::fmt;

use e2ap::{Cause, GlobalRicId, ProcedureCode, RanFunctionId, RicActionId, RicRequestId};

#[cfg(doc)]
use super::Agent;
use super::{AgentConfigError, ControlRequest, ModificationRequest, QueryRequest, SubscriptionRequest};
use crate::{CloseReason, ConnectionUpdate, Notice, Time};

/// News from the machine.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// A connection is wanted: call [`Agent::handle_open`] once there is one, [`Agent::handle_close`] if there is none.
    Connect,
    /// The RIC has taken the setup.
    Up {
        /// Who it is.
        ric_id: GlobalRicId,
        /// The functions that it takes.
        accepted: Vec<RanFunctionId>,
    },
    /// The association is gone. All subscriptions are.
    Down {
        /// Why.
        reason: CloseReason,
        /// The next attempt, if the caller's clock goes on.
        retry_at: Time,
    },
    /// The node has left its RIC in order. It comes back once [`Agent::connect`] is called.
    Removed {
        /// Whether the RIC wanted it.
        by_ric: bool,
    },
    /// The RIC has taken an update of the functions.
    FunctionsUpdated {
        /// What it takes of what came or changed.
        accepted: Vec<RanFunctionId>,
        /// What it does not take, and why.
        rejected: Vec<(RanFunctionId, Cause)>,
    },
    /// The RIC has taken an update of the components.
    ComponentsUpdated {
        /// How many of them it does not take.
        rejected: usize,
    },
    /// The RIC refuses what the node told it, or does not let it go, or never answered. It is not tried again by itself.
    GivenUp {
        /// Service Update, Node Configuration Update or Removal.
        procedure_code: ProcedureCode,
        /// Why, where the RIC said so.
        cause: Option<Cause>,
    },
    /// The RIC wants other associations: answered by [`Agent::connection_updated`] or
    /// [`Agent::refuse_connection_update`].
    ConnectionUpdate(ConnectionUpdate),
    /// The RIC wants to subscribe: answered by [`Agent::admit`] or [`Agent::refuse`].
    Subscribe(SubscriptionRequest),
    /// The RIC wants a subscription changed: answered by [`Agent::modified`] or [`Agent::refuse_modification`].
    Modify(ModificationRequest),
    /// The RIC agrees to a change that the node required.
    ModificationConfirmed {
        /// The subscription.
        request_id: RicRequestId,
        /// Actions that are to be followed by the new time to wait.
        modified: Vec<RicActionId>,
        /// Actions that are gone.
        removed: Vec<RicActionId>,
        /// Actions that are to stay as they are, and why.
        refused: Vec<(RicActionId, Cause)>,
    },
    /// The RIC does not agree to a change that the node required.
    ModificationRefused {
        /// The subscription.
        request_id: RicRequestId,
        /// Why; none where it did not answer.
        cause: Option<Cause>,
    },
    /// The RIC wants a subscription no more, or it is gone with the association.
    Unsubscribe {
        /// Which one.
        request_id: RicRequestId,
        /// The function it was with.
        ran_function_id: RanFunctionId,
    },
    /// The RIC wants something done: answered by [`Agent::acknowledge`] or [`Agent::fail`].
    Control(ControlRequest),
    /// The RIC asks something: answered by [`Agent::answer_query`] or [`Agent::fail_query`].
    Query(QueryRequest),
    /// For the log.
    Notice(Notice),
}

/// A command that makes no sense, or no sense any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentMisuse {
    /// No such request waits for an answer: it may be gone by now.
    UnknownRequest,
    /// The subscription does not have that action.
    UnknownAction,
    /// Nothing was admitted, or something that was not asked for, or something twice.
    BadActions,
    /// The RIC has not taken the setup.
    NotUp,
    /// A procedure of this kind is under way already.
    UnderWay,
    /// The version that is spoken does not have this.
    NotInVersion,
    /// There cannot be such a node.
    Config(AgentConfigError),
    /// The function changed, and its revision did not.
    SameRevision(RanFunctionId),
    /// The answer names what was not asked for, or something twice.
    BadAnswer,
    /// The node was not removed: it connects by itself.
    NotRemoved,
}

impl fmt::Display for AgentMisuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AgentMisuse::Config(error) => return error.fmt(f),
            AgentMisuse::SameRevision(id) => {
                return write!(f, "RAN function {} changed: it needs another revision", id.0);
            }
            AgentMisuse::UnknownRequest => "no such request waits for an answer",
            AgentMisuse::UnknownAction => "the subscription has no such action",
            AgentMisuse::BadActions => "an answer admits at least one action, and names each that was asked for once",
            AgentMisuse::NotUp => "the RIC has not taken the setup",
            AgentMisuse::UnderWay => "a procedure of this kind is under way",
            AgentMisuse::NotInVersion => "the version of E2AP that is spoken does not have this",
            AgentMisuse::BadAnswer => "the answer names what was not asked for, or something twice",
            AgentMisuse::NotRemoved => "the node was not removed: it connects by itself",
        })
    }
}

impl std::error::Error for AgentMisuse {}
