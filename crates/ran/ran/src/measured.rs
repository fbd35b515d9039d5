//! The KPM measurements of a scenario without E2: the values that reports of its base stations would contain.

use e2sm::kpm::MeasurementLabel;
use ferric::e2::Time;

use crate::RanConfig;
use crate::e2_node::E2Node;
use crate::node::CounterSnapshot;
use crate::scenario::{Scenario, ScenarioError};
use crate::simulation::{RanSimulation, Steps};

/// A scenario in steps, with the KPM measurements of its base stations over each step. The initial slices are deployed; no
/// controller decides about handovers.
pub struct Measured {
    /// The E2 nodes, each with its counters at the begin of the step.
    nodes: Vec<(E2Node, Vec<CounterSnapshot>)>,
    steps: Steps,
}

impl Measured {
    /// Starts a scenario.
    ///
    /// # Errors
    /// An invalid scenario.
    pub fn new(scenario: Scenario) -> Result<Self, ScenarioError> {
        let config = RanConfig { scenario, ..RanConfig::default() }.with_parts();
        let simulation = RanSimulation::new(&config.scenario)?;
        let steps = Steps::default();
        simulation.borrow_mut().set_steps(steps.clone());
        let nodes = E2Node::all(&config, &simulation).into_iter();
        Ok(Measured { nodes: nodes.map(|(_, node)| (node, Vec::new())).collect(), steps })
    }

    /// Starts a new step, and runs all cells until a time of the model.
    pub fn advance(&mut self, until: radio::Time) {
        for (node, before) in &mut self.nodes {
            node.take_snapshot(before);
        }
        self.steps.allow_until(until);
        for (node, _) in &mut self.nodes {
            node.advance(Time::from_nanos(until.as_nanos()));
        }
    }

    /// The value of a measurement of an E2 node over the last step, in the unit of the measurement: of its cell, or of the UE
    /// with a place among `KpmSource::ues`. `None` if the node, the UE or a value does not exist, or the node does not offer
    /// the measurement.
    #[must_use]
    pub fn value(&self, node: usize, name: &str, ue: Option<usize>) -> Option<f64> {
        let (node, before) = self.nodes.get(node)?;
        let ue = match ue {
            Some(ue) => Some(*node.ues().get(ue)?),
            None => None,
        };
        node.value(before, ue, name, &MeasurementLabel::NO_LABEL)?.number()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_a_step() {
        let mut scenario = Scenario::with_mixed_traffic(1, 2, 1);
        scenario.cells[0].is_split = false;
        let mut measured = Measured::new(scenario).unwrap();
        measured.advance(radio::Time::from_millis(500));
        measured.advance(radio::Time::from_millis(10_500));
        let prbs = |ue| measured.value(0, "RRU.PrbUsedDl", ue).unwrap();
        // each is rounded
        assert!((prbs(Some(0)) + prbs(Some(1)) - prbs(None)).abs() <= 1.5);
        assert!(measured.value(0, "DRB.PdcpSduVolumeDL", None).unwrap() > 0.0);
        assert_eq!(measured.value(0, "RRU.PrbUsedDl", Some(2)), None, "no such UE");
        assert_eq!(measured.value(1, "RRU.PrbUsedDl", None), None, "no such node");
        assert_eq!(measured.value(0, "Unknown", None), None);
        // an empty step
        measured.advance(radio::Time::from_millis(10_500));
        assert_eq!(measured.value(0, "DRB.PdcpSduVolumeDL", None), Some(0.0));
    }
}
