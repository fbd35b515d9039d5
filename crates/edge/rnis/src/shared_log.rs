//! A log that several processes of a service share: each reads the same records in the same order.

use std::sync::Arc;
use std::time::Duration;

use crate::broker::{BrokerError, Sink};

/// What a record is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// Subscriptions, and the starts of processes.
    Subscriptions,
    /// The latest state of cells and UEs.
    State,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// What it is of.
    pub feed: Feed,
    /// Its position in its feed. Positions grow, and are not used again.
    pub position: i64,
    /// What it describes: later records of a key replace earlier ones.
    pub key: String,
    /// Its content, as JSON; `None` if what it describes is gone.
    pub value: Option<String>,
    /// Of a record of this process: the number that [`SharedLog::append`] was given.
    pub request: Option<u64>,
}

/// The log, the processes that share it, and their events.
pub trait SharedLog: Send + Sync {
    /// Appends a record. It does not wait: [`SharedLog::read`] returns the record when it is in the log.
    ///
    /// # Errors
    /// If too many records wait for the broker.
    fn append(&self, feed: Feed, key: &str, value: Option<&str>, request: u64) -> Result<(), BrokerError>;

    /// Reads the next record, from the beginning of both feeds. Waits for it. One thread calls it.
    fn read(&self, at_most: Duration) -> Option<LogRecord>;

    /// The position after the last record of the subscriptions.
    ///
    /// # Errors
    /// If the broker does not answer.
    fn end(&self) -> Result<i64, BrokerError>;

    /// Whether this process leads: at most one does, and another one soon after its end.
    fn is_leader(&self) -> bool;

    /// Gives all events to a sink from now on, those that other processes receive included, as those of
    /// [`Audience::WebSockets`](crate::Audience::WebSockets). Further calls do nothing.
    ///
    /// # Errors
    /// If the broker does not answer.
    fn follow(&self, sink: Arc<dyn Sink>) -> Result<(), BrokerError>;

    /// The error for a log that does not answer.
    fn silent(&self) -> BrokerError;
}
