//! Sources of packets that nobody answers.

use super::specification::{Kind, OnOffVideo};
use super::{after, transmission_ns};
use crate::{Random, Time};

/// IPv4 and UDP.
pub const UDP_HEADERS_OCTETS: u32 = 28;
/// A G.711 packet: 160 octets of sound under RTP, and the headers below.
const VOIP_OCTETS: u32 = 172 + UDP_HEADERS_OCTETS;
const VOIP_INTERVAL_NS: u64 = 20_000_000;

/// A source of packets.
#[derive(Clone, Debug)]
pub struct Source {
    /// When it sends the next one.
    next: Time,
    packet_octets: u32,
    arrivals: Arrivals,
}

#[derive(Clone, Debug)]
enum Arrivals {
    Even(Even),
    Poisson { mean_ns: f64, random: Random },
    Video(Video),
}

impl Source {
    /// The source of a kind of flow, if it has one that sends of its own accord, beginning at `start`.
    pub fn new(kind: &Kind, start: Time, mut random: Random) -> Option<Self> {
        let (packet_octets, arrivals) = match kind {
            Kind::ConstantBitRate { rate_bps, packet_octets } => {
                let bits = u64::from(*packet_octets) * 8;
                (*packet_octets, Arrivals::Even(Even::new(bits * 1_000_000_000, *rate_bps)))
            }
            Kind::Voip { .. } => (VOIP_OCTETS, Arrivals::Even(Even::new(VOIP_INTERVAL_NS, 1))),
            Kind::Echo { interval_ms, packet_octets } => {
                (*packet_octets, Arrivals::Even(Even::new((interval_ms * 1e6) as u64, 1)))
            }
            Kind::Poisson { rate_bps, packet_octets } => {
                let mean_ns = f64::from(*packet_octets) * 8e9 / *rate_bps as f64;
                (*packet_octets, Arrivals::Poisson { mean_ns, random })
            }
            Kind::KeepAlive { interval_s, request_octets, .. } => {
                (*request_octets, Arrivals::Poisson { mean_ns: interval_s * 1e9, random })
            }
            Kind::OnOffVideo(video) => {
                let first = random.exponential(video.on_s);
                let video = Video {
                    segment_begins: start,
                    session_ends: start_of_pause(video, start, first),
                    left_octets: 0,
                    specification: video.clone(),
                    random,
                };
                (video.specification.packet_octets, Arrivals::Video(video))
            }
            Kind::Greedy(_) | Kind::Transfer { .. } | Kind::Web(_) | Kind::VideoPlayer(_) => return None,
        };
        let mut source = Source { next: start, packet_octets, arrivals };
        if let Arrivals::Poisson { mean_ns, random } = &mut source.arrivals {
            source.next = after(start, random.exponential(*mean_ns).round() as u64);
        }
        Some(source)
    }

    /// When it sends the next packet.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Sends the packet that is due: of how many octets it is.
    pub fn send(&mut self) -> u32 {
        match &mut self.arrivals {
            Arrivals::Even(even) => self.next = after(self.next, even.next_ns()),
            Arrivals::Poisson { mean_ns, random } => {
                self.next = after(self.next, random.exponential(*mean_ns).round() as u64);
            }
            Arrivals::Video(video) => {
                let octets;
                (octets, self.next) = video.send(self.next);
                return octets;
            }
        }
        self.packet_octets
    }
}

/// Intervals of a whole number of nanoseconds that have the right mean: the fraction is carried on.
#[derive(Clone, Debug)]
struct Even {
    whole_ns: u64,
    rest: u64,
    divisor: u64,
    carry: u64,
}

impl Even {
    /// Intervals of `dividend / divisor` nanoseconds.
    fn new(dividend: u64, divisor: u64) -> Self {
        Even { whole_ns: dividend / divisor, rest: dividend % divisor, divisor, carry: 0 }
    }

    fn next_ns(&mut self) -> u64 {
        self.carry += self.rest;
        if self.carry < self.divisor {
            return self.whole_ns;
        }
        self.carry -= self.divisor;
        self.whole_ns + 1
    }
}

/// Segments in bursts, in sessions.
#[derive(Clone, Debug)]
struct Video {
    specification: OnOffVideo,
    random: Random,
    segment_begins: Time,
    session_ends: Time,
    /// What is left of the segment.
    left_octets: u64,
}

impl Video {
    /// Octets of a packet that is sent now, and when the next one is.
    fn send(&mut self, now: Time) -> (u32, Time) {
        let video = &self.specification;
        if self.left_octets == 0 {
            self.left_octets = (video.bitrate_bps * video.segment_ms).div_ceil(8_000);
        }
        let octets = self.left_octets.min(u64::from(video.packet_octets)) as u32;
        self.left_octets -= u64::from(octets);
        if self.left_octets > 0 {
            return (octets, after(now, transmission_ns(octets, video.burst_bps)));
        }
        self.segment_begins = after(self.segment_begins, video.segment_ms * 1_000_000);
        if self.segment_begins >= self.session_ends {
            let pause_s = self.random.exponential(video.off_s);
            self.segment_begins = after(self.session_ends, (pause_s * 1e9) as u64);
            let length_s = self.random.exponential(video.on_s);
            self.session_ends = start_of_pause(video, self.segment_begins, length_s);
        }
        (octets, self.segment_begins.max(now))
    }
}

fn start_of_pause(video: &OnOffVideo, begin: Time, length_s: f64) -> Time {
    if video.off_s == 0.0 { Time::NEVER } else { after(begin, (length_s * 1e9) as u64) }
}
