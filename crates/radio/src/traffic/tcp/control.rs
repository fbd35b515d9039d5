//! Congestion control: how many segments may be on the way.

use super::cubic::Cubic;
use super::rate::RateSample;
use crate::Time;
use crate::traffic::specification::{CongestionControl, Tcp};

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
#[expect(dead_code, reason = "for algorithms that measure rates")]
pub struct Acknowledged {
    pub now: Time,
    /// Segments that it is the first to say have come.
    pub delivered: u64,
    /// Segments that it has shown lost.
    pub lost: u64,
    pub in_flight: u64,
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
}

impl Control {
    pub fn new(tcp: &Tcp) -> Self {
        match tcp.control {
            CongestionControl::Cubic { slow_start } => {
                Control::Cubic(Cubic::new(tcp.initial_window_segments, slow_start))
            }
        }
    }

    /// Segments that may be in flight.
    pub fn window(&self) -> u64 {
        match self {
            Control::Cubic(cubic) => cubic.window() as u64,
        }
    }

    pub fn is_slow_start(&self) -> bool {
        match self {
            Control::Cubic(cubic) => cubic.is_slow_start(),
        }
    }

    pub fn on_acknowledged(&mut self, event: &Acknowledged) {
        match self {
            Control::Cubic(cubic) => cubic.on_acknowledged(event),
        }
    }

    /// Something was lost, for the first time in this window.
    pub fn on_loss(&mut self, in_flight_before: u64) {
        match self {
            Control::Cubic(cubic) => cubic.on_loss(in_flight_before),
        }
    }

    /// All that was lost has come.
    pub fn on_recovered(&mut self) {
        match self {
            Control::Cubic(cubic) => cubic.on_recovered(),
        }
    }

    /// Congestion was marked, for the first time in this window.
    pub fn on_mark(&mut self) {
        match self {
            Control::Cubic(cubic) => cubic.on_mark(),
        }
    }

    pub fn on_timeout(&mut self, phase: Phase) {
        match self {
            Control::Cubic(cubic) => cubic.on_timeout(phase),
        }
    }

    pub fn on_sent(&mut self) {
        match self {
            Control::Cubic(cubic) => cubic.on_sent(),
        }
    }

    pub fn on_idle(&mut self, idle: std::time::Duration, rto_ns: u64) {
        match self {
            Control::Cubic(cubic) => cubic.on_idle(idle, rto_ns),
        }
    }
}
