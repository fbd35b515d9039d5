//! Fault management: alarms of the RIC and of others, over the REST interface of the platform's alarm manager.

use ran::{RanConfig, Scenario};
use serde_json::{Value, json};
use system_tests::{TestRan, TestRic};

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
