//! The counters as E2SM-KPM reads them: values of a period are differences.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use e2sm::common::{Cgi, FiveQi, GnbCuUeF1apId, SNssai, UeId, UeIdGnbDu};
use e2sm::kpm::{MeasurementLabel, Value};
use ferric::agent::Ue;
use ferric::e2::Time;
use ran_functions::kpm::{KpmSource, MeasuredObject, SupportedMeasurement};

use super::counters::{Counters, UNSET};
use super::{FERRIC_KIND_CURRENT, FERRIC_KIND_MEAN, FERRIC_KIND_RATE};
use crate::ue::Identity;

/// The counters at the start of a period.
pub(crate) struct Snapshot {
    at: Instant,
    generations: Vec<u32>,
    /// Sum and count of each row's columns, row by row.
    columns: Vec<(u64, u64)>,
}

impl Default for Snapshot {
    fn default() -> Self {
        Snapshot { at: Instant::now(), generations: Vec::new(), columns: Vec::new() }
    }
}

/// The agent's view of the counters: the UEs that were connected when it was last brought up to date.
pub(crate) struct Source {
    counters: Arc<Counters>,
    /// The UE of each row.
    ues: Vec<Option<(u32, Arc<Identity>)>>,
}

impl Source {
    pub fn new(counters: Arc<Counters>) -> Self {
        let ues = vec![None; counters.rows.len()];
        Source { counters, ues }
    }

    fn identity(&self, ue: Ue) -> Option<&Identity> {
        let (generation, identity) = self.ues.get((ue.0 >> 32) as usize)?.as_ref()?;
        (*generation == ue.0 as u32).then_some(identity)
    }

    /// Sum and number of samples of a column since the start of the period.
    fn since(&self, since: &Snapshot, ue: u64, measurement: usize) -> Option<(f64, u64)> {
        let row = self.counters.row(ue).ok()?;
        let at = (ue >> 32) as usize;
        let column = &row.columns[measurement];
        let (sum, count) = (column.sum.load(Ordering::Relaxed), column.count.load(Ordering::Relaxed));
        // a UE that was added during the period began with zeros
        let is_same = since.generations.get(at) == Some(&(ue as u32));
        let start = if is_same { since.columns.get(at * self.counters.measurements.len() + measurement) } else { None };
        let (start_sum, start_count) = start.copied().unwrap_or((0, 0));
        Some((f64::from_bits(sum) - f64::from_bits(start_sum), count.saturating_sub(start_count)))
    }

    fn current(&self, ue: u64, measurement: usize) -> Option<f64> {
        let bits = self.counters.row(ue).ok()?.columns[measurement].sum.load(Ordering::Relaxed);
        (bits != UNSET).then(|| f64::from_bits(bits))
    }
}

impl KpmSource for Source {
    type Snapshot = Snapshot;

    fn cell(&self) -> Cgi {
        self.counters.cell
    }

    fn measurements(&self) -> &[SupportedMeasurement] {
        &self.counters.supported
    }

    fn advance(&mut self, _: Time) {
        for (place, ue) in self.ues.iter_mut().enumerate().skip(1) {
            let generation = self.counters.rows[place].generation.load(Ordering::Acquire);
            let known = ue.as_ref().map(|(generation, _)| *generation);
            if known != Some(generation) && (known.is_some() || generation % 2 == 1) {
                *ue = self.counters.ue_in(place);
            }
        }
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        let ues = self.ues.iter().enumerate();
        out.extend(ues.filter_map(|(place, ue)| {
            let (generation, _) = ue.as_ref()?;
            Some(Ue((place as u64) << 32 | u64::from(*generation)))
        }));
    }

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        match self.identity(ue) {
            Some(identity) => identity.id.clone(),
            // the function asks for listed UEs only
            None => UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(0), ran_ueid: None, cell_rnti: None }),
        }
    }

    fn slices(&self, ue: Ue) -> &[SNssai] {
        self.identity(ue).map_or(&[], |identity| &identity.slices)
    }

    fn five_qis(&self, ue: Ue) -> &[FiveQi] {
        self.identity(ue).map_or(&[], |identity| &identity.five_qis)
    }

    fn take_snapshot(&self, snapshot: &mut Snapshot) {
        snapshot.at = Instant::now();
        snapshot.generations.clear();
        snapshot.columns.clear();
        for row in &self.counters.rows {
            snapshot.generations.push(row.generation.load(Ordering::Acquire));
            let columns = row.columns.iter();
            let columns = columns.map(|c| (c.sum.load(Ordering::Relaxed), c.count.load(Ordering::Relaxed)));
            snapshot.columns.extend(columns);
        }
    }

    fn value(&self, since: &Snapshot, object: MeasuredObject<'_>, measurement: usize, _: &MeasurementLabel) -> Value {
        let declared = &self.counters.measurements[measurement];
        let objects: &[Ue] = match object {
            MeasuredObject::Cell | MeasuredObject::OneCell(_) => &[Ue(0)],
            MeasuredObject::Ues(ues) => ues,
        };
        let value = if declared.kind == FERRIC_KIND_CURRENT {
            let values = objects.iter().filter_map(|ue| self.current(ue.0, measurement));
            let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
            (count > 0).then(|| sum / f64::from(count))
        } else {
            let values = objects.iter().filter_map(|ue| self.since(since, ue.0, measurement));
            let (sum, count) = values.fold((0.0, 0), |(sum, count), (s, c)| (sum + s, count + c));
            match declared.kind {
                FERRIC_KIND_MEAN => (count > 0).then(|| sum / count as f64),
                FERRIC_KIND_RATE => Some(sum / since.at.elapsed().as_secs_f64().max(1e-6)),
                _ => Some(sum),
            }
        };
        match value.map(|value| value * declared.scale) {
            None => Value::NoValue,
            Some(value) if declared.is_real => Value::Real(value),
            // a number below 0 or above 32 bits is reported as the nearest that fits
            Some(value) => Value::Integer(value.round() as u32),
        }
    }

    fn zero(&self, measurement: usize) -> Value {
        if self.counters.measurements[measurement].is_real { Value::Real(0.0) } else { Value::Integer(0) }
    }
}
