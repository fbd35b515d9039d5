//! Collection of the values of a report: a record for each granularity period and each UE.

use e2sm::common::UeId;
use e2sm::kpm::v1::PfContainer;
use e2sm::kpm::{MeasurementRecordItem, Value};
use ferric::agent::{Ue, Views};
use ferric::e2::Time;
use per::Real;

use super::action::{Action, Column, Subject};
use super::v1;
use super::{KpmSource, MeasuredObject};

/// The values of the current report. Its buffers are reused for the next report.
#[derive(Debug)]
pub(super) struct Collection {
    columns: usize,
    records: usize,
    max_rows: usize,
    /// The UE of each row of values; the cell, and groups, have one row without a UE.
    rows: Vec<(Ue, UeId<'static>)>,
    /// The values, ordered by row, record and column.
    values: Vec<MeasurementRecordItem<'static>>,
    /// The incomplete flag of each record.
    incomplete: Vec<bool>,
    /// For each group, the UEs that met its conditions in any record.
    matched: Vec<Vec<(Ue, UeId<'static>)>>,
    /// Group, record and UE of each match, limited to `max_matches`.
    matches: Vec<(usize, usize, Ue)>,
    max_matches: usize,
    /// The container of v01.00.
    container: Option<PfContainer<'static>>,
    /// The connected UEs that the controller may see.
    ues: Vec<Ue>,
    /// The UEs among them that a record is about.
    selected: Vec<Ue>,
}

impl Collection {
    pub fn new(columns: usize, records: usize, max_values: usize) -> Self {
        Collection {
            columns,
            records,
            max_rows: max_values / (columns * records).max(1),
            rows: Vec::new(),
            values: Vec::new(),
            incomplete: Vec::new(),
            matched: Vec::new(),
            matches: Vec::new(),
            max_matches: max_values,
            container: None,
            ues: Vec::new(),
            selected: Vec::new(),
        }
    }

    pub fn rows(&self) -> &[(Ue, UeId<'static>)] {
        &self.rows
    }

    /// The records of a row, each with its incomplete flag.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (&[MeasurementRecordItem<'static>], bool)> {
        let width = self.records * self.columns;
        let values = self.values[row * width..(row + 1) * width].chunks_exact(self.columns);
        values.zip(self.incomplete.iter().copied())
    }

    pub fn matched(&self, group: usize) -> &[(Ue, UeId<'static>)] {
        self.matched.get(group).map_or(&[], Vec::as_slice)
    }

    /// For each record, the UEs that met the conditions of a group; `None` if they are the same in all records, or if there
    /// are too many to be stored.
    pub fn matched_by_record(&self, group: usize) -> Option<Vec<Vec<&UeId<'static>>>> {
        let all = self.matched(group);
        if self.matches.len() >= self.max_matches {
            return None;
        }
        let mut records = vec![Vec::new(); self.records];
        for (_, record, ue) in self.matches.iter().filter(|(of, _, _)| *of == group) {
            let ue_id = all.iter().find(|(matched, _)| matched == ue).map(|(_, ue_id)| ue_id);
            records[*record].extend(ue_id);
        }
        let differ = records.iter().any(|record| record.len() != all.len());
        differ.then_some(records)
    }

    pub fn container(&self) -> Option<&PfContainer<'static>> {
        self.container.as_ref()
    }

    fn clear(&mut self) {
        self.container = None;
        self.rows.clear();
        self.values.clear();
        self.incomplete.clear();
        self.matched.iter_mut().for_each(Vec::clear);
        self.matches.clear();
    }

    /// Adds a row of values, all "no value".
    fn add_row(&mut self) {
        self.values.resize(self.values.len() + self.records * self.columns, MeasurementRecordItem::NoValue);
    }

    fn set(&mut self, row: usize, record: usize, column: usize, value: MeasurementRecordItem<'static>) {
        self.values[(row * self.records + record) * self.columns + column] = value;
    }

    /// The index of a UE's row, which is added if there is room. UEs mostly keep their order, so `expected` is tried first.
    fn row_of<S: KpmSource>(&mut self, source: &S, ue: Ue, expected: usize) -> Option<usize> {
        if self.rows.get(expected).is_some_and(|(row, _)| *row == ue) {
            return Some(expected);
        }
        if let Some(row) = self.rows.iter().position(|(row, _)| *row == ue) {
            return Some(row);
        }
        if self.rows.len() >= self.max_rows {
            return None;
        }
        self.rows.push((ue, source.ue_id(ue)));
        self.add_row();
        Some(self.rows.len() - 1)
    }
}

impl<M> Action<M> {
    /// Collects the record that is due; `until` is the end of the last period that has ended. If the report is complete,
    /// returns its start.
    pub fn collect<S: KpmSource<Snapshot = M>>(&mut self, source: &S, views: &Views, until: Time) -> Option<Time> {
        let record = self.schedule.done as usize;
        self.sample(source, views, record);
        source.take_snapshot(&mut self.snapshot);
        // a record that spans more than its period is incomplete; missed records have no values
        let records = u64::from(self.schedule.records);
        let ended = self.schedule.ended(until);
        self.collection.incomplete.push(ended > record as u64 + 1);
        let ended = ended.min(records);
        self.collection.incomplete.resize(ended as usize, true);
        self.schedule.done = ended as u32;
        (ended == records).then_some(self.schedule.start)
    }

    /// Replaces the values that do not exist by 0 in the type of their measurement.
    pub fn zero_missing<S: KpmSource<Snapshot = M>>(&mut self, source: &S) {
        let zero = |column: &Column| match source.zero(column.measurement) {
            Value::Real(zero) => MeasurementRecordItem::Real(Real::from(zero)),
            _ => MeasurementRecordItem::Integer(0),
        };
        let zeros: Vec<MeasurementRecordItem<'static>> = self.columns.iter().map(zero).collect();
        for record in self.collection.values.chunks_exact_mut(zeros.len().max(1)) {
            for (value, zero) in record.iter_mut().zip(&zeros) {
                if *value == MeasurementRecordItem::NoValue {
                    value.clone_from(zero);
                }
            }
        }
    }

    /// Starts the next report.
    pub fn begin_report(&mut self) {
        self.collection.clear();
        self.schedule.skip(1);
    }

    /// Skips the records that were missed up to `until`, and returns the number of whole reports among them.
    pub fn skip(&mut self, until: Time) -> u64 {
        let ended = self.schedule.ended(until);
        let reports = ended / u64::from(self.schedule.records);
        if reports > 0 {
            self.schedule.skip(reports);
        }
        // less than the number of records, which is a u32
        self.schedule.done = self.schedule.ended(until) as u32;
        self.collection.incomplete.resize(self.schedule.done as usize, true);
        reports
    }

    /// Records the values since the snapshot.
    fn sample<S: KpmSource<Snapshot = M>>(&mut self, source: &S, views: &Views, record: usize) {
        let controller = self.key().controller;
        let Action { subject, columns, collection, snapshot, .. } = self;
        if !matches!(subject, Subject::Cell | Subject::OneCell(_) | Subject::Container(..)) {
            collection.ues.clear();
            source.ues(&mut collection.ues);
            if !views.sees_all(controller) {
                collection.ues.retain(|ue| views.sees(controller, *ue));
            }
        }
        match subject {
            Subject::Cell | Subject::OneCell(_) => {
                let object = if let Subject::OneCell(cell) = subject {
                    MeasuredObject::OneCell(*cell)
                } else {
                    MeasuredObject::Cell
                };
                single_row(collection);
                for (at, column) in columns.iter().enumerate() {
                    collection.set(0, record, at, value(source, snapshot, object, column));
                }
            }
            Subject::Single(ue) => {
                single_row(collection);
                if collection.ues.contains(ue) {
                    for (at, column) in columns.iter().enumerate() {
                        collection.set(0, record, at, value(source, snapshot, MeasuredObject::Ues(&[*ue]), column));
                    }
                }
            }
            Subject::Listed(listed) => {
                let connected = listed.iter().filter(|ue| collection.ues.contains(ue));
                collection.selected.clear();
                collection.selected.extend(connected);
                sample_each(source, snapshot, columns, collection, record);
            }
            Subject::Each(conditions) => {
                let matching = collection.ues.iter().filter(|ue| conditions.hold(source, **ue));
                collection.selected.clear();
                collection.selected.extend(matching);
                sample_each(source, snapshot, columns, collection, record);
            }
            Subject::Container(style, _) => collection.container = v1::container(source, snapshot, *style),
            Subject::Groups(groups) => {
                single_row(collection);
                collection.matched.resize_with(groups.len(), Vec::new);
                for (at, (column, conditions)) in columns.iter().zip(groups).enumerate() {
                    let matching = collection.ues.iter().filter(|ue| conditions.hold(source, **ue));
                    collection.selected.clear();
                    collection.selected.extend(matching);
                    let matched = &mut collection.matched[at];
                    for ue in &collection.selected {
                        if !matched.iter().any(|(known, _)| known == ue) {
                            matched.push((*ue, source.ue_id(*ue)));
                        }
                    }
                    let room = collection.max_matches - collection.matches.len();
                    let matches = collection.selected.iter().map(|ue| (at, record, *ue));
                    collection.matches.extend(matches.take(room));
                    let value = value(source, snapshot, MeasuredObject::Ues(&collection.selected), column);
                    collection.set(0, record, at, value);
                }
            }
        }
    }
}

fn single_row(collection: &mut Collection) {
    if collection.values.is_empty() {
        collection.add_row();
    }
}

/// Records the values of each selected UE.
fn sample_each<S: KpmSource>(
    source: &S,
    snapshot: &S::Snapshot,
    columns: &[Column],
    collection: &mut Collection,
    record: usize,
) {
    let selected = std::mem::take(&mut collection.selected);
    for (expected, ue) in selected.iter().enumerate() {
        let Some(row) = collection.row_of(source, *ue, expected) else { continue };
        for (at, column) in columns.iter().enumerate() {
            collection.set(row, record, at, value(source, snapshot, MeasuredObject::Ues(&[*ue]), column));
        }
    }
    collection.selected = selected;
}

fn value<S: KpmSource>(
    source: &S,
    snapshot: &S::Snapshot,
    object: MeasuredObject<'_>,
    column: &Column,
) -> MeasurementRecordItem<'static> {
    let value = match &column.bins {
        Some(bins) => source.bin_count(snapshot, object, column.measurement, bins, &column.label),
        None => source.value(snapshot, object, column.measurement, &column.label),
    };
    if value.number().is_some_and(|number| !column.conditions.hold(number)) {
        return MeasurementRecordItem::NotSatisfied;
    }
    match value {
        Value::Integer(value) => MeasurementRecordItem::Integer(value),
        Value::Real(value) => MeasurementRecordItem::Real(Real::from(value)),
        Value::NoValue => MeasurementRecordItem::NoValue,
        Value::NotSatisfied => MeasurementRecordItem::NotSatisfied,
    }
}
