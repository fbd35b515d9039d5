//! RabbitMQ (AMQP 0-9-1), in two topologies.
//!
//! - *Shared*: a fanout exchange, and one queue for each process that serves subscribers; the matching is done here.
//! - *PerSubscriber*: a headers exchange and a queue for each subscriber, with a binding for each value that a subscription names
//!   (paper 003, 4.1): RabbitMQ selects by type, cell and UE, and what remains of the criteria is compared here.
//!
//! With acknowledgements, an event is published again until RabbitMQ has confirmed it, queues and messages are durable, and a message
//! is acknowledged when all its notifications are delivered or dropped. So nothing is lost while RabbitMQ restarts, as long as this
//! process lives; what is published or delivered again is marked.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;

use lapin::Acker;
use lapin::message::DeliveryResult;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, ConfirmSelectOptions,
    ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties, ExchangeKind};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};

use super::{Acknowledgement, Audience, Broker, BrokerCounts, BrokerError, Received, Sink};
use crate::criteria::Criteria;
use crate::event::Event;
use crate::faults::Faults;
use crate::matcher::Key;

/// Events that may wait for RabbitMQ, or for its confirmation.
const MAX_WAITING: usize = 65_536;
/// Events that are written together at most.
const MAX_BATCH: usize = 256;
/// Messages that RabbitMQ sends before the first of them is acknowledged.
const MAX_UNACKNOWLEDGED: u16 = 4096;
/// The most bindings of a subscription: cells times UEs.
const MAX_BINDINGS: usize = 256;
/// The longest name of a queue, in octets (AMQP 0-9-1 4.2.5.3: a short string).
const MAX_QUEUE_NAME_OCTETS: usize = 255;
/// The first and the longest pause between attempts to connect.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// How long the creation of a subscription waits for RabbitMQ.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time for an attempt to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// RabbitMQ deletes the queues of a process that has died after this time, in milliseconds.
const QUEUE_EXPIRY_MS: i32 = 600_000;
/// The delivery mode of messages that survive a restart (AMQP 0-9-1, `delivery-mode`).
const PERSISTENT: u8 = 2;
/// The header of messages that are published again.
const REPUBLISHED: &str = "republished";

/// How RabbitMQ is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RabbitMqConfig {
    /// `amqp://USER:PASSWORD@HOST:PORT/VHOST`.
    pub url: String,
    /// The queue that each subscriber has, or that all share.
    pub topology: Topology,
    /// Whether events and messages are acknowledged.
    pub is_acknowledged: bool,
    /// The prefix of exchanges and queues. Processes with the same prefix receive each other's events.
    pub prefix: String,
}

/// Who has a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One queue for this process.
    Shared,
    /// A queue for each subscriber, as in paper 003.
    PerSubscriber,
}

/// A connection to RabbitMQ, which is made again when it is lost.
pub struct RabbitMq {
    address: String,
    commands: UnboundedSender<Command>,
    shared: Arc<Shared>,
    topology: Topology,
    /// The prefix of this process's queues.
    queue: String,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for RabbitMq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RabbitMq").field("address", &self.address).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Shared {
    waiting: AtomicUsize,
    published: AtomicU64,
    received: AtomicU64,
    lost: AtomicU64,
    redelivered: AtomicU64,
    connections: AtomicU64,
    unreadable: Faults,
}

enum Command {
    Publish(Arc<Event>),
    Subscribe(Key, Arc<str>, Criteria, oneshot::Sender<Result<(), BrokerError>>),
    Unsubscribe(Key),
    /// RabbitMQ has confirmed an event, or refused it.
    Confirmed(u64, bool),
    Acknowledge(u64, Acker),
    /// The session of that number has failed.
    Lost(u64, String),
    Stop,
}

impl RabbitMq {
    /// Starts to connect. Events of other processes are given to `sink` from then on.
    ///
    /// # Errors
    /// If the URL is malformed, or the system refuses a thread.
    pub fn start(config: RabbitMqConfig, sink: Arc<dyn Sink>) -> io::Result<Self> {
        let uri: lapin::uri::AMQPUri =
            config.url.parse().map_err(|error: String| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        // without the password
        let address = format!("amqp://{}:{}/{}", uri.authority.host, uri.authority.port, uri.vhost);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (commands, receiver) = unbounded_channel();
        let shared = Arc::new(Shared::default());
        let topology = config.topology;
        let names = Names::new(&config);
        let queue = names.queue.clone();
        let worker = Worker {
            names,
            config,
            address: address.clone(),
            commands: commands.clone(),
            shared: Arc::clone(&shared),
            sink,
            subscriptions: HashMap::new(),
            unconfirmed: BTreeMap::new(),
            last_event: 0,
            generation: 0,
        };
        let thread = std::thread::Builder::new()
            .name("rabbitmq".into())
            .spawn(move || runtime.block_on(worker.run(receiver)))?;
        Ok(RabbitMq { address, commands, shared, topology, queue, thread: Some(thread) })
    }
}

impl Drop for RabbitMq {
    fn drop(&mut self) {
        let _ = self.commands.send(Command::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Broker for RabbitMq {
    fn name(&self) -> &'static str {
        "rabbitmq"
    }

    fn publish(&self, event: &Arc<Event>) -> Result<(), BrokerError> {
        let unreachable = |reason: &str| {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            BrokerError::Unreachable { address: self.address.clone(), reason: reason.to_owned() }
        };
        if self.shared.waiting.load(Ordering::Relaxed) >= MAX_WAITING {
            return Err(unreachable("65,536 events wait for it"));
        }
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        self.commands.send(Command::Publish(Arc::clone(event))).map_err(|_| unreachable("the connection has ended"))
    }

    fn subscribe(&self, key: Key, subscriber: &str, criteria: &Criteria) -> Result<(), BrokerError> {
        if self.topology == Topology::Shared {
            return Ok(());
        }
        let refused = |reason: String| BrokerError::Refused { address: self.address.clone(), reason };
        let bindings = criteria.cells.len().max(1) * criteria.ues.len().max(1);
        if bindings > MAX_BINDINGS {
            return Err(refused(format!("{bindings} bindings for one subscription exceed {MAX_BINDINGS}")));
        }
        let name_octets = subscriber_queue(&self.queue, subscriber).len();
        if name_octets > MAX_QUEUE_NAME_OCTETS {
            return Err(refused(format!(
                "the name of the application instance makes a queue name of {name_octets} octets, more than \
                 {MAX_QUEUE_NAME_OCTETS}"
            )));
        }
        let (reply, answer) = oneshot::channel();
        let command = Command::Subscribe(key, subscriber.into(), criteria.clone(), reply);
        let ended = || BrokerError::Unreachable {
            address: self.address.clone(),
            reason: "it does not answer; try again later".into(),
        };
        self.commands.send(command).map_err(|_| ended())?;
        // the caller is no asynchronous task, so it may wait
        super::wait(answer, PATIENCE).unwrap_or_else(|| Err(ended()))
    }

    fn unsubscribe(&self, key: Key) {
        let _ = self.commands.send(Command::Unsubscribe(key));
    }

    fn counts(&self) -> BrokerCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        BrokerCounts {
            published: read(&self.shared.published),
            received: read(&self.shared.received),
            lost: read(&self.shared.lost),
            redelivered: read(&self.shared.redelivered),
            connections: read(&self.shared.connections),
            waiting: self.shared.waiting.load(Ordering::Relaxed) as u64,
        }
    }
}

/// The names in RabbitMQ.
struct Names {
    exchange: ShortString,
    /// The prefix of this process's queues.
    queue: String,
}

impl Names {
    fn new(config: &RabbitMqConfig) -> Self {
        let kind = match config.topology {
            Topology::Shared => "events",
            Topology::PerSubscriber => "headers",
        };
        let durability = if config.is_acknowledged { "durable" } else { "transient" };
        let RabbitMqConfig { prefix, .. } = config;
        // two processes of a host differ by their ids, those of two hosts by the start
        let start = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |now| now.as_nanos());
        Names {
            exchange: format!("{prefix}.{kind}.{durability}").into(),
            queue: format!("{prefix}.{:x}.{start:x}", std::process::id()),
        }
    }

    fn shared_queue(&self) -> ShortString {
        self.queue.as_str().into()
    }

    fn subscriber_queue(&self, subscriber: &str) -> ShortString {
        subscriber_queue(&self.queue, subscriber).into()
    }
}

/// The name of a subscriber's queue.
fn subscriber_queue(prefix: &str, subscriber: &str) -> String {
    format!("{prefix}.{subscriber}")
}

struct Worker {
    config: RabbitMqConfig,
    address: String,
    names: Names,
    commands: UnboundedSender<Command>,
    shared: Arc<Shared>,
    sink: Arc<dyn Sink>,
    /// Of the topology with a queue for each subscriber.
    subscriptions: HashMap<Key, (Arc<str>, Criteria)>,
    /// Events that RabbitMQ has not confirmed, by their numbers.
    unconfirmed: BTreeMap<u64, Arc<Event>>,
    last_event: u64,
    /// The number of the session: what concerns an earlier one is ignored.
    generation: u64,
}

/// A connection with its channels.
struct Session {
    publishing: Channel,
    consuming: Channel,
    _connection: Connection,
}

impl Worker {
    async fn run(mut self, mut commands: UnboundedReceiver<Command>) {
        let mut pause = PAUSES.0;
        loop {
            self.generation += 1;
            let opened = tokio::time::timeout(CONNECT_TIMEOUT, self.open()).await;
            let opened = opened.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()));
            let failure = match opened {
                Ok(session) => {
                    info!(broker = %self.address, "connected to RabbitMQ");
                    self.shared.connections.fetch_add(1, Ordering::Relaxed);
                    pause = PAUSES.0;
                    match self.serve(&session, &mut commands).await {
                        Some(reason) => reason,
                        None => return self.delete_queues(&session).await,
                    }
                }
                Err(error) => error.to_string(),
            };
            warn!(broker = %self.address, retry_in_ms = pause.as_millis() as u64, "no connection to RabbitMQ: {failure}");
            if self.wait(Instant::now() + pause, &mut commands).await {
                return;
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Connects, and declares exchange, queues and consumers.
    async fn open(&self) -> Result<Session, lapin::Error> {
        let properties = ConnectionProperties::default().with_connection_name("rnis".into());
        let connection = Connection::connect(&self.config.url, properties).await?;
        let (publishing, consuming) = (connection.create_channel().await?, connection.create_channel().await?);
        let durable = self.config.is_acknowledged;
        if durable {
            publishing.confirm_select(ConfirmSelectOptions::default()).await?;
            consuming.basic_qos(MAX_UNACKNOWLEDGED, BasicQosOptions::default()).await?;
        }
        let kind = match self.config.topology {
            Topology::Shared => ExchangeKind::Fanout,
            Topology::PerSubscriber => ExchangeKind::Headers,
        };
        let options = ExchangeDeclareOptions { durable, ..ExchangeDeclareOptions::default() };
        consuming.exchange_declare(self.names.exchange.clone(), kind, options, FieldTable::default()).await?;
        let session = Session { publishing, consuming, _connection: connection };
        match self.config.topology {
            Topology::Shared => {
                self.consume(&session, self.names.shared_queue(), Audience::All, &[FieldTable::default()]).await?;
            }
            Topology::PerSubscriber => {
                for (subscriber, criteria) in self.subscriptions.values() {
                    self.bind(&session, subscriber, criteria).await?;
                }
            }
        }
        Ok(session)
    }

    /// Declares the queue of a subscriber, and binds it for a subscription.
    async fn bind(&self, session: &Session, subscriber: &Arc<str>, criteria: &Criteria) -> Result<(), lapin::Error> {
        let audience = Audience::Subscriber(Arc::clone(subscriber));
        self.consume(session, self.names.subscriber_queue(subscriber), audience, &bindings(criteria)).await
    }

    /// Declares a queue, binds it, and consumes from it unless that is already so.
    async fn consume(
        &self,
        session: &Session,
        queue: ShortString,
        audience: Audience,
        bindings: &[FieldTable],
    ) -> Result<(), lapin::Error> {
        let Session { consuming, .. } = session;
        let durable = self.config.is_acknowledged;
        let options = QueueDeclareOptions { durable, auto_delete: !durable, ..QueueDeclareOptions::default() };
        let mut arguments = FieldTable::default();
        if durable {
            arguments.insert("x-expires".into(), AMQPValue::LongInt(QUEUE_EXPIRY_MS));
        }
        let state = consuming.queue_declare(queue.clone(), options, arguments).await?;
        for binding in bindings {
            let (exchange, options) = (self.names.exchange.clone(), QueueBindOptions::default());
            consuming.queue_bind(queue.clone(), exchange, "".into(), options, binding.clone()).await?;
        }
        if state.consumer_count() > 0 {
            return Ok(());
        }
        let options = BasicConsumeOptions { no_ack: !durable, ..BasicConsumeOptions::default() };
        let consumer = consuming.basic_consume(queue, "".into(), options, FieldTable::default()).await?;
        let (sink, shared) = (Arc::clone(&self.sink), Arc::clone(&self.shared));
        let (commands, generation) = (self.commands.clone(), self.generation);
        consumer.set_delegate(move |delivery: DeliveryResult| {
            receive(delivery, &*sink, &shared, &commands, generation, durable, &audience);
            std::future::ready(())
        });
        Ok(())
    }

    /// Processes commands until the session fails, and returns why; `None` when this broker is dropped.
    async fn serve(&mut self, session: &Session, commands: &mut UnboundedReceiver<Command>) -> Option<String> {
        let again: Vec<_> = self.unconfirmed.iter().map(|(number, event)| (*number, Arc::clone(event))).collect();
        for batch in again.chunks(MAX_BATCH) {
            if let Err(error) = self.send_all(session, batch, true).await {
                return Some(error.to_string());
            }
        }
        let mut next = None;
        loop {
            let command = match next.take() {
                Some(command) => command,
                None => commands.recv().await?,
            };
            let done = match command {
                Command::Publish(event) => {
                    let mut batch = vec![self.number(event)];
                    // a frame is written by another thread, and each would be waited for: what waits is written together
                    while next.is_none() && batch.len() < MAX_BATCH {
                        match commands.try_recv() {
                            Ok(Command::Publish(event)) => batch.push(self.number(event)),
                            Ok(Command::Confirmed(number, true)) => self.confirm(number),
                            Ok(other) => next = Some(other),
                            Err(_) => break,
                        }
                    }
                    let sent = self.send_all(session, &batch, false).await;
                    if let Some(command) = next.take_if(|_| sent.is_err()) {
                        // it is for the time without a connection
                        let _ = self.commands.send(command);
                    }
                    sent
                }
                Command::Confirmed(number, true) => {
                    self.confirm(number);
                    Ok(())
                }
                // it is published again after the pause before the next session, not at once: RabbitMQ is short of something
                Command::Confirmed(_, false) => return Some("it has refused to store an event".into()),
                Command::Acknowledge(generation, acker) if generation == self.generation => {
                    acker.ack(BasicAckOptions::default()).await.map(drop)
                }
                Command::Acknowledge(..) => Ok(()),
                Command::Subscribe(key, subscriber, criteria, reply) => {
                    let bound = self.bind(session, &subscriber, &criteria).await;
                    let answer = bound.as_ref().map(drop).map_err(|error| self.refused(error));
                    // who does not wait any longer has no subscription
                    if reply.send(answer).is_ok() && bound.is_ok() {
                        // a subscription that was changed leaves its former queue or bindings
                        match self.subscriptions.insert(key, (subscriber, criteria)) {
                            Some((subscriber, criteria)) => self.release(session, &subscriber, &criteria).await,
                            None => Ok(()),
                        }
                    } else {
                        bound
                    }
                }
                Command::Unsubscribe(key) => self.unbind(session, key).await,
                Command::Lost(generation, reason) if generation == self.generation => return Some(reason),
                Command::Lost(..) => Ok(()),
                Command::Stop => return None,
            };
            if let Err(error) = done {
                return Some(error.to_string());
            }
        }
    }

    fn refused(&self, error: &lapin::Error) -> BrokerError {
        BrokerError::Refused { address: self.address.clone(), reason: error.to_string() }
    }

    fn confirm(&mut self, number: u64) {
        if self.unconfirmed.remove(&number).is_some() {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Gives an event its number; it is kept until it is confirmed, if it is to be.
    fn number(&mut self, event: Arc<Event>) -> (u64, Arc<Event>) {
        self.last_event += 1;
        if self.config.is_acknowledged {
            self.unconfirmed.insert(self.last_event, Arc::clone(&event));
        } else {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        (self.last_event, event)
    }

    /// Publishes events in their order, and waits once for all.
    async fn send_all(
        &self,
        session: &Session,
        events: &[(u64, Arc<Event>)],
        is_again: bool,
    ) -> Result<(), lapin::Error> {
        let mut sending = Vec::with_capacity(events.len());
        for (number, event) in events {
            sending.push(Some(Box::pin(self.send(session, *number, event, is_again))));
        }
        // a future has queued its frames when it was polled for the first time
        let sent = std::future::poll_fn(|context| {
            let mut is_over = true;
            for place in &mut sending {
                let Some(future) = place else { continue };
                match future.as_mut().poll(context) {
                    Poll::Ready(result) => {
                        result?;
                        *place = None;
                    }
                    Poll::Pending => is_over = false,
                }
            }
            if is_over { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await;
        if sent.is_err() && !self.config.is_acknowledged {
            let lost = sending.iter().flatten().count() as u64;
            self.shared.lost.fetch_add(lost, Ordering::Relaxed);
        }
        sent
    }

    /// Publishes an event.
    async fn send(&self, session: &Session, number: u64, event: &Event, is_again: bool) -> Result<(), lapin::Error> {
        let Ok(payload) = serde_json::to_vec(event) else { return Ok(()) };
        let mut headers = match self.config.topology {
            Topology::Shared => FieldTable::default(),
            Topology::PerSubscriber => headers(event),
        };
        if is_again {
            headers.insert(REPUBLISHED.into(), AMQPValue::Boolean(true));
        }
        let mut properties = BasicProperties::default().with_headers(headers);
        if self.config.is_acknowledged {
            properties = properties.with_delivery_mode(PERSISTENT);
        }
        let (exchange, options) = (self.names.exchange.clone(), BasicPublishOptions::default());
        let confirmed = session.publishing.basic_publish(exchange, "".into(), options, &payload, properties).await?;
        self.shared.published.fetch_add(1, Ordering::Relaxed);
        if self.config.is_acknowledged {
            let commands = self.commands.clone();
            tokio::spawn(async move {
                // a session that fails publishes it again
                if let Ok(confirmation) = confirmed.await {
                    let _ = commands.send(Command::Confirmed(number, confirmation.is_ack()));
                }
            });
        }
        Ok(())
    }

    /// Removes what the subscription alone has.
    async fn unbind(&mut self, session: &Session, key: Key) -> Result<(), lapin::Error> {
        match self.subscriptions.remove(&key) {
            Some((subscriber, criteria)) => self.release(session, &subscriber, &criteria).await,
            None => Ok(()),
        }
    }

    /// Removes the bindings of criteria that no subscription of the subscriber has any longer; with the last one its queue.
    async fn release(&self, session: &Session, subscriber: &str, criteria: &Criteria) -> Result<(), lapin::Error> {
        let queue = self.names.subscriber_queue(subscriber);
        let mut others = self.subscriptions.values().filter(|(other, _)| &**other == subscriber).peekable();
        if others.peek().is_none() {
            return session.consuming.queue_delete(queue, QueueDeleteOptions::default()).await.map(drop);
        }
        let needed: Vec<_> = others.flat_map(|(_, criteria)| bindings(criteria)).collect();
        for binding in bindings(criteria).into_iter().filter(|binding| !needed.contains(binding)) {
            session.consuming.queue_unbind(queue.clone(), self.names.exchange.clone(), "".into(), binding).await?;
        }
        Ok(())
    }

    /// Takes commands until a time, without a connection. Returns whether this broker is dropped.
    async fn wait(&mut self, until: Instant, commands: &mut UnboundedReceiver<Command>) -> bool {
        let alarm = {
            let commands = self.commands.clone();
            let generation = self.generation;
            tokio::spawn(async move {
                sleep_until(until).await;
                let _ = commands.send(Command::Lost(generation, String::new()));
            })
        };
        while let Some(command) = commands.recv().await {
            match command {
                Command::Publish(event) if self.config.is_acknowledged => {
                    self.last_event += 1;
                    self.unconfirmed.insert(self.last_event, event);
                }
                Command::Publish(_) => {
                    self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
                    self.shared.lost.fetch_add(1, Ordering::Relaxed);
                }
                Command::Subscribe(_, _, _, reply) => {
                    let (address, reason) = (self.address.clone(), "no connection; try again later".to_owned());
                    let _ = reply.send(Err(BrokerError::Unreachable { address, reason }));
                }
                Command::Unsubscribe(key) => drop(self.subscriptions.remove(&key)),
                Command::Confirmed(number, true) => self.confirm(number),
                Command::Confirmed(..) | Command::Acknowledge(..) => {}
                Command::Lost(generation, _) if generation == self.generation && Instant::now() >= until => {
                    return false;
                }
                Command::Lost(..) => {}
                Command::Stop => {
                    alarm.abort();
                    return true;
                }
            }
        }
        true
    }

    /// Leaves nothing behind.
    async fn delete_queues(&self, session: &Session) {
        let mut queues: Vec<_> =
            self.subscriptions.values().map(|(subscriber, _)| self.names.subscriber_queue(subscriber)).collect();
        if self.config.topology == Topology::Shared {
            queues.push(self.names.shared_queue());
        }
        for queue in queues {
            // what fails here expires
            let _ = session.consuming.queue_delete(queue, QueueDeleteOptions::default()).await;
        }
    }
}

/// Takes a message.
fn receive(
    delivery: DeliveryResult,
    sink: &dyn Sink,
    shared: &Shared,
    commands: &UnboundedSender<Command>,
    generation: u64,
    is_acknowledged: bool,
    audience: &Audience,
) {
    let delivery = match delivery {
        Ok(Some(delivery)) => delivery,
        Ok(None) => return drop(commands.send(Command::Lost(generation, "the consumer was cancelled".into()))),
        Err(error) => return drop(commands.send(Command::Lost(generation, error.to_string()))),
    };
    shared.received.fetch_add(1, Ordering::Relaxed);
    let headers = delivery.properties.headers().as_ref();
    let is_again = headers.is_some_and(|headers| headers.inner().contains_key(REPUBLISHED));
    let is_redelivered = delivery.redelivered || is_again;
    if is_redelivered {
        shared.redelivered.fetch_add(1, Ordering::Relaxed);
    }
    let acknowledgement = is_acknowledged.then(|| {
        let (acker, commands) = (Some(delivery.acker), commands.clone());
        Acknowledgement::new(Pending { acker, generation, commands })
    });
    match serde_json::from_slice::<Event>(&delivery.data) {
        Ok(event) => {
            let (event, audience) = (Arc::new(event), audience.clone());
            sink.receive(Received { event, audience, acknowledgement, is_redelivered });
        }
        // it is acknowledged, or it would come again for ever
        Err(error) => {
            if let Some(messages) = shared.unreadable.count() {
                warn!(messages, "messages of RabbitMQ are no events, another program has published them: {error}");
            }
        }
    }
}

/// A message that is not acknowledged.
struct Pending {
    acker: Option<Acker>,
    generation: u64,
    commands: UnboundedSender<Command>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(acker) = self.acker.take() {
            let _ = self.commands.send(Command::Acknowledge(self.generation, acker));
        }
    }
}

/// The headers of an event: its type, and one for each cell and UE.
fn headers(event: &Event) -> FieldTable {
    let mut headers = FieldTable::default();
    headers.insert("type".into(), text(&format!("{:?}", event.topic())));
    for cell in event.cells() {
        headers.insert(format!("cell.{}", String::from(cell)).into(), text("1"));
    }
    for id in &event.ue.associate_ids {
        headers.insert(format!("ue.{}.{}", id.kind as u8, id.value).into(), text("1"));
    }
    headers
}

/// The bindings of a subscription: one for each combination of a cell and a UE that it names.
fn bindings(criteria: &Criteria) -> Vec<FieldTable> {
    let binding = |cell: Option<&crate::Cell>, ue: Option<&crate::AssociateId>| {
        let mut arguments = FieldTable::default();
        arguments.insert("x-match".into(), text("all"));
        arguments.insert("type".into(), text(&format!("{:?}", criteria.topic)));
        if let Some(cell) = cell {
            arguments.insert(format!("cell.{}", String::from(*cell)).into(), text("1"));
        }
        if let Some(id) = ue {
            arguments.insert(format!("ue.{}.{}", id.kind as u8, id.value).into(), text("1"));
        }
        arguments
    };
    match (&*criteria.cells, &*criteria.ues) {
        ([], []) => vec![binding(None, None)],
        (cells, []) => cells.iter().map(|cell| binding(Some(cell), None)).collect(),
        ([], ues) => ues.iter().map(|ue| binding(None, Some(ue))).collect(),
        (cells, ues) => cells.iter().flat_map(|cell| ues.iter().map(|ue| binding(Some(cell), Some(ue)))).collect(),
    }
}

fn text(text: &str) -> AMQPValue {
    AMQPValue::LongString(text.into())
}
