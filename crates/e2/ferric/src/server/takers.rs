//! Who takes which subscription, among the xApps of one loop.
//!
//! Kept by what the xApps are told, in the order in which they are told it: so none gets an indication of a subscription
//! before it hears that it stands, or after it hears that it ended, however late the loops of nodes learn of it.

use std::collections::{HashMap, HashSet};

use e2::xapp::Taking;
use e2::{AssocId, SubscriptionId};

#[derive(Default)]
pub(super) struct Takers {
    /// By subscription.
    takers: Vec<Vec<AssocId>>,
    taken: HashMap<AssocId, HashSet<SubscriptionId>>,
}

impl Takers {
    #[inline]
    pub fn of(&self, subscription: SubscriptionId) -> &[AssocId] {
        self.takers.get(subscription.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// An xApp is told of a change.
    pub fn change(&mut self, xapp: AssocId, taking: Taking) {
        match taking {
            Taking::Begins(subscription) => {
                let at = subscription.0 as usize;
                if at >= self.takers.len() {
                    self.takers.resize_with(at + 1, Vec::new);
                }
                // one that came back with its node may be told of again
                if self.taken.entry(xapp).or_default().insert(subscription) {
                    self.takers[at].push(xapp);
                }
            }
            Taking::Ends(subscription) => {
                self.leave(xapp, subscription);
                if let Some(taken) = self.taken.get_mut(&xapp) {
                    taken.remove(&subscription);
                }
            }
        }
    }

    /// An xApp is gone.
    pub fn forget(&mut self, xapp: AssocId) {
        for subscription in self.taken.remove(&xapp).into_iter().flatten() {
            self.leave(xapp, subscription);
        }
    }

    fn leave(&mut self, xapp: AssocId, subscription: SubscriptionId) {
        if let Some(takers) = self.takers.get_mut(subscription.0 as usize) {
            takers.retain(|other| *other != xapp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takers_come_and_go_as_they_are_told() {
        let mut takers = Takers::default();
        let (one, two) = (AssocId(1), AssocId(2));
        let (a, b) = (SubscriptionId(0), SubscriptionId(300));
        assert_eq!(takers.of(b), []);
        for (xapp, subscription) in [(one, a), (one, b), (two, b)] {
            takers.change(xapp, Taking::Begins(subscription));
        }
        // told again, as of a subscription that came back with its node
        takers.change(one, Taking::Begins(b));
        assert_eq!((takers.of(a), takers.of(b)), (&[one][..], &[one, two][..]));
        takers.change(one, Taking::Ends(b));
        takers.change(two, Taking::Ends(a)); // which it never had
        assert_eq!((takers.of(a), takers.of(b)), (&[one][..], &[two][..]));
        takers.change(one, Taking::Begins(b));
        takers.forget(one);
        assert_eq!((takers.of(a), takers.of(b)), (&[][..], &[two][..]));
        takers.forget(one);
    }
}
