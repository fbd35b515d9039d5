//! What is written down about the namespaces that we made, so that nobody else's is ever taken for ours.
//!
//! `/var/run/ferric/live/` has a file for each, of its name. It tells the namespace's number, which the system gives to no
//! other one until it starts anew, and which start of the system that was. Its maker holds a lock on it: a record that
//! nobody holds is of a program that died.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{Error, Owner};
use crate::namespace;

const DIRECTORY: &str = "/var/run/ferric/live";
const LOCK: &str = "/var/run/ferric/live.lock";
/// Octets of a record that are read: its two numbers have 58 at most.
const RECORD_OCTETS: u64 = 128;

/// Holds off all other programs that make or remove namespaces of this kind; for moments only.
pub struct Registry {
    _lock: File,
}

impl Registry {
    pub fn lock() -> Result<Registry, Error> {
        let operation = "keep records in /var/run/ferric";
        fs::DirBuilder::new().recursive(true).mode(0o700).create(DIRECTORY).map_err(Error::of_io(operation))?;
        let lock = file().create(true).open(LOCK).map_err(Error::of_io(operation))?;
        flock(&lock, FlockOperation::LockExclusive).map_err(Error::of(operation))?;
        Ok(Registry { _lock: lock })
    }

    /// Removes what programs that died have left behind.
    pub fn sweep(&self) {
        let Ok(entries) = fs::read_dir(DIRECTORY) else { return };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(mut file) = file().open(entry.path()) else { continue };
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            let mut text = String::new();
            let is_read = (&mut file).take(RECORD_OCTETS).read_to_string(&mut text).is_ok();
            if is_read && let Some(identity) = Identity::parse(&text) {
                namespace::remove_leftover(&name, &identity);
            }
            // where it cannot be removed, the next one tries again
            let _ = fs::remove_file(entry.path());
        }
    }

    /// Writes down that the namespace of that name and number is ours.
    pub fn claim(&self, name: &str, identity: &Identity) -> Result<Record, Error> {
        let operation = "keep records in /var/run/ferric";
        let path = Path::new(DIRECTORY).join(name);
        let mut file = file().create(true).truncate(false).open(&path).map_err(Error::of_io(operation))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(Error::NamespaceTaken { name: name.to_owned(), owner: Owner::Running });
            }
            Err(errno) => return Err(Error::of(operation)(errno)),
        }
        file.write_all(identity.to_text().as_bytes()).map_err(Error::of_io(operation))?;
        Ok(Record { path, _file: file })
    }
}

fn file() -> OpenOptions {
    let mut options = File::options();
    options.read(true).write(true).mode(0o600);
    options
}

/// A record, and the lock on it.
pub struct Record {
    path: PathBuf,
    _file: File,
}

impl Record {
    /// What it told of is gone.
    pub fn remove(&self) {
        // Where it stays, the next program finds no namespace of that number, and removes it.
        let _ = fs::remove_file(&self.path);
    }
}

/// Which namespace it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Which start of the system.
    pub boot: String,
    /// The namespace's number since then (`SO_NETNS_COOKIE` of socket(7)).
    pub cookie: u64,
}

impl Identity {
    pub fn new(cookie: u64) -> Result<Identity, Error> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map_err(Error::of_io("read which start of the system this is"))?;
        Ok(Identity { boot: boot.trim().to_owned(), cookie })
    }

    fn parse(text: &str) -> Option<Identity> {
        let (boot, cookie) = text.trim().split_once(' ')?;
        Some(Identity { boot: boot.to_owned(), cookie: cookie.parse().ok()? })
    }

    fn to_text(&self) -> String {
        format!("{} {}\n", self.boot, self.cookie)
    }
}
