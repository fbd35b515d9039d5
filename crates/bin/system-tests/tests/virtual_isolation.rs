//! What a tenant sees and takes of a base station that it shares with others.

use std::time::{Duration, Instant};

use e2sm::{Model, Wire, mac, rlc};
use ferric::agent::{Admission, AgentLoop, AgentLoopConfig, ControllerId, NodeConfig, RanFunction, RequestKey, Views};
use ferric::e2::{Action, Function, RequestEvent, SubscribeError, SubscriptionRequest, SubscriptionSpec, Time};
use ferric::e2ap::{
    Cause, CauseRicRequest, GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision, RicActionId,
    RicActionType, Version,
};
use ferric::xapp::{Ric, Xapp, XappConfig, XappEvent};
use ran::scenario::ScenarioFolders;
use ran::{RanConfig, Scenario};
use system_tests::{PATIENCE, TestRan, TestRic, eventually, log};
use virtualization::Sla;

const PRBS: &str = "RRU.PrbTotDl";

/// The agreements of tenants: the controller, PLMN and S-NSSAIs of each, and equal shares.
fn sla(tenants: &[(&TestRic, &str, &str)]) -> Sla {
    let share = 100 / tenants.len();
    let tenant = |(at, (ric, plmn, slices)): (usize, &(&TestRic, &str, &str))| {
        let (name, ric) = (char::from(b'a' + at as u8), &ric.e2);
        format!(
            "[[tenant]]\nname = \"{name}\"\nshare_percent = {share}\nplmn = \"{plmn}\"\ns_nssais = [{slices}]\nric = \"{ric}\"\n"
        )
    };
    Sla::parse(&tenants.iter().enumerate().map(tenant).collect::<String>()).unwrap()
}

/// A cell with a UE of each of these networks and slices, which always have data.
fn ran(ric: &TestRic, ues: &[(&str, u8)]) -> TestRan {
    let ue =
        |(plmn, sst): &(&str, u8)| format!("[[ue]]\nplmn = \"{plmn}\"\nsst = {sst}\n[[ue.flow]]\nkind = \"greedy\"\n");
    let text = format!("[[cell]]\n{}", ues.iter().map(ue).collect::<String>());
    let scenario = Scenario::from_toml(&text, &ScenarioFolders::with_traces(".".as_ref())).unwrap();
    TestRan::start(&ric.e2, RanConfig { scenario, ..RanConfig::default() })
}

fn connect(ric: &TestRic) -> Ric {
    Ric::options().address(ric.xapp.to_string()).name("test").connect().unwrap()
}

/// The mean usage of the cell that a controller sees, in percent.
fn usage(ric: &TestRic) -> f64 {
    let mut stream = connect(ric).kpm([PRBS]).whole_node().every(200).unwrap();
    let values = (0..5).map(|_| stream.next_within(PATIENCE).unwrap().unwrap().number(PRBS).unwrap());
    values.sum::<f64>() / 5.0
}

/// Of two operators with a network slice of the same number, each sees the usage of its own one.
#[test]
fn usage_of_a_slice_is_that_of_the_tenants_network() {
    let (a, b) = (TestRic::start(), TestRic::start());
    let (host, _) = TestRic::with_virtual_networks(sla(&[(&a, "00101", "\"1\""), (&b, "00102", "\"1\"")]));
    let _ran = ran(&host, &[("00101", 1), ("00102", 1)]);
    a.await_slices("gnb-00101-e00");
    b.await_slices("gnb-00102-e00");
    for (of, ric) in [("a", &a), ("b", &b)] {
        let usage = usage(ric);
        assert!((40.0..=60.0).contains(&usage), "{of}: {usage}");
    }
}

/// Of a PLMN one operator has a slice, and another one what that leaves.
#[test]
fn usage_of_the_rest_of_a_plmn_is_without_the_slices_of_others() {
    let (a, b) = (TestRic::start(), TestRic::start());
    let (host, _) = TestRic::with_virtual_networks(sla(&[(&a, "00101", ""), (&b, "00101", "\"2\"")]));
    let _ran = ran(&host, &[("00101", 1), ("00101", 2)]);
    a.await_slices("gnb-00101-e00");
    b.await_slices("gnb-00101-e00");
    for (of, ric) in [("a", &a), ("b", &b)] {
        let usage = usage(ric);
        assert!((40.0..=60.0).contains(&usage), "{of}: {usage}");
    }
    // a mean over UEs cannot be divided
    let ric = connect(&a);
    let refused = match ric.kpm(["DRB.UEThpDl"]).whole_node().every(200) {
        Err(error) => error.to_string(),
        Ok(mut stream) => stream.next_within(PATIENCE).unwrap_err().to_string(),
    };
    assert!(refused.contains("gnb-00101-e00 refused: RIC request: ActionNotSupported"), "{refused}");
}

/// Asks for `count` subscriptions that differ. Returns the xApp that has them, and how many are admitted and refused.
fn flood(ric: &TestRic, count: u32) -> (Xapp, usize, usize) {
    let mut xapp = Xapp::connect(&ric.xapp, "flood", XappConfig::default()).unwrap();
    let node = xapp.nodes().next().expect("a node");
    let function = node.functions.iter().find(|function| rlc::MODEL.wire_of(&function.oid).is_some());
    let (node, function) = (node.id, function.expect("RLC").clone());
    let wire = rlc::MODEL.wire_of(&function.oid).unwrap();
    for at in 0..count {
        let mut event_trigger = Vec::new();
        rlc::EventTriggerDefinition { period_ms: 10_000 + at }.encode(wire, &mut event_trigger).unwrap();
        let report = Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
        xapp.commands().subscribe(node, function.id, SubscriptionSpec { event_trigger, actions: vec![report] });
    }
    let (mut admitted, mut refused) = (0, 0);
    let deadline = Instant::now() + PATIENCE;
    while admitted + refused < count as usize {
        assert!(Instant::now() < deadline, "{admitted} and {refused} of {count} are answered");
        let poll = xapp.poll(Some(PATIENCE), |event, _| match event {
            XappEvent::Request(RequestEvent::Subscribed { .. }) => admitted += 1,
            XappEvent::Request(RequestEvent::SubscriptionFailed { error, .. }) => {
                let limit = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
                assert!(matches!(error, SubscribeError::Refused { cause, .. } if cause == limit), "{error}");
                refused += 1;
            }
            _ => {}
        });
        poll.unwrap();
    }
    (xapp, admitted, refused)
}

#[test]
fn tenants_that_flood_leave_another_one_its_share_of_subscriptions() {
    let tenants = [TestRic::start(), TestRic::start(), TestRic::start()];
    let [a, b, c] = &tenants;
    let (host, _) = TestRic::with_virtual_networks(sla(&[(a, "00101", ""), (b, "00102", ""), (c, "00103", "")]));
    let _ran = ran(&host, &[("00101", 1), ("00102", 1), ("00103", 1)]);
    for (ric, node) in [(a, "gnb-00101-e00"), (b, "gnb-00102-e00"), (c, "gnb-00103-e00")] {
        ric.await_slices(node);
    }
    let _flooding = [a, b].map(|ric| {
        let (xapp, admitted, refused) = flood(ric, 300);
        // some are of the controller itself
        assert!((150..=170).contains(&admitted), "{admitted} and {refused}");
        xapp
    });
    let (_modest, admitted, refused) = flood(c, 150);
    assert_eq!((admitted, refused), (150, 0));
    let line = "its share of 170 subscriptions to this base station, as one of 3 tenants";
    eventually(line, || log().lines().any(|known| known.contains(line) && known.contains("tenant=\"a\"")));
}

#[test]
fn tenant_whose_network_no_cell_serves_is_in_the_log() {
    let (a, unknown) = (TestRic::start(), TestRic::start());
    let (host, _) = TestRic::with_virtual_networks(sla(&[(&a, "00101", ""), (&unknown, "99999", "")]));
    let _ran = ran(&host, &[("00101", 1)]);
    a.await_slices("gnb-00101-e00");
    let line = "no cell of the base station serves the network of the tenants b (99999), which have no UE of it; it serves \
                00101 with S-NSSAI 1.";
    eventually(line, || log().contains(line));
    let known = "the tenants a (00101)";
    assert!(!log().contains(known));
}

/// A RAN function that admits nothing.
struct Refusing {
    model: Model,
    oid: String,
}

impl Refusing {
    fn of(model: Model) -> Box<dyn RanFunction> {
        Box::new(Refusing { oid: model.oid(Wire::Per), model })
    }
}

impl RanFunction for Refusing {
    fn id(&self) -> RanFunctionId {
        RanFunctionId(self.model.function_id)
    }

    fn definition(&self) -> Function {
        let (oid, revision) = (self.oid.clone(), RanFunctionRevision(1));
        Function { id: self.id(), revision, oid, definition: self.model.name.into() }
    }

    fn subscribe(&mut self, _: Time, _: ControllerId, _: &SubscriptionRequest, _: &Views) -> Result<Admission, Cause> {
        Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit))
    }

    fn unsubscribe(&mut self, _: RequestKey) {}
}

/// Their virtual nodes would have one identity, and take each other over without end.
#[test]
fn second_base_station_with_one_identity_but_for_the_plmn_is_not_shared() {
    let tenant = TestRic::start();
    let (host, _) = TestRic::with_virtual_networks(sla(&[(&tenant, "00107", "")]));
    let mut agents = AgentLoop::new(AgentLoopConfig::default()).unwrap();
    let mut connect = |mnc, number: u32| {
        let id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, mnc, 2), GnbId::new(number, 28));
        let node = agents.add_node(NodeConfig::new(id), vec![Refusing::of(rlc::MODEL)]);
        agents.add_controller(node, host.e2.clone().into());
        let before = ids(&host).len();
        eventually("the base station is up", || {
            agents.poll(Some(Duration::from_millis(20))).unwrap();
            ids(&host).len() > before
        });
    };
    connect(5, 0xe00);
    connect(6, 0xe00);
    connect(6, 0xe01);
    eventually("the tenant has nodes", || ids(&tenant).len() == 2);
    let log = log();
    assert!(log.contains("but for its PLMN it has the identity of gnb-00105-e00"));
    assert!(!log.contains("gnb-00107-e00 set up on another association"));
    assert_eq!(ids(&tenant), ["gnb-00107-e00", "gnb-00107-e01"]);
}

/// What a base station offers is not in the tenants' hands: it never ends the RIC of all.
#[test]
fn base_station_without_oids_or_without_functions_for_tenants_harms_nobody() {
    let tenant = TestRic::start();
    let (host, _) = TestRic::with_virtual_networks(sla(&[(&tenant, "00101", "")]));
    let mut agents = AgentLoop::new(AgentLoopConfig::default()).unwrap();
    let add = |agents: &mut AgentLoop, number, oid: &str, version| {
        let id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 22));
        let config = NodeConfig { version: Some(version), ..NodeConfig::new(id) };
        let node = agents.add_node(config, vec![Box::new(Refusing { model: rlc::MODEL, oid: oid.to_owned() })]);
        agents.add_controller(node, host.e2.clone().into());
        node
    };
    let until = |agents: &mut AgentLoop, what: &str, holds: &dyn Fn() -> bool| {
        eventually(what, || {
            agents.poll(Some(Duration::from_millis(20))).unwrap();
            holds()
        });
    };
    let foreign = add(&mut agents, 0x51, "1.2.3.4", Version::V2_03);
    let line = "the base station is not shared: it has no RAN function that tenants can have";
    until(&mut agents, line, &|| ids(&host) == ["gnb-00101-51"] && log().contains(line));
    // E2AP v01.00 has no OID; functions of FlexRIC are known by their definitions
    add(&mut agents, 0x52, "", Version::V1_00);
    until(&mut agents, "the tenant has the node of v01.00", &|| ids(&tenant) == ["gnb-00101-52"]);
    // the first one offers more at run time
    agents.add_function(foreign, Refusing::of(mac::MODEL)).unwrap();
    until(&mut agents, "the tenant has both nodes", &|| ids(&tenant).len() == 2);

    // functions of O-RAN without OIDs
    let scenario = Scenario::with_mixed_traffic(1, 1, 1);
    let _ran = TestRan::start(&host.e2, RanConfig { scenario, e2ap_version: Version::V1_00, ..RanConfig::default() });
    until(&mut agents, "the tenant has the emulated node", &|| ids(&tenant).contains(&"gnb-00101-e00".to_owned()));
}

fn ids(ric: &TestRic) -> Vec<String> {
    let nodes = ric.rest.get("/v1/nodes");
    nodes["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect()
}
