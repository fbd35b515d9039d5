//! How long packets waited, before and after.

use std::collections::VecDeque;

/// Times that are kept of each: 100 s of reports each 25 ms. The oldest make room.
const MAX_TIMES: usize = 4096;

/// How long packets waited before the flow was protected, and since.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    before: VecDeque<u32>,
    after: VecDeque<u32>,
}

/// How long packets waited, of a number of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// Records.
    pub records: usize,
    /// In half of them, no longer than this.
    pub median_us: u32,
    /// In one of twenty, longer than this.
    pub p95_us: u32,
    /// In none, longer than this.
    pub max_us: u32,
}

impl Measured {
    pub(super) fn add(&mut self, waits_us: u32, is_protected: bool) {
        let times = if is_protected { &mut self.after } else { &mut self.before };
        if times.len() == MAX_TIMES {
            times.pop_front();
        }
        times.push_back(waits_us);
    }

    /// Before the flow was protected; none without records.
    #[must_use]
    pub fn before(&self) -> Option<Waited> {
        waited(&self.before)
    }

    /// While the flow is protected; none without records.
    #[must_use]
    pub fn after(&self) -> Option<Waited> {
        waited(&self.after)
    }
}

fn waited(times: &VecDeque<u32>) -> Option<Waited> {
    let mut times: Vec<u32> = times.iter().copied().collect();
    times.sort_unstable();
    let at = |part: usize| times.get((times.len() * part / 100).min(times.len().saturating_sub(1))).copied();
    Some(Waited { records: times.len(), median_us: at(50)?, p95_us: at(95)?, max_us: *times.last()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks() {
        let mut measured = Measured::default();
        assert_eq!((measured.before(), measured.after()), (None, None));
        measured.add(7, true);
        assert_eq!(measured.after(), Some(Waited { records: 1, median_us: 7, p95_us: 7, max_us: 7 }));
        (1..=100).rev().for_each(|us| measured.add(us, false));
        assert_eq!(measured.before(), Some(Waited { records: 100, median_us: 51, p95_us: 96, max_us: 100 }));
        (0..2 * MAX_TIMES).for_each(|_| measured.add(3, false));
        assert_eq!(measured.before(), Some(Waited { records: MAX_TIMES, median_us: 3, p95_us: 3, max_us: 3 }));
    }
}
