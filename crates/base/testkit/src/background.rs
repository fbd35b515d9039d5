//! Programs on threads of their own, and waiting for their effects.

use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The longest wait for an event in a test. A loaded machine needs less than a tenth of it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a condition holds.
///
/// # Panics
/// If it does not hold within [`PATIENCE`]; `what` names the condition.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "timed out: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A server or agent loop on a thread of its own. Dropping it stops the loop and fails the test if the thread panicked.
#[derive(Debug)]
pub struct Background<S: Fn()> {
    stop: Option<S>,
    thread: Option<JoinHandle<()>>,
}

/// The sender by which a thread reports that it is ready, with its stop function.
pub type Ready<T, S> = Sender<(T, S)>;

impl<S: Fn() + Send + 'static> Background<S> {
    /// Starts `run` on a thread, where it creates its program, since a program need not be `Send`. `run` sends what the test
    /// needs of the program, and a function that stops it, and then runs it to its end.
    ///
    /// # Panics
    /// If `run` ends or panics before it is ready.
    pub fn start<T: Send + 'static>(run: impl FnOnce(&Ready<T, S>) + Send + 'static) -> (T, Self) {
        let (sender, ready) = mpsc::channel();
        let thread = thread::spawn(move || run(&sender));
        let (value, stop) = ready.recv_timeout(PATIENCE).expect("the thread reports that it is ready");
        (value, Background { stop: Some(stop), thread: Some(thread) })
    }
}

impl<S: Fn()> Drop for Background<S> {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop();
        }
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok() || thread::panicking(), "the thread panicked");
        }
    }
}
