//! One ring of bytes between two loops: a writer, a reader, no lock.
//!
//! A record is a head of fixed size and a payload. It is copied into the ring once and read in place. A payload that
//! would take too much of the ring, and what is no bytes at all (a link that moves to another loop), goes beside it in a
//! queue of parcels; its head keeps its place in the ring, so that there is one order.
//!
//! Nobody waits for room in here. A writer that finds none says so, and its caller knows whether to drop, to keep or to
//! wait. A reader that sleeps is woken by a doorbell, which is rung only if it does sleep.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::mpsc;

use e2::{AssocId, CloseReason, SubscriptionId};
use e2ap::Codec;
use link::{Class, Link, Poll, Waker};
use rtrb::{Consumer, Producer, RingBuffer};

/// What a ring holds. In it lies what one loop writes until the other's next turn.
const RING_OCTETS: usize = 1024 * 1024;
/// A longer payload goes beside the ring.
const LONGEST_INSIDE: usize = RING_OCTETS / 8;
/// Payloads beside a ring hold no more than this together, except a single one.
const BESIDE_OCTETS: usize = 4 * 1024 * 1024;
/// What reports leave free for what must not be dropped.
const RESERVE_OCTETS: usize = RING_OCTETS / 4;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordHeader {
    /// To a worker: the link in the parcel is yours.
    Adopt(AssocId),
    /// To a worker: send the payload to this peer. It must not be dropped.
    Send(AssocId),
    /// To a worker: say when no more than so many octets that must not be dropped wait for this xApp.
    RequestRoom(AssocId, u64),
    /// To a worker: write what waits, and close.
    Close(AssocId),
    /// To a worker: the payload, an enveloped indication, is for those of your xApps that take the subscription. From a
    /// worker, with how many records it had sent up by then.
    Deliver(SubscriptionId, Class, u64),
    /// To a worker: what follows comes behind all that another worker wrote to you before it sent so many records up.
    OrderAfter(u64, u64),
    /// To a worker: so many reports of the subscription found no room on their route to you.
    Missed(SubscriptionId, u64),
    /// To the owner: the payload came from this peer.
    Received(AssocId),
    /// To the owner: this link is gone.
    Lost(AssocId, CloseReason),
    /// To the owner: so many octets that must not be dropped wait for this xApp, few enough.
    HasRoom(AssocId, u64),
}

const HEADER_OCTETS: usize = 24;

/// The reasons for which a worker gives a link up.
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
                (9, assoc.0, at.expect("a worker gives links up for these reasons only") as u64)
            }
            RecordHeader::HasRoom(assoc, octets) => (10, assoc.0, octets),
            RecordHeader::OrderAfter(event_loop, sent_up) => (11, event_loop, sent_up),
        };
        let mut head = [0; HEADER_OCTETS];
        head[0] = kind;
        head[1] = beside.into();
        head[4..8].copy_from_slice(&(payload_octets as u32).to_ne_bytes()); // inside: far below 4 GiB
        head[8..16].copy_from_slice(&a.to_ne_bytes());
        head[16..24].copy_from_slice(&b.to_ne_bytes());
        head
    }

    /// The head, the octets of the payload behind it, and whether a parcel belongs to it.
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
            other => unreachable!("a ring carries what its writer wrote, not {other}"),
        };
        (head, u32::from_ne_bytes([l0, l1, l2, l3]) as usize, beside != 0)
    }
}

/// A link that moves to another loop.
pub(super) struct Moved {
    pub link: Link,
    /// How its peer speaks, where that is a node.
    pub codec: Codec,
}

/// What goes beside a ring.
enum Parcel {
    Link(Box<Moved>),
    Payload(Vec<u8>),
}

/// Wakes a loop that sleeps.
pub(super) struct Doorbell {
    asleep: AtomicBool,
    waker: Waker,
}

impl Doorbell {
    /// The bell of the loop that waits with `poll`, which reports it as `token`.
    pub fn new(poll: &Poll, token: u64) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Doorbell { asleep: AtomicBool::new(false), waker: Waker::new(poll, token)? }))
    }

    /// The loop is about to sleep. It must look once more whether there is something to do: what was written before this
    /// may not have been rung for.
    pub fn begin_sleep(&self) {
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The loop is awake.
    pub fn end_sleep(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Wakes the loop, if it sleeps. What was done before this is seen by it then, or was seen before it slept.
    pub fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed) {
            self.waker.wake();
        }
    }

    /// Wakes the loop, whatever it does.
    pub fn wake(&self) {
        self.waker.wake();
    }
}

/// The end of a ring that is written to.
pub(super) struct Writer {
    ring: Producer<u8>,
    parcels: mpsc::Sender<Parcel>,
    /// What lies beside the ring.
    beside_octets: Arc<AtomicUsize>,
    bell: Arc<Doorbell>,
    /// Whether something was written that was not rung for.
    has_unsignalled: bool,
}

/// The end of a ring that is read.
pub(super) struct Reader {
    ring: Consumer<u8>,
    parcels: mpsc::Receiver<Parcel>,
    beside_octets: Arc<AtomicUsize>,
    /// Octets that were read since the ring began.
    position: u64,
}

/// A ring towards the loop that `bell` wakes.
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
    /// Writes a record whose payload is `parts`. False where there is no room now.
    #[inline]
    pub fn write(&mut self, head: RecordHeader, parts: &[&[u8]]) -> bool {
        self.write_leaving(0, head, parts)
    }

    /// As [`Writer::write`], but leaves room for what must not be dropped.
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

    /// Writes a record that hands a link over; gives the link back where there is no room now.
    pub fn write_link(&mut self, head: RecordHeader, link: Box<Moved>) -> Result<(), Box<Moved>> {
        if self.room() < HEADER_OCTETS {
            return Err(link);
        }
        self.put_parcel(head, Parcel::Link(link));
        Ok(())
    }

    fn put_parcel(&mut self, head: RecordHeader, parcel: Parcel) {
        // a reader that is gone reads neither
        let _ = self.parcels.send(parcel);
        self.put(&head.encode(0, true));
        self.has_unsignalled = true;
    }

    fn room(&self) -> usize {
        // the other end is only asked where what is known does not do
        match self.ring.cached_slots() {
            plenty if plenty > LONGEST_INSIDE + HEADER_OCTETS + RESERVE_OCTETS => plenty,
            _ => self.ring.slots(),
        }
    }

    fn put(&mut self, octets: &[u8]) {
        self.ring.push_entire_slice(octets).expect("the room was looked at before");
    }

    /// Wakes the reader, if it sleeps and something was written since.
    #[inline]
    pub fn ring_bell(&mut self) {
        if std::mem::take(&mut self.has_unsignalled) {
            self.bell.ring();
        }
    }

    /// Whether nobody reads any more.
    pub fn is_abandoned(&self) -> bool {
        self.ring.is_abandoned()
    }
}

/// One record, as it is read.
pub(super) struct Record<'a> {
    pub head: RecordHeader,
    /// In two pieces, where it wraps around the ring's end.
    pub payload: [&'a [u8]; 2],
    /// The link that comes with it.
    pub link: Option<Box<Moved>>,
}

impl<'a> Record<'a> {
    /// The payload in one piece; `joined` is where it is put together if it is not.
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
    /// Whether something was written that was not read.
    pub fn has_records(&self) -> bool {
        self.ring.slots() > 0
    }

    /// How far the ring is written.
    pub fn end(&self) -> u64 {
        self.position + self.ring.slots() as u64
    }

    /// Reads the records that are whole before `end`, in order, unless and until `goes_on` does not want the next one.
    pub fn read(&mut self, end: u64, mut goes_on: impl FnMut(RecordHeader) -> bool, mut take: impl FnMut(Record<'_>)) {
        let octets = end.saturating_sub(self.position) as usize; // within the ring
        let Reader { ring, parcels, beside_octets, position } = self;
        let Ok(chunk) = ring.read_chunk(octets) else { unreachable!("no more is read than waits") };
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
            // the writer is at it, or not yet
            if end > octets || !goes_on(head) {
                break;
            }
            let payload = slices(at + HEADER_OCTETS, end);
            match beside.then(|| parcels.try_recv().expect("a parcel is sent before its record is written")) {
                None => take(Record { head, payload, link: None }),
                Some(Parcel::Link(link)) => take(Record { head, payload, link: Some(link) }),
                Some(Parcel::Payload(payload)) => {
                    take(Record { head, payload: [&payload, &[]], link: None });
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
