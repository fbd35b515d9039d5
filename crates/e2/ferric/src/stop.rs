//! Ending an event loop from elsewhere.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use link::{Poll, Waker};

/// The token under which an event loop hears of it.
pub(crate) const STOP_TOKEN: u64 = u64::MAX;

/// Ends an event loop, from any thread or a signal's watcher. Clones end the same loop.
#[derive(Clone)]
pub struct StopHandle(Arc<Inner>);

struct Inner {
    stopped: AtomicBool,
    waker: Waker,
}

impl StopHandle {
    pub(crate) fn new(poll: &Poll) -> io::Result<Self> {
        Ok(StopHandle(Arc::new(Inner { stopped: AtomicBool::new(false), waker: Waker::new(poll, STOP_TOKEN)? })))
    }

    /// Ends the loop after the turn that it is in.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Release);
        self.0.waker.wake();
    }

    /// Whether somebody ended it.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Acquire)
    }
}

impl fmt::Debug for StopHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StopHandle").field(&self.is_stopped()).finish()
    }
}
