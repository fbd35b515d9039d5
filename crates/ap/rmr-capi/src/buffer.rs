//! Message buffers, and their memory.
//!
//! A buffer is a structure and a block, both from the allocator of C. The block is a message from its first octet on: headers,
//! trace data, data of calls, and room for a payload.

use std::ffi::{c_int, c_uchar, c_void};
use std::ptr;
use std::slice;

use rmr::{Header, Message, MessageType, NO_SUBSCRIPTION};

use crate::constants::{RMR_ERR_INITFAILED, RMR_ERR_TRUNC, RMR_OK};
use crate::context::context;
use crate::endpoint::{Endpoint, Received};
use crate::fields::rmr_set_trace;

/// What tells a buffer from memory that was freed.
const COOKIE: c_int = 0x4942;
/// The most octets of a payload.
pub(crate) const MAX_PAYLOAD_OCTETS: usize = 16 << 20;
/// The least room of a received buffer, and what it has beyond the size of `rmr_init`.
const MIN_ROOM_OCTETS: usize = 1024;
const SPARE_OCTETS: usize = 1024;

/// A message buffer. The fields behind `tp_state` belong to the library.
#[repr(C)]
pub struct rmr_mbuf_t {
    /// The outcome of the last operation.
    pub state: c_int,
    /// The message type.
    pub mtype: c_int,
    /// The octets of the payload that are used.
    pub len: c_int,
    /// The payload.
    pub payload: *mut c_uchar,
    /// The transaction id, 32 octets.
    pub xaction: *mut c_uchar,
    /// The subscription id.
    pub sub_id: c_int,
    /// errno of the last operation.
    pub tp_state: c_int,
    /// The block.
    pub tp_buf: *mut c_void,
    /// The header in the block.
    pub header: *mut c_void,
    /// Not used.
    pub id: *mut c_uchar,
    /// Not used.
    pub flags: c_int,
    /// The octets of the block.
    pub alloc_len: c_int,
    /// Not used.
    pub ring: *mut c_void,
    /// The connection that the message came on; negative if there is none.
    pub rts_fd: c_int,
    /// What tells a buffer from memory that was freed.
    pub cookie: c_int,
}

/// Returns a buffer; `None` for NULL, and for one that was freed as far as that shows.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library, and no other thread uses it.
pub(crate) unsafe fn buffer<'a>(mbuf: *mut rmr_mbuf_t) -> Option<&'a mut rmr_mbuf_t> {
    // SAFETY: the caller passes NULL or a buffer of this library
    let buffer = unsafe { mbuf.as_mut() }?;
    (buffer.cookie == COOKIE && !buffer.tp_buf.is_null()).then_some(buffer)
}

impl rmr_mbuf_t {
    /// The block.
    pub(crate) fn block(&mut self) -> &mut [u8] {
        // SAFETY: the block of a buffer has `alloc_len` octets that were initialized, and it is borrowed like the buffer
        unsafe { slice::from_raw_parts_mut(self.tp_buf.cast(), self.alloc_len.max(0) as usize) }
    }

    /// The message that the block is.
    pub(crate) fn message(&mut self) -> Option<Message<'_>> {
        Message::read(self.block()).ok()
    }

    /// Octets before the payload.
    pub(crate) fn overhead(&mut self) -> usize {
        let start = self.tp_buf as usize;
        (self.payload as usize).wrapping_sub(start).min(self.alloc_len.max(0) as usize)
    }

    /// Octets of the payload for which there is room.
    pub(crate) fn room(&mut self) -> usize {
        (self.alloc_len.max(0) as usize) - self.overhead()
    }

    /// The payload as far as it is used and there.
    pub(crate) fn used_payload(&mut self) -> Vec<u8> {
        let (start, used) = (self.overhead(), (self.len.max(0) as usize).min(self.room()));
        self.block()[start..start + used].to_vec()
    }

    /// Sets the outcome of an operation.
    pub(crate) fn set_state(&mut self, state: c_int, errno: c_int) {
        (self.state, self.tp_state) = (state, errno);
        set_errno(errno);
    }

    /// Replaces the block by one that begins with a header and has room for a payload. Returns whether there was memory.
    pub(crate) fn refill(&mut self, header: &Header<'_>, payload: &[u8], room: usize) -> bool {
        let mut octets = Vec::new();
        header.write(payload.len(), &mut octets);
        let overhead = octets.len();
        let length = overhead + room.max(payload.len());
        let Ok(alloc_len) = c_int::try_from(length) else { return false };
        // SAFETY: the size is not zero
        let block: *mut u8 = unsafe { libc::calloc(1, length) }.cast();
        if block.is_null() {
            return false;
        }
        // SAFETY: the block has at least as many octets as both, and does not overlap with them
        unsafe {
            ptr::copy_nonoverlapping(octets.as_ptr(), block, overhead);
            ptr::copy_nonoverlapping(payload.as_ptr(), block.add(overhead), payload.len());
        }
        // SAFETY: the former block is from this allocator, or NULL
        unsafe { libc::free(self.tp_buf) };
        self.tp_buf = block.cast();
        self.alloc_len = alloc_len;
        // SAFETY: both are within the block
        let (header_at, payload_at) = unsafe { (block.add(rmr::message::TRANSPORT_OCTETS), block.add(overhead)) };
        self.header = header_at.cast();
        self.payload = payload_at;
        self.xaction = rmr::message::field_mut(self.block(), rmr::message::Field::Transaction).as_mut_ptr();
        true
    }
}

/// Sets errno of the calling thread.
pub(crate) fn set_errno(errno: c_int) {
    // SAFETY: the function returns the address of the calling thread's errno
    unsafe { *libc::__errno_location() = errno };
}

/// Creates a buffer with a block. Returns NULL if there is no memory.
pub(crate) fn create(header: &Header<'_>, payload: &[u8], room: usize) -> *mut rmr_mbuf_t {
    // SAFETY: the size is not zero; a structure of zeros is a valid one, with null pointers
    let mbuf: *mut rmr_mbuf_t = unsafe { libc::calloc(1, size_of::<rmr_mbuf_t>()) }.cast();
    // SAFETY: the pointer is NULL or that of a structure of zeros that nothing else knows
    let Some(buffer) = (unsafe { mbuf.as_mut() }) else {
        set_errno(libc::ENOMEM);
        return ptr::null_mut();
    };
    if !buffer.refill(header, payload, room) {
        // SAFETY: it was just allocated
        unsafe { libc::free(mbuf.cast()) };
        set_errno(libc::ENOMEM);
        return ptr::null_mut();
    }
    buffer.cookie = COOKIE;
    (buffer.state, buffer.mtype, buffer.sub_id, buffer.rts_fd) = (RMR_OK, MessageType::UNSET.0, NO_SUBSCRIPTION, -1);
    mbuf
}

/// Creates the buffer of a message that has arrived. Its room is that of received buffers of the original, at least: programs write
/// answers into it without asking how long they may be.
pub(crate) fn received(endpoint: &Endpoint, message: &Received) -> *mut rmr_mbuf_t {
    let Ok(of) = Message::read(&message.octets) else { return ptr::null_mut() };
    let header = Header {
        kind: of.kind,
        subscription_id: of.subscription_id,
        transaction: of.transaction,
        meid: of.meid(),
        source: of.source(),
        source_address: of.source_address(),
        flags: of.flags,
        trace: of.trace,
        data: of.data,
    };
    let room = endpoint.options().payload_octets.clamp(MIN_ROOM_OCTETS, MAX_PAYLOAD_OCTETS) + SPARE_OCTETS;
    let mbuf = create(&header, of.payload, room);
    // SAFETY: it was just created, or is NULL
    if let Some(buffer) = unsafe { buffer(mbuf) } {
        (buffer.mtype, buffer.sub_id) = (of.kind.0, of.subscription_id);
        match c_int::try_from(of.payload.len()) {
            Ok(len) => buffer.len = len,
            Err(_) => buffer.state = RMR_ERR_TRUNC,
        }
        buffer.rts_fd = c_int::try_from(message.connection).unwrap_or(-1);
    }
    mbuf
}

/// Makes a buffer as new, with the room that it has.
pub(crate) fn reset(endpoint: &Endpoint, buffer: &mut rmr_mbuf_t) {
    let room = buffer.room();
    let trace = buffer.message().map_or(Vec::new(), |message| vec![0; message.trace.len()]);
    let header = Header {
        source: &endpoint.options().name,
        source_address: endpoint.address(),
        trace: &trace,
        ..Header::default()
    };
    if !buffer.refill(&header, &[], room) {
        return buffer.set_state(RMR_ERR_INITFAILED, libc::ENOMEM);
    }
    (buffer.mtype, buffer.sub_id, buffer.len, buffer.rts_fd) = (MessageType::UNSET.0, NO_SUBSCRIPTION, 0, -1);
    buffer.set_state(RMR_OK, 0);
}

/// Creates a buffer for a context.
fn allocate(vctx: *mut c_void, size: c_int, trace: usize) -> *mut rmr_mbuf_t {
    let Some(context) = context(vctx) else { return ptr::null_mut() };
    let endpoint = context.endpoint();
    let room = if size > 0 { size as usize } else { endpoint.options().payload_octets };
    if room > MAX_PAYLOAD_OCTETS || trace > MAX_PAYLOAD_OCTETS {
        set_errno(libc::EINVAL);
        return ptr::null_mut();
    }
    let trace = vec![0; trace];
    let header = Header {
        source: &endpoint.options().name,
        source_address: endpoint.address(),
        trace: &trace,
        ..Header::default()
    };
    create(&header, &[], room)
}

/// Creates a buffer for a message with a payload of at most `size` octets; 0 stands for the size of `rmr_init`. Returns NULL if
/// there is no memory, or the context or the size is not valid.
///
/// # Safety
/// `vctx` is NULL or was returned by `rmr_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_alloc_msg(vctx: *mut c_void, size: c_int) -> *mut rmr_mbuf_t {
    let trace = context(vctx).map_or(0, |context| context.trace_octets());
    allocate(vctx, size, trace)
}

/// The same with trace data.
///
/// # Safety
/// As for `rmr_alloc_msg`; `data` is NULL or has `trsize` octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_tralloc_msg(
    vctx: *mut c_void,
    size: c_int,
    trsize: c_int,
    data: *const c_uchar,
) -> *mut rmr_mbuf_t {
    let mbuf = allocate(vctx, size, trsize.max(0) as usize);
    // SAFETY: the buffer is new or NULL, and the caller passes the data
    let set = unsafe { rmr_set_trace(mbuf, data, trsize) };
    // SAFETY: the buffer is new or NULL
    if let Some(buffer) = unsafe { buffer(mbuf) }
        && set != trsize
    {
        buffer.state = RMR_ERR_INITFAILED;
    }
    mbuf
}

/// Frees a buffer. NULL is ignored.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library, and nothing uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_free_msg(mbuf: *mut rmr_mbuf_t) {
    // SAFETY: the caller passes NULL or a buffer
    let Some(buffer) = (unsafe { buffer(mbuf) }) else { return };
    buffer.cookie = 0;
    let block = std::mem::replace(&mut buffer.tp_buf, ptr::null_mut());
    // SAFETY: both are from this allocator, and are not used again
    unsafe {
        libc::free(block);
        libc::free(mbuf.cast());
    }
}

/// Returns the octets of the payload for which a buffer has room; -1 if it is none.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_payload_size(mbuf: *mut rmr_mbuf_t) -> c_int {
    // SAFETY: the caller passes NULL or a buffer
    match unsafe { buffer(mbuf) } {
        Some(buffer) => {
            set_errno(0);
            buffer.room() as c_int // less than `alloc_len`
        }
        None => {
            set_errno(libc::EINVAL);
            -1
        }
    }
}

/// What of a buffer a changed one keeps.
struct Kept {
    transaction: Vec<u8>,
    meid: String,
    source: String,
    source_address: String,
    flags: u32,
    trace: Vec<u8>,
    data: Vec<u8>,
}

impl Kept {
    fn of(buffer: &mut rmr_mbuf_t) -> Option<Self> {
        let message = buffer.message()?;
        Some(Kept {
            transaction: message.transaction.to_vec(),
            meid: message.meid().to_owned(),
            source: message.source().to_owned(),
            source_address: message.source_address().to_owned(),
            flags: message.flags,
            trace: message.trace.to_vec(),
            data: message.data.to_vec(),
        })
    }

    fn header(&self) -> Header<'_> {
        Header {
            transaction: &self.transaction,
            meid: &self.meid,
            source: &self.source,
            source_address: &self.source_address,
            flags: self.flags,
            trace: &self.trace,
            data: &self.data,
            ..Header::default()
        }
    }
}

/// Copies a buffer, with other trace data of zeros if `trace` says how many octets.
fn copy(of: &mut rmr_mbuf_t, trace: Option<usize>, payload: &[u8], room: usize) -> *mut rmr_mbuf_t {
    let Some(mut kept) = Kept::of(of) else { return ptr::null_mut() };
    if let Some(octets) = trace {
        kept.trace = vec![0; octets];
    }
    let mbuf = create(&kept.header(), payload, room);
    // SAFETY: it was just created, or is NULL
    if let Some(copy) = unsafe { buffer(mbuf) } {
        (copy.mtype, copy.sub_id, copy.state, copy.rts_fd) = (of.mtype, of.sub_id, of.state, of.rts_fd);
        copy.len = payload.len() as c_int; // no longer than that of `of`
    }
    mbuf
}

/// Changes the room for trace data of a buffer in place.
pub(crate) fn set_trace_octets(buffer: &mut rmr_mbuf_t, octets: usize) -> bool {
    let (payload, room) = (buffer.used_payload(), buffer.room());
    let Some(mut kept) = Kept::of(buffer) else { return false };
    kept.trace = vec![0; octets];
    buffer.refill(&kept.header(), &payload, room)
}

/// Returns a copy of a buffer with room for `new_tr_size` octets of trace data. The buffer stays; both are to be freed.
///
/// # Safety
/// `mbuf` is NULL or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_realloc_msg(mbuf: *mut rmr_mbuf_t, new_tr_size: c_int) -> *mut rmr_mbuf_t {
    // SAFETY: the caller passes NULL or a buffer
    let Some(buffer) = (unsafe { buffer(mbuf) }) else { return ptr::null_mut() };
    let trace = new_tr_size.max(0) as usize;
    if trace > MAX_PAYLOAD_OCTETS {
        return ptr::null_mut();
    }
    let (payload, room) = (buffer.used_payload(), buffer.room());
    copy(buffer, Some(trace), &payload, room)
}

/// Gives a buffer room for a payload of `new_len` octets: the same buffer, or with `clone` a copy, and the buffer stays. With
/// `copy` the payload is kept; without it the message has none, and neither type nor subscription.
///
/// # Safety
/// `old_msg` is NULL or was returned by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_realloc_payload(
    old_msg: *mut rmr_mbuf_t,
    new_len: c_int,
    copy_payload: c_int,
    clone: c_int,
) -> *mut rmr_mbuf_t {
    // SAFETY: the caller passes NULL or a buffer
    let Some(of) = (unsafe { buffer(old_msg) }) else { return ptr::null_mut() };
    if new_len <= 0 || new_len as usize > MAX_PAYLOAD_OCTETS {
        set_errno(libc::EINVAL);
        return ptr::null_mut();
    }
    let (needed, room) = (new_len as usize, of.room());
    if clone == 0 && needed <= room {
        return old_msg;
    }
    let payload = if copy_payload == 0 { Vec::new() } else { of.used_payload() };
    let changed = if clone == 0 {
        let Some(kept) = Kept::of(of) else { return ptr::null_mut() };
        if !of.refill(&kept.header(), &payload, needed.max(room)) {
            set_errno(libc::ENOMEM);
            return ptr::null_mut();
        }
        old_msg
    } else {
        copy(of, None, &payload, needed.max(room))
    };
    // SAFETY: it is the buffer of the caller, or was just created, or is NULL
    if let Some(changed) = unsafe { buffer(changed) }
        && copy_payload == 0
    {
        (changed.mtype, changed.sub_id, changed.len) = (MessageType::UNSET.0, NO_SUBSCRIPTION, 0);
    }
    changed
}
