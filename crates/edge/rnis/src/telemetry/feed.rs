//! The feed of the page: the readers of its stream, and the notifications that are passed on to them.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rest::{Broadcast, StreamEvent, StreamSender};
use serde_json::json;

use crate::model::TimeStamp;

/// The notifications that are passed on in a second; further ones are only counted.
const PASSED_ON_PER_S: u32 = 20;
/// The longest body that is passed on, in octets.
const MAX_BODY_OCTETS: usize = 16 * 1024;

/// What a reader wants, each a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedTopic {
    /// Totals and latencies, every second.
    Overview = 1,
    /// The subscriptions, every second.
    Subscriptions = 2,
    /// Cells and UEs, every second.
    Network = 4,
    /// Notifications as they are queued.
    Notifications = 8,
}

impl FeedTopic {
    /// All of them.
    pub const ALL: [FeedTopic; 4] =
        [FeedTopic::Overview, FeedTopic::Subscriptions, FeedTopic::Network, FeedTopic::Notifications];

    /// Its name in the query, and of its events.
    pub const fn name(self) -> &'static str {
        match self {
            FeedTopic::Overview => "overview",
            FeedTopic::Subscriptions => "subscriptions",
            FeedTopic::Network => "network",
            FeedTopic::Notifications => "notifications",
        }
    }

    /// Its bit.
    pub const fn bit(self) -> u32 {
        self as u32
    }
}

/// The readers. Without one of notifications, a notification costs an atomic load.
#[derive(Debug, Default)]
pub struct Feed {
    periodic: Broadcast,
    notifications: Broadcast,
    budget: Mutex<Budget>,
}

#[derive(Debug, Default)]
struct Budget {
    second: Option<Instant>,
    passed_on: u32,
    omitted: u64,
}

impl Budget {
    /// Whether another notification is passed on: then the number of those that were omitted before it.
    fn take(&mut self, now: Instant) -> Option<u64> {
        if self.second.is_none_or(|begun| now.saturating_duration_since(begun) >= Duration::from_secs(1)) {
            (self.second, self.passed_on) = (Some(now), 0);
        }
        if self.passed_on >= PASSED_ON_PER_S {
            self.omitted += 1;
            return None;
        }
        self.passed_on += 1;
        Some(std::mem::take(&mut self.omitted))
    }
}

impl Feed {
    /// Adds a reader of topics.
    pub fn add(&self, topics: u32, reader: StreamSender) {
        if topics & FeedTopic::Notifications.bit() != 0 {
            if !self.notifications.is_read() {
                // those that nobody waited for are not missing
                *self.budget.lock().unwrap_or_else(PoisonError::into_inner) = Budget::default();
            }
            self.notifications.add(topics, reader.clone());
        }
        self.periodic.add(topics, reader);
    }

    /// Whether anybody reads what is published every second.
    pub fn is_read(&self) -> bool {
        self.periodic.is_read()
    }

    /// Sends an event to the readers of a topic, if there is one.
    pub fn publish(&self, topic: FeedTopic, create: impl FnOnce() -> StreamEvent) {
        self.periodic.publish(topic.bit(), create);
    }

    /// Passes a notification on that was queued for a number of subscriptions. Its body lacks the closing brace.
    pub fn pass_on(&self, body: &str, subscriptions: usize) {
        if !self.notifications.is_read() {
            return;
        }
        let taken = self.budget.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now());
        let Some(omitted) = taken else { return };
        self.notifications.publish(FeedTopic::Notifications.bit(), || {
            // what is too long is null
            let notification = (body.len() <= MAX_BODY_OCTETS)
                .then(|| serde_json::from_str::<serde_json::Value>(&format!("{body}}}")).ok())
                .flatten();
            let time_ms = TimeStamp::now().to_nanos() / 1_000_000;
            StreamEvent::new(
                "notification",
                &json!({
                    "timeMs": time_ms,
                    "subscriptions": subscriptions,
                    "octets": body.len() + 1,
                    "omitted": omitted,
                    "notification": notification,
                }),
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_beyond_the_budget_of_a_second_are_counted() {
        let (mut budget, now) = (Budget::default(), Instant::now());
        assert!((0..PASSED_ON_PER_S).all(|_| budget.take(now) == Some(0)));
        assert!((0..7).all(|_| budget.take(now + Duration::from_millis(999)).is_none()));
        assert_eq!(budget.take(now + Duration::from_secs(1)), Some(7));
        assert_eq!(budget.take(now + Duration::from_secs(1)), Some(0));
    }
}
