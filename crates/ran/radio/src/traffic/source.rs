//! Sources of UDP packets.

use super::specification::{Kind, OnOffVideo};
use super::{after, transmission_ns};
use crate::{Random, Time};

/// The octets of the IPv4 and UDP headers.
pub const UDP_HEADERS_OCTETS: u32 = 28;
/// The octets of a G.711 packet: 160 of audio with an RTP header, and the UDP and IPv4 headers.
const VOIP_OCTETS: u32 = 172 + UDP_HEADERS_OCTETS;
const VOIP_INTERVAL_NS: u64 = 20_000_000;

/// A source of UDP packets.
#[derive(Clone, Debug)]
pub struct Source {
    /// When the next packet is sent.
    next: Time,
    packet_octets: u32,
    arrivals: Arrivals,
}

#[derive(Clone, Debug)]
enum Arrivals {
    Even(EvenIntervals),
    Poisson { mean_ns: f64, random: Random },
    Video(Video),
}

impl Source {
    /// Creates the source for a kind of flow, starting at `start`; `None` for TCP.
    pub fn new(kind: &Kind, start: Time, mut random: Random) -> Option<Self> {
        let (packet_octets, arrivals) = match kind {
            Kind::ConstantBitRate { rate_bps, packet_octets } => {
                let bits = u64::from(*packet_octets) * 8;
                (*packet_octets, Arrivals::Even(EvenIntervals::new(bits * 1_000_000_000, *rate_bps)))
            }
            Kind::Voip { .. } => (VOIP_OCTETS, Arrivals::Even(EvenIntervals::new(VOIP_INTERVAL_NS, 1))),
            Kind::Echo { interval_ms, packet_octets } => {
                (*packet_octets, Arrivals::Even(EvenIntervals::new((interval_ms * 1e6) as u64, 1)))
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
                    segment_start: start,
                    session_end: session_end(video, start, first),
                    remaining_octets: 0,
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

    /// When the next packet is sent.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Sends the packet that is due and returns its octets.
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

/// Intervals in whole nanoseconds with an exact mean: the fraction is carried over to the next interval.
#[derive(Clone, Debug)]
struct EvenIntervals {
    whole_ns: u64,
    remainder: u64,
    divisor: u64,
    carry: u64,
}

impl EvenIntervals {
    /// Creates intervals of `dividend / divisor` nanoseconds.
    fn new(dividend: u64, divisor: u64) -> Self {
        EvenIntervals { whole_ns: dividend / divisor, remainder: dividend % divisor, divisor, carry: 0 }
    }

    fn next_ns(&mut self) -> u64 {
        self.carry += self.remainder;
        if self.carry < self.divisor {
            return self.whole_ns;
        }
        self.carry -= self.divisor;
        self.whole_ns + 1
    }
}

/// The state of an on-off video source.
#[derive(Clone, Debug)]
struct Video {
    specification: OnOffVideo,
    random: Random,
    segment_start: Time,
    session_end: Time,
    /// The rest of the segment.
    remaining_octets: u64,
}

impl Video {
    /// Returns the octets of the packet that is sent now, and when the next one is sent.
    fn send(&mut self, now: Time) -> (u32, Time) {
        let video = &self.specification;
        if self.remaining_octets == 0 {
            self.remaining_octets = (video.bitrate_bps * video.segment_ms).div_ceil(8_000);
        }
        let octets = self.remaining_octets.min(u64::from(video.packet_octets)) as u32;
        self.remaining_octets -= u64::from(octets);
        if self.remaining_octets > 0 {
            return (octets, after(now, transmission_ns(octets, video.burst_bps)));
        }
        self.segment_start = after(self.segment_start, video.segment_ms * 1_000_000);
        if self.segment_start >= self.session_end {
            let pause_s = self.random.exponential(video.off_s);
            self.segment_start = after(self.session_end, (pause_s * 1e9) as u64);
            let length_s = self.random.exponential(video.on_s);
            self.session_end = session_end(video, self.segment_start, length_s);
        }
        (octets, self.segment_start.max(now))
    }
}

/// When a session of `length_s` that starts at `start` ends; never without pauses.
fn session_end(video: &OnOffVideo, start: Time, length_s: f64) -> Time {
    if video.off_s == 0.0 { Time::NEVER } else { after(start, (length_s * 1e9) as u64) }
}
