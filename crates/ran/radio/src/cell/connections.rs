//! The number of UEs in RRC_CONNECTED, and its maximum since any time.

use super::peaks::Peaks;
use crate::Time;

/// The number of RRC connections of a cell over time.
#[derive(Debug, Default)]
pub(super) struct Connections {
    now: u32,
    peaks: Peaks,
}

impl Connections {
    /// Adds or removes connections at `now`.
    pub fn change(&mut self, now: Time, by: i64) {
        if by == 0 {
            return;
        }
        let before = self.now;
        self.now = u32::try_from(i64::from(before) + by).unwrap_or(0);
        self.peaks.record(now, before);
        self.peaks.drop_up_to(self.now);
    }

    /// The largest number at any time since `since`.
    pub fn max(&self, since: Time) -> u32 {
        self.peaks.max(since).unwrap_or(self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maximum_is_that_of_all_times_since() {
        let mut random = crate::Random::new(1, 0);
        let (mut connections, mut history) = (Connections::default(), vec![]);
        let mut now = 0_u32;
        for at in 0..500_u64 {
            let by = if now > 0 && random.uniform() < 0.5 { -1 } else { 1 };
            connections.change(Time::from_millis(at), by);
            now = now.wrapping_add_signed(by as i32);
            history.push(now);
            for since in 0..=at {
                let expected = history[since as usize..].iter().max().copied();
                assert_eq!(Some(connections.max(Time::from_millis(since))), expected, "since {since} at {at}");
            }
            assert!(connections.peaks.len() <= 60, "{} values are kept", connections.peaks.len());
        }
    }
}
