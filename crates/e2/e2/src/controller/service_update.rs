//! Applies changes of a node's RAN functions to the RAN database and ends the requests of removed functions.
//!
//! Procedure: RIC Service Update. Clause: E2AP v03.01 8.3.4. Role: ric. Since: v01.00. Scenarios: service_update*
//!
//! An added function with a known id replaces the old one; a modified function with an unknown id is added. A rejected function
//! is dropped together with its old definition. If every function of an update is rejected, the update fails and changes
//! nothing.

use std::collections::BTreeSet;

use e2ap::{
    Cause, CauseProtocol, CauseRicRequest, CauseRicService, ProcedureCode, RanFunctionId, RanFunctionIdCauseItem,
    RanFunctionIdItem, RicServiceUpdate, RicServiceUpdateAcknowledge, RicServiceUpdateFailure, TimeToWait,
    TransactionId, Version,
};

use super::node::{FunctionList, function_octets};
use super::records::Request;
use super::{Controller, Event, NodeId, SubscribeError, SubscriptionEnd};
use crate::change::{all, list};
use crate::{Notice, Time};

impl Controller {
    // Clause 8.3.4.2/4 ric: Added RAN functions are stored with definition and revision. Tests: service_update,
    //   conform:service-update-add.
    // Clause 8.3.4.2/5 ric: Modified RAN functions get the new definition and revision. Tests: service_update,
    //   conform:service-update-modify.
    // Clause 8.3.4.2/6 ric: Deleted RAN functions are removed. Tests: service_update, conform:service-update-delete.
    // Clause 8.3.4.2/7 ric: If at least one change succeeds, the acknowledgement lists accepted and rejected
    //   functions. Tests: service_update, service_update_refused, conform:service-update-add.
    // Clause 8.3.4.2/8 ric: An update without content is acknowledged without content and changes nothing. Tests:
    //   service_update, conform:service-update-empty.
    pub(super) fn service_update(&mut self, now: Time, id: NodeId, update: &RicServiceUpdate<'_>) {
        let Some(node) = self.nodes.get(&id) else { return };
        let (assoc, version, transaction_id) = (node.assoc, node.version, update.transaction_id);
        let Some(state) = self.assocs.get_mut(&assoc) else { return };
        // each update costs a message to every xApp
        if !state.answers.take(now) {
            return self.withheld(assoc);
        }
        state.procedures.drop(ProcedureCode::RIC_SERVICE_QUERY);
        let offered = || all(&update.ran_functions_added).chain(all(&update.ran_functions_modified));
        let deleted = || all(&update.ran_functions_deleted).map(|item| item.id);
        let mut named = BTreeSet::new();
        if !offered().map(|item| item.id).chain(deleted()).all(|id| named.insert(id)) {
            // a duplicate id is ambiguous
            let cause = Cause::Protocol(CauseProtocol::SemanticError);
            return self.refuse_update(now, id, transaction_id, cause, &[], None);
        }

        let kept = node.functions.iter().map(function_octets).sum();
        let room = self.room_of_nodes(self.config.max_function_octets, kept);
        let mut functions = FunctionList::of(node.functions.clone(), room);
        named.iter().for_each(|id| functions.remove(*id));
        offered().for_each(|item| functions.add(item));
        let FunctionList { accepted: taken, rejected, .. } = functions;
        if let Some(first) = rejected.first().filter(|_| rejected.len() == named.len()) {
            let full = first.cause == Cause::RicService(CauseRicService::RicResourceLimit);
            return self.refuse_update(
                now,
                id,
                transaction_id,
                first.cause,
                &rejected,
                full.then_some(TimeToWait::V60s),
            );
        }
        for item in &rejected {
            let notice = Notice::FunctionRejected { ran_function_id: item.id, cause: item.cause };
            self.remark(now, assoc, notice);
        }
        let accepted = taken.iter().filter(|f| named.contains(&f.id));
        let accepted = accepted.map(|f| RanFunctionIdItem { id: f.id, revision: f.revision });
        let accepted = list(accepted.chain(all(&update.ran_functions_deleted).copied()));
        let ack = RicServiceUpdateAcknowledge {
            transaction_id,
            ran_functions_accepted: accepted,
            ran_functions_rejected: list(rejected.iter().copied()),
        };
        self.outbox.push(assoc, version, &ack.into());

        let Some(node) = self.nodes.get_mut(&id) else { return };
        if node.functions == taken {
            return;
        }
        self.octets_of_nodes -= node.octets();
        let before = std::mem::replace(&mut node.functions, taken);
        self.octets_of_nodes += node.octets();
        let gone: Vec<_> = before.iter().map(|f| f.id).filter(|id| node.function(*id).is_none()).collect();
        self.drop_requests_of(now, id, &gone);
        self.events.push_back(Event::NodeChanged(id));
    }

    // Clause 8.3.4.3/1 ric: An update that cannot be accepted is answered by the failure message with a cause. Tests:
    //   service_update_refused. Versions: v1 has a cause for each function instead.
    fn refuse_update(
        &mut self,
        now: Time,
        node: NodeId,
        transaction_id: Option<TransactionId>,
        cause: Cause,
        rejected: &[RanFunctionIdCauseItem],
        time_to_wait: Option<TimeToWait>,
    ) {
        let Some((assoc, version)) = self.nodes.get(&node).map(|node| (node.assoc, node.version)) else { return };
        self.remark(now, assoc, Notice::UpdateRefused { cause });
        let v1 = version < Version::V2_03;
        let failure = RicServiceUpdateFailure {
            transaction_id,
            ran_functions_rejected: list(rejected.iter().copied()).filter(|_| v1),
            cause: (!v1).then_some(cause),
            time_to_wait,
            criticality_diagnostics: None,
        };
        self.send(node, &failure.into());
    }

    /// Ends the requests of removed functions.
    fn drop_requests_of(&mut self, now: Time, node: NodeId, functions: &[RanFunctionId]) {
        if functions.is_empty() {
            return;
        }
        let cause = Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid);
        for place in self.requests.of_node(node) {
            if !self.requests.get(place).is_some_and(|request| functions.contains(&request.function())) {
                continue;
            }
            // not answered yet: a node that offers the function again by then would set it up
            if matches!(self.requests.get(place), Some(Request::Subscription(s)) if s.is_awaited()) {
                self.fail_waiting(place, &SubscribeError::Refused { cause, actions: Vec::new() });
                self.end_consumers(place, SubscriptionEnd::FunctionRemoved);
                self.send_delete(now, place);
                continue;
            }
            match self.free(now, place) {
                Some(Request::Subscription(subscription)) => {
                    self.subscription_gone(place, subscription, SubscriptionEnd::FunctionRemoved);
                }
                Some(Request::Control(control)) => {
                    self.control_ended(now, control, crate::ControlOutcome::Failed { cause, outcome: None });
                }
                Some(Request::Query(query)) => self.query_refused(&query, cause),
                None => {}
            }
        }
    }
}
