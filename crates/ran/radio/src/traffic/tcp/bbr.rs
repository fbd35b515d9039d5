//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): a model of the path, with its bottleneck bandwidth and
//! minimum round-trip time. The bandwidth sets the pacing rate, and both bound the data in flight. Section numbers refer to
//! the draft.

use super::control::{AckEvent, Phase};
use crate::traffic::after;
use crate::{Random, Time};

/// The gain that doubles the rate each round trip: 2 / ln 2.
const HIGH_GAIN: f64 = 2.885;
/// The window while probing for bandwidth, in bandwidth-delay products. It allows for delayed acknowledgements.
const WINDOW_GAIN: f64 = 2.0;
/// The pacing gains, each for a round trip: probe for bandwidth, drain the queue, cruise.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The length of the bandwidth filter in round trips.
const BANDWIDTH_ROUNDS: u64 = 10;
/// The pipe is full after this number of rounds with less than this growth of the bandwidth.
const FULL_ROUNDS: u32 = 3;
const FULL_GROWTH: f64 = 1.25;
const RTT_EXPIRES_NS: u64 = 10_000_000_000;
const PROBE_RTT_NS: u64 = 200_000_000;
const MIN_WINDOW: u64 = 4;

/// The state of BBR. Bandwidths are in segments per second.
#[derive(Clone, Debug)]
pub struct Bbr {
    state: State,
    bandwidth: Bandwidth,
    min_rtt_ns: u64,
    min_rtt_at: Time,
    /// Segments delivered so far, and their number at the end of the round.
    delivered: u64,
    round_end: u64,
    round: u64,
    is_round_start: bool,
    full_bandwidth: f64,
    full_rounds: u32,
    is_pipe_full: bool,
    pacing_rate: f64,
    window: u64,
    initial_window: u64,
    /// The window before recovery or before probing the round-trip time.
    prior_window: u64,
    /// Packet conservation in the first round of a recovery: each delivered segment permits one transmission.
    is_conserving: bool,
    is_recovering: bool,
    /// Whether no segment was delivered since the sender was idle. The round-trip time is not probed then.
    is_after_idle: bool,
    segment_octets: u32,
    random: Random,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    Drain,
    ProbeBandwidth { at: usize, since: Time },
    ProbeRtt(RttProbe),
}

/// The probing of the minimum round-trip time on an empty path.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RttProbe {
    /// The end of the probe; set once the data in flight is at its minimum.
    end: Option<Time>,
    has_round_passed: bool,
}

/// A maximum filter over the last rounds.
#[derive(Clone, Debug, Default)]
struct Bandwidth {
    max: f64,
    /// Each round and the maximum measured in it.
    rounds: [(u64, f64); BANDWIDTH_ROUNDS as usize],
}

impl Bandwidth {
    fn update(&mut self, round: u64, rate: f64) {
        let slot = &mut self.rounds[(round % BANDWIDTH_ROUNDS) as usize];
        *slot = (round, if slot.0 == round { slot.1.max(rate) } else { rate });
        let recent = self.rounds.iter().filter(|(at, _)| at + BANDWIDTH_ROUNDS > round);
        self.max = recent.map(|(_, rate)| *rate).fold(0.0, f64::max);
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
            is_pipe_full: false,
            // assumes a round-trip time of 1 ms until one is known (4.2.1)
            pacing_rate: HIGH_GAIN * initial_window as f64 * 1e3,
            window: initial_window,
            initial_window,
            prior_window: 0,
            is_conserving: false,
            is_recovering: false,
            is_after_idle: false,
            segment_octets,
            random,
        }
    }

    /// Initializes the pacing rate from the initial window and the first round-trip time (4.2.1).
    pub fn on_established(&mut self, now: Time, rtt_ns: u64, was_syn_lost: bool) {
        if was_syn_lost {
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

    /// Whether the sender empties the path to measure its round-trip time. Samples taken then do not show its bandwidth.
    pub fn is_probing_rtt(&self) -> bool {
        matches!(self.state, State::ProbeRtt(_))
    }

    /// The interval between two segments.
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

    pub fn on_ack(&mut self, event: &AckEvent) {
        self.update_bandwidth(event);
        self.advance_cycle(event);
        self.check_full_pipe();
        self.check_drain(event);
        self.update_min_rtt(event);
        self.set_pacing_rate();
        self.set_window(event);
    }

    /// Updates the bandwidth filter and the round (4.1.1 and 4.1.2).
    fn update_bandwidth(&mut self, event: &AckEvent) {
        self.delivered += event.delivered;
        self.is_round_start = false;
        let Some(sample) = event.sample else { return };
        if sample.prior_delivered >= self.round_end {
            self.round_end = self.delivered;
            self.round += 1;
            self.is_round_start = true;
            self.is_conserving = false;
        }
        // an application-limited sample is only a lower bound
        if sample.rate >= self.bandwidth.max || !sample.is_app_limited {
            self.bandwidth.update(self.round, sample.rate);
        }
    }

    /// Advances the gain cycle of bandwidth probing (4.3.4.3).
    fn advance_cycle(&mut self, event: &AckEvent) {
        let State::ProbeBandwidth { at, since } = self.state else { return };
        let has_lasted_rtt = event.now > after(since, self.min_rtt_ns);
        let gain = CYCLE[at];
        let is_phase_over = if gain > 1.0 {
            has_lasted_rtt && (event.lost > 0 || event.in_flight_before >= self.target_in_flight(gain))
        } else if gain < 1.0 {
            has_lasted_rtt || event.in_flight_before <= self.target_in_flight(1.0)
        } else {
            has_lasted_rtt
        };
        if is_phase_over {
            self.state = State::ProbeBandwidth { at: (at + 1) % CYCLE.len(), since: event.now };
        }
    }

    /// Detects a full pipe (4.3.2.2).
    fn check_full_pipe(&mut self) {
        if self.is_pipe_full || !self.is_round_start || self.bandwidth.max == 0.0 {
            return;
        }
        if self.bandwidth.max >= self.full_bandwidth * FULL_GROWTH {
            self.full_bandwidth = self.bandwidth.max;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_pipe_full = self.full_rounds >= FULL_ROUNDS;
    }

    /// Enters and leaves the drain state (4.3.3).
    fn check_drain(&mut self, event: &AckEvent) {
        if self.state == State::Startup && self.is_pipe_full {
            self.state = State::Drain;
        }
        if self.state == State::Drain && event.in_flight <= self.target_in_flight(1.0) {
            self.probe_bandwidth(event.now);
        }
    }

    /// Starts bandwidth probing at a random phase other than the draining one (4.3.4.3).
    fn probe_bandwidth(&mut self, now: Time) {
        let at = (self.random.uniform() * (CYCLE.len() - 1) as f64) as usize;
        self.state = State::ProbeBandwidth { at: if at == 0 { 0 } else { at + 1 }, since: now };
    }

    /// Updates the minimum round-trip time, and probes it when it has expired (4.1.3 and 4.3.5).
    fn update_min_rtt(&mut self, event: &AckEvent) {
        let is_expired = event.now > after(self.min_rtt_at, RTT_EXPIRES_NS);
        if event.rtt_ns <= self.min_rtt_ns || is_expired {
            self.min_rtt_ns = event.rtt_ns;
            self.min_rtt_at = event.now;
        }
        if is_expired && !self.is_after_idle && !self.is_probing_rtt() {
            self.save_window();
            self.state = State::ProbeRtt(RttProbe { end: None, has_round_passed: false });
        }
        if event.delivered > 0 {
            self.is_after_idle = false;
        }
        if let State::ProbeRtt(probe) = self.state {
            self.probe_rtt(probe, event);
        }
    }

    fn probe_rtt(&mut self, mut probe: RttProbe, event: &AckEvent) {
        match probe.end {
            None if event.in_flight <= MIN_WINDOW => {
                probe.end = Some(after(event.now, PROBE_RTT_NS));
                self.round_end = self.delivered;
            }
            None => {}
            Some(end) => {
                probe.has_round_passed |= self.is_round_start;
                if probe.has_round_passed && event.now > end {
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
        if self.is_pipe_full {
            self.probe_bandwidth(now);
        } else {
            self.state = State::Startup;
        }
    }

    /// Sets the pacing rate. Before the pipe is full, the rate only grows (4.2.1).
    fn set_pacing_rate(&mut self) {
        let rate = self.pacing_gain() * self.bandwidth.max;
        if rate > 0.0 && (self.is_pipe_full || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// The target for data in flight: `gain` bandwidth-delay products, and an allowance for bursts (4.2.3.2).
    fn target_in_flight(&self, gain: f64) -> u64 {
        if self.min_rtt_ns == u64::MAX || self.bandwidth.max == 0.0 {
            return self.initial_window;
        }
        let product = self.bandwidth.max * self.min_rtt_ns as f64 / 1e9;
        (gain * product).ceil() as u64 + 3 * self.quantum()
    }

    /// The maximum burst in segments (4.2.2: send quantum).
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

    /// Sets the congestion window (4.2.3).
    fn set_window(&mut self, event: &AckEvent) {
        if self.is_recovering {
            if event.lost > 0 {
                self.window = self.window.saturating_sub(event.lost).max(1);
            }
            if self.is_conserving {
                self.window = self.window.max(event.in_flight + event.delivered);
            }
        }
        if !self.is_conserving {
            let target = self.target_in_flight(self.window_gain());
            if self.is_pipe_full {
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

    /// Starts a recovery (4.2.3.4).
    pub fn on_loss(&mut self, in_flight: u64, delivered: u64) {
        self.save_window();
        self.is_recovering = true;
        self.is_conserving = true;
        // packet conservation lasts one round from now
        self.round_end = self.delivered + delivered;
        self.window = in_flight + delivered.max(1);
    }

    pub fn on_timeout(&mut self, phase: Phase) {
        if phase == Phase::Open {
            self.save_window();
        }
        self.is_recovering = true;
        self.is_conserving = false;
        self.window = 1;
    }

    pub fn on_recovered(&mut self) {
        self.is_recovering = false;
        self.is_conserving = false;
        self.restore_window();
    }

    /// Paces a restart from idle at the estimated bandwidth, not above it (4.2.1, 4.3.4.4).
    pub fn on_idle(&mut self) {
        self.is_after_idle = true;
        if matches!(self.state, State::ProbeBandwidth { .. }) && self.bandwidth.max > 0.0 {
            self.pacing_rate = self.bandwidth.max;
        }
    }
}
