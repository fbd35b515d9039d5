//! The slicing controller with a RIC, an emulated RAN and an HTTP client.

use e2sm::Wire;
use ferric::e2ap::Version;
use ran::{RanConfig, Scenario};
use ran_functions::PeriodicConfig;
use serde_json::{Value, json};
use system_tests::station::{self, Station};
use system_tests::{TestRan, TestRic};

const NODE: &str = "gnb-00101-e00";
const DL: &str = "/v1/nodes/gnb-00101-e00/slices/dl";

/// A RIC, and a gNB with four UEs.
fn ric() -> (TestRic, TestRan) {
    let ric = TestRic::start();
    let ran =
        TestRan::start(&ric.e2, RanConfig { scenario: Scenario::with_mixed_traffic(1, 4, 1), ..RanConfig::default() });
    ric.await_slices(NODE);
    (ric, ran)
}

fn share(id: u32, percent: f32) -> Value {
    json!({ "id": id, "label": "", "ue_scheduler": "PF", "share_percent": percent })
}

fn nvs(slices: &[Value]) -> Value {
    json!({ "algorithm": "NVS", "sharing": true, "slices": slices })
}

#[test]
fn nodes_are_listed_with_their_sources() {
    let (ric, _ran) = ric();
    let nodes = ric.rest.eventually("/v1/nodes", |nodes| nodes["nodes"][0]["ues"] == 4);
    assert_eq!(nodes["nodes"][0], json!({ "id": NODE, "e2ap": "2.03", "ues": 4, "has_slices": true }));
    let node = ric.rest.eventually("/v1/nodes/gnb-00101-e00", |node| {
        node["sources"].as_array().unwrap().iter().all(|source| source["reports"].as_u64() > Some(0))
    });
    let models: Vec<_> = node["sources"].as_array().unwrap().iter().map(|source| source["model"].clone()).collect();
    assert_eq!(models, ["mac", "rlc", "pdcp", "tc", "slice", "rrc"]);
    assert_eq!(node["sources"][0]["state"], "subscribed");
    assert_eq!(node["sources"][0]["wire"], "plain");
    assert!(node["functions"].as_array().unwrap().iter().any(|function| function["id"] == 145), "{node}");
    ric.rest
        .request("GET", "/v1/nodes/gnb-00101-e01", None)
        .expect_problem(404, &["no node `gnb-00101-e01`", "/v1/nodes"]);
}

#[test]
fn slice_of_half_the_cell_is_set() {
    let (ric, _ran) = ric();
    assert_eq!(ric.rest.get(DL), json!({ "algorithm": "NONE", "slices": [] }));
    let wanted = nvs(&[share(1, 50.0), share(2, 50.0)]);
    assert_eq!(ric.rest.request("PUT", DL, wanted.clone()).expect(200), wanted);
    assert_eq!(ric.rest.get(DL), wanted);
}

#[test]
fn slices_are_added_changed_and_deleted_one_by_one() {
    let (ric, _ran) = ric();
    let made = ric.rest.request("POST", DL, json!({ "label": "reserved", "share_percent": 50 }));
    assert_eq!(made.header("location"), Some("/v1/nodes/gnb-00101-e00/slices/dl/1"));
    let reserved = json!({ "id": 1, "label": "reserved", "ue_scheduler": "", "share_percent": 50.0 });
    assert_eq!(made.expect(201), reserved);
    assert_eq!(ric.rest.request("POST", DL, json!({ "share_percent": 12.5 })).expect(201)["id"], 2);
    assert_eq!(
        ric.rest.request("POST", DL, json!({ "id": 7, "share_percent": 0.01 })).expect(201)["share_percent"],
        0.01
    );
    ric.rest
        .request("POST", DL, json!({ "id": 7, "share_percent": 1 }))
        .expect_problem(409, &["downlink slice 7 exists already; PUT"]);
    let one = format!("{DL}/1");
    assert_eq!(ric.rest.get(&one), reserved);
    let changed = ric.rest.request("PUT", &one, share(1, 66.0)).expect(200);
    assert_eq!(changed, share(1, 66.0));
    assert_eq!(ric.rest.get(&one), share(1, 66.0));
    let three = ric.rest.request("PUT", &format!("{DL}/3"), json!({ "share_percent": 1 }));
    assert_eq!(three.header("location"), Some(&*format!("{DL}/3")));
    assert_eq!(three.expect(201)["id"], 3);
    assert_eq!(ric.rest.request("DELETE", &one, None).status, 204);
    ric.rest.request("DELETE", &one, None).expect_problem(404, &["there is no downlink slice 1"]);
    ric.rest.request("GET", &one, None).expect_problem(404, &["there is no downlink slice 1"]);
    let ids: Vec<_> = ric.rest.get(DL)["slices"].as_array().unwrap().iter().map(|slice| slice["id"].clone()).collect();
    assert_eq!(ids, [2, 7, 3]);
    // the node reports the same; one older report may arrive first
    let of_node = format!("/v1/nodes/{NODE}");
    let reports = |node: &Value| {
        let mut sources = node["sources"].as_array().unwrap().iter();
        sources.find(|source| source["model"] == "slice").unwrap()["reports"].as_u64().unwrap()
    };
    let before = reports(&ric.rest.get(&of_node));
    ric.rest.eventually(&of_node, |node| reports(node) > before + 1);
    let both = ric.rest.get("/v1/nodes/gnb-00101-e00/slices");
    assert_eq!(both["dl"]["slices"].as_array().unwrap().len(), 3);
    assert_eq!(both["ul"], json!({ "algorithm": "NONE", "slices": [] }));
    assert_eq!(ric.rest.request("DELETE", DL, None).status, 204);
    assert_eq!(ric.rest.request("DELETE", DL, None).status, 204, "deleting no slices is no error");
    assert_eq!(ric.rest.get(DL)["slices"], json!([]));
}

#[test]
fn excess_of_capacity_is_refused_with_numbers() {
    let (ric, _ran) = ric();
    let wanted = nvs(&[share(1, 50.0), share(2, 40.0)]);
    ric.rest.request("PUT", DL, wanted.clone()).expect(200);
    let problem = ric
        .rest
        .request("PUT", &format!("{DL}/1"), share(1, 66.0))
        .expect_problem(409, &["would use 106.0 % of the cell: 0.0 % by other controllers, 106.0 % requested"]);
    assert_eq!(problem["cause"], "RIC request: FunctionResourceLimit");
    assert_eq!(problem["reason"], problem["detail"]);
    ric.rest.request("POST", DL, json!({ "share_percent": 10.1 })).expect_problem(409, &["100.1 %"]);
    // a modified slice counts with its new share
    ric.rest.request("PUT", DL, nvs(&[share(3, 60.0), share(2, 41.0)])).expect_problem(409, &["101.0 %"]);
    assert_eq!(ric.rest.get(DL), wanted, "nothing has changed");
    assert_eq!(ric.rest.eventually(DL, |_| true), wanted);
}

#[test]
fn refusal_contains_the_reason_of_the_node() {
    let (ric, _ran) = ric();
    let rate = |required: f32, reference: f32| json!({ "id": 1, "rate": { "required_mbps": required, "reference_mbps": reference } });
    let positions = |id: u32, first: u32, last: u32| json!({ "id": id, "positions": { "first": first, "last": last } });
    let of = |algorithm: &str, slices: &[Value]| json!({ "algorithm": algorithm, "slices": slices });
    let edf = json!({ "id": 1, "deadline": { "deadline_slots": 9, "guaranteed_prbs": 5, "max_replenish_prbs": 5 } });
    for (wanted, reason) in [
        (nvs(&[rate(5.0, 0.0)]), "the reference of a rate must be above 0"),
        (nvs(&[share(1, -5.0)]), "a share is from 0 to 100 %"),
        (nvs(&[share(1, 10.0), share(1, 10.0)]), "slice 1 occurs twice"),
        (nvs(&[json!({ "id": 1, "share_percent": 5, "ue_scheduler": "LIFO" })]), "does not have that UE scheduler"),
        (of("STATIC", &[positions(1, 0, 100)]), "positions 0 to 100 are not among 0 to"),
        (of("STATIC", &[positions(1, 3, 2)]), "positions 3 to 2"),
        (of("STATIC", &[positions(1, 0, 4), positions(2, 4, 5)]), "slices 1 and 2 overlap"),
        (of("EDF", &[edf]), "does not have the algorithm EDF"),
    ] {
        let problem = ric.rest.request("PUT", DL, wanted.clone()).expect_problem(422, &[reason]);
        assert!(problem["cause"].as_str().unwrap().contains("ControlMessageInvalid"), "{problem}");
        assert_eq!(ric.rest.get(DL)["slices"], json!([]), "{wanted}");
    }
    let unknown = json!({ "algorithm": "FAIR", "slices": [share(1, 50.0)] });
    ric.rest
        .request("PUT", DL, unknown)
        .expect_problem(409, &["unknown downlink scheduler FAIR: use NVS, NVS-PARTITION"]);
    assert_eq!(ric.rest.get(DL)["slices"], json!([]));
}

#[test]
fn malformed_request_is_refused_without_the_node() {
    let (ric, _ran) = ric();
    let slice = |slice: Value| nvs(&[slice]);
    let over = |algorithm: &str, sharing: bool| json!({ "algorithm": algorithm, "sharing": sharing, "slices": [] });
    let pair = json!({ "id": 1, "share_percent": 5, "positions": { "first": 0, "last": 1 } });
    let umlaut = json!({ "id": 1, "share_percent": 5, "label": "wei\u{df}" });
    for (wanted, status, reason) in [
        (slice(json!({ "id": 1, "shre_percent": 5 })), 422, "slices[0].shre_percent: unknown field `shre_percent`"),
        (slice(json!({ "id": 1, "shre_percent": 5 })), 422, "did you mean `share_percent`?"),
        (slice(json!({ "id": 1 })), 422, "slices[0]: a slice has exactly one of `share_percent`"),
        (slice(pair), 422, "slices[0]: a slice has exactly one of"),
        (slice(json!({ "share_percent": 5 })), 422, "slices[0]: missing `id`"),
        (slice(json!({ "id": u32::MAX, "share_percent": 5 })), 422, "means no slice"),
        (slice(json!({ "id": -1, "share_percent": 5 })), 422, "slices[0].id"),
        (slice(umlaut), 422, "label: a name has at most 255 printable ASCII characters"),
        (slice(json!({ "id": 1, "share_percent": 5, "label": "x".repeat(256) })), 422, "label: a name has"),
        (slice(json!({ "id": 1, "positions": { "first": 0, "last": 1 } })), 422, "NVS has no slices of that kind"),
        (json!({ "algorithm": "STATIC", "slices": [share(1, 5.0)] }), 422, "STATIC has no slices of that kind"),
        (json!({ "algorithm": "NONE", "slices": [share(1, 5.0)] }), 422, "`NONE` has no slices"),
        (json!({ "algorithm": "", "slices": [] }), 422, "algorithm: expected a name"),
        (json!({ "slices": [] }), 422, "missing field `algorithm`"),
        (over("STATIC", true), 422, "sharing: only NVS supports it"),
        (json!([]), 422, "not a JSON object"),
        (json!("all of it"), 422, "not a JSON object"),
        (slice(json!("all of it")), 422, "slices[0]: invalid type: string \"all of it\", expected an object: a slice"),
    ] {
        ric.rest.request("PUT", DL, wanted).expect_problem(status, &[reason]);
    }
    ric.rest
        .request("PUT", &format!("{DL}/2"), share(1, 5.0))
        .expect_problem(422, &["the path contains slice 2, the body contains 1"]);
    ric.rest.request("POST", DL, json!({ "id": 1 })).expect_problem(422, &["exactly one of"]);
    for (method, path, status) in [
        ("GET", "/v1/nodes/gnb-00101-e00/slices/sideways", 404),
        ("GET", "/v1/nodes/gnb-00101-e00/slices/dl/one", 404),
        ("GET", "/v1/nodes/gnb-00101-e00/slices/dl/+1", 404),
        ("GET", "/v1/nodes/gnb-00101-e00/slices/dl/4294967296", 404),
        ("GET", "/v1/nodes/nobody/slices/dl", 404),
        ("DELETE", "/v1/nodes/nobody/slices/dl", 404),
        ("DELETE", "/v1/nodes/nobody/slices/dl/1", 404),
        ("PATCH", "/v1/nodes/gnb-00101-e00/slices/dl", 405),
    ] {
        ric.rest.request(method, path, None).expect_problem(status, &[]);
    }
    let no_type = "POST /v1/nodes/gnb-00101-e00/slices/dl HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}";
    let mut client = testkit::http::Client::connect(ric.rest.address);
    client.write(no_type.as_bytes());
    client.receive().expect_problem(415, &["application/json", "curl: --json"]);
    assert_eq!(ric.rest.get(DL)["slices"], json!([]));
}

#[test]
fn all_kinds_of_slices_work_in_both_directions() {
    let (ric, _ran) = ric();
    let kinds = [
        nvs(&[
            json!({ "id": 1, "label": "a", "ue_scheduler": "RR", "rate": { "required_mbps": 5.5, "reference_mbps": 60.0 } }),
            json!({ "id": 2, "label": "b", "ue_scheduler": "", "share_percent": 33.3 }),
        ]),
        json!({ "algorithm": "NVS", "sharing": false, "slices": [share(1, 66.0), share(2, 34.0)] }),
        json!({ "algorithm": "STATIC", "slices": [
            { "id": 4, "label": "", "ue_scheduler": "MT", "positions": { "first": 0, "last": 3 } },
        ] }),
    ];
    round_trips(&ric, NODE, &kinds);
}

#[test]
fn scn19_and_edf_slices_work_in_both_directions() {
    let ric = TestRic::start();
    let _station = Station::start(&ric.e2);
    ric.await_slices(station::NAME);
    let kinds = [
        json!({ "algorithm": "SCN19", "slices": [
            { "id": 1, "label": "", "ue_scheduler": "", "rate": { "required_mbps": 5.0, "reference_mbps": 60.0 } },
            { "id": 2, "label": "", "ue_scheduler": "", "positions": { "first": 0, "last": 1 } },
            { "id": 3, "label": "", "ue_scheduler": "",
              "on_demand": { "share_percent": 10.0, "log_delta": 1.5, "window_slots": 100 } },
        ] }),
        json!({ "algorithm": "EDF", "slices": [
            { "id": 1, "label": "", "ue_scheduler": "", "deadline": {
                "deadline_slots": 10, "guaranteed_prbs": 5, "max_replenish_prbs": 6, "over": [] } },
            { "id": 2, "label": "", "ue_scheduler": "", "deadline": {
                "deadline_slots": 20, "guaranteed_prbs": 7, "max_replenish_prbs": 8, "over": [1] } },
        ] }),
    ];
    round_trips(&ric, station::NAME, &kinds);
    let path = format!("/v1/nodes/{}/slices/ul", station::NAME);
    let edf = json!({ "id": 1, "deadline": {
        "deadline_slots": 9, "guaranteed_prbs": 5, "max_replenish_prbs": 5, "over": [9],
    } });
    let refused = ric.rest.request("PUT", &path, json!({ "algorithm": "EDF", "slices": [edf] }));
    refused.expect_problem(422, &["refers to slice 9, which does not exist"]);
}

/// Checks for each of `kinds`, in both directions, that the response equals the request and is accepted as a request.
#[track_caller]
fn round_trips(ric: &TestRic, node: &str, kinds: &[Value]) {
    for direction in ["dl", "ul"] {
        let path = format!("/v1/nodes/{node}/slices/{direction}");
        // each replaces the one before
        for wanted in kinds {
            assert_eq!(ric.rest.request("PUT", &path, wanted.clone()).expect(200), *wanted);
            // as the node reports it
            let of_slices = |source: &&Value| source["model"] == "slice";
            let reports = |node: &Value| {
                let source = node["sources"].as_array().unwrap().iter().find(of_slices).unwrap();
                source["reports"].as_u64().unwrap()
            };
            let of_node = format!("/v1/nodes/{node}");
            let until = reports(&ric.rest.get(&of_node)) + 2;
            ric.rest.eventually(&of_node, |node| reports(node) >= until);
            assert_eq!(ric.rest.get(&path), *wanted);
            // the response is accepted as a request
            assert_eq!(ric.rest.request("PUT", &path, ric.rest.get(&path)).expect(200), *wanted);
        }
        // a slice must have the algorithm of the others; the first slice decides the algorithm
        let mixed = ric.rest.request("POST", &path, json!({ "share_percent": 1, "id": 77 }));
        mixed.expect_problem(422, &["has no slices of that kind"]);
        assert_eq!(ric.rest.request("DELETE", &path, None).status, 204);
        ric.rest.request("POST", &path, json!({ "share_percent": 1, "id": 77 })).expect(201);
        let reported = ric.rest.get(&path);
        assert_eq!(reported["algorithm"], "NVS");
        assert_eq!(ric.rest.request("PUT", &path, reported.clone()).expect(200), reported);
        let none = json!({ "algorithm": "NONE", "slices": [] });
        assert_eq!(ric.rest.request("PUT", &path, none).expect(200)["slices"], json!([]));
    }
}

#[test]
fn put_of_a_direction_is_atomic() {
    let (ric, _ran) = ric();
    let before = nvs(&[share(1, 50.0), share(2, 50.0)]);
    ric.rest.request("PUT", DL, before.clone()).expect(200);
    let ues = ric.rest.eventually(&format!("/v1/nodes/{NODE}/ues"), |ues| ues["ues"].as_array().unwrap().len() == 4);
    let rnti = ues["ues"][0]["rnti"].as_u64().unwrap();
    let of_ue = format!("/v1/nodes/{NODE}/ues/{rnti}/slices");
    assert_eq!(ric.rest.request("PUT", &of_ue, json!({ "dl": 2 })).expect(200), json!({ "dl": 2, "ul": null }));
    // deleted slices free capacity for the new ones
    let swapped = nvs(&[share(2, 30.0), share(3, 70.0)]);
    assert_eq!(ric.rest.request("PUT", DL, swapped.clone()).expect(200), swapped);
    assert_eq!(ric.rest.get(&of_ue)["dl"], 2, "a UE of a remaining slice stays in it");
    // another algorithm: the old slices are deleted first, and restored with their UEs if the new ones are refused
    let positions = |last: u32| json!({ "algorithm": "STATIC", "slices": [{ "id": 9, "positions": { "first": 0, "last": last } }] });
    let problem = ric.rest.request("PUT", DL, positions(99)).expect_problem(422, &["positions 0 to 99", "are undone"]);
    assert_eq!(problem["restored"], true);
    assert_eq!(ric.rest.get(DL), swapped);
    assert_eq!(ric.rest.get(&of_ue)["dl"], 2);
    ric.rest.request("PUT", DL, positions(3)).expect(200);
    assert_eq!(ric.rest.get(&of_ue)["dl"], Value::Null);
    let none = nvs(&[]);
    assert_eq!(ric.rest.request("PUT", DL, none.clone()).expect(200), none);
}

#[test]
fn ues_are_moved_between_slices() {
    let (ric, _ran) = ric();
    ric.rest.request("PUT", DL, nvs(&[share(1, 50.0), share(2, 50.0)])).expect(200);
    let path = format!("/v1/nodes/{NODE}/ues");
    let ues = ric.rest.eventually(&path, |ues| {
        ues["ues"].as_array().is_some_and(|ues| ues.len() == 4 && ues.iter().all(|ue| ue["plmn"] == "00101"))
    });
    let ue = &ues["ues"][1];
    assert_eq!(ue["slices"], json!({ "dl": null, "ul": null }));
    assert_eq!(ue["cell"], "003800001", "{ue}");
    assert!(ue["s_nssais"][0]["sst"].is_u64(), "{ue}");
    let rnti = ue["rnti"].as_u64().unwrap();
    let (one, slices) = (format!("{path}/{rnti}"), format!("{path}/{rnti}/slices"));
    assert_eq!(ric.rest.request("PUT", &slices, json!({ "dl": 1 })).expect(200), json!({ "dl": 1, "ul": null }));
    assert_eq!(ric.rest.get(&one)["slices"]["dl"], 1);
    ric.rest.request("PUT", &slices, json!({ "dl": 9 })).expect_problem(422, &["there is no downlink slice 9"]);
    ric.rest.request("PUT", &slices, json!({ "ul": 1 })).expect_problem(422, &["there is no uplink slice 1"]);
    // null in a direction without slices is accepted; the other direction does not change
    assert_eq!(ric.rest.request("PUT", &slices, json!({ "dl": 2, "ul": null })).expect(200)["dl"], 2);
    assert_eq!(ric.rest.request("DELETE", &format!("{DL}/2"), None).status, 204);
    assert_eq!(ric.rest.get(&slices), json!({ "dl": null, "ul": null }));
    ric.rest.request("PUT", &slices, json!({ "dl": 1 })).expect(200);
    assert_eq!(ric.rest.request("PUT", &slices, json!({ "dl": null })).expect(200)["dl"], Value::Null);
    ric.rest.request("PUT", &slices, json!({})).expect_problem(422, &["neither `dl` nor `ul`"]);
    ric.rest.request("PUT", &slices, json!({ "dl": u32::MAX })).expect_problem(422, &["means no slice; write null"]);
    ric.rest.request("PUT", &slices, json!({ "dll": 1 })).expect_problem(422, &["did you mean `dl`?"]);
    let nobody = format!("{path}/1/slices");
    ric.rest.request("PUT", &nobody, json!({ "dl": 1 })).expect_problem(404, &["there is no UE with RNTI 1"]);
    ric.rest.request("GET", &nobody, None).expect_problem(404, &["no UE with RNTI 1"]);
    ric.rest.request("GET", &format!("{path}/65536"), None).expect_problem(404, &["no UE `65536`"]);
    ric.rest.request("PUT", "/v1/nodes/nobody/ues/1/slices", json!({ "dl": 1 })).expect_problem(404, &["no node"]);
}

#[test]
fn statistics_are_the_last_report() {
    let (ric, _ran) = ric();
    let path = |model: &str| format!("/v1/nodes/{NODE}/statistics/{model}");
    let mac = ric.rest.eventually(&path("mac"), |mac| mac["ues"].as_array().unwrap().len() == 4);
    assert_eq!(mac["omitted"], 0);
    assert!(mac["ues"][0]["dl_aggr_tbs_octets"].is_u64(), "{mac}");
    // later reports replace it
    let then = mac["timestamp_us"].as_i64().unwrap();
    ric.rest.eventually(&path("mac"), |mac| mac["timestamp_us"].as_i64().unwrap() > then);
    let rlc = ric.rest.eventually(&path("rlc"), |rlc| rlc["bearers"].as_array().unwrap().len() == 4);
    assert!(rlc["bearers"][0]["tx_buffer_octets"].is_u64(), "{rlc}");
    let pdcp = ric.rest.eventually(&path("pdcp"), |pdcp| pdcp["bearers"].as_array().unwrap().len() == 4);
    assert!(pdcp["bearers"][0]["tx_sdu_octets"].is_u64(), "{pdcp}");
    assert!(ric.rest.eventually(&path("tc"), |_| true)["queues"].is_array());
    ric.rest.request("GET", &path("gtp"), None).expect_problem(404, &["mac, rlc, pdcp and tc, not of `gtp`"]);
    ric.rest.request("GET", "/v1/nodes/nobody/statistics/mac", None).expect_problem(404, &["no node `nobody`"]);
}

#[test]
fn next_ric_reads_and_deletes_existing_slices() {
    let first = TestRic::start();
    let address = first.e2.clone();
    let _ran =
        TestRan::start(&address, RanConfig { scenario: Scenario::with_mixed_traffic(1, 4, 1), ..RanConfig::default() });
    first.await_slices(NODE);
    let wanted = nvs(&[share(1, 66.0), share(2, 34.0)]);
    first.rest.request("PUT", DL, wanted.clone()).expect(200);
    let ues = first.rest.eventually(&format!("/v1/nodes/{NODE}/ues"), |ues| ues["ues"].as_array().unwrap().len() == 4);
    let slices = format!("/v1/nodes/{NODE}/ues/{}/slices", ues["ues"][0]["rnti"]);
    first.rest.request("PUT", &slices, json!({ "dl": 1 })).expect(200);
    drop(first);

    let next = TestRic::with(|config| config.server.e2 = vec![address.into()]);
    next.await_slices(NODE);
    assert_eq!(next.rest.get(DL), wanted);
    assert_eq!(next.rest.get(&slices)["dl"], 1);
    assert_eq!(next.rest.request("DELETE", &format!("{DL}/2"), None).status, 204);
    next.rest.request("PUT", &format!("{DL}/1"), share(1, 100.0)).expect(200);
    assert_eq!(next.rest.request("DELETE", DL, None).status, 204);
    assert_eq!(next.rest.get(&slices)["dl"], Value::Null);
}

#[test]
fn concurrent_clients_each_get_a_response() {
    let (ric, _ran) = ric();
    std::thread::scope(|scope| {
        for id in 1..=20 {
            let ric = &ric;
            scope.spawn(move || {
                let path = format!("{DL}/{id}");
                for _ in 0..5 {
                    ric.rest.request("PUT", &path, share(id, 5.0)).expect(201);
                    assert_eq!(ric.rest.get(&path)["share_percent"], 5.0);
                    assert_eq!(ric.rest.request("DELETE", &path, None).status, 204);
                }
            });
        }
    });
    assert_eq!(ric.rest.get(DL)["slices"], json!([]));
}

#[test]
fn all_versions_and_wire_forms_behave_alike() {
    // E2AP v01.00 has no object identifiers: functions of FlexRIC are identified by their definitions
    for (version, wire) in [
        (Version::V1_00, Wire::Plain),
        (Version::V1_01, Wire::Per),
        (Version::V2_03, Wire::Flat),
        (Version::V3_01, Wire::Plain),
    ] {
        let ric = TestRic::with(|config| {
            config.server.loops = 3;
            config.server.controller.node_versions.insert(NODE.to_owned(), version);
        });
        let periodic = PeriodicConfig { wire, ..PeriodicConfig::default() };
        let scenario = Scenario::with_mixed_traffic(1, 2, 1);
        let config = RanConfig { scenario, e2ap_version: version, periodic, ..RanConfig::default() };
        let _ran = TestRan::start(&ric.e2, config);
        ric.await_slices(NODE);
        let wanted = nvs(&[share(1, 50.0), share(2, 50.0)]);
        assert_eq!(ric.rest.request("PUT", DL, wanted.clone()).expect(200), wanted, "{version} {wire}");
        ric.rest.request("PUT", &format!("{DL}/1"), share(1, 66.0)).expect_problem(409, &["116.0 % requested"]);
        let mac = ric.rest.eventually(&format!("/v1/nodes/{NODE}/statistics/mac"), |mac| mac["ues"] != json!([]));
        let slices = format!("/v1/nodes/{NODE}/ues/{}/slices", mac["ues"][0]["rnti"]);
        assert_eq!(ric.rest.request("PUT", &slices, json!({ "dl": 2 })).expect(200)["dl"], 2);
        let node = ric.rest.get(&format!("/v1/nodes/{NODE}"));
        assert_eq!((&node["e2ap"], &node["sources"][0]["wire"]), (&json!(version.to_string()), &json!(wire.name())));
    }
}
