//! Several RICs share the nodes: which of them serves a node.

use core::fmt;

use e2ap::{Cause, CauseMisc, E2SetupFailure, GlobalE2NodeId, TnlInformation, TransactionId, Version};

use super::{Controller, LostReason, NodeId};
use crate::{AssocId, CloseReason, Notice, Time};

/// Where a node belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// This RIC serves it.
    Here,
    /// Another RIC serves it, at this address.
    Elsewhere(TnlInformation<'static>),
}

/// Decides which RIC serves a node. It is asked for each setup on a new association, and must not block.
pub trait NodePlacement: fmt::Debug + Send + Sync {
    /// Returns where the node belongs that requests a setup now.
    fn place(&self, now: Time, node: &GlobalE2NodeId) -> Placement;
}

impl Controller {
    /// Has nodes directed to other RICs. Without it, this RIC serves all nodes.
    pub fn set_placement(&mut self, placement: Box<dyn NodePlacement>) {
        self.placement = Some(placement);
    }

    /// Closes the associations of a node, so that it sets up again, here or at another RIC. Its subscriptions are kept as after a
    /// loss. Returns whether it was connected.
    pub fn release(&mut self, now: Time, node: NodeId) -> bool {
        let Some(assoc) = self.nodes.get(&node).map(|node| node.assoc) else { return false };
        if let Some(state) = self.assocs.get_mut(&assoc) {
            state.node = None;
        }
        self.lose_node(now, node, LostReason::Closed(CloseReason::Elsewhere));
        self.close(now, assoc, CloseReason::Elsewhere);
        true
    }

    /// Returns the address of the RIC that a node belongs to, if it is another one.
    pub(super) fn elsewhere(&self, now: Time, node: &GlobalE2NodeId) -> Option<TnlInformation<'static>> {
        match self.placement.as_ref()?.place(now, node) {
            Placement::Here => None,
            Placement::Elsewhere(tnl) => Some(tnl),
        }
    }

    /// Refuses a setup and names the RIC that the node belongs to (E2AP v03.01 8.3.1.3). There is no time to wait: the node
    /// returns at once if it does not reach the other RIC.
    pub(super) fn direct(
        &mut self,
        now: Time,
        assoc: AssocId,
        version: Version,
        transaction_id: Option<TransactionId>,
        node: GlobalE2NodeId,
        tnl: TnlInformation<'static>,
    ) {
        let Some(state) = self.assocs.get_mut(&assoc) else { return };
        if !state.answers.take(now) {
            return self.withheld(assoc);
        }
        let failure = E2SetupFailure {
            transaction_id: (version >= Version::V2_03).then(|| transaction_id.unwrap_or(TransactionId(0))),
            cause: Some(Cause::Misc(CauseMisc::OmIntervention).in_version(version)),
            time_to_wait: None,
            criticality_diagnostics: None,
            tnl_information: (version > Version::V1_00).then(|| tnl.clone()),
        };
        self.outbox.push(assoc, version, &failure.into());
        self.remark(now, assoc, Notice::Directed { node, to: tnl });
    }
}
