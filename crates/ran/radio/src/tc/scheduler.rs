//! What takes from the queues.

mod deficit;
mod priority;

use std::time::Duration;

use super::QueueId;
use super::configuration::{Configuration, SchedulerChoice};
use super::lane::Lane;
use crate::Time;
use deficit::DeficitRoundRobin;
use priority::Priority;

/// What takes from the queues.
pub trait Scheduler: Send {
    /// The place of the queue that gives the next packet, one that is ready. `None`, and any other place, are faults: then the
    /// next ready one in turn gives.
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<usize>;

    /// The queue there has given a packet of that length.
    fn served(&mut self, place: usize, octets: u32) {
        let _ = (place, octets);
    }
}

/// The queues as a scheduler sees them. One at least is ready: a packet waits, and the shaper lets it go.
pub struct Candidates<'a> {
    pub(super) ready: u64,
    pub(super) lanes: &'a [Lane],
    pub(super) now: Time,
}

/// A queue as a scheduler sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its number.
    pub id: QueueId,
    /// Whether it can give a packet.
    pub ready: bool,
    /// Packets that wait.
    pub packets: u32,
    /// Octets that wait.
    pub octets: u32,
    /// The length of the packet that has waited longest; 0 where none waits.
    pub head_octets: u32,
    /// How long it has waited.
    pub head_sojourn: Duration,
}

impl Candidates<'_> {
    /// When it is.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many queues there are.
    #[must_use]
    pub fn queues(&self) -> usize {
        self.lanes.len()
    }

    /// Whether a queue is there and ready.
    #[must_use]
    pub fn is_ready(&self, place: usize) -> bool {
        place < self.lanes.len() && self.ready >> place & 1 == 1
    }

    /// The first queue that is ready from that place on, round and round.
    #[must_use]
    pub fn ready_from(&self, place: usize) -> usize {
        let from = u32::try_from(place).ok().and_then(|place| self.ready.checked_shr(place)).unwrap_or_default();
        if from == 0 { self.ready.trailing_zeros() as usize } else { place + from.trailing_zeros() as usize }
    }

    /// All queues, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Candidate> {
        self.lanes.iter().enumerate().map(|(place, lane)| {
            let head = lane.head();
            Candidate {
                id: lane.id(),
                ready: self.is_ready(place),
                packets: u32::try_from(lane.counts().waiting.packets).unwrap_or(u32::MAX),
                octets: u32::try_from(lane.counts().waiting.octets).unwrap_or(u32::MAX),
                head_octets: head.map_or(0, |packet| packet.octets),
                head_sojourn: head.map_or(Duration::ZERO, |packet| self.now.since(packet.entered)),
            }
        })
    }
}

/// The one that is set.
pub(super) enum Current {
    RoundRobin(RoundRobin),
    Priority(Priority),
    DeficitRoundRobin(DeficitRoundRobin),
    Own(Box<dyn Scheduler>),
}

impl Current {
    /// What the configuration names.
    pub(super) fn new(configuration: &Configuration) -> Self {
        match &configuration.scheduler {
            SchedulerChoice::RoundRobin => Current::RoundRobin(RoundRobin::default()),
            SchedulerChoice::Priority(priorities) => Current::Priority(Priority::new(priorities)),
            SchedulerChoice::DeficitRoundRobin(quanta) => Current::DeficitRoundRobin(DeficitRoundRobin::new(quanta)),
            SchedulerChoice::Own(own) => Current::Own(own.make()),
        }
    }

    /// What the configuration names, where that was set before. Deficits stay: else whoever changes quanta or queues more
    /// often than a round takes would serve the same queues for ever.
    pub(super) fn after(self, before: &Configuration, configuration: &Configuration) -> Self {
        match (self, Current::new(configuration)) {
            (Current::DeficitRoundRobin(old), Current::DeficitRoundRobin(new)) => {
                let place = |place: usize| configuration.place(before.queues.get(place)?.id);
                Current::DeficitRoundRobin(new.after(&old, place))
            }
            (_, new) => new,
        }
    }

    fn part(&mut self) -> &mut dyn Scheduler {
        match self {
            Current::RoundRobin(scheduler) => scheduler,
            Current::Priority(scheduler) => scheduler,
            Current::DeficitRoundRobin(scheduler) => scheduler,
            Current::Own(scheduler) => &mut **scheduler,
        }
    }
}

impl Scheduler for Current {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        self.part().choose(candidates)
    }

    fn served(&mut self, place: usize, octets: u32) {
        self.part().served(place, octets);
    }
}

/// From each in turn.
#[derive(Default)]
pub(super) struct RoundRobin {
    next: usize,
}

impl Scheduler for RoundRobin {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        let place = candidates.ready_from(self.next);
        self.next = place + 1;
        Some(place)
    }
}
