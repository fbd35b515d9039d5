//! Controls that wait until an arbiter has decided.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use ferric::e2::{Consumer, ConsumerIdentity, NodeId, ReleasedControl, Time};

use crate::decision::Conflict;
use crate::parameters::Setting;
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
}

/// The controls that wait, oldest first, and those whose question is answered.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    open: Vec<Question>,
    released: VecDeque<ReleasedControl>,
}

impl Questions {
    /// Adds a question, if there is room.
    pub fn add(&mut self, question: Question) -> bool {
        let own = self.open.iter().filter(|other| other.xapp == question.xapp).count();
        let free = MAX_QUESTIONS - self.open.len();
        if own >= free {
            return false;
        }
        self.open.push(question);
        true
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
        before - self.open.len()
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
        if !self.released.is_empty() {
            return Some(Time::default());
        }
        self.open.iter().map(|question| question.deadline).min()
    }
}
