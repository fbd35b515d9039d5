//! The load generator in the place of a RIC: the rest of the service is as it is with one.

use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rest::client::{Client, ClientConfig, ClientToken, Scheme};
use rest::{Operation, Response, Route, Server, ServerConfig};
use serde_json::json;
use testkit::program::{File, Program};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ferric-rnis");
const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn start(arguments: &[&str]) -> (Program, String) {
    let arguments = [&["--rest", "127.0.0.1:0", "--load", "1"], arguments].concat();
    let mut program = Program::start_with_input(PROGRAM, &arguments);
    let url = program.line("rnis=");
    (program, url.trim_end_matches("/rni/v2").to_owned())
}

#[test]
fn subscriptions_expire() {
    let (sender, received) = channel();
    let operation = Operation::post("/notice", "", "");
    let route = Route::new(operation, move |request| {
        // the test may have ended
        let _ = sender.send(request.json::<serde_json::Value>()?);
        Ok(Response::no_content())
    });
    let callbacks = Server::start(ServerConfig::new("127.0.0.1:0".parse().unwrap()), vec![route]).unwrap();
    let (_rnis, url) = start(&["--expiry-notice-s", "1"]);
    let client = Client::new(&ClientConfig::new(&url)).unwrap();
    let deadline = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 4;
    let body = json!({
        "subscriptionType": "CellChangeSubscription",
        "callbackReference": format!("{}/notice", callbacks.url()),
        "filterCriteriaAssocHo": {},
        "expiryDeadline": { "seconds": deadline, "nanoSeconds": 0 },
    });
    let created = client.request("POST", "/rni/v2/subscriptions", Some(&body)).unwrap();
    assert_eq!(created.status, 201, "{created:?}");
    let notice = received.recv_timeout(testkit::PATIENCE).expect("a notice of the expiry");
    assert_eq!(notice["notificationType"], "ExpiryNotification", "{notice}");
    assert_eq!(notice["expiryDeadline"]["seconds"], deadline);
}

#[test]
fn changes_of_the_tenants_come_into_force() {
    let file = |types: &str| {
        format!(
            "[[tenant]]\nname = \"video\"\nevent_types = [{types}]\n[[tenant.client]]\nid = \"video-1\"\nsecret = \"{SECRET}\"\n"
        )
    };
    let tenants = File::new("load-tenants.toml", file("\"cell_change\"").as_bytes());
    let (_rnis, url) = start(&["--tenants", tenants.name()]);
    let client = |scheme, token: String| {
        let token = Some(ClientToken::Text("the test", token));
        Client::new(&ClientConfig { token, scheme, ..ClientConfig::new(&url) }).unwrap()
    };
    let subscribes = || {
        let form = ("application/x-www-form-urlencoded", b"grant_type=client_credentials");
        let basic = client(Scheme::Basic, format!("video-1:{SECRET}"));
        let answer = basic.post("/oauth2/token", form.0, form.1).unwrap();
        let token = answer.body["access_token"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned();
        let body = json!({
            "subscriptionType": "RabEstSubscription",
            "callbackReference": "http://127.0.0.1:9/x",
            "filterCriteriaQci": { "qci": 9 },
        });
        client(Scheme::Bearer, token).request("POST", "/rni/v2/subscriptions", Some(&body)).unwrap().status
    };
    assert_eq!(subscribes(), 403);
    // at once: a reader sees the old file or the new one
    let changed = File::new("load-tenants-changed.toml", file("\"cell_change\", \"rab_est\"").as_bytes());
    std::fs::rename(changed.name(), tenants.name()).unwrap();
    testkit::eventually("the right to another type", || {
        // requests for tokens have a rate limit
        std::thread::sleep(Duration::from_millis(300));
        subscribes() == 201
    });
}
