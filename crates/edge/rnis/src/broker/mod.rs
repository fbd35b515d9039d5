//! Brokers: what moves events from collectors to the processes that serve subscribers.

mod embedded;
#[cfg(feature = "kafka")]
mod kafka;
#[cfg(feature = "rabbitmq")]
mod rabbitmq;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::criteria::Criteria;
use crate::event::Event;
use crate::matcher::Key;

pub use embedded::Embedded;
#[cfg(feature = "kafka")]
pub use kafka::{Kafka, KafkaConfig, KafkaLog, KafkaTopology};
#[cfg(feature = "rabbitmq")]
pub use rabbitmq::{RabbitMq, RabbitMqConfig, Topology};

/// A broker, or a connection to one. It gives what it receives to the [`Sink`] that it was created with.
pub trait Broker: Send + Sync {
    /// Publishes an event. It does not wait: with acknowledgements the event is kept until the broker has confirmed it.
    ///
    /// # Errors
    /// If too many events wait for the broker. The event is lost for all subscribers, and counted.
    fn publish(&self, event: &Arc<Event>) -> Result<(), BrokerError>;

    /// Learns of a subscription, before its creation is answered. Topologies with one shared queue ignore it; others bind or
    /// create the queues of the subscriber.
    ///
    /// # Errors
    /// If the broker cannot be reached, or refuses.
    fn subscribe(&self, key: Key, subscriber: &str, criteria: &Criteria) -> Result<(), BrokerError>;

    /// Learns of the end of a subscription.
    fn unsubscribe(&self, key: Key);

    /// Its kind, for metrics: one word.
    fn name(&self) -> &'static str {
        "other"
    }

    /// What has happened since its start.
    fn counts(&self) -> BrokerCounts;
}

/// The counters of a broker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BrokerCounts {
    /// Events that it was given; those that were published again count again.
    pub published: u64,
    /// Messages from it.
    pub received: u64,
    /// Events that are lost for all subscribers: the broker was absent, or too many waited for it.
    pub lost: u64,
    /// Messages that may have been delivered before.
    pub redelivered: u64,
    /// Connections, the first one included.
    pub connections: u64,
    /// Events that wait for it, or for its confirmation.
    pub waiting: u64,
}

/// What receives events from a broker: the dispatcher.
pub trait Sink: Send + Sync {
    /// Takes an event; it does not block.
    fn receive(&self, received: Received);
}

/// An event from a broker.
#[derive(Clone, Debug)]
pub struct Received {
    /// The event.
    pub event: Arc<Event>,
    /// Whose it is.
    pub audience: Audience,
    /// The acknowledgement, if the broker waits for one.
    pub acknowledgement: Option<Acknowledgement>,
    /// The broker has delivered it before: subscribers may receive it twice.
    pub is_redelivered: bool,
}

/// Whose event it is.
#[derive(Clone, Debug)]
pub enum Audience {
    /// Of every subscription whose criteria it meets: the topologies with a shared queue. In a service of several processes, those
    /// with a callback.
    All,
    /// Of every subscription whose criteria it meets and whose WebSocket is at this process, of a service of several processes.
    WebSockets,
    /// Of those subscriptions of a subscriber whose criteria it meets: a queue for each subscriber.
    Subscriber(Arc<str>),
    /// Of these subscriptions, whose criteria the broker has compared: a topic for each filter.
    Subscriptions(Arc<[Key]>),
}

/// The pending acknowledgement of an event: it is sent when the last clone is dropped, which is when each subscriber has received
/// the notification, or has lost it by the bounds of its queue.
#[derive(Clone)]
pub struct Acknowledgement(#[allow(dead_code, reason = "its drop is its use")] Arc<dyn Any + Send + Sync>);

impl Acknowledgement {
    /// An acknowledgement that the drop of `guard` sends.
    pub fn new(guard: impl Any + Send + Sync) -> Self {
        Acknowledgement(Arc::new(guard))
    }
}

impl fmt::Debug for Acknowledgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acknowledgement").finish_non_exhaustive()
    }
}

/// Why a broker cannot do something.
#[derive(Debug)]
#[non_exhaustive]
pub enum BrokerError {
    /// It cannot be reached now.
    Unreachable {
        /// Its address.
        address: String,
        /// Why.
        reason: String,
    },
    /// It has refused.
    Refused {
        /// Its address.
        address: String,
        /// Its reason.
        reason: String,
    },
}

impl fmt::Display for BrokerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BrokerError::Unreachable { address, reason } => {
                write!(f, "the broker at {address} cannot be reached: {reason}")
            }
            BrokerError::Refused { address, reason } => write!(f, "the broker at {address} has refused: {reason}"),
        }
    }
}

impl std::error::Error for BrokerError {}

/// Waits for the answer of a broker's thread; `None` if there is none in time. The caller must not be an asynchronous task.
#[cfg(feature = "rabbitmq")]
fn wait<T>(mut answer: tokio::sync::oneshot::Receiver<T>, at_most: std::time::Duration) -> Option<T> {
    let end = std::time::Instant::now() + at_most;
    loop {
        match answer.try_recv() {
            Ok(value) => return Some(value),
            Err(tokio::sync::oneshot::error::TryRecvError::Closed) => return None,
            Err(tokio::sync::oneshot::error::TryRecvError::Empty) if std::time::Instant::now() >= end => return None,
            Err(tokio::sync::oneshot::error::TryRecvError::Empty) => {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    }
}
