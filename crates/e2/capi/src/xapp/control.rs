//! Controls of UEs, and quotas of network slices.

use std::ffi::c_char;

use ferric::xapp::{Answer, Qos, Quota};

use super::list::named;
use super::session::{ferric_xapp, session};
use crate::input::{structure, text};
use crate::status::{FERRIC_NAME_OCTETS, Failure, ferric_error, guard};

/// The length of the text of an answer in octets, with its final zero.
pub const FERRIC_XAPP_ANSWER_OCTETS: usize = 256;

/// The answer of the nodes that have executed a control.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_answer {
    /// The number of nodes; the rest is about the first.
    pub nodes: usize,
    /// Its name.
    pub node: [c_char; FERRIC_NAME_OCTETS],
    /// What it says in the outcome of its service model; empty if nothing.
    pub text: [c_char; FERRIC_XAPP_ANSWER_OCTETS],
}

/// A change of the QoS of a bearer. Set it to zeros, then `size` and what changes.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_qos {
    /// sizeof(struct ferric_xapp_qos)
    pub size: u32,
    /// The data radio bearer, 1 to 32; 0 stands for 1.
    pub drb: u32,
    /// 1 if `five_qi` is given, else 0.
    pub has_five_qi: u32,
    /// The 5QI, 0 to 255.
    pub five_qi: u32,
    /// The priority level, 1 (served first) to 127; 0 if it stays.
    pub priority: u32,
}

/// The shares of a network slice in the resource blocks of a cell: dedicated <= min <= max.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_quota {
    /// sizeof(struct ferric_xapp_quota)
    pub size: u32,
    /// The share in percent that it gets if it has data.
    pub min_percent: u32,
    /// The most that it gets, in percent: 100 for no limit.
    pub max_percent: u32,
    /// The share in percent that stays reserved without data.
    pub dedicated_percent: u32,
}

/// Writes answers for C, which may not want them.
///
/// # Safety
/// `out` is NULL or valid.
pub(super) unsafe fn write_answer(out: *mut ferric_xapp_answer, answers: &[Answer]) {
    // SAFETY: the caller passes NULL or a valid pointer
    let Some(out) = (unsafe { out.as_mut() }) else { return };
    let first = answers.first();
    *out = ferric_xapp_answer {
        nodes: answers.len(),
        node: named(first.map_or("", |answer| &answer.node)),
        text: named(first.and_then(|answer| answer.text.as_deref()).unwrap_or_default()),
    };
}

/// A number that fits into `u8`.
fn octet(value: u32, field: &str) -> Result<u8, Failure> {
    u8::try_from(value).map_err(|_| Failure::argument(field, format_args!("{field} {value} is not in 0 to 255")))
}

/// Hands a UE over to a cell (E2SM-RC 8.4.4.1).
///
/// # Safety
/// `ue` and `cell` are texts; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_ue_handover(
    xapp: ferric_xapp,
    ue: *const c_char,
    cell: *const c_char,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes texts
        let (ue, cell) = unsafe { (text(ue, "ue")?, text(cell, "cell")?) };
        let answered = session(xapp)?.ue(ue)?.handover(cell)?;
        // SAFETY: as the caller states
        unsafe { write_answer(answer, &[answered]) };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Moves a UE to a slice of its cell's scheduler, in both directions.
///
/// # Safety
/// `ue` is a text; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_ue_slice(
    xapp: ferric_xapp,
    ue: *const c_char,
    slice: u32,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a text
        let ue = unsafe { text(ue, "ue") }?;
        let answered = session(xapp)?.ue(ue)?.slice(slice)?;
        // SAFETY: as the caller states
        unsafe { write_answer(answer, &[answered]) };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Sets the long DRX cycle of a UE (E2SM-RC 8.4.3.1): the longest one of TS 38.331 that is not above `cycle_ms`, 10 to 10,240.
///
/// # Safety
/// `ue` is a text; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_ue_drx(
    xapp: ferric_xapp,
    ue: *const c_char,
    cycle_ms: u32,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a text
        let ue = unsafe { text(ue, "ue") }?;
        let cycle_ms = u16::try_from(cycle_ms)
            .map_err(|_| Failure::argument("cycle_ms", format_args!("cycle_ms {cycle_ms} is not in 10 to 10240")))?;
        let answered = session(xapp)?.ue(ue)?.drx(cycle_ms)?;
        // SAFETY: as the caller states
        unsafe { write_answer(answer, &[answered]) };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Changes the QoS of a bearer of a UE (E2SM-RC 8.4.2.1).
///
/// # Safety
/// `ue` is a text and `qos` is valid; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_ue_qos(
    xapp: ferric_xapp,
    ue: *const c_char,
    qos: *const ferric_xapp_qos,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a text and a valid pointer
        let (ue, qos) = unsafe { (text(ue, "ue")?, structure(qos, "qos")?) };
        let five_qi = match qos.has_five_qi {
            0 => None,
            1 => Some(octet(qos.five_qi, "five_qi")?),
            other => {
                let text = format_args!("has_five_qi {other} is neither 0 nor 1");
                return Err(Failure::argument("has_five_qi", text));
            }
        };
        let priority = octet(qos.priority, "priority")?;
        let drb = if qos.drb == 0 { 1 } else { octet(qos.drb, "drb")? };
        let qos = Qos { drb, five_qi, priority: (priority != 0).then_some(priority) };
        let answered = session(xapp)?.ue(ue)?.qos(qos)?;
        // SAFETY: as the caller states
        unsafe { write_answer(answer, &[answered]) };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Sets the quota of a network slice, "1" or "1-00000a", at a node, or at every node that offers it if `node` is NULL (E2SM-RC
/// 8.4.3.6, or E2SM-CCC).
///
/// # Safety
/// `node` is NULL or a text; `slice` is a text and `quota` is valid; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_quota(
    xapp: ferric_xapp,
    node: *const c_char,
    slice: *const c_char,
    quota: *const ferric_xapp_quota,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes texts and a valid pointer
        let (node, slice, quota) =
            unsafe { (crate::input::optional_text(node, "node")?, text(slice, "slice")?, structure(quota, "quota")?) };
        let quota = Quota {
            min_percent: octet(quota.min_percent, "min_percent")?,
            max_percent: octet(quota.max_percent, "max_percent")?,
            dedicated_percent: octet(quota.dedicated_percent, "dedicated_percent")?,
        };
        let ric = session(xapp)?;
        let answers = match node {
            Some(node) => ric.node(node)?.quota(slice, quota)?,
            None => ric.quota(slice, quota)?,
        };
        // SAFETY: as the caller states
        unsafe { write_answer(answer, &answers) };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}
