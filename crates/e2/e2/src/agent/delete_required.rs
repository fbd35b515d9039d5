//! Requires the RIC to delete subscriptions. They remain active until the RIC deletes them.
//!
//! Procedure: RIC Subscription Delete Required. Clause: E2AP v03.01 8.2.2A. Role: node. Since: v02.03. Scenarios: agent_delete_required*

use e2ap::{Cause, ProcedureCode, RicRequestId, RicSubscriptionDeleteRequired, RicSubscriptionWithCause, Version};

use super::{Agent, AgentMisuse};

/// The maximum number of subscriptions in one message.
const MAX_SUBSCRIPTIONS: usize = 1024;

impl Agent {
    // Clause 8.2.2A.1/1 node: The E2 node starts the procedure. Tests: agent_delete_required,
    //   agent_unsupported_procedures. Versions: from v02 on.
    // Clause 8.2.2A.2/1 node: Each subscription has a cause. Tests: agent_delete_required, conform:delete-required.
    //   Versions: from v02 on.
    /// Requires the RIC to delete subscriptions; [`AgentEvent::Unsubscribe`](super::AgentEvent::Unsubscribe) reports each
    /// deletion.
    ///
    /// # Errors
    /// If one of them is not active, or the version does not have this procedure. Nothing was sent then.
    pub fn require_deletion(&mut self, subscriptions: &[(RicRequestId, Cause)]) -> Result<(), AgentMisuse> {
        let version = self.config.version;
        if version < Version::V2_03 {
            let procedure_code = ProcedureCode::RIC_SUBSCRIPTION_DELETE_REQUIRED;
            return Err(AgentMisuse::NoProcedure { procedure_code, version });
        }
        let item = |(id, cause): &(RicRequestId, Cause)| {
            let subscription = self.subscriptions.get(id).filter(|s| s.admitted.is_some())?;
            let ran_function_id = subscription.ran_function_id;
            Some(RicSubscriptionWithCause { request_id: *id, ran_function_id, cause: cause.in_version(version) })
        };
        let items: Option<Vec<_>> = subscriptions.iter().map(item).collect();
        let items = items.ok_or(AgentMisuse::UnknownRequest)?;
        for some in items.chunks(MAX_SUBSCRIPTIONS) {
            self.send(&RicSubscriptionDeleteRequired { subscriptions: Some(some.to_vec().into()) }.into());
        }
        Ok(())
    }
}
