//! The triggering of measurement events (TS 38.331 5.5.4.1): entering and leaving conditions, time to trigger, repeated reports.
//!
//! Each cell has its own time to trigger: two neighbours of similar strength do not delay each other.

use std::time::Duration;

use super::measurement::MeasurementEvent;
use crate::Time;

/// The interval of repeated reports while an event lasts (reportInterval of TS 38.331 5.5.5.1).
const REPORT_INTERVAL: Duration = Duration::from_millis(1024);

/// The state of an event at a UE.
#[derive(Clone, Debug, Default)]
pub(super) struct Trigger {
    /// Cells for which the entering condition holds, or whose event has not been left yet.
    candidates: Vec<Candidate>,
    last_report: Option<Time>,
}

#[derive(Clone, Debug)]
struct Candidate {
    cell: usize,
    /// Since when the entering condition holds; once triggered, since when the leaving condition holds.
    since: Option<Time>,
    is_triggered: bool,
}

/// The parameters of a trigger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TriggerConfig {
    pub hysteresis_db: f64,
    pub time_to_trigger: Duration,
}

impl From<MeasurementEvent> for TriggerConfig {
    fn from(event: MeasurementEvent) -> Self {
        TriggerConfig { hysteresis_db: event.hysteresis_db, time_to_trigger: event.time_to_trigger }
    }
}

impl Trigger {
    /// Evaluates the event for cells, given as (cell, margin in dB): the entering condition holds above the hysteresis, the
    /// leaving condition below the negative hysteresis. Returns the cell of the largest margin among those that are triggered
    /// when a report is due: after a new trigger, and every [`REPORT_INTERVAL`] while any is triggered.
    pub fn evaluate(
        &mut self,
        now: Time,
        margins: impl Iterator<Item = (usize, f64)>,
        config: TriggerConfig,
    ) -> Option<usize> {
        let TriggerConfig { hysteresis_db, time_to_trigger } = config;
        let is_due = |since: Option<Time>| since.is_some_and(|since| now.since(since) >= time_to_trigger);
        let (mut is_new, mut best) = (false, None::<(usize, f64)>);
        for (cell, margin_db) in margins {
            let Some(at) = self.candidates.iter().position(|candidate| candidate.cell == cell) else {
                if margin_db > hysteresis_db {
                    self.candidates.push(Candidate { cell, since: Some(now), is_triggered: false });
                }
                continue;
            };
            let candidate = &mut self.candidates[at];
            if !candidate.is_triggered && margin_db > hysteresis_db && is_due(candidate.since) {
                (candidate.is_triggered, candidate.since, is_new) = (true, None, true);
            }
            if candidate.is_triggered {
                candidate.since = if margin_db < -hysteresis_db { candidate.since.or(Some(now)) } else { None };
                if is_due(candidate.since) {
                    self.candidates.swap_remove(at);
                } else if best.is_none_or(|(_, best_db)| margin_db > best_db) {
                    best = Some((cell, margin_db));
                }
            } else if margin_db <= hysteresis_db {
                self.candidates.swap_remove(at);
            }
        }
        let (cell, _) = best?;
        let is_repeated = self.last_report.is_none_or(|last| now.since(last) >= REPORT_INTERVAL);
        if !is_new && !is_repeated {
            return None;
        }
        self.last_report = Some(now);
        Some(cell)
    }

    /// The earliest time, from `next` on, at which [`Trigger::evaluate`] can return a cell.
    pub fn next_trigger(&self, next: Time, config: TriggerConfig) -> Time {
        let each = self.candidates.iter().map(|candidate| match candidate.since {
            Some(since) if !candidate.is_triggered => since + config.time_to_trigger,
            _ => self.last_report.map_or(next, |last| last + REPORT_INTERVAL),
        });
        each.fold(next + config.time_to_trigger, Time::min)
    }

    /// Forgets the cells for which `is_kept` does not hold.
    pub fn keep(&mut self, is_kept: impl Fn(usize) -> bool) {
        self.candidates.retain(|candidate| is_kept(candidate.cell));
    }

    /// The cells for which the event is triggered.
    pub fn triggered(&self) -> impl Iterator<Item = usize> + '_ {
        self.candidates.iter().filter(|candidate| candidate.is_triggered).map(|candidate| candidate.cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: TriggerConfig = TriggerConfig { hysteresis_db: 0.0, time_to_trigger: Duration::from_millis(160) };

    /// Reports over epochs of 10 ms, as (epoch, cell). `better` returns the offset of each neighbour, from cell 1 on.
    fn reports(config: TriggerConfig, epochs: u64, better: impl Fn(u64) -> Vec<f64>) -> Vec<(u64, usize)> {
        let mut trigger = Trigger::default();
        let report = |epoch: u64| {
            let margins = (1..).zip(better(epoch).into_iter().map(|db| db - 3.0));
            Some((epoch, trigger.evaluate(Time::from_millis(10 * epoch), margins, config)?))
        };
        (0..epochs).filter_map(report).collect()
    }

    #[test]
    fn each_neighbour_has_its_own_time_to_trigger() {
        let config = CONFIG;
        // after 160 ms, then every 1024 ms
        assert_eq!(reports(config, 250, |_| vec![3.1]), [(16, 1), (119, 1), (222, 1)]);
        assert_eq!(reports(config, 250, |_| vec![3.0]), []);
        assert_eq!(reports(config, 250, |epoch| vec![if epoch % 16 == 15 { 2.9 } else { 9.0 }]), [], "too short");
        // two neighbours that alternate in strength
        let in_turn = |epoch: u64| if epoch.is_multiple_of(2) { vec![4.0, 5.0] } else { vec![5.0, 4.0] };
        assert_eq!(reports(config, 100, in_turn), [(16, 2)]);
        // a new trigger is reported at once
        assert_eq!(reports(config, 100, |epoch| vec![4.0, if epoch < 30 { 0.0 } else { 6.0 }]), [(16, 1), (46, 2)]);
    }

    #[test]
    fn hysteresis_applies_to_entering_and_leaving() {
        let config = TriggerConfig { hysteresis_db: 2.0, ..CONFIG };
        assert_eq!(reports(config, 250, |_| vec![4.9]), []);
        // triggered at 5.1 dB; left after 160 ms below 1 dB
        let then = |later_db: f64| move |epoch: u64| vec![if epoch < 20 { 5.1 } else { later_db }];
        assert_eq!(reports(config, 150, then(1.1)), [(16, 1), (119, 1)]);
        assert_eq!(reports(config, 150, then(0.9)), [(16, 1)]);
        let twice = |epoch: u64| vec![if (20..40).contains(&epoch) { 0.9 } else { 5.1 }];
        assert_eq!(reports(config, 100, twice), [(16, 1), (56, 1)], "triggered again");
    }
}
