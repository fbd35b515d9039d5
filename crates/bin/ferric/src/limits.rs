//! What the system lets this program have.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Takes as many file descriptors as this user may have: each node and each xApp needs one, and the usual limit is 1024.
pub fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum {
        limit.current = limit.maximum;
        // Where it is refused the program does with less, and says so when it runs out.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
