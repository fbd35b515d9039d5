//! Lines of the log that peers cause. The machines bound those of one peer; this bounds those of all peers together, however
//! many come.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use link::Link;
use tracing::{debug, warn};

const MINUTE: Duration = Duration::from_secs(60);

/// So many in a minute, for all event loops. What is left out is counted and told.
#[derive(Clone)]
pub(super) struct Lines {
    a_minute: u32,
    shared: Arc<Shared>,
}

struct Shared {
    /// Whether something was left out and not told: what a loop looks at in every turn.
    is_behind: AtomicBool,
    state: Mutex<State>,
}

struct State {
    since: Instant,
    written: u32,
    left_out: u64,
}

impl Lines {
    pub fn new(a_minute: u32) -> Self {
        let state = Mutex::new(State { since: Instant::now(), written: 0, left_out: 0 });
        Lines { a_minute, shared: Arc::new(Shared { is_behind: AtomicBool::new(false), state }) }
    }

    /// Whether there may be one more; it is counted then.
    pub fn take(&self) -> bool {
        self.with(|state| state.take(Instant::now(), self.a_minute))
    }

    /// Tells what was left out, where the minute is over.
    pub fn turn(&self) {
        if self.is_behind() {
            self.with(|state| state.turn(Instant::now()));
        }
    }

    /// When to come back for that.
    pub fn patience(&self) -> Option<Duration> {
        self.is_behind().then(|| self.with(|state| MINUTE.saturating_sub(state.since.elapsed())))
    }

    /// Nothing more comes: tells what was left out until now.
    pub fn end(&self) {
        self.with(|state| state.turn(state.since + MINUTE));
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = act(&mut state);
        self.shared.is_behind.store(state.left_out > 0, Ordering::Relaxed);
        result
    }

    fn is_behind(&self) -> bool {
        self.shared.is_behind.load(Ordering::Relaxed)
    }

    /// Tells how a link was lost.
    pub fn lost(&self, what: &'static str, link: &Link, error: &link::Error) {
        let peer = link.peer();
        match error {
            link::Error::Closed => debug!(%peer, "{what} disconnects"),
            _ if !self.take() => {}
            link::Error::OutboxFull { .. } => {
                warn!(%peer, %error, "{what} disconnected: it does not read what it must be told");
            }
            _ => warn!(%peer, %error, "{what} disconnected"),
        }
    }
}

impl State {
    fn take(&mut self, now: Instant, a_minute: u32) -> bool {
        self.turn(now);
        if self.written < a_minute {
            self.written += 1;
            return true;
        }
        if self.left_out == 0 {
            warn!(a_minute, "peers cause too many lines: the others of this minute are left out; see max_log_lines");
        }
        self.left_out += 1;
        false
    }

    fn turn(&mut self, now: Instant) {
        if now.duration_since(self.since) < MINUTE {
            return;
        }
        (self.since, self.written) = (now, 0);
        let lines = std::mem::take(&mut self.left_out);
        if lines > 0 {
            warn!(lines, "that many lines about peers were left out");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_a_minute_and_the_others_are_counted() {
        let since = Instant::now();
        let mut state = State { since, written: 0, left_out: 0 };
        let at = |seconds| since + Duration::from_secs(seconds);
        assert_eq!((0..10).filter(|_| state.take(at(1), 3)).count(), 3);
        assert!(!state.take(at(59), 3));
        assert_eq!(state.left_out, 8);
        state.turn(at(60));
        assert_eq!(state.left_out, 0, "it was told");
        assert_eq!((0..10).filter(|_| state.take(at(61), 3)).count(), 3);
    }
}
