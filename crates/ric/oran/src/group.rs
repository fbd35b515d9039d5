//! What the RICs of a group share: RICs that share E2 nodes, so that an xApp at one of them reaches the nodes of all.
//!
//! | entry | content |
//! |---|---|
//! | `ric/NAME` | where the RIC of that name receives over RMR |
//! | `node/RANNAME` | the RIC that a node is connected to, and what the E2 manager lists of the node |
//! | `subscription/ID` | a request of an xApp to subscribe |
//! | `routes/NAME` | the records that route tables have by the RIC of that name: those of its configuration and of xApps registered there |
//!
//! Each RIC has all entries, and sets up the subscriptions of the nodes that are connected to it. So a subscription belongs to no RIC.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::e2_manager;
use crate::names::ran_name;
use ferric::e2::Node;
use ferric::e2ap::{GlobalE2NodeId, Version};

/// Called with the key of an entry that another RIC has changed, on a thread of the entries: it must not block.
pub type EntryObserver = Box<dyn Fn(&str) + Send>;

/// Entries of which each RIC has a copy. Changes are made in the copy at once, and reach the other RICs soon.
pub trait SharedEntries: fmt::Debug + Send + Sync {
    /// Whether changes reach the other RICs now.
    fn is_available(&self) -> bool;
    /// The content of an entry.
    fn get(&self, key: &str) -> Option<Arc<[u8]>>;
    /// The entries whose keys have a prefix.
    fn with_prefix(&self, prefix: &str) -> Vec<(String, Arc<[u8]>)>;
    /// Creates or replaces an entry. Returns whether there is room.
    fn put(&self, key: &str, content: &[u8]) -> bool;
    /// Replaces an entry unless another RIC removes it. Returns whether there is room.
    fn replace(&self, key: &str, content: &[u8]) -> bool;
    /// Removes an entry. Returns whether there is room.
    fn remove(&self, key: &str) -> bool;
    /// Removes an entry that has a content. Returns whether there is room.
    fn remove_equal(&self, key: &str, content: &[u8]) -> bool;
    /// Has an observer called with the keys of a prefix: with those that are there, and with each that another RIC changes.
    fn observe(&self, prefix: &str, observer: EntryObserver);
}

/// What a RIC is in its group.
#[derive(Clone, Debug)]
pub struct GroupConfig {
    /// Its name, which no other RIC has.
    pub name: String,
    /// Where the others reach it.
    pub address: IpAddr,
    /// What is shared.
    pub entries: Arc<dyn SharedEntries>,
}

/// The prefixes of the entries' keys.
pub(crate) const RIC: &str = "ric/";
pub(crate) const NODE: &str = "node/";
pub(crate) const SUBSCRIPTION: &str = "subscription/";
pub(crate) const ROUTES: &str = "routes/";

/// A RIC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RicEntry {
    /// `HOST:PORT`.
    pub rmr: String,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NodeEntry {
    /// The name of its RIC.
    pub ric: String,
    /// The major version of E2AP.
    pub e2ap: u8,
    /// What the E2 manager lists of it.
    pub identity: Value,
    /// What the E2 manager tells of it.
    pub info: Value,
}

impl NodeEntry {
    pub fn of(ric: &str, node: &Node) -> Self {
        let (identity, info) = e2_manager::documents(node);
        NodeEntry { ric: ric.to_owned(), e2ap: major(node.version), identity, info }
    }

    pub fn version(&self) -> Version {
        version(self.e2ap)
    }
}

/// The major number of a version of E2AP.
pub(crate) fn major(version: Version) -> u8 {
    match version {
        version if version < Version::V2_03 => 1,
        Version::V2_03 => 2,
        _ => 3,
    }
}

/// The version of E2AP of a major number.
pub(crate) fn version(major: u8) -> Version {
    match major {
        0 | 1 => Version::V1_01,
        2 => Version::V2_03,
        _ => Version::V3_01,
    }
}

/// Reads an entry; `None` if there is none of this form.
pub(crate) fn read<T: for<'de> Deserialize<'de>>(entries: &dyn SharedEntries, key: &str) -> Option<T> {
    serde_json::from_slice(&entries.get(key)?).ok()
}

/// The nodes of all RICs, with their names.
pub(crate) fn nodes(entries: &dyn SharedEntries) -> impl Iterator<Item = (String, NodeEntry)> {
    entries.with_prefix(NODE).into_iter().filter_map(|(key, content)| {
        let entry = serde_json::from_slice(&content).ok()?;
        Some((key.strip_prefix(NODE)?.to_owned(), entry))
    })
}

impl GroupConfig {
    /// The name of the other RIC that serves a node.
    #[must_use]
    pub fn serving(&self, node: &GlobalE2NodeId) -> Option<String> {
        let entry = read::<NodeEntry>(&*self.entries, &format!("{NODE}{}", ran_name(node)))?;
        Some(entry.ric).filter(|ric| *ric != self.name)
    }

    /// Whether a RIC of that name shares nodes.
    #[must_use]
    pub fn has_ric(&self, name: &str) -> bool {
        self.entries.get(&format!("{RIC}{name}")).is_some()
    }
}

/// Why [`SharedEntries`] do not take a change of a short entry, and what to do, for logs and answers.
pub(crate) const NO_ROOM: &str =
    "as many changes as may wait for the store of the RICs: check that this RIC reaches it (--peers)";

/// Removes what a RIC that is gone has shared of itself and of its nodes. One that was only cut off shares it again.
pub fn forget_ric(entries: &dyn SharedEntries, name: &str) {
    // first, so that its nodes are not taken for lost by a RIC that is there
    let mut is_complete = entries.remove(&format!("{RIC}{name}"));
    for (key, content) in entries.with_prefix(NODE) {
        if serde_json::from_slice::<NodeEntry>(&content).is_ok_and(|entry| entry.ric == name) {
            is_complete &= entries.remove_equal(&key, &content);
        }
    }
    if !is_complete {
        tracing::warn!(
            "RIC {name} is gone, but RICs still list it and its nodes, until these set up or it starts again: {NO_ROOM}"
        );
    }
}
