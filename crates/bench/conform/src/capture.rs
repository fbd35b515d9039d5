//! The recordings: a file for each check, also where checks share an association.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferric::record::{Protocol, Recorder, RecorderConfig};
use link::{Address, Direction, LinkEnds, LinkObserver, Ppid, StreamId, Tap, TapObserver};

use crate::Error;

/// Records the links of one run, each check in a file of its own.
pub(crate) struct Capture {
    folder: PathBuf,
    shared: Arc<Shared>,
}

/// The open file, which the links write to.
#[derive(Default)]
struct Shared {
    open: Mutex<Option<Open>>,
}

struct Open {
    recorder: Recorder,
    tap: Tap,
    /// Distinguishes the file from the ones before.
    number: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // what it protects is replaced as a whole
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Capture {
    /// Creates the folder.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn new(folder: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::Recording { path: folder.to_owned(), reason: error.to_string() })?;
        Ok(Capture { folder: folder.to_owned(), shared: Arc::default() })
    }

    /// Returns the tap for the links of the run.
    pub fn tap(&self) -> Tap {
        Tap::new(Arc::new(Links(Arc::clone(&self.shared))))
    }

    /// Begins a file; returns its name.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn begin(&self, name: &str) -> Result<String, Error> {
        let file = format!("{name}.pcapng");
        let path = self.folder.join(&file);
        let recorder = Recorder::create(RecorderConfig::new(&path))
            .map_err(|error| Error::Recording { path, reason: error.to_string() })?;
        let tap = recorder.tap(Protocol::E2);
        let mut open = lock(&self.shared.open);
        let number = open.as_ref().map_or(1, |before| before.number + 1);
        *open = Some(Open { recorder, tap, number });
        Ok(file)
    }

    /// Ends the last file: what was recorded is in it. Returns the messages that are not.
    pub fn end(&self) -> u64 {
        lock(&self.shared.open).take().map_or(0, |open| open.recorder.dropped())
    }
}

/// Observes every link.
struct Links(Arc<Shared>);

impl TapObserver for Links {
    fn begin(&self, ends: LinkEnds<'_>) -> Box<dyn LinkObserver> {
        Box::new(OneLink {
            shared: Arc::clone(&self.0),
            peer: ends.peer.clone(),
            local: ends.local,
            accepted: ends.accepted,
            ppid: ends.ppid,
            current: Mutex::new(None),
        })
    }
}

/// Observes one link, which may outlive files.
struct OneLink {
    shared: Arc<Shared>,
    peer: Address,
    local: Option<SocketAddr>,
    accepted: bool,
    ppid: Ppid,
    /// The number of the file, and the link within it.
    current: Mutex<Option<(u64, Box<dyn LinkObserver>)>>,
}

impl OneLink {
    fn with_file(&self, write: impl FnOnce(&dyn LinkObserver)) {
        let open = lock(&self.shared.open);
        let Some(open) = open.as_ref() else { return };
        let mut current = lock(&self.current);
        if current.as_ref().is_none_or(|(number, _)| *number != open.number) {
            let ends = LinkEnds {
                peer: &self.peer,
                local: self.local,
                accepted: self.accepted,
                ppid: self.ppid,
                encoding: "per",
            };
            *current = Some((open.number, open.tap.observe(ends)));
        }
        if let Some((_, observer)) = current.as_ref() {
            write(observer.as_ref());
        }
    }
}

impl LinkObserver for OneLink {
    fn pdu(&self, direction: Direction, stream: StreamId, parts: &[&[u8]]) {
        self.with_file(|file| file.pdu(direction, stream, parts));
    }

    fn ppid(&self, direction: Direction, ppid: Ppid) {
        self.with_file(|file| file.ppid(direction, ppid));
    }
}
