//! Access rules: which certificates may connect, and what each may do.
//!
//! The rules are applied when a link is established; with TLS, after the handshake. A peer without a certificate, on
//! any link that is not `tls://`, is rejected if there are rules for its kind.

use std::sync::{Arc, Mutex, PoisonError};

use e2::{AssocId, CloseReason, NodeRights, Selection, Time, XappRights};
use link::{Identity, Link};
use tracing::info;

use super::{IappWaker, KIND_E42, KIND_NODE, Server};
use crate::{Error, peers};

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
#[derive(PartialEq, Eq)]
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

/// Replaces the rights of a running server, from any thread.
///
/// Links whose rights are other ones are closed: their peers connect again with the new ones. All others go on.
#[derive(Clone, Debug)]
pub struct RightsHandle {
    pending: Pending,
    waker: IappWaker,
}

/// The rights that are to replace those of the server.
pub(super) type Pending = Arc<Mutex<Option<(Rights, Option<Arc<XappRights>>)>>>;

impl RightsHandle {
    /// Replaces the rights, and those of E42 xApps without a certificate
    /// ([`E42Config::without_certificate`](super::E42Config::without_certificate)). The server logs how many links it closes.
    pub fn replace(&self, rights: Rights, e42_without_certificate: Option<Arc<XappRights>>) {
        *self.pending.lock().unwrap_or_else(PoisonError::into_inner) = Some((rights, e42_without_certificate));
        self.waker.wake();
    }
}

impl Server {
    /// Returns a handle that replaces the rights while the server runs.
    ///
    /// # Errors
    /// When the system refuses an eventfd.
    pub fn rights_handle(&mut self) -> Result<RightsHandle, Error> {
        let waker = self.iapp_waker()?;
        Ok(RightsHandle { pending: Arc::clone(&self.pending_rights), waker })
    }

    /// Applies the rights that a [`RightsHandle`] has passed on, if any.
    pub(super) fn apply_pending_rights(&mut self, now: Time) {
        let pending = self.pending_rights.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((rights, without)) = pending else { return };
        let before = std::mem::replace(&mut self.config.rights, rights);
        let after = &self.config.rights;
        let without_before = match (&mut self.config.e42, &without) {
            (Some(e42), _) => std::mem::replace(&mut e42.without_certificate, without.clone()),
            (None, _) => None,
        };
        let changed = self.apps.hosts.associations().filter(|association| {
            let identity = association.identity.as_ref();
            match peers::kind(association.assoc.0) {
                KIND_NODE => before.of_node(identity) != after.of_node(identity),
                KIND_E42 if identity.is_none() && without_before != without => true,
                _ => before.of_xapp(identity) != after.of_xapp(identity),
            }
        });
        let changed: Vec<_> = changed.cloned().collect();
        let mut closed = 0_usize;
        for association in changed {
            if self.close_for_rights(now, association.assoc) {
                closed += 1;
                if self.log_limiter.allow_from(&association.peer) {
                    info!(peer = %association.peer, "connection closed: the rights of its peer have changed");
                }
            }
        }
        info!(
            closed,
            "the rights of nodes and xApps are replaced; connections with other rights than before are closed"
        );
    }

    /// Closes a link of any loop. Returns whether it existed.
    fn close_for_rights(&mut self, now: Time, assoc: AssocId) -> bool {
        match peers::kind(assoc.0) {
            KIND_NODE => {
                let follows_move = self.apps.workers.close(assoc).is_some();
                if follows_move {
                    self.nodes.vacate(assoc);
                }
                let own = self.nodes.remove(&self.poll, assoc).map(Link::close);
                self.controller.handle_close(now, assoc, CloseReason::NotAllowed);
                follows_move || own.is_some()
            }
            KIND_E42 => {
                let closed = self.apps.e42.peers.remove(&self.poll, assoc).map(Link::close);
                self.apps.e42.host.handle_close(now, assoc, &mut self.controller);
                closed.is_some()
            }
            _ => {
                let closed = self.close_xapp(assoc);
                self.apps.host.handle_close(now, assoc, &mut self.controller);
                closed.is_some()
            }
        }
    }
}
