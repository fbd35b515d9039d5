//! Virtual nodes that stem from the controller at which they set up.

use std::time::Duration;

use e2::{
    Agent, AgentConfig, AgentEvent, AssocId, Controller, ControllerConfig, ControllerInstance, ControllerPath, Event,
    Function, Time,
};
use e2ap::{GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision, Version};

const OWN: ControllerInstance = ControllerInstance(0xa1);
const OTHER: ControllerInstance = ControllerInstance(0xb2);
const VERSIONS: [Version; 3] = [Version::V1_01, Version::V2_03, Version::V3_01];

fn node(mnc: u16) -> GlobalE2NodeId {
    GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, mnc, 2), GnbId::new(0xe00, 28))
}

/// Sets up a node with a path on an association of its own.
fn set_up(ric: &mut Controller, assoc: u64, mnc: u16, version: Version, path: ControllerPath) -> Agent {
    let function = Function {
        id: RanFunctionId(2),
        revision: RanFunctionRevision(1),
        oid: "1.3.6.1.4.1.53148.1.2.2.2".into(),
        definition: vec![0x20],
    };
    let mut config = AgentConfig::new(node(mnc), vec![function]);
    (config.version, config.controller_path) = (version, path);
    let mut agent = Agent::new(config);
    let (now, assoc) = (Time::from_nanos(0), AssocId(assoc));
    assert_eq!(agent.poll_event(), Some(AgentEvent::Connect));
    ric.handle_open(now, assoc);
    agent.handle_open(now);
    let (mut request, mut response) = (Vec::new(), Vec::new());
    assert!(agent.poll_transmit(&mut request));
    ric.handle_pdu(now, assoc, &request);
    assert_eq!(ric.poll_transmit(&mut response), Some(assoc));
    agent.handle_pdu(now, &response);
    agent
}

fn events(ric: &mut Controller) -> Vec<Event> {
    std::iter::from_fn(|| ric.poll_event()).collect()
}

fn notices(ric: &mut Controller) -> Vec<String> {
    let text = |event| match event {
        Event::Notice { notice, .. } => notice.to_string(),
        other => panic!("{other:?}"),
    };
    events(ric).into_iter().map(text).collect()
}

#[test]
fn virtual_node_of_an_own_node_is_refused_over_any_number_of_levels_and_harms_no_node() {
    for version in VERSIONS {
        let mut ric = Controller::new(ControllerConfig::default());
        ric.set_instance(OWN);
        assert!(set_up(&mut ric, 1, 1, version, ControllerPath::default()).is_up());
        events(&mut ric);
        let one = ControllerPath::default().with(OWN, &node(1));
        let two = one.with(OTHER, &node(2));
        let deep = (0..200).fold(one.clone(), |path, level| path.with(ControllerInstance(0xc00 + level), &node(2)));
        // also with the identity of the node itself, which it would take over
        for (assoc, mnc, path, controllers) in [(2, 1, one, 1), (3, 3, two, 2), (4, 1, deep, 201)] {
            let agent = set_up(&mut ric, assoc, mnc, version, path);
            assert!(!agent.is_up());
            // a minute until the next attempt
            assert_eq!(agent.poll_timeout(), Some(Time::from_nanos(0) + Duration::from_secs(60)), "{version:?}");
            let notices = notices(&mut ric);
            let line = format!(
                "virtual node of gnb-00101-e00, which this controller itself shares (a loop over {controllers}"
            );
            assert!(notices[0].contains(&line), "{notices:?}");
            assert!(notices.iter().all(|notice| !notice.contains("another association")), "{notices:?}");
        }
        assert_eq!(ric.nodes().map(|node| node.assoc).collect::<Vec<_>>(), [AssocId(1)]);
    }
}

#[test]
fn virtual_node_of_other_controllers_sets_up_unless_there_are_too_many() {
    for version in VERSIONS {
        let mut ric = Controller::new(ControllerConfig::default());
        ric.set_instance(OWN);
        let path = |levels: u64| {
            (0..levels)
                .fold(ControllerPath::default(), |path, level| path.with(ControllerInstance(0x1000 + level), &node(2)))
        };
        assert!(set_up(&mut ric, 1, 2, version, path(256)).is_up());
        let known = ric.nodes().next().unwrap().components.controller_path();
        assert_eq!(known, path(256));
        events(&mut ric);
        assert!(!set_up(&mut ric, 2, 3, version, path(257)).is_up());
        let notices = notices(&mut ric);
        assert!(notices[0].contains("more than 256 levels"), "{notices:?}");
    }
}

#[test]
fn controller_that_shares_no_nodes_accepts_every_virtual_node() {
    let mut ric = Controller::new(ControllerConfig::default());
    let path = ControllerPath::default().with(OWN, &node(1));
    assert!(set_up(&mut ric, 1, 1, Version::V2_03, path).is_up());
}
