//! The identities of UEs at the REST interface.

use std::sync::Arc;

use rest::{Access, AccessFiles};
use rnis::api::ApiConfig;
use rnis::{Directory, Embedded, SubscriptionLimits};
use serde_json::{Value, json};

use crate::support::TestService;

const PATH: &str = "/rnis/v1/directory";

fn start(directory: &Arc<Directory>) -> TestService {
    let api = ApiConfig { directory: Some(Arc::clone(directory)), ..ApiConfig::default() };
    TestService::of(|sink| Box::new(Embedded::new(sink)), SubscriptionLimits::default(), &api, |_| ())
}

#[test]
fn entries_are_listed_set_read_and_removed() {
    let directory = Arc::new(Directory::default());
    let rnis = start(&directory);
    assert_eq!(rnis.rest.get(PATH), json!({"ues": []}));
    for number in 1..=5 {
        let entry = json!({"names": [format!("amf:{number}"), format!("imsi:00101{number}")], "ipv4": ["10.45.0.7"]});
        let answer = rnis.rest.request("PUT", &format!("{PATH}/amf:{number}"), entry.clone());
        assert_eq!(answer.expect(200), entry);
    }
    assert_eq!(directory.entries().len(), 5);
    let page = rnis.rest.get(&format!("{PATH}?limit=2"));
    assert_eq!((page["ues"].as_array().unwrap().len(), &page["next"]), (2, &json!("amf:2")));
    let page = rnis.rest.get(&format!("{PATH}?limit=3&after=amf:2"));
    assert_eq!((page["ues"].as_array().unwrap().len(), &page["next"]), (3, &Value::Null));
    // each of its names finds it
    let found = rnis.rest.request("GET", &format!("{PATH}/imsi:001013"), None);
    assert_eq!(found.json()["names"][0], "amf:3");
    let tag = found.header("etag").unwrap();
    let refused = rnis.request_with("DELETE", &format!("{PATH}/amf:3"), "if-match: \"other\"\r\n", None);
    refused.expect_problem(412, &["read it again"]);
    let removed = rnis.request_with("DELETE", &format!("{PATH}/amf:3"), &format!("if-match: {tag}\r\n"), None);
    assert_eq!(removed.status, 204);
    assert_eq!(rnis.rest.request("DELETE", &format!("{PATH}/imsi:001014"), None).status, 204);
    rnis.rest.request("GET", &format!("{PATH}/amf:4"), None).expect_problem(404, &["amf:4"]);
    rnis.rest.request("DELETE", &format!("{PATH}/amf:4"), None).expect_problem(404, &["amf:4"]);
    assert_eq!(directory.entries().len(), 3);
    let document = rnis.rest.get("/rni/v2/openapi.json");
    assert!(document["paths"][format!("{PATH}/{{name}}")]["put"].is_object());
}

#[test]
fn wrong_entries_are_refused_with_the_member() {
    let rnis = start(&Arc::default());
    let refused = |entry: Value, status: u16, at: &str, piece: &str| {
        let answer = rnis.rest.request("PUT", &format!("{PATH}/amf:1"), entry);
        let problem = answer.expect_problem(status, &[piece]);
        assert_eq!(problem["at"], at, "{problem}");
    };
    refused(json!({"names": []}), 422, "names", "at least one");
    refused(json!({"names": ["amf:2"]}), 422, "names[0]", "name of the path");
    refused(json!({"names": ["amf:1"], "gtp_teid": ["0xg"]}), 422, "gtp_teid[0]", "hexadecimal");
    refused(json!({"names": ["amf:1"], "ipv4": vec!["10.0.0.1"; 17]}), 422, "ipv4", "at most 16");
    for (entry, piece) in [
        (json!({"names": ["amf:1"], "ipv4": ["10.0.0"]}), "ipv4"),
        (json!({"names": ["amf:1"], "ipv5": []}), "ipv5"),
        (json!({"names": "amf:1"}), "names"),
    ] {
        rnis.rest.request("PUT", &format!("{PATH}/amf:1"), entry).expect_problem(422, &[piece]);
    }
    assert_eq!(rnis.rest.request("PUT", &format!("{PATH}/amf:1"), json!({"names": ["amf:1", "imsi:1"]})).status, 200);
    let other = rnis.rest.request("PUT", &format!("{PATH}/amf:2"), json!({"names": ["amf:2", "imsi:1"]}));
    other.expect_problem(409, &["imsi:1"]);
    rnis.rest.request("GET", &format!("{PATH}?limit=0"), None).expect_problem(400, &["limit"]);
    rnis.rest.request("PUT", &format!("{PATH}/amf"), json!({"names": ["amf"]})).expect_problem(422, &["names[0]"]);
}

#[test]
fn entries_of_a_toml_file_are_read_only_and_changes_need_the_role() {
    let folder = std::env::temp_dir().join(format!("ferric-rnis-rest-directory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, tokens) = (folder.join("ues.toml"), folder.join("tokens"));
    std::fs::write(&file, "[[ue]]\nnames = [\"amf:1\"]\n").unwrap();
    std::fs::write(&tokens, "read 0123456789abcdef0123\ncontrol 456789abcdef01234567\n").unwrap();
    let directory = Arc::new(Directory::open(&file).unwrap());
    let api = ApiConfig { directory: Some(Arc::clone(&directory)), ..ApiConfig::default() };
    let access = Access::load(AccessFiles { tls: None, tokens: Some(tokens) }).unwrap();
    let broker = |sink| Box::new(Embedded::new(sink)) as Box<dyn rnis::Broker>;
    let rnis = TestService::of(broker, SubscriptionLimits::default(), &api, |config| config.access = access);
    let as_role = |token: &str| format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\n");
    let (reader, writer) = (as_role("0123456789abcdef0123"), as_role("456789abcdef01234567"));
    let body = Some(r#"{"names":["amf:2"]}"#);
    assert_eq!(rnis.request_with("GET", PATH, &reader, None).status, 200);
    assert_eq!(rnis.request_with("PUT", &format!("{PATH}/amf:2"), &reader, body).status, 403);
    assert_eq!(rnis.request_with("PUT", &format!("{PATH}/amf:2"), &writer, body).status, 200);
    let answer = rnis.request_with("PUT", &format!("{PATH}/amf:1"), &writer, Some(r#"{"names":["amf:1"]}"#));
    answer.expect_problem(409, &["ues.toml", "change it there"]);
    let answer = rnis.request_with("DELETE", &format!("{PATH}/amf:1"), &writer, None);
    answer.expect_problem(409, &["ues.toml"]);
    std::fs::remove_dir_all(folder).unwrap();
}
