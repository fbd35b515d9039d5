//! Who takes which subscription, among the xApps of one loop.
//!
//! Kept by what the xApps are told, in the order in which they are told it: so none gets an indication of a subscription
//! before it hears that it stands, or after it hears that it ended, however late the loops of nodes learn of it.

use std::collections::{HashMap, HashSet};

use e2::xapp::Taking;
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

    /// An xApp is told of a change.
    pub fn change(&mut self, xapp: AssocId, taking: Taking) {
        match taking {
            Taking::Begins(subscription) => {
                let at = subscription.0 as usize;
                if at >= self.subscribers.len() {
                    self.subscribers.resize_with(at + 1, Vec::new);
                }
                // one that came back with its node may be told of again
                if self.by_xapp.entry(xapp).or_default().insert(subscription) {
                    self.subscribers[at].push(xapp);
                }
            }
            Taking::Ends(subscription) => {
                self.leave(xapp, subscription);
                if let Some(by_xapp) = self.by_xapp.get_mut(&xapp) {
                    by_xapp.remove(&subscription);
                }
            }
        }
    }

    /// An xApp is gone.
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
    fn takers_come_and_go_as_they_are_told() {
        let mut subscribers = SubscriberTable::default();
        let (one, two) = (AssocId(1), AssocId(2));
        let (a, b) = (SubscriptionId(0), SubscriptionId(300));
        assert_eq!(subscribers.of(b), []);
        for (xapp, subscription) in [(one, a), (one, b), (two, b)] {
            subscribers.change(xapp, Taking::Begins(subscription));
        }
        // told again, as of a subscription that came back with its node
        subscribers.change(one, Taking::Begins(b));
        assert_eq!((subscribers.of(a), subscribers.of(b)), (&[one][..], &[one, two][..]));
        subscribers.change(one, Taking::Ends(b));
        subscribers.change(two, Taking::Ends(a)); // which it never had
        assert_eq!((subscribers.of(a), subscribers.of(b)), (&[one][..], &[two][..]));
        subscribers.change(one, Taking::Begins(b));
        subscribers.forget(one);
        assert_eq!((subscribers.of(a), subscribers.of(b)), (&[][..], &[two][..]));
        subscribers.forget(one);
    }
}
