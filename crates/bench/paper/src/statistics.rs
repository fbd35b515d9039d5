//! Statistics of samples.

/// The value below which a share of the values is, 0 to 1, interpolated between neighbours; `None` without values.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let place = share.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize; // at most `last`
    let above = sorted[(below + 1).min(last)];
    Some(sorted[below] + (above - sorted[below]) * place.fract())
}

/// The mean; not a number without values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation.
pub fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// Jain's index of fairness: 1 for equal values, 1/n if one of n has everything.
pub fn fairness(values: &[f64]) -> f64 {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    sum * sum / (values.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[0.0, 10.0], 0.05), Some(0.5));
        assert_eq!(quantile(&[1.0, 5.0], 1.0), Some(5.0));
    }

    #[test]
    fn nothing_has_no_mean() {
        assert_eq!(mean(&[1.0, 3.0]), 2.0);
        assert_eq!(deviation(&[1.0, 3.0]), 1.0);
        assert!(mean(&[]).is_nan() && fairness(&[0.0, 0.0]).is_nan());
    }

    #[test]
    fn fairness_is_that_of_jain() {
        assert_eq!(fairness(&[2.0, 2.0]), 1.0);
        assert_eq!(fairness(&[4.0, 0.0, 0.0, 0.0]), 0.25);
    }
}
