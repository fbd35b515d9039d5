//! Requires the RIC to change a subscription: removed actions, and other times to wait.
//!
//! Procedure: RIC Subscription Modification Required. Clause: E2AP v03.01 8.2.6. Role: node. Since: v03.01. Scenarios: agent_modification_required*

use e2ap::{
    Cause, ProcedureCode, RicActionId, RicActionRequiredToBeModified, RicActionRequiredToBeRemoved, RicRequestId,
    RicSubscriptionModificationConfirm, RicSubscriptionModificationRequired, RicTimeToWait, Version,
};

use super::{Agent, AgentEvent, AgentMisuse};
use crate::Time;
use crate::change::{all, list, twice};

impl Agent {
    // Clause 8.2.6.1/1 node: The E2 node starts the procedure. Tests: agent_modification_required,
    //   agent_unsupported_procedures. Versions: from v03 on.
    /// Requires the RIC to change a subscription. [`AgentEvent::ModificationConfirmed`] or
    /// [`AgentEvent::ModificationRefused`] reports the answer.
    ///
    /// # Errors
    /// If the subscription or an action is not active, no action or a duplicate is named, the previous requirement is not
    /// answered yet, or the version does not have this procedure. Nothing was sent then.
    pub fn require_modification(
        &mut self,
        now: Time,
        id: RicRequestId,
        modify: &[(RicActionId, RicTimeToWait)],
        remove: &[(RicActionId, Cause)],
    ) -> Result<(), AgentMisuse> {
        let version = self.config.version;
        if version < Version::V3_01 {
            let procedure_code = ProcedureCode::RIC_SUBSCRIPTION_MODIFICATION_REQUIRED;
            return Err(AgentMisuse::NoProcedure { procedure_code, version });
        }
        let subscription = self.subscriptions.get(&id).ok_or(AgentMisuse::UnknownRequest)?;
        let actions = subscription.admitted.as_ref().ok_or(AgentMisuse::UnknownRequest)?;
        if self.required.contains_key(&id) {
            return Err(AgentMisuse::InProgress);
        }
        let mut named = modify.iter().map(|(id, _)| *id).chain(remove.iter().map(|(id, _)| *id));
        if twice(named.clone()) || named.clone().next().is_none() {
            return Err(AgentMisuse::BadActions);
        }
        // v2 removed the value zero
        if modify.iter().any(|(_, wait)| *wait == RicTimeToWait::Zero) {
            return Err(AgentMisuse::BadActions);
        }
        if !named.all(|id| actions.iter().any(|action| action.id == id)) {
            return Err(AgentMisuse::UnknownAction);
        }
        let modify = modify.iter().map(|(id, wait)| RicActionRequiredToBeModified { id: *id, time_to_wait: *wait });
        let remove =
            remove.iter().map(|(id, cause)| RicActionRequiredToBeRemoved { id: *id, cause: cause.in_version(version) });
        let required = RicSubscriptionModificationRequired {
            request_id: id,
            ran_function_id: subscription.ran_function_id,
            actions_required_to_be_modified: list(modify),
            actions_required_to_be_removed: list(remove),
        };
        self.required.insert(id, now + self.config.answer_timeout);
        self.send(&required.into());
        Ok(())
    }

    /// Whether a requirement for this subscription awaits its answer.
    pub(super) fn awaits_required(&self, id: RicRequestId) -> bool {
        self.required.contains_key(&id)
    }

    // Clause 8.2.6.2/7 node: The remaining actions are executed in the order of 8.2.1.2. Does: the machine removes
    //   the others; the order is unchanged. Tests: agent_modification_required. Versions: from v03 on.
    // Clause 8.2.6.2/8 node: After the confirm message the resources of removed actions are released and those of
    //   modified ones changed. Does: the machine removes actions, the function gets `RanFunction::change_answered`.
    //   Tests: agent_modification_required, actions_of_an_xapp_are_ordered_and_changed_with_its_consent. Versions: from
    //   v03 on.
    pub(super) fn modification_confirmed(&mut self, confirm: &RicSubscriptionModificationConfirm<'_>) {
        let request_id = confirm.request_id;
        self.required.remove(&request_id);
        let removed: Vec<_> = all(&confirm.actions_confirmed_for_removal).map(|item| item.id).collect();
        let not_modified = all(&confirm.actions_refused_to_be_modified).map(|item| (item.id, item.cause));
        let not_removed = all(&confirm.actions_refused_to_be_removed).map(|item| (item.id, item.cause));
        let refused = not_modified.chain(not_removed).collect();
        if let Some(actions) = self.subscriptions.get_mut(&request_id).and_then(|s| s.admitted.as_mut()) {
            actions.retain(|action| !removed.contains(&action.id));
        }
        let modified = all(&confirm.actions_confirmed_for_modification).map(|item| item.id).collect();
        self.events.push_back(AgentEvent::ModificationConfirmed { request_id, modified, removed, refused });
    }

    pub(super) fn modification_refused(&mut self, request_id: RicRequestId, cause: Option<Cause>) {
        self.required.remove(&request_id);
        self.events.push_back(AgentEvent::ModificationRefused { request_id, cause });
    }

    pub(super) fn modification_required_due(&mut self, now: Time) {
        let late = |(id, by): (&RicRequestId, &Time)| (*by <= now).then_some(*id);
        let late: Vec<_> = self.required.iter().filter_map(late).collect();
        for request_id in late {
            self.timed_out(now, ProcedureCode::RIC_SUBSCRIPTION_MODIFICATION_REQUIRED, Some(request_id));
            self.modification_refused(request_id, None);
        }
    }
}
