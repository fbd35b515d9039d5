//! Configuration structures of cells (E2SM-CCC), as JSON texts: queries, changes, and reports of changes.

use std::ffi::{CStr, c_char};
use std::os::raw::c_int;
use std::ptr;
use std::sync::Arc;

use e2sm::ccc::{ChangeType, RanConfigurationStructure};
use ferric::xapp::{CellConfiguration, CellId};
use serde_json::{Map, Value, json};

use super::control::{ferric_xapp_answer, write_answer};
use super::event::FeedObject;
use super::list::named;
use super::session::{ferric_xapp, session};
use crate::handle::Table;
use crate::input::{array, result, text};
use crate::status::{FERRIC_NAME_OCTETS, Failure, ferric_error, guard, guard_real_time};

/// The most structures of a call.
pub const FERRIC_XAPP_MAX_STRUCTURES: usize = 64;
/// The longest JSON text of a change in octets.
pub const FERRIC_XAPP_MAX_JSON_OCTETS: usize = 65536;

/// A stream of reports of configuration structures.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_configurations {
    /// The number of the object; 0 is none.
    pub id: u64,
}

/// A report of configuration structures of a cell.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_configuration {
    /// The name of the node.
    pub node: [c_char; FERRIC_NAME_OCTETS],
    /// The cell.
    pub cell: [c_char; 16],
    /// The length of the JSON text in octets without its final zero, which may be more than there was room for.
    pub length: usize,
    /// The reports that this stream has lost since it began, because it was read too slowly.
    pub lost: u64,
}

static FEEDS: Table<Arc<FeedObject<CellConfiguration>>> = Table::new(14);

/// # Safety
/// `names` is valid for `count` texts.
unsafe fn names<'a>(names: *const *const c_char, count: usize) -> Result<Vec<&'a str>, Failure> {
    // SAFETY: as the caller states
    unsafe {
        let names = array(names, count, FERRIC_XAPP_MAX_STRUCTURES, "structures")?;
        names.iter().map(|name| text(*name, "structures")).collect()
    }
}

/// Writes a text with a final zero, as much as there is room for. Returns its length.
///
/// # Safety
/// `out` is valid for `capacity` octets, or NULL if there is no room.
unsafe fn write_text(text: &str, out: *mut c_char, capacity: usize) -> Result<usize, Failure> {
    if out.is_null() && capacity > 0 {
        return Err(Failure::null("json"));
    }
    if let Some(room) = capacity.checked_sub(1) {
        // a cut between two octets of a character would be no UTF-8
        let mut end = text.len().min(room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        // SAFETY: there is room for so many octets and a zero, and the text is memory of this call
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr().cast(), out, end);
            out.add(end).write(0);
        }
    }
    Ok(text.len())
}

/// Reads configuration structures of a node's cells by name, such as "O-NRCellDU" (E2SM-CCC 8.8; E2AP v03). Writes a JSON text with a
/// final zero: [{"cell": "003800001", "structures": {"O-NRCellDU": {…}}}]. `length` gets the length of all of it without the zero: if
/// that is not less than `capacity`, the text is cut, and the query can be repeated with more room.
///
/// # Safety
/// `node` is a text; `structures` is valid for `structure_count` texts; `json` is valid for `capacity` octets, or NULL if there is no
/// room; `length` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_node_query(
    xapp: ferric_xapp,
    node: *const c_char,
    structures: *const *const c_char,
    structure_count: usize,
    json: *mut c_char,
    capacity: usize,
    length: *mut usize,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes valid pointers, and texts
        let (node, names, length) =
            unsafe { (text(node, "node")?, names(structures, structure_count)?, result(length, "length")?) };
        let cells = session(xapp)?.node(node)?.query(names)?;
        let cells = cells.iter().map(|cell| {
            let structures = cell.structures.iter().map(|of| (of.0.name().to_owned(), of.0.attributes().into()));
            let structures: Map<String, Value> = structures.collect();
            json!({ "cell": CellId::of(&cell.cell_global_id).to_string(), "structures": structures })
        });
        let text = Value::Array(cells.collect()).to_string();
        // SAFETY: as the caller states
        *length = unsafe { write_text(&text, json, capacity) }?;
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Sets configuration structures in each cell of the node that offers them, all together (E2SM-CCC 7.6.2). `json` is an object of their
/// attributes by their names, at most FERRIC_XAPP_MAX_JSON_OCTETS: {"O-NRCellDU": {"administrativeState": "LOCKED"}}. Attributes that
/// are left out stay. FERRIC_ERROR_UNVERIFIED: the node has acknowledged it, and not set what the text names.
///
/// # Safety
/// `node` and `json` are texts; `answer` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_node_configure(
    xapp: ferric_xapp,
    node: *const c_char,
    json: *const c_char,
    answer: *mut ferric_xapp_answer,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a text
        let node = unsafe { text(node, "node") }?;
        if json.is_null() {
            return Err(Failure::null("json"));
        }
        // SAFETY: the caller passes a text that ends with a zero
        let octets = unsafe { CStr::from_ptr(json) }.to_bytes();
        let answers = session(xapp)?.node(node)?.configure(structures(octets)?)?;
        // SAFETY: as the caller states
        unsafe { write_answer(answer, &answers) };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

fn structures(octets: &[u8]) -> Result<Vec<RanConfigurationStructure>, Failure> {
    if octets.len() > FERRIC_XAPP_MAX_JSON_OCTETS {
        let text = format!("json has more than {FERRIC_XAPP_MAX_JSON_OCTETS} octets");
        return Err(Failure::argument("json", text));
    }
    let read = serde_json::from_slice::<Map<String, Value>>(octets);
    let read =
        read.map_err(|error| Failure::argument("json", format_args!("json is no object of structures: {error}")))?;
    if read.len() > FERRIC_XAPP_MAX_STRUCTURES {
        return Err(Failure::argument(
            "json",
            format_args!("json has more than {FERRIC_XAPP_MAX_STRUCTURES} structures"),
        ));
    }
    let structure = |(name, attributes): (String, Value)| {
        let Value::Object(attributes) = attributes else {
            return Err(Failure::argument("json", format_args!("json: {name} is no object of attributes")));
        };
        RanConfigurationStructure::new(&name, attributes)
            .map_err(|error| Failure::argument("json", format_args!("json: {name}: {error}")))
    };
    read.into_iter().map(structure).collect()
}

/// Requests reports of configuration structures of all cells, by name: their state, and then each change, also of nodes that come
/// later (E2SM-CCC 7.4.2).
///
/// # Safety
/// `structures` is valid for `structure_count` texts; `out` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_configurations_new(
    xapp: ferric_xapp,
    structures: *const *const c_char,
    structure_count: usize,
    out: *mut ferric_xapp_configurations,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer, and texts
        let (out, names) = unsafe { (result(out, "out")?, names(structures, structure_count)?) };
        let feed = FeedObject::new(session(xapp)?.configuration(names)?)?;
        *out = ferric_xapp_configurations { id: FEEDS.insert(feed)? };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Returns the file descriptor that is readable while reports are buffered; -1 if there is no such stream.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_configurations_fd(configurations: ferric_xapp_configurations) -> c_int {
    FeedObject::of(&FEEDS, configurations.id).map_or(-1, |feed| feed.fd())
}

/// Reads the next report; waits for it for `timeout_ms` as ferric_xapp_kpm_read does, with the same errors. Writes a JSON text with a
/// final zero, cut at `capacity`: {"O-NRCellDU": {…}}, with null for a structure that the node has removed. A stream buffers 1024
/// reports; a slower reader loses the oldest.
///
/// # Safety
/// `out` is valid; `json` is valid for `capacity` octets, or NULL if there is no room; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_configurations_read(
    configurations: ferric_xapp_configurations,
    timeout_ms: i32,
    out: *mut ferric_xapp_configuration,
    json: *mut c_char,
    capacity: usize,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer
        let out = unsafe { result(out, "out") }?;
        if json.is_null() && capacity > 0 {
            return Err(Failure::null("json"));
        }
        let (report, lost) = FeedObject::of(&FEEDS, configurations.id)?.read_counted(timeout_ms)?;
        let structures = report.structures.iter().map(|of| {
            let is_there = of.change_type != ChangeType::Deletion;
            (of.values.name().to_owned(), is_there.then(|| of.values.attributes()).into())
        });
        let text = Value::Object(structures.collect()).to_string();
        // SAFETY: as the caller states
        let length = unsafe { write_text(&text, json, capacity) }?;
        let (node, cell) = (named(&report.node), named(report.cell.to_string()));
        *out = ferric_xapp_configuration { node, cell, length, lost };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Ends a stream of reports. A thread that waits in a read of it gets FERRIC_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_configurations_free(configurations: ferric_xapp_configurations) -> i32 {
    guard_real_time(|| FeedObject::free(&FEEDS, configurations.id))
}
