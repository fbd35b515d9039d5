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
    // Clause 8.2.1.4/2 node: A request for an unknown RAN function fails. Tests: agent_subscription_refused,
    //   conform:subscription-unknown-function.
    pub(super) fn offers(&self, id: RanFunctionId) -> bool {
        self.config.functions.iter().any(|function| function.id == id)
    }

    // Clause 8.2.1.2/3 node: The RAN function id selects the function, which gets the event trigger. Tests:
    //   agent_subscription_in_each_version, conform:subscription.
    // Clause 8.2.1.2/4 node: The function validates trigger and actions; an accepted subscription is stored with its
    //   request id. Does: the machine stores ids and actions, the function its trigger and definitions. Tests:
    //   agent_subscription_in_each_version, invalid_actions_are_refused_with_cause.
    // Clause 8.2.1.2/10 node: Actions with an execution order are executed in that order. Tests:
    //   agent_subscription_execution_order. Versions: the order exists from v03 on.
    // Clause 8.2.1.2/11 node: Actions of the same order are executed in parallel. Deviation: one after another, in
    //   the order of the message: a function runs on one thread. Versions: the order exists from v03 on.
    // Clause 8.2.1.3/3 node: A start or end time that is invalid leads to a failure. Does: an end that is not after
    //   the start, or has passed, is invalid. Any start is valid. Tests: agent_subscription_times,
    //   end_time_decides_whether_a_subscription_begins. Versions: times exist from v03 on.
    // Clause 8.2.1.4/3 node: A request that is identical to an earlier one fails; the subscription stays. Does: a
    //   request id in use fails, whatever else the request contains. Tests: agent_subscription_refused,
    //   conform:subscription-repeated.
    pub(super) fn subscription_request(&mut self, request: &RicSubscriptionRequest<'_>) {
        let (id, function) = (request.request_id, request.ran_function_id);
        let actions = &request.details.actions;
        let times = SubscriptionTimes { start: request.start_time, end: request.end_time };
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
        } else if times.end.is_some_and(|end| times.start.is_some_and(|start| !start.is_before(end))) {
            Some(CauseRicRequest::RicSubscriptionEndTimeInvalid)
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
            times,
        }));
    }

    // Clause 8.2.1.2/6 node: If the trigger and an action are accepted, resources are reserved and the response is
    //   sent. Tests: agent_subscription_in_each_version, conform:subscription.
    // Clause 8.2.1.2/7 node: The response lists the admitted actions. Tests: agent_subscription_in_each_version,
    //   conform:subscription.
    // Clause 8.2.1.2/8 node: The response lists the actions that are not admitted, each with a cause. Tests:
    //   agent_in_v1, agent_subscription_refused.
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

    // Clause 8.2.1.3/1 node: A failed request is answered by the failure message with a cause. Tests:
    //   agent_subscription_refused. Versions: v1 has a cause for each action instead.
    // Clause 8.2.1.3/2 node: No admitted action, or a sequence of actions that contradicts itself, leads to a
    //   failure. Tests: agent_subscription_refused, unsupported_subscriptions_are_refused.
    // Clause 8.2.1.4/1 node: A trigger or an action that the service model does not have leads to a failure. Tests:
    //   invalid_actions_are_refused_with_cause, invalid_requests_are_refused_with_cause.
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
