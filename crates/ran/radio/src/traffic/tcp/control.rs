//! Congestion control: how many segments may be on the way.

use std::time::Duration;

use super::bbr::Bbr;
use super::cubic::Cubic;
use super::rate::RateSample;
use crate::traffic::specification::{CongestionControl, Tcp};
use crate::{Random, Time};

/// What a sender is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is missing.
    Open,
    /// Sending again what was lost (RFC 6675 5).
    Recovery,
    /// Sending again, after a timeout, what may be lost.
    Timeout,
}

/// What an acknowledgement tells.
#[derive(Clone, Debug)]
pub struct Acknowledged {
    pub now: Time,
    /// Segments that it is the first to say have come.
    pub delivered: u64,
    /// Segments that it has shown lost.
    pub lost: u64,
    pub in_flight: u64,
    /// In flight before it came.
    pub in_flight_before: u64,
    /// The first segment that is not acknowledged, and the next to be sent for the first time.
    pub first: u64,
    pub next: u64,
    pub rtt_ns: u64,
    pub smoothed_rtt_s: f64,
    pub sample: Option<RateSample>,
    /// Whether the window, not the application or the receiver, bounded what was sent in the last round trip.
    pub is_window_used: bool,
}

/// One of the algorithms.
#[derive(Clone, Debug)]
pub enum Control {
    Cubic(Cubic),
    Bbr(Bbr),
}

impl Control {
    pub fn new(tcp: &Tcp, random: Random) -> Self {
        match tcp.control {
            CongestionControl::Cubic { slow_start } => {
                Control::Cubic(Cubic::new(tcp.initial_window_segments, slow_start))
            }
            CongestionControl::Bbr => Control::Bbr(Bbr::new(tcp.initial_window_segments, tcp.segment_octets, random)),
        }
    }

    /// The connection stands, after a round trip of so long. Where its opening was lost on its way, it begins with one segment
    /// (RFC 5681 3.1).
    pub fn on_opened(&mut self, now: Time, rtt_ns: u64, was_lost: bool) {
        match self {
            Control::Cubic(cubic) => cubic.on_opened(was_lost),
            Control::Bbr(bbr) => bbr.on_opened(now, rtt_ns, was_lost),
        }
    }

    /// Segments that may be in flight.
    pub fn window(&self) -> u64 {
        match self {
            Control::Cubic(cubic) => cubic.window() as u64,
            Control::Bbr(bbr) => bbr.window(),
        }
    }

    /// Nanoseconds between two segments, where they are paced.
    pub fn pacing_interval_ns(&self) -> Option<u64> {
        match self {
            Control::Cubic(_) => None,
            Control::Bbr(bbr) => Some(bbr.pacing_interval_ns()),
        }
    }

    pub fn is_slow_start(&self) -> bool {
        match self {
            Control::Cubic(cubic) => cubic.is_slow_start(),
            Control::Bbr(bbr) => bbr.is_startup(),
        }
    }

    /// Whether it sends less than it could, of its own accord.
    pub fn is_holding_back(&self) -> bool {
        match self {
            Control::Cubic(_) => false,
            Control::Bbr(bbr) => bbr.is_probing_rtt(),
        }
    }

    pub fn on_acknowledged(&mut self, event: &Acknowledged) {
        match self {
            Control::Cubic(cubic) => cubic.on_acknowledged(event),
            Control::Bbr(bbr) => bbr.on_acknowledged(event),
        }
    }

    /// Something was lost, for the first time in this window: what was in flight before that was told, what is now, and
    /// how much was told to have come.
    pub fn on_loss(&mut self, in_flight_before: u64, in_flight: u64, delivered: u64) {
        match self {
            Control::Cubic(cubic) => cubic.on_loss(in_flight_before),
            Control::Bbr(bbr) => bbr.on_loss(in_flight, delivered),
        }
    }

    /// All that was lost has come.
    pub fn on_recovered(&mut self) {
        match self {
            Control::Cubic(cubic) => cubic.on_recovered(),
            Control::Bbr(bbr) => bbr.on_recovered(),
        }
    }

    /// Congestion was marked, for the first time in this window, or a loss was noticed once it was repaired. Whether the
    /// window is smaller for it.
    pub fn on_mark(&mut self) -> bool {
        match self {
            Control::Cubic(cubic) => {
                cubic.on_mark();
                true
            }
            Control::Bbr(_) => false,
        }
    }

    pub fn on_timeout(&mut self, phase: Phase) {
        match self {
            Control::Cubic(cubic) => cubic.on_timeout(phase),
            Control::Bbr(bbr) => bbr.on_timeout(phase),
        }
    }

    pub fn on_sent(&mut self) {
        match self {
            Control::Cubic(cubic) => cubic.on_sent(),
            Control::Bbr(_) => {}
        }
    }

    /// Nothing was outstanding, and the last was sent that long ago.
    pub fn on_idle(&mut self, idle: Duration, rto_ns: u64) {
        match self {
            Control::Cubic(cubic) => cubic.on_idle(idle, rto_ns),
            Control::Bbr(bbr) => bbr.on_idle(),
        }
    }
}
