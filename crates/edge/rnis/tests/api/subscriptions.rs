//! Subscriptions by MEC 012 v2.2.1, with real callbacks.

use std::time::Duration;

use crate::support::{Callbacks, TestService, bodies, cell, deadline, plmn};
use rnis::{
    AssociateId, AssociateIdType, Bearer, BearerEvent, BearerQos, CellMeasurement, Change, Event, HandoverStatus,
    NrCellMeasurement, Quantities, S1Bearer, SubscriptionLimits, TempUeId, Tunnel, UeIds,
};
use serde_json::{Value, json};

const PATH: &str = "/rni/v2/subscriptions";

fn cell_change(callback: &str, filter: Value) -> Value {
    json!({
        "subscriptionType": "CellChangeSubscription",
        "callbackReference": callback,
        "filterCriteriaAssocHo": filter,
    })
}

fn event(change: Change) -> Event {
    let id = AssociateId { kind: AssociateIdType::UeIpv4, value: "10.45.0.2".into() };
    let temporary = Some(TempUeId { mmec: "1".into(), mtmsi: "1234".into() });
    let ue = UeIds { associate_ids: vec![id], temporary, slices: Vec::new() };
    Event { received_ns: 1_700_000_000_000_000_005, cell: cell(1), ue, change }
}

fn handover(status: HandoverStatus) -> Event {
    event(Change::CellChange { targets: vec![cell(2)], status })
}

#[test]
fn each_type_comes_back_as_it_was_sent() {
    let rnis = TestService::start();
    for (word, body) in bodies("http://127.0.0.1:9/x") {
        let (path, mut created) = rnis.create(PATH, &body);
        assert!(created["_links"]["self"]["href"].as_str().unwrap().ends_with(&path), "{created}");
        created.as_object_mut().unwrap().remove("_links");
        assert_eq!(created, body, "{word}");
        let listed = rnis.rest.get(&format!("{PATH}?subscription_type={word}"));
        let links = listed["_links"]["subscription"].as_array().unwrap();
        assert_eq!((links.len(), &links[0]["subscriptionType"]), (1, &body["subscriptionType"]));
        assert!(links[0]["href"].as_str().unwrap().ends_with(&path));
        assert_eq!(rnis.rest.request("DELETE", &path, None).status, 204);
        rnis.rest.request("GET", &path, None).expect_problem(404, &["no subscription"]);
    }
    let empty = rnis.rest.get(PATH);
    assert!(
        empty["_links"]["self"]["href"].as_str().unwrap().ends_with(PATH)
            && empty["_links"].get("subscription").is_none()
    );
}

#[test]
fn number_is_not_used_again_and_absent_status_is_completed() {
    let rnis = TestService::start();
    let body = cell_change("http://127.0.0.1:9/x", json!({}));
    let (first, created) = rnis.create(PATH, &body);
    assert_eq!(created["filterCriteriaAssocHo"], json!({ "hoStatus": [3] }));
    rnis.rest.request("DELETE", &first, None);
    assert_ne!(rnis.create(PATH, &body).0, first);
}

/// Members of the notifications that the events of each type cause.
fn events() -> Vec<(Event, Value)> {
    let quantities = Quantities { rsrp: Some(60), rsrq: Some(20), sinr: Some(50) };
    let lte = rnis::Cell::eutra(crate::support::PLMN.parse().unwrap(), 0xabc);
    let ecgi = |digits: &str| json!({ "plmn": plmn(), "cellId": digits });
    let nrcgi = |digits: &str| json!({ "plmn": plmn(), "nrCellId": digits });
    let measured = json!({ "rsrp": 60, "rsrq": 20, "sinr": 50 });
    let qos = BearerQos { qci: 9, rates_bps: Some([4, 3, 2, 1]) };
    let bearer = Bearer { erab_id: 5, qos: Some(qos) };
    let tunnel = |address: &str| Tunnel { address: address.into(), teid: "0000002a".into() };
    let end = |address: &str| json!({ "ipAddress": address, "tunnelId": "0000002a" });
    let temporary = json!({ "mmec": "1", "mtmsi": "1234" });
    let parameters =
        json!({ "qci": 9, "qosInformation": { "erabMbrDl": 4, "erabMbrUl": 3, "erabGbrDl": 2, "erabGbrUl": 1 } });
    vec![
        (
            handover(HandoverStatus::Completed),
            json!({
                "notificationType": "CellChangeNotification", "srcEcgi": ecgi("000000001"), "trgEcgi": [ecgi("000000002")],
                "hoStatus": 3, "tempUeId": temporary,
            }),
        ),
        (
            event(Change::BearerEstablished(bearer)),
            json!({
                "notificationType": "RabEstNotification", "ecgi": ecgi("000000001"), "erabId": 5,
                "erabQosParameters": parameters, "tempUeId": temporary,
            }),
        ),
        (
            event(Change::BearerModified(bearer)),
            json!({
                "notificationType": "RabModNotification", "ecgi": ecgi("000000001"), "erabId": 5, "erabQosParameters": parameters,
            }),
        ),
        (
            event(Change::BearerReleased(bearer)),
            json!({
                "notificationType": "RabRelNotification", "ecgi": ecgi("000000001"), "erabReleaseInfo": { "erabId": 5 },
            }),
        ),
        (
            event(Change::Measured {
                trigger: 12,
                serving: quantities,
                neighbours: vec![CellMeasurement { cell: lte, quantities }],
                nr_neighbours: vec![NrCellMeasurement { cell: cell(2), quantities }],
            }),
            json!({
                "notificationType": "MeasRepUeNotification", "ecgi": ecgi("000000001"), "rsrp": 60, "rsrq": 20, "sinr": 50, "trigger": 12,
                "eutranNeighbourCellMeasInfo": [{ "ecgi": ecgi("0000abc"), "rsrp": 60, "rsrq": 20, "sinr": 50 }],
                "newRadioMeasNeiInfo": [{
                    "nrNCellInfo": [{ "nrNCellPlmn": [plmn()], "nrNCellGId": "000000002" }], "nrNCellRsrp": 60, "nrNCellRsrq": 20,
                }],
            }),
        ),
        (
            event(Change::NrMeasured {
                trigger: 12,
                serving: vec![NrCellMeasurement { cell: cell(1), quantities }],
                neighbours: vec![NrCellMeasurement { cell: cell(2), quantities }],
                eutra_neighbours: vec![CellMeasurement { cell: lte, quantities }],
            }),
            json!({
                "notificationType": "NrMeasRepUeNotification", "triggerNr": 12,
                "servCellMeasInfo": [{ "nrcgi": nrcgi("000000001"), "sCell": { "measQuantityResultsSsbCell": measured } }],
                "nrNeighCellMeasInfo": [{ "nrcgi": nrcgi("000000002"), "measQuantityResultsSsbCell": measured }],
                "eutraNeighCellMeasInfo": [{ "ecgi": ecgi("0000abc"), "rsrp": 60, "rsrq": 20, "sinr": 50 }],
            }),
        ),
        (
            event(Change::TimingAdvance { value: 17 }),
            json!({
                "notificationType": "MeasTaNotification", "ecgi": ecgi("000000001"), "timingAdvance": 17,
            }),
        ),
        (
            event(Change::CarrierAggregation {
                added: vec![cell(2)],
                removed: vec![cell(3)],
                measured: vec![(
                    CellMeasurement { cell: cell(2), quantities },
                    Some(CellMeasurement { cell: lte, quantities }),
                )],
            }),
            json!({
                "notificationType": "CaReconfNotification", "ecgi": ecgi("000000001"),
                "secondaryCellAdd": [{ "ecgi": ecgi("000000002") }], "secondaryCellRemove": [{ "ecgi": ecgi("000000003") }],
                "carrierAggregationMeasInfo": [{
                    "cellIdSrv": "000000002", "rsrpSrv": 60, "rsrqSrv": 20, "cellIdNei": "0000abc", "rsrpNei": 60, "rsrqNei": 20,
                }],
            }),
        ),
        (
            event(Change::S1Bearer {
                event: BearerEvent::Modified,
                bearers: vec![S1Bearer { erab_id: 5, base_station: tunnel("10.0.0.1"), gateway: tunnel("10.0.0.9") }],
            }),
            json!({
                "notificationType": "S1BearerNotification", "s1Event": 2,
                "s1UeInfo": {
                    "tempUeId": temporary, "ecgi": [ecgi("000000001")], "associateId": [{ "type": 1, "value": "10.45.0.2" }],
                    "s1BearerInfo": [{ "erabId": 5, "enbInfo": end("10.0.0.1"), "sGwInfo": end("10.0.0.9") }],
                },
            }),
        ),
    ]
}

#[test]
fn each_type_is_notified_with_its_members_and_links() {
    let (rnis, callbacks) = (TestService::start(), Callbacks::start());
    let subscriptions: Vec<_> = bodies("")
        .into_iter()
        .map(|(word, mut body)| {
            body["callbackReference"] = json!(callbacks.url(word));
            (word, rnis.create(PATH, &body).1)
        })
        .collect();
    for ((word, created), (event, mut expected)) in subscriptions.iter().zip(events()) {
        rnis.service.publish(event);
        let received = callbacks.expect(word, 1).remove(0);
        expected["_links"] = json!({ "subscription": created["_links"]["self"] });
        expected["timeStamp"] = json!({ "seconds": 1_700_000_000, "nanoSeconds": 5 });
        if *word != "s1_bearer" {
            expected["associateId"] = json!([{ "type": 1, "value": "10.45.0.2" }]);
        }
        // the others have other types
        assert_eq!(received, expected, "{word}");
    }
}

#[test]
fn criteria_select_events_and_a_change_of_them_is_in_force() {
    let (rnis, callbacks) = (TestService::start(), Callbacks::start());
    let filter = json!({ "ecgi": [{ "plmn": plmn(), "cellId": "0x000000002" }], "associateId": [{ "type": 1, "value": "10.45.0.2" }] });
    let (path, created) = rnis.create(PATH, &cell_change(&callbacks.url("a"), filter));
    rnis.create(PATH, &cell_change(&callbacks.url("b"), json!({ "hoStatus": [4] })));
    rnis.service.publish(handover(HandoverStatus::Rejected));
    rnis.service.publish(handover(HandoverStatus::Completed));
    assert_eq!(callbacks.expect("a", 1)[0]["hoStatus"], 3);
    assert_eq!(callbacks.expect("b", 1)[0]["hoStatus"], 4);
    let mut changed = created;
    changed["filterCriteriaAssocHo"]["hoStatus"] = json!([1]);
    assert_eq!(rnis.rest.request("PUT", &path, changed.clone()).expect(200), changed);
    rnis.service.publish(handover(HandoverStatus::Completed));
    rnis.service.publish(handover(HandoverStatus::InPreparation));
    assert_eq!(callbacks.expect("a", 2)[1]["hoStatus"], 1);
}

#[test]
fn if_match_guards_a_subscription() {
    let rnis = TestService::start();
    let body = cell_change("http://127.0.0.1:9/x", json!({}));
    let created = rnis.rest.request("POST", PATH, body.clone());
    let path = format!("{PATH}/1");
    let tag = created.header("etag").unwrap().to_owned();
    let read = rnis.rest.request("GET", &path, None);
    assert_eq!((read.header("etag"), &read.body), (Some(&*tag), &created.body));
    let put = |tag: &str, body: &Value| {
        let fields = format!("content-type: application/json\r\nif-match: {tag}\r\n");
        rnis.request_with("PUT", &path, &fields, Some(&body.to_string()))
    };
    put("\"other\"", &body).expect_problem(412, &["has changed"]);
    let changed = cell_change("http://127.0.0.1:9/y", json!({}));
    let updated = put(&tag, &changed);
    assert_eq!(updated.expect(200)["callbackReference"], "http://127.0.0.1:9/y");
    put(&tag, &body).expect_problem(412, &["has changed"]);
    put(updated.header("etag").unwrap(), &body).expect(200);
    put("*", &body).expect(200);
}

#[test]
fn deadline_is_announced_and_enforced_and_a_renewal_postpones_it() {
    let limits = SubscriptionLimits { expiry_notice: Duration::from_secs(3600), ..SubscriptionLimits::default() };
    let (rnis, callbacks) = (TestService::with(limits, |_| ()), Callbacks::start());
    let mut body = cell_change(&callbacks.url("a"), json!({}));
    body["expiryDeadline"] = deadline(Duration::from_millis(2000));
    let (path, created) = rnis.create(PATH, &body);
    assert_eq!(created["expiryDeadline"], body["expiryDeadline"]);
    testkit::eventually("an expiry notification", || {
        rnis.service.expire();
        !callbacks.received("a").is_empty()
    });
    let notice = callbacks.received("a").remove(0);
    assert_eq!(
        (&notice["notificationType"], &notice["expiryDeadline"]),
        (&json!("ExpiryNotification"), &body["expiryDeadline"])
    );
    assert_eq!(notice["_links"]["subscription"], created["_links"]["self"]);
    assert!(notice["timeStamp"]["seconds"].as_u64() <= body["expiryDeadline"]["seconds"].as_u64());
    // renewed: far beyond the first deadline
    body["expiryDeadline"] = deadline(Duration::from_secs(600));
    rnis.rest.request("PUT", &path, body.clone()).expect(200);
    body["expiryDeadline"] = deadline(Duration::from_millis(50));
    let (short, _) = rnis.create(PATH, &body);
    testkit::eventually("the end", || rnis.rest.request("GET", &short, None).status == 404);
    rnis.service.expire();
    rnis.rest.request("PUT", &short, body).expect_problem(404, &["may have expired"]);
    assert_eq!(rnis.rest.request("DELETE", &short, None).status, 404);
    rnis.rest.request("GET", &path, None).expect(200);
    rnis.service.publish(handover(HandoverStatus::Completed));
    testkit::eventually("an event after the renewal", || {
        callbacks.received("a").iter().any(|it| it["notificationType"] == "CellChangeNotification")
    });
}

#[test]
fn distant_deadline_is_shortened_and_a_past_one_refused() {
    let limits = SubscriptionLimits { max_lifetime: Duration::from_secs(100), ..SubscriptionLimits::default() };
    let rnis = TestService::with(limits, |_| ());
    let mut body = cell_change("http://127.0.0.1:9/x", json!({}));
    body["expiryDeadline"] = json!({ "seconds": u32::MAX, "nanoSeconds": 0 });
    let granted = rnis.create(PATH, &body).1["expiryDeadline"]["seconds"].as_u64().unwrap();
    let now = deadline(Duration::ZERO)["seconds"].as_u64().unwrap();
    assert!((now + 90..=now + 101).contains(&granted), "{granted}");
    body["expiryDeadline"] = json!({ "seconds": 1_577_836_800, "nanoSeconds": 0 });
    rnis.rest.request("POST", PATH, body.clone()).expect_problem(422, &["expiryDeadline: the time has passed"]);
    body["expiryDeadline"] = json!({ "seconds": u32::MAX, "nanoSeconds": 1_000_000_000 });
    rnis.rest.request("POST", PATH, body).expect_problem(400, &["expiryDeadline.nanoSeconds"]);
}

#[test]
fn test_notification_is_first_and_its_failure_is_visible() {
    let (rnis, callbacks) = (TestService::start(), Callbacks::start());
    let mut body = cell_change(&callbacks.url("a"), json!({}));
    body["requestTestNotification"] = json!(true);
    let (path, created) = rnis.create(PATH, &body);
    rnis.service.publish(handover(HandoverStatus::Completed));
    let received = callbacks.expect("a", 2);
    let links = json!({ "subscription": created["_links"]["self"] });
    assert_eq!(received[0], json!({ "notificationType": "TestNotification", "_links": links }));
    assert_eq!(received[1]["notificationType"], "CellChangeNotification");
    testkit::eventually("the state of the delivery", || rnis.delivery(&path)["delivered"] == 2);
    body["callbackReference"] = json!(callbacks.url("broken"));
    let (broken, _) = rnis.create(PATH, &body);
    testkit::eventually("the failure", || rnis.delivery(&broken)["failures"].as_u64() > Some(0));
    let state = rnis.delivery(&broken);
    assert!(state["lastError"].as_str().unwrap().contains("500"), "{state}");
    assert_eq!(rnis.delivery(&path)["failures"], 0);
}

#[test]
fn callback_is_chosen_before_a_websocket_and_the_answer_has_one() {
    let rnis = TestService::start();
    let mut body = cell_change("http://127.0.0.1:9/x", json!({}));
    body["websockNotifConfig"] = json!({ "requestWebsocketUri": true });
    let (_, created) = rnis.create(PATH, &body);
    assert!(created.get("websockNotifConfig").is_none() && created["callbackReference"].is_string(), "{created}");
    body.as_object_mut().unwrap().remove("callbackReference");
    let (path, created) = rnis.create(PATH, &body);
    let id = path.rsplit('/').next().unwrap();
    let uri = created["websockNotifConfig"]["websocketUri"].as_str().unwrap();
    assert!(uri.starts_with("ws://") && uri.ends_with(&format!("/rni/v2/notifications/{id}")), "{created}");
    assert!(created.get("callbackReference").is_none(), "{created}");
    body["websockNotifConfig"] = json!({ "requestWebsocketUri": false });
    rnis.rest.request("POST", PATH, body).expect_problem(400, &["callbackReference: missing"]);
}

#[test]
fn owner_and_service_have_at_most_so_many_subscriptions() {
    let limits = SubscriptionLimits { max_per_owner: 2, ..SubscriptionLimits::default() };
    let rnis = TestService::with(limits, |_| ());
    let body = cell_change("http://127.0.0.1:9/x", json!({}));
    let (first, _) = rnis.create(PATH, &body);
    rnis.create(PATH, &body);
    rnis.rest.request("POST", PATH, body.clone()).expect_problem(403, &["has 2 subscriptions, which is the limit"]);
    assert_eq!(rnis.rest.request("DELETE", &first, None).status, 204);
    rnis.create(PATH, &body);
    let rnis = TestService::with(SubscriptionLimits { max_total: 0, ..limits }, |_| ());
    rnis.rest.request("POST", PATH, body).expect_problem(503, &["the service has 0 subscriptions"]);
}
