//! Support for the tests of whole systems: a server in a thread, peers driven by the test, and well-behaved peers that
//! must not be affected.
#![allow(dead_code, reason = "each test takes what it needs")]

pub mod function;
pub mod peer;
pub mod session;
pub mod test_server;
pub mod well_behaved_peers;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The limit for all waits: ten times longer than any takes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the number of event loops of a server. `several_loops.rs` runs the suites with three. `access_rights.rs` always
/// has three, so that links move to another loop after their handshake.
pub fn loops() -> usize {
    if matches!(env!("CARGO_CRATE_NAME"), "several_loops" | "access_rights") { 3 } else { 1 }
}

/// Waits until `condition` holds.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    eventually_some(what, || condition().then_some(()));
}

/// Waits until `find` returns a value.
pub fn eventually_some<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} does not arrive");
        std::thread::sleep(Duration::from_millis(1)); // lets other threads run; the condition decides
    }
}

/// Returns a name that no other test uses.
pub fn unique(what: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // this module may be part of several suites of a program
    let module = module_path!().replace("::", "-");
    format!("{module}-{what}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns a path for a Unix socket.
pub fn socket_path(what: &str) -> PathBuf {
    std::env::temp_dir().join(unique(what))
}

/// Returns pseudo-random octets, the same in every run.
pub fn noise(seed: u64, octets: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..octets).map(|_| next()).collect()
}
