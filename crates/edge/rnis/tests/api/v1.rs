//! Subscriptions by MEC 012 v1.1.1, with real callbacks.

use std::time::Duration;

use crate::support::{Callbacks, TestService, cell, deadline, plmn};
use rnis::{AssociateId, AssociateIdType, Change, Event, HandoverStatus, UeIds};
use serde_json::{Value, json};

const TYPES: [(&str, &str); 8] = [
    ("cell_change", "CellChangeSubscription"),
    ("s1_bearer", "S1BearerSubscription"),
    ("ta", "MeasTaSubscription"),
    ("meas_rep_ue", "MeasRepUeSubscription"),
    ("rab_est", "RabEstSubscription"),
    ("rab_mod", "RabModSubscription"),
    ("rab_rel", "RabRelSubscription"),
    ("ca_reconf", "CaReConfSubscription"),
];

fn body(word: &str, callback: &str) -> Value {
    let mut filter = json!({
        "appInsId": "01", "associateId": { "type": "UE_IPV4_ADDRESS", "value": "10.45.0.2" }, "plmn": plmn(), "cellId": ["0x000000001"],
    });
    let (member, more) = match word {
        "cell_change" => ("hoStatus", json!("COMPLETED")),
        "s1_bearer" => ("erabId", json!(5)),
        "meas_rep_ue" => ("trigger", json!("EVENT_A3")),
        "rab_est" | "rab_mod" | "rab_rel" => ("qci", json!(9)),
        _ => return json!({ "callbackReference": callback, "filterCriteria": filter }),
    };
    filter[member] = more;
    if word == "s1_bearer" {
        return json!({
            "callbackReference": callback, "eventType": "S1_BEARER_ESTABLISH", "s1BearerSubscriptionCriteria": filter,
        });
    }
    json!({ "callbackReference": callback, "filterCriteria": filter })
}

fn handover(from: u64, to: u64) -> Event {
    let id = AssociateId { kind: AssociateIdType::UeIpv4, value: "10.45.0.2".into() };
    let change = Change::CellChange { targets: vec![cell(to)], status: HandoverStatus::Completed };
    Event {
        received_ns: 1,
        cell: cell(from),
        ue: UeIds { associate_ids: vec![id], temporary: None, slices: Vec::new() },
        change,
    }
}

#[test]
fn each_type_lives_in_its_resource_in_the_form_of_the_request() {
    let rnis = TestService::start();
    for (word, name) in TYPES {
        let list = format!("/rni/v1/subscriptions/{word}");
        let bare = body(word, "http://127.0.0.1:9/x");
        let (path, created) = rnis.create(&list, &bare);
        let href = created["_links"]["self"].clone();
        assert!(path.starts_with(&list) && href.as_str().unwrap().ends_with(&path), "{created}");
        let mut with_links = bare.clone();
        with_links["_links"] = json!({ "self": href });
        assert_eq!(created, with_links);
        let (wrapped_path, wrapped) = rnis.create(&list, &json!({ name: bare }));
        assert_eq!(wrapped[name]["callbackReference"], "http://127.0.0.1:9/x");
        assert_eq!(rnis.rest.get(&wrapped_path), wrapped);
        let links = rnis.rest.get(&list)["SubscriptionLinkList"].clone();
        assert_eq!(links["subscription"].as_array().unwrap().len(), 2, "{links}");
        assert_eq!(links["subscription"][0]["href"], href);
        assert!(links["_links"]["self"].as_str().unwrap().ends_with(&list));
        // of another type, or of the other version, it does not exist
        let number = path.rsplit('/').next().unwrap();
        let other = if word == "ta" { "ca_reconf" } else { "ta" };
        for elsewhere in [format!("/rni/v1/subscriptions/{other}/{number}"), format!("/rni/v2/subscriptions/{number}")]
        {
            assert_eq!(rnis.rest.request("GET", &elsewhere, None).status, 404, "{elsewhere}");
            assert_eq!(rnis.rest.request("DELETE", &elsewhere, None).status, 404, "{elsewhere}");
        }
        assert_eq!(rnis.rest.request("DELETE", &path, None).status, 204);
        assert_eq!(rnis.rest.request("GET", &path, None).status, 404);
    }
    for all in ["/rni/v1/subscriptions/", "/rni/v1/subscriptions"] {
        assert_eq!(rnis.rest.get(all)["SubscriptionLinkList"]["subscription"].as_array().unwrap().len(), TYPES.len());
    }
    assert!(rnis.rest.get("/rni/v2/subscriptions")["_links"].get("subscription").is_none());
}

#[test]
fn criteria_select_and_a_plmn_alone_selects_its_cells() {
    let (rnis, callbacks) = (TestService::start(), Callbacks::start());
    let path = "/rni/v1/subscriptions/cell_change";
    rnis.create(path, &body("cell_change", &callbacks.url("cell")));
    let of = |name: &str, mnc: &str| {
        let filter = json!({ "plmn": { "mcc": "001", "mnc": mnc } });
        rnis.create(path, &json!({ "callbackReference": callbacks.url(name), "filterCriteria": filter })).1
    };
    let created = of("plmn", "01");
    assert_eq!(created["filterCriteria"]["hoStatus"], 3, "{created}");
    of("other", "02");
    rnis.service.publish(handover(7, 8));
    rnis.service.publish(handover(8, 1));
    assert_eq!(callbacks.expect("cell", 1)[0]["trgEcgi"][0]["cellId"], "000000001");
    let received = callbacks.expect("plmn", 2);
    assert_eq!(received[0]["_links"]["self"], created["_links"]["self"]);
    assert_eq!(callbacks.received("other").len(), 0);
}

#[test]
fn update_has_if_match_and_deadline() {
    let rnis = TestService::start();
    let list = "/rni/v1/subscriptions/ta";
    let created = rnis.rest.request("POST", list, json!({ "MeasTaSubscription": body("ta", "http://127.0.0.1:9/x") }));
    let path = format!("{list}/1");
    let mut changed = created.json();
    changed["MeasTaSubscription"]["expiryDeadline"] = deadline(Duration::from_secs(100));
    let put = |tag: &str| {
        let fields = format!("content-type: application/json\r\nif-match: {tag}\r\n");
        rnis.request_with("PUT", &path, &fields, Some(&changed.to_string()))
    };
    put("\"x\"").expect_problem(412, &["has changed"]);
    assert_eq!(put(created.header("etag").unwrap()).expect(200), changed);
    put(created.header("etag").unwrap()).expect_problem(412, &["has changed"]);
}

#[test]
fn mistake_is_named_by_its_path() {
    let rnis = TestService::start();
    let list = "/rni/v1/subscriptions/cell_change";
    let good = || body("cell_change", "http://127.0.0.1:9/x");
    let edited = |pointer: &str, value: Value| {
        let mut body = good();
        *body.pointer_mut(pointer).unwrap() = value;
        body
    };
    let without_plmn = || {
        let mut body = good();
        body["filterCriteria"].as_object_mut().unwrap().remove("plmn");
        body
    };
    for (body, at) in [
        (edited("/filterCriteria/hoStatus", json!("DONE")), "filterCriteria.hoStatus[0]"),
        (edited("/filterCriteria/hoStatus", json!(["COMPLETED", 9])), "filterCriteria.hoStatus[1]"),
        (edited("/filterCriteria/associateId/type", json!("RESERVED")), "filterCriteria.associateId[0].type"),
        (edited("/filterCriteria/associateId/value", json!("x")), "filterCriteria.associateId[0].value"),
        (edited("/filterCriteria/cellId/0", json!("x")), "filterCriteria.cellId[0]"),
        (edited("/filterCriteria/plmn/mcc", json!("x")), "filterCriteria.cellId[0]"),
        (edited("/callbackReference", json!("x")), "callbackReference"),
        (without_plmn(), "filterCriteria.cellId"),
        (
            json!({ "CellChangeSubscription": edited("/callbackReference", json!("x")) }),
            "CellChangeSubscription.callbackReference",
        ),
        (json!({ "CellChangeSubscription": good(), "more": 1 }), "more"),
        (json!({ "MeasTaSubscription": good() }), "MeasTaSubscription"),
        (json!({ "CellChangeSubscription": { "filter": 1 } }), "CellChangeSubscription.filter"),
    ] {
        let problem = rnis.rest.request("POST", list, body.clone()).expect_problem(400, &[]);
        assert_eq!(problem["at"], at, "{body}: {problem}");
    }
    assert!(rnis.rest.get(list)["SubscriptionLinkList"]["subscription"].as_array().unwrap().is_empty());
}
