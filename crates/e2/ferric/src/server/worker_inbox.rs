//! What the main loop reads from a worker.

use std::sync::Arc;

use super::receive::BUDGET_OCTETS;
use super::ring::{Doorbell, Moved, Reader, Record, RecordHeader};
use super::send_queue::Progress;

/// The records of a worker.
pub(super) struct WorkerInbox {
    pub reader: Reader,
    pub done: u64,
    pub progress: Arc<Progress>,
    pub bell: Arc<Doorbell>,
    pub event_loop: usize,
    pub joined: Vec<u8>,
}

impl WorkerInbox {
    /// Reads the records of the worker, up to the budget of an iteration. `take` gets the worker's number, the
    /// record's number, its header, its payload and its link.
    pub fn read(&mut self, mut take: impl FnMut(usize, u64, RecordHeader, &[u8], Option<Box<Moved>>)) {
        let WorkerInbox { reader, done, event_loop, joined, .. } = self;
        let mut budget_octets = BUDGET_OCTETS;
        let spent = std::cell::Cell::new(0);
        reader.read(
            reader.end(),
            |_| {
                budget_octets = budget_octets.saturating_sub(spent.take());
                budget_octets > 0
            },
            |mut record: Record<'_>| {
                *done += 1;
                let link = record.link.take();
                let payload = record.whole(joined);
                spent.set(payload.len() + 1);
                take(*event_loop, *done, record.head, payload, link);
            },
        );
    }

    /// Tells the worker that all consequences of the records that were read are written.
    pub fn publish_progress(&self) {
        self.progress.set_done(self.done, &self.bell);
    }
}
