//! One instance: what it needs, and what it wants of the budget.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::{Bounds, Decision, Demand, EPSILON, Measurement, Reason, WINDOW, share_for};
use crate::quota::BURST;

/// The part of the target that the load model aims at: the rest is for what is no processor time, such as the callback itself.
const AIM: f64 = 0.5;
/// What is wanted beyond the need, so that its noise causes no decisions.
const MARGIN: f64 = 1.1;
/// The wanted share must be below this part of the present one before it is lowered.
const LOWER_BELOW: f64 = 0.85;
/// What the measured use of processor time is multiplied by: all that is no delivery is in it.
const USE_MARGIN: f64 = 1.15;
/// The weight of a new estimate.
const SMOOTHING: f64 = 0.3;
/// Deliveries in an interval, below which the cost of one is not estimated.
const MIN_DELIVERIES: u64 = 20;
/// The time within which what waits is to be worked off.
const DRAIN_S: f64 = 0.5;
/// How much the share grows in an interval whose latency exceeds the target.
const LATENCY_STEP: f64 = 1.5;
/// The same if only the run queue speaks for it: a larger share helps little while others use the processors.
const RUN_QUEUE_STEP: f64 = 1.2;
/// The parts of an interval, stopped by the quota and in the run queue, from which an instance lacks processor time.
const THROTTLED: f64 = 0.02;
const RUN_QUEUE: f64 = 0.2;
/// The part of its share that an instance uses when it lacks processor time.
const USED: f64 = 0.9;
/// The correction of the load model is at most this factor.
const MAX_CORRECTION: f64 = 8.0;
/// What remains of the correction when it is given up by a step.
const CORRECTION_STEP: f64 = 0.9;
/// The first and the longest time without a violation before a step.
const FIRST_HOLD: Duration = Duration::from_secs(5);
const LONGEST_HOLD: Duration = Duration::from_secs(600);
/// A need that has changed by this factor is another load, for which the correction is learnt anew.
const OTHER_LOAD: f64 = 2.0;
/// Intervals in a row, after which slow callbacks are a decision.
const SLOW_INTERVALS: u32 = 5;
/// A load is higher at once, without smoothing, if an interval has so many standard deviations more events than the mean.
const DEVIATIONS: f64 = 3.0;
/// After such a step the latency teaches nothing for this time: what has come meanwhile is worked off.
const SETTLE: Duration = Duration::from_secs(2);

/// The correction of the load model that the latency has taught.
#[derive(Debug)]
struct Correction {
    factor: f64,
    hold: Duration,
    /// The last violation, or step.
    changed: Duration,
    /// It was given up in part since it was learnt.
    is_lowered: bool,
    /// The need of the model for which it was learnt.
    model: f64,
}

#[derive(Debug)]
pub(super) struct Instance {
    pub bounds: Bounds,
    /// What it has.
    pub share: f64,
    /// The processor time of a notification, in seconds.
    cost: Option<f64>,
    /// Notifications per second, and of an event.
    rate: f64,
    batch: f64,
    /// When the load was higher at once the last time.
    stepped: Duration,
    /// The need of the load model, smoothed.
    steady: f64,
    correction: Correction,
    /// What it needs now.
    need: f64,
    /// What it wants: between its bounds if they are applied.
    want: f64,
    /// Needs of the window, each greater than those after it.
    window: VecDeque<(Duration, f64)>,
    /// Why `want` was changed last.
    cause: Reason,
    /// The reason of the last decision.
    reason: Option<Reason>,
    slow_intervals: u32,
}

impl Instance {
    pub fn new(bounds: Bounds) -> Self {
        Instance {
            bounds,
            share: 0.0,
            cost: None,
            rate: 0.0,
            batch: 0.0,
            correction: Correction::none(Duration::ZERO, 0.0),
            stepped: Duration::ZERO,
            steady: 0.0,
            need: 0.0,
            want: bounds.min_share,
            window: VecDeque::new(),
            cause: Reason::Defined,
            reason: None,
            slow_intervals: 0,
        }
    }

    pub fn set_bounds(&mut self, bounds: Bounds) {
        if bounds != self.bounds {
            (self.bounds, self.cause, self.reason) = (bounds, Reason::Defined, None);
        }
    }

    pub fn demand(&self) -> Demand {
        let Bounds { weight, min_share: min, max_share, .. } = self.bounds;
        Demand { weight, min, want: self.want.max(min).min(max_share.max(min)) }
    }

    /// Takes a measurement.
    pub fn observe(&mut self, now: Duration, measured: &Measurement) {
        let seconds = measured.interval.as_secs_f64();
        if seconds <= 0.0 {
            return;
        }
        let used = measured.cpu.as_secs_f64() / seconds;
        let model = self.model(now, measured, seconds, used);
        let cost = self.cost.unwrap_or_default();
        // a batch and the next one are no backlog
        let backlog = (measured.waiting as f64 - 2.0 * self.batch).max(0.0) * cost / DRAIN_S;
        self.steady += SMOOTHING * (model - self.steady);
        let (steady, learnt) = (self.steady, self.correction.model);
        if steady > OTHER_LOAD * learnt || OTHER_LOAD * steady < learnt {
            self.correction = Correction::none(now, steady);
        }
        let mut need = model * self.correction.factor + backlog;
        let mut cause = Reason::Load;
        match self.shortage(measured, seconds, used) {
            Some(reason) => {
                let step = if reason == Reason::RunQueue { RUN_QUEUE_STEP } else { LATENCY_STEP };
                let raised = self.share * step;
                if raised > need {
                    (need, cause) = (raised, reason);
                    if now.saturating_sub(self.stepped) > SETTLE {
                        self.correction.learn(now, raised / model.max(EPSILON));
                    }
                }
            }
            None => self.correction.give_up(now),
        }
        self.need = need;
        self.choose(now, cause);
    }

    /// What the load needs, in processors.
    fn model(&mut self, now: Duration, measured: &Measurement, seconds: f64, used: f64) -> f64 {
        if measured.delivered >= MIN_DELIVERIES {
            let sample = measured.cpu.as_secs_f64() / measured.delivered as f64;
            self.cost = Some(self.cost.map_or(sample, |cost| cost + SMOOTHING * (sample - cost)));
        }
        let mean = if self.batch > 0.0 { self.rate * seconds / self.batch } else { 0.0 };
        let is_step = measured.events as f64 > mean + DEVIATIONS * mean.sqrt() + 1.0;
        let rate = measured.arrived as f64 / seconds;
        if is_step {
            (self.rate, self.stepped) = (rate, now);
        } else {
            self.rate += SMOOTHING * (rate - self.rate);
        }
        if measured.events > 0 {
            let sample = measured.arrived as f64 / measured.events as f64;
            self.batch = if self.batch > 0.0 { self.batch + SMOOTHING * (sample - self.batch) } else { sample };
        }
        let of_use = used * USE_MARGIN;
        let Some(cost) = self.cost else { return of_use };
        let batch = self.batch * cost;
        let aim = self.bounds.p99_target.mul_f64(AIM);
        let room = aim.saturating_sub(Duration::from_secs_f64(batch.min(aim.as_secs_f64()))).max(aim / 10);
        share_for(self.rate * cost, batch, room + BURST).max(of_use)
    }

    /// Whether the latency exceeds the target because processor time is lacking.
    fn shortage(&mut self, measured: &Measurement, seconds: f64, used: f64) -> Option<Reason> {
        // where nothing arrives at its destination, what waits has waited for an interval
        let is_late = measured
            .p99
            .map_or(measured.waiting > 0 && measured.throttled > Duration::ZERO, |p99| p99 > self.bounds.p99_target);
        if !is_late {
            self.slow_intervals = 0;
            return None;
        }
        if measured.throttled.as_secs_f64() > THROTTLED * seconds || used > USED * self.share {
            self.slow_intervals = 0;
            return Some(Reason::Latency);
        }
        // beyond twice the need of the load a larger share is of no use against the run queue
        let model = self.steady.max(EPSILON);
        if measured.run_queue.as_secs_f64() > RUN_QUEUE * seconds && self.share < OTHER_LOAD * model {
            self.slow_intervals = 0;
            return Some(Reason::RunQueue);
        }
        self.slow_intervals += 1;
        None
    }

    /// Changes what it wants: at once upwards, slowly downwards.
    fn choose(&mut self, now: Duration, cause: Reason) {
        while self.window.back().is_some_and(|(_, need)| *need <= self.need) {
            self.window.pop_back();
        }
        self.window.push_back((now, self.need));
        while self.window.front().is_some_and(|(at, _)| now.saturating_sub(*at) > WINDOW) {
            self.window.pop_front();
        }
        let greatest = self.window.front().map_or(self.need, |(_, need)| *need);
        if self.need > self.want {
            (self.want, self.cause) = (self.need * MARGIN, cause);
        } else if greatest * MARGIN < self.want * LOWER_BELOW {
            (self.want, self.cause) = (greatest * MARGIN, Reason::Lower);
        }
        // what the bounds exclude is not wanted: a need far beyond them would hold the share for long
        self.want = self.want.max(self.bounds.min_share).min(self.bounds.max_share);
    }

    /// Takes a share. Returns the decision, if there is one.
    pub fn settle(
        &mut self,
        name: &Arc<str>,
        now: Duration,
        share: f64,
        measured: Option<Measurement>,
    ) -> Option<Decision> {
        let want = self.demand().want;
        let is_slow = self.slow_intervals >= SLOW_INTERVALS;
        let reason = if share < want - EPSILON {
            Reason::Budget
        } else if self.need > self.bounds.max_share + EPSILON && share >= self.bounds.max_share - EPSILON {
            Reason::Maximum
        } else if is_slow && (share - self.share).abs() < EPSILON {
            Reason::SlowCallbacks
        } else {
            self.cause
        };
        let is_changed = (share - self.share).abs() > EPSILON;
        // a reason that holds the share is stated once; that of a change was stated with it
        let is_held = matches!(reason, Reason::Budget | Reason::Maximum | Reason::SlowCallbacks);
        if !is_changed && (!is_held || self.reason == Some(reason)) {
            return None;
        }
        let old_share = std::mem::replace(&mut self.share, share);
        self.reason = Some(reason);
        let cost = Duration::from_secs_f64(self.cost.unwrap_or_default());
        let (name, at) = (Arc::clone(name), now);
        Some(Decision { name, at, measured, cost, needed: self.need, old_share, new_share: share, reason })
    }
}

impl Correction {
    /// None, for a load.
    fn none(now: Duration, model: f64) -> Self {
        Correction { factor: 1.0, hold: FIRST_HOLD, changed: now, is_lowered: false, model }
    }

    /// The model was too low.
    fn learn(&mut self, now: Duration, factor: f64) {
        if std::mem::take(&mut self.is_lowered) {
            // it was given up too early
            self.hold = (self.hold * 2).min(LONGEST_HOLD);
        }
        self.factor = self.factor.max(factor.min(MAX_CORRECTION));
        self.changed = now;
    }

    fn give_up(&mut self, now: Duration) {
        if self.factor > 1.0 && now.saturating_sub(self.changed) > self.hold {
            self.factor = (self.factor * CORRECTION_STEP).max(1.0);
            (self.changed, self.is_lowered) = (now, true);
        }
    }
}
