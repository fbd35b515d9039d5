//! Support for tests with real namespaces.

use std::process::{Child, Command};

use netns::{Config, Namespace};
use testkit::live::{self, HostLock};

/// Waits for the exclusive use of the host; `None` if it cannot run tests of live mode.
pub fn lock_host() -> Option<HostLock> {
    live::lock_host(netns::check_host)
}

/// A configuration with unique names.
pub fn config(letter: char, ues: u8) -> Config {
    let ues = (0..ues).map(|ue| [10, 45, 0, 2 + ue].into()).collect();
    Config { prefix: live::prefix(letter), ues, ..Config::default() }
}

/// Starts programs in a namespace.
#[allow(dead_code, reason = "only some tests start programs")]
pub fn spawn_in(namespace: &Namespace) -> impl FnOnce(&mut Command) -> Child + '_ {
    |program| namespace.enter(|| program.spawn().unwrap()).unwrap()
}
