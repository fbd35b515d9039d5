//! What the server allocates, counted on its own thread.
#![allow(unsafe_code, reason = "an allocator that counts")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use common::eventually;
use common::peer::{VERSION, framed, indication_of, setup_request};
use common::scene::free_ports;
use common::session::{session, subscribe};
use ferric::xapp::XappEvent;

struct Counting;

thread_local! {
    /// Whether this thread is the server's.
    static COUNTED: Cell<bool> = const { Cell::new(false) };
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

/// A server on a thread whose allocations are counted.
fn counted() -> common::scene::Ric {
    common::scene::Ric::with_iapps(free_ports(), || {
        COUNTED.set(true);
        Vec::new()
    })
}

// One test, since there is one count.
#[test]
fn the_servers_memory() {
    let ric = counted();
    let mut node = ric.node();
    node.set_up(1);
    let mut xapp = session(&ric);
    let (_, request_id, action) = subscribe(&mut xapp, &mut node, 1);

    // reports in steady state, sizes and bursts uneven so that reads end in the middle of PDUs
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
        sent += 10 + at;
        eventually("all reports of a burst", || {
            xapp.turn(Some(Duration::from_millis(100)), |event, _| match event {
                XappEvent::Indication(_) => received += 1,
                other => panic!("{other:?}"),
            })
            .unwrap();
            received == sent
        });
    }
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - warm;
    assert!(warm > 0, "the setup allocates: it is counted");
    assert_eq!(allocations, 0, "{allocations} allocations for {} indications", sent * 4 / 5);
    println!("{sent} indications, no allocation in the last {}", sent * 4 / 5);

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
