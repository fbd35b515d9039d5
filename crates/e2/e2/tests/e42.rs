//! FlexRIC's xApps and a RIC in virtual time: hand-written, tampered and recorded dialogues.

mod support;

use core::time::Duration;
use std::path::Path;

use e2::{
    AssocId, CloseReason, Controller, ControllerConfig, E42Host, Event, Notice, Routed, Selection, SubscriptionEnd,
    Time,
};
use e2ap::e42::{
    self, E42ControlRequest, E42Pdu, E42SetupRequest, E42SubscriptionDeleteRequest, E42SubscriptionRequest, E42Version,
    XappId,
};
use e2ap::{
    Cause, CauseRicRequest, Codec, E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration, E2NodeComponentId,
    E2NodeComponentInterfaceNg, E2NodeComponentInterfaceType, E2SetupRequest, GlobalE2NodeId, GnbId, Pdu, PlmnIdentity,
    RanFunctionId, RanFunctionItem, RanFunctionRevision, RicActionAdmitted, RicActionId, RicActionToBeSetup,
    RicActionType, RicControlAckRequest, RicControlAcknowledge, RicControlFailure, RicControlStatus, RicIndication,
    RicIndicationType, RicRequestId, RicSubscriptionDeleteRequest, RicSubscriptionDeleteResponse,
    RicSubscriptionDetails, RicSubscriptionFailure, RicSubscriptionResponse, TransactionId, Version,
};
use per::{Gather, Octets, PrintableString};
use support::random::Random;

const NODE: AssocId = AssocId(1);
const FUNCTION: RanFunctionId = RanFunctionId(142);
const VERSION: Version = Version::V2_03;

fn node_id(number: u32) -> GlobalE2NodeId {
    GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 22))
}

fn request(requestor: u16) -> RicRequestId {
    RicRequestId { requestor, instance: 0 }
}

/// A RIC with its E42 host.
struct Testbed {
    now: Time,
    ric: Controller,
    /// The encoding of the nodes.
    codec: Codec,
    host: E42Host,
    /// The PDUs sent to nodes.
    to_nodes: Vec<(AssocId, Pdu<'static>)>,
    /// The PDUs sent to xApps.
    to_xapps: Vec<(AssocId, Vec<u8>)>,
    closed: Vec<(AssocId, CloseReason)>,
    notices: Vec<Notice>,
}

impl Testbed {
    fn new(version: E42Version) -> Testbed {
        Testbed {
            now: Time::default(),
            ric: Controller::new(ControllerConfig::default()),
            codec: Codec::Per,
            host: E42Host::new(version, 1 << 20),
            to_nodes: Vec::new(),
            to_xapps: Vec::new(),
            closed: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Returns a testbed with a node that has set up.
    fn with_node() -> Testbed {
        let mut testbed = Testbed::new(E42Version::V2);
        testbed.connect_node(NODE, 7);
        testbed
    }

    fn connect_node(&mut self, assoc: AssocId, number: u32) {
        self.ric.handle_open_in(self.now, assoc, self.codec);
        self.send_from_node(assoc, setup(node_id(number)));
        assert!(matches!(self.to_nodes.pop(), Some((_, Pdu::E2SetupResponse(_)))));
    }

    fn send_from_node<'a>(&mut self, assoc: AssocId, pdu: impl Into<Pdu<'a>>) {
        let mut bytes = Vec::new();
        self.codec.encode(&pdu.into(), VERSION, &mut bytes).unwrap();
        self.send_bytes_from_node(assoc, &bytes);
    }

    fn send_bytes_from_node(&mut self, assoc: AssocId, bytes: &[u8]) {
        if let Routed::Indication(indication) = self.ric.handle_pdu(self.now, assoc, bytes) {
            for consumer in self.ric.consumers(indication.subscription) {
                let relayed = self
                    .host
                    .relay_indication(*consumer, &indication, &mut Vec::new(), |xapp, parts| (xapp, parts.concat()));
                self.to_xapps.extend(relayed);
            }
        }
        self.settle();
    }

    fn connect_xapp(&mut self, assoc: AssocId) -> XappId {
        self.host.handle_open(assoc);
        self.send_from_xapp(assoc, E42Pdu::SetupRequest(E42SetupRequest { ran_functions: vec![function(2)].into() }));
        let (to, bytes) = self.to_xapps.pop().unwrap();
        assert_eq!(to, assoc);
        let gather = Gather::new();
        match e42::decode(&bytes, E42Version::V2, &gather).unwrap() {
            E42Pdu::SetupResponse(response) => response.xapp_id,
            other => panic!("{other:?}"),
        }
    }

    fn send_from_xapp(&mut self, assoc: AssocId, pdu: E42Pdu<'_>) {
        let mut bytes = Vec::new();
        pdu.encode(E42Version::V2, &mut bytes).unwrap();
        self.send_bytes_from_xapp(assoc, &bytes);
    }

    fn send_bytes_from_xapp(&mut self, assoc: AssocId, bytes: &[u8]) {
        self.host.handle_pdu(self.now, assoc, bytes, &mut self.ric);
        self.settle();
    }

    fn wait(&mut self, duration: Duration) {
        self.now = self.now + duration;
        self.ric.handle_timeout(self.now);
        self.settle();
    }

    fn settle(&mut self) {
        while let Some(event) = self.ric.poll_event() {
            if let Some(Event::Notice { notice, .. }) = self.host.handle_event(event) {
                self.notices.push(notice);
            }
        }
        let mut out = Vec::new();
        while let Some(assoc) = self.ric.poll_transmit(&mut out) {
            let gather = Gather::new();
            let pdu = self.codec.decode(&out, VERSION, &gather).unwrap().pdu.into_owned();
            self.to_nodes.push((assoc, pdu));
            out.clear();
        }
        while let Some(assoc) = self.host.poll_transmit(&mut out) {
            self.to_xapps.push((assoc, std::mem::take(&mut out)));
        }
        while let Some(close) = self.host.poll_close() {
            self.closed.push(close);
        }
        while let Some((_, notice)) = self.host.poll_notice() {
            self.notices.push(notice);
        }
    }

    /// Returns the only PDU sent to an xApp.
    fn sent_to_xapp(&mut self, assoc: AssocId) -> Pdu<'static> {
        assert_eq!(self.to_xapps.len(), 1, "{:?}", self.to_xapps);
        let (to, bytes) = self.to_xapps.pop().unwrap();
        assert_eq!(to, assoc);
        let gather = Gather::new();
        e2ap::decode(&bytes, VERSION, &gather).unwrap().pdu.into_owned()
    }

    /// Returns the only PDU sent to a node.
    fn sent_to_node(&mut self) -> Pdu<'static> {
        assert_eq!(self.to_nodes.len(), 1, "{:?}", self.to_nodes);
        self.to_nodes.pop().unwrap().1
    }

    /// Subscribes for an xApp. Returns the controller's request id.
    fn subscribed(&mut self, xapp: AssocId, id: XappId, requestor: u16) -> RicRequestId {
        self.send_from_xapp(xapp, subscribe(id, 7, requestor, b"trigger"));
        let Pdu::RicSubscriptionRequest(request_at_node) = self.sent_to_node() else { panic!("a subscription") };
        self.send_from_node(NODE, admit(request_at_node.request_id));
        let Pdu::RicSubscriptionResponse(response) = self.sent_to_xapp(xapp) else { panic!("a response") };
        assert_eq!(response.request_id, request(requestor));
        request_at_node.request_id
    }
}

fn function(id: u16) -> RanFunctionItem<'static> {
    RanFunctionItem {
        id: RanFunctionId(id),
        definition: b"definition".into(),
        revision: RanFunctionRevision(1),
        oid: Some(PrintableString::literal("1.3.6.1.4.1.32473.1.7")),
    }
}

fn setup(node: GlobalE2NodeId) -> E2SetupRequest<'static> {
    let component = E2NodeComponentConfigAdditionItem {
        interface_type: E2NodeComponentInterfaceType::Ng,
        id: E2NodeComponentId::Ng(E2NodeComponentInterfaceNg { amf_name: PrintableString::literal("amf") }),
        configuration: E2NodeComponentConfiguration {
            request_part: Octets::default(),
            response_part: Octets::default(),
        },
    };
    E2SetupRequest {
        transaction_id: Some(TransactionId(1)),
        global_e2_node_id: node,
        ran_functions_added: Some(vec![function(142)].into()),
        component_config_update_v1: None,
        component_config_addition: Some(vec![component].into()),
    }
}

fn admit(id: RicRequestId) -> RicSubscriptionResponse<'static> {
    RicSubscriptionResponse {
        request_id: id,
        ran_function_id: FUNCTION,
        actions_admitted: vec![RicActionAdmitted { id: RicActionId(0) }].into(),
        actions_not_admitted: None,
    }
}

fn subscribe(xapp_id: XappId, node: u32, requestor: u16, trigger: &'static [u8]) -> E42Pdu<'static> {
    let action = RicActionToBeSetup {
        id: RicActionId(0),
        kind: RicActionType::Report,
        definition: None,
        subsequent_action: None,
        execution_order: None,
    };
    E42Pdu::SubscriptionRequest(E42SubscriptionRequest {
        xapp_id,
        global_e2_node_id: node_id(node),
        request_id: request(requestor),
        ran_function_id: FUNCTION,
        details: RicSubscriptionDetails { event_trigger_definition: trigger.into(), actions: vec![action].into() },
    })
}

fn delete(xapp_id: XappId, requestor: u16) -> E42Pdu<'static> {
    E42Pdu::SubscriptionDeleteRequest(E42SubscriptionDeleteRequest {
        xapp_id,
        request_id: request(requestor),
        ran_function_id: FUNCTION,
    })
}

fn control(xapp_id: XappId, requestor: u16, ack: Option<RicControlAckRequest>) -> E42Pdu<'static> {
    E42Pdu::ControlRequest(E42ControlRequest {
        xapp_id,
        global_e2_node_id: node_id(7),
        request_id: request(requestor),
        ran_function_id: FUNCTION,
        call_process_id: None,
        header: b"header".into(),
        message: b"message".into(),
        ack_request: ack,
    })
}

fn indication(id: RicRequestId, message: &[u8]) -> RicIndication<'_> {
    RicIndication {
        request_id: id,
        ran_function_id: FUNCTION,
        action_id: RicActionId(0),
        sn: None,
        kind: RicIndicationType::Report,
        header: b"header".into(),
        message: message.into(),
        call_process_id: None,
    }
}

const A: AssocId = AssocId(11);
const B: AssocId = AssocId(12);

#[test]
fn session_runs_from_setup_to_close() {
    let mut testbed = Testbed::with_node();
    let xapp = testbed.connect_xapp(A);
    let id = testbed.subscribed(A, xapp, 1);
    assert_ne!(id, request(1), "the node sees the controller's request id");

    for octets in [1, 200, 40_000] {
        let message = vec![0x5E; octets];
        testbed.send_from_node(NODE, indication(id, &message));
        assert_eq!(testbed.sent_to_xapp(A), indication(request(1), &message).into());
    }

    testbed.send_from_xapp(A, control(xapp, 2, Some(RicControlAckRequest::Ack)));
    let Pdu::RicControlRequest(request_at_node) = testbed.sent_to_node() else { panic!("a control") };
    assert_eq!(request_at_node.ack_request, Some(RicControlAckRequest::Ack));
    assert_eq!((request_at_node.header, request_at_node.message), (b"header".into(), b"message".into()));
    let acknowledge = RicControlAcknowledge {
        request_id: request_at_node.request_id,
        ran_function_id: FUNCTION,
        call_process_id: None,
        status: None,
        outcome: Some(b"outcome".into()),
    };
    testbed.send_from_node(NODE, acknowledge.clone());
    assert_eq!(testbed.sent_to_xapp(A), RicControlAcknowledge { request_id: request(2), ..acknowledge }.into());

    testbed.send_from_xapp(A, delete(xapp, 1));
    let ran_function_id = FUNCTION;
    assert_eq!(testbed.sent_to_node(), RicSubscriptionDeleteRequest { request_id: id, ran_function_id }.into());
    assert_eq!(
        testbed.sent_to_xapp(A),
        RicSubscriptionDeleteResponse { request_id: request(1), ran_function_id }.into()
    );
    testbed.send_from_node(NODE, RicSubscriptionDeleteResponse { request_id: id, ran_function_id });

    // the request id is free again; the end of the session deletes the subscription
    testbed.subscribed(A, xapp, 1);
    testbed.host.handle_close(testbed.now, A, &mut testbed.ric);
    testbed.settle();
    assert!(matches!(testbed.sent_to_node(), Pdu::RicSubscriptionDeleteRequest(_)));
    assert_eq!((testbed.host.sessions(), testbed.notices), (0, Vec::new()));
}

/// FlexRIC's xApps decode PER only, whatever the node's encoding.
#[test]
fn node_of_another_encoding_is_forwarded_in_per() {
    let mut testbed = Testbed::new(E42Version::V2);
    testbed.codec = Codec::FLAT;
    testbed.connect_node(NODE, 7);
    let xapp = testbed.connect_xapp(A);
    let id = testbed.subscribed(A, xapp, 1);
    for octets in [1, 200, 40_000] {
        let message = vec![0x5E; octets];
        testbed.send_from_node(NODE, indication(id, &message));
        assert_eq!(testbed.sent_to_xapp(A), indication(request(1), &message).into());
    }
}

#[test]
fn equal_subscriptions_are_shared_under_own_request_ids() {
    let mut testbed = Testbed::with_node();
    let (a, b) = (testbed.connect_xapp(A), testbed.connect_xapp(B));
    assert_ne!(a, b);
    let id = testbed.subscribed(A, a, 1);
    testbed.send_from_xapp(B, subscribe(b, 7, 9, b"trigger"));
    assert!(testbed.to_nodes.is_empty(), "the subscription is shared");
    assert!(
        matches!(testbed.sent_to_xapp(B), Pdu::RicSubscriptionResponse(response) if response.request_id == request(9))
    );
    testbed.send_from_node(NODE, indication(id, b"x"));
    let received: Vec<_> =
        testbed.to_xapps.drain(..).map(|(to, pdu)| (to, e2ap::peek::indication(&pdu).unwrap().request_id)).collect();
    assert_eq!(received, [(A, request(1)), (B, request(9))]);
    // one leaves, the other stays
    testbed.send_from_xapp(A, delete(a, 1));
    assert!(matches!(testbed.sent_to_xapp(A), Pdu::RicSubscriptionDeleteResponse(_)));
    assert!(testbed.to_nodes.is_empty());
}

#[test]
fn xapp_cannot_use_the_id_of_another() {
    let mut testbed = Testbed::with_node();
    let (a, b) = (testbed.connect_xapp(A), testbed.connect_xapp(B));
    testbed.subscribed(A, a, 1);
    testbed.send_from_xapp(B, subscribe(a, 7, 2, b"other"));
    assert!(
        matches!(testbed.sent_to_xapp(B), Pdu::RicSubscriptionFailure(failure) if failure.request_id == request(2))
    );
    testbed.send_from_xapp(B, delete(a, 1));
    assert!(matches!(testbed.sent_to_xapp(B), Pdu::RicSubscriptionDeleteFailure(_)));
    testbed.send_from_xapp(B, control(a, 3, None));
    assert!(matches!(testbed.sent_to_xapp(B), Pdu::RicControlFailure(failure) if failure.request_id == request(3)));
    // B has no such subscription under its own id
    testbed.send_from_xapp(B, delete(b, 1));
    let Pdu::RicSubscriptionDeleteFailure(failure) = testbed.sent_to_xapp(B) else { panic!() };
    assert_eq!(failure.cause, Some(Cause::RicRequest(CauseRicRequest::RequestIdUnknown)));
    assert!(testbed.to_nodes.is_empty() && testbed.closed.is_empty());
    // logged at powers of two
    let misuses = testbed.notices.iter().filter(|notice| matches!(notice, Notice::XappMisuse { .. })).count();
    assert_eq!(misuses, 2);
}

#[test]
fn invalid_subscription_is_refused() {
    let mut testbed = Testbed::with_node();
    let xapp = testbed.connect_xapp(A);
    let mut refused = |pdu: E42Pdu<'_>| {
        testbed.send_from_xapp(A, pdu);
        match testbed.sent_to_xapp(A) {
            Pdu::RicSubscriptionFailure(RicSubscriptionFailure { cause: Some(cause), .. })
            | Pdu::RicControlFailure(RicControlFailure { cause: Some(cause), .. }) => cause,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(subscribe(xapp, 8, 1, b"")), Cause::RicRequest(CauseRicRequest::SystemNotReady));
    let E42Pdu::SubscriptionRequest(good) = subscribe(xapp, 7, 1, b"") else { panic!() };
    let other_function = E42SubscriptionRequest { ran_function_id: RanFunctionId(5), ..good };
    let invalid = Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid);
    assert_eq!(refused(E42Pdu::SubscriptionRequest(other_function)), invalid);
    // a request id in use
    testbed.subscribed(A, xapp, 1);
    testbed.send_from_xapp(A, subscribe(xapp, 7, 1, b"another"));
    assert!(matches!(testbed.sent_to_xapp(A), Pdu::RicSubscriptionFailure(_)));
    assert!(testbed.to_nodes.is_empty());
}

#[test]
fn request_beyond_the_xapps_share_of_a_nodes_outbox_is_refused() {
    let mut testbed = Testbed::new(E42Version::V2);
    let config = ControllerConfig { outbox_octets: Some(256 * 1024), ..ControllerConfig::default() };
    testbed.ric = Controller::new(config);
    testbed.connect_node(NODE, 7);
    let xapp = testbed.connect_xapp(A);
    // the node reads nothing: what is left of its octets is not reported
    static LONG: [u8; 80_000] = [0x5E; 80_000];
    testbed.send_from_xapp(A, subscribe(xapp, 7, 1, &LONG));
    assert!(matches!(testbed.sent_to_node(), Pdu::RicSubscriptionRequest(_)));
    testbed.send_from_xapp(A, subscribe(xapp, 7, 2, &LONG));
    match testbed.sent_to_xapp(A) {
        Pdu::RicSubscriptionFailure(RicSubscriptionFailure { request_id, cause, .. }) => {
            assert_eq!(request_id, request(2));
            assert_eq!(cause, Some(Cause::Misc(e2ap::CauseMisc::ControlProcessingOverload)));
        }
        other => panic!("{other:?}"),
    }
    assert!(testbed.to_nodes.is_empty());
    assert!(matches!(testbed.notices[..], [Notice::NodeBusy { count: 1, .. }]), "{:?}", testbed.notices);
    // it has read everything
    testbed.ric.handle_sent(testbed.now, NODE, 0);
    assert_eq!(testbed.ric.unsent_octets(NODE), 0);
    testbed.send_from_xapp(A, subscribe(xapp, 7, 2, &LONG));
    assert!(matches!(testbed.sent_to_node(), Pdu::RicSubscriptionRequest(_)));
}

#[test]
fn failures_and_timeouts_are_forwarded() {
    let mut testbed = Testbed::with_node();
    let xapp = testbed.connect_xapp(A);
    // the node refuses
    testbed.send_from_xapp(A, subscribe(xapp, 7, 1, b"one"));
    let Pdu::RicSubscriptionRequest(request_at_node) = testbed.sent_to_node() else { panic!() };
    let cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
    let failure = RicSubscriptionFailure {
        request_id: request_at_node.request_id,
        ran_function_id: FUNCTION,
        actions_not_admitted: None,
        cause: Some(cause),
        criticality_diagnostics: None,
    };
    testbed.send_from_node(NODE, failure.clone());
    assert_eq!(testbed.sent_to_xapp(A), RicSubscriptionFailure { request_id: request(1), ..failure }.into());
    // the node does not answer
    testbed.send_from_xapp(A, subscribe(xapp, 7, 2, b"two"));
    testbed.send_from_xapp(A, control(xapp, 3, Some(RicControlAckRequest::Ack)));
    testbed.to_nodes.clear();
    testbed.wait(Duration::from_secs(6));
    let names: Vec<_> = testbed
        .to_xapps
        .drain(..)
        .map(|(_, pdu)| {
            e2ap::peek::outline(&pdu).map(|o| (o.kind, o.procedure_code.0, o.request_id.unwrap().requestor))
        })
        .collect();
    let unsuccessful = e2ap::Kind::Unsuccessful;
    assert_eq!(names, [Some((unsuccessful, 8, 2)), Some((unsuccessful, 4, 3))]);
    // no acknowledgement was requested: none is sent
    testbed.send_from_xapp(A, control(xapp, 4, None));
    testbed.wait(Duration::from_secs(6));
    assert!(testbed.to_xapps.is_empty());
}

#[test]
fn deletion_by_node_is_logged_and_ends_subscription() {
    let mut testbed = Testbed::with_node();
    let xapp = testbed.connect_xapp(A);
    let id = testbed.subscribed(A, xapp, 1);
    let cause = Cause::RicRequest(CauseRicRequest::Unspecified);
    let gone = e2ap::RicSubscriptionWithCause { request_id: id, ran_function_id: FUNCTION, cause };
    testbed.send_from_node(NODE, e2ap::RicSubscriptionDeleteRequired { subscriptions: Some(vec![gone].into()) });
    assert!(testbed.to_xapps.is_empty());
    let end = SubscriptionEnd::ByNode(cause);
    assert!(testbed.notices.contains(&Notice::EndNotReported { request_id: request(1), end }), "{:?}", testbed.notices);
    testbed.send_from_xapp(A, delete(xapp, 1));
    assert!(matches!(testbed.sent_to_xapp(A), Pdu::RicSubscriptionDeleteFailure(_)));
}

#[test]
fn node_without_components_is_hidden() {
    let mut testbed = Testbed::with_node();
    // a gNB of v1 without components
    testbed.ric.handle_open(testbed.now, AssocId(2));
    let mut without = setup(node_id(9));
    without.transaction_id = None;
    without.component_config_addition = None;
    let mut bytes = Vec::new();
    Pdu::from(without).encode(Version::V1_01, &mut bytes).unwrap();
    testbed.ric.handle_pdu(testbed.now, AssocId(2), &bytes);
    let mut out = Vec::new();
    while testbed.ric.poll_transmit(&mut out).is_some() {}
    testbed.settle();
    assert_eq!(testbed.ric.nodes().count(), 2);

    testbed.host.handle_open(A);
    testbed.send_from_xapp(A, E42Pdu::SetupRequest(E42SetupRequest { ran_functions: vec![function(2)].into() }));
    let gather = Gather::new();
    let E42Pdu::SetupResponse(response) = e42::decode(&testbed.to_xapps[0].1, E42Version::V2, &gather).unwrap() else {
        panic!()
    };
    assert_eq!(response.nodes.iter().map(|node| node.global_e2_node_id).collect::<Vec<_>>(), [node_id(7)]);
    assert_eq!(testbed.notices, [Notice::NodesOmitted { count: 1 }]);
    // a repeated setup has the same answer
    testbed.send_from_xapp(A, E42Pdu::SetupRequest(E42SetupRequest { ran_functions: vec![function(2)].into() }));
    assert_eq!(testbed.to_xapps[0], testbed.to_xapps[1]);
    assert_eq!(testbed.host.sessions(), 1);
}

#[test]
fn xapps_see_only_functions_that_flexric_knows() {
    let listed = |functions: Option<Selection<RanFunctionId>>| {
        let mut testbed = Testbed::with_node();
        if let Some(functions) = functions {
            testbed.host.list_functions(functions);
        }
        let of_node = |number, ids: &[u16]| {
            let functions: Vec<_> = ids.iter().map(|id| function(*id)).collect();
            E2SetupRequest { ran_functions_added: Some(functions.into()), ..setup(node_id(number)) }
        };
        for (assoc, number, ids) in [(2, 8, &[2, 3, 4, 141, 142, 148, 149][..]), (3, 9, &[4, 149])] {
            testbed.ric.handle_open(testbed.now, AssocId(assoc));
            testbed.send_from_node(AssocId(assoc), of_node(number, ids));
        }
        testbed.host.handle_open(A);
        testbed.send_from_xapp(A, E42Pdu::SetupRequest(E42SetupRequest { ran_functions: vec![function(2)].into() }));
        let gather = Gather::new();
        let bytes = testbed.to_xapps.pop().unwrap().1;
        let E42Pdu::SetupResponse(response) = e42::decode(&bytes, E42Version::V2, &gather).unwrap() else { panic!() };
        let ids = response.nodes.iter().map(|node| node.ran_functions.iter().map(|f| f.id.0).collect::<Vec<_>>());
        (ids.collect::<Vec<_>>(), testbed.notices)
    };
    let omitted = |count| vec![Notice::NodesOmitted { count }];
    assert_eq!(listed(None), (vec![vec![142], vec![2, 3, 142, 148]], omitted(1)));
    let all = vec![vec![142], vec![2, 3, 4, 141, 142, 148, 149], vec![4, 149]];
    assert_eq!(listed(Some(Selection::All)), (all, vec![]));
    let only = [RanFunctionId(149), RanFunctionId(2)].into_iter().collect();
    assert_eq!(listed(Some(only)), (vec![vec![2, 149], vec![149]], omitted(1)));
}

#[test]
fn v1_xapp_is_answered_in_v1() {
    let mut testbed = Testbed::with_node();
    testbed.host = E42Host::new(E42Version::V1, 1 << 20);
    testbed.host.handle_open(A);
    let mut bytes = Vec::new();
    let setup = E42Pdu::SetupRequest(E42SetupRequest { ran_functions: vec![function(2)].into() });
    setup.encode(E42Version::V1, &mut bytes).unwrap();
    testbed.send_bytes_from_xapp(A, &bytes);
    let (_, response) = testbed.to_xapps.pop().unwrap();
    let gather = Gather::new();
    let E42Pdu::SetupResponse(response) = e42::decode(&response, E42Version::V1, &gather).unwrap() else { panic!() };
    assert!(response.nodes[0].components.is_none());
    bytes.clear();
    control(response.xapp_id, 1, Some(RicControlAckRequest::Ack)).encode(E42Version::V1, &mut bytes).unwrap();
    testbed.send_bytes_from_xapp(A, &bytes);
    let Pdu::RicControlRequest(request_at_node) = testbed.sent_to_node() else { panic!() };
    let (request_id, ran_function_id) = (request_at_node.request_id, FUNCTION);
    let ack = RicControlAcknowledge { request_id, ran_function_id, call_process_id: None, status: None, outcome: None };
    testbed.send_from_node(NODE, ack);
    let (_, answer) = testbed.to_xapps.pop().unwrap();
    let gather = Gather::new();
    let Pdu::RicControlAcknowledge(answer) = e2ap::decode(&answer, Version::V1_01, &gather).unwrap().pdu else {
        panic!()
    };
    assert_eq!((answer.request_id, answer.status), (request(1), Some(RicControlStatus::Success)));
}

/// A node id that v1 cannot express does not end the session: an xApp of v1 does not see the node.
#[test]
fn node_that_v1_cannot_name_is_hidden_in_v1() {
    let GlobalE2NodeId::Gnb(mut id) = node_id(8) else { panic!() };
    let GlobalE2NodeId::Gnb(whole) = node_id(9) else { panic!() };
    id.global_en_gnb_id = Some(e2ap::GlobalEnGnbId {
        plmn_identity: whole.global_gnb_id.plmn_identity,
        en_gnb_id: e2ap::EnGnbId::new(0x200, 22),
    });
    for (version, received) in [(E42Version::V1, 1), (E42Version::V2, 2), (E42Version::V3, 2)] {
        let mut testbed = Testbed::with_node();
        testbed.host = E42Host::new(version, 1 << 20);
        testbed.ric.handle_open(testbed.now, AssocId(2));
        testbed.send_from_node(AssocId(2), setup(GlobalE2NodeId::Gnb(id)));
        assert_eq!(testbed.ric.nodes().count(), 2);
        testbed.host.handle_open(A);
        let mut bytes = Vec::new();
        let setup = E42Pdu::SetupRequest(E42SetupRequest { ran_functions: vec![function(2)].into() });
        setup.encode(version, &mut bytes).unwrap();
        testbed.send_bytes_from_xapp(A, &bytes);
        let gather = Gather::new();
        let E42Pdu::SetupResponse(response) = e42::decode(&testbed.to_xapps[0].1, version, &gather).unwrap() else {
            panic!()
        };
        assert_eq!((response.nodes.len(), testbed.notices.len()), (received, 2 - received), "{version}");
    }
}

#[test]
fn unexpected_message_closes_session() {
    for (bytes, greeted) in [
        (&b"\x01"[..], false),
        (b"garbage, and more of it", false),
        (b"", true),
        (&[0x20, 0x0E, 0x00, 0x03, 0, 0, 0], true),
    ] {
        let mut testbed = Testbed::with_node();
        testbed.connect_xapp(B);
        if greeted {
            testbed.connect_xapp(A);
        } else {
            testbed.host.handle_open(A);
        }
        testbed.send_bytes_from_xapp(A, bytes);
        assert_eq!(testbed.closed, [(A, CloseReason::Misbehaved)], "{bytes:?}");
        // further messages are ignored, and the other session continues
        testbed.send_bytes_from_xapp(A, bytes);
        assert_eq!((testbed.closed.len(), testbed.host.sessions()), (1, 1));
    }
    let mut testbed = Testbed::with_node();
    testbed.host.handle_open(A);
    testbed.send_from_xapp(A, subscribe(XappId(1), 7, 1, b""));
    assert_eq!(testbed.closed, [(A, CloseReason::Misbehaved)]);
    assert!(testbed.to_nodes.is_empty());
}

#[test]
fn tampered_dialogue_does_not_affect_other_xapp() {
    let mut answered = 0;
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut testbed = Testbed::with_node();
        let other = testbed.connect_xapp(B);
        let id = testbed.subscribed(B, other, 1);
        let xapp = testbed.connect_xapp(A);
        for request in [
            subscribe(xapp, 7, 1, b"one"),
            control(xapp, 2, Some(RicControlAckRequest::Ack)),
            subscribe(xapp, 7, 3, b"two"),
            delete(xapp, 1),
            delete(xapp, 3),
        ] {
            let mut bytes = Vec::new();
            request.encode(E42Version::V2, &mut bytes).unwrap();
            if random.below(3) == 0 {
                let at = random.below(bytes.len());
                bytes[at] = random.below(256) as u8;
            }
            testbed.send_bytes_from_xapp(A, &bytes);
            for (_, request_at_node) in std::mem::take(&mut testbed.to_nodes) {
                if let Pdu::RicSubscriptionRequest(request_at_node) = request_at_node {
                    testbed.send_from_node(NODE, admit(request_at_node.request_id));
                }
            }
        }
        answered += testbed.to_xapps.len();
        testbed.to_xapps.clear();
        testbed.send_from_node(NODE, indication(id, b"for the other xApp"));
        assert_eq!(testbed.sent_to_xapp(B), indication(request(1), b"for the other xApp").into());
    }
    assert!(answered > 300, "{answered}");
}

/// A dialogue of FlexRIC's xApps and its emulated gNB: this RIC sends the same PDUs as FlexRIC's.
#[test]
fn recorded_flexric_dialogue_is_reproduced() {
    let found = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|dir| dir.join("../shared/vectors/flexric-e2ap-v2.json"))
        .find(|file| file.is_file());
    let Some(found) = found else {
        println!("NOT TESTED: recorded messages of FlexRIC's xApps (no ../shared/vectors)");
        return;
    };
    let text = std::fs::read_to_string(found).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let recorded = |pdu: &str, procedure: &str, function: Option<u16>, sender: &str| -> Vec<u8> {
        let is_kind = |kind: &&serde_json::Value| {
            kind["pdu"] == pdu
                && kind["procedure"] == procedure
                && kind["ran_function_id"].as_u64() == function.map(u64::from)
        };
        let samples = all["vectors"].as_array().unwrap().iter().filter(is_kind).flat_map(|k| k["samples"].as_array());
        let sample = samples.flatten().find(|sample| sample["sender"] == sender);
        let hex = sample.unwrap_or_else(|| panic!("no {pdu} {procedure} {function:?} of {sender}"))["hex"].as_str();
        let digits = hex.unwrap().as_bytes();
        digits.chunks(2).map(|d| u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap()).collect()
    };
    let (ric, xapp, node) = ("nearRT-RIC", "xapp_gtp_mac_rl", "emu_agent_gnb");
    let mut testbed = Testbed::new(E42Version::V2);
    testbed.ric.handle_open(testbed.now, NODE);
    testbed.send_bytes_from_node(NODE, &recorded("initiatingMessage", "E2setup", None, node));
    testbed.to_nodes.clear();
    testbed.host.handle_open(A);
    testbed.send_bytes_from_xapp(A, &recorded("initiatingMessage", "E42setup", None, "rc-vec"));
    let (_, mut response) = testbed.to_xapps.pop().unwrap();
    let expected = recorded("successfulOutcome", "E42setup", None, ric);
    let number = response[12..14].to_vec();
    response[12..14].copy_from_slice(&expected[12..14]); // the xApp's number
    assert_eq!(response, expected);

    let own = |mut bytes: Vec<u8>| {
        let at = if bytes[3] & 0x80 == 0 { 11 } else { 12 };
        bytes[at..at + 2].copy_from_slice(&number);
        bytes
    };
    let with_request_id = |mut bytes: Vec<u8>, id: RicRequestId| {
        assert!(e2ap::peek::replace_request_id(&mut bytes, id));
        bytes
    };
    for function in [142, 143, 144, 148] {
        testbed
            .send_bytes_from_xapp(A, &own(recorded("initiatingMessage", "E42RICsubscription", Some(function), xapp)));
        let Pdu::RicSubscriptionRequest(request_at_node) = testbed.sent_to_node() else { panic!("a subscription") };
        assert_eq!(request_at_node.ran_function_id, RanFunctionId(function));
        let response = recorded("successfulOutcome", "RICsubscription", Some(function), node);
        testbed.send_bytes_from_node(NODE, &with_request_id(response, request_at_node.request_id));
        let received = testbed.to_xapps.pop().unwrap().1;
        assert_eq!(received, recorded("successfulOutcome", "RICsubscription", Some(function), ric), "{function}");

        let id = e2ap::peek::outline(&received).unwrap().request_id.unwrap();
        let report = recorded("initiatingMessage", "RICindication", Some(function), node);
        testbed.send_bytes_from_node(NODE, &with_request_id(report.clone(), request_at_node.request_id));
        assert_eq!(testbed.to_xapps.pop().unwrap().1, with_request_id(report, id));

        testbed.send_bytes_from_xapp(
            A,
            &own(recorded("initiatingMessage", "E42RICsubscriptionDelete", Some(function), xapp)),
        );
        assert!(matches!(testbed.sent_to_node(), Pdu::RicSubscriptionDeleteRequest(_)));
        let received = testbed.to_xapps.pop().unwrap().1;
        assert_eq!(received, recorded("successfulOutcome", "RICsubscriptionDelete", Some(function), ric), "{function}");
    }
    testbed.send_bytes_from_xapp(A, &own(recorded("initiatingMessage", "E42RICcontrol", Some(142), "xapp_mac_ctrl")));
    let Pdu::RicControlRequest(request_at_node) = testbed.sent_to_node() else { panic!("a control") };
    let acknowledge = recorded("successfulOutcome", "RICcontrol", Some(142), node);
    testbed.send_bytes_from_node(NODE, &with_request_id(acknowledge, request_at_node.request_id));
    assert_eq!(testbed.to_xapps.pop().unwrap().1, recorded("successfulOutcome", "RICcontrol", Some(142), ric));
    assert!(testbed.closed.is_empty() && testbed.notices.is_empty(), "{:?}", testbed.notices);
}
