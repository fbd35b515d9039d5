//! The state of an update that reports changes to the RIC: one at a time, repeated, postponed, given up.
//!
//! ```text
//!          difference             acknowledge
//! Idle ---------------> Sent -------------------> Idle, or Sent: later changes
//!   ^                    |  ^ time-out: the same again, twice
//!   |   failure, without |  |
//!   |   a time to wait   |  | the time to wait is over
//!   +--------------------+  |
//!   |   third time-out   |  |
//!   +--------------------+--+--> Paused: failure with a time to wait
//! ```
//!
//! A difference that was given up is sent again when it changes or the RIC sends a query.

use core::time::Duration;

use e2ap::{Cause, ProcedureCode, TimeToWait, TransactionId};

use crate::Time;

/// The number of attempts.
const TRIES: u32 = 3;

#[derive(Debug)]
pub(super) enum Phase<T> {
    Idle,
    /// Awaits the answer to an update to the state `then`.
    Sent {
        transaction: Option<TransactionId>,
        by: Time,
        tries: u32,
        then: T,
    },
    /// The RIC requested a time to wait.
    Paused {
        until: Time,
    },
}

/// The state that the RIC knows, and the progress of the update to the present one.
#[derive(Debug)]
pub(super) struct PendingUpdate<T> {
    /// The state that the RIC knows.
    pub reported: T,
    pub phase: Phase<T>,
    /// Whether the present difference was refused or not answered.
    pub given_up: bool,
}

/// The action after a deadline.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// Send the same update again, with the same transaction id.
    Again,
    /// All attempts have failed.
    GivenUp,
    /// The pause is over.
    Report,
}

impl<T: Default> PendingUpdate<T> {
    pub fn new() -> Self {
        PendingUpdate { reported: T::default(), phase: Phase::Idle, given_up: false }
    }

    /// Restarts with the state that a setup request reports.
    pub fn begin(&mut self, reported: T) {
        *self = PendingUpdate { reported, ..PendingUpdate::new() };
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

    /// Ends the update that an acknowledgement belongs to. Returns whether there is one.
    pub fn acknowledged(&mut self, transaction: Option<TransactionId>) -> bool {
        if !self.awaits(transaction) {
            return false;
        }
        if let Phase::Sent { then, .. } = std::mem::replace(&mut self.phase, Phase::Idle) {
            self.reported = then;
        }
        true
    }

    pub fn awaits(&self, answer: Option<TransactionId>) -> bool {
        matches!(self.phase, Phase::Sent { transaction, .. } if transaction == answer)
    }

    /// Handles the RIC's refusal. Returns whether the update is repeated after a time to wait.
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
                Due::Report
            }
            _ => Due::Nothing,
        }
    }
}

/// A procedure of the node that has failed.
pub(super) struct GivenUp {
    pub procedure_code: ProcedureCode,
    /// Why, if the RIC stated it.
    pub cause: Option<Cause>,
}
