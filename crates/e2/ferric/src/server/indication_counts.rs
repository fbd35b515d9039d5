//! What each event loop has counted of the indications of each subscription.
//!
//! A loop alone writes its counters, without a lock and without an atomic read-modify-write; the main loop adds those of all
//! loops when somebody asks. Counters of a subscription begin when it is set up, although its id was used before.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use e2::{SubscriptionId, Time};

/// Counters are allocated in blocks of this many.
const BLOCK: usize = 128;

/// What was received for a subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionCounters {
    /// Indications.
    pub indications: u64,
    /// Octets of their PDUs.
    pub octets: u64,
    /// Reports that were dropped since xApps read too slowly, for each xApp that lost one. Those of FlexRIC's xApps are not among
    /// them.
    pub dropped_reports: u64,
    /// When the newest one was read from its link; `None` if there was none.
    pub newest: Option<Time>,
}

/// The counters of a subscription in one loop.
#[derive(Default)]
struct Slot {
    indications: AtomicU64,
    octets: AtomicU64,
    dropped_reports: AtomicU64,
    newest_ns: AtomicU64,
}

type Block = [Slot; BLOCK];
/// The counters of one loop, for the main loop.
#[derive(Clone, Default)]
pub(super) struct LoopCounts(Arc<Mutex<Vec<Arc<Block>>>>);

/// The counters of one loop, which writes them.
#[derive(Default)]
pub(super) struct IndicationCounter {
    blocks: Vec<Arc<Block>>,
    shared: LoopCounts,
}

impl IndicationCounter {
    /// Returns what the main loop reads.
    pub fn counts(&self) -> LoopCounts {
        self.shared.clone()
    }

    /// Counts an indication of `octets` that was read at `now`.
    #[inline]
    pub fn count(&mut self, subscription: SubscriptionId, octets: usize, now: Time) {
        let slot = self.slot(subscription);
        add(&slot.indications, 1);
        add(&slot.octets, octets as u64);
        slot.newest_ns.store(now.as_nanos(), Ordering::Relaxed);
    }

    /// Counts reports that were dropped on the way to an xApp.
    pub fn count_dropped(&mut self, subscription: SubscriptionId, reports: u64) {
        add(&self.slot(subscription).dropped_reports, reports);
    }

    #[inline]
    fn slot(&mut self, subscription: SubscriptionId) -> &Slot {
        let at = subscription.0 as usize;
        if at / BLOCK >= self.blocks.len() {
            self.extend(at / BLOCK + 1);
        }
        &self.blocks[at / BLOCK][at % BLOCK]
    }

    #[cold]
    fn extend(&mut self, blocks: usize) {
        self.blocks.resize_with(blocks, || Arc::new(std::array::from_fn(|_| Slot::default())));
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&self.blocks);
    }
}

/// Adds to a counter that only this loop writes.
#[inline]
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

/// The counters of all loops, as the main loop reads them.
pub(super) struct IndicationCounts {
    loops: Vec<LoopCounts>,
    /// By subscription: when it was requested, and what was counted under its id before.
    began: HashMap<SubscriptionId, (Time, SubscriptionCounters)>,
}

impl IndicationCounts {
    /// Returns the sum of these loops.
    pub fn new(loops: Vec<LoopCounts>) -> Self {
        IndicationCounts { loops, began: HashMap::new() }
    }

    /// Notes that a node has confirmed a subscription, requested at `requested`: what was counted before belongs to others of
    /// the same id. To be repeated at will.
    pub fn begin(&mut self, subscription: SubscriptionId, requested: Time) {
        if self.began.get(&subscription).is_none_or(|(known, _)| *known != requested) {
            self.began.insert(subscription, (requested, self.sum(subscription)));
        }
    }

    /// Returns what was counted for a subscription that was requested at `requested`.
    pub fn of(&self, subscription: SubscriptionId, requested: Time) -> SubscriptionCounters {
        let Some((_, before)) = self.began.get(&subscription).filter(|(known, _)| *known == requested) else {
            return SubscriptionCounters::default();
        };
        let sum = self.sum(subscription);
        let indications = sum.indications.wrapping_sub(before.indications);
        SubscriptionCounters {
            indications,
            octets: sum.octets.wrapping_sub(before.octets),
            dropped_reports: sum.dropped_reports.wrapping_sub(before.dropped_reports),
            newest: sum.newest.filter(|_| indications > 0),
        }
    }

    fn sum(&self, subscription: SubscriptionId) -> SubscriptionCounters {
        let at = subscription.0 as usize;
        let mut sum = SubscriptionCounters::default();
        for blocks in &self.loops {
            let blocks = blocks.0.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(slot) = blocks.get(at / BLOCK).map(|block| &block[at % BLOCK]) else { continue };
            let more = |sum: &mut u64, counter: &AtomicU64| {
                let counted = counter.load(Ordering::Relaxed);
                *sum = sum.wrapping_add(counted);
                counted > 0
            };
            more(&mut sum.octets, &slot.octets);
            more(&mut sum.dropped_reports, &slot.dropped_reports);
            if more(&mut sum.indications, &slot.indications) {
                sum.newest = sum.newest.max(Some(Time::from_nanos(slot.newest_ns.load(Ordering::Relaxed))));
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn counters_of_all_loops_are_added() {
        let (mut main, mut worker) = (IndicationCounter::default(), IndicationCounter::default());
        let mut counts = IndicationCounts::new(vec![main.counts(), worker.counts()]);
        let (low, high) = (SubscriptionId(0), SubscriptionId(1000));
        counts.begin(low, at(1));
        counts.begin(high, at(2));
        assert_eq!(counts.of(high, at(2)), SubscriptionCounters::default());
        main.count(low, 100, at(10));
        main.count(high, 1, at(11));
        worker.count(high, 20, at(30));
        worker.count(high, 300, at(31));
        main.count(low, 50, at(12));
        worker.count_dropped(low, 7);
        let of = |indications, octets, dropped_reports, newest| SubscriptionCounters {
            indications,
            octets,
            dropped_reports,
            newest: Some(at(newest)),
        };
        assert_eq!(counts.of(low, at(1)), of(2, 150, 7, 12));
        assert_eq!(counts.of(high, at(2)), of(3, 321, 0, 31));
        assert_eq!(counts.of(SubscriptionId(2), at(2)), SubscriptionCounters::default());
    }

    #[test]
    fn subscription_with_a_used_id_begins_with_zero() {
        let mut counter = IndicationCounter::default();
        let mut counts = IndicationCounts::new(vec![counter.counts()]);
        let id = SubscriptionId(7);
        counts.begin(id, at(1));
        counter.count(id, 100, at(10));
        counter.count_dropped(id, 1);
        // confirmed again after a loss of its node, or for another app
        counts.begin(id, at(1));
        assert_eq!(counts.of(id, at(1)).indications, 1);
        assert_eq!(counts.of(id, at(20)), SubscriptionCounters::default(), "requested again, and not confirmed yet");
        counts.begin(id, at(20));
        assert_eq!(counts.of(id, at(20)), SubscriptionCounters::default());
        counter.count(id, 30, at(25));
        assert_eq!(
            counts.of(id, at(20)),
            SubscriptionCounters { indications: 1, octets: 30, dropped_reports: 0, newest: Some(at(25)) }
        );
    }
}
