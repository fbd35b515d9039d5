//! Brings the slices of base stations to what the tenants have configured.

use std::collections::VecDeque;

use e2sm::Wire;
use e2sm::slice::{
    ControlHeader, ControlMessage, ControlOutcome as SliceOutcome, DeleteSlices, IndicationMessage as SliceMessage,
    Slice,
};
use ferric::agent::{ControlFailure, ControllerId};
use ferric::e2::{ControlOutcome, NodeId, Ticket};
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId, RicRequestId};
use ferric::server::IappContext;
use per::PrintableString;
use tracing::warn;

use crate::base_station::BaseStation;
use crate::slices::{Part, PhysicalSlices, RANGE, VirtualSlices};

/// Brings the slices of a base station to what the tenants have configured, one control at a time.
#[derive(Default)]
pub(crate) struct Reconciler {
    /// What the base station has for each tenant; `None` before its first report.
    pub actual: Option<Vec<PhysicalSlices>>,
    /// What is to be deleted before anything else: slices of tenants that are gone.
    pub stale: Option<ControlMessage<'static>>,
    pub queue: VecDeque<(usize, Job)>,
    pub running: Option<Running>,
}

/// A change of a tenant's slices.
pub(crate) enum Job {
    /// Its controller asked for it.
    Control { controller: ControllerId, id: RicRequestId, message: ControlMessage<'static>, wire: Wire },
    /// UEs have come or gone, or the base station differs.
    Refresh,
    /// The tenant's controller was removed.
    Reset,
}

/// The slices of the base station that belong to no tenant although their ids are reserved: those of tenants that are gone.
pub(crate) fn stale(report: &SliceMessage<'static>, tenants: usize) -> Option<ControlMessage<'static>> {
    let of_none = |slices: &[Slice<'static>]| -> Vec<u32> {
        slices.iter().map(|slice| slice.id).filter(|id| *id >= RANGE && owner(*id, tenants).is_none()).collect()
    };
    let (dl, ul) = (of_none(&report.slices.dl.slices), of_none(&report.slices.ul.slices));
    let is_any = !dl.is_empty() || !ul.is_empty();
    is_any.then(|| ControlMessage::Delete(DeleteSlices { dl: dl.into(), ul: ul.into() }))
}

/// The tenant of a slice of the base station.
fn owner(id: u32, tenants: usize) -> Option<usize> {
    Part::tenant_of(id).map(|at| at as usize).filter(|at| *at < tenants)
}

pub(crate) struct Running {
    tenant: usize,
    job: Job,
    pub ticket: Ticket,
    step: ControlMessage<'static>,
}

impl Reconciler {
    /// Queues a refresh, unless one is waiting.
    pub fn refresh(&mut self, tenant: usize) {
        let waits = |(other, job): &(usize, Job)| *other == tenant && matches!(job, Job::Refresh);
        if !self.queue.iter().any(waits) {
            self.queue.push_back((tenant, Job::Refresh));
        }
    }
}

/// The control outcome of SLICE, with a diagnostic text.
fn outcome(text: &str, wire: Wire) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let diagnostic = PrintableString::try_from(text).ok()?;
    SliceOutcome { diagnostic }.encode(wire, &mut out).ok()?;
    Some(out)
}

/// What a base station reports to have for each tenant.
pub(crate) fn reported(report: &SliceMessage<'static>, tenants: usize) -> Vec<PhysicalSlices> {
    let mut all = vec![PhysicalSlices::default(); tenants];
    let owner = |id: u32| owner(id, tenants);
    for (at, direction) in [&report.slices.dl, &report.slices.ul].into_iter().enumerate() {
        for slice in direction.slices.iter() {
            if let Some(tenant) = owner(slice.id) {
                all[tenant].slices[at].insert(slice.id, slice.clone());
            }
        }
    }
    for ue in report.ues.iter() {
        if let Some(tenant) = owner(ue.dl_id).or(owner(ue.ul_id)) {
            all[tenant].ues.insert(ue.rnti, [ue.dl_id, ue.ul_id]);
        }
    }
    all
}

/// Begins the next change of slices of a base station, unless one is in progress.
pub(crate) fn advance(id: NodeId, node: &mut BaseStation, ric: &mut IappContext<'_>) {
    let Some((function, wire)) = node.slice_function() else { return };
    while node.slices.running.is_none() && node.slices.actual.is_some() {
        if let Some(step) = node.slices.stale.take()
            && let Ok(ticket) = send(id, function, wire, &step, ric)
        {
            node.slices.running = Some(Running { tenant: 0, job: Job::Refresh, ticket, step });
            return;
        }
        let Some((tenant, job)) = node.slices.queue.pop_front() else { return };
        let shared = node.shared.lock();
        let ues: Vec<u16> = shared.ues.of(tenant).collect();
        let state = &shared.tenants[tenant];
        let target = match &job {
            Job::Control { message, .. } => {
                state.slices.after(message, &shared.schedulers, |rnti| ues.binary_search(&rnti).is_ok())
            }
            Job::Refresh => Ok(state.slices.clone()),
            Job::Reset => Ok(VirtualSlices::default()),
        };
        let part = state.part;
        drop(shared);
        let target = match target {
            Ok(target) => target,
            Err(refusal) => {
                if let Job::Control { controller, id, wire, .. } = job {
                    let text = refusal.to_string();
                    let cause = Cause::RicRequest(refusal.cause());
                    node.answer(
                        tenant,
                        function,
                        controller,
                        id,
                        Err(ControlFailure { cause, outcome: outcome(&text, wire) }),
                    );
                }
                continue;
            }
        };
        let physical = target.physical(part, ues.into_iter());
        let actual = node.slices.actual.as_ref().map(|actual| actual[tenant].clone()).unwrap_or_default();
        // the others are planned again after the answer
        let Some(step) = actual.steps_to(&physical).into_iter().next() else {
            node.shared.lock().tenants[tenant].slices = target;
            if let Job::Control { controller, id, wire, .. } = job {
                node.answer(tenant, function, controller, id, Ok(outcome("", wire)));
            }
            continue;
        };
        match send(id, function, wire, &step, ric) {
            Ok(ticket) => node.slices.running = Some(Running { tenant, job, ticket, step }),
            Err(reason) => fail(node, tenant, job, &reason),
        }
    }
}

/// Sends a control of slices.
fn send(
    id: NodeId,
    function: RanFunctionId,
    wire: Wire,
    step: &ControlMessage<'static>,
    ric: &mut IappContext<'_>,
) -> Result<Ticket, String> {
    let (mut header, mut message) = (Vec::new(), Vec::new());
    let encoded = ControlHeader::default().encode(wire, &mut header).and_then(|()| step.encode(wire, &mut message));
    encoded.map_err(|error| error.to_string())?;
    ric.control(id, function, &header, &message).map_err(|misuse| misuse.to_string())
}

/// Answers a control of a tenant that the base station did not execute.
fn fail(node: &BaseStation, tenant: usize, job: Job, reason: &str) {
    let Some((function, _)) = node.slice_function() else { return };
    if let Job::Control { controller, id, wire, .. } = job {
        let text: String = reason.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
        let cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
        node.answer(tenant, function, controller, id, Err(ControlFailure { cause, outcome: outcome(&text, wire) }));
    }
}

/// Handles the answer of a base station to a control.
pub(crate) fn step_done(node: &mut BaseStation, answer: &ControlOutcome, may_log: bool) {
    let Some(Running { tenant, job, step, .. }) = node.slices.running.take() else { return };
    if let ControlOutcome::Acknowledged(_) = answer {
        if let Some(actual) = &mut node.slices.actual {
            actual[tenant].apply(&step);
        }
        node.slices.queue.push_front((tenant, job));
        return;
    }
    if may_log {
        let shared = node.shared.lock();
        let (name, tenant) = (&shared.name, &shared.sla.tenants[tenant].name);
        warn!(
            node = name,
            tenant, "the slices of a tenant stay as they were: the base station refuses the change: {answer}"
        );
    }
    if matches!(job, Job::Control { .. }) {
        // back to what the tenant had
        node.slices.refresh(tenant);
    }
    fail(node, tenant, job, &answer.to_string());
}
