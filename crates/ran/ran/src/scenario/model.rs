//! A scenario under way: the model, and what happens in it at its time.

use std::collections::VecDeque;
use std::sync::Arc;

use radio::phy::Site;
use radio::{Network, Time};
use tracing::{info, warn};

use super::{Change, Scenario, ScenarioError, TimelineEntry, UeScenario};

/// A scenario under way.
#[derive(Debug)]
pub struct Model {
    /// Its cells and UEs.
    pub network: Network,
    /// What it is of, without UEs.
    scenario: Scenario,
    sites: Arc<[Site]>,
    /// Those that are to come, and are made when their time has come, with their numbers.
    to_come: VecDeque<(usize, UeScenario)>,
    /// The entry that is next.
    next: usize,
    /// How often each cell was locked or unlocked by the timeline.
    locks: Vec<u64>,
}

impl Model {
    /// A scenario at its beginning.
    ///
    /// # Errors
    /// What of it cannot be, and where.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let (mut network, sites) = scenario.cells_alone()?;
        let mut to_come = Vec::new();
        for (number, ue) in scenario.ues.iter().enumerate() {
            if ue.arrives == Time::START {
                scenario.add(number, ue, &mut network, &sites)?;
            } else {
                scenario.ue(number, ue, &network, &sites)?;
                to_come.push((number, ue.clone()));
            }
        }
        to_come.sort_by_key(|(_, ue)| ue.arrives);
        let locks = vec![0; network.cells()];
        let cells = scenario.cells.clone();
        let timeline = scenario.timeline.clone();
        let scenario = Scenario { cells, timeline, ues: Vec::new(), ..*scenario };
        Ok(Model { network, scenario, sites, to_come: to_come.into(), next: 0, locks })
    }

    /// All cells go on until then, and what is due happens.
    pub fn advance(&mut self, until: Time) {
        self.expect(until);
        let entry = |model: &Model| model.scenario.timeline.get(model.next).copied();
        while let Some(TimelineEntry { at, change }) = entry(self).filter(|entry| entry.at < until) {
            self.network.advance(at);
            self.next += 1;
            self.happens(change);
        }
        self.network.advance(until);
    }

    /// One cell goes on by itself until then.
    pub(crate) fn advance_cell(&mut self, cell: usize, until: Time) {
        self.expect(until);
        self.network.advance_cell(cell, until);
    }

    /// UEs that come until then are made.
    fn expect(&mut self, until: Time) {
        while self.to_come.front().is_some_and(|(_, ue)| ue.arrives <= until)
            && let Some((number, ue)) = self.to_come.pop_front()
        {
            if let Err(error) = self.scenario.add(number, &ue, &mut self.network, &self.sites) {
                panic!("a UE that could be can no more be: {error}");
            }
        }
    }

    /// How often a cell was locked or unlocked by the timeline.
    pub(crate) fn locks(&self, cell: usize) -> u64 {
        self.locks.get(cell).copied().unwrap_or(0)
    }

    fn happens(&mut self, change: Change) {
        match change {
            Change::Locked { cell, is_locked } => {
                if let Some(locks) = self.locks.get_mut(cell) {
                    info!(cell, is_locked, "as the scenario has it");
                    *locks += 1;
                    self.network.cell_mut(cell).set_locked(is_locked);
                }
            }
            Change::HandOver { ue, to } => {
                let place = |cell| {
                    let found = self.network.cell(cell).ues().find(|(_, there)| there.number() == ue);
                    found.map(|(place, _)| (cell, place))
                };
                let Some((cell, place)) = (0..self.network.cells()).find_map(place) else {
                    warn!(ue, to, "the scenario hands over a UE that is in no cell: nothing happens");
                    return;
                };
                match self.network.hand_over(cell, place, to) {
                    Ok(()) => info!(ue, cell, to, "handed over, as the scenario has it"),
                    Err(stays) => warn!(ue, cell, to, "not handed over, as the scenario has it: {stays}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// UEs that are made when they come do what they would if all had been there from the beginning, however far the model
    /// goes at once.
    #[test]
    fn when_ues_are_made_does_not_show() {
        let mut scenario = Scenario::crowd(2, 12, 5);
        for (number, ue) in (0..).zip(&mut scenario.ues) {
            ue.arrives = Time::from_millis(number % 5 * 130);
            ue.leaves = (number % 3 == 0).then(|| ue.arrives + Duration::from_millis(700));
            ue.flows[0].specification.start = ue.arrives;
        }
        let change = Change::HandOver { ue: 0, to: 1 };
        // at that very time others come
        let interruption = scenario.handover.interruption;
        scenario.timeline =
            vec![TimelineEntry { at: Time::from_millis(260 - interruption.as_millis() as u64), change }];
        let counts = |network: &Network| -> Vec<_> {
            let cells = (0..2).map(|cell| network.cell(cell));
            cells
                .flat_map(|cell| (0..cell.ue_indices()).map(|at| (*cell.ue_entry(at), cell.counts(at).unwrap())))
                .collect()
        };
        let run = |step_ms: usize| {
            let mut model = Model::new(&scenario).unwrap();
            (0..=1500).step_by(step_ms).for_each(|ms| model.advance(Time::from_millis(ms)));
            model.advance(Time::from_millis(1500));
            assert!(model.to_come.is_empty());
            counts(&model.network)
        };
        let whole = run(1500);
        assert_eq!(run(1), whole);
        assert_eq!(run(70), whole);
        let mut network = scenario.network().unwrap();
        network.advance(scenario.timeline[0].at);
        network.hand_over(0, 0, 1).unwrap();
        network.advance(Time::from_millis(1500));
        assert_eq!(counts(&network), whole);
        assert!(whole.iter().any(|(_, counts)| counts.dl_rlc.delivered_packets > 0));
    }
}
