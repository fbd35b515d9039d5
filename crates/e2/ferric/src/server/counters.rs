//! What a server has counted since its start.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the start of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Indications that belong to a subscription.
    pub indications: u64,
    /// Deliveries of an indication to an app.
    pub deliveries: u64,
    /// Reports that were dropped because an xApp read too slowly.
    pub dropped_reports: u64,
    /// Indications of nodes that were not delivered: without an active subscription, before the setup, or malformed.
    pub stray_indications: u64,
    /// Answers of nodes that were dropped: late, repeated, malformed, or awaited by no request.
    pub stray_answers: u64,
    /// Moves of a node from a busy event loop to another one.
    pub moved_nodes: u64,
}

/// The counters of a worker, shared with the main loop.
#[derive(Default)]
pub(super) struct SharedCounters {
    indications: AtomicU64,
    deliveries: AtomicU64,
    dropped_reports: AtomicU64,
}

impl SharedCounters {
    pub fn set(&self, counters: &Counters) {
        self.indications.store(counters.indications, Ordering::Release);
        self.deliveries.store(counters.deliveries, Ordering::Release);
        self.dropped_reports.store(counters.dropped_reports, Ordering::Release);
    }

    pub fn add_to(&self, counters: &mut Counters) {
        counters.indications += self.indications.load(Ordering::Acquire);
        counters.deliveries += self.deliveries.load(Ordering::Acquire);
        counters.dropped_reports += self.dropped_reports.load(Ordering::Acquire);
    }
}
