//! Automatic dimensioning: how much of the host's processors each instance of the service may use.
//!
//! Paper 003 (RNISaaS, conclusion) leaves it to an orchestrator to adapt the processors of an instance to its load and its latency target.
//! The [`Dimensioner`] does that: a state machine without clock, files and processes. Its caller measures each instance at short intervals
//! ([`Measurement`]) and applies the [`Decision`]s.
//!
//! What an instance *needs* comes from two sides:
//!
//! - **Forward**, from its load (`sojourn`): the notifications per second that its events cause, times the processor time of one, plus
//!   the room that keeps the latency of a burst below the target. The rate is that of arrivals, not of deliveries: an instance that
//!   is too small delivers what it can, and its rate of deliveries says nothing of what it needs. So a step of the load is answered within
//!   an interval.
//! - **Backward**, from its latency: as long as the 99th percentile exceeds the target *and* the instance lacks processor time (its quota
//!   stops it, it uses all of its share, or its threads wait in the run queue), the share grows by half each interval. A slow callback
//!   raises the latency as well, and no processor time helps it: then nothing is raised.
//!
//! The share is raised at once and lowered slowly: to the greatest need of [`WINDOW`], and only if that is well below. If the load model
//! alone was too low, the correction that the latency has taught is kept; it is given up step by step after a time that doubles with each
//! failure, so that under a constant load the changes become rare instead of oscillating.
//!
//! What all of them need may exceed the budget. Then it is divided by weighted max-min fairness ([`allocate`]): nobody gets less than its
//! minimum or more than it needs.

mod allocation;
mod instance;
mod sojourn;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

pub use allocation::{Demand, allocate};
use instance::Instance;
pub use sojourn::share_for;

/// The time whose greatest need a share is lowered to.
pub const WINDOW: Duration = Duration::from_secs(5);

/// What an instance may have, and what it is to achieve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Its part of the budget, relative to other instances, when all need more than there is.
    pub weight: u32,
    /// What it has at least, in processors.
    pub min_share: f64,
    /// What it has at most, in processors.
    pub max_share: f64,
    /// The 99th percentile of the time from a notification's queue to its answer that is to be kept.
    pub p99_target: Duration,
}

/// What was measured of an instance since the measurement before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measurement {
    /// The time since then.
    pub interval: Duration,
    /// Events that met at least one subscription.
    pub events: u64,
    /// Notifications of these events.
    pub arrived: u64,
    /// Notifications that were answered.
    pub delivered: u64,
    /// Notifications that wait now.
    pub waiting: u64,
    /// The 99th percentile of the latencies of those that were answered; `None` if none was.
    pub p99: Option<Duration>,
    /// Processor time of its threads.
    pub cpu: Duration,
    /// The time that its threads were ready to run and had no processor.
    pub run_queue: Duration,
    /// The time that its quota stopped it.
    pub throttled: Duration,
}

/// Why a share is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Reason {
    /// The instance is new, or its definition has changed.
    Defined,
    /// Its load needs more.
    Load,
    /// Its latency exceeds the target, and its quota stops it or it uses all of its share.
    Latency,
    /// Its latency exceeds the target, and its threads wait for a processor.
    RunQueue,
    /// It has needed less for some time.
    Lower,
    /// All instances together need more than the budget.
    Budget,
    /// It needs more than its greatest share.
    Maximum,
    /// Its latency exceeds the target though it has processor time to spare: callbacks are slow. The share stays.
    SlowCallbacks,
}

/// A change of a share, or of the reason that holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The instance.
    pub name: Arc<str>,
    /// The time of the step.
    pub at: Duration,
    /// What was measured; `None` if nothing was.
    pub measured: Option<Measurement>,
    /// The processor time of a notification, as estimated; zero if none was delivered so far.
    pub cost: Duration,
    /// What it needs, in processors.
    pub needed: f64,
    /// The share before, in processors.
    pub old_share: f64,
    /// The share from now on.
    pub new_share: f64,
    /// Why.
    pub reason: Reason,
}

/// The minima of all instances exceed the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetExceeded {
    /// What is left for the minimum of this instance, in processors.
    pub left: f64,
}

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the minima of the other instances leave {:.3} processors of the budget", self.left.max(0.0))
    }
}

impl std::error::Error for BudgetExceeded {}

/// Divides a budget of processors among instances.
#[derive(Debug)]
pub struct Dimensioner {
    budget: f64,
    instances: BTreeMap<Arc<str>, Instance>,
}

/// The difference of shares that is none.
const EPSILON: f64 = 1e-6;

impl Dimensioner {
    /// Divides so many processors.
    #[must_use]
    pub fn new(budget: f64) -> Self {
        Dimensioner { budget, instances: BTreeMap::new() }
    }

    /// The budget, in processors.
    #[must_use]
    pub fn budget(&self) -> f64 {
        self.budget
    }

    /// The sum of all shares: at most the budget.
    #[must_use]
    pub fn allocated(&self) -> f64 {
        self.instances.values().map(|instance| instance.share).sum()
    }

    /// The share of an instance, in processors; `None` if there is no such instance.
    #[must_use]
    pub fn share(&self, name: &str) -> Option<f64> {
        Some(self.instances.get(name)?.share)
    }

    /// Adds an instance or changes its bounds. Its share follows with the next [`Dimensioner::step`]; that of a new one is zero until then.
    ///
    /// # Errors
    /// If the minima of all instances exceed the budget. Nothing is changed then.
    pub fn define(&mut self, name: &Arc<str>, bounds: Bounds) -> Result<(), BudgetExceeded> {
        let others = self.instances.iter().filter(|(other, _)| *other != name);
        let left = self.budget - others.map(|(_, instance)| instance.bounds.min_share).sum::<f64>();
        if bounds.min_share > left + EPSILON {
            return Err(BudgetExceeded { left });
        }
        match self.instances.get_mut(name) {
            Some(instance) => instance.set_bounds(bounds),
            None => {
                self.instances.insert(Arc::clone(name), Instance::new(bounds));
            }
        }
        Ok(())
    }

    /// Removes an instance.
    pub fn remove(&mut self, name: &str) {
        self.instances.remove(name);
    }

    /// Takes the measurements of some instances, and returns what follows for all of them: reductions first, so that the sum never
    /// exceeds the budget while they are applied in their order.
    pub fn step(&mut self, now: Duration, measured: &[(Arc<str>, Measurement)]) -> Vec<Decision> {
        for (name, measurement) in measured {
            if let Some(instance) = self.instances.get_mut(name) {
                instance.observe(now, measurement);
            }
        }
        let demands: Vec<_> = self.instances.values().map(Instance::demand).collect();
        let shares = allocate(self.budget, &demands);
        let mut decisions = Vec::new();
        for ((name, instance), share) in self.instances.iter_mut().zip(shares) {
            let measured = measured.iter().find(|(of, _)| of == name).map(|(_, measurement)| *measurement);
            decisions.extend(instance.settle(name, now, share, measured));
        }
        decisions.sort_by(|a, b| (a.new_share - a.old_share).total_cmp(&(b.new_share - b.old_share)));
        decisions
    }
}
