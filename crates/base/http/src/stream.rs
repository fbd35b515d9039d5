//! Streams of events to a reader: a bounded queue between a thread that sends and the connection of the reader.
//!
//! A reader that is slower than the sender loses its own oldest events. It learns how many: before the next event it gets one of
//! kind `lost`.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Octets of events that may wait for a reader, beside the bound on their number.
const MAX_OCTETS: usize = 1024 * 1024;

/// An event of a stream. Clones share the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEvent {
    /// What it is: one word, such as `node_up`.
    pub kind: &'static str,
    /// JSON in one line.
    pub data: Arc<str>,
}

impl StreamEvent {
    /// An event with JSON.
    #[must_use]
    pub fn new(kind: &'static str, data: &serde_json::Value) -> Self {
        StreamEvent { kind, data: data.to_string().into() }
    }
}

/// What a reader gets next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Event(StreamEvent),
    /// Events were dropped, since the reader was too slow: since the last such notice, and altogether.
    Lost {
        events: u64,
        total: u64,
    },
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<StreamEvent>,
    octets: usize,
    lost: u64,
    lost_total: u64,
    waker: Option<Waker>,
    /// The reader is gone.
    is_closed: bool,
}

#[derive(Debug)]
struct Queue {
    max_events: usize,
    senders: AtomicUsize,
    state: Mutex<State>,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a stream whose reader may be `max_events` events behind.
pub(super) fn stream(max_events: usize) -> (StreamSender, StreamReceiver) {
    let queue =
        Arc::new(Queue { max_events: max_events.max(1), senders: AtomicUsize::new(1), state: Mutex::default() });
    (StreamSender(Arc::clone(&queue)), StreamReceiver(queue))
}

/// The sending end of a stream, for any thread. The stream ends when the last clone is dropped.
pub struct StreamSender(Arc<Queue>);

impl fmt::Debug for StreamSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamSender").finish_non_exhaustive()
    }
}

impl Clone for StreamSender {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, Ordering::Relaxed);
        StreamSender(Arc::clone(&self.0))
    }
}

impl Drop for StreamSender {
    fn drop(&mut self) {
        if self.0.senders.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(waker) = self.0.state().waker.take()
        {
            waker.wake();
        }
    }
}

impl StreamSender {
    /// Sends an event. It never blocks: if the queue is full, its oldest events are dropped. Returns whether the reader still
    /// exists.
    pub fn send(&self, event: StreamEvent) -> bool {
        let mut state = self.0.state();
        if state.is_closed {
            return false;
        }
        state.octets += event.data.len();
        state.events.push_back(event);
        while state.events.len() > self.0.max_events || (state.octets > MAX_OCTETS && state.events.len() > 1) {
            if let Some(oldest) = state.events.pop_front() {
                state.octets -= oldest.data.len();
                state.lost += 1;
                state.lost_total += 1;
            }
        }
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Whether the reader is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.state().is_closed
    }
}

/// The receiving end of a stream, in a [`Response`](crate::Response).
#[derive(Debug)]
pub(super) struct StreamReceiver(Arc<Queue>);

impl StreamReceiver {
    /// Returns what is next; `None` at the end of the stream.
    pub fn poll_next(&self, context: &Context<'_>) -> Poll<Option<Next>> {
        let mut state = self.0.state();
        if state.lost > 0 {
            let (events, total) = (std::mem::take(&mut state.lost), state.lost_total);
            return Poll::Ready(Some(Next::Lost { events, total }));
        }
        if let Some(event) = state.events.pop_front() {
            state.octets -= event.data.len();
            return Poll::Ready(Some(Next::Event(event)));
        }
        state.waker = Some(context.waker().clone());
        // after the waker is there: the last sender may have gone meanwhile
        if self.0.senders.load(Ordering::Acquire) == 0 { Poll::Ready(None) } else { Poll::Pending }
    }

    /// Returns what is next; `None` at the end of the stream.
    pub async fn next(&self) -> Option<Next> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }
}

impl Drop for StreamReceiver {
    fn drop(&mut self) {
        let mut state = self.0.state();
        *state = State { is_closed: true, ..State::default() };
    }
}

/// A set of readers that get the same events. Without readers, publishing costs one atomic load.
#[derive(Clone, Debug, Default)]
pub struct Broadcast(Arc<Readers>);

#[derive(Debug, Default)]
struct Readers {
    count: AtomicUsize,
    /// Each reader with the topics that it wants.
    all: Mutex<Vec<(Topics, StreamSender)>>,
}

/// The topics that a reader of a [`Broadcast`] wants, each of which is a bit. Clones share them.
#[derive(Clone, Debug)]
pub struct Topics(Arc<AtomicU32>);

impl Topics {
    /// Replaces them: what is published from now on is chosen by the new ones.
    pub fn set(&self, topics: u32) {
        self.0.store(topics, Ordering::Relaxed);
    }

    fn contain(&self, topic: u32) -> bool {
        self.0.load(Ordering::Relaxed) & topic != 0
    }
}

impl Broadcast {
    /// Adds a reader of topics, each of which is a bit. Returns what changes them. Readers that are gone are
    /// forgotten, so their number is bounded even if nothing is published.
    pub fn add(&self, topics: u32, reader: StreamSender) -> Topics {
        let topics = Topics(Arc::new(AtomicU32::new(topics)));
        let mut all = self.0.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, reader)| !reader.is_closed());
        all.push((topics.clone(), reader));
        self.0.count.store(all.len(), Ordering::Release);
        topics
    }

    /// Whether anybody reads.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.0.count.load(Ordering::Acquire) > 0
    }

    /// Sends an event to the readers of a topic. It is created only if there is one. Readers that are gone are forgotten.
    pub fn publish(&self, topic: u32, create: impl FnOnce() -> StreamEvent) {
        if !self.is_read() {
            return;
        }
        let mut all = self.0.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.iter().any(|(topics, _)| topics.contain(topic)) {
            let event = create();
            all.retain(|(topics, reader)| !topics.contain(topic) || reader.send(event.clone()));
        }
        all.retain(|(_, reader)| !reader.is_closed());
        self.0.count.store(all.len(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(number: u32) -> StreamEvent {
        StreamEvent::new("number", &json!(number))
    }

    fn next(receiver: &StreamReceiver) -> Poll<Option<Next>> {
        receiver.poll_next(&Context::from_waker(Waker::noop()))
    }

    #[test]
    fn slow_reader_loses_its_oldest_events_and_learns_how_many() {
        let (sender, receiver) = stream(3);
        assert!((0..5).all(|number| sender.send(event(number))));
        assert_eq!(next(&receiver), Poll::Ready(Some(Next::Lost { events: 2, total: 2 })));
        assert_eq!(next(&receiver), Poll::Ready(Some(Next::Event(event(2)))));
        assert!((5..8).all(|number| sender.send(event(number))));
        assert_eq!(next(&receiver), Poll::Ready(Some(Next::Lost { events: 2, total: 4 })));
        drop(sender);
        for number in 5..8 {
            assert_eq!(next(&receiver), Poll::Ready(Some(Next::Event(event(number)))));
        }
        assert_eq!(next(&receiver), Poll::Ready(None));
    }

    #[test]
    fn octets_are_bounded_as_well_as_events() {
        let (sender, receiver) = stream(1000);
        let long = StreamEvent::new("long", &json!("x".repeat(MAX_OCTETS / 4)));
        assert!((0..10).all(|_| sender.send(long.clone())));
        assert_eq!(next(&receiver), Poll::Ready(Some(Next::Lost { events: 7, total: 7 })));
        assert!(receiver.0.state().octets <= MAX_OCTETS);
        // one that is longer than the bound still arrives
        assert!(sender.send(StreamEvent::new("long", &json!("x".repeat(2 * MAX_OCTETS)))));
        assert_eq!(next(&receiver), Poll::Ready(Some(Next::Lost { events: 3, total: 10 })));
        assert!(matches!(next(&receiver), Poll::Ready(Some(Next::Event(_)))));
    }

    #[test]
    fn broadcast_reaches_the_readers_of_a_topic_and_forgets_those_that_left() {
        let broadcast = Broadcast::default();
        broadcast.publish(1, || panic!("there is no reader"));
        let (first, of_first) = stream(8);
        let (second, of_second) = stream(8);
        broadcast.add(0b01, first);
        broadcast.add(0b11, second);
        broadcast.publish(0b10, || event(1));
        broadcast.publish(0b100, || panic!("this topic has no reader"));
        assert_eq!(next(&of_first), Poll::Pending);
        assert_eq!(next(&of_second), Poll::Ready(Some(Next::Event(event(1)))));
        drop(of_second);
        broadcast.publish(0b01, || event(2));
        assert_eq!(next(&of_first), Poll::Ready(Some(Next::Event(event(2)))));
        drop(of_first);
        broadcast.publish(0b01, || event(3));
        assert!(!broadcast.is_read());
        // without anything to publish, too
        for _ in 0..10 {
            let (sender, receiver) = stream(8);
            broadcast.add(0b01, sender);
            drop(receiver);
        }
        assert_eq!(broadcast.0.all.lock().unwrap().len(), 1);
    }
}
