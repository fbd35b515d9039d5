//! A map that several RICs share: each of them has a copy, which is read and changed without waiting for the store.

mod replica;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::StoreUrl;
use replica::Replica;

/// Octets of changes that may wait for the store.
pub const MAX_WAITING_OCTETS: usize = 64 << 20;
/// The longest key of an entry, and the longest content.
pub const MAX_KEY_OCTETS: usize = 256;
/// See [`MAX_KEY_OCTETS`].
pub const MAX_CONTENT_OCTETS: usize = 1 << 20;
/// What a change takes beside its octets.
const CHANGE_OCTETS: usize = 64;

/// Called with the key of an entry that another RIC has changed, and its content, or `None` if it was removed. It is called on the
/// thread of the map and must not block.
pub type MapObserver = Box<dyn Fn(&str, Option<&[u8]>) + Send>;

/// A change that waits for the store.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    Put(String, Arc<[u8]>),
    /// Unless another RIC has changed the entry since the store has lost its content.
    PutNew(String, Arc<[u8]>),
    /// If the entry is there.
    Replace(String, Arc<[u8]>),
    Remove(String),
    /// If the content is this.
    RemoveEqual(String, Arc<[u8]>),
}

impl Change {
    fn key(&self) -> &str {
        match self {
            Change::Put(key, _)
            | Change::PutNew(key, _)
            | Change::Replace(key, _)
            | Change::Remove(key)
            | Change::RemoveEqual(key, _) => key,
        }
    }

    fn content(&self) -> &[u8] {
        match self {
            Change::Put(_, content)
            | Change::PutNew(_, content)
            | Change::Replace(_, content)
            | Change::RemoveEqual(_, content) => content,
            Change::Remove(_) => &[],
        }
    }

    fn octets(&self) -> usize {
        CHANGE_OCTETS + self.key().len() + self.content().len()
    }
}

#[derive(Default)]
struct State {
    entries: BTreeMap<String, Arc<[u8]>>,
    /// Changes of this RIC that the store does not have.
    waiting: VecDeque<Change>,
    waiting_octets: usize,
    /// Observers that the thread does not have yet.
    new_observers: Vec<(String, MapObserver)>,
    is_available: bool,
    ended: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // it is consistent at any time
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change of this RIC, if `is_hasty`, or until the end. Returns whether the end was asked for.
    fn rest(&self, pause: Duration, is_hasty: bool) -> bool {
        let has_work = |state: &State| !state.waiting.is_empty() || !state.new_observers.is_empty();
        let is_quiet = |state: &mut State| !(state.ended || is_hasty && has_work(state));
        let waited = self.changed.wait_timeout_while(self.state(), pause, is_quiet);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }
}

/// A map that several RICs share through a store. A change of one RIC is in the copies of the others within 50 ms, and the last of
/// two changes of an entry counts. While the store is away, the copies are read and changed as before; what has changed is written
/// when it is back. A store that has lost its content gets that of the copies.
///
/// Entries are those of the hash `{NAME},entries`. `{NAME},version` counts the changes, `{NAME},changed` has the version of each entry,
/// and `{NAME},epoch` tells the store from one that has lost its content.
pub struct SharedMap {
    handle: MapHandle,
    thread: Option<JoinHandle<()>>,
}

/// The way of other threads to a [`SharedMap`]. Clones are the same.
#[derive(Clone)]
pub struct MapHandle(Arc<Shared>);

impl SharedMap {
    /// Follows the map of a name, which is one for keys, on a thread of its own. The store need not be there yet.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn start(url: StoreUrl, name: &'static str) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let replica = Replica::new(url, name, Arc::clone(&shared));
        let thread = std::thread::Builder::new().name("shared-map".to_owned()).spawn(move || replica.run())?;
        Ok(SharedMap { handle: MapHandle(shared), thread: Some(thread) })
    }

    /// The way of other threads to the map.
    #[must_use]
    pub fn handle(&self) -> &MapHandle {
        &self.handle
    }
}

impl Drop for SharedMap {
    fn drop(&mut self) {
        self.handle.0.state().ended = true;
        self.handle.0.changed.notify_all();
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl MapHandle {
    /// Whether the store has answered last.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.0.state().is_available
    }

    /// The content of an entry.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Arc<[u8]>> {
        self.0.state().entries.get(key).cloned()
    }

    /// The entries whose keys have a prefix, in their order.
    #[must_use]
    pub fn with_prefix(&self, prefix: &str) -> Vec<(String, Arc<[u8]>)> {
        let state = self.0.state();
        let entries = state.entries.range(prefix.to_owned()..).take_while(|(key, _)| key.starts_with(prefix));
        entries.map(|(key, content)| (key.clone(), Arc::clone(content))).collect()
    }

    /// Creates or replaces an entry. Returns whether the change is accepted: not if it is too long, or if [`MAX_WAITING_OCTETS`] of
    /// changes wait.
    #[must_use]
    pub fn put(&self, key: &str, content: &[u8]) -> bool {
        self.change(Change::Put(key.to_owned(), content.into()))
    }

    /// Replaces an entry, unless it is removed before. Returns as [`MapHandle::put`].
    #[must_use]
    pub fn replace(&self, key: &str, content: &[u8]) -> bool {
        self.change(Change::Replace(key.to_owned(), content.into()))
    }

    /// Removes an entry. Returns as [`MapHandle::put`].
    #[must_use]
    pub fn remove(&self, key: &str) -> bool {
        self.change(Change::Remove(key.to_owned()))
    }

    /// Removes an entry that has a content. Returns as [`MapHandle::put`].
    #[must_use]
    pub fn remove_equal(&self, key: &str, content: &[u8]) -> bool {
        self.change(Change::RemoveEqual(key.to_owned(), content.into()))
    }

    /// Has an observer called with all entries whose keys have a prefix: those that are there, and each time that another RIC changes
    /// one.
    pub fn observe(&self, prefix: &str, observer: MapObserver) {
        self.0.state().new_observers.push((prefix.to_owned(), observer));
        self.0.changed.notify_all();
    }

    fn change(&self, change: Change) -> bool {
        let octets = change.octets();
        let is_short = change.key().len() <= MAX_KEY_OCTETS && change.content().len() <= MAX_CONTENT_OCTETS;
        let mut state = self.0.state();
        if !is_short || state.waiting_octets + octets > MAX_WAITING_OCTETS {
            return false;
        }
        match &change {
            Change::Put(key, content) => drop(state.entries.insert(key.clone(), Arc::clone(content))),
            // what restores the store is in the copy
            Change::PutNew(..) => {}
            Change::Replace(key, content) => {
                if let Some(former) = state.entries.get_mut(key) {
                    *former = Arc::clone(content);
                }
            }
            Change::Remove(key) => drop(state.entries.remove(key)),
            Change::RemoveEqual(key, content) => {
                if state.entries.get(key).is_some_and(|former| former == content) {
                    state.entries.remove(key);
                }
            }
        }
        state.waiting_octets += octets;
        state.waiting.push_back(change);
        drop(state);
        self.0.changed.notify_all();
        true
    }
}

impl fmt::Debug for SharedMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedMap").finish_non_exhaustive()
    }
}

impl fmt::Debug for MapHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapHandle").finish_non_exhaustive()
    }
}
