//! Requests other associations from a node.
//!
//! Procedure: E2 Connection Update. Clause: E2AP v03.01 8.3.6. Role: ric. Since: v01.01. Scenarios: connection_update*
//!
//! After a failure with a time to wait, further updates are refused until it has passed.

use core::time::Duration;

use e2ap::{E2ConnectionUpdateAcknowledge, E2ConnectionUpdateFailure, ProcedureCode, Version};
use per::IntoOwned;

use super::{ConnectionOutcome, Controller, Event, Misuse, NodeId};
use crate::change::all;
use crate::{ConnectionResult, ConnectionUpdate, Time};

impl Controller {
    // Clause 8.3.6.1/1 ric: The near-RT RIC starts the procedure. Tests: connection_update, unsupported_procedures.
    //   Versions: from v01.01 on.
    // Clause 8.3.6.2/1 ric: The request contains the associations as they shall be. Tests: connection_update.
    //   Versions: from v01.01 on.
    /// Requests that a node adds, removes or modifies associations. [`Event::ConnectionUpdated`] reports the outcome, unless
    /// the node is lost before.
    ///
    /// # Errors
    /// If the command is invalid; nothing was sent then.
    pub fn connection_update(&mut self, now: Time, node: NodeId, update: &ConnectionUpdate) -> Result<(), Misuse> {
        if !update.is_sound() {
            return Err(Misuse::BadUpdate);
        }
        let known = self.nodes.get(&node).ok_or(Misuse::UnknownNode)?;
        if self.assocs.get(&known.assoc).is_some_and(|state| now < state.connection_not_before) {
            return Err(Misuse::TooEarly);
        }
        let first = known.assoc;
        let patience = self.config.answer_timeout;
        let transaction_id = self.begin(now, node, ProcedureCode::E2_CONNECTION_UPDATE, Version::V1_01, patience)?;
        self.send(node, &update.message(transaction_id).into());
        if let Some(state) = self.assocs.get_mut(&first) {
            state.expected_joins = update.add.len();
        }
        Ok(())
    }

    pub(super) fn connection_updated(&mut self, node: NodeId, ack: &E2ConnectionUpdateAcknowledge<'_>) {
        let result = ConnectionResult {
            set_up: all(&ack.setup).map(|item| item.clone().into_owned()).collect(),
            failed: all(&ack.setup_failed).map(|i| (i.tnl_information.clone().into_owned(), i.cause)).collect(),
        };
        self.events.push_back(Event::ConnectionUpdated { node, outcome: ConnectionOutcome::Done(result) });
    }

    // Clause 8.3.6.3/2 ric: The RIC waits for the time to wait of the failure before it repeats the update. Does:
    //   earlier requests of its callers are refused. Tests: connection_update. Versions: from v01.01 on.
    // Clause 8.3.6.3/3 both: After a failure both sides continue with the associations that they had. Tests:
    //   connection_update, agent_connection_update. Versions: from v01.01 on.
    pub(super) fn connection_refused(&mut self, now: Time, node: NodeId, failure: &E2ConnectionUpdateFailure<'_>) {
        let wait = failure.time_to_wait.map(|wait| Duration::from_secs(wait.seconds().into()));
        let assoc = self.nodes.get(&node).map(|node| node.assoc);
        if let (Some(wait), Some(state)) = (wait, assoc.and_then(|assoc| self.assocs.get_mut(&assoc))) {
            state.connection_not_before = now + wait;
        }
        self.connection_ended(node, ConnectionOutcome::Refused { cause: failure.cause, wait });
    }

    pub(super) fn connection_update_timeout(&mut self, node: NodeId) {
        self.connection_ended(node, ConnectionOutcome::TimedOut);
    }

    pub(super) fn connection_ended(&mut self, node: NodeId, outcome: ConnectionOutcome) {
        self.events.push_back(Event::ConnectionUpdated { node, outcome });
    }
}
