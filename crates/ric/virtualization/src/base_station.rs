//! A base station, as the app has it.

use std::cell::Cell;
use std::sync::Arc;

use e2sm::rrc::IndicationMessage as RrcMessage;
use e2sm::slice::IndicationMessage as SliceMessage;
use e2sm::tc::IndicationMessage as TcMessage;
use e2sm::{Arena, Wire, rc};
use ferric::agent::{ControlFailure, ControllerId, NodeHandle};
use ferric::e2::Function;
use ferric::e2ap::{GlobalE2NodeId, RanFunctionId, RicRequestId};
use ids::PlmnIdentity;

use crate::node::{Offered, SharedNode, TenantState};
use crate::outgoing::Outgoing;
use crate::reconciler::Reconciler;
use crate::sla::{Sla, Tenant};
use crate::tc;
use crate::ues::Change;

/// A base station.
pub(crate) struct BaseStation {
    pub global_id: GlobalE2NodeId,
    /// The functions that tenants have, with the definitions that they see, where cells have the PLMN of the base station.
    pub functions: Vec<(Function, Offered)>,
    pub shared: SharedNode,
    /// By the place of the tenant.
    pub virtual_nodes: Vec<Option<NodeHandle>>,
    pub slices: Reconciler,
    pub tc: tc::Jobs,
    /// Whether a virtual node may have something to send that the agents do not know of.
    pub has_outgoing: Cell<bool>,
}

impl BaseStation {
    pub fn function(&self, id: RanFunctionId) -> Option<Offered> {
        self.functions.iter().find(|(function, _)| function.id == id).map(|(_, model)| *model)
    }

    pub fn slice_function(&self) -> Option<(RanFunctionId, Wire)> {
        self.functions.iter().find_map(|(function, model)| match model {
            Offered::Slice(wire) => Some((function.id, *wire)),
            _ => None,
        })
    }

    pub fn rc_function(&self) -> Option<(RanFunctionId, rc::Detection)> {
        self.functions.iter().find_map(|(function, model)| match model {
            Offered::Rc(detection) => Some((function.id, *detection)),
            _ => None,
        })
    }

    pub fn ccc_function(&self) -> Option<RanFunctionId> {
        self.functions.iter().find(|(_, model)| matches!(model, Offered::Ccc)).map(|(function, _)| function.id)
    }

    /// Sends something to a tenant's controller.
    pub fn send(&self, tenant: usize, function: RanFunctionId, outgoing: Outgoing) {
        self.shared.lock().tenants[tenant].outbox.queue(function).push(outgoing);
        self.has_outgoing.set(true);
    }

    /// Answers a control of a tenant.
    pub fn answer(
        &self,
        tenant: usize,
        function: RanFunctionId,
        controller: ControllerId,
        id: RicRequestId,
        result: Result<Option<Vec<u8>>, ControlFailure>,
    ) {
        let mut node = self.shared.lock();
        let state = &mut node.tenants[tenant];
        state.controls = state.controls.saturating_sub(1);
        state.outbox.queue(function).push(Outgoing::Answer { controller, id, result });
        self.has_outgoing.set(true);
    }
}

/// What new agreements mean for the tenants.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Tenants that are gone, or connect again.
    pub removed: Vec<usize>,
    /// Tenants that are new, or connect again.
    pub added: Vec<usize>,
    /// Tenants that stay with another share; those with a smaller one first.
    pub resized: Vec<usize>,
}

impl Changes {
    /// What is different in the agreements `next`, which have each tenant at its place in `sla`.
    pub fn between(sla: &Sla, next: &Sla) -> Changes {
        let at = |sla: &Sla, place: usize| sla.tenants.get(place).filter(|_| sla.has_tenant(place)).cloned();
        let places = || (0..next.tenants.len()).map(|place| (place, at(sla, place), at(next, place)));
        let is_same = |before: &Option<Tenant>, after: &Option<Tenant>| match (before, after) {
            (Some(before), Some(after)) => Tenant { share: before.share, ..after.clone() } == *before,
            (before, after) => before.is_none() && after.is_none(),
        };
        let different = places().filter(|(_, before, after)| !is_same(before, after));
        // which UEs and measurements a tenant has depends on the others of its PLMN
        let networks: Vec<PlmnIdentity> =
            different.flat_map(|(_, before, after)| [before, after]).flatten().map(|tenant| tenant.plmn).collect();
        let mut changes = Changes::default();
        for (place, before, after) in places() {
            let is_touched = |tenant: &Tenant| networks.contains(&tenant.plmn);
            let (is_gone, is_new) = (before.as_ref().is_some_and(is_touched), after.as_ref().is_some_and(is_touched));
            changes.removed.extend(is_gone.then_some(place));
            changes.added.extend(is_new.then_some(place));
            if let (Some(before), Some(after)) = (before, after)
                && !is_gone
                && before.share != after.share
            {
                changes.resized.push(place);
            }
        }
        changes.resized.sort_by(|a, b| {
            let growth = |place: usize| next.tenants[place].share - sla.tenants[place].share;
            growth(*a).total_cmp(&growth(*b))
        });
        changes
    }
}

impl BaseStation {
    /// Replaces the agreements. What tenants have that stay is kept, with their new shares; what others had is removed.
    pub fn replace_sla(&mut self, sla: &Arc<Sla>, changes: &Changes) {
        let mut shared = self.shared.lock();
        shared.sla = sla.clone();
        shared.commands.retain(|command| !changes.removed.contains(&command.tenant));
        for tenant in &changes.removed {
            self.slices.vacate(*tenant);
            self.tc.vacate(*tenant, std::mem::take(&mut shared.tenants[*tenant].tc));
        }
        for place in shared.tenants.len()..sla.tenants.len() {
            shared.tenants.push(TenantState::new(sla, place));
        }
        for tenant in changes.removed.iter().chain(&changes.added) {
            shared.tenants[*tenant] = TenantState::new(sla, *tenant);
        }
        for tenant in &changes.resized {
            shared.tenants[*tenant].part.share = sla.tenants[*tenant].share;
        }
        shared.ues.reassign(sla);
        self.virtual_nodes.resize(sla.tenants.len(), None);
        self.slices.set_tenants(sla.tenants.len());
        self.slices.resize(changes.resized.iter().chain(&changes.added).copied());
    }
}

/// Reads a report for the app itself: events of UEs, and the slices of the base station.
pub(crate) fn observe(node: &mut BaseStation, model: Offered, message: &[u8], arena: &Arena) {
    match model {
        Offered::Rrc(wire) => {
            let Ok(report) = RrcMessage::decode(message, wire, arena) else { return };
            let mut shared = node.shared.lock();
            for notification in &report.notifications {
                let sla = shared.sla.clone();
                let changes = shared.ues.notified(notification, &sla);
                if !changes.is_empty() || notification.addresses.is_some() {
                    // the UE may have been that of another tenant, or have the address of one
                    let filtering = shared.tenants.iter().enumerate().filter(|(_, of)| of.tc.has_filters());
                    filtering.for_each(|(tenant, _)| node.tc.push(tenant, tc::Job::Prune));
                }
                for change in changes {
                    match change {
                        Change::Arrived(tenant) => node.slices.refresh(tenant),
                        Change::Left { tenant, rnti } => {
                            shared.tenants[tenant].slices.ues.remove(&rnti);
                            if let Some(actual) = &mut node.slices.actual {
                                actual[tenant].ues.remove(&rnti);
                            }
                            // the slice that it has left may be without UEs now
                            node.slices.refresh(tenant);
                        }
                    }
                }
            }
        }
        Offered::Slice(wire) => {
            let Ok(report) = SliceMessage::decode_owned(message, wire) else { return };
            let mut shared = node.shared.lock();
            shared.schedulers = [report.slices.dl.scheduler.clone(), report.slices.ul.scheduler.clone()];
            node.slices.observe(&report, &shared.sla);
        }
        Offered::Tc(wire) => {
            if let Ok(report) = TcMessage::decode_owned(message, wire) {
                tc::observe(node, report);
            }
        }
        _ => {}
    }
}
