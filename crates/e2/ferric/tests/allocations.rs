//! What the server allocates, counted on its own threads.
#![allow(unsafe_code, reason = "an allocator that counts")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use common::eventually;
use common::peer::{FUNCTION, VERSION, framed, indication_of, report_spec, setup_request};
use common::scene::{Ric, free_ports};
use common::session::{name_of, session, subscribe, turn_until};
use ferric::server::ServerConfig;
use ferric::xapp::XappEvent;

struct Counting;

thread_local! {
    /// Whether this thread is the server's: all are, but that of the test.
    static COUNTED: Cell<bool> = const { Cell::new(true) };
}
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static HELD_OCTETS: AtomicI64 = AtomicI64::new(0);

fn count(allocations: u64, octets: usize, sign: i64) {
    if COUNTED.get() {
        ALLOCATIONS.fetch_add(allocations, Ordering::Relaxed);
        HELD_OCTETS.fetch_add(sign * octets as i64, Ordering::Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator as it came; counting touches a thread-local flag without a destructor
// and two integers, and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size(), 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size(), -1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// One test, since there is one count.
#[test]
fn the_servers_memory() {
    COUNTED.set(false);
    // one loop; by the first of two loops to an xApp on each; from one of two workers to both
    for (loops, xapps) in [(2, 2), (3, 2), (1, 1)] {
        reports_in_steady_state(loops, xapps);
    }
    announcements();
}

fn reports_in_steady_state(loops: usize, xapps: usize) {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let ric = Ric::start(ServerConfig { loops, ..free_ports() });
    let mut node = ric.node();
    node.set_up(1);
    let mut xapps: Vec<_> = (0..xapps).map(|_| session(&ric)).collect();
    let (_, request_id, action) = subscribe(&mut xapps[0], &mut node, 1);
    for xapp in &mut xapps[1..] {
        let name = name_of(xapp, 1);
        xapp.commands().subscribe(name, FUNCTION, report_spec(b"trigger"));
        turn_until(xapp, |event| matches!(event, XappEvent::Subscribed { .. }).then_some(()));
    }

    // sizes and bursts uneven so that reads end in the middle of PDUs
    let bursts: Vec<Vec<u8>> = (0..7)
        .map(|at| (0..10 + at).flat_map(|i| framed(&indication_of(request_id, action, 300 + 700 * i % 4300))).collect())
        .collect();
    let (mut sent, mut received, mut warm) = (0, 0, 0);
    for round in 0..1000 {
        if round == 200 {
            warm = ALLOCATIONS.load(Ordering::Relaxed);
        }
        let at = round % bursts.len();
        node.write(&bursts[at]);
        sent += (10 + at) * xapps.len();
        eventually("all reports of a burst", || {
            for xapp in &mut xapps {
                xapp.turn(Some(Duration::from_millis(5)), |event, _| match event {
                    XappEvent::Indication(_) => received += 1,
                    other => panic!("{other:?}"),
                })
                .unwrap();
            }
            received == sent
        });
    }
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - warm;
    assert!(warm > before, "the setup allocates: it is counted");
    assert_eq!(allocations, 0, "{loops} loops: {allocations} allocations for {} indications", sent * 4 / 5);
    println!("{loops} loops: {sent} indications, no allocation in the last {}", sent * 4 / 5);
}

fn announcements() {
    let ric = Ric::start(ServerConfig { loops: 1, ..free_ports() });
    // what peers announce costs nothing
    let before = HELD_OCTETS.load(Ordering::Relaxed);
    let mut liars: Vec<_> = (0..50).map(|_| ric.node()).collect();
    for liar in &mut liars {
        liar.write(&(1_u32 << 20).to_be_bytes());
    }
    let mut last = ric.node();
    last.send(&setup_request(2, VERSION));
    last.receive(); // the others were read before, since they are accepted in order
    let each = (HELD_OCTETS.load(Ordering::Relaxed) - before) / 51;
    println!("{each} octets for a connection that announced 1 MiB");
    assert!(each < 4096, "{each}");
    let mut glutton = ric.node();
    glutton.write(&u32::MAX.to_be_bytes());
    assert_eq!(glutton.try_receive(), None);
    drop((liars, last));
}
