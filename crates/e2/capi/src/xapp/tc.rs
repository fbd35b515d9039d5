//! Traffic control of nodes.

use std::ffi::c_char;
use std::net::Ipv4Addr;

use e2sm::tc::{DelayTarget, QueueKind, QueueParameters};
use ferric::xapp::tc::{Flow, TrafficControl};

use super::control::{ferric_xapp_answer, write_answer};
use super::session::{ferric_xapp, session};
use crate::input::{optional_text, structure};
use crate::status::{Failure, ferric_error, guard};

/// A queue: first in, first out.
pub const FERRIC_XAPP_QUEUE_FIFO: u32 = 0;
/// A queue with CoDel, which drops packets that wait too long (RFC 8289).
pub const FERRIC_XAPP_QUEUE_CODEL: u32 = 1;
/// A queue with CoDel that marks packets (ECN) in place of dropping them.
pub const FERRIC_XAPP_QUEUE_ECN_CODEL: u32 = 2;

/// A queue to add. Set it to zeros, then `size` and the rest.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_queue {
    /// sizeof(struct ferric_xapp_queue)
    pub size: u32,
    /// FERRIC_XAPP_QUEUE_….
    pub kind: u32,
    /// The target of CoDel in milliseconds; 0 stands for 5.
    pub target_ms: u32,
    /// The interval of CoDel in milliseconds; 0 stands for 100.
    pub interval_ms: u32,
}

/// The packets of a flow. Set it to zeros, then `size` and what they have in common: what is 0 or NULL matches everything.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_flow {
    /// sizeof(struct ferric_xapp_flow)
    pub size: u32,
    /// The protocol: 6 is TCP, 17 UDP.
    pub protocol: u32,
    /// The source address: "10.45.0.7".
    pub source: *const c_char,
    /// The destination address.
    pub destination: *const c_char,
    /// The source port.
    pub source_port: u32,
    /// The destination port.
    pub destination_port: u32,
}

fn kind(number: u32) -> Result<QueueKind, Failure> {
    match number {
        FERRIC_XAPP_QUEUE_FIFO => Ok(QueueKind::Fifo),
        FERRIC_XAPP_QUEUE_CODEL => Ok(QueueKind::CoDel),
        FERRIC_XAPP_QUEUE_ECN_CODEL => Ok(QueueKind::EcnCoDel),
        other => Err(Failure::argument("kind", format_args!("kind {other} is not a FERRIC_XAPP_QUEUE_…"))),
    }
}

/// Sends a control of traffic control to a node, or to all that have it.
///
/// # Safety
/// `node` is NULL or a text; `answer` and `error` are NULL or valid.
unsafe fn control(
    xapp: ferric_xapp,
    node: *const c_char,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
    send: impl FnOnce(TrafficControl) -> Result<Result<Vec<ferric::xapp::Answer>, ferric::xapp::Error>, Failure>,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes NULL or a text
        let node = unsafe { optional_text(node, "node") }?;
        let ric = session(xapp)?;
        let tc = match node {
            Some(node) => ric.node(node)?.tc(),
            None => ric.tc(),
        };
        let answers = send(tc)??;
        // SAFETY: as the caller states
        unsafe { write_answer(answer, &answers) };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Adds a queue at a node, or at every node with traffic control if `node` is NULL. The node numbers it: the queues count from 0,
/// which exists.
///
/// # Safety
/// `node` is NULL or a text; `queue` is valid; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_tc_add_queue(
    xapp: ferric_xapp,
    node: *const c_char,
    queue: *const ferric_xapp_queue,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let send = |tc: TrafficControl| {
        // SAFETY: the caller passes a valid pointer
        let queue = unsafe { structure(queue, "queue") }?;
        let or = |value: u32, default: u32| if value == 0 { default } else { value };
        let target = DelayTarget { target_ms: or(queue.target_ms, 5), interval_ms: or(queue.interval_ms, 100) };
        Ok(tc.add_queue(match kind(queue.kind)? {
            QueueKind::Fifo => QueueParameters::Fifo,
            QueueKind::CoDel => QueueParameters::CoDel(target),
            QueueKind::EcnCoDel => QueueParameters::EcnCoDel(target),
        }))
    };
    // SAFETY: as the caller states
    unsafe { control(xapp, node, answer, error, send) }
}

/// Removes a queue by its number and FERRIC_XAPP_QUEUE_….
///
/// # Safety
/// `node` is NULL or a text; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_tc_remove_queue(
    xapp: ferric_xapp,
    node: *const c_char,
    id: u32,
    kind: u32,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let send = |tc: TrafficControl| Ok(tc.remove_queue(id, self::kind(kind)?));
    // SAFETY: as the caller states
    unsafe { control(xapp, node, answer, error, send) }
}

/// Sends the packets of a flow to a queue. The node numbers the filter.
///
/// # Safety
/// `node` is NULL or a text; `flow` is valid, and so are the pointers in it; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_tc_add_filter(
    xapp: ferric_xapp,
    node: *const c_char,
    flow: *const ferric_xapp_flow,
    queue: u32,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let send = |tc: TrafficControl| {
        // SAFETY: the caller passes a valid pointer
        let flow = unsafe { structure(flow, "flow") }?;
        let address = |address: *const c_char, field: &str| {
            // SAFETY: the caller passes NULL or a text
            let Some(text) = (unsafe { optional_text(address, field) })? else { return Ok(None) };
            let wrong = |_| Failure::argument(field, format_args!("{field} {text:?} is not an IPv4 address"));
            text.parse::<Ipv4Addr>().map(Some).map_err(wrong)
        };
        let port = |port: u32, field: &str| {
            let wrong = |_| Failure::argument(field, format_args!("{field} {port} is not in 0 to 65535"));
            u16::try_from(port).map(|port| (port != 0).then_some(port)).map_err(wrong)
        };
        let protocol = u8::try_from(flow.protocol).map_err(|_| {
            Failure::argument("protocol", format_args!("protocol {} is not in 0 to 255", flow.protocol))
        })?;
        let flow = Flow {
            source: address(flow.source, "source")?,
            destination: address(flow.destination, "destination")?,
            source_port: port(flow.source_port, "source_port")?,
            destination_port: port(flow.destination_port, "destination_port")?,
            protocol: (protocol != 0).then_some(protocol),
        };
        Ok(tc.add_filter(flow, queue))
    };
    // SAFETY: as the caller states
    unsafe { control(xapp, node, answer, error, send) }
}

/// Removes a filter by its number.
///
/// # Safety
/// `node` is NULL or a text; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_tc_remove_filter(
    xapp: ferric_xapp,
    node: *const c_char,
    id: u32,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    // SAFETY: as the caller states
    unsafe { control(xapp, node, answer, error, |tc| Ok(tc.remove_filter(id))) }
}

/// Switches the pacer (5G-BDP) on (1) or off (0): with it, packets wait in the queues and not in the buffer of RLC.
///
/// # Safety
/// `node` is NULL or a text; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_tc_pace(
    xapp: ferric_xapp,
    node: *const c_char,
    is_on: u32,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let send = |tc: TrafficControl| match is_on {
        0 | 1 => Ok(tc.pace(is_on == 1)),
        other => Err(Failure::argument("is_on", format_args!("is_on {other} is neither 0 nor 1"))),
    };
    // SAFETY: as the caller states
    unsafe { control(xapp, node, answer, error, send) }
}
