//! Brings the slices of base stations to what the tenants have configured.

use std::collections::{BTreeMap, VecDeque};

use e2sm::Wire;
use e2sm::slice::{
    ControlHeader, ControlMessage, ControlOutcome as SliceOutcome, IndicationMessage as SliceMessage, NO_SLICE,
};
use ferric::agent::{ControlFailure, ControllerId};
use ferric::e2::{ControlOutcome, NodeId, Ticket};
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId, RicRequestId};
use ferric::server::IappContext;
use per::PrintableString;
use tracing::warn;

use crate::base_station::BaseStation;
use crate::node::TenantState;
use crate::sla::Sla;
use crate::slices::{Part, PhysicalSlices, RANGE, VirtualSlices};

/// The longest wait before a refused change is tried again, in reports of the base station.
const MAX_RETRY_REPORTS: u32 = 64;

/// Brings the slices of a base station to what the tenants have configured, one control at a time: what no tenant has is deleted,
/// then slices shrink of tenants that have more than their share, then everything else follows. So the sum of all never exceeds the
/// cell.
#[derive(Default)]
pub(crate) struct Reconciler {
    /// What the base station has for each tenant; `None` before its first report.
    pub actual: Option<Vec<PhysicalSlices>>,
    /// The slices in ranges of tenants that no tenant has: those of tenants that are gone.
    ownerless: PhysicalSlices,
    queue: VecDeque<(usize, Job)>,
    running: Option<Running>,
    /// By tenant, refreshes that the base station has refused.
    refused: BTreeMap<usize, Retry>,
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

struct Running {
    /// Whose slices change, and for what; `None` for slices of no tenant.
    owner: Option<(usize, Job)>,
    ticket: Ticket,
    step: ControlMessage<'static>,
}

/// A refresh that is tried again.
struct Retry {
    /// The wait after this refusal, in reports.
    wait: u32,
    /// What is left of it; `None` while the refresh is in the queue.
    left: Option<u32>,
}

impl Reconciler {
    /// Queues the change that the controller of a tenant has asked for, or its removal.
    pub fn push(&mut self, tenant: usize, job: Job) {
        self.queue.push_back((tenant, job));
    }

    /// Queues a refresh, unless one is waiting.
    pub fn refresh(&mut self, tenant: usize) {
        let waits = |(other, job): &(usize, Job)| *other == tenant && matches!(job, Job::Refresh);
        if !self.queue.iter().any(waits) {
            self.queue.push_back((tenant, Job::Refresh));
        }
    }

    /// Queues the changes that new shares of these tenants require.
    pub fn resize(&mut self, tenants: impl Iterator<Item = usize>) {
        // a refusal may have been for want of the room that there is now
        let refused = std::mem::take(&mut self.refused).into_keys();
        refused.chain(tenants).for_each(|tenant| self.refresh(tenant));
    }

    /// Has everything of a tenant deleted that is gone, before its place has another one.
    pub fn vacate(&mut self, tenant: usize) {
        self.queue.retain(|(other, _)| *other != tenant);
        self.refused.remove(&tenant);
        if let Some(running) = self.running.as_mut().filter(|running| running.is_of(tenant)) {
            running.owner = None;
        }
        let left = self.actual.as_mut().and_then(|actual| actual.get_mut(tenant)).map(std::mem::take);
        for (all, slices) in self.ownerless.slices.iter_mut().zip(left.unwrap_or_default().slices) {
            all.extend(slices);
        }
    }

    /// Has room for new tenants.
    pub fn set_tenants(&mut self, count: usize) {
        if let Some(actual) = &mut self.actual {
            actual.resize_with(count, PhysicalSlices::default);
        }
    }

    /// Whether the base station's answer is awaited under this ticket.
    pub fn is_awaited(&self, ticket: Ticket) -> bool {
        self.running.as_ref().is_some_and(|running| running.ticket == ticket)
    }

    /// Takes a report of the base station as its present state, unless a control is in progress: it may be older than that.
    pub fn observe(&mut self, report: &SliceMessage<'static>, sla: &Sla) {
        if self.running.is_some() {
            return;
        }
        let (reported, ownerless) = reported(report, sla);
        self.ownerless = ownerless;
        for (tenant, slices) in reported.iter().enumerate() {
            if self.actual.as_ref().is_none_or(|actual| actual[tenant] != *slices) {
                self.refresh(tenant);
            }
        }
        self.actual = Some(reported);
        let mut due = Vec::new();
        for (tenant, retry) in &mut self.refused {
            retry.left = retry.left.and_then(|left| left.checked_sub(1));
            if retry.left == Some(0) {
                retry.left = None;
                due.push(*tenant);
            }
        }
        due.into_iter().for_each(|tenant| self.refresh(tenant));
    }

    /// Has a refused refresh tried again after some reports, and after twice as many the next time.
    fn retry(&mut self, tenant: usize) {
        let wait = self.refused.get(&tenant).map_or(1, |retry| (2 * retry.wait).min(MAX_RETRY_REPORTS));
        self.refused.insert(tenant, Retry { wait, left: Some(wait) });
    }

    /// The next job: tenants that have more than their share are before all others.
    fn next(&mut self, tenants: &[TenantState]) -> Option<(usize, Job)> {
        let actual = self.actual.as_ref()?;
        let is_over = |(tenant, _): &(usize, Job)| actual[*tenant].exceeds(tenants[*tenant].part.share);
        let at = self.queue.iter().position(is_over).unwrap_or(0);
        self.queue.remove(at)
    }
}

impl Running {
    fn is_of(&self, tenant: usize) -> bool {
        self.owner.as_ref().is_some_and(|(owner, _)| *owner == tenant)
    }
}

/// The control outcome of SLICE, with a diagnostic text.
fn outcome(text: &str, wire: Wire) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let diagnostic = PrintableString::try_from(text).ok()?;
    SliceOutcome { diagnostic }.encode(wire, &mut out).ok()?;
    Some(out)
}

/// What a base station reports to have for each tenant, and for none.
fn reported(report: &SliceMessage<'static>, sla: &Sla) -> (Vec<PhysicalSlices>, PhysicalSlices) {
    let mut all = vec![PhysicalSlices::default(); sla.tenants.len()];
    let mut ownerless = PhysicalSlices::default();
    let owner = |id: u32| Part::tenant_of(id).map(|at| at as usize).filter(|at| sla.has_tenant(*at));
    for (at, direction) in [&report.slices.dl, &report.slices.ul].into_iter().enumerate() {
        for slice in direction.slices.iter().filter(|slice| slice.id >= RANGE) {
            let slices = owner(slice.id).map_or(&mut ownerless, |tenant| &mut all[tenant]);
            slices.slices[at].insert(slice.id, slice.clone());
        }
    }
    for ue in report.ues.iter() {
        if let Some(tenant) = owner(ue.dl_id).or(owner(ue.ul_id)) {
            all[tenant].ues.insert(ue.rnti, [ue.dl_id, ue.ul_id]);
        }
    }
    (all, ownerless)
}

/// Begins the next change of slices of a base station, unless one is in progress.
pub(crate) fn advance(id: NodeId, node: &mut BaseStation, ric: &mut IappContext<'_>) {
    advance_by(node, &mut |function, header, message| {
        ric.control(id, function, header, message).map_err(|misuse| misuse.to_string())
    });
}

/// Sends a control to a base station: the function, the header and the message.
type SendControl<'a> = dyn FnMut(RanFunctionId, &[u8], &[u8]) -> Result<Ticket, String> + 'a;

fn advance_by(node: &mut BaseStation, send_control: &mut SendControl<'_>) {
    let Some((function, wire)) = node.slice_function() else { return };
    while node.slices.running.is_none() && node.slices.actual.is_some() {
        if let Some(step) = node.slices.ownerless.steps_to(&PhysicalSlices::default()).into_iter().next() {
            match send(function, wire, &step, send_control) {
                Ok(ticket) => {
                    node.slices.running = Some(Running { owner: None, ticket, step });
                    return;
                }
                // the next report names them again
                Err(_) => node.slices.ownerless = PhysicalSlices::default(),
            }
        }
        let mut shared = node.shared.lock();
        let Some((tenant, mut job)) = node.slices.next(&shared.tenants) else { return };
        if matches!(job, Job::Reset) {
            shared.tenants[tenant].slices = VirtualSlices::default();
            job = Job::Refresh;
        }
        let ues: Vec<u16> = shared.ues.of(tenant).collect();
        let state = &shared.tenants[tenant];
        let target = match &job {
            Job::Control { message, .. } => {
                state.slices.after(message, &shared.schedulers, |rnti| ues.binary_search(&rnti).is_ok())
            }
            _ => Ok(state.slices.clone()),
        };
        let part = state.part;
        let actual = node.slices.actual.as_ref().map(|actual| actual[tenant].clone()).unwrap_or_default();
        // a UE of another tenant is moved by that one's refresh
        let is_of_none = |rnti: &u16| shared.ues.tenant(u32::from(*rnti)).is_none();
        let ownerless: Vec<u16> = actual.ues.keys().copied().filter(is_of_none).collect();
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
        let mut physical = target.physical(part, ues.into_iter());
        physical.ues.extend(ownerless.into_iter().map(|rnti| (rnti, [NO_SLICE; 2])));
        // the others are planned again after the answer
        let Some(step) = actual.steps_to(&physical).into_iter().next() else {
            node.slices.refused.remove(&tenant);
            node.shared.lock().tenants[tenant].slices = target;
            if let Job::Control { controller, id, wire, .. } = job {
                node.answer(tenant, function, controller, id, Ok(outcome("", wire)));
            }
            continue;
        };
        match send(function, wire, &step, send_control) {
            Ok(ticket) => node.slices.running = Some(Running { owner: Some((tenant, job)), ticket, step }),
            Err(reason) => fail(node, tenant, job, &reason),
        }
    }
}

/// Sends a control of slices.
fn send(
    function: RanFunctionId,
    wire: Wire,
    step: &ControlMessage<'static>,
    send_control: &mut SendControl<'_>,
) -> Result<Ticket, String> {
    let (mut header, mut message) = (Vec::new(), Vec::new());
    let encoded = ControlHeader::default().encode(wire, &mut header).and_then(|()| step.encode(wire, &mut message));
    encoded.map_err(|error| error.to_string())?;
    send_control(function, &header, &message)
}

/// Ends a change that the base station did not execute.
fn fail(node: &mut BaseStation, tenant: usize, job: Job, reason: &str) {
    let Some((function, _)) = node.slice_function() else { return };
    match job {
        Job::Control { controller, id, wire, .. } => {
            // back to what the tenant had
            node.slices.refresh(tenant);
            let text: String = reason.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
            let cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
            node.answer(tenant, function, controller, id, Err(ControlFailure { cause, outcome: outcome(&text, wire) }));
        }
        Job::Refresh | Job::Reset => node.slices.retry(tenant),
    }
}

/// Handles the answer of a base station to a control.
pub(crate) fn step_done(node: &mut BaseStation, answer: &ControlOutcome, may_log: bool) {
    let Some(Running { owner, step, .. }) = node.slices.running.take() else { return };
    if let ControlOutcome::Acknowledged(_) = answer {
        match owner {
            Some((tenant, job)) => {
                if let Some(actual) = &mut node.slices.actual {
                    actual[tenant].apply(&step);
                }
                node.slices.queue.push_front((tenant, job));
            }
            None => node.slices.ownerless.apply(&step),
        }
        return;
    }
    if may_log {
        let shared = node.shared.lock();
        let name = &shared.name;
        match &owner {
            Some((tenant, _)) => {
                let tenant = &shared.sla.tenants[*tenant].name;
                warn!(node = name, tenant, "the base station does not take the slices of a tenant: {answer}");
            }
            None => warn!(node = name, "the base station does not delete the slices of former tenants: {answer}"),
        }
    }
    match owner {
        Some((tenant, job)) => fail(node, tenant, job, &answer.to_string()),
        // the next report names what it has
        None if matches!(step, ControlMessage::Delete(_)) => node.slices.ownerless = PhysicalSlices::default(),
        None => {}
    }
}

#[cfg(test)]
mod tests;
