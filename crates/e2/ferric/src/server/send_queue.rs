//! The rings to other loops: to workers with xApps, and from a worker to the main loop.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use e2::SubscriptionId;
use link::Class;

use super::ring::{Doorbell, Moved, RecordHeader, Writer};

/// A ring to a loop with xApps. Reports that find no room are dropped, counted, and reported as missed once there is
/// room.
pub(super) struct SendQueue {
    pub writer: Writer,
    missed: HashMap<SubscriptionId, u64>,
}

impl SendQueue {
    pub fn new(writer: Writer) -> Self {
        SendQueue { writer, missed: HashMap::new() }
    }

    /// Sends an enveloped report to the loop's xApps with the subscription, after `sent_up` records to the main loop.
    #[inline]
    pub fn report(&mut self, subscription: SubscriptionId, sent_up: u64, parts: &[&[u8]]) {
        if !self.writer.write_report(RecordHeader::Deliver(subscription, Class::Report, sent_up), parts) {
            *self.missed.entry(subscription).or_default() += 1;
        }
    }

    /// Sends the numbers of missed reports as far as there is room. Returns whether all are sent.
    #[inline]
    pub fn report_missed(&mut self) -> bool {
        if !self.missed.is_empty() {
            let writer = &mut self.writer;
            self.missed
                .retain(|subscription, reports| !writer.write(RecordHeader::Missed(*subscription, *reports), &[]));
        }
        self.missed.is_empty()
    }
}

/// The progress of the main loop with the records of a worker.
#[derive(Default)]
pub(super) struct Progress {
    /// The records that were read and whose consequences are written.
    done: AtomicU64,
    /// Whether the worker waits for progress.
    awaited: AtomicBool,
}

impl Progress {
    /// Called by the main loop when so many records are done.
    pub fn set_done(&self, records: u64, worker: &Doorbell) {
        self.done.store(records, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.awaited.load(Ordering::Relaxed) && self.awaited.swap(false, Ordering::Relaxed) {
            worker.ring();
        }
    }
}

/// The most octets that a worker keeps while its ring to the main loop is full; beyond it, the worker suspends
/// reading.
const MAX_QUEUED_OCTETS: usize = 4 * 1024 * 1024;

/// What a queued record carries.
enum Queued {
    Payload(Vec<u8>),
    Link(Box<Moved>),
}

/// The memory for the entry of a queued record, beside its payload.
const ENTRY_OCTETS: usize = size_of::<(RecordHeader, Queued)>();

/// A worker's ring to the main loop. Nothing is dropped: a record that finds no room is queued here, and reading from its
/// links is suspended until it is written.
pub(super) struct WorkerOutbox {
    pub writer: Writer,
    queued: VecDeque<(RecordHeader, Queued)>,
    queued_octets: usize,
    /// The records that were sent, queued ones included.
    sent: u64,
    progress: Arc<Progress>,
    /// The records that this worker knows to be done, as of its previous read of the main loop's ring.
    done: u64,
}

impl WorkerOutbox {
    pub fn new(writer: Writer, progress: Arc<Progress>) -> Self {
        WorkerOutbox { writer, queued: VecDeque::new(), queued_octets: 0, sent: 0, progress, done: 0 }
    }

    /// Sends a record and returns its number.
    pub fn send(&mut self, head: RecordHeader, parts: &[&[u8]]) -> u64 {
        self.sent += 1;
        if !self.queued.is_empty() || !self.writer.write(head, parts) {
            let payload = parts.concat();
            self.queued_octets += payload.len() + ENTRY_OCTETS;
            self.queued.push_back((head, Queued::Payload(payload)));
        }
        self.sent
    }

    /// Sends a record that moves a link.
    pub fn send_link(&mut self, head: RecordHeader, link: Box<Moved>) {
        self.sent += 1;
        let unsent = if self.queued.is_empty() { self.writer.write_link(head, link).err() } else { Some(link) };
        if let Some(link) = unsent {
            self.queued_octets += ENTRY_OCTETS;
            self.queued.push_back((head, Queued::Link(link)));
        }
    }

    /// Returns the number of records that were sent.
    #[inline]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Updates the progress of the main loop. To be called before the main loop's ring is read and before anything is
    /// routed by it: the consequences of a record that is done must not be overtaken.
    pub fn update_progress(&mut self) {
        self.done = self.progress.done.load(Ordering::Acquire);
        while let Some((head, queued)) = self.queued.pop_front() {
            let (octets, unsent) = match queued {
                Queued::Payload(payload) => {
                    let octets = payload.len();
                    (octets, (!self.writer.write(head, &[&payload])).then_some(Queued::Payload(payload)))
                }
                Queued::Link(link) => (0, self.writer.write_link(head, link).err().map(Queued::Link)),
            };
            if let Some(queued) = unsent {
                self.queued.push_front((head, queued));
                return;
            }
            self.queued_octets -= octets + ENTRY_OCTETS;
        }
    }

    /// Returns whether all consequences of a record were read.
    #[inline]
    pub fn is_done(&self, record: u64) -> bool {
        record <= self.done
    }

    /// Returns whether a record still waits for room in the ring.
    #[inline]
    pub fn is_queued(&self, record: u64) -> bool {
        record > self.sent - self.queued.len() as u64
    }

    /// Returns whether reading from all links is to be suspended.
    #[inline]
    pub fn is_over_limit(&self) -> bool {
        self.queued_octets > MAX_QUEUED_OCTETS
    }

    /// Has the doorbell rung upon progress if there is something to wait for. To be followed by
    /// [`Doorbell::begin_sleep`] and [`WorkerOutbox::has_progress`].
    pub fn await_progress(&self, paused: bool) {
        if paused || !self.queued.is_empty() {
            self.progress.awaited.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether more records are done than this worker knows.
    pub fn has_progress(&self) -> bool {
        self.progress.done.load(Ordering::Acquire) != self.done
    }
}

#[cfg(test)]
mod tests {
    use e2::AssocId;
    use link::Poll;

    use super::super::ring::{Reader, ring};
    use super::*;

    fn read(reader: &mut Reader) -> Vec<RecordHeader> {
        let mut heads = Vec::new();
        reader.read(reader.end(), |_| true, |record| heads.push(record.head));
        heads
    }

    #[test]
    fn dropped_reports_are_counted_and_reported_once_there_is_room() {
        let poll = Poll::new().unwrap();
        let (writer, mut reader) = ring(&Doorbell::new(&poll, 0).unwrap());
        let mut queue = SendQueue::new(writer);
        let (a, b) = (SubscriptionId(1), SubscriptionId(2));
        for _ in 0..2000 {
            queue.report(a, 0, &[&[0; 1000]]);
        }
        queue.report(b, 0, &[&[0; 1000]]);
        assert!(queue.report_missed(), "the reserve of the ring is for such records");
        let heads = read(&mut reader);
        let delivered = heads.iter().filter(|head| **head == RecordHeader::Deliver(a, Class::Report, 0)).count() as u64;
        assert!(delivered > 500, "{delivered}");
        let mut missed: Vec<_> = heads[delivered as usize..].to_vec();
        missed.sort_by_key(|head| format!("{head:?}"));
        assert_eq!(missed, [RecordHeader::Missed(a, 2000 - delivered), RecordHeader::Missed(b, 1)]);
        assert!(queue.report_missed());
        assert_eq!(read(&mut reader), [], "reported once");
    }

    #[test]
    fn records_to_main_loop_wait_for_room_and_keep_their_order() {
        const RECORDS: u64 = 3000;
        let poll = Poll::new().unwrap();
        let bell = Doorbell::new(&poll, 0).unwrap();
        let (writer, mut reader) = ring(&bell);
        let progress = Arc::new(Progress::default());
        let mut up = WorkerOutbox::new(writer, progress.clone());
        for number in 1..=RECORDS {
            assert_eq!(up.send(RecordHeader::Received(AssocId(number)), &[&[0; 1000], b"rest"]), number);
        }
        assert!(!up.is_queued(1) && up.is_queued(RECORDS) && !up.is_over_limit());
        let mut done = 0;
        while done < RECORDS {
            assert!(!up.is_done(done + 1));
            for head in read(&mut reader) {
                done += 1;
                assert_eq!(head, RecordHeader::Received(AssocId(done)));
            }
            assert!(!up.has_progress(), "a record that is only read is not done");
            progress.set_done(done, &bell);
            assert!(up.has_progress());
            assert!(!up.is_done(done), "progress counts after `update_progress`");
            up.update_progress();
            assert!(up.is_done(done) && !up.is_done(done + 1));
        }
        assert!(!up.is_queued(RECORDS));
        for _ in 0..6000 {
            up.send(RecordHeader::Received(AssocId(0)), &[&[0; 1000]]);
        }
        assert!(up.is_over_limit(), "reading from links is suspended");
    }
}
