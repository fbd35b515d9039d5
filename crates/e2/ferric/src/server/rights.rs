//! Who may connect, and what each may do, by certificate.
//!
//! Rights are asked when a link stands: over TLS, once the handshake is over. A peer without a certificate, on a `tcp://` or
//! any other link that is not `tls://`, is nobody: where there are rights for its kind, it is turned away.

use std::sync::Arc;

use e2::{NodeRights, Selection, XappRights};
use link::Identity;

/// Who may connect. By default everybody may, and do everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Of nodes. `None`: there are none to keep to; a node that came over TLS is still only by_xapp over by the same identity.
    pub nodes: Option<Vec<NodeEntry>>,
    /// Of xApps. `None`: every xApp may do everything.
    pub xapps: Option<Vec<XappEntry>>,
}

/// Which nodes the holder of a certificate may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEntry {
    /// Whose: a subject alternative name, or the common name where there are none, or `sha256:` and a fingerprint.
    pub certificate: String,
    /// The nodes, as their [`GlobalE2NodeId`](e2ap::GlobalE2NodeId) is written.
    pub node_ids: Selection<String>,
}

/// What an xApp with a certificate may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XappEntry {
    /// As of nodes.
    pub certificate: String,
    /// What it may read and control.
    pub rights: Arc<XappRights>,
}

/// What is to be done with a peer that has connected.
pub(super) enum Admission<T> {
    /// It may do everything, and is nobody in particular.
    Unknown,
    /// It may do this.
    Known(T),
    /// It has no business here.
    Refused,
}

impl Rights {
    /// What a node may do. The first entry that names it counts.
    pub(super) fn of_node(&self, identity: Option<&Identity>) -> Admission<NodeRights> {
        let node_ids = match (&self.nodes, identity) {
            (None, None) => return Admission::Unknown,
            (None, Some(_)) => Selection::All,
            (Some(_), None) => return Admission::Refused,
            (Some(entries), Some(identity)) => match entries.iter().find(|entry| identity.is(&entry.certificate)) {
                Some(entry) => entry.node_ids.clone(),
                None => return Admission::Refused,
            },
        };
        let identity = identity.map(Identity::to_string).unwrap_or_default();
        Admission::Known(NodeRights { identity: identity.into(), node_ids })
    }

    /// What an xApp may do. The first entry that names it counts.
    pub(super) fn of_xapp(&self, identity: Option<&Identity>) -> Admission<Arc<XappRights>> {
        let Some(entries) = &self.xapps else { return Admission::Unknown };
        match identity.and_then(|identity| entries.iter().find(|entry| identity.is(&entry.certificate))) {
            Some(entry) => Admission::Known(entry.rights.clone()),
            None => Admission::Refused,
        }
    }
}
