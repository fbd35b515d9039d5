//! What the service counts for metrics and for its page.
//!
//! On the way of a notification only atomic counters, two histograms and a bounded feed are touched. Numbers that others count
//! anyway are copied when they are read.

mod feed;
mod metrics;
mod recent;

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rest::metrics::Registry;

use crate::criteria::Topic;
use crate::delivery::DeliveryError;
use crate::model::TimeStamp;
use crate::service::Service;
pub use feed::{Feed, FeedTopic};
use metrics::Metrics;
pub use recent::RecentLatency;
use recent::Window;

/// A number for each type of subscription.
#[derive(Debug, Default)]
struct PerTopic([AtomicU64; Topic::ALL.len()]);

impl PerTopic {
    fn add(&self, topic: Topic, number: u64) {
        self.0[topic as usize].fetch_add(number, Ordering::Relaxed);
    }

    fn get(&self, topic: Topic) -> u64 {
        self.0[topic as usize].load(Ordering::Relaxed)
    }
}

/// Why attempts fail: the values of the label `reason`, each at the number of [`reason`].
const REASONS: [&str; 5] = ["connect", "timeout", "closed", "malformed", "status"];

const fn reason(error: &DeliveryError) -> usize {
    match error {
        DeliveryError::Connect(_) => 0,
        DeliveryError::TimedOut => 1,
        DeliveryError::Closed => 2,
        DeliveryError::Malformed(_) => 3,
        DeliveryError::Status(_) => 4,
    }
}

/// The protocol of a connection to a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

/// A connection that is counted until it is dropped.
#[derive(Debug)]
pub struct CountedConnection(Arc<Telemetry>, Protocol);

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.connections[self.1 as usize].fetch_sub(1, Ordering::Relaxed);
    }
}

/// The counters of a service.
pub struct Telemetry {
    metrics: Metrics,
    events: PerTopic,
    notifications: PerTopic,
    failures: [AtomicU64; REASONS.len()],
    connections: [AtomicUsize; 2],
    recent: Mutex<Window>,
    /// The readers of the page's stream.
    pub feed: Feed,
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("events", &self.events).finish_non_exhaustive()
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Telemetry {
            metrics: Metrics::new(&Registry::default()),
            events: PerTopic::default(),
            notifications: PerTopic::default(),
            failures: Default::default(),
            connections: Default::default(),
            recent: Mutex::new(Window::new(Instant::now())),
            feed: Feed::default(),
        }
    }
}

impl Telemetry {
    /// The registry of the metrics, for the REST server.
    pub fn registry(&self) -> &Registry {
        self.metrics.registry()
    }

    /// The metrics in the text form, as they are now.
    pub fn text(&self, service: &Service) -> String {
        self.metrics.read(service);
        self.registry().text()
    }

    /// A collector has received an event.
    pub fn note_event(&self, topic: Topic) {
        self.events.add(topic, 1);
    }

    /// An event has matched a number of subscriptions.
    pub fn note_matches(&self, topic: Topic, subscriptions: usize) {
        self.notifications.add(topic, subscriptions as u64);
    }

    /// An attempt has ended. `received_ns` is when the collector received the event.
    pub fn note_attempt(&self, received_ns: u64, result: &Result<(), DeliveryError>) {
        match result {
            Ok(()) => {
                // a clock that was set back gives no negative latency
                let latency_us = TimeStamp::now().to_nanos().saturating_sub(received_ns) / 1000;
                self.metrics.latencies.observe(&[], latency_us as f64 / 1e6);
                let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
                recent.record(latency_us, Instant::now());
            }
            Err(error) => {
                self.failures[reason(error)].fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Counts a connection until the returned value is dropped.
    pub fn count_connection(self: &Arc<Self>, protocol: Protocol) -> CountedConnection {
        self.connections[protocol as usize].fetch_add(1, Ordering::Relaxed);
        CountedConnection(Arc::clone(self), protocol)
    }

    /// The events that collectors have received.
    pub fn events(&self, topic: Topic) -> u64 {
        self.events.get(topic)
    }

    /// The notifications of events: one for each event and matching subscription.
    pub fn notifications(&self, topic: Topic) -> u64 {
        self.notifications.get(topic)
    }

    /// The connections to callbacks that are open.
    pub fn connections(&self, protocol: Protocol) -> usize {
        self.connections[protocol as usize].load(Ordering::Relaxed)
    }

    /// The latencies of the last seconds.
    pub fn recent_latency(&self) -> RecentLatency {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).read(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_counted_by_their_results() {
        let telemetry = Telemetry::default();
        telemetry.note_attempt(TimeStamp::now().to_nanos() - 2_000_000, &Ok(()));
        // an event from the future
        telemetry.note_attempt(u64::MAX, &Ok(()));
        telemetry.note_attempt(0, &Err(DeliveryError::Status(500)));
        telemetry.note_attempt(0, &Err(DeliveryError::TimedOut));
        let RecentLatency { count, max_us, .. } = telemetry.recent_latency();
        assert!(count == 2 && (2000..1_000_000).contains(&max_us), "{count} {max_us}");
        let failures = telemetry.failures.each_ref().map(|failures| failures.load(Ordering::Relaxed));
        assert_eq!(failures, [0, 1, 0, 0, 1]);
    }

    #[test]
    fn connection_is_counted_until_it_is_dropped() {
        let telemetry = Arc::new(Telemetry::default());
        let first = telemetry.count_connection(Protocol::Http1);
        let second = telemetry.count_connection(Protocol::Http2);
        assert_eq!((telemetry.connections(Protocol::Http1), telemetry.connections(Protocol::Http2)), (1, 1));
        drop((first, second));
        assert_eq!((telemetry.connections(Protocol::Http1), telemetry.connections(Protocol::Http2)), (0, 0));
    }
}
