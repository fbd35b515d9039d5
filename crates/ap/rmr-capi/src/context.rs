//! Contexts: endpoints behind a pointer.
//!
//! A context is never freed: `rmr_close` ends its endpoint, and what is done with it later fails. So a thread that waits for a
//! message while another closes the context is safe.

use std::collections::HashSet;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::buffer::set_errno;
use crate::constants::RMR_OK;
use crate::endpoint::Endpoint;
use crate::log;
use crate::options::Options;
use crate::wormhole::Wormholes;

/// The addresses of all contexts, by which other pointers are told from them.
static CONTEXTS: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

/// An endpoint, and what belongs to a context beside it.
pub(crate) struct Context {
    endpoint: Endpoint,
    trace_octets: AtomicUsize,
    pub(crate) wormholes: Mutex<Wormholes>,
}

impl Context {
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Trace data of new buffers.
    pub fn trace_octets(&self) -> usize {
        self.trace_octets.load(Ordering::Relaxed)
    }
}

/// Returns a context; `None` for a pointer that is none.
pub(crate) fn context(vctx: *mut c_void) -> Option<&'static Context> {
    let contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if !contexts.as_ref().is_some_and(|contexts| contexts.contains(&(vctx as usize))) {
        set_errno(libc::EINVAL);
        return None;
    }
    // SAFETY: it is the address of a context, and contexts are never freed
    Some(unsafe { &*vctx.cast::<Context>() })
}

/// Creates a context that listens on a port, such as `4560` or `tcp:4560`. `max_msg_size` is the size of buffers for which none
/// is given. Returns NULL if the port is not available.
///
/// # Safety
/// `proto_port` is NULL, for port 4560, or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_init(proto_port: *mut c_char, max_msg_size: c_int, flags: c_int) -> *mut c_void {
    let port = match proto_port.is_null() {
        true => None,
        // SAFETY: the caller passes a text
        false => Some(unsafe { CStr::from_ptr(proto_port) }.to_string_lossy().into_owned()),
    };
    let payload_octets = if max_msg_size > 0 { max_msg_size as usize } else { 2048 };
    let Some(options) = Options::new(port.as_deref(), payload_octets, flags) else {
        log::line(log::CRITICAL, &format_args!("{port:?} is not a port"));
        set_errno(libc::EINVAL);
        return ptr::null_mut();
    };
    let port = options.port;
    let endpoint = match Endpoint::open(options) {
        Ok(endpoint) => endpoint,
        Err(error) => {
            log::line(log::CRITICAL, &format_args!("cannot listen on port {port}: {error}"));
            set_errno(error.raw_os_error().unwrap_or(libc::EADDRINUSE));
            return ptr::null_mut();
        }
    };
    let context = Context { endpoint, trace_octets: AtomicUsize::new(0), wormholes: Mutex::default() };
    let pointer = Box::into_raw(Box::new(context));
    let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    contexts.get_or_insert_default().insert(pointer as usize);
    pointer.cast()
}

/// Ends a context: its thread, its listener and its connections.
///
/// # Safety
/// `vctx` is NULL or was returned by `rmr_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_close(vctx: *mut c_void) {
    if let Some(context) = context(vctx) {
        context.endpoint.close();
    }
}

/// Returns 1 if a route table is in use, else 0.
///
/// # Safety
/// `vctx` is NULL or was returned by `rmr_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_ready(vctx: *mut c_void) -> c_int {
    context(vctx).is_some_and(|context| context.endpoint.is_ready()).into()
}

/// Sets the trace data of new buffers. Returns 1, or 0 if the context is not valid.
///
/// # Safety
/// `vctx` is NULL or was returned by `rmr_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_init_trace(vctx: *mut c_void, size: c_int) -> c_int {
    let Some(context) = context(vctx) else { return 0 };
    context.trace_octets.store(size.clamp(0, 1 << 16) as usize, Ordering::Relaxed);
    1
}

/// Accepted and without effect: a message that an endpoint does not take at once is refused with `RMR_ERR_RETRY`, or waits within
/// the library. Returns 0, or -1 if the context is not valid.
///
/// # Safety
/// `vctx` is NULL or was returned by `rmr_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_set_stimeout(vctx: *mut c_void, _time: c_int) -> c_int {
    context(vctx).map_or(-1, |_| RMR_OK)
}

/// As `rmr_set_stimeout`; the older name.
///
/// # Safety
/// `vctx` is NULL or was returned by `rmr_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_send_to(vctx: *mut c_void, _time: c_int) -> c_int {
    context(vctx).map_or(-1, |_| RMR_OK)
}

/// Not supported, as by the original: `rmr_torcv_msg` has a timeout. Returns 0.
#[unsafe(no_mangle)]
pub extern "C" fn rmr_set_rtimeout(_vctx: *mut c_void, _time: c_int) -> c_int {
    0
}

/// Not supported, as by the original. Returns 0.
#[unsafe(no_mangle)]
pub extern "C" fn rmr_rcv_to(_vctx: *mut c_void, _time: c_int) -> c_int {
    0
}

/// Without effect: connections always send at once.
#[unsafe(no_mangle)]
pub extern "C" fn rmr_set_low_latency(_vctx: *mut c_void) {}

/// Without effect.
#[unsafe(no_mangle)]
pub extern "C" fn rmr_set_fack(_vctx: *mut c_void) {}

/// Returns a descriptor that can be read while messages wait, for poll(2); -1 if the context is not valid. It is not to be read.
///
/// # Safety
/// `vctx` is NULL or was returned by `rmr_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_rcvfd(vctx: *mut c_void) -> c_int {
    context(vctx).map_or(-1, |context| context.endpoint.descriptor())
}

/// Sets which lines are written to standard error: 0 none, 1 critical, 2 errors, 3 warnings, 4 information, 5 all.
#[unsafe(no_mangle)]
pub extern "C" fn rmr_set_vlevel(new_level: c_int) {
    log::set_level(new_level);
}

/// Counts of received messages.
#[repr(C)]
pub struct rmr_rx_debug_t {
    /// Messages that were dropped, since the program did not take them.
    pub drop: u64,
    /// Messages that were queued.
    pub enqueue: u64,
}

/// Sets the counts to zero. Returns 0, or EINVAL if the context is not valid.
///
/// # Safety
/// `vctx` is NULL or was returned by `rmr_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_reset_rx_debug_count(vctx: *mut c_void) -> c_int {
    let Some(context) = context(vctx) else { return libc::EINVAL };
    context.endpoint.reset_counts();
    0
}

/// Returns the counts in `info`. Returns 0, or EINVAL if a pointer is not valid.
///
/// # Safety
/// `vctx` is NULL or was returned by `rmr_init`; `info` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_rx_debug_info(vctx: *mut c_void, info: *mut rmr_rx_debug_t) -> c_int {
    // SAFETY: the caller passes NULL or a valid pointer
    let (Some(context), Some(info)) = (context(vctx), unsafe { info.as_mut() }) else { return libc::EINVAL };
    (info.enqueue, info.drop) = context.endpoint.counts();
    0
}
