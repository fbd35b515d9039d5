//! The thread that writes a recording.

use std::fs::File;
use std::io::{self, BufWriter};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use e2ap::{Pdu, Version};
use link::{Address, Direction, LinkEnds, Ppid, StreamId};
use per::Gather;
use tracing::{error, warn};

use super::packet::{self, Data, FRAGMENT_OCTETS, Route};
use super::pcapng::{BlockWriter, LINK_RAW_IP, LINK_USER0};
use super::{Protocol, RecorderConfig, now_ns};
use crate::endpoint::ppid_of;

/// How long a message waits until it is written, at most: so much is lost when the program is killed, and a full disk is noticed
/// as soon.
const FLUSH_AFTER: Duration = Duration::from_millis(200);
/// The address of a peer that has a host name only: RFC 5737 reserves it for documentation.
const UNKNOWN_IP: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
/// The first artificial port of nodes whose link has none.
const FIRST_MADE_PORT: u16 = 32768;

/// An entry of the queue.
pub(super) enum Entry {
    Pdu {
        at_ns: u64,
        conversation: Arc<Conversation>,
        direction: Direction,
        stream: StreamId,
        ppid: Option<Ppid>,
        pdu: Vec<u8>,
    },
    End {
        at_ns: u64,
        conversation: Arc<Conversation>,
    },
    Close,
}

/// One link.
pub(super) struct Conversation {
    number: u64,
    protocol: Protocol,
    accepted: bool,
    peer: Address,
    /// The name of the interface.
    interface: String,
    /// Whether Wireshark can dissect it.
    dissectable: bool,
    ric: SocketAddr,
    node: SocketAddr,
    progress: Mutex<Progress>,
}

/// The state of a conversation, used by the writer's thread only.
struct Progress {
    /// The number of the file that contains a comment about it.
    commented_file: Option<u32>,
    ppid: Ppid,
    /// The next TSN in each direction: to the RIC, to the node.
    tsn: [u32; 2],
    /// The next sequence number of each direction and stream.
    sequences: std::collections::HashMap<(usize, u16), u16>,
}

impl Conversation {
    pub fn new(number: u64, protocol: Protocol, ends: &LinkEnds<'_>) -> Self {
        let local = ends.local.map(|local| SocketAddr::new(local.ip().to_canonical(), local.port()));
        let made_port = FIRST_MADE_PORT + (number % u64::from(FIRST_MADE_PORT)) as u16;
        let (peer_ip, peer_port) = match ends.peer {
            Address::Tcp { host, port } | Address::Tls { host, port } => (ip_of(host), Some(*port)),
            Address::Sctp { hosts, port } => (hosts.first().map_or(UNKNOWN_IP, |host| ip_of(host)), Some(*port)),
            Address::Unix(_) | Address::Shm(_) | Address::Memory(_) => (IpAddr::V4(Ipv4Addr::LOCALHOST), None),
        };
        let local_ip = local.map(|local| local.ip()).filter(|ip| !ip.is_unspecified());
        let local_ip = local_ip.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let local_port = local.map(|local| local.port()).filter(|port| *port != 0);
        // the listening end is the RIC
        let (ric_ip, node_ip, node_port) =
            if ends.accepted { (local_ip, peer_ip, peer_port) } else { (peer_ip, local_ip, local_port) };
        let url = ends.peer.to_string();
        let scheme = url.split(':').next().unwrap_or_default();
        let encoding = ends.encoding;
        let (interface, dissectable) = match protocol {
            Protocol::Xapp => (format!("xapp-{scheme}"), false),
            _ => (format!("{}-{scheme}-{encoding}", protocol.name()), encoding == "per"),
        };
        Conversation {
            number,
            protocol,
            accepted: ends.accepted,
            peer: ends.peer.clone(),
            interface,
            dissectable,
            ric: SocketAddr::new(ric_ip, protocol.ric_port()),
            node: SocketAddr::new(node_ip, node_port.unwrap_or(made_port)),
            progress: Mutex::new(Progress {
                commented_file: None,
                // E42 has no payload protocol identifier
                ppid: if protocol == Protocol::E42 { Ppid(0) } else { ends.ppid },
                tsn: [1, 1],
                sequences: Default::default(),
            }),
        }
    }

    /// Returns 0 for the direction to the RIC, 1 to the node.
    fn way(&self, direction: Direction) -> usize {
        usize::from((direction == Direction::Received) != self.accepted)
    }

    fn route(&self, way: usize) -> Route {
        let (source, destination) = if way == 0 { (self.node, self.ric) } else { (self.ric, self.node) };
        Route { source, destination, tag: (self.number as u32) << 1 | way as u32 }
    }

    fn description(&self) -> String {
        match (self.dissectable, self.protocol) {
            (true, _) => format!("{}: the SCTP and IP headers are artificial", self.interface),
            (false, Protocol::Xapp) => "ferric's protocol between xApps and the RIC: bare messages".to_owned(),
            (false, _) => format!("{}: bare messages", self.interface),
        }
    }
}

fn ip_of(host: &str) -> IpAddr {
    let host = host.split('%').next().unwrap_or_default();
    host.parse::<IpAddr>().map_or(UNKNOWN_IP, |ip| ip.to_canonical())
}

/// The writer with its file.
pub(super) struct Writer {
    path: PathBuf,
    limit_octets: u64,
    file: BlockWriter<BufWriter<File>>,
    /// The number of the file.
    file_number: u32,
    /// The names of the interfaces, and their message counts.
    interfaces: Vec<(String, u64)>,
    queued_octets: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
    /// The number of dropped messages that the file mentions.
    reported_dropped: u64,
    packet: Vec<u8>,
}

impl Writer {
    pub fn create(
        config: &RecorderConfig,
        queued_octets: Arc<AtomicUsize>,
        dropped: Arc<AtomicU64>,
    ) -> io::Result<Self> {
        Ok(Writer {
            path: config.path.clone(),
            limit_octets: config.limit_octets,
            file: begin(&config.path)?,
            file_number: 0,
            interfaces: Vec::new(),
            queued_octets,
            dropped,
            reported_dropped: 0,
            packet: Vec::new(),
        })
    }

    pub fn run(mut self, entries: &Receiver<Entry>) {
        if let Err(error) = self.work(entries) {
            // the event loops continue; their entries are dropped
            error!(
                file = %self.path.display(),
                %error,
                "recording stopped: cannot write the file; the messages until now are in it; free space on the disk, and start \
                 again"
            );
        }
    }

    fn work(&mut self, entries: &Receiver<Entry>) -> io::Result<()> {
        // when the first message since the last flush came
        let mut unflushed_since: Option<Instant> = None;
        loop {
            let flush_in = unflushed_since.map_or(FLUSH_AFTER, |since| FLUSH_AFTER.saturating_sub(since.elapsed()));
            if flush_in.is_zero() {
                self.file.flush()?;
                unflushed_since = None;
                continue;
            }
            let entry = match entries.recv_timeout(flush_in) {
                Ok(entry) => entry,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => Entry::Close,
            };
            unflushed_since.get_or_insert_with(Instant::now);
            match entry {
                Entry::Pdu { at_ns, conversation, direction, stream, ppid, pdu } => {
                    self.queued_octets.fetch_sub(pdu.len(), Ordering::Relaxed);
                    self.pdu(at_ns, &conversation, direction, (stream, ppid), &pdu)?;
                }
                Entry::End { at_ns, conversation } => self.end(at_ns, &conversation)?,
                Entry::Close => return self.finish(),
            }
            if self.file.octets > self.limit_octets {
                self.rotate()?;
            }
        }
    }

    fn pdu(
        &mut self,
        at_ns: u64,
        conversation: &Conversation,
        direction: Direction,
        (stream, ppid): (StreamId, Option<Ppid>),
        pdu: &[u8],
    ) -> io::Result<()> {
        let interface = self.interface(conversation)?;
        self.interfaces[interface].1 += 1;
        let mut progress = conversation.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let mut comment = self.comment(conversation, &mut progress);
        let sent = direction == Direction::Sent;
        if !conversation.dissectable {
            let comment = comment.get_or_insert_with(|| format!("link {}", conversation.number));
            return self.file.packet(interface as u32, at_ns, sent, pdu, Some(comment));
        }
        if let Some(ppid) = ppid_by_setup(conversation.protocol, pdu) {
            progress.ppid = ppid;
        }
        let way = conversation.way(direction);
        let route = conversation.route(way);
        let next = progress.sequences.entry((way, stream.0)).or_default();
        let sequence = std::mem::replace(next, next.wrapping_add(1));
        let pieces = pdu.chunks(FRAGMENT_OCTETS);
        let last = pieces.len().saturating_sub(1);
        for (at, octets) in pieces.enumerate() {
            let tsn = progress.tsn[way];
            progress.tsn[way] = tsn.wrapping_add(1);
            self.packet.clear();
            let data = Data {
                beginning: at == 0,
                ending: at == last,
                unordered: false,
                tsn,
                stream: stream.0,
                sequence,
                ppid: ppid.unwrap_or(progress.ppid).0,
                octets,
            };
            packet::put_data(&mut self.packet, &route, &data);
            self.file.packet(interface as u32, at_ns, sent, &self.packet, comment.take().as_deref())?;
        }
        Ok(())
    }

    fn end(&mut self, at_ns: u64, conversation: &Conversation) -> io::Result<()> {
        let progress = conversation.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if !conversation.dissectable || progress.commented_file.is_none() {
            return Ok(()); // the link carried nothing
        }
        let interface = self.interface(conversation)?;
        self.packet.clear();
        packet::put_shutdown(&mut self.packet, &conversation.route(0), progress.tsn[1].wrapping_sub(1));
        let comment = format!("link {} ends", conversation.number);
        self.file.packet(interface as u32, at_ns, !conversation.accepted, &self.packet, Some(&comment))
    }

    /// Returns the comment for the next packet, if any.
    fn comment(&mut self, conversation: &Conversation, progress: &mut Progress) -> Option<String> {
        let mut comment = None;
        if progress.commented_file != Some(self.file_number) {
            let Conversation { number, peer, accepted, .. } = conversation;
            let verb = if progress.commented_file.is_none() { "begins" } else { "continues in this file" };
            let how = if *accepted { "accepted" } else { "connected" };
            comment = Some(format!("link {number} {verb}: with {peer}; {how}"));
            progress.commented_file = Some(self.file_number);
        }
        let dropped = self.dropped.load(Ordering::Relaxed);
        let lost = dropped - self.reported_dropped;
        if lost > 0 {
            self.reported_dropped = dropped;
            warn!(messages = lost, "messages not recorded: the file is written too slowly");
            let text = format!("{lost} messages before this one are missing: the file was written too slowly");
            comment = Some(comment.map_or(text.clone(), |comment| format!("{comment}; {text}")));
        }
        comment
    }

    fn interface(&mut self, conversation: &Conversation) -> io::Result<usize> {
        if let Some(at) = self.interfaces.iter().position(|(name, _)| *name == conversation.interface) {
            return Ok(at);
        }
        let link_type = if conversation.dissectable { LINK_RAW_IP } else { LINK_USER0 };
        self.file.interface(link_type, &conversation.interface, &conversation.description())?;
        self.interfaces.push((conversation.interface.clone(), 0));
        Ok(self.interfaces.len() - 1)
    }

    /// Renames the full file, and creates a new one.
    fn rotate(&mut self) -> io::Result<()> {
        self.finish()?;
        let mut older = self.path.clone().into_os_string();
        older.push(".1");
        std::fs::rename(&self.path, older)?;
        self.file = begin(&self.path)?;
        self.file_number = self.file_number.wrapping_add(1);
        self.interfaces.clear();
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        let dropped = self.dropped.load(Ordering::Relaxed);
        for (at, (_, received)) in self.interfaces.iter().enumerate() {
            // the interfaces of dropped messages are unknown: the first reports them
            let dropped = if at == 0 { dropped } else { 0 };
            self.file.statistics(at as u32, now_ns(), *received, dropped)?;
        }
        self.file.flush()
    }
}

fn begin(path: &std::path::Path) -> io::Result<BlockWriter<BufWriter<File>>> {
    let mut file =
        BlockWriter::new(BufWriter::with_capacity(256 * 1024, files::create(path)?), super::read::APPLICATION)?;
    // a disk that is full already is an error of the start
    file.flush()?;
    Ok(file)
}

/// Returns the payload protocol identifier of the node if the PDU is its setup.
fn ppid_by_setup(protocol: Protocol, pdu: &[u8]) -> Option<Ppid> {
    let version = Version::of_setup(pdu).filter(|_| protocol == Protocol::E2)?;
    let gather = Gather::new();
    match e2ap::decode(pdu, version, &gather).ok()?.pdu {
        Pdu::E2SetupRequest(setup) => Some(ppid_of(setup.global_e2_node_id)),
        _ => None,
    }
}
