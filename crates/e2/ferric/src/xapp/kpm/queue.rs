//! What a stream buffers between the session's thread and its reader.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};

use super::super::error::Error;
use super::super::session::lock;
use super::batch::{Batch, Dictionary};

/// Records of a chunk, which a slow reader loses as a whole.
const CHUNK_RECORDS: usize = 1024;
/// Empty chunks that are kept for further records.
const MAX_SPARE: usize = 4;

/// The records that wait for the reader: chunks in order, the last of which grows.
pub(in super::super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    /// Readable while there is something to read.
    ready: OwnedFd,
}

struct State {
    chunks: VecDeque<Batch>,
    spare: Vec<Batch>,
    records: usize,
    max_records: usize,
    lost: u64,
    refusals: u64,
    is_ready: bool,
    /// Set at the end of the stream, with the error that ended it until it is read.
    end: Option<Option<Error>>,
    waker: Option<Waker>,
    measurements: Arc<[String]>,
    /// The dictionary of the last chunk.
    epoch: u64,
    no_names: Arc<Dictionary>,
}

/// The chunk that grows, while the session's thread writes a report.
pub(super) struct Writing<'a> {
    state: MutexGuard<'a, State>,
    dictionary: &'a mut Arc<Dictionary>,
    epoch: u64,
    /// The last chunks, whose dictionary grows: they get it at the end, so that there is one of it to change.
    open: usize,
}

impl Queue {
    pub fn new(measurements: Arc<[String]>, max_records: usize) -> std::io::Result<Self> {
        let state = State {
            chunks: VecDeque::new(),
            spare: Vec::new(),
            records: 0,
            max_records: max_records.max(1),
            lost: 0,
            refusals: 0,
            is_ready: false,
            end: None,
            waker: None,
            measurements,
            epoch: 0,
            no_names: Arc::default(),
        };
        let ready = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Queue { state: Mutex::new(state), changed: Condvar::new(), ready })
    }

    /// Begins a report. All records whose indices are of one `dictionary`, which only grows, have the same `epoch`.
    pub(super) fn write<'a>(&'a self, dictionary: &'a mut Arc<Dictionary>, epoch: u64) -> Writing<'a> {
        let mut state = lock(&self.state);
        let mut open = 0;
        if state.epoch == epoch {
            let no_names = Arc::clone(&state.no_names);
            if let Some(last) = state.chunks.back_mut() {
                (last.dictionary, open) = (no_names, 1);
            }
        }
        Writing { state, dictionary, epoch, open }
    }

    /// Wakes the reader, if there is something to read that it does not know of.
    pub fn notify(&self) {
        let mut state = lock(&self.state);
        if state.is_ready || state.records == 0 && state.end.is_none() {
            return;
        }
        state.is_ready = true;
        let waker = state.waker.take();
        drop(state);
        // it can only fail at 2^64 - 1 wake-ups
        let _ = rustix::io::write(&self.ready, &1_u64.to_ne_bytes());
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends the stream after what is buffered.
    pub fn end(&self, error: Option<Error>) {
        lock(&self.state).end.get_or_insert(error);
        self.notify();
    }

    pub fn count_refusal(&self) {
        lock(&self.state).refusals += 1;
    }

    pub fn lost(&self) -> u64 {
        lock(&self.state).lost
    }

    pub fn refusals(&self) -> u64 {
        lock(&self.state).refusals
    }

    /// Exchanges `batch` for the oldest chunk. `Ok(false)` if there is none, `Err(None)` at the end of the stream.
    pub fn take(&self, batch: &mut Batch) -> Result<bool, Option<Error>> {
        let mut state = lock(&self.state);
        let Some(mut chunk) = state.chunks.pop_front() else {
            self.set_unready(&mut state);
            return match &mut state.end {
                // what follows an error is the end
                Some(error) => Err(error.take()),
                None => Ok(false),
            };
        };
        state.records -= chunk.len();
        std::mem::swap(batch, &mut chunk);
        if state.spare.len() < MAX_SPARE {
            chunk.clear();
            state.spare.push(chunk);
        }
        if state.chunks.is_empty() && state.end.is_none() {
            self.set_unready(&mut state);
        }
        Ok(true)
    }

    fn set_unready(&self, state: &mut State) {
        if std::mem::replace(&mut state.is_ready, false) {
            let mut count = [0; 8];
            // empty already if another reader was faster
            let _ = rustix::io::read(&self.ready, &mut count);
        }
    }

    /// Waits until there is something to read, or the time is over. Returns whether there is.
    pub fn wait(&self, until: Option<Instant>) -> bool {
        let mut state = lock(&self.state);
        while state.records == 0 && state.end.is_none() {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => return false,
                Some(left) => {
                    self.changed.wait_timeout(state, left).map_or_else(|error| error.into_inner().0, |(state, _)| state)
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        true
    }

    /// Has `waker` called when there is something to read. Returns whether there is.
    pub fn register(&self, waker: &Waker) -> bool {
        let mut state = lock(&self.state);
        if state.records > 0 || state.end.is_some() {
            return true;
        }
        state.waker = Some(waker.clone());
        false
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

impl Writing<'_> {
    /// The names that indices of new records stand for.
    pub fn dictionary(&mut self) -> &mut Dictionary {
        Arc::make_mut(self.dictionary)
    }

    /// The chunk for one more record. Beyond the limit the oldest chunk is lost.
    pub fn chunk(&mut self) -> &mut Batch {
        let state = &mut *self.state;
        let is_usable = |chunk: &Batch| chunk.len() < CHUNK_RECORDS.min(state.max_records);
        if state.epoch != self.epoch || !state.chunks.back().is_some_and(is_usable) {
            let mut next = state.spare.pop().unwrap_or_default();
            if state.records >= state.max_records
                && let Some(oldest) = state.chunks.pop_front()
            {
                state.records -= oldest.len();
                state.lost += oldest.len() as u64;
                next = oldest;
            }
            next.prepare(&state.measurements);
            state.chunks.push_back(next);
            state.epoch = self.epoch;
            self.open += 1;
        }
        state.records += 1;
        let last = state.chunks.len() - 1;
        &mut state.chunks[last]
    }

    /// The chunk of the last record.
    pub fn last(&mut self) -> Option<&mut Batch> {
        self.state.chunks.back_mut()
    }
}

/// The chunks of this report get the names.
impl Drop for Writing<'_> {
    fn drop(&mut self) {
        for chunk in self.state.chunks.iter_mut().rev().take(self.open) {
            chunk.dictionary = Arc::clone(self.dictionary);
        }
    }
}
