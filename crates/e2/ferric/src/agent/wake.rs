//! Wakes an agent loop from other threads.

use std::fmt;
use std::io;

use link::{Poll, Waker};

use super::KIND_WAKE;
use crate::peers;

/// Asks the functions of all nodes of a loop again for their [`RanFunction::next_report`](super::RanFunction::next_report).
/// May be used from any thread.
///
/// A base station on another thread changes the source of its functions and calls [`AgentWaker::wake`]; see
/// [`AgentLoop::waker`](super::AgentLoop::waker).
#[derive(Clone)]
pub struct AgentWaker(Waker);

impl AgentWaker {
    pub(super) fn new(poll: &Poll) -> io::Result<Self> {
        Ok(AgentWaker(Waker::new(poll, peers::token(KIND_WAKE, 0))?))
    }

    /// Wakes the loop. Several calls before its next iteration count as one.
    pub fn wake(&self) {
        self.0.wake();
    }
}

impl fmt::Debug for AgentWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentWaker").finish_non_exhaustive()
    }
}
