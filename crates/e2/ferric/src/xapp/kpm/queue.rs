//! What a stream buffers between the session's thread and its reader.

use std::collections::{BTreeSet, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};

use super::super::error::Error;
use super::super::session::lock;
use super::batch::{Batch, Dictionary, Subject};

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
    /// The nodes whose first record after a move is lost, until they have another one.
    moved: BTreeSet<Arc<str>>,
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
            moved: BTreeSet::new(),
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

    /// Adds a record without values, perhaps the first one of its node after a move. Beyond the limit the oldest chunk is lost.
    pub fn push(&mut self, time_ns: i64, subject: &Subject, follows_move: bool) {
        let state = &mut *self.state;
        let is_usable = |chunk: &Batch| chunk.len() < CHUNK_RECORDS.min(state.max_records);
        if state.epoch != self.epoch || !state.chunks.back().is_some_and(is_usable) {
            let mut next = state.spare.pop().unwrap_or_default();
            if state.records >= state.max_records
                && let Some(oldest) = state.chunks.pop_front()
            {
                let is_open = state.chunks.len() < self.open;
                let names = if is_open { &*self.dictionary } else { &oldest.dictionary };
                state.moved.extend(
                    oldest.moves.iter().map(|at| Arc::clone(&names.nodes[oldest.nodes[*at as usize] as usize])),
                );
                state.records -= oldest.len();
                state.lost += oldest.len() as u64;
                let first_open = state.chunks.len() - self.open.min(state.chunks.len());
                for (at, chunk) in state.chunks.iter_mut().enumerate() {
                    let of_chunk = Arc::clone(&chunk.dictionary);
                    chunk.mark_moved(if at < first_open { &of_chunk } else { self.dictionary }, &mut state.moved);
                }
                next = oldest;
            }
            next.prepare(&state.measurements);
            state.chunks.push_back(next);
            state.epoch = self.epoch;
            self.open += 1;
        }
        state.records += 1;
        let is_marked = !state.moved.is_empty()
            && self.dictionary.nodes.get(subject.node as usize).is_some_and(|name| state.moved.remove(name));
        if let Some(last) = state.chunks.back_mut() {
            last.push(time_ns, subject, follows_move || is_marked);
        }
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

#[cfg(test)]
mod tests {
    use super::super::batch::NONE;
    use super::*;

    /// Adds a record of a node, by its place in the dictionary.
    fn push(writing: &mut Writing<'_>, node: u32, follows_move: bool) {
        writing.push(0, &Subject { node, cell: NONE, ue: NONE, slice: NONE }, follows_move);
    }

    /// The records that are left: the node of each, and whether it follows a move.
    fn take_all(queue: &Queue) -> Vec<(String, bool)> {
        let (mut all, mut batch) = (Vec::new(), Batch::default());
        while let Ok(true) = queue.take(&mut batch) {
            all.extend(batch.records().map(|record| (record.node.to_string(), record.follows_move)));
        }
        all
    }

    #[test]
    fn mark_of_a_move_passes_to_the_next_record_of_the_node_when_its_own_is_lost() {
        let queue = Queue::new(Arc::from([]), 2).unwrap();
        let nodes = ["a", "b"].map(Arc::from).to_vec();
        let mut dictionary = Arc::new(Dictionary { nodes, ..Dictionary::default() });
        let is = |node: &str, follows_move| (node.to_owned(), follows_move);
        // in one report, and the next record comes later
        let mut writing = queue.write(&mut dictionary, 1);
        for (node, follows_move) in [(0, true), (1, false), (1, false)] {
            push(&mut writing, node, follows_move);
        }
        drop(writing);
        push(&mut queue.write(&mut dictionary, 1), 0, false);
        assert_eq!((take_all(&queue), queue.lost()), (vec![is("b", false), is("a", true)], 2));
        // across reports, and the next record is there
        push(&mut queue.write(&mut dictionary, 1), 1, true);
        push(&mut queue.write(&mut dictionary, 2), 0, false);
        push(&mut queue.write(&mut dictionary, 2), 1, false);
        push(&mut queue.write(&mut dictionary, 3), 0, false);
        assert_eq!(take_all(&queue), [is("a", false), is("b", true), is("a", false)]);
        push(&mut queue.write(&mut dictionary, 3), 0, false);
        assert_eq!(take_all(&queue), [is("a", false)], "once");
    }
}
