//! The logical channels that a controller schedules.

use e2sm::llc::LogicalChannelId;
use ferric::agent::{ControllerId, Ue};
use ferric::e2::Time;

use super::source::DelegatedChannel;

/// The delegated channels of a cell. One controller at a time schedules a cell: two would grant the same resource blocks.
#[derive(Debug, Default)]
pub(super) struct Delegations {
    scheduler: Option<ControllerId>,
    channels: Vec<DelegatedChannel>,
    /// The time of the last sign of the controller: a change of its channels, or a decision.
    last_sign: Time,
}

impl Delegations {
    /// The controller that schedules the cell.
    pub fn scheduler(&self) -> Option<ControllerId> {
        self.scheduler
    }

    pub fn channels(&self) -> &[DelegatedChannel] {
        &self.channels
    }

    /// The time of the controller's last sign, if it has channels.
    pub fn last_sign(&self) -> Option<Time> {
        self.scheduler.map(|_| self.last_sign)
    }

    /// Whether a controller schedules a channel in a slot.
    pub fn has(&self, controller: ControllerId, ue: Ue, channel: LogicalChannelId, slot: u64) -> bool {
        let is_it = |held: &DelegatedChannel| {
            (held.ue, held.channel) == (ue, channel) && (held.from..held.until).contains(&slot)
        };
        self.scheduler == Some(controller) && self.channels.iter().any(is_it)
    }

    /// Records a sign of the controller.
    pub fn sign(&mut self, now: Time) {
        self.last_sign = now;
    }

    /// Delegates a channel from a slot on.
    pub fn add(&mut self, controller: ControllerId, ue: Ue, channel: LogicalChannelId, from: u64) {
        self.scheduler = Some(controller);
        // still delegated until later: from then on without end
        let present = self.channels.iter_mut().find(|held| (held.ue, held.channel) == (ue, channel));
        match present {
            Some(held) if held.until >= from => (held.from, held.until) = (held.from.min(from), u64::MAX),
            Some(held) => (held.from, held.until) = (from, u64::MAX),
            None => self.channels.push(DelegatedChannel { ue, channel, from, until: u64::MAX }),
        }
    }

    /// Returns a channel to the base station from a slot on; one that is not delegated is ignored.
    pub fn release(&mut self, ue: Ue, channel: LogicalChannelId, from: u64) {
        for held in self.channels.iter_mut().filter(|held| (held.ue, held.channel) == (ue, channel)) {
            held.until = held.until.min(from);
        }
        self.channels.retain(|held| held.from < held.until);
        self.end_if_empty();
    }

    /// Removes what has ended before a slot, and the channels of UEs that have left. Returns whether something changed.
    pub fn clean(&mut self, next_slot: u64, is_here: impl Fn(Ue) -> bool) -> bool {
        let before = self.channels.len();
        self.channels.retain(|held| held.until > next_slot && is_here(held.ue));
        self.end_if_empty();
        self.channels.len() != before
    }

    /// Returns all channels to the base station.
    pub fn clear(&mut self) {
        self.channels.clear();
        self.scheduler = None;
    }

    fn end_if_empty(&mut self) {
        if self.channels.is_empty() {
            self.scheduler = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: ControllerId = ControllerId(1);
    const OTHER: ControllerId = ControllerId(2);
    const DRB: LogicalChannelId = LogicalChannelId(4);

    #[test]
    fn channel_is_delegated_between_its_slots() {
        let mut delegations = Delegations::default();
        delegations.add(FIRST, Ue(1), DRB, 10);
        delegations.release(Ue(1), DRB, 20);
        let held = |delegations: &Delegations, slot| delegations.has(FIRST, Ue(1), DRB, slot);
        assert_eq!([9, 10, 19, 20].map(|slot| held(&delegations, slot)), [false, true, true, false]);
        assert!(!delegations.has(OTHER, Ue(1), DRB, 15) && !delegations.has(FIRST, Ue(2), DRB, 15));
        // again, before it has ended
        delegations.add(FIRST, Ue(1), DRB, 15);
        assert_eq!([10, 20, 1_000_000].map(|slot| held(&delegations, slot)), [true; 3]);
        delegations.release(Ue(2), DRB, 0);
        assert!(held(&delegations, 30), "another UE's channel");
        delegations.release(Ue(1), DRB, 0);
        assert_eq!((delegations.scheduler(), delegations.channels().len()), (None, 0));
    }

    #[test]
    fn channels_of_absent_ues_end() {
        let mut delegations = Delegations::default();
        for ue in 1..4 {
            delegations.add(FIRST, Ue(ue), DRB, 0);
        }
        assert!(delegations.clean(5, |ue| ue != Ue(2)) && !delegations.clean(5, |_| true));
        assert_eq!(delegations.channels().iter().map(|held| held.ue.0).collect::<Vec<_>>(), [1, 3]);
        delegations.clear();
        assert_eq!(delegations.scheduler(), None);
    }
}
