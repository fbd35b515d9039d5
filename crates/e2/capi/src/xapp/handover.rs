//! Decisions on handovers that nodes begin (E2SM-RC inserts).

use std::ffi::c_char;
use std::mem;
use std::os::raw::c_int;
use std::process;
use std::sync::Arc;

use ferric::xapp::{Answer, Error, HandoverRequest};

use super::control::{ferric_xapp_answer, write_answer};
use super::event::FeedObject;
use super::list::named;
use super::session::{check_process, ferric_xapp, session};
use crate::handle::Table;
use crate::input::{result, text};
use crate::status::{FERRIC_NAME_OCTETS, Failure, ferric_error, guard, guard_real_time};

/// A stream of handovers that wait for a decision.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_handovers {
    /// The number of the object; 0 is none.
    pub id: u64,
}

/// A handover that waits for a decision, until it is accepted, denied or freed.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_handover {
    /// The number of the object; 0 is none.
    pub id: u64,
}

/// A handover that a node has begun.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_handover_request {
    /// Its handle for the decision.
    pub handover: ferric_xapp_handover,
    /// The name of the node.
    pub node: [c_char; FERRIC_NAME_OCTETS],
    /// The UE.
    pub ue: [c_char; FERRIC_NAME_OCTETS],
    /// The cell that the node has chosen.
    pub target: [c_char; 16],
}

/// A handover without a decision.
struct Undecided {
    process: u32,
    request: HandoverRequest,
}

static FEEDS: Table<Arc<FeedObject<HandoverRequest>>> = Table::new(9);
static HANDOVERS: Table<Undecided> = Table::new(10);

/// Requests the decision on each handover that a node begins, also of nodes that come later. A node does not wait for longer than
/// its own timer: without a decision it decides itself.
///
/// # Safety
/// `out` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_handovers_new(
    xapp: ferric_xapp,
    out: *mut ferric_xapp_handovers,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer
        let out = unsafe { result(out, "out") }?;
        let feed = FeedObject::new(session(xapp)?.handover_requests()?)?;
        *out = ferric_xapp_handovers { id: FEEDS.insert(feed)? };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Returns the file descriptor that is readable while handovers wait; -1 if there is no such stream.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_handovers_fd(handovers: ferric_xapp_handovers) -> c_int {
    FeedObject::of(&FEEDS, handovers.id).map_or(-1, |feed| feed.fd())
}

/// Reads the next handover; waits for it for `timeout_ms` as ferric_xapp_kpm_read does, with the same errors. Decide with
/// ferric_xapp_handover_accept, ferric_xapp_handover_accept_to or ferric_xapp_handover_deny, or leave it to the node with
/// ferric_xapp_handover_free. At most FERRIC_MAX_OBJECTS are undecided at a time.
///
/// # Safety
/// `out` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_handovers_read(
    handovers: ferric_xapp_handovers,
    timeout_ms: i32,
    out: *mut ferric_xapp_handover_request,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer
        let out = unsafe { result(out, "out") }?;
        let request = FeedObject::of(&FEEDS, handovers.id)?.read(timeout_ms)?;
        let (node, ue, target) =
            (named(&request.node), named(request.ue.to_string()), named(request.target.to_string()));
        let id = HANDOVERS.insert(Undecided { process: process::id(), request })?;
        *out = ferric_xapp_handover_request { handover: ferric_xapp_handover { id }, node, ue, target };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Decides on a handover, whose handle is freed, and waits for the answer of the node.
///
/// # Safety
/// `answer` and `error` are NULL or valid.
unsafe fn decide(
    handover: ferric_xapp_handover,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
    decide: impl FnOnce(HandoverRequest) -> Result<Answer, Error>,
) -> i32 {
    let call = || {
        let undecided = take(handover)?;
        check_process(undecided.process)?;
        let answered = decide(undecided.request)?;
        // SAFETY: as the caller states
        unsafe { write_answer(answer, &[answered]) };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Lets a handover continue. FERRIC_ERROR_REFUSED with FERRIC_CAUSE_CALL_PROCESS_ID_INVALID: it comes too late.
///
/// # Safety
/// `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_handover_accept(
    handover: ferric_xapp_handover,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    // SAFETY: as the caller states
    unsafe { decide(handover, answer, error, HandoverRequest::accept) }
}

/// Lets a handover continue, to another cell.
///
/// # Safety
/// `cell` is a text; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_handover_accept_to(
    handover: ferric_xapp_handover,
    cell: *const c_char,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    // SAFETY: the caller passes a text
    let cell = match unsafe { text(cell, "cell") } {
        Ok(cell) => cell,
        // SAFETY: the caller passes NULL or a valid pointer
        Err(failure) => return unsafe { guard(error, || Err(failure)) },
    };
    // SAFETY: as the caller states
    unsafe { decide(handover, answer, error, |request| request.accept_to(cell)) }
}

/// Ends a handover.
///
/// # Safety
/// `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_handover_deny(
    handover: ferric_xapp_handover,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    // SAFETY: as the caller states
    unsafe { decide(handover, answer, error, HandoverRequest::deny) }
}

fn take(handover: ferric_xapp_handover) -> Result<Undecided, Failure> {
    HANDOVERS.remove(handover.id)
}

/// Frees a handover without a decision: the node decides.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_handover_free(handover: ferric_xapp_handover) -> i32 {
    guard_real_time(|| {
        let undecided = take(handover)?;
        if undecided.process != process::id() {
            // the session belongs to the other process
            mem::forget(undecided);
        }
        Ok(())
    })
}

/// Ends a stream of handovers: nodes decide themselves. A thread that waits in a read of it gets FERRIC_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_handovers_free(handovers: ferric_xapp_handovers) -> i32 {
    guard_real_time(|| FeedObject::free(&FEEDS, handovers.id))
}
