//! Counters of traffic control. For each queue and for the bearer, arrived = departed + waiting + dropped.

use std::ops::{AddAssign, Sub};
use std::time::Duration;

use crate::sojourn_window::SojournWindow;
use crate::{Packet, Time};

/// Packets and their octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Packets.
    pub packets: u64,
    /// Octets, including the headers of layer 3 and above.
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

/// Sojourn times of departed packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sojourn {
    /// Of the last packet.
    pub last: Duration,
    /// The maximum.
    pub max: Duration,
    /// When the last packet departed.
    last_at: Time,
    recent: SojournWindow,
}

impl Sojourn {
    pub(super) fn record(&mut self, now: Time, waited: Duration) {
        (self.last, self.last_at) = (waited, now);
        self.max = self.max.max(waited);
        self.recent.record(now, waited);
    }

    /// Combines two queues. `last` is that of the later departure, or the longer one at equal times.
    fn and(self, other: Sojourn) -> Sojourn {
        let last = (self.last_at, self.last).max((other.last_at, other.last));
        Sojourn { last: last.1, max: self.max.max(other.max), last_at: last.0, recent: self.recent.and(other.recent) }
    }

    /// The mean over packets that departed within the last 50 to 100 ms; 0 without packets.
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
    /// The policer's rate was exceeded.
    pub policed: Amount,
    /// The queue discipline dropped them.
    pub managed: Amount,
    /// The bearer was released.
    pub released: Amount,
}

impl Drops {
    fn and(self, other: Drops) -> Drops {
        Drops {
            full: self.full.and(other.full),
            policed: self.policed.and(other.policed),
            managed: self.managed.and(other.managed),
            released: self.released.and(other.released),
        }
    }

    /// The sum over all reasons.
    #[must_use]
    pub fn all(&self) -> Amount {
        self.full.and(self.policed).and(self.managed).and(self.released)
    }
}

/// Counters of a queue since its configuration, or since its UE arrived in the cell: `arrived` = `departed` + `waiting` + all
/// `dropped`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Packets put into the queue, including those that were dropped and those taken over from a removed queue.
    pub arrived: Amount,
    /// Packets forwarded to PDCP.
    pub departed: Amount,
    /// Queued packets.
    pub waiting: Amount,
    /// Dropped packets.
    pub dropped: Drops,
    /// Packets that were marked instead of dropped.
    pub marked_packets: u64,
    /// Packets that its policer diverted to another queue, which counts them as arrived.
    pub diverted_packets: u64,
    /// Sojourn times of departed packets.
    pub sojourn: Sojourn,
}

impl QueueCounts {
    /// Combines the counters of two bearers' queues.
    #[must_use]
    pub fn and(self, other: QueueCounts) -> QueueCounts {
        QueueCounts {
            arrived: self.arrived.and(other.arrived),
            departed: self.departed.and(other.departed),
            waiting: self.waiting.and(other.waiting),
            dropped: self.dropped.and(other.dropped),
            marked_packets: self.marked_packets + other.marked_packets,
            diverted_packets: self.diverted_packets + other.diverted_packets,
            sojourn: self.sojourn.and(other.sojourn),
        }
    }

    /// The counters that remain when the UE departs and takes the queued packets along.
    pub(crate) fn left_behind(self) -> QueueCounts {
        QueueCounts { arrived: self.arrived.without(self.waiting), waiting: Amount::default(), ..self }
    }

    /// Fresh counters of a queue that holds packets.
    pub(super) fn with_waiting(waiting: Amount) -> QueueCounts {
        QueueCounts { arrived: waiting, waiting, ..QueueCounts::default() }
    }
}

/// Counters of a bearer, removed queues included: `arrived` = `departed` + `waiting` + `dropped`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets from SDAP.
    pub arrived: Amount,
    /// Packets forwarded to PDCP.
    pub departed: Amount,
    /// Queued packets.
    pub waiting: Amount,
    /// Dropped packets.
    pub dropped: Amount,
    /// Packets that were marked instead of dropped.
    pub marked_packets: u64,
}

/// Counters of a bearer in its current cell, summed over all queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BearerCounts {
    /// Packets from SDAP.
    pub arrived_packets: u64,
    /// Packets forwarded to PDCP.
    pub departed_packets: u64,
    /// Packets dropped for any reason.
    pub dropped_packets: u64,
    /// Sum of the sojourn times of departed packets: divide by `departed_packets` for the mean.
    pub sojourn_ns: u64,
}

impl AddAssign for BearerCounts {
    fn add_assign(&mut self, other: Self) {
        self.arrived_packets += other.arrived_packets;
        self.departed_packets += other.departed_packets;
        self.dropped_packets += other.dropped_packets;
        self.sojourn_ns += other.sojourn_ns;
    }
}

impl Sub for BearerCounts {
    type Output = BearerCounts;

    fn sub(self, before: Self) -> BearerCounts {
        BearerCounts {
            arrived_packets: self.arrived_packets - before.arrived_packets,
            departed_packets: self.departed_packets - before.departed_packets,
            dropped_packets: self.dropped_packets - before.dropped_packets,
            sojourn_ns: self.sojourn_ns - before.sojourn_ns,
        }
    }
}

/// Invalid results of custom parts, which were replaced by those of the built-in default. Built-in parts cause none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The classifier chose a queue that does not exist: the first queue took the packet.
    pub classifier: u64,
    /// A discipline returned no verdict: the packet was forwarded.
    pub discipline: u64,
    /// The scheduler chose a queue that does not exist or is not ready: round robin chose instead.
    pub scheduler: u64,
    /// The pacer returned nothing, or left RLC empty for a second while packets waited: a packet was forwarded.
    pub pacer: u64,
}

/// Measures a rate over consecutive windows.
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

    /// The octets of the last complete window.
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
    fn meter_returns_rate_of_last_complete_window() {
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
    fn sojourn_mean_covers_recent_packets_only() {
        let ms = Duration::from_millis;
        let at = Time::from_millis;
        let mut sojourn = Sojourn::default();
        assert_eq!(sojourn.mean(at(0)), Duration::ZERO);
        for waited in [1, 2, 6] {
            sojourn.record(at(10), ms(waited));
        }
        assert_eq!((sojourn.mean(at(10)), sojourn.last, sojourn.max), (ms(3), ms(6), ms(6)));
        // the other queue has been silent for longer than the window
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
