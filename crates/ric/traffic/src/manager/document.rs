//! The report of a node's TC as a REST document.

use e2sm::tc::{Classifier, IndicationMessage, PacerKind, QueueEntry};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::resource::{FilterBody, KindOfClassifier, KindOfPacer, KindOfQueue, SchedulerBody};

/// The whole report.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TrafficControl")]
pub(super) struct TcDocument {
    node: String,
    /// The time of the report, by the node's clock.
    timestamp_us: i64,
    scheduler: SchedulerBody,
    pacer: PacerDocument,
    classifier: ClassifierDocument,
    filters: Vec<FilterDocument>,
    queues: Vec<QueueDocument>,
    policers: Vec<PolicerDocument>,
    shapers: Vec<ShaperDocument>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TcPacer")]
pub(super) struct PacerDocument {
    kind: KindOfPacer,
    #[schemars(with = "Option<f32>")]
    rate_kbps: f32,
    window_ms: u32,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TcClassifier")]
pub(super) struct ClassifierDocument {
    kind: KindOfClassifier,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TcFilter")]
pub(super) struct FilterDocument {
    id: u32,
    #[serde(flatten)]
    filter: FilterBody,
    /// The packets that its queue has forwarded; if it does not grow, no packet matches the filter.
    queue_forwarded_packets: u32,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TcQueue")]
pub(super) struct QueueDocument {
    id: u32,
    kind: KindOfQueue,
    octets: u32,
    packets: u32,
    forwarded_octets: u32,
    forwarded_packets: u32,
    /// Marked, where the kind is `ecn_codel`.
    dropped_packets: u32,
    #[schemars(with = "Option<f32>")]
    mean_sojourn_us: f32,
    last_sojourn_us: i64,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TcPolicer")]
pub(super) struct PolicerDocument {
    id: u32,
    active: bool,
    #[schemars(with = "Option<f32>")]
    drop_rate_kbps: f32,
    deviation_queue_id: u32,
    #[schemars(with = "Option<f32>")]
    rate_kbps: f32,
    window_ms: u32,
    dropped_packets: u32,
    marked_packets: u32,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TcShaper")]
pub(super) struct ShaperDocument {
    id: u32,
    active: bool,
    max_rate_kbps: u32,
    #[schemars(with = "Option<f32>")]
    rate_kbps: f32,
    window_ms: u32,
}

/// A part of the document with its own path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Scheduler,
    Pacer,
    Classifier,
    Filters,
    Queues,
    Policers,
    Shapers,
}

impl Part {
    /// Its name, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Part::Scheduler => "scheduler",
            Part::Pacer => "pacer",
            Part::Classifier => "classifier",
            Part::Filters => "filter",
            Part::Queues => "queue",
            Part::Policers => "policer",
            Part::Shapers => "shaper",
        }
    }
}

impl TcDocument {
    pub fn new(node: &str, message: &IndicationMessage<'_>) -> Self {
        let (kind, filters) = match &message.classifier {
            Classifier::RoundRobin => (KindOfClassifier::RoundRobin, &[][..]),
            Classifier::Osi(filters) => (KindOfClassifier::Osi, &filters[..]),
            Classifier::Stochastic => (KindOfClassifier::Stochastic, &[][..]),
        };
        let forwarded = |id| {
            let entry = message.queues.iter().find(|entry| entry.shaper.id == id);
            entry.map_or(0, |entry| entry.queue.forwarded_packets)
        };
        let filters = filters.iter().map(|filter| FilterDocument {
            id: filter.id,
            filter: FilterBody::new(filter.flow, filter.queue_id),
            queue_forwarded_packets: forwarded(filter.queue_id),
        });
        let meter = message.pacer.meter;
        let pacer = match message.pacer.kind {
            PacerKind::Off => KindOfPacer::Off,
            PacerKind::Bdp5g => KindOfPacer::Bdp5g,
        };
        TcDocument {
            node: node.to_owned(),
            timestamp_us: message.timestamp_us,
            scheduler: (&message.scheduler).into(),
            pacer: PacerDocument { kind: pacer, rate_kbps: meter.rate_kbps, window_ms: meter.window_ms },
            classifier: ClassifierDocument { kind },
            filters: filters.collect(),
            queues: message.queues.iter().map(queue).collect(),
            policers: message.queues.iter().map(policer).collect(),
            shapers: message.queues.iter().map(shaper).collect(),
        }
    }

    /// Returns a part, or one element of it by its id.
    pub fn part(&self, part: Part, id: Option<u32>) -> Option<Value> {
        let value = match part {
            Part::Scheduler => json!(self.scheduler),
            Part::Pacer => json!(self.pacer),
            Part::Classifier => json!(self.classifier),
            Part::Filters => json!(self.filters),
            Part::Queues => json!(self.queues),
            Part::Policers => json!(self.policers),
            Part::Shapers => json!(self.shapers),
        };
        match (id, value) {
            (None, value) => Some(value),
            (Some(id), Value::Array(all)) => all.into_iter().find(|one| one["id"] == id),
            (Some(_), _) => None,
        }
    }

    /// Returns the ids of queues or filters.
    pub fn ids(&self, part: Part) -> Vec<u32> {
        match part {
            Part::Filters => self.filters.iter().map(|filter| filter.id).collect(),
            _ => self.queues.iter().map(|queue| queue.id).collect(),
        }
    }
}

fn queue(entry: &QueueEntry) -> QueueDocument {
    let queue = entry.queue;
    QueueDocument {
        id: entry.shaper.id,
        kind: queue.kind.into(),
        octets: queue.octets,
        packets: queue.packets,
        forwarded_octets: queue.forwarded_octets,
        forwarded_packets: queue.forwarded_packets,
        dropped_packets: queue.dropped_packets,
        mean_sojourn_us: queue.mean_sojourn_us,
        last_sojourn_us: queue.last_sojourn_us,
    }
}

fn policer(entry: &QueueEntry) -> PolicerDocument {
    let policer = entry.policer;
    PolicerDocument {
        id: policer.id,
        active: policer.active,
        drop_rate_kbps: policer.max_rate_kbps,
        deviation_queue_id: policer.deviation_id,
        rate_kbps: policer.meter.rate_kbps,
        window_ms: policer.meter.window_ms,
        dropped_packets: policer.dropped_packets,
        marked_packets: policer.marked_packets,
    }
}

fn shaper(entry: &QueueEntry) -> ShaperDocument {
    let shaper = entry.shaper;
    ShaperDocument {
        id: shaper.id,
        active: shaper.active,
        max_rate_kbps: shaper.max_rate_kbps,
        rate_kbps: shaper.meter.rate_kbps,
        window_ms: shaper.meter.window_ms,
    }
}
