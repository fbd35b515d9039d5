//! Strict priority.

use super::{Candidates, Scheduler};

/// Strict priority: the ready queue of the highest priority.
pub(in crate::tc) struct Priority {
    /// Positions, highest priority first.
    order: Vec<usize>,
}

impl Priority {
    /// Creates the scheduler with a priority for each queue, lowest number first.
    pub(super) fn new(priorities: &[u32]) -> Self {
        let mut order: Vec<usize> = (0..priorities.len()).collect();
        order.sort_by_key(|index| priorities[*index]);
        Priority { order }
    }
}

impl Scheduler for Priority {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        self.order.iter().copied().find(|index| candidates.is_ready(*index))
    }
}
