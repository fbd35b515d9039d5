//! The mean sojourn time of packets in a sliding window.

use std::time::Duration;

use crate::Time;

/// Half of the window.
const HALF: Duration = Duration::from_millis(50);

/// Sums of sojourn times of packets that departed in the current half window of 50 ms and in the previous one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SojournWindow {
    /// The number of the current half window.
    half: u64,
    now: Sum,
    before: Sum,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    ns: u64,
    packets: u64,
}

impl SojournWindow {
    pub fn record(&mut self, now: Time, waited: Duration) {
        self.roll_to(half(now));
        self.now.ns += waited.as_nanos() as u64;
        self.now.packets += 1;
    }

    /// The mean, rounded down to a nanosecond; 0 without packets.
    pub fn mean(mut self, now: Time) -> Duration {
        self.roll_to(half(now));
        let ns = self.now.ns + self.before.ns;
        Duration::from_nanos(ns.checked_div(self.now.packets + self.before.packets).unwrap_or(0))
    }

    /// The window of two queues together.
    pub fn and(mut self, mut other: SojournWindow) -> SojournWindow {
        let half = self.half.max(other.half);
        self.roll_to(half);
        other.roll_to(half);
        SojournWindow { half, now: self.now.and(other.now), before: self.before.and(other.before) }
    }

    fn roll_to(&mut self, half: u64) {
        if half != self.half {
            self.before = if half == self.half + 1 { self.now } else { Sum::default() };
            self.now = Sum::default();
            self.half = half;
        }
    }
}

impl Sum {
    fn and(self, other: Sum) -> Sum {
        Sum { ns: self.ns + other.ns, packets: self.packets + other.packets }
    }
}

/// The number of the half window that contains a time.
fn half(at: Time) -> u64 {
    at.as_nanos() / HALF.as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sojourns_older_than_window_are_ignored() {
        let ms = Duration::from_millis;
        let mut recent = SojournWindow::default();
        assert_eq!(recent.mean(Time::from_millis(7)), ms(0));
        recent.record(Time::from_millis(10), ms(100));
        recent.record(Time::from_millis(49), ms(50));
        assert_eq!(recent.mean(Time::from_millis(49)), ms(75));
        recent.record(Time::from_millis(50), ms(6));
        assert_eq!(recent.mean(Time::from_millis(99)), ms(52));
        assert_eq!(recent.mean(Time::from_millis(100)), ms(6));
        assert_eq!(recent.mean(Time::from_millis(150)), ms(0));
        recent.record(Time::from_millis(500), ms(2));
        assert_eq!(recent.mean(Time::from_millis(549)), ms(2));
    }

    #[test]
    fn combined_windows_cover_the_same_time() {
        let ms = Duration::from_millis;
        let (mut one, mut other) = (SojournWindow::default(), SojournWindow::default());
        one.record(Time::from_millis(10), ms(90));
        one.record(Time::from_millis(60), ms(30));
        other.record(Time::from_millis(70), ms(10));
        other.record(Time::from_millis(110), ms(8));
        for both in [one.and(other), other.and(one)] {
            // 30, 10 and 8: packets before 50 ms are outside the window
            assert_eq!(both.mean(Time::from_millis(110)), ms(16));
            assert_eq!(both.mean(Time::from_millis(199)), ms(8));
        }
        assert_eq!(one.and(SojournWindow::default()).mean(Time::from_millis(60)), ms(60));
    }
}
