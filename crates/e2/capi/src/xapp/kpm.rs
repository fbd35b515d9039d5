//! Streams of measurements.

use std::ffi::c_char;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::raw::c_int;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::{mem, process};

use ferric::xapp::kpm::Batch;
use ferric::xapp::{KpmStream, Record, StreamCounts};

use super::list::named;
use super::session::{check_process, ferric_xapp, session};
use crate::handle::{InCallback, Table};
use crate::input::{array, optional_text, result, structure, text};
use crate::status::{
    FERRIC_ERROR_BUSY, FERRIC_ERROR_CLOSED, FERRIC_NAME_OCTETS, Failure, ferric_error, guard, guard_real_time,
};
use crate::wait::{Ending, deadline};

/// The most measurements of a stream.
pub const FERRIC_XAPP_MAX_MEASUREMENTS: usize = 1024;

/// A request for measurements. Set it to zeros, then `size` and the rest. At most one of `ue`, `cell`, `slice` and `whole_node`
/// is given; without them there is a record of each UE.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_kpm_config {
    /// sizeof(struct ferric_xapp_kpm_config)
    pub size: u32,
    /// The period of the reports in milliseconds, at least 1.
    pub period_ms: u32,
    /// The names of the measurements, such as "DRB.UEThpDl".
    pub measurements: *const *const c_char,
    /// Their number: 1 to FERRIC_XAPP_MAX_MEASUREMENTS.
    pub measurement_count: usize,
    /// Of one UE, at whichever node it is; NULL: no restriction.
    pub ue: *const c_char,
    /// Of a cell; NULL: no restriction.
    pub cell: *const c_char,
    /// The share of a network slice, "1" or "1-00000a"; NULL: no restriction.
    pub slice: *const c_char,
    /// Of one node, by its name; NULL: of all nodes.
    pub node: *const c_char,
    /// 1 if each node is measured as a whole, else 0.
    pub whole_node: u32,
    /// The records that are buffered for a slow reader, who loses the oldest beyond it; 0 stands for 65,536.
    pub buffer_records: u32,
}

/// A stream of measurements.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_kpm {
    /// The number of the object; 0 is none.
    pub id: u64,
}

/// The subject of a record. Texts are empty where there is nothing known.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_record {
    /// The start of the measured period in nanoseconds since 1970, by the clock of the node.
    pub time_ns: i64,
    /// The name of the node.
    pub node: [c_char; FERRIC_NAME_OCTETS],
    /// The cell in hexadecimal digits.
    pub cell: [c_char; 16],
    /// The UE, in a record of one: "amf:17".
    pub ue: [c_char; FERRIC_NAME_OCTETS],
    /// The network slice: the one that the record is about, or that of its UE.
    pub slice: [c_char; 16],
}

/// A stream and its end.
pub(super) struct StreamObject {
    process: u32,
    measurements: usize,
    fd: RawFd,
    counts: StreamCounts,
    ending: Ending,
    stream: Mutex<KpmStream>,
}

static STREAMS: Table<Arc<StreamObject>> = Table::new(6);

/// Takes a lock that only one thread at a time may want.
pub(super) fn try_lock<T>(mutex: &Mutex<T>) -> Result<MutexGuard<'_, T>, Failure> {
    match mutex.try_lock() {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(Failure::code(FERRIC_ERROR_BUSY)),
    }
}

impl StreamObject {
    pub fn of(kpm: ferric_xapp_kpm) -> Result<Arc<Self>, Failure> {
        let object = STREAMS.share(kpm.id)?;
        check_process(object.process)?;
        Ok(object)
    }

    /// The next record; waits for it for `timeout_ms`.
    fn read(&self, timeout_ms: i32) -> Result<Record, Failure> {
        InCallback::refuse()?;
        let mut stream = try_lock(&self.stream)?;
        let until = deadline(timeout_ms);
        loop {
            self.ending.check()?;
            if let Some(record) = stream.try_next()? {
                return Ok(record);
            }
            self.ending.wait(self.fd, until)?;
        }
    }

    /// Exchanges a batch for the next records; waits for them for `timeout_ms`.
    pub fn read_batch(&self, batch: &mut Batch, timeout_ms: i32) -> Result<(), Failure> {
        InCallback::refuse()?;
        let mut stream = try_lock(&self.stream)?;
        let until = deadline(timeout_ms);
        loop {
            self.ending.check()?;
            match stream.next_batch(batch, Some(std::time::Duration::ZERO)) {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(Failure::code(FERRIC_ERROR_CLOSED)),
                Err(ferric::xapp::Error::Timeout { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            self.ending.wait(self.fd, until)?;
        }
    }
}

/// Subscribes to measurements at each node, also at nodes that come later. Waits for the answers of those that are up.
///
/// # Safety
/// `config` and `out` are valid, and so are the pointers in `config`; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_kpm_new(
    xapp: ferric_xapp,
    config: *const ferric_xapp_kpm_config,
    out: *mut ferric_xapp_kpm,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes valid pointers
        let (config, out) = unsafe { (structure(config, "config")?, result(out, "out")?) };
        // SAFETY: the caller passes an array of this length
        let names = unsafe {
            array(config.measurements, config.measurement_count, FERRIC_XAPP_MAX_MEASUREMENTS, "measurements")?
        };
        // SAFETY: the caller passes texts
        let names = names.iter().map(|name| unsafe { text(*name, "measurements") }).collect::<Result<Vec<_>, _>>()?;
        // SAFETY: the caller passes texts or NULL
        let (ue, cell, slice, node) = unsafe {
            (
                optional_text(config.ue, "ue")?,
                optional_text(config.cell, "cell")?,
                optional_text(config.slice, "slice")?,
                optional_text(config.node, "node")?,
            )
        };
        let mut request = session(xapp)?.kpm(names);
        if let Some(ue) = ue {
            request = request.ue(ue);
        }
        if let Some(cell) = cell {
            request = request.cell(cell);
        }
        if let Some(slice) = slice {
            request = request.slice(slice);
        }
        request = match config.whole_node {
            0 => request,
            1 => request.whole_node(),
            other => {
                let text = format_args!("whole_node {other} is neither 0 nor 1");
                return Err(Failure::argument("whole_node", text));
            }
        };
        if let Some(node) = node {
            request = request.node(node);
        }
        if config.buffer_records != 0 {
            request = request.buffer(config.buffer_records as usize);
        }
        let stream = request.every(config.period_ms)?;
        let object = StreamObject {
            process: process::id(),
            measurements: config.measurement_count,
            fd: stream.as_fd().as_raw_fd(),
            counts: stream.counts(),
            ending: Ending::new()?,
            stream: Mutex::new(stream),
        };
        *out = ferric_xapp_kpm { id: STREAMS.insert(Arc::new(object))? };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Returns the file descriptor that is readable (poll(2), epoll(7)) while records are buffered; -1 if there is no such stream.
/// It belongs to the stream. Read until FERRIC_ERROR_TIMEOUT with a time-out of 0 before waiting for it.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_kpm_fd(kpm: ferric_xapp_kpm) -> c_int {
    StreamObject::of(kpm).map_or(-1, |object| object.fd)
}

/// Reads the next record; waits for it for `timeout_ms` (0: not at all; negative: without limit). Writes its subject to `out`, and
/// to `values` a number for each measurement in the order of the request, NaN where there is none. FERRIC_ERROR_TIMEOUT: there
/// is no record; FERRIC_ERROR_INTERRUPTED: a signal arrived; FERRIC_ERROR_CLOSED: the session is over.
///
/// # Safety
/// `out` is valid, and so is `values` for `value_count` numbers; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_kpm_read(
    kpm: ferric_xapp_kpm,
    timeout_ms: i32,
    out: *mut ferric_xapp_record,
    values: *mut f64,
    value_count: usize,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer
        let out = unsafe { result(out, "out") }?;
        let object = StreamObject::of(kpm)?;
        if value_count < object.measurements {
            let text = format_args!("value_count {value_count}: the stream has {} measurements", object.measurements);
            return Err(Failure::argument("value_count", text));
        }
        if values.is_null() {
            return Err(Failure::null("values"));
        }
        let record = object.read(timeout_ms)?;
        let since_1970 = record.time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let text = |text: Option<String>| text.unwrap_or_default();
        *out = ferric_xapp_record {
            time_ns: i64::try_from(since_1970.as_nanos()).unwrap_or(i64::MAX),
            node: named(&record.node),
            cell: named(text(record.cell.map(|cell| cell.to_string()))),
            ue: named(text(record.ue.as_ref().map(ToString::to_string))),
            slice: named(text(record.slice.map(|slice| slice.to_string()))),
        };
        for (at, (_, value)) in record.values().enumerate() {
            // SAFETY: there are as many values as measurements, and room for them
            unsafe { values.add(at).write(value.number().unwrap_or(f64::NAN)) };
        }
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Returns the number of records that were lost because this stream was read too slowly.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_kpm_lost(kpm: ferric_xapp_kpm) -> u64 {
    StreamObject::of(kpm).map_or(0, |object| object.counts.lost())
}

/// Returns the number of nodes that refused to report to this stream; each refusal was logged.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_kpm_refusals(kpm: ferric_xapp_kpm) -> u64 {
    StreamObject::of(kpm).map_or(0, |object| object.counts.refusals())
}

/// Ends a stream and its subscriptions. A thread that waits in a read of it gets FERRIC_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_kpm_free(kpm: ferric_xapp_kpm) -> i32 {
    guard_real_time(|| {
        let object = STREAMS.remove(kpm.id)?;
        if object.process == process::id() {
            object.ending.set();
        } else {
            // the session belongs to the other process
            mem::forget(object);
        }
        Ok(())
    })
}
