//! What the RIC subscribes to, and what the function says to it.
//!
//! Procedure: RIC Subscription. Clause: E2AP v03.01 8.2.1. Role: node. Since: v01.00. Scenarios: agent_subscription*

use e2ap::{
    Cause, CauseRicRequest, RanFunctionId, RicActionAdmitted, RicActionId, RicActionNotAdmitted, RicActionType,
    RicRequestId, RicSubscriptionFailure, RicSubscriptionRequest, RicSubscriptionResponse, Version,
};

use super::{ActionState, Agent, AgentEvent, AgentMisuse};
use crate::{Action, SubscriptionChange, SubscriptionTimes};

/// The RIC wants to subscribe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionRequest {
    /// Names the subscription.
    pub request_id: RicRequestId,
    /// The function it is with.
    pub ran_function_id: RanFunctionId,
    /// The service model's event trigger definition.
    pub event_trigger: Vec<u8>,
    /// What is wanted, in the order in which it is to be carried out (RIC Action Execution Order, from v3 on): those without
    /// a place come last, as they were written.
    pub actions: Vec<Action>,
    /// From when to when; from v3 on.
    pub times: SubscriptionTimes,
}

impl SubscriptionRequest {
    /// The actions of one kind.
    pub fn actions_of(&self, kind: RicActionType) -> impl Iterator<Item = &Action> {
        self.actions.iter().filter(move |action| action.kind == kind)
    }
}

#[derive(Debug)]
pub(super) struct Subscription {
    pub ran_function_id: RanFunctionId,
    pub asked: Vec<RicActionId>,
    /// Actions that are set up, once the function has answered.
    pub admitted: Option<Vec<ActionState>>,
    /// A change that waits for the function's answer.
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

    /// The function takes a subscription: some of its actions at least.
    ///
    /// # Errors
    /// Where no such subscription waits for its answer, or the actions are not those that were asked for.
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

    /// The function does not take a subscription.
    ///
    /// # Errors
    /// Where no such subscription waits for its answer.
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
