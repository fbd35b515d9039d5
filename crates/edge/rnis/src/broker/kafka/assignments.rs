//! What a consumer has to know of the distribution of partitions: which messages another process may have delivered.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rdkafka::ClientContext;
use rdkafka::consumer::{BaseConsumer, ConsumerContext, Rebalance};

/// The partitions of a consumer. Kafka's client calls it while the consumer polls.
#[derive(Debug, Default)]
pub struct Assignments(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Partitions that no process of the group has read.
    unread: BTreeSet<i32>,
    has_partitions: bool,
    /// Partitions that this process has lost since they were asked for.
    revoked: BTreeSet<i32>,
}

impl Assignments {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the partitions that no process has read; the consumer has none yet.
    pub fn begin(&self, unread: BTreeSet<i32>) {
        self.inner().unread = unread;
    }

    /// Whether the first message of a partition can have been read by no other process. It is asked once.
    pub fn is_unread(&self, partition: i32) -> bool {
        self.inner().unread.remove(&partition)
    }

    /// The partitions that were lost since the last call.
    pub fn revoked(&self) -> BTreeSet<i32> {
        std::mem::take(&mut self.inner().revoked)
    }
}

impl ClientContext for Assignments {}

impl ConsumerContext for Assignments {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let mut inner = self.inner();
        match rebalance {
            // the first one: what goes to others is read there
            Rebalance::Assign(partitions) if partitions.count() > 0 && !inner.has_partitions => {
                inner.has_partitions = true;
                let assigned: BTreeSet<i32> = partitions.elements().iter().map(|it| it.partition()).collect();
                inner.unread.retain(|partition| assigned.contains(partition));
            }
            Rebalance::Revoke(partitions) => {
                for element in partitions.elements() {
                    inner.unread.remove(&element.partition());
                    inner.revoked.insert(element.partition());
                }
            }
            _ => {}
        }
    }
}
