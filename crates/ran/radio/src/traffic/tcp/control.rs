//! The congestion control algorithms.

use std::time::Duration;

use super::bbr::Bbr;
use super::cubic::Cubic;
use super::rate::RateSample;
use crate::traffic::specification::{CongestionControl, Tcp};
use crate::{Random, Time};

/// The loss recovery state of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No loss is outstanding.
    Open,
    /// Fast recovery: retransmission of lost segments (RFC 6675 5).
    Recovery,
    /// Retransmission after a timeout.
    Timeout,
}

/// The information of an acknowledgement for congestion control.
#[derive(Clone, Debug)]
pub struct AckEvent {
    pub now: Time,
    /// Segments that it newly acknowledges.
    pub delivered: u64,
    /// Segments that it shows to be lost.
    pub lost: u64,
    pub in_flight: u64,
    /// Segments in flight before it arrived.
    pub in_flight_before: u64,
    /// The first segment that is not acknowledged (RFC 9293: SND.UNA).
    pub first_unacknowledged: u64,
    /// The next new segment (RFC 9293: SND.NXT).
    pub next_sequence: u64,
    pub rtt_ns: u64,
    pub smoothed_rtt_s: f64,
    pub sample: Option<RateSample>,
    /// Whether the congestion window limited the sender in the last round trip, not the application or the receiver.
    pub is_window_limited: bool,
}

/// A congestion control algorithm with its state.
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

    /// Processes the end of the handshake, which took `rtt_ns`. If the SYN was lost, the initial window is one segment
    /// (RFC 5681 3.1).
    pub fn on_established(&mut self, now: Time, rtt_ns: u64, was_syn_lost: bool) {
        match self {
            Control::Cubic(cubic) => cubic.on_established(was_syn_lost),
            Control::Bbr(bbr) => bbr.on_established(now, rtt_ns, was_syn_lost),
        }
    }

    /// The congestion window in segments.
    pub fn window(&self) -> u64 {
        match self {
            Control::Cubic(cubic) => cubic.window() as u64,
            Control::Bbr(bbr) => bbr.window(),
        }
    }

    /// The interval between two segments, if the algorithm paces.
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

    /// Whether the algorithm sends less than the path allows, to measure the minimum round-trip time.
    pub fn is_probing_rtt(&self) -> bool {
        match self {
            Control::Cubic(_) => false,
            Control::Bbr(bbr) => bbr.is_probing_rtt(),
        }
    }

    pub fn on_ack(&mut self, event: &AckEvent) {
        match self {
            Control::Cubic(cubic) => cubic.on_ack(event),
            Control::Bbr(bbr) => bbr.on_ack(event),
        }
    }

    /// Processes the first loss in a window: with the segments in flight before and after the acknowledgement that showed it,
    /// and those that it newly acknowledged.
    pub fn on_loss(&mut self, in_flight_before: u64, in_flight: u64, delivered: u64) {
        match self {
            Control::Cubic(cubic) => cubic.on_loss(in_flight_before),
            Control::Bbr(bbr) => bbr.on_loss(in_flight, delivered),
        }
    }

    /// Processes the end of a recovery: all lost segments have been delivered.
    pub fn on_recovered(&mut self) {
        match self {
            Control::Cubic(cubic) => cubic.on_recovered(),
            Control::Bbr(bbr) => bbr.on_recovered(),
        }
    }

    /// Processes the first congestion mark in a window, or a loss that a probe has repaired. Returns whether the window was
    /// reduced.
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

    /// Processes a restart after an idle time, in which nothing was in flight.
    pub fn on_idle(&mut self, idle: Duration, rto_ns: u64) {
        match self {
            Control::Cubic(cubic) => cubic.on_idle(idle, rto_ns),
            Control::Bbr(bbr) => bbr.on_idle(),
        }
    }
}
