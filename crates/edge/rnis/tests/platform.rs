//! The MEC platform: discovery and registration over HTTP.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rest::client::{Client, ClientConfig};
use rest::{Server, ServerConfig};
use rnis::platform::{EmbeddedPlatform, PlatformConfig, PlatformEvent, Registration, rnis_services};
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
