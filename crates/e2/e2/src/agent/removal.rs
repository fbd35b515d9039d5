//! The node leaves its RIC in order, or the RIC lets it go. It does not come back before it is asked to.
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
use super::telling::GivenUp;
use super::{Agent, AgentEvent, AgentMisuse};
use crate::{CloseReason, Time};

/// A removal of ours that waits for its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingRemoval {
    transaction_id: Option<TransactionId>,
    pub by: Time,
}

impl Agent {
    /// Leaves the RIC in order; [`AgentEvent::Removed`] tells when it is done, [`AgentEvent::GivenUp`] that the RIC does not
    /// let it go. Without an answer in time it leaves nevertheless.
    ///
    /// # Errors
    /// Where the RIC has not taken the setup, a removal is under way, or the version does not have it.
    pub fn remove(&mut self, now: Time) -> Result<(), AgentMisuse> {
        if self.config.version < Version::V2_03 {
            return Err(AgentMisuse::NotInVersion);
        }
        if !self.is_up() {
            return Err(AgentMisuse::NotUp);
        }
        if self.removal.is_some() {
            return Err(AgentMisuse::UnderWay);
        }
        let transaction_id = self.next_transaction();
        self.removal = Some(PendingRemoval { transaction_id, by: now + self.config.answer_timeout });
        self.send(&E2RemovalRequest { transaction_id }.into());
        Ok(())
    }

    /// Connects again after a removal.
    ///
    /// # Errors
    /// Where there was none.
    pub fn connect(&mut self) -> Result<(), AgentMisuse> {
        if !matches!(self.state, State::Removed) {
            return Err(AgentMisuse::NotRemoved);
        }
        self.state = State::Connecting;
        self.events.push_back(AgentEvent::Connect);
        Ok(())
    }

    /// The RIC lets the node go.
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
        // what was held back
        self.tell_functions(now);
        self.tell_components(now);
    }

    pub(super) fn removal_due(&mut self, now: Time) {
        if self.removal.is_some_and(|removal| removal.by <= now) {
            self.timed_out(now, ProcedureCode::E2_REMOVAL, None);
            self.removed(false);
        }
    }

    /// All is forgotten. What is still to be sent is sent before the association is closed.
    pub(super) fn removed(&mut self, by_ric: bool) {
        self.state = State::Removed;
        self.pause = self.config.retry_first;
        self.forget_procedures();
        self.forget_requests();
        self.events.push_back(AgentEvent::Removed { by_ric });
        self.close = Some(CloseReason::Removed);
    }
}
