//! Schedulers: they choose the queue that sends next.

mod deficit;
mod priority;

use std::time::Duration;

use super::QueueId;
use super::configuration::{Configuration, SchedulerChoice};
use super::queue::ManagedQueue;
use crate::Time;
use deficit::DeficitRoundRobin;
use priority::Priority;

/// Chooses the queue that sends next.
pub trait Scheduler: Send {
    /// The position of a ready queue. `None` and the position of any other queue are faults: round robin chooses then.
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<usize>;

    /// Reports a packet that the queue at a position has sent.
    fn served(&mut self, index: usize, octets: u32) {
        let _ = (index, octets);
    }
}

/// The queues as a scheduler sees them. At least one is ready: it holds a packet and its shaper is open.
pub struct Candidates<'a> {
    pub(super) ready: u64,
    pub(super) queues: &'a [ManagedQueue],
    pub(super) now: Time,
}

/// A queue as a scheduler sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its id.
    pub id: QueueId,
    /// Whether it can send a packet.
    pub ready: bool,
    /// Queued packets.
    pub packets: u32,
    /// Queued octets.
    pub octets: u32,
    /// Length of the oldest packet; 0 for an empty queue.
    pub head_octets: u32,
    /// Waiting time of the oldest packet.
    pub head_sojourn: Duration,
}

impl Candidates<'_> {
    /// The current time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The number of queues.
    #[must_use]
    pub fn queues(&self) -> usize {
        self.queues.len()
    }

    /// Whether the queue at a position exists and is ready.
    #[must_use]
    pub fn is_ready(&self, index: usize) -> bool {
        index < self.queues.len() && self.ready >> index & 1 == 1
    }

    /// The first ready queue at a position or after it, cyclically.
    #[must_use]
    pub fn ready_from(&self, index: usize) -> usize {
        let from = u32::try_from(index).ok().and_then(|index| self.ready.checked_shr(index)).unwrap_or_default();
        if from == 0 { self.ready.trailing_zeros() as usize } else { index + from.trailing_zeros() as usize }
    }

    /// All queues, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Candidate> {
        self.queues.iter().enumerate().map(|(index, queue)| {
            let head = queue.head();
            Candidate {
                id: queue.id(),
                ready: self.is_ready(index),
                packets: u32::try_from(queue.counts().waiting.packets).unwrap_or(u32::MAX),
                octets: u32::try_from(queue.counts().waiting.octets).unwrap_or(u32::MAX),
                head_octets: head.map_or(0, |packet| packet.octets),
                head_sojourn: head.map_or(Duration::ZERO, |packet| self.now.since(packet.entered)),
            }
        })
    }
}

/// The configured scheduler.
pub(super) enum Current {
    RoundRobin(RoundRobin),
    Priority(Priority),
    DeficitRoundRobin(DeficitRoundRobin),
    Custom(Box<dyn Scheduler>),
}

impl Current {
    /// Creates the configured scheduler.
    pub(super) fn new(configuration: &Configuration) -> Self {
        match &configuration.scheduler {
            SchedulerChoice::RoundRobin => Current::RoundRobin(RoundRobin::default()),
            SchedulerChoice::Priority(priorities) => Current::Priority(Priority::new(priorities)),
            SchedulerChoice::DeficitRoundRobin(quanta) => Current::DeficitRoundRobin(DeficitRoundRobin::new(quanta)),
            SchedulerChoice::Custom(custom) => Current::Custom(custom.make()),
        }
    }

    /// Creates the scheduler of a new configuration from that of the old one. Deficits are kept: otherwise a controller that
    /// changes quanta or queues faster than a round would serve the same queues forever.
    pub(super) fn after(self, before: &Configuration, configuration: &Configuration) -> Self {
        match (self, Current::new(configuration)) {
            (Current::DeficitRoundRobin(old), Current::DeficitRoundRobin(new)) => {
                let position = |index: usize| configuration.position(before.queues.get(index)?.id);
                Current::DeficitRoundRobin(new.after(&old, position))
            }
            (_, new) => new,
        }
    }

    fn part(&mut self) -> &mut dyn Scheduler {
        match self {
            Current::RoundRobin(scheduler) => scheduler,
            Current::Priority(scheduler) => scheduler,
            Current::DeficitRoundRobin(scheduler) => scheduler,
            Current::Custom(scheduler) => &mut **scheduler,
        }
    }
}

impl Scheduler for Current {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        self.part().choose(candidates)
    }

    fn served(&mut self, index: usize, octets: u32) {
        self.part().served(index, octets);
    }
}

/// One packet from each ready queue in turn.
#[derive(Default)]
pub(super) struct RoundRobin {
    next: usize,
}

impl Scheduler for RoundRobin {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        let index = candidates.ready_from(self.next);
        self.next = index + 1;
        Some(index)
    }
}
