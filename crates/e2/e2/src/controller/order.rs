//! What a consumer asks for when it subscribes, and how that may end.

use e2ap::{RicActionId, RicActionType, RicSubsequentAction, RicTimeToWait, Version};

use crate::SubscriptionTimes;
use crate::change::{MAX_ACTIONS, twice};

/// What to subscribe to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubscriptionSpec {
    /// The service model's event trigger definition.
    pub event_trigger: Vec<u8>,
    /// One to 16 actions with different ids.
    pub actions: Vec<Action>,
}

impl SubscriptionSpec {
    /// Octets that are kept of it.
    pub(super) fn octets(&self) -> usize {
        let definitions = self.actions.iter().map(|action| action.definition.as_ref().map_or(0, Vec::len));
        self.event_trigger.len() + definitions.sum::<usize>()
    }

    /// Whether `version` can carry it, and it makes sense.
    pub(super) fn is_sound(&self, version: Version) -> bool {
        let twice = twice(self.actions.iter().map(|action| action.id));
        let zero = |action: &Action| action.subsequent.is_some_and(|s| s.time_to_wait == RicTimeToWait::Zero);
        // v2 took zero away
        let impossible = version >= Version::V2_03 && self.actions.iter().any(zero);
        (1..=MAX_ACTIONS).contains(&self.actions.len()) && !twice && !impossible
    }
}

/// What a consumer asks for: what to subscribe to, and on which terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionOrder {
    /// What to subscribe to.
    pub spec: SubscriptionSpec,
    /// From when to when; at once and without end unless said otherwise. Who asks for times shares with nobody.
    pub times: SubscriptionTimes,
    /// Whether it comes back by itself after its node was lost. It does unless said otherwise.
    pub restore: bool,
    /// Places of actions in the order in which the node carries them out, each action once at most; lower ones go first.
    /// E2AP has this from v3 on. Who asks for an order shares with nobody. None unless said otherwise.
    pub execution_order: Vec<(RicActionId, u8)>,
    /// Whether its consumer is asked before the RIC agrees to a change that the node requires: [`Event::ChangeRequired`](super::Event::ChangeRequired)
    /// asks. Who wants this shares with nobody. It is not asked unless said otherwise.
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
    /// Its name within the subscription.
    pub id: RicActionId,
    /// Report, insert or policy.
    pub kind: RicActionType,
    /// The service model's action definition.
    pub definition: Option<Vec<u8>>,
    /// What the node does afterwards.
    pub subsequent: Option<RicSubsequentAction>,
}
