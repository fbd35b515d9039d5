//! Apache Parquet files.
//!
//! Records are written in row groups. The footer, without which a file cannot be read, is written after each of them and
//! overwritten by the next, so that a program that is killed or a full disk costs one row group and not the file.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use ferric::xapp::Batch;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataWriter};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use crate::sink::{RecordFile, Subject, WriteError, number};
use crate::text_file::{open_regular, remove_new};

/// The records of a row group.
const MAX_GROUP_RECORDS: usize = 16_384;
/// The octets of a row group, uncompressed.
const MAX_GROUP_OCTETS: usize = 16 << 20;
/// The longest time that a record waits for its row group.
const MAX_GROUP_TIME: Duration = Duration::from_secs(60);
/// The version of the format in the footer.
const VERSION: i32 = 1;
const CREATED_BY: &str = concat!("ferric-export version ", env!("CARGO_PKG_VERSION"));

/// A file with the columns `time` (nanoseconds, UTC), `node`, `cell`, `ue`, `slice` and a DOUBLE for each measurement.
pub struct ParquetFile {
    file: File,
    schema: TypePtr,
    encoder: Encoder,
    group: Group,
    /// The octets before the footer.
    octets: u64,
    footer: Vec<u8>,
    /// The records in the file.
    records: u64,
}

impl ParquetFile {
    /// Creates a file without records.
    ///
    /// # Errors
    /// If it exists, or cannot be written.
    pub fn create(path: &Path, measurements: &[String]) -> anyhow::Result<Self> {
        let schema = Arc::new(schema(measurements)?);
        let encoder = Encoder::new(&schema)?;
        let file = open_regular(path, false)?;
        let group = Group::new(measurements.len());
        let mut created = ParquetFile { file, schema, encoder, group, octets: 0, footer: Vec::new(), records: 0 };
        created
            .begin()
            .inspect_err(|_| remove_new(path, false))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(created)
    }

    /// Writes the beginning and the footer of a file without row groups.
    fn begin(&mut self) -> Result<()> {
        let begin = self.encoder.take();
        let footer = self.encoder.footer(&self.schema)?;
        write_at(&mut self.file, 0, &[&begin, &footer])?;
        (self.octets, self.footer) = (begin.len() as u64, footer);
        Ok(())
    }

    /// Writes the records that wait as a row group.
    fn write_group(&mut self) -> std::result::Result<u64, WriteError> {
        let records = self.group.len() as u64;
        if records == 0 {
            return Ok(0);
        }
        let written = self.encoder.group(&self.group).and_then(|()| {
            let octets = self.encoder.take();
            let footer = self.encoder.footer(&self.schema)?;
            write_at(&mut self.file, self.octets, &[&octets, &footer])?;
            Ok((octets.len() as u64, footer))
        });
        self.group.clear();
        match written {
            Ok((octets, footer)) => {
                self.octets += octets;
                self.footer = footer;
                self.records += records;
                Ok(records)
            }
            Err(error) => Err(self.take_back(records, &error)),
        }
    }

    /// Restores the file as it was before the row group that could not be written.
    fn take_back(&mut self, records: u64, error: &ParquetError) -> WriteError {
        let mut lost = records;
        // the footer was there before, so there is room for it, unless others have taken it
        let restored = self.file.set_len(self.octets).map_err(ParquetError::from);
        if restored.and_then(|()| write_at(&mut self.file, self.octets, &[&self.footer])).is_err() {
            lost += std::mem::take(&mut self.records);
        }
        // positions in the encoder's metadata are now wrong: a file with row groups is finished, another one begins again
        let is_new = self.records == 0
            && Encoder::new(&self.schema).is_ok_and(|encoder| {
                self.encoder = encoder;
                self.begin().is_ok()
            });
        WriteError { lost, reason: error.to_string(), ends_file: !is_new }
    }
}

fn write_at(file: &mut File, at: u64, pieces: &[&[u8]]) -> Result<()> {
    file.seek(SeekFrom::Start(at))?;
    for piece in pieces {
        file.write_all(piece)?;
    }
    let end = file.stream_position()?;
    Ok(file.set_len(end)?)
}

impl RecordFile for ParquetFile {
    fn write(&mut self, batch: &Batch, rows: usize) -> std::result::Result<u64, WriteError> {
        (0..rows).for_each(|row| self.group.push(batch, row));
        if self.group.is_full() { self.write_group() } else { Ok(0) }
    }

    fn tick(&mut self) -> std::result::Result<u64, WriteError> {
        if self.group.is_due() { self.write_group() } else { Ok(0) }
    }

    fn octets(&self) -> u64 {
        self.octets + self.footer.len() as u64
    }

    fn close(mut self: Box<Self>) -> std::result::Result<u64, WriteError> {
        self.write_group()
    }
}

fn schema(measurements: &[String]) -> Result<Type> {
    let text = |name, repetition| {
        let column = Type::primitive_type_builder(name, Physical::BYTE_ARRAY).with_repetition(repetition);
        column.with_logical_type(Some(LogicalType::String)).build().map(Arc::new)
    };
    let time = Type::primitive_type_builder("time", Physical::INT64).with_repetition(Repetition::REQUIRED);
    let time = time.with_logical_type(Some(LogicalType::timestamp(true, TimeUnit::NANOS))).build()?;
    let mut columns = vec![Arc::new(time), text("node", Repetition::REQUIRED)?];
    for name in ["cell", "ue", "slice"] {
        columns.push(text(name, Repetition::OPTIONAL)?);
    }
    for name in measurements {
        let column = Type::primitive_type_builder(name, Physical::DOUBLE).with_repetition(Repetition::OPTIONAL);
        columns.push(Arc::new(column.build()?));
    }
    Type::group_type_builder("kpm").with_fields(columns).build()
}

/// Records that wait for their row group, in columns.
struct Group {
    since: Option<Instant>,
    times_ns: Vec<i64>,
    subjects: [Vec<Option<String>>; 4],
    measurements: Vec<Vec<Option<f64>>>,
}

impl Group {
    fn new(measurements: usize) -> Self {
        Group {
            since: None,
            times_ns: Vec::new(),
            subjects: Default::default(),
            measurements: vec![Vec::new(); measurements],
        }
    }

    fn push(&mut self, batch: &Batch, row: usize) {
        self.since.get_or_insert_with(Instant::now);
        self.times_ns.push(batch.times_ns.get(row).copied().unwrap_or(0));
        let Subject { node, cell, ue, slice } = Subject::of(batch, row);
        for (column, name) in self.subjects.iter_mut().zip([Some(node), cell, ue, slice]) {
            column.push(name);
        }
        for (at, column) in self.measurements.iter_mut().enumerate() {
            column.push(number(batch, at, row));
        }
    }

    fn len(&self) -> usize {
        self.times_ns.len()
    }

    fn is_full(&self) -> bool {
        // a name has about as many octets as two numbers
        self.len() >= MAX_GROUP_RECORDS || self.len() * 8 * (9 + self.measurements.len()) >= MAX_GROUP_OCTETS
    }

    fn is_due(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= MAX_GROUP_TIME)
    }

    fn clear(&mut self) {
        self.since = None;
        self.times_ns.clear();
        self.subjects.iter_mut().for_each(Vec::clear);
        self.measurements.iter_mut().for_each(Vec::clear);
    }
}

/// Octets that the encoder has written and the file has not.
#[derive(Clone, Default)]
struct Octets(Arc<Mutex<Vec<u8>>>);

impl Write for Octets {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(octets)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Encodes row groups in memory. It keeps the position in the file.
struct Encoder {
    octets: Octets,
    writer: SerializedFileWriter<Octets>,
}

impl Encoder {
    fn new(schema: &TypePtr) -> Result<Self> {
        let octets = Octets::default();
        let properties = WriterProperties::builder()
            .set_created_by(CREATED_BY.to_owned())
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .build();
        let writer = SerializedFileWriter::new(octets.clone(), Arc::clone(schema), Arc::new(properties))?;
        Ok(Encoder { octets, writer })
    }

    /// Takes what was encoded.
    fn take(&mut self) -> Vec<u8> {
        // the writer buffers; a vector takes everything
        let _ = self.writer.flush();
        std::mem::take(&mut self.octets.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn group(&mut self, group: &Group) -> Result<()> {
        let mut row_group = self.writer.next_row_group()?;
        column::<Int64Type>(&mut row_group, &group.times_ns, None)?;
        for (at, names) in group.subjects.iter().enumerate() {
            let values: Vec<ByteArray> = names.iter().flatten().map(|name| name.as_str().into()).collect();
            // the node is required: it has no levels
            let levels = (at > 0).then(|| levels(names));
            column::<ByteArrayType>(&mut row_group, &values, levels.as_deref())?;
        }
        for numbers in &group.measurements {
            let values: Vec<f64> = numbers.iter().flatten().copied().collect();
            column::<DoubleType>(&mut row_group, &values, Some(&levels(numbers)))?;
        }
        row_group.close()?;
        Ok(())
    }

    /// The footer of a file with the row groups so far.
    fn footer(&self, schema: &TypePtr) -> Result<Vec<u8>> {
        let groups = self.writer.flushed_row_groups().to_vec();
        let records = groups.iter().map(|group| group.num_rows()).sum();
        let schema = Arc::new(SchemaDescriptor::new(Arc::clone(schema)));
        let file = FileMetaData::new(VERSION, records, Some(CREATED_BY.to_owned()), None, schema, None);
        let mut footer = Vec::new();
        ParquetMetaDataWriter::new(&mut footer, &ParquetMetaData::new(file, groups)).finish()?;
        Ok(footer)
    }
}

/// The definition levels of an optional column: 1 where there is a value.
fn levels<T>(column: &[Option<T>]) -> Vec<i16> {
    column.iter().map(|value| value.is_some().into()).collect()
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Octets>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    let missing = || ParquetError::General("the schema has fewer columns than the records".to_owned());
    let mut writer = group.next_column()?.ok_or_else(missing)?;
    writer.typed::<T>().write_batch(values, levels, None)?;
    writer.close()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;
    use crate::text::tests::{batch, names};

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("ferric-export-{}-{name}.parquet", std::process::id()))
    }

    /// The rows of a file, as their reader shows them.
    fn rows(path: &Path) -> Vec<String> {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
    }

    #[test]
    fn file_is_complete_after_each_row_group() {
        let path = path("groups");
        let mut file = ParquetFile::create(&path, &names()).unwrap();
        assert_eq!(rows(&path), Vec::<String>::new());
        for group in 1..=3 {
            assert_eq!(file.write(&batch(), 2).unwrap(), 0);
            assert_eq!(file.write_group().unwrap(), 2);
            assert_eq!(rows(&path).len(), 2 * group);
        }
        assert_eq!(file.octets(), std::fs::metadata(&path).unwrap().len());
        let (first, second) = (&rows(&path)[4], &rows(&path)[5]);
        assert!(first.contains("node: \"gnb-00101-e00\", cell: \"003804001\", ue: \"amf:17\""), "{first}");
        assert!(first.contains("DRB.UEThpDl: 42.0, a=b,c: null"), "{first}");
        assert!(second.contains("cell: null, ue: null, slice: null, DRB.UEThpDl: 0.5, a=b,c: null"), "{second}");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn row_group_that_cannot_be_written_leaves_the_file_as_it_was() {
        let path = path("full");
        let mut file = ParquetFile::create(&path, &names()).unwrap();
        file.write(&batch(), 2).unwrap();
        assert_eq!(file.write_group().unwrap(), 2);
        let before = std::fs::read(&path).unwrap();
        // as if the disk were full in the middle of the next row group
        file.write(&batch(), 2).unwrap();
        file.encoder.group(&file.group).unwrap();
        let octets = file.encoder.take();
        write_at(&mut file.file, file.octets, &[&octets[..octets.len() / 2]]).unwrap();
        let error = file.take_back(2, &ParquetError::General("no space".to_owned()));
        assert_eq!((error.lost, error.ends_file), (2, true));
        assert_eq!(std::fs::read(&path).unwrap(), before);
        // a file that has no row group yet is begun again
        let other = self::path("full-at-first");
        let mut file = ParquetFile::create(&other, &names()).unwrap();
        let empty = std::fs::read(&other).unwrap();
        file.write(&batch(), 2).unwrap();
        file.encoder.group(&file.group).unwrap();
        file.group.clear();
        let error = file.take_back(2, &ParquetError::General("no space".to_owned()));
        assert_eq!((error.lost, error.ends_file), (2, false));
        assert_eq!(std::fs::read(&other).unwrap(), empty);
        file.write(&batch(), 1).unwrap();
        assert_eq!(Box::new(file).close().unwrap(), 1);
        assert_eq!(rows(&other).len(), 1);
        for path in [path, other] {
            std::fs::remove_file(path).unwrap();
        }
    }
}
