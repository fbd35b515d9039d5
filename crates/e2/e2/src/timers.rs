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

    /// Returns the earliest deadline for which `is_current` returns true, and removes the obsolete ones before it: a loop without a
    /// deadline need not set a timer of the kernel each time it sleeps.
    pub fn next_current(&mut self, mut is_current: impl FnMut(&T) -> bool) -> Option<Time> {
        while let Some(Reverse((at, what))) = self.heap.peek() {
            if is_current(what) {
                return Some(*at);
            }
            self.heap.pop();
        }
        None
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
    fn obsolete_deadlines_are_not_waited_for() {
        let mut timers = Timers::default();
        for number in 0..10u64 {
            timers.set(Time::from_nanos(number), number, 10, |_| true);
        }
        assert_eq!(timers.next_current(|number| *number >= 7), Some(Time::from_nanos(7)));
        assert_eq!(timers.next_current(|_| false), None);
        assert_eq!(timers.next(), None, "obsolete deadlines are removed");
    }

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
