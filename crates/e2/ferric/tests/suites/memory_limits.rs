//! The memory that peers may have the server hold: for PDUs that they do not finish and for messages that they do not read.

use std::time::Duration;

use e2ap::{RicActionId, RicRequestId};
use ferric::link;
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};

use crate::common::peer::{FUNCTION, Peer, report_spec};
use crate::common::session::{node_id_of, plain, poll_until, session, subscribe};
use crate::common::test_server::TestServer;
use crate::common::{eventually, loops};

/// The beginning of a frame of 1 MB.
fn begun(octets: usize) -> Vec<u8> {
    let mut frame = 1_000_000_u32.to_be_bytes().to_vec();
    frame.resize(octets, 0);
    frame
}

/// Returns whether the server has closed.
fn is_closed(peer: &mut Peer) -> bool {
    peer.stream.set_nonblocking(true).unwrap();
    let read = std::io::Read::read(&mut peer.stream, &mut [0; 64]);
    match read {
        Ok(octets) => octets == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

#[test]
fn unfinished_pdus_of_all_peers_have_bounded_memory() {
    const PEERS: usize = 40;
    let server = TestServer::with(|config| config.max_receive_octets = Some(4 << 20));
    let mut peers: Vec<Peer> = (0..PEERS).map(|_| server.ric.node()).collect();
    for peer in &mut peers {
        peer.write(&begun(900_000));
    }
    // what they sent is 36 MB
    let mut closed = 0;
    eventually("the peers beyond the memory are closed", || {
        closed = peers.iter_mut().filter_map(|peer| is_closed(peer).then_some(())).count();
        closed >= PEERS - 10
    });
    assert!(closed < PEERS, "those within the memory stay");
    eventually("the line", || server.ric.log.text().contains("share of the memory"));
    // others are served meanwhile, also with a PDU that arrives in parts
    let mut node = server.ric.node();
    let setup = crate::common::peer::setup_request(80, crate::common::peer::VERSION);
    let frame = crate::common::peer::framed(&setup);
    node.write(&frame[..20]);
    std::thread::sleep(Duration::from_millis(20)); // until the part was read
    node.write(&frame[20..]);
    node.receive_pdu();
    server.end();
}

#[test]
fn unfinished_pdu_is_closed_after_its_time_limit() {
    let server = TestServer::with(|config| config.pdu_timeout = Duration::from_millis(200));
    let mut xapp = session(&server.ric);
    let mut node = server.ric.node();
    node.set_up(81);
    let (_, request_id, action) = subscribe(&mut xapp, &mut node, 81);
    // PDUs that arrive in parts, each in time, for longer than the limit
    let report = crate::common::peer::indication(request_id, action, b"in parts");
    let frame = crate::common::peer::framed(&crate::common::peer::encoded(report, crate::common::peer::VERSION));
    for _ in 0..10 {
        node.write(&frame[..9]);
        std::thread::sleep(Duration::from_millis(30)); // far below the limit
        node.write(&frame[9..]);
        poll_until(&mut xapp, |event| matches!(event, XappEvent::Indication(_)).then_some(()));
    }
    node.is_served();
    let mut raw = server.ric.xapp();
    raw.write(&begun(100)[..100]);
    node.write(&begun(100)[..100]);
    assert_eq!(node.expect_closed(), []);
    assert_eq!(raw.try_receive(), None);
    if loops() == 1 {
        // the log of other loops is not the test's
        eventually("the line", || server.ric.log.text().contains("the rest of a PDU did not arrive in time"));
    }
    server.end();
}

#[test]
fn messages_for_xapps_that_do_not_read_have_bounded_memory() {
    const XAPPS: usize = 12;
    const REPORTS: u64 = 1500;
    let server = TestServer::with(|config| {
        config.max_send_octets = Some(2 << 20);
        config.link.send_buffer_octets = Some(16 * 1024);
    });
    let mut node = server.ric.node();
    node.set_up(82);
    // the kernel buffers little
    let link = link::Config { receive_buffer_octets: Some(16 * 1024), ..plain().link };
    let config = XappConfig { link, ..plain() };
    let mut slow: Vec<_> =
        (0..XAPPS).map(|_| Xapp::connect(&server.ric.xapp, "slow", config.clone()).unwrap()).collect();
    let mut ids: Option<(RicRequestId, RicActionId)> = None;
    for xapp in &mut slow {
        let id = node_id_of(xapp, 82);
        xapp.commands().subscribe(id, FUNCTION, report_spec(b"shared"));
        if ids.is_none() {
            xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
            ids = Some(node.admit()); // the others share the subscription
        }
        poll_until(xapp, |event| matches!(event, XappEvent::Request(RequestEvent::Subscribed { .. })).then_some(()));
    }
    let (request_id, action) = ids.unwrap();
    // none of them reads; 30 MB for each, of which the queues of all hold 2 MiB
    for _ in 0..REPORTS {
        node.report(request_id, action, &[0x5E; 20_000]);
    }
    node.is_served();
    server.check_peers();
    for xapp in &mut slow {
        poll_until(xapp, |event| matches!(event, XappEvent::ReportsDropped(_)).then_some(()));
    }
    let dropped = server.end().dropped_reports;
    let sent = XAPPS as u64 * REPORTS;
    // by themselves, the outboxes of 4 MiB would hold 2400
    assert!((sent - 1000..sent).contains(&dropped), "{dropped} of {sent}");
}
