//! The content of unanswered controls, kept for the log within a bound: each consumer has a share.

use std::collections::HashMap;

use super::ids::Consumer;

/// The octets kept of unanswered controls. A consumer may keep as much as stays free, so that one alone gets half of the bound, and
/// something is left for the next one.
#[derive(Debug)]
pub(super) struct KeptControls {
    limit_octets: usize,
    octets: usize,
    of: HashMap<Consumer, usize>,
}

impl KeptControls {
    pub fn new(limit_octets: usize) -> Self {
        KeptControls { limit_octets, octets: 0, of: HashMap::new() }
    }

    /// Whether a consumer may keep `octets` more.
    pub fn has_room(&self, consumer: Consumer, octets: usize) -> bool {
        let own = self.of.get(&consumer).copied().unwrap_or_default();
        let free = self.limit_octets.checked_sub(self.octets + octets);
        free.is_some_and(|free| own + octets <= free)
    }

    pub fn charge(&mut self, consumer: Consumer, octets: usize) {
        if octets > 0 {
            self.octets += octets;
            *self.of.entry(consumer).or_default() += octets;
        }
    }

    pub fn release(&mut self, consumer: Consumer, octets: usize) {
        let Some(own) = self.of.get_mut(&consumer) else { return };
        *own -= octets;
        self.octets -= octets;
        if *own == 0 {
            self.of.remove(&consumer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consumer_that_keeps_most_meets_the_bound_first() {
        let mut kept = KeptControls::new(1000);
        let (greedy, modest) = (Consumer(1), Consumer(2));
        while kept.has_room(greedy, 10) {
            kept.charge(greedy, 10);
        }
        assert_eq!(kept.octets, 500);
        assert!(kept.has_room(modest, 250) && !kept.has_room(modest, 251));
        assert!(!kept.has_room(modest, usize::MAX / 2), "no overflow");
        kept.charge(modest, 250);
        kept.release(greedy, 500);
        kept.release(modest, 250);
        assert!(kept.has_room(greedy, 500) && kept.of.is_empty());
    }
}
