//! Collecting a report: a record for each granularity period, of each UE that it is about.

use e2sm::common::UeId;
use e2sm::kpm::v1::PfContainer;
use e2sm::kpm::{MeasurementRecordItem, Value};
use ferric::agent::{Ue, Views};
use ferric::e2::Time;
use per::Real;

use super::action::{Action, Column, Subject};
use super::v1;
use super::{KpmSource, MeasuredObject};

/// The values of the report that is being collected. Its memory is used again for the next.
#[derive(Debug)]
pub(super) struct Collection {
    columns: usize,
    records: usize,
    max_rows: usize,
    /// MeasuredObject a row of values is about; the cell, and groups, have one row without a name.
    rows: Vec<(Ue, UeId<'static>)>,
    /// Row by row, record by record, column by column.
    values: Vec<MeasurementRecordItem<'static>>,
    /// Whether a record is to be told as incomplete.
    incomplete: Vec<bool>,
    /// The UEs that met the conditions of a group in any of the records.
    matched: Vec<Vec<(Ue, UeId<'static>)>>,
    /// Who met the conditions of which group in which record; no more of them than there may be values.
    matches: Vec<(usize, usize, Ue)>,
    max_matches: usize,
    /// The container of v01.00.
    container: Option<PfContainer<'static>>,
    /// The UEs that are there.
    ues: Vec<Ue>,
    /// Those of them that meet a condition.
    chosen: Vec<Ue>,
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
            chosen: Vec::new(),
        }
    }

    pub fn rows(&self) -> &[(Ue, UeId<'static>)] {
        &self.rows
    }

    /// The records of a row, and whether each is incomplete.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (&[MeasurementRecordItem<'static>], bool)> {
        let width = self.records * self.columns;
        let values = self.values[row * width..(row + 1) * width].chunks_exact(self.columns);
        values.zip(self.incomplete.iter().copied())
    }

    pub fn matched(&self, group: usize) -> &[(Ue, UeId<'static>)] {
        self.matched.get(group).map_or(&[], Vec::as_slice)
    }

    /// The UEs that met the conditions of a group, record by record; `None` where that tells no more than
    /// [`Collection::matched`], or is too much to be kept.
    pub fn matched_by_record(&self, group: usize) -> Option<Vec<Vec<&UeId<'static>>>> {
        let all = self.matched(group);
        if self.matches.len() >= self.max_matches {
            return None;
        }
        let mut records = vec![Vec::new(); self.records];
        for (_, record, ue) in self.matches.iter().filter(|(of, _, _)| *of == group) {
            let name = all.iter().find(|(there, _)| there == ue).map(|(_, name)| name);
            records[*record].extend(name);
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

    /// Makes room for a row; without values until they come.
    fn add_row(&mut self) {
        self.values.resize(self.values.len() + self.records * self.columns, MeasurementRecordItem::NoValue);
    }

    fn set(&mut self, row: usize, record: usize, column: usize, value: MeasurementRecordItem<'static>) {
        self.values[(row * self.records + record) * self.columns + column] = value;
    }

    /// The row of a UE; UEs mostly come in the same order, so that it is where it is expected.
    fn row_of<S: KpmSource>(&mut self, source: &S, ue: Ue, expected: usize) -> Option<usize> {
        if self.rows.get(expected).is_some_and(|(there, _)| *there == ue) {
            return Some(expected);
        }
        if let Some(row) = self.rows.iter().position(|(there, _)| *there == ue) {
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
    /// Collects the record that was due; `until` is the end of the last period that has passed. When that completes a
    /// report, tells when it began.
    pub fn collect<S: KpmSource<Snapshot = M>>(&mut self, source: &S, views: &Views, until: Time) -> Option<Time> {
        let record = self.schedule.done as usize;
        self.sample(source, views, record);
        source.take_snapshot(&mut self.mark);
        // one that spans more than its period is not reliable, and those that were missed have no values
        let records = u64::from(self.schedule.records);
        let ended = self.schedule.ended(until);
        self.collection.incomplete.push(ended > record as u64 + 1);
        let ended = ended.min(records);
        self.collection.incomplete.resize(ended as usize, true);
        self.schedule.done = ended as u32;
        (ended == records).then_some(self.schedule.start)
    }

    /// Goes on to the next report.
    pub fn begin_report(&mut self) {
        self.collection.clear();
        self.schedule.skip(1);
    }

    /// Passes over what was missed up to `until` and tells how many whole reports that were.
    pub fn skip(&mut self, until: Time) -> u64 {
        let ended = self.schedule.ended(until);
        let reports = ended / u64::from(self.schedule.records);
        if reports > 0 {
            self.schedule.skip(reports);
        }
        // below the number of records, which fits
        self.schedule.done = self.schedule.ended(until) as u32;
        self.collection.incomplete.resize(self.schedule.done as usize, true);
        reports
    }

    /// Takes the values since the mark.
    fn sample<S: KpmSource<Snapshot = M>>(&mut self, source: &S, views: &Views, record: usize) {
        let controller = self.key().controller;
        let Action { subject, columns, collection, mark, .. } = self;
        if !matches!(subject, Subject::Cell | Subject::Container(..)) {
            collection.ues.clear();
            source.ues(&mut collection.ues);
            if !views.sees_all(controller) {
                collection.ues.retain(|ue| views.sees(controller, *ue));
            }
        }
        match subject {
            Subject::Cell => {
                single_row(collection);
                for (at, column) in columns.iter().enumerate() {
                    collection.set(0, record, at, value(source, mark, MeasuredObject::Cell, column));
                }
            }
            Subject::Single(ue) => {
                single_row(collection);
                if collection.ues.contains(ue) {
                    for (at, column) in columns.iter().enumerate() {
                        collection.set(0, record, at, value(source, mark, MeasuredObject::Ues(&[*ue]), column));
                    }
                }
            }
            Subject::Named(named) => {
                let there = named.iter().filter(|ue| collection.ues.contains(ue));
                collection.chosen.clear();
                collection.chosen.extend(there);
                each(source, mark, columns, collection, record);
            }
            Subject::Each(conditions) => {
                let matching = collection.ues.iter().filter(|ue| conditions.hold(source, **ue));
                collection.chosen.clear();
                collection.chosen.extend(matching);
                each(source, mark, columns, collection, record);
            }
            Subject::Container(style, _) => collection.container = v1::container(source, mark, *style),
            Subject::Groups(groups) => {
                single_row(collection);
                collection.matched.resize_with(groups.len(), Vec::new);
                for (at, (column, conditions)) in columns.iter().zip(groups).enumerate() {
                    let matching = collection.ues.iter().filter(|ue| conditions.hold(source, **ue));
                    collection.chosen.clear();
                    collection.chosen.extend(matching);
                    let matched = &mut collection.matched[at];
                    for ue in &collection.chosen {
                        if !matched.iter().any(|(there, _)| there == ue) {
                            matched.push((*ue, source.ue_id(*ue)));
                        }
                    }
                    let room = collection.max_matches - collection.matches.len();
                    let matches = collection.chosen.iter().map(|ue| (at, record, *ue));
                    collection.matches.extend(matches.take(room));
                    let value = value(source, mark, MeasuredObject::Ues(&collection.chosen), column);
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

/// The values of each chosen UE by itself.
fn each<S: KpmSource>(source: &S, mark: &S::Snapshot, columns: &[Column], collection: &mut Collection, record: usize) {
    let chosen = std::mem::take(&mut collection.chosen);
    for (expected, ue) in chosen.iter().enumerate() {
        let Some(row) = collection.row_of(source, *ue, expected) else { continue };
        for (at, column) in columns.iter().enumerate() {
            collection.set(row, record, at, value(source, mark, MeasuredObject::Ues(&[*ue]), column));
        }
    }
    collection.chosen = chosen;
}

fn value<S: KpmSource>(
    source: &S,
    mark: &S::Snapshot,
    whom: MeasuredObject<'_>,
    column: &Column,
) -> MeasurementRecordItem<'static> {
    let value = match &column.bins {
        Some(bins) => source.bin_count(mark, whom, column.offer, bins, &column.label),
        None => source.value(mark, whom, column.offer, &column.label),
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
