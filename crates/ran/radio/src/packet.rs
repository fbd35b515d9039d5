//! Packets: what a flow's ends send each other through the RAN.

use std::net::Ipv4Addr;

use crate::Time;

/// The number of a flow in its UE. [`FlowId::EXTERNAL`] is what the model did not make: packets of live interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// No flow of the model.
    pub const EXTERNAL: FlowId = FlowId(u32::MAX);
}

/// Source and destination of a packet, by the headers of layers 3 and 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    /// Where it comes from.
    pub source: Ipv4Addr,
    /// Where it goes to.
    pub destination: Ipv4Addr,
    /// The source's port; 0 where the protocol has none.
    pub source_port: u16,
    /// The destination's port; 0 where the protocol has none.
    pub destination_port: u16,
    /// The protocol: 6 is TCP, 17 UDP.
    pub protocol: u8,
}

impl FiveTuple {
    /// TCP's number.
    pub const TCP: u8 = 6;
    /// UDP's number.
    pub const UDP: u8 = 17;

    /// The tuple of what goes the other way.
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
    /// The ends do not know of it.
    #[default]
    NotEct,
    /// The ends know of it: it may be marked in place of dropped.
    Ect,
    /// Congestion was experienced.
    Ce,
}

/// A packet of layer 3.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Whose it is.
    pub flow: FlowId,
    /// Its headers.
    pub tuple: FiveTuple,
    /// Its length with all headers of layers 3 and up.
    pub octets: u32,
    /// Its congestion notification.
    pub ecn: Ecn,
    /// Whether it goes before others where a scheduler asks (differentiated services code point, RFC 2474).
    pub dscp: u8,
    /// Its number in its flow and direction, counted from 0.
    pub number: u64,
    /// When its source sent it.
    pub sent: Time,
    /// When it came to the sublayer where it is.
    pub entered: Time,
    /// What it carries.
    pub content: Content,
}

/// What a packet carries.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Content {
    /// Octets whose values do not matter.
    #[default]
    Filler,
    /// The opening of a TCP connection (RFC 9293 3.5).
    Synchronize {
        /// Where it answers one from the other end: when that was sent. `None` where it asks.
        answers: Option<Time>,
    },
    /// A piece of a TCP stream.
    Segment(Segment),
    /// What a receiver tells its sender.
    Acknowledgement(Acknowledgement),
    /// The very octets of a live interface's packet, with its IP header.
    Live(Box<[u8]>),
}

/// A piece of a TCP stream (RFC 9293 3.4; pieces have numbers here, not octets).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Its number in the stream, counted from 0; the same when it is sent again.
    pub sequence: u64,
    /// How many segments the sender had sent before this one, those that it sent again among them.
    pub transmission: u64,
}

/// What a receiver tells its sender (RFC 9293 3.8.6; segments have numbers here, not octets).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    /// All segments below this number have come.
    pub cumulative: u64,
    /// Which transmission came last, or which request a reply is for.
    pub newest: u64,
    /// When that was sent (RFC 7323 3.2).
    pub newest_sent: Time,
    /// Whether it brought nothing new, since it had come before (RFC 2883 4).
    pub newest_is_duplicate: bool,
    /// What has come above `cumulative`: where the newest is first, then what was told before (RFC 2018 4). Blocks that
    /// are empty follow.
    pub selective: [Block; Acknowledgement::BLOCKS],
    /// How many segments with a congestion mark have come so far (RFC 3168 6.1.3, counted as RFC 9768 does).
    pub marked: u64,
}

impl Acknowledgement {
    /// How many blocks find room in the TCP header beside timestamps (RFC 2018 3).
    pub const BLOCKS: usize = 3;
}

/// Segments that have come one after the other, above one that is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The first, counted from [`Acknowledgement::cumulative`].
    pub first: u32,
    /// The one after the last, counted likewise.
    pub end: u32,
}

impl Block {
    /// Whether it holds nothing.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.first >= self.end
    }
}
