//! The table of a cell's UEs. Indices are reused: the number of UEs over time is unbounded, the number at a time is not.

use std::collections::VecDeque;
use std::time::Duration;

use super::UeCounts;
use crate::Time;
use crate::ue::{Subscription, Ue};

/// The UE indices of a cell. When each is occupied, or was released within [`INDEX_REUSE_DELAY`], no UE can arrive.
pub const MAX_UES_PER_CELL: usize = 4096;

/// How long an index stays unused after its UE has departed, so that late messages about that UE do not reach another one.
pub const INDEX_REUSE_DELAY: Duration = Duration::from_secs(10);

/// The identity of a UE in a cell. The index alone may have belonged to another UE before; index and generation are unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UeEntry {
    /// Its index.
    pub index: usize,
    /// The number of UEs that had the index before.
    pub generation: u32,
    /// Its number in the network, never reused.
    pub number: u64,
    /// Its PLMN, slice and QoS class.
    pub subscription: Subscription,
}

#[derive(Debug)]
struct Slot {
    ue: Option<Box<Ue>>,
    entry: UeEntry,
    /// The counters of the departed UE.
    last: Option<Box<UeCounts>>,
}

/// The UE table of a cell.
#[derive(Debug, Default)]
pub(super) struct UeTable {
    slots: Vec<Slot>,
    /// By index: the time until which a UE needs no processing, unless an event or a caller changes it. Most UEs are idle in
    /// most slots, and the state of all of them exceeds the caches.
    idle_until: Vec<Time>,
    /// Released indices with the time of release, oldest first.
    free: VecDeque<(Time, usize)>,
    past: Vec<(Subscription, UeCounts)>,
}

impl UeTable {
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// The number of UEs. Each index without one is in `free`.
    pub fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The number of UEs that can arrive now.
    pub fn free_capacity(&self, now: Time) -> usize {
        let reusable = self.free.partition_point(|(left, _)| now.since(*left) >= INDEX_REUSE_DELAY);
        MAX_UES_PER_CELL - self.slots.len() + reusable
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &Ue)> {
        self.slots.iter().enumerate().filter_map(|(at, slot)| Some((at, slot.ue.as_deref()?)))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Ue)> {
        self.idle_until.fill(Time::START);
        self.slots.iter_mut().enumerate().filter_map(|(at, slot)| Some((at, slot.ue.as_deref_mut()?)))
    }

    /// The UEs that may need processing now. The caller updates the returned idle time of each.
    pub fn due(&mut self, now: Time) -> impl Iterator<Item = (usize, &mut Ue, &mut Time)> {
        let all = self.slots.iter_mut().zip(&mut self.idle_until).enumerate();
        all.filter_map(move |(at, (slot, idle_until))| {
            if *idle_until > now {
                debug_assert!(
                    slot.ue.as_deref().is_none_or(|ue| ue.idle_until() > now),
                    "UE {at} needs processing but is marked idle"
                );
                return None;
            }
            Some((at, slot.ue.as_deref_mut()?, idle_until))
        })
    }

    pub fn ue(&self, index: usize) -> Option<&Ue> {
        self.slots.get(index)?.ue.as_deref()
    }

    /// A UE for access that leaves its idle time as it is.
    pub fn ue_unchanged(&mut self, index: usize) -> Option<&mut Ue> {
        self.slots.get_mut(index)?.ue.as_deref_mut()
    }

    /// A UE for a change: it is processed in the next slot.
    pub fn ue_mut(&mut self, index: usize) -> Option<&mut Ue> {
        let ue = self.slots.get_mut(index)?.ue.as_deref_mut()?;
        self.idle_until[index] = Time::START;
        Some(ue)
    }

    pub fn ue_entry(&self, index: usize) -> &UeEntry {
        &self.slots[index].entry
    }

    /// The counters of the departed UE of an index.
    pub fn last(&self, index: usize) -> Option<&UeCounts> {
        self.slots.get(index)?.last.as_deref()
    }

    pub fn departed_counts(&self) -> &[(Subscription, UeCounts)] {
        &self.past
    }

    /// Adds a UE at the index that has been free for longest, else at a new one.
    pub fn take(&mut self, ue: Box<Ue>, now: Time) -> usize {
        let (number, subscription) = (ue.number(), *ue.subscription());
        if let Some((_, at)) = self.free.front().copied().filter(|(left, _)| now.since(*left) >= INDEX_REUSE_DELAY) {
            self.free.pop_front();
            let slot = &mut self.slots[at];
            let generation = slot.entry.generation.wrapping_add(1);
            let before = std::mem::replace(&mut slot.entry, UeEntry { index: at, generation, number, subscription });
            slot.ue = Some(ue);
            self.idle_until[at] = Time::START;
            if let Some(counts) = slot.last.take() {
                self.add_departed(before.subscription, *counts);
            }
            return at;
        }
        let at = self.slots.len();
        assert!(at < MAX_UES_PER_CELL, "a UE arrives in a full cell");
        let entry = UeEntry { index: at, generation: 0, number, subscription };
        self.slots.push(Slot { ue: Some(ue), entry, last: None });
        self.idle_until.push(Time::START);
        at
    }

    /// Removes a UE and keeps its counters.
    pub fn release(&mut self, at: usize, counts: UeCounts, now: Time) -> Option<Box<Ue>> {
        let slot = self.slots.get_mut(at)?;
        let ue = slot.ue.take()?;
        slot.last = Some(Box::new(counts));
        self.idle_until[at] = Time::NEVER;
        self.free.push_back((now, at));
        Some(ue)
    }

    /// Adds the counters of a departed UE to the sum of its subscription. A network has few distinct subscriptions.
    fn add_departed(&mut self, subscription: Subscription, counts: UeCounts) {
        match self.past.iter_mut().find(|(there, _)| *there == subscription) {
            Some((_, sum)) => *sum += counts,
            None => self.past.push((subscription, counts)),
        }
    }
}
