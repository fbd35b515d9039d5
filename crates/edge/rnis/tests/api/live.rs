//! Metrics, the stream of the page, and the page's files.

use std::time::{SystemTime, UNIX_EPOCH};

use rest::{Access, AccessFiles};
use rnis::{Bearer, Change, Event, HandoverStatus, RicState, Sources, SubscriptionLimits, UeIds};
use serde_json::{Value, json};
use testkit::http::Client;
use testkit::prometheus::check_metrics;

use crate::support::{Callbacks, TestService, bodies, cell};

fn event(change: Change) -> Event {
    let received_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    Event { received_ns, cell: cell(0x1), ue: UeIds::default(), change }
}

fn cell_change() -> Event {
    event(Change::CellChange { targets: vec![cell(0x2)], status: HandoverStatus::Completed })
}

/// The body of a subscription to all cell changes.
fn cell_changes(callback: &str) -> Value {
    json!({ "subscriptionType": "CellChangeSubscription", "callbackReference": callback, "filterCriteriaAssocHo": {} })
}

fn metrics(rnis: &TestService) -> String {
    rnis.rest.request("GET", "/metrics", None).body
}

/// The value of a series.
fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series} in {text}")).parse().unwrap()
}

#[test]
fn metrics_count_events_notifications_and_failures() {
    let (rnis, callbacks) = (TestService::start(), Callbacks::start());
    rnis.fill();
    rnis.service.update(|state| {
        state.sources = Sources { ric: Some(RicState { is_connected: true, nodes: 3 }), flexran_agents: Some(2) };
    });
    rnis.create("/rni/v2/subscriptions", &cell_changes(&callbacks.url("good")));
    let v1 = json!({ "callbackReference": callbacks.url("good"), "filterCriteria": {} });
    rnis.create("/rni/v1/subscriptions/cell_change", &v1);
    rnis.create("/rni/v2/subscriptions", &cell_changes(&callbacks.url("broken")));
    rnis.service.publish(cell_change());
    rnis.service.publish(event(Change::BearerEstablished(Bearer { erab_id: 5, qos: None })));
    callbacks.expect("good", 2);
    testkit::eventually("the breaker opens", || value(&metrics(&rnis), "ferric_rnis_breakers{state=\"open\"}") == 1.0);
    let text = metrics(&rnis);
    check_metrics(&text);
    for (series, expected) in [
        ("ferric_rnis_events_received_total{type=\"CellChangeSubscription\"}", 1.0),
        ("ferric_rnis_events_received_total{type=\"RabEstSubscription\"}", 1.0),
        ("ferric_rnis_notifications_matched_total{type=\"CellChangeSubscription\"}", 3.0),
        ("ferric_rnis_notifications_matched_total{type=\"RabEstSubscription\"}", 0.0),
        ("ferric_rnis_notifications_queued_total", 3.0),
        ("ferric_rnis_notifications_sent_total", 2.0),
        ("ferric_rnis_notifications_dropped_total", 0.0),
        ("ferric_rnis_notifications_failed_total{reason=\"connect\"}", 0.0),
        ("ferric_rnis_notification_latency_seconds_count", 2.0),
        ("ferric_rnis_subscriptions{type=\"CellChangeSubscription\",version=\"v1\"}", 1.0),
        ("ferric_rnis_subscriptions{type=\"CellChangeSubscription\",version=\"v2\"}", 2.0),
        ("ferric_rnis_subscriptions{type=\"MeasTaSubscription\",version=\"v2\"}", 0.0),
        ("ferric_rnis_queued_notifications", 1.0),
        ("ferric_rnis_breakers{state=\"closed\"}", 2.0),
        ("ferric_rnis_broker_published_total{broker=\"embedded\"}", 2.0),
        ("ferric_rnis_broker_lost_total{broker=\"embedded\"}", 0.0),
        ("ferric_rnis_ric_connected", 1.0),
        ("ferric_rnis_nodes", 3.0),
        ("ferric_rnis_flexran_agents", 2.0),
        ("ferric_rnis_cells", 2.0),
        ("ferric_rnis_ues", 2.0),
    ] {
        assert_eq!(value(&text, series), expected, "{series}");
    }
    // five failures open a breaker, and all but the first are repetitions
    let failed = value(&text, "ferric_rnis_notifications_failed_total{reason=\"status\"}");
    let retried = value(&text, "ferric_rnis_notifications_retried_total");
    assert!(failed >= 5.0 && (failed - 1.0..=failed).contains(&retried), "{failed} {retried}");
    assert!(value(&text, "ferric_rnis_connections{protocol=\"http1\"}") >= 1.0);
    // those of the REST kit
    assert!(value(&text, "ferric_http_connections") >= 1.0);
}

#[test]
fn subscribers_and_ues_create_no_series() {
    let (rnis, callbacks) = (TestService::start(), Callbacks::start());
    let series = || metrics(&rnis).lines().filter(|line| !line.starts_with('#')).count();
    let (path, _) = rnis.create("/rni/v2/subscriptions", &cell_changes(&callbacks.url("0")));
    rnis.rest.request("GET", &path, None);
    rnis.service.publish(cell_change());
    callbacks.expect("0", 1);
    series();
    let before = series();
    for number in 1..20 {
        let (path, _) = rnis.create("/rni/v2/subscriptions", &cell_changes(&callbacks.url(&number.to_string())));
        rnis.rest.request("GET", &path, None);
    }
    rnis.service.publish(cell_change());
    callbacks.expect("19", 1);
    assert_eq!(series(), before);
}

/// A reader of Server-Sent Events.
struct Reader(Client);

impl Reader {
    fn open(rnis: &TestService, topics: &str) -> Self {
        let mut client = Client::connect(rnis.rest.address);
        client.send("GET", &format!("/rnis/v1/stream?topics={topics}"), None);
        Reader(client)
    }

    /// The next event of a kind.
    fn next(&mut self, kind: &str) -> Value {
        let wanted = format!("event: {kind}");
        loop {
            let line = self.0.line().expect("the stream has ended");
            if line.trim_end() == wanted {
                let data = self.0.line().unwrap();
                return serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            }
        }
    }

    /// The first event of a kind that meets a condition.
    fn find(&mut self, kind: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let end = std::time::Instant::now() + testkit::PATIENCE;
        loop {
            let event = self.next(kind);
            if holds(&event) {
                return event;
            }
            assert!(std::time::Instant::now() < end, "{event}");
        }
    }
}

#[test]
fn stream_has_subscriptions_network_and_notifications() {
    let (rnis, callbacks) = (TestService::start(), Callbacks::start());
    rnis.fill();
    let mut reader = Reader::open(&rnis, "overview,subscriptions,network,notifications");
    let overview = reader.next("overview");
    assert_eq!(
        (&overview["broker"], &overview["cells"], &overview["latency"]["count"]),
        (&json!("embedded"), &json!(2), &json!(0))
    );
    assert_eq!(overview["types"].as_array().unwrap().len(), 9);
    assert_eq!(reader.next("subscriptions"), json!({ "omitted": 0, "subscriptions": [] }));
    let network = reader.next("network");
    let cells = json!([
        { "cell": "000000001", "plmn": "00101", "ues": 1, "prbDlPercent": 40, "prbUlPercent": 3 },
        { "cell": "000000002", "plmn": "00101", "ues": 1, "prbDlPercent": null, "prbUlPercent": null },
    ]);
    assert_eq!(network["cells"], cells);
    assert_eq!(network["ues"][0]["ids"].as_array().unwrap().len(), 4);

    let mut body = bodies(&callbacks.url("secret")).remove(0).1;
    body["requestTestNotification"] = json!(true);
    let (path, _) = rnis.create("/rni/v2/subscriptions", &body);
    let test = reader.next("notification");
    assert_eq!(test["notification"]["notificationType"], "TestNotification");
    let rows = reader.find("subscriptions", |event| event["subscriptions"][0]["delivered"] == 1);
    let row = &rows["subscriptions"][0];
    let words = "cell 000000001; UE 10.45.0.2; handovers in preparation or completed";
    assert_eq!((&row["criteria"], &row["breaker"], &row["version"]), (&json!(words), &json!("closed"), &json!("v2")));
    // its path may hold a secret
    assert_eq!(row["callback"], json!(callbacks.url("").trim_end_matches('/')));

    rnis.rest.request("DELETE", &path, None).expect(204);
    assert_eq!(reader.find("subscriptions", |event| event["subscriptions"] == json!([]))["omitted"], 0);

    rnis.create("/rni/v2/subscriptions", &cell_changes(&callbacks.url("all")));
    rnis.service.publish(cell_change());
    let notification = reader.next("notification");
    assert_eq!((&notification["subscriptions"], &notification["omitted"]), (&json!(1), &json!(0)));
    assert_eq!(notification["notification"]["notificationType"], "CellChangeNotification");
    assert_eq!(notification["notification"]["srcEcgi"]["cellId"], "000000001");
    let overview = reader.find("overview", |event| event["delivery"]["delivered"] == 2);
    assert!(overview["latency"]["count"].as_u64().unwrap() <= 2);
}

#[test]
fn burst_of_notifications_is_thinned_out_and_counted() {
    let (rnis, callbacks) = (TestService::start(), Callbacks::start());
    rnis.create("/rni/v2/subscriptions", &cell_changes(&callbacks.url("all")));
    let mut reader = Reader::open(&rnis, "overview,notifications");
    reader.next("overview");
    (0..200).for_each(|_| rnis.service.publish(cell_change()));
    callbacks.expect("all", 200);
    // beyond this second, one has the number of those that were left out
    std::thread::sleep(std::time::Duration::from_millis(1100));
    rnis.service.publish(cell_change());
    let mut counted = 0;
    while counted < 201 {
        counted += 1 + reader.next("notification")["omitted"].as_u64().unwrap();
    }
    assert_eq!(counted, 201);
}

#[test]
fn stream_of_all_applications_requires_the_role_control() {
    let token = |name: &str| format!("{name}-0123456789abcdef");
    let file = std::env::temp_dir().join(format!("ferric-rnis-live-{}.tokens", std::process::id()));
    std::fs::write(&file, format!("read {}\ncontrol {}\n", token("reader"), token("operator"))).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let access = Access::load(AccessFiles { tls: None, tokens: Some(file.clone()) }).unwrap();
    let rnis = TestService::with(SubscriptionLimits::default(), |config| config.access = access);
    let status = |path: &str, name: Option<&str>| {
        let field = name.map_or_else(String::new, |name| format!("authorization: Bearer {}\r\n", token(name)));
        rnis.request_with("GET", path, &field, None).status
    };
    let stream = "/rnis/v1/stream?topics=x";
    assert_eq!(
        (status(stream, None), status(stream, Some("reader")), status(stream, Some("operator"))),
        (401, 403, 400)
    );
    assert_eq!((status("/metrics", None), status("/metrics", Some("reader"))), (401, 200));
    // the page asks for the token
    assert_eq!(status("/", None), 200);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn page_is_served_under_a_policy_without_inline_code() {
    let rnis = TestService::start();
    for (path, media_type) in [
        ("/", "text/html"),
        ("/page/page.js", "text/javascript"),
        ("/page/page.css", "text/css"),
        ("/page/icon.svg", "image/svg+xml"),
    ] {
        let answer = rnis.rest.request("GET", path, None);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.header("content-type").unwrap().starts_with(media_type), "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    }
    assert!(rnis.rest.request("GET", "/", None).body.contains("<title>ferric RNIS</title>"));
}
