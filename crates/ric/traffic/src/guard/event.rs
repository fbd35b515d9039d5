//! Events of a guard, for people.

use std::fmt;
use std::time::Duration;

use super::Step;

/// An event of a [`FlowGuard`](super::FlowGuard).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardEvent {
    /// Packets wait longer than the limit.
    LimitPassed {
        /// The UE.
        rnti: u32,
        /// Its radio bearer.
        rb_id: u8,
        /// Their waiting time.
        waits_us: u32,
        /// The limit.
        limit_us: u32,
    },
    /// Everything was configured before.
    FoundDone {
        /// The flow's queue.
        queue: Option<u32>,
    },
    /// A part was configured before; the rest follows.
    FoundPartlyDone,
    /// The node has executed a step.
    Done {
        /// The step.
        step: Step,
    },
    /// The node reports that everything is configured.
    Protected {
        /// The flow's queue.
        queue: Option<u32>,
    },
    /// Another client has removed a part.
    RemovedByOther,
    /// The flow's queue forwards no packets: the filter matches none.
    NoMatches {
        /// The queue.
        queue: u32,
        /// The time without packets.
        time: Duration,
    },
    /// Everything is removed.
    Undone,
    /// The node refuses: the guard gives up.
    Refused {
        /// The step.
        step: Step,
        /// The reason.
        reason: String,
    },
    /// Another filter matches the flow first: the guard gives up.
    CoveredByOtherFilter {
        /// That filter.
        filter: u32,
    },
    /// The node has acknowledged a step and its reports do not show it: the guard gives up.
    NotShown {
        /// The step.
        step: Step,
    },
    /// The outcome is unknown; the next report will show it.
    Unanswered {
        /// The step.
        step: Step,
    },
    /// Too many controls without an outcome: the guard gives up.
    TooManyUnanswered,
}

impl GuardEvent {
    /// Whether the guard gives up with this event.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(
            self,
            GuardEvent::Refused { .. }
                | GuardEvent::CoveredByOtherFilter { .. }
                | GuardEvent::NotShown { .. }
                | GuardEvent::TooManyUnanswered
        )
    }
}

/// Milliseconds.
fn ms(us: u32) -> f64 {
    f64::from(us) / 1e3
}

impl fmt::Display for GuardEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = |queue: &Option<u32>| {
            let queue = queue.map_or_else(|| "its own queue".to_owned(), |id| format!("queue {id}"));
            format!("the flow uses {queue}; the pacer is set")
        };
        match self {
            GuardEvent::LimitPassed { rnti, rb_id, waits_us, limit_us } => {
                let (waits_ms, limit_ms) = (ms(*waits_us), ms(*limit_us));
                write!(
                    f,
                    "a packet of bearer {rb_id} of UE {rnti:#06x} waits for {waits_ms:.1} ms, longer than {limit_ms:.1} ms"
                )
            }
            GuardEvent::FoundDone { queue } => write!(f, "already configured: {}", state(queue)),
            GuardEvent::FoundPartlyDone => f.write_str(
                "partly configured: the flow has a filter, but no separate queue or no pacer; adding the rest",
            ),
            GuardEvent::Done { step } => write!(f, "done: {step}"),
            GuardEvent::Protected { queue } => write!(f, "protected: {}", state(queue)),
            GuardEvent::RemovedByOther => {
                f.write_str("another client has removed the queue, the filter or the pacer; monitoring the delay again")
            }
            GuardEvent::NoMatches { queue, time } => {
                let seconds = time.as_secs();
                write!(
                    f,
                    "matched packets: 0 in the last {seconds} s: queue {queue} has forwarded no packets; check the 5-tuple, \
                     unless the flow is idle"
                )
            }
            GuardEvent::Undone => f.write_str("undone: nothing is left to remove"),
            GuardEvent::Refused { step, reason } => write!(f, "refused: {step}: {reason}"),
            GuardEvent::CoveredByOtherFilter { filter } => {
                write!(f, "filter {filter} matches the flow first and sends it to the first queue; delete that filter")
            }
            GuardEvent::NotShown { step } => {
                write!(f, "not done: {step}: the node acknowledged it, but its reports do not show it")
            }
            GuardEvent::Unanswered { step } => {
                write!(f, "no answer: {step}; the next report shows whether it is done")
            }
            GuardEvent::TooManyUnanswered => {
                f.write_str("no answer to three controls; stopped. Check the logs of the RIC and of the node")
            }
        }
    }
}
