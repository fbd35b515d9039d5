//! Activity of a UE, for the RRC_INACTIVE state.

use std::time::Duration;

use crate::Time;

/// The inactivity timer of the base station: a UE without traffic for this long is in `RRC_INACTIVE` (TS 38.331 4.2.1).
pub const INACTIVITY_TIMER: Duration = Duration::from_secs(2);

/// The activity of a UE since it arrived in its cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Activity {
    arrived: Time,
    /// Slots with traffic.
    active_slots: u64,
    /// When the count last increased.
    since: Time,
    /// Past time in RRC_INACTIVE, without the current period.
    inactive: Duration,
}

impl Activity {
    /// Starts at the arrival of the UE, which counts as activity.
    pub fn new(now: Time) -> Self {
        Activity { arrived: now, active_slots: 0, since: now, inactive: Duration::ZERO }
    }

    /// Updates the count of slots with traffic.
    pub fn update(&mut self, now: Time, active_slots: u64) {
        if active_slots != self.active_slots {
            *self = Activity { active_slots, since: now, inactive: self.inactive(now), ..*self };
        }
    }

    /// Time since the arrival.
    pub fn present(&self, now: Time) -> Duration {
        now.since(self.arrived)
    }

    /// The part of it in RRC_INACTIVE.
    pub fn inactive(&self, now: Time) -> Duration {
        self.inactive + now.since(self.since).saturating_sub(INACTIVITY_TIMER)
    }

    pub fn is_inactive(&self, now: Time) -> bool {
        now.since(self.since) >= INACTIVITY_TIMER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ue_without_traffic_becomes_inactive() {
        let mut activity = Activity::new(Time::from_millis(100));
        let state = |activity: &Activity, ms| {
            let now = Time::from_millis(ms);
            (activity.present(now).as_millis(), activity.inactive(now).as_millis(), activity.is_inactive(now))
        };
        activity.update(Time::from_millis(200), 1);
        activity.update(Time::from_millis(2100), 1);
        assert_eq!(state(&activity, 2199), (2099, 0, false));
        assert_eq!(state(&activity, 2200), (2100, 0, true));
        assert_eq!(state(&activity, 2700), (2600, 500, true));
        activity.update(Time::from_millis(3200), 2);
        assert_eq!(state(&activity, 3200), (3100, 1000, false));
        assert_eq!(state(&activity, 5300), (5200, 1100, true));
    }
}
