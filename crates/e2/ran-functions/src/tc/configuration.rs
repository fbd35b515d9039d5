//! The configuration of traffic control, and how controls change it.

use std::fmt;

use e2sm::tc::{
    ChangePolicer, ChangeShaper, Classifier, ClassifierControl, ControlMessage, DelayTarget, DeleteFilter, DeleteQueue,
    ModifyFilter, ModifyQueue, NewFilter, OsiFilter, PacerControl, PacerParameters, PolicerControl, QueueControl,
    QueueKind, QueueParameters, Scheduler, SchedulerControl, ShaperControl,
};
use per::List;

/// The maximum number of queues of a bearer.
const MAX_QUEUES: usize = 64;
/// The maximum number of filters of a classifier.
const MAX_FILTERS: usize = 256;
/// The quantum of a new queue in deficit round robin: one full Ethernet frame.
const QUANTUM_OCTETS: u32 = 1514;

/// The traffic control configuration of a bearer.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// Selects the queue to send from; its parameters are in the order of the queues.
    pub scheduler: Scheduler<'static>,
    /// Limits how much is passed to RLC.
    pub pacer: PacerParameters,
    /// Selects the queue of a packet.
    pub classifier: Classifier<'static>,
    /// The queues: at least one.
    pub queues: Vec<QueueConfiguration>,
}

/// The configuration of a queue with its policer and shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfiguration {
    /// The ID of the queue, its policer and its shaper.
    pub id: u32,
    /// The queue discipline.
    pub parameters: QueueParameters,
    /// The policer, if configured.
    pub policer: Option<ChangePolicer>,
    /// The shaper, if configured.
    pub shaper: Option<ChangeShaper>,
}

impl QueueConfiguration {
    fn new(id: u32, parameters: QueueParameters) -> Self {
        QueueConfiguration { id, parameters, policer: None, shaper: None }
    }
}

impl Default for Configuration {
    /// The configuration without traffic control: one FIFO queue.
    fn default() -> Self {
        Configuration {
            scheduler: Scheduler::RoundRobin,
            pacer: PacerParameters::Off,
            classifier: Classifier::RoundRobin,
            queues: vec![QueueConfiguration::new(0, QueueParameters::Fifo)],
        }
    }
}

/// A part that always exists, once or once for each queue: it cannot be added or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Scheduler,
    Pacer,
    Policer,
    Shaper,
    Filter,
}

/// Why a control is invalid. The text goes to the controller in ASCII.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    UnknownQueue(u32),
    LastQueue(u32),
    TooManyQueues,
    /// The queue has another discipline.
    QueueKind(u32, QueueKind),
    /// A filter or a policer sends packets to the queue.
    QueueInUse(u32),
    InvalidTarget(DelayTarget),
    UnknownFilter(u32),
    TooManyFilters,
    /// The classifier in use has no filters.
    NoFilters,
    /// The part cannot be added or deleted.
    Fixed(Part),
    InvalidRate(u32),
    /// The scheduler parameters do not cover every queue.
    QueueCount {
        requested: usize,
        existing: usize,
    },
    InvalidQuantum,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::UnknownQueue(id) => write!(f, "there is no queue {id}"),
            Fault::LastQueue(id) => write!(f, "queue {id} is the last one"),
            Fault::TooManyQueues => write!(f, "more than {MAX_QUEUES} queues"),
            Fault::QueueKind(id, kind) => write!(f, "queue {id} is {kind:?}"),
            Fault::QueueInUse(id) => write!(f, "a filter or a policer sends packets to queue {id}"),
            Fault::InvalidTarget(DelayTarget { target_ms, interval_ms }) => {
                write!(f, "a target of {target_ms} ms in {interval_ms} ms: it must be above 0 and below the interval")
            }
            Fault::UnknownFilter(id) => write!(f, "there is no filter {id}"),
            Fault::TooManyFilters => write!(f, "more than {MAX_FILTERS} filters"),
            Fault::NoFilters => f.write_str("only the OSI classifier has filters, and it is not in use"),
            Fault::Fixed(part) => f.write_str(match part {
                Part::Scheduler => "there is always one scheduler: it can only be modified",
                Part::Pacer => "there is always one pacer: it can only be modified",
                Part::Policer => "each queue has one policer: it cannot be added",
                Part::Shaper => "each queue has one shaper: it cannot be added",
                Part::Filter => "the classifier in use has no filters to delete or modify",
            }),
            Fault::InvalidRate(id) => write!(f, "rate and window of queue {id} must be above 0"),
            Fault::QueueCount { requested, existing } => {
                write!(f, "the scheduler settings are for {requested} queues, but there are {existing}")
            }
            Fault::InvalidQuantum => f.write_str("the quantum of each queue must be above 0"),
        }
    }
}

impl Configuration {
    /// The configuration after a control.
    pub(super) fn after(&self, control: &ControlMessage<'_>) -> Result<Configuration, Fault> {
        let mut next = self.clone();
        match control {
            ControlMessage::Classifier(control) => next.classify(control)?,
            ControlMessage::Policer(control) => next.police(control)?,
            ControlMessage::Queue(control) => next.queue(control)?,
            ControlMessage::Scheduler(control) => next.schedule(control)?,
            ControlMessage::Shaper(control) => next.shape(control)?,
            ControlMessage::Pacer(control) => next.pace(control)?,
        }
        Ok(next)
    }

    fn queue_index(&self, id: u32) -> Result<usize, Fault> {
        self.queues.iter().position(|queue| queue.id == id).ok_or(Fault::UnknownQueue(id))
    }

    fn filters(&self) -> &[OsiFilter] {
        match &self.classifier {
            Classifier::Osi(filters) => filters,
            Classifier::RoundRobin | Classifier::Stochastic => &[],
        }
    }

    fn classify(&mut self, control: &ClassifierControl) -> Result<(), Fault> {
        let mut filters = self.filters().to_vec();
        match control {
            ClassifierControl::Add(NewFilter::RoundRobin) => {
                self.classifier = Classifier::RoundRobin;
                return Ok(());
            }
            ClassifierControl::Add(NewFilter::Stochastic) => {
                self.classifier = Classifier::Stochastic;
                return Ok(());
            }
            ClassifierControl::Add(NewFilter::Osi(new)) => {
                self.queue_index(new.queue_id)?;
                if filters.len() >= MAX_FILTERS {
                    return Err(Fault::TooManyFilters);
                }
                let id = unused_id(filters.iter().map(|filter| filter.id));
                filters.push(OsiFilter { id, flow: new.flow, queue_id: new.queue_id });
            }
            ClassifierControl::Delete(DeleteFilter::Osi(id)) => {
                let at = self.filter_index(*id)?;
                filters.remove(at);
            }
            ClassifierControl::Modify(ModifyFilter::Osi(changed)) => {
                let at = self.filter_index(changed.id)?;
                self.queue_index(changed.queue_id)?;
                filters[at] = *changed;
            }
            ClassifierControl::Delete(DeleteFilter::RoundRobin | DeleteFilter::Stochastic)
            | ClassifierControl::Modify(ModifyFilter::RoundRobin | ModifyFilter::Stochastic) => {
                return Err(Fault::Fixed(Part::Filter));
            }
        }
        self.classifier = Classifier::Osi(filters.into());
        Ok(())
    }

    fn filter_index(&self, id: u32) -> Result<usize, Fault> {
        let Classifier::Osi(filters) = &self.classifier else { return Err(Fault::NoFilters) };
        filters.iter().position(|filter| filter.id == id).ok_or(Fault::UnknownFilter(id))
    }

    fn queue(&mut self, control: &QueueControl) -> Result<(), Fault> {
        match control {
            QueueControl::Add(parameters) => {
                check(*parameters)?;
                if self.queues.len() >= MAX_QUEUES {
                    return Err(Fault::TooManyQueues);
                }
                let id = unused_id(self.queues.iter().map(|queue| queue.id));
                self.queues.push(QueueConfiguration::new(id, *parameters));
                // the new queue gets the lowest priority, or the default quantum
                self.update_scheduler(|parameters, is_priority| {
                    let lowest = parameters.iter().max().map_or(0, |lowest| lowest.saturating_add(1));
                    parameters.push(if is_priority { lowest } else { QUANTUM_OCTETS });
                });
            }
            QueueControl::Delete(DeleteQueue { id, kind }) => {
                let at = self.queue_index(*id)?;
                if self.queues[at].parameters.kind() != *kind {
                    return Err(Fault::QueueKind(*id, self.queues[at].parameters.kind()));
                }
                if self.queues.len() == 1 {
                    return Err(Fault::LastQueue(*id));
                }
                let by_filter = self.filters().iter().any(|filter| filter.queue_id == *id);
                let policers = self.queues.iter().filter(|queue| queue.id != *id).filter_map(|queue| queue.policer);
                if by_filter || policers.into_iter().any(|policer| policer.active && policer.deviation_id == *id) {
                    return Err(Fault::QueueInUse(*id));
                }
                self.queues.remove(at);
                self.update_scheduler(|parameters, _| {
                    parameters.remove(at);
                });
            }
            QueueControl::Modify(ModifyQueue { id, parameters }) => {
                check(*parameters)?;
                let at = self.queue_index(*id)?;
                self.queues[at].parameters = *parameters;
            }
        }
        Ok(())
    }

    /// Changes the scheduler's parameters of the queues: priorities (`true`) or quanta (`false`).
    fn update_scheduler(&mut self, change: impl FnOnce(&mut Vec<u32>, bool)) {
        let (parameters, is_priority) = match &mut self.scheduler {
            Scheduler::RoundRobin => return,
            Scheduler::Priority(priorities) => (priorities, true),
            Scheduler::DeficitRoundRobin(quanta) => (quanta, false),
        };
        let mut changed = parameters.to_vec();
        change(&mut changed, is_priority);
        *parameters = changed.into();
    }

    fn schedule(&mut self, control: &SchedulerControl<'_>) -> Result<(), Fault> {
        let SchedulerControl::Modify(scheduler) = control else { return Err(Fault::Fixed(Part::Scheduler)) };
        let existing = self.queues.len();
        let checked = |parameters: &List<'_, u32>| match parameters.len() == existing {
            true => Ok(List::from(parameters.to_vec())),
            false => Err(Fault::QueueCount { requested: parameters.len(), existing }),
        };
        self.scheduler = match scheduler {
            Scheduler::RoundRobin => Scheduler::RoundRobin,
            Scheduler::Priority(priorities) => Scheduler::Priority(checked(priorities)?),
            Scheduler::DeficitRoundRobin(quanta) if quanta.contains(&0) => return Err(Fault::InvalidQuantum),
            Scheduler::DeficitRoundRobin(quanta) => Scheduler::DeficitRoundRobin(checked(quanta)?),
        };
        Ok(())
    }

    fn police(&mut self, control: &PolicerControl) -> Result<(), Fault> {
        match control {
            PolicerControl::Add => return Err(Fault::Fixed(Part::Policer)),
            PolicerControl::Delete(id) => {
                let at = self.queue_index(*id)?;
                self.queues[at].policer = None;
            }
            PolicerControl::Modify(policer) => {
                let at = self.queue_index(policer.id)?;
                self.queue_index(policer.deviation_id)?;
                if policer.active && policer.drop_rate_kbps == 0 {
                    return Err(Fault::InvalidRate(policer.id));
                }
                self.queues[at].policer = Some(*policer);
            }
        }
        Ok(())
    }

    fn shape(&mut self, control: &ShaperControl) -> Result<(), Fault> {
        match control {
            ShaperControl::Add => return Err(Fault::Fixed(Part::Shaper)),
            ShaperControl::Delete(id) => {
                let at = self.queue_index(*id)?;
                self.queues[at].shaper = None;
            }
            ShaperControl::Modify(shaper) => {
                let at = self.queue_index(shaper.id)?;
                if shaper.active && (shaper.max_rate_kbps == 0 || shaper.window_ms == 0) {
                    return Err(Fault::InvalidRate(shaper.id));
                }
                self.queues[at].shaper = Some(*shaper);
            }
        }
        Ok(())
    }

    fn pace(&mut self, control: &PacerControl) -> Result<(), Fault> {
        let PacerControl::Modify(pacer) = control else { return Err(Fault::Fixed(Part::Pacer)) };
        self.pacer = *pacer;
        Ok(())
    }
}

fn check(parameters: QueueParameters) -> Result<(), Fault> {
    match parameters {
        QueueParameters::CoDel(target) | QueueParameters::EcnCoDel(target)
            if target.target_ms == 0 || target.target_ms >= target.interval_ms =>
        {
            Err(Fault::InvalidTarget(target))
        }
        _ => Ok(()),
    }
}

/// The smallest unused ID.
fn unused_id(ids: impl Iterator<Item = u32> + Clone) -> u32 {
    (0..=u32::MAX).find(|id| !ids.clone().any(|used| used == *id)).unwrap_or_default()
}
