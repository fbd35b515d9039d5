//! Reading recordings and captures: packets become messages again.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read};
use std::net::SocketAddr;

use link::StreamId;

use super::packet::{self, Chunk, Data, Route};
use super::pcapng::{BlockReader, Interface, LINK_RAW_IP, LINK_USER0, Packet, is_classic};

/// Who writes recordings.
pub(super) const APPLICATION: &str = "ferric";

/// Ethernet, Linux "cooked" captures in both versions, and raw IP as BSDs number it.
const LINK_ETHERNET: u16 = 1;
const LINK_RAW_BSD: u16 = 12;
const LINK_COOKED: u16 = 113;
const LINK_RAW_IPV4: u16 = 228;
const LINK_RAW_IPV6: u16 = 229;
const LINK_COOKED_V2: u16 = 276;

/// Octets of an unfinished message; what is longer is given up.
const MAX_MESSAGE_OCTETS: usize = 16 * 1024 * 1024;
/// Streams, and messages of which only a part came: when there are more, all that are unfinished are given up.
const MAX_UNFINISHED: usize = 4096;
/// Associations that are told apart; beyond these, those before are forgotten.
const MAX_ASSOCIATIONS: usize = 65536;

/// A message of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// When it was seen: nanoseconds since 1970.
    pub at_ns: u64,
    /// The interface's name, such as `e2-tcp-per`.
    pub interface: String,
    /// What it is.
    pub content: Content,
}

/// What a message of a recording is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A message over SCTP.
    Sctp {
        /// Counts associations from 0, in the order in which they are seen.
        association: usize,
        /// Its sender.
        source: SocketAddr,
        /// Whom it goes to.
        destination: SocketAddr,
        /// Its payload protocol.
        ppid: u32,
        /// Its stream.
        stream: StreamId,
        /// The message.
        pdu: Vec<u8>,
    },
    /// The association ends here.
    End {
        /// Which one.
        association: usize,
    },
    /// A bare message of a protocol that has no place in IP.
    Bare(Vec<u8>),
}

/// A recording that cannot be read (on).
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The file is not pcapng.
    Foreign {
        /// Its first word, where it has that much.
        found: Option<u32>,
    },
    /// The file ends within a block.
    Truncated {
        /// Where the block begins.
        block_offset: u64,
        /// Where the file ends.
        offset: u64,
    },
    /// A block is not what the format allows.
    Damaged {
        /// Where it begins.
        offset: u64,
    },
    /// The file cannot be read.
    Io {
        /// Where.
        offset: u64,
        /// Why.
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

/// One stream of one way of an association.
type Lane = (usize, SocketAddr, u16, bool);

/// The beginning of a message.
struct Unfinished {
    next_tsn: u32,
    octets: Vec<u8>,
}

/// A recording, or a capture of SCTP; an iterator over its messages, in the order in which they were whole.
///
/// After an error there is nothing more. Packets of other protocols are passed over; so is what was captured twice.
pub struct Recording<R: Read> {
    blocks: BlockReader<R>,
    associations: Associations,
    unfinished: HashMap<Lane, Unfinished>,
    /// What came of each way of an association, so that what was sent again is told once.
    seen: HashMap<(usize, SocketAddr), Seen>,
    ready: std::collections::VecDeque<Message>,
    over: bool,
}

impl<R: Read> Recording<R> {
    /// Reads from `file`; a `BufReader` makes it quick.
    pub fn new(file: R) -> Self {
        Recording {
            blocks: BlockReader::new(file),
            associations: Associations::default(),
            unfinished: HashMap::new(),
            seen: HashMap::new(),
            ready: Default::default(),
            over: false,
        }
    }

    /// Reads one packet.
    fn step(&mut self) -> Result<(), ReadError> {
        let Recording { blocks, associations, unfinished, seen, ready, over } = self;
        let Some(Packet { interface, application, at_ns, octets }) = blocks.next()? else {
            *over = true;
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
        // what is not SCTP, or not whole, has nothing for us
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
            if self.over {
                return None;
            }
            if let Err(error) = self.step() {
                self.over = true;
                return Some(Err(error));
            }
        }
    }
}

/// The TSNs of one way that were seen.
struct Seen {
    highest: u32,
    /// A bit for each of the last 128, the lowest for the highest TSN.
    recent: u128,
}

impl Seen {
    /// RFC 9260 6.2: what is sent again has a TSN that was seen. What comes later than 128 others counts as seen.
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

/// Adds a chunk to its message; the message, once it is whole.
fn assemble(
    unfinished: &mut HashMap<Lane, Unfinished>,
    association: usize,
    route: &Route,
    data: &Data<'_>,
) -> Option<Vec<u8>> {
    if data.beginning && data.ending {
        return Some(data.octets.to_vec());
    }
    let lane = (association, route.source, data.stream, data.unordered);
    let next_tsn = data.tsn.wrapping_add(1);
    if data.beginning {
        if unfinished.len() == MAX_UNFINISHED {
            unfinished.clear();
        }
        unfinished.insert(lane, Unfinished { next_tsn, octets: data.octets.to_vec() });
        return None;
    }
    // RFC 9260 6.9: the TSNs of a message's fragments follow one another; a gap in the capture ends the message
    let mut message = unfinished.remove(&lane)?;
    if message.next_tsn != data.tsn || message.octets.len() + data.octets.len() > MAX_MESSAGE_OCTETS {
        return None;
    }
    message.next_tsn = next_tsn;
    message.octets.extend_from_slice(data.octets);
    if data.ending {
        return Some(message.octets);
    }
    unfinished.insert(lane, message);
    None
}

/// The IP packet within a frame.
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

/// The ends, the lower one first, and where the file is ours the number in the tags.
type Key = (SocketAddr, SocketAddr, Option<u32>);

/// Which packets belong together.
#[derive(Default)]
struct Associations {
    /// Number, and the tags seen in each direction.
    known: HashMap<Key, (usize, [Option<u32>; 2])>,
    count: usize,
}

impl Associations {
    /// A new tag between the same ends is a new association.
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

    /// Whether it had not ended before.
    fn end(&mut self, route: &Route, ours: bool) -> bool {
        self.known.remove(&key(route, ours).0).is_some()
    }
}

fn key(route: &Route, ours: bool) -> (Key, usize) {
    let Route { source, destination, tag } = *route;
    // two links of a recording may look as if they had the same ends: the RIC's port is made up
    let number = ours.then_some(tag >> 1);
    if source <= destination { ((source, destination, number), 0) } else { ((destination, source, number), 1) }
}
