//! The MEC platform: discovery and registration over HTTP.

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rest::client::{Client, ClientConfig};
use rest::{Server, ServerConfig};
use rnis::platform::{EmbeddedPlatform, PlatformConfig, PlatformEvent, Registration, rnis_services};
use rnis::{Delivery, DeliveryConfig, Embedded, Service};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(30);

fn serve(address: &str, routes: Vec<rest::Route>) -> Server {
    Server::start(ServerConfig::new(address.parse().unwrap()), routes).unwrap()
}

fn client(server: &Server) -> Client {
    Client::new(&ClientConfig::new(&server.url())).unwrap()
}

fn get(client: &Client, path: &str) -> Value {
    let answer = client.request("GET", path, None).unwrap();
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.body
}

#[track_caller]
fn eventually(what: &str, mut is_met: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_met() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn refused(client: &Client, method: &str, path: &str, body: Option<Value>) -> (u16, String) {
    let answer = client.request(method, path, body.as_ref()).unwrap();
    (answer.status, answer.body["detail"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn applications_discover_the_service_by_name_category_and_scope() {
    let platform = Arc::new(EmbeddedPlatform::default());
    for service in rnis_services("http://127.0.0.1:8092", Some("http://127.0.0.1:8092/token")) {
        platform.register("rnis", service).unwrap();
    }
    let server = serve("127.0.0.1:0", platform.routes());
    let client = client(&server);
    let found = get(&client, "/mec_service_mgmt/v1/services?ser_name=rni&scope_of_locality=MEC_HOST&is_local=true");
    assert_eq!(found.as_array().unwrap().len(), 2, "{found}");
    let uris: Vec<_> = (0..2).map(|at| found[at]["transportInfo"]["endpoint"]["uris"][0].clone()).collect();
    assert_eq!(uris, ["http://127.0.0.1:8092/rni/v2", "http://127.0.0.1:8092/rni/v1"]);
    let security = &found[0]["transportInfo"]["security"]["oAuth2Info"];
    assert_eq!(security["grantTypes"], json!(["OAUTH2_CLIENT_CREDENTIALS"]));
    for nothing in
        ["ser_name=other", "ser_category_id=X", "scope_of_locality=ZONE", "is_local=false", "ser_instance_id=9"]
    {
        assert_eq!(get(&client, &format!("/mec_service_mgmt/v1/services?{nothing}")), json!([]), "{nothing}");
    }
    let own = found[1]["_links"]["self"]["href"].as_str().unwrap();
    assert_eq!(get(&client, own), found[1]);
    assert_eq!(get(&client, "/mec_service_mgmt/v1/services/2"), found[1]);
    assert_eq!(get(&client, "/mec_service_mgmt/v1/transports"), json!([]));
    assert!(get(&client, "/mec_app_support/v1/timing/current_time")["seconds"].as_u64().unwrap() > 1_700_000_000);
}

#[test]
fn wrong_registrations_are_refused_with_the_member() {
    let server = serve("127.0.0.1:0", Arc::new(EmbeddedPlatform::default()).routes());
    let client = client(&server);
    let path = "/mec_service_mgmt/v1/applications/app/services";
    let service = json!({"serName": "video", "version": "1", "state": "ACTIVE", "serializer": "JSON"});
    let (status, detail) = refused(&client, "POST", path, Some(service.clone()));
    assert!(status == 400 && detail.starts_with("transportInfo: missing"), "{status} {detail}");
    let mut wrong = service;
    wrong["state"] = "RUNNING".into();
    let (status, detail) = refused(&client, "POST", path, Some(wrong));
    assert!(status == 422 && detail.contains("state") && detail.contains("ACTIVE"), "{status} {detail}");
    let (status, _) = refused(&client, "GET", "/mec_service_mgmt/v1/services/77", None);
    assert_eq!(status, 404);
    let (status, detail) = refused(&client, "GET", "/mec_service_mgmt/v1/services?ser_nam=rni", None);
    assert!(status == 400 && detail.contains("did you mean `ser_name`?"), "{detail}");
    let ready = "/mec_app_support/v1/applications/app/confirm_ready";
    let (status, detail) = refused(&client, "POST", ready, Some(json!({"indication": "STEADY"})));
    assert!(status == 400 && detail.contains("READY"), "{detail}");
    let odd = "/mec_app_support/v1/applications/a%20b/confirm_ready";
    assert_eq!(refused(&client, "POST", odd, Some(json!({"indication": "READY"}))).0, 400);
    // 16 services of an application
    for number in 0..17 {
        let service = rnis_services("http://127.0.0.1:1", None).remove(0);
        let answer = client.request("POST", path, Some(&serde_json::to_value(service).unwrap())).unwrap();
        assert_eq!(answer.status, if number < 16 { 201 } else { 403 }, "{}", answer.body);
    }
}

#[test]
fn registration_survives_a_restart_of_the_platform_and_ends_in_order() {
    let (route, reports) = Registration::route("/termination");
    let own = serve("127.0.0.1:0", vec![route]);
    // the platform starts later
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let registration = Registration::start(PlatformConfig {
        platform: ClientConfig::new(&format!("http://{address}")),
        app_instance_id: "rnis-1".into(),
        termination_callback: format!("{}/termination", own.url()),
        services: rnis_services("http://127.0.0.1:8092", None),
        refresh: Duration::from_millis(100),
    })
    .unwrap();
    let platform = serve(&address, Arc::new(EmbeddedPlatform::default()).routes());
    let services = |server: &Server| {
        client(server).request("GET", "/mec_service_mgmt/v1/services", None).unwrap().body.as_array().unwrap().len()
    };
    eventually("registered", || services(&platform) == 2);
    drop(platform);
    // another one, which knows nothing
    let platform = serve(&address, Arc::new(EmbeddedPlatform::default()).routes());
    eventually("registered again", || services(&platform) == 2);

    let termination = json!({
        "notificationType": "AppTerminationNotification", "operationAction": "TERMINATING", "maxGracefulTimeout": 5,
        "_links": {"subscription": {"href": "/s/1"}},
    });
    assert_eq!(client(&own).request("POST", "/termination", Some(&termination)).unwrap().status, 204);
    let mut event = None;
    eventually("termination", || {
        event = registration.poll(&reports);
        event.is_some()
    });
    assert_eq!(event, Some(PlatformEvent::Terminate { within: Duration::from_secs(5) }));
    registration.end();
    assert_eq!(services(&platform), 0);
    let wrong = json!({"notificationType": "Other", "operationAction": "TERMINATING", "maxGracefulTimeout": 5});
    assert_eq!(refused(&client(&own), "POST", "/termination", Some(wrong)).0, 400);
}

/// A platform that notifies, its client, and the server of an application.
fn notifying() -> (Server, Client, support::Server) {
    let delivery = Delivery::start(DeliveryConfig::default()).unwrap();
    let service = Service::new(delivery, |sink| Ok::<_, ()>(Box::new(Embedded::new(sink)) as _)).unwrap();
    let server = serve("127.0.0.1:0", Arc::new(EmbeddedPlatform::notifying(&Arc::new(service))).routes());
    let client = client(&server);
    (server, client, support::Server::start(support::accept))
}

#[test]
fn applications_are_notified_of_services_that_come_change_and_go() {
    let (_server, client, callback) = notifying();
    let list = "/mec_service_mgmt/v1/applications/video/subscriptions";
    let subscribe = |criteria: Value| {
        let mut body = json!({
            "subscriptionType": "SerAvailabilityNotificationSubscription",
            "callbackReference": format!("http://{}/n", callback.address),
        });
        if !criteria.is_null() {
            body["filteringCriteria"] = criteria;
        }
        let created = client.request("POST", list, Some(&body)).unwrap();
        assert_eq!(created.status, 201, "{}", created.body);
        assert_eq!(created.location.as_deref(), created.body["_links"]["self"]["href"].as_str());
        created.location.unwrap()
    };
    let all = subscribe(Value::Null);
    subscribe(json!({"serNames": ["other"]}));
    let suspended = subscribe(
        json!({"serCategories": [{"href": "/rni", "id": "RNI", "name": "", "version": ""}], "states": ["SUSPENDED"], "isLocal": true}),
    );
    assert_eq!(get(&client, &all)["_links"]["self"]["href"], *all);
    assert_eq!(get(&client, list)["_links"]["subscriptions"].as_array().unwrap().len(), 3);

    let services = "/mec_service_mgmt/v1/applications/rnis/services";
    let mut info = serde_json::to_value(rnis_services("http://127.0.0.1:1", None).remove(0)).unwrap();
    let service = client.request("POST", services, Some(&info)).unwrap().location.unwrap();
    for (member, value) in [("state", json!("SUSPENDED")), ("version", json!("2.3.1")), ("version", json!("2.3.1"))] {
        info[member] = value;
        assert_eq!(client.request("PUT", &service, Some(&info)).unwrap().status, 200);
    }
    assert_eq!(client.request("DELETE", &service, None).unwrap().status, 204);
    // what an application has registered ends with it
    client.request("POST", services, Some(&info)).unwrap();
    let ended = json!({"operationAction": "TERMINATING"});
    client.request("POST", "/mec_app_support/v1/applications/rnis/confirm_termination", Some(&ended)).unwrap();

    let received = |subscription: &str| -> Vec<Value> {
        let bodies = callback.posts().into_iter().map(|post| serde_json::from_str::<Value>(&post.body).unwrap());
        bodies.filter(|body| body["_links"]["subscription"]["href"] == *subscription).collect()
    };
    eventually("six notifications", || received(&all).len() == 6);
    let changes = |bodies: &[Value]| -> Vec<String> {
        bodies.iter().map(|body| body["serviceReferences"][0]["changeType"].as_str().unwrap().to_owned()).collect()
    };
    let bodies = received(&all);
    assert_eq!(changes(&bodies), ["ADDED", "STATE_CHANGED", "ATTRIBUTES_CHANGED", "REMOVED", "ADDED", "REMOVED"]);
    assert_eq!(bodies[0]["notificationType"], "SerAvailabilityNotification");
    let reference = &bodies[1]["serviceReferences"][0];
    assert_eq!((&reference["serName"], &reference["state"]), (&json!("rni"), &json!("SUSPENDED")));
    assert_eq!(reference["link"]["href"], *service);
    assert!(bodies[3]["serviceReferences"][0].get("link").is_none(), "{}", bodies[3]);
    eventually("those in this state", || received(&suspended).len() == 5);
    assert_eq!(changes(&received(&suspended))[0], "STATE_CHANGED");
    assert_eq!(callback.posts().len(), 11, "none is of another service");

    assert_eq!(client.request("DELETE", &all, None).unwrap().status, 204);
    assert_eq!(refused(&client, "GET", &all, None).0, 404);
    assert_eq!(refused(&client, "DELETE", &all, None).0, 404);
    // the subscriptions of an application end with it
    let path = "/mec_app_support/v1/applications/video/confirm_termination";
    assert_eq!(client.request("POST", path, Some(&ended)).unwrap().status, 204);
    assert_eq!(get(&client, list)["_links"]["subscriptions"], json!([]));
}

#[test]
fn wrong_subscriptions_to_services_are_refused_with_the_member() {
    let (_server, client, callback) = notifying();
    let list = "/mec_service_mgmt/v1/applications/video/subscriptions";
    let good = json!({
        "subscriptionType": "SerAvailabilityNotificationSubscription",
        "callbackReference": format!("http://{}/n", callback.address),
    });
    for (member, value, status, piece) in [
        ("subscriptionType", json!("CellChangeSubscription"), 400, "subscriptionType: "),
        ("callbackReference", json!("nowhere"), 400, "callbackReference: "),
        ("callbackReference", json!("ftp://127.0.0.1/"), 422, "callbackReference: "),
        ("filteringCriteria", json!({"serNames": ["a"], "serInstanceIds": ["1"]}), 400, "filteringCriteria.serNames: "),
        ("filteringCriteria", json!({"serNames": vec!["a"; 33]}), 422, "filteringCriteria.serNames: "),
        ("filteringCriteria", json!({"states": ["ON"]}), 422, "ACTIVE"),
        ("filteringCriteria", json!({"serName": ["a"]}), 422, "serName"),
    ] {
        let mut body = good.clone();
        body[member] = value;
        let (answered, detail) = refused(&client, "POST", list, Some(body));
        assert!(answered == status && detail.contains(piece), "{member}: {answered} {detail}");
    }
    for number in 0..17 {
        let expected = if number < 16 { 201 } else { 403 };
        assert_eq!(client.request("POST", list, Some(&good)).unwrap().status, expected);
    }
    let other = "/mec_service_mgmt/v1/applications/other/subscriptions";
    assert_eq!(client.request("POST", other, Some(&good)).unwrap().status, 201);
    // of another application
    assert_eq!(refused(&client, "DELETE", &format!("{other}/1"), None).0, 404);
}
