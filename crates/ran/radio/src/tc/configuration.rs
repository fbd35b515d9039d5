//! The traffic control configuration of a bearer.

use std::fmt;
use std::net::Ipv4Addr;

use super::custom::Custom;
use super::{Classifier, Discipline, Pacer, Scheduler};
use crate::FiveTuple;

/// The maximum number of queues of a bearer.
pub const MAX_QUEUES: usize = 64;
/// The maximum number of filters of a classifier.
pub const MAX_FILTERS: usize = 256;
/// The default limit of a queue: more than half a second at 10 Mbit/s.
pub const DEFAULT_LIMIT_OCTETS: u32 = 1 << 20;

/// The id of a queue, its policer and its shaper, unique in the bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u32);

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The traffic control configuration of a bearer.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// Chooses a queue for each packet.
    pub classifier: ClassifierChoice,
    /// The queues, 1 to [`MAX_QUEUES`].
    pub queues: Vec<QueueConfiguration>,
    /// Chooses the queue that sends next; settings per queue are in the order of `queues`.
    pub scheduler: SchedulerChoice,
    /// Decides how much is forwarded to PDCP and RLC.
    pub pacer: PacerChoice,
}

impl Default for Configuration {
    /// The behaviour of a base station without traffic control: one FIFO queue, everything is forwarded at once.
    fn default() -> Self {
        Configuration {
            classifier: ClassifierChoice::RoundRobin,
            queues: vec![QueueConfiguration::new(QueueId(0), DisciplineChoice::Fifo)],
            scheduler: SchedulerChoice::RoundRobin,
            pacer: PacerChoice::Off,
        }
    }
}

/// A queue with its policer and shaper.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfiguration {
    /// Its id.
    pub id: QueueId,
    /// Its discipline.
    pub discipline: DisciplineChoice,
    /// Its capacity: a packet that would exceed it is dropped.
    pub limit_octets: u32,
    /// Limits the arriving rate.
    pub policer: Option<PolicerSettings>,
    /// Limits the departing rate.
    pub shaper: Option<ShaperSettings>,
}

impl QueueConfiguration {
    /// A queue of [`DEFAULT_LIMIT_OCTETS`] without policer and shaper.
    #[must_use]
    pub fn new(id: QueueId, discipline: DisciplineChoice) -> Self {
        QueueConfiguration { id, discipline, limit_octets: DEFAULT_LIMIT_OCTETS, policer: None, shaper: None }
    }
}

/// The choice of a classifier.
#[derive(Clone, Debug, PartialEq)]
pub enum ClassifierChoice {
    /// Each queue in turn.
    RoundRobin,
    /// The queue of the first matching filter; the first queue when none matches.
    Osi(Vec<OsiFilter>),
    /// A queue by a hash of the 5-tuple: a flow keeps its queue.
    Stochastic,
    /// A custom classifier.
    Custom(Custom<dyn Classifier>),
}

/// A filter of a classifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OsiFilter {
    /// Its id.
    pub id: u32,
    /// The packets that match.
    pub flow: FlowPattern,
    /// Their queue.
    pub queue: QueueId,
}

/// A pattern of layer 3 and 4 headers; an absent field matches any value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowPattern {
    /// Source address.
    pub source: Option<Ipv4Addr>,
    /// Destination address.
    pub destination: Option<Ipv4Addr>,
    /// Source port.
    pub source_port: Option<u16>,
    /// Destination port.
    pub destination_port: Option<u16>,
    /// IP protocol number: 6 is TCP, 17 is UDP.
    pub protocol: Option<u8>,
}

impl FlowPattern {
    /// Whether the pattern matches these headers.
    #[must_use]
    pub fn matches(&self, tuple: &FiveTuple) -> bool {
        self.source.is_none_or(|source| source == tuple.source)
            && self.destination.is_none_or(|destination| destination == tuple.destination)
            && self.source_port.is_none_or(|port| port == tuple.source_port)
            && self.destination_port.is_none_or(|port| port == tuple.destination_port)
            && self.protocol.is_none_or(|protocol| protocol == tuple.protocol)
    }

    /// Whether the pattern matches every packet that `other` matches.
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

    /// Whether no packet can match: the pattern contains a port, and its protocol has none.
    pub(super) fn is_unmatchable(&self) -> bool {
        // TCP, UDP, DCCP, SCTP, UDP-Lite (IANA's protocol numbers)
        let ports = self.protocol.is_none_or(|protocol| [6, 17, 33, 132, 136].contains(&protocol));
        !ports && [self.source_port, self.destination_port].into_iter().flatten().any(|port| port != 0)
    }
}

/// The choice of a queue discipline.
#[derive(Clone, Debug, PartialEq)]
pub enum DisciplineChoice {
    /// First in, first out.
    Fifo,
    /// CoDel (RFC 8289).
    CoDel(DelayTarget),
    /// CoDel that marks ECN-capable packets (RFC 3168) and drops the others.
    EcnCoDel(DelayTarget),
    /// A custom discipline.
    Custom(Custom<dyn Discipline>),
}

/// The parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayTarget {
    /// Acceptable sojourn time.
    pub target_ms: u32,
    /// CoDel acts when all packets of such an interval exceeded the target.
    pub interval_ms: u32,
}

impl Default for DelayTarget {
    /// RFC 8289 4.2 and 4.3: 5 ms within 100 ms.
    fn default() -> Self {
        DelayTarget { target_ms: 5, interval_ms: 100 }
    }
}

/// Limits the rate of a queue by dropping and diverting arriving packets (RFC 2475). Both rates are enforced by token
/// buckets of 100 ms; a packet passes while its bucket is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicerSettings {
    /// Packets above this rate are dropped.
    pub drop_rate_bps: u64,
    /// Packets above a lower rate go to another queue.
    pub divert: Option<Divert>,
}

/// Diverts packets above a rate to another queue. The policer of that queue is bypassed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divert {
    /// The rate.
    pub rate_bps: u64,
    /// The other queue.
    pub to: QueueId,
}

/// Limits the rate of a queue by delaying packets: a token bucket; a packet passes while it is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaperSettings {
    /// The rate limit.
    pub rate_bps: u64,
    /// The size of the bucket in time, and the window of the reported rate.
    pub window_ms: u32,
}

/// The choice of a scheduler.
#[derive(Clone, Debug, PartialEq)]
pub enum SchedulerChoice {
    /// One packet from each queue in turn.
    RoundRobin,
    /// Strict priority: the priority of each queue, lowest number first; equal priorities in queue order.
    Priority(Vec<u32>),
    /// Deficit round robin: the quantum of each queue in octets (as in RFC 8290).
    DeficitRoundRobin(Vec<u32>),
    /// A custom scheduler.
    Custom(Custom<dyn Scheduler>),
}

/// The choice of a pacer.
#[derive(Clone, Debug, PartialEq)]
pub enum PacerChoice {
    /// Forwards all packets at once, even those that RLC then drops.
    Off,
    /// Keeps about as much in RLC as the MAC drains between two updates (5G-BDP).
    Bdp5g,
    /// A custom pacer.
    Custom(Custom<dyn Pacer>),
}
