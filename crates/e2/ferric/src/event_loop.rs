//! What the event loops of agents, controllers and xApps share: the clock, and a handle that stops them.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(any(feature = "agent", feature = "server"))]
use std::time::{Duration, Instant};

#[cfg(any(feature = "agent", feature = "server"))]
use e2::Time;
use link::{Poll, Waker};

/// The token of a stop handle's event.
pub(crate) const STOP_TOKEN: u64 = u64::MAX;

/// Stops an event loop, from any thread or signal handler thread. Clones stop the same loop.
#[derive(Clone)]
pub struct StopHandle(Arc<Inner>);

struct Inner {
    is_stopped: AtomicBool,
    waker: Waker,
}

impl StopHandle {
    pub(crate) fn new(poll: &Poll) -> io::Result<Self> {
        Ok(StopHandle(Arc::new(Inner { is_stopped: AtomicBool::new(false), waker: Waker::new(poll, STOP_TOKEN)? })))
    }

    /// Stops the loop after its current iteration, and wakes it if it waits.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::Release);
        self.0.waker.wake();
    }

    /// Wakes the loop if it waits, without stopping it.
    #[cfg(feature = "xapp")]
    pub(crate) fn wake(&self) {
        self.0.waker.wake();
    }

    /// What wakes the loop as [`StopHandle::wake`] does.
    #[cfg(feature = "xapp-raw")]
    pub(crate) fn waker(&self) -> Waker {
        self.0.waker.clone()
    }

    /// Returns whether [`StopHandle::stop`] was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped.load(Ordering::Acquire)
    }
}

impl fmt::Debug for StopHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StopHandle").field("is_stopped", &self.is_stopped()).finish()
    }
}

/// The clock of an event loop, which counts from its creation.
#[cfg(any(feature = "agent", feature = "server"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

#[cfg(any(feature = "agent", feature = "server"))]
impl Clock {
    pub fn new() -> Self {
        Clock(Instant::now())
    }

    pub fn now(self) -> Time {
        // u64::MAX ns are 584 years
        Time::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Returns the time until the deadline or the caller's `timeout`, whichever is earlier; `None` without either.
#[cfg(any(feature = "agent", feature = "server"))]
pub(crate) fn time_to_wait(now: Time, deadline: Option<Time>, timeout: Option<Duration>) -> Option<Duration> {
    match (deadline.map(|at| at - now), timeout) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Returns the first part of a wait, which ends before the whole. To save wake-ups, Linux extends a wait of epoll by up to a
/// thousandth of its length (`select_estimate_accuracy`): half a millisecond for reports once a second. The rest of the wait
/// is short, and so is its extension.
#[cfg(feature = "agent")]
pub(crate) fn most_of(timeout: Duration) -> Duration {
    if timeout < Duration::from_millis(20) { timeout } else { timeout - timeout / 100 }
}
