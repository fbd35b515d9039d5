//! The scheduling policy of real-time threads.

#![allow(unsafe_code)]

use std::io;

/// Gives the calling thread SCHED_FIFO with a priority of 1 to 99. Needs CAP_SYS_NICE, or a limit RLIMIT_RTPRIO.
///
/// # Errors
/// Those of sched_setscheduler(2): the right is missing, or the control group of the thread has no real-time time.
pub fn set_fifo(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads one structure that lives until it returns; 0 stands for the calling thread, and other memory is not
    // concerned.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
