//! Deletes a subscription at the RIC's request.
//!
//! Procedure: RIC Subscription Delete. Clause: E2AP v03.01 8.2.2. Role: node. Since: v01.00. Scenarios: agent_delete

use e2ap::{
    Cause, CauseRicRequest, RicSubscriptionDeleteFailure, RicSubscriptionDeleteRequest, RicSubscriptionDeleteResponse,
};

use super::{Agent, AgentEvent};

impl Agent {
    pub(super) fn delete_request(&mut self, request: &RicSubscriptionDeleteRequest) {
        let (request_id, ran_function_id) = (request.request_id, request.ran_function_id);
        let exists = self.subscriptions.get(&request_id).is_some_and(|s| s.ran_function_id == ran_function_id);
        if !exists {
            let cause = if self.offers(ran_function_id) {
                CauseRicRequest::RequestIdUnknown
            } else {
                CauseRicRequest::RanFunctionIdInvalid
            };
            let failure = RicSubscriptionDeleteFailure {
                request_id,
                ran_function_id,
                cause: Some(Cause::RicRequest(cause)),
                criticality_diagnostics: None,
            };
            return self.send(&failure.into());
        }
        self.subscriptions.remove(&request_id);
        self.required.remove(&request_id);
        self.events.push_back(AgentEvent::Unsubscribe { request_id, ran_function_id });
        self.send(&RicSubscriptionDeleteResponse { request_id, ran_function_id }.into());
    }
}
