//! Means with confidence intervals, slopes, fairness, and histograms as they are stored.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A mean over repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval (Student's t); `None` of fewer than two repetitions.
    pub ci95: Option<f64>,
}

impl Estimate {
    /// The estimate of some repetitions; `None` if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let ci95 = (values.len() > 1).then(|| {
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
            student_975(values.len() - 1) * (variance / count).sqrt()
        });
        Some(Estimate { mean, ci95 })
    }
}

/// The 97.5 % quantile of Student's t distribution.
fn student_975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
        2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
    ];
    TABLE.get(degrees.saturating_sub(1)).copied().unwrap_or(1.96)
}

/// The slope of a line through points, by least squares; 0 of fewer than two.
#[must_use]
pub fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let above: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let below: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    if points.len() < 2 || below == 0.0 { 0.0 } else { above / below }
}

/// Jain's fairness index of shares (Jain, Chiu and Hawe, 1984): 1 if all are equal, 1/n if one has everything. `None` of nothing.
#[must_use]
pub fn fairness(shares: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for share in shares {
        (count, sum, squares) = (count + 1.0, sum + share, squares + share * share);
    }
    (squares > 0.0).then(|| sum * sum / (count * squares))
}

/// Percentiles of a histogram. All `None` if it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// The number of values.
    pub count: u64,
    /// The mean.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The 99.9th percentile.
    pub p999: Option<f64>,
    /// The largest value.
    pub max: Option<f64>,
}

impl Percentiles {
    /// The percentiles of nanoseconds, in units of `unit_ns`.
    #[must_use]
    pub fn of(histogram: &Histogram<u64>, unit_ns: f64) -> Self {
        let count = histogram.len();
        let some = |value: f64| (count > 0).then_some(value / unit_ns);
        let at = |quantile: f64| some(histogram.value_at_quantile(quantile) as f64);
        Percentiles {
            count,
            mean: some(histogram.mean()),
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: some(histogram.max() as f64),
        }
    }
}

/// Counts a number of nanoseconds. The histogram grows to any value.
pub fn count(histogram: &mut Histogram<u64>, ns: u64) {
    // growing fails for no value of 64 bits
    let _ = histogram.record(ns);
}

/// Adds the values of another histogram.
pub fn add(to: &mut Histogram<u64>, other: &Histogram<u64>) {
    // a histogram that grows takes all values
    let _ = to.add(other);
}

/// A histogram as it is stored: values of nanoseconds with 3 significant digits, and how often each was counted. Histograms of several
/// programs are added without any error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counts(pub Vec<(u64, u64)>);

impl From<&Histogram<u64>> for Counts {
    fn from(histogram: &Histogram<u64>) -> Self {
        Counts(histogram.iter_recorded().map(|at| (at.value_iterated_to(), at.count_at_value())).collect())
    }
}

impl Counts {
    /// The histogram.
    #[must_use]
    pub fn histogram(&self) -> Histogram<u64> {
        let mut histogram = bench::latency_histogram();
        for (value, count) in &self.0 {
            // a histogram that grows takes all values
            let _ = histogram.record_n(*value, *count);
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_that_of_student() {
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[3.0]), Some(Estimate { mean: 3.0, ci95: None }));
        // standard deviation 2, standard error 1, 3 degrees of freedom
        let estimate = Estimate::of(&[8.0, 8.0, 12.0, 12.0]).unwrap();
        assert!((estimate.mean - 10.0).abs() < 1e-12);
        assert!((estimate.ci95.unwrap() - 3.182 * (16.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn slope_and_fairness_match_known_values() {
        assert!((slope(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]) - 2.0).abs() < 1e-12);
        assert_eq!(slope(&[(1.0, 5.0)]), 0.0);
        assert_eq!(fairness([2.0, 2.0, 2.0].into_iter()), Some(1.0));
        assert_eq!(fairness([1.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
        assert_eq!(fairness(std::iter::empty()), None);
    }

    #[test]
    fn stored_histograms_add_up_exactly() {
        let [mut one, mut two, mut both] = [(); 3].map(|()| bench::latency_histogram());
        for value in (1..5000_u64).map(|n| n * n) {
            let half = if value % 3 == 0 { &mut one } else { &mut two };
            half.record(value).unwrap();
            both.record(value).unwrap();
        }
        let mut merged = Counts::from(&one).histogram();
        merged.add(Counts::from(&two).histogram()).unwrap();
        assert_eq!(Counts::from(&merged), Counts::from(&both));
        assert_eq!(Percentiles::of(&merged, 1.0), Percentiles::of(&both, 1.0));
    }
}
