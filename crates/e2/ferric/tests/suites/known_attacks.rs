//! Known attacks on RICs, one test for each class: the answer to the peer, the log line, and the service for all
//! others. Variants are in `misbehaving_nodes.rs`, `misbehaving_xapps.rs` and the scenarios of the machines.
//!
//! | class | case |
//! |---|---|
//! | single-octet PDU | [`single_octet_pdus`] |
//! | garbage | [`garbage`] |
//! | oversized PDU | [`oversized_pdus`] |
//! | byte-perfect repeated setup | [`identical_repeated_setup`] |
//! | connect and close | [`connect_and_close`] |
//! | unknown RAN function, request id, transaction; response without request | [`unknown_ids`] |
//! | Reset, Error Indication, Service Update at any moment | [`resets_errors_and_updates_at_any_time`] |
//! | wrong list lengths | [`wrong_list_lengths`] |
//! | deep nesting | [`deep_nesting_in_opaque_octets`] |
//! | integer extremes | [`integer_extremes`] |
//! | duplicate IEs | [`duplicate_ies`] |
//! | an xApp id of another | [`subscription_of_another_xapp_cannot_be_used`] |
//! | subscription flood from one xApp | [`subscription_flood`] |
//! | reconnect storm of 1,000 nodes | [`reconnect_storm_of_a_thousand_nodes`] |
//! | slow reader | [`slow_reader`] |
//! | half-open association | [`half_open_association`] |
//! | two nodes with one id | [`two_nodes_with_one_id`] |
//! | clock jumps | `e2/tests/clock.rs`, where the clock is the test's |

use std::net::Shutdown;
use std::time::Duration;

use crate::common::peer::{
    FUNCTION, Peer, VERSION, encoded, framed, indication, node_id, report_spec, reset_request, setup_request,
};
use crate::common::session::{node_id_of, poll_until, session, subscribe};
use crate::common::test_server::TestServer;
use crate::common::{eventually, noise};
use e2ap::{
    Cause, CauseProtocol, ErrorIndication, Kind, Pdu, ProcedureCode, RanFunctionId, RicActionAdmitted, RicActionId,
    RicControlAcknowledge, RicRequestId, RicServiceUpdate, RicSubscriptionResponse, TransactionId, peek,
};
use ferric::e2::{ControlOutcome, RefusalCode, RequestEvent, SubscribeError};
use ferric::e2::{SubscriptionEnd, SubscriptionId};
use ferric::xapp::XappEvent;

/// Returns the cause with which the peer is answered.
fn cause(peer: &mut Peer) -> Option<Cause> {
    match peer.receive_pdu() {
        Pdu::ErrorIndication(ErrorIndication { cause, .. }) => cause,
        other => panic!("{other:?}"),
    }
}

/// Waits for a log line with all `parts`.
fn logged(server: &TestServer, parts: &[&str]) {
    eventually(&format!("a line with {parts:?}"), || {
        server.ric.log.text().lines().any(|line| parts.iter().all(|part| line.contains(part)))
    });
}

#[test]
fn single_octet_pdus_do_not_affect_others() {
    let server = TestServer::new();
    for octet in 0..=255 {
        let mut peer = server.ric.node();
        peer.send(&[octet]);
        match peer.receive_pdu() {
            Pdu::ErrorIndication(indication) => {
                assert_eq!(indication.cause, Some(Cause::Protocol(CauseProtocol::TransferSyntaxError)), "{octet}");
            }
            other => panic!("{octet}: {other:?}"),
        }
        peer.set_up(1); // it may start anew
        peer.is_served();
    }
    logged(&server, &["WARN"]);
    server.end();
}

#[test]
fn garbage_does_not_affect_others() {
    let server = TestServer::new();
    let mut peer = server.ric.node();
    peer.set_up(2);
    let mut answers = 0;
    for seed in 0..200 {
        peer.send(&noise(seed, 20));
    }
    // answered ten times a second at most, and not closed for it
    peer.send_pdu(reset_request());
    loop {
        match peer.receive_pdu() {
            Pdu::ErrorIndication(_) => answers += 1,
            Pdu::ResetResponse(_) => break,
            other => panic!("{other:?}"),
        }
    }
    assert!((1..=20).contains(&answers), "{answers}");
    logged(&server, &["WARN", "gnb-00101-2"]);
    server.end();
}

#[test]
fn oversized_pdus_do_not_affect_others() {
    let server = TestServer::with(|config| config.link.max_pdu_octets = 40_000);
    for length in [u32::MAX, 1 << 31, 40_001] {
        let mut peer = server.ric.node();
        peer.set_up(3);
        peer.write(&length.to_be_bytes());
        peer.write(&noise(1, 5000));
        assert_eq!(peer.expect_closed(), [], "{length}");
    }
    logged(&server, &["WARN", "connection closed", "40000"]);
    server.end();
}

#[test]
fn identical_repeated_setup_does_not_affect_others() {
    let server = TestServer::new();
    let setup = setup_request(4, VERSION);
    let mut peer = server.ric.node();
    for round in 0..5 {
        peer.send(&setup);
        assert!(matches!(peer.receive_pdu(), Pdu::E2SetupResponse(_)), "{round}");
    }
    peer.is_served();
    logged(&server, &[" lost: it set up again"]);
    server.end();
}

#[test]
fn connect_and_close_does_not_affect_others() {
    let server = TestServer::new();
    for round in 0..50 {
        let (node, xapp) = (server.ric.node(), server.ric.xapp());
        if round % 2 == 0 {
            let _ = (node.stream.shutdown(Shutdown::Both), xapp.stream.shutdown(Shutdown::Write));
        }
    }
    server.end();
}

#[test]
fn unknown_ids_do_not_affect_others() {
    let server = TestServer::new();
    let mut xapp = session(&server.ric);
    let mut peer = server.ric.node();
    peer.set_up(5);
    let (_, request_id, _) = subscribe(&mut xapp, &mut peer, 5);

    let unassigned = RicRequestId { requestor: 77, instance: 77 };
    let other = RanFunctionId(4000);
    for (request_id, ran_function_id) in [(unassigned, FUNCTION), (request_id, other), (unassigned, other)] {
        peer.send_pdu(RicSubscriptionResponse {
            request_id,
            ran_function_id,
            actions_admitted: vec![RicActionAdmitted { id: RicActionId(1) }].into(),
            actions_not_admitted: None,
        });
        peer.send_pdu(RicControlAcknowledge {
            request_id,
            ran_function_id,
            call_process_id: None,
            status: None,
            outcome: None,
        });
    }
    let mut stray = indication(request_id, RicActionId(1), b"stray");
    stray.ran_function_id = other;
    peer.send_pdu(stray);
    peer.is_served(); // none of them was answered before
    logged(&server, &["WARN", "gnb-00101-5", "RicSubscriptionResponse", "dropped"]);
    logged(&server, &["WARN", "gnb-00101-5", "RicIndication", "dropped"]);

    // a transaction that does not exist
    let mut peer = server.ric.node();
    peer.set_up(55);
    peer.send_pdu(e2ap::ResetResponse { transaction_id: Some(TransactionId(200)), criticality_diagnostics: None });
    peer.is_served();
    logged(&server, &["WARN", "gnb-00101-37", "ResetResponse"]);
    server.end();
}

#[test]
fn resets_errors_and_updates_at_any_time_do_not_affect_others() {
    let server = TestServer::new();
    let about_nothing = || ErrorIndication {
        transaction_id: None,
        request_id: None,
        ran_function_id: None,
        cause: Some(Cause::Protocol(CauseProtocol::SemanticError)),
        criticality_diagnostics: None,
    };
    let update = |transaction| RicServiceUpdate {
        transaction_id: Some(TransactionId(transaction)),
        ran_functions_added: None,
        ran_functions_modified: None,
        ran_functions_deleted: None,
    };
    // before the setup
    let mut peer = server.ric.node();
    peer.send_pdu(about_nothing());
    let wrong_state = Some(Cause::Protocol(CauseProtocol::MessageNotCompatibleWithReceiverState));
    peer.send_pdu(reset_request());
    assert_eq!(cause(&mut peer), wrong_state);
    peer.send_pdu(update(1));
    assert_eq!(cause(&mut peer), wrong_state);
    logged(&server, &["WARN", "ResetRequest"]);
    peer.set_up(6);

    // while a subscription waits for its answer, and while it exists
    for admitted in [false, true] {
        let mut xapp = session(&server.ric);
        let node = node_id_of(&mut xapp, 6);
        xapp.commands().subscribe(node, FUNCTION, report_spec(b"trigger"));
        xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
        if admitted {
            peer.admit();
            poll_until(&mut xapp, |event| {
                matches!(event, XappEvent::Request(RequestEvent::Subscribed { .. })).then_some(())
            });
        } else {
            peer.receive_subscription();
        }
        peer.send_pdu(about_nothing());
        peer.is_served(); // by a reset
        let end = poll_until(&mut xapp, |event| match event {
            XappEvent::Request(RequestEvent::SubscriptionFailed { error: failure, .. }) => Some(Err(failure)),
            XappEvent::Request(RequestEvent::SubscriptionEnded { end, .. }) => Some(Ok(end)),
            _ => None,
        });
        let expected = if admitted { Ok(SubscriptionEnd::Reset) } else { Err(SubscribeError::NodeLost) };
        assert_eq!(end, expected);
    }
    // a service update without changes
    peer.send_pdu(update(2));
    match peer.receive_pdu() {
        Pdu::RicServiceUpdateAcknowledge(answer) => assert_eq!(answer.transaction_id, Some(TransactionId(2))),
        Pdu::RicServiceUpdateFailure(answer) => assert_eq!(answer.transaction_id, Some(TransactionId(2))),
        Pdu::ErrorIndication(_) => {}
        other => panic!("{other:?}"),
    }
    peer.is_served();
    logged(&server, &["gnb-00101-6", "reset"]);
    server.end();
}

#[test]
fn wrong_list_lengths_do_not_affect_others() {
    let server = TestServer::new();
    let setup = setup_request(7, VERSION);
    // the number of IEs follows the outermost length (three octets of header, one or two of length, the extension bit)
    let long = usize::from(setup[3] >= 0x80);
    let count_at = 5 + long;
    assert_eq!(setup[count_at - 1..=count_at + 1], [0, 0, 4], "the count of IEs");
    for (high, low) in [(0, 0), (0, 1), (0, 3), (0, 5), (0, 255), (0xFF, 0xFF)] {
        let mut lie = setup.clone();
        (lie[count_at], lie[count_at + 1]) = (high, low);
        let mut peer = server.ric.node();
        peer.send(&lie);
        let answer = peer.receive();
        assert!(is_refusal(&answer), "{answer:02x?}");
        peer.set_up(7);
    }
    // each octet at its maximum: lengths and counts are among them
    for at in 0..setup.len() {
        let mut lie = setup.clone();
        lie[at] = 0xFF;
        let mut peer = server.ric.node();
        peer.send(&lie);
        let answer = peer.receive();
        let taken = matches!(peek::outline(&answer), Some(answer) if answer.kind == Kind::Successful);
        assert!(taken || is_refusal(&answer), "{at}: {answer:02x?}");
    }
    server.end();
}

/// Returns a setup failure or an error indication, in the version that the setup indicates.
fn is_refusal(answer: &[u8]) -> bool {
    let answer = peek::outline(answer).map(|answer| (answer.kind, answer.procedure_code));
    let setup_failure = (Kind::Unsuccessful, ProcedureCode::E2_SETUP);
    [Some(setup_failure), Some((Kind::Initiating, ProcedureCode::ERROR_INDICATION))].contains(&answer)
}

#[test]
fn deep_nesting_in_opaque_octets_does_not_affect_others() {
    let server = TestServer::new();
    let mut xapp = session(&server.ric);
    let mut peer = server.ric.node();
    peer.set_up(8);
    let (_, request_id, action) = subscribe(&mut xapp, &mut peer, 8);
    // the RIC does not interpret the octets of a service model
    let nested = [0x80, 0x01].repeat(5000);
    peer.report(request_id, action, &nested);
    poll_until(&mut xapp, |event| match event {
        XappEvent::Indication(indication) => {
            assert_eq!(indication.peek().unwrap().message, nested);
            Some(())
        }
        _ => None,
    });
    server.end();
}

#[test]
fn integer_extremes_do_not_affect_others() {
    let server = TestServer::new();
    // a transaction id above 255, which the extension permits
    for transaction in [0, 255, 256, 65_535, u32::MAX >> 1] {
        let mut request = decoded_setup(9);
        request.transaction_id = Some(TransactionId(transaction));
        let mut peer = server.ric.node();
        peer.send_pdu(request);
        match peer.receive_pdu() {
            Pdu::E2SetupResponse(response) => assert_eq!(response.transaction_id, Some(TransactionId(transaction))),
            other => panic!("{other:?}"),
        }
    }
    // ids at their limits
    let mut peer = server.ric.node();
    peer.set_up(9);
    for (requestor, instance) in [(0, 0), (0, u16::MAX), (1020, u16::MAX), (u16::MAX, 0), (u16::MAX, u16::MAX)] {
        let mut stray = indication(RicRequestId { requestor, instance }, RicActionId(255), b"");
        stray.sn = Some(e2ap::RicIndicationSn(u16::MAX));
        stray.ran_function_id = RanFunctionId(4095);
        peer.send_pdu(stray);
        match peer.receive_pdu() {
            Pdu::RicSubscriptionDeleteRequest(request) => {
                assert_eq!(request.request_id, RicRequestId { requestor, instance });
                assert_eq!(request.ran_function_id, RanFunctionId(4095));
            }
            other => panic!("{other:?}"),
        }
    }
    peer.is_served();
    server.end();
}

/// Returns the setup request, to be modified.
fn decoded_setup(number: u32) -> e2ap::E2SetupRequest<'static> {
    match crate::common::peer::decoded(&setup_request(number, VERSION)) {
        Pdu::E2SetupRequest(request) => request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn duplicate_ies_do_not_affect_others() {
    let server = TestServer::new();
    // a reset with its transaction id, or its cause, twice
    let (transaction, why): (&[u8], &[u8]) = (&[0, 49, 0, 2, 0, 7], &[0, 1, 64, 1, 0x54]);
    for ies in [[transaction, transaction, why], [transaction, why, why]] {
        let body: Vec<u8> = [&[0, 0, 3][..], ies[0], ies[1], ies[2]].concat();
        let pdu = [&[0, 3, 0, body.len() as u8][..], &body].concat();
        let mut peer = server.ric.node();
        peer.set_up(10);
        peer.send(&pdu);
        let falsely = Cause::Protocol(CauseProtocol::AbstractSyntaxErrorFalselyConstructedMessage);
        assert_eq!(cause(&mut peer), Some(falsely));
        peer.is_served();
    }
    logged(&server, &["WARN", "gnb-00101-a"]);
    server.end();
}

#[test]
fn subscription_of_another_xapp_cannot_be_used() {
    let server = TestServer::new();
    let (mut owner, mut thief) = (session(&server.ric), session(&server.ric));
    let mut peer = server.ric.node();
    peer.set_up(11);
    let (subscription, request_id, action) = subscribe(&mut owner, &mut peer, 11);
    node_id_of(&mut thief, 11);
    for id in [subscription, SubscriptionId(u32::MAX), SubscriptionId(0)] {
        thief.commands().unsubscribe(id);
    }
    thief.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
    // the owner's subscription stays
    peer.report(request_id, action, b"still there");
    poll_until(&mut owner, |event| matches!(event, XappEvent::Indication(_)).then_some(()));
    logged(&server, &["WARN", "unsubscribe for an unknown subscription or one of another xApp"]);
    peer.is_served();
    server.end();
}

#[test]
fn subscription_flood_does_not_affect_others() {
    const ASKED: u32 = 3000;
    let server = TestServer::with(|config| config.controller.max_requests_per_consumer = 1000);
    let mut peer = server.ric.node();
    peer.set_up(12);
    let mut xapp = session(&server.ric);
    let node = node_id_of(&mut xapp, 12);
    for trigger in 0..ASKED {
        xapp.commands().subscribe(node, FUNCTION, report_spec(&trigger.to_be_bytes()));
    }
    let (mut refused, mut subscribed) = (0, 0);
    let mut other = peer.another();
    let reader = std::thread::spawn(move || {
        for _ in 0..1000 {
            other.receive_subscription();
        }
    });
    while refused < ASKED - 1000 {
        xapp.poll(Some(Duration::from_millis(100)), |event, _| match event {
            XappEvent::Request(RequestEvent::SubscriptionFailed { error: failure, .. }) => {
                assert_eq!(failure, SubscribeError::Misuse(RefusalCode::TooManyRequests));
                refused += 1;
            }
            XappEvent::Request(RequestEvent::Subscribed { .. }) => subscribed += 1,
            _ => {}
        })
        .unwrap();
    }
    reader.join().expect("requests within its quota");
    assert_eq!(subscribed, 0, "the node has answered none");
    // another xApp has its own quota
    let mut second = session(&server.ric);
    subscribe(&mut second, &mut peer, 12);
    drop(xapp);
    server.end();
}

#[test]
fn reconnect_storm_of_a_thousand_nodes_does_not_affect_others() {
    let server = TestServer::new();
    let storm = || -> Vec<Peer> {
        let mut peers: Vec<_> = (0..1000).map(|_| server.ric.node()).collect();
        for (peer, number) in peers.iter_mut().zip(1000..) {
            peer.send(&setup_request(number, VERSION));
        }
        for peer in &mut peers {
            assert!(matches!(peer.receive_pdu(), Pdu::E2SetupResponse(_)));
        }
        peers
    };
    let first = storm();
    // they reconnect before the RIC has noticed the loss
    let again = storm();
    drop(first);
    let mut xapp = session(&server.ric);
    for number in [1000, 1500, 1999] {
        node_id_of(&mut xapp, number);
    }
    server.check_peers();
    drop(again);
    logged(&server, &["disconnected", "the node set up on another association"]);
    server.end();
}

#[test]
fn slow_reader_does_not_affect_others() {
    let server = TestServer::with(|config| config.link.outbox_octets = 64 * 1024);
    let mut xapp = session(&server.ric);
    let mut peer = server.ric.node();
    peer.set_up(13);
    let (_, request_id, action) = subscribe(&mut xapp, &mut peer, 13);
    // the xApp reads nothing meanwhile
    let message = vec![0x5E; 10_000];
    for _ in 0..3000 {
        peer.report(request_id, action, &message);
    }
    peer.is_served();
    server.check_peers();
    let dropped = poll_until(&mut xapp, |event| match event {
        XappEvent::ReportsDropped(reports) => Some(reports),
        _ => None,
    });
    assert!((1..3000).contains(&dropped), "{dropped}");
    logged(&server, &["WARN", "reads too slowly"]);
    server.end();
}

#[test]
fn half_open_association_does_not_affect_others() {
    let server = TestServer::with(|config| config.controller.subscription_timeout = Duration::from_millis(200));
    let mut xapp = session(&server.ric);
    let mut peer = server.ric.node();
    peer.set_up(14);
    let node = node_id_of(&mut xapp, 14);
    // the node's host is gone without a close: nothing is answered
    xapp.commands().subscribe(node, FUNCTION, report_spec(b"trigger"));
    xapp.commands().control(node, FUNCTION, b"header", b"message");
    let failure = poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::SubscriptionFailed { error: failure, .. }) => Some(failure),
        XappEvent::Request(RequestEvent::Controlled { outcome: ControlOutcome::Acknowledged(_), .. }) => {
            panic!("unexpected event")
        }
        _ => None,
    });
    assert_eq!(failure, SubscribeError::TimedOut);
    logged(&server, &["WARN", "gnb-00101-e"]);
    // it reconnects on another association, and is served there
    let mut back = server.ric.node();
    back.set_up(14);
    back.is_served();
    peer.expect_closed();
    // a node that has only closed its sending side is lost, too
    let writing = framed(&encoded(reset_request(), VERSION));
    back.write(&writing);
    back.stream.shutdown(Shutdown::Write).unwrap();
    let answers = back.expect_closed();
    assert!(answers.len() <= 1, "{answers:?}");
    server.end();
}

#[test]
fn two_nodes_with_one_id_do_not_affect_others() {
    let server = TestServer::new();
    let mut xapp = session(&server.ric);
    let mut first = server.ric.node();
    first.set_up(15);
    let before = node_id_of(&mut xapp, 15);
    let mut second = server.ric.node();
    second.set_up(15);
    assert_eq!(first.expect_closed(), [], "the newer one is served");
    let after = poll_until(&mut xapp, |event| match event {
        XappEvent::NodeUp(node) if node.global_id == node_id(15) => Some(node.id),
        _ => None,
    });
    assert_ne!(before, after);
    second.is_served();
    logged(&server, &["disconnected", "the node set up on another association"]);
    server.end();
}
