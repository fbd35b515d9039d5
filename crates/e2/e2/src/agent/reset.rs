//! Drops all requests, at either side's request.
//!
//! Procedure: Reset. Clause: E2AP v03.01 8.3.2. Role: node. Since: v01.00. Scenarios: agent_reset*

use e2ap::{Cause, CriticalityDiagnostics, ProcedureCode, ResetRequest, ResetResponse, TransactionId};

use super::{Agent, AgentEvent, AgentMisuse};
use crate::protocol_error::or_unspecified;
use crate::{CloseReason, Notice, Time};

/// A reset that awaits its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingReset {
    transaction_id: Option<TransactionId>,
    pub by: Time,
}

impl Agent {
    // Clause 8.3.2.2/1 node: All subscriptions end. Tests: agent_reset_by_the_ric, conform:reset-ends-subscriptions.
    // Clause 8.3.2.2/2 node: Call processes of inserts, controls and policies end with little effect on UEs. Does:
    //   the functions learn the end of each subscription; suspended procedures continue. Tests: agent_reset_by_the_ric,
    //   unsubscribe_resumes_procedures.
    // Clause 8.3.2.2/3 node: A received reset aborts the other procedures of RIC services. Tests:
    //   agent_reset_by_the_ric.
    pub(super) fn reset_request(
        &mut self,
        now: Time,
        request: &ResetRequest,
        criticality_diagnostics: Option<CriticalityDiagnostics<'_>>,
    ) {
        if self.remarks.take(now) {
            self.events.push_back(AgentEvent::Notice(Notice::Reset { cause: or_unspecified(request.cause) }));
        }
        self.forget_requests();
        let response = ResetResponse { transaction_id: request.transaction_id, criticality_diagnostics };
        self.send(&response.into());
    }

    /// Resets: both sides drop all requests.
    ///
    /// # Errors
    /// If the agent is not up, or a reset is in progress.
    pub fn reset(&mut self, now: Time, cause: Cause) -> Result<(), AgentMisuse> {
        if !self.is_up() {
            return Err(AgentMisuse::NotUp);
        }
        if self.reset.is_some() {
            return Err(AgentMisuse::InProgress);
        }
        let transaction_id = self.next_transaction();
        self.reset = Some(PendingReset { transaction_id, by: now + self.config.reset_timeout });
        self.forget_requests();
        let cause = Some(cause.in_version(self.config.version));
        self.send(&ResetRequest { transaction_id, cause }.into());
        Ok(())
    }

    /// Ends the reset that a response belongs to. Returns whether there is one.
    pub(super) fn reset_answered(&mut self, transaction_id: Option<TransactionId>) -> bool {
        self.reset.take_if(|reset| reset.transaction_id == transaction_id).is_some()
    }

    /// Closes the association after an unanswered reset: whether the RIC has dropped the requests is unknown, and a new
    /// association makes it certain.
    pub(super) fn reset_timeout(&mut self, now: Time) {
        if self.reset.take_if(|reset| reset.by <= now).is_some() {
            let notice = Notice::TimedOut { procedure_code: ProcedureCode::RESET, request_id: None };
            self.events.push_back(AgentEvent::Notice(notice));
            self.handle_close(now, CloseReason::ResetTimeout);
            self.close = Some(CloseReason::ResetTimeout);
        }
    }
}
