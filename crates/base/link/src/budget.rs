//! A bound of the memory that many links hold together.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A bound of the octets that the links that share it hold together: for unfinished PDUs
/// ([`Config::receive_budget`](crate::Config::receive_budget)) or in outboxes
/// ([`Config::send_budget`](crate::Config::send_budget)). Clones are the same budget.
///
/// A link may hold as much as stays free. So the one that holds most meets the bound first, a single link gets at most half
/// of the budget, and there is something left for the next one, however many there are.
#[derive(Clone)]
pub struct MemoryBudget(Arc<Shared>);

struct Shared {
    limit_octets: usize,
    used_octets: AtomicUsize,
}

impl MemoryBudget {
    /// Creates a budget of so many octets.
    #[must_use]
    pub fn new(limit_octets: usize) -> Self {
        MemoryBudget(Arc::new(Shared { limit_octets, used_octets: AtomicUsize::new(0) }))
    }

    /// Returns its bound.
    #[must_use]
    pub fn limit_octets(&self) -> usize {
        self.0.limit_octets
    }

    /// Returns the octets that all links hold now.
    #[must_use]
    pub fn used_octets(&self) -> usize {
        self.0.used_octets.load(Ordering::Relaxed)
    }

    /// Takes `more` octets for a link that holds `own`. Returns whether there is room.
    fn take(&self, own: usize, more: usize) -> bool {
        let limit = self.0.limit_octets;
        let fits = |used: usize| {
            let after = used.checked_add(more)?;
            (own + more <= limit.checked_sub(after)?).then_some(after)
        };
        self.0.used_octets.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    fn give_back(&self, octets: usize) {
        self.0.used_octets.fetch_sub(octets, Ordering::Relaxed);
    }
}

impl fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryBudget({} of {} octets)", self.used_octets(), self.limit_octets())
    }
}

/// Two budgets are equal if they are the same one.
impl PartialEq for MemoryBudget {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for MemoryBudget {}

/// What one buffer holds of a budget; given back on drop.
#[derive(Default)]
pub(crate) struct Held {
    budget: Option<MemoryBudget>,
    octets: usize,
}

impl Held {
    pub(crate) fn of(budget: Option<&MemoryBudget>) -> Self {
        Held { budget: budget.cloned(), octets: 0 }
    }

    /// Holds `more` octets more, if there is room.
    pub(crate) fn grow(&mut self, more: usize) -> bool {
        if let Some(budget) = &self.budget
            && more > 0
        {
            if !budget.take(self.octets, more) {
                return false;
            }
            self.octets += more;
        }
        true
    }

    /// Holds `octets` less.
    pub(crate) fn give_back(&mut self, octets: usize) {
        self.shrink_to(self.octets.saturating_sub(octets));
    }

    /// Holds at most `octets`.
    pub(crate) fn shrink_to(&mut self, octets: usize) {
        if let Some(budget) = &self.budget
            && octets < self.octets
        {
            budget.give_back(self.octets - octets);
            self.octets = octets;
        }
    }

    pub(crate) fn limit_octets(&self) -> usize {
        self.budget.as_ref().map_or(usize::MAX, MemoryBudget::limit_octets)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_that_holds_most_meets_the_bound_first() {
        let budget = MemoryBudget::new(1000);
        let (mut greedy, mut modest) = (Held::of(Some(&budget)), Held::of(Some(&budget)));
        while greedy.grow(10) {}
        assert_eq!(budget.used_octets(), 500);
        assert!(modest.grow(10) && !greedy.grow(1));
        assert!(!modest.grow(usize::MAX), "no overflow");
        drop(modest);
        greedy.shrink_to(100);
        assert_eq!(budget.used_octets(), 100);
        greedy.shrink_to(200);
        assert!(greedy.grow(300));
        drop(greedy);
        assert_eq!(budget.used_octets(), 0);
    }

    #[test]
    fn without_a_budget_nothing_is_bounded() {
        let mut held = Held::default();
        assert!(held.grow(usize::MAX / 2) && held.grow(usize::MAX / 2));
    }
}
