//! Destinations of records.

use std::fmt;

use ferric::xapp::Batch;

use crate::arguments::{Args, Format};
use crate::files::Files;
use crate::influx::Influx;
use crate::text::Encoder;
use crate::text_file::StandardOutput;

/// What became of the records that a sink was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records that the destination has.
    pub written: u64,
    /// Records that it does not have: its disk was full, or its server refused or was absent for too long.
    pub lost: u64,
}

/// The end of a sink.
pub struct Closed {
    pub counts: Counts,
    /// The error after which the export could not continue.
    pub result: anyhow::Result<()>,
}

/// A destination of records. What it cannot write now, but perhaps later, is no error: it counts what is lost.
pub trait Sink {
    /// Takes the first `rows` records of a batch.
    ///
    /// # Errors
    /// If no later write can succeed.
    fn write(&mut self, batch: &Batch, rows: usize) -> anyhow::Result<()>;

    /// Does what is due. Returns whether the sink takes more: `false` at its size limit.
    ///
    /// # Errors
    /// If no later write can succeed.
    fn tick(&mut self) -> anyhow::Result<bool>;

    /// Writes what is buffered, and ends.
    fn close(self: Box<Self>) -> Closed;
}

/// A failed write to a file.
#[derive(Debug)]
pub struct WriteError {
    /// The records that are lost by it.
    pub lost: u64,
    /// Why.
    pub reason: String,
    /// Whether the file takes no more: it is complete up to what was written before.
    pub ends_file: bool,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for WriteError {}

/// A file of one format. After a failed write it still contains whole records only.
pub trait RecordFile {
    /// Takes the first `rows` records of a batch. Returns how many more records are in the file now: a format that writes
    /// in groups keeps some for later.
    fn write(&mut self, batch: &Batch, rows: usize) -> Result<u64, WriteError>;

    /// Writes what is due by time. Returns how many more records are in the file now.
    fn tick(&mut self) -> Result<u64, WriteError>;

    /// The octets of the file, with what waits for its next group.
    fn octets(&self) -> u64;

    /// Writes what waits, and closes the file. Returns how many more records are in it now.
    fn close(self: Box<Self>) -> Result<u64, WriteError>;
}

/// Opens the destination that the arguments name.
///
/// # Errors
/// If it cannot be opened.
pub fn open(args: &Args) -> anyhow::Result<Box<dyn Sink>> {
    if let Some(url) = &args.url {
        return Ok(Box::new(Influx::start(args, url)?));
    }
    match args.output.as_deref() {
        None => Ok(Box::new(StandardOutput::new(Encoder::new(args.to, &args.measurements)))),
        Some(path) if path.as_os_str() == "-" => {
            Ok(Box::new(StandardOutput::new(Encoder::new(args.to, &args.measurements))))
        }
        Some(path) => Ok(Box::new(Files::open(args, path)?)),
    }
}

/// The number in a row of a column; `None` if the node had none, or one that is not finite.
pub fn number(batch: &Batch, column: usize, row: usize) -> Option<f64> {
    use ferric::xapp::kpm::kind;
    let column = batch.columns.get(column)?;
    let value = *column.values.get(row)?;
    let is_number = matches!(column.kinds.get(row), Some(&(kind::INTEGER | kind::REAL)));
    (is_number && value.is_finite()).then_some(value)
}

/// The names of a row's subject, as the sinks write them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    pub node: String,
    pub cell: Option<String>,
    pub ue: Option<String>,
    pub slice: Option<String>,
}

impl Subject {
    pub fn of(batch: &Batch, row: usize) -> Self {
        let dictionary = &batch.dictionary;
        let name = |index: Option<&u32>| index.map(|index| *index as usize);
        let cell = name(batch.cells.get(row)).and_then(|at| dictionary.cells.get(at));
        let ue = name(batch.ues.get(row)).and_then(|at| dictionary.ues.get(at));
        let slice = name(batch.slices.get(row)).and_then(|at| dictionary.slices.get(at));
        let node = name(batch.nodes.get(row)).and_then(|at| dictionary.nodes.get(at));
        Subject {
            node: node.map(|node| node.to_string()).unwrap_or_default(),
            cell: cell.map(ToString::to_string),
            ue: ue.map(ToString::to_string),
            slice: slice.map(ToString::to_string),
        }
    }
}

/// The columns before those of the measurements.
pub const SUBJECT_COLUMNS: [&str; 5] = ["time_ns", "node", "cell", "ue", "slice"];

impl Format {
    /// Whether its records are lines, which standard output takes.
    pub fn is_text(self) -> bool {
        matches!(self, Format::Csv | Format::Jsonl | Format::Influx)
    }
}
