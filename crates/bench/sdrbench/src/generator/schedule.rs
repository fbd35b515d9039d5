//! What a thread has planned, by time.
//!
//! Thousands of reports are planned some hundred milliseconds ahead. A wheel of short intervals holds them: adding one is an append, and
//! those of an interval lie together, whereas one heap of all would touch a dozen of its cache lines for each. What is due, and what is
//! planned beyond the wheel, is in heaps.

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

/// The length of an interval, as a power of two in nanoseconds: 131 µs.
const INTERVAL_SHIFT: u32 = 17;
/// Intervals of the wheel: about half a second.
const INTERVALS: usize = 1 << 12;
/// Empty lists that are kept for the next intervals.
const MAX_SPARE: usize = 1 << 10;

/// A time, the node, and what happens to it.
type Entry = (u64, u32, Plan);

/// Plans, of which the earliest is next.
pub(super) struct Schedule {
    /// The plans before `next`: few, unless the thread is late.
    current: BinaryHeap<Reverse<Entry>>,
    /// The first interval of the wheel, counted from the beginning of time.
    next: u64,
    /// The plans of each interval from `next` on, in any order.
    wheel: Vec<Vec<Entry>>,
    /// Plans in the wheel.
    in_wheel: usize,
    /// The plans behind the wheel.
    later: BinaryHeap<Reverse<Entry>>,
    spare: Vec<Vec<Entry>>,
}

fn interval(due_ns: u64) -> u64 {
    due_ns >> INTERVAL_SHIFT
}

fn place(interval: u64) -> usize {
    interval as usize % INTERVALS
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule {
            current: BinaryHeap::new(),
            next: 0,
            wheel: vec![Vec::new(); INTERVALS],
            in_wheel: 0,
            later: BinaryHeap::new(),
            spare: Vec::new(),
        }
    }
}

impl Schedule {
    /// Adds what happens to a node.
    pub fn add(&mut self, due_ns: u64, node: usize, plan: Plan) {
        let (entry, of) = ((due_ns, node as u32, plan), interval(due_ns));
        if of < self.next {
            self.current.push(Reverse(entry));
        } else if of - self.next < INTERVALS as u64 {
            self.add_to_wheel(entry);
        } else {
            self.later.push(Reverse(entry));
        }
    }

    fn add_to_wheel(&mut self, entry: Entry) {
        let list = &mut self.wheel[place(interval(entry.0))];
        if list.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *list = spare;
        }
        list.push(entry);
        self.in_wheel += 1;
    }

    /// The earliest time.
    pub fn next_ns(&self) -> Option<u64> {
        if let Some(Reverse((due_ns, ..))) = self.current.peek() {
            return Some(*due_ns);
        }
        if self.in_wheel == 0 {
            return self.later.peek().map(|Reverse((due_ns, ..))| *due_ns);
        }
        let intervals = (self.next..).take(INTERVALS).map(|interval| &self.wheel[place(interval)]);
        intervals.filter_map(|list| list.iter().map(|(due_ns, ..)| *due_ns).min()).next()
    }

    /// Takes the earliest plan if it is due.
    pub fn pop(&mut self, now_ns: u64) -> Option<(u64, usize, Plan)> {
        if self.next <= interval(now_ns) {
            self.advance(interval(now_ns));
        }
        let Reverse((due_ns, ..)) = self.current.peek()?;
        if *due_ns > now_ns {
            return None;
        }
        self.current.pop().map(|Reverse((due_ns, node, plan))| (due_ns, node as usize, plan))
    }

    /// Moves what is planned until the end of an interval to the current plans.
    fn advance(&mut self, until: u64) {
        while self.next <= until {
            if self.in_wheel == 0 {
                self.next = until + 1;
            } else {
                let mut list = std::mem::take(&mut self.wheel[place(self.next)]);
                self.in_wheel -= list.len();
                self.current.extend(list.drain(..).map(Reverse));
                if list.capacity() > 0 && self.spare.len() < MAX_SPARE {
                    self.spare.push(list);
                }
                self.next += 1;
            }
            self.take_later();
        }
    }

    /// Moves what is not behind the wheel any more.
    fn take_later(&mut self) {
        let end = self.next + INTERVALS as u64;
        while let Some(Reverse(entry)) = self.later.peek().copied()
            && interval(entry.0) < end
        {
            self.later.pop();
            match interval(entry.0) < self.next {
                true => self.current.push(Reverse(entry)),
                false => self.add_to_wheel(entry),
            }
        }
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
    use radio::Random;

    use super::*;

    #[test]
    fn slots_begin_at_multiples_of_their_length() {
        assert_eq!([0, 1, 500, 501].map(|at_ns| at_slot(at_ns, 500)), [0, 500, 500, 1000]);
        assert_eq!([0, 1, 501].map(|at_ns| at_slot(at_ns, 0)), [0, 1, 501]);
    }

    #[test]
    fn plans_are_taken_by_time_when_due() {
        let mut schedule = Schedule::default();
        assert_eq!((schedule.next_ns(), schedule.pop(u64::MAX / 2)), (None, None));
        let mut schedule = Schedule::default();
        for (due_ns, node) in [(30, 1), (10, 2), (20, 3)] {
            schedule.add(due_ns, node, Plan::Connect);
        }
        assert_eq!(schedule.next_ns(), Some(10));
        assert_eq!(schedule.pop(9), None);
        assert_eq!(schedule.pop(25), Some((10, 2, Plan::Connect)));
        schedule.add(5, 4, Plan::Probe);
        assert_eq!(schedule.pop(25), Some((5, 4, Plan::Probe)), "what is planned for the past is next");
        assert_eq!(schedule.pop(25), Some((20, 3, Plan::Connect)));
        assert_eq!((schedule.pop(25), schedule.next_ns()), (None, Some(30)));
    }

    #[test]
    fn order_is_that_of_a_heap_for_any_times_and_pauses() {
        // from nanoseconds to minutes ahead, across the end of the wheel, with pauses longer than it
        for seed in 0..20 {
            let mut random = Random::new(seed, 0);
            let (mut schedule, mut heap) = (Schedule::default(), BinaryHeap::new());
            let mut now_ns = random.next_u64() % 10_000_000_000;
            for node in 0..3000 {
                for _ in 0..random.next_u64() % 3 {
                    let ahead_ns = random.next_u64() % [1, 1000, 1 << 18, 1 << 30, 60_000_000_000][node as usize % 5];
                    let due_ns = (now_ns + ahead_ns).saturating_sub(random.next_u64() % 2000);
                    schedule.add(due_ns, node as usize, Plan::Expire);
                    heap.push(Reverse((due_ns, node, Plan::Expire)));
                }
                assert_eq!(schedule.next_ns(), heap.peek().map(|Reverse((due_ns, ..))| *due_ns));
                now_ns += random.next_u64() % [1, 100_000, 1 << 22, 1 << 24, 1 << 31][random.next_u64() as usize % 5];
                while let Some((due_ns, node, plan)) = schedule.pop(now_ns) {
                    assert_eq!(heap.pop(), Some(Reverse((due_ns, node as u32, plan))));
                }
                assert!(heap.peek().is_none_or(|Reverse((due_ns, ..))| *due_ns > now_ns));
            }
            while let Some(Reverse((due_ns, node, plan))) = heap.pop() {
                assert_eq!(schedule.pop(u64::MAX >> 1), Some((due_ns, node as usize, plan)));
            }
        }
    }
}
