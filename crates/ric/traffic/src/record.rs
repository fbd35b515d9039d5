//! The forwarded records: each is an indication as JSON.
//!
//! A record is the output of `ferric decode` for the indication's message (`rlc-plain:IndicationMessage`,
//! `tc-plain:IndicationMessage`), preceded by two fields: `node`, as logged, and `model`, which is `rlc` or `tc`. The names of
//! fields are those of [`e2sm::rlc`] and [`e2sm::tc`], with units last.
//!
//! [`RlcRecord`] and [`TcRecord`] are the parts of them that a decision needs, from JSON or from the message itself.

use e2sm::tc::{Classifier, FiveTuple, OsiFilter, PacerKind, QueueKind};
use e2sm::{Arena, Wire, rlc, tc};
use per::Describe;
use serde::Deserialize;
use serde_json::{Map, Value};

use per::json;

/// Returns the record of an indication message, as JSON.
///
/// # Errors
/// If the message cannot be decoded as one of the model.
pub fn to_json(model: &str, node: &str, message: &[u8], wire: Wire, arena: &Arena) -> Result<String, e2sm::Error> {
    let value = match model {
        "rlc" => described(&rlc::IndicationMessage::decode(message, wire, arena)?),
        _ => described(&tc::IndicationMessage::decode(message, wire, arena)?),
    };
    let mut record = Map::new();
    record.insert("node".to_owned(), node.into());
    record.insert("model".to_owned(), model.into());
    record.extend(value);
    Ok(Value::Object(record).to_string())
}

fn described(message: &dyn Describe) -> Map<String, Value> {
    match json::of(message) {
        Value::Object(map) => map,
        other => panic!("a message is not a sequence: {other}"),
    }
}

/// A record.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A record of RLC.
    Rlc(RlcRecord),
    /// A record of TC.
    Tc(TcRecord),
}

impl Record {
    /// Parses a record of JSON. Returns its node and its content.
    ///
    /// # Errors
    /// If the text is not such a record.
    pub fn from_json(text: &[u8]) -> Result<(String, Record), serde_json::Error> {
        #[derive(Deserialize)]
        struct Head {
            node: String,
            model: Model,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Model {
            Rlc,
            Tc,
        }
        let Head { node, model } = serde_json::from_slice(text)?;
        let record = match model {
            Model::Rlc => Record::Rlc(serde_json::from_slice(text)?),
            Model::Tc => Record::Tc(serde_json::from_slice(text)?),
        };
        Ok((node, record))
    }
}

/// The RLC buffers of all bearers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct RlcRecord {
    /// The time of the report by the node's clock, in microseconds of Unix time.
    pub timestamp_us: i64,
    /// The bearers of all UEs.
    pub bearers: Vec<BearerRecord>,
}

/// The RLC buffer of a bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct BearerRecord {
    /// The UE's C-RNTI.
    pub rnti: u32,
    /// The radio bearer of that UE.
    pub rb_id: u8,
    /// Octets in the buffer.
    pub tx_buffer_octets: u32,
    /// The mean time from the arrival of an SDU to its first transmission, over the last 100 ms.
    pub tx_sdu_mean_time_to_tx_us: f64,
    /// The waiting time of the first SDU.
    pub tx_sdu_wait_us: u32,
}

impl BearerRecord {
    /// Returns the waiting time of packets, in microseconds: the mean of the sent ones, or that of the next one if it is longer.
    #[must_use]
    pub fn sojourn_us(&self) -> u32 {
        // the cast saturates: NaN and negative values become 0
        (self.tx_sdu_mean_time_to_tx_us as u32).max(self.tx_sdu_wait_us)
    }
}

impl From<&rlc::IndicationMessage<'_>> for RlcRecord {
    fn from(message: &rlc::IndicationMessage<'_>) -> Self {
        let bearers = message.bearers.iter().map(|bearer| BearerRecord {
            rnti: bearer.rnti,
            rb_id: bearer.rb_id,
            tx_buffer_octets: bearer.tx_buffer_octets,
            tx_sdu_mean_time_to_tx_us: bearer.tx_sdu_mean_time_to_tx_us,
            tx_sdu_wait_us: bearer.tx_sdu_wait_us,
        });
        RlcRecord { timestamp_us: message.timestamp_us, bearers: bearers.collect() }
    }
}

/// The configuration and the queues of TC.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TcRecord {
    /// The time of the report by the node's clock, in microseconds of Unix time.
    pub timestamp_us: i64,
    /// The pacer, which limits the octets in RLC.
    pub pacer: PacerRecord,
    /// The classifier, which selects the queue of a packet.
    pub classifier: ClassifierRecord,
    /// The queues. The first one takes packets that no filter matches.
    pub queues: Vec<QueueEntryRecord>,
}

/// The pacer.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct PacerRecord {
    /// Its algorithm.
    #[serde(with = "PacerName")]
    pub kind: PacerKind,
}

/// The classifier.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub enum ClassifierRecord {
    /// The queues in rotation.
    RoundRobin,
    /// The queue of the first filter that matches.
    Osi(#[serde(deserialize_with = "filters")] Vec<OsiFilter>),
    /// A random queue.
    Stochastic,
}

/// A queue with its shaper and policer.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct QueueEntryRecord {
    /// Its shaper, which has the id of the queue.
    pub shaper: ShaperRecord,
    /// Its policer.
    pub policer: PolicerRecord,
    /// The queue.
    pub queue: QueueRecord,
}

/// A shaper.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct ShaperRecord {
    /// The queue's id.
    pub id: u32,
}

/// A policer.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct PolicerRecord {
    /// Whether it is active.
    pub active: bool,
    /// The queue for packets above the limit.
    pub deviation_id: u32,
}

/// A queue.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct QueueRecord {
    /// Its discipline.
    #[serde(with = "QueueName")]
    pub kind: QueueKind,
    /// Waiting packets.
    pub packets: u32,
    /// Forwarded packets.
    pub forwarded_packets: u32,
    /// The mean waiting time of the packets forwarded recently; `None` if the node reports no number.
    pub mean_sojourn_us: Option<f32>,
    /// The waiting time of the last forwarded packet, whenever that was.
    pub last_sojourn_us: i64,
}

impl QueueRecord {
    /// Returns the waiting time of packets, in microseconds: the mean of those forwarded recently; if there are none and some
    /// wait, that of the last one. An empty queue has none: its last packet may have been forwarded long ago.
    #[must_use]
    pub fn sojourn_us(&self) -> u32 {
        // the cast saturates: NaN and negative values become 0
        match self.mean_sojourn_us.unwrap_or_default() as u32 {
            0 if self.packets > 0 => u32::try_from(self.last_sojourn_us.max(0)).unwrap_or(u32::MAX),
            mean_us => mean_us,
        }
    }
}

// The JSON names of the model's own types.

#[derive(Deserialize)]
#[serde(remote = "PacerKind")]
enum PacerName {
    Off,
    Bdp5g,
}

#[derive(Deserialize)]
#[serde(remote = "QueueKind")]
enum QueueName {
    Fifo,
    CoDel,
    EcnCoDel,
}

#[derive(Deserialize)]
#[serde(remote = "FiveTuple")]
struct FlowFields {
    source_address: Option<u32>,
    destination_address: Option<u32>,
    source_port: Option<u16>,
    destination_port: Option<u16>,
    protocol: Option<u8>,
}

fn filters<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<OsiFilter>, D::Error> {
    #[derive(Deserialize)]
    struct Fields {
        id: u32,
        #[serde(with = "FlowFields")]
        flow: FiveTuple,
        queue_id: u32,
    }
    let filters = Vec::<Fields>::deserialize(deserializer)?;
    Ok(filters.into_iter().map(|Fields { id, flow, queue_id }| OsiFilter { id, flow, queue_id }).collect())
}

impl From<&tc::IndicationMessage<'_>> for TcRecord {
    fn from(message: &tc::IndicationMessage<'_>) -> Self {
        let classifier = match &message.classifier {
            Classifier::RoundRobin => ClassifierRecord::RoundRobin,
            Classifier::Osi(filters) => ClassifierRecord::Osi(filters.to_vec()),
            Classifier::Stochastic => ClassifierRecord::Stochastic,
        };
        let queues = message.queues.iter().map(|entry| QueueEntryRecord {
            shaper: ShaperRecord { id: entry.shaper.id },
            policer: PolicerRecord { active: entry.policer.active, deviation_id: entry.policer.deviation_id },
            queue: QueueRecord {
                kind: entry.queue.kind,
                packets: entry.queue.packets,
                forwarded_packets: entry.queue.forwarded_packets,
                mean_sojourn_us: Some(entry.queue.mean_sojourn_us).filter(|mean_us| mean_us.is_finite()),
                last_sojourn_us: entry.queue.last_sojourn_us,
            },
        });
        TcRecord {
            timestamp_us: message.timestamp_us,
            pacer: PacerRecord { kind: message.pacer.kind },
            classifier,
            queues: queues.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(name: &str) -> Vec<u8> {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors").join(name);
        let text: String = std::fs::read_to_string(path).unwrap().split_whitespace().collect();
        let octet = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap();
        (0..text.len() / 2).map(octet).collect()
    }

    #[test]
    fn record_of_json_equals_record_of_message() {
        let arena = Arena::new();
        for name in ["fifo", "chance", "separated"] {
            let message = vector(&format!("tc/plain-indication-{name}.hex"));
            let json = to_json("tc", "gnb-00101-e00", &message, Wire::Plain, &arena).unwrap();
            let (node, record) = Record::from_json(json.as_bytes()).unwrap();
            let direct = tc::IndicationMessage::decode(&message, Wire::Plain, &arena).unwrap();
            assert_eq!((&*node, record), ("gnb-00101-e00", Record::Tc((&direct).into())), "{json}");
        }
        for count in [0, 1, 5] {
            let message = vector(&format!("rlc/plain-indication-{count}.hex"));
            let json = to_json("rlc", "gnb-00101-e00", &message, Wire::Plain, &arena).unwrap();
            let direct = rlc::IndicationMessage::decode(&message, Wire::Plain, &arena).unwrap();
            assert_eq!(direct.bearers.len(), count);
            assert_eq!(Record::from_json(json.as_bytes()).unwrap().1, Record::Rlc((&direct).into()), "{json}");
        }
    }

    #[test]
    fn malformed_records_are_refused() {
        let arena = Arena::new();
        assert!(to_json("tc", "gnb", &[1, 2, 3], Wire::Plain, &arena).is_err());
        for text in ["", "{}", "[]", r#"{"node":"a","model":"mac"}"#, r#"{"node":"a","model":"rlc","timestamp_us":1}"#]
        {
            assert!(Record::from_json(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn bearer_sojourn_is_the_longest_known() {
        let bearer = |mean: f64, wait| {
            BearerRecord { tx_sdu_mean_time_to_tx_us: mean, tx_sdu_wait_us: wait, ..BearerRecord::default() }
                .sojourn_us()
        };
        assert_eq!((bearer(5000.7, 3), bearer(0.0, 9), bearer(-1.0, 0)), (5000, 9, 0));
        assert_eq!((bearer(f64::NAN, 4), bearer(f64::INFINITY, 4)), (4, u32::MAX));
    }

    #[test]
    fn empty_queue_has_no_sojourn() {
        let queue = |packets, mean_sojourn_us, last_sojourn_us| {
            let (kind, mean_sojourn_us) = (QueueKind::Fifo, Some(mean_sojourn_us));
            QueueRecord { kind, packets, forwarded_packets: 9, mean_sojourn_us, last_sojourn_us }.sojourn_us()
        };
        assert_eq!((queue(0, 5000.7, 9000), queue(3, 5000.7, 9000)), (5000, 5000));
        assert_eq!((queue(0, 0.0, 9000), queue(1, 0.0, 9000)), (0, 9000));
        assert_eq!((queue(1, f32::NAN, -5), queue(1, 0.0, i64::MAX), queue(0, 1e20, 0)), (0, u32::MAX, u32::MAX));
    }
}
