//! Divides the actions of a subscription among the parts.

use std::collections::{BTreeMap, BTreeSet};

use e2sm::Arena;
use e2sm::common::{Cgi, UeId};
use e2sm::kpm::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormat2, ActionDefinitionFormat4,
    ActionDefinitionFormat5, ActionDefinitionFormats, EveryUe, LabelInfoItem, LabelInfoList, MatchingCondItem,
    MatchingUeCondPerSubItem, MatchingUeidPerSubItem, MeasurementInfoItem, MeasurementLabel, MeasurementType,
    MeasurementTypeName,
};
use ferric::e2::topology::{Part, RanDatabase, Ue, UeName, UeRef};
use ferric::e2::{Action, NodeId};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RicActionId, RicActionType};
use ids::NrCgi;
use per::{IntoOwned, List, PrintableString};

use super::super::offers::Ranked;
use super::super::ues::is_at;
use super::groups;
use super::merge::{ue_id_of_cu, value_count};
use super::offer::KpmParts;

/// The maximum number of values of a report of one UE, or of the node.
const MAX_VALUES: usize = 65_536;
/// The maximum number of UEs in a list.
const MAX_UES: usize = 4096;

pub(super) const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
pub(super) const UNAVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
const LIMIT: Cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
pub(super) const MALFORMED: Cause = Cause::Protocol(CauseProtocol::TransferSyntaxError);
const SEMANTIC_ERROR: Cause = Cause::Protocol(CauseProtocol::SemanticError);

/// What the reports of an action are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Node,
    OneUe,
    Ues,
    /// Values over the UEs that meet the conditions of a measurement.
    Groups,
    /// The same, of the values of each UE.
    GroupsOfUes,
}

/// An action, divided.
#[derive(Debug)]
pub(super) struct Split {
    pub id: RicActionId,
    pub subject: Subject,
    /// The measurements, as the controller has named them.
    pub items: Vec<MeasurementInfoItem<'static>>,
    /// The conditions of each measurement, if the values are those of groups.
    pub conditions: Vec<Conditions>,
    /// The number of values of each measurement in a record.
    pub widths: Vec<usize>,
    pub granularity_ms: u32,
    /// The number of records in a report.
    pub records: usize,
    pub parts: Vec<PartAction>,
    /// The UEs of a list, and the DU of each, if it is known.
    pub ues: BTreeMap<UeRef, Option<NodeId>>,
}

/// The conditions of a measurement.
pub(super) type Conditions = List<'static, MatchingCondItem<'static>>;

impl Split {
    pub fn part(&self, part: Ranked) -> Option<&PartAction> {
        self.parts.iter().find(|action| action.part == part)
    }
}

/// What a part is asked for.
#[derive(Debug)]
pub(super) struct PartAction {
    pub part: Ranked,
    /// The indices of its measurements in the action.
    pub columns: Vec<usize>,
    /// Their names.
    pub names: Vec<String>,
    /// The UE, if the part is asked for one.
    pub ue: Option<UeId<'static>>,
    /// Of an action with conditions, whether the part checks them: one that does not reports every UE.
    pub selects: Option<bool>,
    pub definition: Vec<u8>,
}

/// What dividing depends on.
pub(super) struct Context<'c> {
    pub ran: &'c RanDatabase,
    /// The node of the CU-CP.
    pub cu: NodeId,
    /// If other base stations have the same CU: the cells of this one.
    pub cells: Option<Vec<NrCgi>>,
    /// Whether a UE, as the CU-CP names it, is one of this base station.
    pub owns: &'c dyn Fn(&UeId<'_>) -> bool,
    /// The parts that cannot check the conditions.
    pub unable: &'c BTreeSet<Ranked>,
}

/// The UEs that an action is for.
pub(super) enum Asked<'a> {
    Node,
    List(Vec<&'a UeId<'a>>),
    Matching(&'a List<'a, MatchingUeCondPerSubItem<'a>>),
}

/// Divides an action with reports every `period_ms`.
///
/// # Errors
/// The cause with which it is refused.
pub(super) fn split(parts: &KpmParts, action: &Action, period_ms: u32, context: &Context<'_>) -> Result<Split, Cause> {
    if action.kind != RicActionType::Report {
        return Err(NOT_SUPPORTED);
    }
    let detection = parts.detection().ok_or(NOT_SUPPORTED)?;
    let octets = action.definition.as_deref().ok_or(SEMANTIC_ERROR)?;
    let arena = Arena::new();
    let definition =
        ActionDefinition::decode_in(octets, detection.revision, detection.wire, &arena).map_err(|_| MALFORMED)?;
    let (asked, format) = match &definition.formats {
        ActionDefinitionFormats::Format1(format) => (Asked::Node, format),
        ActionDefinitionFormats::Format2(format) => (Asked::List(vec![&format.ue_id]), &format.subscript_info),
        ActionDefinitionFormats::Format4(format) => {
            (Asked::Matching(&format.matching_ue_cond_list), &format.subscription_info)
        }
        ActionDefinitionFormats::Format5(format) => {
            let ues = format.matching_ueid_list.iter().map(|item| &item.ue_id).collect();
            (Asked::List(ues), &format.subscription_info)
        }
        ActionDefinitionFormats::Format3(format) => return groups::split(parts, action.id, format, period_ms, context),
    };
    let subject = match &definition.formats {
        ActionDefinitionFormats::Format1(_) => Subject::Node,
        ActionDefinitionFormats::Format2(_) => Subject::OneUe,
        _ => Subject::Ues,
    };
    divide(parts, (action.id, subject, &asked), format, period_ms, context)
}

/// Divides the measurements of an action.
///
/// # Errors
/// The cause with which it is refused.
pub(super) fn divide(
    parts: &KpmParts,
    (id, subject, asked): (RicActionId, Subject, &Asked<'_>),
    format: &ActionDefinitionFormat1<'_>,
    period_ms: u32,
    context: &Context<'_>,
) -> Result<Split, Cause> {
    let detection = parts.detection().ok_or(NOT_SUPPORTED)?;
    let granularity = format.granul_period.0;
    let widths: Vec<usize> = format.meas_info_list.iter().map(|item| value_count(&item.label_info_list)).collect();
    let records = records(period_ms, granularity, &widths)?;
    let ues = match asked {
        Asked::List(ues) if ues.len() > MAX_UES => return Err(LIMIT),
        Asked::List(ues) => ues.iter().map(|ue_id| find(ue_id, context)).collect::<Result<Vec<_>, _>>()?,
        _ => Vec::new(),
    };

    // the measurements of each part
    let mut columns: BTreeMap<Ranked, Vec<(usize, String)>> = BTreeMap::new();
    for (at, item) in format.meas_info_list.iter().enumerate() {
        let name = name_of(parts, &item.meas_type)?;
        let mut offering = parts.offering(name, subject == Subject::Node);
        if subject == Subject::Node && offering.len() > 1 {
            // its value over all of them is a sum for some measurements, and a mean for others
            offering.retain(|part| has_cell(parts, *part, format.cell_global_id, context));
        }
        if offering.is_empty() {
            return Err(UNAVAILABLE);
        }
        for part in offering {
            columns.entry(part).or_default().push((at, name.to_owned()));
        }
    }
    check_present(parts, columns.keys())?;
    if matches!(asked, Asked::Matching(_)) && columns.keys().all(|part| context.unable.contains(part)) {
        // others check the conditions
        let able = parts.with_style(4, context.unable);
        if able.is_empty() {
            return Err(NOT_SUPPORTED);
        }
        columns.extend(able.into_iter().map(|part| (part, Vec::new())));
    }
    let mut divided = Vec::new();
    for (part, columns) in columns {
        let mut own = own_format(format, &columns, part, subject, context)?;
        if own.meas_info_list.is_empty() {
            own.meas_info_list = vec![any_measurement(parts, part).ok_or(NOT_SUPPORTED)?].into();
        }
        let is_able = !context.unable.contains(&part);
        let ue_ids = match asked {
            Asked::List(_) => {
                let ue_ids: Vec<_> = ues.iter().filter_map(|ue| ue_id_at(parts, part, ue, context)).collect();
                if ue_ids.is_empty() {
                    continue;
                }
                ue_ids
            }
            _ => Vec::new(),
        };
        let ue = if let [one] = &ue_ids[..] { Some(one.clone()) } else { None };
        let (number, formats) = match (asked, ue_ids) {
            (Asked::Node, _) => (1, ActionDefinitionFormats::Format1(own)),
            (Asked::Matching(conditions), _) => {
                let every = || {
                    let test_cond_info = EveryUe::default().condition(detection.revision);
                    List::from(vec![MatchingUeCondPerSubItem { test_cond_info, logical_or: None }])
                };
                let matching_ue_cond_list = if is_able { (*conditions).clone() } else { every() };
                let format = ActionDefinitionFormat4 { matching_ue_cond_list, subscription_info: own };
                (4, ActionDefinitionFormats::Format4(format))
            }
            (Asked::List(_), mut ue_ids) if ue_ids.len() == 1 => {
                let format = ActionDefinitionFormat2 { ue_id: ue_ids.remove(0), subscript_info: own };
                (2, ActionDefinitionFormats::Format2(format))
            }
            (Asked::List(_), ue_ids) => {
                let matching_ueid_list = ue_ids.into_iter().map(|ue_id| MatchingUeidPerSubItem { ue_id }).collect();
                let format = ActionDefinitionFormat5 { matching_ueid_list, subscription_info: own };
                (5, ActionDefinitionFormats::Format5(format))
            }
        };
        let ric_style_type = parts.offer(part).and_then(|offer| offer.style(number)).ok_or(NOT_SUPPORTED)?;
        let mut octets = Vec::new();
        ActionDefinition { ric_style_type, formats }
            .encode_in(detection.revision, detection.wire, &mut octets)
            .map_err(|_| MALFORMED)?;
        let (columns, names) = columns.into_iter().unzip();
        let selects = matches!(asked, Asked::Matching(_)).then_some(is_able);
        divided.push(PartAction { part, columns, names, ue, selects, definition: octets });
    }
    if divided.is_empty() {
        return Err(UNAVAILABLE);
    }
    // as they are reported: without the conditions
    let items = format
        .meas_info_list
        .iter()
        .map(|item| MeasurementInfoItem { match_cond_report_list: None, ..item.clone().into_owned() });
    Ok(Split {
        id,
        subject,
        items: items.collect(),
        conditions: Vec::new(),
        widths,
        granularity_ms: granularity,
        records,
        parts: divided,
        ues: ues.iter().map(|ue| (ue.id(), du_of(context.ran, context.cu, ue))).collect(),
    })
}

/// The number of records in a report.
pub(super) fn records(period_ms: u32, granularity_ms: u32, widths: &[usize]) -> Result<usize, Cause> {
    if !period_ms.is_multiple_of(granularity_ms) {
        return Err(SEMANTIC_ERROR);
    }
    let records = (period_ms / granularity_ms) as usize;
    let values = widths.iter().fold(0_usize, |sum, width| sum.saturating_add(*width));
    if values.saturating_mul(records) > MAX_VALUES { Err(LIMIT) } else { Ok(records) }
}

/// The name of a measurement.
pub(super) fn name_of<'n>(parts: &'n KpmParts, measurement: &'n MeasurementType<'_>) -> Result<&'n str, Cause> {
    match measurement {
        MeasurementType::MeasName(name) => Ok(name.as_str()),
        MeasurementType::MeasId(number) => parts.name_of(number.0).ok_or(UNAVAILABLE),
    }
}

/// Refuses an action of lost parts only.
pub(super) fn check_present<'p>(parts: &KpmParts, mut asked: impl Iterator<Item = &'p Ranked>) -> Result<(), Cause> {
    if asked.any(|part| parts.node(*part).is_some()) { Ok(()) } else { Err(UNAVAILABLE) }
}

/// The measurements of a part, by their names.
fn own_format<'a>(
    format: &ActionDefinitionFormat1<'a>,
    columns: &'a [(usize, String)],
    part: Ranked,
    subject: Subject,
    context: &Context<'_>,
) -> Result<ActionDefinitionFormat1<'a>, Cause> {
    let mut own = Vec::with_capacity(columns.len());
    for (at, name) in columns {
        let name = PrintableString::try_from(name.as_str()).map_err(|_| MALFORMED)?;
        let meas_type = MeasurementType::MeasName(MeasurementTypeName(name));
        own.push(MeasurementInfoItem { meas_type, ..format.meas_info_list[*at].clone() });
    }
    let bins = format.dist_meas_bin_range_info.iter().flatten().filter_map(|bins| {
        let of_bins = columns.iter().position(|(at, _)| format.meas_info_list[*at].meas_type == bins.meas_type)?;
        let mut bins = bins.clone();
        bins.meas_type = own[of_bins].meas_type.clone();
        Some(bins)
    });
    let bins: List<'_, _> = bins.collect();
    let cell = match part.1 {
        Part::Control if subject == Subject::Node => own_cell(format.cell_global_id, context)?,
        _ => format.cell_global_id,
    };
    Ok(ActionDefinitionFormat1 {
        meas_info_list: own.into(),
        granul_period: format.granul_period,
        cell_global_id: cell,
        dist_meas_bin_range_info: (!bins.is_empty()).then_some(bins),
    })
}

/// Any measurement of UEs of a part, which is asked for its UEs only.
fn any_measurement(parts: &KpmParts, part: Ranked) -> Option<MeasurementInfoItem<'static>> {
    let name = PrintableString::try_from(parts.offer(part)?.any_of_ues()?.to_owned()).ok()?;
    Some(MeasurementInfoItem {
        meas_type: MeasurementType::MeasName(MeasurementTypeName(name)),
        label_info_list: LabelInfoList(vec![LabelInfoItem { meas_label: MeasurementLabel::NO_LABEL }].into()),
        match_cond_report_list: None,
    })
}

/// The cell that a CU-CP is asked about: one of several base stations has the cells of all.
pub(super) fn own_cell(cell: Option<Cgi>, context: &Context<'_>) -> Result<Option<Cgi>, Cause> {
    let Some(cells) = &context.cells else { return Ok(cell) };
    let only = if let [only] = cells[..] { Some(Cgi::NrCgi(only)) } else { None };
    let own = cell.or(only).filter(|cell| cells.iter().any(|own| Cgi::NrCgi(*own) == *cell));
    own.map(Some).ok_or(UNAVAILABLE)
}

/// Whether a part has a cell.
pub(super) fn has_cell(parts: &KpmParts, part: Ranked, cell: Option<Cgi>, context: &Context<'_>) -> bool {
    let (Some(Cgi::NrCgi(cell)), Some(node)) = (cell, parts.node(part)) else {
        return false;
    };
    let station = context.ran.station_of(node);
    station.is_some_and(|station| station.cells().any(|(of, known)| of == node && known == cell))
}

/// The UE of this base station that a controller names.
fn find<'c>(ue_id: &UeId<'_>, context: &Context<'c>) -> Result<&'c Ue, Cause> {
    let names = UeName::all_of(ue_id);
    let ue = names.iter().find_map(|name| context.ran.find_ue(context.cu, name)).ok_or(UNAVAILABLE)?;
    let of_cu = ue_id_of_cu(context.ran, context.cu, ue).ok_or(UNAVAILABLE)?;
    if (context.owns)(&of_cu) { Ok(ue) } else { Err(UNAVAILABLE) }
}

/// The UE ID of a UE at a part; `None` if it is not there, or the part's name of it is unknown.
fn ue_id_at(parts: &KpmParts, part: Ranked, ue: &Ue, context: &Context<'_>) -> Option<UeId<'static>> {
    let node = parts.node(part)?;
    let of_kind = parts.count_of_kind(part);
    let is_there = || match (part.1, du_of(context.ran, context.cu, ue)) {
        (Part::Du(_), Some(du)) => du == node,
        _ => is_at(ue, node, context.cu),
    };
    if of_kind > 1 && !is_there() {
        return None;
    }
    context.ran.ue_id_for(node, ue)
}

/// The DU with the cell of a UE, as its CU-CP has reported that; `None` if it is not known.
pub(super) fn du_of(ran: &RanDatabase, cu: NodeId, ue: &Ue) -> Option<NodeId> {
    let of_name = |name: &UeName| if let UeName::Rnti { cell, .. } = name { *cell } else { None };
    // a UE has one C-RNTI at a time, that of its cell
    let of_cu = ue.views().iter().filter(|view| view.node == cu).flat_map(|view| &view.names).find_map(of_name);
    let cell = of_cu.or(ue.context().cell)?;
    let station = ran.station_of(cu)?;
    let is_du = |node: NodeId| station.global_id_of(node).is_some_and(|id| matches!(Part::of(&id), Part::Du(_)));
    let mut cells = station.cells();
    cells.find(|(of, known)| known.nr_cell_identity.value == cell && is_du(*of)).map(|(of, _)| of)
}
