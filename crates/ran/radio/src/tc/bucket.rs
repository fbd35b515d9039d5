//! Token buckets, for policers and shapers.

use crate::Time;

/// Tokens per octet: nanoseconds per second times bits per octet. So a rate in bit/s adds a whole number of tokens per
/// nanosecond.
const PARTS: i128 = 8_000_000_000;

/// A token bucket. A packet passes while the bucket is not empty, and may leave it negative: no packet is too long. In any
/// period the passed octets are at most rate times period plus bucket size plus one packet.
pub(super) struct Bucket {
    rate_bps: i128,
    /// Above 0.
    full: i128,
    tokens: i128,
    filled: Time,
}

impl Bucket {
    /// Creates a full bucket that holds `hold_ms` at its rate. Both are above 0.
    pub(super) fn new(now: Time, rate_bps: u64, hold_ms: u32) -> Self {
        let rate_bps = i128::from(rate_bps);
        let full = rate_bps * i128::from(hold_ms) * 1_000_000;
        Bucket { rate_bps, full, tokens: full, filled: now }
    }

    /// Whether a packet passes.
    pub(super) fn is_open(&mut self, now: Time) -> bool {
        let passed = i128::from(now.nanos_since(self.filled));
        self.tokens = self.tokens.saturating_add(passed.saturating_mul(self.rate_bps)).min(self.full);
        self.filled = self.filled.max(now);
        self.tokens > 0
    }

    /// Takes the tokens of a packet.
    pub(super) fn take(&mut self, octets: u32) {
        self.tokens -= i128::from(octets) * PARTS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_keeps_rate_exactly() {
        // 8 Mbit/s for 10 ms: 10000 octets
        let mut bucket = Bucket::new(Time::START, 8_000_000, 10);
        let mut pass = |now| bucket.is_open(now).then(|| bucket.take(1000)).is_some();
        for _ in 0..10 {
            assert!(pass(Time::START));
        }
        assert!(!pass(Time::START));
        // one nanosecond adds a thousandth of an octet: open, then negative for a millisecond
        assert!(pass(Time::from_nanos(1)));
        assert!(!pass(Time::from_millis(1)));
        assert!(pass(Time::from_nanos(1_000_001)));
        // it never exceeds its size
        for _ in 0..10 {
            assert!(pass(Time::from_millis(10_000_000)));
        }
        assert!(!pass(Time::from_millis(10_000_000)));
    }

    #[test]
    fn extremes_do_not_overflow() {
        let mut bucket = Bucket::new(Time::START, u64::MAX, u32::MAX);
        bucket.take(u32::MAX);
        assert!(bucket.is_open(Time::NEVER));
    }
}
