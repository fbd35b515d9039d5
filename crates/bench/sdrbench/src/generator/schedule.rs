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

/// The next beginning of a slot; the time itself if slots have no length.
pub(super) fn at_slot(at_ns: u64, slot_ns: u64) -> u64 {
    match slot_ns {
        0 => at_ns,
        slot_ns => at_ns.next_multiple_of(slot_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_begin_at_multiples_of_their_length() {
        assert_eq!([0, 1, 500, 501].map(|at_ns| at_slot(at_ns, 500)), [0, 500, 500, 1000]);
        assert_eq!([0, 1, 501].map(|at_ns| at_slot(at_ns, 0)), [0, 1, 501]);
    }

    #[test]
    fn plans_are_taken_by_time_when_due() {
        let mut schedule = Schedule::default();
        for (due_ns, node) in [(30, 1), (10, 2), (20, 3)] {
            schedule.add(due_ns, node, Plan::Connect);
        }
        assert_eq!(schedule.next_ns(), Some(10));
        assert_eq!(schedule.pop(9), None);
        assert_eq!(schedule.pop(25), Some((10, 2, Plan::Connect)));
        assert_eq!(schedule.pop(25), Some((20, 3, Plan::Connect)));
        assert_eq!(schedule.pop(25), None);
    }
}
