//! The parts of a base station as separate nodes: an iApp learns when it is complete, and each UE has one entry.

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::function::{Reporter, impatient, poll_agents_until};
use common::test_server::{Ric, free_ports};
use e2ap::{
    E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration, E2NodeComponentId, E2NodeComponentInterfaceE1,
    E2NodeComponentInterfaceF1, E2NodeComponentInterfaceType, GlobalE2NodeId, GnbCuUpId, GnbDuId, GnbId, PlmnIdentity,
};
use ferric::agent::{AgentLoop, ControllerId, NodeConfig, NodeHandle};
use ferric::e2::topology::{Part, RanEvent, UeMergeState, UeName};
use ferric::e2::{Indication, NodeId};
use ferric::server::{Iapp, IappContext as Commands, IappEvent};
use per::Octets;

type Component = E2NodeComponentConfigAdditionItem<'static>;

fn f1(du: i64) -> Component {
    let id = E2NodeComponentId::F1(E2NodeComponentInterfaceF1 { gnb_du_id: GnbDuId(du) });
    component(E2NodeComponentInterfaceType::F1, id)
}

fn e1(cu_up: i64) -> Component {
    let id = E2NodeComponentId::E1(E2NodeComponentInterfaceE1 { gnb_cu_up_id: GnbCuUpId(cu_up) });
    component(E2NodeComponentInterfaceType::E1, id)
}

fn component(interface_type: E2NodeComponentInterfaceType, id: E2NodeComponentId<'static>) -> Component {
    let (request_part, response_part) = (Octets::default(), Octets::default());
    Component { interface_type, id, configuration: E2NodeComponentConfiguration { request_part, response_part } }
}

fn gnb(du: Option<i64>, cu_up: Option<i64>) -> GlobalE2NodeId {
    let whole = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 22));
    let GlobalE2NodeId::Gnb(mut id) = whole else { panic!("a gNB") };
    (id.gnb_du_id, id.gnb_cu_up_id) = (du.map(GnbDuId), cu_up.map(GnbCuUpId));
    GlobalE2NodeId::Gnb(id)
}

/// Records events; learns UE 1 from each part.
#[derive(Default)]
struct Watcher {
    events: Arc<Mutex<Vec<String>>>,
}

impl Watcher {
    fn learn(node: NodeId, part: Part, ric: &mut Commands<'_>) {
        let ngap = UeName::Ngap { guami: [0, 0xf1, 0x10, 1, 0, 0x41], amf_ue_ngap_id: 1 };
        match part {
            Part::Du(_) => ric.learn_ue(node, &[UeName::F1ap(20)]),
            Part::CuUp(_) => ric.learn_ue(node, &[UeName::E1ap(30)]),
            Part::Control => ric.learn_ue(node, &[ngap, UeName::F1ap(20), UeName::E1ap(30)]),
        };
    }
}

impl Iapp for Watcher {
    fn name(&self) -> &'static str {
        "watcher"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut Commands<'_>) {
        let mut events = self.events.lock().unwrap();
        match event {
            IappEvent::Ran(RanEvent::NodeCame { node, station }) => {
                let (_, part) = ric.ran().station(*station).unwrap().nodes().find(|(id, _)| id == node).unwrap();
                events.push(format!("{part:?} came"));
                Watcher::learn(*node, part, ric);
            }
            IappEvent::Ran(RanEvent::Complete(station)) => {
                let station = ric.ran().station(*station).unwrap();
                let ues: Vec<_> = ric.ran().ues_of(station.id()).map(|ue| ric.ran().merge_state(ue)).collect();
                events.push(format!("{} is complete, {ues:?}", station.key()));
            }
            IappEvent::Ran(RanEvent::Incomplete(station)) => {
                let missing: Vec<_> =
                    ric.ran().station(*station).unwrap().missing().map(|part| part.to_string()).collect();
                events.push(format!("{} missing", missing.join(", ")));
            }
            IappEvent::Ran(RanEvent::UesJoined { .. }) => events.push("two UEs are one".into()),
            IappEvent::Ran(RanEvent::StationLost(_)) => events.push("lost".into()),
            _ => {}
        }
    }

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut Commands<'_>) {}
}

#[test]
fn parts_form_a_base_station() {
    let watcher = Watcher::default();
    let events = watcher.events.clone();
    let ric = Ric::with_iapps(free_ports(), move || vec![Box::new(watcher)]);
    let mut agents = AgentLoop::new(impatient()).unwrap();
    let add = |agents: &mut AgentLoop, id, components: Vec<Component>| -> (NodeHandle, ControllerId) {
        let config = NodeConfig { components, ..NodeConfig::new(id) };
        let node = agents.add_node(config, vec![Box::new(Reporter::new(Duration::from_millis(1)))]);
        let controller = agents.add_controller(node, ric.e2[0].clone().into());
        let expected = agents.connected_controllers() + 1;
        poll_agents_until(agents, "the setup", |agents| agents.connected_controllers() == expected);
        (node, controller)
    };
    let expect_events = |agents: &mut AgentLoop, expected: &[&str]| {
        poll_agents_until(agents, &format!("{expected:?}"), |_| events.lock().unwrap().len() >= expected.len());
        assert_eq!(events.lock().unwrap().drain(..).collect::<Vec<_>>(), expected);
    };
    add(&mut agents, gnb(Some(5), None), vec![f1(5)]);
    expect_events(&mut agents, &["Du(5) came"]);
    add(&mut agents, gnb(None, Some(6)), vec![e1(6)]);
    expect_events(&mut agents, &["CuUp(6) came"]);
    let (cu, controller) = add(&mut agents, gnb(None, None), vec![f1(5), e1(6)]);
    let joined = format!("gnb-00101-e00 is complete, [{:?}]", UeMergeState::Joined);
    // what the app learned from the CU-CP is joined with the DU and the CU-UP before the base station is reported as
    // complete
    let mut received = Vec::new();
    poll_agents_until(&mut agents, "the whole", |_| {
        received.append(&mut events.lock().unwrap());
        received.len() >= 3
    });
    assert_eq!(received[0], "Control came");
    assert!(received.contains(&"two UEs are one".to_owned()) && received.contains(&joined), "{received:?}");

    // the CU-CP announces another DU, which does not exist, and withdraws it
    agents.update_components(cu, vec![f1(5), f1(7), e1(6)]).unwrap();
    expect_events(&mut agents, &["the DU 7, which an F1 or W1 leads to missing"]);
    agents.update_components(cu, vec![f1(5), e1(6)]).unwrap();
    expect_events(&mut agents, &[&joined]);

    // removed by E2 Removal
    assert!(agents.remove_controller(controller));
    expect_events(&mut agents, &["the CU-CP missing"]);
    drop(agents);
    poll_agents_until(&mut AgentLoop::new(impatient()).unwrap(), "the end", |_| {
        events.lock().unwrap().iter().any(|s| s == "lost")
    });
    assert!(ric.log.text().contains("base station is complete"));
}
