//! The table of counters: written by threads of the base station with atomic operations.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use e2sm::common::{Cgi, PlmnIdentity};
use e2sm::kpm::dictionary::Scope;
use ran_functions::kpm::SupportedMeasurement;

use super::{FERRIC_KIND_CURRENT, FERRIC_KIND_MEAN};
use crate::status::{FERRIC_ERROR_ARGUMENT, FERRIC_ERROR_LIMIT, FERRIC_ERROR_UE, Failure};
use crate::ue::Identity;

/// The bits of a value that was never set.
pub(super) const UNSET: u64 = u64::MAX;

pub(super) struct Measurement {
    pub(super) kind: u32,
    pub(super) scope: Scope,
    pub(super) scale: f64,
    pub(super) is_real: bool,
}

#[derive(Default)]
pub(super) struct Column {
    /// The sum of what was counted or sampled, or the bits of the current value.
    pub(super) sum: AtomicU64,
    /// The number of samples.
    pub(super) count: AtomicU64,
}

pub(super) struct Row {
    /// Even while the row is free; it counts the changes.
    pub(super) generation: AtomicU32,
    pub(super) identity: Mutex<Option<Arc<Identity>>>,
    pub(super) columns: Box<[Column]>,
}

/// Adds to a number whose bits another thread may change at the same time.
fn add(bits: &AtomicU64, amount: f64) {
    let _ =
        bits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |bits| Some((f64::from_bits(bits) + amount).to_bits()));
}

/// The counters of a cell and its UEs.
pub(crate) struct Counters {
    pub(super) cell: Cgi,
    pub(super) plmn_identity: PlmnIdentity,
    pub(super) measurements: Vec<Measurement>,
    pub(super) supported: Vec<SupportedMeasurement>,
    /// The row of the cell, then those of UEs.
    pub(super) rows: Box<[Row]>,
    pub(super) free: Mutex<Vec<u32>>,
}

impl Counters {
    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the row of the cell or of a UE.
    pub(super) fn row(&self, ue: u64) -> Result<&Row, Failure> {
        let row = self.rows.get((ue >> 32) as usize).ok_or(Failure::code(FERRIC_ERROR_UE))?;
        let is_current = row.generation.load(Ordering::Acquire) == ue as u32;
        if is_current { Ok(row) } else { Err(Failure::code(FERRIC_ERROR_UE)) }
    }

    /// Returns the column of a measurement, for the cell or a UE.
    pub(super) fn column(&self, ue: u64, measurement: u32) -> Result<(&Measurement, &Column), Failure> {
        let declared = self.measurements.get(measurement as usize).ok_or(Failure::code(FERRIC_ERROR_ARGUMENT))?;
        let has_scope = if ue == 0 { declared.scope != Scope::Ue } else { declared.scope != Scope::Cell };
        if !has_scope {
            return Err(Failure::code(FERRIC_ERROR_ARGUMENT));
        }
        Ok((declared, &self.row(ue)?.columns[measurement as usize]))
    }

    /// Counts or samples for a UE, and for its cell.
    pub(super) fn add(&self, ue: u64, measurement: u32, amount: f64, kinds: &[u32]) -> Result<(), Failure> {
        let (declared, column) = self.column(ue, measurement)?;
        if !kinds.contains(&declared.kind) || !amount.is_finite() {
            return Err(Failure::code(FERRIC_ERROR_ARGUMENT));
        }
        let cell = &self.rows[0].columns[measurement as usize];
        for column in [Some(column), (ue != 0).then_some(cell)].into_iter().flatten() {
            add(&column.sum, amount);
            if declared.kind == FERRIC_KIND_MEAN {
                column.count.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    pub(super) fn set(&self, ue: u64, measurement: u32, value: f64) -> Result<(), Failure> {
        let (declared, column) = self.column(ue, measurement)?;
        if declared.kind != FERRIC_KIND_CURRENT || !value.is_finite() {
            return Err(Failure::code(FERRIC_ERROR_ARGUMENT));
        }
        column.sum.store(value.to_bits(), Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn add_ue(&self, identity: Identity) -> Result<u64, Failure> {
        let place = Self::lock(&self.free).pop().ok_or_else(|| {
            let rows = self.rows.len() - 1;
            Failure::new(FERRIC_ERROR_LIMIT, format_args!("the table has {rows} UEs: configure more with max_ues"))
        })?;
        let row = &self.rows[place as usize];
        *Self::lock(&row.identity) = Some(Arc::new(identity));
        for (column, declared) in row.columns.iter().zip(&self.measurements) {
            column.sum.store(if declared.kind == FERRIC_KIND_CURRENT { UNSET } else { 0 }, Ordering::Relaxed);
            column.count.store(0, Ordering::Relaxed);
        }
        let generation = row.generation.fetch_add(1, Ordering::Release) + 1;
        Ok(u64::from(place) << 32 | u64::from(generation))
    }

    pub(super) fn remove_ue(&self, ue: u64) -> Result<(), Failure> {
        let row = if ue == 0 { Err(Failure::code(FERRIC_ERROR_UE)) } else { self.row(ue) }?;
        let next = (ue as u32).wrapping_add(1);
        let removed = row.generation.compare_exchange(ue as u32, next, Ordering::AcqRel, Ordering::Relaxed);
        removed.map_err(|_| Failure::code(FERRIC_ERROR_UE))?;
        *Self::lock(&row.identity) = None;
        Self::lock(&self.free).push((ue >> 32) as u32);
        Ok(())
    }

    pub fn cell(&self) -> Cgi {
        self.cell
    }

    pub fn plmn_identity(&self) -> PlmnIdentity {
        self.plmn_identity
    }

    /// The number of rows: that of the cell, and one for each UE.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// The UE of a row, with its identity.
    pub fn ue_in(&self, place: usize) -> Option<(u32, Arc<Identity>)> {
        let row = &self.rows[place];
        let generation = row.generation.load(Ordering::Acquire);
        let identity = if generation % 2 == 1 { Self::lock(&row.identity).clone() } else { None }?;
        // the row may have changed in between
        (row.generation.load(Ordering::Acquire) == generation).then_some((generation, identity))
    }
}
