//! Changes of an active subscription, as both sides use them (E2AP v03.01 8.2.5).

use e2ap::{
    Cause, Items, RanFunctionId, RicActionAdded, RicActionExecutionOrder, RicActionFailedToBeAdded,
    RicActionFailedToBeModified, RicActionFailedToBeRemoved, RicActionId, RicActionModified, RicActionRemoved,
    RicActionToBeAdded, RicActionToBeModified, RicActionToBeRemoved, RicRequestId, RicSubscriptionModificationRequest,
    RicSubscriptionModificationResponse, RicSubscriptionTime, RicSubsequentAction, RicTimeToWait, Version,
};
use per::Octets;

use crate::Action;

/// The maximum number of actions of a subscription.
pub(crate) const MAX_ACTIONS: usize = 16;

/// The start and end time of a subscription; E2AP has them since v3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SubscriptionTimes {
    /// The start; without it the subscription starts at once.
    pub start: Option<RicSubscriptionTime>,
    /// The end; without it the subscription does not end by itself.
    pub end: Option<RicSubscriptionTime>,
}

/// A change of an active subscription. What it does not name remains unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionChange {
    /// The new event trigger definition.
    pub event_trigger: Option<Vec<u8>>,
    /// Actions to remove.
    pub remove: Vec<RicActionId>,
    /// Actions to modify.
    pub modify: Vec<ActionChange>,
    /// Actions to add.
    pub add: Vec<AddedAction>,
}

/// A change of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionChange {
    /// The action.
    pub id: RicActionId,
    /// The service model's new action definition.
    pub definition: Option<Vec<u8>>,
    /// The new execution order; lower values go first.
    pub execution_order: Option<u8>,
    /// The new subsequent action.
    pub subsequent: Option<RicSubsequentAction>,
}

/// An action to add to a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedAction {
    /// The action. Without a definition it gets an empty one, since E2AP requires it here.
    pub action: Action,
    /// Its execution order; lower values go first.
    pub execution_order: u8,
}

/// The outcome of a change. Each action of the change is in exactly one list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeResult {
    /// Removed actions.
    pub removed: Vec<RicActionId>,
    /// Modified actions.
    pub modified: Vec<RicActionId>,
    /// Added actions.
    pub added: Vec<RicActionId>,
    /// Actions that were not removed, and why.
    pub not_removed: Vec<(RicActionId, Cause)>,
    /// Actions that were not modified, and why.
    pub not_modified: Vec<(RicActionId, Cause)>,
    /// Actions that were not added, and why.
    pub not_added: Vec<(RicActionId, Cause)>,
}

/// Whether `ids` contains a duplicate.
pub(crate) fn twice(mut ids: impl Iterator<Item = RicActionId>) -> bool {
    let mut seen = [false; 256];
    ids.any(|id| std::mem::replace(&mut seen[usize::from(id.0)], true))
}

impl SubscriptionChange {
    /// Returns the result of a change that was applied completely.
    #[must_use]
    pub fn all_done(&self) -> ChangeResult {
        ChangeResult {
            removed: self.remove.clone(),
            modified: self.modify.iter().map(|change| change.id).collect(),
            added: self.add.iter().map(|added| added.action.id).collect(),
            ..ChangeResult::default()
        }
    }

    /// Whether it is valid for a subscription with these actions: removed and modified ones exist, added ones do not, each is
    /// named once, and 1 to 16 remain.
    pub(crate) fn fits(&self, actions: &[RicActionId]) -> bool {
        let old = || self.remove.iter().copied().chain(self.modify.iter().map(|change| change.id));
        let new = || self.add.iter().map(|added| added.action.id);
        let zero = |s: &Option<RicSubsequentAction>| s.is_some_and(|s| s.time_to_wait == RicTimeToWait::Zero);
        let left = (actions.len() + self.add.len()).checked_sub(self.remove.len());
        !twice(old().chain(new()))
            && old().all(|id| actions.contains(&id))
            && !new().any(|id| actions.contains(&id))
            && left.is_some_and(|left| (1..=MAX_ACTIONS).contains(&left))
            // v2 removed the value zero
            && !self.modify.iter().any(|change| zero(&change.subsequent))
            && !self.add.iter().any(|added| zero(&added.action.subsequent))
    }

    /// Octets of its definitions and its event trigger.
    pub(crate) fn octets(&self) -> usize {
        let trigger = self.event_trigger.as_ref().map_or(0, Vec::len);
        let modified = self.modify.iter().map(|change| change.definition.as_ref().map_or(0, Vec::len));
        let added = self.add.iter().map(|added| added.action.definition.as_ref().map_or(0, Vec::len));
        trigger + modified.sum::<usize>() + added.sum::<usize>()
    }

    pub(crate) fn of(request: &RicSubscriptionModificationRequest<'_>) -> Self {
        let owned = |octets: &Octets<'_>| octets.to_cow().into_owned();
        // values above 255 (the range is extensible, 9.2) are treated as 255
        let order = |order: RicActionExecutionOrder| u8::try_from(order.0).unwrap_or(u8::MAX);
        SubscriptionChange {
            event_trigger: request.event_trigger_definition.as_ref().map(owned),
            remove: all(&request.actions_to_be_removed).map(|item| item.id).collect(),
            modify: all(&request.actions_to_be_modified)
                .map(|item| ActionChange {
                    id: item.id,
                    definition: item.definition.as_ref().map(owned),
                    execution_order: item.execution_order.map(order),
                    subsequent: item.subsequent_action,
                })
                .collect(),
            add: all(&request.actions_to_be_added)
                .map(|item| AddedAction {
                    action: Action {
                        id: item.id,
                        kind: item.kind,
                        definition: Some(owned(&item.definition)),
                        subsequent: item.subsequent_action,
                    },
                    execution_order: order(item.execution_order),
                })
                .collect(),
        }
    }

    pub(crate) fn request(
        &self,
        request_id: RicRequestId,
        ran_function_id: RanFunctionId,
    ) -> RicSubscriptionModificationRequest<'_> {
        let order = |order: u8| RicActionExecutionOrder(order.into());
        RicSubscriptionModificationRequest {
            request_id,
            ran_function_id,
            event_trigger_definition: self.event_trigger.as_deref().map(Octets::from),
            actions_to_be_removed: list(self.remove.iter().map(|id| RicActionToBeRemoved { id: *id })),
            actions_to_be_modified: list(self.modify.iter().map(|change| RicActionToBeModified {
                id: change.id,
                definition: change.definition.as_deref().map(Octets::from),
                execution_order: change.execution_order.map(order),
                subsequent_action: change.subsequent,
            })),
            actions_to_be_added: list(self.add.iter().map(|added| RicActionToBeAdded {
                id: added.action.id,
                kind: added.action.kind,
                definition: added.action.definition.as_deref().unwrap_or_default().into(),
                execution_order: order(added.execution_order),
                subsequent_action: added.action.subsequent,
            })),
        }
    }
}

impl ChangeResult {
    /// Whether it names each action of `change` exactly once, in the right lists.
    pub(crate) fn answers(&self, change: &SubscriptionChange) -> bool {
        let named = |done: &[RicActionId], not: &[(RicActionId, Cause)], asked: Vec<RicActionId>| {
            let named: Vec<_> = done.iter().copied().chain(not.iter().map(|(id, _)| *id)).collect();
            named.len() == asked.len() && !twice(named.iter().copied()) && named.iter().all(|id| asked.contains(id))
        };
        named(&self.removed, &self.not_removed, change.remove.clone())
            && named(&self.modified, &self.not_modified, change.modify.iter().map(|c| c.id).collect())
            && named(&self.added, &self.not_added, change.add.iter().map(|a| a.action.id).collect())
    }

    pub(crate) fn of(response: &RicSubscriptionModificationResponse<'_>) -> Self {
        ChangeResult {
            removed: all(&response.actions_removed).map(|item| item.id).collect(),
            modified: all(&response.actions_modified).map(|item| item.id).collect(),
            added: all(&response.actions_added).map(|item| item.id).collect(),
            not_removed: all(&response.actions_failed_to_be_removed).map(|i| (i.id, i.cause)).collect(),
            not_modified: all(&response.actions_failed_to_be_modified).map(|i| (i.id, i.cause)).collect(),
            not_added: all(&response.actions_failed_to_be_added).map(|i| (i.id, i.cause)).collect(),
        }
    }

    pub(crate) fn response(
        &self,
        request_id: RicRequestId,
        ran_function_id: RanFunctionId,
        version: Version,
    ) -> RicSubscriptionModificationResponse<'static> {
        let not = |not: &[(RicActionId, Cause)]| -> Vec<_> {
            not.iter().map(|(id, cause)| (*id, cause.in_version(version))).collect()
        };
        RicSubscriptionModificationResponse {
            request_id,
            ran_function_id,
            actions_removed: list(self.removed.iter().map(|id| RicActionRemoved { id: *id })),
            actions_failed_to_be_removed: list(
                not(&self.not_removed).into_iter().map(|(id, cause)| RicActionFailedToBeRemoved { id, cause }),
            ),
            actions_modified: list(self.modified.iter().map(|id| RicActionModified { id: *id })),
            actions_failed_to_be_modified: list(
                not(&self.not_modified).into_iter().map(|(id, cause)| RicActionFailedToBeModified { id, cause }),
            ),
            actions_added: list(self.added.iter().map(|id| RicActionAdded { id: *id })),
            actions_failed_to_be_added: list(
                not(&self.not_added).into_iter().map(|(id, cause)| RicActionFailedToBeAdded { id, cause }),
            ),
        }
    }
}

/// Returns the items of an optional list.
pub(crate) fn all<'s, T>(items: &'s Option<Items<'_, T>>) -> impl Iterator<Item = &'s T> {
    items.iter().flat_map(|items| items.iter())
}

/// Returns a list, or `None` if it is empty.
pub(crate) fn list<'a, T>(items: impl Iterator<Item = T>) -> Option<Items<'a, T>> {
    Some(items.collect::<Items<'a, T>>()).filter(|items| !items.is_empty())
}
