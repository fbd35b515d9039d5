//! How long packets have waited of late.

use std::time::Duration;

use crate::Time;

/// Half of what counts as of late.
const HALF: Duration = Duration::from_millis(50);

/// The sojourns of packets that went on of late: in this half of 100 ms, and in the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recent {
    /// The number of this half.
    half: u64,
    now: Sum,
    before: Sum,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    nanos: u64,
    packets: u64,
}

impl Recent {
    pub fn record(&mut self, now: Time, waited: Duration) {
        self.go_on(half(now));
        self.now.nanos += waited.as_nanos() as u64;
        self.now.packets += 1;
    }

    /// Their mean, rounded down to a nanosecond; nothing where none went on.
    pub fn mean(mut self, now: Time) -> Duration {
        self.go_on(half(now));
        let nanos = self.now.nanos + self.before.nanos;
        Duration::from_nanos(nanos.checked_div(self.now.packets + self.before.packets).unwrap_or(0))
    }

    /// Of two queues together.
    pub fn and(mut self, mut other: Recent) -> Recent {
        let half = self.half.max(other.half);
        self.go_on(half);
        other.go_on(half);
        Recent { half, now: self.now.and(other.now), before: self.before.and(other.before) }
    }

    fn go_on(&mut self, half: u64) {
        if half != self.half {
            self.before = if half == self.half + 1 { self.now } else { Sum::default() };
            self.now = Sum::default();
            self.half = half;
        }
    }
}

impl Sum {
    fn and(self, other: Sum) -> Sum {
        Sum { nanos: self.nanos + other.nanos, packets: self.packets + other.packets }
    }
}

/// The number of the half that a moment is in.
fn half(at: Time) -> u64 {
    at.as_nanos() / HALF.as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_ago_does_not_count() {
        let ms = Duration::from_millis;
        let mut recent = Recent::default();
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
    fn two_together_are_of_the_same_halves() {
        let ms = Duration::from_millis;
        let (mut one, mut other) = (Recent::default(), Recent::default());
        one.record(Time::from_millis(10), ms(90));
        one.record(Time::from_millis(60), ms(30));
        other.record(Time::from_millis(70), ms(10));
        other.record(Time::from_millis(110), ms(8));
        for both in [one.and(other), other.and(one)] {
            // 30, 10 and 8: what went on by 50 ms is too long ago
            assert_eq!(both.mean(Time::from_millis(110)), ms(16));
            assert_eq!(both.mean(Time::from_millis(199)), ms(8));
        }
        assert_eq!(one.and(Recent::default()).mean(Time::from_millis(60)), ms(60));
    }
}
