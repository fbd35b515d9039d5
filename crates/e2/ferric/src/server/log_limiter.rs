//! A limit for log lines that peers cause. The machines limit those of one peer; this limits those of all peers
//! together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use link::Link;
use tracing::{debug, warn};

const MINUTE: Duration = Duration::from_secs(60);

/// Allows a number of lines per minute for all event loops together. Suppressed lines are counted and reported.
#[derive(Clone)]
pub(super) struct LogLimiter {
    per_minute: u32,
    shared: Arc<Shared>,
}

struct Shared {
    /// Whether lines were suppressed and not reported yet: checked in each iteration of a loop.
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

    /// Returns whether one more line is allowed, and counts it.
    pub fn allow(&self) -> bool {
        self.with(|state| state.allow(Instant::now(), self.per_minute))
    }

    /// Reports the suppressed lines once the minute has passed.
    pub fn report_suppressed(&self) {
        if self.has_suppressed() {
            self.with(|state| state.report_suppressed(Instant::now()));
        }
    }

    /// Returns the time until suppressed lines are to be reported.
    pub fn report_deadline(&self) -> Option<Duration> {
        self.has_suppressed().then(|| self.with(|state| MINUTE.saturating_sub(state.since.elapsed())))
    }

    /// Reports the suppressed lines at once, at the end of the program.
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

    /// Logs the loss of a link.
    pub fn lost(&self, what: &'static str, link: &Link, error: &link::Error) {
        let peer = link.peer();
        match error {
            link::Error::Closed => debug!(%peer, "{what} disconnected"),
            _ if !self.allow() => {}
            link::Error::OutboxFull { .. } => {
                warn!(%peer, %error, "{what} disconnected: it does not read messages that must not be dropped");
            }
            _ => warn!(%peer, %error, "{what} connection closed"),
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
                "too many log lines about peers: the rest of this minute is suppressed; see max_log_lines"
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
        let lines = std::mem::take(&mut self.suppressed);
        if lines > 0 {
            warn!(lines, "log lines about peers were suppressed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_per_minute_are_limited_and_suppressed_ones_counted() {
        let since = Instant::now();
        let mut state = State { since, written: 0, suppressed: 0 };
        let at = |seconds| since + Duration::from_secs(seconds);
        assert_eq!((0..10).filter(|_| state.allow(at(1), 3)).count(), 3);
        assert!(!state.allow(at(59), 3));
        assert_eq!(state.suppressed, 8);
        state.report_suppressed(at(60));
        assert_eq!(state.suppressed, 0, "reported");
        assert_eq!((0..10).filter(|_| state.allow(at(61), 3)).count(), 3);
    }
}
