//! IP packets between the ends of a flow.

use std::net::Ipv4Addr;

use crate::Time;

/// The number of a flow in its UE. [`FlowId::EXTERNAL`] marks packets of live interfaces, which the model did not generate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// Packets of live interfaces.
    pub const EXTERNAL: FlowId = FlowId(u32::MAX);
}

/// The 5-tuple of a packet's layer 3 and 4 headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Source port; 0 for protocols without ports.
    pub source_port: u16,
    /// Destination port; 0 for protocols without ports.
    pub destination_port: u16,
    /// IP protocol number: 6 is TCP, 17 is UDP.
    pub protocol: u8,
}

impl FiveTuple {
    /// The protocol number of TCP.
    pub const TCP: u8 = 6;
    /// The protocol number of UDP.
    pub const UDP: u8 = 17;

    /// The tuple of the opposite direction.
    #[must_use]
    pub fn reversed(self) -> FiveTuple {
        FiveTuple {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            protocol: self.protocol,
        }
    }
}

/// Explicit congestion notification (RFC 3168 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable: the packet may be marked instead of dropped.
    Ect,
    /// Congestion experienced.
    Ce,
}

/// A packet of layer 3.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Its flow.
    pub flow: FlowId,
    /// Its headers.
    pub tuple: FiveTuple,
    /// Its length, including the headers of layer 3 and above.
    pub octets: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its differentiated services code point (RFC 2474).
    pub dscp: u8,
    /// Its number in its flow and direction, counted from 0.
    pub number: u64,
    /// When the source sent it.
    pub sent: Time,
    /// When it entered its current sublayer.
    pub entered: Time,
    /// Its payload.
    pub content: Content,
}

/// The payload of a packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Content {
    /// Octets without meaning.
    #[default]
    Filler,
    /// A TCP SYN or SYN-ACK (RFC 9293 3.5).
    Syn {
        /// For a SYN-ACK, when the SYN that it answers was sent; `None` for a SYN.
        syn_sent: Option<Time>,
    },
    /// A TCP segment.
    Segment(Segment),
    /// A TCP acknowledgement.
    Acknowledgement(Acknowledgement),
    /// The octets of a packet of a live interface, IP header included.
    Live(Box<[u8]>),
}

/// A TCP segment (RFC 9293 3.4). Sequence numbers count segments here, not octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Its number in the stream, from 0; a retransmission keeps it.
    pub sequence: u64,
    /// How many segments the sender had sent before, retransmissions included.
    pub transmission: u64,
}

/// A TCP acknowledgement (RFC 9293 3.8.6). Sequence numbers count segments here, not octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    /// All segments below this number were received.
    pub cumulative: u64,
    /// The transmission that was received last, or the request that a reply answers.
    pub newest: u64,
    /// When that transmission was sent (RFC 7323 3.2).
    pub newest_sent: Time,
    /// Whether it was a duplicate (RFC 2883 4).
    pub newest_is_duplicate: bool,
    /// SACK blocks above `cumulative`: first the one with the newest segment, then earlier ones (RFC 2018 4), then empty
    /// ones.
    pub selective: [SackBlock; Acknowledgement::BLOCKS],
    /// Segments received with a congestion mark so far (RFC 3168 6.1.3, counted as in RFC 9768).
    pub marked: u64,
}

impl Acknowledgement {
    /// The number of SACK blocks that fit into a TCP header with timestamps (RFC 2018 3).
    pub const BLOCKS: usize = 3;
}

/// A SACK block: contiguous received segments above a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// The first segment, relative to [`Acknowledgement::cumulative`].
    pub first: u32,
    /// The end (exclusive), relative likewise.
    pub end: u32,
}

impl SackBlock {
    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.first >= self.end
    }
}
