//! A histogram of durations: exact mean and extremes, and quantiles within one percent, in a few kilooctets.

/// Each microsecond below this has its own bucket.
const EXACT_US: u64 = 128;
/// The number of buckets of each higher power of two.
const STEPS: u64 = 64;
/// The longest duration that has its own bucket: two minutes. Longer ones count in the last bucket.
const LONGEST_US: u64 = (1 << 27) - 1;

/// A bounded histogram of durations.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    /// Only up to the bucket of the longest duration so far.
    buckets: Vec<u32>,
}

impl Durations {
    /// The number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact mean; `None` without durations.
    #[must_use]
    pub fn mean_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64 / 1e6)
    }

    /// The exact minimum; `None` without durations.
    #[must_use]
    pub fn min_ms(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min_ns as f64 / 1e6)
    }

    /// The exact maximum; `None` without durations.
    #[must_use]
    pub fn max_ms(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max_ns as f64 / 1e6)
    }

    /// A quantile; 0.5 is the median. It is exact within one percent or a microsecond, up to two minutes; `None` without
    /// durations.
    #[must_use]
    pub fn quantile_ms(&self, quantile: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let rank = ((quantile.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).max(1);
        let mut below = 0;
        let bucket = self.buckets.iter().position(|n| {
            below += u64::from(*n);
            below >= rank
        });
        let middle_ns = bucket.map_or(self.max_ns as f64, |bucket| middle_us(bucket as u64) * 1e3);
        Some(middle_ns.clamp(self.min_ns as f64, self.max_ns as f64) / 1e6)
    }

    pub(super) fn record_ns(&mut self, duration_ns: u64) {
        self.min_ns = if self.count == 0 { duration_ns } else { self.min_ns.min(duration_ns) };
        self.max_ns = self.max_ns.max(duration_ns);
        self.count += 1;
        self.sum_ns += u128::from(duration_ns);
        let bucket = bucket_of(duration_ns / 1000);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] = self.buckets[bucket].saturating_add(1);
    }
}

fn bucket_of(us: u64) -> usize {
    let us = us.min(LONGEST_US);
    if us < EXACT_US {
        return us as usize;
    }
    let octave = u64::from(us.ilog2() - EXACT_US.ilog2());
    (EXACT_US + octave * STEPS + (us >> (octave + 1)) - STEPS) as usize
}

/// The middle of a bucket.
fn middle_us(bucket: u64) -> f64 {
    let Some(above) = bucket.checked_sub(EXACT_US) else { return bucket as f64 + 0.5 };
    let (octave, step) = (above / STEPS, above % STEPS);
    let width = 1 << (octave + 1);
    ((STEPS + step) * width) as f64 + width as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn quantiles_are_within_one_percent() {
        let mut random = Random::new(1, 1);
        let mut durations = Durations::default();
        assert_eq!(durations.quantile_ms(0.5), None);
        let mut all: Vec<u64> = (0..10_000).map(|_| random.exponential(30e6) as u64 + 20_000).collect();
        all.iter().for_each(|duration_ns| durations.record_ns(*duration_ns));
        all.sort_unstable();
        for quantile in [0.01, 0.1, 0.5, 0.9, 0.99, 0.999] {
            let exact = all[(quantile * 10_000.0) as usize - 1] as f64 / 1e6;
            let found = durations.quantile_ms(quantile).unwrap();
            assert!((found / exact - 1.0).abs() < 0.01, "{quantile}: {found} {exact}");
        }
        let mean = all.iter().sum::<u64>() as f64 / 10_000.0 / 1e6;
        assert!((durations.mean_ms().unwrap() - mean).abs() < 1e-9);
        assert_eq!(durations.min_ms().unwrap(), all[0] as f64 / 1e6);
        assert_eq!(durations.max_ms().unwrap(), all[9_999] as f64 / 1e6);
        assert!((durations.quantile_ms(1.0).unwrap() / (all[9_999] as f64 / 1e6) - 1.0).abs() < 0.01);
    }

    #[test]
    fn buckets_are_contiguous_and_cover_their_values() {
        let mut last = 0;
        for us in (0..100_000).chain((100_000..LONGEST_US).step_by(997)) {
            let bucket = bucket_of(us);
            assert!(bucket == last || bucket == last + 1, "{us}");
            last = bucket;
            let middle = middle_us(bucket as u64);
            assert!((middle - us as f64).abs() <= (us as f64 / 128.0).max(0.5), "{us} {middle}");
        }
        assert_eq!(bucket_of(u64::MAX), bucket_of(LONGEST_US));
        assert!(last < 1_500);
    }
}
