//! What a guard tells people.

use std::fmt;
use std::time::Duration;

use super::Step;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Packets wait for too long.
    LimitPassed {
        /// The UE.
        rnti: u32,
        /// Its radio bearer.
        rb_id: u8,
        /// How long they wait.
        waits_us: u32,
        /// How long they may.
        limit_us: u32,
    },
    /// Everything was set before.
    FoundDone {
        /// The flow's queue.
        queue: Option<u32>,
    },
    /// Some of it was set before: the rest is to follow.
    FoundHalfDone,
    /// The node has carried it out.
    Done {
        /// What.
        step: Step,
    },
    /// The node shows that everything is set.
    Protected {
        /// The flow's queue.
        queue: Option<u32>,
    },
    /// Somebody has taken some of it away.
    Gone,
    /// The flow's queue sends nothing on.
    Silent {
        /// The queue.
        queue: u32,
        /// For how long.
        time: Duration,
    },
    /// Nothing is left of it.
    Undone,
    /// The node refuses: the guard gives up.
    Refused {
        /// What.
        step: Step,
        /// Why.
        reason: String,
    },
    /// A filter of somebody else fits the flow first: the guard gives up.
    Shadowed {
        /// That filter.
        filter: u32,
    },
    /// The node says that it has carried it out, and does not show it: the guard gives up.
    NotShown {
        /// What.
        step: Step,
    },
    /// Nobody knows whether it was carried out: what the node tells next will show.
    Unanswered {
        /// What.
        step: Step,
    },
    /// No answer again and again.
    GaveUp,
}

impl News {
    /// Whether the guard has given up with it.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self, News::Refused { .. } | News::Shadowed { .. } | News::NotShown { .. } | News::GaveUp)
    }
}

/// Milliseconds.
fn ms(us: u32) -> f64 {
    f64::from(us) / 1e3
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_queue = |queue: &Option<u32>| queue.map_or_else(String::new, |id| format!(" in queue {id}"));
        match self {
            News::LimitPassed { rnti, rb_id, waits_us, limit_us } => {
                let (waits_ms, limit_ms) = (ms(*waits_us), ms(*limit_us));
                write!(
                    f,
                    "a packet of bearer {rb_id} of UE {rnti:#06x} waits for {waits_ms:.1} ms, longer than {limit_ms:.1} ms"
                )
            }
            News::FoundDone { queue } => write!(f, "found it done: the flow goes{}, paced", of_queue(queue)),
            News::FoundHalfDone => f.write_str("found it half done: a filter for the flow, but not the rest"),
            News::Done { step } => write!(f, "done: {step}"),
            News::Protected { queue } => write!(f, "protected: the flow goes{}, paced", of_queue(queue)),
            News::Gone => f.write_str("somebody has taken some of it away; watching again"),
            News::Silent { queue, time } => {
                let seconds = time.as_secs();
                write!(
                    f,
                    "matched packets: 0 in the last {seconds} s: queue {queue} has sent nothing on; look at the 5-tuple, \
                     unless the flow is silent"
                )
            }
            News::Undone => f.write_str("undone: nothing of it is left"),
            News::Refused { step, reason } => write!(f, "refused: {step}: {reason}"),
            News::Shadowed { filter } => {
                write!(f, "filter {filter} fits the flow first, and leaves it in the first queue: delete it")
            }
            News::NotShown { step } => {
                write!(f, "not done: {step}: the node acknowledges it, and what it tells does not show it")
            }
            News::Unanswered { step } => {
                write!(f, "no answer: {step}; what the node tells next shows whether it is done")
            }
            News::GaveUp => f.write_str("no answer again and again: gave up; look at the RIC's log and the node's"),
        }
    }
}
