//! The fields of a message: transaction id, managed entity, source, payload, trace data.

use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use std::ptr;
use std::slice;

use rmr::message::{Field, MEID_OCTETS, SOURCE_OCTETS, TRANSACTION_OCTETS, field_mut};

use crate::buffer::{MAX_PAYLOAD_OCTETS, buffer, rmr_mbuf_t, set_errno, set_trace_octets};
use crate::constants::{RMR_ERR_BADARG, RMR_ERR_OVERFLOW, RMR_OK};

/// The octets at a pointer; `None` for NULL.
///
/// # Safety
/// `src` is NULL or has `len` octets that stay until the call of the interface returns.
unsafe fn octets<'a>(src: *const c_uchar, len: c_int) -> Option<&'a [u8]> {
    // SAFETY: the caller passes so many octets
    (!src.is_null()).then(|| unsafe { slice::from_raw_parts(src, len.max(0) as usize) })
}

/// The octets of a text, without its end; `None` for NULL.
///
/// # Safety
/// `text` is NULL or a text that stays until the call of the interface returns.
unsafe fn text<'a>(text: *const c_uchar) -> Option<&'a [u8]> {
    // SAFETY: the caller passes a text
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text.cast::<c_char>()) }.to_bytes())
}

/// Sets the managed entity. Of octets beyond 31 only 31 are used, and errno is EOVERFLOW. Returns the octets that were copied, or
/// -1.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library; `src` is NULL or has `len` octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_bytes2meid(mbuf: *mut rmr_mbuf_t, src: *const c_uchar, len: c_int) -> c_int {
    // SAFETY: the caller passes valid pointers
    let (Some(buffer), Some(octets)) = (unsafe { buffer(mbuf) }, unsafe { octets(src, len) }) else {
        set_errno(libc::EINVAL);
        return -1;
    };
    let used = octets.len().min(MEID_OCTETS);
    let field = field_mut(buffer.block(), Field::Meid);
    field.fill(0);
    field[..used].copy_from_slice(&octets[..used]);
    let is_cut = field[MEID_OCTETS - 1] != 0 || octets.len() > MEID_OCTETS;
    field[MEID_OCTETS - 1] = 0;
    set_errno(if is_cut { libc::EOVERFLOW } else { 0 });
    used as c_int // at most 32
}

/// Sets the managed entity to a text of at most 31 octets. Returns RMR_OK, RMR_ERR_BADARG or RMR_ERR_OVERFLOW.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library; `str` is NULL or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_str2meid(mbuf: *mut rmr_mbuf_t, str: *const c_uchar) -> c_int {
    // SAFETY: the caller passes a text
    let Some(octets) = (unsafe { text(str) }) else { return RMR_ERR_BADARG };
    if octets.len() > MEID_OCTETS - 1 {
        set_errno(libc::EOVERFLOW);
        return RMR_ERR_OVERFLOW;
    }
    // SAFETY: the octets are those of the text
    match unsafe { rmr_bytes2meid(mbuf, octets.as_ptr(), octets.len() as c_int) } {
        -1 => RMR_ERR_BADARG,
        _ => RMR_OK,
    }
}

/// Sets the payload, as far as there is room; with more octets the state is RMR_ERR_OVERFLOW and errno EMSGSIZE.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library; `src` is NULL or has `len` octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_bytes2payload(mbuf: *mut rmr_mbuf_t, src: *const c_uchar, len: c_int) {
    // SAFETY: the caller passes valid pointers
    let (Some(buffer), Some(octets)) = (unsafe { buffer(mbuf) }, unsafe { octets(src, len) }) else {
        return set_errno(libc::EINVAL);
    };
    let (start, used) = (buffer.overhead(), octets.len().min(buffer.room()));
    buffer.block()[start..start + used].copy_from_slice(&octets[..used]);
    buffer.len = used as c_int; // less than the length of the block
    let is_cut = used < octets.len();
    buffer.state = if is_cut { RMR_ERR_OVERFLOW } else { RMR_OK };
    set_errno(if is_cut { libc::EMSGSIZE } else { 0 });
}

/// Sets the payload to a text, with its end.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library; `str` is NULL or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_str2payload(mbuf: *mut rmr_mbuf_t, str: *const c_uchar) {
    // SAFETY: the caller passes a text
    let octets = unsafe { text(str) }.map_or(0, |octets| octets.len() + 1);
    let len = c_int::try_from(octets).unwrap_or(c_int::MAX);
    // SAFETY: the octets are those of the text and its end
    unsafe { rmr_bytes2payload(mbuf, str, len) };
}

/// Sets the transaction id. Of octets beyond 32 only 32 are used, and errno is EOVERFLOW. Returns the octets that were copied, or
/// -1.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library; `src` is NULL or has `len` octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_bytes2xact(mbuf: *mut rmr_mbuf_t, src: *const c_uchar, len: c_int) -> c_int {
    // SAFETY: the caller passes valid pointers
    let (Some(buffer), Some(octets)) = (unsafe { buffer(mbuf) }, unsafe { octets(src, len) }) else {
        set_errno(libc::EINVAL);
        return -1;
    };
    let used = octets.len().min(TRANSACTION_OCTETS);
    field_mut(buffer.block(), Field::Transaction)[..used].copy_from_slice(&octets[..used]);
    set_errno(if octets.len() > used { libc::EOVERFLOW } else { 0 });
    used as c_int // at most 32
}

/// Sets the transaction id to a text of at most 31 octets. Returns RMR_OK, RMR_ERR_BADARG or RMR_ERR_OVERFLOW.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library; `str` is NULL or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_str2xact(mbuf: *mut rmr_mbuf_t, str: *const c_uchar) -> c_int {
    // SAFETY: the caller passes a text
    let Some(octets) = (unsafe { text(str) }) else { return RMR_ERR_BADARG };
    if octets.len() > TRANSACTION_OCTETS - 1 {
        set_errno(libc::EOVERFLOW);
        return RMR_ERR_OVERFLOW;
    }
    // SAFETY: the octets are those of the text and its end
    match unsafe { rmr_bytes2xact(mbuf, str, octets.len() as c_int + 1) } {
        -1 => RMR_ERR_BADARG,
        _ => RMR_OK,
    }
}

/// Copies a field to `dest`, or to new memory if `dest` is NULL.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library; `dest` is NULL or has room for the field.
unsafe fn get(mbuf: *mut rmr_mbuf_t, field: Field, dest: *mut c_uchar) -> *mut c_uchar {
    // SAFETY: the caller passes NULL or a buffer
    let Some(buffer) = (unsafe { buffer(mbuf) }) else {
        set_errno(libc::EINVAL);
        return ptr::null_mut();
    };
    let octets = field_mut(buffer.block(), field);
    let dest = match dest.is_null() {
        // SAFETY: the size is not zero
        true => unsafe { libc::calloc(1, octets.len()) }.cast(),
        false => dest,
    };
    if dest.is_null() {
        set_errno(libc::ENOMEM);
        return dest;
    }
    // SAFETY: there is room for the field, which is elsewhere
    unsafe { ptr::copy_nonoverlapping(octets.as_ptr(), dest, octets.len()) };
    set_errno(0);
    dest
}

/// Copies the managed entity to `dest`, which has 32 octets; NULL stands for new memory, which the caller frees.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library; `dest` is NULL or has 32 octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_meid(mbuf: *mut rmr_mbuf_t, dest: *mut c_uchar) -> *mut c_uchar {
    // SAFETY: the caller passes valid pointers
    unsafe { get(mbuf, Field::Meid, dest) }
}

/// Copies the transaction id to `dest`, which has 32 octets; NULL stands for new memory, which the caller frees.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library; `dest` is NULL or has 32 octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_xact(mbuf: *mut rmr_mbuf_t, dest: *mut c_uchar) -> *mut c_uchar {
    // SAFETY: the caller passes valid pointers
    unsafe { get(mbuf, Field::Transaction, dest) }
}

/// Copies the source of a message, `HOST:PORT`, to `dest`, which has 64 octets. Returns NULL if a pointer is NULL.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library; `dest` is NULL or has 64 octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_src(mbuf: *mut rmr_mbuf_t, dest: *mut c_uchar) -> *mut c_uchar {
    if dest.is_null() {
        return dest;
    }
    // SAFETY: the caller passes valid pointers
    unsafe { get(mbuf, Field::Source, dest) }
}

/// Copies the source of a message, `ADDRESS:PORT`, to `dest`, which has 64 octets; `HOST:PORT` if no address is known.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library; `dest` is NULL or has 64 octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_srcip(mbuf: *mut rmr_mbuf_t, dest: *mut c_uchar) -> *mut c_uchar {
    if dest.is_null() {
        return dest;
    }
    // SAFETY: the caller passes NULL or a buffer
    let has_address =
        unsafe { buffer(mbuf) }.and_then(|buffer| buffer.message().map(|message| !message.source_address().is_empty()));
    let field = if has_address == Some(true) { Field::SourceAddress } else { Field::Source };
    // SAFETY: the caller passes valid pointers
    unsafe { get(mbuf, field, dest) }
}

/// Where the trace data of a buffer is.
fn trace(buffer: &mut rmr_mbuf_t) -> Option<(usize, usize)> {
    let overhead = buffer.overhead();
    let message = buffer.message()?;
    let (trace, data) = (message.trace.len(), message.data.len());
    Some((overhead.checked_sub(trace + data)?, trace))
}

/// Sets the trace data. Returns the octets that were set: `size`, or 0 if that fails.
///
/// # Safety
/// `msg` is NULL or was returned by this library; `data` is NULL or has `size` octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_set_trace(msg: *mut rmr_mbuf_t, data: *const c_uchar, size: c_int) -> c_int {
    // SAFETY: the caller passes valid pointers
    let (Some(buffer), Some(octets)) = (unsafe { buffer(msg) }, unsafe { octets(data, size) }) else {
        set_errno(libc::EINVAL);
        return 0;
    };
    let fits = !octets.is_empty() && octets.len() <= MAX_PAYLOAD_OCTETS;
    let has_room = trace(buffer).is_some_and(|(_, length)| length == octets.len());
    if !fits || !has_room && !set_trace_octets(buffer, octets.len()) {
        return 0;
    }
    let Some((start, length)) = trace(buffer) else { return 0 };
    buffer.block()[start..start + length].copy_from_slice(octets);
    set_errno(0);
    size
}

/// Copies at most `size` octets of trace data to `dest`. Returns how many.
///
/// # Safety
/// `msg` is NULL or was returned by this library; `dest` is NULL or has `size` octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_trace(msg: *mut rmr_mbuf_t, dest: *mut c_uchar, size: c_int) -> c_int {
    // SAFETY: the caller passes NULL or a buffer
    let Some(buffer) = (unsafe { buffer(msg) }) else { return 0 };
    let Some((start, length)) = trace(buffer).filter(|_| !dest.is_null()) else { return 0 };
    let used = length.min(size.max(0) as usize);
    let octets = &buffer.block()[start..start + used];
    // SAFETY: the caller passes room for so many octets, which are elsewhere
    unsafe { ptr::copy_nonoverlapping(octets.as_ptr(), dest, used) };
    used as c_int // at most `size`
}

/// Returns the octets of trace data.
///
/// # Safety
/// `msg` is NULL or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_trlen(msg: *mut rmr_mbuf_t) -> c_int {
    // SAFETY: the caller passes NULL or a buffer
    let length = unsafe { buffer(msg) }.and_then(trace).map_or(0, |(_, length)| length);
    length as c_int // less than the length of the block
}

/// Returns the trace data in the buffer, and its octets in `sizeptr`; NULL if there is none.
///
/// # Safety
/// `msg` is NULL or was returned by this library; `sizeptr` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_trace_ref(msg: *mut rmr_mbuf_t, sizeptr: *mut c_int) -> *mut c_void {
    // SAFETY: the caller passes NULL or a buffer
    let found = unsafe { buffer(msg) }.and_then(|buffer| {
        let (start, length) = trace(buffer).filter(|(_, length)| *length > 0)?;
        Some((buffer.block()[start..].as_mut_ptr(), length))
    });
    let (pointer, length) = found.unwrap_or((ptr::null_mut(), 0));
    // SAFETY: the caller passes NULL or a valid pointer
    if let Some(size) = unsafe { sizeptr.as_mut() } {
        *size = length as c_int; // less than the length of the block
    }
    pointer.cast()
}

const _: () = assert!(SOURCE_OCTETS == 64 && MEID_OCTETS == 32 && TRANSACTION_OCTETS == 32);
