//! The simulation of a RIC, three nodes, two xApps and an iApp with choices of the fuzzer: which party acts, which PDU is delivered,
//! and which PDU is repeated, lost, reordered, misdirected or changed. The invariants and the final checks are those of the
//! simulation. With FERRIC_TRACE set it prints its events.

#![no_main]

// the simulation in the tests of crate e2
#[path = "../../crates/e2/e2/tests/support/mod.rs"]
mod support;

use libfuzzer_sys::fuzz_target;
use support::random::Random;
use support::simulation::Simulation;

fuzz_target!(|bytes: &[u8]| {
    let [seed, octets @ ..] = bytes else { return };
    let mut simulation = Simulation::new(u64::from(*seed), true, std::env::var_os("FERRIC_TRACE").is_some());
    simulation.random = Random::from_octets(octets);
    simulation.settle();
    while !simulation.random.is_used_up() {
        simulation.step();
        simulation.check_invariants();
    }
    simulation.finish();
});
