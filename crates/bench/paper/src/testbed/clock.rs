//! The model's time in live mode.

use super::SLOT;

const SLOTS_PER_FRAME: u64 = 20;
/// The number of system frame numbers (TS 38.211 4.3.1).
const FRAMES: u64 = 1024;
/// The slots until frame and slot numbers repeat.
const PERIOD_SLOTS: u64 = FRAMES * SLOTS_PER_FRAME;

/// The number of a slot within the period.
fn number(frame: u16, slot: u16) -> u64 {
    u64::from(frame) * SLOTS_PER_FRAME + u64::from(slot)
}

/// Whether slot number `slot` of the model has these frame and slot numbers.
pub fn is_numbered(slot: u64, frame: u16, slot_of_frame: u16) -> bool {
    slot % PERIOD_SLOTS == number(frame, slot_of_frame)
}

/// The model's time from the frame and slot numbers in MAC reports. The numbers repeat after 10.24 s; the time stamps count
/// the repetitions.
#[derive(Default)]
pub struct Clock {
    /// The last time stamp, and its slots since the start of the model.
    last: Option<(i64, f64)>,
}

impl Clock {
    /// The slots since the start of the model, by the time stamps alone.
    fn slots(&self, timestamp_us: i64) -> Option<f64> {
        let (at_us, slots) = self.last?;
        Some(slots + (timestamp_us - at_us) as f64 * 1e-6 / SLOT.as_secs_f64())
    }

    /// Takes the slot of a MAC report; returns the model's time in seconds.
    pub fn update(&mut self, timestamp_us: i64, frame: u16, slot: u16) -> f64 {
        let (reported, period) = (number(frame, slot) as f64, PERIOD_SLOTS as f64);
        let passed = self.slots(timestamp_us).map_or(0.0, |slots| ((slots - reported) / period).round().max(0.0));
        let slots = reported + passed * period;
        self.last = Some((timestamp_us, slots));
        slots * SLOT.as_secs_f64()
    }

    /// The model's time at a time stamp, in seconds.
    pub fn at_s(&self, timestamp_us: i64) -> Option<f64> {
        self.slots(timestamp_us).map(|slots| slots * SLOT.as_secs_f64())
    }

    pub fn now_s(&self) -> Option<f64> {
        self.last.map(|(_, slots)| slots * SLOT.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_frame_numbers_are_distinguished() {
        let mut clock = Clock::default();
        assert_eq!(clock.at_s(0), None);
        assert_eq!(clock.update(1_000_000, 100, 0), 1.0);
        assert_eq!(clock.at_s(1_500_000), Some(1.5));
        // frame numbers repeat after 10.24 s
        let near = |time: f64, expected: f64| assert!((time - expected).abs() < 1e-9, "{time} {expected}");
        near(clock.update(11_000_000, 76, 0), 11.0);
        // later than it should be
        near(clock.update(21_000_000, 0, 1), 20.4805);
        near(clock.update(21_500_000, 60, 0), 21.08);
        near(clock.at_s(21_000_000).unwrap(), 20.58);
        assert!(is_numbered(42_160, 60, 0) && !is_numbered(42_161, 60, 0));
    }
}
