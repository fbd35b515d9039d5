//! HARQ deadlines of LTE FDD.
//!
//! A UE answers a downlink transmission of subframe n - 4 in subframe n, and a base station answers the uplink of subframe n in
//! subframe n + 4 (TS 36.213 7.3.1, 8 and 9.1.2). When the samples of a subframe are complete, 3 ms are left until subframe n + 4
//! begins, in which its downlink has to be on the air.

use std::sync::atomic::{AtomicU64, Ordering};

/// A subframe of LTE (TS 36.211 4).
pub const SUBFRAME_NS: u64 = 1_000_000;
/// A subframe is answered so many subframes later.
pub const RESPONSE_SUBFRAMES: u64 = 4;
/// Subframes whose times are remembered; a multiple of more than [`RESPONSE_SUBFRAMES`].
const REMEMBERED: usize = 64;
/// A word has the last octets of a subframe's number above the time.
const TIME_BITS: u32 = 48;

/// When each of the last subframes was processed. All times are ns since the unit's first subframe began.
#[derive(Debug)]
pub struct Deadlines {
    finished: [AtomicU64; REMEMBERED],
}

impl Default for Deadlines {
    fn default() -> Self {
        // no subframe has the number of these words: its place is another
        Deadlines { finished: std::array::from_fn(|place| AtomicU64::new(word(place as u64 + 1, 0))) }
    }
}

fn word(subframe: u64, at_ns: u64) -> u64 {
    subframe << TIME_BITS | at_ns.min((1 << TIME_BITS) - 1)
}

impl Deadlines {
    /// When the samples of a subframe are complete.
    #[must_use]
    pub fn begin_ns(subframe: u64) -> u64 {
        (subframe + 1) * SUBFRAME_NS
    }

    /// When its processing must be finished: subframe n + 4 begins.
    #[must_use]
    pub fn end_ns(subframe: u64) -> u64 {
        (subframe + RESPONSE_SUBFRAMES) * SUBFRAME_NS
    }

    /// Notes that a subframe has been processed.
    pub fn finish(&self, subframe: u64, at_ns: u64) {
        self.finished[subframe as usize % REMEMBERED].store(word(subframe, at_ns), Ordering::Release);
    }

    /// Whether a subframe has been processed in time. To be called at its end or later.
    #[must_use]
    pub fn is_met(&self, subframe: u64) -> bool {
        let found = self.finished[subframe as usize % REMEMBERED].load(Ordering::Acquire);
        let at_ns = found & ((1 << TIME_BITS) - 1);
        found >> TIME_BITS == subframe & 0xffff && at_ns <= Deadlines::end_ns(subframe)
    }

    /// How long before its deadline a subframe was processed, in ns: negative if it was late; `None` if it was not processed.
    #[must_use]
    pub fn slack_ns(&self, subframe: u64) -> Option<i64> {
        let found = self.finished[subframe as usize % REMEMBERED].load(Ordering::Acquire);
        let at_ns = found & ((1 << TIME_BITS) - 1);
        (found >> TIME_BITS == subframe & 0xffff).then_some(Deadlines::end_ns(subframe) as i64 - at_ns as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_milliseconds_are_left() {
        assert_eq!(Deadlines::end_ns(7) - Deadlines::begin_ns(7), 3 * SUBFRAME_NS);
    }

    #[test]
    fn late_and_absent_subframes_are_missed() {
        let deadlines = Deadlines::default();
        assert!((0..200).all(|subframe| !deadlines.is_met(subframe)));
        deadlines.finish(10, 14 * SUBFRAME_NS);
        deadlines.finish(11, 15 * SUBFRAME_NS + 1);
        assert!(deadlines.is_met(10) && !deadlines.is_met(11));
        assert_eq!((deadlines.slack_ns(11), deadlines.slack_ns(12)), (Some(-1), None));
        // the same place, a round later
        assert!(!deadlines.is_met(10 + REMEMBERED as u64));
    }
}
