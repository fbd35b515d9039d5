//! Each status code of MEC 012 that this service has, of each operation, and input of every wrong kind.

use std::sync::{Arc, Mutex};

use crate::support::{TestService, bodies, plmn};
use rest::{Access, AccessFiles};
use rnis::api::ApiConfig;
use rnis::{Broker, BrokerCounts, BrokerError, Criteria, Embedded, Event, Key, SubscriptionLimits, Topic};
use serde_json::{Value, json};

const CALLBACK: &str = "http://127.0.0.1:9/x";

/// The operations with a body that each accepts: method, collection, body.
fn collections() -> Vec<(&'static str, Value)> {
    let v1 = json!({ "callbackReference": CALLBACK, "filterCriteria": {} });
    let mut all = vec![("/rni/v2/subscriptions", bodies(CALLBACK).remove(0).1)];
    all.extend(
        ["cell_change", "ta", "meas_rep_ue", "rab_est", "rab_mod", "rab_rel", "ca_reconf"]
            .map(|word| (&*format!("/rni/v1/subscriptions/{word}").leak(), v1.clone())),
    );
    let s1 = json!({ "callbackReference": CALLBACK, "s1BearerSubscriptionCriteria": {} });
    all.push(("/rni/v1/subscriptions/s1_bearer", s1));
    all
}

const JSON: &str = "content-type: application/json\r\n";

#[test]
fn each_operation_on_subscriptions_has_its_status_codes() {
    let rnis = TestService::start();
    for (list, body) in collections() {
        let text = body.to_string();
        let text = Some(text.as_str());
        let (path, _) = rnis.create(list, &body);
        let past = {
            let mut body = body.clone();
            body["expiryDeadline"] = json!({ "seconds": 1, "nanoSeconds": 0 });
            body.to_string()
        };
        let past = Some(past.as_str());
        let nowhere = format!("{list}/99999");
        let long = format!("{list}?x={}", "x".repeat(9000));
        for (method, path, fields, body, status) in [
            ("GET", list, "", None, 200),
            ("GET", list, "accept: application/xml\r\n", None, 406),
            ("GET", &format!("{list}?unknown=1"), "", None, 400),
            ("GET", &long, "", None, 414),
            ("POST", list, JSON, text, 201),
            ("POST", list, JSON, Some("{"), 400),
            ("POST", list, JSON, Some("{}"), 400),
            ("POST", list, JSON, past, 422),
            ("POST", list, "accept: text/html\r\ncontent-type: application/json\r\n", text, 406),
            ("POST", list, "content-type: application/xml\r\n", text, 415),
            ("POST", list, "", text, 415),
            ("POST", &long, JSON, text, 414),
            ("PUT", list, JSON, text, 405),
            ("GET", &path, "", None, 200),
            ("GET", &path, "accept: image/png\r\n", None, 406),
            ("GET", &path, "accept: */*;q=0\r\n", None, 406),
            ("GET", &nowhere, "", None, 404),
            ("GET", &format!("{list}/x"), "", None, 404),
            ("GET", &format!("{list}/-1"), "", None, 404),
            ("GET", &format!("{path}?x=1"), "", None, 400),
            ("PUT", &path, JSON, text, 200),
            ("PUT", &path, JSON, Some("[]"), 400),
            ("PUT", &path, "content-type: text/plain\r\n", text, 415),
            ("PUT", &path, "accept: text/html\r\ncontent-type: application/json\r\n", text, 406),
            ("PUT", &path, "if-match: \"x\"\r\ncontent-type: application/json\r\n", text, 412),
            ("PUT", &path, JSON, past, 422),
            ("PUT", &nowhere, JSON, text, 404),
            ("PATCH", &path, JSON, text, 405),
            ("DELETE", &nowhere, "", None, 404),
            ("DELETE", &path, "", None, 204),
            ("DELETE", &path, "", None, 404),
        ] {
            let answer = rnis.request_with(method, path, fields, body);
            assert_eq!(answer.status, status, "{method} {path:.80} {fields}: {answer:?}");
            if status >= 400 {
                answer.expect_problem(status, &[]);
            }
            assert_eq!(answer.header("location").is_some(), status == 201, "{answer:?}");
        }
    }
}

#[test]
fn each_query_has_its_status_codes() {
    let rnis = TestService::start();
    rnis.fill();
    for path in ["rab_info", "plmn_info", "s1_bearer_info", "layer2_meas"] {
        for version in ["v1", "v2"].into_iter().filter(|version| (*version, path) != ("v1", "layer2_meas")) {
            let path = format!("/rni/{version}/queries/{path}");
            let no_match = if path.ends_with("plmn_info") { None } else { Some(format!("{path}?cell_id=000000009")) };
            let mut cases = vec![
                (path.clone(), "", 200),
                (format!("{path}?unknown=1"), "", 400),
                (path.clone(), "accept: text/html\r\n", 406),
                (format!("{path}?app_ins_id={}", "x".repeat(9000)), "", 414),
            ];
            cases.extend(no_match.map(|path| (path, "", 404)));
            for (path, fields, status) in cases {
                let answer = rnis.request_with("GET", &path, fields, None);
                assert_eq!(answer.status, status, "{path:.80}: {answer:?}");
            }
            rnis.request_with("POST", &path, JSON, Some("{}")).expect_problem(405, &["GET"]);
        }
    }
}

#[test]
fn rate_is_limited_with_retry_after() {
    let rnis = TestService::with(SubscriptionLimits::default(), |config| config.max_requests_per_second = 5);
    let refused =
        (0..200).map(|_| rnis.request_with("GET", "/rni/v2/subscriptions", "", None)).find(|it| it.status == 429);
    let refused = refused.expect("429");
    refused.expect_problem(429, &["too many requests"]);
    assert!(refused.header("retry-after").unwrap().parse::<u32>().unwrap() >= 1);
}

#[test]
fn token_is_required_where_the_server_has_tokens() {
    let file = std::env::temp_dir().join(format!("ferric-rnis-tokens-{}", std::process::id()));
    std::fs::write(&file, "read 0123456789abcdef0123\n").unwrap();
    let access = Access::load(AccessFiles { tls: None, tokens: Some(file.clone()) });
    let rnis = TestService::with(SubscriptionLimits::default(), |config| config.access = access.unwrap());
    let mut operations: Vec<_> = ["rab_info", "plmn_info", "s1_bearer_info", "layer2_meas"]
        .map(|query| ("GET", format!("/rni/v2/queries/{query}"), None, 404))
        .into();
    for (list, body) in collections() {
        let one = format!("{list}/99999");
        operations.extend([
            ("GET", list.to_owned(), None, 200),
            ("POST", list.to_owned(), Some(body.to_string()), 201),
            ("GET", one.clone(), None, 404),
            ("PUT", one.clone(), Some(body.to_string()), 404),
            ("DELETE", one, None, 404),
        ]);
    }
    for (method, path, body, status) in operations {
        let refused = rnis.request_with(method, &path, JSON, body.as_deref());
        refused.expect_problem(401, &[]);
        assert!(refused.header("www-authenticate").unwrap().starts_with("Bearer"), "{refused:?}");
        let stranger = format!("{JSON}authorization: Bearer 9999999999abcdef0123\r\n");
        assert_eq!(rnis.request_with(method, &path, &stranger, body.as_deref()).status, 401);
        let known = format!("{JSON}authorization: Bearer 0123456789abcdef0123\r\n");
        assert_eq!(rnis.request_with(method, &path, &known, body.as_deref()).status, status, "{method} {path}");
    }
    std::fs::remove_file(file).unwrap();
}

/// A broker that has subscriptions to one type only.
struct CellChangesOnly(Embedded);

impl Broker for CellChangesOnly {
    fn publish(&self, event: &Arc<Event>) -> Result<(), BrokerError> {
        self.0.publish(event)
    }

    fn subscribe(&self, _: Key, _: &str, criteria: &Criteria) -> Result<(), BrokerError> {
        if criteria.topic == Topic::CellChange && criteria.cells.is_empty() {
            return Ok(());
        }
        Err(BrokerError::Unreachable { address: "amqp://127.0.0.1".into(), reason: "connection refused".into() })
    }

    fn unsubscribe(&self, _: Key) {}

    fn counts(&self) -> BrokerCounts {
        self.0.counts()
    }
}

#[test]
fn broker_that_refuses_is_answered_with_503_and_nothing_is_changed() {
    let broker = |sink| Box::new(CellChangesOnly(Embedded::new(sink))) as Box<dyn Broker>;
    let rnis = TestService::of(broker, SubscriptionLimits::default(), &ApiConfig::default(), |_| ());
    let list = "/rni/v2/subscriptions";
    let (_, tied) = bodies(CALLBACK).remove(0);
    let refused = rnis.rest.request("POST", list, tied.clone());
    refused.expect_problem(503, &["the broker at amqp://127.0.0.1 cannot be reached"]);
    assert!(refused.header("retry-after").is_some());
    assert!(rnis.rest.get(list)["_links"].get("subscription").is_none());
    let (path, created) = rnis.create(list, &edited(&tied, "/filterCriteriaAssocHo/ecgi", json!([])));
    rnis.rest.request("PUT", &path, tied).expect_problem(503, &["cannot be reached"]);
    assert_eq!(rnis.rest.get(&path), created);
}

#[test]
fn links_begin_with_the_root_that_is_configured() {
    let broker = |sink| Box::new(Embedded::new(sink)) as Box<dyn Broker>;
    let api = ApiConfig { root: Some("https://mec.example:8092/".into()), ..ApiConfig::default() };
    let rnis = TestService::of(broker, SubscriptionLimits::default(), &api, |_| ());
    for (list, body) in collections() {
        let created = rnis.rest.request("POST", list, body);
        let link = created.header("location").unwrap();
        assert!(link.starts_with(&format!("https://mec.example:8092{list}/")), "{link}");
        assert!(created.expect(201)["_links"]["self"].to_string().contains(link));
    }
}

/// A body with one value replaced, or a member added.
fn edited(body: &Value, pointer: &str, value: Value) -> Value {
    let mut body = body.clone();
    match body.pointer_mut(pointer) {
        Some(at) => *at = value,
        None => {
            let (parent, member) = pointer.rsplit_once('/').unwrap();
            body.pointer_mut(parent).unwrap()[member] = value;
        }
    }
    body
}

#[test]
fn mistake_in_a_body_is_named_by_its_path() {
    let rnis = TestService::start();
    let list = "/rni/v2/subscriptions";
    let of = |word: &str| bodies(CALLBACK).into_iter().find(|(it, _)| *it == word).unwrap().1;
    let (ho, qci, s1, nr) = (of("cell_change"), of("rab_mod"), of("s1_bearer"), of("nr_meas_rep_ue"));
    let ecgi = json!({ "plmn": plmn(), "cellId": "000000001" });
    for (body, at, status) in [
        (edited(&ho, "/subscriptionType", json!("CelCangeSubscription")), "subscriptionType", 400),
        (edited(&ho, "/subscriptionType", json!(7)), "subscriptionType", 400),
        (edited(&ho, "/subscriptionType", json!("RabEstSubscription")), "filterCriteriaAssocHo", 400),
        (edited(&ho, "/callbackReference", json!(null)), "callbackReference", 400),
        (edited(&ho, "/callbackReference", json!("ftp://host/")), "callbackReference", 422),
        (edited(&ho, "/callbackReferenc", json!("http://host/")), "callbackReferenc", 400),
        (edited(&ho, "/expiryDeadline", json!({ "seconds": -1, "nanoSeconds": 0 })), "expiryDeadline.seconds", 400),
        (edited(&ho, "/expiryDeadline", json!({ "seconds": 1 })), "expiryDeadline", 400),
        (edited(&ho, "/requestTestNotification", json!("yes")), "requestTestNotification", 400),
        (edited(&ho, "/filterCriteriaAssocHo", json!([])), "filterCriteriaAssocHo", 400),
        (edited(&ho, "/filterCriteriaAssocHo/hoStatus", json!([1, 0])), "filterCriteriaAssocHo.hoStatus[1]", 400),
        (edited(&ho, "/filterCriteriaAssocHo/hoStatus", json!(3)), "filterCriteriaAssocHo.hoStatus", 400),
        (
            edited(&ho, "/filterCriteriaAssocHo/ecgi/0/cellId", json!("xyz")),
            "filterCriteriaAssocHo.ecgi[0].cellId",
            400,
        ),
        (edited(&ho, "/filterCriteriaAssocHo/ecgi/0/plmn/mcc", json!("1")), "filterCriteriaAssocHo.ecgi[0].plmn", 400),
        (edited(&ho, "/filterCriteriaAssocHo/ecgi/0/plmn/mnc", json!("1x")), "filterCriteriaAssocHo.ecgi[0].plmn", 400),
        (edited(&ho, "/filterCriteriaAssocHo/ecgi/0/plmm", json!(1)), "filterCriteriaAssocHo.ecgi[0].plmm", 400),
        (edited(&ho, "/filterCriteriaAssocHo/ecgi", json!(vec![ecgi; 33])), "filterCriteriaAssocHo.ecgi", 422),
        (
            edited(&ho, "/filterCriteriaAssocHo/associateId/0/type", json!(0)),
            "filterCriteriaAssocHo.associateId[0].type",
            400,
        ),
        (
            edited(&ho, "/filterCriteriaAssocHo/associateId/0/type", json!(2)),
            "filterCriteriaAssocHo.associateId[0].value",
            400,
        ),
        (edited(&qci, "/filterCriteriaQci/qci", json!(0)), "filterCriteriaQci.qci", 400),
        (edited(&qci, "/filterCriteriaQci/qci", json!(256)), "filterCriteriaQci.qci", 400),
        (edited(&qci, "/filterCriteriaQci", json!({ "qci": 1 })), "filterCriteriaQci", 400),
        (edited(&s1, "/eventType", json!([])), "eventType", 400),
        (edited(&s1, "/eventType", json!([4])), "eventType[0]", 400),
        (
            edited(&s1, "/S1BearerSubscriptionCriteria/erabId", json!([1.5])),
            "S1BearerSubscriptionCriteria.erabId[0]",
            400,
        ),
        (
            edited(&nr, "/filterCriteriaNrMrs/nrcgi/0/nrCellId", json!("1000000000")),
            "filterCriteriaNrMrs.nrcgi[0].nrCellId",
            400,
        ),
        (edited(&nr, "/filterCriteriaNrMrs/triggerNr", json!([3])), "filterCriteriaNrMrs.triggerNr[0]", 400),
        (json!({ "CellChangeSubscription": ho }), "", 400),
    ] {
        let problem = rnis.rest.request("POST", list, body.clone()).expect_problem(status, &[at]);
        if !at.is_empty() {
            assert_eq!(problem["at"], at, "{body}: {problem}");
        }
    }
    assert!(rnis.rest.get(list)["_links"].get("subscription").is_none());
    // the older spelling of v2.1.1 is read
    let mut older = nr;
    let nrcgi = older["filterCriteriaNrMrs"]["nrcgi"][0].as_object_mut().unwrap();
    let id = nrcgi.remove("nrCellId").unwrap();
    nrcgi.insert("nrcellId".to_owned(), id);
    assert!(rnis.create(list, &older).1["filterCriteriaNrMrs"]["nrcgi"][0]["nrCellId"].is_string());
}

#[test]
fn contradictory_update_is_refused_and_changes_nothing() {
    let rnis = TestService::start();
    let all = bodies(CALLBACK);
    let (path, created) = rnis.create("/rni/v2/subscriptions", &all[0].1);
    rnis.rest
        .request("PUT", &path, all[1].1.clone())
        .expect_problem(422, &["subscriptionType: a subscription keeps its type"]);
    let other = edited(&created, "/_links/self/href", json!("http://localhost/rni/v2/subscriptions/7"));
    let problem = rnis.rest.request("PUT", &path, other).expect_problem(400, &["is not the subscription"]);
    assert_eq!(problem["at"], "_links.self");
    assert_eq!(rnis.rest.get(&path), created);
    rnis.rest.request("PUT", &path, created).expect(200);
}

#[test]
fn long_and_deep_bodies_are_refused_and_others_served() {
    let rnis = TestService::start();
    let list = "/rni/v2/subscriptions";
    let over = format!("{{\"x\":\"{}\"}}", "x".repeat(1024 * 1024));
    assert_eq!(rnis.request_with("POST", list, JSON, Some(&over)).status, 413);
    let good = &bodies(CALLBACK)[0].1;
    let long = edited(good, "/filterCriteriaAssocHo/appInstanceId", json!("x".repeat(1024 * 1000)));
    rnis.rest.request("POST", list, long).expect_problem(400, &["filterCriteriaAssocHo.appInstanceId"]);
    for deep in ["[".repeat(500_000), "{\"a\":".repeat(100_000)] {
        let body = format!("{{\"subscriptionType\":\"CellChangeSubscription\",\"filterCriteriaAssocHo\":{deep}");
        let status = rnis.request_with("POST", list, JSON, Some(&body)).status;
        assert_eq!(status, 400);
        let body = format!("{{\"CellChangeSubscription\":{deep}");
        assert_eq!(rnis.request_with("POST", "/rni/v1/subscriptions/cell_change", JSON, Some(&body)).status, 400);
    }
    for broken in ["", "null", "7", "\"x\"", "{\"subscriptionType\":", "\u{0}", "{\"subscriptionType\":\"\\ud800\"}"] {
        rnis.request_with("POST", list, JSON, Some(broken)).expect_problem(400, &[]);
    }
    rnis.create(list, good);
}

/// A broker that takes its time for subscriptions, until the test lets it.
struct Slow(Embedded, Arc<Mutex<()>>);

impl Broker for Slow {
    fn publish(&self, event: &Arc<Event>) -> Result<(), BrokerError> {
        self.0.publish(event)
    }

    fn subscribe(&self, _: Key, _: &str, _: &Criteria) -> Result<(), BrokerError> {
        drop(self.1.lock().unwrap());
        Ok(())
    }

    fn unsubscribe(&self, _: Key) {}

    fn counts(&self) -> BrokerCounts {
        self.0.counts()
    }
}

#[test]
fn requests_are_answered_while_the_broker_is_slow() {
    let gate = Arc::new(Mutex::new(()));
    let of_broker = Arc::clone(&gate);
    let broker = move |sink| Box::new(Slow(Embedded::new(sink), of_broker)) as Box<dyn Broker>;
    let rnis = TestService::of(broker, SubscriptionLimits::default(), &ApiConfig::default(), |_| ());
    let list = "/rni/v2/subscriptions";
    let (_, body) = bodies(CALLBACK).remove(0);
    let is_slow = gate.lock().unwrap();
    std::thread::scope(|scope| {
        let created = scope.spawn(|| rnis.rest.request("POST", list, body.clone()).status);
        // each is answered before the subscription is
        for _ in 0..20 {
            assert_eq!(rnis.rest.request("GET", "/rnis/v1/subscriptions", None).status, 200);
            assert!(!created.is_finished());
        }
        drop(is_slow);
        assert_eq!(created.join().unwrap(), 201);
    });
}
