//! The power consumption of a base station with one cell (TR 38.864 5.1).
//!
//! Powers are relative, as in TR 38.864, and scaled to watts by [`PowerModel::full_load_w`].

use std::fmt;
use std::time::Duration;

/// The hardware categories of TR 38.864 5.1: sleep of the first is shallow and left fast, that of the second is deep and left
/// slowly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PowerCategory {
    /// Category 1.
    #[default]
    One,
    /// Category 2.
    Two,
}

/// The reference configurations of TR 38.864 table 5.1-1 in frequency range 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceSet {
    /// Set 1: TDD, 100 MHz, 30 kHz, 64 transceivers.
    One,
    /// Set 2: FDD, 20 MHz, 15 kHz, 32 transceivers.
    Two,
}

/// The depth of a cell's sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SleepDepth {
    /// Micro sleep: entered and left at once, the power of a symbol without transmission.
    Micro,
    /// Light sleep.
    Light,
    /// Deep sleep.
    #[default]
    Deep,
}

/// A sleep state with a transition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SleepState {
    /// Relative power.
    pub power: f64,
    /// Total transition time (TR 38.864 table 5.1-4): entering and leaving the state, half of it each.
    pub transition: Duration,
    /// Additional energy of both transitions (TR 38.864 table 5.1-5), in relative power times milliseconds.
    pub transition_energy: f64,
}

/// The power model of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerModel {
    /// Deep sleep (P1).
    pub deep: SleepState,
    /// Light sleep (P2).
    pub light: SleepState,
    /// Relative power of micro sleep, the static part of the active states (P3).
    pub micro: f64,
    /// Relative power of downlink transmission in all resource blocks at full power with all transceivers (P4).
    pub downlink: f64,
    /// Relative power of uplink reception (P5).
    pub uplink: f64,
    /// The part of the dynamic downlink power that does not depend on load (A), 0 to 1. Default: 0.4.
    pub load_independent: f64,
    /// Efficiency of the power amplifiers below half of their power, in relation to that above (eta), 0.1 to 1. Default: 1.
    pub low_load_efficiency: f64,
    /// Transmit power of a resource block in relation to the one that the hardware is made for (s_p), above 0 to 1. Default: 1.
    pub power_share: f64,
    /// Watts of the full downlink load, to which all powers are scaled. Default: 1200.
    pub full_load_w: f64,
    /// Transceivers, 1 to 256: the digits of an antenna mask. Default: that of the reference configuration.
    pub transceivers: u16,
    /// The sleep of a cell that is locked or saves energy. Default: deep.
    pub sleep: SleepDepth,
}

impl Default for PowerModel {
    fn default() -> Self {
        PowerModel::new(PowerCategory::One, ReferenceSet::One)
    }
}

/// A value of [`PowerModel`] that is out of range or out of order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerModelError {
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub value: f64,
    /// The valid values.
    pub allowed: &'static str,
}

impl fmt::Display for PowerModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PowerModelError { field, value, allowed } = self;
        write!(f, "{field} is {value}: must be {allowed}")
    }
}

impl std::error::Error for PowerModelError {}

/// The largest relative power, and the largest transition energy.
const MOST_POWER: f64 = 1e4;
const MOST_ENERGY: f64 = 1e7;
/// The longest transition.
const MOST_TRANSITION: Duration = Duration::from_secs(60);
/// The most transceivers.
pub const MAX_TRANSCEIVERS: u16 = 256;

impl PowerModel {
    /// The values of TR 38.864 tables 5.1-3 to 5.1-5.
    #[must_use]
    pub fn new(category: PowerCategory, set: ReferenceSet) -> Self {
        let state = |power, ms, transition_energy| SleepState {
            power,
            transition: Duration::from_millis(ms),
            transition_energy,
        };
        let (deep, light) = match category {
            PowerCategory::One => (state(1.0, 50, 1000.0), state(25.0, 6, 90.0)),
            PowerCategory::Two => (state(1.0, 10_000, 17_000.0), state(2.1, 640, 1088.0)),
        };
        let (micro, downlink, uplink) = match (category, set) {
            (PowerCategory::One, ReferenceSet::One) => (55.0, 280.0, 110.0),
            (PowerCategory::One, ReferenceSet::Two) => (50.0, 200.0, 90.0),
            (PowerCategory::Two, ReferenceSet::One) => (5.5, 32.0, 6.5),
            (PowerCategory::Two, ReferenceSet::Two) => (5.0, 26.0, 5.8),
        };
        PowerModel {
            deep,
            light,
            micro,
            downlink,
            uplink,
            load_independent: 0.4,
            low_load_efficiency: 1.0,
            power_share: 1.0,
            full_load_w: 1200.0,
            transceivers: if set == ReferenceSet::One { 64 } else { 32 },
            sleep: SleepDepth::Deep,
        }
    }

    /// Validates all fields.
    ///
    /// # Errors
    /// The first field that is NaN, out of range, or less than a deeper sleep state.
    pub fn check(&self) -> Result<(), PowerModelError> {
        let within = |field, value: f64, least: f64, most: f64, allowed| {
            // NaN is in no range
            if (least..=most).contains(&value) { Ok(()) } else { Err(PowerModelError { field, value, allowed }) }
        };
        within("deep_sleep", self.deep.power, 0.0, MOST_POWER, "0 to 10000")?;
        within("light_sleep", self.light.power, self.deep.power, MOST_POWER, "from deep_sleep to 10000")?;
        within("micro_sleep", self.micro, self.light.power, MOST_POWER, "from light_sleep to 10000")?;
        within("active_dl", self.downlink, self.micro.max(f64::MIN_POSITIVE), MOST_POWER, "from micro_sleep to 10000")?;
        within("active_ul", self.uplink, self.micro, MOST_POWER, "from micro_sleep to 10000")?;
        let seconds = |state: &SleepState| state.transition.as_secs_f64() * 1e3;
        let most_ms = MOST_TRANSITION.as_secs_f64() * 1e3;
        within("deep_transition_ms", seconds(&self.deep), 0.0, most_ms, "0 to 60000")?;
        within("light_transition_ms", seconds(&self.light), 0.0, most_ms, "0 to 60000")?;
        within("deep_transition_energy", self.deep.transition_energy, 0.0, MOST_ENERGY, "0 to 1e7")?;
        within("light_transition_energy", self.light.transition_energy, 0.0, MOST_ENERGY, "0 to 1e7")?;
        within("load_independent", self.load_independent, 0.0, 1.0, "0 to 1")?;
        within("low_load_efficiency", self.low_load_efficiency, 0.1, 1.0, "0.1 to 1")?;
        within("power_share", self.power_share, f64::MIN_POSITIVE, 1.0, "above 0, at most 1")?;
        within("full_load_w", self.full_load_w, 0.001, 1e6, "0.001 to 1e6")?;
        within("trx", self.transceivers.into(), 1.0, MAX_TRANSCEIVERS.into(), "1 to 256")
    }

    /// Watts of a relative power.
    fn watts(&self, relative: f64) -> f64 {
        relative * self.full_load_w / self.downlink
    }

    /// The power in watts without transmission and reception.
    #[must_use]
    pub fn idle_w(&self) -> f64 {
        self.watts(self.micro)
    }

    /// The power in watts of downlink transmission in a share of the resource blocks (s_f), with a share of the transceivers (s_a):
    /// P3 + s_a (P4 - P3) (A + (1 - A) s_f s_p / eta).
    #[must_use]
    pub fn downlink_w(&self, prb_share: f64, transceiver_share: f64) -> f64 {
        let output = prb_share * self.power_share;
        let efficiency = if output < 0.5 { self.low_load_efficiency } else { 1.0 };
        let load = self.load_independent + (1.0 - self.load_independent) * output / efficiency;
        self.watts(self.micro + transceiver_share * (self.downlink - self.micro) * load)
    }

    /// The power in watts of uplink reception: P3 + s_a (P5 - P3).
    #[must_use]
    pub fn uplink_w(&self, transceiver_share: f64) -> f64 {
        self.watts(self.micro + transceiver_share * (self.uplink - self.micro))
    }

    /// The sleep state of a cell that is off.
    fn sleep_state(&self) -> SleepState {
        match self.sleep {
            SleepDepth::Deep => self.deep,
            SleepDepth::Light => self.light,
            SleepDepth::Micro => SleepState { power: self.micro, transition: Duration::ZERO, transition_energy: 0.0 },
        }
    }

    /// The power in watts of a cell that is off.
    #[must_use]
    pub fn sleep_w(&self) -> f64 {
        self.watts(self.sleep_state().power)
    }

    /// The time that a cell needs to fall asleep, and as much to wake up.
    #[must_use]
    pub fn transition(&self) -> Duration {
        self.sleep_state().transition / 2
    }

    /// The power in watts while a cell falls asleep or wakes up: that of the sleep state, and the additional energy of both
    /// transitions, spread over them.
    #[must_use]
    pub fn transition_w(&self) -> f64 {
        let SleepState { power, transition, transition_energy } = self.sleep_state();
        let ms = transition.as_secs_f64() * 1e3;
        self.watts(power + if ms > 0.0 { transition_energy / ms } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9 * expected.abs().max(1.0), "{value} and not {expected}");
    }

    #[test]
    fn powers_follow_formula() {
        let model = PowerModel { full_load_w: 280.0, ..PowerModel::default() };
        near(model.idle_w(), 55.0);
        near(model.downlink_w(1.0, 1.0), 280.0);
        // 55 + 225 (0.4 + 0.6 / 2)
        near(model.downlink_w(0.5, 1.0), 212.5);
        near(model.downlink_w(0.0, 1.0), 145.0);
        // half of the transceivers: 55 + 112.5
        near(model.downlink_w(1.0, 0.5), 167.5);
        near(model.uplink_w(1.0), 110.0);
        near(model.uplink_w(0.5), 82.5);
        near(model.sleep_w(), 1.0);
        // 1 + 1000 / 50
        near(model.transition_w(), 21.0);
        assert_eq!(model.transition(), Duration::from_millis(25));
        let weak = PowerModel { power_share: 0.5, low_load_efficiency: 0.76, ..model };
        near(weak.downlink_w(1.0, 1.0), 55.0 + 225.0 * (0.4 + 0.6 * 0.5));
        near(weak.downlink_w(0.8, 1.0), 55.0 + 225.0 * (0.4 + 0.6 * 0.4 / 0.76));
    }

    #[test]
    fn depths_differ_in_power_and_time() {
        let of = |sleep, category| PowerModel { sleep, ..PowerModel::new(category, ReferenceSet::Two) };
        for category in [PowerCategory::One, PowerCategory::Two] {
            let models = [SleepDepth::Micro, SleepDepth::Light, SleepDepth::Deep].map(|depth| of(depth, category));
            assert!(models.windows(2).all(|pair| pair[0].sleep_w() > pair[1].sleep_w()));
            assert!(models.windows(2).all(|pair| pair[0].transition() < pair[1].transition()));
            near(models[0].transition_w(), models[0].idle_w());
        }
        let slow = of(SleepDepth::Light, PowerCategory::Two);
        near(slow.sleep_w(), 1200.0 * 2.1 / 26.0);
        assert_eq!(slow.transition(), Duration::from_millis(320));
    }

    #[test]
    fn invalid_values_are_rejected() {
        let ok = PowerModel::default();
        assert_eq!(ok.check(), Ok(()));
        let state = |power, ms, transition_energy| SleepState {
            power,
            transition: Duration::from_millis(ms),
            transition_energy,
        };
        for (wrong, field) in [
            (PowerModel { deep: state(-1.0, 50, 0.0), ..ok }, "deep_sleep"),
            (PowerModel { light: state(0.5, 6, 0.0), ..ok }, "light_sleep"),
            (PowerModel { micro: 20.0, ..ok }, "micro_sleep"),
            (PowerModel { downlink: 50.0, ..ok }, "active_dl"),
            (PowerModel { downlink: f64::NAN, ..ok }, "active_dl"),
            (PowerModel { uplink: 54.0, ..ok }, "active_ul"),
            (PowerModel { deep: state(1.0, 60_001, 0.0), ..ok }, "deep_transition_ms"),
            (PowerModel { light: state(25.0, 60_001, 0.0), ..ok }, "light_transition_ms"),
            (PowerModel { deep: state(1.0, 50, f64::INFINITY), ..ok }, "deep_transition_energy"),
            (PowerModel { light: state(25.0, 6, -1.0), ..ok }, "light_transition_energy"),
            (PowerModel { load_independent: 1.1, ..ok }, "load_independent"),
            (PowerModel { low_load_efficiency: 0.0, ..ok }, "low_load_efficiency"),
            (PowerModel { power_share: 0.0, ..ok }, "power_share"),
            (PowerModel { power_share: 1.5, ..ok }, "power_share"),
            (PowerModel { full_load_w: 0.0, ..ok }, "full_load_w"),
            (PowerModel { transceivers: 0, ..ok }, "trx"),
            (PowerModel { transceivers: 257, ..ok }, "trx"),
        ] {
            assert_eq!(wrong.check().unwrap_err().field, field);
        }
        let error = PowerModel { uplink: 54.0, ..ok }.check().unwrap_err();
        assert_eq!(error.to_string(), "active_ul is 54: must be from micro_sleep to 10000");
    }
}
