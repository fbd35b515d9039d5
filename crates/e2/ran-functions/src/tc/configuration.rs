//! What is set, and what controls make of it.

use std::fmt;

use e2sm::tc::{
    ChangePolicer, ChangeShaper, Classifier, ClassifierControl, ControlMessage, DelayTarget, DeleteFilter, DeleteQueue,
    ModifyFilter, ModifyQueue, NewFilter, OsiFilter, PacerControl, PacerParameters, PolicerControl, QueueControl,
    QueueKind, QueueParameters, Scheduler, SchedulerControl, ShaperControl,
};
use per::List;

/// Queues of a bearer.
const MAX_QUEUES: usize = 64;
/// Filters of a classifier.
const MAX_FILTERS: usize = 256;
/// The octets that a new queue gets a turn: one full packet of an Ethernet.
const QUANTUM_OCTETS: u32 = 1514;

/// What is set for a bearer.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// What takes from the queues; what it says of queues is in their order.
    pub scheduler: Scheduler<'static>,
    /// What decides how much goes on to RLC.
    pub pacer: PacerParameters,
    /// What chooses a queue.
    pub classifier: Classifier<'static>,
    /// The queues: one at least.
    pub queues: Vec<QueueConfiguration>,
}

/// A queue, and what stands around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfiguration {
    /// Its number, and that of its policer and shaper.
    pub id: u32,
    /// Its discipline.
    pub parameters: QueueParameters,
    /// Its policer, once one was set.
    pub policer: Option<ChangePolicer>,
    /// Its shaper, once one was set.
    pub shaper: Option<ChangeShaper>,
}

impl QueueConfiguration {
    fn new(id: u32, parameters: QueueParameters) -> Self {
        QueueConfiguration { id, parameters, policer: None, shaper: None }
    }
}

impl Default for Configuration {
    /// What a base station without traffic control does: one queue, first in, first out.
    fn default() -> Self {
        Configuration {
            scheduler: Scheduler::RoundRobin,
            pacer: PacerParameters::Off,
            classifier: Classifier::RoundRobin,
            queues: vec![QueueConfiguration::new(0, QueueParameters::Fifo)],
        }
    }
}

/// A part that there is one of, or one for each queue: it is neither added nor deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Scheduler,
    Pacer,
    Policer,
    Shaper,
    Filter,
}

/// Why a control cannot be carried out. The text goes to the controller: it is ASCII.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    NoQueue(u32),
    LastQueue(u32),
    TooManyQueues,
    /// The queue has another discipline.
    OtherKind(u32, QueueKind),
    /// A filter or a policer sends packets there.
    QueueInUse(u32),
    NoTime(DelayTarget),
    NoFilter(u32),
    TooManyFilters,
    /// The classifier has no filters to be deleted or changed.
    NotByHeaders,
    /// There is one, or one for each queue.
    Fixed(Part),
    NoRate(u32),
    /// What the scheduler is told of is not every queue.
    Queues {
        told: usize,
        there: usize,
    },
    NoQuantum,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoQueue(id) => write!(f, "there is no queue {id}"),
            Fault::LastQueue(id) => write!(f, "queue {id} is the last one"),
            Fault::TooManyQueues => write!(f, "there may be {MAX_QUEUES} queues"),
            Fault::OtherKind(id, kind) => write!(f, "queue {id} is {kind:?}"),
            Fault::QueueInUse(id) => write!(f, "a filter or a policer sends packets to queue {id}"),
            Fault::NoTime(DelayTarget { target_ms, interval_ms }) => {
                write!(f, "a target of {target_ms} ms in {interval_ms} ms: it must be above 0 and below the interval")
            }
            Fault::NoFilter(id) => write!(f, "there is no filter {id}"),
            Fault::TooManyFilters => write!(f, "there may be {MAX_FILTERS} filters"),
            Fault::NotByHeaders => f.write_str("only the classifier by headers has filters, and it is not in use"),
            Fault::Fixed(part) => f.write_str(match part {
                Part::Scheduler => "there is one scheduler: it can be modified only",
                Part::Pacer => "there is one pacer: it can be modified only",
                Part::Policer => "there is one policer for each queue: it comes with the queue",
                Part::Shaper => "there is one shaper for each queue: it comes with the queue",
                Part::Filter => "a classifier without filters has none to be deleted or modified",
            }),
            Fault::NoRate(id) => write!(f, "the limit of queue {id} must be above 0, and its window have a length"),
            Fault::Queues { told, there } => write!(f, "the scheduler is told of {told} queues, and there are {there}"),
            Fault::NoQuantum => f.write_str("each queue must get an octet a turn at least"),
        }
    }
}

impl Configuration {
    /// What it would be after a control.
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

    fn at(&self, id: u32) -> Result<usize, Fault> {
        self.queues.iter().position(|queue| queue.id == id).ok_or(Fault::NoQueue(id))
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
                self.at(new.queue_id)?;
                if filters.len() >= MAX_FILTERS {
                    return Err(Fault::TooManyFilters);
                }
                let id = free(filters.iter().map(|filter| filter.id));
                filters.push(OsiFilter { id, flow: new.flow, queue_id: new.queue_id });
            }
            ClassifierControl::Delete(DeleteFilter::Osi(id)) => {
                let at = self.filter(*id)?;
                filters.remove(at);
            }
            ClassifierControl::Modify(ModifyFilter::Osi(changed)) => {
                let at = self.filter(changed.id)?;
                self.at(changed.queue_id)?;
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

    fn filter(&self, id: u32) -> Result<usize, Fault> {
        let Classifier::Osi(filters) = &self.classifier else { return Err(Fault::NotByHeaders) };
        filters.iter().position(|filter| filter.id == id).ok_or(Fault::NoFilter(id))
    }

    fn queue(&mut self, control: &QueueControl) -> Result<(), Fault> {
        match control {
            QueueControl::Add(parameters) => {
                check(*parameters)?;
                if self.queues.len() >= MAX_QUEUES {
                    return Err(Fault::TooManyQueues);
                }
                let id = free(self.queues.iter().map(|queue| queue.id));
                self.queues.push(QueueConfiguration::new(id, *parameters));
                // it comes last, and gets as much as others
                self.with_each_queue(|of_queues, priority| {
                    let last = of_queues.iter().max().map_or(0, |last| last.saturating_add(1));
                    of_queues.push(if priority { last } else { QUANTUM_OCTETS });
                });
            }
            QueueControl::Delete(DeleteQueue { id, kind }) => {
                let at = self.at(*id)?;
                if self.queues[at].parameters.kind() != *kind {
                    return Err(Fault::OtherKind(*id, self.queues[at].parameters.kind()));
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
                self.with_each_queue(|of_queues, _| {
                    of_queues.remove(at);
                });
            }
            QueueControl::Modify(ModifyQueue { id, parameters }) => {
                check(*parameters)?;
                let at = self.at(*id)?;
                self.queues[at].parameters = *parameters;
            }
        }
        Ok(())
    }

    /// Changes what the scheduler goes by for each queue: priorities, or octets.
    fn with_each_queue(&mut self, change: impl FnOnce(&mut Vec<u32>, bool)) {
        let (of_queues, priority) = match &mut self.scheduler {
            Scheduler::RoundRobin => return,
            Scheduler::Priority(priorities) => (priorities, true),
            Scheduler::DeficitRoundRobin(quanta) => (quanta, false),
        };
        let mut changed = of_queues.to_vec();
        change(&mut changed, priority);
        *of_queues = changed.into();
    }

    fn schedule(&mut self, control: &SchedulerControl<'_>) -> Result<(), Fault> {
        let SchedulerControl::Modify(scheduler) = control else { return Err(Fault::Fixed(Part::Scheduler)) };
        let there = self.queues.len();
        let every = |told: &List<'_, u32>| match told.len() == there {
            true => Ok(List::from(told.to_vec())),
            false => Err(Fault::Queues { told: told.len(), there }),
        };
        self.scheduler = match scheduler {
            Scheduler::RoundRobin => Scheduler::RoundRobin,
            Scheduler::Priority(priorities) => Scheduler::Priority(every(priorities)?),
            Scheduler::DeficitRoundRobin(quanta) if quanta.contains(&0) => return Err(Fault::NoQuantum),
            Scheduler::DeficitRoundRobin(quanta) => Scheduler::DeficitRoundRobin(every(quanta)?),
        };
        Ok(())
    }

    fn police(&mut self, control: &PolicerControl) -> Result<(), Fault> {
        match control {
            PolicerControl::Add => return Err(Fault::Fixed(Part::Policer)),
            PolicerControl::Delete(id) => {
                let at = self.at(*id)?;
                self.queues[at].policer = None;
            }
            PolicerControl::Modify(policer) => {
                let at = self.at(policer.id)?;
                self.at(policer.deviation_id)?;
                if policer.active && policer.drop_rate_kbps == 0 {
                    return Err(Fault::NoRate(policer.id));
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
                let at = self.at(*id)?;
                self.queues[at].shaper = None;
            }
            ShaperControl::Modify(shaper) => {
                let at = self.at(shaper.id)?;
                if shaper.active && (shaper.max_rate_kbps == 0 || shaper.window_ms == 0) {
                    return Err(Fault::NoRate(shaper.id));
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
            Err(Fault::NoTime(target))
        }
        _ => Ok(()),
    }
}

/// The least number that none of these has.
fn free(ids: impl Iterator<Item = u32> + Clone) -> u32 {
    (0..=u32::MAX).find(|id| !ids.clone().any(|there| there == *id)).unwrap_or_default()
}
