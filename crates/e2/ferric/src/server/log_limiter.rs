//! LogLimiter of the log that peers cause. The machines bound those of one peer; this bounds those of all peers together, however
//! many come.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use link::Link;
use tracing::{debug, warn};

const MINUTE: Duration = Duration::from_secs(60);

/// So many in a minute, for all event loops. What is left out is counted and told.
#[derive(Clone)]
pub(super) struct LogLimiter {
    per_minute: u32,
    shared: Arc<Shared>,
}

struct Shared {
    /// Whether something was left out and not told: what a loop looks at in every report_suppressed.
    has_suppressed: AtomicBool,
    state: Mutex<State>,
}

struct State {
    since: Instant,
    written: u32,
    suppressed: u64,
}

impl LogLimiter {
    pub fn new(per_minute: u32) -> Self {
        let state = Mutex::new(State { since: Instant::now(), written: 0, suppressed: 0 });
        LogLimiter { per_minute, shared: Arc::new(Shared { has_suppressed: AtomicBool::new(false), state }) }
    }

    /// Whether there may be one more; it is counted then.
    pub fn allow(&self) -> bool {
        self.with(|state| state.allow(Instant::now(), self.per_minute))
    }

    /// Tells what was left out, where the minute is over.
    pub fn report_suppressed(&self) {
        if self.has_suppressed() {
            self.with(|state| state.report_suppressed(Instant::now()));
        }
    }

    /// When to come back for that.
    pub fn report_deadline(&self) -> Option<Duration> {
        self.has_suppressed().then(|| self.with(|state| MINUTE.saturating_sub(state.since.elapsed())))
    }

    /// Nothing more comes: tells what was left out until now.
    pub fn finish(&self) {
        self.with(|state| state.report_suppressed(state.since + MINUTE));
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

    /// Tells how a link was lost.
    pub fn lost(&self, what: &'static str, link: &Link, error: &link::Error) {
        let peer = link.peer();
        match error {
            link::Error::Closed => debug!(%peer, "{what} disconnects"),
            _ if !self.allow() => {}
            link::Error::OutboxFull { .. } => {
                warn!(%peer, %error, "{what} disconnected: it does not read what it must be told");
            }
            _ => warn!(%peer, %error, "{what} disconnected"),
        }
    }
}

impl State {
    fn allow(&mut self, now: Instant, per_minute: u32) -> bool {
        self.report_suppressed(now);
        if self.written < per_minute {
            self.written += 1;
            return true;
        }
        if self.suppressed == 0 {
            warn!(
                per_minute,
                "peers cause too many log_limiter: the others of this minute are left out; see max_log_lines"
            );
        }
        self.suppressed += 1;
        false
    }

    fn report_suppressed(&mut self, now: Instant) {
        if now.duration_since(self.since) < MINUTE {
            return;
        }
        (self.since, self.written) = (now, 0);
        let log_limiter = std::mem::take(&mut self.suppressed);
        if log_limiter > 0 {
            warn!(log_limiter, "that many log_limiter about peers were left out");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_a_minute_and_the_others_are_counted() {
        let since = Instant::now();
        let mut state = State { since, written: 0, suppressed: 0 };
        let at = |seconds| since + Duration::from_secs(seconds);
        assert_eq!((0..10).filter(|_| state.allow(at(1), 3)).count(), 3);
        assert!(!state.allow(at(59), 3));
        assert_eq!(state.suppressed, 8);
        state.report_suppressed(at(60));
        assert_eq!(state.suppressed, 0, "it was told");
        assert_eq!((0..10).filter(|_| state.allow(at(61), 3)).count(), 3);
    }
}
