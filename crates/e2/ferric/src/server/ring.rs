//! A single-producer, single-consumer ring buffer of octets between two loops, without locks.
//!
//! A record consists of a header of fixed size and a payload. It is copied into the ring once and read in place. A
//! payload that would take too much of the ring, or that is no octets (a link that moves to another loop), is a parcel
//! in a queue beside the ring; its header keeps its place in the ring, so that there is one order.
//!
//! Nothing blocks here. A writer that finds no room returns that, and its caller decides whether to drop, keep or
//! wait. A sleeping reader is woken by a doorbell, which is rung only while it sleeps.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::mpsc;

use e2::{AssocId, CloseReason, SubscriptionId};
use e2ap::Codec;
use link::{Class, Link, LinkObserver, Poll, Waker};
use rtrb::{Consumer, Producer, RingBuffer};

use super::OutboxLevel;

/// The capacity of a ring: what one loop writes before the other's next iteration.
const RING_OCTETS: usize = 1024 * 1024;
/// A longer payload is a parcel.
const LONGEST_INSIDE: usize = RING_OCTETS / 8;
/// The limit for the payloads in parcels of a ring together; a single one may exceed it.
const BESIDE_OCTETS: usize = 4 * 1024 * 1024;
/// The room that reports leave for records that must not be dropped.
const RESERVE_OCTETS: usize = RING_OCTETS / 4;

/// The kind of a record, with its fixed fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordHeader {
    /// To a worker: take over the link in the parcel.
    Adopt(AssocId),
    /// To a worker: send the payload to this peer. It must not be dropped.
    Send(AssocId),
    /// To a worker: report when at most so many octets that must not be dropped are queued for this peer.
    RequestRoom(AssocId, u64),
    /// To a worker: find out whether the peer of this link is still there.
    Probe(AssocId),
    /// To a worker: pass the PDUs of this link to the observer in the parcel too; without a parcel, to none any more.
    Watch(AssocId),
    /// To a worker: write what is queued, and close.
    Close(AssocId),
    /// To a worker: return this link.
    Return(AssocId),
    /// To a worker: deliver the payload, an enveloped indication, to the xApps with the subscription. Between workers,
    /// with the number of records that the sender had sent to the main loop.
    Deliver(SubscriptionId, Class, u64),
    /// To a worker: what follows is ordered after all that another worker wrote to it before it sent so many records
    /// to the main loop.
    OrderAfter(u64, u64),
    /// To a worker: so many reports of the subscription found no room in the ring.
    Missed(SubscriptionId, u64),
    /// To the main loop: this peer sent the payload.
    Received(AssocId),
    /// To the main loop: this link is closed.
    Lost(AssocId, CloseReason),
    /// To the main loop: the link in the parcel, which it has asked for. Nothing of it follows.
    Returned(AssocId),
    /// To the main loop: so many octets that must not be dropped are queued for this peer, few enough.
    HasRoom(AssocId, u64),
}

const HEADER_OCTETS: usize = 24;

/// The reasons for which a worker closes a link.
const REASONS: [CloseReason; 3] = [CloseReason::Transport, CloseReason::Misbehaved, CloseReason::Overflow];

impl RecordHeader {
    fn encode(self, payload_octets: usize, beside: bool) -> [u8; HEADER_OCTETS] {
        let (kind, a, b): (u8, u64, u64) = match self {
            RecordHeader::Adopt(assoc) => (1, assoc.0, 0),
            RecordHeader::Send(assoc) => (2, assoc.0, 0),
            RecordHeader::RequestRoom(assoc, octets) => (3, assoc.0, octets),
            RecordHeader::Close(assoc) => (4, assoc.0, 0),
            RecordHeader::Deliver(subscription, Class::Report, sent_up) => (5, subscription.0.into(), sent_up),
            RecordHeader::Deliver(subscription, Class::Keep, sent_up) => (6, subscription.0.into(), sent_up),
            RecordHeader::Missed(subscription, reports) => (7, subscription.0.into(), reports),
            RecordHeader::Received(assoc) => (8, assoc.0, 0),
            RecordHeader::Lost(assoc, reason) => {
                let at = REASONS.iter().position(|known| *known == reason);
                (9, assoc.0, at.expect("workers close links for these reasons only") as u64)
            }
            RecordHeader::HasRoom(assoc, octets) => (10, assoc.0, octets),
            RecordHeader::Probe(assoc) => (12, assoc.0, 0),
            RecordHeader::Watch(assoc) => (13, assoc.0, 0),
            RecordHeader::OrderAfter(event_loop, sent_up) => (11, event_loop, sent_up),
            RecordHeader::Return(assoc) => (14, assoc.0, 0),
            RecordHeader::Returned(assoc) => (15, assoc.0, 0),
        };
        let mut head = [0; HEADER_OCTETS];
        head[0] = kind;
        head[1] = beside.into();
        head[4..8].copy_from_slice(&(payload_octets as u32).to_ne_bytes()); // inside the ring: far below 4 GiB
        head[8..16].copy_from_slice(&a.to_ne_bytes());
        head[16..24].copy_from_slice(&b.to_ne_bytes());
        head
    }

    /// Returns the header, the length of the payload that follows, and whether a parcel belongs to it.
    fn decode(head: [u8; HEADER_OCTETS]) -> (RecordHeader, usize, bool) {
        let [kind, beside, _, _, l0, l1, l2, l3, a @ .., b0, b1, b2, b3, b4, b5, b6, b7] = head;
        let (a, b) = (u64::from_ne_bytes(a), u64::from_ne_bytes([b0, b1, b2, b3, b4, b5, b6, b7]));
        let (assoc, subscription) = (AssocId(a), SubscriptionId(a as u32));
        let head = match kind {
            1 => RecordHeader::Adopt(assoc),
            2 => RecordHeader::Send(assoc),
            3 => RecordHeader::RequestRoom(assoc, b),
            4 => RecordHeader::Close(assoc),
            5 => RecordHeader::Deliver(subscription, Class::Report, b),
            6 => RecordHeader::Deliver(subscription, Class::Keep, b),
            7 => RecordHeader::Missed(subscription, b),
            8 => RecordHeader::Received(assoc),
            9 => RecordHeader::Lost(assoc, REASONS[b as usize]),
            10 => RecordHeader::HasRoom(assoc, b),
            11 => RecordHeader::OrderAfter(a, b),
            12 => RecordHeader::Probe(assoc),
            13 => RecordHeader::Watch(assoc),
            14 => RecordHeader::Return(assoc),
            15 => RecordHeader::Returned(assoc),
            other => unreachable!("unknown record kind {other}: rings carry only encoded headers"),
        };
        (head, u32::from_ne_bytes([l0, l1, l2, l3]) as usize, beside != 0)
    }
}

/// A link that moves to another loop.
pub(super) struct Moved {
    pub link: Link,
    /// The encoding of E2AP, for a node.
    pub codec: Codec,
    /// Where the worker states what waits for an xApp.
    pub level: Arc<OutboxLevel>,
}

/// What is carried beside a ring.
enum Parcel {
    Link(Box<Moved>),
    Observer(Arc<dyn LinkObserver>),
    Payload(Vec<u8>),
}

/// Wakes a sleeping loop.
pub(super) struct Doorbell {
    asleep: AtomicBool,
    waker: Waker,
}

impl Doorbell {
    /// Creates the doorbell of the loop that waits with `poll`, which reports it as `token`.
    pub fn new(poll: &Poll, token: u64) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Doorbell { asleep: AtomicBool::new(false), waker: Waker::new(poll, token)? }))
    }

    /// Announces that the loop is about to sleep. The loop must check once more for records: those that were written
    /// before this call may not have rung.
    pub fn begin_sleep(&self) {
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Announces that the loop is awake.
    pub fn end_sleep(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Wakes the loop if it sleeps. The loop sees what was written before, now or in its check before the sleep.
    pub fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed) {
            self.waker.wake();
        }
    }

    /// Wakes the loop in any case.
    pub fn wake(&self) {
        self.waker.wake();
    }
}

/// The writing end of a ring.
pub(super) struct Writer {
    ring: Producer<u8>,
    parcels: mpsc::Sender<Parcel>,
    /// The octets of payloads in parcels.
    beside_octets: Arc<AtomicUsize>,
    bell: Arc<Doorbell>,
    /// Whether a record was written since the doorbell was last rung.
    has_unsignalled: bool,
}

/// The reading end of a ring.
pub(super) struct Reader {
    ring: Consumer<u8>,
    parcels: mpsc::Receiver<Parcel>,
    beside_octets: Arc<AtomicUsize>,
    /// The octets that were read since the ring was created.
    position: u64,
}

/// Creates a ring to the loop of `bell`.
pub(super) fn ring(bell: &Arc<Doorbell>) -> (Writer, Reader) {
    let (producer, consumer) = RingBuffer::new(RING_OCTETS);
    let (sender, receiver) = mpsc::channel();
    let beside_octets = Arc::new(AtomicUsize::new(0));
    (
        Writer {
            ring: producer,
            parcels: sender,
            beside_octets: beside_octets.clone(),
            bell: bell.clone(),
            has_unsignalled: false,
        },
        Reader { ring: consumer, parcels: receiver, beside_octets, position: 0 },
    )
}

impl Writer {
    /// Writes a record with the payload `parts`. Returns `false` if there is no room.
    #[inline]
    pub fn write(&mut self, head: RecordHeader, parts: &[&[u8]]) -> bool {
        self.write_leaving(0, head, parts)
    }

    /// Writes a record as [`Writer::write`] does, but leaves room for records that must not be dropped.
    #[inline]
    pub fn write_report(&mut self, head: RecordHeader, parts: &[&[u8]]) -> bool {
        self.write_leaving(RESERVE_OCTETS, head, parts)
    }

    fn write_leaving(&mut self, free_octets: usize, head: RecordHeader, parts: &[&[u8]]) -> bool {
        let octets: usize = parts.iter().map(|part| part.len()).sum();
        if octets > LONGEST_INSIDE {
            return self.write_beside(free_octets, head, parts, octets);
        }
        if self.room() < HEADER_OCTETS + octets + free_octets {
            return false;
        }
        self.put(&head.encode(octets, false));
        for part in parts {
            self.put(part);
        }
        self.has_unsignalled = true;
        true
    }

    fn write_beside(&mut self, free_octets: usize, head: RecordHeader, parts: &[&[u8]], octets: usize) -> bool {
        let waiting = self.beside_octets.load(Ordering::Relaxed);
        if (waiting > 0 && waiting + octets > BESIDE_OCTETS) || self.room() < HEADER_OCTETS + free_octets {
            return false;
        }
        self.beside_octets.fetch_add(octets, Ordering::Relaxed);
        self.put_parcel(head, Parcel::Payload(parts.concat()));
        true
    }

    /// Writes a record that moves a link; returns the link if there is no room.
    pub fn write_link(&mut self, head: RecordHeader, link: Box<Moved>) -> Result<(), Box<Moved>> {
        if self.room() < HEADER_OCTETS {
            return Err(link);
        }
        self.put_parcel(head, Parcel::Link(link));
        Ok(())
    }

    /// Writes a record with an observer. Returns `false` if there is no room.
    pub fn write_observer(&mut self, head: RecordHeader, observer: &Arc<dyn LinkObserver>) -> bool {
        if self.room() < HEADER_OCTETS {
            return false;
        }
        self.put_parcel(head, Parcel::Observer(observer.clone()));
        true
    }

    fn put_parcel(&mut self, head: RecordHeader, parcel: Parcel) {
        // without a reader, neither is read
        let _ = self.parcels.send(parcel);
        self.put(&head.encode(0, true));
        self.has_unsignalled = true;
    }

    fn room(&self) -> usize {
        // the shared index is read only if the cached one is not enough
        match self.ring.cached_slots() {
            plenty if plenty > LONGEST_INSIDE + HEADER_OCTETS + RESERVE_OCTETS => plenty,
            _ => self.ring.slots(),
        }
    }

    fn put(&mut self, octets: &[u8]) {
        self.ring.push_entire_slice(octets).expect("the room was checked before");
    }

    /// Wakes the reader if it sleeps and records were written since the previous call.
    #[inline]
    pub fn ring_bell(&mut self) {
        if std::mem::take(&mut self.has_unsignalled) {
            self.bell.ring();
        }
    }

    /// Returns whether the reader is gone.
    pub fn is_abandoned(&self) -> bool {
        self.ring.is_abandoned()
    }
}

/// A record that is read.
pub(super) struct Record<'a> {
    pub head: RecordHeader,
    /// In two parts if it wraps around the end of the ring.
    pub payload: [&'a [u8]; 2],
    /// The link, for a record that moves one.
    pub link: Option<Box<Moved>>,
    /// The observer, for a record that begins a watch.
    pub observer: Option<Arc<dyn LinkObserver>>,
}

impl<'a> Record<'a> {
    /// Returns the payload in one part, joined in `joined` if necessary.
    pub fn whole(&self, joined: &'a mut Vec<u8>) -> &'a [u8] {
        match self.payload {
            [whole, []] | [[], whole] => whole,
            [first, second] => {
                joined.clear();
                joined.extend_from_slice(first);
                joined.extend_from_slice(second);
                joined
            }
        }
    }
}

impl Reader {
    /// Returns whether there are unread records.
    pub fn has_records(&self) -> bool {
        self.ring.slots() > 0
    }

    /// Returns the position up to which the ring is written.
    pub fn end(&self) -> u64 {
        self.position + self.ring.slots() as u64
    }

    /// Reads the complete records before `end`, in order, until `goes_on` returns `false`.
    pub fn read(&mut self, end: u64, mut goes_on: impl FnMut(RecordHeader) -> bool, mut take: impl FnMut(Record<'_>)) {
        let octets = end.saturating_sub(self.position) as usize; // limited by the ring's capacity
        let Reader { ring, parcels, beside_octets, position } = self;
        let Ok(chunk) = ring.read_chunk(octets) else { unreachable!("no more is read than was written") };
        let (first, second) = chunk.as_slices();
        let slices = |from: usize, to: usize| -> [&[u8]; 2] {
            let split = first.len();
            [&first[from.min(split)..to.min(split)], &second[from.max(split) - split..to.max(split) - split]]
        };
        let mut at = 0;
        while at + HEADER_OCTETS <= octets {
            let [a, b] = slices(at, at + HEADER_OCTETS);
            let mut head = [0; HEADER_OCTETS];
            head[..a.len()].copy_from_slice(a);
            head[a.len()..].copy_from_slice(b);
            let (head, payload_octets, beside) = RecordHeader::decode(head);
            let end = at + HEADER_OCTETS + payload_octets;
            // the writer has not finished the record
            if end > octets || !goes_on(head) {
                break;
            }
            let payload = slices(at + HEADER_OCTETS, end);
            match beside.then(|| parcels.try_recv().expect("parcels are sent before their headers")) {
                None => take(Record { head, payload, link: None, observer: None }),
                Some(Parcel::Link(link)) => take(Record { head, payload, link: Some(link), observer: None }),
                Some(Parcel::Observer(of)) => take(Record { head, payload, link: None, observer: Some(of) }),
                Some(Parcel::Payload(payload)) => {
                    take(Record { head, payload: [&payload, &[]], link: None, observer: None });
                    beside_octets.fetch_sub(payload.len(), Ordering::Relaxed);
                }
            }
            at = end;
        }
        chunk.commit(at);
        *position += at as u64;
    }
}

#[cfg(test)]
mod tests;
