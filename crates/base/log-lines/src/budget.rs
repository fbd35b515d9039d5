//! The number of lines per minute that peers may cause, with a share per host.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::warn;

use crate::Host;

const MINUTE: Duration = Duration::from_secs(60);

/// Allows a number of lines per minute for all who share it: clones are one budget.
///
/// A host may use at most half of what the others left in the minute. So one host leaves half of all lines to the others, two
/// hosts leave a quarter, and so on: to silence everybody takes a dozen hosts and more. A tenth more is a reserve for lines that
/// must not be lost ([`LogBudget::allow_important`]), shared in the same way.
///
/// Suppressed lines are counted and reported: once when suppression begins, and when the minute is over.
#[derive(Clone)]
pub struct LogBudget {
    per_minute: u32,
    shared: Arc<Shared>,
}

struct Shared {
    /// Whether lines were suppressed and not reported yet: may be read often.
    has_suppressed: AtomicBool,
    state: Mutex<State>,
}

struct State {
    since: Instant,
    written: u32,
    written_of_reserve: u32,
    suppressed: u64,
    /// The hosts that wrote in this minute: not more than there are lines.
    hosts: HashMap<Host, Share>,
}

/// What a host has used in this minute.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    written: u32,
    written_of_reserve: u32,
    suppressed: u64,
}

impl fmt::Debug for LogBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogBudget").field("per_minute", &self.per_minute).finish_non_exhaustive()
    }
}

impl LogBudget {
    /// A budget of so many lines per minute, and a tenth more for important ones.
    #[must_use]
    pub fn new(per_minute: u32) -> Self {
        let state =
            State { since: Instant::now(), written: 0, written_of_reserve: 0, suppressed: 0, hosts: HashMap::new() };
        let shared = Shared { has_suppressed: AtomicBool::new(false), state: Mutex::new(state) };
        LogBudget { per_minute, shared: Arc::new(shared) }
    }

    /// Returns whether one more line about a peer of `host` is allowed, and counts it.
    #[must_use]
    pub fn allow(&self, host: Host) -> bool {
        self.with(|state| state.allow(Instant::now(), self.per_minute, host))
    }

    /// Returns whether one more line that must not be lost is allowed, and counts it: it may use the reserve. For rare events
    /// of peers that are known, such as the loss of a node that was up.
    #[must_use]
    pub fn allow_important(&self, host: Host) -> bool {
        self.with(|state| state.allow_important(Instant::now(), self.per_minute, host))
    }

    /// Reports the suppressed lines once the minute is over.
    pub fn report_suppressed(&self) {
        if self.has_suppressed() {
            self.with(|state| state.renew(Instant::now()));
        }
    }

    /// Returns the time until suppressed lines are to be reported by [`LogBudget::report_suppressed`].
    #[must_use]
    pub fn report_deadline(&self) -> Option<Duration> {
        self.has_suppressed().then(|| self.with(|state| MINUTE.saturating_sub(state.since.elapsed())))
    }

    /// Reports the suppressed lines at once, at the end of the program.
    pub fn finish(&self) {
        self.with(|state| state.renew(state.since + MINUTE));
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = act(&mut state);
        self.shared.has_suppressed.store(state.suppressed > 0, Ordering::Relaxed);
        result
    }

    fn has_suppressed(&self) -> bool {
        self.shared.has_suppressed.load(Ordering::Relaxed)
    }
}

impl State {
    fn allow(&mut self, now: Instant, per_minute: u32, host: Host) -> bool {
        self.renew(now);
        if self.take(per_minute, host) {
            return true;
        }
        self.suppress(per_minute, host);
        false
    }

    fn allow_important(&mut self, now: Instant, per_minute: u32, host: Host) -> bool {
        self.renew(now);
        if self.take(per_minute, host) {
            return true;
        }
        let left = (per_minute / 10).max(1).saturating_sub(self.written_of_reserve);
        let used = self.hosts.get(&host).map_or(0, |share| share.written_of_reserve);
        if used < left {
            self.written_of_reserve += 1;
            self.hosts.entry(host).or_default().written_of_reserve += 1;
            return true;
        }
        self.suppress(per_minute, host);
        false
    }

    /// Takes a line of the host's share.
    fn take(&mut self, per_minute: u32, host: Host) -> bool {
        let left = per_minute.saturating_sub(self.written);
        let used = self.hosts.get(&host).map_or(0, |share| share.written);
        if used >= left {
            return false;
        }
        self.written += 1;
        self.hosts.entry(host).or_default().written += 1;
        true
    }

    fn suppress(&mut self, per_minute: u32, host: Host) {
        if self.suppressed == 0 {
            warn!(
                %host,
                per_minute,
                "too many log lines about peers of a host: the rest of this minute is suppressed; see max_log_lines"
            );
        }
        self.suppressed += 1;
        // hosts that have not written are only in the sum: their number has no bound
        if let Some(share) = self.hosts.get_mut(&host) {
            share.suppressed += 1;
        }
    }

    /// Begins a new minute if the last one is over, and reports what was suppressed in it.
    fn renew(&mut self, now: Instant) {
        if now.duration_since(self.since) < MINUTE {
            return;
        }
        (self.since, self.written, self.written_of_reserve) = (now, 0, 0);
        let lines = std::mem::take(&mut self.suppressed);
        if lines > 0 {
            let most = self.hosts.iter().max_by_key(|(_, share)| share.suppressed);
            let host = most.filter(|(_, share)| share.suppressed > 0).map(|(host, _)| tracing::field::display(host));
            warn!(most_from = host, lines, "log lines about peers were suppressed");
        }
        self.hosts.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn host(last: u8) -> Host {
        Host::V4(Ipv4Addr::new(192, 0, 2, last))
    }

    fn allowed(state: &mut State, now: Instant, per_minute: u32, host: Host) -> usize {
        (0..10_000).filter(|_| state.allow(now, per_minute, host)).count()
    }

    fn state() -> State {
        let since = Instant::now();
        State { since, written: 0, written_of_reserve: 0, suppressed: 0, hosts: HashMap::new() }
    }

    #[test]
    fn lines_per_minute_are_limited_and_suppressed_ones_counted() {
        let mut state = state();
        let since = state.since;
        let at = |seconds| since + Duration::from_secs(seconds);
        assert_eq!(allowed(&mut state, at(1), 6, host(1)), 3);
        assert!(!state.allow(at(59), 6, host(1)));
        assert_eq!(state.suppressed, 9_998);
        state.renew(at(60));
        assert_eq!(state.suppressed, 0, "reported");
        assert_eq!(allowed(&mut state, at(61), 6, host(1)), 3);
    }

    #[test]
    fn each_host_leaves_half_to_the_others() {
        let mut state = state();
        let now = state.since;
        let shares: Vec<_> = (1..=4).map(|last| allowed(&mut state, now, 6000, host(last))).collect();
        assert_eq!(shares, [3000, 1500, 750, 375]);
        for last in 5..=255 {
            allowed(&mut state, now, 6000, host(last));
        }
        assert!(state.written <= 6000, "{}", state.written);
        assert!(state.hosts.len() <= 6000);
    }

    #[test]
    fn loss_of_a_node_is_logged_when_ordinary_lines_are_used_up() {
        let mut state = state();
        let now = state.since;
        for last in 1..=100 {
            allowed(&mut state, now, 60, host(last));
        }
        assert!(!state.allow(now, 60, host(200)), "used up");
        assert!(state.allow_important(now, 60, host(200)));
        // one host cannot use up the reserve of six either
        let of_one_host = (0..100).filter(|_| state.allow_important(now, 60, host(1))).count();
        assert_eq!(of_one_host, 3);
        assert!(state.allow_important(now, 60, host(201)));
    }

    #[test]
    fn smallest_budget_allows_a_line_of_each_kind() {
        let mut state = state();
        let now = state.since;
        assert_eq!(allowed(&mut state, now, 1, host(1)), 1);
        assert!(state.allow_important(now, 1, host(2)));
        assert!(!state.allow_important(now, 1, host(3)));
    }
}
