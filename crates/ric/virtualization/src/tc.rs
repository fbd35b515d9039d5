//! TC of a tenant: queues and filters of its own in the bearers of its UEs.
//!
//! A base station has one configuration of traffic control for the bearers of all UEs; each bearer has queues of its own. So a queue
//! belongs to a tenant if only packets to its UEs get there. That is so while packets are classified by their headers, and each filter
//! that selects the queue names the address of one of its UEs.
//!
//! | part | a tenant |
//! |---|---|
//! | queue 0, the first one of the base station, for packets without a filter | sees its configuration, no counters; changes nothing |
//! | other queues, their policers and shapers | has its own, with numbers of its own |
//! | filters | has its own; the destination is the address of one of its UEs |
//! | scheduler | sees and sets the parameters of its own queues; sets the kind while nobody else has queues |
//! | pacer | sees its kind; cannot change it |

mod jobs;

use std::fmt;

use e2sm::tc::{
    ChangePolicer, ChangeShaper, Classifier, ClassifierControl, ControlMessage, DeleteFilter, DeleteQueue, FiveTuple,
    IndicationMessage, Meter, ModifyFilter, ModifyQueue, NewFilter, NewOsiFilter, OsiFilter, Pacer, PacerControl,
    PacerKind, PacerParameters, Policer, PolicerControl, Queue, QueueControl, QueueEntry, Scheduler, SchedulerControl,
    Shaper, ShaperControl,
};
use ferric::e2ap::CauseRicRequest;

use crate::node::NodeState;

pub(crate) use jobs::{Job, Jobs, acknowledge, advance, observe, subscription_lost};

/// The maximum number of queues of a tenant, beside queue 0: a base station has 64.
const MAX_QUEUES: usize = 8;
/// The maximum number of filters of a tenant: a base station has 256.
const MAX_FILTERS: usize = 32;
/// The number of the first queue, which all tenants see.
const SHARED: u32 = 0;
/// A filter without packets, with which the base station is made to classify by headers.
const PLACEHOLDER: FiveTuple = FiveTuple {
    source_address: None,
    destination_address: Some(u32::MAX),
    source_port: None,
    destination_port: None,
    protocol: Some(17),
};

/// A number of a tenant, and that of the base station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapping {
    own: u32,
    physical: u32,
}

/// The queues and filters of a tenant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TcMap {
    queues: Vec<Mapping>,
    filters: Vec<Mapping>,
}

/// Why a control is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TcRefusal {
    UnknownQueue(u32),
    UnknownFilter(u32),
    TooManyQueues,
    TooManyFilters,
    /// The part concerns the UEs of all tenants.
    SharedQueue,
    SharedPacer,
    SharedScheduler,
    /// Packets to UEs of others would match.
    ForeignDestination,
    /// Only filters keep the packets of tenants apart.
    OtherClassifier,
    /// The base station classifies otherwise, with several queues.
    ClassifierOfOwner,
    QueueCount {
        requested: usize,
        existing: usize,
    },
    /// The part cannot be added or deleted.
    Fixed,
}

impl TcRefusal {
    /// The cause in E2AP.
    pub fn cause(&self) -> CauseRicRequest {
        match self {
            TcRefusal::UnknownQueue(_)
            | TcRefusal::UnknownFilter(_)
            | TcRefusal::QueueCount { .. }
            | TcRefusal::Fixed => CauseRicRequest::ControlMessageInvalid,
            TcRefusal::TooManyQueues | TcRefusal::TooManyFilters => CauseRicRequest::FunctionResourceLimit,
            TcRefusal::SharedQueue
            | TcRefusal::SharedPacer
            | TcRefusal::SharedScheduler
            | TcRefusal::ForeignDestination
            | TcRefusal::OtherClassifier
            | TcRefusal::ClassifierOfOwner => CauseRicRequest::ControlFailedToExecute,
        }
    }
}

impl fmt::Display for TcRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TcRefusal::UnknownQueue(id) => write!(f, "there is no queue {id}"),
            TcRefusal::UnknownFilter(id) => write!(f, "there is no filter {id}"),
            TcRefusal::TooManyQueues => write!(f, "more than {MAX_QUEUES} queues beside queue 0"),
            TcRefusal::TooManyFilters => write!(f, "more than {MAX_FILTERS} filters"),
            TcRefusal::SharedQueue => f.write_str("queue 0 is shared with other operators: add a queue and a filter"),
            TcRefusal::SharedPacer => f.write_str("the pacer is shared with other operators"),
            TcRefusal::SharedScheduler => {
                f.write_str("others have queues: kind of the scheduler and parameter of queue 0 are shared with them")
            }
            TcRefusal::ForeignDestination => {
                f.write_str("the destination of a filter is the address of a UE of this network")
            }
            TcRefusal::OtherClassifier => f.write_str("only filters keep the packets of operators apart"),
            TcRefusal::ClassifierOfOwner => {
                f.write_str("the base station has several queues and no filters: its owner can change the classifier")
            }
            TcRefusal::QueueCount { requested, existing } => {
                write!(f, "the scheduler settings are for {requested} queues, but there are {existing}")
            }
            TcRefusal::Fixed => f.write_str("the part always exists: it can only be modified"),
        }
    }
}

/// What is changed by a control that the base station has executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    None,
    QueueAdded,
    QueueDeleted(u32),
    FilterAdded,
    FilterDeleted(u32),
    /// The base station classifies by headers now; the control of the tenant follows.
    Prepared,
    /// The base station classifies as before there were tenants.
    Restored,
}

/// How a control of a tenant is executed.
#[derive(Debug, PartialEq)]
enum Plan {
    /// By this control of the base station.
    Step(ControlMessage<'static>, Effect),
    /// It changes nothing.
    Done,
}

fn queue_ids(report: &IndicationMessage<'_>) -> impl Iterator<Item = u32> {
    report.queues.iter().map(|entry| entry.shaper.id)
}

fn filters<'r>(report: &'r IndicationMessage<'_>) -> &'r [OsiFilter] {
    match &report.classifier {
        Classifier::Osi(filters) => filters,
        Classifier::RoundRobin | Classifier::Stochastic => &[],
    }
}

/// The parameters of the scheduler by queue.
fn parameters<'r>(scheduler: &'r Scheduler<'_>) -> &'r [u32] {
    match scheduler {
        Scheduler::RoundRobin => &[],
        Scheduler::Priority(parameters) | Scheduler::DeficitRoundRobin(parameters) => parameters,
    }
}

/// The scheduler of the same kind with other parameters.
fn with_parameters(kind: &Scheduler<'_>, parameters: Vec<u32>) -> Scheduler<'static> {
    match kind {
        Scheduler::RoundRobin => Scheduler::RoundRobin,
        Scheduler::Priority(_) => Scheduler::Priority(parameters.into()),
        Scheduler::DeficitRoundRobin(_) => Scheduler::DeficitRoundRobin(parameters.into()),
    }
}

/// The smallest number from `least` on that is not used.
fn unused(used: &[Mapping], least: u32) -> u32 {
    (least..=u32::MAX).find(|id| !used.iter().any(|mapping| mapping.own == *id)).unwrap_or(u32::MAX)
}

impl TcMap {
    /// Whether there are filters, each with the address of a UE.
    pub fn has_filters(&self) -> bool {
        !self.filters.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.queues.is_empty() && self.filters.is_empty()
    }

    /// The queue of the base station for an own queue; queue 0 is the first one.
    fn any_queue(&self, own: u32, report: &IndicationMessage<'_>) -> Result<u32, TcRefusal> {
        if own == SHARED {
            return queue_ids(report).next().ok_or(TcRefusal::UnknownQueue(own));
        }
        self.own_queue(own)
    }

    /// The queue of the base station for an own queue that can be changed.
    fn own_queue(&self, own: u32) -> Result<u32, TcRefusal> {
        if own == SHARED {
            return Err(TcRefusal::SharedQueue);
        }
        let known = self.queues.iter().find(|queue| queue.own == own);
        known.map(|queue| queue.physical).ok_or(TcRefusal::UnknownQueue(own))
    }

    fn own_filter(&self, own: u32) -> Result<u32, TcRefusal> {
        let known = self.filters.iter().find(|filter| filter.own == own);
        known.map(|filter| filter.physical).ok_or(TcRefusal::UnknownFilter(own))
    }

    /// The tenant's number of a queue.
    fn virtual_queue(&self, physical: u32, report: &IndicationMessage<'_>) -> Option<u32> {
        if queue_ids(report).next() == Some(physical) {
            return Some(SHARED);
        }
        self.queues.iter().find(|queue| queue.physical == physical).map(|queue| queue.own)
    }

    /// Forgets what the base station does not have any more.
    fn retain_reported(&mut self, report: &IndicationMessage<'_>) {
        self.queues.retain(|queue| queue_ids(report).any(|id| id == queue.physical));
        self.filters.retain(|filter| filters(report).iter().any(|known| known.id == filter.physical));
    }

    fn apply(&mut self, effect: Effect, new_id: Option<u32>) {
        match (effect, new_id) {
            (Effect::QueueAdded, Some(physical)) => {
                self.queues.push(Mapping { own: unused(&self.queues, SHARED + 1), physical });
            }
            (Effect::FilterAdded, Some(physical)) => {
                self.filters.push(Mapping { own: unused(&self.filters, 0), physical });
            }
            (Effect::QueueDeleted(id), _) => self.queues.retain(|queue| queue.physical != id),
            (Effect::FilterDeleted(id), _) => self.filters.retain(|filter| filter.physical != id),
            _ => {}
        }
    }

    /// The next control that removes everything; `None` if there is nothing left.
    fn removal(&self, report: &IndicationMessage<'_>) -> Option<(ControlMessage<'static>, Effect)> {
        if let Some(filter) = self.filters.first() {
            let delete = ClassifierControl::Delete(DeleteFilter::Osi(filter.physical));
            return Some((ControlMessage::Classifier(delete), Effect::FilterDeleted(filter.physical)));
        }
        let own = || report.queues.iter().filter(|entry| self.queues.iter().any(|own| own.physical == entry.shaper.id));
        // a queue that a policer sends packets to cannot be deleted
        if let Some(entry) = own().find(|entry| entry.policer.active) {
            return Some((ControlMessage::Policer(PolicerControl::Delete(entry.shaper.id)), Effect::None));
        }
        let QueueEntry { shaper, queue, .. } = own().next()?;
        let delete = QueueControl::Delete(DeleteQueue { id: shaper.id, kind: queue.kind });
        Some((ControlMessage::Queue(delete), Effect::QueueDeleted(shaper.id)))
    }

    /// A control that removes a filter whose destination `is_own` does not accept any more.
    fn pruning(
        &self,
        report: &IndicationMessage<'_>,
        is_own: impl Fn(u32) -> bool,
    ) -> Option<(ControlMessage<'static>, Effect)> {
        let is_foreign = |filter: &&OsiFilter| {
            self.filters.iter().any(|own| own.physical == filter.id)
                && !filter.flow.destination_address.is_some_and(&is_own)
        };
        let id = filters(report).iter().find(is_foreign)?.id;
        let delete = ClassifierControl::Delete(DeleteFilter::Osi(id));
        Some((ControlMessage::Classifier(delete), Effect::FilterDeleted(id)))
    }
}

/// Checks that a filter matches packets to one of a tenant's UEs only.
fn check_destination(flow: &FiveTuple, node: &NodeState, tenant: usize) -> Result<(), TcRefusal> {
    let is_own = |address: u32| node.ues.has_address(tenant, address);
    if flow.destination_address.is_some_and(is_own) { Ok(()) } else { Err(TcRefusal::ForeignDestination) }
}

/// The control that has the base station classify by headers, if it does not.
fn preparation(report: &IndicationMessage<'_>) -> Result<Option<Plan>, TcRefusal> {
    let first = queue_ids(report).next().ok_or(TcRefusal::UnknownQueue(SHARED))?;
    match &report.classifier {
        Classifier::Osi(filters) => {
            // it has served its purpose
            let placeholder = filters.iter().find(|filter| filter.flow == PLACEHOLDER);
            Ok(placeholder.map(|filter| {
                let delete = ClassifierControl::Delete(DeleteFilter::Osi(filter.id));
                Plan::Step(ControlMessage::Classifier(delete), Effect::Prepared)
            }))
        }
        _ if report.queues.len() > 1 => Err(TcRefusal::ClassifierOfOwner),
        _ => {
            let add = NewFilter::Osi(NewOsiFilter { flow: PLACEHOLDER, queue_id: first });
            Ok(Some(Plan::Step(ControlMessage::Classifier(ClassifierControl::Add(add)), Effect::Prepared)))
        }
    }
}

/// The control of the base station that executes one of a tenant.
fn plan(
    control: &ControlMessage<'static>,
    node: &NodeState,
    tenant: usize,
    report: &IndicationMessage<'_>,
) -> Result<Plan, TcRefusal> {
    let map = &node.tenants[tenant].tc;
    let step = |control, effect| Ok(Plan::Step(control, effect));
    let queue = |control| ControlMessage::Queue(control);
    match control {
        ControlMessage::Queue(QueueControl::Add(parameters)) => {
            if map.queues.len() >= MAX_QUEUES {
                return Err(TcRefusal::TooManyQueues);
            }
            if let Some(before) = preparation(report)? {
                return Ok(before);
            }
            step(queue(QueueControl::Add(*parameters)), Effect::QueueAdded)
        }
        ControlMessage::Queue(QueueControl::Delete(DeleteQueue { id, kind })) => {
            let id = map.own_queue(*id)?;
            step(queue(QueueControl::Delete(DeleteQueue { id, kind: *kind })), Effect::QueueDeleted(id))
        }
        ControlMessage::Queue(QueueControl::Modify(ModifyQueue { id, parameters })) => {
            let id = map.own_queue(*id)?;
            step(queue(QueueControl::Modify(ModifyQueue { id, parameters: *parameters })), Effect::None)
        }
        ControlMessage::Classifier(control) => plan_filter(control, node, tenant, report),
        ControlMessage::Policer(PolicerControl::Delete(id)) => {
            step(ControlMessage::Policer(PolicerControl::Delete(map.own_queue(*id)?)), Effect::None)
        }
        ControlMessage::Policer(PolicerControl::Modify(policer)) => {
            let (id, deviation_id) = (map.own_queue(policer.id)?, map.any_queue(policer.deviation_id, report)?);
            let policer = ChangePolicer { id, deviation_id, ..*policer };
            step(ControlMessage::Policer(PolicerControl::Modify(policer)), Effect::None)
        }
        ControlMessage::Shaper(ShaperControl::Delete(id)) => {
            step(ControlMessage::Shaper(ShaperControl::Delete(map.own_queue(*id)?)), Effect::None)
        }
        ControlMessage::Shaper(ShaperControl::Modify(shaper)) => {
            let shaper = ChangeShaper { id: map.own_queue(shaper.id)?, ..*shaper };
            step(ControlMessage::Shaper(ShaperControl::Modify(shaper)), Effect::None)
        }
        ControlMessage::Scheduler(SchedulerControl::Modify(scheduler)) => {
            plan_scheduler(scheduler, node, tenant, report)
        }
        ControlMessage::Pacer(PacerControl::Modify(pacer)) => {
            let kind = match pacer {
                PacerParameters::Off => PacerKind::Off,
                PacerParameters::Bdp5g(_) => PacerKind::Bdp5g,
            };
            if kind == report.pacer.kind { Ok(Plan::Done) } else { Err(TcRefusal::SharedPacer) }
        }
        ControlMessage::Policer(PolicerControl::Add)
        | ControlMessage::Shaper(ShaperControl::Add)
        | ControlMessage::Scheduler(_)
        | ControlMessage::Pacer(_) => Err(TcRefusal::Fixed),
    }
}

fn plan_filter(
    control: &ClassifierControl,
    node: &NodeState,
    tenant: usize,
    report: &IndicationMessage<'_>,
) -> Result<Plan, TcRefusal> {
    let map = &node.tenants[tenant].tc;
    let step = |control, effect| Ok(Plan::Step(ControlMessage::Classifier(control), effect));
    match control {
        ClassifierControl::Add(NewFilter::Osi(NewOsiFilter { flow, queue_id })) => {
            check_destination(flow, node, tenant)?;
            let queue_id = map.any_queue(*queue_id, report)?;
            if map.filters.len() >= MAX_FILTERS {
                return Err(TcRefusal::TooManyFilters);
            }
            if let Some(before) = preparation(report)? {
                return Ok(before);
            }
            let add = NewFilter::Osi(NewOsiFilter { flow: *flow, queue_id });
            step(ClassifierControl::Add(add), Effect::FilterAdded)
        }
        ClassifierControl::Delete(DeleteFilter::Osi(id)) => {
            let id = map.own_filter(*id)?;
            step(ClassifierControl::Delete(DeleteFilter::Osi(id)), Effect::FilterDeleted(id))
        }
        ClassifierControl::Modify(ModifyFilter::Osi(OsiFilter { id, flow, queue_id })) => {
            let id = map.own_filter(*id)?;
            check_destination(flow, node, tenant)?;
            let filter = OsiFilter { id, flow: *flow, queue_id: map.any_queue(*queue_id, report)? };
            step(ClassifierControl::Modify(ModifyFilter::Osi(filter)), Effect::None)
        }
        // with one queue, which is shared, there is nothing to choose
        ClassifierControl::Add(NewFilter::RoundRobin) if map.is_empty() => Ok(Plan::Done),
        ClassifierControl::Add(_) => Err(TcRefusal::OtherClassifier),
        ClassifierControl::Delete(_) | ClassifierControl::Modify(_) => Err(TcRefusal::Fixed),
    }
}

/// A scheduler with the parameters of a tenant's queues, as the base station gets it.
fn plan_scheduler(
    requested: &Scheduler<'static>,
    node: &NodeState,
    tenant: usize,
    report: &IndicationMessage<'_>,
) -> Result<Plan, TcRefusal> {
    let map = &node.tenants[tenant].tc;
    let is_same_kind = std::mem::discriminant(requested) == std::mem::discriminant(&report.scheduler);
    if *requested == Scheduler::RoundRobin && is_same_kind {
        return Ok(Plan::Done);
    }
    let own = parameters(requested);
    let existing = 1 + map.queues.len();
    if *requested != Scheduler::RoundRobin && own.len() != existing {
        return Err(TcRefusal::QueueCount { requested: own.len(), existing });
    }
    // queues of others, the owner of the base station included
    let is_alone = report.queues.len() <= existing;
    if !is_same_kind && !is_alone {
        return Err(TcRefusal::SharedScheduler);
    }
    let present = parameters(&report.scheduler);
    let mut next = Vec::new();
    if *requested != Scheduler::RoundRobin {
        let place = |id| {
            let own = order(map, report).position(|entry| entry.shaper.id == id);
            own.and_then(|at| parameters(requested).get(at).copied())
        };
        for (at, id) in queue_ids(report).enumerate() {
            match (place(id), present.get(at)) {
                (Some(own), Some(present)) if at == 0 && own != *present && !is_alone => {
                    return Err(TcRefusal::SharedScheduler);
                }
                (Some(own), _) => next.push(own),
                (None, Some(present)) => next.push(*present),
                (None, None) => return Err(TcRefusal::SharedScheduler),
            }
        }
    }
    let scheduler = with_parameters(requested, next);
    Ok(Plan::Step(ControlMessage::Scheduler(SchedulerControl::Modify(scheduler)), Effect::None))
}

/// The queues of a report that a tenant sees, in the order in which it has them.
fn order<'r>(map: &'r TcMap, report: &'r IndicationMessage<'_>) -> impl Iterator<Item = &'r QueueEntry> {
    let own = map.queues.iter().filter_map(|own| report.queues.iter().find(|entry| entry.shaper.id == own.physical));
    report.queues.first().into_iter().chain(own)
}

/// What a tenant receives of a report. Counters over UEs of all tenants are 0.
pub(crate) fn part(map: &TcMap, report: &IndicationMessage<'_>) -> IndicationMessage<'static> {
    let number = |physical: u32| map.virtual_queue(physical, report).unwrap_or(SHARED);
    let entry = |entry: &QueueEntry| {
        let QueueEntry { shaper, policer, queue } = *entry;
        let id = number(shaper.id);
        let (destination_id, deviation_id) = (number(policer.destination_id), number(policer.deviation_id));
        let mut own = QueueEntry {
            shaper: Shaper { id, ..shaper },
            policer: Policer { id, destination_id, deviation_id, ..policer },
            queue,
        };
        if id == SHARED {
            own.shaper.meter.rate_kbps = 0.0;
            own.policer.meter.rate_kbps = 0.0;
            (own.policer.dropped_packets, own.policer.marked_packets) = (0, 0);
            own.queue = Queue { kind: queue.kind, ..Queue::default() };
        }
        own
    };
    let place = |entry: &QueueEntry| queue_ids(report).position(|id| id == entry.shaper.id);
    let parameter = |entry: &QueueEntry| parameters(&report.scheduler).get(place(entry)?).copied();
    let classifier = match &report.classifier {
        Classifier::Osi(reported) => {
            let own = map.filters.iter().filter_map(|own| {
                let filter = reported.iter().find(|filter| filter.id == own.physical)?;
                Some(OsiFilter { id: own.own, flow: filter.flow, queue_id: number(filter.queue_id) })
            });
            Classifier::Osi(own.collect::<Vec<_>>().into())
        }
        Classifier::RoundRobin => Classifier::RoundRobin,
        Classifier::Stochastic => Classifier::Stochastic,
    };
    let meter = Meter { rate_kbps: 0.0, ..report.pacer.meter };
    IndicationMessage {
        scheduler: with_parameters(&report.scheduler, order(map, report).filter_map(parameter).collect()),
        pacer: Pacer { meter, ..report.pacer },
        classifier,
        queues: order(map, report).map(entry).collect::<Vec<_>>().into(),
        timestamp_us: report.timestamp_us,
    }
}

#[cfg(test)]
mod tests;
