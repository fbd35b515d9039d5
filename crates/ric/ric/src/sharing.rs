//! What xApps of the O-RAN reference platform have of all RICs that share nodes.

use std::sync::Arc;

use ferric::server::Server;
use oran::group::{EntryObserver, GroupConfig, SharedEntries};
use shared_store::{MapHandle, SharedMap};

use crate::peers::SharedNodes;

/// The map in the store of the RICs.
const MAP: &str = "ferric-xapps";

#[derive(Debug)]
struct Entries(MapHandle);

impl SharedEntries for Entries {
    fn is_available(&self) -> bool {
        self.0.is_available()
    }

    fn get(&self, key: &str) -> Option<Arc<[u8]>> {
        self.0.get(key)
    }

    fn with_prefix(&self, prefix: &str) -> Vec<(String, Arc<[u8]>)> {
        self.0.with_prefix(prefix)
    }

    fn put(&self, key: &str, content: &[u8]) -> bool {
        self.0.put(key, content)
    }

    fn replace(&self, key: &str, content: &[u8]) -> bool {
        self.0.replace(key, content)
    }

    fn remove(&self, key: &str) -> bool {
        self.0.remove(key)
    }

    fn remove_equal(&self, key: &str, content: &[u8]) -> bool {
        self.0.remove_equal(key, content)
    }

    fn observe(&self, prefix: &str, observer: EntryObserver) {
        self.0.observe(prefix, Box::new(move |key, _| observer(key)));
    }
}

/// The part of a RIC in its group. The map ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Sharing {
    _map: SharedMap,
    pub config: GroupConfig,
}

impl Sharing {
    /// Follows what the RICs share. Their store need not be there yet.
    pub fn start(nodes: &SharedNodes, server: &Server) -> Result<Self, ferric::Error> {
        let (name, address) = nodes.identity(server)?;
        let map = SharedMap::start(nodes.url.clone(), MAP);
        let map = map.map_err(|source| ferric::Error::System { what: "share subscriptions of xApps", source })?;
        let entries = Arc::new(Entries(map.handle().clone()));
        Ok(Sharing { _map: map, config: GroupConfig { name, address: address.ip(), entries } })
    }
}
