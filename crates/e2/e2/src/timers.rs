//! A queue of deadlines, earliest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Time;

/// Deadlines that may be obsolete when they pass: the receiver checks them.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    heap: BinaryHeap<Reverse<(Time, T)>>,
}

impl<T: Ord> Default for Timers<T> {
    fn default() -> Self {
        Timers { heap: BinaryHeap::new() }
    }
}

impl<T: Ord> Timers<T> {
    /// Adds a deadline. If the queue holds more than twice the `live` ones, the obsolete ones, for which `is_current` returns
    /// false, are removed first, so that many short-lived requests do not accumulate.
    pub fn set(&mut self, at: Time, what: T, live: usize, mut is_current: impl FnMut(&T) -> bool) {
        if self.heap.len() >= 2 * live + 64 {
            self.heap.retain(|Reverse((_, what))| is_current(what));
        }
        self.heap.push(Reverse((at, what)));
    }

    /// Returns the earliest deadline.
    pub fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Removes and returns the earliest deadline that has passed.
    pub fn pop(&mut self, now: Time) -> Option<T> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, what))| what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn obsolete_deadlines_do_not_accumulate() {
        let mut timers = Timers::default();
        for number in 0..100_000u64 {
            timers.set(Time::from_nanos(1_000_000 + number), number, 10, |other| number - other <= 10);
            assert!(timers.heap.len() <= 84);
        }
        let left: Vec<_> = std::iter::from_fn(|| timers.pop(Time::from_nanos(u64::MAX))).collect();
        assert!(left.is_sorted(), "earliest first");
        assert!((99_990..100_000).all(|number| left.contains(&number)), "valid deadlines stay");
    }
}
