use std::time::Duration;

use radio::Packet;
use radio::traffic::{FlowSpecification, Kind};

use super::*;
use crate::scenario::{CellScenario, ChannelScenario, FlowScenario, Scenario, UeScenario};
use crate::{RanConfig, testing};

const START: Time = Time::from_nanos(5_000_000_000);

/// Returns a queue that does not exist.
struct InvalidQueue;

impl tc::Classifier for InvalidQueue {
    fn classify(&mut self, _: &Packet, queues: usize) -> Option<usize> {
        Some(queues)
    }
}

/// The nodes of two cells, with a UE in the first one that receives more than the cell can send.
fn nodes(first: tc::Configuration, second: tc::Configuration) -> Vec<Node> {
    let cells = [first, second].map(|tc| {
        let mut cell = CellScenario::default();
        cell.radio.tc = tc;
        cell
    });
    let kind = Kind::ConstantBitRate { rate_bps: 90_000_000, packet_octets: 1400 };
    let ue = UeScenario {
        cell: 0,
        subscription: radio::Subscription::default(),
        max_carriers: 1,
        channel: ChannelScenario::Mcs(15),
        flows: vec![FlowScenario { specification: FlowSpecification::new(kind), ports: (80, 81) }],
        arrives: radio::Time::START,
        leaves: None,
    };
    let scenario = Scenario { cells: cells.into(), ues: vec![ue], ..Scenario::default() };
    let mut nodes = testing::nodes(&RanConfig { scenario, ..RanConfig::default() });
    for ms in [0, 500] {
        nodes.iter_mut().for_each(|node| KpmSource::advance(node, START + Duration::from_millis(ms)));
    }
    nodes
}

#[test]
fn faulty_plugin_is_warned_of() {
    let default = tc::Configuration::default;
    let custom =
        tc::Configuration { classifier: ClassifierChoice::custom("invalid-queue", || InvalidQueue), ..default() };
    let nodes = nodes(custom, default());
    assert!(nodes[0].traffic_control_warnings.faults && !nodes[1].traffic_control_warnings.faults);
    assert_eq!(nodes[0].traffic_control, Configuration::default(), "E2 cannot express it");
}

#[test]
fn control_keeps_what_it_does_not_change() {
    let custom = tc::Configuration {
        classifier: ClassifierChoice::custom("invalid-queue", || InvalidQueue),
        queues: vec![tc::QueueConfiguration {
            limit_octets: 5_000,
            ..tc::QueueConfiguration::new(QueueId(0), DisciplineChoice::Fifo)
        }],
        ..tc::Configuration::default()
    };
    let mut nodes = nodes(custom.clone(), tc::Configuration::default());
    let pacer = PacerParameters::Bdp5g(Bdp { drb_octets: 0, timestamp_us: 0 });
    let wanted = Configuration { pacer, ..nodes[0].traffic_control.clone() };
    nodes[0].configure(wanted).unwrap();
    let expected = tc::Configuration { pacer: PacerChoice::Bdp5g, ..custom };
    assert_eq!(nodes[0].cell().config().tc, expected);
    let wanted = Configuration { classifier: Classifier::Stochastic, ..nodes[0].traffic_control.clone() };
    nodes[0].configure(wanted).unwrap();
    assert_eq!(nodes[0].cell().config().tc, tc::Configuration { classifier: ClassifierChoice::Stochastic, ..expected });
}

#[test]
fn queue_mismatch_is_warned_of() {
    let paced = tc::Configuration { pacer: PacerChoice::Bdp5g, ..tc::Configuration::default() };
    let small = tc::QueueConfiguration {
        limit_octets: 3_000,
        ..tc::QueueConfiguration::new(QueueId(9), DisciplineChoice::Fifo)
    };
    let mut nodes = nodes(paced, tc::Configuration { queues: vec![small], ..tc::Configuration::default() });
    nodes[0].hand_over(ferric::agent::Ue(0), &testing::cell_of(1)).unwrap();
    for ms in [600, 700] {
        nodes.iter_mut().for_each(|node| KpmSource::advance(node, START + Duration::from_millis(ms)));
    }
    assert!(nodes[1].traffic_control_warnings.mismatch && !nodes[0].traffic_control_warnings.mismatch);
}
