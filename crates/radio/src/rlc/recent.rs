//! How long SDUs have waited of late.

use std::time::Duration;

use crate::Time;

/// Half of what counts as of late.
const HALF: Duration = Duration::from_millis(50);

/// The sojourns of SDUs that were sent of late: in this half of 100 ms, and in the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    /// The number of this half.
    half: u64,
    now: Sum,
    before: Sum,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    nanos: u64,
    packets: u64,
}

impl Recent {
    pub fn record(&mut self, now: Time, waited: Duration) {
        self.go_on(now);
        self.now.nanos += waited.as_nanos() as u64;
        self.now.packets += 1;
    }

    /// Their mean; nothing where none was sent.
    pub fn mean(mut self, now: Time) -> Duration {
        self.go_on(now);
        let nanos = self.now.nanos + self.before.nanos;
        Duration::from_nanos(nanos.checked_div(self.now.packets + self.before.packets).unwrap_or(0))
    }

    fn go_on(&mut self, now: Time) {
        let half = now.as_nanos() / HALF.as_nanos() as u64;
        if half != self.half {
            self.before = if half == self.half + 1 { self.now } else { Sum::default() };
            self.now = Sum::default();
            self.half = half;
        }
    }
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
}
