//! Validation of a traffic control configuration.

use std::fmt;

use super::configuration::{
    ClassifierChoice, Configuration, DelayTarget, DisciplineChoice, Divert, MAX_FILTERS, MAX_QUEUES, OsiFilter,
    QueueConfiguration, QueueId, SchedulerChoice,
};

/// Why a configuration is rejected. Nothing has changed then. The text is ASCII, because it may be sent to a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigurationError {
    /// No queue.
    NoQueue,
    /// More than [`MAX_QUEUES`] queues.
    TooManyQueues(usize),
    /// Two queues have the same id.
    DuplicateQueue(QueueId),
    /// The limit of the queue is 0.
    ZeroLimit(QueueId),
    /// The target of the queue's discipline is 0, or not below the interval.
    InvalidTarget(QueueId, DelayTarget),
    /// The policer or shaper of the queue has a rate or a window of 0.
    ZeroRate(QueueId),
    /// The policer of a queue diverts packets to a queue that does not exist.
    UnknownDivertQueue {
        /// The queue of the policer.
        queue: QueueId,
        /// The target.
        to: QueueId,
    },
    /// More than [`MAX_FILTERS`] filters.
    TooManyFilters(usize),
    /// Two filters have the same id.
    DuplicateFilter(u32),
    /// The filter refers to a queue that does not exist.
    UnknownQueue {
        /// The filter.
        filter: u32,
        /// The queue.
        queue: QueueId,
    },
    /// No packet can match the filter: it contains a port, and its protocol has none.
    UnmatchableFilter(u32),
    /// No packet reaches the filter: an earlier one matches all its packets.
    ShadowedFilter {
        /// The filter.
        filter: u32,
        /// The earlier one.
        by: u32,
    },
    /// The scheduler settings are for another number of queues.
    QueueCountMismatch {
        /// Queues in the scheduler settings.
        configured: usize,
        /// Queues in the configuration.
        queues: usize,
    },
    /// The quantum of the queue is 0.
    ZeroQuantum(QueueId),
    /// The packets of removed queues do not fit into the first queue.
    FirstQueueFull {
        /// The first removed queue with packets.
        queue: QueueId,
        /// Octets in all removed queues.
        octets: u64,
        /// The first queue of the new configuration.
        first: QueueId,
        /// Its free space.
        room_octets: u64,
    },
}

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigurationError::NoQueue => f.write_str("there must be at least one queue"),
            ConfigurationError::TooManyQueues(count) => write!(f, "{count} queues: at most {MAX_QUEUES} are allowed"),
            ConfigurationError::DuplicateQueue(id) => write!(f, "queue id {id} is used twice"),
            ConfigurationError::ZeroLimit(id) => write!(f, "the limit of queue {id} must be at least one octet"),
            ConfigurationError::InvalidTarget(id, DelayTarget { target_ms, interval_ms }) => write!(
                f,
                "queue {id} has a target of {target_ms} ms in {interval_ms} ms: it must be above 0 and below the interval"
            ),
            ConfigurationError::ZeroRate(id) => {
                write!(f, "rates and window of the policer and shaper of queue {id} must be above 0")
            }
            ConfigurationError::UnknownDivertQueue { queue, to } => {
                write!(f, "the policer of queue {queue} diverts packets to queue {to}, which does not exist")
            }
            ConfigurationError::TooManyFilters(count) => {
                write!(f, "{count} filters: at most {MAX_FILTERS} are allowed")
            }
            ConfigurationError::DuplicateFilter(id) => write!(f, "filter id {id} is used twice"),
            ConfigurationError::UnknownQueue { filter, queue } => {
                write!(f, "filter {filter} refers to queue {queue}, which does not exist")
            }
            ConfigurationError::UnmatchableFilter(id) => {
                write!(f, "filter {id} matches no packet: it contains a port, and its protocol has none")
            }
            ConfigurationError::ShadowedFilter { filter, by } => {
                write!(f, "filter {filter} matches no packet: filter {by} precedes it and matches all its packets")
            }
            ConfigurationError::QueueCountMismatch { configured, queues } => {
                write!(f, "the scheduler settings are for {configured} queues, but there are {queues}")
            }
            ConfigurationError::ZeroQuantum(id) => write!(f, "the quantum of queue {id} must be at least one octet"),
            ConfigurationError::FirstQueueFull { queue, octets, first, room_octets } => write!(
                f,
                "queue {queue} is not empty: {octets} octets would have to move to queue {first}, which has room for {room_octets}"
            ),
        }
    }
}

impl std::error::Error for ConfigurationError {}

impl Configuration {
    /// Validates the configuration by itself.
    ///
    /// # Errors
    /// The first violated rule.
    pub fn check(&self) -> Result<(), ConfigurationError> {
        if self.queues.is_empty() {
            return Err(ConfigurationError::NoQueue);
        }
        if self.queues.len() > MAX_QUEUES {
            return Err(ConfigurationError::TooManyQueues(self.queues.len()));
        }
        for (index, queue) in self.queues.iter().enumerate() {
            if self.position(queue.id) != Some(index) {
                return Err(ConfigurationError::DuplicateQueue(queue.id));
            }
            self.check_queue(queue)?;
        }
        if let ClassifierChoice::Osi(filters) = &self.classifier {
            self.check_filters(filters)?;
        }
        match &self.scheduler {
            SchedulerChoice::RoundRobin | SchedulerChoice::Custom(_) => Ok(()),
            SchedulerChoice::Priority(settings) | SchedulerChoice::DeficitRoundRobin(settings)
                if settings.len() != self.queues.len() =>
            {
                Err(ConfigurationError::QueueCountMismatch { configured: settings.len(), queues: self.queues.len() })
            }
            SchedulerChoice::Priority(_) => Ok(()),
            SchedulerChoice::DeficitRoundRobin(quanta) => {
                let without = quanta.iter().zip(&self.queues).find(|(quantum, _)| **quantum == 0);
                without.map_or(Ok(()), |(_, queue)| Err(ConfigurationError::ZeroQuantum(queue.id)))
            }
        }
    }

    fn check_queue(&self, queue: &QueueConfiguration) -> Result<(), ConfigurationError> {
        if queue.limit_octets == 0 {
            return Err(ConfigurationError::ZeroLimit(queue.id));
        }
        if let DisciplineChoice::CoDel(target) | DisciplineChoice::EcnCoDel(target) = queue.discipline
            && (target.target_ms == 0 || target.target_ms >= target.interval_ms)
        {
            return Err(ConfigurationError::InvalidTarget(queue.id, target));
        }
        let no_shape = queue.shaper.is_some_and(|shaper| shaper.rate_bps == 0 || shaper.window_ms == 0);
        let divert = queue.policer.and_then(|policer| policer.divert);
        let no_rate = queue.policer.is_some_and(|policer| policer.drop_rate_bps == 0)
            || divert.is_some_and(|divert| divert.rate_bps == 0);
        if no_shape || no_rate {
            return Err(ConfigurationError::ZeroRate(queue.id));
        }
        match divert {
            Some(Divert { to, .. }) if self.position(to).is_none() => {
                Err(ConfigurationError::UnknownDivertQueue { queue: queue.id, to })
            }
            _ => Ok(()),
        }
    }

    fn check_filters(&self, filters: &[OsiFilter]) -> Result<(), ConfigurationError> {
        if filters.len() > MAX_FILTERS {
            return Err(ConfigurationError::TooManyFilters(filters.len()));
        }
        for (index, filter) in filters.iter().enumerate() {
            let before = &filters[..index];
            if before.iter().any(|other| other.id == filter.id) {
                return Err(ConfigurationError::DuplicateFilter(filter.id));
            }
            if self.position(filter.queue).is_none() {
                return Err(ConfigurationError::UnknownQueue { filter: filter.id, queue: filter.queue });
            }
            if filter.flow.is_unmatchable() {
                return Err(ConfigurationError::UnmatchableFilter(filter.id));
            }
            if let Some(other) = before.iter().find(|other| other.flow.covers(&filter.flow)) {
                return Err(ConfigurationError::ShadowedFilter { filter: filter.id, by: other.id });
            }
        }
        Ok(())
    }

    /// The position of a queue in the configuration.
    pub(super) fn position(&self, id: QueueId) -> Option<usize> {
        self.queues.iter().position(|queue| queue.id == id)
    }
}
