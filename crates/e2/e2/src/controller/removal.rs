//! Removes a node at its own or the RIC's request: drops the node and closes its association.
//!
//! Procedure: E2 Removal. Clause: E2AP v03.01 8.3.7. Role: ric. Since: v02.03. Scenarios: removal*
//!
//! Subscriptions of a removed node end; they are not suspended. If both sides begin the procedure at once, each answers the
//! other, and the first message that arrives removes the node.

use e2ap::{Cause, CriticalityDiagnostics, E2RemovalRequest, E2RemovalResponse, ProcedureCode, Version};

use super::{Controller, Event, LostReason, Misuse, NodeId};
use crate::protocol_error::or_unspecified;
use crate::{AssocId, CloseReason, Time};

impl Controller {
    // Clause 8.3.7.2/5 ric: The RIC starts it with the removal request. Tests: removal, conform:removal-by-ric.
    //   Versions: from v02 on.
    // Clause 8.3.7.2/7 ric: After the response the RIC releases everything and erases the data of the node. Does: it
    //   also closes the association, as the clause allows. Tests: removal, conform:removal-by-ric. Versions: from v02
    //   on.
    /// Removes a node. The node is lost when it agrees or does not answer in time; if it refuses, [`Event::RemovalRefused`]
    /// reports that.
    ///
    /// # Errors
    /// If there is no such node, its version does not have this procedure, or its removal is in progress.
    pub fn remove(&mut self, now: Time, node: NodeId) -> Result<(), Misuse> {
        let patience = self.config.answer_timeout;
        let transaction_id = self.begin(now, node, ProcedureCode::E2_REMOVAL, Version::V2_03, patience)?;
        self.send(node, &E2RemovalRequest { transaction_id }.into());
        Ok(())
    }

    // Clause 8.3.7.2/2 ric: The node's removal request is answered by the response. Tests: removal, conform:removal.
    //   Versions: from v02 on.
    // Clause 8.3.7.2/4 ric: The RIC then releases everything and erases the data of the node. Tests: removal,
    //   conform:removal. Versions: from v02 on.
    // Clause 8.3.7.2/9 ric: A received removal request aborts the procedures of RIC services. Tests: removal,
    //   removal_collision. Versions: from v02 on.
    // Clause 8.3.7.3/2 ric: A removal request that cannot be accepted is answered by the failure message. Does: the
    //   RIC accepts every valid request; an invalid one fails. Tests: malformed_requests. Versions: from v02 on.
    /// Answers a node's removal request and drops the node.
    pub(super) fn removal_request(
        &mut self,
        now: Time,
        assoc: AssocId,
        node: NodeId,
        request: &E2RemovalRequest,
        criticality_diagnostics: Option<CriticalityDiagnostics<'_>>,
    ) {
        let response = E2RemovalResponse { transaction_id: request.transaction_id, criticality_diagnostics };
        self.send(node, &response.into());
        self.removed(now, assoc, node);
    }

    /// Drops a removed node and closes its association.
    pub(super) fn removed(&mut self, now: Time, assoc: AssocId, node: NodeId) {
        self.lose_node(now, node, LostReason::Removed);
        if let Some(state) = self.assocs.get_mut(&assoc) {
            state.node = None;
        }
        self.close(now, assoc, CloseReason::Removed);
    }

    pub(super) fn removal_refused(&mut self, node: NodeId, cause: Option<Cause>) {
        self.events.push_back(Event::RemovalRefused { node, cause: or_unspecified(cause) });
    }

    /// Closes the association of a node that did not answer the removal request.
    pub(super) fn removal_timeout(&mut self, now: Time, assoc: AssocId) {
        self.close(now, assoc, CloseReason::RemovalTimeout);
    }
}
