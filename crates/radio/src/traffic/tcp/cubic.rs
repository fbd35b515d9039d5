//! CUBIC (RFC 9438), with proportional rate reduction while it recovers (RFC 6937).

use super::control::{Acknowledged, Phase};
use super::hystart::HyStart;
use crate::Time;
use crate::traffic::specification::SlowStart;

/// What is left of the window after a loss (RFC 9438 4.6).
const BETA: f64 = 0.7;
/// How steep the cubic function is, in segments a second cubed (RFC 9438 5.1).
const C: f64 = 0.4;
/// What makes a window that grows by addition equal to Reno's on average (RFC 9438 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// The least that a window shrinks to, but for a timeout.
const MIN_WINDOW: f64 = 2.0;

/// A window of segments.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: f64,
    threshold: f64,
    initial_window: f64,
    hystart: Option<HyStart>,
    /// The window where the last reduction began (RFC 9438 4.1: W_max).
    plateau: f64,
    /// The window before the last reduction (RFC 9438 4.1: cwnd_prior).
    prior: f64,
    epoch: Option<Epoch>,
    reduction: Option<Reduction>,
}

/// Growth since the last reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Time,
    /// Seconds from its beginning to the plateau (RFC 9438 4.2: K).
    to_plateau_s: f64,
    /// What Reno's window would be (RFC 9438 4.3: W_est).
    reno: f64,
}

/// The window goes down with what comes (RFC 6937 3).
#[derive(Clone, Copy, Debug)]
struct Reduction {
    /// In flight when it began.
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

    pub fn window(&self) -> f64 {
        self.window
    }

    pub fn is_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    pub fn on_acknowledged(&mut self, event: &Acknowledged) {
        let delivered = event.delivered as f64;
        if let Some(reduction) = self.reduction.as_mut() {
            reduction.delivered += delivered;
            let may_send = reduction.may_send(event.in_flight as f64, self.threshold, delivered);
            self.window = event.in_flight as f64 + may_send;
            return;
        }
        let mut growth = delivered;
        if self.is_slow_start()
            && let Some(hystart) = &mut self.hystart
        {
            growth = hystart.growth(event);
            if hystart.is_over() {
                self.threshold = self.window;
            }
        }
        // a window that is not used says nothing of the path (RFC 9438 4.2, RFC 7661)
        if !event.is_window_used || delivered == 0.0 {
            return;
        }
        if self.is_slow_start() {
            self.window += growth;
        } else {
            self.avoid_congestion(event.now, delivered, event.smoothed_rtt_s);
        }
    }

    /// RFC 9438 4.2 to 4.5.
    fn avoid_congestion(&mut self, now: Time, delivered: f64, rtt_s: f64) {
        let window = self.window;
        if self.epoch.is_none() && self.plateau < window {
            self.plateau = window;
        }
        let to_plateau_s = ((self.plateau - window) / C).cbrt();
        let epoch = self.epoch.get_or_insert(Epoch { began: now, to_plateau_s, reno: window });
        let cubic = |at_s: f64| C * (at_s - epoch.to_plateau_s).powi(3) + self.plateau;
        let passed_s = now.since(epoch.began).as_secs_f64();
        let target = cubic(passed_s + rtt_s).clamp(window, 1.5 * window);
        let alpha = if epoch.reno >= self.prior { 1.0 } else { ALPHA };
        let cubic_now = cubic(passed_s);
        epoch.reno += alpha * delivered / window;
        self.window = if cubic_now < epoch.reno {
            window.max(epoch.reno)
        } else {
            window + delivered * (target - window) / window
        };
    }

    /// RFC 9438 4.6 and 4.7.
    fn reduce(&mut self) {
        self.prior = self.window;
        let has_shrunk = self.window < self.plateau;
        self.plateau = if has_shrunk { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.threshold = (self.window * BETA).max(MIN_WINDOW);
        self.epoch = None;
    }

    /// Something was lost for the first time in this window.
    pub fn on_loss(&mut self, in_flight_before: u64) {
        self.reduce();
        self.reduction = Some(Reduction { flight: in_flight_before.max(1) as f64, delivered: 0.0, sent: 0.0 });
    }

    /// A mark came for the first time in this window (RFC 3168 6.1.2).
    pub fn on_mark(&mut self) {
        self.reduce();
        self.window = self.threshold;
    }

    /// The retransmission timer went off (RFC 9438 4.8). What is reduced for the loss already is not reduced twice.
    pub fn on_timeout(&mut self, phase: Phase) {
        if phase == Phase::Open {
            self.reduce();
        }
        self.window = 1.0;
        // the next epoch begins at its plateau
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

    /// Nothing was sent for so long (RFC 5681 4.1; RFC 9438 5.8: that time does not count).
    pub fn on_idle(&mut self, idle: std::time::Duration, rto_ns: u64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.began += idle;
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
    /// How many segments may be sent now (RFC 6937 3.1, with the slow start reduction bound).
    fn may_send(&self, in_flight: f64, threshold: f64, delivered: f64) -> f64 {
        let may = if in_flight > threshold {
            (self.delivered * threshold / self.flight).ceil() - self.sent
        } else {
            (threshold - in_flight).min((self.delivered - self.sent).max(delivered) + 1.0)
        };
        // the first retransmission goes at once
        may.max(if self.sent == 0.0 { 1.0 } else { 0.0 })
    }
}
