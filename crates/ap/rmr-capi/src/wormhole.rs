//! Direct connections, which the interface calls wormholes: to an endpoint, whatever the route table says.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::PoisonError;
use std::time::Duration;

use crate::buffer::{buffer, rmr_mbuf_t, set_errno};
use crate::constants::{RMR_ERR_BADARG, RMR_ERR_NOENDPT, RMR_ERR_WHID, RMR_OK};
use crate::context::{Context, context};
use crate::send::{Outgoing, call, call_id, finish, with};

/// The number of a direct connection.
pub type rmr_whid_t = c_int;

/// The most direct connections of a context.
const MAX_WORMHOLES: usize = 1024;

/// The endpoints of direct connections by their number.
#[derive(Default)]
pub(crate) struct Wormholes(Vec<Option<String>>);

impl Wormholes {
    fn open(&mut self, endpoint: &str) -> Option<usize> {
        if let Some(at) = self.0.iter().position(|known| known.as_deref() == Some(endpoint)) {
            return Some(at);
        }
        let endpoint = Some(endpoint.to_owned());
        match self.0.iter().position(Option::is_none) {
            Some(at) => {
                self.0[at] = endpoint;
                Some(at)
            }
            None if self.0.len() < MAX_WORMHOLES => {
                self.0.push(endpoint);
                Some(self.0.len() - 1)
            }
            None => None,
        }
    }
}

/// The endpoint of a direct connection.
fn endpoint_of(context: &Context, whid: rmr_whid_t) -> Option<String> {
    let wormholes = context.wormholes.lock().unwrap_or_else(PoisonError::into_inner);
    wormholes.0.get(usize::try_from(whid).ok()?)?.clone()
}

/// Opens a direct connection to an endpoint `HOST:PORT`. Returns its number, or -1.
///
/// # Safety
/// `vctx` was returned by `rmr_init`; `target` is NULL or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_wh_open(vctx: *mut c_void, target: *const c_char) -> rmr_whid_t {
    let (Some(context), false) = (context(vctx), target.is_null()) else {
        set_errno(libc::EINVAL);
        return -1;
    };
    // SAFETY: the caller passes a text
    let target = unsafe { CStr::from_ptr(target) }.to_string_lossy();
    if context.endpoint().connect(&target).is_err() {
        set_errno(libc::ECONNREFUSED);
        return -1;
    }
    let at = context.wormholes.lock().unwrap_or_else(PoisonError::into_inner).open(&target);
    set_errno(if at.is_some() { 0 } else { libc::ENOMEM });
    at.and_then(|at| c_int::try_from(at).ok()).unwrap_or(-1)
}

/// Sends a message on a direct connection, which is opened again if it was closed. Returns the buffer as `rmr_send_msg` does.
///
/// # Safety
/// `vctx` was returned by `rmr_init`; `msg` is NULL or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_wh_send_msg(vctx: *mut c_void, whid: rmr_whid_t, msg: *mut rmr_mbuf_t) -> *mut rmr_mbuf_t {
    let send = |context: &Context, buffer: &mut rmr_mbuf_t| {
        let endpoint = context.endpoint();
        match (endpoint_of(context, whid), Outgoing::of(buffer)) {
            (Some(name), Some(outgoing)) => {
                finish(endpoint, buffer, outgoing.without_call().send_to(endpoint, &name));
            }
            (None, _) => buffer.set_state(RMR_ERR_WHID, libc::EINVAL),
            (_, None) => buffer.set_state(RMR_ERR_BADARG, libc::EINVAL),
        }
    };
    // SAFETY: the caller passes valid pointers
    unsafe { with(vctx, msg, send) }
}

/// Sends a message on a direct connection, and waits for its answer as `rmr_mt_call` does.
///
/// # Safety
/// `vctx` was returned by `rmr_init`; `msg` is NULL or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_wh_call(
    vctx: *mut c_void,
    whid: rmr_whid_t,
    msg: *mut rmr_mbuf_t,
    id: c_int,
    max_wait: c_int,
) -> *mut rmr_mbuf_t {
    // SAFETY: the caller passes NULL or a buffer
    let Some(id) = (unsafe { call_id(msg, id) }) else { return msg };
    let Some(name) = context(vctx).and_then(|context| endpoint_of(context, whid)) else {
        // SAFETY: the caller passes NULL or a buffer
        if let Some(buffer) = unsafe { buffer(msg) } {
            buffer.set_state(RMR_ERR_WHID, libc::EINVAL);
        }
        return msg;
    };
    let timeout = u64::try_from(max_wait).ok().map(Duration::from_millis);
    // SAFETY: the caller passes valid pointers
    unsafe { call(vctx, msg, id, timeout, |endpoint, outgoing| outgoing.send_to(endpoint, &name)) }
}

/// Ends a direct connection. The number may be given out again.
///
/// # Safety
/// `vctx` was returned by `rmr_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_wh_close(vctx: *mut c_void, whid: c_int) {
    let (Some(context), Ok(at)) = (context(vctx), usize::try_from(whid)) else { return };
    if let Some(place) = context.wormholes.lock().unwrap_or_else(PoisonError::into_inner).0.get_mut(at) {
        *place = None;
    }
}

/// Returns RMR_OK if a direct connection is open, else why it is not.
///
/// # Safety
/// `vctx` was returned by `rmr_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_wh_state(vctx: *mut c_void, whid: rmr_whid_t) -> c_int {
    let Some(context) = context(vctx) else { return RMR_ERR_BADARG };
    match endpoint_of(context, whid) {
        None => RMR_ERR_WHID,
        Some(name) if context.endpoint().connect(&name).is_ok() => RMR_OK,
        Some(_) => RMR_ERR_NOENDPT,
    }
}
