//! Two operators with controllers of their own on one emulated RAN.

use std::collections::BTreeSet;

use ferric::xapp::Ric;
use ran::scenario::ScenarioFolders;
use ran::{RanConfig, Scenario};
use serde_json::{Value, json};
use system_tests::{PATIENCE, TestRan, TestRic, eventually, two_operators as sla};
use virtualization::Sla;

/// A cell with two UEs of each operator, which always have data.
const SCENARIO: &str = r#"
[[cell]]
[[ue]]
count = 2
plmn = "00101"
[[ue.flow]]
kind = "greedy"
[[ue]]
count = 2
plmn = "00102"
[[ue.flow]]
kind = "greedy"
"#;

struct Network {
    sla: virtualization::SlaHandle,
    a: TestRic,
    b: TestRic,
    host: TestRic,
    _ran: TestRan,
}

const NODE_A: &str = "gnb-00101-e00";
const NODE_B: &str = "gnb-00102-e00";

fn ran(ric: &TestRic) -> TestRan {
    let scenario = Scenario::from_toml(SCENARIO, &ScenarioFolders::with_traces(".".as_ref())).unwrap();
    TestRan::start(&ric.e2, RanConfig { scenario, ..RanConfig::default() })
}

fn network(share_a: u32, share_b: u32) -> Network {
    let (a, b) = (TestRic::start(), TestRic::start());
    let agreements = sla(&a, share_a, &b, share_b);
    let (host, handle) = TestRic::with_virtual_networks(agreements);
    let ran = ran(&host);
    a.await_slices(NODE_A);
    b.await_slices(NODE_B);
    Network { sla: handle, a, b, host, _ran: ran }
}

/// The slices of a node and their shares in percent, to one place.
fn shares(dl: &Value) -> Vec<(u64, f64)> {
    let slices = dl["slices"].as_array().unwrap().iter();
    let mut shares: Vec<_> = slices
        .map(|slice| {
            let share = slice["share_percent"].as_f64().unwrap();
            (slice["id"].as_u64().unwrap(), (share * 10.0).round() / 10.0)
        })
        .collect();
    shares.sort_by_key(|(id, _)| *id);
    shares
}

fn rntis(ues: &Value) -> Vec<u64> {
    ues["ues"].as_array().unwrap().iter().map(|ue| ue["rnti"].as_u64().unwrap()).collect()
}

fn ues_of(ric: &TestRic, node: &str) -> Vec<u64> {
    rntis(&ric.rest.eventually(&format!("/v1/nodes/{node}/ues"), |ues| rntis(ues).len() == 2))
}

#[test]
fn each_controller_sees_its_own_ues() {
    let network = network(50, 50);
    let (a, b) = (ues_of(&network.a, NODE_A), ues_of(&network.b, NODE_B));
    assert!(a.iter().all(|rnti| !b.contains(rnti)), "{a:?} {b:?}");
    let all = network.host.rest.eventually(&format!("/v1/nodes/{NODE_A}/ues"), |ues| rntis(ues).len() == 4);
    let mut both = [a, b].concat();
    both.sort_unstable();
    assert_eq!(rntis(&all), both);
}

#[test]
fn slices_of_a_tenant_are_a_part_of_the_cell() {
    let network = network(50, 25);
    let slices =
        json!({ "algorithm": "NVS", "slices": [{ "id": 1, "share_percent": 60 }, { "id": 2, "share_percent": 20 }] });
    let own = format!("/v1/nodes/{NODE_A}/slices/dl");
    network.a.rest.request("PUT", &own, slices).expect(200);
    let physical = network.host.rest.eventually(&own, |dl| dl["slices"].as_array().unwrap().len() == 4);
    // its UEs are in no slice, and have its half; and the quarter of b
    assert_eq!(shares(&physical), [(17, 0.0), (18, 0.0), (31, 50.0), (47, 25.0)]);
    assert_eq!(shares(&network.a.rest.get(&own)), [(1, 60.0), (2, 20.0)]);
    // a UE of its own moves; the UE of another operator does not exist
    let [ue, other] = ues_of(&network.a, NODE_A)[..] else { panic!() };
    let path = |rnti: u64| format!("/v1/nodes/{NODE_A}/ues/{rnti}/slices");
    network.a.rest.request("PUT", &path(ue), json!({ "dl": 2 })).expect(200);
    network.host.rest.eventually(&path(ue), |slices| slices["dl"] == 18);
    // slice 1 has no UE: the half is divided as 20 % and the 20 % that the slices leave
    network.host.rest.eventually(&own, |dl| shares(dl) == [(17, 0.0), (18, 25.0), (31, 25.0), (47, 25.0)]);
    network.a.rest.request("PUT", &path(other), json!({ "dl": 1 })).expect(200);
    network.host.rest.eventually(&own, |dl| shares(dl) == [(17, 37.5), (18, 12.5), (31, 0.0), (47, 25.0)]);
    assert_eq!(shares(&network.a.rest.get(&own)), [(1, 60.0), (2, 20.0)]);
    let foreign = ues_of(&network.b, NODE_B)[0];
    assert_eq!(network.a.rest.request("PUT", &path(foreign), json!({ "dl": 2 })).status, 404);
    // more than its cell
    let refused = network.a.rest.request("POST", &own, json!({ "id": 3, "share_percent": 21 }));
    refused.expect_problem(409, &["101.0 % of the virtual cell"]);
    assert_eq!(shares(&network.host.rest.get(&own)).len(), 4);
}

#[test]
fn change_of_shares_is_not_noticed_by_controllers() {
    let network = network(50, 25);
    let own = format!("/v1/nodes/{NODE_A}/slices/dl");
    let slices = json!({ "algorithm": "NVS", "slices": [{ "id": 1, "share_percent": 100 }] });
    network.a.rest.request("PUT", &own, slices).expect(200);
    for rnti in ues_of(&network.a, NODE_A) {
        network.a.rest.request("PUT", &format!("/v1/nodes/{NODE_A}/ues/{rnti}/slices"), json!({ "dl": 1 })).expect(200);
    }
    network.host.rest.eventually(&own, |dl| shares(dl) == [(17, 50.0), (47, 25.0)]);
    network.sla.replace(sla(&network.a, 20, &network.b, 80));
    network.host.rest.eventually(&own, |dl| shares(dl) == [(17, 20.0), (47, 80.0)]);
    assert_eq!(shares(&network.a.rest.get(&own)), [(1, 100.0)]);
}

#[test]
fn removed_tenant_leaves_no_trace() {
    let network = network(50, 50);
    let own = format!("/v1/nodes/{NODE_A}/slices/dl");
    network.host.rest.eventually(&own, |dl| shares(dl) == [(31, 50.0), (47, 50.0)]);
    let mut one = sla(&network.a, 50, &network.b, 50);
    one.tenants.truncate(1);
    network.sla.replace(one);
    network.host.rest.eventually(&own, |dl| shares(dl) == [(31, 50.0)]);
    network.b.rest.eventually("/v1/nodes", |nodes| nodes["nodes"].as_array().unwrap().is_empty());
    network.a.await_slices(NODE_A);
}

#[test]
fn slices_of_a_tenant_stay_when_others_come_and_go() {
    let network = network(50, 25);
    let (own_a, own_b) = (format!("/v1/nodes/{NODE_A}/slices/dl"), format!("/v1/nodes/{NODE_B}/slices/dl"));
    let slices = json!({ "algorithm": "NVS", "slices": [{ "id": 1, "share_percent": 60 }] });
    network.b.rest.request("PUT", &own_b, slices).expect(200);
    network.host.rest.eventually(&own_a, |dl| shares(dl) == [(31, 50.0), (33, 0.0), (47, 25.0)]);
    // the first tenant of the file goes
    let both = sla(&network.a, 50, &network.b, 25);
    let only_b = Sla { tenants: both.tenants[1..].to_vec() };
    network.sla.replace(only_b.clone());
    network.host.rest.eventually(&own_a, |dl| shares(dl) == [(33, 0.0), (47, 25.0)]);
    assert_eq!(shares(&network.b.rest.get(&own_b)), [(1, 60.0)]);
    // and comes back, behind the other one
    let reversed = Sla { tenants: both.tenants.iter().rev().cloned().collect() };
    network.sla.replace(reversed);
    network.host.rest.eventually(&own_a, |dl| shares(dl) == [(31, 50.0), (33, 0.0), (47, 25.0)]);
    network.a.await_slices(NODE_A);
    assert_eq!(ues_of(&network.a, NODE_A).len(), 2);
    assert_eq!(shares(&network.b.rest.get(&own_b)), [(1, 60.0)]);
    let b = ues_of(&network.b, NODE_B)[0];
    let path = format!("/v1/nodes/{NODE_A}/ues/{b}/slices");
    network.host.rest.eventually(&path, |slices| slices["dl"] == 47);
}

/// The controller of a tenant shares its virtual network again.
#[test]
fn virtual_networks_stack() {
    let (inner, other) = (TestRic::start(), TestRic::start());
    let text = format!("[[tenant]]\nname = \"inner\"\nshare_percent = 40\nplmn = \"00101\"\nric = \"{}\"\n", inner.e2);
    let (middle, _) = TestRic::with_virtual_networks(Sla::parse(&text).unwrap());
    let (host, _) = TestRic::with_virtual_networks(sla(&middle, 50, &other, 50));
    let _ran = ran(&host);
    inner.await_slices(NODE_A);
    assert_eq!(ues_of(&inner, NODE_A), ues_of(&middle, NODE_A));
    let own = format!("/v1/nodes/{NODE_A}/slices/dl");
    let slices = json!({ "algorithm": "NVS", "slices": [{ "id": 5, "share_percent": 50 }] });
    inner.rest.request("PUT", &own, slices).expect(200);
    assert_eq!(shares(&inner.rest.get(&own)), [(5, 50.0)]);
    let ue = format!("/v1/nodes/{NODE_A}/ues/{}/slices", ues_of(&inner, NODE_A)[0]);
    inner.rest.request("PUT", &ue, json!({ "dl": 5 })).expect(200);
    // 40 % of the middle network for the inner one, half of it for the slice
    middle.rest.eventually(&own, |dl| shares(dl) == [(21, 20.0), (31, 20.0)]);
    // and the middle network is half of the cell, of which its own rest needs nothing; the ids of a stacked controller are in a range of
    // their own
    host.rest.eventually(&own, |dl| shares(dl) == [(31, 0.0), (47, 50.0), (65536, 25.0), (65537, 25.0)]);
}

#[test]
fn measurements_are_those_of_the_own_network() {
    const PRBS: &str = "RRU.PrbTotDl";
    const THROUGHPUT: &str = "DRB.UEThpDl";
    let network = network(50, 50);
    let connect = |ric: &TestRic| Ric::options().address(ric.xapp.to_string()).name("test").connect().unwrap();
    let (host, a) = (connect(&network.host), connect(&network.a));
    // each UE: those of the tenant only
    let mut ues = BTreeSet::new();
    let mut stream = a.kpm([THROUGHPUT]).every(50).unwrap();
    for _ in 0..40 {
        let record = stream.next_within(PATIENCE).unwrap().unwrap();
        ues.extend(record.ue.map(|ue| ue.to_string()));
    }
    assert_eq!(ues.len(), 2, "{ues:?}");
    let all = || -> BTreeSet<String> { host.ues().unwrap().iter().map(|ue| ue.reference().to_string()).collect() };
    eventually("the host knows all UEs", || all().len() == 4);
    let all = all();
    assert!(ues.is_subset(&all), "{all:?}");
    // another operator's UE
    let foreign = all.difference(&ues).next().unwrap();
    assert!(a.ue(&**foreign).is_err());
    // the cell: the tenant's part of it, though both operators always have data
    let mean = |ric: &Ric| {
        let mut stream = ric.kpm([PRBS]).whole_node().every(200).unwrap();
        let values = (0..5).map(|_| stream.next_within(PATIENCE).unwrap().unwrap().number(PRBS).unwrap());
        values.sum::<f64>() / 5.0
    };
    let (of_cell, of_a) = (mean(&host), mean(&a));
    assert!((40.0..=60.0).contains(&(100.0 * of_a / of_cell)), "{of_a} of {of_cell}");
}
