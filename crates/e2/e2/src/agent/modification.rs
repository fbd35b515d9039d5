//! Passes the RIC's changes of active subscriptions to the functions and sends their answers.
//!
//! Procedure: RIC Subscription Modification. Clause: E2AP v03.01 8.2.7. Role: node. Since: v03.01. Scenarios: agent_modification
//!
//! One change of a subscription is in progress at a time. The function's answer decides which actions remain.

use e2ap::{
    Cause, CauseRicRequest, RanFunctionId, RicRequestId, RicSubscriptionModificationFailure,
    RicSubscriptionModificationRequest,
};

use super::{ActionState, Agent, AgentEvent, AgentMisuse};
use crate::{ChangeResult, SubscriptionChange};

/// A subscription modification request of the RIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModificationRequest {
    /// The subscription.
    pub request_id: RicRequestId,
    /// The RAN function.
    pub ran_function_id: RanFunctionId,
    /// The change.
    pub change: SubscriptionChange,
}

impl Agent {
    pub(super) fn modification_request(&mut self, request: &RicSubscriptionModificationRequest<'_>) {
        let (request_id, ran_function_id) = (request.request_id, request.ran_function_id);
        let change = SubscriptionChange::of(request);
        let offered = self.offers(ran_function_id);
        let subscription = self.subscriptions.get_mut(&request_id).filter(|s| s.ran_function_id == ran_function_id);
        let refusal = match subscription {
            _ if !offered => CauseRicRequest::RanFunctionIdInvalid,
            None => CauseRicRequest::RequestIdUnknown,
            Some(subscription) => match (&subscription.admitted, &subscription.change) {
                // the request or the previous change is not answered yet
                (None, _) | (_, Some(_)) => CauseRicRequest::SystemNotReady,
                (Some(actions), None) => {
                    let actions: Vec<_> = actions.iter().map(|action| action.id).collect();
                    if change.fits(&actions) {
                        subscription.change = Some(change.clone());
                        let request = ModificationRequest { request_id, ran_function_id, change };
                        return self.events.push_back(AgentEvent::Modify(request));
                    }
                    CauseRicRequest::ActionNotSupported
                }
            },
        };
        self.send_modification_failure(request_id, ran_function_id, Cause::RicRequest(refusal));
    }

    /// Accepts a change, or part of it; [`SubscriptionChange::all_done`] accepts all of it.
    ///
    /// # Errors
    /// If no such change awaits its answer, or the result does not name each of its actions once.
    pub fn modified(&mut self, id: RicRequestId, result: &ChangeResult) -> Result<(), AgentMisuse> {
        let version = self.config.version;
        let subscription = self.subscriptions.get_mut(&id).ok_or(AgentMisuse::UnknownRequest)?;
        let change = subscription.change.as_ref().ok_or(AgentMisuse::UnknownRequest)?;
        if !result.answers(change) {
            return Err(AgentMisuse::BadActions);
        }
        subscription.change = None;
        if let Some(actions) = &mut subscription.admitted {
            actions.retain(|action| !result.removed.contains(&action.id));
            actions.extend(result.added.iter().map(|id| ActionState { id: *id, sn: 0 }));
        }
        let response = result.response(id, subscription.ran_function_id, version);
        self.send(&response.into());
        Ok(())
    }

    /// Refuses a change. The subscription is unchanged.
    ///
    /// # Errors
    /// If no such change awaits its answer.
    pub fn refuse_modification(&mut self, id: RicRequestId, cause: Cause) -> Result<(), AgentMisuse> {
        let subscription = self.subscriptions.get_mut(&id).ok_or(AgentMisuse::UnknownRequest)?;
        subscription.change.take().ok_or(AgentMisuse::UnknownRequest)?;
        let function = subscription.ran_function_id;
        self.send_modification_failure(id, function, cause);
        Ok(())
    }

    fn send_modification_failure(&mut self, request_id: RicRequestId, ran_function_id: RanFunctionId, cause: Cause) {
        let cause = cause.in_version(self.config.version);
        let criticality_diagnostics = None;
        let failure =
            RicSubscriptionModificationFailure { request_id, ran_function_id, cause, criticality_diagnostics };
        self.send(&failure.into());
    }
}
