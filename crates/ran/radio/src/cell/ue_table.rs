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
    pub place: usize,
    /// How many UEs had that index before.
    pub generation: u32,
    /// Its number in the network, never reused.
    pub number: u64,
    /// Its PLMN, slice and QoS class.
    pub subscription: Subscription,
}

#[derive(Debug)]
struct Place {
    ue: Option<Box<Ue>>,
    stay: UeEntry,
    /// The counters of the departed UE.
    last: Option<Box<UeCounts>>,
}

/// The UE table of a cell.
#[derive(Debug, Default)]
pub(super) struct UeTable {
    places: Vec<Place>,
    /// By index: the time until which a UE needs no processing, unless an event or a caller changes it. Most UEs are idle in
    /// most slots, and the state of all of them exceeds the caches.
    idle_until: Vec<Time>,
    /// Released indices with the time of release, oldest first.
    free: VecDeque<(Time, usize)>,
    past: Vec<(Subscription, UeCounts)>,
}

impl UeTable {
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// How many UEs can arrive now.
    pub fn free_capacity(&self, now: Time) -> usize {
        let rested = self.free.partition_point(|(left, _)| now.since(*left) >= INDEX_REUSE_DELAY);
        MAX_UES_PER_CELL - self.places.len() + rested
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &Ue)> {
        self.places.iter().enumerate().filter_map(|(at, place)| Some((at, place.ue.as_deref()?)))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Ue)> {
        self.idle_until.fill(Time::START);
        self.places.iter_mut().enumerate().filter_map(|(at, place)| Some((at, place.ue.as_deref_mut()?)))
    }

    /// The UEs that may need processing now. The caller updates the returned idle time of each.
    pub fn due(&mut self, now: Time) -> impl Iterator<Item = (usize, &mut Ue, &mut Time)> {
        let all = self.places.iter_mut().zip(&mut self.idle_until).enumerate();
        all.filter_map(move |(at, (place, idle_until))| {
            if *idle_until > now {
                debug_assert!(
                    place.ue.as_deref().is_none_or(|ue| ue.idle_until() > now),
                    "UE {at} needs processing but is marked idle"
                );
                return None;
            }
            Some((at, place.ue.as_deref_mut()?, idle_until))
        })
    }

    pub fn ue(&self, place: usize) -> Option<&Ue> {
        self.places.get(place)?.ue.as_deref()
    }

    /// A UE for access that leaves its idle time as it is.
    pub fn ue_unchanged(&mut self, place: usize) -> Option<&mut Ue> {
        self.places.get_mut(place)?.ue.as_deref_mut()
    }

    /// A UE for a change: it is processed in the next slot.
    pub fn ue_mut(&mut self, place: usize) -> Option<&mut Ue> {
        let ue = self.places.get_mut(place)?.ue.as_deref_mut()?;
        self.idle_until[place] = Time::START;
        Some(ue)
    }

    pub fn ue_entry(&self, place: usize) -> &UeEntry {
        &self.places[place].stay
    }

    /// The counters of the departed UE of an index.
    pub fn last(&self, place: usize) -> Option<&UeCounts> {
        self.places.get(place)?.last.as_deref()
    }

    pub fn departed_counts(&self) -> &[(Subscription, UeCounts)] {
        &self.past
    }

    /// Adds a UE at the index that has been free for longest, else at a new one.
    pub fn take(&mut self, ue: Box<Ue>, now: Time) -> usize {
        let (number, subscription) = (ue.number(), *ue.subscription());
        if let Some((_, at)) = self.free.front().copied().filter(|(left, _)| now.since(*left) >= INDEX_REUSE_DELAY) {
            self.free.pop_front();
            let place = &mut self.places[at];
            let turn = place.stay.generation.wrapping_add(1);
            let before =
                std::mem::replace(&mut place.stay, UeEntry { place: at, generation: turn, number, subscription });
            place.ue = Some(ue);
            self.idle_until[at] = Time::START;
            if let Some(counts) = place.last.take() {
                self.add_departed(before.subscription, *counts);
            }
            return at;
        }
        let at = self.places.len();
        assert!(at < MAX_UES_PER_CELL, "a UE arrives in a full cell");
        let stay = UeEntry { place: at, generation: 0, number, subscription };
        self.places.push(Place { ue: Some(ue), stay, last: None });
        self.idle_until.push(Time::START);
        at
    }

    /// Removes a UE and keeps its counters.
    pub fn release(&mut self, at: usize, counts: UeCounts, now: Time) -> Option<Box<Ue>> {
        let place = self.places.get_mut(at)?;
        let ue = place.ue.take()?;
        place.last = Some(Box::new(counts));
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
