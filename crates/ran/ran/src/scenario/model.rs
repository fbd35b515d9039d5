//! A running scenario: the network, later arrivals, and the timeline.

use std::collections::VecDeque;

use radio::phy::Deployment;
use radio::{FlowId, Network, Time, UeEntry};
use tracing::{debug, info, warn};

use super::{Scenario, ScenarioError, SessionChange, TimelineChange, TimelineEntry, UeScenario};
use crate::priority::scheduling_weight;

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
    /// Changes of PDU sessions by cell, for its node.
    session_changes: Vec<VecDeque<(UeEntry, SessionChange)>>,
}

/// Changes of PDU sessions of a cell that wait for its node. Beyond it the oldest are dropped.
const MAX_SESSION_CHANGES: usize = 4096;

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
        let (locks, session_changes) = (vec![0; network.cells()], vec![VecDeque::new(); network.cells()]);
        let cells = scenario.cells.clone();
        let (timeline, deployment) = (scenario.timeline.clone(), scenario.deployment.clone());
        let measurement = scenario.measurement.clone();
        let scenario = Scenario { cells, timeline, deployment, measurement, ues: Vec::new(), ..*scenario };
        Ok(Model { network, scenario, sites, arrivals: arrivals.into(), next: 0, locks, session_changes })
    }

    /// The transmit power of a cell over its whole carrier.
    #[cfg(feature = "control")]
    pub(crate) fn power_dbm(&self, cell: usize) -> f64 {
        self.scenario.cells[cell].site.power_dbm
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

    /// Takes the changes of PDU sessions of a cell since the last call.
    #[cfg(feature = "control")]
    pub(crate) fn take_session_changes(&mut self, cell: usize) -> VecDeque<(UeEntry, SessionChange)> {
        self.session_changes.get_mut(cell).map(std::mem::take).unwrap_or_default()
    }

    /// The cell and the place of a UE.
    fn find(&self, ue: u64) -> Option<(usize, usize)> {
        (0..self.network.cells()).find_map(|cell| {
            let found = self.network.cell(cell).ues().find(|(_, other)| other.number() == ue);
            found.map(|(place, _)| (cell, place))
        })
    }

    fn change_session(&mut self, number: u64, change: SessionChange) {
        let Some((at, place)) = self.find(number) else {
            warn!(ue = number, "timeline: change of the session of a UE that is in no cell is skipped");
            return;
        };
        let cell = self.network.cell_mut(at);
        let (now, entry) = (cell.now(), *cell.ue_entry(place));
        let Some(ue) = cell.ue_mut(place) else { return };
        match change {
            SessionChange::FiveQi(five_qi) => {
                let weight = scheduling_weight(ue.subscription().five_qi, Some(five_qi), None).unwrap_or(1.0);
                let bearers: Vec<u8> = ue.bearers().iter().map(radio::Bearer::id).collect();
                bearers.into_iter().for_each(|bearer| ue.set_preference(bearer, weight));
            }
            SessionChange::Release => {
                (0..ue.flows().len()).for_each(|flow| ue.stop_flow(now, FlowId(flow as u32)));
            }
        }
        info!(ue = number, cell = at, "timeline: session changed: {change:?}");
        let changes = &mut self.session_changes[at];
        if changes.len() >= MAX_SESSION_CHANGES {
            changes.pop_front();
        }
        changes.push_back((entry, change));
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
            TimelineChange::Session { ue, change } => self.change_session(ue, change),
            TimelineChange::HandOver { ue, to } => {
                let Some((cell, place)) = self.find(ue) else {
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
