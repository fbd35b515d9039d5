//! The xApps of one loop by subscription.
//!
//! Updated by the messages to the xApps, in their order: so an xApp gets no indication of a subscription before the
//! message that it is set up or after the message that it ended, however late the loops of nodes learn of it.

use std::collections::{HashMap, HashSet};

use e2::xapp::DeliveryChange;
use e2::{AssocId, SubscriptionId};

#[derive(Default)]
pub(super) struct SubscriberTable {
    /// By subscription.
    subscribers: Vec<Vec<AssocId>>,
    by_xapp: HashMap<AssocId, HashSet<SubscriptionId>>,
}

impl SubscriberTable {
    #[inline]
    pub fn of(&self, subscription: SubscriptionId) -> &[AssocId] {
        self.subscribers.get(subscription.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// Applies a message to an xApp that begins or ends a subscription.
    pub fn change(&mut self, xapp: AssocId, taking: DeliveryChange) {
        match taking {
            DeliveryChange::Begins(subscription) => {
                let at = subscription.0 as usize;
                if at >= self.subscribers.len() {
                    self.subscribers.resize_with(at + 1, Vec::new);
                }
                // a subscription that was resumed is announced again
                if self.by_xapp.entry(xapp).or_default().insert(subscription) {
                    self.subscribers[at].push(xapp);
                }
            }
            DeliveryChange::Ends(subscription) => {
                self.leave(xapp, subscription);
                if let Some(by_xapp) = self.by_xapp.get_mut(&xapp) {
                    by_xapp.remove(&subscription);
                }
            }
        }
    }

    /// Removes an xApp.
    pub fn forget(&mut self, xapp: AssocId) {
        for subscription in self.by_xapp.remove(&xapp).into_iter().flatten() {
            self.leave(xapp, subscription);
        }
    }

    fn leave(&mut self, xapp: AssocId, subscription: SubscriptionId) {
        if let Some(subscribers) = self.subscribers.get_mut(subscription.0 as usize) {
            subscribers.retain(|other| *other != xapp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xapps_are_added_and_removed_by_their_messages() {
        let mut subscribers = SubscriberTable::default();
        let (one, two) = (AssocId(1), AssocId(2));
        let (a, b) = (SubscriptionId(0), SubscriptionId(300));
        assert_eq!(subscribers.of(b), []);
        for (xapp, subscription) in [(one, a), (one, b), (two, b)] {
            subscribers.change(xapp, DeliveryChange::Begins(subscription));
        }
        // announced again, like a subscription that was resumed
        subscribers.change(one, DeliveryChange::Begins(b));
        assert_eq!((subscribers.of(a), subscribers.of(b)), (&[one][..], &[one, two][..]));
        subscribers.change(one, DeliveryChange::Ends(b));
        subscribers.change(two, DeliveryChange::Ends(a)); // a subscription that it never had
        assert_eq!((subscribers.of(a), subscribers.of(b)), (&[one][..], &[two][..]));
        subscribers.change(one, DeliveryChange::Begins(b));
        subscribers.forget(one);
        assert_eq!((subscribers.of(a), subscribers.of(b)), (&[][..], &[two][..]));
        subscribers.forget(one);
    }
}
