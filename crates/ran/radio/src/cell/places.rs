//! The places of a cell's UEs, which are given again: how many UEs come over the time has no bound, how many are there at
//! a time has one.

use std::collections::VecDeque;
use std::time::Duration;

use super::UeCounts;
use crate::Time;
use crate::ue::{Subscription, Ue};

/// Places of a cell. Where a UE is at each, or has left it within [`REST`], nobody else can come.
pub const MAX_PLACES: usize = 4096;

/// How long a place is nobody's after its UE has left, so that what is still said of that one is not taken for another.
pub const REST: Duration = Duration::from_secs(10);

/// A UE's stay in a cell. Its place may have been another's before, the place and the turn together never were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Its place.
    pub place: usize,
    /// How many had that place before.
    pub turn: u32,
    /// Its number in the network.
    pub number: u64,
    /// What it has chosen.
    pub subscription: Subscription,
}

#[derive(Debug)]
struct Place {
    ue: Option<Box<Ue>>,
    stay: Stay,
    /// What was counted of a UE that has left.
    last: Option<Box<UeCounts>>,
}

/// All places of a cell.
#[derive(Debug, Default)]
pub(super) struct Places {
    places: Vec<Place>,
    /// By place: until when a UE has nothing to do in a slot, unless something happens to it or somebody changes it. Most UEs
    /// are idle in most slots, and what all of them have is more than caches hold.
    idle_until: Vec<Time>,
    /// Those whose UE has left, and when, in the order of time.
    free: VecDeque<(Time, usize)>,
    past: Vec<(Subscription, UeCounts)>,
}

impl Places {
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// How many UEs could come now.
    pub fn room(&self, now: Time) -> usize {
        let rested = self.free.partition_point(|(left, _)| now.since(*left) >= REST);
        MAX_PLACES - self.places.len() + rested
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &Ue)> {
        self.places.iter().enumerate().filter_map(|(at, place)| Some((at, place.ue.as_deref()?)))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Ue)> {
        self.idle_until.fill(Time::START);
        self.places.iter_mut().enumerate().filter_map(|(at, place)| Some((at, place.ue.as_deref_mut()?)))
    }

    /// The UEs that may have something to do now; until when they have nothing more to do is to be written down.
    pub fn due(&mut self, now: Time) -> impl Iterator<Item = (usize, &mut Ue, &mut Time)> {
        let all = self.places.iter_mut().zip(&mut self.idle_until).enumerate();
        all.filter_map(move |(at, (place, idle_until))| {
            if *idle_until > now {
                debug_assert!(
                    place.ue.as_deref().is_none_or(|ue| ue.idle_until() > now),
                    "the UE at place {at} has something to do"
                );
                return None;
            }
            Some((at, place.ue.as_deref_mut()?, idle_until))
        })
    }

    pub fn ue(&self, place: usize) -> Option<&Ue> {
        self.places.get(place)?.ue.as_deref()
    }

    /// A UE that is asked something, and is as idle or busy as before.
    pub fn ask(&mut self, place: usize) -> Option<&mut Ue> {
        self.places.get_mut(place)?.ue.as_deref_mut()
    }

    /// A UE to which something happens: it is looked at in the next slot.
    pub fn ue_mut(&mut self, place: usize) -> Option<&mut Ue> {
        let ue = self.places.get_mut(place)?.ue.as_deref_mut()?;
        self.idle_until[place] = Time::START;
        Some(ue)
    }

    pub fn stay(&self, place: usize) -> &Stay {
        &self.places[place].stay
    }

    /// What was counted of the UE that has left a place.
    pub fn last(&self, place: usize) -> Option<&UeCounts> {
        self.places.get(place)?.last.as_deref()
    }

    pub fn past(&self) -> &[(Subscription, UeCounts)] {
        &self.past
    }

    /// A UE comes: the place that has been free for longest is its own, or else a new one.
    pub fn take(&mut self, ue: Box<Ue>, now: Time) -> usize {
        let (number, subscription) = (ue.number(), *ue.subscription());
        if let Some((_, at)) = self.free.front().copied().filter(|(left, _)| now.since(*left) >= REST) {
            self.free.pop_front();
            let place = &mut self.places[at];
            let turn = place.stay.turn.wrapping_add(1);
            let before = std::mem::replace(&mut place.stay, Stay { place: at, turn, number, subscription });
            place.ue = Some(ue);
            self.idle_until[at] = Time::START;
            if let Some(counts) = place.last.take() {
                self.remember(before.subscription, *counts);
            }
            return at;
        }
        let at = self.places.len();
        assert!(at < MAX_PLACES, "a UE comes to a cell that has no room");
        let stay = Stay { place: at, turn: 0, number, subscription };
        self.places.push(Place { ue: Some(ue), stay, last: None });
        self.idle_until.push(Time::START);
        at
    }

    /// A UE leaves.
    pub fn release(&mut self, at: usize, counts: UeCounts, now: Time) -> Option<Box<Ue>> {
        let place = self.places.get_mut(at)?;
        let ue = place.ue.take()?;
        place.last = Some(Box::new(counts));
        self.idle_until[at] = Time::NEVER;
        self.free.push_back((now, at));
        Some(ue)
    }

    /// One sum for all that have chosen the same: a network has a few such choices, however many UEs come.
    fn remember(&mut self, subscription: Subscription, counts: UeCounts) {
        match self.past.iter_mut().find(|(there, _)| *there == subscription) {
            Some((_, sum)) => *sum += counts,
            None => self.past.push((subscription, counts)),
        }
    }
}
