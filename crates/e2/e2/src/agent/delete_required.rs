//! The node wants to lose subscriptions. They stand until the RIC deletes them.
//!
//! Procedure: RIC Subscription Delete Required. Clause: E2AP v03.01 8.2.3. Role: node. Since: v02.03. Scenarios: agent_delete_required*

use e2ap::{Cause, RicRequestId, RicSubscriptionDeleteRequired, RicSubscriptionWithCause, Version};

use super::{Agent, AgentMisuse};

/// The most subscriptions that one message names.
const MAX_SUBSCRIPTIONS: usize = 1024;

impl Agent {
    /// Asks the RIC to delete subscriptions: it does so by [`AgentEvent::Unsubscribe`](super::AgentEvent::Unsubscribe).
    ///
    /// # Errors
    /// Where one of them does not stand, or the version does not have this. Then nothing was sent.
    pub fn require_deletion(&mut self, subscriptions: &[(RicRequestId, Cause)]) -> Result<(), AgentMisuse> {
        let version = self.config.version;
        if version < Version::V2_03 {
            return Err(AgentMisuse::NotInVersion);
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
