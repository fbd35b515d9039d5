//! Recordings of E2 associations as files, so that a fault report can be read and replayed.
//!
//! A [`Recorder`] writes each PDU of the links with its tap, with time and addresses, as
//! [pcapng](https://ietf-opsawg-wg.github.io/draft-ietf-opsawg-pcapng/), which Wireshark and tshark (4.2 and later)
//! dissect. A [`Recording`] reads such files, and captures of real SCTP.
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
//! # File contents
//!
//! - E2 and E42 over any link, as SCTP over IP: with the real addresses if the link has some, the RIC at port 36421 (E42:
//!   36422), and valid checksums. The payload protocol identifier is that of the wire, and that for the node's type on links
//!   without one. TSNs count what was recorded. A
//!   SHUTDOWN marks the end of a link.
//! - Other protocols and encodings (the RIC-xApp protocol, E2AP in other encodings than PER), as bare PDUs on interfaces of
//!   link type USER0.
//! - The name of an interface consists of protocol, link and encoding, such as `e2-tcp-per`. The first packet of each link has
//!   a comment with the peer's address.
//! - A report that was recorded as sent may have been dropped later because its reader was slow.
//!
//! The event loops never wait for the file: a bounded queue separates them. What finds no room in it is not recorded
//! but counted: in a comment of the next packet, in the interface statistics and in the log. When a file reaches its
//! limit, it is renamed (`.1` is appended, which replaces an older file of that name), and a new one is created.

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

use link::{Direction, LinkEnds, LinkObserver, Ppid, StreamId, Tap, TapObserver};

use crate::Error;
use write::{Conversation, Entry, Writer};

pub use read::{Content, Message, ReadError, Recording};

/// The most messages in the queue.
const QUEUE_MESSAGES: usize = 16 * 1024;

/// The configuration of a recorder.
#[derive(Clone, Debug)]
pub struct RecorderConfig {
    /// The path of the file, which is overwritten.
    pub path: PathBuf,
    /// The octets after which a new file is created; together with the previous file, a recording takes twice that.
    /// Default: 256 MiB.
    pub limit_octets: u64,
    /// The most octets in the queue. Default: 32 MiB.
    pub queue_octets: usize,
}

impl RecorderConfig {
    /// Returns the defaults with a path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        RecorderConfig { path: path.into(), limit_octets: 256 << 20, queue_octets: 32 << 20 }
    }
}

/// The protocol of recorded links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// E2AP, between E2 nodes and a RIC.
    E2,
    /// E42, between FlexRIC's xApps and a RIC.
    E42,
    /// The RIC-xApp protocol, between xApps and a RIC.
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

    /// Returns the RIC's port in the file.
    fn ric_port(self) -> u16 {
        match self {
            Protocol::E2 | Protocol::Xapp => link::DEFAULT_PORT,
            Protocol::E42 => link::DEFAULT_PORT + 1,
        }
    }
}

/// Records the PDUs of links to a file, on a separate thread. When it is dropped, the queue is written before the file
/// is closed.
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
    /// Creates the file and starts the thread.
    ///
    /// # Errors
    /// When the file cannot be written, a full disk included, or the thread cannot be started.
    pub fn create(config: RecorderConfig) -> Result<Self, Error> {
        let failed = |source| Error::System { what: "recording file", source };
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

    /// Returns a tap for links of this protocol; see [`link::Config::tap`].
    #[must_use]
    pub fn tap(&self, protocol: Protocol) -> Tap {
        Tap::new(Arc::new(ProtocolTap { shared: Arc::clone(&self.shared), protocol }))
    }

    /// Returns the number of messages that were not recorded because the file was written too slowly.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // blocks until the queue has room; the event loops have ended
        let _ = self.shared.entries.send(Entry::Close);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Creates a recorder for each link of a protocol.
struct ProtocolTap {
    shared: Arc<Shared>,
    protocol: Protocol,
}

impl TapObserver for ProtocolTap {
    fn begin(&self, ends: LinkEnds<'_>) -> Box<dyn LinkObserver> {
        let number = self.shared.links.fetch_add(1, Ordering::Relaxed) + 1;
        let conversation = Arc::new(Conversation::new(number, self.protocol, &ends));
        Box::new(LinkRecorder {
            shared: Arc::clone(&self.shared),
            conversation,
            ppids: [AtomicU64::new(NO_PPID), AtomicU64::new(NO_PPID)],
        })
    }
}

/// Records the PDUs of one link.
struct LinkRecorder {
    shared: Arc<Shared>,
    conversation: Arc<Conversation>,
    /// The payload protocol identifiers on the wire: received, sent. [`NO_PPID`] until one is known, and on links without.
    ppids: [AtomicU64; 2],
}

/// No payload protocol identifier: these have 32 bits.
const NO_PPID: u64 = u64::MAX;

impl LinkRecorder {
    fn ppid_of(&self, direction: Direction) -> &AtomicU64 {
        &self.ppids[usize::from(direction == Direction::Sent)]
    }
}

impl LinkObserver for LinkRecorder {
    fn pdu(&self, direction: Direction, stream: StreamId, parts: &[&[u8]]) {
        let LinkRecorder { shared, conversation, .. } = self;
        let octets: usize = parts.iter().map(|part| part.len()).sum();
        // several loops may exceed the bound by a message each
        if shared.queued_octets.load(Ordering::Relaxed) + octets > shared.queue_octets {
            shared.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut pdu = Vec::with_capacity(octets);
        parts.iter().for_each(|part| pdu.extend_from_slice(part));
        shared.queued_octets.fetch_add(octets, Ordering::Relaxed);
        let conversation = Arc::clone(conversation);
        let ppid = u32::try_from(self.ppid_of(direction).load(Ordering::Relaxed)).ok().map(Ppid);
        let entry = Entry::Pdu { at_ns: now_ns(), conversation, direction, stream, ppid, pdu };
        if shared.entries.try_send(entry).is_err() {
            shared.queued_octets.fetch_sub(octets, Ordering::Relaxed);
            shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn ppid(&self, direction: Direction, ppid: Ppid) {
        self.ppid_of(direction).store(ppid.0.into(), Ordering::Relaxed);
    }
}

impl Drop for LinkRecorder {
    fn drop(&mut self) {
        let conversation = Arc::clone(&self.conversation);
        // a file without the end of a link is still readable
        let _ = self.shared.entries.try_send(Entry::End { at_ns: now_ns(), conversation });
    }
}

/// Returns the nanoseconds since 1970.
fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

#[cfg(test)]
mod tests {
    use link::{Address, StreamId};

    use super::*;

    #[test]
    fn ppid_of_the_wire_is_recorded() {
        let path = std::env::temp_dir().join(format!("ferric-record-ppid-{}", std::process::id()));
        let recorder = Recorder::create(RecorderConfig::new(&path)).unwrap();
        let tap = ProtocolTap { shared: Arc::clone(&recorder.shared), protocol: Protocol::E2 };
        let peer: Address = "sctp://192.0.2.1:36421".parse().unwrap();
        let ends = LinkEnds { peer: &peer, local: None, accepted: true, ppid: Ppid::E2_CP, encoding: "per" };
        let observer = tap.begin(ends);
        observer.pdu(Direction::Received, StreamId(0), &[b"unknown"]);
        // as base stations send it that do not set one
        observer.ppid(Direction::Received, Ppid(0));
        observer.pdu(Direction::Received, StreamId(0), &[b"zero"]);
        observer.ppid(Direction::Sent, Ppid::E2_DU);
        observer.pdu(Direction::Sent, StreamId(0), &[b"answer"]);
        drop((observer, tap, recorder));
        let file = std::fs::File::open(&path).unwrap();
        let messages =
            Recording::new(std::io::BufReader::new(file)).filter_map(|message| match message.unwrap().content {
                Content::Sctp { ppid, pdu, .. } => Some((ppid, pdu)),
                _ => None, // the end of the link
            });
        let expected = [(70, b"unknown".to_vec()), (0, b"zero".to_vec()), (72, b"answer".to_vec())];
        assert_eq!(messages.collect::<Vec<_>>(), expected);
        std::fs::remove_file(&path).unwrap();
    }
}
