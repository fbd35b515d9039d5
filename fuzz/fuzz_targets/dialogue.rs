//! The simulation of a RIC, three nodes, two xApps and an iApp, where the fuzzer chooses what happens: who says what, which
//! PDU arrives, and which of them is repeated, lost, overtaken, misdirected, or has another value, item or IE than it had.
//! What holds in the simulation at any time, and at its end, holds here. With FERRIC_TRACE set it tells what happens.

#![no_main]

// the world of the machines' own tests
#[path = "../../crates/e2/e2/tests/support/mod.rs"]
mod support;

use libfuzzer_sys::fuzz_target;
use support::random::Random;
use support::sim_world::World;

fuzz_target!(|bytes: &[u8]| {
    let [seed, octets @ ..] = bytes else { return };
    let mut world = World::new(u64::from(*seed), true, std::env::var_os("FERRIC_TRACE").is_some());
    world.random = Random::from_octets(octets);
    world.settle();
    while !world.random.is_used_up() {
        world.step();
        world.check_all();
    }
    world.finish();
});
