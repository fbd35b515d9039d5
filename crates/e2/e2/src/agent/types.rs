//! The events and errors of an agent.

use core::fmt;

use e2ap::{Cause, GlobalRicId, ProcedureCode, RanFunctionId, RicActionId, RicRequestId, Version};

#[cfg(doc)]
use super::Agent;
use super::{AgentConfigError, ControlRequest, ModificationRequest, QueryRequest, SubscriptionRequest};
use crate::{CloseReason, ConnectionUpdate, Notice, Time};

/// An event that an [`Agent`] reports.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// The agent needs a connection: call [`Agent::handle_open`] when it is open, [`Agent::handle_close`] if that fails.
    Connect,
    /// The setup succeeded.
    Up {
        /// The global id of the RIC.
        ric_id: GlobalRicId,
        /// The functions that it accepted.
        accepted: Vec<RanFunctionId>,
    },
    /// The association has ended, and all subscriptions with it.
    Down {
        /// Why.
        reason: CloseReason,
        /// The time of the next attempt.
        retry_at: Time,
    },
    /// The node was removed from the RIC. It reconnects when [`Agent::connect`] is called.
    Removed {
        /// Whether the RIC requested it.
        by_ric: bool,
    },
    /// The RIC has acknowledged an update of the functions.
    FunctionsUpdated {
        /// The new or changed functions that it accepted.
        accepted: Vec<RanFunctionId>,
        /// The functions that it rejected, and why.
        rejected: Vec<(RanFunctionId, Cause)>,
    },
    /// The RIC has acknowledged an update of the components.
    ComponentsUpdated {
        /// The number of components that it rejected.
        rejected: usize,
    },
    /// The RIC refused a procedure of the node or did not answer it. The agent does not repeat it by itself.
    GivenUp {
        /// Service Update, Node Configuration Update or Removal.
        procedure_code: ProcedureCode,
        /// Why, if the RIC stated it.
        cause: Option<Cause>,
    },
    /// The RIC requests other associations. Answer by [`Agent::connection_updated`] or
    /// [`Agent::refuse_connection_update`].
    ConnectionUpdate(ConnectionUpdate),
    /// The RIC subscribes. Answer by [`Agent::admit`] or [`Agent::refuse`].
    Subscribe(SubscriptionRequest),
    /// The RIC changes a subscription. Answer by [`Agent::modified`] or [`Agent::refuse_modification`].
    Modify(ModificationRequest),
    /// The RIC agrees to a change that the node required.
    ModificationConfirmed {
        /// The subscription.
        request_id: RicRequestId,
        /// Actions that get the new time to wait.
        modified: Vec<RicActionId>,
        /// Actions that are removed.
        removed: Vec<RicActionId>,
        /// Actions that remain unchanged, and why.
        refused: Vec<(RicActionId, Cause)>,
    },
    /// The RIC refused a change that the node required.
    ModificationRefused {
        /// The subscription.
        request_id: RicRequestId,
        /// Why; `None` if it did not answer.
        cause: Option<Cause>,
    },
    /// A subscription was deleted by the RIC, or ended with the association, a reset or its function.
    Unsubscribe {
        /// The subscription.
        request_id: RicRequestId,
        /// Its RAN function.
        ran_function_id: RanFunctionId,
    },
    /// The RIC sent a control. Answer by [`Agent::acknowledge`] or [`Agent::fail`].
    Control(ControlRequest),
    /// The RIC sent a query. Answer by [`Agent::answer_query`] or [`Agent::fail_query`].
    Query(QueryRequest),
    /// A line for the log.
    Notice(Notice),
}

/// An invalid or outdated call of an [`Agent`] method: the caller's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentMisuse {
    /// No such request awaits an answer; it may have ended.
    UnknownRequest,
    /// The subscription does not have that action.
    UnknownAction,
    /// The answer admits no action, an action that was not requested, or a duplicate.
    BadActions,
    /// The agent is not up.
    NotUp,
    /// A procedure of this kind is already in progress.
    InProgress,
    /// The E2AP version does not have this message or field.
    NotInVersion,
    /// The E2AP version does not have this procedure.
    NoProcedure {
        /// The procedure.
        procedure_code: ProcedureCode,
        /// The agent's version.
        version: Version,
    },
    /// The E2AP version does not have further associations: its E2 Node Configuration Update, the first message on one, does
    /// not name the node.
    CannotJoin(Version),
    /// The configuration would be invalid.
    Config(AgentConfigError),
    /// A function changed without a new revision.
    SameRevision(RanFunctionId),
    /// The answer names an association that was not requested, or a duplicate.
    BadAnswer,
    /// The node was not removed; it reconnects by itself.
    NotRemoved,
    /// The start time of the subscription has not come, or its end time has passed. Event loops, which have a clock, return it.
    NotEnabled,
}

impl fmt::Display for AgentMisuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AgentMisuse::Config(error) => return error.fmt(f),
            AgentMisuse::SameRevision(id) => {
                return write!(f, "RAN function {} changed without a new revision", id.0);
            }
            AgentMisuse::NoProcedure { procedure_code, version } => {
                return write!(f, "E2AP v{version} has no procedure {procedure_code:?}");
            }
            AgentMisuse::CannotJoin(version) => {
                return write!(f, "E2AP v{version} has no message by which a further association names its node");
            }
            AgentMisuse::UnknownRequest => "no such request awaits an answer",
            AgentMisuse::UnknownAction => "the subscription has no such action",
            AgentMisuse::BadActions => "an answer admits at least one action and names each requested one at most once",
            AgentMisuse::NotUp => "the agent is not up",
            AgentMisuse::InProgress => "a procedure of this kind is already in progress",
            AgentMisuse::NotInVersion => "the E2AP version does not support this",
            AgentMisuse::BadAnswer => "the answer names an association that was not requested, or a duplicate",
            AgentMisuse::NotRemoved => "the node was not removed; it reconnects by itself",
            AgentMisuse::NotEnabled => "the subscription's start time has not come, or its end time has passed",
        })
    }
}

impl std::error::Error for AgentMisuse {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misuse_names_the_version_and_the_procedure_that_it_lacks() {
        let (procedure_code, version) = (ProcedureCode::E2_REMOVAL, Version::V1_01);
        let no_procedure = AgentMisuse::NoProcedure { procedure_code, version };
        assert_eq!(no_procedure.to_string(), "E2AP v1.01 has no procedure E2 Removal (13)");
        assert_eq!(
            AgentMisuse::CannotJoin(version).to_string(),
            "E2AP v1.01 has no message by which a further association names its node"
        );
    }
}
