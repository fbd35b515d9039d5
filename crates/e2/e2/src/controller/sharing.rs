//! The index of subscriptions that other consumers may share.

use std::collections::HashMap;
use std::sync::Arc;

use e2ap::{RanFunctionId, RicActionType};

use super::ids::NodeId;
use super::records::Subscription;
use super::spec::SubscriptionSpec;

#[derive(Debug, PartialEq, Eq, Hash)]
struct ShareKey {
    node: NodeId,
    function: RanFunctionId,
    spec: Arc<SubscriptionSpec>,
}

/// The maximum number of equal subscriptions in the index. A search through all that a consumer may have would delay every
/// other consumer.
const MAX_EQUAL: usize = 16;

/// The slots of requested and active subscriptions by node, function and spec. Those being deleted are not listed.
#[derive(Debug, Default)]
pub(super) struct SharingIndex {
    places: HashMap<ShareKey, Vec<u32>>,
}

impl SharingIndex {
    /// Whether a spec can be shared: only reports can. An insert needs one consumer to answer, a policy one owner.
    pub fn allows(spec: &SubscriptionSpec) -> bool {
        spec.actions.iter().all(|action| action.kind == RicActionType::Report)
    }

    /// Returns the slots of equal subscriptions, oldest first.
    pub fn find(&self, node: NodeId, function: RanFunctionId, spec: &Arc<SubscriptionSpec>) -> &[u32] {
        self.places.get(&ShareKey { node, function, spec: spec.clone() }).map_or(&[], Vec::as_slice)
    }

    /// Adds a subscription, unless there are too many equal ones.
    pub fn add(&mut self, node: NodeId, function: RanFunctionId, spec: &Arc<SubscriptionSpec>, place: u32) {
        let places = self.places.entry(ShareKey { node, function, spec: spec.clone() }).or_default();
        if places.len() < MAX_EQUAL {
            places.push(place);
        }
    }

    /// Removes a subscription, if it is listed.
    pub fn remove(&mut self, subscription: &Subscription, place: u32) {
        let Subscription { node, function, ref spec, .. } = *subscription;
        let what = ShareKey { node, function, spec: spec.clone() };
        if let Some(places) = self.places.get_mut(&what) {
            places.retain(|other| *other != place);
            if places.is_empty() {
                self.places.remove(&what);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_subscriptions_are_bounded() {
        let (mut sharing, spec) =
            (SharingIndex::default(), Arc::new(SubscriptionSpec { event_trigger: vec![], actions: vec![] }));
        for place in 0..10_000 {
            sharing.add(NodeId(1), RanFunctionId(2), &spec, place);
        }
        sharing.add(NodeId(2), RanFunctionId(2), &spec, 10_000);
        assert_eq!(sharing.find(NodeId(1), RanFunctionId(2), &spec), (0..16).collect::<Vec<_>>(), "the oldest");
        assert_eq!(sharing.find(NodeId(2), RanFunctionId(2), &spec), [10_000]);
    }
}
