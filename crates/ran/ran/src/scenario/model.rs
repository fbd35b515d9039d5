//! A running scenario: the network, later arrivals, and the timeline.

use std::collections::VecDeque;

use radio::phy::Deployment;
use radio::{Network, Time};
use tracing::{debug, info, warn};

use super::{Scenario, ScenarioError, TimelineChange, TimelineEntry, UeScenario};

/// A running scenario.
#[derive(Debug)]
pub struct Model {
    /// The cells and UEs.
    pub network: Network,
    /// The scenario without its UEs.
    scenario: Scenario,
    sites: Deployment,
    /// The numbers and UEs that arrive later, in the order of time. A UE is created when it arrives.
    arrivals: VecDeque<(usize, UeScenario)>,
    /// The index of the next entry of the timeline.
    next: usize,
    /// The number of times that the timeline has changed the administrative state or the energy saving of each cell.
    locks: Vec<u64>,
}

impl Model {
    /// Creates the model at the scenario's start.
    ///
    /// # Errors
    /// An invalid scenario.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let (mut network, sites) = scenario.cells_without_ues()?;
        let mut arrivals = Vec::new();
        for (number, ue) in scenario.ues.iter().enumerate() {
            if ue.arrives == Time::START {
                scenario.add(number, ue, &mut network, &sites)?;
            } else {
                scenario.ue(number, ue, &network, &sites)?;
                arrivals.push((number, ue.clone()));
            }
        }
        arrivals.sort_by_key(|(_, ue)| ue.arrives);
        let locks = vec![0; network.cells()];
        let cells = scenario.cells.clone();
        let (timeline, deployment) = (scenario.timeline.clone(), scenario.deployment.clone());
        let measurement = scenario.measurement.clone();
        let scenario = Scenario { cells, timeline, deployment, measurement, ues: Vec::new(), ..*scenario };
        Ok(Model { network, scenario, sites, arrivals: arrivals.into(), next: 0, locks })
    }

    /// Advances all cells, and applies the entries of the timeline that are due.
    pub fn advance(&mut self, until: Time) {
        self.add_arrivals(until);
        let entry = |model: &Model| model.scenario.timeline.get(model.next).copied();
        while let Some(TimelineEntry { at, change }) = entry(self).filter(|entry| entry.at < until) {
            self.network.advance(at);
            self.next += 1;
            self.apply(change);
        }
        self.network.advance(until);
    }

    /// Creates the UEs that arrive until then.
    fn add_arrivals(&mut self, until: Time) {
        while self.arrivals.front().is_some_and(|(_, ue)| ue.arrives <= until)
            && let Some((number, ue)) = self.arrivals.pop_front()
        {
            if let Err(error) = self.scenario.add(number, &ue, &mut self.network, &self.sites) {
                panic!("a UE that was valid at the start is invalid: {error}");
            }
        }
    }

    /// The number of times that the timeline has changed the administrative state or the energy saving of a cell.
    #[cfg(feature = "control")]
    pub(crate) fn locks(&self, cell: usize) -> u64 {
        self.locks.get(cell).copied().unwrap_or(0)
    }

    fn apply(&mut self, change: TimelineChange) {
        match change {
            TimelineChange::Administrative { cell, state } => {
                if let Some(locks) = self.locks.get_mut(cell) {
                    info!(cell, "timeline: administrative state set to {state:?}");
                    *locks += 1;
                    self.network.cell_mut(cell).set_administrative_state(state);
                }
            }
            TimelineChange::EnergySaving { cell, is_ordered } => {
                if let Some(locks) = self.locks.get_mut(cell) {
                    info!(cell, "timeline: energy saving {}", if is_ordered { "ordered" } else { "ended" });
                    *locks += 1;
                    self.network.cell_mut(cell).set_energy_saving(is_ordered);
                }
            }
            TimelineChange::HandOver { ue, to } => {
                let place = |cell| {
                    let found = self.network.cell(cell).ues().find(|(_, other)| other.number() == ue);
                    found.map(|(place, _)| (cell, place))
                };
                let Some((cell, place)) = (0..self.network.cells()).find_map(place) else {
                    warn!(ue, to, "timeline: handover of a UE that is in no cell is skipped");
                    return;
                };
                match self.network.hand_over(cell, place, to) {
                    Ok(()) => debug!(ue, cell, to, "timeline: UE handed over"),
                    Err(stays) => warn!(ue, cell, to, "timeline: handover failed: {stays}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The time at which UEs are created, and the lengths of advances, do not affect the result.
    #[test]
    fn creation_time_of_ues_does_not_affect_the_model() {
        let mut scenario = Scenario::with_mixed_traffic(2, 12, 5);
        for (number, ue) in (0..).zip(&mut scenario.ues) {
            ue.arrives = Time::from_millis(number % 5 * 130);
            ue.leaves = (number % 3 == 0).then(|| ue.arrives + Duration::from_millis(700));
            ue.flows[0].specification.start = ue.arrives;
        }
        let change = TimelineChange::HandOver { ue: 0, to: 1 };
        // other UEs arrive at the same time
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
            assert!(model.arrivals.is_empty());
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
