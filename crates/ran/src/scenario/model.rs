//! A scenario under way: the model, and what happens in it at its time.

use radio::{Network, Time};
use tracing::{info, warn};

use super::{Change, Scenario, ScenarioError, TimelineEntry};

/// A scenario under way.
#[derive(Debug)]
pub struct Model {
    /// Its cells and UEs.
    pub network: Network,
    timeline: Vec<TimelineEntry>,
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
        let network = scenario.network()?;
        let locks = vec![0; network.cells()];
        Ok(Model { network, timeline: scenario.timeline.clone(), next: 0, locks })
    }

    /// All cells go on until then, and what is due happens.
    pub fn advance(&mut self, until: Time) {
        while let Some(TimelineEntry { at, change }) = self.timeline.get(self.next).filter(|entry| entry.at < until) {
            let (at, change) = (*at, *change);
            self.network.advance(at);
            self.next += 1;
            self.happens(change);
        }
        self.network.advance(until);
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
