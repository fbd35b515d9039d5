//! What a consumer subscribes to, and on which terms.

use e2ap::{RicActionId, RicActionType, RicSubsequentAction, RicTimeToWait, Version};

use crate::change::{MAX_ACTIONS, twice};
use crate::{SubscriptionChange, SubscriptionTimes};

/// The event trigger and the actions of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubscriptionSpec {
    /// The service model's event trigger definition.
    pub event_trigger: Vec<u8>,
    /// One to 16 actions with different ids.
    pub actions: Vec<Action>,
}

impl SubscriptionSpec {
    /// What a change makes of it.
    pub(crate) fn changed(&self, change: &SubscriptionChange) -> SubscriptionSpec {
        let mut changed = self.clone();
        if let Some(event_trigger) = &change.event_trigger {
            changed.event_trigger.clone_from(event_trigger);
        }
        changed.actions.retain(|action| !change.remove.contains(&action.id));
        for modified in &change.modify {
            let action = changed.actions.iter_mut().find(|action| action.id == modified.id);
            if let (Some(action), Some(definition)) = (action, &modified.definition) {
                action.definition = Some(definition.clone());
            }
        }
        changed.actions.extend(change.add.iter().map(|added| added.action.clone()));
        changed
    }

    /// Octets stored of it.
    pub(super) fn octets(&self) -> usize {
        let definitions = self.actions.iter().map(|action| action.definition.as_ref().map_or(0, Vec::len));
        self.event_trigger.len() + definitions.sum::<usize>()
    }

    /// Whether it is valid and `version` can carry it.
    pub(super) fn is_sound(&self, version: Version) -> bool {
        let twice = twice(self.actions.iter().map(|action| action.id));
        let zero = |action: &Action| action.subsequent.is_some_and(|s| s.time_to_wait == RicTimeToWait::Zero);
        // v2 removed the value zero
        let impossible = version >= Version::V2_03 && self.actions.iter().any(zero);
        (1..=MAX_ACTIONS).contains(&self.actions.len()) && !twice && !impossible
    }
}

/// A subscription as a consumer orders it: the spec and the terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionOrder {
    /// The event trigger and the actions.
    pub spec: SubscriptionSpec,
    /// Start and end time. Default: it starts at once and has no end. A subscription with times is not shared.
    pub times: SubscriptionTimes,
    /// Whether it is restored when its node sets up again after a loss. Default: true.
    pub restore: bool,
    /// The execution order of actions, each action at most once; lower values go first. E2AP has this since v3. A
    /// subscription with an execution order is not shared. Default: none.
    pub execution_order: Vec<(RicActionId, u8)>,
    /// Whether the RIC asks the consumer for consent, by [`RequestEvent::ChangeRequired`](super::RequestEvent::ChangeRequired),
    /// before it agrees to a change that the node requires. Such a subscription is not shared. Default: false.
    pub consent: bool,
}

impl From<SubscriptionSpec> for SubscriptionOrder {
    fn from(spec: SubscriptionSpec) -> Self {
        SubscriptionOrder {
            spec,
            times: SubscriptionTimes::default(),
            restore: true,
            execution_order: Vec::new(),
            consent: false,
        }
    }
}

/// An action of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Action {
    /// Its id within the subscription.
    pub id: RicActionId,
    /// Report, insert or policy.
    pub kind: RicActionType,
    /// The service model's action definition.
    pub definition: Option<Vec<u8>>,
    /// The subsequent action.
    pub subsequent: Option<RicSubsequentAction>,
}
