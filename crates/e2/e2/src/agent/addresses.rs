//! Which address of the controller the node goes to: several RICs may serve it, one at a time.
//!
//! The configured addresses are tried in their order, from the one that was in use; after all of them have failed there is a pause.
//! A RIC may refuse the setup and name another one's address ([`Target::Directed`]): the node goes there, and back if it is
//! not served there.

use core::time::Duration;

use e2ap::TnlInformation;

use crate::Time;

/// The most directions that are followed one from the other. The next one counts as a refusal.
const MAX_CHAIN: usize = 4;
/// The most directions that are followed without a setup that succeeds, or a pause: RICs that disagree do not keep a node busy.
const MAX_DIRECTIONS: usize = 16;

/// The address that [`AgentEvent::Connect`](super::AgentEvent::Connect) asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// One of the configured addresses ([`AgentConfig::addresses`](super::AgentConfig::addresses)), counted from 0.
    Configured(usize),
    /// The address that a RIC has named, over the same kind of link.
    Directed(&'a TnlInformation<'static>),
}

#[derive(Debug)]
pub(super) struct Addresses {
    /// Of each configured address, the earliest time of the next setup: the time to wait of the RIC there.
    not_before: Vec<Time>,
    current: usize,
    /// The addresses that the RIC at `current`, and those after it, have named; the last one is in use.
    chain: Vec<TnlInformation<'static>>,
    /// Attempts at configured addresses that have failed since the last setup or pause.
    failures: usize,
    /// Directions that were followed since then.
    directions: usize,
    /// The time to wait of a RIC whose address was named.
    directed_not_before: Option<(TnlInformation<'static>, Time)>,
}

impl Addresses {
    pub fn new(count: usize) -> Self {
        Addresses {
            not_before: vec![Time::default(); count.max(1)],
            current: 0,
            chain: Vec::new(),
            failures: 0,
            directions: 0,
            directed_not_before: None,
        }
    }

    pub fn target(&self) -> Target<'_> {
        self.chain.last().map_or(Target::Configured(self.current), Target::Directed)
    }

    /// Whether there is another address than the one in use.
    pub fn has_others(&self) -> bool {
        self.not_before.len() > 1 || !self.chain.is_empty()
    }

    /// The RIC at the address in use must not get a setup before this time.
    pub fn wait_until(&mut self, at: Time) {
        match self.chain.last() {
            Some(tnl) => self.directed_not_before = Some((tnl.clone(), at)),
            None => self.not_before[self.current] = at,
        }
    }

    /// The earliest time of a setup at the address in use.
    pub fn not_before(&self) -> Time {
        match self.target() {
            Target::Configured(at) => self.not_before[at],
            Target::Directed(_) => Time::default(),
        }
    }

    /// Follows the direction of the RIC at the address in use. Returns whether it may be followed.
    pub fn direct(&mut self, now: Time, tnl: &TnlInformation<'static>) -> bool {
        let waits = self.directed_not_before.as_ref().is_some_and(|(of, until)| of == tnl && *until > now);
        if waits || self.chain.len() >= MAX_CHAIN || self.directions >= MAX_DIRECTIONS || self.chain.last() == Some(tnl)
        {
            return false;
        }
        self.directions += 1;
        self.chain.push(tnl.clone());
        true
    }

    /// The setup has succeeded.
    pub fn succeeded(&mut self) {
        (self.failures, self.directions) = (0, 0);
    }

    /// Proceeds to the next address after the one in use has failed or ended. Returns when: `pause` is the time that passes once
    /// all configured ones have failed.
    pub fn next(&mut self, now: Time, pause: impl FnOnce() -> Duration) -> Time {
        if self.chain.pop().is_some() {
            return now.max(self.not_before());
        }
        let count = self.not_before.len();
        self.failures += 1;
        let earliest = if self.failures >= count {
            self.succeeded();
            now + pause()
        } else {
            now
        };
        // the first of those that may be tried first; the one in use comes last
        let in_order = (1..=count).map(|step| (self.current + step) % count);
        self.current = in_order.min_by_key(|at| self.not_before[*at].max(earliest)).unwrap_or(0);
        earliest.max(self.not_before[self.current])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tnl(number: u8) -> TnlInformation<'static> {
        TnlInformation::new([10, 0, 0, number].into(), None)
    }

    #[test]
    fn directions_are_bounded() {
        let (now, mut addresses) = (Time::default(), Addresses::new(1));
        let pause = || Duration::from_secs(1);
        for number in 0..4 {
            assert!(addresses.direct(now, &tnl(number)));
        }
        assert!(!addresses.direct(now, &tnl(4)), "the chain is four deep");
        let followed = (5..20).filter(|number| {
            assert_eq!(addresses.next(now, pause), now);
            addresses.direct(now, &tnl(*number))
        });
        assert_eq!(followed.count(), 12, "16 with those before");
        // until a pause
        while addresses.next(now, pause) == now {}
        assert!(addresses.direct(now, &tnl(5)));
    }

    #[test]
    fn direction_to_a_ric_that_wants_no_setup_yet_is_not_followed() {
        let (now, mut addresses) = (Time::default(), Addresses::new(1));
        assert!(addresses.direct(now, &tnl(1)));
        assert!(!addresses.direct(now, &tnl(1)), "a RIC does not direct to itself");
        let until = now + Duration::from_secs(20);
        addresses.wait_until(until);
        assert_eq!(addresses.next(now, || Duration::from_secs(1)), now);
        assert!(!addresses.direct(now, &tnl(1)) && addresses.direct(until, &tnl(1)));
    }
}
