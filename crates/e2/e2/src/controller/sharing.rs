//! Finds subscriptions that another consumer may share.

use std::collections::HashMap;
use std::sync::Arc;

use e2ap::{RanFunctionId, RicActionType};

use super::subscription::Subscription;
use super::{NodeId, SubscriptionSpec};

#[derive(Debug, PartialEq, Eq, Hash)]
struct What {
    node: NodeId,
    function: RanFunctionId,
    spec: Arc<SubscriptionSpec>,
}

/// Subscriptions about the same that are looked through for one to share. Nobody needs as many, and looking through all
/// that a consumer may have would hold up everybody.
const MAX_ALIKE: usize = 16;

/// Places of subscriptions that are asked for or stand, by what they are about. One that is being deleted is not here.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    places: HashMap<What, Vec<u32>>,
}

impl Sharing {
    /// Only reports are shared: an insert has one answerer, a policy one master.
    pub fn allows(spec: &SubscriptionSpec) -> bool {
        spec.actions.iter().all(|action| action.kind == RicActionType::Report)
    }

    /// Those about the same, oldest first.
    pub fn find(&self, node: NodeId, function: RanFunctionId, spec: &Arc<SubscriptionSpec>) -> &[u32] {
        self.places.get(&What { node, function, spec: spec.clone() }).map_or(&[], Vec::as_slice)
    }

    /// Offers one to be shared, unless there are many alike.
    pub fn add(&mut self, node: NodeId, function: RanFunctionId, spec: &Arc<SubscriptionSpec>, place: u32) {
        let places = self.places.entry(What { node, function, spec: spec.clone() }).or_default();
        if places.len() < MAX_ALIKE {
            places.push(place);
        }
    }

    /// Takes a subscription out, if it is here.
    pub fn remove(&mut self, subscription: &Subscription, place: u32) {
        let Subscription { node, function, ref spec, .. } = *subscription;
        let what = What { node, function, spec: spec.clone() };
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
    fn what_is_looked_through_is_bounded() {
        let (mut sharing, spec) =
            (Sharing::default(), Arc::new(SubscriptionSpec { event_trigger: vec![], actions: vec![] }));
        for place in 0..10_000 {
            sharing.add(NodeId(1), RanFunctionId(2), &spec, place);
        }
        sharing.add(NodeId(2), RanFunctionId(2), &spec, 10_000);
        assert_eq!(sharing.find(NodeId(1), RanFunctionId(2), &spec), (0..16).collect::<Vec<_>>(), "the oldest");
        assert_eq!(sharing.find(NodeId(2), RanFunctionId(2), &spec), [10_000]);
    }
}
