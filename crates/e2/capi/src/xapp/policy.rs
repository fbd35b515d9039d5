//! Policies: rules on handovers, by which nodes decide themselves (E2SM-RC).

use std::ffi::c_char;
use std::mem;
use std::process;

use e2sm::rc::{Comparison, HandoverOutcome, HandoverRule, RuleCondition};
use ferric::xapp::{CellId, Policy};

use super::session::{ferric_xapp, session};
use crate::handle::Table;
use crate::input::{array, optional_text, result, text};
use crate::status::{Failure, ferric_error, guard, guard_real_time};

/// The handover continues.
pub const FERRIC_XAPP_ACCEPT: u32 = 0;
/// The handover ends.
pub const FERRIC_XAPP_REJECT: u32 = 1;

/// The parameter is equal to the value.
pub const FERRIC_XAPP_EQUAL: u32 = 0;
/// The parameter is not equal to the value.
pub const FERRIC_XAPP_NOT_EQUAL: u32 = 1;
/// The parameter is greater than the value.
pub const FERRIC_XAPP_GREATER: u32 = 2;
/// The parameter is less than the value.
pub const FERRIC_XAPP_LESS: u32 = 3;

/// The most rules of a policy.
pub const FERRIC_XAPP_MAX_RULES: usize = 64;
/// The most conditions of a rule.
pub const FERRIC_XAPP_MAX_CONDITIONS: usize = 16;

/// A condition on the UE of a handover.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_condition {
    /// The parameter as the node registers it, such as "CQI", or its number in digits.
    pub parameter: *const c_char,
    /// FERRIC_XAPP_EQUAL, …
    pub comparison: u32,
    /// The value, in the unit of the parameter.
    pub value: i64,
}

/// A rule on handovers that nodes begin.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_handover_rule {
    /// The conditions, all of which must hold; NULL: the rule always applies.
    pub conditions: *const ferric_xapp_condition,
    /// Their number, at most FERRIC_XAPP_MAX_CONDITIONS.
    pub condition_count: usize,
    /// FERRIC_XAPP_ACCEPT or FERRIC_XAPP_REJECT.
    pub decision: u32,
    /// Another target of a handover that is accepted; NULL: the one that the node has chosen.
    pub cell: *const c_char,
}

/// A policy that nodes apply, until it is freed.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_policy {
    /// The number of the object; 0 is none.
    pub id: u64,
}

struct PolicyObject {
    process: u32,
    policy: Policy,
}

static POLICIES: Table<PolicyObject> = Table::new(13);

/// Installs 1 to FERRIC_XAPP_MAX_RULES rules on handovers at every node that offers policies on them, also at nodes that come later
/// (E2SM-RC 7.7). A node applies the first rule whose conditions all hold; without one, a handover continues. FERRIC_ERROR_NOT_OFFERED
/// names a parameter that nodes do not test, and the nearest that they do.
///
/// # Safety
/// `rules` is valid for `rule_count` rules, and the pointers in them are NULL or valid; `out` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_policy_new(
    xapp: ferric_xapp,
    rules: *const ferric_xapp_handover_rule,
    rule_count: usize,
    out: *mut ferric_xapp_policy,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer, and rules
        let (out, rules) = unsafe {
            let rules = array(rules, rule_count, FERRIC_XAPP_MAX_RULES, "rules")?;
            let rules = rules.iter().map(|rule| read(rule)).collect::<Result<Vec<_>, Failure>>()?;
            (result(out, "out")?, rules)
        };
        let policy = session(xapp)?.handover_policy(rules)?;
        *out = ferric_xapp_policy { id: POLICIES.insert(PolicyObject { process: process::id(), policy })? };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// # Safety
/// The pointers in the rule are NULL or valid.
unsafe fn read(rule: &ferric_xapp_handover_rule) -> Result<HandoverRule, Failure> {
    // SAFETY: as the caller states
    let (conditions, cell) = unsafe {
        let conditions = array(rule.conditions, rule.condition_count, FERRIC_XAPP_MAX_CONDITIONS, "conditions")?;
        (conditions, optional_text(rule.cell, "cell")?)
    };
    let cell = cell.map(str::parse::<CellId>).transpose()?;
    let outcome = match (rule.decision, cell) {
        (FERRIC_XAPP_ACCEPT, None) => HandoverOutcome::Accept,
        (FERRIC_XAPP_ACCEPT, Some(cell)) => HandoverOutcome::To(cell.identity()),
        (FERRIC_XAPP_REJECT, None) => HandoverOutcome::Reject,
        (FERRIC_XAPP_REJECT, Some(_)) => {
            return Err(Failure::argument("cell", "cell is given, but the handover is rejected: it is NULL then"));
        }
        (other, _) => {
            let text = format!("decision {other} is neither FERRIC_XAPP_ACCEPT nor FERRIC_XAPP_REJECT");
            return Err(Failure::argument("decision", text));
        }
    };
    let condition = |condition: &ferric_xapp_condition| {
        // SAFETY: as the caller states
        let parameter = unsafe { text(condition.parameter, "parameter") }?.to_owned();
        let comparison = match condition.comparison {
            FERRIC_XAPP_EQUAL => Comparison::Equal,
            FERRIC_XAPP_NOT_EQUAL => Comparison::Difference,
            FERRIC_XAPP_GREATER => Comparison::GreaterThan,
            FERRIC_XAPP_LESS => Comparison::LessThan,
            other => {
                let text = format!("comparison {other} is none of FERRIC_XAPP_EQUAL to FERRIC_XAPP_LESS");
                return Err(Failure::argument("comparison", text));
            }
        };
        Ok(RuleCondition { parameter, comparison, value: condition.value })
    };
    let conditions = conditions.iter().map(condition).collect::<Result<_, Failure>>()?;
    Ok(HandoverRule { conditions, outcome })
}

/// Removes a policy from the nodes. In a forked process it only frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_policy_free(policy: ferric_xapp_policy) -> i32 {
    guard_real_time(|| {
        let object = POLICIES.remove(policy.id)?;
        if object.process == process::id() {
            drop(object.policy);
        } else {
            // the session belongs to the other process
            mem::forget(object);
        }
        Ok(())
    })
}
