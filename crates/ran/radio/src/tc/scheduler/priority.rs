//! Strict priority.

use super::{Candidates, Scheduler};

/// From the queue of the highest priority.
pub(in crate::tc) struct Priority {
    /// Places, the most important first.
    order: Vec<usize>,
}

impl Priority {
    /// The priority of each queue, the lowest number first.
    pub(super) fn new(priorities: &[u32]) -> Self {
        let mut order: Vec<usize> = (0..priorities.len()).collect();
        order.sort_by_key(|place| priorities[*place]);
        Priority { order }
    }
}

impl Scheduler for Priority {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        self.order.iter().copied().find(|place| candidates.is_ready(*place))
    }
}
