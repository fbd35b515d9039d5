//! The responses of a RIC conform to its OpenAPI document.

use ran::{RanConfig, Scenario};
use serde_json::{Value, json};
use system_tests::{TestRan, TestRic};
use testkit::schema::fault;

const NODE: &str = "gnb-00101-e00";

/// The schema of an answer.
fn schema<'d>(document: &'d Value, method: &str, path: &str, status: u16) -> &'d Value {
    let responses = &document["paths"][path][method.to_lowercase()]["responses"];
    match responses.get(status.to_string()) {
        Some(response) => &response["content"]["application/json"]["schema"],
        None => &document["components"]["responses"]["Problem"]["content"]["application/problem+json"]["schema"],
    }
}

/// A request, and the status that it is answered with.
type TestRequest = (&'static str, &'static str, Option<Value>, u16);

fn traffic_control() -> Vec<TestRequest> {
    macro_rules! tc {
        ($method:literal $path:literal $($body:tt)+) => { ($method, concat!("/v1/nodes/{node}/tc", $path), $($body)+) };
    }
    let codel = || Some(json!({ "kind": "codel", "target_ms": 5, "interval_ms": 100 }));
    let filter = || Some(json!({ "queue_id": 1, "protocol": "udp", "destination_port": 5060 }));
    let shaper = Some(json!({ "window_ms": 100, "max_rate_kbps": 5000 }));
    vec![
        tc!("POST" "/queues" codel(), 201),
        tc!("PUT" "/queues/1" codel(), 200),
        tc!("GET" "/queues/1" None, 200),
        tc!("GET" "/queues" None, 200),
        tc!("POST" "/filters" filter(), 201),
        tc!("PUT" "/filters/0" filter(), 200),
        tc!("PUT" "/filters/0" Some(json!({ "queue_id": 1, "ue": "amf:1" })), 404),
        tc!("GET" "/filters/0" None, 200),
        tc!("GET" "/filters" None, 200),
        tc!("DELETE" "/queues/1" None, 422),
        tc!("PUT" "/policers/1" Some(json!({ "drop_rate_kbps": 900 })), 200),
        tc!("GET" "/policers/1" None, 200),
        tc!("GET" "/policers" None, 200),
        tc!("PUT" "/shapers/1" shaper, 200),
        tc!("GET" "/shapers/1" None, 200),
        tc!("GET" "/shapers" None, 200),
        tc!("PUT" "/scheduler" Some(json!({ "kind": "priority", "priorities": [1, 0] })), 200),
        tc!("GET" "/scheduler" None, 200),
        tc!("PUT" "/pacer" Some(json!({ "kind": "5g_bdp" })), 200),
        tc!("GET" "/pacer" None, 200),
        tc!("GET" "" None, 200),
        tc!("DELETE" "/policers/1" None, 204),
        tc!("DELETE" "/shapers/1" None, 204),
        tc!("DELETE" "/filters/0" None, 204),
        tc!("PUT" "/classifier" Some(json!({ "kind": "round_robin" })), 200),
        tc!("GET" "/classifier" None, 200),
        tc!("DELETE" "/queues/1" None, 204),
        tc!("DELETE" "/queues/1" None, 404),
    ]
}

fn a1() -> Vec<TestRequest> {
    const TYPE: &str = "/A1-P/v2/policytypes/1";
    const POLICY: &str = "/A1-P/v2/policytypes/1/policies/one";
    let policy_type = json!({ "name": "n", "description": "d", "policy_type_id": 1, "create_schema": {} });
    vec![
        ("GET", "/A1-P/v2/healthcheck", None, 200),
        ("PUT", TYPE, Some(policy_type), 201),
        ("GET", "/A1-P/v2/policytypes", None, 200),
        ("GET", TYPE, None, 200),
        ("PUT", POLICY, Some(json!({ "threshold": 5 })), 202),
        ("GET", "/A1-P/v2/policytypes/1/policies", None, 200),
        ("GET", POLICY, None, 200),
        ("GET", "/A1-P/v2/policytypes/1/policies/one/status", None, 200),
        ("DELETE", POLICY, None, 202),
        ("DELETE", TYPE, None, 204),
        ("GET", "/A1-EI/v1/eijobs", None, 200),
        ("POST", "/A1-EI/v1/eijobs/none/result", Some(json!({ "load": 7 })), 404),
        ("POST", "/A1-EI/v1/eijobs/none/status", Some(json!({ "eiJobStatus": "ENABLED" })), 404),
        ("POST", "/data-delivery", Some(json!({ "job": "none", "payload": 7 })), 404),
    ]
}

#[test]
fn responses_conform_to_the_document() {
    let rules = conflicts::ConflictRules::parse("[[rule]]\nparameter = \"rc/2/6\"\npolicy = \"first\"").unwrap();
    let conflicts = conflicts::ConflictConfig { rules, ..conflicts::ConflictConfig::default() };
    let ric = TestRic::with(|config| {
        config.conflicts = Some(conflicts);
        // nobody is there
        config.non_rt_ric = Some(ric::NonRtRic::new("http://127.0.0.1:9"));
    });
    let _ran =
        TestRan::start(&ric.e2, RanConfig { scenario: Scenario::with_mixed_traffic(1, 2, 1), ..RanConfig::default() });
    ric.await_slices(NODE);
    for model in ["mac", "rlc", "pdcp", "tc"] {
        ric.rest.eventually(&format!("/v1/nodes/{NODE}/statistics/{model}"), |_| true);
    }
    let node = format!("/v1/nodes/{NODE}");
    ric.rest.eventually(&format!("{node}/tc"), |_| true);
    let count = |ues: &Value| ues["ues"].as_array().unwrap().iter().filter(|ue| ue["plmn"].is_string()).count();
    let ues = ric.rest.eventually(&format!("{node}/ues"), |ues| count(ues) == 2);
    let rnti = ues["ues"][0]["rnti"].as_u64().unwrap().to_string();
    let named =
        ric.rest.eventually("/v1/ues", |ues| ues["ues"].as_array().unwrap().iter().all(|ue| ue["slices"].is_object()));
    let ue = named["ues"][0]["ue"].as_str().unwrap().to_owned();
    let document = ric.rest.get("/v1/openapi.json");
    let slice = json!({ "id": 1, "share_percent": 10 });
    let both = json!({ "algorithm": "NVS", "slices": [slice, {
        "id": 2, "rate": { "required_mbps": 1, "reference_mbps": 60 },
    }] });
    let rule = json!({ "plmn": "00101", "s_nssai": { "sst": 1 }, "dl": 1 });
    let requests = [
        ("GET", "/v1/openapi.json", None, 200),
        ("GET", "/v1/health", None, 200),
        ("GET", "/v1/cells", None, 200),
        ("GET", "/v1/xapps", None, 200),
        ("GET", "/v1/flexran-agents", None, 200),
        ("GET", "/v1/subscriptions", None, 200),
        ("GET", "/v1/configuration", None, 200),
        ("GET", "/v1/models", None, 200),
        ("GET", "/v1/log-level", None, 200),
        ("GET", "/v1/decode/types", None, 200),
        ("POST", "/v1/decode", Some(json!({ "type": "mac-plain:EventTriggerDefinition", "octets": "e8030000" })), 200),
        ("POST", "/v1/decode", Some(json!({ "type": "e2ap", "octets": "00" })), 422),
        ("GET", "/v1/positions", None, 200),
        (
            "PUT",
            "/v1/positions",
            Some(json!({ "cells": [{ "cell": "003800001", "x_m": 1, "y_m": 2.5 }], "ues": [] })),
            204,
        ),
        ("GET", "/v1/stream", None, 426),
        ("GET", "/v1/events?topics=x", None, 400),
        ("GET", "/v1/kpm/stream?measurements=CQI&cell=x", None, 404),
        ("GET", "/v1/nodes", None, 200),
        ("GET", "/v1/base-stations", None, 200),
        ("GET", "/v1/nodes/{node}", None, 200),
        ("GET", "/v1/nodes/{node}/ues", None, 200),
        ("GET", "/v1/nodes/{node}/statistics/mac", None, 200),
        ("GET", "/v1/nodes/{node}/statistics/rlc", None, 200),
        ("GET", "/v1/nodes/{node}/statistics/pdcp", None, 200),
        ("GET", "/v1/nodes/{node}/statistics/tc", None, 200),
        ("GET", "/v1/nodes/{node}/statistics/gtp", None, 404),
        ("GET", "/v1/nodes/nowhere/messages", None, 404),
        ("PUT", "/v1/nodes/{node}/slices/dl", Some(both.clone()), 200),
        ("PUT", "/v1/nodes/{node}/slices/ul", Some(json!({ "algorithm": "NONE", "slices": [] })), 200),
        ("PUT", "/v1/nodes/{node}/slices/dl", Some(json!({ "algorithm": "NVS", "slices": [{}] })), 422),
        ("GET", "/v1/nodes/{node}/slices", None, 200),
        ("GET", "/v1/nodes/{node}/slices/dl", None, 200),
        ("POST", "/v1/nodes/{node}/slices/dl", Some(json!({ "share_percent": 20 })), 201),
        ("POST", "/v1/nodes/{node}/slices/dl", Some(slice.clone()), 409),
        ("POST", "/v1/nodes/{node}/slices/dl", Some(json!({ "share_percent": 90 })), 409),
        ("GET", "/v1/nodes/{node}/slices/dl/3", None, 200),
        ("PUT", "/v1/nodes/{node}/slices/dl/3", Some(json!({ "share_percent": 30 })), 200),
        ("PUT", "/v1/nodes/{node}/slices/dl/4", Some(json!({ "share_percent": 1 })), 201),
        ("DELETE", "/v1/nodes/{node}/slices/dl/4", None, 204),
        ("DELETE", "/v1/nodes/{node}/slices/dl/4", None, 404),
        ("GET", "/v1/ues", None, 200),
        ("GET", "/v1/ues/{ue}", None, 200),
        ("GET", "/v1/ues/amf:9", None, 404),
        ("GET", "/v1/ues/imsi:9", None, 400),
        ("PUT", "/v1/ues/{ue}/slices", Some(json!({ "dl": 2 })), 200),
        ("GET", "/v1/ues/{ue}/slices", None, 200),
        ("POST", "/v1/ues/{ue}/handover", Some(json!({ "cell": "003804fff" })), 422),
        ("PUT", "/v1/ues/{ue}/drx", Some(json!({ "cycle_ms": 160 })), 200),
        ("PUT", "/v1/ues/{ue}/qos", Some(json!({ "priority": 20 })), 200),
        ("GET", "/v1/nodes/{node}/configuration?structures=O-NRCellDU", None, 409),
        ("PUT", "/v1/nodes/{node}/configuration", Some(json!({ "structures": {} })), 422),
        ("POST", "/v1/policies", Some(json!({ "rules": [{ "decision": "accept" }] })), 201),
        ("GET", "/v1/policies", None, 200),
        ("GET", "/v1/policies/1", None, 200),
        ("DELETE", "/v1/policies/1", None, 204),
        ("PUT", "/v1/handover-requests", Some(json!({ "timeout_ms": 1000, "otherwise": "accept" })), 204),
        ("GET", "/v1/handover-requests", None, 200),
        ("POST", "/v1/handover-requests/1", Some(json!({ "decision": "accept" })), 404),
        ("DELETE", "/v1/handover-requests", None, 204),
        ("PUT", "/v1/nodes/{node}/ues/{rnti}/slices", Some(json!({ "dl": 1 })), 200),
        ("GET", "/v1/nodes/{node}/ues/{rnti}/slices", None, 200),
        ("GET", "/v1/nodes/{node}/ues/{rnti}", None, 200),
        ("POST", "/v1/associations", Some(rule.clone()), 201),
        ("GET", "/v1/associations", None, 200),
        ("GET", "/v1/associations/1", None, 200),
        ("DELETE", "/v1/associations/1", None, 204),
        ("DELETE", "/v1/associations", None, 204),
        ("POST", "/v1/nodes/{node}/associations", Some(rule), 201),
        ("GET", "/v1/nodes/{node}/associations", None, 200),
        ("GET", "/v1/nodes/{node}/associations/2", None, 200),
        ("DELETE", "/v1/nodes/{node}/associations/2", None, 204),
        ("DELETE", "/v1/nodes/{node}/associations", None, 204),
        ("DELETE", "/v1/nodes/{node}/slices/dl", None, 204),
        ("GET", "/ric/v1/alarms/active", None, 200),
        ("GET", "/v1/conflicts", None, 200),
        ("GET", "/v1/conflicts/decisions?limit=5", None, 200),
        ("GET", "/v1/conflicts/questions", None, 200),
        ("POST", "/v1/conflicts/questions/1", Some(json!({ "accept": true })), 404),
        // a quota takes the place of slices
        ("PUT", "/v1/ues/{ue}/quota", Some(json!({ "slice": "1", "max_percent": 90 })), 200),
        ("GET", "/v1/conflicts/holders", None, 200),
    ];
    let requests = requests.into_iter().chain(traffic_control()).chain(a1());
    let mut requested = std::collections::BTreeSet::new();
    for (method, path, body, status) in requests {
        let answer =
            ric.rest.request(method, &path.replace("{node}", NODE).replace("{rnti}", &rnti).replace("{ue}", &ue), body);
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        let documented = path.split('?').next().unwrap();
        let documented = documented
            .replace("/nodes/nowhere", "/nodes/{node}")
            .replace("/ues/amf:9", "/ues/{ue}")
            .replace("/ues/imsi:9", "/ues/{ue}")
            .replace("/tc/queues/1", "/tc/queues/{queue}")
            .replace("/tc/filters/0", "/tc/filters/{filter}")
            .replace("/tc/policers/1", "/tc/policers/{queue}")
            .replace("/tc/shapers/1", "/tc/shapers/{queue}")
            .replace("/slices/dl/3", "/slices/{direction}/{slice}")
            .replace("/slices/dl/4", "/slices/{direction}/{slice}")
            .replace("/slices/dl", "/slices/{direction}")
            .replace("/slices/ul", "/slices/{direction}")
            .replace("/policies/1", "/policies/{policy}")
            .replace("/policytypes/1", "/policytypes/{policy_type_id}")
            .replace("/policies/one", "/policies/{policy_instance_id}")
            .replace("/eijobs/none", "/eijobs/{ei_job_id}")
            .replace("/handover-requests/1", "/handover-requests/{request}")
            .replace("/questions/1", "/questions/{question}")
            .replace("/associations/1", "/associations/{association}")
            .replace("/associations/2", "/associations/{association}");
        let documented = match documented.split_once("/statistics/") {
            Some((node, _)) => format!("{node}/statistics/{{model}}"),
            None => documented,
        };
        if ![202, 204].contains(&status) {
            let schema = schema(&document, method, &documented, status);
            assert_eq!(fault(&answer.json(), schema, &document, ""), None, "{method} {path}: {answer:?}");
        }
        requested.insert((method.to_lowercase(), documented));
    }
    let documented = document["paths"].as_object().unwrap().iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys().filter(|key| *key != "parameters");
        methods.map(move |method| (method.clone(), path.clone()))
    });
    // text, which tests of its own read
    requested.insert(("get".to_owned(), "/metrics".to_owned()));
    let left: Vec<_> = documented.filter(|operation| !requested.contains(operation)).collect();
    assert_eq!(left, [], "operations without a test request");
}
