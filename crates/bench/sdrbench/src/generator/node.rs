//! An agent with its connection.

use ferric::link::{Class, Link, StreamId};

use super::confirmation::Unconfirmed;
use crate::southbound::Agent;

/// An agent of a thread.
pub(super) struct Node {
    pub number: u32,
    pub agent: Box<dyn Agent>,
    pub link: Option<Link>,
    /// Whether the poll reports that it can be written.
    pub wants_write: bool,
    /// The planned time of the connection.
    pub due_ns: u64,
    /// Whether the connection is open, as the machine knows.
    pub is_open: bool,
    pub is_up: bool,
    /// Whether it connects again after a loss.
    pub returns: bool,
    /// Whether it was closed for good.
    pub is_done: bool,
    /// The time limit that is in the schedule.
    pub expires_ns: Option<u64>,
    pub slots: Vec<Slot>,
    pub unconfirmed: Unconfirmed,
    /// Users in the cell, and those that transmit.
    pub users: u16,
    pub active: u16,
}

/// A subscription of an agent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub generation: u32,
    pub is_active: bool,
    pub period_ns: u64,
    /// Reports written.
    pub number: u64,
}

impl Node {
    pub fn new(number: u32, agent: Box<dyn Agent>, ues: u16) -> Self {
        Node {
            number,
            agent,
            link: None,
            wants_write: false,
            due_ns: 0,
            is_open: false,
            is_up: false,
            returns: true,
            is_done: false,
            expires_ns: None,
            slots: Vec::new(),
            unconfirmed: Unconfirmed::default(),
            users: ues,
            active: ues,
        }
    }

    /// The slot with this number.
    pub fn slot(&mut self, slot: u16) -> &mut Slot {
        let at = usize::from(slot);
        if self.slots.len() <= at {
            self.slots.resize(at + 1, Slot::default());
        }
        &mut self.slots[at]
    }

    /// Queues a message of the protocol's procedures.
    pub fn queue(&mut self, message: &[u8]) {
        if let Some(link) = &mut self.link {
            // the end of the connection is reported by the poll
            let _ = link.send(StreamId(0), &[message], Class::Keep);
        }
    }

    /// Sends a report. Returns whether it was taken, and the number of older reports that were dropped for it.
    pub fn report(&mut self, message: &[u8]) -> (bool, u64) {
        let Some(link) = &mut self.link else { return (false, 0) };
        match link.send_now(StreamId(0), &[message], Class::Report) {
            Ok(sent) => (sent.queued, u64::from(sent.dropped_reports)),
            // the end of the connection is reported by the poll
            Err(_) => (false, 0),
        }
    }
}
