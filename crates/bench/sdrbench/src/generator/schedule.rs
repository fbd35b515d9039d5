//! What a thread has planned, by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Plan {
    /// An agent connects.
    Connect,
    /// An agent reports for a subscription.
    Report {
        /// The subscription.
        slot: u16,
        /// The generation of the slot: a later one has other reports.
        generation: u32,
    },
    /// A time limit of the agent's machine.
    Expire,
    /// A user arrives at an agent.
    Arrival,
    /// A user leaves an agent.
    Departure,
    /// A user moves to the next agent.
    Handover,
    /// A user begins to transmit.
    On,
    /// A user stops to transmit.
    Off,
    /// A share of all agents closes its connections, in thousandths.
    Storm(u16),
    /// The window begins.
    WindowBegins,
    /// The window ends.
    WindowEnds,
    /// The probe is set up again.
    Probe,
    /// The probe closes its connection.
    ProbeEnds,
}

/// Plans, of which the earliest is next.
#[derive(Debug, Default)]
pub(super) struct Schedule(BinaryHeap<Reverse<(u64, u32, Plan)>>);

impl Schedule {
    /// Adds what happens to a node.
    pub fn add(&mut self, due_ns: u64, node: usize, plan: Plan) {
        self.0.push(Reverse((due_ns, node as u32, plan)));
    }

    /// The earliest time.
    pub fn next_ns(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((due_ns, ..))| *due_ns)
    }

    /// Takes the earliest plan if it is due.
    pub fn pop(&mut self, now_ns: u64) -> Option<(u64, usize, Plan)> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.0.pop().map(|Reverse((due_ns, node, plan))| (due_ns, node as usize, plan))
    }
}
