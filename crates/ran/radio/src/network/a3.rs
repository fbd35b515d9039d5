//! Event A3 (TS 38.331 5.5.4.4): a neighbour is heard better than the UE's own cell by an offset.
//!
//! As 5.5.4.1 has it, each neighbour has a time to trigger of its own: two that are heard about alike do not hold up each
//! other.

use std::time::Duration;

use super::HandoverConfig;
use crate::Time;

/// How often a UE says again that it would go to another cell, as long as it stays (reportInterval of TS 38.331 5.5.5.1).
const REPORT_INTERVAL: Duration = Duration::from_millis(1024);

/// What a UE has heard of its cell's neighbours.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    /// Those that are better, or were and have not been worse for long enough.
    heard: Vec<Heard>,
    told: Option<Time>,
}

#[derive(Debug)]
struct Heard {
    cell: usize,
    /// Since when it is better; once it is triggered, since when it is worse.
    since: Option<Time>,
    is_triggered: bool,
}

impl Neighbours {
    /// By how much each of the neighbours is heard better than the UE's own cell now, in dB. What the UE reports: the best of
    /// those for which the event is triggered, where one was just now, and now and then as long as there are any.
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
            let Some(at) = self.heard.iter().position(|heard| heard.cell == cell) else {
                if better_db > enters_db {
                    self.heard.push(Heard { cell, since: Some(now), is_triggered: false });
                }
                continue;
            };
            let heard = &mut self.heard[at];
            if !heard.is_triggered && better_db > enters_db && is_due(heard.since) {
                (heard.is_triggered, heard.since, is_new) = (true, None, true);
            }
            if heard.is_triggered {
                heard.since = if better_db < leaves_db { heard.since.or(Some(now)) } else { None };
                if is_due(heard.since) {
                    self.heard.swap_remove(at);
                } else if best.is_none_or(|(_, best_db)| better_db > best_db) {
                    best = Some((cell, better_db));
                }
            } else if better_db <= enters_db {
                self.heard.swap_remove(at);
            }
        }
        let (cell, _) = best?;
        let is_again = self.told.is_none_or(|told| now.since(told) >= REPORT_INTERVAL);
        if !is_new && !is_again {
            return None;
        }
        self.told = Some(now);
        Some(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is reported each 10 ms of neighbours that are better by so much, beginning with the first.
    fn reports(config: &HandoverConfig, epochs: u64, better: impl Fn(u64) -> Vec<f64>) -> Vec<(u64, usize)> {
        let mut neighbours = Neighbours::default();
        let report = |epoch: u64| {
            let better = (1..).zip(better(epoch));
            Some((epoch, neighbours.measure(Time::from_millis(10 * epoch), better, 3.0, config)?))
        };
        (0..epochs).filter_map(report).collect()
    }

    #[test]
    fn each_neighbour_has_a_time_of_its_own() {
        let config = HandoverConfig::default();
        // 160 ms, and then each 1024 ms
        assert_eq!(reports(&config, 250, |_| vec![3.1]), [(16, 1), (119, 1), (222, 1)]);
        assert_eq!(reports(&config, 250, |_| vec![3.0]), []);
        assert_eq!(reports(&config, 250, |epoch| vec![if epoch % 16 == 15 { 2.9 } else { 9.0 }]), [], "not for long");
        // two of which now the one and now the other is better
        let in_turn = |epoch: u64| if epoch.is_multiple_of(2) { vec![4.0, 5.0] } else { vec![5.0, 4.0] };
        assert_eq!(reports(&config, 100, in_turn), [(16, 2)]);
        // one more is told at once
        assert_eq!(reports(&config, 100, |epoch| vec![4.0, if epoch < 30 { 0.0 } else { 6.0 }]), [(16, 1), (46, 2)]);
    }

    #[test]
    fn hysteresis_is_for_coming_and_going() {
        let config = HandoverConfig { hysteresis_db: 2.0, ..HandoverConfig::default() };
        assert_eq!(reports(&config, 250, |_| vec![4.9]), []);
        // triggered at 5.1, it stays so until it has been below 1 for 160 ms
        let then = |later_db: f64| move |epoch: u64| vec![if epoch < 20 { 5.1 } else { later_db }];
        assert_eq!(reports(&config, 150, then(1.1)), [(16, 1), (119, 1)]);
        assert_eq!(reports(&config, 150, then(0.9)), [(16, 1)]);
        let twice = |epoch: u64| vec![if (20..40).contains(&epoch) { 0.9 } else { 5.1 }];
        assert_eq!(reports(&config, 100, twice), [(16, 1), (56, 1)], "triggered anew");
    }
}
