//! Policies, decisions on handovers, configuration of cells, quotas and verified controls by REST, against a real RIC and an
//! emulated RAN. Each status is asked for once.

use ferric::e2ap::Version;
use ran::{RanConfig, Scenario};
use serde_json::{Value, json};
use system_tests::{TestRan, TestRic, eventually};
use testkit::http::Response;

const NODE: &str = "gnb-00101-e00";
const POLICIES: &str = "/v1/policies";
const REQUESTS: &str = "/v1/handover-requests";

/// Two cells with two UEs each.
fn two_cells() -> RanConfig {
    RanConfig { scenario: Scenario::with_mixed_traffic(2, 2, 1), ..RanConfig::default() }
}

/// Nodes that begin handovers.
fn restless() -> RanConfig {
    RanConfig { handovers_per_minute: 600, ..two_cells() }
}

fn start(config: RanConfig) -> (TestRic, TestRan) {
    let ric = TestRic::start();
    let ran = TestRan::start(&ric.e2, config);
    ric.rest.eventually("/v1/ues", |ues| {
        let is_known = |ue: &Value| ue["ue"].is_string() && ue["cell"].is_string();
        ues["ues"].as_array().is_some_and(|ues| ues.len() >= 2 && ues.iter().all(is_known))
    });
    (ric, ran)
}

fn put(ric: &TestRic, path: &str, body: Value) -> Response {
    ric.rest.request("PUT", path, body)
}

fn post(ric: &TestRic, path: &str, body: Value) -> Response {
    ric.rest.request("POST", path, body)
}

fn delete(ric: &TestRic, path: &str) -> Response {
    ric.rest.request("DELETE", path, None)
}

/// The first UE, and a cell that it is not in.
fn ue_and_other_cell(ric: &TestRic) -> (String, String) {
    let cells = ric.rest.eventually("/v1/cells", |cells| cells["cells"].as_array().is_some_and(|all| all.len() == 2));
    let ue = ric.rest.get("/v1/ues")["ues"][0].clone();
    let other = cells["cells"].as_array().unwrap().iter().find(|cell| cell["id"] != ue["cell"]).unwrap();
    (ue["ue"].as_str().unwrap().to_owned(), other["id"].as_str().unwrap().to_owned())
}

#[test]
fn policy_is_applied_until_it_is_deleted() {
    let (ric, mut ran) = start(restless());
    put(&ric, REQUESTS, json!({ "timeout_ms": 5000, "otherwise": "reject" })).expect(204);
    let asks = |ric: &TestRic| !ric.rest.get(REQUESTS)["requests"].as_array().unwrap().is_empty();
    eventually("a request for a decision", || asks(&ric));
    let policy = post(&ric, POLICIES, json!({ "rules": [{ "decision": "reject" }] })).expect(201);
    let path = format!("{POLICIES}/{}", policy["id"]);
    let nodes = policy["nodes"].as_array().unwrap();
    assert!(nodes.len() == 2 && nodes.iter().all(|at| at["state"] == "installed"), "{policy}");
    // those that waited before are left to their nodes; no further ones come, since the policy decides before
    eventually("no request", || !asks(&ric));
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(!asks(&ric));
    assert_eq!(ric.rest.get(&path), policy);
    // nodes that set up again apply it again
    ran.restart();
    eventually("the policy at both nodes", || {
        let policy = ric.rest.get(&path);
        let nodes = policy["nodes"].as_array().unwrap();
        nodes.len() == 2 && nodes.iter().all(|at| at["state"] == "installed")
    });
    assert_eq!(ric.rest.get(POLICIES)["policies"].as_array().unwrap().len(), 1);
    delete(&ric, &path).expect(204);
    delete(&ric, &path).expect_problem(404, &["there is no policy"]);
    ric.rest.request("GET", &path, None).expect_problem(404, &["see /v1/policies"]);
    eventually("a request for a decision", || asks(&ric));
}

#[test]
fn wrong_policies_are_refused() {
    let (ric, _ran) = start(two_cells());
    let rule = |rule: Value| json!({ "rules": [rule] });
    let condition = |condition: Value| rule(json!({ "conditions": [condition], "decision": "reject" }));
    for (body, status, piece) in [
        (json!({ "rules": [] }), 422, "1 to 64 rules"),
        (json!({}), 422, "rules"),
        (rule(json!({ "decision": "perhaps" })), 422, "decision"),
        (rule(json!({ "decision": "accept", "cell": "nowhere" })), 422, "rules[0].cell"),
        (rule(json!({ "decision": "reject", "cell": "003804001" })), 422, "rules[0].cell"),
        (rule(json!({ "decision": "accept", "cell": "00fffffff" })), 422, "there is no cell 00fffffff"),
        (condition(json!({ "parameter": "CQI", "comparison": "below", "value": 1 })), 422, "conditions[0].comparison"),
        (condition(json!({ "parameter": "CQJ", "comparison": "less", "value": 1 })), 422, "tested are:"),
        (condition(json!({ "parameter": "CQI", "comparison": "less", "value": 1.5 })), 422, "value"),
    ] {
        post(&ric, POLICIES, body).expect_problem(status, &[piece]);
    }
    // the member at fault, and what there is instead
    let known = post(&ric, POLICIES, condition(json!({ "parameter": "CQJ", "comparison": "less", "value": 1 }))).json();
    assert!(known["known"].as_array().unwrap().contains(&json!("CQI")) && known["at"] == "rules", "{known}");
    ric.rest.request("GET", "/v1/policies/one", None).expect_problem(404, &[]);
    // a node has room for a few; beyond them it refuses, and the policy is not created
    let policy = || post(&ric, POLICIES, rule(json!({ "decision": "accept" })));
    let refused = (0..65).map(|_| policy()).find(|answer| answer.status != 201).expect("a bound");
    assert!([409, 503].contains(&refused.status), "{refused:?}");
    assert_eq!(ric.rest.get("/v1/health")["status"], "ok");
}

#[test]
fn policies_need_a_node_that_offers_them() {
    let ric = TestRic::start();
    post(&ric, POLICIES, json!({ "rules": [{ "decision": "accept" }] }))
        .expect_problem(404, &["no node offers policies"]);
}

#[test]
fn decisions_on_handovers_are_answered_in_time() {
    let (ric, _ran) = start(restless());
    assert_eq!(ric.rest.get(REQUESTS), json!({ "terms": null, "requests": [], "undecided": 0 }));
    put(&ric, REQUESTS, json!({ "timeout_ms": 3, "otherwise": "accept" })).expect_problem(422, &["timeout_ms: 3"]);
    put(&ric, REQUESTS, json!({ "timeout_ms": 5000 })).expect_problem(422, &["otherwise"]);
    put(&ric, REQUESTS, json!({ "timeout_ms": 20_000, "otherwise": "accept" })).expect(204);
    let first = || {
        let list = ric.rest.eventually(REQUESTS, |list| !list["requests"].as_array().unwrap().is_empty());
        list["requests"][0].clone()
    };
    // between two nodes a UE is unknown for a moment
    let cell_of = |ue: &Value| {
        let path = format!("/v1/ues/{}", ue.as_str().unwrap());
        ric.rest.request("GET", &path, None).json()["cell"].clone()
    };
    let request = first();
    assert!(request["left_ms"].as_u64().unwrap() <= 20_000 && request["ue"].as_str().unwrap().starts_with("amf:"));
    assert_ne!(cell_of(&request["ue"]), request["cell"]);
    let path = |request: &Value| format!("{REQUESTS}/{}", request["id"]);
    post(&ric, &path(&request), json!({ "decision": "reject", "cell": "003804001" })).expect_problem(422, &["cell"]);
    post(&ric, &path(&request), json!({ "decision": "accept", "cell": "x" })).expect_problem(422, &["cell: `x`"]);
    assert_eq!(post(&ric, &path(&request), json!({ "decision": "accept" })).expect(200)["node"], request["node"]);
    eventually("the UE is in the target cell", || cell_of(&request["ue"]) == request["cell"]);
    post(&ric, &path(&request), json!({ "decision": "accept" })).expect_problem(404, &["it was decided"]);
    let request = first();
    post(&ric, &path(&request), json!({ "decision": "reject" })).expect(200);
    assert_ne!(cell_of(&request["ue"]), request["cell"]);
    // a time that is over: the node has decided, and the request is gone
    put(&ric, REQUESTS, json!({ "timeout_ms": 100, "otherwise": "reject" })).expect(204);
    ric.rest.eventually(REQUESTS, |list| list["undecided"].as_u64().unwrap() > 0);
    delete(&ric, REQUESTS).expect(204);
    ric.rest.eventually(REQUESTS, |list| list["terms"].is_null() && list["requests"] == json!([]));
}

#[test]
fn configuration_of_cells_is_queried_and_set() {
    let ric = TestRic::with(|config| config.server.controller.version = Some(Version::V3_01));
    let config = RanConfig { e2ap_version: Version::V3_01, all_ccc_attributes: true, ..two_cells() };
    let _ran = TestRan::start(&ric.e2, config);
    let path = format!("/v1/nodes/{NODE}/configuration");
    let query = |names: &str| ric.rest.request("GET", &format!("{path}?structures={names}"), None);
    let read = ric.rest.eventually(&format!("{path}?structures=O-NRCellDU"), |_| true);
    assert_eq!(read["cells"][0]["structures"]["O-NRCellDU"]["administrativeState"], "UNLOCKED", "{read}");
    let set = |structures: Value| put(&ric, &path, json!({ "structures": structures }));
    assert_eq!(set(json!({ "O-NRCellDU": { "administrativeState": "LOCKED" } })).expect(200)["node"], NODE);
    eventually("the cell is locked", || {
        query("O-NRCellDU").expect(200)["cells"][0]["structures"]["O-NRCellDU"]["administrativeState"] == "LOCKED"
    });
    set(json!({ "O-NRCellDU": { "administrativeState": "UNLOCKED" } })).expect(200);
    query("").expect_problem(400, &["structures"]);
    query("O-NRCellDU,").expect_problem(400, &["1 to 32 names"]);
    query("O-NRCellDu").expect_problem(422, &["does not offer O-NRCellDu"]);
    assert_eq!(query("O-NRCellDu").json()["known"][0], "O-NRCellDU");
    ric.rest.request("GET", "/v1/nodes/nowhere/configuration?structures=A", None).expect_problem(404, &["/v1/nodes"]);
    set(json!({})).expect_problem(422, &["1 to 32 structures"]);
    set(json!({ "O-NRCellDU": { "administrativeState": 7 } })).expect_problem(422, &["structures.O-NRCellDU"]);
    set(json!({ "O-NRCellDX": { "a": 1 } })).expect_problem(422, &["does not offer"]);
    // acknowledged as a whole, with the structure that is not set
    let policy = |max: u8| {
        json!({ "O-RRMPolicyRatio": {
            "resourceType": "PRB_DL", "rRMPolicyMemberList": [{ "plmnId": { "mcc": "001", "mnc": "01" }, "snssai": { "sst": 9 } }],
            "rRMPolicyMaxRatio": max, "rRMPolicyMinRatio": 90, "rRMPolicyDedicatedRatio": 0,
        } })
    };
    let refused = set(policy(10));
    assert_eq!(refused.status, 409, "{refused:?}");
    // E2AP has queries since v03
    let (ric, _ran) = start(two_cells());
    let query = format!("{path}?structures=O-NRCellDU");
    ric.rest.request("GET", &query, None).expect_problem(409, &["has no queries"]);
}

#[test]
fn control_is_verified_by_reports() {
    let (ric, _ran) = start(two_cells());
    let (ue, other) = ue_and_other_cell(&ric);
    let path = format!("/v1/ues/{ue}");
    let moved = post(&ric, &format!("{path}/handover?verify_ms=20000"), json!({ "cell": other })).expect(200);
    assert!(moved["verified_after_ms"].as_u64().unwrap() <= 20_000, "{moved}");
    assert_eq!(ric.rest.get(&path)["cell"], *other);
    // what a node refuses is not verified
    let again = post(&ric, &format!("{path}/handover?verify_ms=20000"), json!({ "cell": other }));
    again.expect_problem(409, &[]);
    let quota = |query: &str, body: Value| put(&ric, &format!("{path}/quota{query}"), body);
    assert!(quota("", json!({ "slice": "1", "max_percent": 100 })).expect(200)["node"].is_string());
    let slow = quota("?verify_ms=20000", json!({ "slice": "1", "max_percent": 20 })).expect(200);
    assert!(slow["verified_after_ms"].is_u64(), "{slow}");
    for (body, piece) in [
        (json!({ "slice": "x" }), "slice: `x`"),
        (json!({ "slice": "1-1" }), "slice: `1-1`"),
        (json!({ "max_percent": 101 }), "max_percent: 101"),
        (json!({ "max_percent": 10, "min_percent": 11 }), "min_percent: 11"),
        (json!({ "dedicated_percent": 1 }), "dedicated_percent: 1"),
        (json!({ "percent": 1 }), "percent"),
    ] {
        quota("", body).expect_problem(422, &[piece]);
    }
    for wrong in ["?verify_ms=0", "?verify_ms=20001", "?verify_ms=x"] {
        quota(wrong, json!({})).expect_problem(400, &["verify_ms"]);
    }
    put(&ric, "/v1/ues/amf:9/quota", json!({})).expect_problem(404, &["amf:9"]);
    put(&ric, &format!("{path}/drx?verify_ms=1"), json!({ "cycle_ms": 160 })).expect_problem(400, &["verify_ms"]);
}

#[test]
fn control_without_effect_in_time_is_not_verified() {
    let (ric, _ran) = start(two_cells());
    let (ue, _) = ue_and_other_cell(&ric);
    // the first report comes after 200 ms
    let refused = put(&ric, &format!("/v1/ues/{ue}/quota?verify_ms=1"), json!({ "slice": "1", "max_percent": 20 }));
    refused.expect_problem(504, &["without effect within 1 ms"]);
    let problem = refused.json();
    assert_eq!((&problem["acknowledged"], &problem["verdict"]), (&json!(true), &json!("no_reports")), "{problem}");
}
