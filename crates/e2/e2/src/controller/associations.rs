//! Nodes with several associations.
//!
//! The association that set up is the node's first. Further ones join it by an E2 Node Configuration Update that names the
//! node as the first message on a new association (E2AP v03.01 8.3.5.2); the RIC requests them by an E2 Connection Update.
//! A node may send on any of them. The RIC sends on the first, which preserves the order of messages; when that ends, the
//! one that joined earliest takes its place and the node stays up.

use std::collections::HashMap;

use e2ap::{
    Cause, CauseMisc, CauseProtocol, E2NodeConfigurationUpdate, E2NodeConfigurationUpdateAcknowledge,
    E2NodeConfigurationUpdateFailure, GlobalE2NodeId,
};

use super::procedures::Procedures;
use super::{Controller, Deadline, NodeId};
use crate::change::all;
use crate::connection::MAX_ASSOCIATIONS;
use crate::{AssocId, CloseReason, NodeTakeover, Notice, Time};

/// The associations that joined each node, in the order of joining.
pub(super) type Joined = HashMap<NodeId, Vec<AssocId>>;

/// The state that an ended association hands over to the next.
#[derive(Debug, Default)]
pub(super) struct Handover {
    pub procedures: Procedures,
    pub connection_not_before: Time,
}

impl Controller {
    /// Returns the first association of a node, which holds its pending procedures.
    pub(super) fn first_of(&self, node: NodeId, assoc: AssocId) -> AssocId {
        self.nodes.get(&node).map_or(assoc, |node| node.assoc)
    }

    // Clause 8.3.5.2/5 ric: A Global E2 Node ID on a new association makes it one of that node. Tests:
    //   connection_update_joined. Versions: from v02 on.
    // Clause 8.3.6.2/8 ric: On a further association the configuration update is the first procedure, and its node id
    //   assigns the association. Tests: connection_update_joined,
    //   node_with_several_associations_survives_loss_of_the_first. Versions: from v02 on.
    /// Lets an association, whose first message names a node, join that node.
    pub(super) fn join_node(
        &mut self,
        now: Time,
        assoc: AssocId,
        key: GlobalE2NodeId,
        update: &E2NodeConfigurationUpdate<'_>,
    ) {
        let node = self.by_key.get(&key).and_then(|id| self.nodes.get(id));
        let holds_more = all(&update.component_config_addition).next().is_some()
            || all(&update.component_config_update).next().is_some()
            || all(&update.component_config_removal).next().is_some()
            || all(&update.tnl_association_removal).next().is_some();
        let denial = self.denial(assoc, &key, node.map(|node| node.id));
        // it continues the node after the end of the first one
        let holder = node.map(|node| node.assoc).filter(|holder| denial.is_none() && !self.may_join(assoc, *holder));
        let node = self.by_key.get(&key).and_then(|id| self.nodes.get(id));
        let (Some(state), transaction_id) = (self.assocs.get(&assoc), update.transaction_id) else { return };
        let joined = node.and_then(|node| self.joined.get(&node.id)).map_or(0, Vec::len);
        let cause = match node {
            _ if denial.is_some() || holder.is_some() => Some(Cause::Misc(CauseMisc::OmIntervention)),
            None => Some(Cause::Protocol(CauseProtocol::MessageNotCompatibleWithReceiverState)),
            // changes belong on the first association, which preserves their order
            Some(node) if holds_more || state.codec != node.codec => {
                Some(Cause::Protocol(CauseProtocol::SemanticError))
            }
            Some(_) if joined >= MAX_ASSOCIATIONS => Some(Cause::Misc(CauseMisc::ControlProcessingOverload)),
            Some(_) => None,
        };
        let version = node.map_or(state.version, |node| node.version);
        let id = node.map(|node| node.id);
        match (cause, id) {
            (None, Some(id)) => {
                if let Some(state) = self.assocs.get_mut(&assoc) {
                    (state.node, state.version) = (Some(id), version);
                }
                self.joined.entry(id).or_default().push(assoc);
                let ack = E2NodeConfigurationUpdateAcknowledge {
                    transaction_id,
                    component_config_update_ack_v1: None,
                    component_config_addition_ack: None,
                    component_config_update_ack: None,
                    component_config_removal_ack: None,
                };
                self.outbox.push(assoc, version, &ack.into());
                self.notice(assoc, Notice::AssociationJoined { node: key, count: joined + 2 });
            }
            (cause, _) => {
                match holder {
                    Some(holder) => self.refuse_takeover(now, assoc, holder, key),
                    None => self.remark(now, assoc, denial.unwrap_or(Notice::JoinRefused { node: key })),
                }
                let failure = E2NodeConfigurationUpdateFailure {
                    transaction_id,
                    cause: cause.map(|cause| cause.in_version(version)),
                    time_to_wait: None,
                    criticality_diagnostics: None,
                };
                self.outbox.push(assoc, version, &failure.into());
                self.close(now, assoc, CloseReason::NotAllowed);
            }
        }
    }

    /// Whether an association may join the node of another one: it comes from the same peer, or the RIC has requested it,
    /// which counts once.
    fn may_join(&mut self, assoc: AssocId, holder: AssocId) -> bool {
        if self.config.node_takeover == NodeTakeover::Always || self.is_same_peer(assoc, holder) {
            return true;
        }
        let Some(state) = self.assocs.get_mut(&holder) else { return false };
        let is_expected = state.expected_joins > 0;
        state.expected_joins -= usize::from(is_expected);
        is_expected
    }

    /// Handles the end of one of a node's associations. Returns whether the node continues on another one.
    pub(super) fn continues(&mut self, now: Time, node: NodeId, lost: AssocId, handover: Handover) -> bool {
        let first = self.first_of(node, lost);
        let Some(joined) = self.joined.get_mut(&node) else { return false };
        if first != lost {
            joined.retain(|assoc| *assoc != lost);
            return true;
        }
        let Some(&next) = joined.first() else { return false };
        self.make_first(node, next, handover);
        if let Some(joined) = self.joined.get_mut(&node) {
            joined.retain(|assoc| *assoc != lost);
        }
        let (key, left) =
            (self.nodes.get(&node).map(|node| node.global_id), self.joined.get(&node).map_or(0, Vec::len));
        if let Some(node) = key {
            self.remark(now, next, Notice::AssociationLost { node, left: left + 1 });
        }
        true
    }

    /// Makes another association of a node its first and moves the pending procedures there.
    pub(super) fn make_first(&mut self, id: NodeId, assoc: AssocId, handover: Handover) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let older = std::mem::replace(&mut node.assoc, assoc);
        self.move_postponed(older, assoc);
        if let Some(joined) = self.joined.get_mut(&id) {
            joined.retain(|other| *other != assoc);
            joined.push(older);
        }
        let deadlines: Vec<_> = handover.procedures.deadlines().collect();
        if let Some(state) = self.assocs.get_mut(&assoc) {
            (state.procedures, state.connection_not_before) = (handover.procedures, handover.connection_not_before);
        }
        for (code, by) in deadlines {
            self.set_timer(by, Deadline::Procedure(assoc, code, by));
        }
        // its indications arrive on another association
        self.requests.touch_node(id);
    }

    /// Closes the associations that joined a lost node.
    pub(super) fn close_joined(&mut self, now: Time, node: NodeId) {
        for assoc in self.joined.remove(&node).unwrap_or_default() {
            if let Some(state) = self.assocs.get_mut(&assoc) {
                state.node = None;
                self.close(now, assoc, CloseReason::Removed);
            }
        }
    }
}
