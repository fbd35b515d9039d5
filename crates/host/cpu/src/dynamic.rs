//! The dynamic policy: it measures, names the culprit, and moves only what hurts, one reversible step at a time.
//!
//! Paper 004 has this as future work (section 6). The [`Decider`] is a pure machine: observations go in with their time, decisions come
//! out. The [`Session`] measures ([`crate::blame`]), asks it, and makes or reverts the changes of a [`Step`] through the
//! [`Controller`](crate::Controller), whose journal has them like those of any other policy.

mod decider;
mod log;
mod measure;
mod session;
mod steps;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::Cpus;
use crate::blame::Class;

pub use decider::Decider;
pub use log::{Entry, Kind};
pub use session::{Session, run};

/// What is done in one go, and can be given back alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The base station's threads use the base station's CPUs only.
    Confine,
    /// Each urgent group of its threads has CPUs of its own.
    Separate,
    /// The kernel's unbound workers run on the other CPUs.
    Workqueue,
    /// One interrupt runs on another CPU.
    Interrupt {
        /// Its number.
        number: u32,
    },
    /// The interrupts of network devices run on another CPU.
    Interrupts,
    /// Received packets are processed on another CPU.
    Steering,
    /// User tasks of a name run only where nothing else would.
    Yield {
        /// The name.
        name: String,
    },
    /// User tasks of a name lose the base station's CPUs.
    Evict {
        /// The name.
        name: String,
    },
    /// All other tasks lose some more of the base station's CPUs.
    Shield {
        /// The CPUs.
        cpus: Cpus,
    },
}

impl Step {
    /// A word for logs and for programs that read them.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Step::Confine => "confine",
            Step::Separate => "separate",
            Step::Workqueue => "workqueue",
            Step::Interrupt { .. } => "interrupt",
            Step::Interrupts => "interrupts",
            Step::Steering => "steering",
            Step::Yield { .. } => "yield",
            Step::Evict { .. } => "evict",
            Step::Shield { .. } => "shield",
        }
    }

    /// Whether it takes CPU time from best-effort work.
    #[must_use]
    pub fn takes_from_others(&self) -> bool {
        matches!(self, Step::Yield { .. } | Step::Evict { .. } | Step::Shield { .. })
    }

    /// Whether an earlier step must stay as long as this one does: both change the same things, or this one has no effect without it.
    #[must_use]
    pub fn stands_on(&self, earlier: &Step) -> bool {
        match (self, earlier) {
            (Step::Yield { .. } | Step::Confine, _) | (_, Step::Yield { .. }) => false,
            (_, Step::Confine) => true,
            (Step::Interrupt { .. } | Step::Interrupts, Step::Interrupt { .. } | Step::Interrupts) => true,
            (Step::Shield { .. }, Step::Shield { .. } | Step::Evict { .. }) => true,
            // a task that moved to a shield's group has its CPUs
            (Step::Evict { .. }, Step::Shield { .. }) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Confine => f.write_str("let the base station's threads use its CPUs only"),
            Step::Separate => f.write_str("give each urgent group of threads CPUs of its own"),
            Step::Workqueue => f.write_str("let unbound kernel workers run on the other CPUs"),
            Step::Interrupt { number } => write!(f, "move interrupt {number} to another CPU"),
            Step::Interrupts => f.write_str("move the interrupts of network devices to another CPU"),
            Step::Steering => f.write_str("process received packets on another CPU"),
            Step::Yield { name } => write!(f, "let {name} run only where nothing else would"),
            Step::Evict { name } => write!(f, "take the base station's CPUs from {name}"),
            Step::Shield { cpus } => write!(f, "take CPUs {cpus} from all other tasks"),
        }
    }
}

/// When the controller acts. The defaults are those of `ferric cpu run --policy dynamic`.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The share of the time that urgent threads may wait for one class of culprits.
    pub tolerance: f64,
    /// So much waiting beyond the tolerance makes it act, in ns.
    pub burst_ns: u64,
    /// Times up to this are not blamed on anybody, in us.
    pub least_us: u32,
    /// The least time between two steps, in ns.
    pub settle_ns: u64,
    /// How long a step stays at least, in ns. It doubles each time that the step was given back too early, up to 32 times.
    pub hold_ns: u64,
    /// For how long the load must be low before a step is given back, in ns.
    pub calm_ns: u64,
    /// A step is given back when the load is below this share of the one at which it was taken.
    pub fall: f64,
    /// The share of the host's CPU time that best-effort work gets, if it wants it.
    pub least_share: f64,
    /// For how long it must have had less before a step is given back, in ns.
    pub starved_ns: u64,
    /// So many names are moved one by one; then all other tasks are.
    pub most_names: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            tolerance: 0.005,
            burst_ns: 1_000_000,
            least_us: 30,
            settle_ns: 250_000_000,
            hold_ns: 2_000_000_000,
            calm_ns: 2_000_000_000,
            fall: 0.5,
            least_share: 0.1,
            starved_ns: 1_000_000_000,
            most_names: 4,
        }
    }
}

/// What can be done on this host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Threads of the base station use other CPUs than its own, too.
    pub confine: bool,
    /// CPUs are left beside the base station's.
    pub elsewhere: bool,
    /// It has two CPUs or more, and groups to separate.
    pub separate: bool,
    /// The host's mask of unbound workers can be set.
    pub workqueue: bool,
    /// There are interrupts of network devices.
    pub interrupts: bool,
    /// Received packets can be processed elsewhere.
    pub steering: bool,
    /// The CPUs that all others can lose, one step after the other: at least one CPU of the host is left to them.
    pub shield: Vec<Cpus>,
}

/// For whom urgent threads have waited since the observation before.
#[derive(Clone, Debug, PartialEq)]
pub struct Blamed {
    /// The class of the culprit.
    pub class: Class,
    /// Its name.
    pub name: String,
    /// The number of the thread or of the interrupt.
    pub number: u32,
    /// For how long, in ns.
    pub waited_ns: u64,
    /// The name of the thread that waited.
    pub victim: String,
    /// Whether that has a real-time priority.
    pub is_real_time: bool,
    /// Whether the culprit is outside the control group that is managed, so that it is left alone.
    pub is_outside: bool,
}

/// What was measured since the observation before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// The host itself stalled: nothing that was measured counts.
    pub is_void: bool,
    /// For whom urgent threads have waited.
    pub blamed: Vec<Blamed>,
    /// How many CPUs the base station uses.
    pub load: f64,
    /// The share of the host's CPU time that everything else had.
    pub others: f64,
    /// Whether more threads could run than the host has CPUs.
    pub is_crowded: bool,
    /// Names of which no task is left.
    pub gone: Vec<String>,
    /// Names whose tasks wanted to run, and hardly did.
    pub starved: Vec<String>,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Take a step.
    Take(Step),
    /// Give a step back.
    Return(Step),
    /// Nothing: no step is left, or there never was one.
    None,
}

/// Why.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// Urgent threads wait for a culprit.
    Hurt {
        /// Its class.
        class: Class,
        /// Its name.
        name: String,
        /// The name of the thread that has waited for longest.
        victim: String,
        /// For how long urgent threads have waited for this class, in ns.
        waited_ns: u64,
        /// Since when, in ns.
        since_ns: u64,
    },
    /// The same, for a culprit outside the control group that is managed.
    Outside(Box<Cause>),
    /// No task of that name is left.
    Gone,
    /// The base station uses so many CPUs; when the step was taken it used `from`.
    Fell {
        /// The load at which the step was taken.
        from: f64,
        /// The load now.
        to: f64,
    },
    /// The base station's threads wait for each other on the CPUs that they were given.
    Crowded {
        /// The share of the time that they do.
        siblings: f64,
        /// The share of the time that they waited for others before.
        others: f64,
    },
    /// Best-effort work had a smaller share of the host's CPU time than it is to have.
    Starved {
        /// The share.
        share: f64,
    },
}

/// A decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is to be done.
    pub action: Action,
    /// Why.
    pub cause: Cause,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Hurt { class, name, victim, waited_ns, .. } => {
                let ms = *waited_ns as f64 / 1e6;
                write!(f, "{victim} has waited {ms:.1} ms for {class} {name}")
            }
            Cause::Outside(hurt) => write!(f, "{hurt}, which is not in the control group that is managed"),
            Cause::Gone => f.write_str("no task of that name is left"),
            Cause::Fell { from, to } => {
                write!(f, "the base station uses {to:.2} CPUs; {from:.2} when the step was taken")
            }
            Cause::Crowded { siblings, others } => {
                let (siblings, others) = (100.0 * siblings, 100.0 * others);
                write!(
                    f,
                    "its threads wait for each other for {siblings:.1} % of the time, more than for others before ({others:.1} %)"
                )
            }
            Cause::Starved { share } => write!(f, "other work had only {:.0} % of the CPU time", 100.0 * share),
        }
    }
}
