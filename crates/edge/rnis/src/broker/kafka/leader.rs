//! Which of the processes leads: the one to which Kafka assigns the only partition of a topic without messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use tracing::info;

use super::{ASSIGNMENT, KafkaConfig, SESSION_TIMEOUT_MS, TICK, base, create_topic, refused, unreachable};
use crate::broker::BrokerError;

/// Time for Kafka's answer to the question whether it is there.
const PROBE: Duration = Duration::from_secs(1);
/// A leader that was cut off from Kafka has so long to be assigned the partition again, from Kafka's return.
const GRACE: Duration = Duration::from_secs(3);

/// A candidate, with its thread. It leaves its group when it is dropped, and another one leads at once.
pub struct Candidate {
    is_leader: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Candidate {
    /// Joins the candidates.
    pub fn start(config: &KafkaConfig) -> Result<Self, BrokerError> {
        let topic = format!("{}.leader", config.prefix);
        create_topic(config, &topic, 1, &[])?;
        let mut settings = base(config);
        settings
            .set("group.id", &topic)
            .set("enable.auto.commit", "false")
            .set("session.timeout.ms", SESSION_TIMEOUT_MS)
            .set("partition.assignment.strategy", ASSIGNMENT)
            .set("heartbeat.interval.ms", "1000");
        let consumer: BaseConsumer = settings.create().map_err(|error| refused(config, &error))?;
        consumer.subscribe(&[&topic]).map_err(|error| refused(config, &error))?;
        let (is_leader, stop) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (of_thread, ended) = (Arc::clone(&is_leader), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("kafka leader".into())
            .spawn(move || watch(&consumer, &topic, &of_thread, &ended))
            .map_err(|error| unreachable(config, &format!("the system refuses a thread: {error}")))?;
        Ok(Candidate { is_leader, stop, thread: Some(thread) })
    }

    /// Whether this process leads.
    pub fn is_leader(&self) -> bool {
        self.is_leader.load(Ordering::Acquire)
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(consumer: &BaseConsumer, topic: &str, is_leader: &AtomicBool, stop: &AtomicBool) {
    let mut back_since: Option<Instant> = None;
    while !stop.load(Ordering::Acquire) {
        // there are no messages: it serves the assignment
        let _ = consumer.poll(TICK);
        let leads = consumer.assignment().is_ok_and(|partitions| partitions.count() > 0);
        let led = is_leader.load(Ordering::Acquire);
        let leads = match (led, leads) {
            (_, true) => {
                back_since = None;
                true
            }
            (false, false) => false,
            // without Kafka no other process leads: this one goes on, and its events wait for Kafka
            (true, false) if consumer.fetch_metadata(Some(topic), PROBE).is_err() => {
                back_since = None;
                true
            }
            (true, false) => back_since.get_or_insert_with(Instant::now).elapsed() < GRACE,
        };
        if leads != led {
            info!(
                leads,
                "this process {} the processes that share the broker",
                if leads { "leads" } else { "does not lead" }
            );
            is_leader.store(leads, Ordering::Release);
        }
    }
}
