//! What the delivery has done, for REST, the page and metrics.

use std::fmt;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::breaker::BreakerState;

/// The longest latency that is distinguished, in microseconds: ten minutes.
const MAX_LATENCY_US: u64 = 600_000_000;

/// Why a notification did not reach its subscriber.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeliveryError {
    /// The server cannot be reached, or the TLS handshake fails.
    Connect(String),
    /// The server did not answer in time.
    TimedOut,
    /// The connection ended before the answer.
    Closed,
    /// The answer is no HTTP, or its head exceeds 8 KiB.
    Malformed(&'static str),
    /// The server answered with this status, which is not 2xx.
    Status(u16),
}

impl DeliveryError {
    /// The server had the notification, or may have had it.
    pub(super) fn counts_as_attempt(&self) -> bool {
        !matches!(self, DeliveryError::Connect(_))
    }

    /// The server refuses the notification: to send it again is of no use. 408, 425 and 429 ask for a repetition.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, DeliveryError::Status(status) if *status < 500 && !matches!(status, 408 | 425 | 429))
    }
}

impl fmt::Display for DeliveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeliveryError::Connect(why) => write!(f, "cannot connect: {why}"),
            DeliveryError::TimedOut => f.write_str("no answer in time"),
            DeliveryError::Closed => f.write_str("the connection was closed before the answer"),
            DeliveryError::Malformed(why) => write!(f, "the answer cannot be read: {why}"),
            DeliveryError::Status(status) => write!(f, "answered with status {status}"),
        }
    }
}

impl std::error::Error for DeliveryError {}

/// The delivery of a subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryState {
    /// Notifications that wait, the one in flight included.
    pub waiting: usize,
    /// Their octets.
    pub waiting_octets: usize,
    /// Notifications that were answered with 2xx.
    pub delivered: u64,
    /// Notifications that were dropped: by the bounds of the queue, or because the subscriber did not take them.
    pub dropped: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// The circuit breaker.
    pub breaker: BreakerState,
    /// Whether the subscriber has opened its WebSocket; of callbacks always false.
    pub is_connected: bool,
    /// The last failure.
    pub last_error: Option<String>,
    /// Half of the delivered notifications took less than this from their queue to the answer, in microseconds; to 7 %.
    pub p50_us: u64,
    /// 99 % of them.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
}

/// The delivery of all subscriptions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryTotals {
    /// Subscriptions.
    pub subscriptions: usize,
    /// Notifications that wait.
    pub waiting: usize,
    /// Their octets.
    pub waiting_octets: usize,
    /// Requests without an answer.
    pub in_flight: usize,
    /// Notifications that were queued, of subscriptions that are gone included; as are the next four.
    pub queued: u64,
    /// Notifications that were answered with 2xx.
    pub delivered: u64,
    /// Notifications that were dropped.
    pub dropped: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// Attempts that repeat one that has failed.
    pub retried: u64,
    /// Subscriptions whose breaker is not closed.
    pub open_breakers: usize,
    /// Half of the delivered notifications took less than this from their queue to the answer, in microseconds.
    pub p50_us: u64,
    /// 99 % of them.
    pub p99_us: u64,
}

/// What was delivered in a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecentDeliveries {
    /// Notifications that were answered with 2xx.
    pub delivered: u64,
    /// 99 % of them took less than this from their queue to the answer, in microseconds; zero if there is none.
    pub p99_us: u64,
}

/// Latencies, in microseconds.
#[derive(Debug)]
pub struct Latencies(Histogram<u32>);

impl Latencies {
    /// An empty histogram with a number of significant digits: 1 takes 1.5 kB, 2 take 11 kB.
    pub fn new(digits: u8) -> Self {
        let histogram = Histogram::new_with_bounds(1, MAX_LATENCY_US, digits);
        Latencies(histogram.unwrap_or_else(|error| panic!("the bounds are constants: {error}")))
    }

    pub fn record(&mut self, us: u64) {
        self.0.saturating_record(us);
    }

    /// Empties it, and returns what was in it.
    pub fn take(&mut self) -> RecentDeliveries {
        let recent = RecentDeliveries { delivered: self.0.len(), p99_us: self.at(0.99) };
        if recent.delivered > 0 {
            self.0.reset();
        }
        recent
    }

    pub fn at(&self, quantile: f64) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.value_at_quantile(quantile) }
    }

    pub fn max(&self) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.max() }
    }
}
