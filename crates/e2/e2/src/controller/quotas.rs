//! The quotas of consumers: their requests, and the octets stored for them.

use std::collections::{BTreeSet, HashMap};

use super::ids::Consumer;

#[derive(Debug, Default)]
struct Usage {
    places: BTreeSet<u32>,
    octets: usize,
}

/// The usage of each consumer against its quota, and the slots of its requests.
#[derive(Debug)]
pub(super) struct Quotas {
    max_requests: usize,
    max_octets: usize,
    of: HashMap<Consumer, Usage>,
}

impl Quotas {
    pub fn new(max_requests: usize, max_octets: usize) -> Self {
        Quotas { max_requests, max_octets, of: HashMap::new() }
    }

    /// Whether the quota admits one more request of `octets`.
    pub fn has_room(&self, consumer: Consumer, octets: usize) -> bool {
        let (requests, kept) = self.of.get(&consumer).map_or((0, 0), |h| (h.places.len(), h.octets));
        requests < self.max_requests && octets <= self.max_octets.saturating_sub(kept)
    }

    pub fn charge(&mut self, consumer: Consumer, place: u32, octets: usize) {
        let usage = self.of.entry(consumer).or_default();
        if usage.places.insert(place) {
            usage.octets += octets;
        }
    }

    pub fn release(&mut self, consumer: Consumer, place: u32, octets: usize) {
        let Some(usage) = self.of.get_mut(&consumer) else { return };
        if usage.places.remove(&place) {
            usage.octets -= octets;
        }
        if usage.places.is_empty() {
            self.of.remove(&consumer);
        }
    }

    /// Records that one of a consumer's requests has another size now.
    pub fn resize(&mut self, consumer: Consumer, before: usize, after: usize) {
        if let Some(usage) = self.of.get_mut(&consumer) {
            usage.octets = usage.octets - before + after;
        }
    }

    /// Whether the quota admits `octets` more.
    pub fn has_room_for(&self, consumer: Consumer, octets: usize) -> bool {
        let kept = self.of.get(&consumer).map_or(0, |usage| usage.octets);
        octets <= self.max_octets.saturating_sub(kept)
    }

    /// Drops a consumer and returns the slots of its requests, lowest first.
    pub fn forget(&mut self, consumer: Consumer) -> BTreeSet<u32> {
        self.of.remove(&consumer).unwrap_or_default().places
    }

    /// The number of requests of a consumer.
    pub fn count(&self, consumer: Consumer) -> usize {
        self.of.get(&consumer).map_or(0, |usage| usage.places.len())
    }
}
