//! Procedures from end to end: an app, a real server, and a node driven by the test.

mod common;

use std::time::Duration;

use common::peer::{FUNCTION, Peer, encoded, indication, node_id, report_spec};
use common::session::{node_id_of, poll_until, session};
use common::test_server::{Ric, free_ports};
use e2ap::{Pdu, RanFunctionIdItem, RanFunctionRevision, RicActionType, RicIndicationType, TransactionId, Version};
use ferric::e2::{ModifyOutcome, QueryOutcome};
use ferric::e2::{SubscriptionChange, SubscriptionEnd};
use ferric::server::ServerConfig;
use ferric::xapp::{RequestEvent, Xapp, XappEvent};

/// A RIC that expects the gNB 1 to use v03.01.
fn start() -> Ric {
    let mut config = free_ports();
    config.controller.node_versions.insert(node_id(1).to_string(), Version::V3_01);
    Ric::start(ServerConfig { ..config })
}

fn node(ric: &Ric) -> Peer {
    let mut node = Peer::connect(&ric.e2[0]);
    node.set_up(1);
    node
}

fn receive(node: &mut Peer) -> Pdu<'static> {
    let gather = Default::default();
    e2ap::decode(&node.receive(), Version::V3_01, &gather).unwrap().pdu.into_owned()
}

fn send<'a>(node: &mut Peer, pdu: impl Into<Pdu<'a>>) {
    node.send(&encoded(pdu, Version::V3_01));
}

fn sent(xapp: &mut Xapp) {
    xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
}

#[test]
fn insert_and_its_answer_carry_the_call_process_id() {
    let ric = start();
    let mut node = node(&ric);
    let mut xapp = session(&ric);
    let id = node_id_of(&mut xapp, 1);
    let mut spec = report_spec(b"insert");
    spec.actions[0].kind = RicActionType::Insert;
    xapp.commands().subscribe(id, FUNCTION, spec);
    sent(&mut xapp);
    let (request_id, action) = node.admit();
    let mut insert = indication(request_id, action, b"may I?");
    insert.kind = RicIndicationType::Insert;
    insert.call_process_id = Some(b"call 7".as_slice().into());
    send(&mut node, insert);
    let deadline = std::time::Instant::now() + common::PATIENCE;
    let mut answered = false;
    while !answered {
        assert!(std::time::Instant::now() < deadline, "the insert does not arrive");
        xapp.poll(Some(Duration::from_millis(50)), |event, ric| {
            if let XappEvent::Indication(indication) = event {
                let peeked = indication.peek().unwrap();
                assert_eq!(peeked.kind, RicIndicationType::Insert);
                let call = peeked.call_process_id.unwrap();
                ric.answer_insert(indication.node, FUNCTION, call, b"", b"you may");
                answered = true;
            }
        })
        .unwrap();
    }
    match receive(&mut node) {
        Pdu::RicControlRequest(control) => {
            assert_eq!(control.call_process_id.unwrap().to_cow(), b"call 7".as_slice());
            assert_eq!(control.message.to_cow(), b"you may".as_slice());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn query_and_modification_round_trip() {
    let ric = start();
    let mut node = node(&ric);
    let mut xapp = session(&ric);
    let id = node_id_of(&mut xapp, 1);
    assert_eq!(xapp.nodes().next().unwrap().version, Version::V3_01);
    let ticket = xapp.commands().query(id, FUNCTION, b"head", b"what?");
    sent(&mut xapp);
    match receive(&mut node) {
        Pdu::RicQueryRequest(query) => {
            assert_eq!(query.definition.to_cow(), b"what?".as_slice());
            let (request_id, ran_function_id) = (query.request_id, query.ran_function_id);
            let outcome = b"this".as_slice().into();
            send(&mut node, e2ap::RicQueryResponse { request_id, ran_function_id, outcome });
        }
        other => panic!("{other:?}"),
    }
    let queried = poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::Queried { ticket, outcome: result }) => Some((ticket, result)),
        _ => None,
    });
    assert_eq!(queried, (ticket, QueryOutcome::Answered(b"this".to_vec().into())));

    xapp.commands().subscribe(id, FUNCTION, report_spec(b"first"));
    sent(&mut xapp);
    let (request_id, _) = node.admit();
    let subscription = poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::Subscribed { subscription, .. }) => Some(subscription),
        _ => None,
    });
    let change = SubscriptionChange { event_trigger: Some(b"second".to_vec()), ..SubscriptionChange::default() };
    let done = change.all_done();
    xapp.commands().modify(subscription, change);
    sent(&mut xapp);
    match receive(&mut node) {
        Pdu::RicSubscriptionModificationRequest(request) => {
            assert_eq!(request.request_id, request_id);
            assert_eq!(request.event_trigger_definition.unwrap().to_cow(), b"second".as_slice());
            let response = e2ap::RicSubscriptionModificationResponse {
                request_id,
                ran_function_id: request.ran_function_id,
                actions_removed: None,
                actions_failed_to_be_removed: None,
                actions_modified: None,
                actions_failed_to_be_modified: None,
                actions_added: None,
                actions_failed_to_be_added: None,
            };
            send(&mut node, response);
        }
        other => panic!("{other:?}"),
    }
    let modified = poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::Modified { subscription, outcome: result, .. }) => {
            Some((subscription, result))
        }
        _ => None,
    });
    assert_eq!(modified, (subscription, ModifyOutcome::Done(done)));
}

#[test]
fn removed_function_ends_its_subscriptions() {
    let ric = start();
    let mut node = node(&ric);
    let mut xapp = session(&ric);
    let id = node_id_of(&mut xapp, 1);
    xapp.commands().subscribe(id, FUNCTION, report_spec(b"trigger"));
    sent(&mut xapp);
    node.admit();
    let gone = RanFunctionIdItem { id: FUNCTION, revision: RanFunctionRevision(1) };
    let update = e2ap::RicServiceUpdate {
        transaction_id: Some(TransactionId(3)),
        ran_functions_added: None,
        ran_functions_modified: None,
        ran_functions_deleted: Some(vec![gone].into()),
    };
    send(&mut node, update);
    assert!(matches!(receive(&mut node), Pdu::RicServiceUpdateAcknowledge(_)));
    let mut end = None;
    let functions = poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::SubscriptionEnded { end: why, .. }) => {
            end = Some(why);
            None
        }
        XappEvent::NodeChanged(node) => Some(node.functions.len()),
        _ => None,
    });
    assert_eq!((end, functions), (Some(SubscriptionEnd::FunctionRemoved), 0));
    assert_eq!(xapp.nodes().next().unwrap().functions, []);
}
