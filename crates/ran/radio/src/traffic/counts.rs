//! What a flow has sent and received, and how long it took.

use super::durations::Durations;
use crate::Time;

/// What a flow's ends have seen so far.
#[derive(Clone, Debug, Default)]
pub struct FlowCounts {
    /// From the server to the UE.
    pub downlink: DirectionCounts,
    /// From the UE to the server.
    pub uplink: DirectionCounts,
    /// Round trips: of requests and their echoes, or of TCP's segments and their acknowledgements.
    pub rtt: Durations,
    /// Some of the round trips, if the specification asks for that.
    pub rtt_samples: Samples,
    /// From what was asked for to its last octet: finite transfers, web pages, segments of a video.
    pub completed: Durations,
}

/// What went one way.
#[derive(Clone, Debug, Default)]
pub struct DirectionCounts {
    /// Packets sent.
    pub sent_packets: u64,
    /// Their octets, with all headers of layers 3 and up.
    pub sent_octets: u64,
    /// Packets that came to the other end.
    pub received_packets: u64,
    /// Their octets.
    pub received_octets: u64,
    /// Packets that were sent before one that has come, and have not come themselves.
    pub lost_packets: u64,
    /// Packets that came with a congestion mark.
    pub marked_packets: u64,
    /// TCP segments that had come before.
    pub duplicate_packets: u64,
    /// From the sender's end to the receiver's.
    pub delay: Durations,
    /// The number that is expected next.
    next: u64,
}

impl DirectionCounts {
    /// What has neither come nor been found lost.
    #[must_use]
    pub fn in_flight_packets(&self) -> u64 {
        self.sent_packets.saturating_sub(self.received_packets + self.lost_packets)
    }

    pub(super) fn sent(&mut self, octets: u32) {
        self.sent_packets += 1;
        self.sent_octets += u64::from(octets);
    }

    pub(super) fn received(&mut self, number: u64, octets: u32, took_ns: u64) {
        self.received_packets += 1;
        self.received_octets += u64::from(octets);
        if number >= self.next {
            self.lost_packets += number - self.next;
            self.next = number + 1;
        } else {
            // it was late, not lost
            self.lost_packets = self.lost_packets.saturating_sub(1);
        }
        self.delay.record_ns(took_ns);
    }
}

/// Some of what was measured, in order, from the beginning to the end. When there is no more room, every second one goes,
/// and from then on half as many are kept.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    kept: Vec<(Time, u64)>,
    most: usize,
    /// Every how many-th is kept.
    stride: u64,
    seen: u64,
}

impl Samples {
    /// No more than `most`.
    pub(super) fn new(most: usize) -> Self {
        Samples { kept: Vec::new(), most, stride: 1, seen: 0 }
    }

    /// When each was measured, and how many nanoseconds it was.
    #[must_use]
    pub fn as_slice(&self) -> &[(Time, u64)] {
        &self.kept
    }

    pub(super) fn record_ns(&mut self, now: Time, value_ns: u64) {
        if self.most == 0 {
            return;
        }
        if self.seen.is_multiple_of(self.stride) {
            if self.kept.len() == self.most {
                let mut at = 0;
                self.kept.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.stride *= 2;
            }
            if self.seen.is_multiple_of(self.stride) {
                self.kept.push((now, value_ns));
            }
        }
        self.seen += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_losses_until_they_fill() {
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
    fn samples_are_thinned_not_cut() {
        let mut samples = Samples::new(8);
        (0..100).for_each(|i| samples.record_ns(Time::from_nanos(i), i));
        let kept: Vec<u64> = samples.as_slice().iter().map(|(_, value)| *value).collect();
        assert_eq!(kept, [0, 16, 32, 48, 64, 80, 96]);
        let mut none = Samples::new(0);
        none.record_ns(Time::START, 1);
        assert!(none.as_slice().is_empty());
    }
}
