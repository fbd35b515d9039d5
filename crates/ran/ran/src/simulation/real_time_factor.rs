//! How fast this machine runs the model.

use std::time::Duration;

/// The time constant of the average, in model time: a machine that is busy with something else for a moment is not slow.
const AVERAGING: Duration = Duration::from_secs(5);
/// The largest factor that one advance contributes. An advance that takes longer was waiting for something else.
const MAX_SAMPLE: f64 = 10.0;
/// The factor above which the machine is too slow.
const SLOW: f64 = 0.8;

/// The processing time of one second of the model, in seconds: a running average.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealTimeFactor {
    value: f64,
}

impl RealTimeFactor {
    /// Adds an advance of the model by `length` that took `processing` time.
    pub fn update(&mut self, processing: Duration, length: Duration) {
        let sample = (processing.as_secs_f64() / length.as_secs_f64()).min(MAX_SAMPLE);
        let weight = 1.0 - (-length.as_secs_f64() / AVERAGING.as_secs_f64()).exp();
        self.value += weight * (sample - self.value);
    }

    /// The average.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Whether the machine is too slow for the model.
    pub fn is_too_slow(&self) -> bool {
        self.value > SLOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn interrupted_advances_do_not_count_as_slow() {
        let mut factor = RealTimeFactor::default();
        for at in 0..1000 {
            // now and then another process has the processor, once for long
            let processing = if at == 500 {
                3000 * MS
            } else if at % 50 == 0 {
                30 * MS
            } else {
                MS / 2
            };
            factor.update(processing, 5 * MS);
            assert!(!factor.is_too_slow(), "advance {at}: {}", factor.value());
        }
    }

    #[test]
    fn slow_machine_is_detected_and_recovers() {
        let mut factor = RealTimeFactor::default();
        // each advance takes longer than its length, so that the next one is longer
        let mut length = 5 * MS;
        let mut elapsed = Duration::ZERO;
        while !factor.is_too_slow() {
            factor.update(length.mul_f64(1.5), length);
            elapsed += length;
            length = length.mul_f64(1.5);
            assert!(elapsed < Duration::from_secs(15));
        }
        for _ in 0..60 {
            factor.update(30 * MS, 100 * MS);
        }
        assert!(!factor.is_too_slow());
    }
}
