//! The memory and allocations of the server, counted on its threads.

mod common;

use ferric::e2::RequestEvent;
use std::time::Duration;

use common::eventually;
use common::peer::{FUNCTION, VERSION, framed, indication_of, report_spec, setup_request};
use common::session::{node_id_of, poll_until, session, subscribe};
use common::test_server::{Ric, free_ports};
use ferric::server::ServerConfig;
use ferric::xapp::XappEvent;
use testkit::ProcessCountingAllocator;

#[global_allocator]
static ALLOCATOR: ProcessCountingAllocator = ProcessCountingAllocator;

// a single test, since the counts are those of the process
#[test]
fn server_memory_is_bounded_and_steady_state_does_not_allocate() {
    ProcessCountingAllocator::exclude_this_thread();
    // one loop; from the first of two loops to an xApp on each; from one of two workers to both
    for (loops, xapps) in [(2, 2), (3, 2), (1, 1)] {
        reports_in_steady_state(loops, xapps);
    }
    announcements();
}

fn reports_in_steady_state(loops: usize, xapps: usize) {
    let before = ProcessCountingAllocator::count();
    let ric = Ric::start(ServerConfig { loops, ..free_ports() });
    let mut node = ric.node();
    node.set_up(1);
    let mut xapps: Vec<_> = (0..xapps).map(|_| session(&ric)).collect();
    let (_, request_id, action) = subscribe(&mut xapps[0], &mut node, 1);
    for xapp in &mut xapps[1..] {
        let name = node_id_of(xapp, 1);
        xapp.commands().subscribe(name, FUNCTION, report_spec(b"trigger"));
        poll_until(xapp, |event| matches!(event, XappEvent::Request(RequestEvent::Subscribed { .. })).then_some(()));
    }

    // uneven sizes and bursts, so that reads end in the middle of PDUs
    let bursts: Vec<Vec<u8>> = (0..7)
        .map(|at| (0..10 + at).flat_map(|i| framed(&indication_of(request_id, action, 300 + 700 * i % 4300))).collect())
        .collect();
    let (mut sent, mut received, mut warm) = (0, 0, 0);
    for round in 0..1000 {
        if round == 200 {
            warm = ProcessCountingAllocator::count();
        }
        let at = round % bursts.len();
        node.write(&bursts[at]);
        sent += (10 + at) * xapps.len();
        eventually("all reports of a burst", || {
            for xapp in &mut xapps {
                xapp.poll(Some(Duration::from_millis(5)), |event, _| match event {
                    XappEvent::Indication(_) => received += 1,
                    other => panic!("{other:?}"),
                })
                .unwrap();
            }
            received == sent
        });
    }
    let allocations = ProcessCountingAllocator::count() - warm;
    assert!(warm > before, "the setup allocates, and is counted");
    assert_eq!(allocations, 0, "{loops} loops: {allocations} allocations for {} indications", sent * 4 / 5);
    println!("{loops} loops: {sent} indications, no allocation in the last {}", sent * 4 / 5);
}

fn announcements() {
    let ric = Ric::start(ServerConfig { loops: 1, ..free_ports() });
    // announced lengths must not cost memory
    let before = ProcessCountingAllocator::held_octets();
    let mut liars: Vec<_> = (0..50).map(|_| ric.node()).collect();
    for liar in &mut liars {
        liar.write(&(1_u32 << 20).to_be_bytes());
    }
    let mut last = ric.node();
    last.send(&setup_request(2, VERSION));
    last.receive(); // connections are accepted in order, so that the others were read before
    let each = (ProcessCountingAllocator::held_octets() - before) / 51;
    println!("{each} octets for a connection that announced 1 MiB");
    assert!(each < 4096, "{each}");
    let mut glutton = ric.node();
    glutton.write(&u32::MAX.to_be_bytes());
    assert_eq!(glutton.try_receive(), None);
    drop((liars, last));
}
