//! What each consumer has: its requests, and the octets that are kept for them.

use std::collections::{BTreeSet, HashMap};

use super::Consumer;

#[derive(Debug, Default)]
struct Holding {
    places: BTreeSet<u32>,
    octets: usize,
}

/// Counts against quotas, and finds a consumer's requests when it leaves.
#[derive(Debug)]
pub(super) struct Holdings {
    max_requests: usize,
    max_octets: usize,
    of: HashMap<Consumer, Holding>,
}

impl Holdings {
    pub fn new(max_requests: usize, max_octets: usize) -> Self {
        Holdings { max_requests, max_octets, of: HashMap::new() }
    }

    /// Whether a consumer may have one more request, of so many octets.
    pub fn has_room(&self, consumer: Consumer, octets: usize) -> bool {
        let (requests, kept) = self.of.get(&consumer).map_or((0, 0), |h| (h.places.len(), h.octets));
        requests < self.max_requests && octets <= self.max_octets.saturating_sub(kept)
    }

    pub fn take(&mut self, consumer: Consumer, place: u32, octets: usize) {
        let holding = self.of.entry(consumer).or_default();
        if holding.places.insert(place) {
            holding.octets += octets;
        }
    }

    pub fn leave(&mut self, consumer: Consumer, place: u32, octets: usize) {
        let Some(holding) = self.of.get_mut(&consumer) else { return };
        if holding.places.remove(&place) {
            holding.octets -= octets;
        }
        if holding.places.is_empty() {
            self.of.remove(&consumer);
        }
    }

    /// What is kept for one of a consumer's requests has another size now.
    pub fn resize(&mut self, consumer: Consumer, before: usize, after: usize) {
        if let Some(holding) = self.of.get_mut(&consumer) {
            holding.octets = holding.octets - before + after;
        }
    }

    /// Whether a consumer may keep so many octets more.
    pub fn has_room_for(&self, consumer: Consumer, octets: usize) -> bool {
        let kept = self.of.get(&consumer).map_or(0, |holding| holding.octets);
        octets <= self.max_octets.saturating_sub(kept)
    }

    /// Forgets a consumer; gives back where its requests are, lowest first.
    pub fn forget(&mut self, consumer: Consumer) -> BTreeSet<u32> {
        self.of.remove(&consumer).unwrap_or_default().places
    }

    /// How many requests a consumer has.
    pub fn count(&self, consumer: Consumer) -> usize {
        self.of.get(&consumer).map_or(0, |holding| holding.places.len())
    }
}
