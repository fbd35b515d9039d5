//! What a flow is to be.

use std::fmt;

use super::users::{VideoPlayer, Web};
use crate::Time;

/// What a flow is to be. [`FlowSpecification::new`] has the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpecification {
    /// What is sent when.
    pub kind: Kind,
    /// When it begins. Default: [`Time::START`]. A flow that is made later than it begins sends at once what it would
    /// have sent.
    pub start: Time,
    /// From when on its ends send nothing. Default: [`Time::NEVER`].
    pub stop: Time,
    /// Which way the data goes. Default: down.
    pub direction: Direction,
    /// What the core and the internet take each way. Default: 5 ms.
    pub one_way_delay_ms: f64,
    /// Differentiated services code point of all its packets (RFC 2474). Default: 0.
    pub dscp: u8,
    /// How many round trips are kept with their times, at most. Default: none.
    pub rtt_samples: usize,
}

impl FlowSpecification {
    /// A flow of that kind, all else by default.
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

    /// Whether it can be had.
    ///
    /// # Errors
    ///
    /// The first field that has a value that is not allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let delay = (0.0..=1_000.0).contains(&self.one_way_delay_ms);
        within(delay, "one_way_delay_ms", "from 0 to 1000")?;
        within(self.dscp < 64, "dscp", "from 0 to 63")?;
        within(self.rtt_samples <= 1_000_000, "rtt_samples", "from 0 to 1000000")?;
        within(self.stop > self.start, "stop", "later than the start")?;
        if self.kind.needs_scheduling_request() {
            let one_way = self.direction != Direction::Both;
            within(one_way, "direction", "down or up, where one end needs_scheduling_request and the other answers")?;
        }
        self.kind.check()
    }
}

/// Which way the data of a flow goes. Where one end asks and the other answers, it is the way of the answers, except
/// with [`Kind::Echo`] and [`Kind::Voip`], where it is the way of what is echoed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the server to the UE.
    #[default]
    Down,
    /// From the UE to the server.
    Up,
    /// Both ways, each as specified.
    Both,
}

/// What is sent when. Octets of packets count all headers from layer 3 on.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Packets at even intervals.
    ConstantBitRate {
        /// Bits a second, with all headers from layer 3 on.
        rate_bps: u64,
        /// Of each packet.
        packet_octets: u32,
    },
    /// Packets at random, none depending on another.
    Poisson {
        /// Mean bits a second.
        rate_bps: u64,
        /// Of each packet.
        packet_octets: u32,
    },
    /// Video as bursts of packets that nobody acknowledges.
    OnOffVideo(OnOffVideo),
    /// A call by G.711: 172 octets of UDP payload every 20 ms.
    Voip {
        /// Whether the other end sends each packet back at once, as `irtt` has it, so that there are round trips.
        echoed: bool,
    },
    /// Packets at even intervals that the other end sends back at once, as `irtt` and `ping` do.
    Echo {
        /// Between two of them.
        interval_ms: f64,
        /// Of each packet, there and back.
        packet_octets: u32,
    },
    /// Now and then a request, and its answer: what a UE does that nobody uses.
    KeepAlive {
        /// Mean time from one to the next, which is exponentially distributed.
        interval_s: f64,
        /// Of a request.
        request_octets: u32,
        /// Of its answer.
        answer_octets: u32,
    },
    /// TCP with no end of data.
    Greedy(Tcp),
    /// TCP with so much data.
    Transfer {
        /// What is transferred, without headers.
        octets: u64,
        /// How.
        tcp: Tcp,
    },
    /// Web pages over TCP.
    Web(Web),
    /// Segments of a video over TCP.
    VideoPlayer(VideoPlayer),
}

impl Kind {
    /// Keep-alives of the usual size, at that mean interval.
    #[must_use]
    pub fn keep_alive(interval_s: f64) -> Self {
        Kind::KeepAlive { interval_s, request_octets: 800, answer_octets: 1_500 }
    }

    /// Whether its packets are TCP's; else they are UDP's.
    #[must_use]
    pub fn is_tcp(&self) -> bool {
        self.tcp().is_some()
    }

    /// The connection, if there is one.
    pub(super) fn tcp(&self) -> Option<&Tcp> {
        match self {
            Kind::Greedy(tcp) | Kind::Transfer { tcp, .. } => Some(tcp),
            Kind::Web(web) => Some(&web.tcp),
            Kind::VideoPlayer(player) => Some(&player.tcp),
            _ => None,
        }
    }

    /// Whether one end asks and the other answers.
    fn needs_scheduling_request(&self) -> bool {
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

/// A player that is sent segments in bursts, in sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct OnOffVideo {
    /// Mean bits a second while it plays. Default: 6 Mbit/s.
    pub bitrate_bps: u64,
    /// How much of the film a segment holds. Default: 2000.
    pub segment_ms: u64,
    /// Bits a second while a segment is sent. Default: 30 Mbit/s.
    pub burst_bps: u64,
    /// Of each packet. Default: 1428.
    pub packet_octets: u32,
    /// Mean length of a session, which is exponentially distributed. Default: 60.
    pub on_s: f64,
    /// Mean pause between two sessions, likewise; 0: it never pauses. Default: 20.
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

/// How the ends of a TCP connection behave. The end that writes first opens it, which takes a round trip.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// Who says how much may be on the way. Default: CUBIC with HyStart++.
    pub control: CongestionControl,
    /// Data in a full segment. Default: 1400.
    pub segment_octets: u32,
    /// The most that the receiver has room for. Default: 6 MiB, to which Linux lets its window grow.
    pub receive_window_octets: u64,
    /// What may be sent before the first acknowledgement (RFC 6928). Default: 10.
    pub initial_window_segments: u32,
    /// Whether marks take the place of losses (RFC 3168). Default: no.
    pub ecn: bool,
    /// How long an acknowledgement may wait for a second segment (RFC 9293 3.8.6.3). Default: 40, as in Linux.
    pub delayed_ack_ms: u64,
    /// The least that the retransmission timer runs. Default: 200, as in Linux; RFC 6298 2.4 asks for 1000.
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
        within(!self.ecn || has_marks, "ecn", "off with BBR, whose version 1 does not heed marks")?;
        within(self.delayed_ack_ms <= 500, "delayed_ack_ms", "from 0 to 500")?;
        within((1..=60_000).contains(&self.rto_min_ms), "rto_min_ms", "from 1 to 60000")
    }

    /// The receive window in segments.
    pub(super) fn receive_window(&self) -> u64 {
        (self.receive_window_octets / u64::from(self.segment_octets)).max(1)
    }
}

/// Who says how much a TCP sender may have on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    /// CUBIC (RFC 9438).
    Cubic {
        /// How it begins.
        slow_start: SlowStart,
    },
    /// BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00), which paces and does not heed marks.
    Bbr,
}

impl Default for CongestionControl {
    fn default() -> Self {
        CongestionControl::Cubic { slow_start: SlowStart::default() }
    }
}

/// How the window grows before the first loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlowStart {
    /// Until round trips grow (RFC 9406).
    #[default]
    HyStart,
    /// Until something is lost (RFC 5681 3.1).
    Plain,
}

pub(super) fn check_rate(rate_bps: u64, field: &'static str) -> Result<(), OutOfRange> {
    within((1..=10_000_000_000).contains(&rate_bps), field, "from 1 to 10000000000")
}

/// What is on its way through the core is bounded by this.
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

/// A field of a specification has a value that is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// Which field.
    pub field: &'static str,
    /// What is allowed.
    pub allowed: &'static str,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}", self.field, self.allowed)
    }
}

impl std::error::Error for OutOfRange {}
