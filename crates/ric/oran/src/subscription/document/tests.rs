//! Tests of the documents of the subscription manager.

use serde_json::json;

use super::*;

fn params(value: serde_json::Value) -> Result<Params, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// A request as the platform writes it.
fn of_platform() -> serde_json::Value {
    json!({
        "ClientEndpoint": { "Host": "service-ricxapp-kpm-http.ricxapp", "HTTPPort": 8080, "RMRPort": 4560 },
        "Meid": "gnb_001_001_00000e00",
        "RANFunctionID": 2,
        "SubscriptionDetails": [{
            "XappEventInstanceId": 7,
            "EventTriggers": [8, 3, 231],
            "ActionToBeSetupList": [{
                "ActionID": 1,
                "ActionType": "report",
                "ActionDefinition": [0, 255],
                "SubsequentAction": { "SubsequentActionType": "continue", "TimeToWait": "w10ms" },
            }],
        }],
    })
}

#[test]
fn request_of_the_platform_is_read() {
    let params = params(of_platform()).unwrap();
    params.check().unwrap();
    assert_eq!(params.rmr_endpoint().unwrap(), "service-ricxapp-kpm-rmr.ricxapp:4560");
    let spec = params.details.0[0].spec();
    assert_eq!(spec.event_trigger, [8, 3, 231]);
    let action = &spec.actions[0];
    assert_eq!((action.id, action.kind), (RicActionId(1), RicActionType::Report));
    assert_eq!(action.definition.as_deref(), Some(&[0, 255][..]));
    let subsequent =
        RicSubsequentAction { kind: RicSubsequentActionType::Continue, time_to_wait: RicTimeToWait::W10ms };
    assert_eq!(action.subsequent, Some(subsequent));
}

#[test]
fn request_of_ricxappframe_is_read() {
    // members in its own writing, null for what is absent, and one item without a list
    let request = json!({
        "subscription_id": null,
        "client_endpoint": { "host": "service-ricxapp-kpm-http.ricxapp", "http_port": 8080, "rmr_port": 4560 },
        "meid": "gnb_001_001_00000e00",
        "ran_function_id": 2,
        "e2_subscription_directives": null,
        "subscription_details": {
            "xapp_event_instance_id": 7,
            "event_triggers": [8, 3, 231],
            "action_to_be_setup_list": {
                "action_id": 1,
                "action_type": "report",
                "action_definition": [0, 255],
                "subsequent_action": { "subsequent_action_type": "continue", "time_to_wait": "w10ms" },
            },
        },
    });
    assert_eq!(params(request), params(of_platform()));
}

#[test]
fn indications_can_be_declined() {
    let mut request = of_platform();
    request["E2SubscriptionDirectives"] =
        json!({ "E2TimeoutTimerValue": 2, "E2RetryCount": 2, "RMRRoutingNeeded": false });
    assert_eq!(params(request).unwrap().rmr_endpoint(), None);
    let mut request = of_platform();
    request["ClientEndpoint"]["RMRPort"] = json!(null);
    assert_eq!(params(request).unwrap().rmr_endpoint(), None);
}

#[test]
fn mistakes_are_refused() {
    let with = |pointer: &str, value: serde_json::Value| {
        let mut request = of_platform();
        *request.pointer_mut(pointer).unwrap() = value;
        params(request).and_then(|params| params.check().map_err(|problem| problem.detail().to_owned()))
    };
    for (pointer, value) in [
        ("/RANFunctionID", json!(4096)),
        ("/RANFunctionID", json!(-1)),
        ("/ClientEndpoint/Host", json!("")),
        ("/ClientEndpoint/Host", json!("a/b")),
        ("/ClientEndpoint/Host", json!("a@b")),
        ("/ClientEndpoint/RMRPort", json!(65536)),
        ("/SubscriptionDetails", json!([])),
        ("/SubscriptionDetails", json!(vec![of_platform()["SubscriptionDetails"][0].clone(); 2])),
        ("/SubscriptionDetails", json!(vec![of_platform()["SubscriptionDetails"][0].clone(); 65])),
        ("/SubscriptionDetails/0/EventTriggers", json!([256])),
        ("/SubscriptionDetails/0/EventTriggers", json!("08")),
        ("/SubscriptionDetails/0/ActionToBeSetupList/0/ActionType", json!("query")),
        ("/SubscriptionDetails/0/ActionToBeSetupList/0/ActionID", json!(256)),
        ("/SubscriptionDetails/0/ActionToBeSetupList/0/SubsequentAction/TimeToWait", json!("w3ms")),
    ] {
        assert!(with(pointer, value.clone()).is_err(), "{pointer} {value}");
    }
    assert_eq!(with("/Meid", json!("gnb_1")), Ok(()));
}

#[test]
fn outcomes_have_the_members_of_the_platform() {
    let active = Instance::active(7, 3, &[]);
    assert_eq!(
        serde_json::to_value(active).unwrap(),
        json!({ "XappEventInstanceId": 7, "E2EventInstanceId": 3, "ErrorCause": "" })
    );
    let failed = Instance::failed(7, "why", "E2Node", true);
    assert_eq!(
        serde_json::to_value(failed).unwrap(),
        json!({
            "XappEventInstanceId": 7,
            "E2EventInstanceId": 0,
            "ErrorCause": "why",
            "ErrorSource": "E2Node",
            "TimeoutType": "E2-Timeout",
        })
    );
}
