//! Nodes come, again and elsewhere.
//!
//! Procedure: E2 Setup. Clause: E2AP v03.01 8.3.1. Role: ric. Since: v01.00. Scenarios: setup*

use e2ap::{
    Cause, CauseMisc, CauseRicService, E2NodeComponentConfigAdditionAckItem, E2NodeComponentConfigUpdateAckItemV1,
    E2NodeComponentConfigurationAck, E2SetupRequest, E2SetupResponse, RanFunctionIdCauseItem, RanFunctionIdItem,
    TimeToWait, UpdateOutcome, Version,
};
use per::IntoOwned;

use super::{Controller, Event, LostReason, Node, NodeId, RanFunction};
use crate::{AssocId, CloseReason, Notice, Time};

impl Controller {
    pub(super) fn setup(&mut self, now: Time, assoc: AssocId, version: Version, request: E2SetupRequest<'_>) {
        let Some(state) = self.assocs.get_mut(&assoc) else { return };
        let was = state.node;
        let key = request.global_e2_node_id;
        // Each repetition costs every xApp two messages.
        if was.is_some() && !state.answers.take(now) {
            return self.withheld(assoc);
        }

        let known = self.by_key.get(&key).copied();
        if was.is_none() && known.is_none() && self.nodes.len() >= self.config.max_nodes {
            let cause = Cause::Misc(CauseMisc::ControlProcessingOverload);
            self.refuse_setup(now, assoc, version, request.transaction_id, cause, Some(TimeToWait::V60s), None);
            return;
        }
        // The same association: the node starts anew, as itself or as another.
        if let Some(node) = was.and_then(|id| self.nodes.get(&id)) {
            self.notice(assoc, Notice::RepeatedSetup { was: node.global_id, is: key });
        }
        if let Some(id) = was {
            self.lose_node(now, id, LostReason::SetupAgain);
        }
        // Another association: the newer one has the node, since the older one may be half-open for hours.
        if let Some(id) = known.filter(|id| Some(*id) != was)
            && let Some(older) = self.nodes.get(&id).map(|n| n.assoc)
        {
            self.notice(assoc, Notice::TakenOver { node: key });
            if let Some(older) = self.assocs.get_mut(&older) {
                older.node = None;
            }
            self.lose_node(now, id, LostReason::SetupAgain);
            self.close(now, older, CloseReason::TakenOver);
        }

        let id = self.next_node_id();
        let (functions, rejected) = functions(&request, self.config.max_function_octets);
        for item in &rejected {
            let notice = Notice::FunctionRejected { ran_function_id: item.id, cause: item.cause };
            self.remark(now, assoc, notice);
        }
        let accepted: Vec<_> = functions.iter().map(|f| RanFunctionIdItem { id: f.id, revision: f.revision }).collect();
        let response = E2SetupResponse {
            transaction_id: request.transaction_id,
            global_ric_id: self.config.ric_id,
            ran_functions_accepted: (!accepted.is_empty()).then(|| accepted.into()),
            ran_functions_rejected: (!rejected.is_empty()).then(|| rejected.into()),
            component_config_update_ack_v1: request.component_config_update_v1.map(|items| {
                items
                    .iter()
                    .map(|item| E2NodeComponentConfigUpdateAckItemV1 {
                        component_type: item.component_type,
                        id: item.id,
                        ack: TAKEN,
                    })
                    .collect()
            }),
            component_config_addition_ack: request.component_config_addition.map(|items| {
                items
                    .iter()
                    .map(|item| E2NodeComponentConfigAdditionAckItem {
                        interface_type: item.interface_type,
                        id: item.id.clone().into_owned(),
                        ack: TAKEN,
                    })
                    .collect()
            }),
        };
        self.outbox.push(assoc, version, &response.into());

        if let Some(state) = self.assocs.get_mut(&assoc) {
            (state.node, state.version, state.reset) = (Some(id), version, None);
        }
        self.by_key.insert(key, id);
        self.nodes.insert(id, Node { id, global_id: key, assoc, version, functions });
        self.events.push_back(Event::NodeUp(id));
    }

    fn next_node_id(&mut self) -> NodeId {
        // ends, since there are fewer nodes than numbers
        loop {
            let id = NodeId(self.next_node);
            self.next_node = self.next_node.wrapping_add(1);
            if !self.nodes.contains_key(&id) {
                return id;
            }
        }
    }
}

const TAKEN: E2NodeComponentConfigurationAck =
    E2NodeComponentConfigurationAck { outcome: UpdateOutcome::Success, failure_cause: None };

/// The longest OID that xApps are told. E2AP's bound can be exceeded (E2AP v03.01 9.2.31), real ones have 30 octets.
const MAX_OID_OCTETS: usize = crate::xapp::wire::MAX_OID;

/// The functions that are taken, by id, and those that are not.
fn functions(request: &E2SetupRequest<'_>, max_octets: usize) -> (Vec<RanFunction>, Vec<RanFunctionIdCauseItem>) {
    let mut taken: Vec<RanFunction> = Vec::new();
    let mut rejected = Vec::new();
    let mut octets_left = max_octets;
    for item in request.ran_functions_added.iter().flat_map(|items| items.iter()) {
        let oid = item.oid.as_ref().map_or("", |oid| oid.as_str());
        let octets = oid.len() + item.definition.len();
        let cause = match taken.binary_search_by_key(&item.id, |f| f.id) {
            // The first one stands; two under one id are a fault of the node.
            Ok(_) => CauseRicService::ExcessiveFunctions,
            Err(_) if oid.len() > MAX_OID_OCTETS => CauseRicService::RanFunctionNotSupported,
            Err(_) if octets > octets_left => CauseRicService::RicResourceLimit,
            Err(at) => {
                octets_left -= octets;
                let (id, revision, definition) = (item.id, item.revision, item.definition.to_cow().into());
                taken.insert(at, RanFunction { id, revision, oid: oid.into(), definition });
                continue;
            }
        };
        rejected.push(RanFunctionIdCauseItem { id: item.id, cause: Cause::RicService(cause) });
    }
    (taken, rejected)
}
