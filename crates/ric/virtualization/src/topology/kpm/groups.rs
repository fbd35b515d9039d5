//! Report style 3: values over the UEs that meet conditions. Each measurement has conditions of its own, which the part evaluates that
//! measures.
//!
//! | who measures | what is reported |
//! |---|---|
//! | one part | what it reports |
//! | several DUs or CU-UPs, a sum over UEs | the sum of their values, and the UEs of all |
//! | several DUs, and the action names a cell | what the DU of the cell reports |
//! | several DUs or CU-UPs, anything else | refused: a mean of means, or of extremes, is not that of the UEs |
//! | a part that refuses to check the conditions, or a CU-UP of several base stations, sums over UEs with the same conditions | the sum of the values of each UE, as style 4 reports them, for which another part checks the conditions |
//! | the same, anything else | refused |
//!
//! A part that has no value adds nothing; a record without the values of all parts is incomplete.

use std::collections::{BTreeMap, BTreeSet};

use e2sm::Error;
use e2sm::common::{Cgi, True, UeId};
use e2sm::kpm::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormat3, ActionDefinitionFormats, Detection,
    GranularityPeriod, IndicationMessage, IndicationMessageFormat2, IndicationMessageFormats, LabelInfoItem,
    LabelInfoList, MatchedPerGp, MatchingCondItem, MatchingCondItemChoice, MatchingUeCondPerSubItem, MatchingUeidItem,
    MatchingUeidItemPerGp, MatchingUeidPerGpItem, MeasurementCondItem, MeasurementCondUeidItem, MeasurementDataItem,
    MeasurementInfoItem, MeasurementLabel, MeasurementRecordItem, MeasurementType, MeasurementTypeName, Revision,
    TestCondExpression, TestCondInfo, TestCondType, TestCondValue,
};
use ferric::e2::topology::{Part, UeRef};
use ferric::e2ap::{Cause, RicActionId};
use per::{IntoOwned, List, PrintableString};

use super::super::offers::Ranked;
use super::super::periods::Pending;
use super::merge::{PartReport, Record, Row};
use super::offer::KpmParts;
use super::plan::{
    self, Asked, Context, MALFORMED, NOT_SUPPORTED, PartAction, Split, Subject, UNAVAILABLE, check_present, has_cell,
    name_of, own_cell,
};

/// Shares of the resource blocks of a cell: those of several cells do not add up.
const OF_A_CELL: [&str; 2] = ["RRU.PrbTotDl", "RRU.PrbTotUl"];

/// A UE, and its UE ID at the CU-CP.
type Named = (UeRef, UeId<'static>);

/// The UEs that have met the conditions of a measurement at a part.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Matched {
    ues: Vec<Named>,
    /// Those of each record; `None` if they are the same in all.
    by_record: Option<Vec<Vec<Named>>>,
}

/// Divides an action with reports every `period_ms`.
///
/// # Errors
/// The cause with which it is refused.
pub(super) fn split(
    parts: &KpmParts,
    id: RicActionId,
    format: &ActionDefinitionFormat3<'_>,
    period_ms: u32,
    context: &Context<'_>,
) -> Result<Split, Cause> {
    let detection = parts.detection().ok_or(NOT_SUPPORTED)?;
    let granularity_ms = format.granul_period.0;
    if is_joined(parts, format, context)? {
        return split_by_ue(parts, id, format, period_ms, context);
    }
    let widths = vec![1; format.meas_cond_list.len()];
    let records = plan::records(period_ms, granularity_ms, &widths)?;
    let mut columns: BTreeMap<Ranked, Vec<(usize, String)>> = BTreeMap::new();
    for (at, item) in format.meas_cond_list.iter().enumerate() {
        let name = name_of(parts, &item.meas_type)?;
        for part in measuring(parts, name, format.cell_global_id, context)? {
            columns.entry(part).or_default().push((at, name.to_owned()));
        }
    }
    check_present(parts, columns.keys())?;
    let mut divided = Vec::new();
    for (part, columns) in columns {
        let mut own = Vec::with_capacity(columns.len());
        for (at, name) in &columns {
            let name = PrintableString::try_from(name.as_str()).map_err(|_| MALFORMED)?;
            let meas_type = MeasurementType::MeasName(MeasurementTypeName(name));
            own.push(MeasurementCondItem { meas_type, ..format.meas_cond_list[*at].clone() });
        }
        let cell_global_id = match part.1 {
            Part::Control => own_cell(format.cell_global_id, context)?,
            _ => format.cell_global_id,
        };
        let own = ActionDefinitionFormat3 { meas_cond_list: own.into(), cell_global_id, ..format.clone() };
        let ric_style_type = parts.offer(part).and_then(|offer| offer.style(3)).ok_or(NOT_SUPPORTED)?;
        let mut definition = Vec::new();
        ActionDefinition { ric_style_type, formats: ActionDefinitionFormats::Format3(own) }
            .encode_in(detection.revision, detection.wire, &mut definition)
            .map_err(|_| MALFORMED)?;
        let (columns, names) = columns.into_iter().unzip();
        divided.push(PartAction { part, columns, names, ue: None, selects: Some(true), definition });
    }
    Ok(Split {
        id,
        subject: Subject::Groups,
        items: format.meas_cond_list.iter().map(without_conditions).collect(),
        conditions: conditions(format),
        widths,
        granularity_ms,
        records,
        parts: divided,
        ues: BTreeMap::new(),
    })
}

/// A measurement as a whole.
fn without_conditions(item: &MeasurementCondItem<'_>) -> MeasurementInfoItem<'static> {
    MeasurementInfoItem {
        meas_type: item.meas_type.clone().into_owned(),
        label_info_list: LabelInfoList(vec![LabelInfoItem { meas_label: MeasurementLabel::NO_LABEL }].into()),
        match_cond_report_list: None,
    }
}

fn conditions(format: &ActionDefinitionFormat3<'_>) -> Vec<plan::Conditions> {
    format.meas_cond_list.iter().map(|item| item.matching_cond.clone().into_owned()).collect()
}

/// Whether the values of a part have to be those of each UE, so that they can be joined with what other parts know of it.
fn is_joined(parts: &KpmParts, format: &ActionDefinitionFormat3<'_>, context: &Context<'_>) -> Result<bool, Cause> {
    for item in format.meas_cond_list.iter() {
        let measuring = parts.offering(name_of(parts, &item.meas_type)?, false);
        let is_of_all = |part: &Ranked| context.cells.is_some() && matches!(part.1, Part::CuUp(_));
        if measuring.iter().any(|part| is_of_all(part) || context.unable.contains(part)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Divides an action by the values of each UE.
fn split_by_ue(
    parts: &KpmParts,
    id: RicActionId,
    format: &ActionDefinitionFormat3<'_>,
    period_ms: u32,
    context: &Context<'_>,
) -> Result<Split, Cause> {
    let [first, ..] = &format.meas_cond_list[..] else { return Err(NOT_SUPPORTED) };
    for item in format.meas_cond_list.iter() {
        let is_same = item.matching_cond == first.matching_cond && item.bin_range_def.is_none();
        if !is_same || format.cell_global_id.is_some() || !adds_up(name_of(parts, &item.meas_type)?) {
            return Err(NOT_SUPPORTED);
        }
    }
    let of_ues: Option<List<'_, _>> = first.matching_cond.iter().map(of_ue).collect::<Option<Vec<_>>>().map(List::from);
    let asked = Asked::Matching(&of_ues.ok_or(NOT_SUPPORTED)?);
    let measurements = ActionDefinitionFormat1 {
        meas_info_list: format.meas_cond_list.iter().map(without_conditions).collect(),
        granul_period: format.granul_period,
        cell_global_id: None,
        dist_meas_bin_range_info: None,
    };
    let split = plan::divide(parts, (id, Subject::GroupsOfUes, &asked), &measurements, period_ms, context)?;
    Ok(Split { conditions: conditions(format), ..split })
}

/// The condition of a measurement as one of style 4; `None` if there is none.
fn of_ue<'a>(item: &MatchingCondItem<'a>) -> Option<MatchingUeCondPerSubItem<'a>> {
    let test_cond_info = match &item.choice {
        MatchingCondItemChoice::TestCondInfo(test) => test.clone(),
        MatchingCondItemChoice::MeasLabel(label) => {
            let (test_type, test_value) = match (label.slice_id, label.five_qi) {
                (Some(slice), None) => {
                    let octets = slice.sst.0.into_iter().chain(slice.sd.into_iter().flat_map(|sd| sd.0));
                    (TestCondType::SNssai(True), TestCondValue::ValueOctS(octets.collect::<Vec<u8>>().into()))
                }
                (None, Some(five_qi)) => (TestCondType::FiveQi(True), TestCondValue::ValueInt(five_qi.0.into())),
                _ => return None,
            };
            let only = MeasurementLabel { slice_id: label.slice_id, five_qi: label.five_qi, ..Default::default() };
            if *label != only {
                return None;
            }
            let (test_expr, test_value) = (Some(TestCondExpression::Equal), Some(test_value));
            TestCondInfo { test_type, test_expr, test_value }
        }
    };
    Some(MatchingUeCondPerSubItem { test_cond_info, logical_or: item.logical_or })
}

/// Whether the values of UEs, also in several cells, add up to that of all of them.
fn adds_up(name: &str) -> bool {
    crate::kpm::is_sum(name) && !OF_A_CELL.contains(&name)
}

/// The parts whose values are those of a measurement.
fn measuring(parts: &KpmParts, name: &str, cell: Option<Cgi>, context: &Context<'_>) -> Result<Vec<Ranked>, Cause> {
    let mut measuring = parts.offering(name, false);
    let is_only = measuring.len() == 1;
    measuring.retain(|part| match part.1 {
        Part::Du(_) => is_only || cell.is_none() || has_cell(parts, *part, cell, context),
        _ => true,
    });
    match measuring.len() {
        0 => Err(UNAVAILABLE),
        1 => Ok(measuring),
        _ if adds_up(name) => Ok(measuring),
        _ => Err(NOT_SUPPORTED),
    }
}

/// Reads the report of a part. `translate` returns the UE that the part names; `None` if it is left out.
pub(super) fn read(
    split: &Split,
    part: &PartAction,
    report: &IndicationMessageFormat2<'_>,
    mut translate: impl FnMut(&UeId<'_>) -> Option<Named>,
) -> PartReport {
    let mut read = PartReport::default();
    let list = &report.meas_cond_ueid_list;
    let place_of = |(at, column): (usize, &usize)| {
        let has_name = |item: &MeasurementCondUeidItem<'_>| match &item.meas_type {
            MeasurementType::MeasName(name) => name.as_str() == part.names[at],
            // the part's own number of what it was asked for at this place
            MeasurementType::MeasId(_) => list.get(at).is_some_and(|there| core::ptr::eq(there, item)),
        };
        if list.len() == part.columns.len() && has_name(&list[at]) {
            return Some(at);
        }
        list.iter().position(|item| has_name(item) && item.matching_cond == split.conditions[*column])
    };
    let places: Vec<Option<usize>> = part.columns.iter().enumerate().map(place_of).collect();
    let mismatches = &mut read.mismatches;
    let record = |data: &MeasurementDataItem<'_>| {
        let is_paired = data.meas_record.len() == list.len();
        *mismatches += usize::from(!is_paired);
        let value = |place: &Option<usize>| match place.filter(|_| is_paired) {
            Some(at) => data.meas_record[at].clone().into_owned(),
            None => MeasurementRecordItem::NoValue,
        };
        Record { values: places.iter().map(value).collect(), is_incomplete: data.incomplete_flag.is_some() }
    };
    let records = report.meas_data.iter().take(split.records).map(record).collect();
    read.rows.push(Row { ue: None, records });
    let left_out = &mut read.left_out;
    let mut named = |ue_ids: &mut dyn Iterator<Item = &UeId<'_>>| {
        let mut seen = BTreeSet::new();
        let mut all = Vec::new();
        for ue_id in ue_ids {
            match translate(ue_id).filter(|(ue, _)| seen.insert(*ue)) {
                Some(ue) => all.push(ue),
                None => *left_out += 1,
            }
        }
        all
    };
    for item in places.iter().map(|place| place.map(|at| &list[at])) {
        let ues = item.and_then(|item| item.matching_ueid_list.as_ref());
        let ues = named(&mut ues.into_iter().flatten().map(|item| &item.ue_id));
        let by_record = item.and_then(|item| item.matching_ueid_per_gp.as_ref()).map(|periods| {
            let period = |period: &MatchingUeidPerGpItem<'_>| match &period.matched_per_gp {
                MatchedPerGp::NoUeMatched(_) => Vec::new(),
                MatchedPerGp::OneOrMoreUeMatched(ues) => named(&mut ues.iter().map(|item| &item.ue_id)),
            };
            periods.iter().take(split.records).map(period).collect()
        });
        read.matched.push(Matched { ues, by_record });
    }
    read
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
    let reports = &pending.reports;
    let records = |report: &PartReport| report.rows.first().map_or(0, |row| row.records.len());
    let count = reports.values().map(records).max().unwrap_or(0);
    let Some((_, header)) = pending.header.as_ref().filter(|_| count > 0) else { return Ok(None) };
    // the values, and the UEs, that each part has of a measurement
    let of_column = |column: usize| {
        split.parts.iter().filter_map(move |action| {
            let own = action.columns.iter().position(|of| *of == column)?;
            Some((own, reports.get(&action.part)?))
        })
    };
    let record_of =
        |report: &'_ PartReport, at: usize| report.rows.first().and_then(|row| row.records.get(at)).cloned();
    let data = (0..count).map(|at| {
        let values = (0..split.items.len()).map(|column| {
            let values = of_column(column).filter_map(|(own, report)| record_of(report, at)?.values.get(own).cloned());
            sum_of(values)
        });
        let of_part = |action: &PartAction| reports.get(&action.part).and_then(|report| record_of(report, at));
        let is_incomplete =
            split.parts.iter().map(of_part).any(|record| record.is_none_or(|record| record.is_incomplete));
        MeasurementDataItem { meas_record: values.collect(), incomplete_flag: is_incomplete.then_some(True) }
    });
    let item = |(column, (item, conditions)): (usize, (&MeasurementInfoItem<'static>, &plan::Conditions))| {
        let matched: Vec<&Matched> = of_column(column).filter_map(|(own, report)| report.matched.get(own)).collect();
        let ues = distinct(matched.iter().flat_map(|matched| &matched.ues));
        let in_record = |at: usize| {
            let of_part = |matched: &&Matched| match &matched.by_record {
                Some(records) => records.get(at).cloned().unwrap_or_default(),
                None => matched.ues.clone(),
            };
            distinct(matched.iter().flat_map(of_part).collect::<Vec<_>>().iter())
        };
        let period = |at: usize| {
            let ues = in_record(at).into_iter().map(|ue_id| MatchingUeidItemPerGp { ue_id });
            let ues: List<'_, _> = ues.collect();
            let none = ues.is_empty();
            let matched_per_gp =
                if none { MatchedPerGp::NoUeMatched(True) } else { MatchedPerGp::OneOrMoreUeMatched(ues) };
            MatchingUeidPerGpItem { matched_per_gp }
        };
        let differ = matched.iter().any(|matched| matched.by_record.is_some());
        let has_periods = differ && detection.revision > Revision::V2_01;
        let ues: List<'_, _> = ues.into_iter().map(|ue_id| MatchingUeidItem { ue_id }).collect();
        MeasurementCondUeidItem {
            meas_type: item.meas_type.clone(),
            matching_cond: conditions.clone(),
            matching_ueid_list: Some(ues).filter(|ues| !ues.is_empty()),
            matching_ueid_per_gp: has_periods.then(|| (0..count).map(period).collect()),
        }
    };
    let formats = IndicationMessageFormats::Format2(IndicationMessageFormat2 {
        meas_data: data.collect(),
        meas_cond_ueid_list: split.items.iter().zip(&split.conditions).enumerate().map(item).collect(),
        granul_period: Some(GranularityPeriod(split.granularity_ms)),
    });
    IndicationMessage { formats }.encode_in(detection.revision, detection.wire, out)?;
    Ok(Some(header.clone()))
}

/// Writes the sums of the values of UEs, which have met the conditions.
///
/// # Errors
/// The message cannot be encoded.
pub(super) fn write_sums(
    ues: &[(UeId<'static>, Vec<Record>)],
    is_incomplete: bool,
    split: &Split,
    detection: &Detection,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let data = (0..split.records).map(|at| {
        let records: Vec<&Record> = ues.iter().filter_map(|(_, records)| records.get(at)).collect();
        // a measurement has one value
        let sum = |column: usize| sum_of(records.iter().filter_map(|record| record.values.get(column).cloned()));
        let is_incomplete = is_incomplete || records.iter().any(|record| record.is_incomplete);
        MeasurementDataItem {
            meas_record: (0..split.items.len()).map(sum).collect(),
            incomplete_flag: is_incomplete.then_some(True),
        }
    });
    let item = |(item, conditions): (&MeasurementInfoItem<'static>, &plan::Conditions)| {
        let ues: List<'_, _> = ues.iter().map(|(ue_id, _)| MatchingUeidItem { ue_id: ue_id.clone() }).collect();
        MeasurementCondUeidItem {
            meas_type: item.meas_type.clone(),
            matching_cond: conditions.clone(),
            matching_ueid_list: Some(ues).filter(|ues| !ues.is_empty()),
            matching_ueid_per_gp: None,
        }
    };
    let formats = IndicationMessageFormats::Format2(IndicationMessageFormat2 {
        meas_data: data.collect(),
        meas_cond_ueid_list: split.items.iter().zip(&split.conditions).map(item).collect(),
        granul_period: Some(GranularityPeriod(split.granularity_ms)),
    });
    IndicationMessage { formats }.encode_in(detection.revision, detection.wire, out)
}

/// The sum of the values that are numbers.
fn sum_of(values: impl Iterator<Item = MeasurementRecordItem<'static>>) -> MeasurementRecordItem<'static> {
    let is_number = |value: &MeasurementRecordItem<'_>| {
        matches!(value, MeasurementRecordItem::Integer(_) | MeasurementRecordItem::Real(_))
    };
    crate::kpm::sum(&values.filter(is_number).collect::<Vec<_>>())
}

/// The UE IDs, each once.
fn distinct<'n>(ues: impl Iterator<Item = &'n Named>) -> Vec<UeId<'static>> {
    let mut seen = BTreeSet::new();
    ues.filter(|(ue, _)| seen.insert(*ue)).map(|(_, ue_id)| ue_id.clone()).collect()
}
