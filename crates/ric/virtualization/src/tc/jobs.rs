//! Executes the controls of tenants' traffic control, one control of the base station at a time: each is planned with the report that
//! follows the one before, and the answer to the tenant follows the report that shows the result. So the numbers of new queues and
//! filters are those of the base station, whichever it assigns.

use std::collections::VecDeque;

use e2sm::Wire;
use e2sm::tc::{
    Classifier, ClassifierControl, ControlHeader, ControlMessage, ControlOutcome as TcOutcome, IndicationMessage,
    NewFilter,
};
use ferric::agent::{ControlFailure, ControllerId};
use ferric::e2::{ControlOutcome, NodeId, Ticket};
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId, RicRequestId};
use ferric::server::IappContext;
use per::{IntoOwned, PrintableString};
use tracing::warn;

use super::{Effect, Plan, TcMap, filters, plan, queue_ids};
use crate::base_station::BaseStation;
use crate::node::{NodeState, Offered};

/// The code of a control outcome that is not a success.
const FAILURE: u32 = 1;

/// What is to be done with the traffic control of a base station.
#[derive(Default)]
pub(crate) struct Jobs {
    queue: VecDeque<(usize, Job)>,
    running: Option<Running>,
    /// Whether a report was received since the last control.
    is_current: bool,
    /// What tenants of former agreements have left.
    orphans: Vec<TcMap>,
    /// Whether the base station classifies by headers because tenants have filters.
    has_prepared: bool,
    /// Whether the app has subscribed to reports.
    pub is_subscribed: bool,
}

/// A change of a tenant's traffic control.
pub(crate) enum Job {
    /// Its controller asked for it.
    Control { controller: ControllerId, id: RicRequestId, message: ControlMessage<'static> },
    /// One of its UEs has left: filters with its address go.
    Prune,
    /// The tenant's controller was removed.
    Reset,
}

/// Whose queues a control of the base station changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Tenant(usize),
    /// Tenants of former agreements: what they have left is removed.
    Orphan,
    /// A tenant that went while the control that it had asked for was in progress.
    Former,
}

struct Running {
    owner: Owner,
    /// Continued with the report after the answer.
    job: Option<Job>,
    ticket: Ticket,
    effect: Effect,
    /// The numbers of queues or filters before.
    before: Vec<u32>,
    /// The outcome, once the base station has acknowledged.
    outcome: Option<Option<Vec<u8>>>,
}

impl Jobs {
    /// Whether there is something to do, for which reports are necessary.
    pub fn has_work(&self) -> bool {
        !self.queue.is_empty() || !self.orphans.is_empty()
    }

    /// Queues a change.
    pub fn push(&mut self, tenant: usize, job: Job) {
        let is_repeated = |(of, queued): &(usize, Job)| *of == tenant && matches!(queued, Job::Prune);
        if !matches!(job, Job::Prune) || !self.queue.iter().any(is_repeated) {
            self.queue.push_back((tenant, job));
        }
    }

    /// Has the queues and filters removed of a tenant that is gone.
    pub fn vacate(&mut self, tenant: usize, map: TcMap) {
        self.queue.retain(|(other, _)| *other != tenant);
        let running = self.running.as_mut().filter(|running| running.owner == Owner::Tenant(tenant));
        if !map.is_empty() || running.is_some() {
            self.orphans.push(map);
        }
        if let Some(running) = running {
            running.owner = Owner::Former;
            running.job = None;
        }
    }

    /// Whether the base station's answer is awaited under this ticket.
    pub fn is_awaited(&self, ticket: Ticket) -> bool {
        self.running.as_ref().is_some_and(|running| running.ticket == ticket)
    }

    /// Plans the next control of the base station for a job that no controller awaits.
    fn plan_removal(&self, tenant: usize, job: &Job, node: &NodeState, report: &IndicationMessage<'_>) -> Option<Step> {
        let map = &node.tenants[tenant].tc;
        match job {
            Job::Prune => map.pruning(report, |address| node.ues.has_address(tenant, address)),
            _ => map.removal(report),
        }
    }

    /// The control after which the base station classifies as before there were tenants; `None` if it does, or there are some.
    fn restoration(&self, node: &NodeState, report: &IndicationMessage<'_>) -> Option<Step> {
        let is_unused = self.orphans.is_empty() && node.tenants.iter().all(|tenant| tenant.tc.is_empty());
        let is_plain = report.queues.len() == 1 && report.classifier == Classifier::Osi(Vec::new().into());
        let add = ControlMessage::Classifier(ClassifierControl::Add(NewFilter::RoundRobin));
        (self.has_prepared && is_unused && is_plain).then_some((add, Effect::Restored))
    }
}

type Step = (ControlMessage<'static>, Effect);

/// Handles a report of the base station.
pub(crate) fn observe(station: &mut BaseStation, report: IndicationMessage<'static>) {
    let jobs = &mut station.tc;
    if jobs.running.as_ref().is_some_and(|running| running.outcome.is_none()) {
        // it may be older than the control
        return;
    }
    let mut node = station.shared.lock();
    let mut done = None;
    if let Some(Running { owner, job, effect, before, outcome, .. }) = jobs.running.take() {
        let ids: Vec<u32> = match effect {
            Effect::QueueAdded => queue_ids(&report).collect(),
            _ => filters(&report).iter().map(|filter| filter.id).collect(),
        };
        let new_id = ids.into_iter().find(|id| !before.contains(id));
        match owner {
            Owner::Tenant(tenant) => node.tenants[tenant].tc.apply(effect, new_id),
            Owner::Orphan | Owner::Former => jobs.orphans.iter_mut().for_each(|map| map.apply(effect, new_id)),
        }
        match effect {
            Effect::Prepared => jobs.has_prepared = true,
            Effect::Restored => jobs.has_prepared = false,
            _ => {}
        }
        if let (Owner::Tenant(tenant), Some(job)) = (owner, job) {
            match job {
                Job::Control { controller, id, .. } if effect != Effect::Prepared => {
                    done = Some((tenant, controller, id, outcome.flatten()));
                }
                continued => jobs.queue.push_front((tenant, continued)),
            }
        }
    }
    node.tenants.iter_mut().for_each(|tenant| tenant.tc.retain_reported(&report));
    jobs.orphans.iter_mut().for_each(|map| map.retain_reported(&report));
    node.tc_report = Some(report.into_owned());
    jobs.is_current = true;
    drop(node);
    if let (Some((tenant, controller, id, outcome)), Some((function, _))) = (done, station.tc_function()) {
        station.answer(tenant, function, controller, id, Ok(outcome));
    }
}

/// Begins the next change of the traffic control of a base station, unless one is in progress.
pub(crate) fn advance(id: NodeId, station: &mut BaseStation, ric: &mut IappContext<'_>) {
    let Some((function, wire)) = station.tc_function() else { return };
    while station.tc.running.is_none() && station.tc.is_current {
        let shared = station.shared.clone();
        let node = shared.lock();
        let Some(report) = &node.tc_report else { return };
        station.tc.orphans.retain(|map| !map.is_empty());
        let (owner, job, step) = if let Some(step) = station.tc.orphans.first().and_then(|map| map.removal(report)) {
            (Owner::Orphan, None, step)
        } else if station.tc.queue.is_empty() {
            let Some(step) = station.tc.restoration(&node, report) else { return };
            (Owner::Orphan, None, step)
        } else {
            let Some((tenant, job)) = station.tc.queue.pop_front() else { return };
            let planned = match &job {
                Job::Control { message, .. } => plan(message, &node, tenant, report),
                other => Ok(match station.tc.plan_removal(tenant, other, &node, report) {
                    Some((control, effect)) => Plan::Step(control, effect),
                    None => Plan::Done,
                }),
            };
            match planned {
                Ok(Plan::Step(control, effect)) => (Owner::Tenant(tenant), Some(job), (control, effect)),
                Ok(Plan::Done) => {
                    drop(node);
                    answer(station, tenant, job, Ok(outcome(0, "", wire)));
                    continue;
                }
                Err(refusal) => {
                    drop(node);
                    let failure = ControlFailure {
                        cause: Cause::RicRequest(refusal.cause()),
                        outcome: outcome(FAILURE, &refusal.to_string(), wire),
                    };
                    answer(station, tenant, job, Err(failure));
                    continue;
                }
            }
        };
        let (control, effect) = step;
        let before = match effect {
            Effect::QueueAdded => queue_ids(report).collect(),
            _ => filters(report).iter().map(|filter| filter.id).collect(),
        };
        drop(node);
        match send(id, function, wire, &control, ric) {
            Ok(ticket) => {
                station.tc.is_current = false;
                station.tc.running = Some(Running { owner, job, ticket, effect, before, outcome: None });
            }
            Err(reason) => {
                if ric.allows_line(id) {
                    let name = &station.shared.lock().name;
                    warn!(
                        node = name,
                        function = function.0,
                        "traffic control stays as it was: cannot send a change for tenants: {reason}"
                    );
                }
                give_up(station, owner, job, effect, failed(wire, &reason));
            }
        }
    }
}

/// Handles the answer of a base station to a control.
pub(crate) fn acknowledge(station: &mut BaseStation, answer: &ControlOutcome, may_log: bool) {
    if let (ControlOutcome::Acknowledged(octets), Some(running)) = (answer, &mut station.tc.running) {
        running.outcome = Some(octets.as_ref().map(|octets| octets.to_vec()));
        return;
    }
    let Some(Running { owner, job, effect, .. }) = station.tc.running.take() else { return };
    // what the base station had when the control was planned, it still has
    station.tc.is_current = true;
    if may_log {
        let name = &station.shared.lock().name;
        warn!(node = name, "traffic control stays as it was: the base station refuses a change for tenants: {answer}");
    }
    let failure = match (answer, station.tc_function()) {
        (ControlOutcome::Failed { cause, outcome }, _) => {
            ControlFailure { cause: *cause, outcome: outcome.as_ref().map(|octets| octets.to_vec()) }
        }
        (_, Some((_, wire))) => failed(wire, &answer.to_string()),
        (_, None) => Cause::RicRequest(CauseRicRequest::ControlFailedToExecute).into(),
    };
    give_up(station, owner, job, effect, failure);
}

/// Handles the loss of the subscription to reports: without them nothing is changed.
pub(crate) fn subscription_lost(station: &mut BaseStation) {
    let Some((_, wire)) = station.tc_function() else { return };
    let jobs = std::mem::take(&mut station.tc);
    let running = jobs.running.and_then(|running| match running.owner {
        Owner::Tenant(tenant) => Some((tenant, running.job?)),
        Owner::Orphan | Owner::Former => None,
    });
    for (tenant, job) in running.into_iter().chain(jobs.queue) {
        let failure = failed(wire, "the base station does not report its traffic control");
        give_up(station, Owner::Tenant(tenant), Some(job), Effect::None, failure);
    }
}

/// Ends a change that cannot be made. What cannot be removed is left to the owner of the base station.
fn give_up(station: &mut BaseStation, owner: Owner, job: Option<Job>, effect: Effect, failure: ControlFailure) {
    match (owner, job) {
        (Owner::Orphan, _) => {
            station.tc.orphans.clear();
            station.tc.has_prepared = false;
        }
        // its map is that from before
        (Owner::Former, _) => {}
        (Owner::Tenant(tenant), Some(job @ Job::Control { .. })) => answer(station, tenant, job, Err(failure)),
        (Owner::Tenant(tenant), job) => {
            let mut node = station.shared.lock();
            match job {
                Some(Job::Reset) => node.tenants[tenant].tc = TcMap::default(),
                _ => node.tenants[tenant].tc.apply(effect, None),
            }
        }
    }
}

/// Answers the control of a tenant.
fn answer(station: &BaseStation, tenant: usize, job: Job, result: Result<Option<Vec<u8>>, ControlFailure>) {
    if let (Job::Control { controller, id, .. }, Some((function, _))) = (job, station.tc_function()) {
        station.answer(tenant, function, controller, id, result);
    }
}

fn failed(wire: Wire, reason: &str) -> ControlFailure {
    let text: String = reason.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
    let cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
    ControlFailure { cause, outcome: outcome(FAILURE, &text, wire) }
}

/// The control outcome of TC, with a diagnostic text.
fn outcome(code: u32, text: &str, wire: Wire) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let diagnostic = PrintableString::try_from(text).ok()?;
    TcOutcome { code, diagnostic }.encode(wire, &mut out).ok()?;
    Some(out)
}

/// Sends a control of traffic control.
fn send(
    id: NodeId,
    function: RanFunctionId,
    wire: Wire,
    control: &ControlMessage<'static>,
    ric: &mut IappContext<'_>,
) -> Result<Ticket, String> {
    let (mut header, mut message) = (Vec::new(), Vec::new());
    let encoded = ControlHeader::default().encode(wire, &mut header).and_then(|()| control.encode(wire, &mut message));
    encoded.map_err(|error| error.to_string())?;
    ric.control(id, function, &header, &message).map_err(|misuse| misuse.to_string())
}

impl BaseStation {
    /// The function of TC, and its encoding.
    pub fn tc_function(&self) -> Option<(RanFunctionId, Wire)> {
        self.functions.iter().find_map(|(function, model)| match model {
            Offered::Tc(wire) => Some((function.id, *wire)),
            _ => None,
        })
    }
}
