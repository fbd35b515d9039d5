//! CUBIC (RFC 9438) with proportional rate reduction during recovery (RFC 6937).

use std::time::Duration;

use super::control::{AckEvent, Phase};
use super::hystart::HyStart;
use crate::Time;
use crate::traffic::specification::SlowStart;

/// The multiplicative decrease factor (RFC 9438 4.6).
const BETA: f64 = 0.7;
/// The coefficient of the cubic function, in segments per second cubed (RFC 9438 5.1).
const C: f64 = 0.4;
/// The additive increase factor that gives the same average window as Reno (RFC 9438 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// The minimum window except after a timeout.
const MIN_WINDOW: f64 = 2.0;

/// The state of CUBIC. Windows are in segments.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: f64,
    threshold: f64,
    initial_window: f64,
    hystart: Option<HyStart>,
    /// The window at which the cubic function has its plateau (RFC 9438 4.1: W_max).
    plateau: f64,
    /// The window before the last reduction (RFC 9438 4.1: cwnd_prior).
    prior: f64,
    epoch: Option<Epoch>,
    reduction: Option<Reduction>,
}

/// A congestion avoidance stage since the last reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// Seconds from its start to the plateau (RFC 9438 4.2: K).
    to_plateau_s: f64,
    /// The estimate of Reno's window (RFC 9438 4.3: W_est).
    reno: f64,
}

/// Proportional rate reduction (RFC 6937 3).
#[derive(Clone, Copy, Debug)]
struct Reduction {
    /// Segments in flight at the start of the recovery (RFC 6937: RecoverFS).
    flight: f64,
    delivered: f64,
    sent: f64,
}

impl Cubic {
    pub fn new(initial_window: u32, slow_start: SlowStart) -> Self {
        Cubic {
            window: f64::from(initial_window),
            threshold: f64::INFINITY,
            initial_window: f64::from(initial_window),
            hystart: (slow_start == SlowStart::HyStart).then(HyStart::default),
            plateau: 0.0,
            prior: 0.0,
            epoch: None,
            reduction: None,
        }
    }

    pub fn on_established(&mut self, was_syn_lost: bool) {
        if was_syn_lost {
            self.window = 1.0;
        }
    }

    pub fn window(&self) -> f64 {
        self.window
    }

    pub fn is_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    pub fn on_ack(&mut self, event: &AckEvent) {
        let delivered = event.delivered as f64;
        if let Some(reduction) = self.reduction.as_mut() {
            reduction.delivered += delivered;
            let send_count = reduction.send_count(event.in_flight as f64, self.threshold, delivered);
            self.window = event.in_flight as f64 + send_count;
            return;
        }
        let mut growth = delivered;
        // HyStart++ applies to the first slow start only (RFC 9406 4.3)
        if self.threshold.is_infinite()
            && let Some(hystart) = &mut self.hystart
        {
            growth = hystart.growth(event);
            if hystart.is_over() {
                self.threshold = self.window;
            }
        }
        // a window that did not limit the sender contains no information about the path (RFC 9438 4.2, RFC 7661)
        if !event.is_window_limited || delivered == 0.0 {
            return;
        }
        if self.is_slow_start() {
            self.window += growth;
        } else {
            self.avoid_congestion(event.now, delivered, event.smoothed_rtt_s);
        }
    }

    /// Grows the window in congestion avoidance (RFC 9438 4.2 to 4.5).
    fn avoid_congestion(&mut self, now: Time, delivered: f64, rtt_s: f64) {
        let window = self.window;
        if self.epoch.is_none() && self.plateau < window {
            self.plateau = window;
        }
        let to_plateau_s = ((self.plateau - window) / C).cbrt();
        let epoch = self.epoch.get_or_insert(Epoch { start: now, to_plateau_s, reno: window });
        let cubic = |at_s: f64| C * (at_s - epoch.to_plateau_s).powi(3) + self.plateau;
        let elapsed_s = now.since(epoch.start).as_secs_f64();
        let target = cubic(elapsed_s + rtt_s).clamp(window, 1.5 * window);
        let alpha = if epoch.reno >= self.prior { 1.0 } else { ALPHA };
        let cubic_now = cubic(elapsed_s);
        epoch.reno += alpha * delivered / window;
        self.window = if cubic_now < epoch.reno {
            window.max(epoch.reno)
        } else {
            window + delivered * (target - window) / window
        };
    }

    /// Reduces the threshold and the plateau (RFC 9438 4.6 and 4.7).
    fn reduce(&mut self) {
        self.prior = self.window;
        let has_shrunk = self.window < self.plateau;
        self.plateau = if has_shrunk { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.threshold = (self.window * BETA).max(MIN_WINDOW);
        self.epoch = None;
    }

    /// Processes the first loss in a window.
    pub fn on_loss(&mut self, in_flight_before: u64) {
        self.reduce();
        self.reduction = Some(Reduction { flight: in_flight_before.max(1) as f64, delivered: 0.0, sent: 0.0 });
    }

    /// Processes the first congestion mark in a window (RFC 3168 6.1.2).
    pub fn on_mark(&mut self) {
        self.reduce();
        self.window = self.threshold;
    }

    /// Processes a retransmission timeout (RFC 9438 4.8). A threshold that was reduced for the same loss is not reduced again.
    pub fn on_timeout(&mut self, phase: Phase) {
        if phase == Phase::Open {
            self.reduce();
        }
        self.window = 1.0;
        // the next epoch starts at its plateau
        self.plateau = 0.0;
        self.epoch = None;
        self.reduction = None;
    }

    pub fn on_recovered(&mut self) {
        if self.reduction.take().is_some() {
            self.window = self.threshold;
        }
    }

    pub fn on_sent(&mut self) {
        if let Some(reduction) = &mut self.reduction {
            reduction.sent += 1.0;
        }
    }

    /// Processes a restart after an idle time (RFC 5681 4.1), which does not count for the epoch (RFC 9438 5.8).
    pub fn on_idle(&mut self, idle: Duration, rto_ns: u64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += idle;
        }
        if idle.as_nanos() > u128::from(rto_ns) {
            if self.threshold.is_finite() {
                self.threshold = self.threshold.max(0.75 * self.window);
            }
            self.window = self.window.min(self.initial_window);
            self.epoch = None;
        }
    }
}

impl Reduction {
    /// The number of segments that may be sent now (RFC 6937 3.1, with the slow start reduction bound).
    fn send_count(&self, in_flight: f64, threshold: f64, delivered: f64) -> f64 {
        let count = if in_flight > threshold {
            (self.delivered * threshold / self.flight).ceil() - self.sent
        } else {
            (threshold - in_flight).min((self.delivered - self.sent).max(delivered) + 1.0)
        };
        // the first retransmission is sent at once
        count.max(if self.sent == 0.0 { 1.0 } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT_S: f64 = 0.2;

    /// Acknowledges all segments of a window, spread over a round trip from `at_s`.
    fn round_trip(cubic: &mut Cubic, at_s: f64) {
        let window = cubic.window() as u64;
        for segment in 0..window {
            let now = Time::from_secs_f64(at_s + RTT_S * (segment + 1) as f64 / window as f64);
            cubic.on_ack(&ack(now, true));
        }
    }

    fn ack(now: Time, is_window_limited: bool) -> AckEvent {
        AckEvent {
            now,
            delivered: 1,
            lost: 0,
            in_flight: 0,
            in_flight_before: 0,
            first_unacknowledged: 0,
            next_sequence: 0,
            rtt_ns: 200_000_000,
            smoothed_rtt_s: RTT_S,
            sample: None,
            is_window_limited,
        }
    }

    #[test]
    fn window_follows_cubic_function_after_loss() {
        let mut cubic = Cubic::new(400, SlowStart::Plain);
        cubic.on_loss(400);
        cubic.on_recovered();
        assert!((cubic.window() - 280.0).abs() < 1e-9);
        // calculated by hand: K is the cube root of (400 - 280) / 0.4, which is 6.694 s, and W(t) = 0.4 (t - 6.694)^3 + 400
        let points = [(2.0, 358.67), (4.0, 392.18), (6.0, 399.87), (8.0, 400.89), (10.0, 414.45), (12.0, 459.73)];
        let mut rounds = 0;
        for (at_s, expected) in points {
            while f64::from(rounds) * RTT_S < at_s - 1e-9 {
                round_trip(&mut cubic, f64::from(rounds) * RTT_S);
                rounds += 1;
            }
            let window = cubic.window();
            assert!((window / expected - 1.0).abs() < 0.01, "{at_s} s: {window} {expected}");
        }
    }

    #[test]
    fn second_loss_below_plateau_lowers_it() {
        let mut cubic = Cubic::new(100, SlowStart::Plain);
        cubic.on_loss(100);
        cubic.on_recovered();
        assert_eq!(cubic.plateau, 100.0);
        cubic.on_loss(70);
        assert!((cubic.plateau - 70.0 * 0.85).abs() < 1e-9);
        assert!((cubic.threshold - 49.0).abs() < 1e-9);
    }

    #[test]
    fn window_grows_as_reno_at_short_round_trips() {
        // W = 14 after a loss at 20: the cubic function reaches 20 after 2.5 s, Reno's window 20 ms x 6 / 0.53
        let mut cubic = Cubic::new(20, SlowStart::Plain);
        cubic.on_loss(20);
        cubic.on_recovered();
        let mut now_ns = 0;
        for _ in 0..11 {
            for _ in 0..cubic.window() as u64 {
                now_ns += 1_000_000;
                let mut event = ack(Time::from_nanos(now_ns), true);
                event.smoothed_rtt_s = 0.02;
                cubic.on_ack(&event);
            }
        }
        assert!((19.0..20.5).contains(&cubic.window()), "{}", cubic.window());
    }

    #[test]
    fn timeout_restarts_slow_start_and_unused_window_does_not_grow() {
        let mut cubic = Cubic::new(100, SlowStart::Plain);
        cubic.on_timeout(Phase::Open);
        assert_eq!((cubic.window(), cubic.threshold), (1.0, 70.0));
        cubic.on_timeout(Phase::Timeout);
        assert_eq!((cubic.window(), cubic.threshold), (1.0, 70.0));
        (0..69).for_each(|_| cubic.on_ack(&ack(Time::START, true)));
        assert_eq!((cubic.window(), cubic.is_slow_start()), (70.0, false));
        (0..1000).for_each(|_| cubic.on_ack(&ack(Time::from_millis(9_000), false)));
        assert_eq!(cubic.window(), 70.0);
        cubic.on_idle(Duration::from_secs(9), 300_000_000);
        assert_eq!((cubic.window(), cubic.threshold), (70.0, 70.0));
        cubic.initial_window = 10.0;
        cubic.on_idle(Duration::from_secs(9), 300_000_000);
        assert_eq!((cubic.window(), cubic.threshold), (10.0, 70.0));
    }

    #[test]
    fn recovery_sends_seven_tenths_of_delivered_segments() {
        let mut cubic = Cubic::new(100, SlowStart::Plain);
        cubic.on_loss(100);
        let (mut in_flight, mut sent) = (99, 0);
        // 60 acknowledgements of one segment each
        for _ in 0..60 {
            in_flight -= 1;
            cubic.on_ack(&AckEvent { in_flight, ..ack(Time::START, true) });
            while in_flight < cubic.window() as u64 {
                cubic.on_sent();
                in_flight += 1;
                sent += 1;
            }
        }
        assert_eq!((sent, in_flight), (42, 81));
    }
}
