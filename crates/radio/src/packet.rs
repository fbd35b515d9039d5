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
    /// What a receiver tells its sender.
    Acknowledgement(Acknowledgement),
    /// The very octets of a live interface's packet, with its IP header.
    Live(Box<[u8]>),
}

/// What a receiver tells its sender (RFC 9293 3.8.6, RFC 2018; packets have numbers here, not octets).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    /// All packets below this number have come.
    pub cumulative: u64,
    /// The last that came, and when it was sent.
    pub newest: u64,
    /// When that was sent.
    pub newest_sent: Time,
    /// Which of the 64 packets from `cumulative` on have come, the first in the lowest bit.
    pub selective: u64,
    /// How many packets with a congestion mark have come so far (RFC 3168 6.1, counted as by RFC 9331's ends).
    pub marked: u64,
}
