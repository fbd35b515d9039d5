//! Misbehaving nodes with a real server over real sockets, while a well-behaved node and xApp must not be affected.

use std::net::Shutdown;
use std::sync::mpsc;
use std::time::Duration;

use crate::common::peer::{
    FUNCTION, Peer, VERSION, framed, indication, indication_of, node_id, reset_request, setup_request,
};
use crate::common::session::{node_id_of, poll_until, session, subscribe};
use crate::common::test_server::TestServer;
use crate::common::{PATIENCE, eventually, noise};
use e2ap::{
    Cause, CauseProtocol, ErrorIndication, Kind, Pdu, ProcedureCode, RanFunctionId, RicActionId, RicRequestId,
    RicSubscriptionResponse, TransactionId,
};
use ferric::e2::SubscriptionEnd;
use ferric::e2::xapp::{PROTOCOL_VERSION, RicMessage, XappMessage};
use ferric::e2::{ControlOutcome, RefusalCode, RequestEvent};
use ferric::xapp::XappEvent;
use per::Gather;

fn error_indication(pdu: Pdu<'static>) -> ErrorIndication<'static> {
    match pdu {
        Pdu::ErrorIndication(indication) => indication,
        other => panic!("{other:?}"),
    }
}

// octets that are not E2AP

#[test]
fn garbage_before_setup_is_answered() {
    let server = TestServer::new();
    for seed in 0..20 {
        let mut peer = server.ric.node();
        for at in 0..8 {
            peer.send(&noise(seed * 100 + at, 20));
        }
        let answers = peer.expect_closed();
        assert!(answers.len() <= 4, "{answers:?}");
        for answer in answers {
            assert!(matches!(answer, Pdu::ErrorIndication(_) | Pdu::E2SetupFailure(_)), "{answer:?}");
        }
    }
    server.end();
}

#[test]
fn unframed_octets_close_the_connection() {
    let server = TestServer::new();
    for octets in [b"GET / HTTP/1.1\r\nHost: ric\r\n\r\n".to_vec(), vec![0xFF; 20], noise(3, 20)] {
        let mut peer = server.ric.node();
        peer.write(&octets);
        peer.stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(peer.expect_closed(), [], "{octets:02x?}");
    }
    server.end();
}

#[test]
fn silent_connections_do_not_affect_others() {
    let server = TestServer::new();
    for _ in 0..100 {
        drop(server.ric.node());
        drop(server.ric.xapp());
    }
    server.end();
}

#[test]
fn slow_setup_is_closed() {
    let server = TestServer::with(|config| config.controller.setup_timeout = Duration::from_millis(200));
    let mut peer = server.ric.node();
    // the announced PDU is never complete
    let took = peer.drip(&framed(&vec![0; 100_000])[..1000]);
    assert!(took >= Duration::from_millis(150), "{took:?}");
    server.end();
}

#[test]
fn silent_connection_is_closed() {
    let server = TestServer::with(|config| config.controller.setup_timeout = Duration::from_millis(200));
    assert_eq!(server.ric.node().expect_closed(), []);
    assert_eq!(server.ric.xapp().try_receive(), None, "an xApp must say hello in time, too");
    server.end();
}

#[test]
fn invalid_lengths_close_the_connection() {
    let server = TestServer::with(|config| config.link.max_pdu_octets = 100_000);
    for length in [u32::MAX, 0, 100_001, 1 << 31] {
        let mut peer = server.ric.node();
        peer.set_up(1);
        peer.write(&length.to_be_bytes());
        assert_eq!(peer.expect_closed(), [], "{length}");
    }
    // one that is just short enough is garbage
    let mut peer = server.ric.node();
    peer.set_up(1);
    peer.send(&vec![0xFF; 100_000]);
    error_indication(peer.receive_pdu());
    peer.is_served();
    server.end();
}

#[test]
fn truncated_frame_does_not_affect_others() {
    let server = TestServer::new();
    let setup = framed(&setup_request(2, VERSION));
    for octets in [1, 3, 4, 5, setup.len() / 2, setup.len() - 1] {
        let mut peer = server.ric.node();
        peer.write(&setup[..octets]);
        peer.stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(peer.expect_closed(), []);
    }
    server.end();
}

#[test]
fn answers_to_a_flood_of_garbage_are_limited() {
    let server = TestServer::new();
    let mut peer = server.ric.node();
    peer.set_up(3);
    let begun = std::time::Instant::now();
    let mut reader = peer.another();
    let (sender, receiver) = mpsc::channel();
    let answers = std::thread::spawn(move || {
        let mut answers = 0;
        loop {
            match reader.receive_pdu() {
                Pdu::ResetResponse(_) => return sender.send(answers).unwrap(),
                other => drop(error_indication(other)),
            }
            answers += 1;
        }
    });
    for seed in 0..20_000 {
        peer.send(&noise(seed, 40));
    }
    server.check_peers();
    peer.send_pdu(reset_request());
    let count: u128 = receiver.recv_timeout(PATIENCE).expect("the server still answers");
    answers.join().unwrap();
    // a burst of 16, and ten a second
    assert!((1..=18 + begun.elapsed().as_millis() / 100).contains(&count), "{count} answers");
    server.end();
}

// E2AP at the wrong time

#[test]
fn setup_without_mandatory_ies_is_refused() {
    let server = TestServer::new();
    let mut peer = server.ric.node();
    // only IE 49, the transaction id: 5
    peer.send(&[0x00, 0x01, 0x00, 0x09, 0, 0, 1, 0x00, 0x31, 0x00, 0x02, 0x00, 0x05]);
    match peer.receive_pdu() {
        Pdu::E2SetupFailure(failure) => {
            assert_eq!(failure.transaction_id, Some(TransactionId(5)));
            assert_eq!(failure.cause, Some(Cause::Protocol(CauseProtocol::AbstractSyntaxErrorReject)));
            assert!(failure.criticality_diagnostics.is_some());
        }
        other => panic!("{other:?}"),
    }
    peer.set_up(4); // it may set up then
    server.end();
}

#[test]
fn truncated_setup_is_answered() {
    let server = TestServer::new();
    let setup = setup_request(5, VERSION);
    for octets in (1..setup.len()).step_by(7) {
        let mut peer = server.ric.node();
        peer.send(&setup[..octets]);
        match peer.receive_pdu() {
            Pdu::E2SetupFailure(_) | Pdu::ErrorIndication(_) => {}
            other => panic!("{octets}: {other:?}"),
        }
        peer.set_up(5);
    }
    server.end();
}

#[test]
fn duplicate_setup_restarts_node() {
    let server = TestServer::new();
    let mut xapp = session(&server.ric);
    let mut peer = server.ric.node();
    peer.set_up(6);
    let (subscription, ..) = subscribe(&mut xapp, &mut peer, 6);
    for number in [6, 7] {
        let before = node_id_of(&mut xapp, 6);
        peer.set_up(number); // as itself, then as another
        let mut events = Vec::new();
        poll_until(&mut xapp, |event| match event {
            XappEvent::NodeLost(node) => {
                assert_eq!(node.id, before);
                events.push("lost");
                None
            }
            XappEvent::Request(RequestEvent::SubscriptionSuspended(suspended)) => {
                assert_eq!(suspended, subscription);
                events.push("suspended");
                None
            }
            XappEvent::NodeUp(node) => {
                assert_eq!(node.global_id, node_id(number));
                assert_ne!(node.id, before);
                Some(())
            }
            _ => None,
        });
        assert_eq!(events, ["suspended", "lost"]);
        if number == 6 {
            peer.admit(); // the subscription is resumed
            let resumed = poll_until(&mut xapp, |event| match event {
                XappEvent::Request(RequestEvent::SubscriptionResumed { subscription, node, .. }) => {
                    Some((subscription, node))
                }
                _ => None,
            });
            assert_eq!(resumed, (subscription, node_id_of(&mut xapp, 6)));
        }
    }
    peer.is_served();
    server.end();
}

#[test]
fn reconnecting_node_takes_over() {
    let server = TestServer::new();
    let mut older = server.ric.node();
    older.set_up(8);
    let mut newer = server.ric.node();
    newer.set_up(8);
    assert_eq!(older.expect_closed(), []);
    newer.is_served();
    server.end();
}

#[test]
fn unexpected_responses_and_indications_are_dropped() {
    let server = TestServer::new();
    let mut peer = server.ric.node();
    peer.set_up(9);
    let unassigned = RicRequestId { requestor: 4000, instance: 1 };

    peer.send_pdu(RicSubscriptionResponse {
        request_id: unassigned,
        ran_function_id: FUNCTION,
        actions_admitted: vec![e2ap::RicActionAdmitted { id: RicActionId(1) }].into(),
        actions_not_admitted: None,
    });
    peer.send_pdu(e2ap::ResetResponse { transaction_id: Some(TransactionId(3)), criticality_diagnostics: None });
    peer.send_pdu(indication(unassigned, RicActionId(1), b"report"));
    // none of them is answered; the subscription that the node thinks it has is deleted
    match peer.receive_pdu() {
        Pdu::RicSubscriptionDeleteRequest(request) => assert_eq!(request.request_id, unassigned),
        other => panic!("{other:?}"),
    }
    peer.is_served();
    server.end();
}

#[test]
fn indication_of_another_function_or_node_is_not_delivered() {
    let server = TestServer::new();
    let mut xapp = session(&server.ric);
    let (mut peer, mut thief) = (server.ric.node(), server.ric.node());
    peer.set_up(10);
    thief.set_up(11);
    let (_, request_id, action) = subscribe(&mut xapp, &mut peer, 10);
    let mut other = indication(request_id, action, b"other function");
    other.ran_function_id = RanFunctionId(8);
    peer.send_pdu(other);
    thief.report(request_id, action, b"stolen");
    thief.is_served(); // it has not been answered before
    peer.report(request_id, action, b"true");
    let message = poll_until(&mut xapp, |event| match event {
        XappEvent::Indication(indication) => Some(indication.peek().unwrap().message.to_vec()),
        _ => None,
    });
    assert_eq!(message, b"true");
    server.end();
}

#[test]
fn indication_of_a_deleted_subscription_is_ignored() {
    let server = TestServer::new();
    let mut xapp = session(&server.ric);
    let mut peer = server.ric.node();
    peer.set_up(12);
    let (subscription, request_id, action) = subscribe(&mut xapp, &mut peer, 12);
    xapp.commands().unsubscribe(subscription);
    poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::SubscriptionEnded { end, .. }) => {
            assert_eq!(end, SubscriptionEnd::Deleted);
            Some(())
        }
        _ => None,
    });
    match peer.receive_pdu() {
        Pdu::RicSubscriptionDeleteRequest(request) => {
            assert_eq!(request.request_id, request_id);
            peer.report(request_id, action, b"under way");
            peer.send_pdu(e2ap::RicSubscriptionDeleteResponse { request_id, ran_function_id: FUNCTION });
        }
        other => panic!("{other:?}"),
    }
    peer.report(request_id, action, b"late");
    peer.is_served();
    server.end();
}

#[test]
fn reset_ends_only_the_nodes_subscriptions() {
    let server = TestServer::new();
    let mut xapp = session(&server.ric);
    let mut peer = server.ric.node();
    peer.set_up(13);
    let (subscription, ..) = subscribe(&mut xapp, &mut peer, 13);
    peer.is_served(); // by a reset
    poll_until(&mut xapp, |event| match event {
        XappEvent::Request(RequestEvent::SubscriptionEnded { subscription: ended, end }) => {
            assert_eq!((ended, end), (subscription, SubscriptionEnd::Reset));
            Some(())
        }
        _ => None,
    });
    subscribe(&mut xapp, &mut peer, 13);
    server.end();
}

#[test]
fn error_indications_are_never_answered() {
    let server = TestServer::new();
    let mut peer = server.ric.node();
    let about = |request_id| ErrorIndication {
        transaction_id: None,
        request_id,
        ran_function_id: None,
        cause: Some(Cause::Misc(e2ap::CauseMisc::Unspecified)),
        criticality_diagnostics: None,
    };
    for _ in 0..50 {
        peer.send_pdu(about(None));
        peer.send_pdu(about(Some(RicRequestId { requestor: 1021, instance: 0 })));
    }
    peer.set_up(14);
    for instance in 0..50 {
        peer.send_pdu(about(Some(RicRequestId { requestor: 1021 + instance, instance })));
    }
    // nor is an unreadable one answered
    peer.send(&[0x00, 0x02, 0x40, 0x03, 0, 0, 1]);
    peer.is_served();
    server.end();
}

#[test]
fn updates_and_removals_are_answered() {
    let server = TestServer::new();
    let mut peer = server.ric.node();
    peer.set_up(15);
    let transaction_id = Some(TransactionId(77));
    let service = e2ap::RicServiceUpdate {
        transaction_id,
        ran_functions_added: None,
        ran_functions_modified: None,
        ran_functions_deleted: None,
    };
    let configuration = e2ap::E2NodeConfigurationUpdate {
        transaction_id,
        global_e2_node_id: None,
        component_config_update_v1: None,
        component_config_addition: None,
        component_config_update: None,
        component_config_removal: None,
        tnl_association_removal: None,
    };
    let pdus: [(Pdu<'_>, _); 2] = [
        (service.into(), ProcedureCode::RIC_SERVICE_UPDATE),
        (configuration.into(), ProcedureCode::E2_NODE_CONFIGURATION_UPDATE),
    ];
    for (pdu, code) in pdus {
        peer.send_pdu(pdu);
        let answer = peer.receive_pdu();
        assert_eq!((answer.procedure_code(), answer.kind()), (code, Kind::Successful));
    }
    peer.is_served();
    peer.send_pdu(e2ap::E2RemovalRequest { transaction_id });
    assert!(matches!(peer.receive_pdu(), Pdu::E2RemovalResponse(m) if m.transaction_id == transaction_id));
    assert_eq!(peer.expect_closed(), []);
    server.end();
}

// long and many messages

#[test]
fn longest_pdu_is_forwarded() {
    let server = TestServer::new();
    let mut xapp = session(&server.ric);
    let mut peer = server.ric.node();
    peer.set_up(16);
    let (_, request_id, action) = subscribe(&mut xapp, &mut peer, 16);
    for octets in [200_000, (1 << 20) - 1, 1 << 20] {
        let sent = indication_of(request_id, action, octets);
        peer.send(&sent);
        poll_until(&mut xapp, |event| match event {
            XappEvent::Indication(indication) => {
                assert_eq!(indication.pdu.len(), octets);
                assert!(indication.pdu == sent, "the node's very bytes");
                assert_eq!(indication.peek(), None, "it came in fragments");
                let gather = Gather::new();
                let decoded = indication.decode(&gather).unwrap();
                assert_eq!(decoded.request_id, request_id);
                let message = decoded.message.to_cow();
                assert!(message.len() > octets - 200 && message.iter().all(|octet| *octet == 0x5E));
                Some(())
            }
            _ => None,
        });
    }
    server.end();
}

#[test]
fn control_beyond_the_links_limit_is_refused() {
    let server = TestServer::with(|config| config.link.max_pdu_octets = 4096);
    let mut xapp = session(&server.ric);
    let mut peer = server.ric.node();
    peer.set_up(17);
    let node = node_id_of(&mut xapp, 17);
    for octets in [3000, 4000, 8000] {
        let ticket = xapp.commands().control(node, FUNCTION, b"header", &vec![1; octets]);
        if octets == 3000 {
            xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
            assert!(matches!(peer.receive_pdu(), Pdu::RicControlRequest(_)));
            continue;
        }
        let result = poll_until(&mut xapp, |event| match event {
            XappEvent::Request(RequestEvent::Controlled { ticket: t, outcome: result }) if t == ticket => Some(result),
            _ => None,
        });
        assert_eq!(result, ControlOutcome::Misuse(RefusalCode::TooLarge));
    }
    peer.is_served();
    server.end();
}

#[test]
fn connect_and_close_storm_does_not_affect_others() {
    let server = TestServer::new();
    let mut xapp = session(&server.ric);
    for _ in 0..3 {
        let mut nodes: Vec<Peer> = (0..200).map(|_| server.ric.node()).collect();
        for (number, node) in nodes.iter_mut().enumerate() {
            node.send(&setup_request(1000 + number as u32, VERSION));
        }
        for node in nodes.iter_mut().skip(100) {
            assert!(matches!(node.receive_pdu(), Pdu::E2SetupResponse(_)));
        }
        // half of them do not wait for the answer
    }
    eventually("all of them are gone", || {
        xapp.poll(Some(Duration::from_millis(10)), |_, _| ()).unwrap();
        xapp.nodes().count() == 1
    });
    server.end();
}

#[test]
fn number_of_connections_is_limited() {
    let server = TestServer::with(|config| (config.max_connections, config.max_xapp_connections) = (6, 3)); // four and two for one host
    let mut first: Vec<Peer> = (0..3).map(|_| server.ric.node()).collect();
    for (number, peer) in first.iter_mut().enumerate() {
        peer.set_up(20 + number as u32);
    }
    let mut xapp = server.ric.xapp();
    xapp.send_message(&XappMessage::Hello {
        lowest: PROTOCOL_VERSION,
        highest: PROTOCOL_VERSION,
        name: "sixth".into(),
    });
    xapp.receive_message(|message| assert!(matches!(message, RicMessage::Welcome { .. })));
    assert_eq!(server.ric.node().expect_closed(), []);
    assert_eq!(server.ric.xapp().try_receive(), None);
    drop(first.pop());
    let setup = setup_request(30, VERSION);
    eventually("the place that was left is taken", || {
        let mut peer = server.ric.node();
        peer.send(&setup);
        peer.try_receive().is_some()
    });
    first.iter_mut().for_each(Peer::is_served);
    server.end();
}
