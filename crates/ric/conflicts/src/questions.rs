//! Controls that wait until an arbiter has decided, and the xApps that are arbiters.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use ferric::e2::content::Setting;
use ferric::e2::{Consumer, ConsumerIdentity, NodeId, ReleasedControl, Time};

use crate::decision::Conflict;
use crate::state::Grant;

/// The controls that may wait at a time. One xApp has as many as stay free at most.
const MAX_QUESTIONS: usize = 64;

/// A control that waits.
#[derive(Debug)]
pub(crate) struct Question {
    /// The number of the control.
    pub number: u64,
    pub asked: SystemTime,
    pub xapp: Arc<str>,
    pub identity: Option<ConsumerIdentity>,
    pub node: NodeId,
    pub node_name: String,
    pub settings: Vec<Setting>,
    pub conflict: Conflict,
    pub deadline: Time,
    pub accepts_by_default: bool,
    pub grants: Vec<Grant>,
    pub control: ReleasedControl,
    /// The arbiter that is asked; `None`: REST only.
    pub asked_of: Option<Consumer>,
}

/// An xApp that offers itself as an arbiter, and may be one.
#[derive(Debug)]
struct Arbiter {
    consumer: Consumer,
    name: Arc<str>,
}

/// The controls that wait, oldest first, and those whose question is answered.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    open: Vec<Question>,
    released: VecDeque<ReleasedControl>,
    /// In the order in which they are asked.
    arbiters: Vec<Arbiter>,
    /// Questions that arbiters have not got yet.
    unsent: VecDeque<(Consumer, u64)>,
}

impl Questions {
    /// Adds a question, if there is room, and has an arbiter asked.
    pub fn add(&mut self, mut question: Question) -> bool {
        let own = self.open.iter().filter(|other| other.xapp == question.xapp).count();
        let free = MAX_QUESTIONS - self.open.len();
        if own >= free {
            return false;
        }
        self.assign(&mut question);
        self.open.push(question);
        true
    }

    /// Has the first arbiter asked that is not the xApp itself.
    fn assign(&mut self, question: &mut Question) {
        let other = self.arbiters.iter().find(|arbiter| arbiter.name != question.xapp);
        question.asked_of = other.map(|arbiter| arbiter.consumer);
        // it may have gone back and forth before anybody got it
        self.unsent.retain(|(_, number)| *number != question.number);
        self.unsent.extend(question.asked_of.map(|consumer| (consumer, question.number)));
    }

    /// Has other arbiters asked what nobody, or no arbiter any more, is asked.
    fn assign_again(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        for question in &mut open {
            let is_asked = |consumer| self.arbiters.iter().any(|arbiter| arbiter.consumer == consumer);
            if !question.asked_of.is_some_and(is_asked) {
                self.assign(question);
            }
        }
        self.open = open;
    }

    /// Adds an arbiter. `order` has the names of all that may be one; returns whether this one may.
    pub fn add_arbiter(&mut self, consumer: Consumer, name: &str, order: &[String]) -> bool {
        if !order.iter().any(|other| other == name) {
            return false;
        }
        if !self.arbiters.iter().any(|arbiter| arbiter.consumer == consumer) {
            self.arbiters.push(Arbiter { consumer, name: name.into() });
            self.retain_arbiters(order);
        }
        true
    }

    /// Removes an arbiter: what it was asked others are asked.
    pub fn remove_arbiter(&mut self, consumer: Consumer) {
        self.arbiters.retain(|arbiter| arbiter.consumer != consumer);
        self.assign_again();
    }

    /// Keeps the arbiters of these names, in this order.
    pub fn retain_arbiters(&mut self, order: &[String]) {
        let place = |arbiter: &Arbiter| order.iter().position(|name| **name == *arbiter.name);
        self.arbiters.retain(|arbiter| place(arbiter).is_some());
        self.arbiters.sort_by_key(place);
        self.assign_again();
    }

    /// The name of an arbiter.
    pub fn arbiter(&self, consumer: Consumer) -> Option<Arc<str>> {
        self.arbiters.iter().find(|arbiter| arbiter.consumer == consumer).map(|arbiter| Arc::clone(&arbiter.name))
    }

    /// The names of the arbiters, in the order in which they are asked.
    pub fn arbiters(&self) -> impl Iterator<Item = &str> {
        self.arbiters.iter().map(|arbiter| &*arbiter.name)
    }

    /// The next question that an arbiter has not got yet.
    pub fn poll_unsent(&mut self) -> Option<(Consumer, &Question)> {
        while let Some((consumer, number)) = self.unsent.pop_front() {
            let is_it = |question: &Question| question.number == number && question.asked_of == Some(consumer);
            // it may be answered already
            if let Some(at) = self.open.iter().position(is_it) {
                return Some((consumer, &self.open[at]));
            }
        }
        None
    }

    /// The questions that arbiters have not got yet.
    #[cfg(test)]
    pub fn unsent(&self) -> usize {
        self.unsent.len()
    }

    pub fn open(&self) -> &[Question] {
        &self.open
    }

    pub fn take(&mut self, number: u64) -> Option<Question> {
        let at = self.open.iter().position(|question| question.number == number)?;
        Some(self.open.remove(at))
    }

    pub fn take_due(&mut self, now: Time) -> Option<Question> {
        let at = self.open.iter().position(|question| question.deadline <= now)?;
        Some(self.open.remove(at))
    }

    pub fn take_of_node(&mut self, node: NodeId) -> Vec<Question> {
        self.open.extract_if(.., |question| question.node == node).collect()
    }

    /// Drops the controls of a consumer that is gone. Returns how many questions were open.
    pub fn forget_consumer(&mut self, consumer: Consumer) -> usize {
        let before = self.open.len();
        self.open.retain(|question| question.control.consumer != consumer);
        self.released.retain(|control| control.consumer != consumer);
        let dropped = before - self.open.len();
        self.remove_arbiter(consumer);
        dropped
    }

    /// Has the controller continue with a control.
    pub fn release(&mut self, control: ReleasedControl) {
        self.released.push_back(control);
    }

    pub fn poll_release(&mut self) -> Option<ReleasedControl> {
        self.released.pop_front()
    }

    /// When the controller is to call.
    pub fn poll_timeout(&self) -> Option<Time> {
        if !self.released.is_empty() || !self.unsent.is_empty() {
            return Some(Time::default());
        }
        self.open.iter().map(|question| question.deadline).min()
    }
}
