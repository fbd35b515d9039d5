//! Reset (E2AP v03.01 8.3.3): the node forgets all requests, and so do we.

use e2ap::{ResetRequest, ResetResponse};

use super::{Controller, NodeId, SubscriptionEnd};
use crate::{Notice, Time};

impl Controller {
    pub(super) fn reset_request(&mut self, now: Time, node: NodeId, request: &ResetRequest) {
        if let Some(assoc) = self.nodes.get(&node).map(|n| n.assoc) {
            self.notice(assoc, Notice::Reset { cause: request.cause });
        }
        self.drop_requests(now, node, SubscriptionEnd::Reset);
        let response = ResetResponse { transaction_id: request.transaction_id, criticality_diagnostics: None };
        self.send(node, &response.into());
    }
}
