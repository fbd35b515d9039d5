//! Removes the node from the RIC, at either side's request. The agent reconnects only when [`Agent::connect`] is called.
//!
//! Procedure: E2 Removal. Clause: E2AP v03.01 8.3.7. Role: node. Since: v02.03. Scenarios: agent_removal*
//!
//! ```text
//! Up --remove--> Up, leaving --response, time-out--> Removed --connect--> Connecting
//!  |                 |  ^                               ^
//!  |                 +--+ failure: it stays             |
//!  +------------ the RIC's request ---------------------+
//! ```

use e2ap::{Cause, CriticalityDiagnostics, E2RemovalRequest, E2RemovalResponse, ProcedureCode, TransactionId, Version};

use super::setup::State;
use super::update::GivenUp;
use super::{Agent, AgentEvent, AgentMisuse};
use crate::{CloseReason, Time};

/// A removal that awaits its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingRemoval {
    transaction_id: Option<TransactionId>,
    pub by: Time,
}

impl Agent {
    // Clause 8.3.7.1/1 both: Either side starts the procedure. Tests: removal, agent_removal,
    //   agent_removal_by_the_ric. Versions: from v02 on.
    // Clause 8.3.7.2/1 node: The node starts it with the removal request. Tests: agent_removal. Versions: from v02
    //   on.
    /// Removes the node from the RIC. [`AgentEvent::Removed`] reports success, also without an answer in time;
    /// [`AgentEvent::GivenUp`] reports the RIC's refusal.
    ///
    /// # Errors
    /// If the agent is not up, a removal is in progress, or the version does not have this procedure.
    pub fn remove(&mut self, now: Time) -> Result<(), AgentMisuse> {
        let version = self.config.version;
        if version < Version::V2_03 {
            return Err(AgentMisuse::NoProcedure { procedure_code: ProcedureCode::E2_REMOVAL, version });
        }
        if !self.is_up() {
            return Err(AgentMisuse::NotUp);
        }
        if self.removal.is_some() {
            return Err(AgentMisuse::InProgress);
        }
        let transaction_id = self.next_transaction();
        self.removal = Some(PendingRemoval { transaction_id, by: now + self.config.answer_timeout });
        self.send(&E2RemovalRequest { transaction_id }.into());
        Ok(())
    }

    /// Reconnects after a removal.
    ///
    /// # Errors
    /// If the node was not removed.
    pub fn connect(&mut self) -> Result<(), AgentMisuse> {
        if !matches!(self.state, State::Removed) {
            return Err(AgentMisuse::NotRemoved);
        }
        self.state = State::Connecting;
        self.events.push_back(AgentEvent::Connect);
        Ok(())
    }

    // Clause 8.3.7.2/6 node: The RIC's removal request is answered by the response. Tests: agent_removal_by_the_ric,
    //   conform:removal. Versions: from v02 on.
    // Clause 8.3.7.2/9 node: A received removal request aborts the procedures of RIC services. Tests:
    //   agent_removal_by_the_ric. Versions: from v02 on.
    // Clause 8.3.7.3/1 node: A removal request that cannot be accepted is answered by the failure message. Does: the
    //   node accepts every valid request; an invalid one fails. Tests: agent_connection_update_malformed,
    //   agent_removal_by_the_ric. Versions: from v02 on.
    /// Handles the RIC's removal request.
    pub(super) fn removal_request(
        &mut self,
        request: &E2RemovalRequest,
        criticality_diagnostics: Option<CriticalityDiagnostics<'_>>,
    ) {
        let response = E2RemovalResponse { transaction_id: request.transaction_id, criticality_diagnostics };
        self.send(&response.into());
        self.removed(true);
    }

    pub(super) fn awaits_removal(&self, answer: Option<TransactionId>) -> bool {
        self.removal.is_some_and(|removal| removal.transaction_id == answer)
    }

    pub(super) fn removal_refused(&mut self, now: Time, cause: Option<Cause>) {
        self.removal = None;
        self.give_up(GivenUp { procedure_code: ProcedureCode::E2_REMOVAL, cause });
        // updates were postponed during the removal
        self.report_functions(now);
        self.report_components(now);
    }

    pub(super) fn removal_due(&mut self, now: Time) {
        if self.removal.is_some_and(|removal| removal.by <= now) {
            self.timed_out(now, ProcedureCode::E2_REMOVAL, None);
            self.removed(false);
        }
    }

    // Clause 8.3.7.2/3 node: After the response the node closes the association and releases everything. Tests:
    //   agent_removal. Versions: from v02 on.
    // Clause 8.3.7.2/8 node: After its response to the RIC's request the node releases everything. Tests:
    //   agent_removal_by_the_ric. Versions: from v02 on.
    /// Drops all state. Queued PDUs are sent before the association is closed.
    pub(super) fn removed(&mut self, by_ric: bool) {
        self.state = State::Removed;
        self.pause = self.config.retry_first;
        self.forget_procedures();
        self.forget_requests();
        self.events.push_back(AgentEvent::Removed { by_ric });
        self.close = Some(CloseReason::Removed);
    }
}
