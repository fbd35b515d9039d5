//! Reads the reports of the parts, and writes one of all of them.

use std::collections::{BTreeMap, BTreeSet};

use e2sm::common::{True, UeId};
use e2sm::kpm::{
    Detection, GranularityPeriod, IndicationMessage, IndicationMessageFormat1, IndicationMessageFormat3,
    IndicationMessageFormats, LabelInfoItem, MeasurementDataItem, MeasurementInfoItem, MeasurementRecordItem,
    MeasurementType, StartEndInd, UeMeasurementReportItem,
};
use e2sm::{Arena, Error};
use ferric::e2::NodeId;
use ferric::e2::topology::{RanDatabase, Ue, UeName, UeRef};
use per::{IntoOwned, List, Memo};

use super::super::periods::Pending;
use super::groups::{self, Matched};
use super::plan::{PartAction, Split, Subject};

/// The number of values of a measurement with these labels: a range of bins has one for each.
pub(super) fn value_count(mut labels: &[LabelInfoItem]) -> usize {
    let span = |first: Option<u16>, last: Option<u16>| match (first, last) {
        (Some(first), Some(last)) => usize::from(last.saturating_sub(first)) + 1,
        _ => 1,
    };
    let mut values = 0_usize;
    while let [first, rest @ ..] = labels {
        let first = first.meas_label;
        let last = rest.first().map(|last| last.meas_label).filter(|last| {
            first.start_end_ind == Some(StartEndInd::Start) && last.start_end_ind == Some(StartEndInd::End)
        });
        let width = last.map_or(1, |last| {
            span(first.dist_bin_x, last.dist_bin_x)
                .saturating_mul(span(first.dist_bin_y, last.dist_bin_y))
                .saturating_mul(span(first.dist_bin_z, last.dist_bin_z))
        });
        values = values.saturating_add(width);
        labels = &rest[usize::from(last.is_some())..];
    }
    values.max(1)
}

/// The UE ID of a UE with the names that the CU-CP has for it: those of other parts would change it when they arrive.
pub(super) fn ue_id_of_cu(ran: &RanDatabase, cu: NodeId, ue: &Ue) -> Option<UeId<'static>> {
    let id = ran.station_of(cu)?.global_id_of(cu)?;
    let view = ue.views().iter().find(|view| view.node == cu)?;
    UeName::to_ue_id(&view.names, &id)
}

/// The values of a part for one UE, or for the node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// The UE; `None` in reports of the node and of one UE.
    pub ue: Option<(UeRef, UeId<'static>)>,
    pub records: Vec<Record>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    /// Of the measurements of the part, in order.
    pub values: Vec<MeasurementRecordItem<'static>>,
    pub is_incomplete: bool,
}

/// What a report contains.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PartReport {
    pub rows: Vec<Row>,
    /// In reports of groups, the UEs for each measurement of the part.
    pub matched: Vec<Matched>,
    /// Records whose number of values is not that of their measurements: they have no values.
    pub mismatches: usize,
    /// UEs that are left out: of another base station, unknown to the CU-CP, or repeated.
    pub left_out: usize,
}

/// Reads the report of a part. `translate` returns the UE that the part names; `None` if it is left out.
///
/// # Errors
/// The message cannot be decoded.
pub(super) fn read(
    split: &Split,
    part: &PartAction,
    detection: &Detection,
    message: &[u8],
    arena: &Arena,
    mut translate: impl FnMut(&UeId<'_>) -> Option<(UeRef, UeId<'static>)>,
) -> Result<PartReport, Error> {
    let message = IndicationMessage::decode_in(message, detection.revision, detection.wire, arena)?;
    if let (IndicationMessageFormats::Format2(report), Subject::Groups) = (&message.formats, split.subject) {
        return Ok(groups::read(split, part, report, translate));
    }
    let mut read = PartReport::default();
    let mut seen = BTreeSet::new();
    let mut add = |ue_id: Option<&UeId<'_>>, report: &IndicationMessageFormat1<'_>, read: &mut PartReport| {
        let ue = match ue_id {
            None => None,
            Some(ue_id) => match translate(ue_id).filter(|(ue, _)| seen.insert(*ue)) {
                Some(ue) => Some(ue),
                None => {
                    read.left_out += 1;
                    return;
                }
            },
        };
        let records = records(split, part, report, &mut read.mismatches);
        read.rows.push(Row { ue, records });
    };
    match (&message.formats, split.subject) {
        (IndicationMessageFormats::Format1(report), Subject::Node | Subject::OneUe) => add(None, report, &mut read),
        (IndicationMessageFormats::Format1(report), Subject::Ues | Subject::GroupsOfUes) => match &part.ue {
            Some(ue_id) => add(Some(ue_id), report, &mut read),
            None => read.mismatches += 1,
        },
        (IndicationMessageFormats::Format3(format), Subject::Ues | Subject::GroupsOfUes) => {
            format.ue_meas_report_list.iter().for_each(|item| add(Some(&item.ue_id), &item.meas_report, &mut read));
        }
        // another format than that of the style
        _ => read.mismatches += 1,
    }
    Ok(read)
}

/// The values of each record for the measurements of the part.
fn records(
    split: &Split,
    part: &PartAction,
    report: &IndicationMessageFormat1<'_>,
    mismatches: &mut usize,
) -> Vec<Record> {
    // where the values of each measurement are in a record
    let listed = report.meas_info_list.as_ref().map(|list| &list[..]);
    let mut places = Vec::with_capacity(part.columns.len());
    let total = match listed {
        None => part.columns.iter().fold(0, |start, column| {
            places.push(Some(start));
            start + split.widths[*column]
        }),
        Some(list) => {
            let mut starts = Vec::with_capacity(list.len());
            let total = list.iter().fold(0_usize, |start, item| {
                starts.push(start);
                start.saturating_add(value_count(&item.label_info_list))
            });
            for (at, (name, column)) in part.names.iter().zip(&part.columns).enumerate() {
                let is_same = |item: &MeasurementInfoItem<'_>| {
                    let has_name = match &item.meas_type {
                        MeasurementType::MeasName(of_item) => of_item.as_str() == name,
                        // the part's own number of what it was asked for at this place
                        MeasurementType::MeasId(_) => list.get(at).is_some_and(|there| core::ptr::eq(there, item)),
                    };
                    has_name && value_count(&item.label_info_list) == split.widths[*column]
                };
                let place = if list.get(at).is_some_and(is_same) { Some(at) } else { list.iter().position(is_same) };
                places.push(place.map(|at| starts[at]));
            }
            total
        }
    };
    let record = |data: &MeasurementDataItem<'_>| {
        // of a part that only checks conditions, no value is wanted
        let is_paired = part.columns.is_empty() || data.meas_record.len() == total;
        *mismatches += usize::from(!is_paired);
        let values = part.columns.iter().zip(&places).flat_map(|(column, place)| {
            let start = place.filter(|_| is_paired);
            (0..split.widths[*column]).map(move |at| match start {
                Some(start) => data.meas_record[start + at].clone().into_owned(),
                None => MeasurementRecordItem::NoValue,
            })
        });
        Record { values: values.collect(), is_incomplete: data.incomplete_flag.is_some() }
    };
    report.meas_data.iter().take(split.records).map(record).collect()
}

/// Writes the report of all parts, and returns its header. `None` if there is nothing to report.
///
/// # Errors
/// The message cannot be encoded.
pub(super) fn write(
    pending: Pending<PartReport>,
    split: &Split,
    detection: &Detection,
    out: &mut Vec<u8>,
) -> Result<Option<Vec<u8>>, Error> {
    if split.subject == Subject::Groups {
        return groups::write(pending, split, detection, out);
    }
    let mut starts = Vec::with_capacity(split.widths.len());
    let total = split.widths.iter().fold(0, |start, width| {
        starts.push(start);
        start + width
    });
    let is_selected = selected(&pending, split);
    let is_late = split.parts.iter().any(|part| !pending.reports.contains_key(&part.part));
    let mut subjects: Vec<(Option<UeId<'static>>, Vec<Record>)> = Vec::new();
    let mut places = BTreeMap::new();
    for (part, report) in pending.reports {
        let Some(action) = split.part(part) else { continue };
        for Row { ue, records } in report.rows {
            let key = ue.as_ref().map(|(ue, _)| *ue);
            if !is_selected(key) {
                continue;
            }
            let at = *places.entry(key).or_insert_with(|| {
                subjects.push((ue.map(|(_, ue_id)| ue_id), Vec::new()));
                subjects.len() - 1
            });
            let merged = &mut subjects[at].1;
            for (at, record) in records.into_iter().enumerate() {
                if merged.len() == at {
                    let values = vec![MeasurementRecordItem::NoValue; total];
                    merged.push(Record { values, is_incomplete: false });
                }
                let into = &mut merged[at];
                into.is_incomplete |= record.is_incomplete;
                let mut values = record.values.into_iter();
                for column in &action.columns {
                    let start = starts[*column];
                    let own = values.by_ref().take(split.widths[*column]);
                    for (place, value) in into.values[start..].iter_mut().zip(own) {
                        // of several parts of a kind, the first one that has a value
                        if *place == MeasurementRecordItem::NoValue {
                            *place = value;
                        }
                    }
                }
            }
        }
    }
    if split.subject == Subject::GroupsOfUes {
        let ues: Vec<_> = subjects.into_iter().filter_map(|(ue_id, records)| Some((ue_id?, records))).collect();
        groups::write_sums(&ues, is_late, split, detection, out)?;
        return Ok(pending.header.map(|(_, header)| header));
    }
    subjects.retain(|(_, records)| !records.is_empty());
    let Some((_, header)) = pending.header.filter(|_| !subjects.is_empty()) else { return Ok(None) };
    let report = |records: Vec<Record>| IndicationMessageFormat1 {
        meas_data: records
            .into_iter()
            .map(|record| MeasurementDataItem {
                meas_record: record.values.into(),
                incomplete_flag: record.is_incomplete.then_some(True),
            })
            .collect(),
        meas_info_list: Some(Memo::from(List::from(&split.items[..]))),
        granul_period: Some(GranularityPeriod(split.granularity_ms)),
    };
    let formats = match split.subject {
        Subject::Ues => {
            let items = subjects.into_iter().filter_map(|(ue_id, records)| {
                Some(UeMeasurementReportItem { ue_id: ue_id?, meas_report: report(records) })
            });
            IndicationMessageFormats::Format3(IndicationMessageFormat3 { ue_meas_report_list: items.collect() })
        }
        _ => {
            let Some((_, records)) = subjects.pop() else { return Ok(None) };
            IndicationMessageFormats::Format1(report(records))
        }
    };
    IndicationMessage { formats }.encode_in(detection.revision, detection.wire, out)?;
    Ok(Some(header))
}

/// Which UEs meet the conditions of an action: those that a part has reported that checks them.
fn selected(pending: &Pending<PartReport>, split: &Split) -> impl Fn(Option<UeRef>) -> bool + use<> {
    let all_check = split.parts.iter().all(|part| part.selects != Some(false));
    let checking = split.parts.iter().filter(|part| part.selects == Some(true));
    let reports = checking.filter_map(|part| pending.reports.get(&part.part));
    let ues: BTreeSet<UeRef> =
        reports.flat_map(|report| &report.rows).filter_map(|row| row.ue.as_ref().map(|(ue, _)| *ue)).collect();
    move |ue| all_check || ue.is_some_and(|ue| ues.contains(&ue))
}
