//! What tests with real namespaces begin with.

use std::fs::File;

use netns::Config;
use rustix::fs::{FlockOperation, flock};

/// One test at a time: each removes what dead ones have left, and some are about just that.
pub struct Turn {
    _lock: File,
}

/// Waits until it is this test's turn; `None`, with the reason printed, where the host cannot be tested on.
pub fn turn() -> Option<Turn> {
    if let Err(error) = netns::check_host() {
        let is_required = std::env::var_os("FERRIC_LIVE").is_some_and(|value| value == "required");
        assert!(!is_required, "{error}");
        println!("NOT TESTED: {error}");
        return None;
    }
    let lock = File::create(std::env::temp_dir().join("ferric-live-tests.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    Some(Turn { _lock: lock })
}

/// Names of this process's own, so that runs do not meet.
pub fn config(letter: char, ues: u8) -> Config {
    let prefix = format!("t{letter}{}", std::process::id() % 1_000_000);
    Config { prefix, ues: (0..ues).map(|ue| [10, 45, 0, 2 + ue].into()).collect(), ..Config::default() }
}
