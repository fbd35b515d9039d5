//! Classifiers: they choose a queue for each packet.

use super::configuration::{ClassifierChoice, Configuration, OsiFilter};
use crate::{FiveTuple, Packet};

/// Chooses a queue for each packet.
pub trait Classifier: Send {
    /// The position of the packet's queue, from 0 to `queues` - 1. `None` and any other position are faults: the first queue
    /// takes the packet.
    fn classify(&mut self, packet: &Packet, queues: usize) -> Option<usize>;

    /// How many packets a filter has matched; 0 for an unknown filter.
    fn matched_packets(&self, filter_id: u32) -> u64 {
        let _ = filter_id;
        0
    }
}

/// Creates the configured classifier. Filters that `before` had as well keep their counts.
pub(super) fn make(configuration: &Configuration, before: Option<&dyn Classifier>) -> Box<dyn Classifier> {
    match &configuration.classifier {
        ClassifierChoice::RoundRobin => Box::new(RoundRobin::default()),
        ClassifierChoice::Stochastic => Box::new(Stochastic),
        ClassifierChoice::Osi(filters) => {
            let entry = |filter: &OsiFilter| Entry {
                filter: *filter,
                index: configuration.position(filter.queue).expect("the configuration is validated"),
                matched_packets: before.map_or(0, |before| before.matched_packets(filter.id)),
            };
            Box::new(Osi(filters.iter().map(entry).collect()))
        }
        ClassifierChoice::Custom(custom) => custom.make(),
    }
}

/// Chooses each queue in turn.
#[derive(Default)]
struct RoundRobin {
    next: usize,
}

impl Classifier for RoundRobin {
    fn classify(&mut self, _packet: &Packet, queues: usize) -> Option<usize> {
        let index = if self.next < queues { self.next } else { 0 };
        self.next = index + 1;
        Some(index)
    }
}

/// Spreads flows over the queues by a hash.
struct Stochastic;

impl Classifier for Stochastic {
    fn classify(&mut self, packet: &Packet, queues: usize) -> Option<usize> {
        // the upper half of the product maps hashes evenly to queues (Lemire)
        Some(((u128::from(hash(&packet.tuple)) * queues as u128) >> 64) as usize)
    }
}

/// A hash in which every header bit affects every bit (the finalizer of splitmix64, twice).
fn hash(tuple: &FiveTuple) -> u64 {
    fn mix(z: u64) -> u64 {
        let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
    let addresses = u64::from(tuple.source.to_bits()) << 32 | u64::from(tuple.destination.to_bits());
    let ports = u64::from(tuple.source_port) << 16 | u64::from(tuple.destination_port);
    mix(mix(addresses.wrapping_add(0x9E37_79B9_7F4A_7C15)) ^ (ports << 8 | u64::from(tuple.protocol)))
}

/// Matches the headers of layers 3 and 4 against filters.
struct Osi(Vec<Entry>);

struct Entry {
    filter: OsiFilter,
    index: usize,
    matched_packets: u64,
}

impl Classifier for Osi {
    fn classify(&mut self, packet: &Packet, _queues: usize) -> Option<usize> {
        let first = self.0.iter_mut().find(|entry| entry.filter.flow.matches(&packet.tuple));
        Some(first.map_or(0, |entry| {
            entry.matched_packets += 1;
            entry.index
        }))
    }

    fn matched_packets(&self, filter_id: u32) -> u64 {
        self.0.iter().find(|entry| entry.filter.id == filter_id).map_or(0, |entry| entry.matched_packets)
    }
}
