//! How much waits in the outbox of an xApp on a worker, for the main loop.

use std::sync::atomic::{AtomicU64, Ordering};

/// Written by the worker after each write to the link, read by the main loop.
#[derive(Debug, Default)]
pub(crate) struct OutboxLevel {
    queued_octets: AtomicU64,
    dropped_reports: AtomicU64,
}

impl OutboxLevel {
    pub fn set(&self, queued_octets: usize, dropped_reports: u64) {
        self.queued_octets.store(queued_octets as u64, Ordering::Relaxed);
        self.dropped_reports.store(dropped_reports, Ordering::Relaxed);
    }

    /// Returns the octets that wait, and the reports that were dropped.
    pub fn get(&self) -> (u64, u64) {
        (self.queued_octets.load(Ordering::Relaxed), self.dropped_reports.load(Ordering::Relaxed))
    }
}
