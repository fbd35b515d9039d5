//! Passes the RIC's changes of active subscriptions to the functions and sends their answers.
//!
//! Procedure: RIC Subscription Modification. Clause: E2AP v03.01 8.2.5. Role: node. Since: v03.01. Scenarios: agent_modification
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
    // Clause 8.2.5.2/2 node: Request id and RAN function id select the subscription and its function. Tests:
    //   agent_modification. Versions: from v03 on.
    // Clause 8.2.5.2/3 node: A new event trigger is validated and replaces the old one. Does: the function decides; a
    //   function without `modify`, as all of ran-functions, refuses every change. Tests: agent_modification,
    //   query_and_modification_round_trip. Versions: from v03 on.
    // Clause 8.2.5.2/4 node: Actions to be removed are deleted and their resources released. Tests:
    //   agent_modification. Versions: from v03 on.
    // Clause 8.2.5.2/5 node: Actions to be modified get the new definition and subsequent action. Tests:
    //   agent_modification. Versions: from v03 on.
    // Clause 8.2.5.2/6 node: Actions to be modified get the new execution order. Tests: agent_modification,
    //   actions_of_an_xapp_are_ordered_and_changed_with_its_consent. Versions: from v03 on.
    // Clause 8.2.5.2/7 node: Actions to be added are validated and join the sequence. Tests: agent_modification.
    //   Versions: from v03 on.
    // Clause 8.2.5.3/4 node: A resulting sequence with a fault leads to a failure. Does: unknown actions, known ones
    //   to be added, and more than 16 actions. Tests: agent_modification. Versions: from v03 on.
    // Clause 8.2.5.3/5 node: The removal of all actions leads to a failure. Tests: agent_modification,
    //   conform:modification-remove-all. Deviation: unless others are added, so that actions remain. Versions: from v03
    //   on; changed by v06.00: the text of v04.00 was not read.
    // Clause 8.2.5.4/1 node: An unknown RAN function leads to a failure. Tests: agent_modification. Versions: from
    //   v03 on.
    // Clause 8.2.5.4/2 node: An unknown request id leads to a failure. Tests: agent_modification,
    //   conform:modification-unknown. Versions: from v03 on.
    // Clause 8.2.5.4/3 node: An action in two lists leads to a failure. Tests: agent_modification. Versions: from v03
    //   on.
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

    // Clause 8.2.5.2/8 node: The response is sent if the trigger was modified, or without a new trigger at least one
    //   action was changed. Tests: agent_modification. Versions: from v03 on.
    // Clause 8.2.5.2/9-14 node: Each action is listed as removed, modified, added, or as failed to be, then with a
    //   cause. Tests: agent_modification. Versions: from v03 on.
    // Clause 8.2.5.2/15 node: An action counts as modified only if each of its modifications was performed. Does: an
    //   action is in one list. Tests: agent_modification. Versions: from v03 on.
    // Clause 8.2.5.2/16 node: An action of which one modification fails is listed as failed. Does: as before. Tests:
    //   agent_modification. Versions: from v03 on.
    // Clause 8.2.5.2/17 node: An added action of which one part cannot be processed is listed as failed. Does: as
    //   before. Tests: agent_modification. Versions: from v03 on.
    // Clause 8.2.5.2/18 node: The remaining actions are executed in the order of 8.2.1.2. Deviation: the function
    //   executes them; none of ran-functions accepts a change. Versions: from v03 on.
    // Clause 8.2.5.3/3 node: If there is no new trigger and no action could be changed, the procedure fails. Does: with
    //   the cause of the first action. Tests: agent_modification. Versions: from v03 on.
    /// Accepts a change, or part of it; [`SubscriptionChange::all_done`] accepts all of it. A change of actions only, of which none
    /// was changed, is refused.
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
        let no_action_done = result.removed.is_empty() && result.modified.is_empty() && result.added.is_empty();
        let nothing_done = change.event_trigger.is_none() && no_action_done;
        subscription.change = None;
        let mut failed = result.not_removed.iter().chain(&result.not_modified).chain(&result.not_added);
        if let (true, Some((_, cause))) = (nothing_done, failed.next()) {
            let function = subscription.ran_function_id;
            self.send_modification_failure(id, function, *cause);
            return Ok(());
        }
        if let Some(actions) = &mut subscription.admitted {
            actions.retain(|action| !result.removed.contains(&action.id));
            actions.extend(result.added.iter().map(|id| ActionState { id: *id, sn: 0 }));
        }
        let response = result.response(id, subscription.ran_function_id, version);
        self.send(&response.into());
        Ok(())
    }

    // Clause 8.2.5.3/1 node: A failed change is answered by the failure message with a cause. Tests:
    //   agent_modification. Versions: from v03 on.
    // Clause 8.2.5.3/2 node: A new event trigger that is not accepted leads to a failure. Tests: agent_modification.
    //   Versions: from v03 on.
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
