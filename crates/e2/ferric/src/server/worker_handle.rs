//! A worker as the main loop writes to it, and its thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use e2::AssocId;
use e2ap::Codec;
use link::{Link, LinkObserver};

use super::OutboxLevel;
use super::balance::LoopTime;
use super::counters::SharedCounters;
use super::indication_counts::LoopCounts;
use super::ring::{Doorbell, Moved, RecordHeader};
use super::send_queue::SendQueue;
use crate::Error;

/// The delay before another attempt to write into a full ring.
const FULL_RING: Duration = Duration::from_micros(50);

/// The main loop's handle of a worker.
pub(super) struct WorkerHandle {
    pub down: SendQueue,
    pub bell: Arc<Doorbell>,
    pub shared_counters: Arc<SharedCounters>,
    pub counts: LoopCounts,
    /// Its processor time.
    pub time: LoopTime,
    /// The number of links on the worker.
    pub nodes: usize,
    pub xapps: usize,
    /// Whether the thread has ended.
    pub ended: Arc<AtomicBool>,
    /// The number of records that were read from the worker, and for each other worker the number that this one was
    /// ordered after.
    pub last_record: u64,
    pub behind: Vec<u64>,
    pub thread: Option<JoinHandle<Result<(), Error>>>,
}

impl WorkerHandle {
    /// Writes a record that must not be dropped. A worker never waits for the main loop, so that it makes room.
    pub fn write(&mut self, head: RecordHeader, parts: &[&[u8]]) {
        while !self.down.writer.write(head, parts) {
            if self.down.writer.is_abandoned() {
                return; // the end of the worker is handled by `check`
            }
            self.down.writer.ring_bell();
            thread::sleep(FULL_RING);
        }
    }

    /// Moves a link to the worker.
    pub fn adopt(&mut self, assoc: AssocId, link: Link, codec: Codec, level: Arc<OutboxLevel>) {
        let mut link = Box::new(Moved { link, codec, level });
        while let Err(back) = self.down.writer.write_link(RecordHeader::Adopt(assoc), link) {
            if self.down.writer.is_abandoned() {
                return;
            }
            link = back;
            self.down.writer.ring_bell();
            thread::sleep(FULL_RING);
        }
    }

    /// Has the PDUs of a link passed to an observer, or to none any more.
    pub fn watch(&mut self, assoc: AssocId, observer: Option<&Arc<dyn LinkObserver>>) {
        let Some(observer) = observer else { return self.write(RecordHeader::Watch(assoc), &[]) };
        while !self.down.writer.write_observer(RecordHeader::Watch(assoc), observer) {
            if self.down.writer.is_abandoned() {
                return;
            }
            self.down.writer.ring_bell();
            thread::sleep(FULL_RING);
        }
    }

    pub fn load(&self) -> usize {
        self.nodes + self.xapps
    }
}

/// Reports the end of a worker's thread, however it ends.
pub(super) struct End {
    pub ended: Arc<AtomicBool>,
    pub owner: Arc<Doorbell>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        self.owner.wake();
    }
}
