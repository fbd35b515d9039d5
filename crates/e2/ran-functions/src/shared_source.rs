//! Handles of a source, which a RAN function shares with its base station.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

/// A handle of a source that a RAN function shares with its base station.
///
/// With [`Rc<RefCell<S>>`](Rc), function and base station belong to the same thread. With [`Arc<Mutex<S>>`](Arc), the base
/// station may update the source on another thread, and the function is [`Send`] if the source is. A base station with
/// another lock implements this trait for a handle of its own.
///
/// Each call of a function accesses its source once, so that the state of the source does not change during the call. A
/// function never accesses a source that it is accessing already: the handle may be a lock that a thread cannot take twice.
pub trait SharedSource {
    /// What the base station implements: [`KpmSource`](crate::kpm::KpmSource) and so on.
    type Source;

    /// Gives access to the source for reading, until the guard is dropped.
    fn read(&self) -> impl Deref<Target = Self::Source>;

    /// Gives access to the source for reading and writing, until the guard is dropped.
    fn write(&self) -> impl DerefMut<Target = Self::Source>;
}

impl<S> SharedSource for Rc<RefCell<S>> {
    type Source = S;

    #[inline]
    fn read(&self) -> impl Deref<Target = S> {
        self.borrow()
    }

    #[inline]
    fn write(&self) -> impl DerefMut<Target = S> {
        self.borrow_mut()
    }
}

/// A poisoned lock is taken all the same: it means that the base station panicked in one of its threads, and whether the
/// process ends therefore is its decision. The agent continues to serve its controllers with the state that is left.
impl<S> SharedSource for Arc<Mutex<S>> {
    type Source = S;

    #[inline]
    fn read(&self) -> impl Deref<Target = S> {
        self.write()
    }

    #[inline]
    fn write(&self) -> impl DerefMut<Target = S> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn poisoned_lock_is_taken() {
        let source = Arc::new(Mutex::new(1));
        let poisoning = Arc::clone(&source);
        let panicked = thread::spawn(move || {
            let mut source = poisoning.lock().unwrap();
            *source = 2;
            panic!("the base station fails");
        });
        assert!(panicked.join().is_err());
        assert_eq!(*source.read(), 2);
        *source.write() = 3;
        assert_eq!(*source.read(), 3);
    }
}
