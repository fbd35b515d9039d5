//! A base station, as the app has it.

use std::cell::Cell;

use e2sm::rrc::IndicationMessage as RrcMessage;
use e2sm::slice::IndicationMessage as SliceMessage;
use e2sm::tc::IndicationMessage as TcMessage;
use e2sm::{Arena, Wire, rc};
use ferric::agent::{ControlFailure, ControllerId, NodeHandle};
use ferric::e2ap::{GlobalE2NodeId, RanFunctionId, RicRequestId};

use crate::node::{Offered, SharedNode};
use crate::outgoing::Outgoing;
use crate::reconciler::{Reconciler, reported, stale};
use crate::tc;
use crate::ues::Change;

/// A base station.
pub(crate) struct BaseStation {
    pub global_id: GlobalE2NodeId,
    pub functions: Vec<(RanFunctionId, Offered)>,
    pub shared: SharedNode,
    /// By the place of the tenant.
    pub virtual_nodes: Vec<NodeHandle>,
    pub slices: Reconciler,
    pub tc: tc::Jobs,
    /// Whether a virtual node may have something to send that the agents do not know of.
    pub has_outgoing: Cell<bool>,
}

impl BaseStation {
    pub fn function(&self, id: RanFunctionId) -> Option<Offered> {
        self.functions.iter().find(|(function, _)| *function == id).map(|(_, model)| *model)
    }

    pub fn slice_function(&self) -> Option<(RanFunctionId, Wire)> {
        self.functions.iter().find_map(|(id, model)| match model {
            Offered::Slice(wire) => Some((*id, *wire)),
            _ => None,
        })
    }

    pub fn rc_function(&self) -> Option<(RanFunctionId, rc::Detection)> {
        self.functions.iter().find_map(|(id, model)| match model {
            Offered::Rc(detection) => Some((*id, *detection)),
            _ => None,
        })
    }

    pub fn ccc_function(&self) -> Option<RanFunctionId> {
        self.functions.iter().find(|(_, model)| matches!(model, Offered::Ccc)).map(|(id, _)| *id)
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
                        }
                    }
                }
            }
        }
        Offered::Slice(wire) if node.slices.running.is_none() => {
            let Ok(report) = SliceMessage::decode_owned(message, wire) else { return };
            node.shared.lock().schedulers = [report.slices.dl.scheduler.clone(), report.slices.ul.scheduler.clone()];
            let tenants = node.virtual_nodes.len();
            node.slices.stale = stale(&report, tenants);
            let reported = reported(&report, tenants);
            if node.slices.actual.as_ref() != Some(&reported) {
                for tenant in 0..reported.len() {
                    let is_same = node.slices.actual.as_ref().is_some_and(|actual| actual[tenant] == reported[tenant]);
                    if !is_same {
                        node.slices.refresh(tenant);
                    }
                }
                node.slices.actual = Some(reported);
            }
        }
        Offered::Tc(wire) => {
            if let Ok(report) = TcMessage::decode_owned(message, wire) {
                tc::observe(node, report);
            }
        }
        _ => {}
    }
}
