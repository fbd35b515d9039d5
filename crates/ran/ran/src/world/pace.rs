//! Whether the machine keeps up with the model.

use std::time::Duration;

/// How much of the model's time the figure is about: a machine that is busy with something else for a moment is not slow.
const OVER: Duration = Duration::from_secs(5);
/// The most that a single look says: what takes longer has waited for something else.
const MOST: f64 = 10.0;
/// Time for a second of the model above which the machine counts as slow, in seconds.
const SLOW: f64 = 0.8;

/// How long a second of the model takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    seconds: f64,
}

impl Pace {
    /// A look has taken so long, in which so much is to go by.
    pub fn took(&mut self, took: Duration, length: Duration) {
        let look = (took.as_secs_f64() / length.as_secs_f64()).min(MOST);
        let part = 1.0 - (-length.as_secs_f64() / OVER.as_secs_f64()).exp();
        self.seconds += part * (look - self.seconds);
    }

    /// Seconds for a second of the model.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    pub fn is_slow(&self) -> bool {
        self.seconds > SLOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_disturbed_look_is_not_a_slow_machine() {
        let mut pace = Pace::default();
        for at in 0..1000 {
            // now and then something else has the processor, once for long
            let took = if at == 500 {
                3000 * MS
            } else if at % 50 == 0 {
                30 * MS
            } else {
                MS / 2
            };
            pace.took(took, 5 * MS);
            assert!(!pace.is_slow(), "look {at}: {}", pace.seconds());
        }
    }

    #[test]
    fn a_slow_machine_is_found_out_and_forgiven() {
        let mut pace = Pace::default();
        // each look takes longer than what it is about, and so is the next one longer
        let mut length = 5 * MS;
        let mut gone = Duration::ZERO;
        while !pace.is_slow() {
            pace.took(length.mul_f64(1.5), length);
            gone += length;
            length = length.mul_f64(1.5);
            assert!(gone < Duration::from_secs(15));
        }
        for _ in 0..60 {
            pace.took(30 * MS, 100 * MS);
        }
        assert!(!pace.is_slow());
    }
}
