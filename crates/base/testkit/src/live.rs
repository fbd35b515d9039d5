//! Tests of live mode: they change the host's network, and need root and programs that may not be installed.
//!
//! Where `FERRIC_LIVE=required`, a test that cannot run fails.
#![allow(clippy::missing_panics_doc, reason = "a test fails by a panic")]

use std::fmt::Display;
use std::fs::File;

use rustix::fs::{FlockOperation, flock};

/// Exclusive use of the host's network namespaces until it is dropped.
#[derive(Debug)]
pub struct HostLock {
    _file: File,
}

/// Waits until no other test of live mode runs: each removes the namespaces that killed programs have left. `None`, with the
/// reason printed, if this host fails the `check`.
pub fn lock_host<E: Display>(check: impl FnOnce() -> Result<(), E>) -> Option<HostLock> {
    if let Err(error) = check() {
        assert!(!is_required(), "{error}");
        println!("NOT TESTED: {error}");
        return None;
    }
    let file = File::create(std::env::temp_dir().join("ferric-live-tests.lock")).unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    Some(HostLock { _file: file })
}

/// Whether all programs are on the PATH; prints a missing one. `crates/ran/netns/tools/run` fetches those that tests need.
#[must_use]
pub fn are_installed(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    let Some(missing) = programs.iter().find(|program| !is_installed(program)) else { return true };
    assert!(!is_required(), "{missing} is not installed");
    println!("NOT TESTED: {missing} is not installed; crates/ran/netns/tools/run fetches it");
    false
}

fn is_required() -> bool {
    std::env::var_os("FERRIC_LIVE").is_some_and(|value| value == "required")
}

/// A prefix of namespaces' names that no other process uses.
#[must_use]
pub fn prefix(letter: char) -> String {
    format!("t{letter}{}", std::process::id() % 1_000_000)
}
