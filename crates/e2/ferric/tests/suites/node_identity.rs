//! A second setup with the id of a node that is connected, on links without certificates.

use e2ap::{Cause, CauseMisc, E2NodeConfigurationUpdate, E2SetupFailure, Pdu, TimeToWait, TransactionId};
use ferric::e2::NodeTakeover;
use ferric::xapp::XappEvent;

use crate::common::eventually;
use crate::common::peer::{Peer, VERSION, node_id, setup_request};
use crate::common::session::{poll_until, session, subscribe};
use crate::common::test_server::TestServer;

const OTHER_HOST: &str = "127.0.0.2";

/// Sends a setup that is refused, and returns the time to wait.
fn refused(peer: &mut Peer, number: u32) -> Option<TimeToWait> {
    peer.send(&setup_request(number, VERSION));
    match peer.receive_pdu() {
        Pdu::E2SetupFailure(E2SetupFailure { cause, time_to_wait, .. }) => {
            assert_eq!(cause, Some(Cause::Misc(CauseMisc::OmIntervention)));
            time_to_wait
        }
        other => panic!("{other:?}"),
    }
}

fn logged(server: &TestServer, parts: &[&str]) {
    eventually(&format!("a line with {parts:?}"), || {
        server.ric.log.text().lines().any(|line| parts.iter().all(|part| line.contains(part)))
    });
}

#[test]
fn setup_from_another_host_does_not_take_over_a_connected_node() {
    let server = TestServer::new();
    let mut xapp = session(&server.ric);
    let mut first = server.ric.node();
    first.set_up(70);
    let (_, request_id, action) = subscribe(&mut xapp, &mut first, 70);
    let mut second = Peer::connect_from(OTHER_HOST, &server.ric.e2[0]);
    assert_eq!(refused(&mut second, 70), Some(TimeToWait::V10s));
    // both ends are in the log
    logged(&server, &["gnb-00101-46", "from 127.0.0.2", "refused", "node_takeover"]);
    logged(&server, &["tcp://127.0.0.2", "gnb-00101-46", "connected from 127.0.0.1", "node_takeover"]);
    // the first one keeps its subscription
    first.report(request_id, action, b"still there");
    poll_until(&mut xapp, |event| match event {
        XappEvent::Indication(_) => Some(()),
        XappEvent::NodeLost(_) => panic!("it was taken over"),
        _ => None,
    });
    first.is_served();
    // once it is gone, the other one may be the node
    drop(first);
    poll_until(&mut xapp, |event| matches!(event, XappEvent::NodeLost(_)).then_some(()));
    second.set_up(70);
    second.is_served();
    server.end();
}

#[test]
fn setup_from_the_same_host_takes_over_at_once() {
    let server = TestServer::new();
    let mut first = Peer::connect_from(OTHER_HOST, &server.ric.e2[0]);
    first.set_up(71);
    let mut second = Peer::connect_from(OTHER_HOST, &server.ric.e2[0]);
    second.set_up(71);
    assert_eq!(first.expect_closed(), []);
    second.is_served();
    server.end();
}

#[test]
fn takeover_follows_the_setting() {
    let always = TestServer::with(|config| config.controller.node_takeover = NodeTakeover::Always);
    let mut first = always.ric.node();
    first.set_up(72);
    let mut second = Peer::connect_from(OTHER_HOST, &always.ric.e2[0]);
    second.set_up(72);
    assert_eq!(first.expect_closed(), []);
    always.end();

    let dead_only = TestServer::with(|config| config.controller.node_takeover = NodeTakeover::DeadOnly);
    let mut first = dead_only.ric.node();
    first.set_up(72);
    assert!(refused(&mut dead_only.ric.node(), 72).is_some());
    first.is_served();
    dead_only.end();
}

/// An association that joined a node would continue it after the end of the first one.
#[test]
fn association_from_another_host_does_not_join_a_node() {
    let server = TestServer::new();
    let mut first = server.ric.node();
    first.set_up(73);
    let join = E2NodeConfigurationUpdate {
        transaction_id: Some(TransactionId(5)),
        global_e2_node_id: Some(node_id(73)),
        component_config_update_v1: None,
        component_config_addition: None,
        component_config_update: None,
        component_config_removal: None,
        tnl_association_removal: None,
    };
    let mut other = Peer::connect_from(OTHER_HOST, &server.ric.e2[0]);
    other.send_pdu(join.clone());
    assert!(matches!(other.expect_closed()[..], [Pdu::E2NodeConfigurationUpdateFailure(_)]));
    let mut same = server.ric.node();
    same.send_pdu(join);
    assert!(matches!(same.receive_pdu(), Pdu::E2NodeConfigurationUpdateAcknowledge(_)));
    first.is_served();
    server.end();
}
