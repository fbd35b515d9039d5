//! Traffic control: the sublayer between SDAP and PDCP that keeps a bearer's flows apart, and what waits out of RLC, where it
//! could not be told apart any more (FlexRIC paper, 6.1.1 and Fig. 10). There is one for each data radio bearer.
//!
//! A packet passes
//!
//! 1. the [`Classifier`], which chooses a queue;
//! 2. the queue's policer, which may drop it or send it to another queue;
//! 3. the queue, first in, first out, bounded in octets; its [`Discipline`] may mark and drop;
//! 4. the [`Scheduler`], which chooses among the queues that hold packets and whose shapers let them go;
//! 5. the [`Pacer`], which decides how much goes on to PDCP and RLC.
//!
//! Each of these is replaced at run time by a [`Configuration`], and may be one's own. A part of one's own cannot lose
//! packets but as a [`Discipline`], which is asked to: an answer that makes no sense is replaced by the built-in default's,
//! and counted ([`Faults`]).

mod bucket;
mod check;
mod classifier;
mod configuration;
mod counts;
mod discipline;
mod lane;
mod own;
mod pacer;
mod scheduler;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use crate::{Packet, Time};
use counts::Meter;
use lane::{Lane, Policed};
use scheduler::RoundRobin;

pub use check::Refused;
pub use classifier::Classifier;
pub use configuration::{
    ClassifierChoice, Configuration, DEFAULT_LIMIT_OCTETS, DelayTarget, DisciplineChoice, Divert, FlowPattern,
    MAX_FILTERS, MAX_QUEUES, OsiFilter, PacerChoice, PolicerSettings, QueueConfiguration, QueueId, SchedulerChoice,
    ShaperSettings,
};
pub use counts::{Amount, BearerCounts, Drops, Faults, QueueCounts, Sojourn, Totals};
pub use discipline::{Discipline, Verdict};
pub use own::Own;
pub use pacer::{Below, Pacer, Transmission};
pub use scheduler::{Candidate, Candidates, Scheduler};

/// The window over which the pacer's rate is told.
const PACER_WINDOW_MS: u32 = 100;
/// So long a pacer may leave RLC empty while packets wait.
const MAX_STARVATION: Duration = Duration::from_secs(1);

/// Traffic control of one bearer.
pub struct TrafficControl {
    configuration: Configuration,
    classifier: Box<dyn Classifier>,
    lanes: Vec<Lane>,
    /// Which lanes hold packets: a bit for each place.
    backlogged: u64,
    /// Which lanes have shapers.
    shaped: u64,
    scheduler: scheduler::Current,
    /// Takes over where the scheduler has no sensible answer.
    in_turn: RoundRobin,
    pacer: Box<dyn Pacer>,
    pacer_meter: Meter,
    /// Since when the pacer has left RLC empty while packets wait.
    starved_since: Option<Time>,
    came: Amount,
    went: Amount,
    /// What queues had dropped that are no more, or that count anew.
    dropped_before: Amount,
    /// What such queues had marked.
    marked_before: u64,
    /// How long the packets waited that went on.
    sojourn_nanos: u64,
    /// What was counted before the UE came to its cell.
    elsewhere: BearerCounts,
    faults: Faults,
}

impl TrafficControl {
    /// Traffic control that is set so.
    ///
    /// # Errors
    /// What makes no sense in the configuration.
    pub fn new(configuration: &Configuration) -> Result<Self, Refused> {
        configuration.check()?;
        let lane = |queue| Lane::new(Time::START, queue, configuration);
        let mut new = TrafficControl {
            configuration: configuration.clone(),
            classifier: classifier::make(configuration, None),
            lanes: configuration.queues.iter().map(lane).collect(),
            backlogged: 0,
            shaped: 0,
            scheduler: scheduler::Current::new(configuration),
            in_turn: RoundRobin::default(),
            pacer: pacer::make(&configuration.pacer),
            pacer_meter: Meter::new(PACER_WINDOW_MS),
            starved_since: None,
            came: Amount::default(),
            went: Amount::default(),
            dropped_before: Amount::default(),
            marked_before: 0,
            sojourn_nanos: 0,
            elsewhere: BearerCounts::default(),
            faults: Faults::default(),
        };
        new.look_at_lanes();
        Ok(new)
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.backlogged == 0
    }

    /// What is set.
    #[must_use]
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Sets everything anew. What does not change goes on as it was: queues that stay keep their packets, whatever becomes of
    /// their disciplines and limits. The packets of queues that are removed go to the first queue, in the order in which
    /// they have come.
    ///
    /// # Errors
    /// What makes no sense in the configuration, or [`Refused::Full`]. Then nothing has changed.
    pub fn configure(&mut self, now: Time, configuration: &Configuration) -> Result<(), Refused> {
        self.check(configuration)?;
        let before = std::mem::replace(&mut self.configuration, configuration.clone());
        let mut lanes = std::mem::take(&mut self.lanes);
        for queue in &configuration.queues {
            let lane = match lanes.iter().position(|lane| lane.id() == queue.id) {
                Some(at) => {
                    let mut lane = lanes.swap_remove(at);
                    lane.configure(now, queue, configuration);
                    lane
                }
                None => Lane::new(now, queue, configuration),
            };
            self.lanes.push(lane);
        }
        for removed in lanes {
            self.remember(removed.counts());
            self.lanes[0].take_over(removed);
        }
        self.look_at_lanes();
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

    /// Whether it would be set so now: what [`TrafficControl::configure`] refuses.
    ///
    /// # Errors
    /// What makes no sense in the configuration, or [`Refused::Full`].
    pub fn check(&self, next: &Configuration) -> Result<(), Refused> {
        next.check()?;
        let removed = || self.lanes.iter().filter(|lane| next.place(lane.id()).is_none());
        let octets = removed().map(|lane| lane.counts().waiting.octets).sum();
        let first = &next.queues[0];
        let there = self.lanes.iter().find(|lane| lane.id() == first.id);
        let waiting = there.map_or(0, |lane| lane.counts().waiting.octets);
        let room_octets = u64::from(first.limit_octets).saturating_sub(waiting);
        match removed().find(|lane| lane.counts().waiting.packets > 0) {
            Some(lane) if octets > room_octets => {
                Err(Refused::Full { queue: lane.id(), octets, first: first.id, room_octets })
            }
            _ => Ok(()),
        }
    }

    /// What a queue counts no more counts for the whole.
    fn remember(&mut self, counts: &QueueCounts) {
        self.dropped_before = self.dropped_before.and(counts.dropped.all());
        self.marked_before += counts.marked_packets;
    }

    /// Queues count from here on, and [`TrafficControl::bearer_counts`]: the UE has come to another cell.
    pub(crate) fn reset_counts(&mut self) {
        let here = self.bearer_counts();
        self.elsewhere += here;
        for at in 0..self.lanes.len() {
            let counts = *self.lanes[at].counts();
            self.remember(&counts);
            self.lanes[at].reset_counts();
        }
    }

    fn look_at_lanes(&mut self) {
        (self.backlogged, self.shaped) = (0, 0);
        for (place, lane) in self.lanes.iter().enumerate() {
            self.backlogged |= u64::from(lane.head().is_some()) << place;
            self.shaped |= u64::from(lane.is_shaped()) << place;
        }
    }

    /// A packet comes from SDAP. Its time of entry is set.
    pub fn push(&mut self, now: Time, mut packet: Packet) {
        packet.entered = now;
        self.came.add(&packet);
        let mut place = self.classifier.classify(&packet, self.lanes.len()).unwrap_or(usize::MAX);
        if place >= self.lanes.len() {
            self.faults.classifier += 1;
            place = 0;
        }
        match self.lanes[place].police(now, &packet) {
            Policed::Here => {}
            Policed::Elsewhere(other) => place = other,
            Policed::Dropped => return,
        }
        if self.lanes[place].push(now, packet, &mut self.faults) {
            self.backlogged |= 1 << place;
        }
    }

    /// The next packet for PDCP, if one may go on. It is called in each slot until there is none, with what then stands below.
    pub fn pop(&mut self, now: Time, below: Below) -> Option<Packet> {
        loop {
            let ready = self.ready(now);
            if ready == 0 || !self.is_pacer_open(now, below) {
                return None;
            }
            let place = self.choose(now, ready);
            let lane = &mut self.lanes[place];
            let packet = lane.pop(now, &mut self.faults);
            if lane.head().is_none() {
                self.backlogged &= !(1 << place);
            }
            // else the discipline has dropped all that waited there
            if let Some(packet) = packet {
                self.scheduler.served(place, packet.octets);
                self.went.add(&packet);
                self.sojourn_nanos += now.since(packet.entered).as_nanos() as u64;
                self.pacer.handed_on(now, packet.octets);
                self.pacer_meter.record(now, packet.octets);
                return Some(packet);
            }
        }
    }

    /// The lanes that hold packets and whose shapers let them go.
    fn ready(&mut self, now: Time) -> u64 {
        let mut ready = self.backlogged;
        let mut shaped = ready & self.shaped;
        while shaped != 0 {
            let place = shaped.trailing_zeros();
            shaped &= shaped - 1;
            if !self.lanes[place as usize].is_open(now) {
                ready &= !(1 << place);
            }
        }
        ready
    }

    fn is_pacer_open(&mut self, now: Time, below: Below) -> bool {
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
        let candidates = Candidates { ready, lanes: &self.lanes, now };
        match self.scheduler.choose(&candidates) {
            Some(place) if candidates.is_ready(place) => place,
            _ => {
                self.faults.scheduler += 1;
                scheduler::Scheduler::choose(&mut self.in_turn, &candidates).expect("one at least is ready")
            }
        }
    }

    /// The bearer had an opportunity to transmit: so much was drained from RLC, which was then empty or not.
    pub fn transmitted(&mut self, now: Time, octets: u32, rlc_was_emptied: bool) {
        let mut waiting_octets = 0;
        if rlc_was_emptied && self.backlogged != 0 {
            let ready = self.ready(now);
            let lanes = self.lanes.iter().enumerate().filter(|(place, _)| ready >> place & 1 == 1);
            waiting_octets = lanes.map(|(_, lane)| lane.counts().waiting.octets).sum();
        }
        self.pacer.transmitted(now, Transmission { octets, rlc_was_emptied, waiting_octets });
    }

    /// What was counted of a queue, if it is there.
    #[must_use]
    pub fn counts(&self, queue: QueueId) -> Option<QueueCounts> {
        self.lane(queue).map(|lane| *lane.counts())
    }

    /// What was counted of all queues, also of those that are no more.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let nothing = Totals {
            came: self.came,
            went: self.went,
            waiting: Amount::default(),
            dropped: self.dropped_before,
            marked_packets: self.marked_before,
        };
        self.lanes.iter().fold(nothing, |totals, lane| Totals {
            waiting: totals.waiting.and(lane.counts().waiting),
            dropped: totals.dropped.and(lane.counts().dropped.all()),
            marked_packets: totals.marked_packets + lane.counts().marked_packets,
            ..totals
        })
    }

    /// What was counted since the UE came to its cell.
    #[must_use]
    pub fn bearer_counts(&self) -> BearerCounts {
        let Totals { came, went, dropped, .. } = self.totals();
        let all = BearerCounts {
            came_packets: came.packets,
            went_packets: went.packets,
            dropped_packets: dropped.packets,
            sojourn_nanos: self.sojourn_nanos,
        };
        all - self.elsewhere
    }

    /// Answers of parts that made no sense.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// How many packets a filter has matched.
    #[must_use]
    pub fn matched_packets(&self, filter_id: u32) -> u64 {
        self.classifier.matched_packets(filter_id)
    }

    /// What passed a queue's policer in its last window of 100 ms, what was diverted included; 0 without a policer.
    #[must_use]
    pub fn policer_rate_bps(&self, now: Time, queue: QueueId) -> f64 {
        self.lane(queue).map_or(0.0, |lane| lane.policer_rate_bps(now))
    }

    /// What passed a queue's shaper in its last window; 0 without a shaper.
    #[must_use]
    pub fn shaper_rate_bps(&self, now: Time, queue: QueueId) -> f64 {
        self.lane(queue).map_or(0.0, |lane| lane.shaper_rate_bps(now))
    }

    /// What went on in the last window of 100 ms.
    #[must_use]
    pub fn pacer_rate_bps(&self, now: Time) -> f64 {
        self.pacer_meter.rate_bps(now)
    }

    fn lane(&self, queue: QueueId) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.id() == queue)
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
