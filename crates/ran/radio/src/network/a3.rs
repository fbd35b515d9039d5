//! Event A3 (TS 38.331 5.5.4.4): a neighbour becomes better than the serving cell by an offset.
//!
//! Each neighbour has its own time to trigger (5.5.4.1): two neighbours of similar strength do not delay each other.

use std::time::Duration;

use super::HandoverConfig;
use crate::Time;

/// The interval of repeated reports while the event lasts (reportInterval of TS 38.331 5.5.5.1).
const REPORT_INTERVAL: Duration = Duration::from_millis(1024);

/// The A3 state of a UE.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    /// Neighbours for which the entering condition holds, or whose event has not been left yet.
    candidates: Vec<Neighbour>,
    last_report: Option<Time>,
}

#[derive(Debug)]
struct Neighbour {
    cell: usize,
    /// Since when the entering condition holds; once triggered, since when the leaving condition holds.
    since: Option<Time>,
    is_triggered: bool,
}

impl Neighbours {
    /// Evaluates the event for neighbours, given as (cell, RSRP minus that of the serving cell in dB). Returns the best
    /// triggered cell when a report is due: after a new trigger, and every [`REPORT_INTERVAL`] while any is triggered.
    pub fn measure(
        &mut self,
        now: Time,
        better: impl Iterator<Item = (usize, f64)>,
        offset_db: f64,
        config: &HandoverConfig,
    ) -> Option<usize> {
        let enters_db = offset_db + config.hysteresis_db;
        let leaves_db = offset_db - config.hysteresis_db;
        let is_due = |since: Option<Time>| since.is_some_and(|since| now.since(since) >= config.time_to_trigger);
        let (mut is_new, mut best) = (false, None::<(usize, f64)>);
        for (cell, better_db) in better {
            let Some(at) = self.candidates.iter().position(|neighbour| neighbour.cell == cell) else {
                if better_db > enters_db {
                    self.candidates.push(Neighbour { cell, since: Some(now), is_triggered: false });
                }
                continue;
            };
            let neighbour = &mut self.candidates[at];
            if !neighbour.is_triggered && better_db > enters_db && is_due(neighbour.since) {
                (neighbour.is_triggered, neighbour.since, is_new) = (true, None, true);
            }
            if neighbour.is_triggered {
                neighbour.since = if better_db < leaves_db { neighbour.since.or(Some(now)) } else { None };
                if is_due(neighbour.since) {
                    self.candidates.swap_remove(at);
                } else if best.is_none_or(|(_, best_db)| better_db > best_db) {
                    best = Some((cell, better_db));
                }
            } else if better_db <= enters_db {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reports over epochs of 10 ms, as (epoch, cell). `better` returns the offset of each neighbour, from cell 1 on.
    fn reports(config: &HandoverConfig, epochs: u64, better: impl Fn(u64) -> Vec<f64>) -> Vec<(u64, usize)> {
        let mut neighbours = Neighbours::default();
        let report = |epoch: u64| {
            let better = (1..).zip(better(epoch));
            Some((epoch, neighbours.measure(Time::from_millis(10 * epoch), better, 3.0, config)?))
        };
        (0..epochs).filter_map(report).collect()
    }

    #[test]
    fn each_neighbour_has_its_own_time_to_trigger() {
        let config = HandoverConfig::default();
        // after 160 ms, then every 1024 ms
        assert_eq!(reports(&config, 250, |_| vec![3.1]), [(16, 1), (119, 1), (222, 1)]);
        assert_eq!(reports(&config, 250, |_| vec![3.0]), []);
        assert_eq!(reports(&config, 250, |epoch| vec![if epoch % 16 == 15 { 2.9 } else { 9.0 }]), [], "too short");
        // two neighbours that alternate in strength
        let in_turn = |epoch: u64| if epoch.is_multiple_of(2) { vec![4.0, 5.0] } else { vec![5.0, 4.0] };
        assert_eq!(reports(&config, 100, in_turn), [(16, 2)]);
        // a new trigger is reported at once
        assert_eq!(reports(&config, 100, |epoch| vec![4.0, if epoch < 30 { 0.0 } else { 6.0 }]), [(16, 1), (46, 2)]);
    }

    #[test]
    fn hysteresis_applies_to_entering_and_leaving() {
        let config = HandoverConfig { hysteresis_db: 2.0, ..HandoverConfig::default() };
        assert_eq!(reports(&config, 250, |_| vec![4.9]), []);
        // triggered at 5.1 dB; left after 160 ms below 1 dB
        let then = |later_db: f64| move |epoch: u64| vec![if epoch < 20 { 5.1 } else { later_db }];
        assert_eq!(reports(&config, 150, then(1.1)), [(16, 1), (119, 1)]);
        assert_eq!(reports(&config, 150, then(0.9)), [(16, 1)]);
        let twice = |epoch: u64| vec![if (20..40).contains(&epoch) { 0.9 } else { 5.1 }];
        assert_eq!(reports(&config, 100, twice), [(16, 1), (56, 1)], "triggered again");
    }
}
