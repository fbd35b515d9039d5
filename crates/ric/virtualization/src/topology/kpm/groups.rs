//! Report style 3: values over the UEs that meet conditions. Each measurement has conditions of its own, which the part evaluates that
//! measures.
//!
//! | who measures | what is reported |
//! |---|---|
//! | one part | what it reports |
//! | several DUs or CU-UPs, a sum over UEs | the sum of their values, and the UEs of all |
//! | several DUs, and the action names a cell | what the DU of the cell reports |
//! | several DUs or CU-UPs, anything else | refused: a mean of means, or of extremes, is not that of the UEs |
//! | a CU-UP of several base stations | refused: it would count the UEs of all of them |
//!
//! A part that has no value adds nothing; a record without the values of all parts is incomplete.

use std::collections::{BTreeMap, BTreeSet};

use e2sm::Error;
use e2sm::common::{Cgi, True, UeId};
use e2sm::kpm::{
    ActionDefinition, ActionDefinitionFormat3, ActionDefinitionFormats, Detection, GranularityPeriod,
    IndicationMessage, IndicationMessageFormat2, IndicationMessageFormats, LabelInfoItem, LabelInfoList, MatchedPerGp,
    MatchingUeidItem, MatchingUeidItemPerGp, MatchingUeidPerGpItem, MeasurementCondItem, MeasurementCondUeidItem,
    MeasurementDataItem, MeasurementInfoItem, MeasurementLabel, MeasurementRecordItem, MeasurementType,
    MeasurementTypeName, Revision,
};
use ferric::e2::topology::{Part, UeRef};
use ferric::e2ap::{Cause, RicActionId};
use per::{IntoOwned, List, PrintableString};

use super::super::offers::Ranked;
use super::super::periods::Pending;
use super::merge::{PartReport, Record, Row};
use super::offer::KpmParts;
use super::plan::{
    self, Context, MALFORMED, NOT_SUPPORTED, PartAction, Split, Subject, UNAVAILABLE, check_present, has_cell, name_of,
    own_cell,
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
        divided.push(PartAction { part, columns, names, ue: None, definition });
    }
    let item = |item: &MeasurementCondItem<'_>| MeasurementInfoItem {
        meas_type: item.meas_type.clone().into_owned(),
        label_info_list: LabelInfoList(vec![LabelInfoItem { meas_label: MeasurementLabel::NO_LABEL }].into()),
        match_cond_report_list: None,
    };
    Ok(Split {
        id,
        subject: Subject::Groups,
        items: format.meas_cond_list.iter().map(item).collect(),
        conditions: format.meas_cond_list.iter().map(|item| item.matching_cond.clone().into_owned()).collect(),
        widths,
        granularity_ms,
        records,
        parts: divided,
        ues: BTreeMap::new(),
    })
}

/// The parts whose values are those of a measurement.
fn measuring(parts: &KpmParts, name: &str, cell: Option<Cgi>, context: &Context<'_>) -> Result<Vec<Ranked>, Cause> {
    let mut measuring = parts.offering(name, false);
    let is_only = measuring.len() == 1;
    measuring.retain(|part| match part.1 {
        Part::Du(_) => is_only || cell.is_none() || has_cell(parts, *part, cell, context),
        Part::CuUp(_) => context.cells.is_none(),
        Part::Control => true,
    });
    let adds_up = || crate::kpm::is_sum(name) && !OF_A_CELL.contains(&name);
    match measuring.len() {
        0 => Err(UNAVAILABLE),
        1 => Ok(measuring),
        _ if adds_up() => Ok(measuring),
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
            let is_number = |value: &MeasurementRecordItem<'_>| {
                matches!(value, MeasurementRecordItem::Integer(_) | MeasurementRecordItem::Real(_))
            };
            crate::kpm::sum(&values.filter(is_number).collect::<Vec<_>>())
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

/// The UE IDs, each once.
fn distinct<'n>(ues: impl Iterator<Item = &'n Named>) -> Vec<UeId<'static>> {
    let mut seen = BTreeSet::new();
    ues.filter(|(ue, _)| seen.insert(*ue)).map(|(_, ue_id)| ue_id.clone()).collect()
}
