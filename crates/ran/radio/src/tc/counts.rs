//! What is counted. Of each queue and of the whole, what came is what went, what waits and what was dropped.

use std::ops::{AddAssign, Sub};
use std::time::Duration;

use crate::recent::Recent;
use crate::{Packet, Time};

/// Packets and their octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many packets.
    pub packets: u64,
    /// How many octets, with all headers of layers 3 and up.
    pub octets: u64,
}

impl Amount {
    pub(super) fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.octets += u64::from(packet.octets);
    }

    pub(crate) fn and(self, other: Amount) -> Amount {
        Amount { packets: self.packets + other.packets, octets: self.octets + other.octets }
    }

    fn without(self, other: Amount) -> Amount {
        Amount { packets: self.packets - other.packets, octets: self.octets - other.octets }
    }

    pub(super) fn subtract(&mut self, packet: &Packet) {
        self.packets -= 1;
        self.octets -= u64::from(packet.octets);
    }
}

/// How long packets waited that went on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sojourn {
    /// The one that went on last.
    pub last: Duration,
    /// The one that waited longest.
    pub max: Duration,
    /// When the last one went on.
    last_at: Time,
    recent: Recent,
}

impl Sojourn {
    pub(super) fn record(&mut self, now: Time, waited: Duration) {
        (self.last, self.last_at) = (waited, now);
        self.max = self.max.max(waited);
        self.recent.record(now, waited);
    }

    /// Of two queues together. The last one is that which went on later; where both did at once, the one that waited longer.
    fn and(self, other: Sojourn) -> Sojourn {
        let last = (self.last_at, self.last).max((other.last_at, other.last));
        Sojourn { last: last.1, max: self.max.max(other.max), last_at: last.0, recent: self.recent.and(other.recent) }
    }

    /// In the mean, of packets that went on within the last 50 to 100 ms, as RLC tells it of SDUs; nothing where none did.
    #[must_use]
    pub fn mean(&self, now: Time) -> Duration {
        self.recent.mean(now)
    }
}

/// Packets that were dropped, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// The queue was full.
    pub full: Amount,
    /// They came above the policer's rate.
    pub policed: Amount,
    /// The discipline had it so.
    pub managed: Amount,
}

impl Drops {
    fn and(self, other: Drops) -> Drops {
        Drops {
            full: self.full.and(other.full),
            policed: self.policed.and(other.policed),
            managed: self.managed.and(other.managed),
        }
    }

    /// For whatever reason.
    #[must_use]
    pub fn all(&self) -> Amount {
        self.full.and(self.policed).and(self.managed)
    }
}

/// What was counted of a queue since it was set up, or since its UE came to its cell: `came` is `went`, `waiting` and all
/// `dropped` together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// What was to be put into it; also what it took over from a queue that was removed.
    pub came: Amount,
    /// What went on to PDCP.
    pub went: Amount,
    /// What waits.
    pub waiting: Amount,
    /// What was dropped.
    pub dropped: Drops,
    /// Packets that went on with a congestion mark in place of being dropped.
    pub marked_packets: u64,
    /// Packets that its policer sent to another queue, which counts them as come.
    pub diverted_packets: u64,
    /// How long packets waited that went on.
    pub sojourn: Sojourn,
}

impl QueueCounts {
    /// Of the queues of two bearers together.
    #[must_use]
    pub fn and(self, other: QueueCounts) -> QueueCounts {
        QueueCounts {
            came: self.came.and(other.came),
            went: self.went.and(other.went),
            waiting: self.waiting.and(other.waiting),
            dropped: self.dropped.and(other.dropped),
            marked_packets: self.marked_packets + other.marked_packets,
            diverted_packets: self.diverted_packets + other.diverted_packets,
            sojourn: self.sojourn.and(other.sojourn),
        }
    }

    /// What stays of them where their UE leaves, and takes along what waits.
    pub(crate) fn left_behind(self) -> QueueCounts {
        QueueCounts { came: self.came.without(self.waiting), waiting: Amount::default(), ..self }
    }

    /// Those of a queue in which that waits, and of which nothing else was counted yet.
    pub(super) fn anew(waiting: Amount) -> QueueCounts {
        QueueCounts { came: waiting, waiting, ..QueueCounts::default() }
    }
}

/// What was counted of the bearer, also of queues that are no more: `came` is `went`, `waiting` and `dropped` together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// What came from SDAP.
    pub came: Amount,
    /// What went on to PDCP.
    pub went: Amount,
    /// What waits.
    pub waiting: Amount,
    /// What was dropped.
    pub dropped: Amount,
    /// Packets that went on with a congestion mark in place of being dropped.
    pub marked_packets: u64,
}

/// What was counted of a bearer in its cell, of all queues together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BearerCounts {
    /// Packets that came from SDAP.
    pub came_packets: u64,
    /// Packets that went on to PDCP.
    pub went_packets: u64,
    /// Packets that were dropped, for whatever reason.
    pub dropped_packets: u64,
    /// Nanoseconds that packets waited which went on, summed up: divide by `went_packets`.
    pub sojourn_nanos: u64,
}

impl AddAssign for BearerCounts {
    fn add_assign(&mut self, other: Self) {
        self.came_packets += other.came_packets;
        self.went_packets += other.went_packets;
        self.dropped_packets += other.dropped_packets;
        self.sojourn_nanos += other.sojourn_nanos;
    }
}

impl Sub for BearerCounts {
    type Output = BearerCounts;

    fn sub(self, before: Self) -> BearerCounts {
        BearerCounts {
            came_packets: self.came_packets - before.came_packets,
            went_packets: self.went_packets - before.went_packets,
            dropped_packets: self.dropped_packets - before.dropped_packets,
            sojourn_nanos: self.sojourn_nanos - before.sojourn_nanos,
        }
    }
}

/// Answers of parts that made no sense, and were replaced by what the built-in default would have said. Built-in parts give
/// none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Queues that the classifier named and that are not there: the first queue took the packet.
    pub classifier: u64,
    /// No verdict of a discipline: the packet went on.
    pub discipline: u64,
    /// Queues that the scheduler named and that are not there, or had nothing to give: the next in turn gave.
    pub scheduler: u64,
    /// No answer of the pacer, or RLC had run empty for a second while packets waited: a packet went on.
    pub pacer: u64,
}

/// The rate of what passes, over windows that follow each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    window_ns: u64,
    ends_ns: u64,
    current_octets: u64,
    previous_octets: u64,
}

impl Meter {
    /// `window_ms` is above 0.
    pub(super) fn new(window_ms: u32) -> Self {
        let window_ns = u64::from(window_ms) * 1_000_000;
        Meter { window_ns, ends_ns: window_ns, current_octets: 0, previous_octets: 0 }
    }

    #[inline]
    pub(super) fn record(&mut self, now: Time, octets: u32) {
        if now.as_nanos() >= self.ends_ns {
            self.previous_octets = self.last_octets(now);
            self.current_octets = 0;
            self.ends_ns = (now.as_nanos() / self.window_ns + 1).saturating_mul(self.window_ns);
        }
        self.current_octets += u64::from(octets);
    }

    /// What passed in the last whole window.
    fn last_octets(&self, now: Time) -> u64 {
        match now.as_nanos() {
            now if now < self.ends_ns => self.previous_octets,
            now if now - self.ends_ns < self.window_ns => self.current_octets,
            _ => 0,
        }
    }

    pub(super) fn rate_bps(&self, now: Time) -> f64 {
        self.last_octets(now) as f64 * 8e9 / self.window_ns as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_tells_its_last_whole_window() {
        let mut meter = Meter::new(100);
        assert_eq!(meter.rate_bps(Time::START), 0.0);
        meter.record(Time::from_millis(10), 1000);
        meter.record(Time::from_millis(99), 250);
        assert_eq!(meter.rate_bps(Time::from_millis(99)), 0.0);
        assert_eq!(meter.rate_bps(Time::from_millis(100)), 100_000.0);
        assert_eq!(meter.rate_bps(Time::from_millis(200)), 0.0);
        meter.record(Time::from_millis(150), 500);
        assert_eq!(meter.rate_bps(Time::from_millis(199)), 100_000.0);
        assert_eq!(meter.rate_bps(Time::from_millis(200)), 40_000.0);
        meter.record(Time::from_millis(450), 1);
        assert_eq!(meter.rate_bps(Time::from_millis(460)), 0.0);
    }

    #[test]
    fn sojourns_are_told_exactly_and_of_late() {
        let ms = Duration::from_millis;
        let at = Time::from_millis;
        let mut sojourn = Sojourn::default();
        assert_eq!(sojourn.mean(at(0)), Duration::ZERO);
        for waited in [1, 2, 6] {
            sojourn.record(at(10), ms(waited));
        }
        assert_eq!((sojourn.mean(at(10)), sojourn.last, sojourn.max), (ms(3), ms(6), ms(6)));
        // another queue has sent nothing on for long: it says nothing of now
        let mut both = sojourn;
        sojourn.record(at(1010), ms(1));
        both.record(at(900), ms(500));
        for both in [both.and(sojourn), sojourn.and(both)] {
            assert_eq!((both.mean(at(1010)), both.last, both.max), (ms(1), ms(1), ms(500)));
            assert_eq!((both.mean(at(1100)), both.last), (Duration::ZERO, ms(1)));
        }
        sojourn.record(at(1010), ms(4));
        let mut same = Sojourn::default();
        same.record(at(1010), ms(3));
        assert_eq!((sojourn.and(same).last, same.and(sojourn).last), (ms(4), ms(4)));
    }
}
