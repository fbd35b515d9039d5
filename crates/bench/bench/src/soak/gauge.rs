//! The growth of a process.

use std::fmt;

use serde::Serialize;

use crate::process::Process;

/// Memory and descriptors of a process, sampled each second.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    rss_kib: Vec<u64>,
    descriptors: Vec<u64>,
    last_descriptors: u64,
}

/// The trend of the samples.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Trend {
    /// The least memory of the second fifth of the run: tables have grown to their size, and bursts do not count.
    pub rss_first_kib: u64,
    /// The least memory of the last fifth.
    pub rss_last_kib: u64,
    /// The growth between the two, per minute.
    pub rss_slope_kib_per_minute: f64,
    /// The fewest descriptors of the second fifth.
    pub descriptors_first: u64,
    /// Descriptors after the last fault.
    pub descriptors_last: u64,
}

/// The tolerance in KiB: a heap may occupy other pages without having grown, and faults that coincide for the first time leave it
/// larger once. Runs of some minutes had steps of 0.9 MiB, with level memory before and after.
const NOISE_KIB: u64 = 2048;

impl Gauge {
    pub fn sample(&mut self, process: &Process) -> anyhow::Result<()> {
        self.rss_kib.push(process.rss_bytes()? / 1024);
        self.descriptors.push(process.descriptors()?);
        Ok(())
    }

    /// Takes the last sample, after the last fault.
    pub fn end(&mut self, process: &Process) -> anyhow::Result<()> {
        self.last_descriptors = process.descriptors()?;
        Ok(())
    }

    pub fn trend(&self) -> Trend {
        let least = |samples: &[u64], part: usize| {
            let fifth = (samples.len() / 5).max(1);
            samples
                .chunks(fifth)
                .nth(part)
                .or(samples.chunks(fifth).last())
                .into_iter()
                .flatten()
                .copied()
                .min()
                .unwrap_or(0)
        };
        let (first, last) = (least(&self.rss_kib, 1), least(&self.rss_kib, 4));
        // one sample per second, from the middle of the second fifth to the middle of the last
        let minutes = (3 * self.rss_kib.len()).max(5) as f64 / 5.0 / 60.0;
        Trend {
            rss_first_kib: first,
            rss_last_kib: last,
            rss_slope_kib_per_minute: (last as f64 - first as f64) / minutes,
            descriptors_first: least(&self.descriptors, 1),
            descriptors_last: self.last_descriptors,
        }
    }
}

impl Trend {
    /// Whether nothing has grown.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.rss_last_kib <= self.rss_first_kib + NOISE_KIB && self.descriptors_last <= self.descriptors_first
    }
}

impl fmt::Display for Trend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trend { rss_first_kib, rss_last_kib, rss_slope_kib_per_minute, descriptors_first, descriptors_last } = self;
        write!(
            f,
            "memory {rss_first_kib} to {rss_last_kib} KiB ({rss_slope_kib_per_minute:+.1} per minute), \
             descriptors {descriptors_first} to {descriptors_last}"
        )
    }
}

/// The trend of samples of memory.
#[cfg(test)]
pub(super) fn trend_of(rss_kib: impl Iterator<Item = u64>) -> Trend {
    Gauge { rss_kib: rss_kib.collect(), descriptors: vec![9], last_descriptors: 9 }.trend()
}

#[cfg(test)]
mod tests {
    use super::trend_of as trend;

    #[test]
    fn leak_is_growth_and_burst_is_not() {
        assert!(trend((0..600).map(|s| 9000 + if s % 7 == 0 { 90_000 } else { 0 })).holds());
        assert!(trend((0..600).map(|s| 9000 + 40 * s.min(100))).holds(), "tables grow to their size");
        let leak = trend((0..600).map(|s| 9000 + 6 * s));
        assert!(!leak.holds());
        assert!((leak.rss_slope_kib_per_minute - 360.0).abs() < 1.0, "{leak}");
        let mut open = trend([9000; 30].into_iter());
        assert!(open.holds());
        open.descriptors_last += 1;
        assert!(!open.holds());
    }
}
