//! Records in columns.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Index;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use e2::topology::UeReference;
pub use e2sm::kpm::Value;

use super::super::names::{CellId, NetworkSlice};

/// The index of a subject that a record does not have.
pub const NONE: u32 = u32::MAX;

/// The kinds of values in [`Column::kinds`].
pub mod kind {
    /// A whole number.
    pub const INTEGER: u8 = 0;
    /// A real number.
    pub const REAL: u8 = 1;
    /// The node had no value.
    pub const NO_VALUE: u8 = 2;
    /// The value does not meet the condition for reporting it.
    pub const NOT_SATISFIED: u8 = 3;
    /// The node's report does not contain the measurement.
    pub const ABSENT: u8 = 4;
}

/// The names that the indices in a batch's columns stand for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dictionary {
    /// The nodes, by the names that the RIC logs.
    pub nodes: Vec<Arc<str>>,
    /// The cells.
    pub cells: Vec<CellId>,
    /// The UEs.
    pub ues: Vec<UeReference>,
    /// The network slices.
    pub slices: Vec<NetworkSlice>,
}

/// The values of one measurement, one for each record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// The values; 0 where there is no number.
    pub values: Vec<f64>,
    /// Their kinds: constants of [`kind`].
    pub kinds: Vec<u8>,
}

/// Records in columns: every column has one item for each record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The start of the measured period, in nanoseconds since 1970.
    pub times_ns: Vec<i64>,
    /// Indices into [`Dictionary::nodes`].
    pub nodes: Vec<u32>,
    /// Indices into [`Dictionary::cells`], or [`NONE`].
    pub cells: Vec<u32>,
    /// Indices into [`Dictionary::ues`], or [`NONE`].
    pub ues: Vec<u32>,
    /// Indices into [`Dictionary::slices`], or [`NONE`].
    pub slices: Vec<u32>,
    /// The records that [follow a move](Record::follows_move), as indices in their order.
    pub moves: Vec<u32>,
    /// The measurements, in the order of the request.
    pub columns: Vec<Column>,
    /// The names of the measurements.
    pub measurements: Arc<[String]>,
    /// The names that the indices stand for.
    pub dictionary: Arc<Dictionary>,
}

impl Batch {
    /// The number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times_ns.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times_ns.is_empty()
    }

    /// A record; `None` beyond the last one.
    #[must_use]
    pub fn record(&self, at: usize) -> Option<Record> {
        let time = *self.times_ns.get(at)?;
        let dictionary = &self.dictionary;
        Some(Record {
            time: SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(time).unwrap_or(0)),
            node: Arc::clone(&dictionary.nodes[self.nodes[at] as usize]),
            cell: dictionary.cells.get(self.cells[at] as usize).copied(),
            ue: dictionary.ues.get(self.ues[at] as usize).cloned(),
            slice: dictionary.slices.get(self.slices[at] as usize).copied(),
            follows_move: self.moves.binary_search(&u32::try_from(at).unwrap_or(NONE)).is_ok(),
            measurements: Arc::clone(&self.measurements),
            values: self.columns.iter().map(|column| column.value(at)).collect(),
        })
    }

    /// The records in order.
    pub fn records(&self) -> impl Iterator<Item = Record> + '_ {
        (0..self.len()).filter_map(|at| self.record(at))
    }

    /// Removes all records and keeps the memory.
    pub fn clear(&mut self) {
        let Batch { times_ns, nodes, cells, ues, slices, moves, columns, .. } = self;
        times_ns.clear();
        for indices in [nodes, cells, ues, slices, moves] {
            indices.clear();
        }
        for column in columns {
            column.values.clear();
            column.kinds.clear();
        }
    }

    /// Removes the first records.
    pub(super) fn drain_front(&mut self, count: usize) {
        let Batch { times_ns, nodes, cells, ues, slices, moves, columns, .. } = self;
        moves.retain_mut(|at| (*at as usize).checked_sub(count).map(|left| *at = left as u32).is_some());
        times_ns.drain(..count);
        for indices in [nodes, cells, ues, slices] {
            indices.drain(..count);
        }
        for column in columns {
            column.values.drain(..count);
            column.kinds.drain(..count);
        }
    }

    /// Prepares an empty batch for records of these measurements.
    pub(super) fn prepare(&mut self, measurements: &Arc<[String]>) {
        self.clear();
        self.columns.resize_with(measurements.len(), Column::default);
        self.measurements = Arc::clone(measurements);
    }

    /// Adds a record without values, perhaps the first one of its node after a move.
    pub(super) fn push(&mut self, time_ns: i64, subject: &Subject, follows_move: bool) {
        if follows_move {
            self.moves.push(u32::try_from(self.len()).unwrap_or(NONE));
        }
        self.times_ns.push(time_ns);
        self.nodes.push(subject.node);
        self.cells.push(subject.cell);
        self.ues.push(subject.ue);
        self.slices.push(subject.slice);
        for column in &mut self.columns {
            column.values.push(0.0);
            column.kinds.push(kind::ABSENT);
        }
    }

    /// Marks the first record of each of these nodes as one that follows a move, and removes the nodes that have one.
    /// `dictionary` has the names of this batch.
    pub(super) fn mark_moved(&mut self, dictionary: &Dictionary, moved: &mut BTreeSet<Arc<str>>) {
        for (at, node) in self.nodes.iter().enumerate() {
            if moved.is_empty() {
                break;
            }
            if moved.remove(&dictionary.nodes[*node as usize]) {
                let at = u32::try_from(at).unwrap_or(NONE);
                if let Err(place) = self.moves.binary_search(&at) {
                    self.moves.insert(place, at);
                }
            }
        }
    }

    /// Sets a value of the last record, unless it has one.
    pub(super) fn set(&mut self, column: usize, value: Value) {
        let Some(Column { values, kinds }) = self.columns.get_mut(column) else { return };
        let (Some(last), Some(kind)) = (values.last_mut(), kinds.last_mut()) else { return };
        if *kind != kind::ABSENT {
            return;
        }
        (*last, *kind) = match value {
            Value::Integer(value) => (value.into(), kind::INTEGER),
            Value::Real(value) => (value, kind::REAL),
            Value::NoValue => (0.0, kind::NO_VALUE),
            Value::NotSatisfied => (0.0, kind::NOT_SATISFIED),
        };
    }
}

impl Column {
    /// A value; what the report does not contain is no value.
    fn value(&self, at: usize) -> Value {
        match self.kinds[at] {
            // exact: the node's number has 32 bits
            kind::INTEGER => Value::Integer(self.values[at] as u32),
            kind::REAL => Value::Real(self.values[at]),
            kind::NOT_SATISFIED => Value::NotSatisfied,
            _ => Value::NoValue,
        }
    }
}

/// The subject of a record, as indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub node: u32,
    pub cell: u32,
    pub ue: u32,
    pub slice: u32,
}

/// The measurements of one subject over one period.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Record {
    /// The start of the period, by the node's clock.
    pub time: SystemTime,
    /// The node.
    pub node: Arc<str>,
    /// The cell, where it is known.
    pub cell: Option<CellId>,
    /// The UE, in a record of one.
    pub ue: Option<UeReference>,
    /// The network slice: the one that the record is about, or the one of its UE.
    pub slice: Option<NetworkSlice>,
    /// Whether it is the first one of its node since that has moved to another RIC: some before it are missing.
    pub follows_move: bool,
    measurements: Arc<[String]>,
    values: Vec<Value>,
}

impl Record {
    /// The value of a measurement; `None` if it was not requested.
    #[must_use]
    pub fn value(&self, measurement: &str) -> Option<Value> {
        Some(self.values[self.measurements.iter().position(|name| name == measurement)?])
    }

    /// The number of a measurement; `None` if there is none.
    #[must_use]
    pub fn number(&self, measurement: &str) -> Option<f64> {
        self.value(measurement)?.number()
    }

    /// The measurements by name, in the order of the request.
    pub fn values(&self) -> impl ExactSizeIterator<Item = (&str, Value)> {
        self.measurements.iter().map(String::as_str).zip(self.values.iter().copied())
    }
}

/// The value of a measurement.
///
/// # Panics
/// If it was not requested.
impl Index<&str> for Record {
    type Output = Value;

    fn index(&self, measurement: &str) -> &Value {
        match self.measurements.iter().position(|name| name == measurement) {
            Some(at) => &self.values[at],
            None => panic!("{measurement} was not requested: the record has {}", self.measurements.join(", ")),
        }
    }
}

/// Node, cell or UE, and the values: `amf:17 DRB.UEThpDl=3310 CQI=13`.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.ue, self.cell) {
            (Some(ue), _) => write!(f, "{ue}")?,
            (None, Some(cell)) => write!(f, "cell {cell}")?,
            (None, None) => f.write_str(&self.node)?,
        }
        if let (None, Some(slice)) = (&self.ue, self.slice) {
            write!(f, " slice {slice}")?;
        }
        for (name, value) in self.values() {
            match value {
                Value::Integer(value) => write!(f, " {name}={value}")?,
                Value::Real(value) => write!(f, " {name}={value:.1}")?,
                Value::NoValue | Value::NotSatisfied => write!(f, " {name}=-")?,
            }
        }
        Ok(())
    }
}
