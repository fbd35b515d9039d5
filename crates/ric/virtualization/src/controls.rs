//! Controls that are passed on to base stations.

use std::collections::HashMap;

use ferric::agent::{ControlFailure, ControllerId};
use ferric::e2::{ControlOutcome, NodeId, Ticket};
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId, RicRequestId};
use ferric::server::IappContext;
use tracing::warn;

use crate::base_station::BaseStation;
use crate::cells::CellPlmn;
use crate::node::{Effect, TenantControl};
use crate::policies::Policies;
use crate::{ccc, rc};

/// A control that the base station has not answered yet.
struct Pending {
    node: NodeId,
    tenant: usize,
    function: RanFunctionId,
    /// Who awaits the answer; `None` for a control of the app itself.
    controller: Option<(ControllerId, RicRequestId)>,
    effect: Effect,
}

/// The controls that base stations have not answered yet.
#[derive(Default)]
pub(crate) struct Controls(HashMap<Ticket, Pending>);

impl Controls {
    /// Passes a tenant's control on.
    pub fn send(
        &mut self,
        id: NodeId,
        node: &BaseStation,
        (tenant, function): (usize, RanFunctionId),
        control: TenantControl,
        ric: &mut IappContext<'_>,
    ) {
        let TenantControl { controller, id: request, call_process_id, header, message, effect } = control;
        let sent = match &call_process_id {
            None => ric.control(id, function, &header, &message),
            Some(process) => ric.answer_insert(id, function, process, &header, &message),
        };
        match sent {
            Ok(ticket) => {
                let mut shared = node.shared.lock();
                let state = &mut shared.tenants[tenant];
                if let Some(process) = &call_process_id {
                    state.inserts.remove(process);
                }
                let controller = Some((controller, request));
                self.0.insert(ticket, Pending { node: id, tenant, function, controller, effect });
            }
            Err(misuse) => {
                if ric.allows_line(id) {
                    let shared = node.shared.lock();
                    let (name, tenant) = (&shared.name, &shared.sla.tenants[tenant].name);
                    warn!(
                        node = name,
                        function = function.0,
                        tenant,
                        "a control of a tenant is refused: cannot pass it on: {misuse}"
                    );
                }
                if effect != Effect::None {
                    node.shared.lock().tenants[tenant].has_pending_policies = false;
                }
                let cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
                node.answer(tenant, function, controller, request, Err(cause.into()));
            }
        }
    }

    /// Sets the RRM policies of a tenant again, or undoes them.
    pub fn renew_policies(
        &mut self,
        id: NodeId,
        node: &BaseStation,
        tenant: usize,
        undo: bool,
        ric: &mut IappContext<'_>,
    ) {
        let mut shared = node.shared.lock();
        let state = &mut shared.tenants[tenant];
        let share = state.part.share;
        let (quota, cells) = if undo {
            let (quotas, cells) = (std::mem::take(&mut state.policies), std::mem::take(&mut state.cell_policies));
            (quotas.neutral(), cells.neutral())
        } else {
            (state.policies.all().map(|quota| Policies::physical(&quota, share)), state.cell_policies.physical(share))
        };
        drop(shared);
        let mut results = Vec::new();
        if let (Some(quota), Some((function, detection))) = (quota, node.rc_function()) {
            let control = rc::quota_control(&detection, quota).map_err(|error| error.to_string());
            results.push((function, control));
        }
        if let (false, Some(function)) = (cells.is_empty(), node.ccc_function()) {
            results.push((function, ccc::policies_control(cells).map_err(|error| error.to_string())));
        }
        for (function, control) in results {
            let sent = control.and_then(|(header, message)| {
                ric.control(id, function, &header, &message).map_err(|misuse| misuse.to_string())
            });
            match sent {
                Ok(ticket) => {
                    let pending = Pending { node: id, tenant, function, controller: None, effect: Effect::None };
                    self.0.insert(ticket, pending);
                }
                Err(reason) => {
                    if ric.allows_line(id) {
                        let shared = node.shared.lock();
                        let (name, tenant) = (&shared.name, &shared.sla.tenants[tenant].name);
                        warn!(
                            node = name,
                            function = function.0,
                            tenant,
                            "the RRM policies of a tenant stay as they were: cannot send the control: {reason}; replace its \
                             share again"
                        );
                    }
                }
            }
        }
    }

    /// Undoes the RRM policies of a tenant that is gone, and forgets its other controls.
    pub fn remove_tenant(&mut self, id: NodeId, node: &BaseStation, tenant: usize, ric: &mut IappContext<'_>) {
        self.0.retain(|_, pending| {
            if (pending.node, pending.tenant) != (id, tenant) {
                return true;
            }
            // what the base station is still to execute is undone too
            let state = &mut node.shared.lock().tenants[tenant];
            match std::mem::replace(&mut pending.effect, Effect::None) {
                Effect::Policies(policies) => state.policies = policies,
                Effect::CellPolicies(policies) => state.cell_policies = policies,
                Effect::None => {}
            }
            false
        });
        self.renew_policies(id, node, tenant, true, ric);
    }

    /// Forgets the controls of a base station that is lost.
    pub fn forget_node(&mut self, node: NodeId) {
        self.0.retain(|_, pending| pending.node != node);
    }

    /// The base station whose answer a ticket identifies.
    pub fn node_of(&self, ticket: Ticket) -> Option<NodeId> {
        self.0.get(&ticket).map(|pending| pending.node)
    }

    /// Passes the answer of a base station to the tenant.
    pub fn answered(&mut self, ticket: Ticket, node: &BaseStation, outcome: &ControlOutcome, may_log: bool) {
        let Some(Pending { tenant, function, controller, effect, .. }) = self.0.remove(&ticket) else { return };
        let mut octets = match outcome {
            ControlOutcome::Acknowledged(outcome) | ControlOutcome::Failed { outcome, .. } => {
                outcome.as_ref().map(|octets| octets.to_vec())
            }
            _ => None,
        };
        let is_executed = matches!(outcome, ControlOutcome::Acknowledged(_));
        {
            let mut shared = node.shared.lock();
            let plmn = CellPlmn::to_tenant(&shared, tenant);
            let state = &mut shared.tenants[tenant];
            state.has_pending_policies &= effect == Effect::None;
            match effect {
                Effect::Policies(policies) if is_executed => state.policies = policies,
                Effect::CellPolicies(next) => {
                    // each structure has an outcome of its own
                    let before = &state.cell_policies;
                    let translated = octets.take().map(|octets| ccc::outcome(&octets, before, &next, plmn));
                    let all = || (None, if is_executed { next.clone() } else { before.clone() });
                    let (of_tenant, now) = translated.unwrap_or_else(all);
                    (octets, state.cell_policies) = (of_tenant, now);
                }
                _ => {}
            }
            if !is_executed && controller.is_none() && may_log {
                let (name, tenant) = (&shared.name, &shared.sla.tenants[tenant].name);
                warn!(
                    node = name,
                    function = function.0,
                    tenant,
                    "the RRM policies of a tenant stay as they were: the base station refuses them: {outcome}; replace its \
                     share again"
                );
            }
        }
        let Some((controller, request)) = controller else { return };
        let result = match outcome {
            ControlOutcome::Acknowledged(_) => Ok(octets),
            ControlOutcome::Failed { cause, .. } => Err(ControlFailure { cause: *cause, outcome: octets }),
            _ => Err(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute).into()),
        };
        node.answer(tenant, function, controller, request, result);
    }
}
