//! One controller, three nodes, two xApps and an iApp, for sixty seconds of virtual time and a thousand seeds, while things
//! go wrong: [`support::sim_faults::Fault`] lists what. Each of
//!
//! - delay, cut, half-open association, partition,
//! - restart of a node, of an xApp, of the RIC, clock jump, slow reader,
//! - and in every other seed, where peers and the network lie: repetition, reordering, misdirection, tampering, mutation,
//!   invention
//!
//! happens often, and what it takes timers to get over does too; the test counts. All along nobody is told what is not so.
//! Once nothing goes wrong any more, everybody comes up, all that was asked for is answered, nodes and RIC agree on what
//! stands, request ids are free again, and what nodes report comes to each consumer exactly once.
//!
//! A run that fails prints its seed; `FERRIC_SEED=<seed> cargo test -p ferric-e2 --test simulation` replays it alone and
//! prints what happens in it. `FERRIC_SEEDS=<number>` runs another number of them.

mod support;

use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use support::sim_faults::{Fault, Tally};
use support::sim_world::{BEGINNING, World};

/// How long things go wrong.
const SPAN: Duration = Duration::from_secs(60);
const SEEDS: u64 = 1000;

/// One run; gives back its digest, and what happened in it.
fn run(seed: u64, trace: bool) -> (u64, Tally) {
    // in every other run there are liars
    let mut world = World::new(seed, seed % 2 == 1, trace);
    world.settle();
    while world.now - BEGINNING < SPAN {
        world.step();
        world.check_all();
    }
    world.finish();
    (world.digest, world.tally)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

/// Runs all seeds on all cores; the lowest that fails, and what happened in the others.
fn run_all(seeds: u64) -> (Option<u64>, Tally) {
    let (next, done) = (AtomicU64::new(0), Mutex::new((None, Tally::default())));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                return;
            }
            let result = catch_unwind(AssertUnwindSafe(|| run(seed, false)));
            let mut done = done.lock().expect("nobody panics with it");
            match result {
                Ok((_, tally)) => done.1.add(&tally),
                Err(_) => {
                    done.0 = done.0.into_iter().chain([seed]).min();
                    // those before it end by themselves
                    next.store(seeds, Ordering::Relaxed);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |cores| cores.get()) {
            scope.spawn(work);
        }
    });
    done.into_inner().expect("nobody panicked with it")
}

#[test]
fn whatever_happens_everybody_knows_the_same() {
    if let Some(seed) = number("FERRIC_SEED") {
        run(seed, true);
        return;
    }
    let seeds = number("FERRIC_SEEDS").unwrap_or(SEEDS);
    let (failed, Tally { faults, seen }) = run_all(seeds);
    if let Some(seed) = failed {
        panic!("seed {seed} fails: replay it with  FERRIC_SEED={seed} cargo test -p ferric-e2 --test simulation");
    }
    println!("{seeds} seeds; faults: {faults:?}; seen: {seen:?}");
    for fault in Fault::HONEST.iter().chain(&Fault::HOSTILE) {
        let count = faults.get(fault).copied().unwrap_or(0);
        assert!(count >= seeds / 4, "{fault:?} happened {count} times in {seeds} seeds");
    }
    for what in [
        "a node came up",
        "an indication was routed",
        "a node did not answer in time",
        "the RIC did not answer in time",
        "an association did not set up in time",
        "a link ended by its keep-alives",
        "no connection was to be had",
        "a subscription was restored",
        "a subscription waited for its node in vain",
        "a slow xApp lost a report",
        "an xApp that did not read was closed",
    ] {
        let count = seen.get(what).copied().unwrap_or(0);
        assert!(count >= seeds / 20, "{what}: {count} times in {seeds} seeds");
    }
}

#[test]
fn a_seed_replays() {
    for seed in 0..20 {
        assert_eq!(run(seed, false).0, run(seed, false).0, "seed {seed}");
    }
}
