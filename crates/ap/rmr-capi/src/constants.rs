//! Constants of the interface.

use std::ffi::{c_char, c_int};

use rmr::message::{MEID_OCTETS, SOURCE_OCTETS, TRANSACTION_OCTETS};

/// All is well.
pub const RMR_OK: c_int = 0;
/// An argument is not valid.
pub const RMR_ERR_BADARG: c_int = 1;
/// No endpoint is known for the message, or it cannot be connected.
pub const RMR_ERR_NOENDPT: c_int = 2;
/// A message without a payload.
pub const RMR_ERR_EMPTY: c_int = 3;
/// The message has no header.
pub const RMR_ERR_NOHDR: c_int = 4;
/// The message cannot be sent.
pub const RMR_ERR_SENDFAILED: c_int = 5;
/// A call cannot be sent.
pub const RMR_ERR_CALLFAILED: c_int = 6;
/// No direct connection is open.
pub const RMR_ERR_NOWHOPEN: c_int = 7;
/// There is no such direct connection.
pub const RMR_ERR_WHID: c_int = 8;
/// The octets do not fit into the field.
pub const RMR_ERR_OVERFLOW: c_int = 9;
/// The endpoint takes no more at the moment.
pub const RMR_ERR_RETRY: c_int = 10;
/// Nothing can be received.
pub const RMR_ERR_RCVFAILED: c_int = 11;
/// Nothing has arrived in time.
pub const RMR_ERR_TIMEOUT: c_int = 12;
/// The buffer has no block.
pub const RMR_ERR_UNSET: c_int = 13;
/// The payload is incomplete.
pub const RMR_ERR_TRUNC: c_int = 14;
/// The buffer cannot be prepared.
pub const RMR_ERR_INITFAILED: c_int = 15;
/// The operation is not supported.
pub const RMR_ERR_NOTSUPP: c_int = 16;

/// The constants that wrappers in other languages read, as JSON.
fn json() -> String {
    let constants: [(&str, i64); 28] = [
        ("RMR_MAX_XID", TRANSACTION_OCTETS as i64),
        ("RMR_MAX_SID", 32),
        ("RMR_MAX_MEID", MEID_OCTETS as i64),
        ("RMR_MAX_SRC", SOURCE_OCTETS as i64),
        ("RMR_MAX_RCV_BYTES", 2048),
        ("RMRFL_NONE", 0),
        ("RMRFL_AUTO_ALLOC", 3),
        ("RMRFL_MTCALL", 2),
        ("RMR_DEF_SIZE", 0),
        ("RMR_VOID_MSGTYPE", -1),
        ("RMR_VOID_SUBID", -1),
        ("RMR_OK", RMR_OK.into()),
        ("RMR_ERR_BADARG", RMR_ERR_BADARG.into()),
        ("RMR_ERR_NOENDPT", RMR_ERR_NOENDPT.into()),
        ("RMR_ERR_EMPTY", RMR_ERR_EMPTY.into()),
        ("RMR_ERR_NOHDR", RMR_ERR_NOHDR.into()),
        ("RMR_ERR_SENDFAILED", RMR_ERR_SENDFAILED.into()),
        ("RMR_ERR_CALLFAILED", RMR_ERR_CALLFAILED.into()),
        ("RMR_ERR_NOWHOPEN", RMR_ERR_NOWHOPEN.into()),
        ("RMR_ERR_WHID", RMR_ERR_WHID.into()),
        ("RMR_ERR_OVERFLOW", RMR_ERR_OVERFLOW.into()),
        ("RMR_ERR_RETRY", RMR_ERR_RETRY.into()),
        ("RMR_ERR_RCVFAILED", RMR_ERR_RCVFAILED.into()),
        ("RMR_ERR_TIMEOUT", RMR_ERR_TIMEOUT.into()),
        ("RMR_ERR_UNSET", RMR_ERR_UNSET.into()),
        ("RMR_ERR_TRUNC", RMR_ERR_TRUNC.into()),
        ("RMR_ERR_INITFAILED", RMR_ERR_INITFAILED.into()),
        ("RMR_ERR_NOTSUPP", RMR_ERR_NOTSUPP.into()),
    ];
    let members: Vec<_> = constants.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    format!("{{ {} }}", members.join(","))
}

/// Returns the constants as JSON, to be freed by `rmr_free_consts`.
#[unsafe(no_mangle)]
pub extern "C" fn rmr_get_consts() -> *mut c_char {
    let text = json() + "\0";
    // SAFETY: the text ends with a zero octet
    unsafe { libc::strdup(text.as_ptr().cast()) }
}

/// Frees what `rmr_get_consts` has returned.
///
/// # Safety
/// `text` is NULL or was returned by `rmr_get_consts`, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_free_consts(text: *mut c_char) {
    // SAFETY: the caller passes NULL or memory of this allocator
    unsafe { libc::free(text.cast()) };
}
