//! E2SM-RC for a base station in C: controls of its UEs and its slices.
//!
//! A control is passed to a callback on the thread of the agent, or waits in a ring for a thread of the base station, which
//! answers through another ring.

mod queue;
mod source;

use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use e2sm::rc::{ControlAction, Revision};
use ferric::e2ap::RanFunctionId;
use ran_functions::rc::{RcConfig, RcFunction};

use crate::agent::{AGENTS, ferric_agent};
use crate::handle::Table;
use crate::input::{result, structure};
use crate::kpm::{TABLES, ferric_kpm, ferric_ue};
use crate::reporter::Signal;
use crate::status::{FERRIC_ERROR_HANDLE, FERRIC_ERROR_NULL, Failure, ferric_error, guard, guard_real_time};
use crate::ue::ferric_slice;
use queue::{Answer, Queue, QueuedRc};
use source::{Handler, Source};

/// Handover control (E2SM-RC control style 3, action 1).
pub const FERRIC_RC_HANDOVER: u32 = 1;
/// DRX parameter configuration (control style 2, action 1).
pub const FERRIC_RC_DRX: u32 = 2;
/// DRB QoS configuration (control style 1, action 1).
pub const FERRIC_RC_DRB_QOS: u32 = 4;
/// Slice-level PRB quota (control style 2, action 6).
pub const FERRIC_RC_SLICE_QUOTA: u32 = 8;

/// A share that a control does not state.
pub const FERRIC_RC_ABSENT: u32 = u32::MAX;
/// The most network slices of a control.
pub const FERRIC_RC_MAX_QUOTAS: usize = 16;
/// The length of the reason of a refusal in octets, with its final zero.
pub const FERRIC_RC_REASON_OCTETS: usize = 128;
/// The most controls that wait for a thread of the base station.
pub const FERRIC_RC_MAX_QUEUE: u32 = 4096;

/// The quota of a network slice: a share in percent, or FERRIC_RC_ABSENT.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_rc_quota {
    /// The network slice, of the PLMN of the node.
    pub slice: ferric_slice,
    /// The share that it gets if it has data.
    pub min_percent: u32,
    /// The most that it gets.
    pub max_percent: u32,
    /// The share that stays reserved without data.
    pub dedicated_percent: u32,
}

/// A control. Which members have a meaning depends on `action`; the others are 0.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_rc_control {
    /// Its number, with which a queued control is answered.
    pub id: u64,
    /// The action: FERRIC_RC_HANDOVER, ….
    pub action: u32,
    /// The UE, of the table of the agent; 0 for FERRIC_RC_SLICE_QUOTA.
    pub ue: ferric_ue,
    /// Handover: the cell identity of the target cell.
    pub target_cell: u64,
    /// Handover: the PLMN of the target cell, such as "00101".
    pub target_plmn: [c_char; 8],
    /// Handover: 1 if the target is an E-UTRA cell, 0 if it is an NR cell.
    pub target_is_eutra: u32,
    /// DRX: the long cycle.
    pub long_cycle_ms: u32,
    /// DRX: the short cycle; 0 if there is none.
    pub short_cycle_ms: u32,
    /// DRX: the short cycles until the long one is used again, 1 to 16; 0 if the control does not state it.
    pub short_cycle_timer: u32,
    /// QoS: the data radio bearer, 1 to 32.
    pub drb: u32,
    /// QoS: 1 if `five_qi` is given, else 0.
    pub has_five_qi: u32,
    /// QoS: the 5QI.
    pub five_qi: u32,
    /// QoS: the priority level, 1 (served first) to 127; 0 if it stays.
    pub priority: u32,
    /// Quota: the number of network slices; others keep theirs.
    pub quota_count: u32,
    /// Quota: the network slices.
    pub quotas: [ferric_rc_quota; FERRIC_RC_MAX_QUOTAS],
}

/// Executes a control on the thread of the agent; must not wait. Returns 0, or FERRIC_CAUSE_…: nothing was changed. In that case it
/// may write a text to `reason`, which has FERRIC_RC_REASON_OCTETS octets.
pub type ferric_rc_control_function =
    Option<unsafe extern "C" fn(user: *mut c_void, control: *const ferric_rc_control, reason: *mut c_char) -> i32>;

/// The configuration of RC. Set it to zeros, then `size` and the rest.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_rc_config {
    /// sizeof(struct ferric_rc_config)
    pub size: u32,
    /// The sum of the actions that are offered: FERRIC_RC_HANDOVER + ….
    pub actions: u32,
    /// Executes controls; NULL: they wait for ferric_rc_next.
    pub control: ferric_rc_control_function,
    /// Passed to `control`.
    pub user: *mut c_void,
    /// The controls that may wait, 1 to FERRIC_RC_MAX_QUEUE; 0 stands for 64.
    pub queue_length: u32,
    /// How long a queued control may be without an answer, in milliseconds, up to 4,000; 0 stands for 1,000. It is refused then,
    /// and ferric_rc_next does not return it.
    pub answer_ms: u32,
    /// The RAN function id; 0 stands for 3.
    pub function_id: u32,
    /// The revision of E2SM-RC in hundredths: 103, 300 or 500; 0 stands for 300.
    pub revision: u32,
}

/// The controls of an agent that wait for the base station.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_rc {
    /// The number of the object; 0 is none.
    pub id: u64,
}

static QUEUES: Table<Queue> = Table::new(11);

fn revision(hundredths: u32) -> Result<Revision, Failure> {
    match hundredths {
        103 => Ok(Revision::V1_03),
        0 | 300 => Ok(Revision::V3_00),
        500 => Ok(Revision::V5_00),
        other => Err(Failure::argument("revision", format_args!("revision {other} is none of 103, 300 and 500"))),
    }
}

/// A number of the configuration, for which 0 stands for a default.
fn number(value: u32, default: u32, max: u32, field: &str) -> Result<u32, Failure> {
    if value > max {
        return Err(Failure::argument(field, format_args!("{field} {value} is not in 0 to {max}")));
    }
    Ok(if value == 0 { default } else { value })
}

/// Adds E2SM-RC to an agent that is not started, for the UEs of its table `kpm`. `out` gets the queue of controls; it may be NULL if
/// `control` is given, as there is none.
///
/// # Safety
/// `config` is valid; `control` and `user` may be used on the thread of the agent until it is freed; `out` and `error` are NULL or
/// valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_agent_add_rc(
    agent: ferric_agent,
    kpm: ferric_kpm,
    config: *const ferric_rc_config,
    out: *mut ferric_rc,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer
        let config = unsafe { structure(config, "config") }?;
        let known = [
            (FERRIC_RC_HANDOVER, ControlAction::HANDOVER),
            (FERRIC_RC_DRX, ControlAction::DRX),
            (FERRIC_RC_DRB_QOS, ControlAction::DRB_QOS),
            (FERRIC_RC_SLICE_QUOTA, ControlAction::SLICE_PRB_QUOTA),
        ];
        let all = known.iter().fold(0, |all, (bit, _)| all | bit);
        if config.actions == 0 || config.actions & !all != 0 {
            let text = format_args!("actions {:#x} is not a sum of FERRIC_RC_HANDOVER, …", config.actions);
            return Err(Failure::argument("actions", text));
        }
        let actions = known.iter().filter(|(bit, _)| config.actions & bit != 0).map(|(_, action)| *action).collect();
        let length = number(config.queue_length, 64, FERRIC_RC_MAX_QUEUE, "queue_length")?;
        let answer_ms = number(config.answer_ms, 1000, 4000, "answer_ms")?;
        let function_id = number(config.function_id, 3, 4095, "function_id")?;
        let rc = RcConfig {
            function_id: RanFunctionId(u16::try_from(function_id).unwrap_or(3)),
            revision: revision(config.revision)?,
            ..RcConfig::default()
        };
        let agent = AGENTS.get(agent.id)?;
        let agent = &agent.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.object;
        let counters = TABLES.share(kpm.id)?;
        let source = |handler| Arc::new(Mutex::new(Source::new(counters, actions, handler)));
        if let Some(function) = config.control {
            let source = source(Handler::callback(function, config.user));
            return agent.add_function(Box::new(RcFunction::new(source, rc)));
        }
        // SAFETY: the caller passes NULL or a valid pointer
        let out = unsafe { result(out, "out") }?;
        let signal = Arc::new(Signal::new(agent.waker()));
        let (queue, ends) = Queue::new(length as usize, Arc::clone(&signal));
        let source = source(Handler::Queue);
        let function = RcFunction::new(Arc::clone(&source), rc);
        let answer_within = Duration::from_millis(answer_ms.into());
        agent.add_function(Box::new(QueuedRc::new(function, source, ends, signal, answer_within)))?;
        *out = ferric_rc { id: QUEUES.insert(queue)? };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Takes the next control that waits; FERRIC_ERROR_EMPTY if there is none. Each is answered with ferric_rc_answer, in any order. For
/// real-time threads: neither waits nor allocates. One thread at a time; another gets FERRIC_ERROR_BUSY.
///
/// # Safety
/// `out` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_rc_next(rc: ferric_rc, out: *mut ferric_rc_control) -> i32 {
    guard_real_time(|| {
        // SAFETY: the caller passes NULL or a valid pointer
        let out = unsafe { out.as_mut() }.ok_or(Failure::code(FERRIC_ERROR_NULL))?;
        let queue = QUEUES.get(rc.id)?;
        *out = queue.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.object.next()?;
        Ok(())
    })
}

/// Answers a control that ferric_rc_next has returned: `cause` is 0 if it was executed, or FERRIC_CAUSE_… if nothing was changed;
/// then `reason` may state why, else it is NULL. An answer that comes too late has no effect. For real-time threads: neither waits
/// nor allocates. One thread at a time; another gets FERRIC_ERROR_BUSY.
///
/// # Safety
/// `reason` is NULL or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_rc_answer(rc: ferric_rc, id: u64, cause: i32, reason: *const c_char) -> i32 {
    guard_real_time(|| {
        // SAFETY: the caller passes NULL or a text
        let reason = if reason.is_null() { c"" } else { unsafe { CStr::from_ptr(reason) } };
        let queue = QUEUES.get(rc.id)?;
        let queue = &queue.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.object;
        queue.answer(Answer::new(id, cause, reason.to_bytes()))
    })
}

/// Frees the handle of a queue. Controls that wait are refused when their time is over; the function stays part of its agent.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_rc_free(rc: ferric_rc) -> i32 {
    guard_real_time(|| QUEUES.remove(rc.id).map(drop))
}
