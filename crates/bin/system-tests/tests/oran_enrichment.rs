//! A1 for xApps: enrichment information over RMR, for an unmodified xApp of `ricxappframe` too, and policies and enrichment information
//! over the RIC-xApp protocol. The non-RT RIC is a service of our own with the interface of the O-RAN SC's information coordinator
//! service.
//!
//! `FERRIC_RICXAPPFRAME_PYTHON` names a Python interpreter that has `ricxappframe`; scripts/northbound has one. Without it, one test
//! says what it did not test.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ferric::link::Address;
use ferric::xapp::{A1Policy, EiEvent, Error, Feed, PolicyOperation, Ric};
use ric::RicConfig;
use rmr::{Header, MessageType, NO_SUBSCRIPTION};
use serde_json::{Value, json};
use system_tests::rmr_peer::{Connection, Received, SILENCE};
use system_tests::{PATIENCE, TestRic, eventually, log};
use testkit::c_program::library_folder;
use testkit::http::Service;
use testkit::non_rt_ric::{Mood, NonRtRic};

const TYPE: &str = "/A1-P/v2/policytypes/20008";

fn non_rt_ric() -> NonRtRic {
    let schema = json!({ "type": "object", "properties": { "cell": { "type": "string" } }, "required": ["cell"] });
    NonRtRic::with_types(&[("load", json!({ "eiJobDefinitionSchema": schema }))])
}

struct Host {
    ric: TestRic,
    rmr: SocketAddr,
    platform: Service,
    non_rt_ric: NonRtRic,
}

impl Host {
    fn start() -> Host {
        let non_rt_ric = non_rt_ric();
        let url = non_rt_ric.url();
        let (ric, rmr, platform) = TestRic::with_oran_host(|config| config.non_rt_ric = Some(ric::NonRtRic::new(&url)));
        let Address::Tcp { host, port } = rmr else { panic!("{rmr}") };
        Host { ric, rmr: SocketAddr::new(host.parse().unwrap(), port), platform, non_rt_ric }
    }

    fn result(&self, job: &str, result: &Value, status: u16) {
        let path = format!("/A1-EI/v1/eijobs/{job}/result");
        assert_eq!(self.ric.rest.request("POST", &path, result.clone()).status, status, "{}", log());
    }
}

/// An xApp: where it receives, and a connection on which it asks.
struct Xapp {
    listener: TcpListener,
    asks: Connection,
    source: String,
}

impl Xapp {
    fn new(host: &Host) -> Xapp {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let source = listener.local_addr().unwrap().to_string();
        Xapp { listener, asks: Connection::open(host.rmr), source }
    }

    fn send(&mut self, kind: MessageType, payload: &[u8]) {
        let header = Header {
            kind,
            source: &self.source,
            source_address: &self.source,
            transaction: b"transaction-1",
            ..Header::default()
        };
        self.asks.send(&header, payload);
    }

    fn request(&mut self, request: &Value) -> Value {
        self.send(MessageType::A1_EI_CREATE_JOB, request.to_string().as_bytes());
        let answer = self.asks.receive();
        assert_eq!(answer.kind, MessageType::A1_EI_CREATE_JOB_RESPONSE);
        assert!(answer.transaction.starts_with(b"transaction-1"), "{answer:?}");
        serde_json::from_slice(&answer.payload).unwrap()
    }

    fn accept(&self) -> Connection {
        Connection(self.listener.accept().unwrap().0)
    }
}

/// The next message that arrives, among health checks.
fn next(connection: &mut Connection) -> Received {
    loop {
        let received = connection.receive();
        if received.kind != MessageType::HEALTH_CHECK_REQUEST {
            return received;
        }
    }
}

fn job(id: impl Into<Value>, definition: Value) -> Value {
    json!({ "job-id": id.into(), "eiTypeId": "load", "jobOwner": "me", "jobDefinition": definition })
}

#[test]
fn result_goes_to_the_xapp_of_its_job_over_rmr() {
    let host = Host::start();
    let (mut first, mut second) = (Xapp::new(&host), Xapp::new(&host));
    first.send(MessageType::A1_EI_QUERY_ALL, b"");
    let types = first.asks.receive();
    assert_eq!((types.kind, types.subscription_id), (MessageType::A1_EI_QUERY_ALL_RESPONSE, NO_SUBSCRIPTION));
    assert_eq!(types.payload, b"[\"load\"]");
    // the platform's mediator in Go takes a number, the one in Python a text
    assert_eq!(first.request(&job(7, json!({ "cell": "a" }))), json!({ "ei_job_id": "7" }));
    assert_eq!(second.request(&job("other", json!({ "cell": "b" }))), json!({ "ei_job_id": "other" }));
    let [mut of_first, mut of_second] = [first.accept(), second.accept()];
    host.result("7", &json!({ "load": 5 }), 204);
    let result = next(&mut of_first);
    assert_eq!((result.kind, result.subscription_id), (MessageType::A1_EI_DATA_DELIVERY, 7), "{result:?}");
    let document: Value = serde_json::from_slice(&result.payload).unwrap();
    assert_eq!(document, json!({ "ei_job_id": "7", "payload": { "load": 5 } }));
    host.result("other", &json!([1, 2]), 204);
    let result = next(&mut of_second);
    assert_eq!(result.subscription_id, NO_SUBSCRIPTION);
    let document: Value = serde_json::from_slice(&result.payload).unwrap();
    assert_eq!(document, json!({ "ei_job_id": "other", "payload": [1, 2] }));
    assert!(of_first.receive_within(SILENCE).is_none(), "it is not its result");
    let status = json!({ "eiJobStatus": "DISABLED" });
    assert_eq!(host.ric.rest.request("POST", "/A1-EI/v1/eijobs/7/status", status).status, 204);
    let status = next(&mut of_first);
    assert_eq!(status.kind, MessageType::A1_EI_CREATE_JOB_RESPONSE);
    assert_eq!(first.request(&json!({ "job-id": 7, "operation": "DELETE" }))["operation"], "DELETE");
    eventually("the job is deleted", || !host.non_rt_ric.jobs().contains_key("7"));
    host.result("7", &json!({ "load": 5 }), 404);
    assert!(of_first.is_closed_after_messages(), "nothing is sent to it any more");
    let endpoints = host.platform.get("/ric/v1/endpoints");
    assert!(!endpoints.to_string().contains(&first.source), "{endpoints}");
}

#[test]
fn refusals_are_answered_over_rmr() {
    let host = Host::start();
    let mut xapp = Xapp::new(&host);
    let violation = xapp.request(&job("1", json!({})));
    assert_eq!((&violation["job-id"], &violation["status"]), (&json!("1"), &json!(400)), "{violation}");
    assert_eq!(xapp.request(&json!({ "job-id": "1", "eiTypeId": "none", "jobDefinition": {} }))["status"], 404);
    assert_eq!(xapp.request(&json!([]))["status"], 400);
    assert_eq!(xapp.request(&json!({ "job-id": "1", "operation": "DELETE" }))["status"], 404);
    // where would results go?
    xapp.source = "nowhere".to_owned();
    let refusal = xapp.request(&job("1", json!({ "cell": "a" })));
    assert!(refusal["detail"].as_str().unwrap().contains("does not state the port"), "{refusal}");
    // another one, as the RIC has connected to the first while it did not know whether it has a job
    let mut xapp = Xapp::new(&host);
    host.non_rt_ric.set_mood(Mood::Status(503));
    let refusal = xapp.request(&job("2", json!({ "cell": "a" })));
    assert_eq!((&refusal["status"], &refusal["retrying"]), (&json!(503), &json!(true)), "{refusal}");
    host.non_rt_ric.set_mood(Mood::Well);
    let mut receives = xapp.accept();
    let told = next(&mut receives);
    assert_eq!(told.kind, MessageType::A1_EI_CREATE_JOB_RESPONSE);
    assert_eq!(serde_json::from_slice::<Value>(&told.payload).unwrap(), json!({ "ei_job_id": "2" }));
    // more requests than a host may send are dropped, and logged
    for _ in 0..100 {
        xapp.send(MessageType::A1_EI_QUERY_ALL, b"");
    }
    let answers = std::iter::from_fn(|| xapp.asks.receive_within(SILENCE)).count();
    assert!((1..60).contains(&answers), "{answers} answers to 100 queries");
    eventually("it is logged", || log().contains("its host sends more than 16 per second"));
}

#[test]
fn xapp_without_a_non_rt_ric_is_told_so() {
    let (_ric, rmr, _) = TestRic::with_oran_host(|_| ());
    let Address::Tcp { host, port } = rmr else { panic!("{rmr}") };
    let mut connection = Connection::open(SocketAddr::new(host.parse().unwrap(), port));
    for (kind, payload) in
        [(MessageType::A1_EI_QUERY_ALL, &b""[..]), (MessageType::A1_EI_CREATE_JOB, b"{\"job-id\":1}")]
    {
        connection.send(&Header { kind, source: "x:4560", source_address: "x:4560", ..Header::default() }, payload);
        let answer: Value = serde_json::from_slice(&connection.receive().payload).unwrap();
        assert_eq!(answer["status"], 501, "{answer}");
    }
}

#[test]
fn jobs_over_rmr_survive_a_restart_of_the_ric() {
    let file = std::env::temp_dir().join(format!("ferric-oran-enrichment-{}.redb", std::process::id()));
    let _ = std::fs::remove_file(&file); // of an earlier run
    let non_rt_ric = non_rt_ric();
    let url = non_rt_ric.url();
    let start = || {
        let (file, url) = (file.clone(), url.clone());
        let (ric, rmr, platform) = TestRic::with_oran_host(move |config: &mut RicConfig| {
            config.non_rt_ric = Some(ric::NonRtRic::new(&url));
            config.sdl =
                Some(sdl::Config { file: Some(file), ..sdl::Config::new("tcp://127.0.0.1:0".parse().unwrap()) });
        });
        let Address::Tcp { host, port } = rmr else { panic!("{rmr}") };
        (ric, SocketAddr::new(host.parse().unwrap(), port), platform)
    };
    let (ric, rmr, platform) = start();
    let host = Host { ric, rmr, platform, non_rt_ric };
    let mut xapp = Xapp::new(&host);
    assert_eq!(xapp.request(&job("1", json!({ "cell": "a" }))), json!({ "ei_job_id": "1" }));
    drop(xapp.accept());
    let Host { ric, non_rt_ric, .. } = host;
    drop(ric);
    let (ric, rmr, platform) = start();
    let host = Host { ric, rmr, platform, non_rt_ric };
    // the RIC connects to where its jobs' xApps are
    let mut receives = xapp.accept();
    eventually("the job has the address of the new RIC", || {
        let uri = host.non_rt_ric.jobs()["1"]["jobResultUri"].as_str().unwrap().to_owned();
        uri == format!("http://{}/A1-EI/v1/eijobs/1/result", host.ric.rest.address)
    });
    host.result("1", &json!({ "load": 5 }), 204);
    assert_eq!(next(&mut receives).kind, MessageType::A1_EI_DATA_DELIVERY);
    drop(host);
    std::fs::remove_file(&file).unwrap();
}

fn connect(ric: &TestRic, name: &str) -> Ric {
    Ric::options().address(ric.xapp.to_string()).name(name).connect().unwrap()
}

fn put_type(ric: &TestRic) {
    let policy_type = json!({
        "name": "steering", "description": "thresholds", "policy_type_id": 20008,
        "create_schema": { "type": "object", "properties": { "threshold": { "type": "integer" } } },
    });
    ric.rest.request("PUT", TYPE, policy_type).expect(201);
}

fn put(ric: &TestRic, policy: &str, threshold: u32) {
    ric.rest.request("PUT", &format!("{TYPE}/policies/{policy}"), json!({ "threshold": threshold })).expect(202);
}

#[track_caller]
fn await_status(ric: &TestRic, policy: &str, status: &str) {
    let path = format!("{TYPE}/policies/{policy}/status");
    ric.rest.eventually(&path, |document| document["enforceStatus"] == status);
}

#[track_caller]
fn policy(policies: &mut Feed<A1Policy>, operation: PolicyOperation, id: &str, json: &str) -> A1Policy {
    let policy = policies.next_within(PATIENCE).unwrap().unwrap();
    assert_eq!((policy.operation(), policy.id(), policy.json()), (operation, id, json));
    policy
}

#[test]
fn policies_reach_own_xapps_and_their_answers_are_the_status() {
    use PolicyOperation::{Create, Delete, Update};
    let ric = TestRic::start();
    let (first, second) = (connect(&ric, "first"), connect(&ric, "second"));
    // before there is such a type
    let mut of_second = second.a1_policies(20008).unwrap();
    put_type(&ric);
    put(&ric, "one", 5);
    policy(&mut of_second, Create, "one", "{\"threshold\":5}").refuse().unwrap();
    let mut of_first = first.a1_policies(20008).unwrap();
    await_status(&ric, "one", "NOT_ENFORCED");
    policy(&mut of_first, Create, "one", "{\"threshold\":5}").accept().unwrap();
    await_status(&ric, "one", "ENFORCED");
    put(&ric, "one", 6);
    policy(&mut of_second, Update, "one", "{\"threshold\":6}").accept().unwrap();
    policy(&mut of_first, Update, "one", "{\"threshold\":6}").refuse().unwrap();
    await_status(&ric, "one", "ENFORCED");
    // what an xApp has said ends with it
    second.close();
    await_status(&ric, "one", "NOT_ENFORCED");
    ric.rest.request("DELETE", &format!("{TYPE}/policies/one"), None).expect(202);
    policy(&mut of_first, Delete, "one", "{\"threshold\":6}").accept().unwrap();
    put(&ric, "two", 1);
    policy(&mut of_first, Create, "two", "{\"threshold\":1}").accept().unwrap();
    await_status(&ric, "two", "ENFORCED");
}

#[test]
fn xapp_has_results_of_its_jobs_over_the_ric_xapp_protocol() {
    let non_rt_ric = non_rt_ric();
    let url = non_rt_ric.url();
    let ric = TestRic::with(|config| config.non_rt_ric = Some(ric::NonRtRic::new(&url)));
    let (reader, other) = (connect(&ric, "reader"), connect(&ric, "other"));
    assert_eq!(reader.ei_types().unwrap(), ["load"]);
    let mut job = reader.ei_job("1", "load", "{\"cell\":\"a\"}").unwrap();
    let mut of_other = other.ei_job("2", "load", "{\"cell\":\"a\"}").unwrap();
    for job in [&mut job, &mut of_other] {
        assert_eq!(job.next_within(PATIENCE).unwrap(), Some(EiEvent::Established));
    }
    let shown = ric.rest.get("/A1-EI/v1/eijobs");
    assert_eq!(shown[0]["owners"], json!([{ "way": "xapp", "address": "reader" }]), "{shown}");
    let post = |path: &str, body: Value| ric.rest.request("POST", path, body).status;
    assert_eq!(post("/A1-EI/v1/eijobs/1/result", json!({ "load": 5 })), 204);
    assert_eq!(post("/A1-EI/v1/eijobs/1/status", json!({ "eiJobStatus": "DISABLED" })), 204);
    assert_eq!(job.next_within(PATIENCE).unwrap(), Some(EiEvent::Result("{\"load\":5}".into())));
    assert_eq!(job.next_within(PATIENCE).unwrap(), Some(EiEvent::Enabled(false)));
    assert!(of_other.try_next().unwrap().is_none(), "it is not its result");
    let mut refused = other.ei_job("1", "load", "{\"cell\":\"b\"}").unwrap();
    let event = refused.next_within(PATIENCE).unwrap();
    assert!(matches!(&event, Some(EiEvent::Refused { status: 409, is_retried: false, .. })), "{event:?}");
    assert!(matches!(other.ei_job("3", "load", "[]"), Err(Error::Invalid { .. })));
    drop(job);
    eventually("the job is deleted with its stream", || !non_rt_ric.jobs().contains_key("1"));
    // a session that ends leaves its jobs for a time: it may come back
    other.close();
    eventually("nobody takes results", || post("/A1-EI/v1/eijobs/2/result", json!(1)) == 503);
    let back = connect(&ric, "other");
    let mut of_other = back.ei_job("2", "load", "{\"cell\":\"a\"}").unwrap();
    assert_eq!(of_other.next_within(PATIENCE).unwrap(), Some(EiEvent::Established));
    assert_eq!(post("/A1-EI/v1/eijobs/2/result", json!(1)), 204);
    assert_eq!(of_other.next_within(PATIENCE).unwrap(), Some(EiEvent::Result("1".into())));
}

#[test]
fn own_xapp_is_told_what_the_ric_lacks() {
    let ric = TestRic::start();
    let xapp = connect(&ric, "x");
    let error = xapp.ei_types().unwrap_err();
    assert!(matches!(&error, Error::Service { detail, .. } if detail.contains("--non-rt-ric")), "{error}");
    let mut job = xapp.ei_job("1", "load", "{}").unwrap();
    let event = job.next_within(PATIENCE).unwrap();
    assert!(matches!(&event, Some(EiEvent::Refused { status: 501, .. })), "{event:?}");
}

#[test]
fn message_of_an_own_xapp_that_lies_changes_nothing() {
    let ric = TestRic::start();
    put_type(&ric);
    put(&ric, "one", 5);
    let address: Address = ric.xapp.clone();
    let mut liar = ferric::xapp::Xapp::connect(&address, "liar", Default::default()).unwrap();
    for (kind, document) in [
        (20011, &b""[..]),
        (20011, b"{\"policy_type_id\":1,\"policy_instance_id\":\"one\",\"status\":\"OK\"}"),
        (20011, b"{\"policy_type_id\":20008,\"policy_instance_id\":\"none\",\"status\":\"OK\"}"),
        (20011, b"{\"policy_type_id\":20008,\"policy_instance_id\":\"one\",\"status\":\"MAYBE\"}"),
        (20012, b"{\"policy_type_id\":\"x\"}"),
        (20012, &[b'['; 100_000]),
        (20015, b"nonsense"),
    ] {
        liar.commands().service(kind, document);
    }
    // in the name of another: its own counts
    liar.commands().service(
        20011,
        b"{\"policy_type_id\":20008,\"policy_instance_id\":\"one\",\"handler_id\":\"other\",\"status\":\"OK\"}",
    );
    liar.poll(Some(std::time::Duration::from_millis(100)), |_, _| ()).unwrap();
    await_status(&ric, "one", "ENFORCED");
    eventually("it is logged", || log().contains("a message of type 20012 of xApp liar is dropped"));
    drop(liar);
    await_status(&ric, "one", "NOT_ENFORCED");
}

/// A program that does not outlive a test that fails.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn unmodified_xapp_of_ricxappframe_has_enrichment_information() {
    let Some(python) = std::env::var_os("FERRIC_RICXAPPFRAME_PYTHON") else {
        eprintln!(
            "NOT TESTED: enrichment information for an xApp of ricxappframe: FERRIC_RICXAPPFRAME_PYTHON does not name a Python that has it; \
             scripts/northbound does"
        );
        return;
    };
    let host = Host::start();
    let library = library_folder();
    assert!(library.join("librmr_si.so").is_file(), "{}", library.display());
    let xapp = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/enrichment_xapp.py"))
        .env("LD_LIBRARY_PATH", library)
        .env("RMR_RTG_SVC", host.rmr.to_string())
        .env("RMR_CTL_PORT", free_port().to_string())
        .env("RMR_SRC_ID", "127.0.0.1")
        .env("XAPP_RMR_PORT", free_port().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut xapp = Program(xapp);
    let mut lines = BufReader::new(xapp.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut next = |start: &str| {
        let line = lines.find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no line {start}\n{}", log()));
        serde_json::from_str::<Value>(&line[start.len()..]).unwrap()
    };
    assert_eq!(next("types "), json!(["load"]));
    assert_eq!(next("job "), json!({ "ei_job_id": "101" }));
    assert_eq!(host.non_rt_ric.jobs()["101"]["jobOwner"], "enrichment-xapp");
    host.result("101", &json!({ "load": 5 }), 204);
    assert_eq!(next("delivery 101 "), json!({ "ei_job_id": "101", "payload": { "load": 5 } }));
    assert!(xapp.0.wait().unwrap().success(), "{}", log());
}
