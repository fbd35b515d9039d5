//! Nodes of one RAN for tests.

use std::rc::Rc;

use crate::RanConfig;
use crate::node::Node;
use crate::scenario::Scenario;
use crate::world::World;

/// The nodes of a configuration.
pub fn nodes(config: &RanConfig) -> Vec<Node> {
    let world = World::new(&config.scenario).unwrap();
    (0..config.scenario.cells.len() as u16).map(|number| Node::new(config, number, Rc::clone(&world))).collect()
}

/// The nodes of a crowd.
pub fn crowd(cells: u16, ues: u16) -> Vec<Node> {
    nodes(&RanConfig { scenario: Scenario::crowd(cells, ues, 1), ..RanConfig::default() })
}

/// The only node of the default configuration.
pub fn node() -> Node {
    nodes(&RanConfig::default()).remove(0)
}
