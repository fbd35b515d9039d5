//! Packet counters and delays of a flow.

use super::durations::Durations;
use crate::Time;

/// The counters and delays of a flow since its start.
#[derive(Clone, Debug, Default)]
pub struct FlowCounts {
    /// From the server to the UE.
    pub downlink: DirectionCounts,
    /// From the UE to the server.
    pub uplink: DirectionCounts,
    /// Round-trip times: of requests and their echoes, or of TCP segments and their acknowledgements.
    pub rtt: Durations,
    /// Samples of the round-trip times; empty unless the specification requests them.
    pub rtt_samples: Samples,
    /// Times from the request to the last octet: of finite transfers, web pages and video segments.
    pub completed: Durations,
}

/// The packets of one direction.
#[derive(Clone, Debug, Default)]
pub struct DirectionCounts {
    /// Packets sent.
    pub sent_packets: u64,
    /// Their octets, with all headers of layers 3 and up.
    pub sent_octets: u64,
    /// Packets received by the other end.
    pub received_packets: u64,
    /// Their octets.
    pub received_octets: u64,
    /// Packets that have not arrived although a later one has.
    pub lost_packets: u64,
    /// Packets received with a congestion mark.
    pub marked_packets: u64,
    /// TCP segments received more than once.
    pub duplicate_packets: u64,
    /// The delay from end to end.
    pub delay: Durations,
    /// The packet number that is expected next.
    next: u64,
}

impl DirectionCounts {
    /// Packets that have neither arrived nor been counted as lost.
    #[must_use]
    pub fn in_flight_packets(&self) -> u64 {
        self.sent_packets.saturating_sub(self.received_packets + self.lost_packets)
    }

    pub(super) fn sent(&mut self, octets: u32) {
        self.sent_packets += 1;
        self.sent_octets += u64::from(octets);
    }

    pub(super) fn received(&mut self, number: u64, octets: u32, delay_ns: u64) {
        self.received_packets += 1;
        self.received_octets += u64::from(octets);
        if number >= self.next {
            self.lost_packets += number - self.next;
            self.next = number + 1;
        } else {
            // the packet was late, not lost
            self.lost_packets = self.lost_packets.saturating_sub(1);
        }
        self.delay.record_ns(delay_ns);
    }
}

/// A bounded number of samples, evenly spread over all measurements, in order. When it is full, every second sample is
/// removed, and from then on half as many are kept.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    samples: Vec<(Time, u64)>,
    capacity: usize,
    /// One measurement in `stride` is kept.
    stride: u64,
    measured: u64,
}

impl Samples {
    /// Creates a store for up to `capacity` samples.
    pub(super) fn new(capacity: usize) -> Self {
        Samples { samples: Vec::new(), capacity, stride: 1, measured: 0 }
    }

    /// The time and the value in nanoseconds of each sample.
    #[must_use]
    pub fn as_slice(&self) -> &[(Time, u64)] {
        &self.samples
    }

    pub(super) fn record_ns(&mut self, now: Time, value_ns: u64) {
        if self.capacity == 0 {
            return;
        }
        if self.measured.is_multiple_of(self.stride) {
            if self.samples.len() == self.capacity {
                let mut at = 0;
                self.samples.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.stride *= 2;
            }
            if self.measured.is_multiple_of(self.stride) {
                self.samples.push((now, value_ns));
            }
        }
        self.measured += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap_counts_as_loss_until_filled() {
        let mut counts = DirectionCounts::default();
        (0..6).for_each(|_| counts.sent(100));
        for number in [0, 1, 4] {
            counts.received(number, 100, 5);
        }
        assert_eq!((counts.lost_packets, counts.in_flight_packets()), (2, 1));
        counts.received(3, 100, 5);
        assert_eq!((counts.lost_packets, counts.in_flight_packets()), (1, 1));
        assert_eq!((counts.received_octets, counts.delay.count()), (400, 4));
    }

    #[test]
    fn full_samples_are_thinned_evenly() {
        let mut samples = Samples::new(8);
        (0..100).for_each(|i| samples.record_ns(Time::from_nanos(i), i));
        let kept: Vec<u64> = samples.as_slice().iter().map(|(_, value)| *value).collect();
        assert_eq!(kept, [0, 16, 32, 48, 64, 80, 96]);
        let mut none = Samples::new(0);
        none.record_ns(Time::START, 1);
        assert!(none.as_slice().is_empty());
    }
}
