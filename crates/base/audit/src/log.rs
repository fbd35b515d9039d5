//! The log of a running program: records are written by a thread of its own.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tracing::{error, info};

use crate::verify::Fault;
use crate::writer::{Record, Writer};

/// The records that may wait for the thread.
const QUEUE: usize = 8192;
/// The octets that may wait for a disk that does not take them.
const MAX_PENDING_OCTETS: usize = 8 << 20;
/// How often what was written is forced to the disk, and what could not be written is tried again.
const SYNC_PERIOD: Duration = Duration::from_secs(1);

/// Where a log is, and how large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// The file. Rotated ones are beside it.
    pub path: PathBuf,
    /// The octets after which a new file begins. Default: 64 MiB.
    pub max_file_octets: u64,
    /// The rotated files that are kept, at least one. Default: 15.
    pub rotated_files: u32,
}

impl LogConfig {
    /// Returns the defaults for a file.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        LogConfig { path: path.to_owned(), max_file_octets: 64 << 20, rotated_files: 15 }
    }
}

/// Why a log cannot be continued.
#[derive(Debug)]
pub enum StartError {
    /// A file cannot be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The path is no regular file.
    NotAFile(PathBuf),
    /// Another process appends to it.
    InUse(PathBuf),
    /// A line of what is there is not what was written: it is kept as it is, as evidence.
    Broken {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: u64,
        /// What is wrong.
        fault: Fault,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::File { path, source } => write!(f, "cannot open the audit log {}: {source}", path.display()),
            StartError::NotAFile(path) => write!(f, "the audit log {} is not a file", path.display()),
            StartError::InUse(path) => {
                let path = path.display();
                write!(
                    f,
                    "the audit log {path} is in use by another process: end that one, or give each a log of its own"
                )
            }
            StartError::Broken { path, line, fault } => {
                let path = path.display();
                write!(f, "the audit log cannot be continued: line {line} of {path}: {fault}; move its files away")
            }
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StartError::File { source, .. } => Some(source),
            StartError::NotAFile(_) | StartError::InUse(_) | StartError::Broken { .. } => None,
        }
    }
}

/// What has become of the records of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditCounters {
    /// Records that have a line, or will have one as soon as the disk takes it.
    pub records: u64,
    /// Records that are lost: the disk was too slow for them.
    pub lost: u64,
    /// Failed attempts to write to the file, or to force it to the disk.
    pub failures: u64,
}

#[derive(Debug, Default)]
struct Shared {
    /// Records that found the queue full, and are not in a line `lost` yet.
    lost: AtomicU64,
    records: AtomicU64,
    all_lost: AtomicU64,
    failures: AtomicU64,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Message {
    Record(Record),
    End,
}

/// An audit log that is written to. Clones write to the same one.
#[derive(Clone)]
pub struct AuditLog {
    queue: SyncSender<Message>,
    shared: Arc<Shared>,
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLog").finish_non_exhaustive()
    }
}

impl AuditLog {
    /// Opens a log, continues its chain, and starts the thread that writes it.
    ///
    /// # Errors
    /// If the file cannot be opened, or what is there is broken.
    pub fn start(config: LogConfig) -> Result<Self, StartError> {
        let path = config.path.clone();
        let writer = Writer::open(config)?;
        let (seq, hash) = writer.head();
        info!(path = %path.display(), "audit log continues with record {seq}, hash {hash}");
        let (queue, records) = sync_channel(QUEUE);
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("audit".to_owned());
        let thread = thread.spawn(move || run(writer, &records, &of_thread));
        let thread = thread.map_err(|source| StartError::File { path, source })?;
        *shared.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(AuditLog { queue, shared })
    }

    /// Records an event. It does not block: if the disk is so slow that the queue is full, the record is lost, and the log says
    /// how many were. No field is named `seq`, `time`, `event`, `previous` or `hash`, as those of the log itself.
    pub fn record(&self, event: &str, fields: &[(&str, Value)]) {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let record = Record { at: SystemTime::now(), event: event.to_owned(), fields };
        if let Err(TrySendError::Full(_)) = self.queue.try_send(Message::Record(record)) {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            self.shared.all_lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns what has become of the records since the start.
    #[must_use]
    pub fn counters(&self) -> AuditCounters {
        let Shared { records, all_lost, failures, .. } = &*self.shared;
        AuditCounters {
            records: records.load(Ordering::Relaxed),
            lost: all_lost.load(Ordering::Relaxed),
            failures: failures.load(Ordering::Relaxed),
        }
    }

    /// Writes what waits, and ends the log. Records after this are lost.
    pub fn finish(&self) {
        // a full queue drains: its reader ends only here
        let _ = self.queue.send(Message::End);
        let thread = self.shared.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join(); // its panic is in the log of the program
        }
    }
}

fn run(mut writer: Writer, records: &Receiver<Message>, shared: &Shared) {
    let mut is_synchronized = true;
    let mut has_failed = false;
    let mut too_many = 0_u64;
    loop {
        let first = match records.recv_timeout(SYNC_PERIOD) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Message::End),
        };
        let was_idle = first.is_none();
        let mut is_end = false;
        for message in first.into_iter().chain(records.try_iter()) {
            match message {
                Message::End => is_end = true,
                Message::Record(_) if writer.pending_octets() > MAX_PENDING_OCTETS => {
                    too_many += 1;
                    shared.all_lost.fetch_add(1, Ordering::Relaxed);
                }
                Message::Record(record) => {
                    let lost = std::mem::take(&mut too_many) + shared.lost.swap(0, Ordering::Relaxed);
                    if lost > 0 {
                        let fields = vec![("records".to_owned(), Value::from(lost))];
                        writer.append(&Record { at: SystemTime::now(), event: "lost".to_owned(), fields });
                    }
                    writer.append(&record);
                    shared.records.fetch_add(1, Ordering::Relaxed);
                }
            }
            if is_end {
                break;
            }
        }
        if writer.has_pending() {
            is_synchronized = false;
            match writer.flush() {
                Ok(()) => has_failed = false,
                Err(error) => {
                    shared.failures.fetch_add(1, Ordering::Relaxed);
                    if has_failed {
                        std::thread::sleep(Duration::from_millis(100));
                    } else {
                        has_failed = true;
                        error!(%error, "cannot write the audit log: records wait, and are lost beyond 8 MiB of them; trying again; free space on its disk, or mend its permissions");
                    }
                }
            }
        }
        if (was_idle || is_end) && !is_synchronized && !has_failed {
            is_synchronized = true;
            if let Err(error) = writer.sync() {
                shared.failures.fetch_add(1, Ordering::Relaxed);
                error!(%error, "cannot force the audit log to the disk");
            }
        }
        if is_end {
            return;
        }
    }
}
