//! The formats in which nodes write the start of a report (colletStartTime, KPM 8.3.12), and the latency of reports.
//!
//! The specification means an NTP time stamp. Base stations in the field also write microseconds or seconds since 1970, and
//! the time of the report in place of the start of its period. A receiver recognises the format because only one of them
//! is near its own clock.
//!
//! ```
//! use std::time::{Duration, SystemTime};
//!
//! use e2sm::kpm::{TimestampFormat, TimestampMoment, TimestampReader};
//!
//! let sent = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
//! let stamp = TimestampFormat::UnixMicros.long(sent);
//! let received = sent + Duration::from_millis(3);
//! assert_eq!(TimestampFormat::detect(stamp, received), Some(TimestampFormat::UnixMicros));
//!
//! let mut reader = TimestampReader::default();
//! let latency = reader.latency(stamp, received, Duration::from_secs(1));
//! assert_eq!(latency, Some(Duration::from_millis(3)));
//! assert_eq!(reader.moment(), Some(TimestampMoment::Report));
//! assert_eq!(reader.to_string(), "microseconds since 1970, of the report");
//! ```

use core::fmt;
use std::time::{Duration, SystemTime};

use super::TimeStamp;
use crate::common::{SECONDS_1900_TO_1970, ntp_timestamp, time_of_ntp};

/// A time stamp further from the receiver's clock is in another format.
const PLAUSIBLE: Duration = Duration::from_secs(24 * 60 * 60);
/// As above, of truncated microseconds, which are near any clock every 72 minutes.
const PLAUSIBLE_TRUNCATED: Duration = Duration::from_secs(10);
/// A coarser time stamp says nothing about a latency.
const FINEST_USELESS: Duration = Duration::from_millis(100);

/// A format of [`TimeStamp`]. Numbers are in big-endian order, with one exception.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimestampFormat {
    /// An NTP time stamp (RFC 5905 6): in 8 octets seconds since 1900 and a binary fraction, in 4 octets the seconds.
    #[default]
    Ntp,
    /// As [`TimestampFormat::Ntp`], but since 1970.
    UnixFraction,
    /// Whole seconds since 1900.
    NtpSeconds,
    /// Whole seconds since 1970.
    UnixSeconds,
    /// Milliseconds since 1970; 4 octets contain the lower half.
    UnixMillis,
    /// Microseconds since 1970, as FlexRIC's agent writes and FlexRIC's xApps expect. 4 octets contain the lower half, with the
    /// least significant octet first.
    UnixMicros,
    /// Nanoseconds since 1970; 4 octets contain the lower half.
    UnixNanos,
}

impl TimestampFormat {
    /// All formats, the most likely first.
    pub const ALL: [TimestampFormat; 7] = [
        TimestampFormat::Ntp,
        TimestampFormat::UnixMicros,
        TimestampFormat::UnixSeconds,
        TimestampFormat::UnixMillis,
        TimestampFormat::UnixNanos,
        TimestampFormat::UnixFraction,
        TimestampFormat::NtpSeconds,
    ];

    /// Recognises the format of a time stamp that was received at `now`: the one whose time is nearest, at most a day away.
    #[must_use]
    pub fn detect(stamp: TimeStamp, now: SystemTime) -> Option<TimestampFormat> {
        let distance = |format: &TimestampFormat| {
            let at = format.time(stamp, now)?;
            if *format == TimestampFormat::UnixNanos && format.is_truncated(stamp) {
                return None; // they are near any clock, always
            }
            let distance = at.duration_since(now).unwrap_or_else(|error| error.duration());
            let limit = if format.is_truncated(stamp) { PLAUSIBLE_TRUNCATED } else { PLAUSIBLE };
            (distance <= limit).then_some((format.is_truncated(stamp), distance))
        };
        let plausible = TimestampFormat::ALL.into_iter().filter_map(|format| Some((distance(&format)?, format)));
        plausible.min_by_key(|(distance, _)| *distance).map(|(_, format)| format)
    }

    /// Returns the time of a time stamp in this format. `near` completes a truncated one. `None` if the time cannot be
    /// represented.
    #[must_use]
    pub fn time(self, stamp: TimeStamp, near: SystemTime) -> Option<SystemTime> {
        let value = self.number(stamp);
        let seconds = |since_1970: u64| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(since_1970));
        match (self, stamp) {
            (TimestampFormat::Ntp | TimestampFormat::NtpSeconds, TimeStamp::Short(_)) => Some(time_of_ntp(value << 32)),
            (TimestampFormat::Ntp, TimeStamp::Long(_)) => Some(time_of_ntp(value)),
            (TimestampFormat::NtpSeconds, TimeStamp::Long(_)) => seconds(value.checked_sub(SECONDS_1900_TO_1970)?),
            (TimestampFormat::UnixFraction, TimeStamp::Long(_)) => {
                let nanoseconds = ((value & 0xFFFF_FFFF) * 1_000_000_000) >> 32;
                seconds(value >> 32)?.checked_add(Duration::from_nanos(nanoseconds))
            }
            (TimestampFormat::UnixSeconds, _) | (TimestampFormat::UnixFraction, TimeStamp::Short(_)) => seconds(value),
            (TimestampFormat::UnixMillis | TimestampFormat::UnixMicros | TimestampFormat::UnixNanos, _) => {
                let count = if self.is_truncated(stamp) { self.complete(value as u32, near) } else { value };
                let unit = self.units_per_second();
                let rest = Duration::from_nanos((count % unit) * (1_000_000_000 / unit));
                seconds(count / unit)?.checked_add(rest)
            }
        }
    }

    /// Returns the time stamp of 8 octets (v03.00 on).
    #[must_use]
    pub fn long(self, at: SystemTime) -> TimeStamp {
        let since_1970 = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let value = match self {
            TimestampFormat::Ntp => ntp_timestamp(at),
            TimestampFormat::NtpSeconds => since_1970.as_secs() + SECONDS_1900_TO_1970,
            TimestampFormat::UnixFraction => {
                let fraction = (u64::from(since_1970.subsec_nanos()) << 32) / 1_000_000_000;
                (since_1970.as_secs() << 32) | fraction
            }
            TimestampFormat::UnixSeconds
            | TimestampFormat::UnixMillis
            | TimestampFormat::UnixMicros
            | TimestampFormat::UnixNanos => self.count(since_1970),
        };
        TimeStamp::Long(value.to_be_bytes())
    }

    /// Returns the time stamp of 4 octets (up to v02.03).
    #[must_use]
    pub fn short(self, at: SystemTime) -> TimeStamp {
        let value = match self.long(at) {
            TimeStamp::Long(octets) => u64::from_be_bytes(octets),
            short @ TimeStamp::Short(_) => short.value(),
        };
        let value = match self {
            TimestampFormat::Ntp | TimestampFormat::UnixFraction => value >> 32,
            _ => value,
        };
        let value = value as u32;
        TimeStamp::Short(if self == TimestampFormat::UnixMicros { value.to_le_bytes() } else { value.to_be_bytes() })
    }

    /// Returns the number in a time stamp.
    fn number(self, stamp: TimeStamp) -> u64 {
        match (self, stamp) {
            (TimestampFormat::UnixMicros, TimeStamp::Short(octets)) => u32::from_le_bytes(octets).into(),
            _ => stamp.value(),
        }
    }

    /// The unit of a time stamp in this format.
    #[must_use]
    pub fn resolution(self, stamp: TimeStamp) -> Duration {
        match (self, stamp) {
            (TimestampFormat::Ntp | TimestampFormat::UnixFraction, TimeStamp::Long(_)) => Duration::from_nanos(1),
            _ => Duration::from_nanos(1_000_000_000 / self.units_per_second()),
        }
    }

    /// Of a format that counts, the counts in a second.
    fn units_per_second(self) -> u64 {
        match self {
            TimestampFormat::UnixMillis => 1000,
            TimestampFormat::UnixMicros => 1_000_000,
            TimestampFormat::UnixNanos => 1_000_000_000,
            _ => 1,
        }
    }

    fn count(self, since_1970: Duration) -> u64 {
        let units = self.units_per_second();
        since_1970.as_secs() * units + u64::from(since_1970.subsec_nanos()) / (1_000_000_000 / units)
    }

    fn is_truncated(self, stamp: TimeStamp) -> bool {
        matches!(stamp, TimeStamp::Short(_)) && self.units_per_second() > 1
    }

    /// The count nearest to that of `near` whose lower half is `low`.
    fn complete(self, low: u32, near: SystemTime) -> u64 {
        let near = self.count(near.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO));
        let ahead = low.wrapping_sub(near as u32) as i32;
        near.saturating_add_signed(i64::from(ahead))
    }
}

impl fmt::Display for TimestampFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TimestampFormat::Ntp => "NTP",
            TimestampFormat::UnixFraction => "NTP, but since 1970",
            TimestampFormat::NtpSeconds => "seconds since 1900",
            TimestampFormat::UnixSeconds => "seconds since 1970",
            TimestampFormat::UnixMillis => "milliseconds since 1970",
            TimestampFormat::UnixMicros => "microseconds since 1970",
            TimestampFormat::UnixNanos => "nanoseconds since 1970",
        })
    }
}

/// The moment that a node states in the header of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimestampMoment {
    /// The start of the reported period, as specified (KPM 8.3.12).
    #[default]
    PeriodStart,
    /// The report itself, at the end of the period: FlexRIC, OAI, srsRAN.
    Report,
}

impl fmt::Display for TimestampMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TimestampMoment::PeriodStart => "of the period's start",
            TimestampMoment::Report => "of the report",
        })
    }
}

/// Reads the time stamps of one node: recognises their format and their moment, and computes the latency of reports.
///
/// It is displayed as one phrase for the log: `microseconds since 1970, of the report`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimestampReader {
    format: Option<TimestampFormat>,
    moment: Option<TimestampMoment>,
}

impl TimestampReader {
    /// The format, once a plausible time stamp was read.
    #[must_use]
    pub fn format(&self) -> Option<TimestampFormat> {
        self.format
    }

    /// The moment, once it is known.
    ///
    /// A time stamp that is less than half a period old is that of the report. A node whose time stamps are older and whose
    /// reports are late by more than that is taken for one that states the period's start, until a report is faster.
    #[must_use]
    pub fn moment(&self) -> Option<TimestampMoment> {
        self.moment
    }

    /// Returns the time from the end of a report's period, by the node's clock, until `received`. `None` if it is
    /// unknown: the format is unknown or too coarse, or the clocks of node and receiver differ too much.
    pub fn latency(&mut self, stamp: TimeStamp, received: SystemTime, period: Duration) -> Option<Duration> {
        let format = match self.format {
            Some(format) => format,
            None => *self.format.insert(TimestampFormat::detect(stamp, received)?),
        };
        let at = format.time(stamp, received)?;
        if format.resolution(stamp) >= FINEST_USELESS {
            return None;
        }
        let age = received.duration_since(at).ok()?;
        if age < period / 2 {
            self.moment = Some(TimestampMoment::Report);
        }
        match *self.moment.get_or_insert(TimestampMoment::PeriodStart) {
            TimestampMoment::Report => Some(age),
            TimestampMoment::PeriodStart => age.checked_sub(period),
        }
        .filter(|latency| *latency <= PLAUSIBLE)
    }
}

impl fmt::Display for TimestampReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.format {
            Some(format) => write!(f, "{format}")?,
            None => return f.write_str("unknown"),
        }
        self.moment.map_or(Ok(()), |moment| write!(f, ", {moment}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, nanoseconds: u32) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds)
    }

    const NOW_S: u64 = 1_763_865_621;

    #[test]
    fn each_format_is_recognised_by_plausibility() {
        let sent = at(NOW_S, 250_000_000);
        for format in TimestampFormat::ALL {
            for behind in [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(20 * 60 * 60)] {
                let seen = TimestampFormat::detect(format.long(sent), sent + behind);
                assert_eq!(seen, Some(format), "8 octets, {behind:?} later");
            }
            let back = format.time(format.long(sent), sent).unwrap();
            let difference = sent.duration_since(back).unwrap_or_else(|error| error.duration());
            assert!(difference <= format.resolution(format.long(sent)), "{format}: {difference:?}");
        }
    }

    #[test]
    fn four_octets_are_seconds_or_truncated_counts() {
        let sent = at(NOW_S, 250_000_000);
        let received = at(NOW_S, 900_000_000);
        for (format, seen) in [
            (TimestampFormat::Ntp, TimestampFormat::Ntp),
            (TimestampFormat::NtpSeconds, TimestampFormat::Ntp),
            (TimestampFormat::UnixSeconds, TimestampFormat::UnixSeconds),
            (TimestampFormat::UnixFraction, TimestampFormat::UnixSeconds),
            (TimestampFormat::UnixMillis, TimestampFormat::UnixMillis),
            (TimestampFormat::UnixMicros, TimestampFormat::UnixMicros),
        ] {
            let stamp = format.short(sent);
            assert_eq!(TimestampFormat::detect(stamp, received), Some(seen), "{format}");
            let back = seen.time(stamp, received).unwrap();
            assert!(sent.duration_since(back).unwrap() <= seen.resolution(stamp), "{format}");
        }
    }

    #[test]
    fn implausible_time_stamp_has_no_format() {
        let now = at(NOW_S, 0);
        for value in [0, 1, 86_400, u64::MAX, NOW_S - 100_000, (NOW_S + 100_000) << 32] {
            assert_eq!(TimestampFormat::detect(TimeStamp::Long(value.to_be_bytes()), now), None, "{value}");
        }
        assert_eq!(TimestampFormat::detect(TimeStamp::Short([0; 4]), now), None);
        // no time overflows, whatever the octets and the clock
        for octets in [[0; 8], [0xFF; 8], [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]] {
            for format in TimestampFormat::ALL {
                for now in [SystemTime::UNIX_EPOCH, now] {
                    let _ = format.time(TimeStamp::Long(octets), now);
                    let _ = format.time(TimeStamp::Short([octets[1]; 4]), now);
                }
            }
        }
    }

    const PERIOD: Duration = Duration::from_secs(1);

    #[test]
    fn latency_counts_from_the_end_of_the_period_whatever_the_node_states() {
        let end = at(NOW_S, 0);
        let received = end + Duration::from_micros(700);
        for (format, stated, moment) in [
            (TimestampFormat::Ntp, end - PERIOD, TimestampMoment::PeriodStart),
            (TimestampFormat::Ntp, end, TimestampMoment::Report),
            (TimestampFormat::UnixMicros, end, TimestampMoment::Report),
            (TimestampFormat::UnixMicros, end - PERIOD, TimestampMoment::PeriodStart),
        ] {
            let mut reader = TimestampReader::default();
            let latency = reader.latency(format.long(stated), received, PERIOD).unwrap();
            assert_eq!(latency.as_micros(), 700, "{format}, {moment}");
            assert_eq!((reader.format(), reader.moment()), (Some(format), Some(moment)));
        }
    }

    #[test]
    fn late_first_report_does_not_fix_the_moment() {
        let mut reader = TimestampReader::default();
        let sent = at(NOW_S, 0);
        let mut latency = |age_ms| {
            let received = sent + Duration::from_millis(age_ms);
            reader.latency(TimestampFormat::UnixMicros.long(sent), received, PERIOD).map(|latency| latency.as_millis())
        };
        assert_eq!(latency(800), None, "older than half a period, younger than a period");
        assert_eq!(latency(2), Some(2));
        assert_eq!(latency(800), Some(800), "now known to be the time of the report");
    }

    #[test]
    fn latency_is_unknown_rather_than_zero() {
        let now = at(NOW_S, 500_000_000);
        let unknown = [
            TimeStamp::Long([0; 8]),
            TimestampFormat::UnixSeconds.short(now - PERIOD),
            TimestampFormat::UnixSeconds.long(now - PERIOD),
            TimestampFormat::Ntp.short(now - PERIOD),
            // the node's clock is ahead
            TimestampFormat::Ntp.long(now + Duration::from_millis(1)),
        ];
        for stamp in unknown {
            assert_eq!(TimestampReader::default().latency(stamp, now, PERIOD), None, "{stamp:?}");
        }
    }
}
