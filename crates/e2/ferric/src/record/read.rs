//! Reads recordings and captures: reassembles messages from packets.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read};
use std::net::SocketAddr;

use link::StreamId;

use super::packet::{self, Chunk, Data, Route};
use super::pcapng::{BlockReader, Interface, LINK_RAW_IP, LINK_USER0, Packet, is_classic};

/// The application name in the section header of recordings.
pub(super) const APPLICATION: &str = "ferric";

/// Ethernet, Linux "cooked" captures in both versions, and raw IP with the number of the BSDs.
const LINK_ETHERNET: u16 = 1;
const LINK_RAW_BSD: u16 = 12;
const LINK_COOKED: u16 = 113;
const LINK_RAW_IPV4: u16 = 228;
const LINK_RAW_IPV6: u16 = 229;
const LINK_COOKED_V2: u16 = 276;

/// The most octets of an incomplete message; a longer one is dropped.
const MAX_MESSAGE_OCTETS: usize = 16 * 1024 * 1024;
/// The most incomplete messages; beyond that, all incomplete ones are dropped.
const MAX_UNFINISHED: usize = 4096;
/// The most associations that are distinguished; beyond that, earlier ones are forgotten.
const MAX_ASSOCIATIONS: usize = 65536;

/// A message of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The time of capture: nanoseconds since 1970.
    pub at_ns: u64,
    /// The name of the interface, such as `e2-tcp-per`.
    pub interface: String,
    /// The content.
    pub content: Content,
}

/// The content of a recorded message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A message over SCTP.
    Sctp {
        /// The number of the association, from 0 in the order of appearance.
        association: usize,
        /// The sender.
        source: SocketAddr,
        /// The receiver.
        destination: SocketAddr,
        /// The payload protocol identifier.
        ppid: u32,
        /// The stream.
        stream: StreamId,
        /// The message.
        pdu: Vec<u8>,
    },
    /// The end of an association.
    End {
        /// The number of the association.
        association: usize,
    },
    /// A message of a protocol without IP packets in the file.
    Bare(Vec<u8>),
}

/// The reason why a recording cannot be read, or not further.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The file is not in pcapng format.
    Foreign {
        /// The first word of the file, if it is that long.
        found: Option<u32>,
    },
    /// The file ends within a block.
    Truncated {
        /// The offset of the block.
        block_offset: u64,
        /// The offset of the end of the file.
        offset: u64,
    },
    /// A block violates the format.
    Damaged {
        /// The offset of the block.
        offset: u64,
    },
    /// The file cannot be read.
    Io {
        /// The offset.
        offset: u64,
        /// The system's error.
        source: io::Error,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Foreign { found: Some(word) } if is_classic(*word) => f.write_str(
                "at octet 0: this is the older pcap format, not pcapng; convert it: `editcap -F pcapng OLD NEW`",
            ),
            ReadError::Foreign { found: Some(_) } => f.write_str("at octet 0: this is not a pcapng file"),
            ReadError::Foreign { found: None } => f.write_str("at octet 0: the file is empty"),
            ReadError::Truncated { block_offset, offset } => {
                write!(f, "at octet {offset}: the file ends within the block that begins at octet {block_offset}")
            }
            ReadError::Damaged { offset } => write!(f, "at octet {offset}: the block there is damaged"),
            ReadError::Io { offset, source } => write!(f, "at octet {offset}: {source}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// One stream in one direction of an association.
type StreamKey = (usize, SocketAddr, u16, bool);

/// An incomplete message.
struct Unfinished {
    next_tsn: u32,
    octets: Vec<u8>,
}

/// A recording, or a capture of SCTP: an iterator over its messages in the order in which they were completed.
///
/// It ends after an error. Packets of other protocols are skipped, and so are retransmissions and duplicates.
pub struct Recording<R: Read> {
    blocks: BlockReader<R>,
    associations: Associations,
    unfinished: HashMap<StreamKey, Unfinished>,
    /// The TSNs that were seen in each direction of an association.
    seen: HashMap<(usize, SocketAddr), Seen>,
    ready: std::collections::VecDeque<Message>,
    is_finished: bool,
}

impl<R: Read> Recording<R> {
    /// Reads from `file`, which should be buffered (`BufReader`).
    pub fn new(file: R) -> Self {
        Recording {
            blocks: BlockReader::new(file),
            associations: Associations::default(),
            unfinished: HashMap::new(),
            seen: HashMap::new(),
            ready: Default::default(),
            is_finished: false,
        }
    }

    /// Reads one packet.
    fn step(&mut self) -> Result<(), ReadError> {
        let Recording { blocks, associations, unfinished, seen, ready, is_finished } = self;
        let Some(Packet { interface, application, at_ns, octets }) = blocks.next()? else {
            *is_finished = true;
            return Ok(());
        };
        let Interface { link_type, name, .. } = interface;
        let ours = application == APPLICATION;
        let mut put = |content| ready.push_back(Message { at_ns, interface: name.clone(), content });
        if *link_type == LINK_USER0 {
            put(Content::Bare(octets.to_vec()));
            return Ok(());
        }
        let Some(packet) = ip_of(*link_type, octets) else { return Ok(()) };
        // other protocols and incomplete packets are skipped
        let _ = packet::parse(packet, |route, chunk| {
            let association = associations.of(&route, ours);
            match chunk {
                Chunk::Data(data) => {
                    let seen = seen.entry((association, route.source)).or_insert(Seen { highest: data.tsn, recent: 0 });
                    if !seen.is_new(data.tsn) {
                        return;
                    }
                    if let Some(pdu) = assemble(unfinished, association, &route, &data) {
                        let (source, destination) = (route.source, route.destination);
                        let (ppid, stream) = (data.ppid, StreamId(data.stream));
                        put(Content::Sctp { association, source, destination, ppid, stream, pdu });
                    }
                }
                Chunk::End => {
                    if associations.end(&route, ours) {
                        put(Content::End { association });
                    }
                }
            }
        });
        if seen.len() > 2 * MAX_ASSOCIATIONS {
            seen.clear();
        }
        Ok(())
    }
}

impl<R: Read> Iterator for Recording<R> {
    type Item = Result<Message, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(Ok(message));
            }
            if self.is_finished {
                return None;
            }
            if let Err(error) = self.step() {
                self.is_finished = true;
                return Some(Err(error));
            }
        }
    }
}

/// The TSNs of one direction that were seen.
struct Seen {
    highest: u32,
    /// One bit for each of the last 128 TSNs, the lowest for the highest TSN.
    recent: u128,
}

impl Seen {
    /// RFC 9260 6.2: a retransmission has a TSN that was seen. A TSN that is 128 or more below the highest counts as
    /// seen.
    fn is_new(&mut self, tsn: u32) -> bool {
        let ahead = tsn.wrapping_sub(self.highest) as i32;
        if ahead > 0 {
            self.highest = tsn;
            self.recent = self.recent.checked_shl(ahead as u32).unwrap_or(0) | 1;
            return true;
        }
        let Some(bit) = 1u128.checked_shl(ahead.unsigned_abs()) else { return false };
        let is_new = self.recent & bit == 0;
        self.recent |= bit;
        is_new
    }
}

/// Adds a chunk to its message. Returns the message once it is complete.
fn assemble(
    unfinished: &mut HashMap<StreamKey, Unfinished>,
    association: usize,
    route: &Route,
    data: &Data<'_>,
) -> Option<Vec<u8>> {
    if data.beginning && data.ending {
        return Some(data.octets.to_vec());
    }
    let stream_key = (association, route.source, data.stream, data.unordered);
    let next_tsn = data.tsn.wrapping_add(1);
    if data.beginning {
        if unfinished.len() == MAX_UNFINISHED {
            unfinished.clear();
        }
        unfinished.insert(stream_key, Unfinished { next_tsn, octets: data.octets.to_vec() });
        return None;
    }
    // RFC 9260 6.9: the fragments of a message have consecutive TSNs; a gap in the capture drops the message
    let mut message = unfinished.remove(&stream_key)?;
    if message.next_tsn != data.tsn || message.octets.len() + data.octets.len() > MAX_MESSAGE_OCTETS {
        return None;
    }
    message.next_tsn = next_tsn;
    message.octets.extend_from_slice(data.octets);
    if data.ending {
        return Some(message.octets);
    }
    unfinished.insert(stream_key, message);
    None
}

/// Returns the IP packet within a frame.
fn ip_of(link_type: u16, frame: &[u8]) -> Option<&[u8]> {
    let at = match link_type {
        LINK_RAW_IP | LINK_RAW_BSD | LINK_RAW_IPV4 | LINK_RAW_IPV6 => 0,
        LINK_COOKED => 16,
        LINK_COOKED_V2 => 20,
        LINK_ETHERNET => {
            let mut at = 12;
            // VLAN tags
            while matches!(frame.get(at..at + 2)?, [0x81, 0x00] | [0x88, 0xA8]) {
                at += 4;
            }
            at + 2
        }
        _ => return None,
    };
    frame.get(at..)
}

/// The two ends, the lower first, and the number in the tags of our own recordings.
type AssociationKey = (SocketAddr, SocketAddr, Option<u32>);

/// Assigns packets to associations.
#[derive(Default)]
struct Associations {
    /// The number of each association, and the tags seen in each direction.
    known: HashMap<AssociationKey, (usize, [Option<u32>; 2])>,
    count: usize,
}

impl Associations {
    /// Returns the association of a packet. A new tag between the same ends is a new association.
    fn of(&mut self, route: &Route, ours: bool) -> usize {
        let (key, way) = key(route, ours);
        if self.known.len() >= MAX_ASSOCIATIONS && !self.known.contains_key(&key) {
            self.known.clear();
        }
        let count = &mut self.count;
        let mut begin = || {
            *count += 1;
            (*count - 1, [None; 2])
        };
        let entry = self.known.entry(key).or_insert_with(&mut begin);
        if entry.1[way].is_some_and(|tag| tag != route.tag) {
            *entry = begin();
        }
        entry.1[way] = Some(route.tag);
        entry.0
    }

    /// Ends an association. Returns `false` if it has ended before.
    fn end(&mut self, route: &Route, ours: bool) -> bool {
        self.known.remove(&key(route, ours).0).is_some()
    }
}

fn key(route: &Route, ours: bool) -> (AssociationKey, usize) {
    let Route { source, destination, tag } = *route;
    // two links of a recording may have the same ends, since the RIC's port is artificial
    let number = ours.then_some(tag >> 1);
    if source <= destination { ((source, destination, number), 0) } else { ((destination, source, number), 1) }
}
