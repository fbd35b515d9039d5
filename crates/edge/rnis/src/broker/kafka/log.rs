//! The shared log in Kafka: two compacted topics with one partition each.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{BorrowedMessage, Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use rdkafka::{Offset, TopicPartitionList};
use tracing::warn;

use super::assignments::Assignments;
use super::leader::Candidate;
use super::{
    Counts, FLUSH, KafkaConfig, MAX_WAITING, REQUEST_TIMEOUT, Reader, Readership, Reading, base, create_topic,
    events_topic, refused, unreachable,
};
use crate::broker::{BrokerError, Sink};
use crate::faults::Faults;
use crate::shared_log::{Feed, LogRecord, SharedLog};

/// The header of a record: who has written it, and the number that it has there.
const WRITER: &str = "writer";
/// What is common to both topics. A record without effect is replaced by the leader before it can be the only one that remains.
const COMPACTED: [(&str, &str); 4] = [
    ("cleanup.policy", "compact"),
    ("min.compaction.lag.ms", "60000"),
    ("min.cleanable.dirty.ratio", "0.1"),
    ("segment.ms", "300000"),
];

/// A log in the topics `PREFIX.subscriptions` and `PREFIX.state`; the leader is that of the topic `PREFIX.leader`.
pub struct KafkaLog {
    config: KafkaConfig,
    topics: [String; 2],
    /// A number that no other process has.
    writer: String,
    producer: ThreadedProducer<DefaultProducerContext>,
    consumer: BaseConsumer,
    candidate: Candidate,
    follower: Mutex<Option<Reader>>,
    failures: Faults,
}

impl fmt::Debug for KafkaLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaLog").field("config", &self.config).finish_non_exhaustive()
    }
}

impl KafkaLog {
    /// Connects. The configuration is that of the [`Kafka`](super::Kafka) with the events.
    ///
    /// # Errors
    /// If Kafka does not answer, or refuses.
    pub fn start(config: &KafkaConfig) -> Result<Self, BrokerError> {
        let topics = ["subscriptions", "state"].map(|name| format!("{}.{name}", config.prefix));
        for topic in &topics {
            create_topic(config, topic, 1, &COMPACTED)?;
        }
        let mut settings = base(config);
        settings
            .set("acks", "all")
            .set("enable.idempotence", "true")
            // who waits for a record has given up soon after
            .set("message.timeout.ms", "4000")
            .set("linger.ms", "0")
            .set("queue.buffering.max.messages", MAX_WAITING.to_string());
        let producer = settings.create().map_err(|error| refused(config, &error))?;
        let mut settings = base(config);
        // no group is joined: each process reads everything
        settings
            .set("group.id", format!("{}.log", config.prefix))
            .set("enable.auto.commit", "false")
            .set("auto.offset.reset", "earliest");
        let consumer: BaseConsumer = settings.create().map_err(|error| refused(config, &error))?;
        let mut partitions = TopicPartitionList::new();
        for topic in &topics {
            let added = partitions.add_partition_offset(topic, 0, Offset::Beginning);
            added.map_err(|error| refused(config, &error))?;
        }
        consumer.assign(&partitions).map_err(|error| refused(config, &error))?;
        Ok(KafkaLog {
            writer: format!("{:016x}", RandomState::new().hash_one(std::process::id())),
            candidate: Candidate::start(config)?,
            config: config.clone(),
            topics,
            producer,
            consumer,
            follower: Mutex::default(),
            failures: Faults::default(),
        })
    }

    fn record(&self, message: &BorrowedMessage<'_>) -> LogRecord {
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        let feed = if message.topic() == self.topics[0] { Feed::Subscriptions } else { Feed::State };
        let header = message.headers().and_then(|headers| headers.iter().find(|header| header.key == WRITER));
        let header = header.and_then(|header| std::str::from_utf8(header.value?).ok());
        let own = header.and_then(|header| header.split_once(':')).filter(|(writer, _)| *writer == self.writer);
        LogRecord {
            feed,
            position: message.offset(),
            key: message.key().map(text).unwrap_or_default(),
            value: message.payload().map(text),
            request: own.and_then(|(_, number)| number.parse().ok()),
        }
    }
}

impl Drop for KafkaLog {
    fn drop(&mut self) {
        let _ = self.producer.flush(FLUSH);
    }
}

impl SharedLog for KafkaLog {
    fn append(&self, feed: Feed, key: &str, value: Option<&str>, request: u64) -> Result<(), BrokerError> {
        let topic = &self.topics[usize::from(feed == Feed::State)];
        let writer = format!("{}:{request}", self.writer);
        let headers = OwnedHeaders::new().insert(Header { key: WRITER, value: Some(&writer) });
        let record: BaseRecord<'_, str, str> = BaseRecord::to(topic).partition(0).key(key).headers(headers);
        let record = match value {
            Some(value) => record.payload(value),
            None => record,
        };
        self.producer.send(record).map_err(|(error, _)| unreachable(&self.config, &error.to_string()))
    }

    fn read(&self, at_most: Duration) -> Option<LogRecord> {
        match self.consumer.poll(at_most)? {
            Ok(message) => Some(self.record(&message)),
            // librdkafka connects again by itself
            Err(error) => {
                if let Some(times) = self.failures.count() {
                    warn!(times, "no records of Kafka: {error}");
                }
                None
            }
        }
    }

    fn end(&self) -> Result<i64, BrokerError> {
        // on a connection of its own: Kafka answers the requests of one in their order, and the consumer's wait for new records
        let watermarks = self.producer.client().fetch_watermarks(&self.topics[0], 0, REQUEST_TIMEOUT / 2);
        watermarks.map(|(_, end)| end).map_err(|error| unreachable(&self.config, &error.to_string()))
    }

    fn is_leader(&self) -> bool {
        self.candidate.is_leader()
    }

    fn follow(&self, sink: Arc<dyn Sink>) -> Result<(), BrokerError> {
        let mut follower = self.follower.lock().unwrap_or_else(PoisonError::into_inner);
        if follower.is_some() {
            return Ok(());
        }
        let topic = events_topic(&self.config);
        let mut settings = base(&self.config);
        settings
            .set("group.id", format!("{}.websockets", self.config.prefix))
            .set("enable.auto.commit", "false")
            // the retention may overtake the reader
            .set("auto.offset.reset", "earliest");
        let consumer: BaseConsumer<Assignments> =
            settings.create_with_context(Assignments::default()).map_err(|error| refused(&self.config, &error))?;
        assign_ends(&consumer, &topic).map_err(|error| unreachable(&self.config, &error.to_string()))?;
        let reading = Reading {
            consumer,
            topic,
            readership: Readership::WebSockets,
            sink,
            counts: Arc::new(Counts::default()),
            acknowledge: None,
            acknowledged: channel().1,
            partitions: HashMap::new(),
        };
        *follower = Some(Reader::spawn(&self.config, reading)?);
        Ok(())
    }

    fn silent(&self) -> BrokerError {
        unreachable(&self.config, "it does not answer; try again later")
    }
}

/// Reads all partitions from their ends.
fn assign_ends(consumer: &BaseConsumer<Assignments>, topic: &str) -> Result<(), rdkafka::error::KafkaError> {
    let metadata = consumer.fetch_metadata(Some(topic), REQUEST_TIMEOUT)?;
    let mut partitions = TopicPartitionList::new();
    for partition in metadata.topics().iter().flat_map(|topic| topic.partitions()) {
        let (_, end) = consumer.fetch_watermarks(topic, partition.id(), REQUEST_TIMEOUT)?;
        partitions.add_partition_offset(topic, partition.id(), Offset::Offset(end))?;
    }
    consumer.assign(&partitions)
}
