//! Two operators with controllers of their own on one emulated RAN.

use ran::scenario::ScenarioFolders;
use ran::{RanConfig, Scenario};
use serde_json::{Value, json};
use system_tests::{TestRan, TestRic};
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
    a: TestRic,
    b: TestRic,
    host: TestRic,
    _ran: TestRan,
}

const NODE_A: &str = "gnb-00101-e00";
const NODE_B: &str = "gnb-00102-e00";

fn network(share_a: u32, share_b: u32) -> Network {
    let (a, b) = (TestRic::start(), TestRic::start());
    let sla = format!(
        "[[tenant]]\nname = \"a\"\nshare_percent = {share_a}\nplmn = \"00101\"\nric = \"{}\"\n\
         [[tenant]]\nname = \"b\"\nshare_percent = {share_b}\nplmn = \"00102\"\nric = \"{}\"\n",
        a.e2, b.e2
    );
    let host = TestRic::with(|config| config.virtual_networks = Some(Sla::parse(&sla).unwrap()));
    let scenario = Scenario::from_toml(SCENARIO, &ScenarioFolders::with_traces(".".as_ref())).unwrap();
    let ran = TestRan::start(&host.e2, RanConfig { scenario, ..RanConfig::default() });
    a.await_slices(NODE_A);
    b.await_slices(NODE_B);
    Network { a, b, host, _ran: ran }
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
    let shares = |dl: &Value| -> Vec<(u64, f64)> {
        let slices = dl["slices"].as_array().unwrap().iter();
        let mut shares: Vec<_> = slices
            .map(|slice| {
                let share = slice["share_percent"].as_f64().unwrap();
                (slice["id"].as_u64().unwrap(), (share * 100.0).round() / 100.0)
            })
            .collect();
        shares.sort_by_key(|(id, _)| *id);
        shares
    };
    // what a leaves of its half, and the quarter of b
    assert_eq!(shares(&physical), [(17, 30.0), (18, 10.0), (31, 10.0), (47, 25.0)]);
    assert_eq!(shares(&network.a.rest.get(&own)), [(1, 60.0), (2, 20.0)]);
    // a UE of its own moves; the UE of another operator does not exist
    let [ue, _] = ues_of(&network.a, NODE_A)[..] else { panic!() };
    let path = |rnti: u64| format!("/v1/nodes/{NODE_A}/ues/{rnti}/slices");
    network.a.rest.request("PUT", &path(ue), json!({ "dl": 2 })).expect(200);
    network.host.rest.eventually(&path(ue), |slices| slices["dl"] == 18);
    let foreign = ues_of(&network.b, NODE_B)[0];
    assert_eq!(network.a.rest.request("PUT", &path(foreign), json!({ "dl": 2 })).status, 404);
    // more than its cell
    let refused = network.a.rest.request("POST", &own, json!({ "id": 3, "share_percent": 21 }));
    refused.expect_problem(409, &["101.0 % of the virtual cell"]);
    assert_eq!(shares(&network.host.rest.get(&own)).len(), 4);
}
