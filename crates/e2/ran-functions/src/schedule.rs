//! Reporting periods, and the count of reports that were skipped.

use std::time::Duration;

use ferric::e2::Time;
use tracing::warn;

/// A repeating period without drift: each period begins where the previous one ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Period {
    length_ns: u64,
    /// The end of the current period.
    end: Time,
}

impl Period {
    /// Starts the first period at `now`. A period lasts at least 1 ms.
    pub fn new(now: Time, length_ms: u32) -> Self {
        let length_ns = u64::from(length_ms.max(1)) * 1_000_000;
        Period { length_ns, end: now + Duration::from_nanos(length_ns) }
    }

    /// The end of the current period.
    pub fn end(&self) -> Time {
        self.end
    }

    /// If the current period has ended at `now`, moves on to the period that contains `now` and returns the number of
    /// periods between them, which were missed.
    pub fn advance(&mut self, now: Time) -> Option<u64> {
        let late_ns = now.as_nanos().checked_sub(self.end.as_nanos())?;
        let missed = late_ns / self.length_ns;
        self.end = self.end + Duration::from_nanos((missed + 1) * self.length_ns);
        Some(missed)
    }
}

/// The number of reports that were not sent because the agent was polled too late.
#[derive(Debug, Default)]
pub(crate) struct SkippedReports {
    total: u64,
    logged: u64,
}

impl SkippedReports {
    pub fn add(&mut self, count: u64) {
        self.total += count;
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// Logs the total whenever it has doubled: an agent that is always late does not fill the log.
    pub fn log(&mut self, model: &str) {
        if self.total > 0 && self.total >= 2 * self.logged {
            self.logged = self.total;
            warn!(model, total = self.total, "reports skipped: the agent was polled after the end of their period");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn late_poll_skips_periods_without_drift() {
        let mut period = Period::new(ms(5), 10);
        assert_eq!((period.end(), period.advance(ms(14))), (ms(15), None));
        assert_eq!((period.advance(ms(15)), period.end()), (Some(0), ms(25)));
        assert_eq!((period.advance(ms(47)), period.end()), (Some(2), ms(55)));
    }
}
