//! When a UE had something to send or to receive.

use std::time::Duration;

use crate::Time;

/// A UE that had nothing to send or to receive for so long is `RRC_INACTIVE` (TS 38.331 4.2.1): a base station's
/// inactivity timer.
pub const INACTIVITY: Duration = Duration::from_secs(2);

/// Since a UE came to its cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Activity {
    came: Time,
    /// Slots in which it had something.
    active_slots: u64,
    /// When these grew last.
    since: Time,
    /// How long it was inactive, without the present.
    inactive: Duration,
}

impl Activity {
    /// A UE comes: that keeps it busy.
    pub fn new(now: Time) -> Self {
        Activity { came: now, active_slots: 0, since: now, inactive: Duration::ZERO }
    }

    /// So many slots it had something in until now.
    pub fn look(&mut self, now: Time, active_slots: u64) {
        if active_slots != self.active_slots {
            *self = Activity { active_slots, since: now, inactive: self.inactive(now), ..*self };
        }
    }

    /// How long it is that it came.
    pub fn present(&self, now: Time) -> Duration {
        now.since(self.came)
    }

    /// How long of that it was inactive.
    pub fn inactive(&self, now: Time) -> Duration {
        self.inactive + now.since(self.since).saturating_sub(INACTIVITY)
    }

    pub fn is_inactive(&self, now: Time) -> bool {
        now.since(self.since) >= INACTIVITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_silent_for_long_is_inactive() {
        let mut activity = Activity::new(Time::from_millis(100));
        let told = |activity: &Activity, ms| {
            let now = Time::from_millis(ms);
            (activity.present(now).as_millis(), activity.inactive(now).as_millis(), activity.is_inactive(now))
        };
        activity.look(Time::from_millis(200), 1);
        activity.look(Time::from_millis(2100), 1);
        assert_eq!(told(&activity, 2199), (2099, 0, false));
        assert_eq!(told(&activity, 2200), (2100, 0, true));
        assert_eq!(told(&activity, 2700), (2600, 500, true));
        activity.look(Time::from_millis(3200), 2);
        assert_eq!(told(&activity, 3200), (3100, 1000, false));
        assert_eq!(told(&activity, 5300), (5200, 1100, true));
    }
}
