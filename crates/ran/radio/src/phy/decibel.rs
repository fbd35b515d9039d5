//! Decibels. The functions to the base 2 are several times as fast as those to the base 10.

use std::f64::consts::{LOG2_10, LOG10_2};

/// A ratio in dB, or a power in mW in dBm.
pub(crate) fn decibels(linear: f64) -> f64 {
    10.0 * LOG10_2 * linear.log2()
}

/// The ratio of a value in dB, or the power in mW of one in dBm.
pub(crate) fn linear(db: f64) -> f64 {
    (LOG2_10 / 10.0 * db).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_match_definition() {
        assert_eq!((linear(0.0), decibels(1.0)), (1.0, 0.0));
        assert_eq!((linear(f64::NEG_INFINITY), decibels(0.0)), (0.0, f64::NEG_INFINITY));
        for tenths in -2000..1000 {
            let db = f64::from(tenths) / 10.0;
            let expected = 10.0_f64.powf(db / 10.0);
            assert!((linear(db) / expected - 1.0).abs() < 1e-13, "{db}");
            assert!((decibels(expected) - db).abs() < 1e-11, "{db}");
        }
    }
}
