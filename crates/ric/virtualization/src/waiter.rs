//! The thread that waits for the links of the agents. They are polled on the event loop of the RIC, which cannot wait for them itself.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ferric::server::IappWaker;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::Timespec;

/// Wakes the internal apps when the agents are to be polled.
pub(crate) struct Waiter(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Interrupts the wait.
    interrupt: OwnedFd,
}

/// What the thread does.
#[derive(Clone, Copy)]
enum State {
    /// It has woken the apps, which have not polled the agents yet.
    Paused,
    /// It is to wait until this time, or without limit.
    Asked(Option<Instant>),
    /// It waits until this time, or without limit.
    Waiting(Option<Instant>),
    Ended,
}

impl Waiter {
    /// Starts the thread, which waits for a descriptor.
    pub fn start(agents: OwnedFd, waker: IappWaker) -> io::Result<Self> {
        let interrupt = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Shared { state: Mutex::new(State::Asked(None)), changed: Condvar::new(), interrupt };
        let shared = Arc::new(shared);
        let of_thread = shared.clone();
        std::thread::Builder::new().name("virtual-nodes".to_owned()).spawn(move || of_thread.run(&agents, &waker))?;
        Ok(Waiter(shared))
    }

    /// Whether the thread has woken the apps, which are to poll the agents.
    pub fn is_paused(&self) -> bool {
        matches!(*self.0.state(), State::Paused)
    }

    /// Waits from now on, for at most `timeout`: the agents have been polled.
    pub fn wait(&self, timeout: Option<Duration>) {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        let is_earlier = |than: Option<Instant>| until.is_some_and(|until| than.is_none_or(|than| until < than));
        let mut state = self.0.state();
        match *state {
            // a wait that ends earlier wakes the apps once more than necessary, which is cheaper than to interrupt it
            State::Waiting(at) if !is_earlier(at) => {}
            _ => {
                *state = State::Asked(until);
                drop(state);
                self.0.interrupt();
            }
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        *self.0.state() = State::Ended;
        self.0.interrupt();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn interrupt(&self) {
        self.changed.notify_one();
        // fails only if it would block: then the thread is interrupted already
        let _ = rustix::io::write(&self.interrupt, &1u64.to_ne_bytes());
    }

    fn run(&self, agents: &OwnedFd, waker: &IappWaker) {
        loop {
            let paused = |state: &mut State| matches!(state, State::Paused);
            let mut state = self.changed.wait_while(self.state(), paused).unwrap_or_else(PoisonError::into_inner);
            let (State::Asked(until) | State::Waiting(until)) = *state else { return };
            // under the lock: what is asked for later interrupts the wait
            let _ = rustix::io::read(&self.interrupt, &mut [0; 8]);
            *state = State::Waiting(until);
            drop(state);
            let timeout = until.map(|until| until.saturating_duration_since(Instant::now())).map(|timeout| Timespec {
                tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: timeout.subsec_nanos().into(),
            });
            let mut descriptors = [PollFd::new(agents, PollFlags::IN), PollFd::new(&self.interrupt, PollFlags::IN)];
            let count = poll(&mut descriptors, timeout.as_ref());
            let is_interrupted = count.is_ok_and(|count| count > 0) && descriptors[0].revents().is_empty();
            if is_interrupted || count.is_err() {
                continue;
            }
            let mut state = self.state();
            if matches!(*state, State::Waiting(_)) {
                *state = State::Paused;
            }
            drop(state);
            waker.wake();
        }
    }
}
