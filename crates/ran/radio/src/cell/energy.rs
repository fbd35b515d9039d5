//! The energy that a cell consumes, slot by slot, and its sleep: a cell that is off and has no UE falls asleep.

use std::time::Duration;

use super::peaks::Peaks;
use super::{AdministrativeState, Cell};
use crate::Time;
use crate::phy::{Grid, always_on_share, always_on_symbol_share};
use crate::power::PowerModel;

/// Symbols of a slot, with normal cyclic prefix.
const SYMBOLS: f64 = 14.0;
/// The time over which the smallest and the largest power are averaged.
const WINDOW: Duration = Duration::from_millis(10);
/// Their resolution: parts of the power of the full load.
const STEPS: f64 = 1000.0;

/// Whether a cell is switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PowerState {
    /// It is on. It transmits unless it is locked.
    #[default]
    On,
    /// It falls asleep.
    FallingAsleep,
    /// It sleeps.
    Asleep,
    /// It wakes up.
    WakingUp,
}

/// The power state of a cell and the controls that determine it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sleep {
    pub state: PowerState,
    /// The end of a transition.
    until: Time,
    /// Whether energy saving is ordered.
    pub is_ordered: bool,
    /// The number of changes of the state.
    changes: u64,
}

impl Sleep {
    /// Takes the state of `now`, when the cell should be off or on. A transition that has begun is completed first.
    pub fn update(&mut self, now: Time, is_off: bool, transition: Duration) {
        let (next, needs_time) = match self.state {
            PowerState::On if is_off => (PowerState::FallingAsleep, true),
            PowerState::FallingAsleep if now >= self.until => (PowerState::Asleep, false),
            PowerState::Asleep if !is_off => (PowerState::WakingUp, true),
            PowerState::WakingUp if now >= self.until => (PowerState::On, false),
            _ => return,
        };
        self.state = next;
        self.changes += 1;
        if needs_time {
            self.until = now + transition;
            // a transition without duration ends at once
            self.update(now, is_off, transition);
        }
    }
}

/// Adds up the energy of a cell.
#[derive(Debug)]
pub(super) struct EnergyMeter {
    model: PowerModel,
    /// Transceivers that transmit.
    active: u16,
    /// The power in W that a symbol of a downlink slot has beyond an idle one, by the used resource blocks of the slot.
    downlink_w: Box<[f64]>,
    /// The same of an uplink symbol with a grant.
    uplink_w: f64,
    idle_w: f64,
    /// The share of the downlink symbols with a transmission in slots without data.
    always_on_symbols: f64,
    always_on: f64,
    slot_s: f64,
    energy_j: f64,
    /// The energy at the start of the present window, and its end.
    window_j: f64,
    window_slots: u64,
    window_left: u64,
    /// The largest mean power of a window, and how much the smallest is below the largest possible one, in steps.
    largest: Peaks,
    smallest: Peaks,
}

/// What a cell does in a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotActivity {
    /// Downlink symbols, and the resource blocks that carry data in them.
    pub downlink: (u8, u32),
    /// Uplink symbols with a grant.
    pub uplink: u8,
}

impl EnergyMeter {
    pub fn new(model: PowerModel, grid: &Grid) -> Self {
        let slot = grid.slot();
        let window_slots = WINDOW.as_nanos().div_ceil(slot.as_nanos()) as u64;
        let mut meter = EnergyMeter {
            active: model.transceivers,
            downlink_w: vec![0.0; usize::from(grid.prbs()) + 1].into(),
            uplink_w: 0.0,
            idle_w: model.idle_w(),
            always_on_symbols: always_on_symbol_share(grid),
            always_on: always_on_share(grid),
            slot_s: slot.as_secs_f64(),
            energy_j: 0.0,
            window_j: 0.0,
            window_slots,
            window_left: window_slots,
            largest: Peaks::default(),
            smallest: Peaks::default(),
            model,
        };
        meter.set_active(model.transceivers);
        meter
    }

    /// Sets how many transceivers transmit.
    pub fn set_active(&mut self, active: u16) {
        let EnergyMeter { model, always_on, always_on_symbols, .. } = *self;
        let share = f64::from(active) / f64::from(model.transceivers);
        let most = (self.downlink_w.len() - 1).max(1) as f64;
        self.active = active;
        for (prbs, power_w) in self.downlink_w.iter_mut().enumerate() {
            *power_w = if prbs == 0 {
                let of_symbol = model.downlink_w((always_on / always_on_symbols).min(1.0), share);
                always_on_symbols * (of_symbol - model.idle_w())
            } else {
                let used = always_on + (1.0 - always_on) * prbs as f64 / most;
                model.downlink_w(used, share) - model.idle_w()
            };
        }
        self.uplink_w = model.uplink_w(share) - model.idle_w();
    }

    /// Counts a slot that ends at `end`. `None`: the cell transmits nothing.
    pub fn count_slot(&mut self, end: Time, state: PowerState, activity: Option<SlotActivity>) {
        let power_w = match (state, activity) {
            (PowerState::On, Some(SlotActivity { downlink: (symbols, prbs), uplink })) => {
                let down = f64::from(symbols);
                let sent = if prbs == 0 { self.always_on_symbols * down } else { down };
                // TR 38.864 5.1: reception during transmission is not counted
                let up = f64::from(uplink).min(SYMBOLS - sent);
                let at = (prbs as usize).min(self.downlink_w.len() - 1);
                self.idle_w + (down * self.downlink_w[at] + up * self.uplink_w) / SYMBOLS
            }
            (PowerState::On, None) => self.idle_w,
            (PowerState::Asleep, _) => self.model.sleep_w(),
            (PowerState::FallingAsleep | PowerState::WakingUp, _) => self.model.transition_w(),
        };
        self.energy_j += power_w * self.slot_s;
        self.window_left -= 1;
        if self.window_left == 0 {
            let mean_w = (self.energy_j - self.window_j) / (self.window_slots as f64 * self.slot_s);
            let steps = self.steps(mean_w);
            self.largest.record(end, steps);
            self.smallest.record(end, u32::MAX - steps);
            (self.window_j, self.window_left) = (self.energy_j, self.window_slots);
        }
    }

    fn steps(&self, power_w: f64) -> u32 {
        // a conversion from f64 saturates
        (power_w / self.model.full_load_w * STEPS).round() as u32
    }

    fn of_steps(&self, steps: u32) -> f64 {
        f64::from(steps) / STEPS * self.model.full_load_w
    }
}

impl Cell {
    /// The power model.
    #[must_use]
    pub fn power_model(&self) -> &PowerModel {
        &self.energy.model
    }

    /// The energy consumed since the model started, in joules.
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        self.energy.energy_j
    }

    /// The smallest and the largest power in watts since `since`, as means over 10 ms; `None` before the first 10 ms. The resolution
    /// is a thousandth of the full load.
    #[must_use]
    pub fn power_range_w(&self, since: Time) -> Option<(f64, f64)> {
        let meter = &self.energy;
        let least = u32::MAX - meter.smallest.max(since)?;
        Some((meter.of_steps(least), meter.of_steps(meter.largest.max(since)?)))
    }

    /// Whether the cell is switched on.
    #[must_use]
    pub fn power_state(&self) -> PowerState {
        self.sleep.state
    }

    /// The number of changes of the power state.
    #[must_use]
    pub fn power_state_changes(&self) -> u64 {
        self.sleep.changes
    }

    /// Orders energy saving, or its end. The cell admits no more UEs and falls asleep once it has none; in a
    /// [`Network`](crate::Network) its UEs are handed over. At the end it wakes up.
    pub fn set_energy_saving(&mut self, is_ordered: bool) {
        self.sleep.is_ordered = is_ordered;
    }

    /// Whether energy saving is ordered.
    #[must_use]
    pub fn saves_energy(&self) -> bool {
        self.sleep.is_ordered
    }

    /// Whether the cell transmits: it is on and not locked.
    #[must_use]
    pub fn is_on_air(&self) -> bool {
        self.sleep.state == PowerState::On && !self.is_locked()
    }

    /// Whether the cell admits UEs: it is on, and neither locked, shutting down nor about to sleep.
    #[must_use]
    pub fn admits_ues(&self) -> bool {
        self.administrative_state == AdministrativeState::Unlocked
            && self.sleep.state == PowerState::On
            && !self.sleep.is_ordered
    }

    /// The number of transceivers that transmit.
    #[must_use]
    pub fn active_transceivers(&self) -> u16 {
        self.energy.active
    }

    /// Mutes all but `active` transceivers, 1 to [`PowerModel::transceivers`], in the downlink. The others keep their power, so data
    /// has less power and less beamforming gain, and no more layers than transceivers. Signals that UEs measure keep their power.
    ///
    /// # Panics
    /// When `active` is out of range.
    pub fn set_active_transceivers(&mut self, active: u16) {
        let all = self.energy.model.transceivers;
        assert!((1..=all).contains(&active), "{active} of {all} transceivers");
        self.energy.set_active(active);
        let share = f64::from(active) / f64::from(all);
        self.muting = Muting {
            // less power, and less gain of the antenna array
            loss_db: -20.0 * share.log10(),
            most_layers: active.min(u16::from(u8::MAX)) as u8,
            power_share: share,
        };
    }

    /// Updates the power state at the start of a slot.
    pub(super) fn update_power_state(&mut self, now: Time) {
        let is_off = (self.sleep.is_ordered || self.is_locked()) && self.ue_table.count() == 0;
        self.sleep.update(now, is_off, self.energy.model.transition());
    }
}

/// What muted transceivers cost the downlink.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Muting {
    /// How much less SINR data has, in dB.
    pub loss_db: f64,
    /// The most layers.
    pub most_layers: u8,
    /// The power of data, in relation to that of all transceivers.
    pub power_share: f64,
}

impl Default for Muting {
    fn default() -> Self {
        Muting { loss_db: 0.0, most_layers: u8::MAX, power_share: 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CellConfig;
    use crate::phy::Carrier;

    const FULL_W: f64 = 280.0;

    fn meter() -> EnergyMeter {
        let model = PowerModel { full_load_w: FULL_W, ..PowerModel::default() };
        EnergyMeter::new(model, &Carrier::default().check().unwrap())
    }

    /// The power in W of a slot.
    fn slot_w(meter: &mut EnergyMeter, state: PowerState, activity: Option<SlotActivity>) -> f64 {
        let before_j = meter.energy_j;
        meter.count_slot(Time::START, state, activity);
        (meter.energy_j - before_j) / meter.slot_s
    }

    fn on(meter: &mut EnergyMeter, downlink: (u8, u32), uplink: u8) -> f64 {
        slot_w(meter, PowerState::On, Some(SlotActivity { downlink, uplink }))
    }

    #[test]
    fn slots_have_the_power_of_their_symbols() {
        let mut meter = meter();
        let prbs = 106;
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value} and not {expected}");
        near(on(&mut meter, (14, prbs), 0), 280.0);
        // six of 14 symbols in the downlink
        near(on(&mut meter, (6, prbs), 0), 55.0 + 225.0 * 6.0 / 14.0);
        near(on(&mut meter, (0, 0), 14), 110.0);
        near(on(&mut meter, (6, prbs), 4), 55.0 + (225.0 * 6.0 + 55.0 * 4.0) / 14.0);
        near(on(&mut meter, (0, 0), 0), 55.0);
        // half of the resource blocks, and the signals that are always on in the others
        let used = meter.always_on + (1.0 - meter.always_on) * 0.5;
        near(on(&mut meter, (14, prbs / 2), 0), 55.0 + 225.0 * (0.4 + 0.6 * used));
        // without data, only the symbols of these signals
        let share = meter.always_on_symbols;
        let empty = 55.0 + share * 225.0 * (0.4 + 0.6 * meter.always_on / share);
        near(on(&mut meter, (14, 0), 0), empty);
        // reception during transmission is not counted
        near(on(&mut meter, (14, prbs), 14), 280.0);
        near(on(&mut meter, (14, 0), 14), empty + (1.0 - share) * 55.0);
        near(slot_w(&mut meter, PowerState::On, None), 55.0);
        near(slot_w(&mut meter, PowerState::Asleep, None), 1.0);
        near(slot_w(&mut meter, PowerState::WakingUp, None), 21.0);
        meter.set_active(32);
        near(on(&mut meter, (14, prbs), 0), 55.0 + 225.0 / 2.0);
        near(on(&mut meter, (0, 0), 14), 55.0 + 55.0 / 2.0);
    }

    #[test]
    fn range_is_that_of_windows() {
        let mut meter = meter();
        assert_eq!(meter.window_slots, 20);
        let mut end = Time::START;
        for slot in 0..60 {
            end += Duration::from_micros(500);
            let prbs = if slot / 20 == 1 { 106 } else { 0 };
            let activity = SlotActivity { downlink: (if prbs > 0 { 14 } else { 0 }, prbs), uplink: 0 };
            meter.count_slot(end, PowerState::On, Some(activity));
        }
        let range = |since_ms| {
            let since = Time::from_millis(since_ms);
            let least = meter.smallest.max(since).map(|steps| meter.of_steps(u32::MAX - steps));
            (least, meter.largest.max(since).map(|steps| meter.of_steps(steps)))
        };
        // in steps of 0.28 W
        let idle = Some((55.0_f64 / 0.28).round() * 0.28);
        assert_eq!(range(0), (idle, Some(280.0)));
        assert_eq!(range(15), (idle, Some(280.0)));
        assert_eq!(range(20), (idle, idle));
        assert_eq!(range(30), (None, None));
    }

    #[test]
    fn transitions_are_completed() {
        let mut sleep = Sleep::default();
        let transition = Duration::from_millis(25);
        let mut states = Vec::new();
        for at in 0..100 {
            // off for 10 ms only
            sleep.update(Time::from_millis(at), (10..20).contains(&at), transition);
            if states.last().is_none_or(|(_, state)| *state != sleep.state) {
                states.push((at, sleep.state));
            }
        }
        use PowerState::*;
        assert_eq!(states, [(0, On), (10, FallingAsleep), (35, Asleep), (36, WakingUp), (61, On)]);
        // micro sleep
        sleep.update(Time::from_millis(100), true, Duration::ZERO);
        assert_eq!(sleep.state, Asleep);
        sleep.update(Time::from_millis(101), false, Duration::ZERO);
        assert_eq!(sleep.state, On);
    }

    #[test]
    fn transceivers_out_of_range_are_rejected() {
        let cell = || Cell::new(CellConfig::default()).unwrap();
        for active in [0, 65] {
            let result = std::panic::catch_unwind(|| cell().set_active_transceivers(active));
            assert!(result.is_err(), "{active}");
        }
        let mut cell = cell();
        cell.set_active_transceivers(16);
        assert_eq!(cell.active_transceivers(), 16);
        assert!((cell.muting.loss_db - 12.041).abs() < 0.001);
    }
}
