//! Waiting times before and after protection.

use std::collections::VecDeque;

/// The most waiting times per phase: 100 s of reports every 25 ms. The oldest are dropped.
const MAX_TIMES: usize = 4096;

/// Waiting times before the flow was protected, and since.
#[derive(Clone, Debug, Default)]
pub struct WaitTimes {
    before: VecDeque<u32>,
    after: VecDeque<u32>,
}

/// Statistics of waiting times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitStatistics {
    /// The number of records.
    pub records: usize,
    /// The median.
    pub median_us: u32,
    /// The 95th percentile.
    pub p95_us: u32,
    /// The maximum.
    pub max_us: u32,
}

impl WaitTimes {
    pub(super) fn add(&mut self, waits_us: u32, is_protected: bool) {
        let times = if is_protected { &mut self.after } else { &mut self.before };
        if times.len() == MAX_TIMES {
            times.pop_front();
        }
        times.push_back(waits_us);
    }

    /// The statistics before the flow was protected; `None` without records.
    #[must_use]
    pub fn before(&self) -> Option<WaitStatistics> {
        waited(&self.before)
    }

    /// The statistics since the flow is protected; `None` without records.
    #[must_use]
    pub fn after(&self) -> Option<WaitStatistics> {
        waited(&self.after)
    }
}

fn waited(times: &VecDeque<u32>) -> Option<WaitStatistics> {
    let mut times: Vec<u32> = times.iter().copied().collect();
    times.sort_unstable();
    let at = |part: usize| times.get((times.len() * part / 100).min(times.len().saturating_sub(1))).copied();
    Some(WaitStatistics { records: times.len(), median_us: at(50)?, p95_us: at(95)?, max_us: *times.last()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_ranks_of_recorded_times() {
        let mut measured = WaitTimes::default();
        assert_eq!((measured.before(), measured.after()), (None, None));
        measured.add(7, true);
        assert_eq!(measured.after(), Some(WaitStatistics { records: 1, median_us: 7, p95_us: 7, max_us: 7 }));
        (1..=100).rev().for_each(|us| measured.add(us, false));
        assert_eq!(measured.before(), Some(WaitStatistics { records: 100, median_us: 51, p95_us: 96, max_us: 100 }));
        (0..2 * MAX_TIMES).for_each(|_| measured.add(3, false));
        assert_eq!(measured.before(), Some(WaitStatistics { records: MAX_TIMES, median_us: 3, p95_us: 3, max_us: 3 }));
    }
}
