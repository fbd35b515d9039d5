//! Either side has the other forget all requests, and forgets them itself.
//!
//! Procedure: Reset. Clause: E2AP v03.01 8.3.3. Role: ric. Since: v01.00. Scenarios: reset_*

use e2ap::{Cause, ProcedureCode, ResetRequest, ResetResponse, TransactionId, Version};

use super::{Controller, Deadline, Misuse, NodeId, SubscriptionEnd};
use crate::{AssocId, Notice, Time};

/// A reset of ours that waits for its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingReset {
    transaction_id: Option<TransactionId>,
    pub by: Time,
}

impl Controller {
    pub(super) fn reset_request(&mut self, now: Time, node: NodeId, request: &ResetRequest) {
        if let Some(assoc) = self.nodes.get(&node).map(|n| n.assoc) {
            self.remark(now, assoc, Notice::Reset { cause: request.cause });
        }
        self.drop_requests(now, node, SubscriptionEnd::Reset);
        let response = ResetResponse { transaction_id: request.transaction_id, criticality_diagnostics: None };
        self.send(node, &response.into());
    }

    /// Has a node forget all that was asked of it. Consumers are told at once.
    ///
    /// # Errors
    /// Where there is no such node, or it is being reset already.
    pub fn reset(&mut self, now: Time, node: NodeId, cause: Cause) -> Result<(), Misuse> {
        let known = self.nodes.get(&node).ok_or(Misuse::UnknownNode)?;
        let (assoc, version) = (known.assoc, known.version);
        let Some(state) = self.assocs.get_mut(&assoc).filter(|state| state.reset.is_none()) else {
            return Err(Misuse::ResetUnderWay);
        };
        self.transaction = self.transaction.wrapping_add(1);
        let transaction_id = (version >= Version::V2_03).then_some(TransactionId(self.transaction.into()));
        let by = now + self.config.reset_timeout;
        state.reset = Some(PendingReset { transaction_id, by });
        self.drop_requests(now, node, SubscriptionEnd::Reset);
        self.send(node, &ResetRequest { transaction_id, cause: cause.in_version(version) }.into());
        self.set_timer(by, Deadline::Reset(assoc, by));
        Ok(())
    }

    /// Whether a response is the one to a reset that is under way.
    pub(super) fn reset_answered(&mut self, assoc: AssocId, transaction_id: Option<TransactionId>) -> bool {
        let Some(state) = self.assocs.get_mut(&assoc) else { return false };
        state.reset.take_if(|reset| reset.transaction_id == transaction_id).is_some()
    }

    pub(super) fn reset_timeout(&mut self, assoc: AssocId, by: Time) {
        let Some(state) = self.assocs.get_mut(&assoc) else { return };
        if state.reset.take_if(|reset| reset.by == by).is_some() {
            let (procedure_code, request_id) = (ProcedureCode::RESET, None);
            self.notice(assoc, Notice::TimedOut { procedure_code, request_id });
        }
    }
}
