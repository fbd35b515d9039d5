//! A node leaves in order, or is let go: it is forgotten, and its association closed.
//!
//! Procedure: E2 Removal. Clause: E2AP v03.01 8.3.7. Role: ric. Since: v02.03. Scenarios: removal*
//!
//! What was subscribed to such a node does not wait for it to come back. Where both sides begin at once, each answers the
//! other, and the node is gone by the first word that arrives.

use e2ap::{Cause, CriticalityDiagnostics, E2RemovalRequest, E2RemovalResponse, ProcedureCode, Version};

use super::{Controller, Event, LostReason, Misuse, NodeId};
use crate::answer::or_unspecified;
use crate::{AssocId, CloseReason, Time};

impl Controller {
    /// Lets a node go. When it has agreed, or said nothing in time, it is lost; where it refuses,
    /// [`Event::RemovalRefused`] tells.
    ///
    /// # Errors
    /// Where there is no such node, its version does not have this, or it is being let go already.
    pub fn remove(&mut self, now: Time, node: NodeId) -> Result<(), Misuse> {
        let patience = self.config.answer_timeout;
        let transaction_id = self.begin(now, node, ProcedureCode::E2_REMOVAL, Version::V2_03, patience)?;
        self.send(node, &E2RemovalRequest { transaction_id }.into());
        Ok(())
    }

    /// The node wants to leave.
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

    /// The node is gone in order.
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

    /// A node that does not even answer this is not there.
    pub(super) fn removal_timeout(&mut self, now: Time, assoc: AssocId) {
        self.close(now, assoc, CloseReason::RemovalTimeout);
    }
}
