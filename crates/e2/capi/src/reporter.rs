//! The way of reports from a real-time thread to the agent: a ring of octets with one writer.

use std::mem::size_of;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ferric::agent::AgentWaker;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::function::{FUNCTIONS, ferric_function, ferric_subscription};
use crate::handle::Table;
use crate::input::{octets, result};
use crate::status::{
    FERRIC_ERROR_ARGUMENT, FERRIC_ERROR_BUSY, FERRIC_ERROR_FULL, FERRIC_ERROR_HANDLE, FERRIC_ERROR_LIMIT, Failure,
    ferric_error, guard, guard_real_time,
};

/// The most octets of a ring.
pub const FERRIC_REPORTER_MAX_OCTETS: usize = 64 * 1024 * 1024;
/// The fewest octets of a ring.
pub const FERRIC_REPORTER_MIN_OCTETS: usize = 4096;
/// The most reporters of a RAN function.
pub const FERRIC_MAX_REPORTERS: usize = 64;

/// What precedes header and message of a report in a ring.
#[derive(Clone, Copy)]
struct Head {
    subscription: ferric_subscription,
    action: u8,
    header: u32,
    message: u32,
}

const HEAD_OCTETS: usize = size_of::<u64>() + 2 * size_of::<u16>() + 1 + 2 * size_of::<u32>();

impl Head {
    fn to_octets(self) -> [u8; HEAD_OCTETS] {
        let mut octets = [0; HEAD_OCTETS];
        octets[..8].copy_from_slice(&self.subscription.controller.to_ne_bytes());
        octets[8..10].copy_from_slice(&self.subscription.requestor.to_ne_bytes());
        octets[10..12].copy_from_slice(&self.subscription.instance.to_ne_bytes());
        octets[12] = self.action;
        octets[13..17].copy_from_slice(&self.header.to_ne_bytes());
        octets[17..].copy_from_slice(&self.message.to_ne_bytes());
        octets
    }

    fn from_octets(octets: [u8; HEAD_OCTETS]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, action, m, n, o, p, q, r, s, t] = octets;
        Head {
            subscription: ferric_subscription {
                controller: u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
                requestor: u16::from_ne_bytes([i, j]),
                instance: u16::from_ne_bytes([k, l]),
            },
            action,
            header: u32::from_ne_bytes([m, n, o, p]),
            message: u32::from_ne_bytes([q, r, s, t]),
        }
    }
}

/// Wakes the agent once for any number of reports.
pub(crate) struct Signal {
    is_set: AtomicBool,
    waker: AgentWaker,
}

impl Signal {
    pub fn new(waker: AgentWaker) -> Self {
        Signal { is_set: AtomicBool::new(false), waker }
    }

    pub fn set(&self) {
        if !self.is_set.swap(true, Ordering::AcqRel) {
            self.waker.wake();
        }
    }

    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Marks that more reports wait. For the agent's thread, which looks again before it sleeps.
    pub fn set_again(&self) {
        self.is_set.store(true, Ordering::Release);
    }

    pub fn clear(&self) {
        self.is_set.store(false, Ordering::Release);
    }
}

/// The writing end of a ring.
pub(crate) struct Reporter {
    producer: Mutex<Producer<u8>>,
    signal: Arc<Signal>,
    dropped: AtomicU64,
}

pub(crate) static REPORTERS: Table<Reporter> = Table::new(3);

/// Copies parts, one after the other, into a place that consists of two slices.
fn fill(first: &mut [u8], second: &mut [u8], parts: [&[u8]; 3]) {
    let mut at = 0;
    for part in parts {
        let (in_first, in_second) = part.split_at(first.len().saturating_sub(at).min(part.len()));
        if !in_first.is_empty() {
            first[at..at + in_first.len()].copy_from_slice(in_first);
        }
        at += part.len();
        if !in_second.is_empty() {
            let end = at - first.len();
            second[end - in_second.len()..end].copy_from_slice(in_second);
        }
    }
}

impl Reporter {
    fn write(&self, head: Head, header: &[u8], message: &[u8]) -> Result<(), Failure> {
        let mut producer = match self.producer.try_lock() {
            Ok(producer) => producer,
            Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(std::sync::TryLockError::WouldBlock) => return Err(Failure::code(FERRIC_ERROR_BUSY)),
        };
        let head = head.to_octets();
        let length = HEAD_OCTETS + header.len() + message.len();
        let Ok(mut chunk) = producer.write_chunk(length) else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            // the agent may not have seen what fills the ring
            self.signal.set();
            return Err(Failure::code(FERRIC_ERROR_FULL));
        };
        let (first, second) = chunk.as_mut_slices();
        fill(first, second, [&head, header, message]);
        chunk.commit_all();
        self.signal.set();
        Ok(())
    }
}

/// The reading end of a ring.
pub(crate) struct Reports {
    consumer: Consumer<u8>,
    /// The octets of a report that lies at the end and at the start of the ring.
    joined: Vec<u8>,
}

impl Reports {
    /// Passes reports to `send`, about `octets` of them. Returns whether the ring is empty.
    pub fn drain(&mut self, octets: usize, mut send: impl FnMut(ferric_subscription, u8, &[u8], &[u8])) -> bool {
        let mut used = 0;
        while used < octets {
            let Ok(chunk) = self.consumer.read_chunk(HEAD_OCTETS) else { return true };
            let mut head = [0; HEAD_OCTETS];
            let (first, second) = chunk.as_slices();
            head[..first.len()].copy_from_slice(first);
            head[first.len()..].copy_from_slice(second);
            chunk.commit_all();
            let head = Head::from_octets(head);
            // the writer publishes a report as a whole
            let Ok(chunk) = self.consumer.read_chunk((head.header + head.message) as usize) else { return true };
            let (first, second) = chunk.as_slices();
            let content = if second.is_empty() {
                first
            } else {
                self.joined.clear();
                self.joined.extend_from_slice(first);
                self.joined.extend_from_slice(second);
                &self.joined
            };
            let (header, message) = content.split_at(head.header as usize);
            send(head.subscription, head.action, header, message);
            used += content.len() + HEAD_OCTETS;
            chunk.commit_all();
        }
        false
    }
}

/// The reporter of a RAN function: one for each thread that reports.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_reporter {
    /// The number of the object; 0 is none.
    pub id: u64,
}

/// Creates a reporter with a ring of `ring_octets` octets, FERRIC_REPORTER_MIN_OCTETS to FERRIC_REPORTER_MAX_OCTETS. Each thread
/// that reports has its own. All memory is allocated here.
///
/// # Safety
/// `out` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_reporter_new(
    function: ferric_function,
    ring_octets: usize,
    out: *mut ferric_reporter,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer
        let out = unsafe { result(out, "out") }?;
        if !(FERRIC_REPORTER_MIN_OCTETS..=FERRIC_REPORTER_MAX_OCTETS).contains(&ring_octets) {
            return Err(Failure::argument(
                "ring_octets",
                format_args!(
                    "ring_octets {ring_octets} is not in {FERRIC_REPORTER_MIN_OCTETS} to {FERRIC_REPORTER_MAX_OCTETS}"
                ),
            ));
        }
        let function = FUNCTIONS.get(function.id)?;
        let function = &function.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.object;
        let mut rings = function.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.retain(|reports: &Reports| !reports.consumer.is_abandoned() || !reports.consumer.is_empty());
        if rings.len() >= FERRIC_MAX_REPORTERS {
            let text = format_args!("the function has {FERRIC_MAX_REPORTERS} reporters: free some");
            return Err(Failure::new(FERRIC_ERROR_LIMIT, text));
        }
        let (producer, consumer) = RingBuffer::new(ring_octets);
        let signal = Arc::clone(&function.signal);
        let reporter = Reporter { producer: Mutex::new(producer), signal, dropped: AtomicU64::new(0) };
        *out = ferric_reporter { id: REPORTERS.insert(reporter)? };
        rings.push(Reports { consumer, joined: Vec::new() });
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Reports: the agent sends an indication for an action of a subscription. For real-time threads: the octets are copied into the
/// ring. Reports of one thread keep their order. Without room the report is dropped and counted (FERRIC_ERROR_FULL). Reports of
/// subscriptions that have ended are discarded by the agent.
///
/// # Safety
/// `header` and `message` are valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_report(
    reporter: ferric_reporter,
    subscription: ferric_subscription,
    action: u8,
    header: *const u8,
    header_octets: usize,
    message: *const u8,
    message_octets: usize,
) -> i32 {
    guard_real_time(|| {
        // a ring is smaller, and the sum of both has 32 bits
        let length = |octets: usize| u32::try_from(octets).ok().filter(|octets| *octets <= 1 << 30);
        let (Some(header_length), Some(message_length)) = (length(header_octets), length(message_octets)) else {
            return Err(Failure::code(FERRIC_ERROR_ARGUMENT));
        };
        let head = Head { subscription, action, header: header_length, message: message_length };
        if (header.is_null() && header_octets > 0) || (message.is_null() && message_octets > 0) {
            return Err(Failure::code(crate::status::FERRIC_ERROR_NULL));
        }
        // SAFETY: the caller passes octets of these lengths
        let (header, message) =
            unsafe { (octets(header, header_octets, "header")?, octets(message, message_octets, "message")?) };
        let reporter = REPORTERS.get(reporter.id)?;
        reporter.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.object.write(head, header, message)
    })
}

/// Returns the number of reports that were dropped because the ring had no room; 0 for a handle that names no reporter.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_reporter_dropped(reporter: ferric_reporter) -> u64 {
    let reporter = REPORTERS.get(reporter.id);
    let count = |entry: &Arc<crate::handle::Entry<Reporter>>| entry.object.dropped.load(Ordering::Relaxed);
    reporter.ok().and_then(|reporter| reporter.as_ref().map(count)).unwrap_or(0)
}

/// Frees a reporter. What is in its ring is sent.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_reporter_free(reporter: ferric_reporter) -> i32 {
    guard_real_time(|| REPORTERS.remove(reporter.id).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_survives_its_octets() {
        let subscription = ferric_subscription { controller: 1 << 60 | 7, requestor: 1021, instance: 65_535 };
        let head = Head { subscription, action: 255, header: 3, message: 1 << 30 };
        let read = Head::from_octets(head.to_octets());
        assert_eq!((read.subscription.controller, read.subscription.requestor), (1 << 60 | 7, 1021));
        assert_eq!((read.subscription.instance, read.action, read.header, read.message), (65_535, 255, 3, 1 << 30));
    }

    #[test]
    fn parts_are_copied_across_the_end_of_the_ring() {
        let (mut first, mut second) = ([0; 3], [0; 4]);
        fill(&mut first, &mut second, [&[1, 2], &[3, 4, 5], &[6, 7]]);
        assert_eq!((first, second), ([1, 2, 3], [4, 5, 6, 7]));
    }
}
