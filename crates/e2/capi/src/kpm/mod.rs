//! E2SM-KPM for a base station in C: a table of counters, which its threads update and the agent reports.
//!
//! The table has a row for the cell and a row for each UE, and a column for each measurement. Threads of the base station write
//! to it with atomic operations. The agent copies the rows that are in use at the start of a granularity period; the values of
//! the period are differences.

mod counters;
mod source;

use std::ffi::c_char;
use std::slice;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};

use e2sm::common::{Cgi, NrCgi};
use e2sm::kpm::Revision;
use e2sm::kpm::dictionary::Scope;
use ferric::e2ap::RanFunctionId;
use per::Bits;
use ran_functions::kpm::{KpmConfig, KpmFunction, SupportedMeasurement};

use crate::agent::{AGENTS, ferric_agent};
use crate::handle::Table;
use crate::input::{result, structure, text};
use crate::status::{FERRIC_ERROR_HANDLE, Failure, ferric_error, guard, guard_real_time};
use crate::ue::{Identity, ferric_ue_identity};
pub(crate) use counters::Counters;
use counters::{Column, Measurement, Row, UNSET};
use source::Source;

/// A measurement of the cell only.
pub const FERRIC_SCOPE_CELL: u32 = 1;
/// A measurement of UEs only.
pub const FERRIC_SCOPE_UE: u32 = 2;
/// A measurement of the cell and of UEs.
pub const FERRIC_SCOPE_CELL_AND_UE: u32 = 3;

/// The value is what was counted in the period, times `scale`: octets of a period in kbit with 0.008.
pub const FERRIC_KIND_COUNT: u32 = 1;
/// The value is what was counted per second, times `scale`: octets as kbit/s with 0.008.
pub const FERRIC_KIND_RATE: u32 = 2;
/// The value is the mean of the samples of the period, times `scale`; no value without samples.
pub const FERRIC_KIND_MEAN: u32 = 3;
/// The value is what was set last, times `scale`; no value before. That of several UEs is the mean.
pub const FERRIC_KIND_CURRENT: u32 = 4;

/// The most measurements of a table.
pub const FERRIC_KPM_MAX_MEASUREMENTS: u32 = 256;
/// The most UEs of a table.
pub const FERRIC_KPM_MAX_UES: u32 = 4096;

/// A measurement that the base station supports.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_measurement {
    /// The name as in TS 28.552 or O-RAN, such as "DRB.UEThpDl": 1 to 150 printable characters.
    pub name: *const c_char,
    /// FERRIC_SCOPE_CELL, FERRIC_SCOPE_UE or FERRIC_SCOPE_CELL_AND_UE. What is written for a UE counts for the cell as well,
    /// except with FERRIC_KIND_CURRENT.
    pub scope: u32,
    /// FERRIC_KIND_COUNT, …
    pub kind: u32,
    /// The factor from the unit of the base station to that of the measurement; not 0.
    pub scale: f64,
    /// 1 if values are reported as real numbers, 0 if they are rounded to whole numbers.
    pub is_real: u32,
}

/// The configuration of KPM. Set it to zeros, then `size` and the rest.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_kpm_config {
    /// sizeof(struct ferric_kpm_config)
    pub size: u32,
    /// The number of measurements: 1 to FERRIC_KPM_MAX_MEASUREMENTS.
    pub measurement_count: u32,
    /// The measurements. Their place in this array names them in all calls.
    pub measurements: *const ferric_measurement,
    /// The NR cell identity, 36 bits.
    pub nr_cell_identity: u64,
    /// The most UEs at a time: 1 to FERRIC_KPM_MAX_UES. Memory for all of them is allocated at once.
    pub max_ues: u32,
    /// The RAN function id; 0 stands for 2.
    pub function_id: u32,
    /// The revision of E2SM-KPM in hundredths, such as 203 for v02.03; 0 stands for v03.00.
    pub revision: u32,
}

/// The table of a KPM function.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_kpm {
    /// The number of the object; 0 is none.
    pub id: u64,
}

/// A UE of a table: its row and the generation of the row. 0 is the cell.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_ue {
    /// The number of the UE; 0 is the cell.
    pub id: u64,
}

pub(crate) static TABLES: Table<Arc<Counters>> = Table::new(4);

/// Checks the declaration of a measurement.
///
/// # Safety
/// The name is NULL, or a text that ends with a zero.
unsafe fn declared(stated: &ferric_measurement) -> Result<(SupportedMeasurement, Measurement), Failure> {
    // SAFETY: the caller passes a text
    let name = unsafe { text(stated.name, "the name of a measurement") }?;
    if !(1..=150).contains(&name.len()) || !name.bytes().all(|octet| (b' '..=b'~').contains(&octet)) {
        let text = format_args!("the name of measurement {name:?} does not have 1 to 150 printable characters");
        return Err(Failure::argument("name", text));
    }
    let scope = match stated.scope {
        FERRIC_SCOPE_CELL => Scope::Cell,
        FERRIC_SCOPE_UE => Scope::Ue,
        FERRIC_SCOPE_CELL_AND_UE => Scope::CellAndUe,
        scope => {
            return Err(Failure::argument("scope", format_args!("scope {scope} of {name} is not a FERRIC_SCOPE_…")));
        }
    };
    if !(FERRIC_KIND_COUNT..=FERRIC_KIND_CURRENT).contains(&stated.kind) {
        return Err(Failure::argument("kind", format_args!("kind {} of {name} is not a FERRIC_KIND_…", stated.kind)));
    }
    if !stated.scale.is_finite() || stated.scale == 0.0 {
        return Err(Failure::argument("scale", format_args!("scale {} of {name} is 0 or not finite", stated.scale)));
    }
    if stated.is_real > 1 {
        return Err(Failure::argument(
            "is_real",
            format_args!("is_real {} of {name} is neither 0 nor 1", stated.is_real),
        ));
    }
    let supported = SupportedMeasurement { name: name.to_owned().into(), id: None, scope };
    Ok((supported, Measurement { kind: stated.kind, scope, scale: stated.scale, is_real: stated.is_real == 1 }))
}

fn revision(hundredths: u32) -> Result<Revision, Failure> {
    match hundredths {
        201 => Ok(Revision::V2_01),
        203 => Ok(Revision::V2_03),
        0 | 300 => Ok(Revision::V3_00),
        400 => Ok(Revision::V4_00),
        other => Err(Failure::argument("revision", format_args!("revision {other} is none of 201, 203, 300 and 400"))),
    }
}

/// Adds E2SM-KPM to an agent that is not started. `out` gets the table, into which the base station writes.
///
/// # Safety
/// `config` and `out` are valid, and so are the pointers in `config`; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_agent_add_kpm(
    agent: ferric_agent,
    config: *const ferric_kpm_config,
    out: *mut ferric_kpm,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes valid pointers
        let (config, out) = unsafe { (structure(config, "config")?, result(out, "out")?) };
        let count = config.measurement_count;
        if !(1..=FERRIC_KPM_MAX_MEASUREMENTS).contains(&count) {
            let range = format_args!("measurement_count {count} is not in 1 to {FERRIC_KPM_MAX_MEASUREMENTS}");
            return Err(Failure::argument("measurement_count", range));
        }
        if !(1..=FERRIC_KPM_MAX_UES).contains(&config.max_ues) {
            let range = format_args!("max_ues {} is not in 1 to {FERRIC_KPM_MAX_UES}", config.max_ues);
            return Err(Failure::argument("max_ues", range));
        }
        if config.nr_cell_identity >> 36 != 0 {
            return Err(Failure::argument("nr_cell_identity", "nr_cell_identity has more than 36 bits"));
        }
        let function_id = match config.function_id {
            0 => 2,
            id => u16::try_from(id).ok().filter(|id| *id <= 4095).ok_or_else(|| {
                Failure::argument("function_id", format_args!("function_id {id} is not in 0 to 4095"))
            })?,
        };
        let revision = revision(config.revision)?;
        if config.measurements.is_null() {
            return Err(Failure::null("config.measurements"));
        }
        // SAFETY: the caller passes an array of this length
        let stated = unsafe { slice::from_raw_parts(config.measurements, count as usize) };
        // SAFETY: the names are texts or NULL
        let declared = stated.iter().map(|stated| unsafe { declared(stated) }).collect::<Result<Vec<_>, _>>()?;
        let (supported, measurements): (Vec<_>, Vec<_>) = declared.into_iter().unzip();
        for (at, measurement) in supported.iter().enumerate() {
            if supported[..at].iter().any(|other| other.name == measurement.name) {
                return Err(Failure::argument(
                    "name",
                    format_args!("measurement {} is declared twice", measurement.name),
                ));
            }
        }
        let agent = AGENTS.get(agent.id)?;
        let agent = agent.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?;
        let plmn_identity = agent.object.plmn_identity();
        let row = |generation| Row {
            generation: AtomicU32::new(generation),
            identity: Mutex::new(None),
            columns: measurements
                .iter()
                .map(|declared| {
                    let bits = if declared.kind == FERRIC_KIND_CURRENT { UNSET } else { 0 };
                    Column { sum: AtomicU64::new(bits), count: AtomicU64::new(0) }
                })
                .collect(),
        };
        let nr_cell_identity = Bits::new(config.nr_cell_identity, 36);
        let counters = Arc::new(Counters {
            cell: Cgi::NrCgi(NrCgi { plmn_identity, nr_cell_identity }),
            plmn_identity,
            supported,
            rows: (0..=config.max_ues).map(|_| row(0)).collect(),
            free: Mutex::new((1..=config.max_ues).rev().collect()),
            measurements,
        });
        let source = Arc::new(Mutex::new(Source::new(Arc::clone(&counters))));
        let config = KpmConfig { function_id: RanFunctionId(function_id), revision, ..KpmConfig::default() };
        agent.object.add_function(Box::new(KpmFunction::new(source, config)))?;
        *out = ferric_kpm { id: TABLES.insert(counters)? };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Adds a connected UE. `out` gets its number in this table. Reports of periods that end from now on contain it. The call may
/// wait for the agent's thread for a few microseconds: it is for the threads of the control plane.
///
/// # Safety
/// `identity` and `out` are valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_kpm_add_ue(
    kpm: ferric_kpm,
    identity: *const ferric_ue_identity,
    out: *mut ferric_ue,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes valid pointers
        let (identity, out) = unsafe { (structure(identity, "identity")?, result(out, "out")?) };
        let table = TABLES.get(kpm.id)?;
        let counters = &table.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.object;
        let identity = Identity::new(identity, counters.plmn_identity, counters.cell)?;
        *out = ferric_ue { id: counters.add_ue(identity)? };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Removes a UE that has left. Its number is invalid from now on.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_kpm_remove_ue(kpm: ferric_kpm, ue: ferric_ue) -> i32 {
    guard_real_time(|| {
        let table = TABLES.get(kpm.id)?;
        table.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.object.remove_ue(ue.id)
    })
}

/// Counts `amount` for a measurement of FERRIC_KIND_COUNT or FERRIC_KIND_RATE, of a UE and its cell, or of the cell if `ue` is
/// 0. For real-time threads: neither waits nor allocates.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_kpm_count(kpm: ferric_kpm, ue: ferric_ue, measurement: u32, amount: f64) -> i32 {
    guard_real_time(|| {
        let table = TABLES.get(kpm.id)?;
        let counters = &table.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.object;
        counters.add(ue.id, measurement, amount, &[FERRIC_KIND_COUNT, FERRIC_KIND_RATE])
    })
}

/// Adds a sample of a measurement of FERRIC_KIND_MEAN, of a UE and its cell, or of the cell if `ue` is 0. For real-time
/// threads.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_kpm_sample(kpm: ferric_kpm, ue: ferric_ue, measurement: u32, value: f64) -> i32 {
    guard_real_time(|| {
        let table = TABLES.get(kpm.id)?;
        let counters = &table.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.object;
        counters.add(ue.id, measurement, value, &[FERRIC_KIND_MEAN])
    })
}

/// Sets a measurement of FERRIC_KIND_CURRENT, of a UE, or of the cell if `ue` is 0. For real-time threads.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_kpm_set(kpm: ferric_kpm, ue: ferric_ue, measurement: u32, value: f64) -> i32 {
    guard_real_time(|| {
        let table = TABLES.get(kpm.id)?;
        let counters = &table.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.object;
        counters.set(ue.id, measurement, value)
    })
}

/// Frees the handle of a table. The agent reports what it has until it is freed itself.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_kpm_free(kpm: ferric_kpm) -> i32 {
    guard_real_time(|| TABLES.remove(kpm.id).map(drop))
}
