//! Signals on threads of libraries.
//!
//! This module has unsafe code: calls of the C library.
#![allow(unsafe_code)]

/// Blocks all signals on this thread, and on those that it creates: for a thread of a library, since the signals of a process are for
/// the threads of its program.
pub fn block_signals() {
    // SAFETY: the set is filled before it is read, and the old mask is not wanted
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}
