//! TCP as it matters to a RAN: what is on the way, what of it is lost, and who decides how much it may be. A direction is
//! a stream of its own, with a sender at one end and a receiver at the other; acknowledgements are packets without data.

mod bbr;
mod control;
mod cubic;
mod handshake;
mod hystart;
mod rate;
mod receiver;
mod rtt;
mod scoreboard;
mod sender;

pub use handshake::{Handshake, Opened, SYNCHRONIZE_OCTETS};
pub use receiver::Receiver;
pub use sender::{Outgoing, Sender};

/// IPv4, TCP, and its timestamps (RFC 7323).
pub const HEADERS_OCTETS: u32 = 52;

/// A TCP header with so many selective blocks (RFC 2018 3).
pub fn acknowledgement_octets(blocks: u32) -> u32 {
    HEADERS_OCTETS + if blocks == 0 { 0 } else { 4 + 8 * blocks }
}

/// What a TCP sender is at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpState {
    /// Segments that may be in flight.
    pub window_segments: u64,
    /// Segments in flight, as far as the sender knows.
    pub in_flight_segments: u64,
    /// Whether the window still grows as at the beginning.
    pub is_slow_start: bool,
    /// Smoothed round trip; nothing before the first.
    pub smoothed_rtt_ms: Option<f64>,
    /// Segments sent for the first time.
    pub sent_segments: u64,
    /// Segments delivered, as far as the sender knows.
    pub delivered_segments: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// How often the retransmission timer went off.
    pub timeouts: u64,
    /// How often that was for nothing: what had been sent before came after all, and the window is what it was.
    pub needless_timeouts: u64,
    /// How often a segment was sent to see whether the last ones were lost; where that was an old one, it counts as sent again.
    pub probes: u64,
    /// How often the window was reduced for losses, and for marks.
    pub reductions: u64,
    /// The last measured rate of delivery, without headers.
    pub delivery_rate_bps: f64,
}
