//! Waiting for a file descriptor together with the end of its object.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::status::{FERRIC_ERROR_HANDLE, FERRIC_ERROR_INTERRUPTED, FERRIC_ERROR_TIMEOUT, Failure};

/// The end of an object, which wakes the threads that wait for it.
pub(crate) struct Ending {
    is_set: AtomicBool,
    /// Readable from then on.
    fd: OwnedFd,
}

impl Ending {
    pub fn new() -> Result<Self, Failure> {
        // SAFETY: eventfd(2) takes no pointers
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(Failure::system(format_args!("cannot create an eventfd: {}", io::Error::last_os_error())));
        }
        // SAFETY: the descriptor is open and belongs to nothing else
        Ok(Ending { is_set: AtomicBool::new(false), fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    pub fn set(&self) {
        self.is_set.store(true, Ordering::Release);
        let one = 1_u64.to_ne_bytes();
        // SAFETY: the buffer has its length; the write can only fail at 2^64 - 1
        unsafe { libc::write(self.fd.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Fails if the object has ended.
    pub fn check(&self) -> Result<(), Failure> {
        if self.is_set.load(Ordering::Acquire) { Err(Failure::code(FERRIC_ERROR_HANDLE)) } else { Ok(()) }
    }

    /// Waits until `fd` is readable. Fails at the time `until`, when a signal arrives, or when the object ends.
    pub fn wait(&self, fd: RawFd, until: Option<Instant>) -> Result<(), Failure> {
        let timeout = match until.map(|until| until.saturating_duration_since(Instant::now())) {
            Some(Duration::ZERO) => return Err(Failure::code(FERRIC_ERROR_TIMEOUT)),
            Some(left) => libc::c_int::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(libc::c_int::MAX),
            None => -1,
        };
        let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut entries = [entry(fd), entry(self.fd.as_raw_fd())];
        // SAFETY: the array has two entries
        let ready = unsafe { libc::poll(entries.as_mut_ptr(), 2, timeout) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            return Err(match error.kind() {
                io::ErrorKind::Interrupted => Failure::code(FERRIC_ERROR_INTERRUPTED),
                _ => Failure::system(format_args!("cannot wait for a file descriptor: {error}")),
            });
        }
        self.check()
    }
}

/// The time at which a wait ends: negative is never.
pub(crate) fn deadline(timeout_ms: i32) -> Option<Instant> {
    u64::try_from(timeout_ms).ok().map(|timeout| Instant::now() + Duration::from_millis(timeout))
}
