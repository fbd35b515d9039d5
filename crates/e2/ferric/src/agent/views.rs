//! Which UEs a controller sees (FlexRIC paper, 4.1.2).
//!
//! The first controller of a node sees every UE. Any other sees those that were exposed to it: the node itself does not
//! know owner a UE is, since that may be decided elsewhere (a DU never learns of the PLMN that a UE selected), so a
//! controller tells it.

use std::collections::{BTreeSet, HashMap};

/// A UE, as the base station numbers it from its arrival to its leaving. A number is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ue(pub u64);

/// Names a controller within its loop, from when it was added; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControllerId(pub u32);

/// UEs that may be exposed to one controller at a time.
pub const MAX_EXPOSED_UES: usize = 65_536;

/// Which UEs each controller of a node sees.
#[derive(Clone, Debug, Default)]
pub struct Views {
    first: Option<ControllerId>,
    exposed: HashMap<ControllerId, BTreeSet<Ue>>,
}

/// As many UEs are exposed to a controller as may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyUes;

impl Views {
    /// Views in which one controller sees every UE, as the first of a node does.
    #[must_use]
    pub fn with_first(controller: ControllerId) -> Self {
        Views { first: Some(controller), exposed: HashMap::new() }
    }

    /// The controller that sees every UE: the one that was added first, as long as it is not removed.
    #[must_use]
    pub fn first(&self) -> Option<ControllerId> {
        self.first
    }

    /// Makes a controller the one that sees every UE.
    pub(super) fn set_first(&mut self, controller: ControllerId) {
        self.first = Some(controller);
    }

    /// Whether a controller sees a UE.
    #[inline]
    #[must_use]
    pub fn sees(&self, controller: ControllerId, ue: Ue) -> bool {
        self.sees_all(controller) || self.exposed.get(&controller).is_some_and(|ues| ues.contains(&ue))
    }

    /// Whether a controller sees every UE.
    #[inline]
    #[must_use]
    pub fn sees_all(&self, controller: ControllerId) -> bool {
        self.first == Some(controller)
    }

    /// Lets a controller see a UE. Whether it did not before.
    ///
    /// # Errors
    /// Where it sees [`MAX_EXPOSED_UES`] already.
    pub fn expose(&mut self, controller: ControllerId, ue: Ue) -> Result<bool, TooManyUes> {
        let ues = self.exposed.entry(controller).or_default();
        if ues.len() >= MAX_EXPOSED_UES && !ues.contains(&ue) {
            return Err(TooManyUes);
        }
        Ok(ues.insert(ue))
    }

    /// Hides a UE from a controller. Whether it was exposed; the first controller sees it all the same.
    pub fn hide(&mut self, controller: ControllerId, ue: Ue) -> bool {
        self.exposed.get_mut(&controller).is_some_and(|ues| ues.remove(&ue))
    }

    /// The UEs that were exposed to a controller, by number.
    pub fn exposed(&self, controller: ControllerId) -> impl Iterator<Item = Ue> {
        self.exposed.get(&controller).into_iter().flatten().copied()
    }

    /// A UE has left.
    pub fn forget_ue(&mut self, ue: Ue) {
        self.exposed.values_mut().for_each(|ues| {
            ues.remove(&ue);
        });
    }

    /// A controller is removed. If it was the first, nobody sees every UE until the host names another: a guest is not
    /// promoted by the loss of its host.
    pub(super) fn remove(&mut self, controller: ControllerId) {
        self.exposed.remove(&controller);
        if self.first == Some(controller) {
            self.first = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: ControllerId = ControllerId(1);
    const GUEST: ControllerId = ControllerId(2);

    #[test]
    fn the_first_sees_all_and_others_what_they_are_shown() {
        let mut views = Views::default();
        views.set_first(FIRST);
        assert!(views.sees(FIRST, Ue(7)) && !views.sees(GUEST, Ue(7)));
        assert_eq!(views.expose(GUEST, Ue(7)), Ok(true));
        assert_eq!(views.expose(GUEST, Ue(7)), Ok(false), "it did before");
        assert!(views.sees(GUEST, Ue(7)) && !views.sees(GUEST, Ue(8)));
        assert_eq!(views.exposed(GUEST).collect::<Vec<_>>(), [Ue(7)]);
        views.forget_ue(Ue(7));
        assert!(!views.sees(GUEST, Ue(7)) && !views.hide(GUEST, Ue(7)));
    }

    #[test]
    fn a_guest_is_not_promoted() {
        let mut views = Views::default();
        views.set_first(FIRST);
        views.expose(GUEST, Ue(7)).unwrap();
        views.remove(FIRST);
        assert_eq!(views.first(), None);
        assert!(!views.sees(GUEST, Ue(8)) && views.sees(GUEST, Ue(7)));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut views = Views::default();
        for ue in 0..MAX_EXPOSED_UES as u64 {
            views.expose(GUEST, Ue(ue)).unwrap();
        }
        assert_eq!(views.expose(GUEST, Ue(u64::MAX)), Err(TooManyUes));
        assert_eq!(views.expose(GUEST, Ue(1)), Ok(false), "it is there");
    }
}
