//! The queue of a subscription.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::Notification;

/// A notification that waits in the queues of one or more subscriptions.
#[derive(Debug)]
pub struct Waiting {
    pub notification: Notification,
    /// Latencies count from here. The time of the event is of a clock that may jump, and of another host.
    pub queued: Instant,
}

/// Notifications in their order, and the octets that they are counted with.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: VecDeque<Arc<Waiting>>,
    octets: usize,
}

/// What a notification is counted with. A body that several subscriptions share is counted for each: the bound holds whoever
/// is the last to send it.
pub fn octets_of(waiting: &Waiting) -> usize {
    waiting.notification.body.len() + size_of::<Waiting>()
}

impl Queue {
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn octets(&self) -> usize {
        self.octets
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn push(&mut self, waiting: Arc<Waiting>) {
        self.octets += octets_of(&waiting);
        self.waiting.push_back(waiting);
    }

    /// Takes the oldest.
    pub fn pop(&mut self) -> Option<Arc<Waiting>> {
        let waiting = self.waiting.pop_front()?;
        self.octets -= octets_of(&waiting);
        if self.waiting.is_empty() && self.waiting.capacity() > 64 {
            // memory of a congestion that is over
            self.waiting = VecDeque::new();
        }
        Some(waiting)
    }
}
