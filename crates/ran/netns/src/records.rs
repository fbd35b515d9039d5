//! Records of the namespaces that ferric has created, which distinguish them from all others.
//!
//! `/var/run/ferric/live/` has a file for each namespace, of the same name. It contains the boot id, and the namespace's cookie,
//! which is unique within that boot. The process that created the namespace holds a lock on the file: a file without a lock
//! belongs to a process that has died.

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
/// The octets of a record that are read. A record has at most 58.
const RECORD_OCTETS: u64 = 128;

/// A lock against all other processes that create or remove such namespaces. It is held for moments only.
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

    /// Removes the namespaces and records of processes that have died.
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
            // if this fails, the next sweep tries again
            let _ = fs::remove_file(entry.path());
        }
    }

    /// Records that this process owns a namespace.
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
    /// Removes the record, after its namespace.
    pub fn remove(&self) {
        // If this fails, the next sweep finds no namespace with this identity, and removes the record.
        let _ = fs::remove_file(&self.path);
    }
}

/// The identity of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The boot id.
    pub boot: String,
    /// The namespace's cookie, unique within the boot (`SO_NETNS_COOKIE`).
    pub cookie: u64,
}

impl Identity {
    pub fn new(cookie: u64) -> Result<Identity, Error> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").map_err(Error::of_io("read the boot id"))?;
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
