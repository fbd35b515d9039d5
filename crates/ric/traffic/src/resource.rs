//! TC in REST: the bodies of requests and responses, and the corresponding controls.
//!
//! Below `/v1/nodes/{node}/tc`: `queues`, `filters`, `policers` and `shapers`, each with an id; `scheduler`, `pacer` and
//! `classifier`, of which each node has one.

use std::net::Ipv4Addr;

use e2sm::tc::{
    Bdp, ChangePolicer, ChangeShaper, ClassifierControl, ControlMessage, DelayTarget, DeleteFilter, DeleteQueue,
    FiveTuple, ModifyFilter, ModifyQueue, NewFilter, NewOsiFilter, PacerControl, PacerParameters, PolicerControl,
    QueueControl, QueueKind, QueueParameters, Scheduler, SchedulerControl, ShaperControl,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use rest::not_null;

/// The discipline of a queue, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewTcQueue")]
pub(crate) struct QueueBody {
    pub kind: KindOfQueue,
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub target_ms: Option<u32>,
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub interval_ms: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TcQueueKind")]
pub(crate) enum KindOfQueue {
    Fifo,
    Codel,
    EcnCodel,
}

impl From<QueueKind> for KindOfQueue {
    fn from(kind: QueueKind) -> Self {
        match kind {
            QueueKind::Fifo => KindOfQueue::Fifo,
            QueueKind::CoDel => KindOfQueue::Codel,
            QueueKind::EcnCoDel => KindOfQueue::EcnCodel,
        }
    }
}

impl QueueBody {
    /// Returns the parameters of the queue, or the reason why the body is invalid.
    pub fn parameters(self) -> Result<QueueParameters, &'static str> {
        let QueueBody { kind, target_ms, interval_ms } = self;
        match (kind, target_ms.zip(interval_ms)) {
            (KindOfQueue::Fifo, None) if target_ms.is_none() && interval_ms.is_none() => Ok(QueueParameters::Fifo),
            (KindOfQueue::Fifo, _) => Err("a queue of kind `fifo` has neither `target_ms` nor `interval_ms`"),
            (_, None) => Err("a queue of kind `codel` or `ecn_codel` needs `target_ms` and `interval_ms`"),
            (KindOfQueue::Codel, Some((target_ms, interval_ms))) => {
                Ok(QueueParameters::CoDel(DelayTarget { target_ms, interval_ms }))
            }
            (KindOfQueue::EcnCodel, Some((target_ms, interval_ms))) => {
                Ok(QueueParameters::EcnCoDel(DelayTarget { target_ms, interval_ms }))
            }
        }
    }
}

impl From<QueueParameters> for QueueBody {
    fn from(parameters: QueueParameters) -> Self {
        let target = match parameters {
            QueueParameters::Fifo => None,
            QueueParameters::CoDel(target) | QueueParameters::EcnCoDel(target) => Some(target),
        };
        QueueBody {
            kind: parameters.kind().into(),
            target_ms: target.map(|target| target.target_ms),
            interval_ms: target.map(|target| target.interval_ms),
        }
    }
}

/// A filter, which sends packets that match all of its fields to a queue. Ports match only TCP and UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "TcFilterOfFlow")]
pub(crate) struct FilterBody {
    pub queue_id: u32,
    pub protocol: Option<Protocol>,
    pub source_address: Option<Ipv4Addr>,
    pub source_port: Option<u16>,
    pub destination_address: Option<Ipv4Addr>,
    pub destination_port: Option<u16>,
}

/// An IP protocol, by name or number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a protocol is `tcp`, `udp`, `icmp` or a number of 0 to 255")]
#[schemars(rename = "TcProtocol")]
pub(crate) enum Protocol {
    Named(NamedProtocol),
    Number(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "TcNamedProtocol")]
pub(crate) enum NamedProtocol {
    Icmp = 1,
    Tcp = 6,
    Udp = 17,
}

impl From<u8> for Protocol {
    fn from(number: u8) -> Self {
        match number {
            1 => Protocol::Named(NamedProtocol::Icmp),
            6 => Protocol::Named(NamedProtocol::Tcp),
            17 => Protocol::Named(NamedProtocol::Udp),
            number => Protocol::Number(number),
        }
    }
}

impl Protocol {
    fn number(self) -> u8 {
        match self {
            Protocol::Named(name) => name as u8,
            Protocol::Number(number) => number,
        }
    }
}

impl FilterBody {
    pub fn new(flow: FiveTuple, queue_id: u32) -> Self {
        FilterBody {
            queue_id,
            protocol: flow.protocol.map(Protocol::from),
            source_address: flow.source_address.map(Ipv4Addr::from),
            source_port: flow.source_port,
            destination_address: flow.destination_address.map(Ipv4Addr::from),
            destination_port: flow.destination_port,
        }
    }

    pub fn flow(&self) -> FiveTuple {
        FiveTuple {
            source_address: self.source_address.map(u32::from),
            destination_address: self.destination_address.map(u32::from),
            source_port: self.source_port,
            destination_port: self.destination_port,
            protocol: self.protocol.map(Protocol::number),
        }
    }
}

/// A queue's policer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewTcPolicer")]
pub(crate) struct PolicerBody {
    /// Packets above this rate are dropped.
    pub drop_rate_kbps: u32,
    /// Packets above this rate go to another queue. Default: no packets do.
    pub deviation_rate_kbps: Option<u32>,
    /// The other queue. Default: this one.
    pub deviation_queue_id: Option<u32>,
    #[serde(default = "yes")]
    pub active: bool,
}

/// A queue's shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewTcShaper")]
pub(crate) struct ShaperBody {
    pub window_ms: u32,
    pub max_rate_kbps: u32,
    #[serde(default = "yes")]
    pub active: bool,
}

impl PolicerBody {
    /// Returns the change for a queue.
    pub fn change(self, id: u32) -> ChangePolicer {
        ChangePolicer {
            id,
            drop_rate_kbps: self.drop_rate_kbps,
            deviation_id: self.deviation_queue_id.unwrap_or(id),
            deviation_rate_kbps: self.deviation_rate_kbps.unwrap_or(self.drop_rate_kbps),
            active: self.active,
        }
    }
}

impl From<ChangePolicer> for PolicerBody {
    fn from(change: ChangePolicer) -> Self {
        PolicerBody {
            drop_rate_kbps: change.drop_rate_kbps,
            deviation_rate_kbps: Some(change.deviation_rate_kbps),
            deviation_queue_id: Some(change.deviation_id),
            active: change.active,
        }
    }
}

impl ShaperBody {
    /// Returns the change for a queue.
    pub fn change(self, id: u32) -> ChangeShaper {
        let ShaperBody { window_ms, max_rate_kbps, active } = self;
        ChangeShaper { id, window_ms, max_rate_kbps, active }
    }
}

impl From<ChangeShaper> for ShaperBody {
    fn from(change: ChangeShaper) -> Self {
        let ChangeShaper { window_ms, max_rate_kbps, active, .. } = change;
        ShaperBody { window_ms, max_rate_kbps, active }
    }
}

fn yes() -> bool {
    true
}

/// The scheduler, which serves the queues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TcScheduler")]
pub(crate) struct SchedulerBody {
    pub kind: KindOfScheduler,
    /// The priority of each queue; the lowest number is served first.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<u32>")]
    pub priorities: Option<Vec<u32>>,
    /// The octets that each queue may send per round.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<u32>")]
    pub quanta_octets: Option<Vec<u32>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TcSchedulerKind")]
pub(crate) enum KindOfScheduler {
    RoundRobin,
    Priority,
    DeficitRoundRobin,
}

/// The most queues of a node, by the service model.
const MAX_QUEUES: usize = 1024;

impl SchedulerBody {
    pub fn scheduler(self) -> Result<Scheduler<'static>, &'static str> {
        let SchedulerBody { kind, priorities, quanta_octets } = self;
        if priorities.iter().chain(&quanta_octets).any(|of_queues| of_queues.len() > MAX_QUEUES) {
            return Err("a node has at most 1024 queues");
        }
        match (kind, priorities, quanta_octets) {
            (KindOfScheduler::RoundRobin, None, None) => Ok(Scheduler::RoundRobin),
            (KindOfScheduler::Priority, Some(priorities), None) => Ok(Scheduler::Priority(priorities.into())),
            (KindOfScheduler::DeficitRoundRobin, None, Some(quanta)) => Ok(Scheduler::DeficitRoundRobin(quanta.into())),
            (KindOfScheduler::RoundRobin, ..) => Err("`round_robin` has neither `priorities` nor `quanta_octets`"),
            (KindOfScheduler::Priority, ..) => Err("`priority` needs `priorities`, and nothing else"),
            (KindOfScheduler::DeficitRoundRobin, ..) => {
                Err("`deficit_round_robin` needs `quanta_octets`, and nothing else")
            }
        }
    }
}

impl From<&Scheduler<'_>> for SchedulerBody {
    fn from(scheduler: &Scheduler<'_>) -> Self {
        let (kind, priorities, quanta_octets) = match scheduler {
            Scheduler::RoundRobin => (KindOfScheduler::RoundRobin, None, None),
            Scheduler::Priority(priorities) => (KindOfScheduler::Priority, Some(priorities.to_vec()), None),
            Scheduler::DeficitRoundRobin(quanta) => (KindOfScheduler::DeficitRoundRobin, None, Some(quanta.to_vec())),
        };
        SchedulerBody { kind, priorities, quanta_octets }
    }
}

/// The pacer, which limits the octets in RLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewTcPacer")]
pub(crate) struct PacerBody {
    pub kind: KindOfPacer,
    /// Octets in the bearer's RLC buffer. Default: the base station measures them.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub drb_octets: Option<u32>,
    /// The time of `drb_octets`, in microseconds of Unix time.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    pub timestamp_us: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TcPacerKind")]
pub(crate) enum KindOfPacer {
    #[serde(rename = "off")]
    Off,
    #[serde(rename = "5g_bdp")]
    Bdp5g,
}

impl PacerBody {
    pub fn parameters(self) -> Result<PacerParameters, &'static str> {
        let PacerBody { kind, drb_octets, timestamp_us } = self;
        match kind {
            KindOfPacer::Off if drb_octets.is_some() || timestamp_us.is_some() => {
                Err("a pacer of kind `off` has neither `drb_octets` nor `timestamp_us`")
            }
            KindOfPacer::Off => Ok(PacerParameters::Off),
            KindOfPacer::Bdp5g => {
                let (drb_octets, timestamp_us) = (drb_octets.unwrap_or_default(), timestamp_us.unwrap_or_default());
                Ok(PacerParameters::Bdp5g(Bdp { drb_octets, timestamp_us }))
            }
        }
    }
}

impl From<PacerParameters> for PacerBody {
    fn from(parameters: PacerParameters) -> Self {
        match parameters {
            PacerParameters::Off => PacerBody { kind: KindOfPacer::Off, drb_octets: None, timestamp_us: None },
            PacerParameters::Bdp5g(Bdp { drb_octets, timestamp_us }) => {
                PacerBody { kind: KindOfPacer::Bdp5g, drb_octets: Some(drb_octets), timestamp_us: Some(timestamp_us) }
            }
        }
    }
}

/// The classifier, which selects the queue of a packet. The classifier by headers (`osi`) is set by adding a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TcClassifierBody")]
pub(crate) struct ClassifierBody {
    pub kind: KindOfClassifier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TcClassifierKind")]
pub(crate) enum KindOfClassifier {
    RoundRobin,
    Osi,
    Stochastic,
}

impl ClassifierBody {
    pub fn filter(self) -> Result<NewFilter, &'static str> {
        match self.kind {
            KindOfClassifier::RoundRobin => Ok(NewFilter::RoundRobin),
            KindOfClassifier::Stochastic => Ok(NewFilter::Stochastic),
            KindOfClassifier::Osi => Err("add a filter instead: the first filter sets the classifier `osi`"),
        }
    }
}

/// The REST request for a control.
#[derive(Clone, Debug, PartialEq)]
pub struct TcRequest {
    /// The method.
    pub method: &'static str,
    /// The path, relative to `/v1/nodes/{node}/tc`: `/queues/1`.
    pub path: String,
    /// The body.
    pub body: Option<Value>,
}

impl TcRequest {
    /// Returns the request for a control, or `None` if REST cannot express it, as with a second scheduler.
    #[must_use]
    pub fn of(control: &ControlMessage<'_>) -> Option<Self> {
        let (method, path, body) = match control {
            ControlMessage::Queue(QueueControl::Add(parameters)) => {
                ("POST", "/queues".to_owned(), body(QueueBody::from(*parameters)))
            }
            ControlMessage::Queue(QueueControl::Modify(ModifyQueue { id, parameters })) => {
                ("PUT", format!("/queues/{id}"), body(QueueBody::from(*parameters)))
            }
            ControlMessage::Queue(QueueControl::Delete(DeleteQueue { id, .. })) => {
                ("DELETE", format!("/queues/{id}"), None)
            }
            ControlMessage::Classifier(ClassifierControl::Add(new)) => match new {
                NewFilter::Osi(NewOsiFilter { flow, queue_id }) => {
                    ("POST", "/filters".to_owned(), body(FilterBody::new(*flow, *queue_id)))
                }
                NewFilter::RoundRobin => ("PUT", "/classifier".to_owned(), Some(json!({"kind": "round_robin"}))),
                NewFilter::Stochastic => ("PUT", "/classifier".to_owned(), Some(json!({"kind": "stochastic"}))),
            },
            ControlMessage::Classifier(ClassifierControl::Modify(ModifyFilter::Osi(filter))) => {
                ("PUT", format!("/filters/{}", filter.id), body(FilterBody::new(filter.flow, filter.queue_id)))
            }
            ControlMessage::Classifier(ClassifierControl::Delete(DeleteFilter::Osi(id))) => {
                ("DELETE", format!("/filters/{id}"), None)
            }
            ControlMessage::Policer(PolicerControl::Modify(change)) => {
                ("PUT", format!("/policers/{}", change.id), body(PolicerBody::from(*change)))
            }
            ControlMessage::Policer(PolicerControl::Delete(id)) => ("DELETE", format!("/policers/{id}"), None),
            ControlMessage::Shaper(ShaperControl::Modify(change)) => {
                ("PUT", format!("/shapers/{}", change.id), body(ShaperBody::from(*change)))
            }
            ControlMessage::Shaper(ShaperControl::Delete(id)) => ("DELETE", format!("/shapers/{id}"), None),
            ControlMessage::Scheduler(SchedulerControl::Modify(scheduler)) => {
                ("PUT", "/scheduler".to_owned(), body(SchedulerBody::from(scheduler)))
            }
            ControlMessage::Pacer(PacerControl::Modify(pacer)) => {
                ("PUT", "/pacer".to_owned(), body(PacerBody::from(*pacer)))
            }
            ControlMessage::Classifier(_)
            | ControlMessage::Policer(PolicerControl::Add)
            | ControlMessage::Shaper(ShaperControl::Add)
            | ControlMessage::Scheduler(_)
            | ControlMessage::Pacer(_) => return None,
        };
        Some(TcRequest { method, path, body })
    }
}

fn body(body: impl Serialize) -> Option<Value> {
    match serde_json::to_value(body) {
        Ok(value) => Some(value),
        Err(error) => panic!("cannot serialize a request body: {error}"),
    }
}
