//! The UEs that each controller of a node sees (FlexRIC paper, 4.1.2).
//!
//! The first controller of a node sees every UE. Any other sees the UEs that were exposed to it. The node itself
//! cannot decide this: the owner of a UE may be known elsewhere only (a DU never learns the PLMN that a UE selected),
//! so that a controller or the host exposes UEs.

use std::collections::{BTreeSet, HashMap};

/// A UE, by a number that the base station assigns on arrival and never reuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ue(pub u64);

/// Identifies a controller within its event loop. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControllerId(pub u32);

/// The most UEs that may be exposed to one controller at a time.
pub const MAX_EXPOSED_UES: usize = 65_536;

/// The UEs that each controller of a node sees.
#[derive(Clone, Debug, Default)]
pub struct Views {
    first: Option<ControllerId>,
    exposed: HashMap<ControllerId, BTreeSet<Ue>>,
}

/// The error when [`MAX_EXPOSED_UES`] UEs are exposed to a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyUes;

impl Views {
    /// Returns views in which one controller sees every UE, like the first controller of a node.
    #[must_use]
    pub fn with_first(controller: ControllerId) -> Self {
        Views { first: Some(controller), exposed: HashMap::new() }
    }

    /// Returns the controller that sees every UE: the first that was added, until it is removed.
    #[must_use]
    pub fn first(&self) -> Option<ControllerId> {
        self.first
    }

    /// Makes a controller the one that sees every UE.
    pub(super) fn set_first(&mut self, controller: ControllerId) {
        self.first = Some(controller);
    }

    /// Returns whether a controller sees a UE.
    #[inline]
    #[must_use]
    pub fn sees(&self, controller: ControllerId, ue: Ue) -> bool {
        self.sees_all(controller) || self.exposed.get(&controller).is_some_and(|ues| ues.contains(&ue))
    }

    /// Returns whether a controller sees every UE.
    #[inline]
    #[must_use]
    pub fn sees_all(&self, controller: ControllerId) -> bool {
        self.first == Some(controller)
    }

    /// Exposes a UE to a controller. Returns `false` if it was exposed already.
    ///
    /// # Errors
    /// When [`MAX_EXPOSED_UES`] UEs are exposed to the controller.
    pub fn expose(&mut self, controller: ControllerId, ue: Ue) -> Result<bool, TooManyUes> {
        let ues = self.exposed.entry(controller).or_default();
        if ues.len() >= MAX_EXPOSED_UES && !ues.contains(&ue) {
            return Err(TooManyUes);
        }
        Ok(ues.insert(ue))
    }

    /// Hides a UE from a controller. Returns whether it was exposed. The first controller sees every UE in any case.
    pub fn hide(&mut self, controller: ControllerId, ue: Ue) -> bool {
        self.exposed.get_mut(&controller).is_some_and(|ues| ues.remove(&ue))
    }

    /// Returns the UEs that are exposed to a controller, by number.
    pub fn exposed(&self, controller: ControllerId) -> impl Iterator<Item = Ue> {
        self.exposed.get(&controller).into_iter().flatten().copied()
    }

    /// Removes a UE that has left.
    pub fn forget_ue(&mut self, ue: Ue) {
        self.exposed.values_mut().for_each(|ues| {
            ues.remove(&ue);
        });
    }

    /// Removes a controller. If it was the first, no controller sees every UE until the host names another: the loss
    /// of one controller must not extend the view of another.
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
    fn first_controller_sees_all_and_others_what_is_exposed() {
        let mut views = Views::default();
        views.set_first(FIRST);
        assert!(views.sees(FIRST, Ue(7)) && !views.sees(GUEST, Ue(7)));
        assert_eq!(views.expose(GUEST, Ue(7)), Ok(true));
        assert_eq!(views.expose(GUEST, Ue(7)), Ok(false), "exposed before");
        assert!(views.sees(GUEST, Ue(7)) && !views.sees(GUEST, Ue(8)));
        assert_eq!(views.exposed(GUEST).collect::<Vec<_>>(), [Ue(7)]);
        views.forget_ue(Ue(7));
        assert!(!views.sees(GUEST, Ue(7)) && !views.hide(GUEST, Ue(7)));
    }

    #[test]
    fn removal_of_the_first_controller_promotes_no_other() {
        let mut views = Views::default();
        views.set_first(FIRST);
        views.expose(GUEST, Ue(7)).unwrap();
        views.remove(FIRST);
        assert_eq!(views.first(), None);
        assert!(!views.sees(GUEST, Ue(8)) && views.sees(GUEST, Ue(7)));
    }

    #[test]
    fn number_of_exposed_ues_is_bounded() {
        let mut views = Views::default();
        for ue in 0..MAX_EXPOSED_UES as u64 {
            views.expose(GUEST, Ue(ue)).unwrap();
        }
        assert_eq!(views.expose(GUEST, Ue(u64::MAX)), Err(TooManyUes));
        assert_eq!(views.expose(GUEST, Ue(1)), Ok(false), "exposed before");
    }
}
