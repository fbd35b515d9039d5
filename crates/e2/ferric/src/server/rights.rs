//! Access rules: which certificates may connect, and what each may do.
//!
//! The rules are applied when a link is established; with TLS, after the handshake. A peer without a certificate, on
//! any link that is not `tls://`, is rejected if there are rules for its kind.

use std::sync::Arc;

use e2::{NodeRights, Selection, XappRights};
use link::Identity;

/// The access rules. By default everybody may connect and do everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// The rules for nodes. `None`: all nodes may connect; a node that connected over TLS is still only taken over by
    /// the same identity.
    pub nodes: Option<Vec<NodeEntry>>,
    /// The rules for xApps. `None`: every xApp may do everything.
    pub xapps: Option<Vec<XappEntry>>,
}

/// A rule for nodes: the node ids that a certificate may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEntry {
    /// The certificate: a subject alternative name, or the common name if there are none, or `sha256:` and a
    /// fingerprint.
    pub certificate: String,
    /// The node ids, as [`GlobalE2NodeId`](e2ap::GlobalE2NodeId) displays them.
    pub node_ids: Selection<String>,
}

/// A rule for xApps: the rights of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XappEntry {
    /// The certificate, as in [`NodeEntry::certificate`].
    pub certificate: String,
    /// What the xApp may read and control.
    pub rights: Arc<XappRights>,
}

/// The result of applying the rules.
pub(super) enum Admission<T> {
    /// There are no rules: the peer may do everything.
    Unknown,
    /// The peer has these rights.
    Known(T),
    /// The peer is rejected.
    Refused,
}

impl Rights {
    /// Returns the rights of a node, from the first entry that matches.
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

    /// Returns the rights of an xApp, from the first entry that matches.
    pub(super) fn of_xapp(&self, identity: Option<&Identity>) -> Admission<Arc<XappRights>> {
        let Some(entries) = &self.xapps else { return Admission::Unknown };
        match identity.and_then(|identity| entries.iter().find(|entry| identity.is(&entry.certificate))) {
            Some(entry) => Admission::Known(entry.rights.clone()),
            None => Admission::Refused,
        }
    }
}
