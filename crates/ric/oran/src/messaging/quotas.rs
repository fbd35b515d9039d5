//! What each xApp over RMR may have of what all of them share.
//!
//! An xApp may have as many as stay free, so that one alone has half and something is left for the next one, and a host at most
//! three quarters: its xApps state their ports themselves.

use std::collections::HashMap;
use std::fmt;
use std::time::Instant;

use log_lines::Host;
use rest::RateLimit;

use super::rights::Sender;

/// Shares of subscriptions, of all xApps.
pub const MAX_SHARES: usize = 8192;
/// Controls that wait for their outcome, of all xApps.
pub const MAX_CONTROLS: usize = 8192;
/// Octets of these controls.
pub const MAX_CONTROL_OCTETS: usize = 2 << 20;
/// Controls per second of an xApp, of the xApps of a host, and of all.
pub const CONTROLS_PER_SECOND: [u32; 3] = [2000, 6000, 8000];
/// Requests for route tables per second of a host.
pub const TABLES_PER_SECOND: u32 = 64;
/// The part of each that one host may have, in percent.
pub(super) const MAX_OF_HOST_PERCENT: usize = 75;
/// What a control counts beyond its own octets.
const CONTROL_OVERHEAD_OCTETS: usize = 64;
/// The senders whose refusals are counted.
const MAX_COUNTED: usize = 1024;

/// Why a sender gets no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exceeded {
    /// The xApp has its share.
    OfXapp { what: &'static str, used: usize },
    /// The xApps of its host have theirs.
    OfHost { what: &'static str, used: usize },
    /// More of something per second than allowed.
    Rate { what: &'static str, whose: &'static str, per_second: u32 },
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exceeded::OfXapp { what, used } => {
                write!(f, "it has {used} {what}, and its share is as many as are free; it has to end some first")
            }
            Exceeded::OfHost { what, used } => {
                write!(f, "the xApps of its host have {used} {what}, {MAX_OF_HOST_PERCENT} % of all; end some first")
            }
            Exceeded::Rate { what, whose, per_second } => {
                write!(f, "more than {per_second} {what} per second of {whose}; send fewer")
            }
        }
    }
}

/// How much of something each sender has.
#[derive(Debug)]
pub(super) struct Shares {
    what: &'static str,
    limit: usize,
    used: usize,
    of: HashMap<Sender, usize>,
    of_hosts: HashMap<Host, usize>,
}

impl Shares {
    pub fn new(what: &'static str, limit: usize) -> Self {
        Shares { what, limit, used: 0, of: HashMap::new(), of_hosts: HashMap::new() }
    }

    /// Whether a sender may have so many more.
    pub fn check(&self, sender: Sender, count: usize) -> Result<(), Exceeded> {
        let Shares { what, limit, used, .. } = *self;
        let host = Host::from(sender.host);
        let of_sender = self.of.get(&sender).copied().unwrap_or(0);
        let of_host = self.of_hosts.get(&host).copied().unwrap_or(0);
        if of_host + count > limit * MAX_OF_HOST_PERCENT / 100 {
            return Err(Exceeded::OfHost { what, used: of_host });
        }
        let free = limit.saturating_sub(used + count);
        if of_sender + count > free {
            return Err(Exceeded::OfXapp { what, used: of_sender });
        }
        Ok(())
    }

    /// Gives a sender so many more.
    pub fn take(&mut self, sender: Sender, count: usize) -> Result<(), Exceeded> {
        self.check(sender, count)?;
        self.used += count;
        *self.of.entry(sender).or_default() += count;
        *self.of_hosts.entry(sender.host.into()).or_default() += count;
        Ok(())
    }

    /// Takes so many of a sender back.
    pub fn give_back(&mut self, sender: Sender, count: usize) {
        self.used -= count;
        lessen(&mut self.of, sender, count);
        lessen(&mut self.of_hosts, Host::from(sender.host), count);
    }
}

fn lessen<K: Eq + std::hash::Hash>(counts: &mut HashMap<K, usize>, key: K, by: usize) {
    let Some(count) = counts.get_mut(&key) else { return };
    *count -= by;
    if *count == 0 {
        counts.remove(&key);
    }
}

/// The controls of all senders.
#[derive(Debug)]
pub(super) struct ControlQuota {
    rates: (RateLimit<Sender>, RateLimit<Host>, RateLimit<()>),
    waiting: Shares,
    octets: Shares,
}

impl Default for ControlQuota {
    fn default() -> Self {
        let [of_xapp, of_host, of_all] = CONTROLS_PER_SECOND;
        ControlQuota {
            rates: (RateLimit::new(of_xapp), RateLimit::new(of_host), RateLimit::new(of_all)),
            waiting: Shares::new("controls that wait for their outcome", MAX_CONTROLS),
            octets: Shares::new("octets of controls that wait for their outcome", MAX_CONTROL_OCTETS),
        }
    }
}

impl ControlQuota {
    /// Admits a control with a payload of so many octets, until [`ControlQuota::ended`].
    pub fn take(&mut self, sender: Sender, octets: usize, now: Instant) -> Result<(), Exceeded> {
        let [of_xapp, of_host, of_all] = CONTROLS_PER_SECOND;
        let exceeded = |whose, per_second| move |_| Exceeded::Rate { what: "controls", whose, per_second };
        self.rates.0.take(sender, now).map_err(exceeded("an xApp", of_xapp))?;
        self.rates.1.take(sender.host.into(), now).map_err(exceeded("a host", of_host))?;
        self.rates.2.take((), now).map_err(exceeded("all xApps over RMR", of_all))?;
        self.waiting.take(sender, 1)?;
        self.octets.take(sender, octets + CONTROL_OVERHEAD_OCTETS).inspect_err(|_| self.waiting.give_back(sender, 1))
    }

    /// A control that was admitted has an outcome.
    pub fn ended(&mut self, sender: Sender, octets: usize) {
        self.waiting.give_back(sender, 1);
        self.octets.give_back(sender, octets + CONTROL_OVERHEAD_OCTETS);
    }
}

/// Counts the refusals of each sender: those at powers of two are reported.
#[derive(Debug, Default)]
pub(super) struct Refusals(HashMap<Sender, u64>);

impl Refusals {
    /// Counts one. Returns the number, if it is to be reported.
    pub fn note(&mut self, sender: Sender) -> Option<u64> {
        if !self.0.contains_key(&sender) && self.0.len() >= MAX_COUNTED {
            self.0.clear();
        }
        let count = self.0.entry(sender).or_default();
        *count += 1;
        count.is_power_of_two().then_some(*count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(host: u8, port: u16) -> Sender {
        Sender::new([10, 0, 0, host].into(), Some(port))
    }

    #[test]
    fn sender_has_half_and_a_host_three_quarters() {
        let mut shares = Shares::new("things", 100);
        let take = |shares: &mut Shares, of: Sender| (0..1000).take_while(|_| shares.take(of, 1).is_ok()).count();
        assert_eq!(take(&mut shares, sender(1, 1)), 50);
        assert_eq!(shares.take(sender(1, 1), 1), Err(Exceeded::OfXapp { what: "things", used: 50 }));
        // many ports of a host are one host
        let others: usize = (2..100).map(|port| take(&mut shares, sender(1, port))).sum();
        assert_eq!(others, 25);
        assert_eq!(shares.take(sender(1, 100), 1), Err(Exceeded::OfHost { what: "things", used: 75 }));
        assert_eq!(take(&mut shares, sender(2, 1)), 12);
        (0..50).for_each(|_| shares.give_back(sender(1, 1), 1));
        assert_eq!(take(&mut shares, sender(2, 1)), 25);
        (0..37).for_each(|_| shares.give_back(sender(2, 1), 1));
        assert_eq!((shares.used, shares.of_hosts.len()), (25, 1));
    }

    #[test]
    fn controls_are_bounded_in_number_octets_and_rate() {
        let (mut quota, now) = (ControlQuota::default(), Instant::now());
        let taken = (0..10_000).take_while(|_| quota.take(sender(1, 1), 100, now).is_ok()).count();
        assert_eq!(taken, CONTROLS_PER_SECOND[0] as usize, "a burst of one second");
        assert!(matches!(quota.take(sender(1, 1), 1, now), Err(Exceeded::Rate { whose: "an xApp", .. })));
        // a large one fits beside them, and a second one does not
        quota.take(sender(1, 2), 500_000, now).unwrap();
        let fault = quota.take(sender(1, 2), 600_000, now);
        assert!(matches!(fault, Err(Exceeded::OfXapp { .. })), "{fault:?}");
        let waiting = quota.waiting.used;
        quota.ended(sender(1, 2), 500_000);
        assert_eq!(quota.waiting.used, waiting - 1, "what was refused does not count");
        quota.take(sender(1, 2), 600_000, now).unwrap();
    }

    #[test]
    fn refusals_are_reported_at_powers_of_two() {
        let mut refusals = Refusals::default();
        let reported: Vec<_> = (0..100).filter_map(|_| refusals.note(sender(1, 1))).collect();
        assert_eq!(reported, [1, 2, 4, 8, 16, 32, 64]);
        for port in 1..=2 * MAX_COUNTED as u16 {
            assert!(refusals.note(sender(2, port)).is_some());
            assert!(refusals.0.len() <= MAX_COUNTED);
        }
    }
}
