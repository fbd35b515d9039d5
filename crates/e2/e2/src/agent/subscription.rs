//! Passes the RIC's subscriptions to the functions and sends their answers.
//!
//! Procedure: RIC Subscription. Clause: E2AP v03.01 8.2.1. Role: node. Since: v01.00. Scenarios: agent_subscription*

use e2ap::{
    Cause, CauseRicRequest, RanFunctionId, RicActionAdmitted, RicActionId, RicActionNotAdmitted, RicActionType,
    RicRequestId, RicSubscriptionFailure, RicSubscriptionRequest, RicSubscriptionResponse, Version,
};

use super::{ActionState, Agent, AgentEvent, AgentMisuse};
use crate::{Action, SubscriptionChange, SubscriptionTimes};

/// A subscription request of the RIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionRequest {
    /// Its request id.
    pub request_id: RicRequestId,
    /// The RAN function that it addresses.
    pub ran_function_id: RanFunctionId,
    /// The service model's event trigger definition.
    pub event_trigger: Vec<u8>,
    /// The actions in execution order (RIC Action Execution Order, since v3); those without a value come last, in the order
    /// of the message.
    pub actions: Vec<Action>,
    /// Start and end time; since v3.
    pub times: SubscriptionTimes,
}

impl SubscriptionRequest {
    /// Returns the actions of one type.
    pub fn actions_of(&self, kind: RicActionType) -> impl Iterator<Item = &Action> {
        self.actions.iter().filter(move |action| action.kind == kind)
    }
}

#[derive(Debug)]
pub(super) struct Subscription {
    pub ran_function_id: RanFunctionId,
    pub asked: Vec<RicActionId>,
    /// The admitted actions, once the function has answered.
    pub admitted: Option<Vec<ActionState>>,
    /// A change that awaits the function's answer.
    pub change: Option<SubscriptionChange>,
}

impl Agent {
    pub(super) fn offers(&self, id: RanFunctionId) -> bool {
        self.config.functions.iter().any(|function| function.id == id)
    }

    pub(super) fn subscription_request(&mut self, request: &RicSubscriptionRequest<'_>) {
        let (id, function) = (request.request_id, request.ran_function_id);
        let actions = &request.details.actions;
        let refusal = if !self.offers(function) {
            Some(CauseRicRequest::RanFunctionIdInvalid)
        } else if self.removal.is_some() {
            Some(CauseRicRequest::SystemNotReady)
        } else if self.subscriptions.contains_key(&id) {
            Some(CauseRicRequest::DuplicateRicRequestId)
        } else if self.subscriptions.len() >= self.config.max_subscriptions {
            Some(CauseRicRequest::FunctionResourceLimit)
        } else if actions.iter().enumerate().any(|(i, a)| actions[..i].iter().any(|b| b.id == a.id)) {
            Some(CauseRicRequest::DuplicateAction)
        } else {
            None
        };
        if let Some(cause) = refusal {
            let ids: Vec<_> = actions.iter().map(|a| a.id).collect();
            return self.send_failure(id, function, &ids, Cause::RicRequest(cause));
        }
        let asked = actions.iter().map(|a| a.id).collect();
        let subscription = Subscription { ran_function_id: function, asked, admitted: None, change: None };
        self.subscriptions.insert(id, subscription);
        let mut ordered: Vec<_> = actions.iter().collect();
        ordered.sort_by_key(|action| action.execution_order.map_or(u64::MAX, |order| order.0.into()));
        self.events.push_back(AgentEvent::Subscribe(SubscriptionRequest {
            request_id: id,
            ran_function_id: function,
            event_trigger: request.details.event_trigger_definition.to_cow().into_owned(),
            actions: ordered
                .into_iter()
                .map(|action| Action {
                    id: action.id,
                    kind: action.kind,
                    definition: action.definition.as_ref().map(|d| d.to_cow().into_owned()),
                    subsequent: action.subsequent_action,
                })
                .collect(),
            times: SubscriptionTimes { start: request.start_time, end: request.end_time },
        }));
    }

    /// Admits a subscription with at least one of its actions.
    ///
    /// # Errors
    /// If no such subscription awaits its answer, or the actions are not the requested ones.
    pub fn admit(
        &mut self,
        id: RicRequestId,
        admitted: &[RicActionId],
        not_admitted: &[(RicActionId, Cause)],
    ) -> Result<(), AgentMisuse> {
        let version = self.config.version;
        let subscription = self.subscriptions.get_mut(&id).filter(|s| s.admitted.is_none());
        let subscription = subscription.ok_or(AgentMisuse::UnknownRequest)?;
        let named: Vec<_> = admitted.iter().copied().chain(not_admitted.iter().map(|(id, _)| *id)).collect();
        let twice = named.iter().enumerate().any(|(i, id)| named[..i].contains(id));
        if admitted.is_empty() || twice || !named.iter().all(|id| subscription.asked.contains(id)) {
            return Err(AgentMisuse::BadActions);
        }
        subscription.admitted = Some(admitted.iter().map(|id| ActionState { id: *id, sn: 0 }).collect());
        let refused =
            not_admitted.iter().map(|(id, cause)| RicActionNotAdmitted { id: *id, cause: cause.in_version(version) });
        let response = RicSubscriptionResponse {
            request_id: id,
            ran_function_id: subscription.ran_function_id,
            actions_admitted: admitted.iter().map(|id| RicActionAdmitted { id: *id }).collect(),
            actions_not_admitted: (!not_admitted.is_empty()).then(|| refused.collect()),
        };
        self.send(&response.into());
        Ok(())
    }

    /// Refuses a subscription.
    ///
    /// # Errors
    /// If no such subscription awaits its answer.
    pub fn refuse(&mut self, id: RicRequestId, cause: Cause) -> Result<(), AgentMisuse> {
        if self.subscriptions.get(&id).is_none_or(|s| s.admitted.is_some()) {
            return Err(AgentMisuse::UnknownRequest);
        }
        if let Some(subscription) = self.subscriptions.remove(&id) {
            self.send_failure(id, subscription.ran_function_id, &subscription.asked, cause);
        }
        Ok(())
    }

    fn send_failure(&mut self, id: RicRequestId, function: RanFunctionId, actions: &[RicActionId], cause: Cause) {
        let cause = cause.in_version(self.config.version);
        let v1 = self.config.version < Version::V2_03;
        let failure = RicSubscriptionFailure {
            request_id: id,
            ran_function_id: function,
            actions_not_admitted: v1
                .then(|| actions.iter().map(|id| RicActionNotAdmitted { id: *id, cause }).collect()),
            cause: (!v1).then_some(cause),
            criticality_diagnostics: None,
        };
        self.send(&failure.into());
    }
}
