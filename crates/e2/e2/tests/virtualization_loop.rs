//! Virtual nodes that stem from the controller at which they set up.

use std::time::Duration;

use e2::{
    Agent, AgentConfig, AgentEvent, AssocId, Components, Controller, ControllerConfig, ControllerInstance,
    ControllerPath, Event, Function, Time,
};
use e2ap::{
    Cause, CauseMisc, E2NodeComponentConfigAdditionItem, E2NodeComponentConfigUpdateGnbV1,
    E2NodeComponentConfigUpdateItem, E2NodeComponentConfigUpdateItemV1, E2NodeComponentConfigUpdateV1,
    E2NodeComponentConfiguration, E2NodeComponentId, E2NodeComponentInterfaceNg, E2NodeComponentInterfaceType,
    E2NodeComponentTypeV1, E2NodeConfigurationUpdate, GlobalE2NodeId, GnbId, Pdu, PlmnIdentity, RanFunctionId,
    RanFunctionRevision, TransactionId, Version, decode,
};
use per::{Gather, Octets, PrintableString};

const OWN: ControllerInstance = ControllerInstance(0xa1);
const OTHER: ControllerInstance = ControllerInstance(0xb2);
const VERSIONS: [Version; 4] = [Version::V1_00, Version::V1_01, Version::V2_03, Version::V3_01];

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
        let known = ric.nodes().next().unwrap().controller_path.clone();
        assert_eq!(known, path(256));
        events(&mut ric);
        assert!(!set_up(&mut ric, 2, 3, version, path(257)).is_up());
        let notices = notices(&mut ric);
        assert!(notices[0].contains("more than 256 levels"), "{notices:?}");
    }
}

/// A controller that has no room for components, and stores none of the virtual node.
#[test]
fn path_does_not_depend_on_the_room_for_components() {
    for version in VERSIONS {
        let mut ric = Controller::new(ControllerConfig { max_component_octets: 0, ..ControllerConfig::default() });
        ric.set_instance(OWN);
        let path = ControllerPath::default().with(OTHER, &node(2));
        assert!(set_up(&mut ric, 1, 3, version, path.clone()).is_up());
        let known = ric.nodes().next().unwrap();
        assert_eq!((&known.components, &known.controller_path), (&Components::default(), &path));
    }
}

/// In v01.00 a RAN function has the path. It is accepted, and no function to anybody else.
#[test]
fn path_is_no_function_of_the_node() {
    let mut ric = Controller::new(ControllerConfig::default());
    let path = ControllerPath::default().with(OTHER, &node(2));
    let mut agent = set_up(&mut ric, 1, 3, Version::V1_00, path);
    let known = ric.nodes().next().unwrap();
    assert_eq!(known.functions.iter().map(|function| function.id.0).collect::<Vec<_>>(), [2]);
    let Some(AgentEvent::Up { accepted, .. }) = agent.poll_event() else { panic!("it is up") };
    assert_eq!(accepted, [RanFunctionId(2), RanFunctionId(4095)]);
    // nor does a query of the controller have the node remove it
    let (now, id) = (Time::from_nanos(0), known.id);
    ric.service_query(now, id).unwrap();
    exchange(&mut ric, &mut agent);
    assert_eq!(ric.nodes().next().unwrap().functions.len(), 1);
}

/// Passes messages in both directions until there are none.
fn exchange(ric: &mut Controller, agent: &mut Agent) {
    let now = Time::from_nanos(0);
    loop {
        let (mut down, mut up) = (Vec::new(), Vec::new());
        let is_received = ric.poll_transmit(&mut down).is_some();
        if is_received {
            agent.handle_pdu(now, &down);
        }
        let is_sent = agent.poll_transmit(&mut up);
        if is_sent {
            ric.handle_pdu(now, AssocId(1), &up);
        }
        if !is_received && !is_sent {
            return;
        }
    }
}

/// The path as text, as a virtual node sends it.
fn text(controller: ControllerInstance) -> Octets<'static> {
    format!("virtual node\n{:016x} gnb-00102-e00\n", controller.0).into_bytes().into()
}

/// Sends a configuration update with a path to the controller. Returns the answer.
fn update(ric: &mut Controller, version: Version, path: Octets<'static>, is_new: bool) -> Pdu<'static> {
    let amf_name = PrintableString::literal("virtual node");
    let (interface_type, id) =
        (E2NodeComponentInterfaceType::Ng, E2NodeComponentId::Ng(E2NodeComponentInterfaceNg { amf_name }));
    let configuration =
        || E2NodeComponentConfiguration { request_part: path.clone(), response_part: Octets::default() };
    let gnb = || E2NodeComponentConfigUpdateGnbV1 { ng_ap: Some(path.clone()), xn_ap: None, e1_ap: None, f1_ap: None };
    let is_v1 = version < Version::V2_03;
    let added = E2NodeComponentConfigAdditionItem { interface_type, id: id.clone(), configuration: configuration() };
    let changed = E2NodeComponentConfigUpdateItem { interface_type, id, configuration: configuration() };
    let of_v1 = E2NodeComponentConfigUpdateItemV1 {
        component_type: E2NodeComponentTypeV1::Gnb,
        id: None,
        configuration: E2NodeComponentConfigUpdateV1::Gnb(gnb()),
    };
    let update = E2NodeConfigurationUpdate {
        transaction_id: (!is_v1).then_some(TransactionId(1)),
        global_e2_node_id: None,
        component_config_update_v1: is_v1.then(|| [of_v1].into_iter().collect()),
        component_config_addition: (!is_v1 && is_new).then(|| [added].into_iter().collect()),
        component_config_update: (!is_v1 && !is_new).then(|| [changed].into_iter().collect()),
        component_config_removal: None,
        tnl_association_removal: None,
    };
    let (mut octets, mut answer) = (Vec::new(), Vec::new());
    Pdu::from(update).encode(version, &mut octets).unwrap();
    ric.handle_pdu(Time::from_nanos(0), AssocId(1), &octets);
    assert_eq!(ric.poll_transmit(&mut answer), Some(AssocId(1)));
    let gather = Gather::new();
    decode(&answer, version, &gather).unwrap().pdu.into_owned()
}

/// The path of a node is that of its setup: an update that names another one fails, whether it adds or replaces the component.
#[test]
fn update_that_names_other_controllers_fails() {
    let virtual_node = ControllerPath::default().with(OTHER, &node(2));
    for version in [Version::V1_01, Version::V2_03, Version::V3_01] {
        for path in [ControllerPath::default(), virtual_node.clone()] {
            for is_new in [true, false] {
                let mut ric = Controller::new(ControllerConfig::default());
                ric.set_instance(OWN);
                assert!(set_up(&mut ric, 1, 3, version, path.clone()).is_up());
                events(&mut ric);
                let before = ric.nodes().next().unwrap().components.clone();
                let answer = update(&mut ric, version, text(OWN), is_new);
                let Pdu::E2NodeConfigurationUpdateFailure(failure) = answer else { panic!("{version:?}: {answer:?}") };
                assert_eq!(failure.cause, Some(Cause::Misc(CauseMisc::OmIntervention)));
                let notices = notices(&mut ric);
                assert!(
                    notices[0]
                        .contains("update of gnb-00103-e00 refused: the setup of this node named other controllers"),
                    "{notices:?}"
                );
                let known = ric.nodes().next().unwrap();
                assert_eq!((&known.components, &known.controller_path), (&before, &path));
            }
        }
        // the same path
        let mut ric = Controller::new(ControllerConfig::default());
        ric.set_instance(OWN);
        assert!(set_up(&mut ric, 1, 3, version, virtual_node.clone()).is_up());
        let answer = update(&mut ric, version, text(OTHER), true);
        assert!(matches!(answer, Pdu::E2NodeConfigurationUpdateAcknowledge(_)), "{answer:?}");
    }
}

#[test]
fn controller_that_shares_no_nodes_accepts_every_virtual_node() {
    let mut ric = Controller::new(ControllerConfig::default());
    let path = ControllerPath::default().with(OWN, &node(1));
    assert!(set_up(&mut ric, 1, 1, Version::V2_03, path).is_up());
}
