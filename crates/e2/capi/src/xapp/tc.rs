//! Traffic control of nodes.

use std::ffi::c_char;
use std::net::Ipv4Addr;

use e2sm::tc::{
    ChangePolicer, ChangeShaper, ClassifierControl, ControlMessage, DelayTarget, FiveTuple, ModifyFilter, ModifyQueue,
    OsiFilter, PolicerControl, QueueControl, QueueKind, QueueParameters, Scheduler, SchedulerControl, ShaperControl,
};
use ferric::xapp::tc::{Flow, TrafficControl};

use super::control::{ferric_xapp_answer, write_answer};
use super::session::{ferric_xapp, session};
use crate::input::{array, optional_text, structure};
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

/// The most queues that a scheduler is given values for.
pub const FERRIC_XAPP_MAX_QUEUES: u32 = 256;
/// The queues take turns.
pub const FERRIC_XAPP_SCHEDULER_ROUND_ROBIN: u32 = 0;
/// The values are priorities of the queues; 0 comes first.
pub const FERRIC_XAPP_SCHEDULER_PRIORITY: u32 = 1;
/// The values are quanta of the queues in octets.
pub const FERRIC_XAPP_SCHEDULER_DEFICIT_ROUND_ROBIN: u32 = 2;

/// The policer of a queue. Set it to zeros, then `size` and the rest.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_policer {
    /// sizeof(struct ferric_xapp_policer)
    pub size: u32,
    /// The number of the policer, which is that of its queue.
    pub id: u32,
    /// 1 if it is active, 0 if not.
    pub is_active: u32,
    /// Packets beyond this rate are dropped, in kbit/s.
    pub drop_rate_kbps: u32,
    /// Packets beyond this rate go to `deviation_queue`, in kbit/s; 0 stands for none.
    pub deviation_rate_kbps: u32,
    /// The number of that queue.
    pub deviation_queue: u32,
}

/// The shaper of a queue. Set it to zeros, then `size` and the rest.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_shaper {
    /// sizeof(struct ferric_xapp_shaper)
    pub size: u32,
    /// The number of the shaper, which is that of its queue.
    pub id: u32,
    /// 1 if it is active, 0 if not.
    pub is_active: u32,
    /// The highest rate, in kbit/s.
    pub max_rate_kbps: u32,
    /// The time over which the rate is measured, in milliseconds; 0 stands for 100.
    pub window_ms: u32,
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

impl ferric_xapp_queue {
    fn parameters(&self) -> Result<QueueParameters, Failure> {
        let or = |value: u32, default: u32| if value == 0 { default } else { value };
        let target = DelayTarget { target_ms: or(self.target_ms, 5), interval_ms: or(self.interval_ms, 100) };
        Ok(match kind(self.kind)? {
            QueueKind::Fifo => QueueParameters::Fifo,
            QueueKind::CoDel => QueueParameters::CoDel(target),
            QueueKind::EcnCoDel => QueueParameters::EcnCoDel(target),
        })
    }
}

impl ferric_xapp_flow {
    /// # Safety
    /// The pointers in it are NULL or texts.
    unsafe fn flow(&self) -> Result<Flow, Failure> {
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
        let protocol = u8::try_from(self.protocol).map_err(|_| {
            Failure::argument("protocol", format_args!("protocol {} is not in 0 to 255", self.protocol))
        })?;
        Ok(Flow {
            source: address(self.source, "source")?,
            destination: address(self.destination, "destination")?,
            source_port: port(self.source_port, "source_port")?,
            destination_port: port(self.destination_port, "destination_port")?,
            protocol: (protocol != 0).then_some(protocol),
        })
    }
}

fn is_on(value: u32, field: &str) -> Result<bool, Failure> {
    match value {
        0 | 1 => Ok(value == 1),
        other => Err(Failure::argument(field, format_args!("{field} {other} is neither 0 nor 1"))),
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
        Ok(tc.add_queue(queue.parameters()?))
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
        // SAFETY: the caller passes valid pointers in it
        let flow = unsafe { flow.flow() }?;
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
    let send = |tc: TrafficControl| Ok(tc.pace(self::is_on(is_on, "is_on")?));
    // SAFETY: as the caller states
    unsafe { control(xapp, node, answer, error, send) }
}

/// Changes the discipline of a queue.
///
/// # Safety
/// `node` is NULL or a text; `queue` is valid; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_tc_modify_queue(
    xapp: ferric_xapp,
    node: *const c_char,
    id: u32,
    queue: *const ferric_xapp_queue,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let send = |tc: TrafficControl| {
        // SAFETY: the caller passes a valid pointer
        let parameters = unsafe { structure(queue, "queue") }?.parameters()?;
        Ok(tc.send(ControlMessage::Queue(QueueControl::Modify(ModifyQueue { id, parameters }))))
    };
    // SAFETY: as the caller states
    unsafe { control(xapp, node, answer, error, send) }
}

/// Changes the flow of a filter, and the queue to which its packets go.
///
/// # Safety
/// `node` is NULL or a text; `flow` is valid, and so are the pointers in it; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_tc_modify_filter(
    xapp: ferric_xapp,
    node: *const c_char,
    id: u32,
    flow: *const ferric_xapp_flow,
    queue: u32,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let send = |tc: TrafficControl| {
        // SAFETY: the caller passes a valid pointer, and valid pointers in it
        let flow = unsafe { structure(flow, "flow")?.flow() }?;
        let flow = FiveTuple {
            source_address: flow.source.map(u32::from),
            destination_address: flow.destination.map(u32::from),
            source_port: flow.source_port,
            destination_port: flow.destination_port,
            protocol: flow.protocol,
        };
        let filter = ModifyFilter::Osi(OsiFilter { id, flow, queue_id: queue });
        Ok(tc.send(ControlMessage::Classifier(ClassifierControl::Modify(filter))))
    };
    // SAFETY: as the caller states
    unsafe { control(xapp, node, answer, error, send) }
}

/// Changes the policer of a queue, which drops the packets beyond a rate, or sends them to another queue.
///
/// # Safety
/// `node` is NULL or a text; `policer` is valid; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_tc_modify_policer(
    xapp: ferric_xapp,
    node: *const c_char,
    policer: *const ferric_xapp_policer,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let send = |tc: TrafficControl| {
        // SAFETY: the caller passes a valid pointer
        let policer = unsafe { structure(policer, "policer") }?;
        let change = ChangePolicer {
            id: policer.id,
            drop_rate_kbps: policer.drop_rate_kbps,
            deviation_id: policer.deviation_queue,
            deviation_rate_kbps: policer.deviation_rate_kbps,
            active: is_on(policer.is_active, "is_active")?,
        };
        Ok(tc.send(ControlMessage::Policer(PolicerControl::Modify(change))))
    };
    // SAFETY: as the caller states
    unsafe { control(xapp, node, answer, error, send) }
}

/// Changes the shaper of a queue, which delays the packets beyond a rate.
///
/// # Safety
/// `node` is NULL or a text; `shaper` is valid; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_tc_modify_shaper(
    xapp: ferric_xapp,
    node: *const c_char,
    shaper: *const ferric_xapp_shaper,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let send = |tc: TrafficControl| {
        // SAFETY: the caller passes a valid pointer
        let shaper = unsafe { structure(shaper, "shaper") }?;
        let change = ChangeShaper {
            id: shaper.id,
            max_rate_kbps: shaper.max_rate_kbps,
            window_ms: if shaper.window_ms == 0 { 100 } else { shaper.window_ms },
            active: is_on(shaper.is_active, "is_active")?,
        };
        Ok(tc.send(ControlMessage::Shaper(ShaperControl::Modify(change))))
    };
    // SAFETY: as the caller states
    unsafe { control(xapp, node, answer, error, send) }
}

/// Sets the scheduler of the queues: FERRIC_XAPP_SCHEDULER_…, and a value for each queue if it takes values. A node with FlexRIC's layout
/// of the model takes FERRIC_XAPP_SCHEDULER_ROUND_ROBIN only; another one is FERRIC_ERROR_ARGUMENT then.
///
/// # Safety
/// `node` is NULL or a text; `values` has `count` items; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_tc_modify_scheduler(
    xapp: ferric_xapp,
    node: *const c_char,
    kind: u32,
    values: *const u32,
    count: usize,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let send = |tc: TrafficControl| {
        // SAFETY: the caller passes as many items
        let values = unsafe { array(values, count, FERRIC_XAPP_MAX_QUEUES as usize, "values") }?.to_vec();
        let scheduler = match kind {
            FERRIC_XAPP_SCHEDULER_ROUND_ROBIN => Scheduler::RoundRobin,
            FERRIC_XAPP_SCHEDULER_PRIORITY => Scheduler::Priority(values.into()),
            FERRIC_XAPP_SCHEDULER_DEFICIT_ROUND_ROBIN => Scheduler::DeficitRoundRobin(values.into()),
            other => {
                return Err(Failure::argument("kind", format_args!("kind {other} is not a FERRIC_XAPP_SCHEDULER_…")));
            }
        };
        Ok(tc.send(ControlMessage::Scheduler(SchedulerControl::Modify(scheduler))))
    };
    // SAFETY: as the caller states
    unsafe { control(xapp, node, answer, error, send) }
}
