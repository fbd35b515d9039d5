//! What is set for a bearer, and why it may be refused.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use super::{Classifier, Discipline, Pacer, Scheduler};
use crate::FiveTuple;

/// Queues of a bearer.
pub const MAX_QUEUES: usize = 64;
/// Filters of a classifier.
pub const MAX_FILTERS: usize = 256;
/// The octets that a queue takes where nothing else is said: more than half a second of 10 Mbit/s.
pub const DEFAULT_LIMIT_OCTETS: u32 = 1 << 20;

/// The number of a queue in its bearer, and of its policer and shaper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u32);

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What is set for a bearer.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// What chooses a queue for a packet.
    pub classifier: ClassifierChoice,
    /// The queues, 1 to [`MAX_QUEUES`].
    pub queues: Vec<QueueConfiguration>,
    /// What takes from the queues; what it says of queues is in their order.
    pub scheduler: SchedulerChoice,
    /// What decides how much goes on to PDCP and RLC.
    pub pacer: PacerChoice,
}

impl Default for Configuration {
    /// What a base station without traffic control does: one queue, first in, first out, from which everything goes on.
    fn default() -> Self {
        Configuration {
            classifier: ClassifierChoice::RoundRobin,
            queues: vec![QueueConfiguration::new(QueueId(0), DisciplineChoice::Fifo)],
            scheduler: SchedulerChoice::RoundRobin,
            pacer: PacerChoice::Off,
        }
    }
}

/// A queue, and what stands around it.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfiguration {
    /// Its number.
    pub id: QueueId,
    /// Its discipline.
    pub discipline: DisciplineChoice,
    /// What may wait in it: a packet that would exceed this is dropped.
    pub limit_octets: u32,
    /// What limits what comes in.
    pub policer: Option<PolicerSettings>,
    /// What limits what goes out.
    pub shaper: Option<ShaperSettings>,
}

impl QueueConfiguration {
    /// A queue of [`DEFAULT_LIMIT_OCTETS`] without policer and shaper.
    #[must_use]
    pub fn new(id: QueueId, discipline: DisciplineChoice) -> Self {
        QueueConfiguration { id, discipline, limit_octets: DEFAULT_LIMIT_OCTETS, policer: None, shaper: None }
    }
}

/// What chooses a queue for a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum ClassifierChoice {
    /// Each queue in turn.
    RoundRobin,
    /// The queue of the first filter that fits, the first queue where none does.
    Osi(Vec<OsiFilter>),
    /// Any queue, by chance over flows: a flow keeps its queue.
    Stochastic,
    /// One of one's own.
    Own(Own<dyn Classifier>),
}

/// A filter of a classifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OsiFilter {
    /// Its number.
    pub id: u32,
    /// The packets that fit.
    pub flow: FlowPattern,
    /// The queue that they go to.
    pub queue: QueueId,
}

/// Packets by the headers of layers 3 and 4; what is absent may be anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowPattern {
    /// Where they come from.
    pub source: Option<Ipv4Addr>,
    /// Where they go to.
    pub destination: Option<Ipv4Addr>,
    /// The source's port.
    pub source_port: Option<u16>,
    /// The destination's port.
    pub destination_port: Option<u16>,
    /// The protocol: 6 is TCP, 17 UDP.
    pub protocol: Option<u8>,
}

impl FlowPattern {
    /// Whether packets with those headers fit.
    #[must_use]
    pub fn fits(&self, tuple: &FiveTuple) -> bool {
        self.source.is_none_or(|source| source == tuple.source)
            && self.destination.is_none_or(|destination| destination == tuple.destination)
            && self.source_port.is_none_or(|port| port == tuple.source_port)
            && self.destination_port.is_none_or(|port| port == tuple.destination_port)
            && self.protocol.is_none_or(|protocol| protocol == tuple.protocol)
    }

    /// Whether everything that fits the other one fits this one too.
    fn covers(&self, other: &FlowPattern) -> bool {
        fn covers<T: PartialEq>(this: Option<T>, other: Option<T>) -> bool {
            this.is_none() || this == other
        }
        covers(self.source, other.source)
            && covers(self.destination, other.destination)
            && covers(self.source_port, other.source_port)
            && covers(self.destination_port, other.destination_port)
            && covers(self.protocol, other.protocol)
    }

    /// Whether it asks for a port of a protocol that has none.
    fn is_of_no_packet(&self) -> bool {
        // TCP, UDP, DCCP, SCTP, UDP-Lite (IANA's protocol numbers)
        let ports = self.protocol.is_none_or(|protocol| [6, 17, 33, 132, 136].contains(&protocol));
        !ports && [self.source_port, self.destination_port].into_iter().flatten().any(|port| port != 0)
    }
}

/// What becomes of packets that wait in a queue.
#[derive(Clone, Debug, PartialEq)]
pub enum DisciplineChoice {
    /// First in, first out.
    Fifo,
    /// Drops when packets wait too long (RFC 8289).
    CoDel(DelayTarget),
    /// Marks (RFC 3168) when packets wait too long, and drops those that cannot be marked.
    EcnCoDel(DelayTarget),
    /// One of one's own.
    Own(Own<dyn Discipline>),
}

/// How long packets may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayTarget {
    /// They may wait this long.
    pub target_ms: u32,
    /// When all have waited longer over this time, something is done.
    pub interval_ms: u32,
}

impl Default for DelayTarget {
    /// RFC 8289 4.2 and 4.3: 5 ms within 100 ms.
    fn default() -> Self {
        DelayTarget { target_ms: 5, interval_ms: 100 }
    }
}

/// What limits a queue's rate by dropping and diverting packets that come (RFC 2475). Both rates are held by token buckets
/// that hold 100 ms; a packet passes while its bucket is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicerSettings {
    /// What comes above this is dropped.
    pub drop_rate_bps: u64,
    /// What goes to another queue.
    pub divert: Option<Divert>,
}

/// Where packets go that come above a rate. The policer of the queue there is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divert {
    /// Above this rate.
    pub rate_bps: u64,
    /// To this queue.
    pub to: QueueId,
}

/// What limits a queue's rate by making packets wait: a token bucket; a packet passes while it is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaperSettings {
    /// The limit.
    pub rate_bps: u64,
    /// What the bucket holds, and the time over which the rate is told.
    pub window_ms: u32,
}

/// What takes from the queues.
#[derive(Clone, Debug, PartialEq)]
pub enum SchedulerChoice {
    /// From each in turn.
    RoundRobin,
    /// From the queue of the highest priority: the priority of each queue, the lowest number first; equal ones in their
    /// order.
    Priority(Vec<u32>),
    /// From each in turn, as many octets as it may: the octets that each gets a turn (as in RFC 8290).
    DeficitRoundRobin(Vec<u32>),
    /// One of one's own.
    Own(Own<dyn Scheduler>),
}

/// What decides how much goes on to PDCP and RLC.
#[derive(Clone, Debug, PartialEq)]
pub enum PacerChoice {
    /// Everything goes on at once, also what RLC then has to drop.
    Off,
    /// RLC gets as much as the MAC drains between two looks at it, and little more (5G-BDP).
    Bdp5g,
    /// One of one's own.
    Own(Own<dyn Pacer>),
}

/// How a part of one's own is made, one for each bearer. Two are equal where one is a clone of the other.
pub struct Own<P: ?Sized> {
    name: Arc<str>,
    make: Arc<dyn Fn() -> Box<P> + Send + Sync>,
}

impl<P: ?Sized> Own<P> {
    /// A part of that name, and what makes it.
    pub fn new(name: &str, make: impl Fn() -> Box<P> + Send + Sync + 'static) -> Self {
        Own { name: name.into(), make: Arc::new(make) }
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn make(&self) -> Box<P> {
        (self.make)()
    }
}

impl<P: ?Sized> Clone for Own<P> {
    fn clone(&self) -> Self {
        Own { name: self.name.clone(), make: self.make.clone() }
    }
}

impl<P: ?Sized> PartialEq for Own<P> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

impl<P: ?Sized> fmt::Debug for Own<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Own").field(&self.name).finish()
    }
}

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
