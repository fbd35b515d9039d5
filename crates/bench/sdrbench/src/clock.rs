//! One clock of all parts of a run: nanoseconds since its beginning, and the same moments as time stamps of E2SM-KPM.

use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};

/// Seconds from 1900-01-01, where NTP's era 0 begins, to 1970-01-01.
const NTP_TO_UNIX_S: u64 = 2_208_988_800;

/// The clock of a run. Copies show the same time, on all threads.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
    /// Nanoseconds of the origin since 1900.
    origin_ntp_ns: u64,
}

impl Clock {
    /// A clock that begins now.
    #[must_use]
    pub fn start() -> Self {
        let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let ntp = unix + Duration::from_secs(NTP_TO_UNIX_S);
        Clock { origin: Instant::now(), origin_ntp_ns: u64::try_from(ntp.as_nanos()).unwrap_or(u64::MAX) }
    }

    /// Nanoseconds since the beginning.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// A moment as seconds and their fraction in 32 bits each (RFC 5905, section 6), the time stamp of E2SM-KPM v03.00. It is rounded
    /// down to a quarter of a nanosecond.
    #[must_use]
    pub fn time_stamp(&self, at_ns: u64) -> [u8; 8] {
        let ns = self.origin_ntp_ns + at_ns;
        let (seconds, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
        // the fraction is rounded up, so that reading it rounds down to the same nanosecond
        let fraction = (rest << 32).div_ceil(1_000_000_000);
        ((seconds & 0xFFFF_FFFF) << 32 | fraction).to_be_bytes()
    }

    /// The moment of a time stamp; `None` for one before the beginning.
    #[must_use]
    pub fn at_ns(&self, time_stamp: [u8; 8]) -> Option<u64> {
        let value = u64::from_be_bytes(time_stamp);
        let (seconds, fraction) = (value >> 32, value & 0xFFFF_FFFF);
        (seconds * 1_000_000_000 + ((fraction * 1_000_000_000) >> 32)).checked_sub(self.origin_ntp_ns)
    }
}

/// The processor time of the calling thread.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamp_keeps_nanoseconds() {
        let clock = Clock::start();
        for at_ns in [0, 1, 999_999_999, 1_000_000_000, 123_456_789_012] {
            assert_eq!(clock.at_ns(clock.time_stamp(at_ns)), Some(at_ns));
        }
        assert_eq!(clock.at_ns([0; 8]), None);
    }
}
