//! Announces nodes to each xApp, as fast as it reads and as far as its rights go.

use std::collections::BTreeSet;

use super::host::FunctionHint;
use super::host::{Session, XappHost};
use super::protocol::{FunctionInfo, NodeInfo, RicMessage};
use crate::{AssocId, Controller, Event, Node, NodeId, RanFunction, XappRights};

impl XappHost {
    pub(super) fn announce(&mut self, event: &Event, controller: &Controller) {
        match event {
            // otherwise it is lost already
            Event::NodeUp(id) if controller.node(*id).is_some() => {
                self.announced.insert(*id);
                for assoc in self.by_consumer.values() {
                    if let Some(Session::Open { unannounced, behind, .. }) = self.sessions.get_mut(assoc) {
                        unannounced.insert(*id);
                        if !std::mem::replace(behind, true) {
                            self.behind.push_back(*assoc);
                        }
                    }
                }
            }
            Event::NodeChanged(id) if self.announced.contains(id) => {
                for assoc in self.by_consumer.values() {
                    if let Some(Session::Open { unannounced, changed, behind, .. }) = self.sessions.get_mut(assoc)
                        && !unannounced.contains(id)
                    {
                        changed.insert(*id);
                        if !std::mem::replace(behind, true) {
                            self.behind.push_back(*assoc);
                        }
                    }
                }
            }
            Event::NodeLost { node, .. } if self.announced.remove(node) => {
                self.scratch.clear();
                RicMessage::NodeLost(*node).encode(&mut self.scratch);
                let sessions = &mut self.sessions;
                let knows = |assoc: &AssocId| match sessions.get_mut(assoc) {
                    Some(Session::Open { unannounced, changed, hidden, .. }) => {
                        changed.remove(node);
                        !unannounced.remove(node) && !hidden.remove(node)
                    }
                    _ => false,
                };
                self.outbox.push_bytes(self.by_consumer.values().copied().filter(knows), &self.scratch);
            }
            _ => {}
        }
    }

    /// Reports that the send queue of an xApp's link has room again, after [`XappHost::poll_announcement`] found none.
    pub fn handle_room(&mut self, assoc: AssocId) {
        if let Some(Session::Open { unannounced, changed, behind, .. }) = self.sessions.get_mut(&assoc)
            && !(unannounced.is_empty() && changed.is_empty())
            && !std::mem::replace(behind, true)
        {
            self.behind.push_back(assoc);
        }
    }

    /// Appends the next announcement of a new or changed node to `out` and returns its association. The caller drains
    /// [`XappHost::poll_transmit`] first.
    ///
    /// All nodes together can exceed the send queue of a link, and nodes may come up faster than an xApp reads. Each xApp
    /// therefore receives one announcement after the other while its link `has_room`, and then none before
    /// [`XappHost::handle_room`].
    pub fn poll_announcement(
        &mut self,
        controller: &Controller,
        out: &mut Vec<u8>,
        mut has_room: impl FnMut(AssocId) -> bool,
    ) -> Option<AssocId> {
        while let Some(assoc) = self.behind.pop_front() {
            let Some(Session::Open { unannounced, changed, hidden, behind, .. }) = self.sessions.get_mut(&assoc) else {
                continue;
            };
            *behind = false;
            if (unannounced.is_empty() && changed.is_empty()) || !has_room(assoc) {
                continue;
            }
            let rights = self.rights.get(&assoc).map(|rights| &**rights);
            let news = next_announcement(unannounced, changed, hidden, rights, controller);
            self.handle_room(assoc);
            let Some(news) = news else { continue };
            let rights = self.rights.get(&assoc).map(|rights| &**rights);
            match news {
                Announcement::Up(node) => RicMessage::NodeUp(self.info(node, rights)),
                Announcement::Changed(node) => RicMessage::NodeChanged(self.info(node, rights)),
                Announcement::Hidden(node) => RicMessage::NodeLost(node),
            }
            .encode(out);
            return Some(assoc);
        }
        None
    }

    /// Whether [`XappHost::poll_announcement`] must be called again.
    #[must_use]
    pub fn has_announcements(&self) -> bool {
        !self.behind.is_empty()
    }

    /// Returns the description of a node for an xApp with these rights.
    fn info(&self, node: &Node, rights: Option<&XappRights>) -> NodeInfo {
        let name = node.global_id.to_string();
        let hint = |function: &RanFunction| {
            let fits = |hint: &&FunctionHint| hint.node == name && hint.oids.iter().any(|oid| **oid == *function.oid);
            self.hints.iter().find(fits).map(|hint| hint.revision.clone())
        };
        let functions: Vec<_> = match rights {
            Some(rights) => rights.seen(node).collect(),
            None => node.functions.iter().collect(),
        };
        NodeInfo {
            id: node.id,
            global_id: node.global_id,
            version: node.version,
            encoding: node.codec.name().to_owned(),
            functions: functions
                .into_iter()
                .map(|function| FunctionInfo {
                    id: function.id,
                    revision: function.revision,
                    oid: function.oid.to_string(),
                    definition: function.definition.to_vec(),
                    model_revision: hint(function),
                })
                .collect(),
        }
    }
}

/// An announcement to an xApp.
enum Announcement<'c> {
    Up(&'c Node),
    Changed(&'c Node),
    /// A change has left the xApp without rights to the node: to the xApp the node is lost.
    Hidden(NodeId),
}

/// Returns the next announcement to an xApp. Nodes to which it has no rights are `hidden`.
fn next_announcement<'c>(
    unannounced: &mut BTreeSet<NodeId>,
    changed: &mut BTreeSet<NodeId>,
    hidden: &mut BTreeSet<NodeId>,
    rights: Option<&XappRights>,
    controller: &'c Controller,
) -> Option<Announcement<'c>> {
    let sees = |node: &Node| rights.is_none_or(|rights| rights.sees(node));
    // a node whose loss is not handled yet has left the controller already
    while let Some(id) = unannounced.pop_first() {
        match controller.node(id) {
            Some(node) if sees(node) => return Some(Announcement::Up(node)),
            Some(_) => drop(hidden.insert(id)),
            None => {}
        }
    }
    while let Some(id) = changed.pop_first() {
        let Some(node) = controller.node(id) else { continue };
        match (hidden.contains(&id), sees(node)) {
            (false, true) => return Some(Announcement::Changed(node)),
            (true, true) => {
                hidden.remove(&id);
                return Some(Announcement::Up(node));
            }
            (false, false) => {
                hidden.insert(id);
                return Some(Announcement::Hidden(id));
            }
            (true, false) => {}
        }
    }
    None
}
