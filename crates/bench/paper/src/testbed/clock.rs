//! The model's time where it is the clock's.

use super::SLOT;

const SLOTS_PER_FRAME: u64 = 20;
/// Frames have so many numbers (TS 38.211 4.3.1).
const FRAMES: u64 = 1024;
/// Slots until their numbers and their frames' repeat.
const AROUND: u64 = FRAMES * SLOTS_PER_FRAME;

/// A slot's number among those of all frames.
fn number(frame: u16, slot: u16) -> u64 {
    u64::from(frame) * SLOTS_PER_FRAME + u64::from(slot)
}

/// Whether the `slot`th one of the model has these numbers.
pub fn is_numbered(slot: u64, frame: u16, slot_of_frame: u16) -> bool {
    slot % AROUND == number(frame, slot_of_frame)
}

/// The model's time, by the frames and slots that MAC tells. Their numbers repeat after ten seconds, of which the time stamps
/// tell how many have passed.
#[derive(Default)]
pub struct Clock {
    /// A time stamp, and slots since the model's beginning.
    last: Option<(i64, f64)>,
}

impl Clock {
    /// Slots since the model's beginning, by the time stamps alone.
    fn slots(&self, timestamp_us: i64) -> Option<f64> {
        let (at_us, slots) = self.last?;
        Some(slots + (timestamp_us - at_us) as f64 * 1e-6 / SLOT.as_secs_f64())
    }

    /// MAC tells its slot, and when; the time in seconds.
    pub fn tell(&mut self, timestamp_us: i64, frame: u16, slot: u16) -> f64 {
        let (told, around) = (number(frame, slot) as f64, AROUND as f64);
        let passed = self.slots(timestamp_us).map_or(0.0, |slots| ((slots - told) / around).round().max(0.0));
        let slots = told + passed * around;
        self.last = Some((timestamp_us, slots));
        slots * SLOT.as_secs_f64()
    }

    /// When that was, in seconds.
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
    fn frames_that_repeat_are_told_apart() {
        let mut clock = Clock::default();
        assert_eq!(clock.at_s(0), None);
        assert_eq!(clock.tell(1_000_000, 100, 0), 1.0);
        assert_eq!(clock.at_s(1_500_000), Some(1.5));
        // 10.24 s are a round
        let near = |told: f64, wanted: f64| assert!((told - wanted).abs() < 1e-9, "{told} {wanted}");
        near(clock.tell(11_000_000, 76, 0), 11.0);
        // later than it should be
        near(clock.tell(21_000_000, 0, 1), 20.4805);
        near(clock.tell(21_500_000, 60, 0), 21.08);
        near(clock.at_s(21_000_000).unwrap(), 20.58);
        assert!(is_numbered(42_160, 60, 0) && !is_numbered(42_161, 60, 0));
    }
}
