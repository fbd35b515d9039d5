//! Streams of single items: events of the session, and requests of nodes for a decision.

use std::collections::VecDeque;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};

use super::core::StreamId;
use super::error::Error;
use super::session::{Session, lock};

/// The items that a feed buffers. Beyond it the oldest is lost.
const BUFFER: usize = 1024;

/// What waits for the reader of a feed.
pub(super) struct Buffer<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// Readable while there is something to read.
    ready: OwnedFd,
}

struct State<T> {
    items: VecDeque<T>,
    lost: u64,
    is_ready: bool,
    /// Set at the end, with the error that ended the session until it is read.
    end: Option<Option<Error>>,
    waker: Option<Waker>,
}

impl<T> Buffer<T> {
    pub fn new() -> std::io::Result<Self> {
        let state = State { items: VecDeque::new(), lost: 0, is_ready: false, end: None, waker: None };
        let ready = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Buffer { state: Mutex::new(state), changed: Condvar::new(), ready })
    }

    pub fn push(&self, item: T) {
        self.change(|state| {
            if state.items.len() >= BUFFER {
                state.items.pop_front();
                state.lost += 1;
            }
            state.items.push_back(item);
        });
    }

    pub fn end(&self, error: Option<Error>) {
        self.change(|state| {
            state.end.get_or_insert(error);
        });
    }

    fn change(&self, change: impl FnOnce(&mut State<T>)) {
        let mut state = lock(&self.state);
        change(&mut state);
        let waker = state.waker.take();
        if !std::mem::replace(&mut state.is_ready, true) {
            // it can only fail at 2^64 - 1 wake-ups
            let _ = rustix::io::write(&self.ready, &1_u64.to_ne_bytes());
        }
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The next item; `Ok(None)` if there is none yet, `Err(None)` at the end.
    fn take(&self, waker: Option<&Waker>) -> Result<Option<T>, Option<Error>> {
        let mut state = lock(&self.state);
        if let Some(item) = state.items.pop_front() {
            return Ok(Some(item));
        }
        if let Some(error) = &mut state.end {
            return Err(error.take());
        }
        if std::mem::replace(&mut state.is_ready, false) {
            let mut count = [0; 8];
            // one counter of 8 octets
            let _ = rustix::io::read(&self.ready, &mut count);
        }
        state.waker = waker.cloned();
        Ok(None)
    }

    /// Waits for something to read. Returns whether there is.
    fn wait(&self, until: Option<Instant>) -> bool {
        let mut state = lock(&self.state);
        while state.items.is_empty() && state.end.is_none() {
            state = match until.map(|until| until.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return false,
                Some(left) => {
                    let waited = self.changed.wait_timeout(state, left);
                    waited.map_or_else(|error| error.into_inner().0, |(state, _)| state)
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        true
    }
}

/// A stream of events or requests. As an iterator it blocks; it ends when the session is closed.
pub struct Feed<T> {
    buffer: Arc<Buffer<T>>,
    id: StreamId,
    session: Arc<Session>,
}

impl<T> Feed<T> {
    pub(super) fn new(buffer: Arc<Buffer<T>>, id: StreamId, session: Arc<Session>) -> Self {
        Feed { buffer, id, session }
    }

    /// The next item, waiting for it no longer than `time`; `None` at the end of the session.
    ///
    /// # Errors
    /// [`Error::Timeout`]; the error that has ended the session, once.
    pub fn next_within(&mut self, time: Duration) -> Result<Option<T>, Error> {
        let until = Instant::now() + time;
        loop {
            match self.take_item(None) {
                Ok(None) if !self.buffer.wait(Some(until)) => {
                    return Err(Error::Timeout { what: "event".into(), after: time });
                }
                Ok(None) => {}
                Ok(item) => return Ok(item),
                Err(end) => return end.map_or(Ok(None), Err),
            }
        }
    }

    /// The next item that is buffered; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Closed`] at the end of the session, or the error that has ended it.
    pub fn try_next(&mut self) -> Result<Option<T>, Error> {
        self.take_item(None).map_err(|end| end.unwrap_or(Error::Closed))
    }

    /// The next item for an async runtime: registers the context's waker if there is none.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T, Error>>> {
        match self.take_item(Some(context.waker())) {
            Ok(None) => Poll::Pending,
            Ok(Some(item)) => Poll::Ready(Some(Ok(item))),
            Err(end) => Poll::Ready(end.map(Err)),
        }
    }

    /// The items that were lost because this feed was read too slowly.
    #[must_use]
    pub fn lost(&self) -> u64 {
        lock(&self.buffer.state).lost
    }

    fn take_item(&self, waker: Option<&Waker>) -> Result<Option<T>, Option<Error>> {
        match self.session.shared.check() {
            Err(Error::Forked) => Err(Some(Error::Forked)),
            _ => self.buffer.take(waker),
        }
    }
}

impl<T> Iterator for Feed<T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.take_item(None) {
                Ok(None) => drop(self.buffer.wait(None)),
                Ok(Some(item)) => return Some(Ok(item)),
                Err(end) => return end.map(Err),
            }
        }
    }
}

/// Readable while items are buffered.
impl<T> AsFd for Feed<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.buffer.ready.as_fd()
    }
}

impl<T> fmt::Debug for Feed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<T> Drop for Feed<T> {
    fn drop(&mut self) {
        // without a session there is nothing to end
        if self.session.shared.check().is_ok() {
            let id = self.id;
            self.session.shared.post(Box::new(move |core, commands| core.remove_stream(commands, id)));
        }
    }
}
