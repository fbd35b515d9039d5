//! The unit's time: ns since its first subframe began.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

const SECOND_NS: u64 = 1_000_000_000;

/// A clock that all threads of a unit share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start_ns: u64,
}

fn monotonic_ns() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    // the clock counts from the boot: neither is negative
    tv_sec.unsigned_abs() * SECOND_NS + tv_nsec.unsigned_abs()
}

impl Clock {
    /// A clock that begins after a delay.
    pub fn after_ns(delay_ns: u64) -> Self {
        Clock { start_ns: monotonic_ns() + delay_ns }
    }

    /// The time; 0 before the first subframe.
    pub fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.start_ns)
    }

    /// Sleeps until a time.
    pub fn sleep_until(&self, at_ns: u64) {
        let at_ns = self.start_ns + at_ns;
        let until = Timespec { tv_sec: (at_ns / SECOND_NS) as i64, tv_nsec: (at_ns % SECOND_NS) as _ };
        // a signal ends the sleep early
        while clock_nanosleep_absolute(ClockId::Monotonic, &until).is_err() && monotonic_ns() < at_ns {}
    }
}
