//! NTP time stamps (RFC 5905 6): seconds since 1900 and a binary fraction, 32 bits each.

use std::time::{Duration, SystemTime};

/// The seconds from 1900 to 1970.
pub const SECONDS_1900_TO_1970: u64 = 2_208_988_800;
/// The seconds of an era, after which the seconds begin at 0 again: first in 2036.
const ERA_SECONDS: u64 = 1 << 32;

/// The NTP time stamp of a time; of a time before 1970, that of 1970.
#[must_use]
pub fn ntp_timestamp(at: SystemTime) -> u64 {
    let since_1970 = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let seconds = (since_1970.as_secs() + SECONDS_1900_TO_1970) as u32; // the era is not part of it
    let fraction = (u64::from(since_1970.subsec_nanos()) << 32) / 1_000_000_000;
    u64::from(seconds) << 32 | fraction
}

/// The time of an NTP time stamp, in the first era that is not before 1970: from 1970 to 2036 in era 0, then in era 1.
#[must_use]
pub fn time_of_ntp(ntp: u64) -> SystemTime {
    let seconds = ntp >> 32;
    let since_1900 = if seconds < SECONDS_1900_TO_1970 { seconds + ERA_SECONDS } else { seconds };
    let nanoseconds = ((ntp & 0xFFFF_FFFF) * 1_000_000_000 + (1 << 31)) >> 32; // rounded: at most 10^9
    let since_1970 = Duration::from_secs(since_1900 - SECONDS_1900_TO_1970) + Duration::from_nanos(nanoseconds);
    SystemTime::UNIX_EPOCH + since_1970
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ntp_timestamp_has_seconds_and_fraction() {
        let at = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 500_000_000);
        assert_eq!(ntp_timestamp(at), 0xE8FE_6F80_8000_0000);
        assert_eq!(time_of_ntp(0xE8FE_6F80_8000_0000), at);
    }

    #[test]
    fn ntp_timestamp_returns_to_its_time_in_both_eras() {
        // 7 February 2036 06:28:16 is second 0 of era 1
        for seconds in [0, 1, 1_700_000_000, 2_085_978_495, 2_085_978_496, 2_100_000_000] {
            for nanoseconds in [0, 1, 123_456_789, 999_999_999] {
                let at = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
                assert_eq!(time_of_ntp(ntp_timestamp(at)), at, "{seconds}.{nanoseconds:09}");
            }
        }
    }
}
