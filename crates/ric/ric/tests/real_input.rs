//! The recorded messages of a node of another implementation, sent to a complete RIC over TCP.
//!
//! The recording is not ours to distribute: without a copy beside the project, these tests print NOT TESTED and pass.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ferric::StopHandle;
use ferric::e2::{Action, SubscriptionSpec};
use ferric::e2ap::{self, Pdu, RicSubscriptionRequest, Version};
use ferric::link::Address;
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};
use per::Gather;
use ric::RicConfig;

const PATIENCE: Duration = Duration::from_secs(60);
/// The recording, in the folder of a copy.
const RECORDING: &str = "vectors/flexric-e2ap-v2.json";

fn shared() -> Option<PathBuf> {
    let beside = |dir: &Path| dir.join("../shared");
    let is_there = |dir: &PathBuf| dir.join(RECORDING).is_file();
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(beside).find(is_there);
    if found.is_none() {
        println!("NOT TESTED: recorded messages of other implementations (no ../shared/{RECORDING})");
    }
    found
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The recorded messages of one kind that `sender` sent.
fn recorded(shared: &Path, pdu: &str, procedure: &str, sender: &str) -> Vec<Vec<u8>> {
    let text = std::fs::read_to_string(shared.join(RECORDING)).unwrap();
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let kinds = file["vectors"].as_array().unwrap().iter();
    let samples = kinds.filter(|kind| kind["pdu"] == pdu && kind["procedure"] == procedure);
    let samples = samples.flat_map(|kind| kind["samples"].as_array().unwrap());
    let found: Vec<_> = samples.filter(|s| s["sender"] == sender).map(|s| unhex(s["hex"].as_str().unwrap())).collect();
    assert!(!found.is_empty(), "no {pdu} {procedure} of {sender}");
    found
}

/// The log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(octets);
        Ok(octets.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// A complete RIC in a thread.
struct Running {
    e2: Address,
    xapp: Address,
    log: Log,
    stop: StopHandle,
    thread: Option<std::thread::JoinHandle<()>>,
}

fn start() -> Running {
    let any_port: Address = "tcp://127.0.0.1:0".parse().unwrap();
    let mut config = RicConfig::default();
    config.server.e2 = vec![any_port.clone().into()];
    config.server.xapp = Some(any_port);
    // these nodes do not answer requests, and the independent decoder is slow
    config.server.controller.subscription_timeout = PATIENCE;
    let mut server = ric::bind(config).unwrap().server;
    let (e2, xapp, stop) =
        (server.e2_addresses().next().unwrap().clone(), server.xapp_address().unwrap().clone(), server.stop_handle());
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let thread = std::thread::spawn(move || tracing::subscriber::with_default(subscriber, || server.run().unwrap()));
    Running { e2, xapp, log, stop, thread: Some(thread) }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the server never panics");
    }
}

/// A node's connection.
struct Node(TcpStream);

impl Node {
    fn connect(address: &Address) -> Node {
        let stream = TcpStream::connect(address.to_string().trim_start_matches("tcp://")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Node(stream)
    }

    fn send(&mut self, pdu: &[u8]) {
        self.0.write_all(&u32::try_from(pdu.len()).unwrap().to_be_bytes()).unwrap();
        self.0.write_all(pdu).unwrap();
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).unwrap();
        let mut pdu = vec![0; u32::from_be_bytes(length) as usize];
        self.0.read_exact(&mut pdu).unwrap();
        pdu
    }
}

fn decoded(bytes: &[u8]) -> Pdu<'static> {
    let gather = Gather::new();
    let decoded = e2ap::decode(bytes, Version::V2_03, &gather).unwrap();
    assert!(decoded.unknown.is_empty());
    decoded.pdu.into_owned()
}

/// Checks a PDU with an independent decoder, if it is installed.
fn check_with_oracle(shared: &Path, pdu: &[u8]) {
    let python = std::env::home_dir().unwrap_or_default().join(".e2-oracle/bin/python");
    let oracle = shared.join("oracles/e2_oracle.py");
    if !python.exists() || !oracle.exists() {
        return println!("NOT TESTED: comparison with an independent decoder (not installed)");
    }
    let hex: String = pdu.iter().map(|octet| format!("{octet:02x}")).collect();
    let output = Command::new(python).arg(oracle).args(["check", "e2ap-v02.03", &hex]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn recorded_node_sets_up() {
    let Some(shared) = shared() else { return };
    for request in recorded(&shared, "initiatingMessage", "E2setup", "emu_agent_gnb") {
        let Pdu::E2SetupRequest(asked) = decoded(&request) else { panic!("no setup request") };
        let ric = start();
        let mut node = Node::connect(&ric.e2);
        node.send(&request);
        let bytes = node.receive();
        let Pdu::E2SetupResponse(response) = decoded(&bytes) else { panic!("{:?}", decoded(&bytes)) };
        assert_eq!(response.transaction_id, asked.transaction_id);
        let offered: Vec<_> = asked.ran_functions_added.unwrap().iter().map(|f| f.id).collect();
        let accepted: Vec<_> = response.ran_functions_accepted.unwrap().iter().map(|f| f.id).collect();
        assert_eq!(accepted, offered);
        assert_eq!(response.ran_functions_rejected, None);
        let components =
            |items: usize| assert_eq!(response.component_config_addition_ack.as_ref().unwrap().len(), items);
        components(asked.component_config_addition.unwrap().len());
        check_with_oracle(&shared, &bytes);

        // the response does not wait for the log
        let line = "up: KPM v2.03, RC v1.03, MAC, RLC, PDCP, SLICE, TC, GTP; E2AP 2.03";
        testkit::eventually("the functions of the node are logged", || ric.log.text().contains(line));
        let log = ric.log.text();
        assert!(!log.contains("cannot decode") && !log.contains("cannot be decoded"), "{log}");
    }
}

#[test]
fn recorded_subscription_is_encoded_identically() {
    let Some(shared) = shared() else { return };
    let setup = recorded(&shared, "initiatingMessage", "E2setup", "emu_agent_gnb").remove(0);
    let ric = start();
    let mut node = Node::connect(&ric.e2);
    node.send(&setup);
    node.receive();
    let mut xapp = Xapp::connect(&ric.xapp, "real input", XappConfig::default()).unwrap();
    let begun = Instant::now();
    while xapp.nodes().count() == 0 {
        assert!(begun.elapsed() < PATIENCE);
        xapp.poll(Some(Duration::from_millis(50)), |_, _| ()).unwrap();
    }
    let (name, offered) = {
        let node = xapp.nodes().next().unwrap();
        (node.id, node.functions.iter().map(|f| f.id).collect::<Vec<_>>())
    };
    let mut compared = 0;
    for recorded in recorded(&shared, "initiatingMessage", "RICsubscription", "nearRT-RIC") {
        let Pdu::RicSubscriptionRequest(theirs) = decoded(&recorded) else { panic!("no subscription request") };
        if !offered.contains(&theirs.ran_function_id) {
            continue; // of another node
        }
        let actions = theirs.details.actions.iter().map(|action| Action {
            id: action.id,
            kind: action.kind,
            definition: action.definition.as_ref().map(|d| d.to_cow().into_owned()),
            subsequent: action.subsequent_action,
        });
        let spec = SubscriptionSpec {
            event_trigger: theirs.details.event_trigger_definition.to_cow().into_owned(),
            actions: actions.collect(),
        };
        xapp.commands().subscribe(name, theirs.ran_function_id, spec);
        let refused = |event: XappEvent<'_>| {
            assert!(!matches!(event, XappEvent::Request(RequestEvent::SubscriptionFailed { .. })), "{event:?}")
        };
        xapp.poll(Some(Duration::ZERO), |event, _| refused(event)).unwrap();
        let ours = node.receive();
        // each RIC assigns its own request ids
        let Pdu::RicSubscriptionRequest(request) = decoded(&ours) else { panic!("{:?}", decoded(&ours)) };
        let mut renamed = RicSubscriptionRequest { request_id: theirs.request_id, ..request };
        // the other RIC uses criticality reject for each action (IE 19), E2AP (v03.01 9.3.3) has ignore
        renamed.details.actions = renamed.details.actions.marked(e2ap::Criticality::Reject);
        let mut bytes = Vec::new();
        e2ap::encode(&renamed, Version::V2_03, &mut bytes).unwrap();
        assert!(bytes == recorded, "{bytes:02x?} is not {recorded:02x?}");
        check_with_oracle(&shared, &ours);
        compared += 1;
    }
    assert!(compared >= 5, "{compared} requests of this node");
}
