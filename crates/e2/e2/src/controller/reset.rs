//! Drops all requests of a node, at its own or the RIC's request.
//!
//! Procedure: Reset. Clause: E2AP v03.01 8.3.2. Role: ric. Since: v01.00. Scenarios: reset_*

use e2ap::{Cause, CriticalityDiagnostics, ProcedureCode, ResetRequest, ResetResponse, Version};

use super::{Controller, Misuse, NodeId, SubscriptionEnd};
use crate::protocol_error::or_unspecified;
use crate::{Notice, Time};

impl Controller {
    // Clause 8.3.2.1/1 both: Either side starts the procedure. Tests: reset_by_the_node, reset_by_the_ric,
    //   agent_reset_by_the_node, agent_reset_by_the_ric.
    // Clause 8.3.2.2/1 ric: All subscriptions end. Tests: reset_by_the_node, reset_by_the_ric, conform:reset.
    // Clause 8.3.2.2/3 ric: A received reset aborts the other procedures of RIC services. Tests: reset_by_the_node,
    //   modification_ended_by_other_procedure.
    pub(super) fn reset_request(
        &mut self,
        now: Time,
        node: NodeId,
        request: &ResetRequest,
        criticality_diagnostics: Option<CriticalityDiagnostics<'_>>,
    ) {
        if let Some(assoc) = self.nodes.get(&node).map(|n| n.assoc) {
            self.remark(now, assoc, Notice::Reset { cause: or_unspecified(request.cause) });
        }
        self.drop_requests(now, node, SubscriptionEnd::Reset);
        let response = ResetResponse { transaction_id: request.transaction_id, criticality_diagnostics };
        self.send(node, &response.into());
    }

    /// Resets a node: both sides drop all its requests. Consumers are notified at once.
    ///
    /// # Errors
    /// If there is no such node, or its reset is in progress.
    pub fn reset(&mut self, now: Time, node: NodeId, cause: Cause) -> Result<(), Misuse> {
        let patience = self.config.reset_timeout;
        let transaction_id = self.begin(now, node, ProcedureCode::RESET, Version::V1_00, patience)?;
        self.drop_requests(now, node, SubscriptionEnd::Reset);
        let version = self.nodes.get(&node).map_or(Version::V1_00, |node| node.version);
        self.send(node, &ResetRequest { transaction_id, cause: Some(cause.in_version(version)) }.into());
        Ok(())
    }
}
