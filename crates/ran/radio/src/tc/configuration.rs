//! What is set for a bearer, and why it may be refused.

use std::fmt;
use std::net::Ipv4Addr;

use super::own::Own;
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
    pub(super) fn covers(&self, other: &FlowPattern) -> bool {
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
    pub(super) fn is_of_no_packet(&self) -> bool {
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
