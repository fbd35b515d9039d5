//! Copies of RRC messages of UEs (E2SM-RC report style 1).

use std::ffi::c_char;
use std::os::raw::c_int;
use std::ptr;
use std::sync::Arc;

use ferric::xapp::RrcMessage;

use super::event::FeedObject;
use super::list::named;
use super::session::{ferric_xapp, session};
use crate::handle::Table;
use crate::input::{array, result, text};
use crate::status::{FERRIC_NAME_OCTETS, Failure, ferric_error, guard, guard_real_time};

/// The most kinds of messages of a stream.
pub const FERRIC_XAPP_MAX_RRC_KINDS: usize = 64;

/// A stream of copies of RRC messages.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_rrc_messages {
    /// The number of the object; 0 is none.
    pub id: u64,
}

/// A copy of an RRC message.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_rrc_message {
    /// The name of the node.
    pub node: [c_char; FERRIC_NAME_OCTETS],
    /// The UE.
    pub ue: [c_char; FERRIC_NAME_OCTETS],
    /// The length of the message in octets, which may be more than there was room for.
    pub length: usize,
    /// The messages that this stream has lost since it began, because it was read too slowly.
    pub lost: u64,
}

static FEEDS: Table<Arc<FeedObject<RrcMessage>>> = Table::new(12);

/// Requests copies of the RRC messages of all UEs that are of one of `kind_count` kinds, 1 to FERRIC_XAPP_MAX_RRC_KINDS, also of
/// nodes that come later (E2SM-RC 7.4.2). A kind is "MeasurementReport", or "nr:UL-DCCH:0", "lte:UL-DCCH:1": the radio access
/// technology, the channel and the index of the message among those of the channel (TS 38.331, TS 36.331).
///
/// # Safety
/// `kinds` is valid for `kind_count` texts; `out` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_rrc_messages_new(
    xapp: ferric_xapp,
    kinds: *const *const c_char,
    kind_count: usize,
    out: *mut ferric_xapp_rrc_messages,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer, and texts
        let (out, kinds) = unsafe {
            let kinds = array(kinds, kind_count, FERRIC_XAPP_MAX_RRC_KINDS, "kinds")?;
            let kinds = kinds.iter().map(|kind| text(*kind, "kinds")).collect::<Result<Vec<_>, Failure>>()?;
            (result(out, "out")?, kinds)
        };
        let feed = FeedObject::new(session(xapp)?.rrc_messages(kinds)?)?;
        *out = ferric_xapp_rrc_messages { id: FEEDS.insert(feed)? };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Returns the file descriptor that is readable while messages are buffered; -1 if there is no such stream.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_rrc_messages_fd(messages: ferric_xapp_rrc_messages) -> c_int {
    FeedObject::of(&FEEDS, messages.id).map_or(-1, |feed| feed.fd())
}

/// Reads the next message; waits for it for `timeout_ms` as ferric_xapp_kpm_read does, with the same errors. Writes its first
/// `capacity` octets to `octets`: in unaligned PER (TS 38.331, TS 36.331). A stream buffers 1024 messages; a slower reader loses the
/// oldest.
///
/// # Safety
/// `out` is valid; `octets` is valid for `capacity` octets, or NULL if there is no room; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_rrc_messages_read(
    messages: ferric_xapp_rrc_messages,
    timeout_ms: i32,
    out: *mut ferric_xapp_rrc_message,
    octets: *mut u8,
    capacity: usize,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer
        let out = unsafe { result(out, "out") }?;
        if octets.is_null() && capacity > 0 {
            return Err(Failure::null("octets"));
        }
        let (message, lost) = FeedObject::of(&FEEDS, messages.id)?.read_counted(timeout_ms)?;
        let (node, ue) = (named(&message.node), named(message.ue.to_string()));
        let length = message.octets.len();
        if capacity > 0 {
            // SAFETY: there is room for so many octets, and the message is memory of this call
            unsafe { ptr::copy_nonoverlapping(message.octets.as_ptr(), octets, length.min(capacity)) };
        }
        *out = ferric_xapp_rrc_message { node, ue, length, lost };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Ends a stream of messages. A thread that waits in a read of it gets FERRIC_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_rrc_messages_free(messages: ferric_xapp_rrc_messages) -> i32 {
    guard_real_time(|| FeedObject::free(&FEEDS, messages.id))
}
