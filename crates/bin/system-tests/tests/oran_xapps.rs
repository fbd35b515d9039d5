//! xApps of the O-RAN reference platform: over RMR and REST, with a RIC and an emulated RAN; and an unmodified xApp of
//! `ricxappframe`.
//!
//! `FERRIC_RICXAPPFRAME_PYTHON` names a Python interpreter that has `ricxappframe`; scripts/northbound has one. Without it, the
//! last test says what it did not test.

#[path = "oran_xapps/group.rs"]
mod group;
#[path = "oran_xapps/outage.rs"]
mod outage;
#[path = "oran_xapps/partition.rs"]
mod partition;
#[path = "oran_xapps/passed_on.rs"]
mod passed_on;
#[path = "oran_xapps/policies.rs"]
mod policies;
#[path = "oran_xapps/several.rs"]
mod several;

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use ferric::e2ap::{Pdu, RicControlAckRequest, RicRequestId, decode};
use per::Gather;
use rmr::{Header, MessageType, NO_SUBSCRIPTION};
use serde_json::json;
use system_tests::platform::{NODE, Network, VERSION, Xapp, check_indication, control_request, header, ran_config};
use system_tests::rmr_peer::{Connection, Received, SILENCE};
use system_tests::{TestRan, eventually, log};
use testkit::c_program::library_folder;

#[test]
fn nodes_are_listed_as_the_e2_manager_does() {
    let network = Network::start(|_| ());
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
    let network = Network::start(|_| ());
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
    let network = Network::start(|_| ());
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
    assert_eq!(network.rest.get("//ric/v1/subscriptions"), listed, "the path of the platform's framework for Go");
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
    let network = Network::start(|_| ());
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
    let network = Network::start(|_| ());
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

#[test]
fn xapp_subscribes_over_rmr() {
    let network = Network::start(|_| ());
    let (kpm, xapp) = (network.kpm(), Xapp::new());
    let source = format!("127.0.0.1:{}", xapp.rmr_port());
    let octets = kpm.subscription_request();
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
        let octets = kpm.delete_request(request_id);
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

#[test]
fn controls_are_relayed_and_answered() {
    let network = Network::start(|_| ());
    let mut connection = Connection::open(network.rmr);
    let (function, control_header, message) = network.quota(30);
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
    let network = Network::start(|_| ());
    let mut connection = Connection::open(network.rmr);
    connection.send(&header(MessageType(30_000), "xapp:4560"), b"for another xApp");
    eventually("it is logged", || log().contains("a message of type 30000 has no route here"));
    connection.send(&header(MessageType::HEALTH_CHECK_REQUEST, "xapp:4560"), b"");
    assert_eq!(connection.receive().kind, MessageType::HEALTH_CHECK_RESPONSE);
}

#[test]
fn malformed_frames_end_their_connection_only() {
    let network = Network::start(|_| ());
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
    let network = Network::start(|_| ());
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
    let network = Network::start(|_| ());
    let kpm = network.kpm();
    let (rc, control_header, control_message) = network.quota(30);
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
