//! Limits that the system sets for this program.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit of open file descriptors to the highest that this user may have: each node and each xApp needs one, and
/// the usual limit is 1024.
pub fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum {
        limit.current = limit.maximum;
        // without it fewer peers can connect, and the refused connection is logged
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
