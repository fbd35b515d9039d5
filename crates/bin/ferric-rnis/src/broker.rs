//! The options of the broker.

use std::sync::Arc;

use anyhow::bail;
use clap::{Args, ValueEnum};
use rnis::{Broker, Embedded, SharedLog, Sink};

/// What moves events from collectors to the processes that serve subscribers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Broker")]
pub struct BrokerArgs {
    /// `embedded`, amqp://USER:PASSWORD@HOST:PORT/VHOST (RabbitMQ), or kafka://HOST:PORT
    #[arg(long, value_name = "URL", default_value = "embedded")]
    broker: String,
    /// Which queues or topics there are
    #[arg(long, value_enum, default_value_t = Topology::Shared)]
    topology: Topology,
    /// Wait for acknowledgements: nothing is lost when the broker restarts, and what may come twice is marked
    #[arg(long)]
    acknowledge: bool,
    /// The prefix of queues, topics and groups: processes with the same one share the work
    #[arg(long, value_name = "NAME", default_value = "rnis")]
    broker_prefix: String,
    /// Partitions of a shared Kafka topic: at most as many processes have work
    #[arg(long, value_name = "N", default_value_t = 8)]
    partitions: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Topology {
    /// One queue or topic, and the matching here
    Shared,
    /// A RabbitMQ queue for each subscriber, or a Kafka topic for each distinct filter
    Subscriber,
}

impl BrokerArgs {
    /// Connects to the broker.
    ///
    /// # Errors
    /// If the URL is malformed or the broker refuses.
    pub fn connect(&self, sink: Arc<dyn Sink>) -> anyhow::Result<Box<dyn Broker>> {
        let BrokerArgs { broker, topology, acknowledge, broker_prefix, .. } = self;
        if broker == "embedded" {
            return Ok(Box::new(Embedded::new(sink)));
        }
        match broker.split_once("://") {
            #[cfg(feature = "rabbitmq")]
            Some(("amqp", _)) => {
                let topology = match topology {
                    Topology::Shared => rnis::Topology::Shared,
                    Topology::Subscriber => rnis::Topology::PerSubscriber,
                };
                let (url, prefix, is_acknowledged) = (broker.clone(), broker_prefix.clone(), *acknowledge);
                let config = rnis::RabbitMqConfig { url, topology, is_acknowledged, prefix };
                Ok(Box::new(rnis::RabbitMq::start(config, sink)?))
            }
            #[cfg(feature = "kafka")]
            Some(("kafka", servers)) => Ok(Box::new(rnis::Kafka::start(self.kafka(servers), sink)?)),
            _ => bail!("--broker {broker}: it is neither `embedded` nor a URL that starts with amqp:// or kafka://"),
        }
    }
    /// The log of what processes share that take events from the same partitions: subscriptions, and the latest state.
    ///
    /// # Errors
    /// If the broker refuses.
    pub fn log(&self) -> anyhow::Result<Option<Box<dyn SharedLog>>> {
        match self.broker.split_once("://") {
            #[cfg(feature = "kafka")]
            Some(("kafka", servers)) if self.topology == Topology::Shared => {
                Ok(Some(Box::new(rnis::KafkaLog::start(&self.kafka(servers))?)))
            }
            _ => Ok(None),
        }
    }

    #[cfg(feature = "kafka")]
    fn kafka(&self, servers: &str) -> rnis::KafkaConfig {
        let topology = match self.topology {
            Topology::Shared => rnis::KafkaTopology::Shared { partitions: self.partitions },
            Topology::Subscriber => rnis::KafkaTopology::PerFilter,
        };
        let (servers, prefix) = (servers.to_owned(), self.broker_prefix.clone());
        rnis::KafkaConfig { servers, topology, is_acknowledged: self.acknowledge, prefix }
    }
}
