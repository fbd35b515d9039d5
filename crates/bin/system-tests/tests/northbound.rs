//! The resources and streams that concern the RIC as a whole, against a real RIC and an emulated RAN.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ferric::xapp::{Xapp, XappConfig};
use ran::{RanConfig, Scenario};
use ric::{LineObserver, LogControl};
use serde_json::{Value, json};
use system_tests::{Reader, TestRan, TestRic, eventually};
use testkit::http::Client;

const NODE: &str = "gnb-00101-e00";

/// A RIC whose streams have short pings, so that a reader without events ends in time.
fn ric() -> TestRic {
    TestRic::with(|config| config.rest_limits.stream_ping = Some(Duration::from_secs(1)))
}

fn ran(ric: &TestRic) -> TestRan {
    TestRan::start(&ric.e2, RanConfig { scenario: Scenario::with_mixed_traffic(1, 2, 1), ..RanConfig::default() })
}

#[test]
fn resources_show_apps_subscriptions_and_configuration() {
    let ric = TestRic::with(|config| config.rest_limits.max_streams = Some(7));
    let _ran = ran(&ric);
    ric.await_slices(NODE);
    let _xapp = Xapp::connect(&ric.xapp, "probe", XappConfig::default()).unwrap();
    let xapps = ric.rest.eventually("/v1/xapps", |xapps| xapps["xapps"].as_array().is_some_and(|all| !all.is_empty()));
    let probe = json!({
        "name": "probe",
        "number": 1,
        "subscriptions": [],
        "requests": 0,
        "outbox_octets": 0,
        "dropped_reports": 0,
    });
    assert_eq!(xapps, json!({ "xapps": [probe], "omitted": 0 }));
    let subscriptions = ric.rest.get("/v1/subscriptions");
    let all = subscriptions["subscriptions"].as_array().unwrap();
    assert!(all.iter().any(|of| of["node"] == NODE && of["state"] == "active" && of["apps"] == json!(["iApp"])));
    let configuration = ric.rest.get("/v1/configuration");
    assert_eq!((&configuration["rest_limits"]["max_streams"], &configuration["loops"]), (&json!(7), &json!(1)));
    assert_eq!(ric.rest.get("/v1/models"), json!({ "models": [] }));
    assert!(ric.rest.get("/v1/cells")["cells"].is_array());
    // without a log to change, there is no such method
    ric.rest.request("PUT", "/v1/log-level", json!({ "level": "debug" })).expect_problem(405, &["GET, HEAD"]);
}

#[test]
fn metrics_count_what_the_ric_does() {
    let ric = ric();
    let _ran = ran(&ric);
    ric.await_slices(NODE);
    let value = |name: &str| {
        let text = ric.rest.request("GET", "/metrics", None).body;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
        line.unwrap_or_else(|| panic!("no {name}:\n{text}")).parse::<f64>().unwrap()
    };
    assert_eq!((value("ferric_nodes"), value("ferric_xapps")), (1.0, 0.0));
    let before = value("ferric_indications_total");
    eventually("more indications", || value("ferric_indications_total") > before);
    let slices = json!({ "algorithm": "NVS", "slices": [{ "id": 1, "share_percent": 50 }] });
    ric.rest.request("PUT", &format!("/v1/nodes/{NODE}/slices/dl"), slices).expect(200);
    assert_eq!(value("ferric_controls_total{outcome=\"acknowledged\"}"), 1.0);
    assert_eq!(value("ferric_control_duration_seconds_count"), 1.0);
    assert!(value("ferric_subscriptions") >= 1.0 && value("ferric_loop_delay_seconds_count") >= 1.0);
}

#[test]
fn events_are_streamed_by_topic() {
    let ric = ric();
    let mut all = Reader::open(ric.rest.address, "/v1/events");
    let mut controls = Reader::open(ric.rest.address, "/v1/events?topics=controls");
    let mut ran = ran(&ric);
    assert_eq!(all.next("node_up")["node"], NODE);
    // the first, if the RIC has subscribed before the UEs attach
    let attached = all.next("ue_attached|ue_present");
    assert!(attached["ue"].is_string() && attached["rnti"].is_u64() && attached["node"] == NODE, "{attached}");
    ric.await_slices(NODE);
    let slices = json!({ "algorithm": "NVS", "slices": [{ "id": 1, "share_percent": 50 }] });
    ric.rest.request("PUT", &format!("/v1/nodes/{NODE}/slices/dl"), slices).expect(200);
    let control = controls.next("control");
    assert_eq!(
        (&control["node"], &control["outcome"], &control["app"]),
        (&json!(NODE), &json!("acknowledged"), &json!("iApp"))
    );
    ran.restart();
    assert_eq!(all.next("node_lost"), json!({ "node": NODE }));
    assert_eq!(all.next("node_up")["node"], NODE);
    let unknown = ric.rest.request("GET", "/v1/events?topics=nodes,weather", None);
    unknown.expect_problem(400, &["`weather` is none of nodes, ues, controls, log"]);
    ric.rest.request("GET", "/v1/stream", None).expect_problem(426, &["WebSocket"]);
}

#[test]
fn kpm_rows_are_streamed_by_ue_and_by_node() {
    let ric = ric();
    let mut ran = ran(&ric);
    ric.rest.eventually("/v1/nodes", |nodes| nodes["nodes"][0]["id"] == NODE);
    let mut each = Reader::open(ric.rest.address, "/v1/kpm/stream?measurements=DRB.UEThpDl,RRU.PrbTotDl&period_ms=50");
    let (mut ues, mut first) = (BTreeSet::new(), String::new());
    while ues.len() < 2 {
        let row = each.next("kpm");
        assert_eq!((&row["node"], row["time_ms"].is_u64()), (&json!(NODE), true), "{row}");
        assert!(row["measurements"]["DRB.UEThpDl"].is_number(), "{row}");
        first = row["ue"].as_str().unwrap().to_owned();
        ues.insert(first.clone());
    }
    let mut one = Reader::open(ric.rest.address, &format!("/v1/kpm/stream?measurements=CQI&period_ms=50&ue={first}"));
    let mut whole =
        Reader::open(ric.rest.address, &format!("/v1/kpm/stream?measurements=RRC.ConnMean&period_ms=50&cell={NODE}"));
    for _ in 0..4 {
        assert_eq!(one.next("kpm")["ue"], *first);
        let row = whole.next("kpm");
        assert_eq!((&row["cell"], row.get("ue")), (&json!(NODE), None), "{row}");
    }
    // a node that sets up again is subscribed again
    let mut events = Reader::open(ric.rest.address, "/v1/events?topics=nodes");
    ran.restart();
    events.next("node_lost");
    events.next("node_up");
    let up = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    while u128::from(each.next("kpm")["time_ms"].as_u64().unwrap()) <= up {}
    let functions = ric.rest.eventually(&format!("/v1/nodes/{NODE}"), |_| true)["functions"].clone();
    let is_kpm = |function: &&Value| function["oid"].as_str().is_some_and(|oid| e2sm::kpm::OIDS.contains(&oid));
    let kpm = functions.as_array().unwrap().iter().find(is_kpm).expect("a KPM function")["id"].clone();
    let subscriptions = || {
        let document = ric.rest.get("/v1/subscriptions");
        document["subscriptions"].as_array().unwrap().iter().filter(|of| of["function"] == kpm).count()
    };
    eventually("three subscriptions", || subscriptions() == 3);
    drop((each, one, whole));
    eventually("the end of the subscriptions", || subscriptions() == 0);
}

/// A gNB that is not divided declares no cells: they are known by its reports of states, and by its UEs.
#[test]
fn kpm_of_a_cell_is_streamed_at_an_undivided_gnb() {
    let ric = ric();
    let mut ran = ran(&ric);
    let cells = ric.rest.eventually("/v1/cells", |cells| cells["cells"][0]["node"] == NODE);
    let cell = cells["cells"][0]["id"].as_str().unwrap().to_owned();
    let short = cell.trim_start_matches('0');
    let open = |cell: &str| {
        Reader::open(ric.rest.address, &format!("/v1/kpm/stream?measurements=RRU.PrbTotDl&period_ms=50&cell={cell}"))
    };
    let in_network = format!("nr-00101-{short}");
    let mut reader = open(&cell);
    for (mut reader, cell) in [(open(short), short), (open(&in_network), &in_network)] {
        assert_eq!(reader.next("kpm")["cell"], cell);
    }
    let row = reader.next("kpm");
    assert_eq!((&row["node"], &row["cell"], row.get("ue")), (&json!(NODE), &json!(cell), None), "{row}");
    assert!(row["measurements"]["RRU.PrbTotDl"].is_number(), "{row}");
    // after a restart of the node, whether or not it has reported its cells by then
    let mut events = Reader::open(ric.rest.address, "/v1/events?topics=nodes");
    ran.restart();
    events.next("node_lost");
    events.next("node_up");
    let up = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    while u128::from(reader.next("kpm")["time_ms"].as_u64().unwrap()) <= up {}
    let wrong = "/v1/kpm/stream?measurements=RRU.PrbTotDl&cell=nr-00102-";
    ric.rest.request("GET", &format!("{wrong}{short}"), None).expect_problem(404, &["see /v1/cells"]);
}

#[test]
fn kpm_stream_that_nobody_can_serve_is_refused() {
    let ric = ric();
    let _ran = ran(&ric);
    ric.rest.eventually("/v1/nodes", |nodes| nodes["nodes"][0]["id"] == NODE);
    for (query, status, piece) in [
        ("", 400, "measurements: missing"),
        ("measurements=", 400, "measurements: missing"),
        ("measurements=CQI,", 400, "1 to 64 names"),
        ("measurements=CQI&period_ms=0", 400, "from 1 to 3600000"),
        ("measurements=CQI&ue=someone", 400, "ue: `someone`"),
        ("measurements=CQI&ue=amf:1&cell=x", 400, "excludes `ue`"),
        ("measurements=CQI&cell=nowhere", 404, "no cell or node `nowhere`"),
        ("measurement=CQI", 400, "did you mean `measurements`?"),
        ("measurements=DRB.UEThpDI", 422, NODE),
    ] {
        let answer = ric.rest.request("GET", &format!("/v1/kpm/stream?{query}"), None);
        answer.expect_problem(status, &[piece]);
    }
}

#[test]
fn ue_is_handed_over_and_its_drx_and_qos_are_set() {
    let ric = ric();
    let scenario = Scenario::with_mixed_traffic(2, 2, 1);
    let _ran = TestRan::start(&ric.e2, RanConfig { scenario, ..RanConfig::default() });
    let is_known = |ue: &Value| ue["ue"].is_string() && ue["cell"].is_string();
    let all = ric.rest.eventually("/v1/ues", |ues| {
        ues["ues"].as_array().is_some_and(|ues| ues.len() == 4 && ues.iter().all(is_known))
    });
    let cells = ric.rest.eventually("/v1/cells", |cells| cells["cells"].as_array().is_some_and(|all| all.len() == 2));
    let ue = format!("/v1/ues/{}", all["ues"][0]["ue"].as_str().unwrap());
    let cell_now = || ric.rest.get(&ue)["cell"].clone();
    let is_elsewhere = |cell: &&Value| cell["id"] != cell_now();
    let target = cells["cells"].as_array().unwrap().iter().find(is_elsewhere).unwrap()["id"].clone();
    let mut events = Reader::open(ric.rest.address, "/v1/events?topics=ues");
    let handover = |cell: &Value| ric.rest.request("POST", &format!("{ue}/handover"), json!({ "cell": cell }));
    let put = |what: &str, body: Value| ric.rest.request("PUT", &format!("{ue}/{what}"), body);
    assert!(handover(&target).expect(200)["node"].is_string());
    events.next("ue_handed_over");
    eventually("the UE in its new cell", || cell_now() == target);
    // the node refuses what makes no sense, with its cause
    let refused = handover(&target);
    refused.expect_problem(409, &[]);
    assert!(refused.json()["cause"].is_string() && refused.json()["node"].is_string(), "{refused:?}");
    assert!(put("drx", json!({ "cycle_ms": 320 })).expect(200)["node"].is_string());
    assert!(put("qos", json!({ "drb": 1, "five_qi": 1, "priority": 20 })).expect(200)["node"].is_string());
    put("qos", json!({ "drb": 31, "priority": 3 })).expect_problem(409, &["DRB"]);
    // what is wrong is refused before a node sees it
    handover(&json!("003804fff")).expect_problem(422, &["there is no cell 003804fff", "/v1/cells"]);
    handover(&json!("nowhere")).expect_problem(422, &["cell: `nowhere`"]);
    for (what, body, status, piece) in [
        ("drx", json!({ "cycle_ms": 9 }), 422, "cycle_ms: 9 is not in 10 to 10240"),
        ("drx", json!({}), 422, "cycle_ms"),
        ("qos", json!({ "drb": 33, "priority": 1 }), 422, "drb: 33 is not in 1 to 32"),
        ("qos", json!({ "priority": 128 }), 422, "priority: 128 is not in 1 to 127"),
        ("qos", json!({ "drb": 1 }), 422, "nothing changes"),
        ("qos", json!({ "priority": 1, "weight": 1 }), 422, "weight"),
    ] {
        put(what, body).expect_problem(status, &[piece]);
    }
    let unknown = |ue: &str| ric.rest.request("PUT", &format!("/v1/ues/{ue}/drx"), json!({ "cycle_ms": 160 }));
    unknown("amf:9").expect_problem(404, &["amf:9"]);
    unknown("someone").expect_problem(400, &["someone"]);
    let paths = &ric.rest.get("/v1/openapi.json")["paths"];
    for (what, method) in [("handover", "post"), ("drx", "put"), ("qos", "put")] {
        let security = &paths[&format!("/v1/ues/{{ue}}/{what}")][method]["security"];
        assert_eq!(security[1], json!({ "bearer": ["control"] }), "{what}");
    }
}

/// What the RIC has been given to observe the log, and the levels that were set.
static LOG: Mutex<(Option<LineObserver>, Vec<String>)> = Mutex::new((None, Vec::new()));

#[test]
fn log_is_streamed_and_its_level_changed() {
    let ric = TestRic::with(|config| {
        config.log_control = Some(LogControl {
            set_level: |level| {
                LOG.lock().unwrap().1.push(level.to_string());
                true
            },
            observe: |observer| LOG.lock().unwrap().0 = Some(observer),
        });
    });
    let mut reader = Reader::open(ric.rest.address, "/v1/events?topics=log");
    eventually("an observer", || LOG.lock().unwrap().0.is_some());
    let log = LOG.lock().unwrap().0.take().unwrap();
    log("gnb-00101-e00 up: \"KPM\"");
    assert_eq!(reader.next("log"), json!({ "line": "gnb-00101-e00 up: \"KPM\"" }));
    let level = ric.rest.request("GET", "/v1/log-level", None);
    assert!(level.header("etag").is_some() && level.expect(200)["level"].is_string());
    let put = |level: &str| ric.rest.request("PUT", "/v1/log-level", json!({ "level": level }));
    assert_eq!(put("warn").expect(200), json!({ "level": "warn" }));
    assert_eq!(LOG.lock().unwrap().1, ["warn"]);
    put("loud").expect_problem(422, &["unknown variant `loud`"]);
    let mut client = Client::connect(ric.rest.address);
    client.write(
        b"PUT /v1/log-level HTTP/1.1\r\nhost: localhost\r\nif-match: \"old\"\r\ncontent-type: application/json\r\n\
          content-length: 18\r\n\r\n{\"level\": \"error\"}",
    );
    client.receive().expect_problem(412, &["has changed"]);
    assert_eq!(LOG.lock().unwrap().1, ["warn"]);
}
