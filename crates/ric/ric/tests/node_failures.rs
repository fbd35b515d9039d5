//! Nodes that refuse, do not answer, send invalid answers, or disconnect during a request; and a RIC that stops.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use common::TestRic;
use e2sm::common::{Cgi, EutraCgi, GnbCuUeF1apId, RntiValue, UeId, UeIdGnbDu};
use e2sm::slice::{self, IndicationHeader, IndicationMessage};
use e2sm::{Model, Wire, mac, rrc, tc};
use ferric::e2ap::{
    self, Cause, CauseMisc, CauseRicRequest, E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration,
    E2NodeComponentId, E2NodeComponentInterfaceNg, E2NodeComponentInterfaceType, E2SetupRequest, GlobalE2NodeId, GnbId,
    Pdu, PlmnIdentity, RanFunctionId, RanFunctionItem, RanFunctionRevision, RicActionAdmitted, RicControlAcknowledge,
    RicControlFailure, RicControlRequest, RicIndication, RicIndicationType, RicRequestId, RicSubscriptionFailure,
    RicSubscriptionRequest, RicSubscriptionResponse, TransactionId, Version,
};
use iapp_rest::MAX_AGE;
use per::{Bits, Gather, Octets, PrintableString};
use ric::RicConfig;
use serde_json::json;
use testkit::PATIENCE;
use testkit::http::Client;

const NODE: &str = "gnb-00101-5";
const SLICES: &str = "/v1/nodes/gnb-00101-5/slices/dl";

/// The wire form of the nodes of the tests.
fn wire_of(model: &Model) -> Wire {
    if model.wires.contains(&Wire::Plain) { Wire::Plain } else { Wire::Per }
}

/// A node whose messages the test sends.
struct Node(TcpStream);

impl Node {
    /// A node with functions of SLICE and MAC, whose subscriptions the test answers.
    fn set_up(ric: &TestRic) -> Node {
        Node::with(ric, &[slice::MODEL, mac::MODEL])
    }

    /// A node with functions of these models.
    fn with(ric: &TestRic, models: &[Model]) -> Node {
        let stream = TcpStream::connect(ric.e2.to_string().trim_start_matches("tcp://")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut node = Node(stream);
        let functions = models.iter().map(|model| RanFunctionItem {
            id: RanFunctionId(model.function_id),
            definition: model.name.as_bytes().into(),
            revision: RanFunctionRevision(1),
            oid: Some(PrintableString::try_from(model.oid(wire_of(model))).unwrap()),
        });
        node.send(E2SetupRequest {
            transaction_id: Some(TransactionId(1)),
            global_e2_node_id: GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(5, 32)),
            ran_functions_added: Some(functions.collect::<Vec<_>>().into()),
            component_config_update_v1: None,
            component_config_addition: Some(vec![component()].into()),
        });
        assert!(matches!(node.receive(), Pdu::E2SetupResponse(_)));
        node
    }

    /// A node that has set up and reported that it has no slices.
    fn ready(ric: &TestRic) -> Node {
        let mut node = Node::set_up(ric);
        for _ in 0..2 {
            let request = node.subscription();
            node.admit(&request);
            if request.ran_function_id.0 == slice::MODEL.function_id {
                let message =
                    IndicationMessage { slices: Default::default(), ues: Default::default(), timestamp_us: 0 };
                let (mut header, mut octets) = (Vec::new(), Vec::new());
                IndicationHeader::default().encode(Wire::Plain, &mut header).unwrap();
                message.encode(Wire::Plain, &mut octets).unwrap();
                node.indicate(request.request_id, slice::MODEL.function_id, &header, &octets);
            }
        }
        ric.rest.eventually(&format!("/v1/nodes/{NODE}/slices"), |_| true);
        node
    }

    fn send<'a>(&mut self, pdu: impl Into<Pdu<'a>>) {
        let mut octets = Vec::new();
        pdu.into().encode(Version::V2_03, &mut octets).unwrap();
        self.0.write_all(&u32::try_from(octets.len()).unwrap().to_be_bytes()).unwrap();
        self.0.write_all(&octets).unwrap();
    }

    fn receive(&mut self) -> Pdu<'static> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).unwrap();
        let mut pdu = vec![0; u32::from_be_bytes(length) as usize];
        self.0.read_exact(&mut pdu).unwrap();
        let gather = Gather::new();
        e2ap::decode(&pdu, Version::V2_03, &gather).unwrap().pdu.into_owned()
    }

    fn subscription(&mut self) -> RicSubscriptionRequest<'static> {
        match self.receive() {
            Pdu::RicSubscriptionRequest(request) => request,
            other => panic!("{other:?}"),
        }
    }

    fn admit(&mut self, request: &RicSubscriptionRequest<'_>) {
        let admitted: Vec<_> =
            request.details.actions.iter().map(|action| RicActionAdmitted { id: action.id }).collect();
        self.send(RicSubscriptionResponse {
            request_id: request.request_id,
            ran_function_id: request.ran_function_id,
            actions_admitted: admitted.into(),
            actions_not_admitted: None,
        });
    }

    fn indicate(&mut self, request_id: RicRequestId, function: u16, header: &[u8], message: &[u8]) {
        self.send(RicIndication {
            request_id,
            ran_function_id: RanFunctionId(function),
            action_id: e2ap::RicActionId(1),
            sn: None,
            kind: RicIndicationType::Report,
            header: header.into(),
            message: message.into(),
            call_process_id: None,
        });
    }

    fn control(&mut self) -> RicControlRequest<'static> {
        match self.receive() {
            Pdu::RicControlRequest(control) => control,
            other => panic!("{other:?}"),
        }
    }

    fn acknowledge(&mut self) {
        let control = self.control();
        self.send(RicControlAcknowledge {
            request_id: control.request_id,
            ran_function_id: control.ran_function_id,
            call_process_id: None,
            status: None,
            outcome: None,
        });
    }

    fn fail(&mut self, cause: Cause, outcome: Option<&[u8]>) {
        let control = self.control();
        self.send(RicControlFailure {
            request_id: control.request_id,
            ran_function_id: control.ran_function_id,
            call_process_id: None,
            cause: Some(cause),
            outcome: outcome.map(Into::into),
            criticality_diagnostics: None,
        });
    }
}

fn component() -> E2NodeComponentConfigAdditionItem<'static> {
    E2NodeComponentConfigAdditionItem {
        interface_type: E2NodeComponentInterfaceType::Ng,
        id: E2NodeComponentId::Ng(E2NodeComponentInterfaceNg { amf_name: PrintableString::literal("amf") }),
        configuration: E2NodeComponentConfiguration {
            request_part: Octets::default(),
            response_part: Octets::default(),
        },
    }
}

/// A sent request.
fn begin(ric: &TestRic, method: &str, path: &str, body: Option<serde_json::Value>) -> Client {
    let mut client = Client::connect(ric.rest.address);
    client.send(method, path, body.map(|body| body.to_string()).as_deref());
    client
}

fn add(ric: &TestRic) -> Client {
    begin(ric, "POST", SLICES, Some(json!({ "share_percent": 50 })))
}

#[test]
fn loss_of_node_during_request_is_reported() {
    let ric = TestRic::start(|_| ());
    let mut node = Node::ready(&ric);
    let mut first = add(&ric);
    node.control();
    let mut second = add(&ric);
    drop(node);
    first.receive().expect_problem(502, &["the node was lost before it answered"]);
    // it was queued in the RIC, or it found no node
    let second = second.receive();
    second.expect_problem(if second.status == 404 { 404 } else { 502 }, &[]);
    ric.rest.request("GET", SLICES, None).expect_problem(404, &["no node"]);
    // a node that reconnects is served
    let mut node = Node::ready(&ric);
    let mut client = add(&ric);
    node.acknowledge();
    client.receive().expect(201);
}

#[test]
fn node_timeout_is_reported() {
    let ric = TestRic::start(|config: &mut RicConfig| {
        config.server.controller.control_timeout = Duration::from_millis(50);
    });
    let mut node = Node::ready(&ric);
    let mut client = add(&ric);
    client.receive().expect_problem(504, &["the node did not answer in time"]);
    // a late answer does not affect the next request, nor does a request that times out because the test is slow
    node.acknowledge();
    let deadline = Instant::now() + PATIENCE;
    let answer = loop {
        let mut client = add(&ric);
        node.acknowledge();
        let answer = client.receive();
        if answer.status != 504 {
            break answer;
        }
        assert!(Instant::now() < deadline, "{answer:?}");
    };
    assert_eq!(answer.expect(201)["id"], 1);
}

#[test]
fn refusals_without_text_state_their_cause() {
    let ric = TestRic::start(|_| ());
    let mut node = Node::ready(&ric);
    for (cause, outcome, status, detail) in [
        (Cause::Misc(CauseMisc::ControlProcessingOverload), None, 502, "the node refuses: misc"),
        (
            Cause::RicRequest(CauseRicRequest::ControlMessageInvalid),
            Some(&b"\xff\xff"[..]),
            422,
            "the node refuses: RIC",
        ),
        (Cause::RicRequest(CauseRicRequest::FunctionResourceLimit), Some(b""), 409, "FunctionResourceLimit"),
    ] {
        let mut client = add(&ric);
        node.fail(cause, outcome);
        let problem = client.receive().expect_problem(status, &[detail]);
        assert_eq!(problem["cause"], cause.to_string());
        assert_eq!(problem.get("reason"), None);
    }
}

/// The control of a rule timed out: it is sent again when the node reports the UE's slice.
#[test]
fn rule_is_retried_when_its_control_times_out() {
    let ric = TestRic::start(|config: &mut RicConfig| {
        config.server.controller.control_timeout = Duration::from_millis(50);
    });
    let mut node = Node::with(&ric, &[slice::MODEL, rrc::MODEL]);
    let subscriptions = [node.subscription(), node.subscription()];
    subscriptions.iter().for_each(|request| node.admit(request));
    let report = |node: &mut Node, model: Model, header: &[u8], message: &[u8]| {
        let request = subscriptions.iter().find(|request| request.ran_function_id.0 == model.function_id).unwrap();
        node.indicate(request.request_id, model.function_id, header, message);
    };
    let parameters = slice::Parameters::Nvs(slice::NvsParameters::Capacity(slice::Share { reserved: 0.5 }));
    let (label, ue_scheduler) = (PrintableString::literal(""), PrintableString::literal(""));
    let one = slice::Slice { id: 1, label, ue_scheduler, parameters };
    let dl = slice::DirectionSlices { scheduler: PrintableString::literal("NVS"), slices: vec![one].into() };
    let slices = slice::SliceConfiguration { dl, ..Default::default() };
    let (mut header, mut slice_message) = (Vec::new(), Vec::new());
    IndicationHeader::default().encode(Wire::Plain, &mut header).unwrap();
    let message = IndicationMessage { slices, ues: Default::default(), timestamp_us: 0 };
    message.encode(Wire::Plain, &mut slice_message).unwrap();
    report(&mut node, slice::MODEL, &header, &slice_message);
    let plmn = e2sm::common::PlmnIdentity::from_codes(1, 1, 2);
    let attached = rrc::Notification {
        event: rrc::Event::Attached,
        ue_id: UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(1), ran_ueid: None, cell_rnti: None }),
        rnti: RntiValue(10),
        cell: Cgi::EutraCgi(EutraCgi { plmn_identity: plmn, eutra_cell_identity: Bits::new(1, 28) }),
        plmn,
        s_nssais: Default::default(),
        addresses: None,
    };
    let (mut rrc_header, mut rrc_message) = (Vec::new(), Vec::new());
    rrc::IndicationHeader::default().encode(Wire::Per, &mut rrc_header).unwrap();
    rrc::IndicationMessage { notifications: vec![attached].into() }.encode(Wire::Per, &mut rrc_message).unwrap();
    report(&mut node, rrc::MODEL, &rrc_header, &rrc_message);

    ric.rest.request("POST", "/v1/associations", json!({ "plmn": "00101", "dl": 1 })).expect(201);
    node.control();
    let rule = "/v1/associations/1";
    let waits = |rule: &serde_json::Value| rule["ues"][0]["state"] == "waiting";
    assert!(ric.rest.eventually(rule, waits)["ues"][0]["reason"].as_str().unwrap().contains("did not answer in time"));
    let deadline = Instant::now() + PATIENCE;
    loop {
        report(&mut node, slice::MODEL, &header, &slice_message);
        node.acknowledge();
        // the reads above were frequent: what the node changes is seen after this time
        std::thread::sleep(MAX_AGE);
        let rule = ric.rest.eventually(rule, |rule| rule["ues"][0]["state"] != "in_progress");
        if rule["ues"][0]["state"] == "moved" {
            break;
        }
        assert!(Instant::now() < deadline, "{rule}"); // this test was too slow
    }
    assert_eq!(ric.rest.get(&format!("/v1/nodes/{NODE}/ues/10/slices"))["dl"], 1);
}

/// The node acknowledges a control of TC and reports no outcome: only that request waits until its time-out.
#[test]
fn node_without_outcome_delays_one_request() {
    let ric = TestRic::start(|config: &mut RicConfig| {
        config.rest.as_mut().unwrap().response_timeout = Duration::from_millis(500);
    });
    let mut node = Node::with(&ric, &[tc::MODEL]);
    let meter = tc::Meter::default();
    let message = tc::IndicationMessage {
        scheduler: tc::Scheduler::RoundRobin,
        pacer: tc::Pacer { kind: tc::PacerKind::Off, id: 0, meter },
        classifier: tc::Classifier::RoundRobin,
        queues: Default::default(),
        timestamp_us: 0,
    };
    let mut octets = Vec::new();
    message.encode(Wire::Plain, &mut octets).unwrap();
    // the statistics and the control manager subscribe separately
    let subscriptions = [node.subscription(), node.subscription()];
    let report = |node: &mut Node| {
        for request in &subscriptions {
            node.indicate(request.request_id, tc::MODEL.function_id, b"\0\0\0\0", &octets);
        }
    };
    subscriptions.iter().for_each(|request| node.admit(request));
    report(&mut node);
    let of = format!("/v1/nodes/{NODE}/tc");
    ric.rest.eventually(&of, |_| true);
    let pace = || begin(&ric, "PUT", &format!("{of}/pacer"), Some(json!({ "kind": "off" })));
    let mut first = pace();
    node.acknowledge();
    first.receive().expect_problem(504, &["no answer within"]);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut next = pace();
        node.acknowledge();
        report(&mut node);
        let answer = next.receive();
        if answer.status == 200 {
            break;
        }
        answer.expect_problem(504, &["no answer within"]); // this test was too slow
        assert!(Instant::now() < deadline);
    }
}

#[test]
fn failed_rollback_is_reported() {
    let ric = TestRic::start(|_| ());
    let mut node = Node::ready(&ric);
    let slices = |algorithm: &str, slice: serde_json::Value| json!({ "algorithm": algorithm, "slices": [slice] });
    let nvs = slices("NVS", json!({ "id": 1, "share_percent": 100 }));
    let fixed = slices("STATIC", json!({ "id": 2, "positions": { "first": 0, "last": 1 } }));
    let mut client = begin(&ric, "PUT", SLICES, Some(nvs));
    node.acknowledge();
    client.receive().expect(200);
    // the old slices are deleted; the new ones are refused, and the old ones cannot be restored
    let mut client = begin(&ric, "PUT", SLICES, Some(fixed));
    node.acknowledge();
    node.fail(Cause::RicRequest(CauseRicRequest::ControlMessageInvalid), None);
    node.fail(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute), None);
    let problem = client
        .receive()
        .expect_problem(422, &["ControlMessageInvalid", "cannot undo earlier changes", "FailedToExecute"]);
    assert_eq!(problem["restored"], false);
    assert_eq!(ric.rest.get(SLICES)["slices"], json!([]), "the response has the current state");
}

#[test]
fn request_of_disconnected_client_is_not_started() {
    let ric = TestRic::start(|_| ());
    let mut node = Node::ready(&ric);
    let mut first = add(&ric);
    let control = node.control();
    let mut gone = begin(&ric, "DELETE", SLICES, None);
    // it is queued when a later request has been answered
    ric.rest.get(SLICES);
    gone.close_write();
    // the same thread closes the connection and then serves this request
    gone.expect_closed();
    ric.rest.get(SLICES);
    let mut last = add(&ric);
    node.send(RicControlAcknowledge {
        request_id: control.request_id,
        ran_function_id: control.ran_function_id,
        call_process_id: None,
        status: None,
        outcome: None,
    });
    assert_eq!(first.receive().expect(201)["id"], 1);
    // nothing was deleted
    node.acknowledge();
    assert_eq!(last.receive().expect(201)["id"], 2);
}

#[test]
fn full_request_queue_of_node_is_refused() {
    let ric = TestRic::start(|_| ());
    let mut node = Node::ready(&ric);
    let mut waiting: Vec<_> = (0..65).map(|_| add(&ric)).collect();
    let mut refused = 0;
    // separate connections: the requests arrive in any order
    let deadline = Instant::now() + PATIENCE;
    while refused == 0 {
        assert!(Instant::now() < deadline);
        let mut one_more = add(&ric);
        one_more.set_patience(Duration::from_millis(200));
        match one_more.try_receive() {
            Some(answer) => {
                answer.expect_problem(503, &["request queue of this node full"]);
                refused += 1;
            }
            None => waiting.push(one_more),
        }
    }
    // a waiting request does not delay other nodes or reads
    ric.rest.get("/v1/nodes");
    node.acknowledge();
    drop(waiting);
}

#[test]
fn node_without_slice_reports_is_unavailable() {
    let ric = TestRic::start(|_| ());
    let mut node = Node::set_up(&ric);
    let of = format!("/v1/nodes/{NODE}");
    let later = ric.rest.request("GET", SLICES, None);
    later.expect_problem(503, &["has not reported slice yet"]);
    assert_eq!(later.header("retry-after"), Some("1"));
    ric.rest.request("POST", SLICES, json!({ "share_percent": 5 })).expect_problem(503, &["not reported slice yet"]);
    ric.rest.request("GET", &format!("{of}/statistics/rlc"), None).expect_problem(404, &["offers no rlc function"]);
    let (first, second) = (node.subscription(), node.subscription());
    for request in [first, second] {
        node.send(RicSubscriptionFailure {
            request_id: request.request_id,
            ran_function_id: request.ran_function_id,
            actions_not_admitted: None,
            cause: Some(Cause::Misc(CauseMisc::HardwareFailure)),
            criticality_diagnostics: None,
        });
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = ric.rest.request("GET", SLICES, None);
        if answer.status == 502 {
            answer.expect_problem(502, &["no slice: the node refuses: misc: HardwareFailure"]);
            break;
        }
        assert!(Instant::now() < deadline, "{answer:?}");
    }
    let sources = ric.rest.get(&of)["sources"].clone();
    let slice = sources.as_array().unwrap().iter().find(|source| source["model"] == "slice").unwrap().clone();
    assert_eq!(
        (&slice["state"], &slice["reason"]),
        (&json!("unavailable"), &json!("the node refuses: misc: HardwareFailure"))
    );
}

#[test]
fn unreadable_reports_are_counted_and_ignored() {
    let ric = TestRic::start(|_| ());
    let mut node = Node::set_up(&ric);
    for _ in 0..2 {
        let request = node.subscription();
        node.admit(&request);
        for garbage in [&b""[..], b"\xff", &[0xff; 100], &[0xff; 20_000]] {
            node.indicate(request.request_id, request.ran_function_id.0, b"\0\0\0\0", garbage);
        }
    }
    let of = format!("/v1/nodes/{NODE}");
    let node =
        ric.rest.eventually(&of, |node| node["sources"].as_array().unwrap().iter().all(|s| s["undecodable"] == 4));
    assert_eq!(node["ues"], 0);
    ric.rest.request("GET", SLICES, None).expect_problem(503, &["not reported slice yet"]);
}

#[test]
fn stopping_ric_answers_pending_requests() {
    let ric = TestRic::start(|_| ());
    let mut node = Node::ready(&ric);
    let mut client = add(&ric);
    node.control();
    let begun = Instant::now();
    drop(ric);
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    if let Some(answer) = client.try_receive() {
        assert!(answer.status >= 500, "{answer:?}");
    }
}
