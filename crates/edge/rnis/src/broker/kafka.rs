//! Kafka, in two topologies.
//!
//! - *Shared*: one topic, whose partitions keep the order of each UE. Processes with the same group share the partitions, and take
//!   over those of one that dies; the matching is done here.
//! - *PerFilter*: a topic for each distinct filter, a consumer group for each subscriber, and a consumer for each of its filters, as
//!   in paper 003, 4.1. The publisher finds the topics of an event.
//!
//! Processes that share partitions also share their subscriptions: [`KafkaLog`].
//!
//! With acknowledgements, all replicas confirm an event, librdkafka sends it again until they do, and the offset of a message is
//! committed when it and all before it are delivered or dropped. A process that takes a partition over receives again what was not
//! committed; what may be delivered for the second time is marked.

mod assignments;
mod leader;
mod log;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};
use rdkafka::{ClientContext, Offset, TopicPartitionList};
use tracing::{info, warn};

use super::{Acknowledgement, Audience, Broker, BrokerCounts, BrokerError, Received, Sink};
use crate::criteria::Criteria;
use crate::event::Event;
use crate::faults::Faults;
use crate::matcher::{Key, Matcher};
use assignments::Assignments;
pub use log::KafkaLog;

/// Events that may wait for Kafka.
const MAX_WAITING: usize = 65_536;
/// How long one wait for messages lasts: so often acknowledgements and the end are looked at.
const TICK: Duration = Duration::from_millis(50);
/// How long the end of the broker waits for events that are not sent.
const FLUSH: Duration = Duration::from_secs(2);
/// After so long without a sign of a process, in milliseconds, others take its partitions over: the shortest time that Kafka allows by
/// default (`group.min.session.timeout.ms`).
const SESSION_TIMEOUT_MS: &str = "6000";
/// How partitions are distributed: those of a process that ends or joins move, the others stay where they are.
const ASSIGNMENT: &str = "cooperative-sticky";
/// Time for the answers of Kafka to requests about topics.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// How Kafka is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KafkaConfig {
    /// `HOST:PORT`, several with commas.
    pub servers: String,
    /// Who has a topic.
    pub topology: KafkaTopology,
    /// Whether events and messages are acknowledged.
    pub is_acknowledged: bool,
    /// The prefix of topics and groups.
    pub prefix: String,
}

/// Who has a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KafkaTopology {
    /// One topic with this number of partitions; a group of processes.
    Shared {
        /// At most as many processes have work.
        partitions: u16,
    },
    /// A topic for each distinct filter, as in paper 003.
    PerFilter,
}

/// A producer and consumers.
pub struct Kafka {
    config: KafkaConfig,
    producer: ThreadedProducer<Reports>,
    counts: Arc<Counts>,
    sink: Arc<dyn Sink>,
    /// Of the topology with a topic for each filter.
    filters: Mutex<Filters>,
    /// Of the shared topology.
    shared: Option<Reader>,
}

impl fmt::Debug for Kafka {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kafka").field("config", &self.config).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Counts {
    published: AtomicU64,
    received: AtomicU64,
    lost: AtomicU64,
    redelivered: AtomicU64,
    connections: AtomicU64,
    not_taken: Faults,
    unreadable: Faults,
    unreachable: Faults,
}

/// Counts what Kafka has not taken.
struct Reports(Arc<Counts>);

impl ClientContext for Reports {}

impl ProducerContext for Reports {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if let Err((error, _)) = result {
            self.0.lost.fetch_add(1, Ordering::Relaxed);
            if let Some(events) = self.0.not_taken.count() {
                warn!(events, "Kafka has not taken events: {error}");
            }
        }
    }
}

/// The subscriptions of a consumer.
type Keys = Arc<Mutex<Vec<Key>>>;

#[derive(Debug, Default)]
struct Filters {
    /// The distinct filters; the key is that of one of their subscriptions.
    matcher: Matcher,
    topics: HashMap<Key, String>,
    by_topic: HashMap<String, (Key, usize)>,
    /// The consumers, by subscriber and topic, with the subscriptions of each.
    readers: HashMap<(Arc<str>, String), (Reader, Keys)>,
    subscriptions: HashMap<Key, (Arc<str>, String)>,
    last_filter: u64,
    found: Vec<Key>,
}

impl Kafka {
    /// Connects.
    ///
    /// # Errors
    /// If Kafka does not answer, or refuses.
    pub fn start(config: KafkaConfig, sink: Arc<dyn Sink>) -> Result<Self, BrokerError> {
        let counts = Arc::new(Counts::default());
        let mut settings = base(&config);
        settings
            .set("acks", if config.is_acknowledged { "all" } else { "0" })
            .set("enable.idempotence", if config.is_acknowledged { "true" } else { "false" })
            // without acknowledgements an event that waits is worth nothing
            .set("message.timeout.ms", if config.is_acknowledged { "0" } else { "1000" })
            .set("linger.ms", "0")
            .set("queue.buffering.max.messages", MAX_WAITING.to_string());
        let producer: ThreadedProducer<Reports> =
            settings.create_with_context(Reports(Arc::clone(&counts))).map_err(|error| refused(&config, &error))?;
        let shared = match config.topology {
            KafkaTopology::Shared { partitions } => {
                let topic = events_topic(&config);
                create_topic(&config, &topic, partitions, &[])?;
                let (group, audience) = (config.prefix.clone(), Readership::All);
                let reader = Reader::start(&config, &group, topic, audience, Arc::clone(&sink), Arc::clone(&counts))?;
                Some(reader)
            }
            KafkaTopology::PerFilter => None,
        };
        info!(broker = config.servers, "connected to Kafka");
        Ok(Kafka { config, producer, counts, sink, filters: Mutex::default(), shared })
    }

    fn filters(&self) -> MutexGuard<'_, Filters> {
        self.filters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, topic: &str, key: &str, payload: &[u8]) -> Result<(), BrokerError> {
        self.producer.send(BaseRecord::to(topic).key(key).payload(payload)).map_err(|(error, _)| {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
            BrokerError::Unreachable { address: self.config.servers.clone(), reason: error.to_string() }
        })?;
        self.counts.published.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        // what Kafka has not taken by then is lost with the process
        let _ = self.producer.flush(FLUSH);
    }
}

impl Broker for Kafka {
    fn name(&self) -> &'static str {
        "kafka"
    }

    fn publish(&self, event: &Arc<Event>) -> Result<(), BrokerError> {
        let Ok(payload) = serde_json::to_vec(&**event) else { return Ok(()) };
        // a UE's events stay in order: the first of its identities, or its cell if it has none
        let key = event.ue.associate_ids.first().map_or_else(|| event.cell.digits(), |id| id.value.clone());
        if self.shared.is_some() {
            return self.send(&events_topic(&self.config), &key, &payload);
        }
        let mut guard = self.filters();
        let filters = &mut *guard;
        filters.matcher.find(event, &mut filters.found);
        let topics = filters.found.iter().filter_map(|filter| filters.topics.get(filter));
        topics.map(|topic| self.send(topic, &key, &payload)).fold(Ok(()), Result::and)
    }

    fn subscribe(&self, key: Key, subscriber: &str, criteria: &Criteria) -> Result<(), BrokerError> {
        if self.shared.is_some() {
            return Ok(());
        }
        let topic = filter_topic(&self.config, criteria);
        let subscriber: Arc<str> = subscriber.into();
        let reader = (Arc::clone(&subscriber), topic.clone());
        if self.filters().subscriptions.get(&key) == Some(&reader) {
            return Ok(());
        }
        if let Some((_, keys)) = self.filters().readers.get(&reader) {
            keys.lock().unwrap_or_else(PoisonError::into_inner).push(key);
        } else {
            // without the lock: other subscriptions and events do not wait for Kafka
            let is_known = self.filters().by_topic.contains_key(&topic);
            if !is_known {
                create_topic(&self.config, &topic, 1, &[])?;
            }
            let keys = Arc::new(Mutex::new(vec![key]));
            let group = format!("{}.{subscriber}", self.config.prefix);
            let (readership, sink) = (Readership::Keys(Arc::clone(&keys)), Arc::clone(&self.sink));
            let counts = Arc::clone(&self.counts);
            let reader = Reader::start(&self.config, &group, topic.clone(), readership, sink, counts)?;
            let name = (Arc::clone(&subscriber), topic.clone());
            let mut filters = self.filters();
            if let Some((_, keys)) = filters.readers.get(&name) {
                // another thread was first: its consumer has the events of the group
                keys.lock().unwrap_or_else(PoisonError::into_inner).push(key);
                drop(filters);
                drop(reader);
            } else {
                filters.readers.insert(name, (reader, keys));
            }
        }
        // a subscription that was changed leaves its former topic
        let ended = {
            let mut filters = self.filters();
            let ended = filters.remove(key);
            filters.add(key, subscriber, topic, criteria);
            ended
        };
        drop(ended);
        Ok(())
    }

    fn unsubscribe(&self, key: Key) {
        let ended = self.filters().remove(key);
        // outside of the lock: it waits for its thread
        drop(ended);
    }

    fn counts(&self) -> BrokerCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        BrokerCounts {
            published: read(&self.counts.published),
            received: read(&self.counts.received),
            lost: read(&self.counts.lost),
            redelivered: read(&self.counts.redelivered),
            connections: read(&self.counts.connections),
            waiting: self.producer.in_flight_count().max(0) as u64,
        }
    }
}

impl Filters {
    fn add(&mut self, key: Key, subscriber: Arc<str>, topic: String, criteria: &Criteria) {
        self.subscriptions.insert(key, (subscriber, topic.clone()));
        if let Some((_, users)) = self.by_topic.get_mut(&topic) {
            *users += 1;
            return;
        }
        self.last_filter += 1;
        let filter = Key(self.last_filter);
        self.matcher.insert(filter, criteria.clone());
        self.topics.insert(filter, topic.clone());
        self.by_topic.insert(topic, (filter, 1));
    }

    /// Removes a subscription; returns the consumer that has none left.
    fn remove(&mut self, key: Key) -> Option<Reader> {
        let (subscriber, topic) = self.subscriptions.remove(&key)?;
        if let Some((filter, users)) = self.by_topic.get_mut(&topic) {
            *users -= 1;
            if *users == 0 {
                let filter = *filter;
                self.by_topic.remove(&topic);
                self.topics.remove(&filter);
                self.matcher.remove(filter);
            }
        }
        let name = (subscriber, topic);
        let (_, keys) = self.readers.get(&name)?;
        let is_unused = {
            let mut keys = keys.lock().unwrap_or_else(PoisonError::into_inner);
            keys.retain(|other| *other != key);
            keys.is_empty()
        };
        if is_unused { self.readers.remove(&name).map(|(reader, _)| reader) } else { None }
    }
}

/// Whose events a consumer receives.
enum Readership {
    All,
    /// All, apart from the group.
    WebSockets,
    Keys(Keys),
}

impl Readership {
    fn audience(&self) -> Audience {
        match self {
            Readership::All => Audience::All,
            Readership::WebSockets => Audience::WebSockets,
            Readership::Keys(keys) => {
                Audience::Subscriptions(keys.lock().unwrap_or_else(PoisonError::into_inner).clone().into())
            }
        }
    }
}

/// A consumer with its thread. It leaves its group when it is dropped.
#[derive(Debug)]
struct Reader {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts to read: every event that is published after the return is received.
    fn start(
        config: &KafkaConfig,
        group: &str,
        topic: String,
        readership: Readership,
        sink: Arc<dyn Sink>,
        counts: Arc<Counts>,
    ) -> Result<Self, BrokerError> {
        let mut settings = base(config);
        settings
            .set("group.id", group)
            .set("auto.offset.reset", "earliest")
            .set("enable.auto.offset.store", if config.is_acknowledged { "false" } else { "true" })
            .set("auto.commit.interval.ms", "200")
            .set("session.timeout.ms", SESSION_TIMEOUT_MS)
            .set("partition.assignment.strategy", ASSIGNMENT)
            .set("heartbeat.interval.ms", "1000");
        let consumer: BaseConsumer<Assignments> =
            settings.create_with_context(Assignments::default()).map_err(|error| refused(config, &error))?;
        let unread = begin_at_end(&consumer, &topic).map_err(|error| unreachable(config, &error.to_string()))?;
        consumer.context().begin(unread);
        consumer.subscribe(&[&topic]).map_err(|error| refused(config, &error))?;
        counts.connections.fetch_add(1, Ordering::Relaxed);
        let (acknowledge, acknowledged) = channel();
        let read = Reading {
            consumer,
            topic,
            readership,
            sink,
            counts,
            acknowledge: config.is_acknowledged.then_some(acknowledge),
            acknowledged,
            partitions: HashMap::new(),
        };
        Reader::spawn(config, read)
    }

    /// Starts the thread.
    fn spawn(config: &KafkaConfig, read: Reading) -> Result<Self, BrokerError> {
        let stop = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("kafka".into())
            .spawn(move || read.run(&ended))
            .map_err(|error| unreachable(config, &format!("the system refuses a thread: {error}")))?;
        Ok(Reader { stop, thread: Some(thread) })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Lets a new group begin at the end of each partition. Returns the partitions that no process of the group has read before.
fn begin_at_end(consumer: &BaseConsumer<Assignments>, topic: &str) -> Result<BTreeSet<i32>, KafkaError> {
    let metadata = consumer.fetch_metadata(Some(topic), REQUEST_TIMEOUT)?;
    let mut partitions = TopicPartitionList::new();
    for partition in metadata.topics().iter().flat_map(|topic| topic.partitions()) {
        partitions.add_partition(topic, partition.id());
    }
    let mut ends = TopicPartitionList::new();
    // Kafka has to choose the coordinator of a new group first
    let end = Instant::now() + REQUEST_TIMEOUT;
    let committed = loop {
        match consumer.committed_offsets(partitions.clone(), REQUEST_TIMEOUT) {
            Err(_) if Instant::now() < end => std::thread::sleep(TICK),
            result => break result?,
        }
    };
    for element in committed.elements() {
        if element.offset() == Offset::Invalid {
            let (_, end) = consumer.fetch_watermarks(topic, element.partition(), REQUEST_TIMEOUT)?;
            ends.add_partition_offset(topic, element.partition(), Offset::Offset(end))?;
        }
    }
    if ends.count() > 0 {
        // it is refused when another process has joined the group meanwhile, which has done the same
        let _ = consumer.commit(&ends, CommitMode::Sync);
    }
    Ok(ends.elements().iter().map(|element| element.partition()).collect())
}

/// What is not acknowledged of a partition.
#[derive(Debug)]
struct Partition {
    outstanding: BTreeSet<i64>,
    /// The offset after the last message.
    next: i64,
    /// Messages before it may have been delivered by another process, or before a restart.
    fresh_from: i64,
}

struct Reading {
    consumer: BaseConsumer<Assignments>,
    topic: String,
    readership: Readership,
    sink: Arc<dyn Sink>,
    counts: Arc<Counts>,
    acknowledge: Option<Sender<(i32, i64)>>,
    acknowledged: Receiver<(i32, i64)>,
    partitions: HashMap<i32, Partition>,
}

impl Reading {
    fn run(mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            self.store_offsets();
            match self.consumer.poll(TICK) {
                None => {}
                Some(Ok(message)) => {
                    // another process may have had it since
                    for partition in self.consumer.context().revoked() {
                        self.partitions.remove(&partition);
                    }
                    let (partition, offset) = (message.partition(), message.offset());
                    let payload = message.payload().unwrap_or_default().to_vec();
                    drop(message);
                    self.receive(partition, offset, &payload);
                }
                // librdkafka connects again by itself
                Some(Err(error)) => {
                    if let Some(times) = self.counts.unreachable.count() {
                        warn!(topic = self.topic, times, "no messages of Kafka: {error}");
                    }
                }
            }
        }
    }

    fn receive(&mut self, partition: i32, offset: i64, payload: &[u8]) {
        self.counts.received.fetch_add(1, Ordering::Relaxed);
        let is_again = self.acknowledge.is_some() && self.is_again(partition, offset);
        if is_again {
            self.counts.redelivered.fetch_add(1, Ordering::Relaxed);
        }
        let acknowledgement = self
            .acknowledge
            .clone()
            .map(|acknowledge| Acknowledgement::new(Pending { partition, offset, acknowledge }));
        match serde_json::from_slice::<Event>(payload) {
            Ok(event) => self.sink.receive(Received {
                event: Arc::new(event),
                audience: self.readership.audience(),
                acknowledgement,
                is_redelivered: is_again,
            }),
            Err(error) => {
                if let Some(messages) = self.counts.unreadable.count() {
                    let topic = &self.topic;
                    warn!(
                        topic,
                        messages, "messages of Kafka are no events, another program has published them: {error}"
                    );
                }
            }
        }
    }

    /// Notes a message. Returns whether it may have been delivered before.
    fn is_again(&mut self, partition: i32, offset: i64) -> bool {
        let known = self.partitions.get_mut(&partition).filter(|known| known.next == offset);
        if let Some(known) = known {
            known.next = offset + 1;
            known.outstanding.insert(offset);
            return offset < known.fresh_from;
        }
        // a partition that was assigned: what lies in it already, another process may have delivered
        let fresh_from = if self.consumer.context().is_unread(partition) {
            offset
        } else {
            let watermarks = self.consumer.fetch_watermarks(&self.topic, partition, REQUEST_TIMEOUT);
            watermarks.map_or(offset + 1, |(_, end)| end)
        };
        let outstanding = BTreeSet::from([offset]);
        self.partitions.insert(partition, Partition { outstanding, next: offset + 1, fresh_from });
        offset < fresh_from
    }

    /// Stores the offsets up to which everything is acknowledged; librdkafka commits them.
    fn store_offsets(&mut self) {
        let mut changed = BTreeSet::new();
        while let Ok((partition, offset)) = self.acknowledged.try_recv() {
            if let Some(known) = self.partitions.get_mut(&partition)
                && known.outstanding.remove(&offset)
            {
                changed.insert(partition);
            }
        }
        for number in changed {
            let Some(known) = self.partitions.get(&number) else { continue };
            let first = known.outstanding.first().copied().unwrap_or(known.next);
            // it fails where the partition is another process's now, which reads those messages again
            let _ = self.consumer.store_offset(&self.topic, number, first - 1);
        }
    }
}

/// A message that is not acknowledged.
struct Pending {
    partition: i32,
    offset: i64,
    acknowledge: Sender<(i32, i64)>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        let _ = self.acknowledge.send((self.partition, self.offset));
    }
}

fn base(config: &KafkaConfig) -> ClientConfig {
    let mut settings = ClientConfig::new();
    settings
        .set("bootstrap.servers", &config.servers)
        .set("client.id", "rnis")
        .set("reconnect.backoff.ms", "100")
        .set("reconnect.backoff.max.ms", "2000")
        .set_log_level(RDKafkaLogLevel::Error);
    settings
}

fn events_topic(config: &KafkaConfig) -> String {
    format!("{}.events", config.prefix)
}

/// The topic of a filter: equal filters share it.
fn filter_topic(config: &KafkaConfig, criteria: &Criteria) -> String {
    // the hash is that of one process; others with the same prefix only need it to be a function of the filter
    let mut hasher = DefaultHasher::new();
    format!("{criteria:?}").hash(&mut hasher);
    format!("{}.{:?}.{:016x}", config.prefix, criteria.topic, hasher.finish())
}

fn create_topic(
    config: &KafkaConfig,
    topic: &str,
    partitions: u16,
    settings: &[(&str, &str)],
) -> Result<(), BrokerError> {
    let admin: AdminClient<DefaultClientContext> = base(config).create().map_err(|error| refused(config, &error))?;
    // as many replicas as Kafka has for topics by default
    let new = NewTopic::new(topic, i32::from(partitions.max(1)), TopicReplication::Fixed(-1));
    let new = settings.iter().fold(new, |new, (name, value)| new.set(name, value));
    let options = AdminOptions::new().operation_timeout(Some(REQUEST_TIMEOUT)).request_timeout(Some(REQUEST_TIMEOUT));
    // the caller may be a thread of the REST interface, which has a runtime of its own: one can neither wait nor end inside of another
    let created = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            let runtime = runtime.map_err(|error| unreachable(config, &error.to_string()))?;
            Ok(runtime.block_on(admin.create_topics([&new], &options)))
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    match created? {
        Ok(results) => match results.into_iter().next() {
            None | Some(Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists))) => Ok(()),
            Some(Err((topic, code))) => Err(refused(config, &format!("topic {topic}: {code}"))),
        },
        Err(error) => Err(unreachable(config, &error.to_string())),
    }
}

fn refused(config: &KafkaConfig, reason: &impl ToString) -> BrokerError {
    BrokerError::Refused { address: config.servers.clone(), reason: reason.to_string() }
}

fn unreachable(config: &KafkaConfig, reason: &str) -> BrokerError {
    BrokerError::Unreachable { address: config.servers.clone(), reason: reason.to_owned() }
}
