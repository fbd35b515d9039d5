//! Whether a configuration makes sense in itself, and why it may be refused.

use std::fmt;

use super::configuration::{
    ClassifierChoice, Configuration, DelayTarget, DisciplineChoice, Divert, MAX_FILTERS, MAX_QUEUES, OsiFilter,
    QueueConfiguration, QueueId, SchedulerChoice,
};

/// Why a configuration is refused. Nothing has changed then. The text is ASCII: it may go to a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There must be a queue.
    NoQueue,
    /// There are more than [`MAX_QUEUES`].
    TooManyQueues(usize),
    /// Two queues have that number.
    SameQueue(QueueId),
    /// A queue that takes nothing.
    NoRoom(QueueId),
    /// The queue's discipline has a target of 0, or one that is not below its interval.
    NoTime(QueueId, DelayTarget),
    /// The queue's policer or shaper has a rate or a window of 0.
    NoRate(QueueId),
    /// The queue's policer sends packets to a queue that is not there.
    NoSuchDivert {
        /// Whose policer.
        queue: QueueId,
        /// Where to.
        to: QueueId,
    },
    /// There are more than [`MAX_FILTERS`].
    TooManyFilters(usize),
    /// Two filters have that number.
    SameFilter(u32),
    /// The filter sends packets to a queue that is not there.
    NoSuchQueue {
        /// Which filter.
        filter: u32,
        /// Where to.
        queue: QueueId,
    },
    /// No packet can fit the filter: it asks for a port of a protocol that has none.
    OfNoPacket(u32),
    /// No packet comes to the filter: what fits it fits another one before it.
    Covered {
        /// Which filter.
        filter: u32,
        /// The one before it.
        by: u32,
    },
    /// The scheduler is told of another number of queues than there are.
    Queues {
        /// So many it is told of.
        told: usize,
        /// So many there are.
        there: usize,
    },
    /// That queue would get nothing in its turn.
    NoQuantum(QueueId),
    /// The packets of a queue that is to be removed do not fit into the first one.
    Full {
        /// The first queue that is to be removed and is not empty.
        queue: QueueId,
        /// What waits in the queues that are to be removed.
        octets: u64,
        /// The first queue of those that are to be.
        first: QueueId,
        /// What it can still take.
        room_octets: u64,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::NoQueue => f.write_str("there must be a queue"),
            Refused::TooManyQueues(there) => write!(f, "{there} queues: there may be {MAX_QUEUES}"),
            Refused::SameQueue(id) => write!(f, "there are two queues {id}"),
            Refused::NoRoom(id) => write!(f, "queue {id} must take an octet at least"),
            Refused::NoTime(id, DelayTarget { target_ms, interval_ms }) => write!(
                f,
                "queue {id} has a target of {target_ms} ms in {interval_ms} ms: it must be above 0 and below the interval"
            ),
            Refused::NoRate(id) => write!(f, "the limits of queue {id} must be above 0, and its window have a length"),
            Refused::NoSuchDivert { queue, to } => {
                write!(f, "the policer of queue {queue} sends packets to queue {to}, which is not there")
            }
            Refused::TooManyFilters(there) => write!(f, "{there} filters: there may be {MAX_FILTERS}"),
            Refused::SameFilter(id) => write!(f, "there are two filters {id}"),
            Refused::NoSuchQueue { filter, queue } => {
                write!(f, "filter {filter} sends packets to queue {queue}, which is not there")
            }
            Refused::OfNoPacket(id) => {
                write!(f, "filter {id} matches nothing: it asks for a port, and its protocol has none")
            }
            Refused::Covered { filter, by } => {
                write!(f, "filter {filter} matches nothing: all that fits it goes by filter {by} before it")
            }
            Refused::Queues { told, there } => {
                write!(f, "the scheduler is told of {told} queues, and there are {there}")
            }
            Refused::NoQuantum(id) => write!(f, "queue {id} must get an octet a turn at least"),
            Refused::Full { queue, octets, first, room_octets } => write!(
                f,
                "queue {queue} is not empty: {octets} octets would have to move to queue {first}, which has room for {room_octets}"
            ),
        }
    }
}

impl std::error::Error for Refused {}

impl Configuration {
    /// Whether it makes sense in itself.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self) -> Result<(), Refused> {
        if self.queues.is_empty() {
            return Err(Refused::NoQueue);
        }
        if self.queues.len() > MAX_QUEUES {
            return Err(Refused::TooManyQueues(self.queues.len()));
        }
        for (place, queue) in self.queues.iter().enumerate() {
            if self.place(queue.id) != Some(place) {
                return Err(Refused::SameQueue(queue.id));
            }
            self.check_queue(queue)?;
        }
        if let ClassifierChoice::Osi(filters) = &self.classifier {
            self.check_filters(filters)?;
        }
        match &self.scheduler {
            SchedulerChoice::RoundRobin | SchedulerChoice::Own(_) => Ok(()),
            SchedulerChoice::Priority(told) | SchedulerChoice::DeficitRoundRobin(told)
                if told.len() != self.queues.len() =>
            {
                Err(Refused::Queues { told: told.len(), there: self.queues.len() })
            }
            SchedulerChoice::Priority(_) => Ok(()),
            SchedulerChoice::DeficitRoundRobin(quanta) => {
                let without = quanta.iter().zip(&self.queues).find(|(quantum, _)| **quantum == 0);
                without.map_or(Ok(()), |(_, queue)| Err(Refused::NoQuantum(queue.id)))
            }
        }
    }

    fn check_queue(&self, queue: &QueueConfiguration) -> Result<(), Refused> {
        if queue.limit_octets == 0 {
            return Err(Refused::NoRoom(queue.id));
        }
        if let DisciplineChoice::CoDel(target) | DisciplineChoice::EcnCoDel(target) = queue.discipline
            && (target.target_ms == 0 || target.target_ms >= target.interval_ms)
        {
            return Err(Refused::NoTime(queue.id, target));
        }
        let no_shape = queue.shaper.is_some_and(|shaper| shaper.rate_bps == 0 || shaper.window_ms == 0);
        let divert = queue.policer.and_then(|policer| policer.divert);
        let no_rate = queue.policer.is_some_and(|policer| policer.drop_rate_bps == 0)
            || divert.is_some_and(|divert| divert.rate_bps == 0);
        if no_shape || no_rate {
            return Err(Refused::NoRate(queue.id));
        }
        match divert {
            Some(Divert { to, .. }) if self.place(to).is_none() => Err(Refused::NoSuchDivert { queue: queue.id, to }),
            _ => Ok(()),
        }
    }

    fn check_filters(&self, filters: &[OsiFilter]) -> Result<(), Refused> {
        if filters.len() > MAX_FILTERS {
            return Err(Refused::TooManyFilters(filters.len()));
        }
        for (place, filter) in filters.iter().enumerate() {
            let before = &filters[..place];
            if before.iter().any(|other| other.id == filter.id) {
                return Err(Refused::SameFilter(filter.id));
            }
            if self.place(filter.queue).is_none() {
                return Err(Refused::NoSuchQueue { filter: filter.id, queue: filter.queue });
            }
            if filter.flow.is_of_no_packet() {
                return Err(Refused::OfNoPacket(filter.id));
            }
            if let Some(other) = before.iter().find(|other| other.flow.covers(&filter.flow)) {
                return Err(Refused::Covered { filter: filter.id, by: other.id });
            }
        }
        Ok(())
    }

    /// Where that queue stands among the queues.
    pub(super) fn place(&self, id: QueueId) -> Option<usize> {
        self.queues.iter().position(|queue| queue.id == id)
    }
}
