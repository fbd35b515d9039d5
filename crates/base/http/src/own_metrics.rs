//! The metrics of the server itself.

use std::time::Duration;

use hyper::{Method, StatusCode};

use super::Operation;
use super::metrics::{Counter, DURATIONS_S, Gauge, Histogram, MEDIA_TYPE, Registry};
use super::request::Response;
use super::route::Route;

/// The metrics of the server itself.
pub(super) struct OwnMetrics {
    requests: Counter,
    durations: Histogram,
    pub connections: Gauge,
    pub streams: Gauge,
    pub refused_connections: Counter,
    pub lost_events: Counter,
}

impl OwnMetrics {
    pub fn new(registry: &Registry) -> Self {
        let metrics = OwnMetrics {
            requests: registry.counter(
                "ferric_http_requests_total",
                "Requests, by method, route and status of the response.",
                &["method", "route", "status"],
            ),
            durations: registry.histogram(
                "ferric_http_request_duration_seconds",
                "Time from the head of a request to its response, by route; for a stream, until it begins.",
                &["route"],
                DURATIONS_S,
            ),
            connections: registry.gauge("ferric_http_connections", "Connections that are open.", &[]),
            streams: registry.gauge("ferric_http_streams", "Streams that are open.", &[]),
            refused_connections: registry.counter(
                "ferric_http_refused_connections_total",
                "Connections beyond the limits.",
                &[],
            ),
            lost_events: registry.counter(
                "ferric_http_stream_events_lost_total",
                "Events that streams have dropped, since their readers were too slow.",
                &[],
            ),
        };
        metrics.connections.set(&[], 0.0);
        metrics.streams.set(&[], 0.0);
        metrics
    }

    /// Counts a request. Its path is that of its route, so that clients cannot create series.
    pub fn note_request(&self, method: &Method, route: Option<&str>, status: StatusCode, duration: Duration) {
        let known =
            [Method::GET, Method::HEAD, Method::PUT, Method::POST, Method::DELETE, Method::PATCH, Method::OPTIONS];
        let method = if known.contains(method) { method.as_str() } else { "other" };
        let route = route.unwrap_or("none");
        self.requests.add(&[method, route, status.as_str()], 1.0);
        self.durations.observe_duration(&[route], duration);
    }
}

impl Route {
    /// The route of all metrics of a registry, for Prometheus.
    #[must_use]
    pub fn metrics(operation: Operation, registry: &Registry) -> Route {
        let (operation, registry) = (operation.returns_media(MEDIA_TYPE, "The metrics."), registry.clone());
        Route::new(operation, move |_| Ok(Response::text(MEDIA_TYPE, registry.text())))
    }
}
