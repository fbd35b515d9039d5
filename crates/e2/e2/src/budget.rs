//! A token bucket that limits answers and log lines per association.

use core::time::Duration;

use crate::Time;

/// The burst size.
const BURST: u32 = 16;
/// The interval of the refill by one.
const REFILL: Duration = Duration::from_millis(100);

/// Limits the answers and log lines that invalid PDUs of a peer cause.
#[derive(Debug)]
pub(crate) struct Budget {
    left: u32,
    since: Time,
    withheld: u64,
}

impl Budget {
    pub fn new(now: Time) -> Self {
        Budget { left: BURST, since: now, withheld: 0 }
    }

    /// Takes a token. Returns whether there was one.
    pub fn take(&mut self, now: Time) -> bool {
        while self.left < BURST && now - self.since >= REFILL {
            self.left += 1;
            self.since = self.since + REFILL;
        }
        if self.left == BURST {
            self.since = now;
        }
        if self.left == 0 {
            self.withheld += 1;
            return false;
        }
        self.left -= 1;
        true
    }

    /// Returns the number of refused tokens if it is a power of two, and thus worth a log line.
    pub fn withheld(&self) -> Option<u64> {
        self.withheld.is_power_of_two().then_some(self.withheld)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_is_followed_by_ten_per_second() {
        let mut now = Time::from_nanos(1);
        let mut budget = Budget::new(now);
        assert_eq!((0..100).filter(|_| budget.take(now)).count(), 16);
        assert_eq!(budget.withheld(), None, "84 are withheld");
        now = now + Duration::from_millis(250);
        assert_eq!((0..100).filter(|_| budget.take(now)).count(), 2);
        now = now + Duration::from_millis(50);
        assert_eq!((0..100).filter(|_| budget.take(now)).count(), 1, "the rest of 250 ms counts");
        now = now + Duration::from_secs(3600);
        assert_eq!((0..100).filter(|_| budget.take(now)).count(), 16, "never more than a burst");
        assert!(!budget.take(Time::from_nanos(0)), "a clock that jumps back gives nothing");
    }
}
