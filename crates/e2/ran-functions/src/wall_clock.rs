//! Conversion of the event loop's [`Time`] to the time of day.

use std::time::{Duration, SystemTime};

use ferric::e2::Time;

/// If the offset grows by this much, the wall clock was set: the new offset applies at once.
const STEP_THRESHOLD_NS: i64 = 1_000_000_000;
/// A smaller growth is applied by this fraction: one part in 128.
const SMOOTHING: i64 = 128;

/// Maps the loop's time to the wall clock.
///
/// A function receives the loop's time a little late, by the time that the loop spent in between. So the smallest offset
/// between the two clocks is the most accurate; a greater one, caused by drift, is applied slowly.
pub(crate) struct WallClock {
    read: Box<dyn Fn() -> SystemTime + Send>,
    /// The wall clock minus the loop's time, in nanoseconds.
    offset_ns: Option<i64>,
}

impl WallClock {
    pub fn new(read: impl Fn() -> SystemTime + Send + 'static) -> Self {
        WallClock { read: Box::new(read), offset_ns: None }
    }

    /// The clock of the system.
    pub fn system() -> Self {
        WallClock::new(SystemTime::now)
    }

    /// Reads the wall clock at `now` of the loop's time.
    pub fn update(&mut self, now: Time) {
        let since_1970 = (self.read)().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let wall_ns = i64::try_from(since_1970.as_nanos()).unwrap_or(i64::MAX);
        let now_ns = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
        let measured_ns = wall_ns.saturating_sub(now_ns);
        self.offset_ns = Some(match self.offset_ns {
            Some(offset_ns) if (0..STEP_THRESHOLD_NS).contains(&measured_ns.saturating_sub(offset_ns)) => {
                offset_ns + (measured_ns - offset_ns) / SMOOTHING
            }
            _ => measured_ns,
        });
    }

    /// The time of day at `time`.
    pub fn at(&self, time: Time) -> SystemTime {
        let offset_ns = self.offset_ns.unwrap_or(0);
        let time_ns = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        let since_1970 = u64::try_from(time_ns.saturating_add(offset_ns)).unwrap_or(0);
        SystemTime::UNIX_EPOCH + Duration::from_nanos(since_1970)
    }

    /// The time of day at `time`, in microseconds of Unix time.
    pub fn unix_us(&self, time: Time) -> i64 {
        let since_1970 = self.at(time).duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    #[test]
    fn smallest_offset_applies_and_greater_ones_are_smoothed() {
        let wall_ns = Arc::new(AtomicU64::new(0));
        let read = Arc::clone(&wall_ns);
        let mut clock = WallClock::new(move || SystemTime::UNIX_EPOCH + Duration::from_nanos(read.load(Relaxed)));
        let offset = 1_000_000_000_000;
        // the error of the clock after an update that comes late
        let mut error_ns = |now_ns: u64, late_ns: u64| {
            wall_ns.store(offset + now_ns + late_ns, Relaxed);
            clock.update(Time::from_nanos(now_ns));
            let at = clock.at(Time::from_nanos(now_ns)).duration_since(SystemTime::UNIX_EPOCH).unwrap();
            at.as_nanos() as i64 - (offset + now_ns) as i64
        };
        assert_eq!(error_ns(1000, 5000), 5000);
        assert_eq!(error_ns(2000, 100), 100);
        assert_eq!(error_ns(3000, 12_900), 200, "one late update has little effect");
        assert_eq!(error_ns(4000, 200), 200);
        assert_eq!(error_ns(5000, 3_600_000_000_000), 3_600_000_000_000, "the clock was set forward");
        assert_eq!(error_ns(6000, 0), 0, "the clock was set back");
    }
}
