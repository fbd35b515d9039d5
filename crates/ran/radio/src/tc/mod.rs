//! Traffic control: the sublayer between SDAP and PDCP that queues the flows of a bearer separately. Their packets wait here
//! instead of in RLC, where flows share one queue (FlexRIC paper, 6.1.1 and Fig. 10). Each data radio bearer has an instance.
//!
//! A packet passes
//!
//! 1. the [`Classifier`], which chooses a queue;
//! 2. the queue's policer, which may drop it or send it to another queue;
//! 3. the queue, first in, first out, bounded in octets; its [`Discipline`] may mark and drop;
//! 4. the [`Scheduler`], which chooses among the queues with packets and an open shaper;
//! 5. the [`Pacer`], which decides how much is forwarded to PDCP and RLC.
//!
//! Each part can be exchanged at run time by a [`Configuration`], also for a custom one. Only a [`Discipline`] can drop
//! packets: an invalid result of a custom part is replaced by that of the built-in default, and counted ([`Faults`]).

mod bucket;
mod check;
mod classifier;
mod configuration;
mod counts;
mod custom;
mod discipline;
mod pacer;
mod queue;
mod scheduler;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use crate::{Packet, Time};
use counts::Meter;
use queue::{ManagedQueue, PolicerVerdict};
use scheduler::RoundRobin;

pub use check::ConfigurationError;
pub use classifier::Classifier;
pub use configuration::{
    ClassifierChoice, Configuration, DEFAULT_LIMIT_OCTETS, DelayTarget, DisciplineChoice, Divert, FlowPattern,
    MAX_FILTERS, MAX_QUEUES, OsiFilter, PacerChoice, PolicerSettings, QueueConfiguration, QueueId, SchedulerChoice,
    ShaperSettings,
};
pub use counts::{Amount, BearerCounts, Drops, Faults, QueueCounts, Sojourn, Totals};
pub use custom::Custom;
pub use discipline::{Discipline, Verdict};
pub use pacer::{Pacer, RlcState, Transmission};
pub use scheduler::{Candidate, Candidates, Scheduler};

/// The window of the pacer's reported rate.
const PACER_WINDOW_MS: u32 = 100;
/// How long a pacer may leave RLC empty while packets wait.
const MAX_STARVATION: Duration = Duration::from_secs(1);

/// Traffic control of one bearer.
pub struct TrafficControl {
    configuration: Configuration,
    classifier: Box<dyn Classifier>,
    queues: Vec<ManagedQueue>,
    /// Bit mask, by position, of queues that hold packets.
    backlogged: u64,
    /// Bit mask, by position, of queues with a shaper.
    shaped: u64,
    scheduler: scheduler::Current,
    /// Replaces an invalid choice of the scheduler.
    fallback: RoundRobin,
    pacer: Box<dyn Pacer>,
    pacer_meter: Meter,
    /// Since when the pacer has left RLC empty while packets wait.
    starved_since: Option<Time>,
    arrived: Amount,
    departed: Amount,
    /// Drops of removed queues, and of queues before their counters were reset.
    dropped_before: Amount,
    /// Marked packets of the same queues.
    marked_before: u64,
    /// The sum of the sojourn times of departed packets.
    sojourn_ns: u64,
    /// Counters at the UE's arrival in its cell.
    before_arrival: BearerCounts,
    faults: Faults,
}

impl TrafficControl {
    /// Creates traffic control with empty queues.
    ///
    /// # Errors
    /// When the configuration is invalid.
    pub fn new(configuration: &Configuration) -> Result<Self, ConfigurationError> {
        configuration.check()?;
        let queue = |settings| ManagedQueue::new(Time::START, settings, configuration);
        let mut new = TrafficControl {
            configuration: configuration.clone(),
            classifier: classifier::make(configuration, None),
            queues: configuration.queues.iter().map(queue).collect(),
            backlogged: 0,
            shaped: 0,
            scheduler: scheduler::Current::new(configuration),
            fallback: RoundRobin::default(),
            pacer: pacer::make(&configuration.pacer),
            pacer_meter: Meter::new(PACER_WINDOW_MS),
            starved_since: None,
            arrived: Amount::default(),
            departed: Amount::default(),
            dropped_before: Amount::default(),
            marked_before: 0,
            sojourn_ns: 0,
            before_arrival: BearerCounts::default(),
            faults: Faults::default(),
        };
        new.update_masks();
        Ok(new)
    }

    /// Whether all queues are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.backlogged == 0
    }

    /// The octets in all queues, and when the packet that has waited longest entered its queue.
    #[must_use]
    pub fn backlog(&self) -> (u64, Option<Time>) {
        let octets = self.queues.iter().map(|queue| queue.counts().waiting.octets).sum();
        (octets, self.queues.iter().filter_map(|queue| queue.head()).map(|packet| packet.entered).min())
    }

    /// The configuration.
    #[must_use]
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Changes the configuration. Unchanged parts keep their state, and queues that remain keep their packets even if their
    /// discipline or limit changes. The packets of removed queues move to the first queue, in the order of their arrival.
    ///
    /// # Errors
    /// When the configuration is invalid, or with [`ConfigurationError::FirstQueueFull`]. Nothing has changed then.
    pub fn configure(&mut self, now: Time, configuration: &Configuration) -> Result<(), ConfigurationError> {
        self.check(configuration)?;
        let before = std::mem::replace(&mut self.configuration, configuration.clone());
        let mut queues = std::mem::take(&mut self.queues);
        for settings in &configuration.queues {
            let queue = match queues.iter().position(|queue| queue.id() == settings.id) {
                Some(at) => {
                    let mut queue = queues.swap_remove(at);
                    queue.configure(now, settings, configuration);
                    queue
                }
                None => ManagedQueue::new(now, settings, configuration),
            };
            self.queues.push(queue);
        }
        for removed in queues {
            self.add_past_counts(removed.counts());
            self.queues[0].take_over(removed);
        }
        self.update_masks();
        let same_queues =
            before.queues.iter().map(|queue| queue.id).eq(configuration.queues.iter().map(|queue| queue.id));
        if !same_queues || before.classifier != configuration.classifier {
            self.classifier = classifier::make(configuration, Some(&*self.classifier));
        }
        if !same_queues || before.scheduler != configuration.scheduler {
            let nothing = scheduler::Current::RoundRobin(RoundRobin::default());
            let old = std::mem::replace(&mut self.scheduler, nothing);
            self.scheduler = old.after(&before, configuration);
        }
        if before.pacer != configuration.pacer {
            self.pacer = pacer::make(&configuration.pacer);
            self.starved_since = None;
        }
        Ok(())
    }

    /// Checks whether [`TrafficControl::configure`] would succeed now.
    ///
    /// # Errors
    /// Those of [`TrafficControl::configure`].
    pub fn check(&self, next: &Configuration) -> Result<(), ConfigurationError> {
        next.check()?;
        let removed = || self.queues.iter().filter(|queue| next.position(queue.id()).is_none());
        let octets = removed().map(|queue| queue.counts().waiting.octets).sum();
        let first = &next.queues[0];
        let there = self.queues.iter().find(|queue| queue.id() == first.id);
        let waiting = there.map_or(0, |queue| queue.counts().waiting.octets);
        let room_octets = u64::from(first.limit_octets).saturating_sub(waiting);
        match removed().find(|queue| queue.counts().waiting.packets > 0) {
            Some(queue) if octets > room_octets => {
                Err(ConfigurationError::FirstQueueFull { queue: queue.id(), octets, first: first.id, room_octets })
            }
            _ => Ok(()),
        }
    }

    /// Adds the counters of a queue that is removed or reset to the bearer's.
    fn add_past_counts(&mut self, counts: &QueueCounts) {
        self.dropped_before = self.dropped_before.and(counts.dropped.all());
        self.marked_before += counts.marked_packets;
    }

    /// Resets the counters of queues and [`TrafficControl::bearer_counts`], when the UE arrives in another cell.
    pub(crate) fn reset_counts(&mut self) {
        let here = self.bearer_counts();
        self.before_arrival += here;
        for at in 0..self.queues.len() {
            let counts = *self.queues[at].counts();
            self.add_past_counts(&counts);
            self.queues[at].reset_counts();
        }
    }

    /// Drops all packets, because the bearer is released.
    pub(crate) fn discard_all(&mut self) {
        self.queues.iter_mut().for_each(ManagedQueue::discard_all);
        self.update_masks();
    }

    fn update_masks(&mut self) {
        (self.backlogged, self.shaped) = (0, 0);
        for (index, queue) in self.queues.iter().enumerate() {
            self.backlogged |= u64::from(queue.head().is_some()) << index;
            self.shaped |= u64::from(queue.is_shaped()) << index;
        }
    }

    /// Enqueues a packet from SDAP and sets its time of entry.
    pub fn push(&mut self, now: Time, mut packet: Packet) {
        packet.entered = now;
        self.arrived.add(&packet);
        let mut index = self.classifier.classify(&packet, self.queues.len()).unwrap_or(usize::MAX);
        if index >= self.queues.len() {
            self.faults.classifier += 1;
            index = 0;
        }
        match self.queues[index].police(now, &packet) {
            PolicerVerdict::Pass => {}
            PolicerVerdict::Divert(other) => index = other,
            PolicerVerdict::Drop => return,
        }
        if self.queues[index].push(now, packet, &mut self.faults) {
            self.backlogged |= 1 << index;
        }
    }

    /// Dequeues the next packet for PDCP, if any may be forwarded. Called in each slot until it returns `None`, each time with
    /// the current state of RLC.
    pub fn pop(&mut self, now: Time, below: RlcState) -> Option<Packet> {
        loop {
            let ready = self.ready(now);
            if ready == 0 || !self.is_pacer_open(now, below) {
                return None;
            }
            let index = self.choose(now, ready);
            let queue = &mut self.queues[index];
            let packet = queue.pop(now, &mut self.faults);
            if queue.head().is_none() {
                self.backlogged &= !(1 << index);
            }
            // `None`: the discipline has dropped all packets of the queue
            if let Some(packet) = packet {
                self.scheduler.served(index, packet.octets);
                self.departed.add(&packet);
                self.sojourn_ns += now.nanos_since(packet.entered);
                self.pacer.forwarded(now, packet.octets);
                self.pacer_meter.record(now, packet.octets);
                return Some(packet);
            }
        }
    }

    /// The queues with packets and an open shaper.
    fn ready(&mut self, now: Time) -> u64 {
        let mut ready = self.backlogged;
        let mut shaped = ready & self.shaped;
        while shaped != 0 {
            let index = shaped.trailing_zeros();
            shaped &= shaped - 1;
            if !self.queues[index as usize].is_open(now) {
                ready &= !(1 << index);
            }
        }
        ready
    }

    fn is_pacer_open(&mut self, now: Time, below: RlcState) -> bool {
        match self.pacer.allowance(now, below) {
            Some(0) if below.rlc_octets > 0 => false,
            Some(0) => {
                let starved = now.since(*self.starved_since.get_or_insert(now)) >= MAX_STARVATION;
                self.faults.pacer += u64::from(starved);
                starved
            }
            Some(_) => {
                self.starved_since = None;
                true
            }
            None => {
                self.faults.pacer += 1;
                true
            }
        }
    }

    fn choose(&mut self, now: Time, ready: u64) -> usize {
        let candidates = Candidates { ready, queues: &self.queues, now };
        match self.scheduler.choose(&candidates) {
            Some(index) if candidates.is_ready(index) => index,
            _ => {
                self.faults.scheduler += 1;
                scheduler::Scheduler::choose(&mut self.fallback, &candidates).expect("at least one queue is ready")
            }
        }
    }

    /// Reports a transmission opportunity: how much the MAC took from RLC, and whether RLC is empty now.
    pub fn transmitted(&mut self, now: Time, octets: u32, rlc_was_emptied: bool) {
        let mut waiting_octets = 0;
        if rlc_was_emptied && self.backlogged != 0 {
            let ready = self.ready(now);
            let queues = self.queues.iter().enumerate().filter(|(index, _)| ready >> index & 1 == 1);
            waiting_octets = queues.map(|(_, queue)| queue.counts().waiting.octets).sum();
        }
        self.pacer.transmitted(now, Transmission { octets, rlc_was_emptied, waiting_octets });
    }

    /// The counters of a queue, if it exists.
    #[must_use]
    pub fn counts(&self, queue: QueueId) -> Option<QueueCounts> {
        self.queue(queue).map(|queue| *queue.counts())
    }

    /// The sum over all queues, removed ones included.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let without_queues = Totals {
            arrived: self.arrived,
            departed: self.departed,
            waiting: Amount::default(),
            dropped: self.dropped_before,
            marked_packets: self.marked_before,
        };
        self.queues.iter().fold(without_queues, |totals, queue| Totals {
            waiting: totals.waiting.and(queue.counts().waiting),
            dropped: totals.dropped.and(queue.counts().dropped.all()),
            marked_packets: totals.marked_packets + queue.counts().marked_packets,
            ..totals
        })
    }

    /// The counters since the UE arrived in its cell.
    #[must_use]
    pub fn bearer_counts(&self) -> BearerCounts {
        let Totals { arrived, departed, dropped, .. } = self.totals();
        let all = BearerCounts {
            arrived_packets: arrived.packets,
            departed_packets: departed.packets,
            dropped_packets: dropped.packets,
            sojourn_ns: self.sojourn_ns,
        };
        all - self.before_arrival
    }

    /// Invalid results of custom parts.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// How many packets a filter has matched.
    #[must_use]
    pub fn matched_packets(&self, filter_id: u32) -> u64 {
        self.classifier.matched_packets(filter_id)
    }

    /// The rate behind a queue's policer in its last window of 100 ms, diverted packets included; 0 without a policer.
    #[must_use]
    pub fn policer_rate_bps(&self, now: Time, queue: QueueId) -> f64 {
        self.queue(queue).map_or(0.0, |queue| queue.policer_rate_bps(now))
    }

    /// The rate behind a queue's shaper in its last window; 0 without a shaper.
    #[must_use]
    pub fn shaper_rate_bps(&self, now: Time, queue: QueueId) -> f64 {
        self.queue(queue).map_or(0.0, |queue| queue.shaper_rate_bps(now))
    }

    /// The forwarded rate in the last window of 100 ms.
    #[must_use]
    pub fn pacer_rate_bps(&self, now: Time) -> f64 {
        self.pacer_meter.rate_bps(now)
    }

    fn queue(&self, id: QueueId) -> Option<&ManagedQueue> {
        self.queues.iter().find(|queue| queue.id() == id)
    }
}

impl fmt::Debug for TrafficControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrafficControl")
            .field("configuration", &self.configuration)
            .field("totals", &self.totals())
            .finish_non_exhaustive()
    }
}
