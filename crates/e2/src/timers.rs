//! Deadlines, earliest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Time;

/// Deadlines of things that may be gone when they pass: whoever is told checks.
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
    pub fn set(&mut self, at: Time, what: T) {
        self.heap.push(Reverse((at, what)));
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// The earliest deadline that has passed.
    pub fn pop(&mut self, now: Time) -> Option<T> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, what))| what)
    }
}
