//! A1 policies over RMR: a RIC with REST for a non-RT RIC, xApps that take policies, and an unmodified xApp of `ricxappframe`.
//!
//! `FERRIC_RICXAPPFRAME_PYTHON` names a Python interpreter that has `ricxappframe`; scripts/northbound has one. Without it, the
//! last test says what it did not test.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use ferric::link::Address;
use ric::RicConfig;
use ric::oran_host::{Commands, RmrEntry};
use rmr::{Header, MessageType};
use serde_json::{Value, json};
use system_tests::rmr_peer::{Connection, Received, SILENCE};
use system_tests::{TestRic, eventually, log};
use testkit::c_program::library_folder;
use testkit::http::Service;

const TYPE: &str = "/A1-P/v2/policytypes/20008";

struct Host {
    ric: TestRic,
    rmr: SocketAddr,
    /// The REST interfaces of the platform.
    platform: Service,
}

impl Host {
    /// A RIC with a policy type.
    fn start(adapt: impl FnOnce(&mut RicConfig)) -> Host {
        let (ric, rmr, platform) = TestRic::with_oran_host(adapt);
        let Address::Tcp { host, port } = rmr else { panic!("{rmr}") };
        let host = Host { ric, rmr: SocketAddr::new(host.parse().unwrap(), port), platform };
        let policy_type = json!({
            "name": "steering", "description": "thresholds", "policy_type_id": 20008,
            "create_schema": {
                "type": "object", "properties": { "threshold": { "type": "integer" } }, "required": ["threshold"],
            },
        });
        host.ric.rest.request("PUT", TYPE, policy_type).expect(201);
        host
    }

    fn put(&self, policy: &str, threshold: u32) {
        let body = json!({ "threshold": threshold });
        self.ric.rest.request("PUT", &format!("{TYPE}/policies/{policy}"), body).expect(202);
    }

    fn delete(&self, policy: &str) {
        self.ric.rest.request("DELETE", &format!("{TYPE}/policies/{policy}"), None).expect(202);
    }

    #[track_caller]
    fn await_status(&self, policy: &str, status: &str) {
        let path = format!("{TYPE}/policies/{policy}/status");
        self.ric.rest.eventually(&path, |document| document["enforceStatus"] == status);
    }
}

fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = listener.local_addr().unwrap().to_string();
    (listener, endpoint)
}

fn route(record: String) -> impl FnOnce(&mut RicConfig) {
    move |config| config.oran.rmr_routes.push(record)
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The next policy that arrives, among health checks.
fn policy(connection: &mut Connection) -> Value {
    loop {
        let Received { kind, subscription_id, payload, .. } = connection.receive();
        match kind {
            MessageType::A1_POLICY_REQUEST => {
                assert_eq!(subscription_id, 20008, "it is the policy type");
                return serde_json::from_slice(&payload).unwrap();
            }
            MessageType::HEALTH_CHECK_REQUEST => {}
            other => panic!("{other}"),
        }
    }
}

fn request(operation: &str, policy: &str, threshold: u32) -> Value {
    json!({
        "operation": operation, "policy_type_id": 20008, "policy_instance_id": policy, "payload": { "threshold": threshold },
    })
}

fn send(connection: &mut Connection, kind: MessageType, payload: &[u8]) {
    let source = "127.0.0.1:4560";
    connection.send(&Header { kind, source, source_address: source, ..Header::default() }, payload);
}

fn answer(connection: &mut Connection, policy: &str, status: &str) {
    let document =
        json!({ "policy_type_id": 20008, "policy_instance_id": policy, "handler_id": "ts", "status": status });
    send(connection, MessageType::A1_POLICY_RESPONSE, document.to_string().as_bytes());
}

#[test]
fn policy_goes_to_the_xapps_that_the_route_table_has_and_their_answers_are_its_status() {
    let ((first, of_first), (second, of_second)) = (listener(), listener());
    let host = Host::start(route(format!("mse|20010|20008|{of_first};{of_second}")));
    host.put("one", 5);
    let [mut first, mut second] = [first, second].map(|listener| Connection(listener.accept().unwrap().0));
    for connection in [&mut first, &mut second] {
        assert_eq!(policy(connection), request("CREATE", "one", 5));
    }
    host.await_status("one", "NOT_ENFORCED");
    // on the connection of the RIC, as an xApp returns it to its sender, with octets of zero behind it
    let document = json!({ "policy_type_id": 20008, "policy_instance_id": "one", "handler_id": "ts", "status": "OK" });
    send(&mut first, MessageType::A1_POLICY_RESPONSE, format!("{document}\0\0").as_bytes());
    host.await_status("one", "ENFORCED");
    host.put("one", 6);
    assert_eq!(policy(&mut second), request("UPDATE", "one", 6));
    host.await_status("one", "NOT_ENFORCED");
    // and on a connection of its own, by the route table
    let mut own = Connection::open(host.rmr);
    answer(&mut own, "one", "OK");
    host.await_status("one", "ENFORCED");
    answer(&mut own, "one", "ERROR");
    host.await_status("one", "NOT_ENFORCED");
    host.delete("one");
    assert_eq!(policy(&mut second), request("DELETE", "one", 6));
    answer(&mut second, "one", "DELETED");
    send(&mut own, MessageType::A1_POLICY_QUERY, b"{\"policy_type_id\":20008}");
    assert!(own.receive_within(SILENCE).is_none(), "there are no policies");
}

#[test]
fn policy_waits_for_its_xapp_and_the_newest_counts() {
    let port = free_port();
    let host = Host::start(route(format!("mse|20010|20008|127.0.0.1:{port}")));
    for threshold in 1..=3 {
        host.put("one", threshold);
    }
    host.put("two", 1);
    host.delete("two");
    host.put("three", 1);
    eventually("the endpoint is tried", || log().contains(&format!("127.0.0.1:{port} does not receive over RMR")));
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let mut connection = Connection(listener.accept().unwrap().0);
    let expected = [request("CREATE", "one", 3), request("CREATE", "three", 1)];
    assert_eq!([policy(&mut connection), policy(&mut connection)], expected);
}

#[test]
fn xapp_without_a_route_asks_for_policies() {
    let host = Host::start(|_| ());
    host.put("one", 5);
    host.put("two", 6);
    let mut connection = Connection::open(host.rmr);
    send(&mut connection, MessageType::A1_POLICY_QUERY, b"{\"policy_type_id\":20008}\0");
    let expected = [request("CREATE", "one", 5), request("CREATE", "two", 6)];
    assert_eq!([policy(&mut connection), policy(&mut connection)], expected);
    // each answer is all policies of a type: more than some queries are dropped
    for _ in 0..40 {
        send(&mut connection, MessageType::A1_POLICY_QUERY, b"{\"policy_type_id\":20008}");
    }
    let answers = std::iter::from_fn(|| connection.receive_within(SILENCE)).count();
    assert!((2..=32).contains(&answers), "{answers} messages for 40 queries");
    eventually("it is logged", || log().contains("sends more than 4 per second"));
}

#[test]
fn message_that_lies_changes_nothing() {
    let host = Host::start(|_| ());
    host.put("one", 5);
    let mut connection = Connection::open(host.rmr);
    for payload in [
        &b""[..],
        b"[]",
        b"{\"policy_type_id\":20008}",
        b"\xff\xfe",
        b"{\"policy_type_id\":1,\"policy_instance_id\":\"one\",\"handler_id\":\"x\",\"status\":\"OK\"}",
        b"{\"policy_type_id\":20008,\"policy_instance_id\":\"none\",\"handler_id\":\"x\",\"status\":\"OK\"}",
        b"{\"policy_type_id\":20008,\"policy_instance_id\":\"one\",\"handler_id\":\"\",\"status\":\"OK\"}",
        b"{\"policy_type_id\":20008,\"policy_instance_id\":\"one\",\"handler_id\":\"x\",\"status\":\"MAYBE\"}",
    ] {
        send(&mut connection, MessageType::A1_POLICY_RESPONSE, payload);
    }
    for payload in [&b"{\"policy_type_id\":1}"[..], b"{}", &[b'['; 100_000]] {
        send(&mut connection, MessageType::A1_POLICY_QUERY, payload);
    }
    // a policy is not for the RIC
    send(&mut connection, MessageType::A1_POLICY_REQUEST, request("CREATE", "one", 1).to_string().as_bytes());
    assert!(connection.receive_within(SILENCE).is_none());
    host.await_status("one", "NOT_ENFORCED");
    for line in ["an answer about a policy is dropped: ", "a query of policies is dropped: ", "has no route here"] {
        eventually(line, || log().contains(line));
    }
}

#[test]
fn answers_of_a_host_are_limited() {
    let host = Host::start(|_| ());
    host.put("one", 5);
    let mut connection = Connection::open(host.rmr);
    for _ in 0..3000 {
        answer(&mut connection, "one", "OK");
        answer(&mut connection, "one", "ERROR");
    }
    let line = "an answer about a policy is dropped: its host sends more than 1024 per second";
    eventually("it is logged", || log().contains(line));
}

#[test]
fn xapp_that_no_rule_names_may_use_no_service() {
    let peer = "192.0.2.7".parse().unwrap();
    let rules = vec![RmrEntry { peer, rights: Arc::default() }];
    let host = Host::start(|config| config.oran.rights = Some(rules));
    host.put("one", 5);
    let mut connection = Connection::open(host.rmr);
    let alarm = json!({
        "managedObjectId": "RIC", "applicationId": "stranger", "specificProblem": 8008, "perceivedSeverity": "MAJOR",
        "additionalInfo": "", "identifyingInfo": "", "AlarmAction": "RAISE", "AlarmTime": 0,
    });
    send(&mut connection, MessageType::ALARM, alarm.to_string().as_bytes());
    answer(&mut connection, "one", "OK");
    send(&mut connection, MessageType::A1_POLICY_QUERY, b"{\"policy_type_id\":20008}");
    let job = json!({ "job-id": "1", "eiTypeId": "load", "jobDefinition": {} }).to_string();
    for (request, payload, response) in [
        (MessageType::A1_EI_QUERY_ALL, "", MessageType::A1_EI_QUERY_ALL_RESPONSE),
        (MessageType::A1_EI_CREATE_JOB, &*job, MessageType::A1_EI_CREATE_JOB_RESPONSE),
    ] {
        send(&mut connection, request, payload.as_bytes());
        // the query of policies has no answer
        let received = connection.receive();
        let refusal: Value = serde_json::from_slice(&received.payload).unwrap();
        assert_eq!((received.kind, &refusal["status"]), (response, &json!(403)), "{refusal}");
    }
    for line in ["an alarm is dropped", "an answer about a policy is dropped", "a query of policies is dropped"] {
        eventually(line, || log().contains(&format!("{line}: no `[[xapp_rights]]` names the xApp at 127.0.0.1:4560")));
    }
    host.await_status("one", "NOT_ENFORCED");
    assert_eq!(host.platform.get("/ric/v1/alarms/active"), json!([]));
}

#[test]
fn route_to_the_ric_itself_is_none() {
    let port = free_port();
    let loops = [format!("mse|20010|20008|127.0.0.1:{port}"), format!("mse|20011|-1|127.0.0.1:{port}")];
    let host = Host::start(move |config| {
        config.oran.rmr = Some(format!("tcp://127.0.0.1:{port}").parse().unwrap());
        config.oran.rmr_routes.extend(loops);
    });
    host.put("one", 5);
    eventually("the policy has no route", || log().contains("no route leads to an xApp for policies of type 20008"));
    assert_eq!(host.platform.get("/ric/v1/endpoints"), json!([]), "the RIC does not connect to itself");
}

#[test]
fn registered_xapp_gets_policies_and_route_tables_that_follow() {
    let host = Host::start(|_| ());
    let (xapp, endpoint) = listener();
    let mut reader = Connection::open(host.rmr);
    send(&mut reader, MessageType::TABLE_REQUEST, b"reader:4560 ts=1\n\0");
    let table = |reader: &mut Connection| {
        let table = reader.receive();
        assert_eq!(table.kind, MessageType::TABLE_DATA);
        String::from_utf8(table.payload).unwrap()
    };
    let before = table(&mut reader);
    for kind in [20011, 20012] {
        assert!(before.contains(&format!("mse|{kind}|-1|{}\n", host.rmr)), "{before}");
    }
    let config = json!({ "rmr": { "rxMessages": ["30002"], "policies": [20008] } }).to_string();
    let registration = json!({
        "appName": "ts", "appInstanceName": "ts", "httpEndpoint": "127.0.0.1:8080", "rmrEndpoint": endpoint, "config": config,
    });
    host.platform.request("POST", "/ric/v1/register", registration).expect(201);
    assert!(table(&mut reader).contains(&format!("mse|30002|-1|{endpoint}\n")));
    host.put("one", 5);
    let mut connection = Connection(xapp.accept().unwrap().0);
    assert_eq!(policy(&mut connection), request("CREATE", "one", 5));
    let gone = json!({ "appName": "ts", "appInstanceName": "ts" });
    assert_eq!(host.platform.request("POST", "/ric/v1/deregister", gone).status, 204);
    assert!(!table(&mut reader).contains("30002"));
    host.put("two", 5);
    assert!(connection.is_closed_after_messages(), "it has deregistered");
    // it is not one that cannot be reached
    host.platform.eventually("/ric/v1/endpoints", |endpoints| *endpoints == json!([]));
}

#[test]
fn started_xapp_is_asked_for_its_health_and_gets_the_policies_of_its_descriptor() {
    let (xapp, endpoint) = listener();
    let port = xapp.local_addr().unwrap().port();
    let commands = "[[xapp]]\nname = \"hw\"\ncommand = [\"/bin/sleep\", \"1000\"]\n";
    let host = Host::start(move |config| {
        config.oran.commands = Some(Commands::parse(commands, Path::new("/")).unwrap());
    });
    let descriptor = json!({
        "xapp_name": "hw", "version": "1.0.0",
        "messaging": { "ports": [{ "name": "rmr-data", "port": port, "policies": [20008] }] },
    });
    // operators find management beside the other resources
    let rest = &host.ric.rest;
    rest.request("POST", "/ric/v1/xapps", json!({ "xappName": "hw", "descriptor": descriptor })).expect(201);
    let mut connection = Connection(xapp.accept().unwrap().0);
    assert_eq!(connection.receive().kind, MessageType::HEALTH_CHECK_REQUEST);
    assert_eq!(rest.get("/ric/v1/xapps/hw")["instances"][0]["isWell"], Value::Null, "it has not answered");
    for (answer, is_well) in [(&b"OK\n"[..], true), (b"ERR no data\n", false)] {
        send(&mut connection, MessageType::HEALTH_CHECK_RESPONSE, answer);
        rest.eventually("/ric/v1/xapps/hw", |xapp| xapp["instances"][0]["isWell"] == is_well);
    }
    eventually("it is logged", || log().contains(&format!("xApp at {endpoint}: it is not well: ERR no data")));
    host.put("one", 5);
    assert_eq!(policy(&mut connection), request("CREATE", "one", 5));
    assert_eq!(rest.request("DELETE", "/ric/v1/xapps/hw", None).status, 204);
    assert_eq!(rest.get("/ric/v1/xapps"), json!([]));
}

/// A program that does not outlive a test that fails.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended
        let _ = self.0.wait();
    }
}

#[test]
fn unmodified_xapp_of_ricxappframe_registers_and_takes_policies() {
    let Some(python) = std::env::var_os("FERRIC_RICXAPPFRAME_PYTHON") else {
        eprintln!(
            "NOT TESTED: policies for an xApp of ricxappframe: FERRIC_RICXAPPFRAME_PYTHON does not name a Python that has it; \
             scripts/northbound does"
        );
        return;
    };
    let host = Host::start(|_| ());
    host.put("one", 5);
    let (port, http) = (free_port(), free_port());
    let config = json!({
        "name": "ts", "xapp_name": "ts", "version": "1.0.0",
        "messaging": { "ports": [{
            "name": "rmr-data", "port": port, "rxMessages": ["A1_POLICY_REQ"], "txMessages": ["A1_POLICY_RESP"],
            "policies": [20008],
        }] },
    });
    let file = std::env::temp_dir().join(format!("ferric-policy-xapp-{}.json", std::process::id()));
    std::fs::write(&file, config.to_string()).unwrap();
    let library = library_folder();
    assert!(library.join("librmr_si.so").is_file(), "{}", library.display());
    let xapp = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/policy_xapp.py"))
        .env("LD_LIBRARY_PATH", library)
        .env("RMR_RTG_SVC", host.rmr.to_string())
        .env("RMR_CTL_PORT", free_port().to_string())
        .env("RMR_SRC_ID", "127.0.0.1")
        .env("XAPP_RMR_PORT", port.to_string())
        .env("CONFIG_FILE", &file)
        .env("HOSTNAME", "ts")
        .env("SERVICE_RICXAPP_TS_HTTP_PORT", format!("tcp://127.0.0.1:{http}"))
        .env("SERVICE_RICXAPP_TS_RMR_PORT", format!("tcp://127.0.0.1:{port}"))
        // the framework registers at a host name of Kubernetes
        .env("http_proxy", format!("http://{}", host.platform.address))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut xapp = Program(xapp);
    let mut lines = BufReader::new(xapp.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut next = |start: &str| {
        let line = lines.find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no line {start}\n{}", log()));
        line[start.len()..].to_owned()
    };
    let mut policy = || serde_json::from_str::<Value>(&next("policy 20008 ")).unwrap();
    // it has asked for what was there before it
    assert_eq!(policy(), request("CREATE", "one", 5));
    host.await_status("one", "ENFORCED");
    host.platform.eventually("/ric/v1/xapps", |xapps| xapps[0]["instances"][0]["policies"] == json!([20008]));
    host.put("two", 6);
    assert_eq!(policy(), request("CREATE", "two", 6));
    host.await_status("two", "ENFORCED");
    host.delete("two");
    assert_eq!(policy(), request("DELETE", "two", 6));
    next("deregistered True");
    assert!(xapp.0.wait().unwrap().success(), "{}", log());
    assert_eq!(host.platform.get("/ric/v1/xapps"), json!([]));
    std::fs::remove_file(&file).unwrap();
}
