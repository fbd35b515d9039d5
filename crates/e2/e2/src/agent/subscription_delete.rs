//! Deletes a subscription at the RIC's request.
//!
//! Procedure: RIC Subscription Delete. Clause: E2AP v03.01 8.2.2. Role: node. Since: v01.00. Scenarios: agent_delete

use e2ap::{
    Cause, CauseRicRequest, RicSubscriptionDeleteFailure, RicSubscriptionDeleteRequest, RicSubscriptionDeleteResponse,
};

use super::{Agent, AgentEvent};

impl Agent {
    // Clause 8.2.2.2/2 node: The subscription is deleted and its resources are released. Tests: agent_delete,
    //   conform:subscription-delete.
    // Clause 8.2.2.2/3 node: The response is sent. Tests: agent_delete, conform:subscription-delete.
    // Clause 8.2.2.3/1 node: A failed deletion is answered by the failure message with a cause. Tests: agent_delete.
    // Clause 8.2.2.3/2 node: An unknown request id leads to a failure. Tests: agent_delete,
    //   conform:subscription-delete-unknown.
    // Clause 8.2.2.4/1 node: An unknown RAN function leads to a failure. Tests: agent_delete.
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
