//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): the sender keeps a model of the path, its bandwidth
//! and its shortest round trip, paces what it sends by the one and bounds what is in flight by both.

use super::control::{Acknowledged, Phase};
use crate::traffic::after;
use crate::{Random, Time};

/// What doubles the rate each round trip: 2 / ln 2.
const HIGH_GAIN: f64 = 2.885;
/// How much is in flight when bandwidth is probed, in bandwidth-delay products: acknowledgements may be late.
const WINDOW_GAIN: f64 = 2.0;
/// Each for a round trip: ask for more, drain what that queued, cruise.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Round trips that a measured bandwidth holds for.
const BANDWIDTH_ROUNDS: u64 = 10;
/// The pipe is full when so many rounds grew the bandwidth by less than so much.
const FULL_ROUNDS: u32 = 3;
const FULL_GROWTH: f64 = 1.25;
const RTT_EXPIRES_NS: u64 = 10_000_000_000;
const PROBE_RTT_NS: u64 = 200_000_000;
const MIN_WINDOW: u64 = 4;

/// A model of the path. Bandwidths are in segments a second.
#[derive(Clone, Debug)]
pub struct Bbr {
    state: State,
    bandwidth: Bandwidth,
    min_rtt_ns: u64,
    min_rtt_at: Time,
    /// Segments delivered so far, and how many there are when the round ends.
    delivered: u64,
    round_end: u64,
    round: u64,
    is_round_start: bool,
    full_bandwidth: f64,
    full_rounds: u32,
    is_full: bool,
    pacing_rate: f64,
    window: u64,
    initial_window: u64,
    /// What it was before recovery, or before the round trip was probed.
    prior_window: u64,
    /// In the first round of a recovery, as much is sent as comes.
    conserves: bool,
    is_recovering: bool,
    /// After idling, nothing is known of the round trip that would have to be probed.
    is_after_idle: bool,
    /// What may go out at once, in segments.
    segment_octets: u32,
    random: Random,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    Drain,
    ProbeBandwidth { at: usize, since: Time },
    ProbeRtt(Probe),
}

/// A look at the empty path.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Probe {
    /// When it is over: known once little enough is in flight.
    ends: Option<Time>,
    has_round_passed: bool,
}

/// The most of the last rounds.
#[derive(Clone, Debug, Default)]
struct Bandwidth {
    most: f64,
    /// Round and the most measured in it.
    rounds: [(u64, f64); BANDWIDTH_ROUNDS as usize],
}

impl Bandwidth {
    fn update(&mut self, round: u64, rate: f64) {
        let place = &mut self.rounds[(round % BANDWIDTH_ROUNDS) as usize];
        *place = (round, if place.0 == round { place.1.max(rate) } else { rate });
        let recent = self.rounds.iter().filter(|(at, _)| at + BANDWIDTH_ROUNDS > round);
        self.most = recent.map(|(_, rate)| *rate).fold(0.0, f64::max);
    }
}

impl Bbr {
    pub fn new(initial_window: u32, segment_octets: u32, random: Random) -> Self {
        let initial_window = u64::from(initial_window);
        Bbr {
            state: State::Startup,
            bandwidth: Bandwidth::default(),
            min_rtt_ns: u64::MAX,
            min_rtt_at: Time::START,
            delivered: 0,
            round_end: 0,
            round: 0,
            is_round_start: false,
            full_bandwidth: 0.0,
            full_rounds: 0,
            is_full: false,
            // as if a round trip took a millisecond, until one is known (4.2.1)
            pacing_rate: HIGH_GAIN * initial_window as f64 * 1e3,
            window: initial_window,
            initial_window,
            prior_window: 0,
            conserves: false,
            is_recovering: false,
            is_after_idle: false,
            segment_octets,
            random,
        }
    }

    /// 4.2.1: the rate is what the first window gives over the first round trip.
    pub fn on_opened(&mut self, now: Time, rtt_ns: u64, was_lost: bool) {
        if was_lost {
            self.window = 1;
        }
        (self.min_rtt_ns, self.min_rtt_at) = (rtt_ns, now);
        self.pacing_rate = HIGH_GAIN * self.window as f64 * 1e9 / rtt_ns.max(1) as f64;
    }

    pub fn window(&self) -> u64 {
        self.window
    }

    pub fn is_startup(&self) -> bool {
        self.state == State::Startup
    }

    /// Whether it sends less than it could to see the path empty: what is measured then says nothing of its bandwidth.
    pub fn is_probing_rtt(&self) -> bool {
        matches!(self.state, State::ProbeRtt(_))
    }

    /// Nanoseconds between two segments.
    pub fn pacing_interval_ns(&self) -> u64 {
        (1e9 / self.pacing_rate) as u64
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN,
            State::ProbeBandwidth { at, .. } => CYCLE[at],
            State::ProbeRtt(_) => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeBandwidth { .. } => WINDOW_GAIN,
            State::ProbeRtt(_) => 1.0,
        }
    }

    pub fn on_acknowledged(&mut self, event: &Acknowledged) {
        self.update_bandwidth(event);
        self.advance_cycle(event);
        self.check_full();
        self.check_drain(event);
        self.update_min_rtt(event);
        self.set_pacing_rate();
        self.set_window(event);
    }

    /// 4.1.1 and 4.1.2.
    fn update_bandwidth(&mut self, event: &Acknowledged) {
        self.delivered += event.delivered;
        self.is_round_start = false;
        let Some(sample) = event.sample else { return };
        if sample.prior_delivered >= self.round_end {
            self.round_end = self.delivered;
            self.round += 1;
            self.is_round_start = true;
            self.conserves = false;
        }
        // an application that sends less than it may shows no more than that
        if sample.rate >= self.bandwidth.most || !sample.is_limited {
            self.bandwidth.update(self.round, sample.rate);
        }
    }

    /// 4.3.4.3: the phases of probing for bandwidth.
    fn advance_cycle(&mut self, event: &Acknowledged) {
        let State::ProbeBandwidth { at, since } = self.state else { return };
        let is_whole = event.now > after(since, self.min_rtt_ns);
        let gain = CYCLE[at];
        let is_over = if gain > 1.0 {
            is_whole && (event.lost > 0 || event.in_flight_before >= self.in_flight(gain))
        } else if gain < 1.0 {
            is_whole || event.in_flight_before <= self.in_flight(1.0)
        } else {
            is_whole
        };
        if is_over {
            self.state = State::ProbeBandwidth { at: (at + 1) % CYCLE.len(), since: event.now };
        }
    }

    /// 4.3.2.2.
    fn check_full(&mut self) {
        if self.is_full || !self.is_round_start || self.bandwidth.most == 0.0 {
            return;
        }
        if self.bandwidth.most >= self.full_bandwidth * FULL_GROWTH {
            self.full_bandwidth = self.bandwidth.most;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    /// 4.3.3.
    fn check_drain(&mut self, event: &Acknowledged) {
        if self.state == State::Startup && self.is_full {
            self.state = State::Drain;
        }
        if self.state == State::Drain && event.in_flight <= self.in_flight(1.0) {
            self.probe_bandwidth(event.now);
        }
    }

    /// Flows begin at different phases, none of them with the one that drains (4.3.4.3).
    fn probe_bandwidth(&mut self, now: Time) {
        let at = (self.random.uniform() * (CYCLE.len() - 1) as f64) as usize;
        self.state = State::ProbeBandwidth { at: if at == 0 { 0 } else { at + 1 }, since: now };
    }

    /// 4.1.3 and 4.3.5.
    fn update_min_rtt(&mut self, event: &Acknowledged) {
        let is_expired = event.now > after(self.min_rtt_at, RTT_EXPIRES_NS);
        if event.rtt_ns <= self.min_rtt_ns || is_expired {
            self.min_rtt_ns = event.rtt_ns;
            self.min_rtt_at = event.now;
        }
        if is_expired && !self.is_after_idle && !self.is_probing_rtt() {
            self.save_window();
            self.state = State::ProbeRtt(Probe { ends: None, has_round_passed: false });
        }
        if event.delivered > 0 {
            self.is_after_idle = false;
        }
        if let State::ProbeRtt(probe) = self.state {
            self.probe_rtt(probe, event);
        }
    }

    fn probe_rtt(&mut self, mut probe: Probe, event: &Acknowledged) {
        match probe.ends {
            None if event.in_flight <= MIN_WINDOW => {
                probe.ends = Some(after(event.now, PROBE_RTT_NS));
                self.round_end = self.delivered;
            }
            None => {}
            Some(ends) => {
                probe.has_round_passed |= self.is_round_start;
                if probe.has_round_passed && event.now > ends {
                    self.min_rtt_at = event.now;
                    self.restore_window();
                    self.leave_probe_rtt(event.now);
                    return;
                }
            }
        }
        self.state = State::ProbeRtt(probe);
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        if self.is_full {
            self.probe_bandwidth(now);
        } else {
            self.state = State::Startup;
        }
    }

    /// 4.2.1: before the pipe is known to be full, the rate only grows.
    fn set_pacing_rate(&mut self) {
        let rate = self.pacing_gain() * self.bandwidth.most;
        if rate > 0.0 && (self.is_full || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// So many bandwidth-delay products, with room for what is sent and acknowledged in lumps (4.2.3.2).
    fn in_flight(&self, gain: f64) -> u64 {
        if self.min_rtt_ns == u64::MAX || self.bandwidth.most == 0.0 {
            return self.initial_window;
        }
        let product = self.bandwidth.most * self.min_rtt_ns as f64 / 1e9;
        (gain * product).ceil() as u64 + 3 * self.quantum()
    }

    /// What goes out at once, in segments (4.2.2).
    fn quantum(&self) -> u64 {
        let octets_per_s = self.pacing_rate * f64::from(self.segment_octets);
        if octets_per_s * 8.0 < 1.2e6 {
            1
        } else if octets_per_s * 8.0 < 24e6 {
            2
        } else {
            ((octets_per_s / 1e3).min(65_536.0) / f64::from(self.segment_octets)) as u64
        }
    }

    /// 4.2.3.
    fn set_window(&mut self, event: &Acknowledged) {
        if self.is_recovering {
            if event.lost > 0 {
                self.window = self.window.saturating_sub(event.lost).max(1);
            }
            if self.conserves {
                self.window = self.window.max(event.in_flight + event.delivered);
            }
        }
        if !self.conserves {
            let target = self.in_flight(self.window_gain());
            if self.is_full {
                self.window = target.min(self.window + event.delivered);
            } else if self.window < target || self.delivered < self.initial_window {
                self.window += event.delivered;
            }
            self.window = self.window.max(MIN_WINDOW);
        }
        if self.is_probing_rtt() {
            self.window = self.window.min(MIN_WINDOW);
        }
    }

    fn save_window(&mut self) {
        let is_reduced = self.is_recovering || self.is_probing_rtt();
        self.prior_window = if is_reduced { self.prior_window.max(self.window) } else { self.window };
    }

    fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }

    /// 4.2.3.4: a recovery begins.
    pub fn on_loss(&mut self, in_flight: u64, delivered: u64) {
        self.save_window();
        self.is_recovering = true;
        self.conserves = true;
        // it is a round since now
        self.round_end = self.delivered + delivered;
        self.window = in_flight + delivered.max(1);
    }

    pub fn on_timeout(&mut self, phase: Phase) {
        if phase == Phase::Open {
            self.save_window();
        }
        self.is_recovering = true;
        self.conserves = false;
        self.window = 1;
    }

    pub fn on_recovered(&mut self) {
        self.is_recovering = false;
        self.conserves = false;
        self.restore_window();
    }

    /// 4.2.1, 4.3.4.4: what follows a pause is paced at the bandwidth, not above it.
    pub fn on_idle(&mut self) {
        self.is_after_idle = true;
        if matches!(self.state, State::ProbeBandwidth { .. }) && self.bandwidth.most > 0.0 {
            self.pacing_rate = self.bandwidth.most;
        }
    }
}
