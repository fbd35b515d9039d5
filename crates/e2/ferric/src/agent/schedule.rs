//! The deadlines of all nodes and connections, ordered by time, so that only those that have expired are visited.

use std::collections::BTreeSet;

use e2::Time;

use super::ControllerId;

/// The owner of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DeadlineOwner {
    /// The functions of the node with this index.
    Node(usize),
    /// The machine of a controller's connection.
    Controller(ControllerId),
}

/// The deadlines: at most one for each owner.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    by_time: BTreeSet<(Time, DeadlineOwner)>,
}

impl Schedule {
    /// Replaces the deadline `was` of `owner` by `due`.
    pub fn set(&mut self, owner: DeadlineOwner, was: &mut Option<Time>, due: Option<Time>) {
        if *was == due {
            return;
        }
        if let Some(was) = *was {
            self.by_time.remove(&(was, owner));
        }
        if let Some(due) = due {
            self.by_time.insert((due, owner));
        }
        *was = due;
    }

    /// Returns the earliest deadline.
    pub fn next(&self) -> Option<Time> {
        self.by_time.first().map(|(due, _)| *due)
    }

    /// Appends the owners of expired deadlines, earliest first. Deadlines stay until they are replaced.
    pub fn due(&self, now: Time, out: &mut Vec<DeadlineOwner>) {
        out.extend(self.by_time.iter().take_while(|(due, _)| *due <= now).map(|(_, owner)| *owner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_deadline_replaces_the_previous_one() {
        let (mut schedule, mut node, mut controller) = (Schedule::default(), None, None);
        let at = |nanos| Some(Time::from_nanos(nanos));
        schedule.set(DeadlineOwner::Node(3), &mut node, at(20));
        schedule.set(DeadlineOwner::Controller(ControllerId(1)), &mut controller, at(10));
        assert_eq!(schedule.next(), at(10));
        schedule.set(DeadlineOwner::Controller(ControllerId(1)), &mut controller, at(30));
        let mut due = Vec::new();
        schedule.due(Time::from_nanos(20), &mut due);
        assert_eq!(due, [DeadlineOwner::Node(3)]);
        schedule.set(DeadlineOwner::Node(3), &mut node, None);
        assert_eq!((schedule.next(), node), (at(30), None));
    }
}
