//! The log lines that peers cause in a server: they name the peer, and their number is limited for all peers together.

mod common;

use common::eventually;
use common::test_server::TestServer;

/// After four of these an association without E2 Setup is closed.
const GARBAGE: [u8; 3] = [0xFF; 3];

#[test]
fn peer_without_setup_is_logged_by_its_address() {
    let server = TestServer::new();
    let mut peer = server.ric.node();
    let address = peer.stream.local_addr().unwrap();
    for _ in 0..4 {
        peer.send(&GARBAGE);
    }
    peer.expect_closed();
    // also when the peer closes at once
    let mut closing = server.ric.node();
    let closing_address = closing.stream.local_addr().unwrap();
    closing.send(&GARBAGE);
    drop(closing);
    let logged = |address: &dyn std::fmt::Display| {
        let log = server.ric.log.text();
        let named = format!("peer=tcp://{address}");
        log.lines().filter(|line| line.contains("not an E2AP PDU") && line.contains(&named)).count()
    };
    eventually("both are in the log", || logged(&address) == 4 && logged(&closing_address) == 1);
    server.end();
}

#[test]
fn many_connections_do_not_flood_the_log() {
    const LINES: u32 = 60;
    const PEERS: usize = 200;
    let server = TestServer::with(|config| config.max_log_lines = LINES);
    for _ in 0..PEERS {
        let mut peer = server.ric.node();
        for _ in 0..4 {
            peer.send(&GARBAGE);
        }
        peer.expect_closed();
        // not a message of an xApp
        server.ric.xapp().send(&GARBAGE);
    }
    let log = server.ric.log.clone();
    server.end();
    let text = log.text();
    let warning = text.lines().find(|line| line.contains("too many log lines about peers")).expect("a warning at once");
    assert!(warning.contains("per_minute=60"), "{warning}");
    let suppressed: usize =
        text.lines().filter(|line| line.contains("log lines about peers were suppressed")).map(number).sum();
    // at least four lines for each node's garbage, and one when it is closed
    assert!(suppressed >= 5 * PEERS - LINES as usize, "{suppressed} lines suppressed");
    let minutes = text.lines().filter(|line| line.contains("too many log lines about peers")).count();
    let bound = minutes * (LINES as usize + 2) + LINES as usize;
    assert!(text.lines().count() <= bound, "{} lines: {text}", text.lines().count());
}

fn number(line: &str) -> usize {
    line.rsplit("lines=").next().and_then(|number| number.trim().parse().ok()).expect("a number of lines")
}
