//! Keys and their values: octets, or sets of octets. All of them are in memory; a file keeps them durable ([`crate::file`]).
//!
//! Changes are made at once and logged, so that those since the last [`Store::accept`] can be written to a file together, or
//! taken back if that fails.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::ops::Bound;

use crate::access::namespace_of;

/// What a key takes beside its octets and those of its value.
const ENTRY_OCTETS: usize = 128;
/// What a member of a set takes beside its octets.
const MEMBER_OCTETS: usize = 64;

/// Bounds of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// Octets of all keys and values, with what their administration takes.
    pub max_octets: usize,
    /// The share of them that one namespace may have.
    pub max_namespace_percent: usize,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Octets, which Redis calls a string.
    Octets(Vec<u8>),
    /// A set, which SDL calls a group.
    Members(BTreeSet<Vec<u8>>),
}

impl Value {
    fn octets(&self) -> usize {
        match self {
            Value::Octets(octets) => octets.len(),
            Value::Members(members) => members.iter().map(|member| member_octets(member)).sum(),
        }
    }
}

fn member_octets(member: &[u8]) -> usize {
    member.len() + MEMBER_OCTETS
}

/// What a key has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The value.
    pub value: Value,
    /// When it ends, in milliseconds since 1970.
    pub expires_ms: Option<u64>,
}

/// Why a change is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The store would exceed its bound.
    Store,
    /// The namespace would exceed its share.
    Namespace,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Full::Store => "the store is full: remove keys, or raise its bound",
            Full::Namespace => "the namespace has used its share of the store: remove keys of it",
        })
    }
}

/// How a change is taken back.
#[derive(Debug)]
pub(crate) enum Undo {
    /// The key gets back what it had.
    Entry(Vec<u8>, Option<Entry>),
    /// The member was added.
    Added(Vec<u8>, Vec<u8>),
    /// The member was removed.
    Removed(Vec<u8>, Vec<u8>),
    /// The time at which the key ended was changed.
    Expiry(Vec<u8>, Option<u64>),
}

/// Keys and values.
#[derive(Debug)]
pub struct Store {
    limits: StoreLimits,
    entries: BTreeMap<Vec<u8>, Entry>,
    /// When keys end.
    expiries: BTreeSet<(u64, Vec<u8>)>,
    octets: usize,
    /// Octets of each namespace; that of keys without one is under the empty key, whose namespace cannot be told from it.
    namespaces: HashMap<Vec<u8>, usize>,
    undo: Vec<Undo>,
}

impl Store {
    /// An empty store.
    #[must_use]
    pub fn new(limits: StoreLimits) -> Self {
        Store {
            limits,
            entries: BTreeMap::new(),
            expiries: BTreeSet::new(),
            octets: 0,
            namespaces: HashMap::new(),
            undo: Vec::new(),
        }
    }

    /// The number of keys, with those whose time has come and that were not removed yet.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// The octets that count against the bound.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// Returns what a key has at a time.
    #[must_use]
    pub fn get(&self, key: &[u8], now_ms: u64) -> Option<&Entry> {
        self.entries.get(key).filter(|entry| entry.expires_ms.is_none_or(|end| end > now_ms))
    }

    /// Returns the keys that begin with octets, from a key on (after it, if it is given), in their order.
    pub fn keys(&self, prefix: &[u8], after: Option<&[u8]>, now_ms: u64) -> impl Iterator<Item = &[u8]> {
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let prefix = prefix.to_vec();
        let range = self.entries.range::<[u8], _>((start, Bound::Unbounded));
        range
            .take_while(move |(key, _)| key.starts_with(&prefix))
            .filter(move |(_, entry)| entry.expires_ms.is_none_or(|end| end > now_ms))
            .map(|(key, _)| key.as_slice())
    }

    /// Gives a key a value, in place of the one that it has.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn put(&mut self, key: &[u8], entry: Entry) -> Result<(), Full> {
        let more = ENTRY_OCTETS + key.len() + entry.value.octets();
        let less = self.entries.get(key).map_or(0, |entry| ENTRY_OCTETS + key.len() + entry.value.octets());
        self.check(key, less, more)?;
        let before = self.replace(key, Some(entry));
        self.undo.push(Undo::Entry(key.to_vec(), before));
        Ok(())
    }

    /// Removes a key. Returns whether it was there.
    pub fn remove(&mut self, key: &[u8], now_ms: u64) -> bool {
        let was_there = self.get(key, now_ms).is_some();
        if let Some(before) = self.replace(key, None) {
            self.undo.push(Undo::Entry(key.to_vec(), Some(before)));
        }
        was_there
    }

    /// Adds a member to the set of a key, which has one already or none. Returns whether it is new.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn add_member(&mut self, key: &[u8], member: &[u8], now_ms: u64) -> Result<bool, Full> {
        let is_new = self.get(key, now_ms).is_none();
        let has = |entry: &Entry| matches!(&entry.value, Value::Members(members) if members.contains(member));
        if !is_new && self.entries.get(key).is_some_and(has) {
            return Ok(false);
        }
        let of_entry = if is_new { ENTRY_OCTETS + key.len() } else { 0 };
        self.check(key, 0, of_entry + member_octets(member))?;
        if is_new {
            self.remove(key, now_ms);
            self.put(key, Entry { value: Value::Members(BTreeSet::new()), expires_ms: None })?;
        }
        self.change_member(key, member, true);
        self.undo.push(Undo::Added(key.to_vec(), member.to_vec()));
        Ok(true)
    }

    /// Removes a member of the set of a key, and the key with its last one. Returns whether it was there.
    pub fn remove_member(&mut self, key: &[u8], member: &[u8], now_ms: u64) -> bool {
        let Some(Entry { value: Value::Members(members), .. }) = self.get(key, now_ms) else { return false };
        if !members.contains(member) {
            return false;
        }
        if members.len() == 1 {
            return self.remove(key, now_ms);
        }
        self.change_member(key, member, false);
        self.undo.push(Undo::Removed(key.to_vec(), member.to_vec()));
        true
    }

    /// Sets the time at which a key ends. Returns whether the key is there.
    pub fn set_expiry(&mut self, key: &[u8], expires_ms: Option<u64>, now_ms: u64) -> bool {
        if self.get(key, now_ms).is_none() {
            return false;
        }
        let before = self.change_expiry(key, expires_ms);
        self.undo.push(Undo::Expiry(key.to_vec(), before));
        true
    }

    /// Removes keys whose time has come, so many at most.
    pub fn expire(&mut self, now_ms: u64, most: usize) {
        for _ in 0..most {
            let Some((_, key)) = self.expiries.first().filter(|(end, _)| *end <= now_ms) else { return };
            let key = key.clone();
            self.remove(&key, now_ms);
        }
    }

    /// The changes since the last [`Store::accept`] or [`Store::revert`].
    pub(crate) fn changes(&self) -> &[Undo] {
        &self.undo
    }

    /// Returns an entry whether its time has come or not.
    pub(crate) fn stored(&self, key: &[u8]) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// Keeps the changes.
    pub fn accept(&mut self) {
        self.undo.clear();
        self.undo.shrink_to(1024);
    }

    /// Takes the changes back.
    pub fn revert(&mut self) {
        self.revert_to(0);
    }

    /// Takes back the changes behind the first so many since the last [`Store::accept`].
    pub(crate) fn revert_to(&mut self, kept: usize) {
        let undone = self.undo.split_off(kept.min(self.undo.len()));
        for undo in undone.into_iter().rev() {
            match undo {
                Undo::Entry(key, before) => drop(self.replace(&key, before)),
                Undo::Added(key, member) => self.change_member(&key, &member, false),
                Undo::Removed(key, member) => self.change_member(&key, &member, true),
                Undo::Expiry(key, before) => drop(self.change_expiry(&key, before)),
            }
        }
    }

    fn share(&self) -> usize {
        self.limits.max_octets / 100 * self.limits.max_namespace_percent
    }

    fn of_namespace(&self, namespace: &[u8]) -> usize {
        self.namespaces.get(namespace).copied().unwrap_or(0)
    }

    /// Checks that a key may change its octets. Less than before is always possible.
    fn check(&self, key: &[u8], less: usize, more: usize) -> Result<(), Full> {
        if more <= less {
            return Ok(());
        }
        if self.octets + (more - less) > self.limits.max_octets {
            return Err(Full::Store);
        }
        let of_namespace = self.of_namespace(namespace_of(key).unwrap_or_default());
        if of_namespace + (more - less) > self.share() { Err(Full::Namespace) } else { Ok(()) }
    }

    fn account(&mut self, key: &[u8], less: usize, more: usize) {
        self.octets = (self.octets + more).saturating_sub(less);
        let namespace = namespace_of(key).unwrap_or_default();
        let of_namespace = (self.of_namespace(namespace) + more).saturating_sub(less);
        if of_namespace == 0 {
            self.namespaces.remove(namespace);
        } else {
            self.namespaces.insert(namespace.to_vec(), of_namespace);
        }
    }

    /// Replaces what a key has, and returns what it had.
    fn replace(&mut self, key: &[u8], entry: Option<Entry>) -> Option<Entry> {
        let more = entry.as_ref().map_or(0, |entry| ENTRY_OCTETS + key.len() + entry.value.octets());
        if let Some(end) = entry.as_ref().and_then(|entry| entry.expires_ms) {
            self.expiries.insert((end, key.to_vec()));
        }
        let end = entry.as_ref().and_then(|entry| entry.expires_ms);
        let before = match entry {
            Some(entry) => self.entries.insert(key.to_vec(), entry),
            None => self.entries.remove(key),
        };
        if let Some(former) = before.as_ref().and_then(|entry| entry.expires_ms).filter(|former| end != Some(*former)) {
            self.expiries.remove(&(former, key.to_vec()));
        }
        let less = before.as_ref().map_or(0, |entry| ENTRY_OCTETS + key.len() + entry.value.octets());
        self.account(key, less, more);
        before
    }

    fn change_member(&mut self, key: &[u8], member: &[u8], is_added: bool) {
        let Some(Entry { value: Value::Members(members), .. }) = self.entries.get_mut(key) else { return };
        let has_changed = if is_added { members.insert(member.to_vec()) } else { members.remove(member) };
        let octets = if has_changed { member_octets(member) } else { 0 };
        let (less, more) = if is_added { (0, octets) } else { (octets, 0) };
        self.account(key, less, more);
    }

    fn change_expiry(&mut self, key: &[u8], expires_ms: Option<u64>) -> Option<u64> {
        let entry = self.entries.get_mut(key)?;
        let before = std::mem::replace(&mut entry.expires_ms, expires_ms);
        if let Some(former) = before {
            self.expiries.remove(&(former, key.to_vec()));
        }
        if let Some(end) = expires_ms {
            self.expiries.insert((end, key.to_vec()));
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: StoreLimits = StoreLimits { max_octets: 4000, max_namespace_percent: 50 };

    fn octets(text: &str) -> Entry {
        Entry { value: Value::Octets(text.into()), expires_ms: None }
    }

    fn content(store: &Store) -> Vec<(Vec<u8>, Entry)> {
        store.entries.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect()
    }

    #[test]
    fn keys_are_listed_by_prefix() {
        let mut store = Store::new(LIMITS);
        for key in ["{b},1", "{a},2", "{a},1", "{a},3", "{a}"] {
            store.put(key.as_bytes(), octets("x")).unwrap();
        }
        store.set_expiry(b"{a},3", Some(10), 5);
        let keys = |after: Option<&[u8]>, now| store.keys(b"{a},", after, now).map(<[u8]>::to_vec).collect::<Vec<_>>();
        assert_eq!(keys(None, 9), [b"{a},1", b"{a},2", b"{a},3"]);
        assert_eq!(keys(Some(b"{a},1"), 10), [b"{a},2"]);
        assert_eq!(keys(Some(b"{A}"), 10), [b"{a},1", b"{a},2"]);
    }

    #[test]
    fn expired_key_is_absent_and_then_removed() {
        let mut store = Store::new(LIMITS);
        for key in ["{a},1", "{a},2"] {
            store.put(key.as_bytes(), Entry { expires_ms: Some(10), ..octets("x") }).unwrap();
        }
        assert!(store.get(b"{a},1", 9).is_some() && store.get(b"{a},1", 10).is_none());
        assert!(!store.set_expiry(b"{a},1", None, 10) && !store.remove(b"{a},1", 10));
        store.expire(9, 10);
        assert_eq!(store.count(), 1);
        store.expire(10, 10);
        assert!(store.count() == 0 && store.octets() == 0 && store.namespaces.is_empty() && store.expiries.is_empty());
    }

    #[test]
    fn namespace_and_store_are_bounded() {
        let mut store = Store::new(LIMITS);
        let (long, member) = ("x".repeat(1800), "x".repeat(1500));
        store.put(b"{a},1", octets(&long)).unwrap();
        assert_eq!(store.put(b"{a},2", octets(&long)), Err(Full::Namespace));
        store.put(b"{b},1", octets(&long)).unwrap();
        assert_eq!(store.put(b"{c},1", octets(&long)), Err(Full::Store));
        store.put(b"{a},1", octets("less")).unwrap();
        assert_eq!(store.add_member(b"{b},set", member.as_bytes(), 0), Err(Full::Namespace));
        assert!(store.get(b"{b},set", 0).is_none(), "a refused member leaves no key");
        store.remove(b"{b},1", 0);
        assert_eq!(store.add_member(b"{b},set", member.as_bytes(), 0), Ok(true));
        assert_eq!(store.add_member(b"{b},set", member.as_bytes(), 0), Ok(false));
    }

    #[test]
    fn changes_are_taken_back() {
        let mut store = Store::new(LIMITS);
        store.put(b"{a},1", Entry { expires_ms: Some(50), ..octets("one") }).unwrap();
        store.add_member(b"{a},set", b"x", 0).unwrap();
        store.add_member(b"{a},set", b"y", 0).unwrap();
        store.accept();
        let (before, size) = (content(&store), store.octets());
        store.put(b"{a},1", octets("two")).unwrap();
        store.remove(b"{a},1", 0);
        store.put(b"{b},new", octets("new")).unwrap();
        store.add_member(b"{a},set", b"z", 0).unwrap();
        store.remove_member(b"{a},set", b"x", 0);
        store.remove_member(b"{a},set", b"y", 0);
        assert!(store.remove_member(b"{a},set", b"z", 0));
        assert!(store.get(b"{a},set", 0).is_none(), "the last member takes the key with it");
        store.set_expiry(b"{b},new", Some(7), 0);
        store.revert();
        assert_eq!((content(&store), store.octets()), (before, size));
        assert_eq!(store.expiries.iter().map(|(end, _)| *end).collect::<Vec<_>>(), [50]);
        assert_eq!(store.namespaces.len(), 1);
    }
}
