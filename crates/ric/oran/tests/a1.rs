//! A1-P by REST, and xApps that take part over the shared data layer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ferric::link::Address;
use log_lines::LogBudget;
use oran::a1::{A1, HandlerStatus, MAX_INSTANCES, MAX_TYPES, PolicyLink, PolicyRequest, over_sdl, routes};
use rest::ServerConfig;
use sdl::{Config, Sdl};
use serde_json::{Value, json};
use testkit::http::Service;

const PATIENCE: Duration = Duration::from_secs(20);
const TYPE: &str = "/A1-P/v2/policytypes/20008";

fn policy_type() -> Value {
    json!({
        "name": "tsapolicy",
        "description": "thresholds of traffic steering",
        "policy_type_id": 20008,
        "create_schema": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": { "threshold": { "type": "integer", "minimum": 0, "maximum": 100 } },
            "required": ["threshold"],
            "additionalProperties": false,
        },
    })
}

struct Rest {
    _server: rest::Server,
    service: Service,
}

impl Rest {
    fn of(a1: &A1) -> Self {
        let server = rest::Server::start(ServerConfig::new("127.0.0.1:0".parse().unwrap()), routes(a1)).unwrap();
        let service = Service { address: server.address() };
        Rest { _server: server, service }
    }

    fn request(&self, method: &str, path: &str, body: Option<&Value>) -> testkit::http::Response {
        self.service.request(method, path, body.cloned())
    }
}

/// A link that keeps what it was given.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<(bool, Vec<Value>)>>);

impl PolicyLink for Sent {
    fn deliver(&self, request: &PolicyRequest<'_>) -> bool {
        let (is_busy, sent) = &mut *self.0.lock().unwrap();
        sent.push(serde_json::from_slice(&request.encode()).unwrap());
        !*is_busy
    }
}

/// A link that keeps what xApps say.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<HandlerStatus>>>);

impl PolicyLink for Said {
    fn deliver(&self, _: &PolicyRequest<'_>) -> bool {
        true
    }

    fn status_changed(&self, _: i32, _: &str, _: &str, status: HandlerStatus) {
        self.0.lock().unwrap().push(status);
    }
}

#[test]
fn status_that_has_not_changed_is_not_passed_on() {
    let said = Said::default();
    let a1 = A1::new(vec![Box::new(said.clone())]);
    a1.create_type(20008, serde_json::from_value(policy_type()).unwrap()).unwrap();
    a1.put(20008, "one", json!({ "threshold": 5 })).unwrap();
    for status in ["DELETED", "ERROR", "OK", "OK", "OK", "DELETED", "DELETED"] {
        let answer =
            json!({ "policy_type_id": 20008, "policy_instance_id": "one", "handler_id": "ts", "status": status });
        a1.handle_response(answer.to_string().as_bytes()).unwrap();
    }
    assert_eq!(*said.0.lock().unwrap(), [HandlerStatus::Error, HandlerStatus::Ok, HandlerStatus::Deleted]);
}

fn start() -> (Rest, A1, Sent) {
    let sent = Sent::default();
    let a1 = A1::new(vec![Box::new(sent.clone())]);
    (Rest::of(&a1), a1, sent)
}

#[test]
fn policy_is_validated_delivered_and_its_status_fed_back() {
    let (rest, a1, sent) = start();
    assert_eq!(rest.request("GET", "/A1-P/v2/healthcheck", None).expect(200), json!({}));
    assert_eq!(rest.request("GET", "/A1-P/v2/policytypes", None).expect(200), json!([]));
    rest.request("PUT", TYPE, Some(&policy_type())).expect(201);
    assert_eq!(rest.request("GET", "/A1-P/v2/policytypes", None).expect(200), json!([20008]));
    assert_eq!(rest.request("GET", TYPE, None).expect(200), policy_type());
    let (policies, policy) = (format!("{TYPE}/policies"), format!("{TYPE}/policies/one"));
    rest.request("PUT", &policy, Some(&json!({ "threshold": 5 }))).expect(202);
    rest.request("PUT", &policy, Some(&json!({ "threshold": 6 }))).expect(202);
    assert_eq!(rest.request("GET", &policies, None).expect(200), json!(["one"]));
    assert_eq!(rest.request("GET", &policy, None).expect(200), json!({ "threshold": 6 }));
    let status = format!("{policy}/status");
    let not_enforced = json!({ "enforceStatus": "NOT_ENFORCED", "enforceReason": "OTHER_REASON" });
    assert_eq!(rest.request("GET", &status, None).expect(200), not_enforced);
    let answer = |handler: &str, status: &str| {
        let answer =
            json!({ "policy_type_id": 20008, "policy_instance_id": "one", "handler_id": handler, "status": status });
        a1.handle_response(format!("{answer}\0\0").as_bytes())
    };
    answer("ts", "ERROR").unwrap();
    assert_eq!(rest.request("GET", &status, None).expect(200), not_enforced);
    answer("qp", "OK").unwrap();
    assert_eq!(rest.request("GET", &status, None).expect(200), json!({ "enforceStatus": "ENFORCED" }));
    rest.request("DELETE", TYPE, None).expect_problem(400, &["has 1 policies"]);
    let mut queried = Vec::new();
    let mut ask = |request: &PolicyRequest<'_>| queried.push(request.payload.clone());
    assert_eq!(a1.handle_query(b"{\"policy_type_id\":20008}", &mut ask), Ok(1));
    assert_eq!(queried, [json!({ "threshold": 6 })]);
    rest.request("DELETE", &policy, None).expect(202);
    rest.request("GET", &status, None).expect_problem(404, &["no policy `one`"]);
    answer("qp", "DELETED").unwrap();
    assert!(answer("qp", "OK").unwrap_err().to_string().contains("no policy `one`"));
    rest.request("DELETE", TYPE, None).expect(204);
    rest.request("GET", TYPE, None).expect_problem(404, &["no policy type 20008"]);
    let request = |operation: &str, threshold: u32| {
        json!({
            "operation": operation,
            "policy_type_id": 20008,
            "policy_instance_id": "one",
            "payload": { "threshold": threshold },
        })
    };
    assert_eq!(sent.0.lock().unwrap().1, [request("CREATE", 5), request("UPDATE", 6), request("DELETE", 6)]);
}

#[test]
fn bad_types_and_policies_are_refused_and_change_nothing() {
    let (rest, a1, sent) = start();
    let put_type = |rest: &Rest, change: &dyn Fn(&mut Value)| {
        let mut document = policy_type();
        change(&mut document);
        rest.request("PUT", TYPE, Some(&document))
    };
    put_type(&rest, &|document| document["policy_type_id"] = json!(7)).expect_problem(400, &["policy_type_id: 7"]);
    put_type(&rest, &|document| document["create_schema"]["type"] = json!("nonsense"))
        .expect_problem(400, &["create_schema: "]);
    put_type(&rest, &|document| document["create_schema"]["$ref"] = json!("http://other.example/"))
        .expect_problem(400, &["not a part of the schema"]);
    put_type(&rest, &|document| document["description"] = json!("x".repeat(70_000)))
        .expect_problem(413, &["65536 octets"]);
    put_type(&rest, &|document| document["nam"] = json!("x")).expect_problem(422, &["did you mean `name`?"]);
    for path in ["/A1-P/v2/policytypes/0", "/A1-P/v2/policytypes/x", "/A1-P/v2/policytypes/99999999999"] {
        let status = rest.request("PUT", path, Some(&policy_type())).status;
        assert!(matches!(status, 400 | 404), "{path}: {status}");
    }
    rest.request("PUT", &format!("{TYPE}/policies/one"), Some(&json!({ "threshold": 1 })))
        .expect_problem(404, &["20008"]);
    rest.request("PUT", TYPE, Some(&policy_type())).expect(201);
    rest.request("PUT", TYPE, Some(&policy_type())).expect_problem(400, &["exists"]);
    let policy = format!("{TYPE}/policies/one");
    for (body, at, why) in [
        (json!({}), "/", "threshold"),
        (json!({ "threshold": 101 }), "/threshold", "100"),
        (json!({ "threshold": "5" }), "/threshold", "integer"),
        (json!({ "threshold": 5, "other": 1 }), "/", "other"),
    ] {
        let problem = rest.request("PUT", &policy, Some(&body)).expect_problem(400, &["does not conform", at, why]);
        assert_eq!(problem["mistakes"][0]["at"], at, "{problem}");
    }
    rest.request("PUT", &policy, Some(&json!([]))).expect_problem(422, &["not a JSON object"]);
    let long = format!("{TYPE}/policies/{}", "x".repeat(129));
    rest.request("PUT", &long, Some(&json!({ "threshold": 5 }))).expect_problem(400, &["1 to 128 graphic"]);
    rest.request("PUT", &format!("{TYPE}/policies/a%20b"), Some(&json!({ "threshold": 5 })))
        .expect_problem(400, &["graphic"]);
    rest.request("GET", &policy, None).expect_problem(404, &["no policy `one`"]);
    rest.request("DELETE", &policy, None).expect_problem(404, &["no policy `one`"]);
    for message in [
        &b""[..],
        b"{}",
        b"[]",
        b"{\"policy_type_id\":1,\"policy_instance_id\":\"x\",\"handler_id\":\"\",\"status\":\"OK\"}",
    ] {
        assert!(a1.handle_response(message).is_err(), "{}", String::from_utf8_lossy(message));
    }
    assert!(a1.handle_query(b"{\"policy_type_id\":1}", &mut |_| ()).is_err());
    assert!(a1.handle_response(&vec![b' '; 1 << 20]).unwrap_err().to_string().contains("too long"));
    assert_eq!(sent.0.lock().unwrap().1, [Value::Null; 0]);
    sent.0.lock().unwrap().0 = true;
    rest.request("PUT", &policy, Some(&json!({ "threshold": 5 }))).expect_problem(503, &["cannot be reached now"]);
    rest.request("GET", &policy, None).expect_problem(404, &["no policy `one`"]);
}

#[test]
fn types_instances_and_handlers_are_bounded() {
    let (_, a1, _) = start();
    let document = |id: i32| {
        let mut document = policy_type();
        document["policy_type_id"] = json!(id);
        document["create_schema"] = json!({});
        serde_json::from_value::<oran::a1::PolicyType>(document).unwrap()
    };
    for id in 1..=MAX_TYPES as i32 {
        a1.create_type(id, document(id)).unwrap();
    }
    let last = MAX_TYPES as i32 + 1;
    assert!(a1.create_type(last, document(last)).unwrap_err().to_string().contains("delete some first"));
    for at in 0..MAX_INSTANCES {
        a1.put(1, &at.to_string(), json!({})).unwrap();
    }
    assert!(a1.put(1, "more", json!({})).unwrap_err().to_string().contains("delete some first"));
    a1.put(1, "0", json!({ "new": true })).unwrap();
    a1.delete(1, "1").unwrap();
    a1.put(2, "more", json!({})).unwrap();
    let answer = |handler: usize| {
        let answer = json!({ "policy_type_id": 2, "policy_instance_id": "more", "handler_id": format!("x{handler}"), "status": "OK" });
        a1.handle_response(answer.to_string().as_bytes())
    };
    for handler in 0..oran::a1::MAX_HANDLERS {
        answer(handler).unwrap();
    }
    assert!(answer(oran::a1::MAX_HANDLERS).unwrap_err().to_string().contains("more than 64 xApps"));
    answer(0).unwrap();
}

/// An xApp that speaks Redis's protocol.
struct Xapp(BufReader<TcpStream>);

impl Xapp {
    fn connect(sdl: &Sdl) -> Self {
        let Address::Tcp { host, port } = sdl.address() else { panic!("{}", sdl.address()) };
        let stream = TcpStream::connect((host.as_str(), *port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Xapp(BufReader::new(stream))
    }

    fn send(&mut self, words: &[&str]) {
        let octets: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        self.0.get_mut().write_all(format!("*{}\r\n{octets}", words.len()).as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn bulk(&mut self) -> String {
        let length: usize = self.line().trim_start_matches('$').parse().unwrap();
        let mut octets = vec![0; length + 2];
        self.0.read_exact(&mut octets).unwrap();
        String::from_utf8_lossy(&octets[..length]).into_owned()
    }

    /// Reads a message of a channel.
    fn message(&mut self) -> Value {
        assert_eq!((self.line(), self.bulk()), ("*3".to_owned(), "message".to_owned()));
        assert_eq!(self.bulk(), "{A1m_ns},A1_POLICY_REQ");
        serde_json::from_str(&self.bulk()).unwrap()
    }
}

#[test]
fn xapp_takes_part_over_the_shared_data_layer_and_policies_survive_a_restart() {
    let file = std::env::temp_dir().join(format!("ferric-a1-{}.redb", std::process::id()));
    let _ = std::fs::remove_file(&file); // of an earlier run
    let start = |file: PathBuf| {
        let config = Config { file: Some(file), ..Config::new("tcp://127.0.0.1:0".parse().unwrap()) };
        Sdl::start(config, LogBudget::new(1000)).unwrap()
    };
    let sdl = start(file.clone());
    let rest = Rest::of(&over_sdl(sdl.handle(), Vec::new(), LogBudget::new(1000)));
    let (mut xapp, mut caller) = (Xapp::connect(&sdl), Xapp::connect(&sdl));
    xapp.send(&["SUBSCRIBE", "{A1m_ns},A1_POLICY_REQ"]);
    assert_eq!((xapp.line(), xapp.bulk(), xapp.bulk(), xapp.line()).3, ":1");
    rest.request("PUT", TYPE, Some(&policy_type())).expect(201);
    let policy = format!("{TYPE}/policies/one");
    rest.request("PUT", &policy, Some(&json!({ "threshold": 5 }))).expect(202);
    let create = json!({
        "operation": "CREATE", "policy_type_id": 20008, "policy_instance_id": "one", "payload": { "threshold": 5 },
    });
    assert_eq!(xapp.message(), create);
    caller.send(&["GET", "{A1m_ns},a1.policy_instance.20008.one"]);
    assert_eq!(caller.bulk(), "{\"threshold\":5}");
    caller.send(&["PUBLISH", "{A1m_resp},A1_POLICY_QUERY", "{\"policy_type_id\":20008}"]);
    assert_eq!((caller.line(), xapp.message()), (":0".to_owned(), create.clone()));
    // a query has everybody sent everything: more than a few are dropped
    let begun = Instant::now();
    for _ in 0..20 {
        caller.send(&["PUBLISH", "{A1m_resp},A1_POLICY_QUERY", "{\"policy_type_id\":20008}"]);
        assert_eq!(caller.line(), ":0");
    }
    rest.request("PUT", &format!("{TYPE}/policies/two"), Some(&json!({ "threshold": 6 }))).expect(202);
    let answers = (0..20).take_while(|_| xapp.message()["policy_instance_id"] == "one").count();
    assert!(answers <= 4 + begun.elapsed().as_millis() as usize / 100, "{answers} of 20 queries were answered");
    rest.request("DELETE", &format!("{TYPE}/policies/two"), None).expect(202);
    assert_eq!(xapp.message()["operation"], "DELETE");
    // what is of no use is dropped
    caller.send(&["PUBLISH", "{A1m_resp},A1_POLICY_RESP", "nonsense"]);
    let answer = json!({ "policy_type_id": 20008, "policy_instance_id": "one", "handler_id": "ts", "status": "OK" });
    caller.send(&["PUBLISH", "{A1m_resp},A1_POLICY_RESP", &answer.to_string()]);
    assert_eq!((caller.line(), caller.line()), (":0".to_owned(), ":0".to_owned()));
    let status = format!("{policy}/status");
    let end = Instant::now() + PATIENCE;
    while rest.request("GET", &status, None).expect(200)["enforceStatus"] != "ENFORCED" {
        assert!(Instant::now() < end, "the status is not fed back");
    }
    drop((rest, sdl));
    let sdl = start(file.clone());
    let rest = Rest::of(&over_sdl(sdl.handle(), Vec::new(), LogBudget::new(1000)));
    assert_eq!(rest.request("GET", TYPE, None).expect(200), policy_type());
    assert_eq!(rest.request("GET", &policy, None).expect(200), json!({ "threshold": 5 }));
    assert_eq!(rest.request("GET", &status, None).expect(200)["enforceStatus"], "NOT_ENFORCED", "xApps are asked anew");
    rest.request("DELETE", &policy, None).expect(202);
    rest.request("DELETE", TYPE, None).expect(204);
    drop((rest, sdl));
    let sdl = start(file.clone());
    assert_eq!(over_sdl(sdl.handle(), Vec::new(), LogBudget::new(1000)).type_ids(), [0; 0]);
    drop(sdl);
    std::fs::remove_file(&file).unwrap();
}
