//! The time of day of a moment that the event loop knows as a [`Time`].

use std::time::{Duration, SystemTime};

use ferric::e2::Time;

/// A wall clock that is further off than this has been set: it is believed at once.
const SET_NS: i64 = 1_000_000_000;
/// Otherwise it is believed by this share of the difference.
const BELIEF: i64 = 128;

/// Ties the loop's time to the wall clock's.
///
/// The loop's present moment is a little old when a function hears of it, by what the loop did meanwhile; so the
/// smallest difference of the two clocks is the truest, and a greater one, from clocks that drift, is believed slowly.
pub(crate) struct WallClock {
    read: Box<dyn Fn() -> SystemTime>,
    /// Nanoseconds that the wall clock is ahead of the loop's time.
    ahead_ns: Option<i64>,
}

impl WallClock {
    pub fn new(read: impl Fn() -> SystemTime + 'static) -> Self {
        WallClock { read: Box::new(read), ahead_ns: None }
    }

    /// Reads the wall clock; `now` is the loop's time.
    pub fn tick(&mut self, now: Time) {
        let since_1970 = (self.read)().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let wall_ns = i64::try_from(since_1970.as_nanos()).unwrap_or(i64::MAX);
        let now_ns = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
        let seen_ns = wall_ns.saturating_sub(now_ns);
        self.ahead_ns = Some(match self.ahead_ns {
            Some(ahead_ns) if (0..SET_NS).contains(&seen_ns.saturating_sub(ahead_ns)) => {
                ahead_ns + (seen_ns - ahead_ns) / BELIEF
            }
            _ => seen_ns,
        });
    }

    /// The time of day at `moment`.
    pub fn at(&self, moment: Time) -> SystemTime {
        let ahead_ns = self.ahead_ns.unwrap_or(0);
        let moment_ns = i64::try_from(moment.as_nanos()).unwrap_or(i64::MAX);
        let since_1970 = u64::try_from(moment_ns.saturating_add(ahead_ns)).unwrap_or(0);
        SystemTime::UNIX_EPOCH + Duration::from_nanos(since_1970)
    }

    /// The time of day at `moment`, in microseconds of Unix time.
    pub fn unix_us(&self, moment: Time) -> i64 {
        let since_1970 = self.at(moment).duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX)
    }
}

/// A time stamp of NTP (RFC 5905 6): seconds since 1900, and a fraction of 32 bits.
pub(crate) fn ntp(at: SystemTime) -> u64 {
    const SECONDS_1900_TO_1970: u64 = 2_208_988_800;
    let since_1970 = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let seconds = (since_1970.as_secs() + SECONDS_1900_TO_1970) as u32; // wraps in 2036, as NTP's eras do
    let fraction = (u64::from(since_1970.subsec_nanos()) << 32) / 1_000_000_000;
    u64::from(seconds) << 32 | fraction
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn time_stamps_are_ntps() {
        let at = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 500_000_000);
        assert_eq!(ntp(at), 0xE8FE_6F80_8000_0000);
    }

    #[test]
    fn the_smallest_difference_counts() {
        let wall_ns = Rc::new(Cell::new(0));
        let read = Rc::clone(&wall_ns);
        let mut clock = WallClock::new(move || SystemTime::UNIX_EPOCH + Duration::from_nanos(read.get()));
        let ahead = 1_000_000_000_000;
        let mut told = |now_ns: u64, late_ns: u64| {
            wall_ns.set(ahead + now_ns + late_ns);
            clock.tick(Time::from_nanos(now_ns));
            let at = clock.at(Time::from_nanos(now_ns)).duration_since(SystemTime::UNIX_EPOCH).unwrap();
            at.as_nanos() as i64 - (ahead + now_ns) as i64
        };
        assert_eq!(told(1000, 5000), 5000);
        assert_eq!(told(2000, 100), 100);
        assert_eq!(told(3000, 12_900), 200, "a late one hardly matters");
        assert_eq!(told(4000, 200), 200);
        assert_eq!(told(5000, 3_600_000_000_000), 3_600_000_000_000, "the clock was set");
        assert_eq!(told(6000, 0), 0, "and set back");
    }
}
