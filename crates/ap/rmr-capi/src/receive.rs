//! Receiving.

use std::ffi::{c_char, c_int, c_void};
use std::time::Duration;

use crate::buffer::{buffer, received, rmr_free_msg, rmr_mbuf_t, set_errno};
use crate::constants::{RMR_ERR_BADARG, RMR_ERR_RCVFAILED, RMR_ERR_TIMEOUT};
use crate::context::context;

/// Waits for a message; `timeout` is `None` without limit. The old buffer is freed if there is one, else it is returned with the
/// reason.
///
/// # Safety
/// `old` is NULL or was returned by this library.
unsafe fn receive(vctx: *mut c_void, old: *mut rmr_mbuf_t, timeout: Option<Duration>) -> *mut rmr_mbuf_t {
    let found = match context(vctx) {
        None => Err((RMR_ERR_BADARG, libc::EINVAL)),
        Some(context) => match context.endpoint().receive(timeout) {
            Some(message) => Ok(received(context.endpoint(), &message)),
            None => Err((RMR_ERR_TIMEOUT, libc::ETIMEDOUT)),
        },
    };
    let failure = match found {
        Ok(mbuf) if !mbuf.is_null() => {
            // SAFETY: the caller passes NULL or a buffer, and gives it up
            unsafe { rmr_free_msg(old) };
            set_errno(0);
            return mbuf;
        }
        Ok(_) => (RMR_ERR_RCVFAILED, libc::ENOMEM),
        Err(failure) => failure,
    };
    // SAFETY: the caller passes NULL or a buffer
    if let Some(buffer) = unsafe { buffer(old) } {
        buffer.len = 0;
        buffer.set_state(failure.0, failure.1);
    }
    set_errno(failure.1);
    old
}

/// Waits for a message. Returns it, and frees the old buffer; or the old buffer with the reason.
///
/// # Safety
/// `vctx` was returned by `rmr_init`; `old_msg` is NULL or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_rcv_msg(vctx: *mut c_void, old_msg: *mut rmr_mbuf_t) -> *mut rmr_mbuf_t {
    // SAFETY: the caller passes NULL or a buffer
    unsafe { receive(vctx, old_msg, None) }
}

/// The same for at most `ms_to` milliseconds; negative without limit. The state of the old buffer is then RMR_ERR_TIMEOUT.
///
/// # Safety
/// `vctx` was returned by `rmr_init`; `old_msg` is NULL or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_torcv_msg(vctx: *mut c_void, old_msg: *mut rmr_mbuf_t, ms_to: c_int) -> *mut rmr_mbuf_t {
    let timeout = u64::try_from(ms_to).ok().map(Duration::from_millis);
    // SAFETY: the caller passes NULL or a buffer
    unsafe { receive(vctx, old_msg, timeout) }
}

/// As `rmr_torcv_msg`.
///
/// # Safety
/// `vctx` was returned by `rmr_init`; `mbuf` is NULL or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_mt_rcv(vctx: *mut c_void, mbuf: *mut rmr_mbuf_t, max_wait: c_int) -> *mut rmr_mbuf_t {
    // SAFETY: the caller passes NULL or a buffer
    unsafe { rmr_torcv_msg(vctx, mbuf, max_wait) }
}

/// As `rmr_rcv_msg`: the original deprecates it. The expected transaction is not waited for; use `rmr_mt_call`.
///
/// # Safety
/// `vctx` was returned by `rmr_init`; `msg` is NULL or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_rcv_specific(
    vctx: *mut c_void,
    msg: *mut rmr_mbuf_t,
    _expect: *mut c_char,
    _allow2queue: c_int,
) -> *mut rmr_mbuf_t {
    // SAFETY: the caller passes NULL or a buffer
    unsafe { rmr_rcv_msg(vctx, msg) }
}
