//! Dialogues in files: a user's report of a fault is one that can be read, and played again.
//!
//! A [`Recorder`] writes each PDU that crosses the links it is tapped into, with its time and its peers' addresses, as
//! [pcapng](https://ietf-opsawg-wg.github.io/draft-ietf-opsawg-pcapng/), which Wireshark and tshark (4.2 and later)
//! dissect; [`Recording`] reads such files, and captures of real SCTP as well.
//!
//! ```no_run
//! use ferric::record::{Protocol, Recorder, RecorderConfig};
//! use ferric::server::{Server, ServerConfig};
//!
//! let recorder = Recorder::create(RecorderConfig::new("dialogue.pcapng"))?;
//! let mut config = ServerConfig::default();
//! config.link.tap = Some(recorder.tap(Protocol::E2));
//! Server::bind(config)?.run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is in a file
//!
//! - E2 and E42, whatever link really carried them, as SCTP over IP: real addresses where the link has some, the RIC at
//!   port 36421 (E42: 36422), the payload protocol by the node's type, checksums that hold. TSNs count what was
//!   recorded. Where a link ends stands a SHUTDOWN.
//! - What means nothing to others (the RIC-xApp protocol, encodings other than PER) on interfaces of link type USER0,
//!   the bare PDUs.
//! - An interface's name is its protocol, link and encoding, such as `e2-tcp-per`; the first packet of each link has a
//!   comment that says who it is with.
//! - A report that was recorded as sent may have been dropped later, when its reader was slow.
//!
//! The loops never wait for the file: between them and it stands a bounded queue, and what finds no room in it is not
//! recorded, but counted: in a comment of the next packet, in the interfaces' statistics and in the log. When a file has
//! reached its limit it is renamed (`.1` is appended, an older one of that name goes), and a new one begins.

mod packet;
mod pcapng;
mod read;
mod write;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use link::{Direction, Ends, Onlooker, StreamId, Tap, Watch};

use crate::Error;
use write::{Conversation, Entry, Writer};

pub use read::{Content, Message, ReadError, Recording};

/// Messages that wait for the file, at most.
const QUEUE_MESSAGES: usize = 16 * 1024;

/// What is recorded, and how much of it.
#[derive(Clone, Debug)]
pub struct RecorderConfig {
    /// The file. What is there is overwritten.
    pub path: PathBuf,
    /// Octets after which a new file begins; with the one before it, a recording takes twice that. Default: 256 MiB.
    pub limit_octets: u64,
    /// Octets that wait for the file, at most. Default: 32 MiB.
    pub queue_octets: usize,
}

impl RecorderConfig {
    /// The defaults, and a file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        RecorderConfig { path: path.into(), limit_octets: 256 << 20, queue_octets: 32 << 20 }
    }
}

/// What is said on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// E2AP, between an E2 node and a RIC.
    E2,
    /// E42, between FlexRIC's xApps and a RIC.
    E42,
    /// ferric's own protocol between xApps and the RIC.
    Xapp,
}

impl Protocol {
    fn name(self) -> &'static str {
        match self {
            Protocol::E2 => "e2",
            Protocol::E42 => "e42",
            Protocol::Xapp => "xapp",
        }
    }

    /// The RIC's port in the file.
    fn ric_port(self) -> u16 {
        match self {
            Protocol::E2 | Protocol::Xapp => link::DEFAULT_PORT,
            Protocol::E42 => link::DEFAULT_PORT + 1,
        }
    }
}

/// Writes what crosses links to a file, on a thread of its own. Dropping it ends the file: what waits is written first.
pub struct Recorder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    entries: SyncSender<Entry>,
    queue_octets: usize,
    queued_octets: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
    links: AtomicU64,
}

impl Recorder {
    /// Begins a file.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn create(config: RecorderConfig) -> Result<Self, Error> {
        let failed = |source| Error::System { what: "the recording's file", source };
        let (entries, waiting) = sync_channel(QUEUE_MESSAGES);
        let queued_octets = Arc::new(AtomicUsize::new(0));
        let dropped = Arc::new(AtomicU64::new(0));
        let writer = Writer::create(&config, Arc::clone(&queued_octets), Arc::clone(&dropped)).map_err(failed)?;
        let thread =
            std::thread::Builder::new().name("recorder".into()).spawn(move || writer.run(&waiting)).map_err(failed)?;
        let shared =
            Shared { entries, queue_octets: config.queue_octets, queued_octets, dropped, links: AtomicU64::new(0) };
        Ok(Recorder { shared: Arc::new(shared), thread: Some(thread) })
    }

    /// What a link's configuration takes to be recorded; see [`link::Config::tap`].
    #[must_use]
    pub fn tap(&self, protocol: Protocol) -> Tap {
        Tap::new(Arc::new(Ear { shared: Arc::clone(&self.shared), protocol }))
    }

    /// Messages that were not recorded since the file was not written as fast as they came.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // not at the cost of what waits: the loops are done
        let _ = self.shared.entries.send(Entry::Close);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Hears of links of one protocol.
struct Ear {
    shared: Arc<Shared>,
    protocol: Protocol,
}

impl Onlooker for Ear {
    fn begin(&self, ends: Ends<'_>) -> Box<dyn Watch> {
        let number = self.shared.links.fetch_add(1, Ordering::Relaxed) + 1;
        let conversation = Arc::new(Conversation::new(number, self.protocol, &ends));
        Box::new(Line { shared: Arc::clone(&self.shared), conversation })
    }
}

/// Hears what is said on one link.
struct Line {
    shared: Arc<Shared>,
    conversation: Arc<Conversation>,
}

impl Watch for Line {
    fn pdu(&self, direction: Direction, stream: StreamId, parts: &[&[u8]]) {
        let Line { shared, conversation } = self;
        let octets: usize = parts.iter().map(|part| part.len()).sum();
        // more than one loop may be over the bound by a message each
        if shared.queued_octets.load(Ordering::Relaxed) + octets > shared.queue_octets {
            shared.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut pdu = Vec::with_capacity(octets);
        parts.iter().for_each(|part| pdu.extend_from_slice(part));
        shared.queued_octets.fetch_add(octets, Ordering::Relaxed);
        let conversation = Arc::clone(conversation);
        let entry = Entry::Pdu { at_ns: now_ns(), conversation, direction, stream, pdu };
        if shared.entries.try_send(entry).is_err() {
            shared.queued_octets.fetch_sub(octets, Ordering::Relaxed);
            shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let conversation = Arc::clone(&self.conversation);
        // a file that misses an end can still be read
        let _ = self.shared.entries.try_send(Entry::End { at_ns: now_ns(), conversation });
    }
}

/// Nanoseconds since 1970.
fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}
