//! Sending by the route table, answers and calls.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::time::Duration;

use rmr::message::CALL_FLAG;
use rmr::{Header, MessageType};

use crate::buffer::{buffer, received, reset, rmr_free_msg, rmr_mbuf_t, set_errno};
use crate::constants::{RMR_ERR_BADARG, RMR_ERR_NOENDPT, RMR_ERR_RETRY, RMR_ERR_SENDFAILED, RMR_OK};
use crate::context::{Context, context};
use crate::endpoint::{Endpoint, SendError};

/// The call id of `rmr_call`, and its time limit.
const CALL_ID: u8 = 1;
const CALL_TIME: Duration = Duration::from_secs(1);

/// A message that is to be sent, out of a buffer.
pub(crate) struct Outgoing {
    kind: MessageType,
    subscription_id: i32,
    pub transaction: Vec<u8>,
    meid: String,
    /// The source that the buffer states: of a received message, its sender.
    source: String,
    source_address: String,
    trace: Vec<u8>,
    data: Vec<u8>,
    payload: Vec<u8>,
    flags: u32,
}

impl Outgoing {
    /// Reads a buffer.
    pub fn of(buffer: &mut rmr_mbuf_t) -> Option<Self> {
        let (kind, subscription_id, payload) = (MessageType(buffer.mtype), buffer.sub_id, buffer.used_payload());
        let message = buffer.message()?;
        Some(Outgoing {
            kind,
            subscription_id,
            transaction: message.transaction.to_vec(),
            meid: message.meid().to_owned(),
            source: message.source().to_owned(),
            source_address: message.source_address().to_owned(),
            trace: message.trace.to_vec(),
            data: message.data.to_vec(),
            payload,
            flags: message.flags & !CALL_FLAG,
        })
    }

    /// Makes it no part of a call.
    pub fn without_call(mut self) -> Self {
        if let Some(id) = self.data.first_mut() {
            *id = 0;
        }
        self
    }

    /// Makes it the request of a call.
    pub fn with_call(mut self, id: u8) -> Self {
        self.flags |= CALL_FLAG;
        self.data.resize(self.data.len().max(4), 0);
        self.data[0] = id;
        self
    }

    fn header<'a>(&'a self, endpoint: &'a Endpoint) -> Header<'a> {
        Header {
            kind: self.kind,
            subscription_id: self.subscription_id,
            transaction: &self.transaction,
            meid: &self.meid,
            source: &endpoint.options().name,
            source_address: endpoint.address(),
            flags: self.flags,
            trace: &self.trace,
            data: &self.data,
        }
    }

    /// Sends it by the route table.
    pub fn send(&self, endpoint: &Endpoint) -> Result<(), SendError> {
        endpoint.send(&self.header(endpoint), &self.payload)
    }

    /// Sends it to an endpoint.
    pub fn send_to(&self, endpoint: &Endpoint, name: &str) -> Result<(), SendError> {
        endpoint.send_to(name, &self.header(endpoint), &self.payload)
    }

    /// Returns it to its sender: on the connection that it came on, or to the endpoint that it states.
    fn give_back(&self, endpoint: &Endpoint, connection: Option<u64>) -> Result<(), SendError> {
        let header = self.header(endpoint);
        if let Some(connection) = connection.filter(|connection| endpoint.is_open(*connection)) {
            return endpoint.send_on(connection, &header, &self.payload);
        }
        let stated = [&self.source, &self.source_address].into_iter().filter(|name| !name.is_empty());
        let mut result = Err(SendError::NoEndpoint);
        for name in stated {
            result = endpoint.send_to(name, &header, &self.payload);
            if result != Err(SendError::NoEndpoint) {
                break;
            }
        }
        result
    }
}

/// The state and errno of an outcome.
fn state_of(error: SendError) -> (c_int, c_int) {
    match error {
        SendError::NoEndpoint => (RMR_ERR_NOENDPT, libc::ENXIO),
        SendError::Retry => (RMR_ERR_RETRY, libc::EAGAIN),
        SendError::Failed => (RMR_ERR_SENDFAILED, libc::ECONNRESET),
    }
}

/// Sets the outcome of sending a buffer. One that was sent is as new.
pub(crate) fn finish(endpoint: &Endpoint, buffer: &mut rmr_mbuf_t, result: Result<(), SendError>) {
    match result {
        Ok(()) => reset(endpoint, buffer),
        Err(error) => {
            let (state, errno) = state_of(error);
            buffer.set_state(state, errno);
        }
    }
}

/// Passes a context and a buffer on; otherwise the buffer gets the state RMR_ERR_BADARG.
///
/// # Safety
/// `vctx` is NULL or was returned by `rmr_init`; `msg` is NULL or was returned by this library.
pub(crate) unsafe fn with(
    vctx: *mut c_void,
    msg: *mut rmr_mbuf_t,
    run: impl FnOnce(&'static Context, &mut rmr_mbuf_t),
) -> *mut rmr_mbuf_t {
    let context = context(vctx);
    // SAFETY: the caller passes NULL or a buffer
    match (context, unsafe { buffer(msg) }) {
        (Some(context), Some(buffer)) => run(context, buffer),
        (None, Some(buffer)) => buffer.set_state(RMR_ERR_BADARG, libc::EINVAL),
        (_, None) => set_errno(libc::EINVAL),
    }
    msg
}

/// Sends a message by the route table. Returns the buffer: as new, or with the reason why it was not sent.
///
/// # Safety
/// `vctx` was returned by `rmr_init`; `msg` is NULL or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_send_msg(vctx: *mut c_void, msg: *mut rmr_mbuf_t) -> *mut rmr_mbuf_t {
    let send = |context: &Context, buffer: &mut rmr_mbuf_t| {
        let endpoint = context.endpoint();
        match Outgoing::of(buffer) {
            Some(outgoing) => finish(endpoint, buffer, outgoing.without_call().send(endpoint)),
            None => buffer.set_state(RMR_ERR_BADARG, libc::EINVAL),
        }
    };
    // SAFETY: the caller passes valid pointers
    unsafe { with(vctx, msg, send) }
}

/// As `rmr_send_msg`; the timeout has no effect.
///
/// # Safety
/// As for `rmr_send_msg`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_mtosend_msg(vctx: *mut c_void, msg: *mut rmr_mbuf_t, _max_to: c_int) -> *mut rmr_mbuf_t {
    // SAFETY: the caller passes valid pointers
    unsafe { rmr_send_msg(vctx, msg) }
}

/// Returns a received message to its sender, with the type and the payload that it has now. The buffer stays as it is, with the
/// outcome, so that it can be returned again.
///
/// # Safety
/// `vctx` was returned by `rmr_init`; `msg` is NULL or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_rts_msg(vctx: *mut c_void, msg: *mut rmr_mbuf_t) -> *mut rmr_mbuf_t {
    let give_back = |context: &Context, buffer: &mut rmr_mbuf_t| {
        let connection = u64::try_from(buffer.rts_fd).ok();
        let result = match Outgoing::of(buffer) {
            Some(outgoing) => outgoing.give_back(context.endpoint(), connection),
            None => Err(SendError::NoEndpoint),
        };
        let (state, errno) = result.map_or_else(state_of, |()| (RMR_OK, 0));
        buffer.set_state(state, errno);
    };
    // SAFETY: the caller passes valid pointers
    unsafe { with(vctx, msg, give_back) }
}

/// Sends `outgoing` as a call, and waits for the answer. Returns it and frees the buffer; NULL if there is no answer in time; or
/// the buffer with the reason why the message was not sent.
///
/// # Safety
/// `msg` is NULL or was returned by this library.
pub(crate) unsafe fn call(
    vctx: *mut c_void,
    msg: *mut rmr_mbuf_t,
    id: u8,
    timeout: Option<Duration>,
    send: impl FnOnce(&Endpoint, &Outgoing) -> Result<(), SendError>,
) -> *mut rmr_mbuf_t {
    let mut answer = None;
    let run = |context: &Context, buffer: &mut rmr_mbuf_t| {
        let endpoint = context.endpoint();
        let Some(outgoing) = Outgoing::of(buffer).map(|outgoing| outgoing.with_call(id)) else {
            return buffer.set_state(RMR_ERR_BADARG, libc::EINVAL);
        };
        match endpoint.call(id, &outgoing.transaction, timeout, || send(endpoint, &outgoing)) {
            Ok(found) => answer = Some(found.map(|message| received(endpoint, &message))),
            Err(error) => {
                let (state, errno) = state_of(error);
                buffer.set_state(state, errno);
            }
        }
    };
    // SAFETY: the caller passes valid pointers
    let msg = unsafe { with(vctx, msg, run) };
    let Some(answer) = answer else { return msg };
    // SAFETY: the buffer is given up
    unsafe { rmr_free_msg(msg) };
    match answer {
        Some(message) => {
            set_errno(0);
            message
        }
        None => {
            set_errno(libc::ETIMEDOUT);
            ptr::null_mut()
        }
    }
}

/// Checks the call id of a program: 2 to 255.
///
/// # Safety
/// `msg` is NULL or was returned by this library.
pub(crate) unsafe fn call_id(msg: *mut rmr_mbuf_t, id: c_int) -> Option<u8> {
    let id = u8::try_from(id).ok().filter(|id| *id > CALL_ID);
    // SAFETY: the caller passes NULL or a buffer
    if let (None, Some(buffer)) = (id, unsafe { buffer(msg) }) {
        buffer.set_state(RMR_ERR_BADARG, libc::EINVAL);
    }
    id
}

/// Sends a message by the route table, and waits up to a second for the answer with its transaction id.
///
/// # Safety
/// `vctx` was returned by `rmr_init`; `msg` is NULL or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_call(vctx: *mut c_void, msg: *mut rmr_mbuf_t) -> *mut rmr_mbuf_t {
    // SAFETY: the caller passes valid pointers
    unsafe { call(vctx, msg, CALL_ID, Some(CALL_TIME), |endpoint, outgoing| outgoing.send(endpoint)) }
}

/// Sends a message by the route table, and waits for the answer with its transaction id and call id, 2 to 255, for at most
/// `max_wait` milliseconds; negative without limit. Calls of several threads have different call ids.
///
/// # Safety
/// `vctx` was returned by `rmr_init`; `mbuf` is NULL or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_mt_call(
    vctx: *mut c_void,
    mbuf: *mut rmr_mbuf_t,
    id: c_int,
    max_wait: c_int,
) -> *mut rmr_mbuf_t {
    // SAFETY: the caller passes NULL or a buffer
    let Some(id) = (unsafe { call_id(mbuf, id) }) else { return mbuf };
    let timeout = u64::try_from(max_wait).ok().map(Duration::from_millis);
    // SAFETY: the caller passes valid pointers
    unsafe { call(vctx, mbuf, id, timeout, |endpoint, outgoing| outgoing.send(endpoint)) }
}
