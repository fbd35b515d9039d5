//! What is known of the RAN: nodes, cells and UEs.

use std::ffi::c_char;

use ferric::e2::topology::UeIdentity;
use ferric::xapp::{CellId, NetworkSlice, UeReference};

use super::session::{ferric_xapp, session};
use crate::input::{result, text, write_array};
use crate::status::{FERRIC_NAME_OCTETS, ferric_error, guard, write_text};

/// An E2 node.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_node {
    /// Its name, as the RIC logs it: "gnb-00101-e00".
    pub name: [c_char; FERRIC_NAME_OCTETS],
}

/// A cell.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_cell {
    /// Its NR or E-UTRA cell identity.
    pub identity: u64,
    /// The same in hexadecimal digits, as calls take it: "003804001".
    pub name: [c_char; 16],
    /// The name of its node.
    pub node: [c_char; FERRIC_NAME_OCTETS],
}

/// A UE, with what is known of it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_ue {
    /// The most stable of its names, as calls take it: "amf:17".
    pub name: [c_char; FERRIC_NAME_OCTETS],
    /// Its AMF UE NGAP ID; -1 if it is not known.
    pub amf_ue_ngap_id: i64,
    /// Its C-RNTI; 0 if it is not known.
    pub c_rnti: u16,
    /// Its cell in hexadecimal digits; empty if it is not known.
    pub cell: [c_char; 16],
    /// The first of its network slices: "1" or "1-00000a"; empty if it is not known.
    pub slice: [c_char; 16],
    /// The first of its IPv4 addresses; empty if it is not known.
    pub ip: [c_char; 16],
}

/// A text in an array, cut if it is too long.
pub(crate) fn named<const N: usize>(text: impl AsRef<str>) -> [c_char; N] {
    let mut out = [0; N];
    write_text(&mut out, text.as_ref().as_bytes());
    out
}

fn ue_of(reference: &UeReference, identity: &UeIdentity) -> ferric_xapp_ue {
    let text = |text: Option<String>| named(text.unwrap_or_default());
    ferric_xapp_ue {
        name: named(reference.to_string()),
        amf_ue_ngap_id: identity.amf_ue_ngap_id.and_then(|id| i64::try_from(id).ok()).unwrap_or(-1),
        c_rnti: identity.rnti.unwrap_or(0),
        cell: text(identity.cell.map(|cell| CellId::new(cell).to_string())),
        slice: text(identity.context.s_nssais.first().map(|slice| NetworkSlice(*slice).to_string())),
        ip: text(identity.context.addresses.first().map(ToString::to_string)),
    }
}

/// Lists the nodes that are up: writes up to `capacity` of them to `out`, and their number to `count`, which may be larger.
///
/// # Safety
/// `out` is valid for `capacity` items, or NULL if there is no room; `count` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_nodes(
    xapp: ferric_xapp,
    out: *mut ferric_xapp_node,
    capacity: usize,
    count: *mut usize,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        let nodes = session(xapp)?.nodes()?;
        let nodes = nodes.iter().map(|node| ferric_xapp_node { name: named(node.name()) }).collect();
        // SAFETY: as the caller states
        unsafe { write_array(nodes, out, capacity, count, "out") }
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Waits until the node of that name is up, until the deadline.
///
/// # Safety
/// `node` is a text; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_await_node(
    xapp: ferric_xapp,
    node: *const c_char,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a text
        let node = unsafe { text(node, "node") }?;
        session(xapp)?.node(node)?;
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Lists the cells that are known, as ferric_xapp_nodes does.
///
/// # Safety
/// `out` is valid for `capacity` items, or NULL if there is no room; `count` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_cells(
    xapp: ferric_xapp,
    out: *mut ferric_xapp_cell,
    capacity: usize,
    count: *mut usize,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        let cells = session(xapp)?.cells()?;
        let cell = |cell: &ferric::xapp::Cell| ferric_xapp_cell {
            identity: cell.id().identity(),
            name: named(cell.id().to_string()),
            node: named(cell.node()),
        };
        // SAFETY: as the caller states
        unsafe { write_array(cells.iter().map(cell).collect(), out, capacity, count, "out") }
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Lists the UEs that are known, as ferric_xapp_nodes does. They become known by reports, which the first call requests: wait
/// for one of them with ferric_xapp_find_ue.
///
/// # Safety
/// `out` is valid for `capacity` items, or NULL if there is no room; `count` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_ues(
    xapp: ferric_xapp,
    out: *mut ferric_xapp_ue,
    capacity: usize,
    count: *mut usize,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        let ues = session(xapp)?.identities()?;
        let ues = ues.iter().map(|(reference, identity)| ue_of(reference, identity)).collect();
        // SAFETY: as the caller states
        unsafe { write_array(ues, out, capacity, count, "out") }
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Finds a UE by one of its names: "amf:17", "rnti:0x4601@003804001", "ip:10.45.0.7", …; waits for it until the deadline.
///
/// # Safety
/// `ue` is a text; `out` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_find_ue(
    xapp: ferric_xapp,
    ue: *const c_char,
    out: *mut ferric_xapp_ue,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a text and a valid pointer
        let (ue, out) = unsafe { (text(ue, "ue")?, result(out, "out")?) };
        let ue = session(xapp)?.ue(ue)?;
        let identity = ue.identity()?;
        let reference = identity.reference().unwrap_or_else(|| ue.reference().clone());
        *out = ue_of(&reference, &identity);
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}
