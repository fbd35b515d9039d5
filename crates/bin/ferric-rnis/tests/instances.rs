//! Instances for tenants: processes under a supervisor, which divides the processors among them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use ran::{RanConfig, Scenario};
use serde_json::{Value, json};
use system_tests::RicAndRan;
use testkit::eventually;
use testkit::http::{Client, Response, Service};
use testkit::program::{File, Program, run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ferric-rnis");
const PATH: &str = "/rnis/v1/instances";

/// Sends a request with a token, or without one.
fn request_as(token: Option<&str>, rest: Service, method: &str, path: &str, body: Option<Value>) -> Response {
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    let token = token.map_or_else(String::new, |token| format!("authorization: Bearer {token}\r\n"));
    let mut client = Client::connect(rest.address);
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{token}content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    client.write(format!("{head}{body}").as_bytes());
    client.receive()
}

/// A supervisor.
struct Host {
    program: Program,
    rest: Service,
}

impl Host {
    fn start(arguments: &[&str]) -> Host {
        let arguments = [&["serve", "--instances", "--rest", "127.0.0.1:0"], arguments].concat();
        let mut program = Program::start(PROGRAM, &arguments);
        let url = program.line("instances=");
        let address = url.trim_start_matches("http://").trim_end_matches(PATH).parse().unwrap();
        Host { program, rest: Service { address } }
    }

    fn create(&self, definition: Value) -> Value {
        self.rest.request("POST", PATH, definition).expect(201)
    }

    fn state(&self, name: &str) -> Value {
        self.rest.get(&format!("{PATH}/{name}/state"))
    }

    /// Waits until an instance serves. Returns its state, and its REST interface.
    fn running(&self, name: &str) -> (Value, Service) {
        let state = self.rest.eventually(&format!("{PATH}/{name}/state"), |state| state["phase"] == "running");
        let url = state["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches("/rni/v2");
        let rest = Service { address: url.parse().unwrap() };
        (state, rest)
    }

    fn decisions(&self, name: &str) -> Vec<Value> {
        self.rest.get(&format!("{PATH}/{name}/decisions"))["decisions"].as_array().unwrap().clone()
    }
}

fn signal(process: &Value, name: &str) {
    let status = Command::new("kill").args([name, &process.to_string()]).status().unwrap();
    assert!(status.success());
}

/// Whether a process runs: one that has ended may remain in the table, as nobody takes its status.
fn is_alive(process: &Value) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// A subscriber that answers 204, and counts.
struct Subscriber {
    address: SocketAddr,
    received: Arc<AtomicU64>,
}

impl Subscriber {
    fn start() -> Subscriber {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, received) = (listener.local_addr().unwrap(), Arc::<AtomicU64>::default());
        let counter = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, counter) = (stream.unwrap(), Arc::clone(&counter));
                thread::spawn(move || answer_all(stream, &counter));
            }
        });
        Subscriber { address, received }
    }

    /// Subscribes to cell changes so many times.
    fn subscribe(&self, rnis: Service, count: usize) {
        for _ in 0..count {
            let callback = format!("http://{}/", self.address);
            let body = json!({ "subscriptionType": "CellChangeSubscription", "callbackReference": callback, "filterCriteriaAssocHo": {} });
            rnis.request("POST", "/rni/v2/subscriptions", body).expect(201);
        }
    }

    fn received(&self) -> u64 {
        self.received.load(Ordering::Acquire)
    }

    /// Waits for further notifications.
    fn hears_more(&self) {
        let before = self.received();
        eventually("further notifications", || self.received() > before + 2);
    }
}

fn answer_all(stream: TcpStream, counter: &AtomicU64) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            match reader.read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        if reader.read_exact(&mut vec![0; length]).is_err()
            || reader.get_mut().write_all(b"HTTP/1.1 204 No Content\r\n\r\n").is_err()
        {
            return;
        }
        counter.fetch_add(1, Ordering::AcqRel);
    }
}

#[test]
fn instances_serve_a_ran_at_addresses_of_their_own() {
    let ran = RanConfig { scenario: Scenario::with_mixed_traffic(2, 3, 1), ..RanConfig::default() };
    let running = RicAndRan::start(Vec::new(), ran);
    let host = Host::start(&["--ric", &running.ric.xapp.to_string(), "--", "--period-ms", "100"]);
    let created = host.create(json!({ "name": "video", "weight": 2 }));
    assert_eq!(
        (&created["name"], &created["weight"], &created["minShare"]),
        (&json!("video"), &json!(2), &json!(0.05))
    );
    host.create(json!({ "name": "v2x", "ric": running.ric.xapp.to_string() }));
    let (states, rests): (Vec<_>, Vec<_>) = ["video", "v2x"].map(|name| host.running(name)).into_iter().unzip();
    assert_ne!(states[0]["processId"], states[1]["processId"]);
    assert_eq!(states[0]["url"], format!("http://{}/rni/v2", created["rest"].as_str().unwrap()));
    for rest in &rests {
        let cells = rest.eventually("/rni/v2/queries/layer2_meas", |found| {
            found["cellInfo"].as_array().is_some_and(|cells| cells.len() == 2)
        });
        assert!(cells["cellInfo"][0]["ecgi"]["plmn"]["mcc"].is_string(), "{cells}");
    }
    // a subscription of one tenant is none of the other's
    Subscriber::start().subscribe(rests[0], 1);
    assert_eq!(rests[1].get("/rnis/v1/subscriptions")["subscriptions"], json!([]));
    rests[1].request("GET", "/rni/v2/subscriptions/1", None).expect_problem(404, &["1"]);
    let all = host.rest.get(PATH);
    let names: Vec<_> = all["instances"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["v2x", "video"]);
    host.rest.request("DELETE", &format!("{PATH}/video"), None).expect(204);
    host.rest.request("GET", &format!("{PATH}/video"), None).expect_problem(404, &["video"]);
    eventually("the end of a deleted instance", || !is_alive(&states[0]["processId"]));
    assert!(is_alive(&states[1]["processId"]));
    let document = host.rest.get("/rnis/v1/openapi.json");
    assert!(document["paths"]["/rnis/v1/instances/{name}/decisions"]["get"].is_object());
    host.program.stop();
    assert!(!is_alive(&states[1]["processId"]));
}

#[test]
fn killed_or_stopped_instance_comes_back_and_the_other_is_unaffected() {
    let host = Host::start(&["--allow-load", "--", "--load-types", "1"]);
    for name in ["a", "b"] {
        host.create(json!({ "name": name, "loadPerS": 50 }));
    }
    let (a, of_a) = host.running("a");
    let (b, of_b) = host.running("b");
    let subscriber = Subscriber::start();
    subscriber.subscribe(of_b, 2);
    subscriber.hears_more();
    signal(&a["processId"], "-KILL");
    let path = format!("{PATH}/a/state");
    let again =
        host.rest.eventually(&path, |state| state["phase"] == "running" && state["processId"] != a["processId"]);
    assert_eq!((&again["restarts"], &again["url"]), (&json!(1), &a["url"]));
    assert!(again["lastEnd"].as_str().unwrap().contains("signal: 9"), "{again}");
    assert_eq!(of_a.get("/rnis/v1/subscriptions")["subscriptions"], json!([]));
    // one that does not answer is killed
    signal(&again["processId"], "-STOP");
    let third = host.rest.eventually(&path, |state| state["phase"] == "running" && state["restarts"] == 2);
    assert!(third["lastEnd"].as_str().unwrap().contains("has not answered for 5 s"), "{third}");
    subscriber.hears_more();
    let after = host.state("b");
    assert_eq!((&after["processId"], &after["restarts"]), (&b["processId"], &json!(0)));
    let outcome = host.program.stop();
    assert!(outcome.stderr.contains("an instance has ended"), "{}", outcome.stderr);
}

#[test]
fn instances_end_with_a_supervisor_that_is_killed_and_return_from_its_file() {
    let file = File::named("instances.json");
    let arguments = ["--allow-load", "--instances-file", file.name()];
    let mut host = Host::start(&arguments);
    let created = host.create(json!({ "name": "a", "loadPerS": 10, "weight": 7 }));
    host.create(json!({ "name": "b", "loadPerS": 10 }));
    let processes = ["a", "b"].map(|name| host.running(name).0["processId"].clone());
    host.rest.request("DELETE", &format!("{PATH}/b"), None).expect(204);
    signal(&json!(host.program.id()), "-KILL");
    eventually("the end of the instances", || !processes.iter().any(is_alive));
    drop(host.program);
    host = Host::start(&arguments);
    assert_eq!(host.rest.get(&format!("{PATH}/a")), created);
    let (state, _) = host.running("a");
    assert_eq!(state["url"], format!("http://{}/rni/v2", created["rest"].as_str().unwrap()));
    host.rest.request("GET", &format!("{PATH}/b"), None).expect_problem(404, &["b"]);
}

#[test]
fn definitions_that_make_no_sense_are_refused_with_their_member() {
    let host = Host::start(&["--cpu-budget", "0.5", "--max-instances", "2"]);
    let refused = |method: &str, path: &str, body: Value, status: u16, at: Option<&str>| {
        let problem =
            host.rest.request(method, path, body.clone()).expect_problem(status, &at.into_iter().collect::<Vec<_>>());
        assert_eq!(problem["at"].as_str(), at, "{body}");
    };
    refused("POST", PATH, json!({ "name": "../a" }), 422, Some("name"));
    refused("POST", PATH, json!({ "name": "a", "wait": 1 }), 422, Some("wait"));
    refused("POST", PATH, json!({ "name": "a", "weight": "much" }), 422, Some("weight"));
    refused("POST", PATH, json!({ "name": "a", "weight": 0 }), 422, Some("weight"));
    refused("POST", PATH, json!({ "name": "a", "minShare": 0.3, "maxShare": 0.2 }), 422, Some("maxShare"));
    refused("POST", PATH, json!({ "name": "a", "ric": "--log=off" }), 422, Some("ric"));
    refused("POST", PATH, json!({ "name": "a", "rest": "localhost" }), 422, Some("rest"));
    refused("POST", PATH, json!({ "weight": 1 }), 422, None);
    refused("POST", PATH, json!({ "name": "a", "minShare": 0.6 }), 409, Some("minShare"));
    refused("POST", PATH, json!({ "name": "a", "loadPerS": 1 }), 403, Some("loadPerS"));
    let address = format!("{PATH}/a");
    Client::connect(host.rest.address).request("POST", PATH, Some("{")).expect_problem(400, &["not JSON"]);
    let created = host.rest.request("POST", PATH, json!({ "name": "a", "minShare": 0.3 }));
    let (tag, document) = (created.header("etag").unwrap().to_owned(), created.expect(201));
    assert_eq!(created.header("location"), Some(&*address));
    assert_eq!(host.rest.request("GET", &address, None).header("etag"), Some(&*tag));
    refused("POST", PATH, json!({ "name": "a" }), 409, Some("name"));
    refused("POST", PATH, json!({ "name": "b", "rest": document["rest"] }), 409, Some("rest"));
    refused("POST", PATH, json!({ "name": "b", "minShare": 0.3 }), 409, Some("minShare"));
    refused("PUT", &address, json!({ "name": "b" }), 422, Some("name"));
    refused("PUT", &format!("{PATH}/b"), json!({ "name": "b" }), 404, None);
    let put = |tag: &str| {
        let body = json!({ "name": "a", "weight": 3 }).to_string();
        let mut client = Client::connect(host.rest.address);
        let length = body.len();
        let head = format!(
            "PUT {address} HTTP/1.1\r\nhost: localhost\r\nif-match: {tag}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        client.write(format!("{head}{body}").as_bytes());
        client.receive()
    };
    put("\"other\"").expect_problem(412, &[&tag]);
    let changed = put(&tag);
    assert_eq!(changed.expect(200)["weight"], 3);
    put(&tag).expect_problem(412, &["read it again"]);
    host.create(json!({ "name": "b" }));
    refused("POST", PATH, json!({ "name": "c" }), 403, None);
    let file = File::new("broken.json", b"{ \"instances\": [{ \"name\": \"a\", \"weight\": 0 }] }");
    let arguments = ["serve", "--instances", "--rest", "127.0.0.1:0", "--instances-file", file.name()];
    run(PROGRAM, &arguments).complains(1, &[file.name(), "instances[0].weight", "out of range"]);
    run(PROGRAM, &["serve", "--instances", "--control-group", "/proc"]).complains(1, &["/proc/cgroup.controllers"]);
    run(PROGRAM, &["serve", "--cpu-budget", "1"]).complains(2, &["--instances"]);
}

#[test]
fn shares_follow_the_load_within_the_budget_and_their_decisions_are_readable() {
    let host = Host::start(&["--cpu-budget", "0.3", "--allow-load", "--", "--load-types", "1"]);
    let subscriber = Subscriber::start();
    for name in ["a", "b"] {
        host.create(json!({ "name": name, "loadPerS": 5, "minShare": 0.05 }));
        subscriber.subscribe(host.running(name).1, 4);
    }
    let (before, _) = host.running("a");
    // far more than the budget
    for name in ["a", "b"] {
        let definition =
            json!({ "name": name, "loadPerS": 3000, "minShare": 0.05, "weight": if name == "a" { 2 } else { 1 } });
        host.rest.request("PUT", &format!("{PATH}/{name}"), definition).expect(200);
    }
    let of_budget = |name: &str| host.decisions(name).into_iter().find(|decision| decision["reason"] == "budget");
    eventually("decisions by the budget", || of_budget("a").is_some() && of_budget("b").is_some());
    for _ in 0..20 {
        let all = host.rest.get(PATH);
        let shares: Vec<_> =
            all["instances"].as_array().unwrap().iter().map(|it| it["share"].as_f64().unwrap()).collect();
        assert!(shares.iter().sum::<f64>() <= 0.3 + 1e-6 && shares.iter().all(|share| *share >= 0.05 - 1e-6), "{all}");
        assert_eq!((&all["budget"], &all["instances"][0]["enforcement"]), (&json!(0.3), &json!("ownThreads")));
    }
    eventually("the part of the heavier one", || {
        let share = |name: &str| host.state(name)["share"].as_f64().unwrap();
        (share("a") - 0.2).abs() < 0.01 && (share("b") - 0.1).abs() < 0.01
    });
    // its threads keep to it, in spite of the load
    eventually("a use of the processors near the share", || {
        let measured = &host.state("a")["measured"];
        measured["throttledCores"].as_f64().unwrap_or(0.0) > 0.1 && measured["cpuCores"].as_f64().unwrap() < 0.4
    });
    let decision = of_budget("a").unwrap();
    assert!(decision["needed"].as_f64().unwrap() > 0.2, "{decision}");
    assert!(decision["time"]["seconds"].as_u64().unwrap() > 1_700_000_000, "{decision}");
    assert!(decision["measured"].is_object() || decision["newShare"] != decision["oldShare"], "{decision}");
    // a change of the rate is no restart
    assert_eq!(host.state("a")["processId"], before["processId"]);
    for name in ["a", "b"] {
        host.rest.request("PUT", &format!("{PATH}/{name}"), json!({ "name": name, "loadPerS": 1 })).expect(200);
    }
    eventually("lower shares", || {
        host.decisions("a").iter().any(|decision| decision["reason"] == "lower")
            && host.rest.get(PATH)["allocated"].as_f64().unwrap() < 0.25
    });
}

#[test]
fn supervisor_and_its_instances_have_tokens_of_their_own() {
    const READER: &str = "reader-reader-reader-1";
    const WRITER: &str = "control-control-control";
    const OF_INSTANCES: &str = "instance-instance-inst";
    let of_host = File::new("host-tokens", format!("read {READER}\ncontrol {WRITER}\n").as_bytes());
    let of_instances = File::new("instance-tokens", format!("control {OF_INSTANCES}\n").as_bytes());
    let options = ["--allow-load", "--rest-tokens", of_host.name()];
    let of_each = ["--", "--rest-tokens", of_instances.name()];
    let host = Host::start(&[&options[..], &of_each[..]].concat());
    let definition = |weight: u32| json!({ "name": "a", "loadPerS": 10, "weight": weight });
    let ask = |token: Option<&str>, method: &str, path: &str, body: Option<Value>| {
        request_as(token, host.rest, method, path, body)
    };
    // without a token, with a wrong one, with one of the instances, and with one that may only read
    for token in [None, Some("stranger-stranger-strange"), Some(OF_INSTANCES)] {
        for (method, path, body) in
            [("GET", PATH, None), ("POST", PATH, Some(definition(1))), ("GET", "/rnis/v1/openapi.json", None)]
        {
            let refused = ask(token, method, path, body);
            refused.expect_problem(401, &[]);
            assert!(refused.header("www-authenticate").unwrap().starts_with("Bearer"), "{refused:?}");
        }
    }
    ask(Some(READER), "GET", PATH, None).expect(200);
    ask(Some(READER), "POST", PATH, Some(definition(1))).expect_problem(403, &[]);
    ask(Some(WRITER), "POST", PATH, Some(definition(1))).expect(201);
    let (one, state) = (format!("{PATH}/a"), format!("{PATH}/a/state"));
    eventually("the instance", || ask(Some(READER), "GET", &state, None).expect(200)["phase"] == "running");
    for path in [&one, &state, &format!("{one}/decisions")] {
        ask(None, "GET", path, None).expect_problem(401, &[]);
        ask(Some(READER), "GET", path, None).expect(200);
    }
    ask(Some(READER), "PUT", &one, Some(definition(2))).expect_problem(403, &[]);
    ask(Some(READER), "DELETE", &one, None).expect_problem(403, &[]);
    assert_eq!(ask(Some(WRITER), "PUT", &one, Some(definition(2))).expect(200)["weight"], 2);
    // the supervisor measures an instance that knows none of its tokens
    eventually("a measurement", || ask(Some(READER), "GET", &state, None).expect(200)["measured"].is_object());
    let running = ask(Some(READER), "GET", &state, None).expect(200);
    let rest = running["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches("/rni/v2");
    let rnis = Service { address: rest.parse().unwrap() };
    for token in [None, Some(READER), Some(WRITER)] {
        request_as(token, rnis, "GET", "/rni/v2/subscriptions", None).expect_problem(401, &[]);
    }
    request_as(Some(OF_INSTANCES), rnis, "GET", "/rni/v2/subscriptions", None).expect(200);
    // a token that is withdrawn is refused without a restart
    fs::write(of_host.name(), format!("control {WRITER}\n")).unwrap();
    eventually("the file is read again", || ask(Some(READER), "GET", PATH, None).status == 401);
    assert_eq!(ask(Some(WRITER), "DELETE", &one, None).status, 204);
    host.program.stop();
    // tokens that cannot be read are no permission for all
    let arguments = ["serve", "--instances", "--rest", "127.0.0.1:0", "--rest-tokens", "/nowhere/tokens"];
    run(PROGRAM, &arguments).complains(1, &["/nowhere/tokens"]);
    run(PROGRAM, &["serve", "--instances", "--rest", "0.0.0.0:0"]).complains(1, &["without authentication"]);
}
