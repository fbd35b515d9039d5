//! The processor time of the event loops, and which loop has to give nodes to another one.
//!
//! A report that crosses loops wakes two of them, so that a second loop costs more than it saves while the first one has time left.
//! Therefore nodes are on the loop of their consumer until that loop is busy, and return when all loops have little to do.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use e2::{AssocId, Time};
use rustix::time::{ClockId, clock_gettime};

/// The most nodes that move at once.
const MOST_NODES: usize = 256;

/// When nodes move from one event loop to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopBalance {
    /// The interval of the measurements, each of which may have nodes move. Default: 250 ms.
    pub interval: Duration,
    /// The processor time of a loop, in percent of a core, beyond which it is busy: an eighth of its nodes move to the loop with the
    /// least time, if that has less than two thirds of it. They return once all loops together have less than a third of it. Default: 75.
    pub busy_percent: u8,
}

impl Default for LoopBalance {
    fn default() -> Self {
        LoopBalance { interval: Duration::from_millis(250), busy_percent: 75 }
    }
}

/// The processor time that a loop's thread has used, in nanoseconds, as it has stated last.
pub(super) type LoopTime = Arc<AtomicU64>;

/// States the processor time of a worker: a system call in some of its iterations.
pub(super) struct LoopTimer {
    time: LoopTime,
    interval: Duration,
    next: Time,
}

impl LoopTimer {
    pub fn new(balance: LoopBalance) -> Self {
        // the measurement of a busy loop lacks a tenth of the interval at most
        LoopTimer { time: LoopTime::default(), interval: balance.interval / 10, next: Time::from_nanos(0) }
    }

    pub fn time(&self) -> LoopTime {
        Arc::clone(&self.time)
    }

    /// To be called by the loop's thread in each iteration, after it has slept.
    #[inline]
    pub fn update(&mut self, now: Time) {
        if now >= self.next {
            self.next = now + self.interval;
            self.time.store(thread_time_ns(), Ordering::Relaxed);
        }
    }
}

/// The processor time of the calling thread, in nanoseconds.
pub(super) fn thread_time_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The shares of the loops.
pub(super) struct Balance {
    config: LoopBalance,
    measured: Time,
    spent_ns: Vec<u64>,
    /// Of a core, in thousandths.
    shares: Vec<u64>,
}

impl Balance {
    pub fn new(config: LoopBalance, loops: usize) -> Self {
        Balance { config, measured: Time::from_nanos(0), spent_ns: vec![0; loops], shares: vec![0; loops] }
    }

    /// Takes the processor time of each loop since its start, in nanoseconds.
    pub fn measure(&mut self, now: Time, spent_ns: impl Iterator<Item = u64>) {
        let passed_ns = (now - self.measured).as_nanos().max(1) as u64;
        self.measured = now;
        for ((before, share), spent_ns) in self.spent_ns.iter_mut().zip(&mut self.shares).zip(spent_ns) {
            *share = spent_ns.saturating_sub(*before).saturating_mul(1000) / passed_ns;
            *before = spent_ns;
        }
    }

    /// Returns whether a loop was busy in the last interval.
    pub fn is_busy(&self, event_loop: usize) -> bool {
        self.shares.get(event_loop).is_some_and(|share| *share > 10 * u64::from(self.config.busy_percent))
    }

    /// Returns the loop that had the least processor time in the last interval.
    pub fn least_busy(&self) -> usize {
        self.shares.iter().zip(0..).min().map_or(0, |(_, event_loop)| event_loop)
    }

    /// Returns whether all loops together had less than a third of the time of a busy one.
    pub fn is_quiet(&self) -> bool {
        3 * self.shares.iter().sum::<u64>() < 10 * u64::from(self.config.busy_percent)
    }

    /// Returns the loop that has to give nodes, the loop that takes them, and how many. `to_give` says how many a loop can give.
    pub fn shift(&self, to_give: impl Fn(usize) -> usize) -> Option<(usize, usize, usize)> {
        let (share, from) = self.shares.iter().zip(0..).filter(|(_, from)| to_give(*from) > 0).max()?;
        let to = self.least_busy();
        (self.is_busy(from) && 3 * self.shares[to] < 2 * share).then(|| (from, to, to_give(from)))
    }
}

/// Returns how many nodes a loop with so many nodes and xApps gives.
pub(super) fn nodes_to_move(nodes: usize, xapps: usize) -> usize {
    // one node without xApps would only make the other loop as busy
    if nodes + xapps < 2 { 0 } else { nodes.div_ceil(8).min(MOST_NODES) }
}

/// The nodes that have left a busy loop, with that loop.
#[derive(Default)]
pub(super) struct Displaced(HashMap<AssocId, usize>);

impl Displaced {
    /// Notes that a node leaves a loop for another one.
    pub fn insert(&mut self, node: AssocId, from: usize, to: usize) {
        if *self.0.entry(node).or_insert(from) == to {
            self.0.remove(&node);
        }
    }

    /// Forgets nodes that are not connected any more.
    pub fn retain(&mut self, is_connected: impl Fn(AssocId) -> bool) {
        self.0.retain(|node, _| is_connected(*node));
    }

    /// Removes and returns some of them.
    pub fn take_some(&mut self) -> Vec<(AssocId, usize)> {
        let some: Vec<_> = self.0.iter().take(MOST_NODES).map(|(node, home)| (*node, *home)).collect();
        for (node, _) in &some {
            self.0.remove(node);
        }
        some
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(shares_percent: &[u64]) -> Balance {
        let mut balance = Balance::new(LoopBalance::default(), shares_percent.len());
        // what was before does not count
        balance.measure(Time::from_nanos(1_000_000_000), shares_percent.iter().map(|_| 700_000_000));
        let spent = shares_percent.iter().map(|percent| 700_000_000 + percent * 10_000_000);
        balance.measure(Time::from_nanos(2_000_000_000), spent);
        balance
    }

    #[test]
    fn busy_loop_gives_nodes_to_the_least_busy_one() {
        let shift = |shares: &[u64]| measured(shares).shift(|_| 7);
        assert_eq!(shift(&[5, 90, 20]), Some((1, 0, 7)));
        assert_eq!(shift(&[80, 52]), Some((0, 1, 7)));
        assert_eq!(shift(&[10, 74]), None, "not busy");
        assert_eq!(shift(&[80, 60]), None, "both have much to do");
        assert_eq!(shift(&[0, 0]), None);
        // the busiest one has nothing to give
        assert_eq!(measured(&[95, 90, 5]).shift(|from| from), Some((1, 2, 1)));
    }

    #[test]
    fn loop_is_busy_by_its_last_interval() {
        let mut balance = measured(&[5, 90]);
        assert!(balance.is_busy(1) && !balance.is_busy(0) && !balance.is_busy(2));
        assert_eq!(balance.least_busy(), 0);
        balance.measure(Time::from_nanos(3_000_000_000), [1_600_000_000, 1_600_000_000].into_iter());
        assert!(!balance.is_busy(1), "it has had no time since");
        assert_eq!(balance.least_busy(), 1);
    }

    #[test]
    fn loops_with_little_to_do_are_quiet() {
        assert!(measured(&[10, 14]).is_quiet());
        assert!(!measured(&[10, 15]).is_quiet());
    }

    #[test]
    fn part_of_the_nodes_moves() {
        assert_eq!([(0, 1), (1, 0), (1, 1), (8, 0), (1000, 1)].map(|(n, x)| nodes_to_move(n, x)), [0, 0, 1, 1, 125]);
        assert_eq!(nodes_to_move(100_000, 1), MOST_NODES);
    }

    #[test]
    fn displaced_node_is_known_with_its_first_loop_until_it_is_there_again() {
        let mut displaced = Displaced::default();
        let node = |number| AssocId(number);
        displaced.insert(node(1), 1, 0);
        displaced.insert(node(1), 0, 2);
        displaced.insert(node(2), 1, 0);
        displaced.insert(node(3), 2, 0);
        displaced.insert(node(2), 0, 1);
        displaced.retain(|at| at != node(3));
        assert_eq!(displaced.take_some(), [(node(1), 1)]);
        assert_eq!(displaced.take_some(), []);
    }

    #[test]
    fn timer_states_the_time_of_its_thread() {
        let mut timer = LoopTimer::new(LoopBalance::default());
        let time = timer.time();
        timer.update(Time::from_nanos(0));
        let first = time.load(Ordering::Relaxed);
        let begun = thread_time_ns();
        while thread_time_ns() < begun + 1_000_000 {
            std::hint::spin_loop();
        }
        timer.update(Time::from_nanos(1000));
        assert_eq!(time.load(Ordering::Relaxed), first, "it is not yet time");
        timer.update(Time::from_nanos(25_000_000));
        assert!(time.load(Ordering::Relaxed) >= first + 1_000_000);
    }
}
