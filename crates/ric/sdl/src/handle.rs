//! Changes that the process itself makes, from any thread.

use std::fmt;
#[cfg(feature = "redis")]
use std::sync::Condvar;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
#[cfg(feature = "redis")]
use std::time::Duration;

use link::Waker;

use crate::access::AccessList;
use crate::engine::Counts;

/// Octets of changes that may wait.
const MAX_QUEUED_OCTETS: usize = 64 << 20;
/// Why [`Handle::apply`] refuses changes, and what to do, for logs and answers.
pub const NO_ROOM: &str =
    "64 MiB of changes wait for the shared data layer: check that its store is reached and fast enough (--sdl)";
/// What a change takes beside its octets.
const CHANGE_OCTETS: usize = 64;

/// A change. Keys and channels have their namespace in front: `{ns},key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Gives a key octets.
    Set {
        /// The key.
        key: Vec<u8>,
        /// Its octets.
        octets: Vec<u8>,
    },
    /// Removes a key.
    Remove {
        /// The key.
        key: Vec<u8>,
    },
    /// Adds a member to the group of a key.
    AddMember {
        /// The key.
        key: Vec<u8>,
        /// The member.
        member: Vec<u8>,
    },
    /// Removes a member of the group of a key.
    RemoveMember {
        /// The key.
        key: Vec<u8>,
        /// The member.
        member: Vec<u8>,
    },
    /// Removes all keys of a namespace.
    Clear {
        /// The namespace, without braces.
        namespace: Vec<u8>,
    },
    /// Makes changes if a key has no octets, or these. They are of the key's namespace, and neither this nor [`Change::Clear`].
    Guarded {
        /// The key.
        key: Vec<u8>,
        /// Its octets.
        octets: Vec<u8>,
        /// The changes.
        changes: Vec<Change>,
    },
    /// Sends a message to the subscribers of a channel, when the changes are durable.
    Publish {
        /// The channel.
        channel: Vec<u8>,
        /// The message.
        message: Vec<u8>,
    },
}

impl Change {
    /// The key, the channel or the namespace that it concerns.
    #[cfg(feature = "redis")]
    pub(crate) fn key(&self) -> &[u8] {
        match self {
            Change::Set { key, .. }
            | Change::Remove { key }
            | Change::AddMember { key, .. }
            | Change::RemoveMember { key, .. }
            | Change::Guarded { key, .. }
            | Change::Clear { namespace: key }
            | Change::Publish { channel: key, .. } => key,
        }
    }

    pub(crate) fn octets(&self) -> usize {
        CHANGE_OCTETS
            + match self {
                Change::Set { key, octets } => key.len() + octets.len(),
                Change::AddMember { key, member } | Change::RemoveMember { key, member } => key.len() + member.len(),
                Change::Guarded { key, octets, changes } => {
                    key.len() + octets.len() + changes.iter().map(Change::octets).sum::<usize>()
                }
                Change::Remove { key } | Change::Clear { namespace: key } => key.len(),
                Change::Publish { channel, message } => channel.len() + message.len(),
            }
    }
}

/// Called with each message of a channel, on the thread of the shared data layer: it must not block.
pub type Observer = Box<dyn Fn(&[u8]) + Send>;

/// Keys and their octets.
pub type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// What another thread asks for.
pub(crate) enum Job {
    Change(Change),
    Observe(Vec<u8>, Observer),
    #[cfg(feature = "redis")]
    OnReturn(Box<dyn Fn() + Send>),
    Access(AccessList),
    /// All keys of a namespace that have octets.
    Read(Vec<u8>, SyncSender<Entries>),
}

#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    octets: usize,
    /// Changes were refused since the queue was taken the last time.
    has_refused: bool,
    /// The thread of the shared data layer has ended.
    is_closed: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    #[cfg(feature = "redis")]
    changed: Condvar,
    counts: Mutex<Counts>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // what is guarded is consistent at any time
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changes the store from any thread of the process. Clones are the same handle.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
    /// Of the event loop; what serves a store elsewhere waits for the condition.
    waker: Option<Waker>,
}

/// The other end of a [`Handle`].
pub(crate) struct Inbox(Arc<Shared>);

pub(crate) fn channel(waker: Option<Waker>) -> (Handle, Inbox) {
    let shared = Arc::new(Shared::default());
    (Handle { shared: Arc::clone(&shared), waker }, Inbox(shared))
}

impl Handle {
    /// Has changes made together, soon, in the order of the calls. Returns whether they will be: not if 64 MiB of changes wait
    /// already, or the shared data layer has ended. It never waits.
    #[must_use]
    pub fn apply(&self, changes: Vec<Change>) -> bool {
        let octets: usize = changes.iter().map(Change::octets).sum();
        {
            let mut queue = lock(&self.shared.queue);
            if queue.is_closed {
                return false;
            }
            if queue.octets + octets > MAX_QUEUED_OCTETS {
                queue.has_refused = true;
                return false;
            }
            queue.octets += octets;
            queue.jobs.extend(changes.into_iter().map(Job::Change));
        }
        self.wake();
        true
    }

    /// Has a function called when the store was away and is back, and may have lost what it had; then what it should have is to be
    /// written again. It is called on the thread of the shared data layer and must not block. An embedded store is never away.
    pub fn on_return(&self, observer: Box<dyn Fn() + Send>) {
        #[cfg(feature = "redis")]
        {
            lock(&self.shared.queue).jobs.push(Job::OnReturn(observer));
            self.wake();
        }
        #[cfg(not(feature = "redis"))]
        drop(observer);
    }

    /// Whether the store is elsewhere, and may be away.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.waker.is_none()
    }

    pub(crate) fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake();
        }
        #[cfg(feature = "redis")]
        self.shared.changed.notify_all();
    }

    /// Has an observer called with each message that is published on a channel from now on, by whomever.
    pub fn observe(&self, channel: Vec<u8>, observer: Observer) {
        lock(&self.shared.queue).jobs.push(Job::Observe(channel, observer));
        self.wake();
    }

    /// Replaces the rights of xApps. Connections have the new rights at once; those whose token is no more are closed.
    pub fn set_access(&self, access: AccessList) {
        lock(&self.shared.queue).jobs.push(Job::Access(access));
        self.wake();
    }

    /// Returns all keys of a namespace that have octets, as they are after all changes until now. It waits for the thread of the
    /// shared data layer, and for a Redis server that is away; nothing if that has ended.
    #[must_use]
    pub fn read(&self, namespace: &[u8]) -> Entries {
        let (sender, receiver) = sync_channel(1);
        {
            let mut queue = lock(&self.shared.queue);
            // an answer would never come
            if queue.is_closed {
                return Entries::new();
            }
            queue.jobs.push(Job::Read(namespace.to_vec(), sender));
        }
        self.wake();
        receiver.recv().unwrap_or_default()
    }

    pub(crate) fn counts(&self) -> Counts {
        *lock(&self.shared.counts)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

impl Inbox {
    /// Takes the jobs that wait, and whether changes were refused because there were too many.
    pub fn take(&self) -> (Vec<Job>, bool) {
        let queue = std::mem::take(&mut *lock(&self.0.queue));
        (queue.jobs, queue.has_refused)
    }

    /// Takes the jobs that wait, and whether changes were refused. The changes still count against the bound until
    /// [`Inbox::release`].
    #[cfg(feature = "redis")]
    pub fn take_counted(&self) -> (Vec<Job>, bool) {
        let mut queue = lock(&self.0.queue);
        (std::mem::take(&mut queue.jobs), std::mem::take(&mut queue.has_refused))
    }

    /// Changes of so many octets were made.
    #[cfg(feature = "redis")]
    pub fn release(&self, octets: usize) {
        let mut queue = lock(&self.0.queue);
        queue.octets = queue.octets.saturating_sub(octets);
    }

    /// Waits for jobs, or a call of [`Handle::wake`]. Returns false when neither came in time.
    #[cfg(feature = "redis")]
    pub fn wait(&self, patience: Duration) -> bool {
        let queue = lock(&self.0.queue);
        if !queue.jobs.is_empty() {
            return true;
        }
        let waited = self.0.changed.wait_timeout(queue, patience).unwrap_or_else(PoisonError::into_inner);
        !waited.1.timed_out()
    }

    pub fn report(&self, counts: Counts) {
        *lock(&self.0.counts) = counts;
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        // what waits is dropped without the lock: who waits for an answer has none
        let _unanswered = std::mem::replace(&mut *lock(&self.0.queue), Queue { is_closed: true, ..Queue::default() });
    }
}

#[cfg(test)]
mod tests {
    use link::Poll;

    use super::*;

    #[test]
    fn changes_that_wait_are_bounded() {
        let poll = Poll::new().unwrap();
        let (handle, inbox) = channel(Some(Waker::new(&poll, 0).unwrap()));
        let change = |octets| vec![Change::Set { key: b"{ns},key".to_vec(), octets: vec![0; octets] }];
        assert!(handle.apply(change(MAX_QUEUED_OCTETS / 2)));
        assert!(!handle.apply(change(MAX_QUEUED_OCTETS / 2)));
        assert!(handle.apply(change(1)));
        let (jobs, has_refused) = inbox.take();
        assert!(jobs.len() == 2 && has_refused);
        assert!(handle.apply(change(MAX_QUEUED_OCTETS / 2)));
        assert!(!inbox.take().1);
    }

    #[test]
    fn reading_ends_with_the_shared_data_layer() {
        let poll = Poll::new().unwrap();
        let (handle, inbox) = channel(Some(Waker::new(&poll, 0).unwrap()));
        let reader = handle.clone();
        let waiting = std::thread::spawn(move || reader.read(b"ns"));
        while lock(&handle.shared.queue).jobs.is_empty() {
            std::thread::yield_now();
        }
        drop(inbox);
        assert_eq!(waiting.join().unwrap(), Entries::new());
        assert_eq!(handle.read(b"ns"), Entries::new());
        assert!(!handle.apply(vec![Change::Remove { key: b"{ns},key".to_vec() }]));
    }
}
