//! Fault management: alarms of the RIC and of others, over the REST interface of the platform's alarm manager.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ferric::e2::Indication;
use ferric::link::Address;
use ferric::server::{Iapp, IappContext, IappEvent};
use ran::{RanConfig, Scenario};
use rmr::{Header, MessageType};
use serde_json::{Value, json};
use system_tests::rmr_peer::Connection;
use system_tests::{TestRan, TestRic, eventually, log};
use testkit::c_program::library_folder;
use testkit::http::Service;

/// Defines the problem of a lost gNB without delays.
fn without_delays() -> Value {
    json!({ "alarmdefinitions": [{ "alarmId": 8006, "alarmText": "gNB lost", "eventType": "Communication error" }] })
}

#[test]
fn lost_node_has_an_alarm_until_it_is_back() {
    let (ric, _, platform) = TestRic::with_oran_host(|_| ());
    let answer = platform.request("POST", "/ric/v1/alarms/define", Some(without_delays()));
    assert_eq!(answer.status, 200, "{answer:?}");
    let config = RanConfig { scenario: Scenario::with_mixed_traffic(1, 1, 1), ..RanConfig::default() };
    let ran = TestRan::start(&ric.e2, config.clone());
    let count = |document: &Value, count: usize| document.as_array().is_some_and(|all| all.len() == count);
    platform.eventually("/v1/nodeb/states", |nodes| count(nodes, 1));
    drop(ran);
    let active = platform.eventually("/ric/v1/alarms/active", |active| count(active, 1));
    let alarm = &active[0];
    assert_eq!((&alarm["specificProblem"], &alarm["perceivedSeverity"]), (&json!(8006), &json!("CRITICAL")), "{alarm}");
    assert_eq!(
        (&alarm["identifyingInfo"], &alarm["AlarmAction"]),
        (&json!("gnb-00101-e00"), &json!("RAISE")),
        "{alarm}"
    );
    let _ran = TestRan::start(&ric.e2, config);
    platform.eventually("/ric/v1/alarms/active", |active| count(active, 0));
    let history = platform.get("/ric/v1/alarms/history");
    let actions: Vec<_> = history.as_array().unwrap().iter().map(|one| &one["AlarmAction"]).collect();
    assert_eq!(actions, ["RAISE", "CLEAR"], "{history}");
}

#[test]
fn alarm_of_a_client_is_raised_and_cleared_as_at_the_platform() {
    let (_ric, _, platform) = TestRic::with_oran_host(|_| ());
    platform.request("POST", "/ric/v1/alarms/define", Some(without_delays()));
    // as the platform's documentation has it
    let raise = json!({
        "managedObjectId": "RIC", "applicationId": "UEEC", "specificProblem": 8006, "perceivedSeverity": "CRITICAL",
        "additionalInfo": "-", "identifyingInfo": "INFO-1", "AlarmAction": "RAISE", "AlarmTime": 0
    });
    assert_eq!(platform.request("POST", "/ric/v1/alarms", Some(raise.clone())).status, 200);
    assert_eq!(platform.request("POST", "/ric/v1/alarms", Some(raise)).status, 200);
    assert_eq!(platform.get("/ric/v1/alarms/active").as_array().unwrap().len(), 1, "it is one alarm");
    let clear = json!({
        "managedObjectId": "RIC", "applicationId": "UEEC", "specificProblem": 8006, "perceivedSeverity": "",
        "additionalInfo": "-", "identifyingInfo": "INFO-1", "AlarmAction": "CLEAR", "AlarmTime": 0
    });
    let answer = platform.request("DELETE", "/ric/v1/alarms", Some(clear));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(platform.get("/ric/v1/alarms/active"), json!([]));
    let wrong = [
        (json!({ "managedObjectId": "RIC", "applicationId": "a", "specificProblem": 1 }), "problem 1 is not defined"),
        (json!({ "managedObjectId": "", "applicationId": "a", "specificProblem": 8006 }), "must not be empty"),
        (
            json!({ "managedObjectId": "RIC", "applicationId": "a", "specificProblem": 8006, "perceivedSeverity": "BAD" }),
            "`BAD` is none",
        ),
    ];
    for (body, reason) in wrong {
        let answer = platform.request("POST", "/ric/v1/alarms", Some(body));
        assert_eq!(answer.status, 422, "{answer:?}");
        assert!(answer.json()["detail"].as_str().unwrap().contains(reason), "{answer:?}");
    }
    let answer = platform.request(
        "POST",
        "/ric/v1/alarms/config",
        Some(json!({ "maxActiveAlarms": 9_000_000, "maxAlarmHistory": 5 })),
    );
    assert_eq!(answer.status, 422, "{answer:?}");
}

fn socket(address: &Address) -> SocketAddr {
    let Address::Tcp { host, port } = address else { panic!("{address}") };
    SocketAddr::new(host.parse().unwrap(), *port)
}

/// A message of an xApp, as the platform's library for Python writes it.
fn message(action: &str, name: &str) -> Vec<u8> {
    let alarm = json!({
        "managedObjectId": "RIC", "applicationId": "slicer", "specificProblem": 8006, "perceivedSeverity": "MAJOR",
        "additionalInfo": "", "identifyingInfo": name, "AlarmAction": action, "AlarmTime": 1_700_000_000_000_u64,
    });
    alarm.to_string().into_bytes()
}

fn names(platform: &Service) -> Vec<String> {
    let active = platform.get("/ric/v1/alarms/active");
    active.as_array().unwrap().iter().map(|one| one["identifyingInfo"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn alarm_of_an_xapp_over_rmr_is_raised_forwarded_and_cleared() {
    // an alarm manager that is not there yet
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap();
    drop(listener);
    let endpoints = vec![target.to_string()];
    let (_ric, rmr, platform) = TestRic::with_oran_host(|config| config.oran.alarm_endpoints = endpoints);
    platform.request("POST", "/ric/v1/alarms/define", Some(without_delays())).expect(200);
    let mut xapp = Connection::open(socket(&rmr));
    let alarm = Header { kind: MessageType::ALARM, ..Header::default() };
    xapp.send(&alarm, &message("RAISE", "a"));
    // the library for Go has a type of its own
    let alarm = Header { kind: MessageType::ALARM_UPDATE, ..Header::default() };
    // in C the length of a text may have its end
    xapp.send(&alarm, &[&message("RAISE", "b")[..], b"\0"].concat());
    eventually("both are active", || names(&platform) == ["a", "b"]);
    for malformed in [&b"{"[..], b"", b"{\"AlarmAction\": \"RAISE\"}", &message("SHOUT", "c"), &vec![b' '; 20_000]] {
        xapp.send(&alarm, malformed);
    }
    // what the RIC, or another, has raised is not its to clear
    let own = json!({ "managedObjectId": "RIC", "applicationId": "slicer", "specificProblem": 8006, "identifyingInfo": "by REST" });
    platform.request("POST", "/ric/v1/alarms", Some(own)).expect(200);
    xapp.send(&alarm, &message("CLEAR", "by REST"));
    xapp.send(&alarm, &message("CLEAR", "a"));
    eventually("its own is cleared", || names(&platform) == ["b", "by REST"]);
    xapp.send(&alarm, &message("CLEARALL", ""));
    eventually("all of its own are", || names(&platform) == ["by REST"]);
    let clear: Value = serde_json::from_slice(&message("CLEAR", "by REST")).unwrap();
    platform.request("POST", "/ric/v1/alarms", Some(clear)).expect(200);
    assert_eq!(names(&platform), [""; 0], "a client of the platform posts a clear");
    // the alarm manager gets what has waited, in order
    let listener = TcpListener::bind(target).unwrap();
    let mut manager = Connection(listener.accept().unwrap().0);
    let mut got = Vec::new();
    while got.len() < 6 {
        let received = manager.receive();
        if received.kind == MessageType::ALARM_UPDATE {
            let alarm: Value = serde_json::from_slice(&received.payload).unwrap();
            assert_eq!(
                (&alarm["specificProblem"], &alarm["applicationId"]),
                (&json!(8006), &json!("slicer")),
                "{alarm}"
            );
            assert!(alarm["AlarmTime"].is_u64() && alarm["managedObjectId"] == "RIC", "{alarm}");
            got.push(format!(
                "{} {}",
                alarm["AlarmAction"].as_str().unwrap(),
                alarm["identifyingInfo"].as_str().unwrap()
            ));
        }
    }
    assert_eq!(got, ["RAISE a", "RAISE b", "RAISE by REST", "CLEAR a", "CLEAR b", "CLEAR by REST"]);
    assert!(log().contains("an alarm is dropped: "));
}

#[test]
fn flood_of_alarms_of_a_host_is_bounded() {
    let (ric, rmr, platform) = TestRic::with_oran_host(|_| ());
    platform.request("POST", "/ric/v1/alarms/define", Some(without_delays())).expect(200);
    let mut xapp = Connection::open(socket(&rmr));
    for number in 0..500 {
        xapp.send(&Header { kind: MessageType::ALARM, ..Header::default() }, &message("RAISE", &number.to_string()));
    }
    let counted = |outcome: &str| {
        let text = ric.rest.request("GET", "/metrics", None).body;
        let name = format!("ferric_alarm_messages_total{{outcome=\"{outcome}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u32>().ok()).unwrap_or(0)
    };
    eventually("all are handled", || counted("received") + counted("refused") == 500);
    // a burst, and those of the time that it takes
    assert!(counted("received") < 250, "{}", counted("received"));
    assert_eq!(names(&platform).len() as u32, counted("received"));
}

/// Removes each node that sets up, or has it go to another RIC, and counts them.
struct Remover {
    removed: Arc<AtomicU32>,
    is_handed_over: bool,
}

impl Iapp for Remover {
    fn name(&self) -> &str {
        "remover"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) if self.is_handed_over => assert!(ric.release(node.id)),
            IappEvent::NodeUp(node) => ric.remove(node.id).unwrap(),
            IappEvent::NodeLost(_) => drop(self.removed.fetch_add(1, Ordering::Relaxed)),
            _ => {}
        }
    }

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}
}

#[test]
fn node_that_leaves_regularly_is_not_lost() {
    for is_handed_over in [false, true] {
        let removed = Arc::<AtomicU32>::default();
        let remover = Remover { removed: Arc::clone(&removed), is_handed_over };
        let (ric, _, platform) = TestRic::with_oran_host_and(vec![Box::new(remover)], |_| ());
        platform.request("POST", "/ric/v1/alarms/define", Some(without_delays())).expect(200);
        // E2 Removal exists since v3
        let scenario = Scenario::with_mixed_traffic(1, 1, 1);
        let e2ap_version = ferric::e2ap::Version::V3_01;
        let _ran = TestRan::start(&ric.e2, RanConfig { scenario, e2ap_version, ..RanConfig::default() });
        eventually("the node has left", || removed.load(Ordering::Relaxed) > 0);
        assert_eq!(platform.get("/ric/v1/alarms/history"), json!([]));
    }
}

#[test]
fn unmodified_alarm_library_of_ricxappframe_raises_and_clears() {
    let Some(python) = std::env::var_os("FERRIC_RICXAPPFRAME_PYTHON") else {
        eprintln!(
            "NOT TESTED: alarms of ricxappframe: FERRIC_RICXAPPFRAME_PYTHON does not name a Python that has it; \
             scripts/northbound does"
        );
        return;
    };
    let (_ric, rmr, platform) = TestRic::with_oran_host(|_| ());
    platform.request("POST", "/ric/v1/alarms/define", Some(without_delays())).expect(200);
    let rmr = socket(&rmr);
    let free_port = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let output = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/alarm_xapp.py"))
        .env("LD_LIBRARY_PATH", library_folder())
        .env("RMR_RTG_SVC", rmr.to_string())
        .env("RMR_CTL_PORT", free_port())
        .env("RMR_SRC_ID", "127.0.0.1")
        .env("XAPP_RMR_PORT", free_port())
        .env("ALARM_MGR_SERVICE_NAME", rmr.ip().to_string())
        .env("ALARM_MGR_SERVICE_PORT", rmr.port().to_string())
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}\n{}", log());
    let changes = |history: &Value| -> Vec<String> {
        let all = history.as_array().unwrap().iter();
        all.map(|one| format!("{} {}", one["AlarmAction"].as_str().unwrap(), one["identifyingInfo"].as_str().unwrap()))
            .collect()
    };
    let expected = ["RAISE one", "RAISE two", "CLEAR one", "RAISE one", "CLEAR two", "CLEAR one"];
    let mut history = Vec::new();
    eventually("all messages are handled", || {
        history = changes(&platform.get("/ric/v1/alarms/history"));
        history.len() == expected.len()
    });
    // what is cleared at once is in the order of the list
    history[4..].sort();
    assert_eq!(history[..4], expected[..4]);
    assert_eq!(history[4..], ["CLEAR one", "CLEAR two"]);
    assert_eq!(platform.get("/ric/v1/alarms/active"), json!([]));
}
