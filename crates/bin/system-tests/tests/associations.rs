//! Association of UEs with slices by rules, for LTE and NR.

use e2sm::rrc::Event;
use ran::{RanConfig, Scenario};
use serde_json::{Value, json};
use slicing::RuleFile;
use system_tests::station::{NAME, Station, cell};
use system_tests::{TestRan, TestRic};

const RULES: &str = "/v1/nodes/enb-00101-77/associations";
const DL: &str = "/v1/nodes/enb-00101-77/slices/dl";

fn ric() -> (TestRic, Station) {
    let ric = TestRic::start();
    let station = Station::start(&ric.e2);
    ric.await_slices(NAME);
    (ric, station)
}

fn has_slices(ric: &TestRic, ids: &[u32]) {
    let slices: Vec<_> = ids.iter().map(|id| json!({ "id": id, "share_percent": 100.0 / ids.len() as f64 })).collect();
    ric.rest.request("PUT", DL, json!({ "algorithm": "NVS", "slices": slices })).expect(200);
}

fn slices_of(rnti: u16) -> String {
    format!("/v1/nodes/{NAME}/ues/{rnti}/slices")
}

/// Returns the states of a rule's UEs.
fn states(rule: &Value) -> Vec<(u64, &str)> {
    let ues = rule["ues"].as_array().unwrap().iter();
    ues.map(|ue| (ue["rnti"].as_u64().unwrap(), ue["state"].as_str().unwrap())).collect()
}

#[test]
fn attached_ue_follows_move_to_its_slice() {
    let (ric, station) = ric();
    has_slices(&ric, &[1, 2]);
    let made = ric.rest.request("POST", RULES, json!({ "plmn": "00102", "dl": 1 }));
    assert_eq!(made.header("location"), Some("/v1/nodes/enb-00101-77/associations/1"));
    assert_eq!(made.expect(201), json!({ "id": 1, "node": NAME, "plmn": "00102", "dl": 1, "ues": [] }));
    ric.rest.request("POST", RULES, json!({ "s_nssai": { "sst": 1, "sd": "0000FF" }, "dl": 2 })).expect(201);
    let one = format!("{RULES}/1");
    assert_eq!(ric.rest.get(&one)["ues"], json!([]), "the rule matches no UE");

    station.attach(10, [1, 2], &[(1, Some(0xFF))]);
    station.attach(11, [1, 1], &[(1, Some(0xFF))]);
    station.attach(12, [1, 1], &[(1, None), (2, Some(0xFF))]);
    station.attach(13, [1, 2], &[]);
    let ue = |dl: Option<u32>| move |slices: &Value| slices["dl"] == json!(dl);
    ric.rest.eventually(&slices_of(10), ue(Some(1))); // the older rule decides
    ric.rest.eventually(&slices_of(11), ue(Some(2)));
    ric.rest.eventually(&slices_of(13), ue(Some(1)));
    let rule = ric.rest.eventually(&one, |rule| states(rule) == [(10, "moved"), (13, "moved")]);
    assert_eq!(rule["ues"][0]["node"], NAME);
    assert_eq!(ric.rest.get(&format!("/v1/nodes/{NAME}/ues/12"))["slices"]["dl"], Value::Null);
    // detached UEs are removed
    station.detach(13);
    ric.rest.eventually(&one, |rule| states(rule) == [(10, "moved")]);
}

#[test]
fn new_rule_moves_present_ue_and_deleted_rule_leaves_it() {
    let (ric, station) = ric();
    has_slices(&ric, &[1, 2]);
    station.attach(10, [1, 1], &[(1, None)]);
    station.attach_as(11, [1, 1], &[(1, Some(7))], Event::HandedOver(cell(2)));
    ric.rest.eventually(&format!("/v1/nodes/{NAME}/ues"), |ues| ues["ues"].as_array().unwrap().len() == 2);
    // without a slice differentiator, the rule matches all S-NSSAIs of the type
    let rule =
        ric.rest.request("POST", RULES, json!({ "s_nssai": { "sst": 1 }, "plmn": "00101", "dl": 1 })).expect(201);
    let path = format!("{RULES}/{}", rule["id"]);
    ric.rest.eventually(&path, |rule| states(rule) == [(10, "moved"), (11, "moved")]);
    // an explicit association has priority
    ric.rest.request("PUT", &slices_of(10), json!({ "dl": 2 })).expect(200);
    assert_eq!(ric.rest.request("DELETE", &path, None).status, 204);
    ric.rest.request("DELETE", &path, None).expect_problem(404, &["no association 1 under this path"]);
    ric.rest.request("GET", &path, None).expect_problem(404, &["no association 1 under this path"]);
    assert_eq!(ric.rest.get(&slices_of(10))["dl"], 2);
    assert_eq!(ric.rest.get(&slices_of(11))["dl"], 1);
    // a UE that attaches later is not moved
    station.attach(12, [1, 1], &[(1, None)]);
    ric.rest.eventually(&format!("/v1/nodes/{NAME}/ues"), |ues| ues["ues"].as_array().unwrap().len() == 3);
    assert_eq!(ric.rest.get(&slices_of(12))["dl"], Value::Null);
}

#[test]
fn rule_waits_for_its_slices() {
    let (ric, station) = ric();
    station.attach(10, [1, 1], &[(1, None)]);
    let rule = ric.rest.request("POST", RULES, json!({ "plmn": "00101", "dl": 3, "ul": 4 })).expect(201);
    let path = format!("{RULES}/{}", rule["id"]);
    let rule = ric.rest.eventually(&path, |rule| states(rule) == [(10, "waiting")]);
    assert_eq!(rule["ues"][0]["reason"], "there is no downlink slice 3");
    assert_eq!(ric.rest.get(DL)["slices"], json!([]));
    has_slices(&ric, &[3]);
    let rule = ric.rest.eventually(&path, |rule| rule["ues"][0]["reason"] == "there is no uplink slice 4");
    assert_eq!(states(&rule), [(10, "waiting")]);
    let ul = format!("/v1/nodes/{NAME}/slices/ul");
    ric.rest.request("POST", &ul, json!({ "id": 4, "share_percent": 100 })).expect(201);
    ric.rest.eventually(&slices_of(10), |slices| *slices == json!({ "dl": 3, "ul": 4 }));
    // after its slice is deleted, the UE waits for a new one of the same id
    assert_eq!(ric.rest.request("DELETE", &format!("{DL}/3"), None).status, 204);
    ric.rest.eventually(&path, |rule| states(rule) == [(10, "waiting")]);
    has_slices(&ric, &[3, 5]);
    ric.rest.eventually(&slices_of(10), |slices| *slices == json!({ "dl": 3, "ul": 4 }));
    ric.rest.eventually(&path, |rule| states(rule) == [(10, "moved")]);
}

#[test]
fn first_matching_rule_decides_and_the_next_replaces_it() {
    let (ric, station) = ric();
    has_slices(&ric, &[1, 2, 3]);
    station.attach(10, [1, 1], &[(1, None)]);
    let is_in = |slice: u32| {
        ric.rest.eventually(&slices_of(10), |slices| slices["dl"] == slice);
    };
    ric.rest.request("POST", "/v1/associations", json!({ "plmn": "00101", "dl": 1 })).expect(201);
    is_in(1);
    // a newer rule for all nodes changes nothing; a rule of the node does
    ric.rest.request("POST", "/v1/associations", json!({ "s_nssai": { "sst": 1 }, "dl": 3 })).expect(201);
    ric.rest.request("POST", RULES, json!({ "plmn": "00101", "dl": 2 })).expect(201);
    is_in(2);
    assert_eq!(ric.rest.request("DELETE", &format!("{RULES}/3"), None).status, 204);
    is_in(1);
    assert_eq!(ric.rest.request("DELETE", "/v1/associations/1", None).status, 204);
    is_in(3);
    ric.rest.eventually("/v1/associations/2", |rule| states(rule) == [(10, "moved")]);
    assert_eq!(ric.rest.request("DELETE", "/v1/associations", None).status, 204);
    assert_eq!(ric.rest.get(&slices_of(10))["dl"], 3, "no rule matches: the UE stays");
}

#[test]
fn stored_rules_survive_a_restart_of_the_ric() {
    let folder = std::env::temp_dir().join(format!("ferric-rules-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("rules.json");
    let start = || TestRic::with(|config| config.rules = Some(RuleFile::load(&path).unwrap()));
    let ric = start();
    let station = Station::start(&ric.e2);
    ric.await_slices(NAME);
    for plmn in ["00101", "00102", "00103"] {
        ric.rest.request("POST", "/v1/associations", json!({ "plmn": plmn, "dl": 1 })).expect(201);
    }
    ric.rest.request("POST", RULES, json!({ "s_nssai": { "sst": 1, "sd": "0000ff" }, "ul": 7 })).expect(201);
    assert_eq!(ric.rest.request("DELETE", "/v1/associations/3", None).status, 204);
    assert_eq!(ric.rest.request("DELETE", &format!("{RULES}/4"), None).status, 204);
    let own = ric.rest.request("POST", RULES, json!({ "s_nssai": { "sst": 1 }, "dl": 2 })).expect(201);
    let of_all = ric.rest.get("/v1/associations");
    // as it is on the disk when it is answered
    let answered = std::fs::read(&path).unwrap();
    drop((station, ric));
    std::fs::write(&path, answered).unwrap();
    let ric = start();
    assert_eq!(ric.rest.get("/v1/associations"), of_all);
    assert_eq!(ric.rest.get(RULES)["associations"], json!([own]), "though its node is not there");
    // they move UEs, and no number is given twice
    let station = Station::start(&ric.e2);
    ric.await_slices(NAME);
    has_slices(&ric, &[1, 2]);
    station.attach(10, [1, 1], &[(1, None)]);
    ric.rest.eventually(&slices_of(10), |slices| slices["dl"] == 2);
    assert_eq!(ric.rest.request("POST", RULES, json!({ "plmn": "00109", "dl": 1 })).expect(201)["id"], 6);
    // a rule that cannot be stored is reported
    std::fs::remove_dir_all(&folder).unwrap();
    let rule = json!({ "plmn": "00108", "dl": 1 });
    ric.rest
        .request("POST", RULES, rule.clone())
        .expect_problem(500, &["the change is in effect", "cannot store", "rules.json"]);
    ric.rest.request("POST", RULES, rule).expect_problem(409, &["rule 7 is identical"]);
    std::fs::create_dir_all(&folder).unwrap();
    assert_eq!(ric.rest.request("DELETE", RULES, None).status, 204);
    drop(ric);
    assert_eq!(start().rest.get("/v1/associations"), of_all);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn rule_of_the_node_precedes_rules_for_all_nodes() {
    let (ric, station) = ric();
    let _ran =
        TestRan::start(&ric.e2, RanConfig { scenario: Scenario::with_mixed_traffic(1, 3, 1), ..RanConfig::default() });
    let other = "/v1/nodes/gnb-00101-e00/slices/dl";
    ric.await_slices("gnb-00101-e00");
    has_slices(&ric, &[1, 2]);
    ric.rest.request("POST", other, json!({ "id": 1, "share_percent": 50 })).expect(201);
    let all = "/v1/associations";
    let made = ric.rest.request("POST", all, json!({ "plmn": "00101", "dl": 1 }));
    assert_eq!(made.header("location"), Some("/v1/associations/1"));
    made.expect(201);
    ric.rest.request("POST", RULES, json!({ "plmn": "00101", "dl": 2 })).expect(201);
    station.attach(10, [1, 1], &[]);
    ric.rest.eventually(&slices_of(10), |slices| slices["dl"] == 2);
    let rule = ric.rest.eventually("/v1/associations/1", |rule| {
        states(rule).len() == 3 && states(rule).iter().all(|(_, state)| *state == "moved")
    });
    assert_eq!(rule["ues"][0]["node"], "gnb-00101-e00");
    // each list has its own
    assert_eq!(ric.rest.get(all)["associations"].as_array().unwrap().len(), 1);
    assert_eq!(ric.rest.get(RULES)["associations"].as_array().unwrap().len(), 1);
    ric.rest.request("GET", &format!("{RULES}/1"), None).expect_problem(404, &["no association 1 under this path"]);
    ric.rest.request("DELETE", "/v1/associations/2", None).expect_problem(404, &["no association 2 under this path"]);
    // rules outlive their node's connection
    drop(station);
    ric.rest.eventually("/v1/nodes", |nodes| nodes["nodes"].as_array().unwrap().len() == 1);
    assert_eq!(ric.rest.get(RULES)["associations"][0]["ues"], json!([]));
    let station = Station::start(&ric.e2);
    ric.await_slices(NAME);
    has_slices(&ric, &[2]);
    station.attach(20, [1, 1], &[]);
    ric.rest.eventually(&slices_of(20), |slices| slices["dl"] == 2);
    assert_eq!(ric.rest.request("DELETE", RULES, None).status, 204);
    assert_eq!(ric.rest.request("DELETE", all, None).status, 204);
    assert_eq!(ric.rest.get(all), json!({ "associations": [] }));
}

#[test]
fn rule_shows_the_refusal_of_the_node() {
    let (ric, station) = ric();
    has_slices(&ric, &[1]);
    station.attach(10, [1, 1], &[]);
    station.attach(11, [1, 1], &[]);
    ric.rest.eventually(&format!("/v1/nodes/{NAME}/ues"), |ues| ues["ues"].as_array().unwrap().len() == 2);
    station.lose(11);
    let rule = ric.rest.request("POST", RULES, json!({ "plmn": "00101", "dl": 1 })).expect(201);
    let path = format!("{RULES}/{}", rule["id"]);
    let rule = ric.rest.eventually(&path, |rule| states(rule) == [(10, "moved"), (11, "refused")]);
    assert_eq!(rule["ues"][1]["reason"], "there is no UE with RNTI 11");
    station.set_broken(true);
    let two = json!({ "id": 2, "share_percent": 0 });
    let refused = ric.rest.request("POST", DL, two.clone());
    let problem = refused.expect_problem(409, &["the scheduler restarts"]);
    assert_eq!(problem["cause"], "RIC request: ControlFailedToExecute");
    station.set_broken(false);
    ric.rest.request("POST", DL, two).expect(201);
}

#[test]
fn malformed_rules_are_refused() {
    let (ric, _station) = ric();
    for (rule, reason) in [
        (json!({ "dl": 1 }), "neither `plmn` nor `s_nssai`"),
        (json!({ "plmn": "00101" }), "neither `dl` nor `ul`"),
        (json!({ "plmn": "001", "dl": 1 }), "plmn: `001` is not five or six digits"),
        (json!({ "plmn": "0010a", "dl": 1 }), "is not five or six digits"),
        (json!({ "s_nssai": { "sst": 1, "sd": "ff" }, "dl": 1 }), "s_nssai.sd: `ff` is not six hexadecimal digits"),
        (json!({ "s_nssai": { "sst": 1, "sd": "+000ff" }, "dl": 1 }), "is not six hexadecimal digits"),
        (json!({ "s_nssai": { "sst": 256 }, "dl": 1 }), "s_nssai.sst"),
        (json!({ "s_nssai": 1, "dl": 1 }), "expected an object: an S-NSSAI"),
        (json!({ "plmn": "00101", "dl": u32::MAX }), "means no slice"),
        (json!({ "plmm": "00101", "dl": 1 }), "did you mean `plmn`?"),
    ] {
        for path in [RULES, "/v1/associations"] {
            ric.rest.request("POST", path, rule.clone()).expect_problem(422, &[reason]);
        }
    }
    let rule = json!({ "plmn": "00101", "dl": 1 });
    ric.rest.request("POST", "/v1/nodes/nobody/associations", rule.clone()).expect_problem(404, &["no node `nobody`"]);
    ric.rest.request("GET", "/v1/nodes/nobody/associations", None).expect_problem(404, &["no node `nobody`"]);
    ric.rest.request("DELETE", "/v1/nodes/nobody/associations", None).expect_problem(404, &["no node `nobody`"]);
    ric.rest.request("PUT", RULES, rule.clone()).expect_problem(405, &["GET, HEAD, POST, DELETE"]);
    ric.rest.request("GET", &format!("{RULES}/x"), None).expect_problem(404, &["no association `x`"]);
    ric.rest.request("POST", RULES, rule.clone()).expect(201);
    let problem = ric.rest.request("POST", RULES, rule).expect_problem(409, &["rule 1 is identical"]);
    assert_eq!(problem["id"], 1);
    for dl in 2..=1024 {
        ric.rest.request("POST", "/v1/associations", json!({ "plmn": "00101", "dl": dl })).expect(201);
    }
    ric.rest
        .request("POST", RULES, json!({ "plmn": "00101", "dl": 2000 }))
        .expect_problem(503, &["there are 1024 rules already"]);
}

#[test]
fn removed_function_removes_its_reports() {
    let (ric, station) = ric();
    has_slices(&ric, &[1]);
    station.offer_slices(false);
    let deadline = std::time::Instant::now() + system_tests::PATIENCE;
    while ric.rest.request("GET", DL, None).status != 404 {
        assert!(std::time::Instant::now() < deadline, "it is still there");
    }
    ric.rest.request("GET", DL, None).expect_problem(404, &["the node offers no slice function"]);
    ric.rest
        .request("POST", DL, json!({ "share_percent": 1 }))
        .expect_problem(404, &["the node offers no slice function"]);
    assert_eq!(ric.rest.get(&format!("/v1/nodes/{NAME}"))["has_slices"], false);
    station.offer_slices(true);
    let slices = ric.rest.eventually(DL, |_| true);
    assert_eq!(slices["slices"][0]["id"], 1);
}

#[test]
fn ues_of_a_cu_cp_are_served_by_the_du_with_slices() {
    let ric = TestRic::start();
    let station = Station::split(&ric.e2);
    let (cu, du) = ("/v1/nodes/gnb-00101-77", "/v1/nodes/gnb-00101-77-du-5");
    ric.rest.eventually(cu, |node| node["sources"][0]["state"] == "subscribed");
    let all = "/v1/associations";
    ric.rest.request("POST", all, json!({ "plmn": "00101", "dl": 1 })).expect(201);
    // the CU-CP connects before the DU
    station.attach(10, [1, 1], &[(1, None)]);
    ric.rest.eventually(&format!("{cu}/ues"), |ues| ues["ues"].as_array().unwrap().len() == 1);
    assert_eq!(ric.rest.get("/v1/associations/1")["ues"], json!([]));
    station.add_du(5, true);
    ric.rest.eventually(&format!("{du}/slices"), |_| true);
    let rule = ric.rest.eventually("/v1/associations/1", |rule| states(rule) == [(10, "waiting")]);
    assert_eq!(rule["ues"][0]["node"], "gnb-00101-77-du-5");
    ric.rest.request("POST", &format!("{du}/slices/dl"), json!({ "id": 1, "share_percent": 50 })).expect(201);
    ric.rest.eventually(&format!("{du}/ues/10"), |ue| ue["plmn"] == "00101" && ue["slices"]["dl"] == 1);
    // and after it
    station.attach(11, [1, 1], &[]);
    ric.rest.eventually(&format!("{du}/ues/11"), |ue| ue["slices"]["dl"] == 1);
    ric.rest.eventually("/v1/associations/1", |rule| states(rule) == [(10, "moved"), (11, "moved")]);
    station.detach(10);
    ric.rest.eventually("/v1/associations/1", |rule| states(rule) == [(11, "moved")]);
    // another DU has slices too, but not the cell
    station.add_du(6, false);
    let other = "/v1/nodes/gnb-00101-77-du-6";
    ric.rest.eventually(&format!("{other}/slices"), |_| true);
    station.attach(12, [1, 1], &[]);
    ric.rest.eventually(&format!("{du}/ues/12"), |ue| ue["slices"]["dl"] == 1);
    assert_eq!(ric.rest.request("GET", &format!("{other}/ues/12"), None).json()["plmn"], Value::Null);
}

#[test]
fn ue_of_an_unknown_du_is_not_moved() {
    let ric = TestRic::start();
    let station = Station::split(&ric.e2);
    for du in [5, 6] {
        station.add_du(du, false);
        ric.rest.eventually(&format!("/v1/nodes/gnb-00101-77-du-{du}/slices"), |_| true);
    }
    ric.rest.request("POST", "/v1/associations", json!({ "plmn": "00101", "dl": 1 })).expect(201);
    station.attach(10, [1, 1], &[]);
    ric.rest.eventually("/v1/nodes/gnb-00101-77/ues/10", |ue| ue["plmn"] == "00101");
    assert_eq!(ric.rest.get("/v1/associations/1")["ues"], json!([]));
}

#[test]
fn ue_with_a_new_identity_loses_the_old_one() {
    let (ric, station) = ric();
    has_slices(&ric, &[1]);
    ric.rest.request("POST", RULES, json!({ "plmn": "00101", "dl": 1 })).expect(201);
    station.attach(10, [1, 1], &[]);
    let rule = format!("{RULES}/1");
    ric.rest.eventually(&rule, |rule| states(rule) == [(10, "moved")]);
    // handed over within the base station
    station.hand_over(10, 20);
    ric.rest.eventually(&rule, |rule| states(rule) == [(20, "moved")]);
    ric.rest.eventually(&slices_of(20), |slices| slices["dl"] == 1);
}
