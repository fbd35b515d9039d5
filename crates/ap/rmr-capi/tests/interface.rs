//! The C interface, called as C calls it: two contexts that send to each other.

#![allow(unsafe_code, reason = "the interface is one of C")]

use std::ffi::{CStr, CString, c_int, c_void};
use std::net::TcpListener;
use std::ptr;
use std::time::{Duration, Instant};

use rmr_si::*;

/// The flag of `rmr_init` for a context without a route table.
const NO_THREAD: c_int = 1;

/// A context that ends with the test.
struct Context {
    pointer: *mut c_void,
    port: u16,
}

// SAFETY: any thread may use a context
unsafe impl Send for Context {}
// SAFETY: any thread may use a context
unsafe impl Sync for Context {}

impl Context {
    fn new() -> Context {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let text = CString::new(port.to_string()).unwrap();
        // SAFETY: the text is one
        let pointer = unsafe { rmr_init(text.as_ptr().cast_mut(), 1024, NO_THREAD) };
        assert!(!pointer.is_null());
        Context { pointer, port }
    }

    fn open(&self, to: &Context) -> c_int {
        let target = CString::new(format!("127.0.0.1:{}", to.port)).unwrap();
        // SAFETY: the context and the text are valid
        let whid = unsafe { rmr_wh_open(self.pointer, target.as_ptr()) };
        assert!(whid >= 0);
        whid
    }

    fn alloc(&self, size: c_int) -> *mut rmr_mbuf_t {
        // SAFETY: the context is valid
        let mbuf = unsafe { rmr_alloc_msg(self.pointer, size) };
        assert!(!mbuf.is_null());
        mbuf
    }

    /// A message with a type, a subscription and a payload.
    fn message(&self, kind: c_int, payload: &[u8]) -> *mut rmr_mbuf_t {
        let mbuf = self.alloc(payload.len().max(1) as c_int);
        // SAFETY: the buffer is new, and the octets are there
        unsafe {
            (*mbuf).mtype = kind;
            (*mbuf).sub_id = 7;
            rmr_bytes2payload(mbuf, payload.as_ptr(), payload.len() as c_int);
            rmr_str2meid(mbuf, c"gnb_001_001_00000e00".as_ptr().cast());
            rmr_str2xact(mbuf, c"transaction".as_ptr().cast());
        }
        mbuf
    }

    fn receive(&self, old: *mut rmr_mbuf_t, ms: c_int) -> *mut rmr_mbuf_t {
        // SAFETY: the context and the buffer are valid
        unsafe { rmr_torcv_msg(self.pointer, old, ms) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is valid
        unsafe { rmr_close(self.pointer) };
    }
}

/// The payload of a buffer.
fn payload(mbuf: *mut rmr_mbuf_t) -> Vec<u8> {
    // SAFETY: the buffer is valid
    unsafe { std::slice::from_raw_parts((*mbuf).payload, (*mbuf).len as usize).to_vec() }
}

/// A field of a buffer as text.
fn text(get: unsafe extern "C" fn(*mut rmr_mbuf_t, *mut u8) -> *mut u8, mbuf: *mut rmr_mbuf_t) -> String {
    let mut field = [1; 64];
    // SAFETY: the buffer is valid, and the field is long enough
    unsafe { get(mbuf, field.as_mut_ptr()) };
    CStr::from_bytes_until_nul(&field).unwrap().to_str().unwrap().to_owned()
}

fn state(mbuf: *mut rmr_mbuf_t) -> c_int {
    // SAFETY: the buffer is valid
    unsafe { (*mbuf).state }
}

fn free(mbuf: *mut rmr_mbuf_t) {
    // SAFETY: the buffer is valid, and is not used again
    unsafe { rmr_free_msg(mbuf) };
}

#[test]
fn message_arrives_with_its_fields_and_returns_to_its_sender() {
    let (a, b) = (Context::new(), Context::new());
    let whid = a.open(&b);
    let sent = a.message(30_000, b"hello");
    // SAFETY: the context and the buffer are valid
    let sent = unsafe { rmr_wh_send_msg(a.pointer, whid, sent) };
    // SAFETY: the buffer is valid
    let (kind, len) = unsafe { ((*sent).mtype, (*sent).len) };
    assert_eq!((state(sent), kind, len), (RMR_OK, -1, 0), "as new");
    let received = b.receive(ptr::null_mut(), 10_000);
    // SAFETY: the buffer is valid
    let (kind, sub_id) = unsafe { ((*received).mtype, (*received).sub_id) };
    assert_eq!((state(received), kind, sub_id, &*payload(received)), (RMR_OK, 30_000, 7, &b"hello"[..]));
    assert_eq!(text(rmr_get_meid, received), "gnb_001_001_00000e00");
    assert!(text(rmr_get_src, received).ends_with(&format!(":{}", a.port)));
    assert!(text(rmr_get_srcip, received).ends_with(&format!(":{}", a.port)));
    assert_eq!(text(rmr_get_xact, received), "transaction");
    // a longer payload, in the same buffer
    let longer = vec![b'x'; 5000];
    // SAFETY: the context, the buffer and the octets are valid
    let same = unsafe {
        let same = rmr_realloc_payload(received, 5000, 1, 0);
        rmr_bytes2payload(same, longer.as_ptr(), 5000);
        (*same).mtype = 30_001;
        rmr_rts_msg(b.pointer, same)
    };
    assert_eq!((same, state(same)), (received, RMR_OK));
    // it can be returned again
    // SAFETY: the context and the buffer are valid
    assert_eq!(state(unsafe { rmr_rts_msg(b.pointer, same) }), RMR_OK);
    for _ in 0..2 {
        let back = a.receive(ptr::null_mut(), 10_000);
        // SAFETY: the buffer is valid
        assert_eq!((unsafe { (*back).mtype }, payload(back)), (30_001, longer.clone()));
        assert_eq!(text(rmr_get_meid, back), "gnb_001_001_00000e00");
        free(back);
    }
    free(sent);
    free(received);
}

#[test]
fn received_buffer_has_room_for_a_longer_answer() {
    let (a, b) = (Context::new(), Context::new());
    let whid = a.open(&b);
    // SAFETY: the context and the buffer are valid
    free(unsafe { rmr_wh_send_msg(a.pointer, whid, a.message(100, b"?")) });
    let received = b.receive(ptr::null_mut(), 10_000);
    // programs of the original write into it without asking: the size of `rmr_init`, here 1024, and 1024 more
    // SAFETY: the buffer is valid
    assert!(unsafe { rmr_payload_size(received) } >= 2048);
    let longer = vec![b'x'; 2048];
    // SAFETY: the buffer has room for the octets
    unsafe {
        ptr::copy_nonoverlapping(longer.as_ptr(), (*received).payload, longer.len());
        ((*received).mtype, (*received).len) = (101, 2048);
        assert_eq!(state(rmr_rts_msg(b.pointer, received)), RMR_OK);
    }
    let answer = a.receive(ptr::null_mut(), 10_000);
    assert_eq!(payload(answer), longer);
    // so has the copy with other trace data, which the platform's framework for Go makes of each buffer that it answers with
    // SAFETY: the buffer is valid
    let copy = unsafe { rmr_realloc_msg(answer, 300) };
    // SAFETY: the buffer is valid
    assert!(unsafe { rmr_payload_size(copy) } >= 2048);
    // the answer to a call as well
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let request = b.receive(ptr::null_mut(), 10_000);
            // SAFETY: the context and the buffer are valid
            unsafe { rmr_rts_msg(b.pointer, request) };
            free(request);
        });
        let request = a.message(100, b"?");
        // SAFETY: the context and the buffers are valid
        unsafe {
            let answer = rmr_wh_call(a.pointer, whid, request, 2, 10_000);
            assert!(rmr_payload_size(answer) >= 2048);
            free(answer);
        }
    });
    free(copy);
    free(answer);
    free(received);
}

#[test]
fn call_gets_its_answer() {
    let (a, b) = (Context::new(), Context::new());
    let whid = a.open(&b);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2 {
                let request = b.receive(ptr::null_mut(), 10_000);
                // SAFETY: the context and the buffer are valid
                unsafe {
                    (*request).mtype = 101;
                    rmr_rts_msg(b.pointer, request);
                }
                free(request);
            }
        });
        for id in [2, 255] {
            let request = a.message(100, b"?");
            // SAFETY: the context and the buffer are valid
            let answer = unsafe { rmr_wh_call(a.pointer, whid, request, id, 10_000) };
            assert!(!answer.is_null());
            // SAFETY: the buffer is valid
            assert_eq!((state(answer), unsafe { (*answer).mtype }), (RMR_OK, 101));
            free(answer);
        }
    });
    // no answer in time; a late one is dropped, and does not reach `rmr_torcv_msg`
    let request = a.message(100, b"?");
    // SAFETY: the context and the buffer are valid
    assert!(unsafe { rmr_wh_call(a.pointer, whid, request, 3, 50) }.is_null());
    let late = b.receive(ptr::null_mut(), 10_000);
    // SAFETY: the context and the buffer are valid
    unsafe { rmr_rts_msg(b.pointer, late) };
    free(late);
    let old = a.alloc(0);
    assert_eq!(state(a.receive(old, 200)), RMR_ERR_TIMEOUT);
    let mut counts = rmr_rx_debug_t { drop: 0, enqueue: 0 };
    // SAFETY: the context and the structure are valid
    assert_eq!(unsafe { rmr_get_rx_debug_info(a.pointer, &raw mut counts) }, 0);
    assert_eq!((counts.drop, counts.enqueue), (1, 0));
    for id in [-1, 0, 1, 256] {
        // SAFETY: the context and the buffer are valid
        assert_eq!(state(unsafe { rmr_mt_call(a.pointer, old, id, 10) }), RMR_ERR_BADARG, "{id}");
    }
    free(old);
}

#[test]
fn message_without_a_route_or_an_endpoint_says_so() {
    let a = Context::new();
    let message = a.message(12_040, b"x");
    // SAFETY: the context and the buffer are valid
    let message = unsafe { rmr_send_msg(a.pointer, message) };
    assert_eq!((state(message), &*payload(message)), (RMR_ERR_NOENDPT, &b"x"[..]), "it stays as it is");
    // SAFETY: the context and the buffer are valid
    assert_eq!(state(unsafe { rmr_wh_send_msg(a.pointer, 5, message) }), RMR_ERR_WHID);
    // SAFETY: the context and the buffer are valid: it did not come from anywhere
    assert_eq!(state(unsafe { rmr_call(a.pointer, message) }), RMR_ERR_NOENDPT);
    // SAFETY: the context and the text are valid
    assert_eq!(unsafe { rmr_wh_open(a.pointer, c"127.0.0.1:1".as_ptr()) }, -1);
    // SAFETY: the context and the text are valid
    assert_eq!(unsafe { rmr_wh_open(a.pointer, c"no port".as_ptr()) }, -1);
    free(message);
}

#[test]
fn timeouts_are_kept() {
    let a = Context::new();
    let old = a.alloc(0);
    let begun = Instant::now();
    assert_eq!(a.receive(old, 50), old);
    assert_eq!(state(old), RMR_ERR_TIMEOUT);
    assert!(begun.elapsed() >= Duration::from_millis(50));
    assert!(a.receive(ptr::null_mut(), 0).is_null());
    free(old);
}

#[test]
fn closing_ends_a_wait() {
    let a = Context::new();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| a.receive(ptr::null_mut(), -1).is_null());
        std::thread::sleep(Duration::from_millis(50));
        // SAFETY: the context is valid
        unsafe { rmr_close(a.pointer) };
        assert!(waiting.join().unwrap());
    });
    let message = a.message(1, b"x");
    // SAFETY: a context that was closed is valid
    assert_eq!(state(unsafe { rmr_send_msg(a.pointer, message) }), RMR_ERR_NOENDPT);
    free(message);
}

#[test]
fn descriptor_can_be_read_while_messages_wait() {
    let (a, b) = (Context::new(), Context::new());
    let whid = a.open(&b);
    // SAFETY: the context is valid
    let descriptor = unsafe { rmr_get_rcvfd(b.pointer) };
    let is_readable = |ms| {
        let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
        // SAFETY: the structure is valid
        unsafe { libc::poll(&raw mut poll, 1, ms) == 1 }
    };
    assert!(!is_readable(0));
    for _ in 0..2 {
        let message = a.message(1, b"x");
        // SAFETY: the context and the buffer are valid
        free(unsafe { rmr_wh_send_msg(a.pointer, whid, message) });
    }
    assert!(is_readable(10_000));
    free(b.receive(ptr::null_mut(), 10_000));
    assert!(is_readable(10_000), "one waits");
    free(b.receive(ptr::null_mut(), 10_000));
    assert!(!is_readable(0));
}

#[test]
fn trace_data_is_kept_with_the_payload() {
    let a = Context::new();
    let message = a.message(1, b"payload");
    let trace = b"trace data";
    // SAFETY: the buffer and the octets are valid
    unsafe {
        assert_eq!(rmr_set_trace(message, trace.as_ptr(), trace.len() as c_int), 10);
        assert_eq!(rmr_get_trlen(message), 10);
        let mut room = [0; 20];
        assert_eq!(rmr_get_trace(message, room.as_mut_ptr(), 20), 10);
        assert_eq!(&room[..10], trace);
        let mut size = 0;
        let reference = rmr_trace_ref(message, &raw mut size);
        assert_eq!(std::slice::from_raw_parts(reference.cast::<u8>(), size as usize), trace);
        assert_eq!(
            (&*payload(message), text(rmr_get_meid, message)),
            (&b"payload"[..], "gnb_001_001_00000e00".to_owned())
        );
        let copy = rmr_realloc_msg(message, 3);
        assert_eq!((rmr_get_trlen(copy), rmr_get_trlen(message), payload(copy)), (3, 10, payload(message)));
        free(copy);
        let clone = rmr_realloc_payload(message, 100, 0, 1);
        assert_eq!(((*clone).len, (*clone).mtype, rmr_payload_size(clone)), (0, -1, 100));
        assert_eq!((*message).len, 7, "it stays");
        free(clone);
    }
    free(message);
}

#[test]
fn misuse_is_answered_with_a_code() {
    let a = Context::new();
    let null = ptr::null_mut();
    let other = (&raw const a).cast_mut().cast::<c_void>();
    // SAFETY: pointers that are no context, and NULL, are recognized
    unsafe {
        for vctx in [ptr::null_mut(), other] {
            assert!(rmr_alloc_msg(vctx, 10).is_null());
            assert_eq!((rmr_ready(vctx), rmr_get_rcvfd(vctx), rmr_set_stimeout(vctx, 1)), (0, -1, -1));
            rmr_close(vctx);
            let message = a.message(1, b"x");
            assert_eq!(state(rmr_send_msg(vctx, message)), RMR_ERR_BADARG);
            assert_eq!(state(rmr_rcv_msg(vctx, message)), RMR_ERR_BADARG);
            free(message);
        }
        assert!(rmr_send_msg(a.pointer, null).is_null() && rmr_rts_msg(a.pointer, null).is_null());
        assert!(rmr_realloc_payload(null, 1, 0, 0).is_null() && rmr_realloc_msg(null, 1).is_null());
        assert_eq!((rmr_payload_size(null), rmr_bytes2meid(null, c"x".as_ptr().cast(), 1)), (-1, -1));
        assert!(rmr_get_meid(null, ptr::null_mut()).is_null());
        rmr_free_msg(null);
        let message = a.message(1, b"x");
        assert!(
            rmr_realloc_payload(message, -1, 0, 0).is_null() && rmr_realloc_payload(message, i32::MAX, 0, 0).is_null()
        );
        assert!(rmr_alloc_msg(a.pointer, i32::MAX).is_null());
        let long = [b'm'; 40];
        assert_eq!(rmr_bytes2meid(message, long.as_ptr(), 40), 32);
        assert_eq!(text(rmr_get_meid, message).len(), 31);
        assert_eq!(rmr_str2meid(message, c"a name with more than thirty-one octets".as_ptr().cast()), RMR_ERR_OVERFLOW);
        rmr_bytes2payload(message, long.as_ptr(), 40);
        assert_eq!((state(message), (*message).len), (RMR_ERR_OVERFLOW, 1));
        free(message);
        assert!(rmr_init(c"no port".as_ptr().cast_mut(), 10, NO_THREAD).is_null());
        let taken = CString::new(a.port.to_string()).unwrap();
        assert!(rmr_init(taken.as_ptr().cast_mut(), 10, NO_THREAD).is_null(), "the port is in use");
    }
}

#[test]
fn constants_are_json() {
    let text = rmr_get_consts();
    // SAFETY: it is a text
    let json = unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned();
    // SAFETY: it is freed once
    unsafe { rmr_free_consts(text) };
    assert!(json.starts_with("{ \"RMR_MAX_XID\": 32,") && json.ends_with("\"RMR_ERR_NOTSUPP\": 16 }"), "{json}");
}
