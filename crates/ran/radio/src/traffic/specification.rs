//! The specification of a flow.

use std::fmt;

use super::users::{VideoPlayer, Web};
use crate::Time;

/// The specification of a flow. [`FlowSpecification::new`] sets the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpecification {
    /// The traffic model.
    pub kind: Kind,
    /// When the flow starts. Default: [`Time::START`]. A flow that is created after its start sends at once what it would
    /// have sent until then.
    pub start: Time,
    /// When both ends stop sending. Default: [`Time::NEVER`].
    pub stop: Time,
    /// The direction of the data. Default: down.
    pub direction: Direction,
    /// The one-way delay of the core and the internet. Default: 5 ms.
    pub one_way_delay_ms: f64,
    /// The differentiated services code point of all packets (RFC 2474). Default: 0.
    pub dscp: u8,
    /// The maximum number of round-trip times that are kept with their time of measurement. Default: 0.
    pub rtt_samples: usize,
}

impl FlowSpecification {
    /// Creates a specification of this kind with the defaults for everything else.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        FlowSpecification {
            kind,
            start: Time::START,
            stop: Time::NEVER,
            direction: Direction::Down,
            one_way_delay_ms: 5.0,
            dscp: 0,
            rtt_samples: 0,
        }
    }

    /// Checks that all values are allowed.
    ///
    /// # Errors
    ///
    /// Names the first field whose value is not allowed, and the allowed values.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let delay = (0.0..=1_000.0).contains(&self.one_way_delay_ms);
        within(delay, "one_way_delay_ms", "from 0 to 1000")?;
        within(self.dscp < 64, "dscp", "from 0 to 63")?;
        within(self.rtt_samples <= 1_000_000, "rtt_samples", "from 0 to 1000000")?;
        within(self.stop > self.start, "stop", "later than the start")?;
        if self.kind.is_request_response() {
            let one_way = self.direction != Direction::Both;
            within(one_way, "direction", "down or up when one end sends requests and the other answers")?;
        }
        self.kind.check()
    }
}

/// The direction of a flow's data. When one end sends requests and the other answers, it is the direction of the answers,
/// except for [`Kind::Echo`] and [`Kind::Voip`], where it is the direction of the packets that are echoed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the server to the UE.
    #[default]
    Down,
    /// From the UE to the server.
    Up,
    /// Both directions, each as specified.
    Both,
}

/// The traffic model. Octets of packets include all headers of layer 3 and above.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Packets at even intervals.
    ConstantBitRate {
        /// Bits per second, including all headers of layer 3 and above.
        rate_bps: u64,
        /// The size of each packet.
        packet_octets: u32,
    },
    /// Packets with exponentially distributed intervals.
    Poisson {
        /// The mean rate in bits per second.
        rate_bps: u64,
        /// The size of each packet.
        packet_octets: u32,
    },
    /// Video over UDP in bursts, without acknowledgements.
    OnOffVideo(OnOffVideo),
    /// A G.711 call: 172 octets of UDP payload every 20 ms.
    Voip {
        /// Whether the other end returns each packet at once, as `irtt` does, which measures round-trip times.
        echoed: bool,
    },
    /// Packets at even intervals that the other end returns at once, as `irtt` and `ping` do.
    Echo {
        /// The interval between two packets.
        interval_ms: f64,
        /// The size of each packet in both directions.
        packet_octets: u32,
    },
    /// Occasional requests and their answers: the background traffic of an unused UE.
    KeepAlive {
        /// The mean of the exponentially distributed interval between two requests.
        interval_s: f64,
        /// The size of a request.
        request_octets: u32,
        /// The size of an answer.
        answer_octets: u32,
    },
    /// TCP with unlimited data.
    Greedy(Tcp),
    /// TCP with a finite amount of data.
    Transfer {
        /// The data, without headers.
        octets: u64,
        /// The connection.
        tcp: Tcp,
    },
    /// A reader of web pages over TCP.
    Web(Web),
    /// A player of segmented video over TCP.
    VideoPlayer(VideoPlayer),
}

impl Kind {
    /// Creates keep-alives of the usual size with a mean interval.
    #[must_use]
    pub fn keep_alive(interval_s: f64) -> Self {
        Kind::KeepAlive { interval_s, request_octets: 800, answer_octets: 1_500 }
    }

    /// Whether the transport is TCP; otherwise it is UDP.
    #[must_use]
    pub fn is_tcp(&self) -> bool {
        self.tcp().is_some()
    }

    /// The TCP settings, if the transport is TCP.
    pub(super) fn tcp(&self) -> Option<&Tcp> {
        match self {
            Kind::Greedy(tcp) | Kind::Transfer { tcp, .. } => Some(tcp),
            Kind::Web(web) => Some(&web.tcp),
            Kind::VideoPlayer(player) => Some(&player.tcp),
            _ => None,
        }
    }

    /// Whether one end sends requests and the other answers.
    fn is_request_response(&self) -> bool {
        let is_echoed = matches!(self, Kind::Echo { .. } | Kind::Voip { echoed: true });
        is_echoed || matches!(self, Kind::KeepAlive { .. } | Kind::Web(_) | Kind::VideoPlayer(_))
    }

    fn check(&self) -> Result<(), OutOfRange> {
        match self {
            Kind::ConstantBitRate { rate_bps, packet_octets } | Kind::Poisson { rate_bps, packet_octets } => {
                check_packet(*packet_octets)?;
                check_rate(*rate_bps, "rate_bps")?;
                check_frequency(*rate_bps, *packet_octets, "rate_bps")
            }
            Kind::OnOffVideo(video) => video.check(),
            Kind::Voip { .. } => Ok(()),
            Kind::Echo { interval_ms, packet_octets } => {
                let interval = (0.01..=3.6e6).contains(interval_ms);
                within(interval, "interval_ms", "from 0.01 to 3600000")?;
                check_packet(*packet_octets)
            }
            Kind::KeepAlive { interval_s, request_octets, answer_octets } => {
                check_seconds(*interval_s, "interval_s")?;
                within((29..=9_000).contains(request_octets), "request_octets", "from 29 to 9000")?;
                within((29..=9_000).contains(answer_octets), "answer_octets", "from 29 to 9000")
            }
            Kind::Greedy(tcp) => tcp.check(),
            Kind::Web(web) => web.check(),
            Kind::VideoPlayer(player) => player.check(),
            Kind::Transfer { octets, tcp } => {
                within((1..=1 << 50).contains(octets), "octets", "from 1 to 2^50")?;
                tcp.check()
            }
        }
    }
}

/// Video that a server sends in sessions, each segment as a burst.
#[derive(Clone, Debug, PartialEq)]
pub struct OnOffVideo {
    /// The mean rate during a session, in bits per second. Default: 6 Mbit/s.
    pub bitrate_bps: u64,
    /// The playing time of a segment. Default: 2000.
    pub segment_ms: u64,
    /// The rate at which a segment is sent, in bits per second. Default: 30 Mbit/s.
    pub burst_bps: u64,
    /// The size of each packet. Default: 1428.
    pub packet_octets: u32,
    /// The mean of the exponentially distributed length of a session. Default: 60.
    pub on_s: f64,
    /// The mean of the exponentially distributed pause between sessions; 0 for no pauses. Default: 20.
    pub off_s: f64,
}

impl Default for OnOffVideo {
    fn default() -> Self {
        OnOffVideo {
            bitrate_bps: 6_000_000,
            segment_ms: 2_000,
            burst_bps: 30_000_000,
            packet_octets: 1_428,
            on_s: 60.0,
            off_s: 20.0,
        }
    }
}

impl OnOffVideo {
    fn check(&self) -> Result<(), OutOfRange> {
        check_rate(self.bitrate_bps, "bitrate_bps")?;
        check_rate(self.burst_bps, "burst_bps")?;
        within(self.burst_bps >= self.bitrate_bps, "burst_bps", "no less than bitrate_bps")?;
        within((10..=60_000).contains(&self.segment_ms), "segment_ms", "from 10 to 60000")?;
        check_packet(self.packet_octets)?;
        check_frequency(self.burst_bps, self.packet_octets, "burst_bps")?;
        check_seconds(self.on_s, "on_s")?;
        within(self.off_s == 0.0 || (0.001..=1e6).contains(&self.off_s), "off_s", "0, or from 0.001 to 1000000")
    }
}

/// The settings of both ends of a TCP connection. The end that writes first opens it, which takes a round trip.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// The congestion control. Default: CUBIC with HyStart++.
    pub control: CongestionControl,
    /// The data in a full segment (RFC 9293: MSS). Default: 1400.
    pub segment_octets: u32,
    /// The receive window. Default: 6 MiB, the maximum of Linux.
    pub receive_window_octets: u64,
    /// The initial congestion window (RFC 6928). Default: 10.
    pub initial_window_segments: u32,
    /// Whether the connection uses ECN, so that packets are marked instead of dropped (RFC 3168). Default: no.
    pub ecn: bool,
    /// The longest time that an acknowledgement waits for a second segment (RFC 9293 3.8.6.3). Default: 40, as in Linux.
    pub delayed_ack_ms: u64,
    /// The minimum of the retransmission timeout. Default: 200, as in Linux; RFC 6298 2.4 requires 1000.
    pub rto_min_ms: u64,
}

impl Default for Tcp {
    fn default() -> Self {
        Tcp {
            control: CongestionControl::default(),
            segment_octets: 1_400,
            receive_window_octets: 6 << 20,
            initial_window_segments: 10,
            ecn: false,
            delayed_ack_ms: 40,
            rto_min_ms: 200,
        }
    }
}

impl Tcp {
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        within((100..=9_000).contains(&self.segment_octets), "segment_octets", "from 100 to 9000")?;
        let window = u64::from(self.segment_octets)..=64 << 20;
        within(window.contains(&self.receive_window_octets), "receive_window_octets", "from a segment to 64 MiB")?;
        within((1..=100).contains(&self.initial_window_segments), "initial_window_segments", "from 1 to 100")?;
        let has_marks = self.control != CongestionControl::Bbr;
        within(!self.ecn || has_marks, "ecn", "off with BBR, whose version 1 ignores congestion marks")?;
        within(self.delayed_ack_ms <= 500, "delayed_ack_ms", "from 0 to 500")?;
        within((1..=60_000).contains(&self.rto_min_ms), "rto_min_ms", "from 1 to 60000")
    }

    /// The receive window in segments.
    pub(super) fn receive_window(&self) -> u64 {
        (self.receive_window_octets / u64::from(self.segment_octets)).max(1)
    }
}

/// The congestion control algorithm of a TCP sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    /// CUBIC (RFC 9438).
    Cubic {
        /// When slow start ends.
        slow_start: SlowStart,
    },
    /// BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00). It paces, and ignores congestion marks.
    Bbr,
}

impl Default for CongestionControl {
    fn default() -> Self {
        CongestionControl::Cubic { slow_start: SlowStart::default() }
    }
}

/// The condition that ends slow start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlowStart {
    /// Growing round-trip times (HyStart++, RFC 9406).
    #[default]
    HyStart,
    /// The first loss (RFC 5681 3.1).
    Plain,
}

pub(super) fn check_rate(rate_bps: u64, field: &'static str) -> Result<(), OutOfRange> {
    within((1..=10_000_000_000).contains(&rate_bps), field, "from 1 to 10000000000")
}

/// Limits the packet rate, which bounds the number of packets in flight through the core.
fn check_frequency(rate_bps: u64, packet_octets: u32, field: &'static str) -> Result<(), OutOfRange> {
    let is_allowed = rate_bps / (8 * u64::from(packet_octets)) <= 1_000_000;
    within(is_allowed, field, "so low that there are no more than 1000000 packets a second")
}

fn check_packet(packet_octets: u32) -> Result<(), OutOfRange> {
    within((29..=9_000).contains(&packet_octets), "packet_octets", "from 29 to 9000")
}

pub(super) fn check_seconds(seconds: f64, field: &'static str) -> Result<(), OutOfRange> {
    within((0.001..=1e6).contains(&seconds), field, "from 0.001 to 1000000")
}

pub(super) fn within(is_allowed: bool, field: &'static str, allowed: &'static str) -> Result<(), OutOfRange> {
    if is_allowed { Ok(()) } else { Err(OutOfRange { field, allowed }) }
}

/// The error for a field of a specification whose value is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// The name of the field.
    pub field: &'static str,
    /// The allowed values.
    pub allowed: &'static str,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}", self.field, self.allowed)
    }
}

impl std::error::Error for OutOfRange {}
