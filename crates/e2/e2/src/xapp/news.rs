//! News of nodes, for each xApp as fast as it reads and as far as its rights go.

use std::collections::BTreeSet;

use super::host::FunctionHint;
use super::host::{Session, XappHost};
use super::protocol::{FunctionInfo, NodeInfo, RicMessage};
use crate::{AssocId, Controller, Event, Node, NodeId, RanFunction, XappRights};

impl XappHost {
    pub(super) fn tell_all(&mut self, event: &Event, controller: &Controller) {
        match event {
            // else it is gone again already
            Event::NodeUp(id) if controller.node(*id).is_some() => {
                self.told.insert(*id);
                for assoc in self.by_consumer.values() {
                    if let Some(Session::Open { untold, behind, .. }) = self.sessions.get_mut(assoc) {
                        untold.insert(*id);
                        if !std::mem::replace(behind, true) {
                            self.behind.push_back(*assoc);
                        }
                    }
                }
            }
            Event::NodeChanged(id) if self.told.contains(id) => {
                for assoc in self.by_consumer.values() {
                    if let Some(Session::Open { untold, changed, behind, .. }) = self.sessions.get_mut(assoc)
                        && !untold.contains(id)
                    {
                        changed.insert(*id);
                        if !std::mem::replace(behind, true) {
                            self.behind.push_back(*assoc);
                        }
                    }
                }
            }
            Event::NodeLost { node, .. } if self.told.remove(node) => {
                self.scratch.clear();
                RicMessage::NodeLost(*node).encode(&mut self.scratch);
                let sessions = &mut self.sessions;
                let knows = |assoc: &AssocId| match sessions.get_mut(assoc) {
                    Some(Session::Open { untold, changed, hidden, .. }) => {
                        changed.remove(node);
                        !untold.remove(node) && !hidden.remove(node)
                    }
                    _ => false,
                };
                self.outbox.push_bytes(self.by_consumer.values().copied().filter(knows), &self.scratch);
            }
            _ => {}
        }
    }

    /// The outbox of an xApp's link has room again, after [`XappHost::poll_news`] was told that it has none.
    pub fn handle_room(&mut self, assoc: AssocId) {
        if let Some(Session::Open { untold, changed, behind, .. }) = self.sessions.get_mut(&assoc)
            && !(untold.is_empty() && changed.is_empty())
            && !std::mem::replace(behind, true)
        {
            self.behind.push_back(assoc);
        }
    }

    /// Appends news of a node that came or changed to `out`, and tells where to, once [`XappHost::poll_transmit`] has nothing more.
    ///
    /// All nodes together can be more than a link keeps waiting, and nodes may come faster than an xApp reads: so an xApp
    /// is told of one after the other while its link `has_room`, and not again before [`XappHost::handle_room`].
    pub fn poll_news(
        &mut self,
        controller: &Controller,
        out: &mut Vec<u8>,
        mut has_room: impl FnMut(AssocId) -> bool,
    ) -> Option<AssocId> {
        while let Some(assoc) = self.behind.pop_front() {
            let Some(Session::Open { untold, changed, hidden, behind, .. }) = self.sessions.get_mut(&assoc) else {
                continue;
            };
            *behind = false;
            if (untold.is_empty() && changed.is_empty()) || !has_room(assoc) {
                continue;
            }
            let rights = self.rights.get(&assoc).map(|rights| &**rights);
            let news = next_news(untold, changed, hidden, rights, controller);
            self.handle_room(assoc);
            let Some(news) = news else { continue };
            let rights = self.rights.get(&assoc).map(|rights| &**rights);
            match news {
                News::Came(node) => RicMessage::NodeUp(self.info(node, rights)),
                News::Changed(node) => RicMessage::NodeChanged(self.info(node, rights)),
                News::OutOfSight(node) => RicMessage::NodeLost(node),
            }
            .encode(out);
            return Some(assoc);
        }
        None
    }

    /// Whether [`XappHost::poll_news`] is to be asked again.
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.behind.is_empty()
    }

    /// A node as an xApp with these rights sees it.
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

/// What an xApp is told of a node.
enum News<'c> {
    Came(&'c Node),
    Changed(&'c Node),
    /// It changed so that the xApp may do nothing with it any more: to the xApp it is gone.
    OutOfSight(NodeId),
}

/// The next of an xApp's news. Nodes that it may do nothing with are `hidden` from it.
fn next_news<'c>(
    untold: &mut BTreeSet<NodeId>,
    changed: &mut BTreeSet<NodeId>,
    hidden: &mut BTreeSet<NodeId>,
    rights: Option<&XappRights>,
    controller: &'c Controller,
) -> Option<News<'c>> {
    let sees = |node: &Node| rights.is_none_or(|rights| rights.sees(node));
    // one whose loss is still to be handled is gone from the controller already
    while let Some(id) = untold.pop_first() {
        match controller.node(id) {
            Some(node) if sees(node) => return Some(News::Came(node)),
            Some(_) => drop(hidden.insert(id)),
            None => {}
        }
    }
    while let Some(id) = changed.pop_first() {
        let Some(node) = controller.node(id) else { continue };
        match (hidden.contains(&id), sees(node)) {
            (false, true) => return Some(News::Changed(node)),
            (true, true) => {
                hidden.remove(&id);
                return Some(News::Came(node));
            }
            (false, false) => {
                hidden.insert(id);
                return Some(News::OutOfSight(id));
            }
            (true, false) => {}
        }
    }
    None
}
