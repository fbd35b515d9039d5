//! The one place that reads the clock.

use std::time::{Duration, Instant};

use e2::Time;

/// Counts from when it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub fn new() -> Self {
        Clock(Instant::now())
    }

    pub fn now(self) -> Time {
        // 584 years
        Time::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// How long to wait until the earlier of a machine's deadline and the caller's patience; `None` is for ever.
pub(crate) fn wait(now: Time, deadline: Option<Time>, patience: Option<Duration>) -> Option<Duration> {
    match (deadline.map(|at| at - now), patience) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// A first part of a wait that ends before its end. Linux lets an epoll wait take a thousandth longer, so that it wakes
/// fewer times (`select_estimate_accuracy`): half a millisecond in a second of which reports are late. What is left
/// after this part is short, and so is its delay.
#[cfg(feature = "agent")]
pub(crate) fn most_of(timeout: Duration) -> Duration {
    if timeout < Duration::from_millis(20) { timeout } else { timeout - timeout / 100 }
}
