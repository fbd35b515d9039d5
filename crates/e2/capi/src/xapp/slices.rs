//! The slices of cells: shares of a cell's scheduler.

use std::ffi::c_char;

use ferric::xapp::{Direction, SliceShare, SliceState, Slices};

use super::control::{ferric_xapp_answer, write_answer};
use super::list::named;
use super::session::{ferric_xapp, session};
use crate::input::{array, optional_text, write_array};
use crate::status::{FERRIC_NAME_OCTETS, Failure, ferric_error, guard};

/// The direction to the UE.
pub const FERRIC_DOWNLINK: u32 = 0;
/// The direction from the UE.
pub const FERRIC_UPLINK: u32 = 1;
/// The most slices of a call.
pub const FERRIC_XAPP_MAX_SLICES: usize = 1024;

/// A slice to set: a share of the cell's resource blocks.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_share {
    /// The number of the slice, by which it is changed later.
    pub id: u32,
    /// The share in percent: above 0, up to 100.
    pub share_percent: f32,
    /// A label for people; NULL: none.
    pub label: *const c_char,
}

/// A slice as a node reports it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_slice {
    /// The name of the node.
    pub node: [c_char; FERRIC_NAME_OCTETS],
    /// FERRIC_DOWNLINK or FERRIC_UPLINK.
    pub direction: u32,
    /// Its number.
    pub id: u32,
    /// Its label.
    pub label: [c_char; FERRIC_NAME_OCTETS],
    /// Its share in percent; NaN if the scheduler divides the cell otherwise.
    pub share_percent: f32,
    /// The number of UEs in it.
    pub ue_count: usize,
}

/// The slices of a node, or of all, in a direction.
fn slices(xapp: ferric_xapp, node: Option<&str>, direction: u32) -> Result<Slices, Failure> {
    if direction > FERRIC_UPLINK {
        let text = format_args!("direction {direction} is neither FERRIC_DOWNLINK nor FERRIC_UPLINK");
        return Err(Failure::argument("direction", text));
    }
    let ric = session(xapp)?;
    let slices = match node {
        Some(node) => ric.node(node)?.slices(),
        None => ric.slices(),
    };
    Ok(if direction == FERRIC_UPLINK { slices.uplink() } else { slices })
}

fn slice_of(state: &SliceState) -> ferric_xapp_slice {
    ferric_xapp_slice {
        node: named(&state.node),
        direction: if state.direction == Direction::Uplink { FERRIC_UPLINK } else { FERRIC_DOWNLINK },
        id: state.id,
        label: named(&state.label),
        share_percent: state.share_percent.unwrap_or(f32::NAN),
        ue_count: state.ues,
    }
}

/// Lists the slices of both directions at a node, or at every node if `node` is NULL: writes up to `capacity` of them to `out`,
/// and their number to `count`, which may be larger.
///
/// # Safety
/// `node` is NULL or a text; `out` is valid for `capacity` items, or NULL if there is no room; `count` is valid; `error` is NULL
/// or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_slices_list(
    xapp: ferric_xapp,
    node: *const c_char,
    out: *mut ferric_xapp_slice,
    capacity: usize,
    count: *mut usize,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes NULL or a text
        let node = unsafe { optional_text(node, "node") }?;
        let states = slices(xapp, node, FERRIC_DOWNLINK)?.list()?;
        // SAFETY: as the caller states
        unsafe { write_array(states.iter().map(slice_of).collect(), out, capacity, count, "out") }
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Adds slices in a direction, and changes those whose number exists, all together or not at all.
///
/// # Safety
/// `node` is NULL or a text; `shares` is valid for `count` items, and so are the pointers in them; `answer` and `error` are NULL or
/// valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_slices_set(
    xapp: ferric_xapp,
    node: *const c_char,
    direction: u32,
    shares: *const ferric_xapp_share,
    count: usize,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes NULL or a text, and an array of this length
        let (node, shares) =
            unsafe { (optional_text(node, "node")?, array(shares, count, FERRIC_XAPP_MAX_SLICES, "shares")?) };
        let share = |share: &ferric_xapp_share| {
            // SAFETY: the caller passes NULL or a text
            let label = unsafe { optional_text(share.label, "label") }?.unwrap_or_default().to_owned();
            Ok(SliceShare { label, ..SliceShare::new(share.id, share.share_percent) })
        };
        let shares = shares.iter().map(share).collect::<Result<Vec<_>, Failure>>()?;
        let answers = slices(xapp, node, direction)?.set(shares)?;
        // SAFETY: as the caller states
        unsafe { write_answer(answer, &answers) };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Removes slices in a direction. Their UEs are then in none.
///
/// # Safety
/// `node` is NULL or a text; `ids` is valid for `count` items; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_slices_remove(
    xapp: ferric_xapp,
    node: *const c_char,
    direction: u32,
    ids: *const u32,
    count: usize,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes NULL or a text, and an array of this length
        let (node, ids) = unsafe { (optional_text(node, "node")?, array(ids, count, FERRIC_XAPP_MAX_SLICES, "ids")?) };
        let answers = slices(xapp, node, direction)?.remove(ids.iter().copied())?;
        // SAFETY: as the caller states
        unsafe { write_answer(answer, &answers) };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}
