//! One host cannot take all connections or all nodes.

use e2ap::{Cause, CauseMisc, E2SetupFailure, Pdu, TimeToWait};
use ferric::e2::xapp::{PROTOCOL_VERSION, RicMessage, XappMessage};

use crate::common::eventually;
use crate::common::peer::{Peer, VERSION, setup_request};
use crate::common::test_server::TestServer;

const OTHER_HOST: &str = "127.0.0.2";

fn logged(server: &TestServer, parts: &[&str]) {
    eventually(&format!("a line with {parts:?}"), || {
        server.ric.log.text().lines().any(|line| parts.iter().all(|part| line.contains(part)))
    });
}

fn greets(mut xapp: Peer) -> Peer {
    let name = "newcomer".into();
    xapp.send_message(&XappMessage::Hello { lowest: PROTOCOL_VERSION, highest: PROTOCOL_VERSION, name });
    xapp.receive_message(|message| assert!(matches!(message, RicMessage::Welcome { .. })));
    xapp
}

#[test]
fn silent_connections_of_one_host_leave_room_for_others() {
    let server = TestServer::with(|config| (config.max_connections, config.max_xapp_connections) = (40, 20));
    // more than there are places; they send nothing
    let nodes: Vec<Peer> = (0..60).map(|_| server.ric.node()).collect();
    let xapps: Vec<Peer> = (0..30).map(|_| server.ric.xapp()).collect();
    logged(&server, &["tcp://127.0.0.1", "its host has 30 connections", "max_host_percent", "`max_connections`"]);
    logged(&server, &["tcp://127.0.0.1", "its host has 15 connections", "max_host_percent", "`max_xapp_connections`"]);
    let mut node = Peer::connect_from(OTHER_HOST, &server.ric.e2[0]);
    node.set_up(90);
    node.is_served();
    drop(greets(Peer::connect_from(OTHER_HOST, &server.ric.xapp)));
    // the pools are separate: those of xApps are all in use
    drop(nodes);
    eventually("a place for a node", || {
        let mut node = server.ric.node();
        node.send(&setup_request(91, VERSION));
        node.try_receive().is_some()
    });
    drop(xapps);
    server.end();
}

#[test]
fn hosts_that_were_connected_before_have_a_reserve() {
    let server = TestServer::with(|config| config.max_connections = 40);
    Peer::connect_from("127.0.0.9", &server.ric.e2[0]).set_up(92);
    // two hosts take all that is not reserved
    let one: Vec<Peer> = (0..40).map(|_| Peer::connect_from(OTHER_HOST, &server.ric.e2[0])).collect();
    let other: Vec<Peer> = (0..40).map(|_| Peer::connect_from("127.0.0.3", &server.ric.e2[0])).collect();
    logged(&server, &["tcp://127.0.0.3", "reserved for hosts that were connected before", "`max_connections`"]);
    assert_eq!(Peer::connect_from("127.0.0.4", &server.ric.e2[0]).try_receive(), None, "a stranger");
    let mut known = Peer::connect_from("127.0.0.9", &server.ric.e2[0]);
    known.set_up(92);
    known.is_served();
    drop((one, other));
    server.end();
}

#[test]
fn tiny_nodes_of_one_host_leave_room_for_others() {
    const NODES: usize = 40;
    let server = TestServer::with(|config| {
        config.controller.max_nodes = NODES;
        config.controller.max_setups_per_second = 1_000_000;
    });
    let mut nodes = Vec::new();
    let mut refused = 0;
    for number in 0..NODES as u32 {
        let mut node = Peer::connect_from(OTHER_HOST, &server.ric.e2[0]);
        node.send(&setup_request(1000 + number, VERSION));
        match node.receive_pdu() {
            Pdu::E2SetupResponse(_) => nodes.push(node),
            Pdu::E2SetupFailure(E2SetupFailure { cause, time_to_wait, .. }) => {
                assert_eq!(cause, Some(Cause::Misc(CauseMisc::ControlProcessingOverload)));
                assert_eq!(time_to_wait, Some(TimeToWait::V60s));
                refused += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((nodes.len(), refused), (NODES * 3 / 4, NODES / 4));
    logged(&server, &["from 127.0.0.2 refused", "max_host_percent"]);
    let mut other = server.ric.node();
    other.set_up(93);
    other.is_served();
    // a node that reconnects takes its own place
    let mut back = Peer::connect_from(OTHER_HOST, &server.ric.e2[0]);
    back.set_up(1000);
    server.end();
}

#[test]
fn setups_of_one_host_are_limited_per_second() {
    let server = TestServer::with(|config| {
        (config.controller.max_nodes, config.controller.max_setups_per_second) = (8, 1);
    });
    let mut node = Peer::connect_from(OTHER_HOST, &server.ric.e2[0]);
    let mut failure = None;
    for _ in 0..12 {
        node.send(&setup_request(94, VERSION));
        match node.receive_pdu() {
            Pdu::E2SetupResponse(_) => {}
            Pdu::E2SetupFailure(refusal) => {
                failure = Some(refusal);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(failure.expect("the burst is six").time_to_wait, Some(TimeToWait::V5s));
    logged(&server, &["from 127.0.0.2 refused", "max_setups_per_second"]);
    server.ric.node().set_up(95);
    server.end();
}
