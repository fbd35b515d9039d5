//! A TCP model with loss detection, loss recovery and congestion control. Each direction is a separate stream with a sender
//! at one end and a receiver at the other; acknowledgements are packets without data.

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

pub use handshake::{Established, Handshake, SYN_OCTETS};
pub use receiver::Receiver;
pub use sender::{Outgoing, Sender};

/// The octets of the IPv4 and TCP headers with timestamps (RFC 7323).
pub const HEADERS_OCTETS: u32 = 52;

/// The octets of an acknowledgement with a number of SACK blocks (RFC 2018 3).
pub fn acknowledgement_octets(blocks: u32) -> u32 {
    HEADERS_OCTETS + if blocks == 0 { 0 } else { 4 + 8 * blocks }
}

/// The state and the counters of a TCP sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpState {
    /// The congestion window.
    pub window_segments: u64,
    /// Segments in flight according to the sender (RFC 6675: pipe).
    pub in_flight_segments: u64,
    /// Whether the sender is in slow start, or in the startup state of BBR.
    pub is_slow_start: bool,
    /// The smoothed round-trip time; `None` before the first measurement.
    pub smoothed_rtt_ms: Option<f64>,
    /// Segments sent, without retransmissions.
    pub sent_segments: u64,
    /// Segments known to be delivered.
    pub delivered_segments: u64,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Timeouts that proved spurious, after which the congestion window was restored (RFC 4015).
    pub spurious_timeouts: u64,
    /// Tail loss probes (RFC 8985 7). A probe that repeats a segment also counts as a retransmission.
    pub probes: u64,
    /// Reductions of the congestion window because of losses or congestion marks.
    pub reductions: u64,
    /// The last measured delivery rate, without headers.
    pub delivery_rate_bps: f64,
}
