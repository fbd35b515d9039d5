//! Reports become records.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use e2::NodeId;
use e2::topology::{RntiScope, UeReference};
use e2sm::common::{SNssai, UeId};
use e2sm::kpm::{
    ActionDefinition, Detection, IndicationHeader, IndicationHeaderFormats, IndicationMessage, MeasurementType,
    Revision, TimeStamp, TimestampMoment, TimestampReader, Value, v1, v2_00,
};
use e2sm::{Arena, Error, Wire};

use super::super::directory::{Directory, Place};
use super::super::names::{CellId, NetworkSlice};
use super::batch::{Dictionary, NONE, Subject};
use super::plan::About;
use super::queue::{Queue, Writing};

/// The most names in a dictionary. Beyond it, records begin a new one.
const MAX_NAMES: usize = 65_536;

/// A subscription, and how its reports are read.
pub(in super::super) struct Source {
    name: Arc<str>,
    detection: Detection,
    action: Option<ActionDefinition<'static>>,
    period: Duration,
    timestamps: TimestampReader,
    /// Whether a report could not be read, which is logged once.
    has_failed: bool,
}

/// Where the records of a stream go.
pub(in super::super) struct Sink {
    pub queue: Arc<Queue>,
    about: About,
    measurements: Arc<[String]>,
    dictionary: Arc<Dictionary>,
    epoch: u64,
    /// The subjects by what a node reports, as of a version of the directory.
    subjects: HashMap<(NodeId, Option<UeReference>), Subject>,
    /// The places of UEs in the dictionary.
    ues: HashMap<UeReference, u32>,
    version: u64,
    /// The nodes that have moved to another RIC and not reported since.
    pub moved: BTreeSet<NodeId>,
    /// Whether the queue has grown since its reader was notified.
    pub is_touched: bool,
}

impl Sink {
    pub fn new(queue: Arc<Queue>, about: About, measurements: Arc<[String]>) -> Self {
        Sink {
            queue,
            about,
            measurements,
            dictionary: Arc::default(),
            epoch: 1,
            subjects: HashMap::new(),
            ues: HashMap::new(),
            version: 0,
            moved: BTreeSet::new(),
            is_touched: false,
        }
    }
}

/// A report: its node, and its octets.
pub(in super::super) struct Report<'a> {
    pub node: NodeId,
    pub header: &'a [u8],
    pub message: &'a [u8],
}

impl Source {
    pub fn new(
        name: Arc<str>,
        detection: Detection,
        action: Option<ActionDefinition<'static>>,
        period_ms: u32,
    ) -> Self {
        Source {
            name,
            detection,
            action,
            period: Duration::from_millis(period_ms.into()),
            timestamps: TimestampReader::default(),
            has_failed: false,
        }
    }

    /// Adds a report to a stream.
    pub fn read(&mut self, report: &Report<'_>, arena: &mut Arena, sink: &mut Sink, directory: &mut Directory) {
        arena.reset();
        self.detection = self.detection.with_header(report.header);
        let result = if self.detection.revision == Revision::V1_00 {
            self.read_v1(report, sink)
        } else {
            self.read_rows(report, arena, sink, directory)
        };
        sink.is_touched = true;
        if let Err(error) = result
            && !std::mem::replace(&mut self.has_failed, true)
        {
            tracing::warn!(node = %self.name, %error, "cannot read a report: it and others like it are skipped");
        }
    }

    fn read_rows(
        &mut self,
        report: &Report<'_>,
        arena: &Arena,
        sink: &mut Sink,
        directory: &mut Directory,
    ) -> Result<(), Error> {
        let (revision, wire) = (self.detection.revision, self.detection.wire);
        let stamp = time_stamp(report.header, revision, wire, arena)?;
        let start_ns = self.start_ns(stamp);
        let (message, cell);
        if revision == Revision::V2_00 {
            let of_cell = v2_00::IndicationMessage::decode(report.message, arena)?;
            cell = of_cell.cell_obj_id().and_then(|name| name.parse::<CellId>().ok());
            message = of_cell.to_current();
        } else {
            cell = None;
            message = IndicationMessage::decode_in(report.message, revision, wire, arena)?;
        }
        let period_ns = i64::try_from(self.period.as_nanos()).unwrap_or(i64::MAX);
        let Sink { queue, about, measurements, dictionary, epoch, subjects, ues, version, moved, .. } = sink;
        if *version != directory.version() || dictionary.ues.len() > MAX_NAMES {
            subjects.clear();
            *version = directory.version();
        }
        if dictionary.ues.len() > MAX_NAMES {
            *dictionary = Arc::default();
            ues.clear();
            *epoch += 1;
        }
        let mut writing = queue.write(dictionary, *epoch);
        let mut current: Option<(*const UeId<'_>, usize)> = None;
        let mut next_column = 0;
        for row in message.rows(self.action.as_ref()) {
            let ue = row.ue.map_or(std::ptr::null(), std::ptr::from_ref);
            if current != Some((ue, row.record)) {
                current = Some((ue, row.record));
                next_column = 0;
                let reported = (report.node, row.ue.map(UeReference::of));
                let subject = match subjects.get(&reported) {
                    Some(subject) => *subject,
                    None => {
                        let subject = {
                            let place = place(about, report.node, row.ue, cell, directory);
                            subject(&mut writing, ues, &self.name, place)
                        };
                        // the cells of a node of v02.00 share a subscription
                        if cell.is_none() {
                            subjects.insert(reported, subject);
                        }
                        subject
                    }
                };
                let record = i64::try_from(row.record).unwrap_or(0);
                writing.push(start_ns + record * period_ns, &subject, moved.remove(&report.node));
            }
            let Some(MeasurementType::MeasName(name)) = row.measurement else { continue };
            // in the order of the request, as a rule
            let column = match measurements.get(next_column) {
                Some(expected) if *expected == *name.0.as_str() => next_column,
                _ => match measurements.iter().position(|expected| *expected == *name.0.as_str()) {
                    Some(column) => column,
                    None => continue,
                },
            };
            next_column = column + 1;
            if let Some(chunk) = writing.last() {
                chunk.set(column, row.value);
            }
        }
        Ok(())
    }

    /// The containers of v01.00: the counters that were asked for, by name; one record for each subject.
    fn read_v1(&mut self, report: &Report<'_>, sink: &mut Sink) -> Result<(), Error> {
        let message = v1::IndicationMessage::decode_owned(report.message)?;
        let start_ns = nanoseconds(SystemTime::now()) - i64::try_from(self.period.as_nanos()).unwrap_or(0);
        let Sink { queue, measurements, dictionary, epoch, moved, .. } = sink;
        let mut writing = queue.write(dictionary, *epoch);
        let node = index(&mut writing.dictionary().nodes, Arc::clone(&self.name));
        let mut last = None;
        for row in message.rows() {
            let Some(column) = measurements.iter().position(|name| *name == row.counter.name()) else { continue };
            let cell = row.cell.map(|cell| CellId::new(cell.nr_cell_identity.value));
            let slice = row.slice.map(|slice| NetworkSlice(SNssai { sst: slice.sst, sd: slice.sd }));
            let ue = row
                .c_rnti
                .zip(cell)
                .map(|(rnti, cell)| UeReference::Rnti { rnti, of: RntiScope::Cell(cell.identity()) });
            let names = writing.dictionary();
            let cell = cell.map(|cell| index(&mut names.cells, cell));
            let slice = slice.map(|slice| index(&mut names.slices, slice));
            let ue = ue.map(|ue| index(&mut names.ues, ue));
            let [cell, slice, ue] = [cell, slice, ue].map(|index| index.unwrap_or(NONE));
            let subject = Subject { node, cell, ue, slice };
            if last != Some(subject) {
                last = Some(subject);
                writing.push(start_ns, &subject, moved.remove(&report.node));
            }
            if let Some(chunk) = writing.last() {
                let integer = u32::try_from(row.value).map(Value::Integer);
                chunk.set(column, integer.unwrap_or(Value::Real(row.value as f64)));
            }
        }
        Ok(())
    }

    /// The start of the report's first period in nanoseconds since 1970: by the node's clock if its time stamps can be read.
    fn start_ns(&mut self, stamp: TimeStamp) -> i64 {
        let received = SystemTime::now();
        // recognises format and moment
        let _ = self.timestamps.latency(stamp, received, self.period);
        let stated = self.timestamps.format().and_then(|format| format.time(stamp, received));
        let is_start = stated.is_some() && self.timestamps.moment() != Some(TimestampMoment::Report);
        let at = nanoseconds(stated.unwrap_or(received));
        if is_start { at } else { at - i64::try_from(self.period.as_nanos()).unwrap_or(0) }
    }
}

fn nanoseconds(at: SystemTime) -> i64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn time_stamp(header: &[u8], revision: Revision, wire: Wire, arena: &Arena) -> Result<TimeStamp, Error> {
    if revision == Revision::V2_00 {
        let v2_00::IndicationHeaderFormats::Format1(header) = v2_00::IndicationHeader::decode(header)?.formats;
        return Ok(header.collet_start_time);
    }
    let IndicationHeaderFormats::Format1(header) = IndicationHeader::decode_in(header, revision, wire, arena)?.formats;
    Ok(header.collet_start_time)
}

/// The index of a name, which is added if it is new.
fn index<T: PartialEq>(names: &mut Vec<T>, name: T) -> u32 {
    let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    });
    u32::try_from(at).unwrap_or(NONE)
}

/// Where the subject of a record is that is new to the stream.
fn place(
    about: &About,
    node: NodeId,
    ue_id: Option<&UeId<'_>>,
    cell: Option<CellId>,
    directory: &mut Directory,
) -> Place {
    let place = match (ue_id, about) {
        (Some(ue_id), _) => {
            directory.learn(node, ue_id);
            directory.place(node, ue_id)
        }
        (None, About::Ue(ue)) => directory.find(ue).map(|ue| directory.place_of(ue)).unwrap_or_default(),
        (None, _) => Place::default(),
    };
    let place = Place { cell: cell.or(place.cell), ..place };
    match about {
        About::Cell(cell) => Place { cell: Some(*cell), ..place },
        About::Slice(slice) => Place { slice: Some(*slice), ..place },
        About::EachUe | About::Ue(_) | About::Node => place,
    }
}

/// The subject as indices into the dictionary, to which new names are added.
fn subject(writing: &mut Writing<'_>, ues: &mut HashMap<UeReference, u32>, name: &Arc<str>, place: Place) -> Subject {
    let names = writing.dictionary();
    let ue = place.ue.map(|ue| {
        *ues.entry(ue).or_insert_with_key(|ue| {
            names.ues.push(ue.clone());
            u32::try_from(names.ues.len() - 1).unwrap_or(NONE)
        })
    });
    Subject {
        node: index(&mut names.nodes, Arc::clone(name)),
        cell: place.cell.map_or(NONE, |cell| index(&mut names.cells, cell)),
        ue: ue.unwrap_or(NONE),
        slice: place.slice.map_or(NONE, |slice| index(&mut names.slices, slice)),
    }
}
