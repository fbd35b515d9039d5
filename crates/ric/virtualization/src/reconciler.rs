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
/// What the sum of all slices may have above the cell: slices have a least share, and single precision.
const HELD_ROUNDING: f64 = 1e-3;

/// Brings the slices of a base station to what the tenants have configured, one control at a time: what no tenant has is deleted,
/// then slices shrink of tenants that have more than their share, then everything else follows, a control of each tenant in turn. So the
/// sum of all never exceeds the cell. What the base station refuses of the first two is tried again with longer waits, and does not keep
/// the others waiting.
#[derive(Default)]
pub(crate) struct Reconciler {
    /// What the base station has for each tenant; `None` before its first report.
    pub actual: Option<Vec<PhysicalSlices>>,
    /// The slices in ranges of tenants that no tenant has: those of tenants that are gone.
    ownerless: PhysicalSlices,
    queue: VecDeque<(usize, Job)>,
    /// The tenant whose turn is next.
    turn: usize,
    running: Option<Running>,
    /// By tenant, refreshes that the base station has refused.
    refused: BTreeMap<usize, Retry>,
    /// That the base station has refused to delete what no tenant has.
    ownerless_refused: Option<Retry>,
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

/// A change that is tried again.
struct Retry {
    /// The wait after this refusal, in reports.
    wait: u32,
    /// What is left of it; `None` while the change is due.
    left: Option<u32>,
    /// Whether slices were refused, not only which slices UEs have: a UE may have left meanwhile.
    has_slices: bool,
}

impl Retry {
    /// After a refusal: twice the wait of the one before.
    fn after(before: Option<&Retry>, step: &ControlMessage<'static>) -> Retry {
        let wait = before.map_or(1, |retry| (2 * retry.wait).min(MAX_RETRY_REPORTS));
        let has_slices = before.is_some_and(|retry| retry.has_slices) || !matches!(step, ControlMessage::Associate(_));
        Retry { wait, left: Some(wait), has_slices }
    }

    /// Counts a report. Returns whether the change is due with it.
    fn reported(&mut self) -> bool {
        self.left = self.left.and_then(|left| left.checked_sub(1));
        let is_due = self.left == Some(0);
        self.left = self.left.filter(|_| !is_due);
        is_due
    }
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
        self.ownerless_refused = None;
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
        let due: Vec<usize> =
            self.refused.iter_mut().filter_map(|(tenant, retry)| retry.reported().then_some(*tenant)).collect();
        due.into_iter().for_each(|tenant| self.refresh(tenant));
        if let Some(retry) = &mut self.ownerless_refused {
            retry.reported();
        }
        self.free_cell();
    }

    /// Has a refused refresh tried again after some reports, and after twice as many the next time.
    fn retry(&mut self, tenant: usize, step: &ControlMessage<'static>) {
        let retry = Retry::after(self.refused.get(&tenant), step);
        self.refused.insert(tenant, retry);
    }

    /// The same for what no tenant has.
    fn retry_ownerless(&mut self, step: &ControlMessage<'static>) {
        self.ownerless_refused = Some(Retry::after(self.ownerless_refused.as_ref(), step));
    }

    /// The next control that deletes what no tenant has, unless one was refused a short time ago.
    fn next_ownerless(&self) -> Option<ControlMessage<'static>> {
        if self.ownerless_refused.as_ref().is_some_and(|retry| retry.left.is_some()) {
            return None;
        }
        self.ownerless.steps_to(&PhysicalSlices::default()).into_iter().next()
    }

    /// Has what tenants could not have tried again, once what no tenant has is gone.
    fn free_cell(&mut self) {
        let is_free = self.ownerless.slices.iter().all(BTreeMap::is_empty);
        if is_free && self.ownerless_refused.take().is_some() {
            self.resize(std::iter::empty());
        }
    }

    /// Whether a change of a tenant to `target` waits, while the base station does not delete what no tenant has: the tenant would grow
    /// beyond the cell, or has the place of a former one whose slices are still there.
    fn is_held(&self, tenant: usize, target: &PhysicalSlices) -> bool {
        let (Some(actual), Some(_)) = (&self.actual, &self.ownerless_refused) else { return false };
        let is_in_place = |id: &u32| Part::tenant_of(*id).is_some_and(|at| at as usize == tenant);
        if self.ownerless.slices.iter().flat_map(BTreeMap::keys).any(is_in_place) {
            return true;
        }
        (0..2).any(|at| {
            let total = target.total(at);
            let others = actual.iter().enumerate().filter(|(other, _)| *other != tenant).map(|(_, slices)| slices);
            let others: f64 = others.chain([&self.ownerless]).map(|slices| slices.total(at)).sum();
            total > actual[tenant].total(at) && others + total > 1.0 + HELD_ROUNDING
        })
    }

    /// The next job: the refreshes of tenants that have more than their share are before all others, until the base station refuses
    /// them. Otherwise tenants have turns, whatever number of jobs each has.
    fn next(&mut self, tenants: &[TenantState]) -> Option<(usize, Job)> {
        let actual = self.actual.as_ref()?;
        let is_first = |(tenant, job): &(usize, Job)| {
            let is_over = actual[*tenant].exceeds(tenants[*tenant].part.share);
            let is_refused = self.refused.get(tenant).is_some_and(|retry| retry.has_slices);
            matches!(job, Job::Refresh) && is_over && !is_refused
        };
        if let Some(at) = self.queue.iter().position(is_first) {
            return self.queue.remove(at);
        }
        let wait = |tenant: usize| (tenant < self.turn, tenant);
        let (at, _) = self.queue.iter().enumerate().min_by_key(|(_, (tenant, _))| wait(*tenant))?;
        let next = self.queue.remove(at)?;
        self.turn = next.0 + 1;
        Some(next)
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
        if let Some(step) = node.slices.next_ownerless() {
            match send(function, wire, &step, send_control) {
                Ok(ticket) => {
                    node.slices.running = Some(Running { owner: None, ticket, step });
                    return;
                }
                Err(_) => node.slices.retry_ownerless(&step),
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
        if node.slices.is_held(tenant, &physical) {
            fail(
                node,
                (tenant, job),
                &step,
                "the base station has not yet deleted slices of former tenants in this part of the cell",
            );
            continue;
        }
        match send(function, wire, &step, send_control) {
            Ok(ticket) => node.slices.running = Some(Running { owner: Some((tenant, job)), ticket, step }),
            Err(reason) => fail(node, (tenant, job), &step, &reason),
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
fn fail(node: &mut BaseStation, (tenant, job): (usize, Job), step: &ControlMessage<'static>, reason: &str) {
    let Some((function, _)) = node.slice_function() else { return };
    match job {
        Job::Control { controller, id, wire, .. } => {
            // back to what the tenant had, unless the base station refuses that too
            if !node.slices.refused.contains_key(&tenant) {
                node.slices.refresh(tenant);
            }
            let text: String = reason.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
            let cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
            node.answer(tenant, function, controller, id, Err(ControlFailure { cause, outcome: outcome(&text, wire) }));
        }
        Job::Refresh | Job::Reset => node.slices.retry(tenant, step),
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
            None => {
                node.slices.ownerless.apply(&step);
                node.slices.free_cell();
            }
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
        Some((tenant, job)) => fail(node, (tenant, job), &step, &answer.to_string()),
        None if matches!(step, ControlMessage::Delete(_)) => node.slices.retry_ownerless(&step),
        // a step of a tenant that is gone by now
        None => {}
    }
}

#[cfg(test)]
mod tests;
