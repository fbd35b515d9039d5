//! Nodes of a RAN for tests.

use std::cell::RefCell;
use std::rc::Rc;

use ferric::e2::{Agent, AgentConfig, Time};

use crate::RanConfig;
use crate::node::Node;
use crate::scenario::Scenario;
use crate::simulation::RanSimulation;

/// The nodes of a configuration.
pub fn nodes(config: &RanConfig) -> Vec<Node> {
    let config = &config.clone().with_parts();
    let simulation = RanSimulation::new(&config.scenario).unwrap();
    let of_cell = |number: u16| config.nodes_of(number).map(move |node_type| (number, node_type));
    let parts = (0..config.scenario.cells.len() as u16).flat_map(of_cell);
    parts.map(|(number, node_type)| Node::new(config, number, node_type, Rc::clone(&simulation))).collect()
}

/// Cells with mixed traffic, whose UEs stay however weak their links are.
pub fn mixed_traffic(cells: u16, ues: u16) -> Scenario {
    let mut scenario = Scenario::with_mixed_traffic(cells, ues, 1);
    scenario.handover.link.is_enabled = false;
    scenario
}

/// The nodes of [`mixed_traffic`].
pub fn nodes_with_mixed_traffic(cells: u16, ues: u16) -> Vec<Node> {
    nodes(&RanConfig { scenario: mixed_traffic(cells, ues), ..RanConfig::default() })
}

/// The only node of the default configuration.
pub fn node() -> Node {
    nodes(&RanConfig::default()).remove(0)
}

/// The cell of an NR node.
pub fn cell_of(number: u16) -> e2sm::common::Cgi {
    let place = crate::gnb_cells::GnbCell { first: number, local: 1, count: 1 };
    crate::node_type::cell_at(place, radio::phy::Rat::Nr)
}

/// The octets of the setup request that a node sends.
pub fn setup_request(node: Node, config: &RanConfig) -> Vec<u8> {
    let node = Rc::new(RefCell::new(node));
    let functions = crate::functions::of_node(&node, config, &crate::functions::clock(config, None));
    let functions = functions.iter().map(|function| function.definition()).collect();
    let mut agent_config = AgentConfig::new(node.borrow().id(), functions);
    agent_config.components = node.borrow().components();
    agent_config.version = config.e2ap_version;
    agent_config.setup_order = config.profile.setup_order.to_vec();
    let mut agent = Agent::new(agent_config);
    agent.handle_open(Time::default());
    let mut octets = Vec::new();
    assert!(agent.poll_transmit(&mut octets), "the agent sends a setup request");
    octets
}
