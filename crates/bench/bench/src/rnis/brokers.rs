//! RabbitMQ and Kafka of a measurement: processes of their own, their accounts, and the processors that they may use.

use std::fs;

use anyhow::{Context, ensure};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use testkit::MessageBroker;

use crate::process::Accounts;

/// What is said where there are no brokers.
pub const WITHOUT_BROKERS: &str = "NOT MEASURED: RabbitMQ and Kafka are not there; `crates/edge/rnis/brokers/run COMMAND` runs a \
                                   command where they are";

/// What moves events from the collector to the subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// The broker in the process of the service.
    Embedded,
    /// RabbitMQ with one queue, and the matching in the service.
    RabbitMqShared,
    /// RabbitMQ with a headers exchange and a queue for each subscriber, as paper 003.
    RabbitMqSubscriber,
    /// Kafka with one topic, and the matching in the service.
    KafkaShared,
    /// Kafka with a topic for each filter and a consumer group for each subscriber, as paper 003.
    KafkaSubscriber,
}

impl Arrangement {
    /// All of them.
    pub const ALL: [Arrangement; 5] = [
        Arrangement::Embedded,
        Arrangement::RabbitMqShared,
        Arrangement::RabbitMqSubscriber,
        Arrangement::KafkaShared,
        Arrangement::KafkaSubscriber,
    ];

    /// The name of the broker.
    #[must_use]
    pub fn broker(self) -> &'static str {
        match self {
            Arrangement::Embedded => "embedded",
            Arrangement::RabbitMqShared | Arrangement::RabbitMqSubscriber => "rabbitmq",
            Arrangement::KafkaShared | Arrangement::KafkaSubscriber => "kafka",
        }
    }

    /// The name of the topology: that of the option `--topology`, if the broker has one.
    #[must_use]
    pub fn topology(self) -> &'static str {
        match self {
            Arrangement::Embedded => "in process",
            Arrangement::RabbitMqShared | Arrangement::KafkaShared => "shared",
            Arrangement::RabbitMqSubscriber | Arrangement::KafkaSubscriber => "subscriber",
        }
    }
}

/// The servers of a measurement.
#[derive(Debug)]
pub struct Brokers {
    rabbitmq: MessageBroker,
    kafka: MessageBroker,
}

impl Brokers {
    /// Starts both; `None` where they are not there ([`WITHOUT_BROKERS`]).
    #[must_use]
    pub fn start() -> Option<Self> {
        if !Brokers::are_available() {
            return None;
        }
        let (rabbitmq, kafka) = (MessageBroker::rabbitmq("bench-rabbitmq")?, MessageBroker::kafka("bench-kafka")?);
        Some(Brokers { rabbitmq, kafka })
    }

    /// Whether they can be started.
    #[must_use]
    pub fn are_available() -> bool {
        testkit::brokers_are_available()
    }

    /// The server of an arrangement, if it has one.
    #[must_use]
    pub fn server(&self, arrangement: Arrangement) -> Option<Server<'_>> {
        match arrangement {
            Arrangement::Embedded => None,
            Arrangement::RabbitMqShared | Arrangement::RabbitMqSubscriber => Some(Server { broker: &self.rabbitmq }),
            Arrangement::KafkaShared | Arrangement::KafkaSubscriber => Some(Server { broker: &self.kafka }),
        }
    }

    /// The process groups of both.
    #[must_use]
    pub fn process_groups(&self) -> [u32; 2] {
        [&self.rabbitmq, &self.kafka].map(MessageBroker::process_group)
    }

    /// The URL of an arrangement's server, as the option `--broker` has it.
    pub(super) fn url(&self, arrangement: Arrangement) -> String {
        match arrangement {
            Arrangement::Embedded => "embedded".into(),
            Arrangement::RabbitMqShared | Arrangement::RabbitMqSubscriber => {
                format!("amqp://guest:guest@{}/%2f", self.rabbitmq.address())
            }
            Arrangement::KafkaShared | Arrangement::KafkaSubscriber => format!("kafka://{}", self.kafka.address()),
        }
    }
}

/// A running broker.
#[derive(Clone, Copy, Debug)]
pub struct Server<'b> {
    broker: &'b MessageBroker,
}

impl Server<'_> {
    /// The processes of the broker: its virtual machine and their helpers.
    fn processes(self) -> anyhow::Result<Vec<u32>> {
        let group = self.broker.process_group();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let Some(id) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            // a process may end meanwhile; the command's name, in parentheses, may have spaces
            let Ok(line) = fs::read_to_string(format!("/proc/{id}/stat")) else { continue };
            let after_name = line.rsplit_once(')').map_or("", |(_, rest)| rest);
            // state, parent, group
            if after_name.split_whitespace().nth(2).and_then(|field| field.parse().ok()) == Some(group) {
                found.push(id);
            }
        }
        ensure!(!found.is_empty(), "the broker has ended");
        Ok(found)
    }

    /// The processor time of all its processes until now, in nanoseconds.
    ///
    /// # Errors
    /// If the broker has ended.
    pub fn cpu_ns(self) -> anyhow::Result<u64> {
        // helpers come and go: what has ended is left out
        Ok(self.processes()?.into_iter().filter_map(|id| Accounts::of(id).and_then(Accounts::cpu_ns).ok()).sum())
    }

    /// The resident memory of all its processes, in bytes.
    ///
    /// # Errors
    /// If the broker has ended.
    pub fn rss_bytes(self) -> anyhow::Result<u64> {
        Ok(self.processes()?.into_iter().filter_map(|id| Accounts::of(id).and_then(Accounts::rss_bytes).ok()).sum())
    }

    /// Lets all threads of the broker run on the first `cores` processors only, as `taskset` does; later threads inherit it.
    ///
    /// # Errors
    /// If the broker has ended, or the system refuses.
    pub fn restrict(self, cores: usize) -> anyhow::Result<()> {
        let mut set = CpuSet::new();
        (0..cores).for_each(|core| set.set(core));
        for id in self.processes()? {
            let Ok(threads) = fs::read_dir(format!("/proc/{id}/task")) else { continue };
            for thread in threads {
                let thread = thread?.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
                let thread = thread.context("a thread without a number")?;
                match sched_setaffinity(Some(thread), &set) {
                    // it has ended meanwhile
                    Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                    Err(error) => return Err(error).context("cannot restrict the processors of the broker"),
                }
            }
        }
        Ok(())
    }
}
