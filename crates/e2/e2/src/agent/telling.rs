//! How a node tells its RIC what changed: one update at a time, sent again, postponed, given up.
//!
//! ```text
//!          difference             acknowledge
//! Idle ---------------> Sent -------------------> Idle, or Sent: what changed meanwhile
//!   ^                    |  ^ time-out: the same again, twice
//!   |   failure, without |  |
//!   |   a time to wait   |  | the time to wait is over
//!   +--------------------+  |
//!   |   third time-out   |  |
//!   +--------------------+--+--> Paused: failure with a time to wait
//! ```
//!
//! What was given up is told again when there is a new difference, or the RIC asks.

use core::time::Duration;

use e2ap::{Cause, ProcedureCode, TimeToWait, TransactionId};

use crate::Time;

/// How often an update is sent before it is given up.
const TRIES: u32 = 3;

#[derive(Debug)]
pub(super) enum Phase<T> {
    Idle,
    /// Waits for the answer to what makes the RIC believe `then`.
    Sent {
        transaction: Option<TransactionId>,
        by: Time,
        tries: u32,
        then: T,
    },
    /// The RIC wants to hear nothing before.
    Paused {
        until: Time,
    },
}

/// What the RIC was told, and how the next telling of it goes.
#[derive(Debug)]
pub(super) struct Telling<T> {
    /// What the RIC believes.
    pub told: T,
    pub phase: Phase<T>,
    /// Whether the RIC refused the present difference for good.
    pub given_up: bool,
}

/// What is to be done when a deadline has passed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// The same once more, under the same transaction.
    Again,
    /// It was sent too often.
    GivenUp,
    /// The pause is over.
    Tell,
}

impl<T: Default> Telling<T> {
    pub fn new() -> Self {
        Telling { told: T::default(), phase: Phase::Idle, given_up: false }
    }

    /// The setup tells `told`.
    pub fn begin(&mut self, told: T) {
        *self = Telling { told, ..Telling::new() };
    }

    pub fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle)
    }

    pub fn deadline(&self) -> Option<Time> {
        match self.phase {
            Phase::Idle => None,
            Phase::Sent { by, .. } => Some(by),
            Phase::Paused { until } => Some(until),
        }
    }

    /// An acknowledgement: whether it is the one that is waited for.
    pub fn acknowledged(&mut self, transaction: Option<TransactionId>) -> bool {
        if !self.awaits(transaction) {
            return false;
        }
        if let Phase::Sent { then, .. } = std::mem::replace(&mut self.phase, Phase::Idle) {
            self.told = then;
        }
        true
    }

    pub fn awaits(&self, answer: Option<TransactionId>) -> bool {
        matches!(self.phase, Phase::Sent { transaction, .. } if transaction == answer)
    }

    /// The RIC does not take it. Whether it is to be told again after the time to wait.
    pub fn refused(&mut self, now: Time, wait: Option<TimeToWait>) -> bool {
        self.phase = match wait {
            Some(wait) => Phase::Paused { until: now + Duration::from_secs(wait.seconds().into()) },
            None => Phase::Idle,
        };
        self.given_up = wait.is_none();
        wait.is_some()
    }

    pub fn due(&mut self, now: Time, patience: Duration) -> Due {
        match &mut self.phase {
            Phase::Sent { by, tries, .. } if *by <= now => {
                if *tries < TRIES {
                    (*tries, *by) = (*tries + 1, now + patience);
                    return Due::Again;
                }
                (self.phase, self.given_up) = (Phase::Idle, true);
                Due::GivenUp
            }
            Phase::Paused { until } if *until <= now => {
                self.phase = Phase::Idle;
                Due::Tell
            }
            _ => Due::Nothing,
        }
    }
}

/// A procedure of the node's own that came to nothing.
pub(super) struct GivenUp {
    pub procedure_code: ProcedureCode,
    /// Why, where the RIC told.
    pub cause: Option<Cause>,
}
