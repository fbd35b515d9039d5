//! Records in columns.

use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::{Arc, Mutex};

use ferric::xapp::kpm::{Batch, Dictionary};

use super::kpm::{StreamObject, ferric_xapp_kpm, try_lock};
use crate::handle::Table;
use crate::input::result;
use crate::status::{ferric_error, guard, guard_real_time};

/// The index of a subject that a record does not have.
pub const FERRIC_XAPP_NONE: u32 = u32::MAX;

/// A value is a whole number.
pub const FERRIC_XAPP_VALUE_INTEGER: u8 = 0;
/// A value is a real number.
pub const FERRIC_XAPP_VALUE_REAL: u8 = 1;
/// The node had no value.
pub const FERRIC_XAPP_VALUE_NONE: u8 = 2;
/// The value does not meet the condition for reporting it.
pub const FERRIC_XAPP_VALUE_NOT_SATISFIED: u8 = 3;
/// The report of the node does not contain the measurement.
pub const FERRIC_XAPP_VALUE_ABSENT: u8 = 4;

/// The memory of records in columns, which is used again for each read. One for each thread that reads.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_batch {
    /// The number of the object; 0 is none.
    pub id: u64,
}

/// The values of one measurement, one for each record.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_column {
    /// The values; 0 where there is no number.
    pub values: *const f64,
    /// Their kinds: FERRIC_XAPP_VALUE_….
    pub kinds: *const u8,
}

/// Names that the indices of a column stand for.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_names {
    /// The names.
    pub names: *const *const c_char,
    /// Their number.
    pub count: usize,
}

/// Records in columns. All pointers are valid until the batch is read into again or freed.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_columns {
    /// The number of records: each column has so many items.
    pub count: usize,
    /// The start of the measured period in nanoseconds since 1970.
    pub times_ns: *const i64,
    /// Indices into `node_names`.
    pub nodes: *const u32,
    /// Indices into `cell_names`, or FERRIC_XAPP_NONE.
    pub cells: *const u32,
    /// Indices into `ue_names`, or FERRIC_XAPP_NONE.
    pub ues: *const u32,
    /// Indices into `slice_names`, or FERRIC_XAPP_NONE.
    pub slices: *const u32,
    /// The measurements in the order of the request.
    pub measurements: *const ferric_xapp_column,
    /// Their number.
    pub measurement_count: usize,
    /// The names of nodes.
    pub node_names: ferric_xapp_names,
    /// The names of cells.
    pub cell_names: ferric_xapp_names,
    /// The names of UEs.
    pub ue_names: ferric_xapp_names,
    /// The names of network slices.
    pub slice_names: ferric_xapp_names,
}

/// Names as C reads them.
#[derive(Default)]
struct Names {
    texts: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Names {
    /// Writes the names that differ from those of the previous dictionary.
    fn update<T: PartialEq + ToString>(&mut self, old: &[T], new: &[T]) {
        let same = old.iter().zip(new).take_while(|(old, new)| old == new).count().min(self.texts.len());
        self.texts.truncate(same);
        // no name has a zero
        self.texts.extend(new[same..].iter().map(|name| CString::new(name.to_string()).unwrap_or_default()));
        self.pointers.truncate(same);
        self.pointers.extend(self.texts[same..].iter().map(|text| text.as_ptr()));
    }

    fn view(&self) -> ferric_xapp_names {
        ferric_xapp_names { names: self.pointers.as_ptr(), count: self.pointers.len() }
    }
}

/// A batch, and what C sees of it.
#[derive(Default)]
struct BatchState {
    batch: Batch,
    columns: Vec<ferric_xapp_column>,
    /// The dictionary whose names are written.
    dictionary: Arc<Dictionary>,
    nodes: Names,
    cells: Names,
    ues: Names,
    slices: Names,
}

// SAFETY: the pointers lead to memory of the same structure, which C reads while it owns the batch
unsafe impl Send for BatchState {}

impl BatchState {
    fn view(&mut self) -> ferric_xapp_columns {
        let BatchState { batch, columns, dictionary, nodes, cells, ues, slices } = self;
        if !Arc::ptr_eq(dictionary, &batch.dictionary) {
            let (old, new) = (&**dictionary, &*batch.dictionary);
            nodes.update(&old.nodes, &new.nodes);
            cells.update(&old.cells, &new.cells);
            ues.update(&old.ues, &new.ues);
            slices.update(&old.slices, &new.slices);
            // holding it keeps the session from changing it
            *dictionary = Arc::clone(&batch.dictionary);
        }
        columns.clear();
        let column = |column: &ferric::xapp::kpm::Column| ferric_xapp_column {
            values: column.values.as_ptr(),
            kinds: column.kinds.as_ptr(),
        };
        columns.extend(batch.columns.iter().map(column));
        ferric_xapp_columns {
            count: batch.len(),
            times_ns: batch.times_ns.as_ptr(),
            nodes: batch.nodes.as_ptr(),
            cells: batch.cells.as_ptr(),
            ues: batch.ues.as_ptr(),
            slices: batch.slices.as_ptr(),
            measurements: columns.as_ptr(),
            measurement_count: columns.len(),
            node_names: nodes.view(),
            cell_names: cells.view(),
            ue_names: ues.view(),
            slice_names: slices.view(),
        }
    }
}

const NO_NAMES: ferric_xapp_names = ferric_xapp_names { names: ptr::null(), count: 0 };
/// What is left of a batch after a read without records.
const NO_COLUMNS: ferric_xapp_columns = ferric_xapp_columns {
    count: 0,
    times_ns: ptr::null(),
    nodes: ptr::null(),
    cells: ptr::null(),
    ues: ptr::null(),
    slices: ptr::null(),
    measurements: ptr::null(),
    measurement_count: 0,
    node_names: NO_NAMES,
    cell_names: NO_NAMES,
    ue_names: NO_NAMES,
    slice_names: NO_NAMES,
};

static BATCHES: Table<Arc<Mutex<BatchState>>> = Table::new(7);

/// Creates a batch without records.
///
/// # Safety
/// `out` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_batch_new(out: *mut ferric_xapp_batch, error: *mut ferric_error) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer
        *unsafe { result(out, "out") }? = ferric_xapp_batch { id: BATCHES.insert(Arc::default())? };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Reads the next records in columns, at most 1024; waits for them for `timeout_ms` (0: not at all; negative: without limit).
/// Columns are not copied. `out` gets the columns, which has no records if the call fails; its errors are those of
/// ferric_xapp_kpm_read.
///
/// # Safety
/// `out` is valid; `error` is NULL or valid; no thread uses the columns of the batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_kpm_read_batch(
    kpm: ferric_xapp_kpm,
    timeout_ms: i32,
    batch: ferric_xapp_batch,
    out: *mut ferric_xapp_columns,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer
        let out = unsafe { result(out, "out") }?;
        *out = NO_COLUMNS;
        let stream = StreamObject::of(kpm)?;
        let batch = BATCHES.share(batch.id)?;
        let mut state = try_lock(&batch)?;
        stream.read_batch(&mut state.batch, timeout_ms)?;
        *out = state.view();
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Frees a batch with its columns.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_batch_free(batch: ferric_xapp_batch) -> i32 {
    guard_real_time(|| BATCHES.remove(batch.id).map(drop))
}
