//! Nodes of a RAN for tests.

use std::rc::Rc;

use crate::RanConfig;
use crate::node::Node;
use crate::node_type::NodeType;
use crate::scenario::Scenario;
use crate::simulation::RanSimulation;

/// The nodes of a configuration.
pub fn nodes(config: &RanConfig) -> Vec<Node> {
    let simulation = RanSimulation::new(&config.scenario).unwrap();
    let of_cell = |number: u16| {
        NodeType::of(&config.scenario.cells[usize::from(number)]).iter().map(move |node_type| (number, *node_type))
    };
    let parts = (0..config.scenario.cells.len() as u16).flat_map(of_cell);
    parts.map(|(number, node_type)| Node::new(config, number, node_type, Rc::clone(&simulation))).collect()
}

/// The nodes of a nodes_with_mixed_traffic.
pub fn nodes_with_mixed_traffic(cells: u16, ues: u16) -> Vec<Node> {
    nodes(&RanConfig { scenario: Scenario::with_mixed_traffic(cells, ues, 1), ..RanConfig::default() })
}

/// The only node of the default configuration.
pub fn node() -> Node {
    nodes(&RanConfig::default()).remove(0)
}

/// The cell of an NR node.
pub fn cell_of(number: u16) -> e2sm::common::Cgi {
    crate::node_type::cell_of(number, radio::phy::Rat::Nr)
}
