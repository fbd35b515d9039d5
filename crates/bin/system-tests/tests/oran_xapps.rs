//! xApps of the O-RAN reference platform: over RMR and REST, with a RIC and an emulated RAN; and an unmodified xApp of
//! `ricxappframe`.
//!
//! `FERRIC_RICXAPPFRAME_PYTHON` names a Python interpreter that has `ricxappframe`; scripts/northbound has one. Without it, the
//! last test says what it did not test.

#[path = "oran_xapps/several.rs"]
mod several;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use e2sm::common::{PlmnIdentity, SNssai, Sst};
use e2sm::kpm::{self, MeasurementRequest, ReportRequest, Scope};
use e2sm::rc::{Control, ControlAction, SlicePrbQuota};
use ferric::e2ap::{
    Pdu, RanFunctionId, RicActionId, RicActionToBeSetup, RicActionType, RicControlAckRequest, RicControlRequest,
    RicRequestId, RicSubscriptionDeleteRequest, RicSubscriptionDetails, RicSubscriptionRequest, Version, decode,
};
use ferric::link::Address;
use per::Gather;
use ran::{RanConfig, Scenario};
use rmr::{Header, MessageType, NO_SUBSCRIPTION};
use serde_json::{Value, json};
use system_tests::rmr_peer::{Connection, Received, SILENCE};
use system_tests::{TestRan, TestRic, eventually, log};
use testkit::c_program::library_folder;
use testkit::http::Service;

/// The node of the emulated RAN, as xApps of the platform call it.
const NODE: &str = "gnb_001_001_000e00";
/// The version of E2AP of the emulated RAN.
const VERSION: Version = Version::V2_03;
struct Network {
    ric: TestRic,
    rmr: SocketAddr,
    rest: Service,
    ran: TestRan,
}

fn ran_config() -> RanConfig {
    RanConfig { scenario: Scenario::with_mixed_traffic(1, 2, 1), e2ap_version: VERSION, ..RanConfig::default() }
}

fn network() -> Network {
    let (ric, rmr, rest) = TestRic::with_oran_host(|_| ());
    let ran = TestRan::start(&ric.e2, ran_config());
    rest.eventually(&format!("/v1/nodeb/{NODE}"), |_| true);
    let Address::Tcp { host, port } = rmr else { panic!("{rmr}") };
    Network { ric, rmr: SocketAddr::new(host.parse().unwrap(), port), rest, ran }
}

impl Network {
    fn kpm(&self) -> Kpm {
        kpm(&self.rest)
    }
}

/// The RAN function of a service model of the node, with its definition.
fn function(rest: &Service, oid: &str) -> Option<(u16, Vec<u8>)> {
    let node = rest.get(&format!("/v1/nodeb/{NODE}"));
    let functions = node["gnb"]["ranFunctions"].as_array().unwrap();
    let function = functions.iter().find(|function| function["ranFunctionOid"] == oid)?;
    let digits = function["ranFunctionDefinition"].as_str().unwrap();
    let octets = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap());
    Some((function["ranFunctionId"].as_u64().unwrap() as u16, octets.collect()))
}

/// KPM of the node: its id, an event trigger of 50 ms, and an action for a measurement of the cell.
fn kpm(rest: &Service) -> Kpm {
    let (function, definition) = kpm::OIDS.iter().find_map(|oid| function(rest, oid)).expect("KPM");
    let revision = RanConfig::default().kpm_revision;
    let arena = e2sm::Arena::new();
    let definition = kpm::RanFunctionDefinition::decode(&definition, revision, &arena).unwrap();
    let request = ReportRequest {
        measurements: &[MeasurementRequest::named("DRB.UEThpDl")],
        granularity_period_ms: 50,
        reporting_period_ms: 50,
        scope: Scope::EveryUe(kpm::EveryUe::default()),
    };
    let plan = request.plan(&definition, revision).unwrap();
    let (mut trigger, mut action) = (Vec::new(), Vec::new());
    plan.trigger.encode(revision, &mut trigger).unwrap();
    plan.action.encode(revision, &mut action).unwrap();
    Kpm { function, trigger, action }
}

struct Kpm {
    function: u16,
    trigger: Vec<u8>,
    action: Vec<u8>,
}

impl Kpm {
    /// A request to subscribe, as the platform writes it.
    fn request(&self, xapp: &Xapp, instance: u16) -> Value {
        json!({
            "ClientEndpoint": { "Host": "127.0.0.1", "HTTPPort": xapp.http_port(), "RMRPort": xapp.rmr_port() },
            "Meid": NODE,
            "RANFunctionID": self.function,
            "SubscriptionDetails": [{
                "XappEventInstanceId": instance,
                "EventTriggers": self.trigger,
                "ActionToBeSetupList": [{
                    "ActionID": 1,
                    "ActionType": "report",
                    "ActionDefinition": self.action,
                    "SubsequentAction": { "SubsequentActionType": "continue", "TimeToWait": "w10ms" },
                }],
            }],
        })
    }
}

/// The listeners of an xApp.
struct Xapp {
    rmr: TcpListener,
    http: TcpListener,
}

impl Xapp {
    fn new() -> Xapp {
        Xapp { rmr: TcpListener::bind("127.0.0.1:0").unwrap(), http: TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    fn rmr_port(&self) -> u16 {
        self.rmr.local_addr().unwrap().port()
    }

    fn http_port(&self) -> u16 {
        self.http.local_addr().unwrap().port()
    }

    /// Waits for the connection of the RIC.
    fn accept(&self) -> Connection {
        Connection(self.rmr.accept().unwrap().0)
    }

    /// Waits for a notification, and answers it. Returns its path and document.
    fn notification(&self) -> (String, Value) {
        let (mut stream, _) = self.http.accept().unwrap();
        let mut octets = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let read = stream.read(&mut buffer).unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&octets));
            octets.extend_from_slice(&buffer[..read]);
            let text = String::from_utf8_lossy(&octets).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
            });
            if body.len() < length.unwrap() {
                continue;
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
            let path = head.split(' ').nth(1).unwrap().to_owned();
            return (path, serde_json::from_str(body).unwrap());
        }
    }

    /// Waits for the notification of a subscription that is active. Returns the subscription id of its indications.
    fn subscribed(&self, id: &Value, instance: u16) -> i32 {
        let (path, document) = self.notification();
        assert_eq!(path, "/ric/v1/subscriptions/response");
        assert_eq!(&document["SubscriptionId"], id);
        let outcome = &document["SubscriptionInstances"][0];
        assert_eq!(
            (&outcome["XappEventInstanceId"], &outcome["ErrorCause"]),
            (&json!(instance), &json!("")),
            "{document}"
        );
        i32::try_from(outcome["E2EventInstanceId"].as_i64().unwrap()).unwrap()
    }
}

/// The header of a message of an xApp.
fn header<'a>(kind: MessageType, source: &'a str) -> Header<'a> {
    Header { kind, meid: NODE, source, source_address: source, transaction: b"transaction", ..Header::default() }
}

/// Checks that a message is an indication of KPM of the node.
fn check_indication(message: &Received, subscription_id: i32) {
    assert_eq!(
        (message.kind, message.subscription_id, &*message.meid),
        (MessageType::INDICATION, subscription_id, NODE)
    );
    let gather = Gather::new();
    let Pdu::RicIndication(indication) = decode(&message.payload, VERSION, &gather).unwrap().pdu else {
        panic!("{message:?}")
    };
    assert_eq!(i32::from(indication.request_id.instance), subscription_id);
    let arena = e2sm::Arena::new();
    let octets = indication.message.to_cow();
    kpm::IndicationMessage::decode(&octets, RanConfig::default().kpm_revision, &arena).unwrap();
}

#[test]
fn nodes_are_listed_as_the_e2_manager_does() {
    let network = network();
    let nodes = network.rest.get("/v1/nodeb/states");
    let of_node = json!({
        "inventoryName": NODE,
        "globalNbId": { "plmnId": "00F110", "nbId": format!("{:022b}", 0xE00) },
        "connectionStatus": "CONNECTED",
    });
    assert_eq!(nodes, json!([of_node]));
    assert_eq!(network.rest.get("/v1/nodeb/ids"), nodes);
    assert_eq!(network.rest.get(&format!("/v1/nodeb/states/{NODE}")), of_node);
    let node = network.rest.get(&format!("/v1/nodeb/{NODE}"));
    assert_eq!((&node["ranName"], &node["nodeType"]), (&json!(NODE), &json!("GNB")));
    network
        .rest
        .request("GET", "/v1/nodeb/gnb_001_001_0", None)
        .expect_problem(404, &["there is no node `gnb_001_001_0`"]);
    drop(network.ran);
    network.rest.eventually("/v1/nodeb/states", |nodes| *nodes == json!([]));
}

#[test]
fn xapp_requests_a_route_table() {
    let network = network();
    let mut connection = Connection::open(network.rmr);
    let request = Header { subscription_id: 0, ..header(MessageType::TABLE_REQUEST, "xapp:4561") };
    connection.send(&request, b"xapp:4560 ts=1\n\0");
    let table = connection.receive();
    assert_eq!(table.kind, MessageType::TABLE_DATA);
    let mut reader = rmr::TableReader::new(vec!["xapp:4560".to_owned()]);
    let events = reader.read(&String::from_utf8(table.payload).unwrap());
    assert!(matches!(&events[..], [rmr::TableEvent::Installed { .. }]), "{events:?}");
    let ric = network.rmr.to_string();
    for kind in
        [MessageType::CONTROL_REQUEST, MessageType::SUBSCRIPTION_REQUEST, MessageType::SUBSCRIPTION_DELETE_REQUEST]
    {
        let mut to = Vec::new();
        reader.table().select(kind, NO_SUBSCRIPTION, "", |endpoint| to.push(endpoint.to_owned())).unwrap();
        assert_eq!(to, [&*ric], "{kind}");
    }
    connection.send(&header(MessageType::TABLE_STATE, "xapp:4561"), b"ERR ferric-1 too many\n\0");
    eventually("the state is logged", || log().contains("it does not use the route table: ERR ferric-1 too many"));
}

#[test]
fn xapp_subscribes_by_rest_and_receives_indications() {
    let network = network();
    let (kpm, xapp) = (network.kpm(), Xapp::new());
    let created = network.rest.request("POST", "/ric/v1/subscriptions", kpm.request(&xapp, 7)).expect(201);
    let id = created["SubscriptionId"].clone();
    let subscription_id = xapp.subscribed(&id, 7);
    assert!(subscription_id > 0);
    let mut connection = xapp.accept();
    for _ in 0..3 {
        check_indication(&connection.receive(), subscription_id);
    }
    let listed = network.rest.get("/ric/v1/subscriptions");
    let endpoint = format!("127.0.0.1:{}", xapp.rmr_port());
    assert_eq!(
        listed,
        json!([{ "SubscriptionId": subscription_id, "Meid": NODE, "ClientEndpoint": [endpoint], "SubscriptionInstances": [] }])
    );
    let endpoints = network.rest.get("/ric/v1/endpoints");
    assert!(endpoints[0]["indications"].as_u64().unwrap() >= 3, "{endpoints}");
    // the same request is the same subscription
    let again = network.rest.request("POST", "/ric/v1/subscriptions", kpm.request(&xapp, 7)).expect(201);
    assert_eq!((&again["SubscriptionId"], xapp.subscribed(&id, 7)), (&id, subscription_id));
    let mut other = kpm.request(&xapp, 8);
    other["SubscriptionId"] = id.clone();
    network.rest.request("POST", "/ric/v1/subscriptions", other).expect_problem(400, &["another content"]);
    let path = format!("/ric/v1/subscriptions/{}", id.as_str().unwrap());
    assert_eq!(network.rest.request("DELETE", &path, json!({})).status, 204);
    network.rest.eventually("/ric/v1/subscriptions", |all| *all == json!([]));
    network.rest.eventually("/ric/v1/endpoints", |all| *all == json!([]));
    network.rest.request("DELETE", &path, None).expect_problem(400, &["there is no subscription"]);
}

#[test]
fn equal_subscriptions_are_one_of_the_node() {
    let network = network();
    let (kpm, first, second) = (network.kpm(), Xapp::new(), Xapp::new());
    let subscribe = |xapp: &Xapp, instance| {
        let created = network.rest.request("POST", "/ric/v1", kpm.request(xapp, instance)).expect(201);
        let subscription_id = xapp.subscribed(&created["SubscriptionId"], instance);
        (created["SubscriptionId"].as_str().unwrap().to_owned(), subscription_id)
    };
    let ((of_first, subscription_id), (of_second, same)) = (subscribe(&first, 1), subscribe(&second, 2));
    assert_eq!(subscription_id, same);
    let listed = network.rest.get("/ric/v1/subscriptions");
    assert_eq!((listed.as_array().unwrap().len(), listed[0]["ClientEndpoint"].as_array().unwrap().len()), (1, 2));
    let (mut to_first, mut to_second) = (first.accept(), second.accept());
    check_indication(&to_first.receive(), subscription_id);
    check_indication(&to_second.receive(), subscription_id);
    let delete = |id: &str| network.rest.request("DELETE", &format!("/ric/v1/subscriptions/subscriptions/{id}"), None);
    assert_eq!(delete(&of_first).status, 204);
    assert!(to_first.is_closed_after_messages(), "nothing is sent to the first one any more");
    let begun = Instant::now();
    while begun.elapsed() < SILENCE {
        check_indication(&to_second.receive(), subscription_id);
    }
    assert_eq!(delete(&of_second).status, 204);
    network.rest.eventually("/ric/v1/subscriptions", |all| *all == json!([]));
}

#[test]
fn subscription_that_the_node_refuses_is_notified() {
    let network = network();
    let (kpm, xapp) = (network.kpm(), Xapp::new());
    let mut request = kpm.request(&xapp, 3);
    request["SubscriptionDetails"][0]["EventTriggers"] = json!([255, 255]);
    network.rest.request("POST", "/ric/v1/subscriptions", request).expect(201);
    let (_, document) = xapp.notification();
    let outcome = &document["SubscriptionInstances"][0];
    assert_eq!((&outcome["E2EventInstanceId"], &outcome["ErrorSource"]), (&json!(0), &json!("E2Node")), "{document}");
    let mut request = kpm.request(&xapp, 4);
    request["RANFunctionID"] = json!(4000);
    network.rest.request("POST", "/ric/v1/subscriptions", request).expect(201);
    let (_, document) = xapp.notification();
    let outcome = &document["SubscriptionInstances"][0];
    assert_eq!(outcome["ErrorSource"], "SUBMGR", "{document}");
    assert!(outcome["ErrorCause"].as_str().unwrap().contains("no such RAN function"), "{document}");
    let mut request = kpm.request(&xapp, 5);
    request["Meid"] = json!("gnb_999_099_0");
    network.rest.request("POST", "/ric/v1/subscriptions", request).expect_problem(503, &["gnb_999_099_0"]);
    assert_eq!(network.rest.get("/ric/v1/subscriptions"), json!([]));
}

/// A RIC Subscription Request.
fn subscription_request(kpm: &Kpm) -> Vec<u8> {
    let action = RicActionToBeSetup {
        id: RicActionId(1),
        kind: RicActionType::Report,
        definition: Some(kpm.action.as_slice().into()),
        subsequent_action: None,
        execution_order: None,
    };
    let request = RicSubscriptionRequest {
        request_id: RicRequestId { requestor: 123, instance: 0 },
        ran_function_id: RanFunctionId(kpm.function),
        details: RicSubscriptionDetails {
            event_trigger_definition: kpm.trigger.as_slice().into(),
            actions: [action].into_iter().collect(),
        },
        start_time: None,
        end_time: None,
    };
    let mut octets = Vec::new();
    Pdu::from(request).encode(VERSION, &mut octets).unwrap();
    octets
}

#[test]
fn xapp_subscribes_over_rmr() {
    let network = network();
    let (kpm, xapp) = (network.kpm(), Xapp::new());
    let source = format!("127.0.0.1:{}", xapp.rmr_port());
    let octets = subscription_request(&kpm);
    let mut requests = Connection::open(network.rmr);
    requests.send(&header(MessageType::SUBSCRIPTION_REQUEST, &source), &octets);
    let answer = requests.receive();
    assert_eq!((answer.kind, &answer.transaction[..11]), (MessageType::SUBSCRIPTION_RESPONSE, &b"transaction"[..]));
    let gather = Gather::new();
    let Pdu::RicSubscriptionResponse(response) = decode(&answer.payload, VERSION, &gather).unwrap().pdu else {
        panic!("{answer:?}")
    };
    let request_id = response.request_id;
    assert_eq!(i32::from(request_id.instance), answer.subscription_id);
    let mut connection = xapp.accept();
    check_indication(&connection.receive(), answer.subscription_id);
    let mut delete = |request_id| {
        let mut octets = Vec::new();
        let request = RicSubscriptionDeleteRequest { request_id, ran_function_id: RanFunctionId(kpm.function) };
        Pdu::from(request).encode(VERSION, &mut octets).unwrap();
        requests.send(&header(MessageType::SUBSCRIPTION_DELETE_REQUEST, &source), &octets);
        requests.receive().kind
    };
    let unknown = RicRequestId { instance: request_id.instance + 1, ..request_id };
    assert_eq!(delete(unknown), MessageType::SUBSCRIPTION_DELETE_FAILURE);
    assert_eq!(delete(request_id), MessageType::SUBSCRIPTION_DELETE_RESPONSE);
    assert_eq!(delete(request_id), MessageType::SUBSCRIPTION_DELETE_FAILURE);
    assert!(connection.is_closed_after_messages());
    // what is no request is dropped, and the connection stays
    requests.send(&header(MessageType::SUBSCRIPTION_REQUEST, &source), b"nonsense");
    eventually("it is logged", || log().contains("a subscription request is dropped: its payload is malformed"));
    requests.send(&header(MessageType::HEALTH_CHECK_REQUEST, &source), b"");
    assert_eq!(requests.receive().kind, MessageType::HEALTH_CHECK_RESPONSE);
}

/// A RIC Control Request of E2SM-RC: a quota of PRBs for a slice.
fn quota(network: &Network, min_percent: u8) -> (u16, Vec<u8>, Vec<u8>) {
    quota_of(&network.rest, min_percent)
}

fn quota_of(rest: &Service, min_percent: u8) -> (u16, Vec<u8>, Vec<u8>) {
    let (function, _) = function(rest, e2sm::rc::OID).expect("RC");
    let (plmn, slice) = (PlmnIdentity::from_codes(1, 1, 2), SNssai { sst: Sst([1]), sd: None });
    let quota = SlicePrbQuota::of_slice(plmn, slice, min_percent, 100);
    let control = Control::of_cell(ControlAction::SlicePrbQuota(quota));
    let (header, message) = control.encode(RanConfig::default().rc_revision).unwrap();
    (function, header, message)
}

fn control_request(function: u16, control_header: &[u8], message: &[u8], ack: RicControlAckRequest) -> Vec<u8> {
    let request = RicControlRequest {
        request_id: RicRequestId { requestor: 123, instance: 9 },
        ran_function_id: RanFunctionId(function),
        call_process_id: None,
        header: control_header.into(),
        message: message.into(),
        ack_request: Some(ack),
    };
    let mut octets = Vec::new();
    Pdu::from(request).encode(VERSION, &mut octets).unwrap();
    octets
}

#[test]
fn controls_are_relayed_and_answered() {
    let network = network();
    let mut connection = Connection::open(network.rmr);
    let (function, control_header, message) = quota(&network, 30);
    let control = |octets: &[u8], connection: &mut Connection| {
        connection.send(&Header { data: &[5, 0, 0, 0], ..header(MessageType::CONTROL_REQUEST, "xapp:4560") }, octets);
        let answer = connection.receive();
        assert_eq!(
            (&answer.transaction[..11], &answer.data[..]),
            (&b"transaction"[..], &[5, 0, 0, 0][..]),
            "of the same call"
        );
        (answer.kind, answer.payload)
    };
    let octets = control_request(function, &control_header, &message, RicControlAckRequest::Ack);
    let (kind, payload) = control(&octets, &mut connection);
    let gather = Gather::new();
    let Pdu::RicControlAcknowledge(acknowledge) = decode(&payload, VERSION, &gather).unwrap().pdu else {
        panic!("{kind}: {payload:?}")
    };
    assert_eq!(kind, MessageType::CONTROL_ACKNOWLEDGE);
    assert_eq!(acknowledge.request_id, RicRequestId { requestor: 123, instance: 9 });
    // what the function does not understand, and a function that is not there
    let octets = control_request(function, &control_header, b"?", RicControlAckRequest::Ack);
    assert_eq!(control(&octets, &mut connection).0, MessageType::CONTROL_FAILURE);
    let octets = control_request(4000, &control_header, &message, RicControlAckRequest::Ack);
    assert_eq!(control(&octets, &mut connection).0, MessageType::CONTROL_FAILURE);
    // without an acknowledgement there is none: the answer to the health check is the next message
    let octets = control_request(function, &control_header, &message, RicControlAckRequest::NoAck);
    connection.send(&header(MessageType::CONTROL_REQUEST, "xapp:4560"), &octets);
    connection.send(&header(MessageType::HEALTH_CHECK_REQUEST, "xapp:4560"), b"");
    let answer = connection.receive();
    assert_eq!((answer.kind, &*answer.payload), (MessageType::HEALTH_CHECK_RESPONSE, &b"OK\n"[..]));
}

#[test]
fn message_without_a_route_is_dropped() {
    let network = network();
    let mut connection = Connection::open(network.rmr);
    connection.send(&header(MessageType(30_000), "xapp:4560"), b"for another xApp");
    eventually("it is logged", || log().contains("a message of type 30000 has no route here"));
    connection.send(&header(MessageType::HEALTH_CHECK_REQUEST, "xapp:4560"), b"");
    assert_eq!(connection.receive().kind, MessageType::HEALTH_CHECK_RESPONSE);
}

#[test]
fn malformed_frames_end_their_connection_only() {
    let network = network();
    let mut well = Connection::open(network.rmr);
    let mut whole = Vec::new();
    header(MessageType::HEALTH_CHECK_REQUEST, "xapp:4560").write(0, &mut whole);
    // shorter than the headers, longer than allowed, and a length within that lies
    let short = 20_u32.to_le_bytes().to_vec();
    let long = 0xFFFF_FFFF_u32.to_le_bytes().to_vec();
    let mut lying = whole.clone();
    lying[54..58].copy_from_slice(&1_000_000_u32.to_be_bytes());
    for frame in [[short, vec![0; 16]].concat(), long, lying] {
        let mut bad = Connection::open(network.rmr);
        bad.0.write_all(&frame).unwrap();
        assert!(bad.is_closed(), "{:?}", &frame[..8.min(frame.len())]);
    }
    eventually("it is logged", || log().contains("its payload length is 1000000 octets"));
    well.0.write_all(&whole).unwrap();
    assert_eq!(well.receive().kind, MessageType::HEALTH_CHECK_RESPONSE);
}

#[test]
fn subscription_survives_a_restart_of_the_node() {
    let network = network();
    let (kpm, xapp) = (network.kpm(), Xapp::new());
    let created = network.rest.request("POST", "/ric/v1/subscriptions", kpm.request(&xapp, 7)).expect(201);
    let subscription_id = xapp.subscribed(&created["SubscriptionId"], 7);
    let mut connection = xapp.accept();
    check_indication(&connection.receive(), subscription_id);
    drop(network.ran);
    connection.await_silence();
    let _ran = TestRan::start(&network.ric.e2, ran_config());
    check_indication(&connection.receive(), subscription_id);
}

/// The folder with `librmr_si.so`.
fn library() -> PathBuf {
    let folder = library_folder();
    assert!(folder.join("librmr_si.so").is_file(), "{}", folder.display());
    folder
}

#[test]
fn unmodified_xapp_of_ricxappframe_subscribes_receives_and_controls() {
    let Some(python) = std::env::var_os("FERRIC_RICXAPPFRAME_PYTHON") else {
        eprintln!(
            "NOT TESTED: an xApp of ricxappframe: FERRIC_RICXAPPFRAME_PYTHON does not name a Python that has it; \
             scripts/northbound does"
        );
        return;
    };
    let network = network();
    let kpm = network.kpm();
    let (rc, control_header, control_message) = quota(&network, 30);
    let control = control_request(rc, &control_header, &control_message, RicControlAckRequest::Ack);
    let free_port = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let hex = |octets: &[u8]| octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/kpm_xapp.py");
    let output = Command::new(python)
        .arg(script)
        .env("LD_LIBRARY_PATH", library())
        .env("RMR_RTG_SVC", network.rmr.to_string())
        .env("RMR_CTL_PORT", free_port())
        .env("RMR_SRC_ID", "127.0.0.1")
        .env("RMR_LOG_VLEVEL", "4")
        .env("XAPP_RMR_PORT", free_port())
        .env("XAPP_HTTP_PORT", free_port())
        .env("PLATFORM", format!("http://{}", network.rest.address))
        .env("KPM_FUNCTION", kpm.function.to_string())
        .env("KPM_TRIGGER", hex(&kpm.trigger))
        .env("KPM_ACTION", hex(&kpm.action))
        .env("CONTROL", hex(&control))
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}\n{}", log());
    let lines: Vec<_> = stdout.lines().collect();
    let indication = lines.iter().find_map(|line| line.strip_prefix("indication ")).expect("an indication");
    let mut words = indication.split(' ');
    let (subscription_id, meid, octets) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let octets: Vec<u8> =
        (0..octets.len()).step_by(2).map(|at| u8::from_str_radix(&octets[at..at + 2], 16).unwrap()).collect();
    let message = Received {
        kind: MessageType::INDICATION,
        subscription_id: subscription_id.parse().unwrap(),
        transaction: Vec::new(),
        meid: meid.to_owned(),
        data: Vec::new(),
        payload: octets,
    };
    check_indication(&message, subscription_id.parse().unwrap());
    assert!(lines.contains(&"control 12041"), "{stdout}");
    assert!(lines.contains(&"done"), "{stdout}");
    network.rest.eventually("/ric/v1/subscriptions", |all| *all == json!([]));
}
