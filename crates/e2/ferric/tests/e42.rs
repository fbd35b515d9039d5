//! FlexRIC's xApps with a real server, and misbehaving ones.

mod common;

use common::peer::{FUNCTION, Peer, node_id};
use common::test_server::{Ric, free_ports};
use common::{PATIENCE, eventually};
use e2ap::e42::{self, E42Pdu, E42SetupRequest, E42SubscriptionRequest, E42Version, XappId};
use e2ap::{
    Pdu, RanFunctionItem, RanFunctionRevision, RicActionId, RicActionToBeSetup, RicActionType, RicRequestId,
    RicSubscriptionDetails,
};
use ferric::e2::Selection;
use ferric::server::{E42Config, Server, ServerConfig};
use per::{Gather, PrintableString};

const VERSION: E42Version = E42Version::V2;

/// A server for FlexRIC's xApps, and its E42 address.
fn start(change: impl FnOnce(&mut ServerConfig)) -> (Ric, ferric::link::Address) {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("e42+tcp://{}", taken.local_addr().unwrap());
    drop(taken);
    let functions = Selection::All; // FlexRIC does not know the function of these nodes
    let e42 = E42Config { addresses: vec![url.parse().unwrap()], version: VERSION, functions, ..E42Config::default() };
    let address = e42.addresses[0].0.clone();
    let mut config = ServerConfig { e42: Some(e42), ..free_ports() };
    change(&mut config);
    (Ric::start(config), address)
}

fn say(peer: &mut Peer, pdu: &E42Pdu<'_>) {
    let mut bytes = Vec::new();
    pdu.encode(VERSION, &mut bytes).unwrap();
    peer.send(&bytes);
}

fn setup() -> E42Pdu<'static> {
    let function = RanFunctionItem {
        id: FUNCTION,
        definition: b"a definition".into(),
        revision: RanFunctionRevision(1),
        oid: Some(PrintableString::literal("1.3.6.1.4.1.32473.1.7")),
    };
    E42Pdu::SetupRequest(E42SetupRequest { ran_functions: vec![function].into() })
}

/// Sets up. Returns the xApp id and the announced nodes.
fn come(peer: &mut Peer) -> (XappId, usize) {
    say(peer, &setup());
    let answer = peer.receive();
    let gather = Gather::new();
    match e42::decode(&answer, VERSION, &gather).unwrap() {
        E42Pdu::SetupResponse(response) => (response.xapp_id, response.nodes.len()),
        other => panic!("{other:?}"),
    }
}

fn subscribe(xapp_id: XappId, node: u32, request_id: RicRequestId) -> E42Pdu<'static> {
    let action = RicActionToBeSetup {
        id: RicActionId(1),
        kind: RicActionType::Report,
        definition: None,
        subsequent_action: None,
        execution_order: None,
    };
    E42Pdu::SubscriptionRequest(E42SubscriptionRequest {
        xapp_id,
        global_e2_node_id: node_id(node),
        request_id,
        ran_function_id: FUNCTION,
        details: RicSubscriptionDetails { event_trigger_definition: b"t".into(), actions: vec![action].into() },
    })
}

#[test]
fn reports_reach_an_xapp_under_its_own_request_ids() {
    let (ric, address) = start(|_| ());
    let mut node = ric.node();
    node.set_up(1);
    let mut xapp = Peer::connect(&address);
    let (id, nodes) = come(&mut xapp);
    assert_eq!(nodes, 1);
    let request_id = RicRequestId { requestor: 1, instance: 0 };
    say(&mut xapp, &subscribe(id, 1, request_id));
    let (node_request_id, action) = node.admit();
    assert!(matches!(xapp.receive_pdu(), Pdu::RicSubscriptionResponse(response) if response.request_id == request_id));
    for octets in [1, 3000, 50_000] {
        node.report(node_request_id, action, &vec![7; octets]);
        match xapp.receive_pdu() {
            Pdu::RicIndication(report) => {
                assert_eq!((report.request_id, report.message.len()), (request_id, octets));
            }
            other => panic!("{other:?}"),
        }
    }
    // the end of its session ends its subscription
    drop(xapp);
    assert!(
        matches!(node.receive_pdu(), Pdu::RicSubscriptionDeleteRequest(delete) if delete.request_id == node_request_id)
    );
    let counters = ric.stop();
    assert_eq!((counters.indications, counters.deliveries), (3, 3));
}

#[test]
fn misbehaving_xapps_are_rejected_and_do_not_affect_others() {
    let (ric, address) = start(|config| config.controller.setup_timeout = std::time::Duration::from_millis(200));
    let mut good = Peer::connect(&address);
    let (id, _) = come(&mut good);
    // silent; garbage; a message of another version; a request before the setup
    let mut silent = Peer::connect(&address);
    let mut garbage = Peer::connect(&address);
    garbage.send(b"this is no E42");
    let mut older = Peer::connect(&address);
    let mut bytes = Vec::new();
    setup().encode(E42Version::V1, &mut bytes).unwrap();
    older.send(&bytes);
    let mut hasty = Peer::connect(&address);
    say(&mut hasty, &subscribe(XappId(1), 1, RicRequestId { requestor: 1, instance: 0 }));
    for peer in [&mut silent, &mut garbage, &mut older, &mut hasty] {
        assert!(peer.expect_closed().is_empty());
    }
    // the well-behaved xApp is still served, and can subscribe to a new node
    let mut node = ric.node();
    node.set_up(1);
    say(&mut good, &subscribe(id, 1, RicRequestId { requestor: 9, instance: 0 }));
    node.admit();
    assert!(matches!(good.receive_pdu(), Pdu::RicSubscriptionResponse(_)));
}

#[test]
fn non_reading_xapp_loses_reports_and_does_not_affect_others() {
    let (ric, address) = start(|config| {
        config.link.outbox_octets = 64 * 1024;
        config.link.max_pdu_octets = 32 * 1024;
        config.link.send_buffer_octets = Some(8 * 1024);
    });
    let mut node = ric.node();
    node.set_up(1);
    let mut slow = Peer::connect(&address);
    let (id, _) = come(&mut slow);
    say(&mut slow, &subscribe(id, 1, RicRequestId { requestor: 1, instance: 0 }));
    let (node_request_id, action) = node.admit();
    assert!(matches!(slow.receive_pdu(), Pdu::RicSubscriptionResponse(_)));
    for _ in 0..4000 {
        node.report(node_request_id, action, &[1; 4000]);
    }
    node.is_served();
    let begun = std::time::Instant::now();
    let counters = ric.stop();
    assert!(begun.elapsed() < PATIENCE);
    assert_eq!(counters.indications, 4000);
    assert!(counters.dropped_reports > 0);
}

#[test]
fn xapp_without_certificate_is_rejected_if_there_are_rules() {
    let (ric, address) = start(|config| config.rights.xapps = Some(Vec::new()));
    let mut xapp = Peer::connect(&address);
    say(&mut xapp, &setup());
    assert!(xapp.expect_closed().is_empty());
    eventually("a log line", || ric.log.text().contains("e42_rights"));
}

#[test]
fn address_in_use_is_an_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("tcp://{}", taken.local_addr().unwrap());
    let e42 = E42Config { addresses: vec![url.parse().unwrap()], ..E42Config::default() };
    let error = Server::bind(ServerConfig { e42: Some(e42), ..free_ports() }).err().expect("the address is in use");
    assert!(error.to_string().contains(&url), "{error}");
    eventually("the other ports are free again", || Server::bind(free_ports()).is_ok());
}
