//! The metrics of the service. Except for latencies they are copied when they are read: counting them costs nothing else.

use std::sync::atomic::Ordering;

use rest::metrics::{Counter, DURATIONS_S, Gauge, Histogram, Registry};

use super::{Protocol, REASONS};
use crate::broker::BrokerCounts;
use crate::criteria::Topic;
use crate::service::Service;
use crate::state::Sources;
use crate::subscriptions::Version;

/// The metrics.
pub struct Metrics {
    registry: Registry,
    events: Counter,
    matched: Counter,
    queued: Counter,
    sent: Counter,
    dropped: Counter,
    retried: Counter,
    failures: Counter,
    pub latencies: Histogram,
    subscriptions: Gauge,
    waiting: Gauge,
    waiting_octets: Gauge,
    in_flight: Gauge,
    breakers: Gauge,
    connections: Gauge,
    published: Counter,
    received: Counter,
    lost: Counter,
    redelivered: Counter,
    broker_connections: Counter,
    broker_waiting: Gauge,
    ric_connected: Gauge,
    nodes: Gauge,
    flexran_agents: Gauge,
    cells: Gauge,
    ues: Gauge,
}

impl Metrics {
    pub fn new(registry: &Registry) -> Self {
        let counter = |name, help| registry.counter(name, help, &[]);
        let gauge = |name, help| registry.gauge(name, help, &[]);
        let of_broker = |name, help| registry.counter(name, help, &["broker"]);
        Metrics {
            events: registry.counter(
                "ferric_rnis_events_received_total",
                "Events that collectors have received, by the type of subscription that they concern.",
                &["type"],
            ),
            matched: registry.counter(
                "ferric_rnis_notifications_matched_total",
                "Notifications of events: one for each event and matching subscription.",
                &["type"],
            ),
            queued: counter(
                "ferric_rnis_notifications_queued_total",
                "Notifications that were queued for a subscription, those of tests and expiries included.",
            ),
            sent: counter("ferric_rnis_notifications_sent_total", "Notifications that were answered with 2xx."),
            dropped: counter(
                "ferric_rnis_notifications_dropped_total",
                "Notifications that were dropped: by the bounds of a queue, or since the subscriber did not take them.",
            ),
            retried: counter("ferric_rnis_notifications_retried_total", "Attempts that repeat one that has failed."),
            failures: registry.counter(
                "ferric_rnis_notifications_failed_total",
                "Attempts to send a notification that have failed, by the reason.",
                &["reason"],
            ),
            latencies: registry.histogram(
                "ferric_rnis_notification_latency_seconds",
                "Time from the reception of an event to the answer of a subscriber.",
                &[],
                DURATIONS_S,
            ),
            subscriptions: registry.gauge("ferric_rnis_subscriptions", "Subscriptions.", &["type", "version"]),
            waiting: gauge("ferric_rnis_queued_notifications", "Notifications that wait, those in flight included."),
            waiting_octets: gauge("ferric_rnis_queued_octets", "Octets of the notifications that wait."),
            in_flight: gauge("ferric_rnis_notifications_in_flight", "Notifications without an answer."),
            breakers: registry.gauge(
                "ferric_rnis_breakers",
                "Circuit breakers of subscriptions, by state; half-open ones count as open.",
                &["state"],
            ),
            connections: registry.gauge(
                "ferric_rnis_connections",
                "Connections to callbacks, and WebSockets of subscribers.",
                &["protocol"],
            ),
            published: of_broker("ferric_rnis_broker_published_total", "Events that were given to the broker."),
            received: of_broker("ferric_rnis_broker_received_total", "Messages from the broker."),
            lost: of_broker(
                "ferric_rnis_broker_lost_total",
                "Events that are lost, since the broker did not take them.",
            ),
            redelivered: of_broker(
                "ferric_rnis_broker_redelivered_total",
                "Messages from the broker that may have been delivered before.",
            ),
            broker_connections: of_broker("ferric_rnis_broker_connections_total", "Connections to the broker."),
            broker_waiting: registry.gauge(
                "ferric_rnis_broker_waiting_events",
                "Events that wait for the broker, or for its confirmation.",
                &["broker"],
            ),
            ric_connected: gauge("ferric_rnis_ric_connected", "Whether the collector is connected to its RIC: 1 or 0."),
            nodes: gauge("ferric_rnis_nodes", "E2 nodes that the collector sees at its RIC."),
            flexran_agents: gauge("ferric_rnis_flexran_agents", "FlexRAN agents that are connected."),
            cells: gauge("ferric_rnis_cells", "Cells that are known."),
            ues: gauge("ferric_rnis_ues", "Connected UEs that are known."),
            registry: registry.clone(),
        }
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Copies what a service has counted.
    pub fn read(&self, service: &Service) {
        let telemetry = service.telemetry();
        for topic in Topic::ALL {
            let name = topic.type_name();
            self.events.set_total(&[name], telemetry.events(topic) as f64);
            self.matched.set_total(&[name], telemetry.notifications(topic) as f64);
        }
        for (version, name) in [(Version::V1, "v1"), (Version::V2, "v2")] {
            for (topic, count) in Topic::ALL.into_iter().zip(service.subscription_counts(version)) {
                self.subscriptions.set(&[topic.type_name(), name], count as f64);
            }
        }
        let totals = service.delivery().totals();
        self.queued.set_total(&[], totals.queued as f64);
        self.sent.set_total(&[], totals.delivered as f64);
        self.dropped.set_total(&[], totals.dropped as f64);
        self.retried.set_total(&[], totals.retried as f64);
        for (reason, failures) in REASONS.iter().zip(&telemetry.failures) {
            self.failures.set_total(&[reason], failures.load(Ordering::Relaxed) as f64);
        }
        self.waiting.set(&[], totals.waiting as f64);
        self.waiting_octets.set(&[], totals.waiting_octets as f64);
        self.in_flight.set(&[], totals.in_flight as f64);
        self.breakers.set(&["open"], totals.open_breakers as f64);
        self.breakers.set(&["closed"], totals.subscriptions.saturating_sub(totals.open_breakers) as f64);
        self.connections.set(&["http1"], telemetry.connections(Protocol::Http1) as f64);
        self.connections.set(&["http2"], telemetry.connections(Protocol::Http2) as f64);
        self.connections.set(&["websocket"], service.delivery().websockets() as f64);
        self.read_broker(service.broker_name(), service.broker_counts());
        let (Sources { ric, flexran_agents }, cells, ues) =
            service.read(|state| (state.sources, state.cells.len(), state.ues.len()));
        self.ric_connected.set(&[], f64::from(u8::from(ric.is_some_and(|ric| ric.is_connected))));
        self.nodes.set(&[], ric.map_or(0.0, |ric| ric.nodes as f64));
        self.flexran_agents.set(&[], flexran_agents.unwrap_or(0) as f64);
        self.cells.set(&[], cells as f64);
        self.ues.set(&[], ues as f64);
    }

    fn read_broker(&self, name: &str, counts: BrokerCounts) {
        let BrokerCounts { published, received, lost, redelivered, connections, waiting } = counts;
        for (counter, total) in [
            (&self.published, published),
            (&self.received, received),
            (&self.lost, lost),
            (&self.redelivered, redelivered),
            (&self.broker_connections, connections),
        ] {
            counter.set_total(&[name], total as f64);
        }
        self.broker_waiting.set(&[name], waiting as f64);
    }
}
