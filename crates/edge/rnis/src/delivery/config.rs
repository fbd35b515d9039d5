//! The bounds of the delivery.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::allow_list::CallbackPolicy;
use super::resolver::Resolver;
use crate::quota::CpuQuota;

/// Bounds, times, and protocols.
#[derive(Clone, Debug)]
pub struct DeliveryConfig {
    /// Notifications that may wait for a subscription; beyond it the oldest are dropped and counted. Default: 1024.
    pub max_waiting: usize,
    /// Octets that may wait for a subscription. Default: 256 KiB.
    pub max_waiting_octets: usize,
    /// Octets that may wait for all of them. A subscription may use a quarter of what is left, at least one notification.
    /// Default: 24 MiB.
    pub max_total_octets: usize,
    /// Requests that may be unanswered. A tenant may have as many as are left. Default: 2048.
    pub max_in_flight: usize,
    /// Connections of HTTP/1.1 to one server. Default: 8.
    pub max_host_connections: usize,
    /// Unanswered requests on the connection of HTTP/2 to one server. Default: 64.
    pub max_host_streams: usize,
    /// Connections without a request. Default: 1024.
    pub max_idle_connections: usize,
    /// After so long without a request a connection is closed. Default: 30 s.
    pub idle_timeout: Duration,
    /// Time for connecting, sending, and the head of the answer. Default: 5 s.
    pub timeout: Duration,
    /// The pause after the first failure; each further one doubles it. Half of a pause is random. Default: 100 ms.
    pub first_pause: Duration,
    /// The longest pause. Default: 30 s.
    pub longest_pause: Duration,
    /// Failures in a row that open the circuit breaker of a subscription: its pauses then have at least a second. Default: 5.
    pub breaker_failures: u32,
    /// How often a notification is sent to a server that receives it and does not answer with 2xx; then it is dropped, so that
    /// one notification cannot stop a subscription. A server that cannot be reached does not count. Default: 10.
    pub max_attempts: u32,
    /// `http://` servers are spoken to with HTTP/2 without negotiation (RFC 9113 3.3). Default: no.
    pub is_http2_assumed: bool,
    /// The file of the authorities that sign the certificates of `https://` callbacks. Without it such callbacks are refused.
    /// It needs the feature `tls`.
    pub ca: Option<PathBuf>,
    /// What the processor time of this process is bounded by. Default: nothing.
    pub quota: Option<Arc<CpuQuota>>,
    /// The servers that callbacks may be sent to. Default: all.
    pub callbacks: CallbackPolicy,
    /// What resolves the host names of callbacks. Default: the system.
    pub resolver: Resolver,
    /// Where the random part of pauses begins. Default: a random number.
    pub seed: u64,
}

impl Default for DeliveryConfig {
    fn default() -> Self {
        use std::hash::{BuildHasher, RandomState};
        DeliveryConfig {
            max_waiting: 1024,
            max_waiting_octets: 256 * 1024,
            max_total_octets: 24 * 1024 * 1024,
            max_in_flight: 2048,
            max_host_connections: 8,
            max_host_streams: 64,
            max_idle_connections: 1024,
            idle_timeout: Duration::from_secs(30),
            timeout: Duration::from_secs(5),
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(30),
            breaker_failures: 5,
            max_attempts: 10,
            is_http2_assumed: false,
            ca: None,
            quota: None,
            callbacks: CallbackPolicy::default(),
            resolver: Resolver::default(),
            seed: RandomState::new().hash_one(0),
        }
    }
}
