//! What peers make a server log: who it was, and no more than so many lines, however many peers there are.

mod common;

use common::eventually;
use common::scene::Scene;

/// Four of these, and an association that has not set up is closed.
const GARBAGE: [u8; 3] = [0xFF; 3];

#[test]
fn who_has_not_set_up_is_named_by_where_it_is() {
    let scene = Scene::new();
    let mut stranger = scene.ric.node();
    let address = stranger.stream.local_addr().unwrap();
    for _ in 0..4 {
        stranger.send(&GARBAGE);
    }
    stranger.expect_closed();
    // one that closes at once, too
    let mut hasty = scene.ric.node();
    let hasty_address = hasty.stream.local_addr().unwrap();
    hasty.send(&GARBAGE);
    drop(hasty);
    let said = |address: &dyn std::fmt::Display| {
        let log = scene.ric.log.text();
        let named = format!("peer=tcp://{address}");
        log.lines().filter(|line| line.contains("not an E2AP PDU") && line.contains(&named)).count()
    };
    eventually("both are in the log", || said(&address) == 4 && said(&hasty_address) == 1);
    scene.end();
}

#[test]
fn a_flood_of_connections_does_not_flood_the_log() {
    const LINES: u32 = 60;
    const PEERS: usize = 200;
    let scene = Scene::with(|config| config.max_log_lines = LINES);
    for _ in 0..PEERS {
        let mut peer = scene.ric.node();
        for _ in 0..4 {
            peer.send(&GARBAGE);
        }
        peer.expect_closed();
        // what an xApp does not say
        scene.ric.xapp().send(&GARBAGE);
    }
    let log = scene.ric.log.clone();
    scene.end();
    let text = log.text();
    let told = text.lines().find(|line| line.contains("peers cause too many lines")).expect("it is told at once");
    assert!(told.contains("a_minute=60"), "{told}");
    let left_out: usize =
        text.lines().filter(|line| line.contains("that many lines about peers were left out")).map(number).sum();
    // four lines about each node's garbage at least, and one when it is closed
    assert!(left_out >= 5 * PEERS - LINES as usize, "{left_out} lines left out");
    let minutes = text.lines().filter(|line| line.contains("peers cause too many")).count();
    let bound = minutes * (LINES as usize + 2) + LINES as usize;
    assert!(text.lines().count() <= bound, "{} lines: {text}", text.lines().count());
}

fn number(line: &str) -> usize {
    line.rsplit("lines=").next().and_then(|number| number.trim().parse().ok()).expect("how many")
}
