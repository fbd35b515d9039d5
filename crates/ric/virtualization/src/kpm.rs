//! KPM of a tenant: measurements of its network and of its UEs.
//!
//! | report style | what a tenant receives |
//! |---|---|
//! | 1, node measurements | those of its PLMN, or of its S-NSSAIs in its PLMN, as labels select them |
//! | 2, one UE; 5, several UEs | measurements of its own UEs; a request that names another UE is refused |
//! | 4, UEs with a condition | the reports of its own UEs |
//!
//! So cell aggregates are those that the base station itself counts for the tenant, by the S-NSSAI of the traffic. Those of a tenant
//! with several S-NSSAIs are sums of several labels, and those of a tenant with the rest of a PLMN are what the S-NSSAIs of others leave
//! of it; only measurements that are sums over UEs are, see `labels`. Style 3 is not offered: its values are sums over the UEs of all
//! tenants. Revisions are v02.01 to v04.00, whose RAN function definitions name no cells.
//!
//! The cells of actions and of labels (v04.00) have the PLMN of the tenant, as in `cells`.

use std::collections::HashSet;
use std::sync::Arc;

use e2sm::common::{RicStyleType, UeId};
use e2sm::kpm::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormats, Detection, IndicationMessage,
    IndicationMessageFormat1, IndicationMessageFormats, MeasurementDataItem, MeasurementInfoActionItem,
    MeasurementInfoItem, RanFunctionDefinition, Revision, RicReportStyleItem,
};
use e2sm::{Arena, Error, Wire};
use ferric::e2::SubscriptionSpec;
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RicActionId};
use per::{IntoOwned, List};

use crate::cells::{CellPlmn, each};
use crate::node::NodeState;
use crate::reports::Content;
use labels::{Combination, Labels};
pub(crate) use labels::{is_sum, sum};

mod labels;

/// The report style with measurements of the node.
const NODE_STYLE: RicStyleType = RicStyleType(1);
/// The report style with values that are sums over UEs.
const CONDITION_STYLE: RicStyleType = RicStyleType(3);

/// Whether functions of a revision are offered.
pub(crate) fn is_supported(revision: Revision) -> bool {
    !matches!(revision, Revision::V1_00 | Revision::V2_00)
}

/// Measurements of the cell, as TS 28.552 defines them, that are not those of a network: establishments and handovers, random access,
/// energy, and what the carrier has. Names that end with a period are groups.
const OF_CELL: [&str; 9] =
    ["HO.", "MM.", "PEE.", "RACH.", "RRC.", "RRU.PrbAvailDl", "RRU.PrbAvailUl", "RRU.PrbTotDlDist", "RRU.PrbTotUlDist"];

/// Whether a measurement is of the cell as a whole.
fn is_of_cell(name: &str) -> bool {
    OF_CELL.iter().any(|of_cell| *of_cell == name || of_cell.ends_with('.') && name.starts_with(of_cell))
}

/// Returns the definition of the function that a tenant has: without style 3, and in style 1 without measurements of the cell as a whole.
/// The definition does not say which measurements are counted by PLMN. A base station refuses a subscription with one that is not, so
/// those are left out that are unlikely to be: see `OF_CELL`. What is measured by UE stays, and so does a name that is unknown here.
///
/// # Errors
/// If the definition cannot be decoded.
pub(crate) fn offered_definition(detection: &Detection, definition: &[u8]) -> Result<Vec<u8>, Error> {
    let arena = Arena::new();
    let Detection { revision, wire, .. } = *detection;
    let mut offered = RanFunctionDefinition::decode_in(definition, revision, wire, &arena)?;
    if let Some(styles) = offered.ric_report_style_list {
        let is_of_node = |style: &RicReportStyleItem<'_>| style.ric_report_style_type == NODE_STYLE;
        let of_ues =
            styles.iter().filter(|style| !is_of_node(style)).flat_map(|style| style.meas_info_action_list.iter());
        let of_ues: HashSet<&str> = of_ues.map(|item| item.meas_name.as_str()).collect();
        let is_offered = |item: &&MeasurementInfoActionItem<'_>| {
            let name = item.meas_name.as_str();
            of_ues.contains(name) || !is_of_cell(name)
        };
        let own = styles.iter().filter(|style| style.ric_report_style_type != CONDITION_STYLE).cloned();
        let own = own.map(|mut style| {
            if is_of_node(&style) {
                style.meas_info_action_list = style.meas_info_action_list.iter().filter(is_offered).cloned().collect();
            }
            style
        });
        let own: List<'_, _> = own.filter(|style| !style.meas_info_action_list.is_empty()).collect();
        offered.ric_report_style_list = Some(own).filter(|styles| !styles.is_empty());
    }
    let mut out = Vec::new();
    offered.encode_in(revision, wire, &mut out)?;
    Ok(out)
}

/// Decodes an action definition of a tenant. Returns its revision too.
///
/// v02.01, v02.03 and v03.00 share an object identifier, and the definition of a function seldom tells which one it is: so the tenant may
/// have been told what the RIC of the base station was not. An action definition is of the first possible revision that encodes to the same
/// octets, beginning with the detected one, else of the first one that can decode it. The base station receives it in the same revision.
fn decode_action<'a>(
    detection: &Detection,
    octets: &'a [u8],
    arena: &'a Arena,
) -> Option<(ActionDefinition<'a>, Revision)> {
    let (detected, wire) = (detection.revision, detection.wire);
    let others = detection.candidates().rev().filter(|revision| *revision != detected && is_supported(*revision));
    let mut first = None;
    for revision in std::iter::once(detected).chain(others) {
        let Ok(definition) = ActionDefinition::decode_in(octets, revision, wire, arena) else { continue };
        let mut again = Vec::new();
        // FlatBuffers have many forms, but one for all revisions
        let is_same = wire == Wire::Flat || definition.encode_in(revision, wire, &mut again).is_ok() && again == octets;
        if is_same {
            return Some((definition, revision));
        }
        first.get_or_insert((definition, revision));
    }
    first
}

/// What a tenant has asked for in an action.
#[derive(Debug)]
enum Asked {
    /// Measurements of the node.
    Node(NodeMeasurements),
    /// Measurements of a UE.
    Ue(UeId<'static>),
}

/// The measurements of the node that a tenant has asked for.
#[derive(Debug)]
struct NodeMeasurements {
    /// As the tenant has labelled them.
    original: List<'static, MeasurementInfoItem<'static>>,
    /// As they were sent to the base station.
    sent: List<'static, MeasurementInfoItem<'static>>,
    /// Of which labels each value is made.
    combinations: Vec<Combination>,
}

/// How the reports of a subscription differ from those that the tenant has asked for.
#[derive(Debug)]
pub(crate) struct KpmView {
    /// By action, those of styles 1 and 2.
    asked: Vec<(RicActionId, Asked)>,
    /// The actions on UEs whose labels name cells: so may those of the reports.
    with_cells: Vec<RicActionId>,
}

/// Changes the cells of labels. Returns whether something has changed.
fn label_cells(plmn: CellPlmn, measurements: &mut List<'_, MeasurementInfoItem<'_>>) -> bool {
    each(measurements, |measurement| {
        each(&mut measurement.label_info_list.0, |label| plmn.optional(&mut label.meas_label.cell_global_id))
    })
}

/// Changes the cells of labels in the report of a UE. Returns whether something has changed.
fn report_cells(plmn: CellPlmn, report: &mut IndicationMessageFormat1<'_>) -> bool {
    let Some(of_report) = &mut report.meas_info_list else { return false };
    let mut measurements: List<'_, _> = of_report.to_vec().into();
    let is_changed = label_cells(plmn, &mut measurements);
    if is_changed {
        *of_report = measurements.into();
    }
    is_changed
}

impl KpmView {
    /// Returns the subscription that is sent to the base station for a tenant. `offered` is the definition of its function.
    ///
    /// # Errors
    /// The cause with which the tenant's subscription is refused.
    pub fn translate(
        detection: &Detection,
        offered: &[u8],
        mut spec: SubscriptionSpec,
        tenant: usize,
        node: &NodeState,
    ) -> Result<(Arc<Self>, SubscriptionSpec), Cause> {
        const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
        const UNAVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
        let wire = detection.wire;
        let plmn = CellPlmn::to_station(node, tenant);
        let (mut asked, mut with_cells) = (Vec::new(), Vec::new());
        for action in &mut spec.actions {
            let octets = action.definition.take().ok_or(NOT_SUPPORTED)?;
            let arena = Arena::new();
            let (mut definition, revision) =
                decode_action(detection, &octets, &arena).ok_or(Cause::Protocol(CauseProtocol::TransferSyntaxError))?;
            let has = |id: &UeId<'_>| node.ues.has(tenant, id);
            let mut of_ues = |format: &mut ActionDefinitionFormat1<'_>| {
                plmn.optional(&mut format.cell_global_id);
                if label_cells(plmn, &mut format.meas_info_list) {
                    with_cells.push(action.id);
                }
            };
            match &mut definition.formats {
                ActionDefinitionFormats::Format1(format) => {
                    let original = format.meas_info_list.clone().into_owned();
                    let labels = Labels::of(&node.sla, tenant, (detection, offered));
                    plmn.optional(&mut format.cell_global_id);
                    let mut of_station: List<'_, _> = original.clone();
                    label_cells(plmn, &mut of_station);
                    let (measurements, combinations) = labels.translate(&of_station)?;
                    format.meas_info_list = measurements.clone();
                    let measurements = NodeMeasurements { original, sent: measurements, combinations };
                    asked.push((action.id, Asked::Node(measurements)));
                }
                ActionDefinitionFormats::Format2(format) => {
                    if !has(&format.ue_id) {
                        return Err(UNAVAILABLE);
                    }
                    asked.push((action.id, Asked::Ue(format.ue_id.clone().into_owned())));
                    of_ues(&mut format.subscript_info);
                }
                ActionDefinitionFormats::Format4(format) => of_ues(&mut format.subscription_info),
                ActionDefinitionFormats::Format5(format) => {
                    if !format.matching_ueid_list.iter().all(|item| has(&item.ue_id)) {
                        return Err(UNAVAILABLE);
                    }
                    of_ues(&mut format.subscription_info);
                }
                ActionDefinitionFormats::Format3(_) => return Err(NOT_SUPPORTED),
            }
            let mut out = Vec::new();
            definition
                .encode_in(revision, wire, &mut out)
                .map_err(|_| Cause::Protocol(CauseProtocol::TransferSyntaxError))?;
            action.definition = Some(out);
        }
        Ok((Arc::new(KpmView { asked, with_cells }), spec))
    }

    /// Writes what a tenant receives of a report of an action.
    ///
    /// # Errors
    /// If the message cannot be encoded.
    pub fn partition(
        &self,
        detection: &Detection,
        node: &NodeState,
        tenant: usize,
        action: RicActionId,
        report: &IndicationMessage<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Content, Error> {
        let Detection { revision, wire, .. } = *detection;
        let mut report = report.clone();
        // only labels name cells
        let cells = self.with_cells.contains(&action).then(|| CellPlmn::to_tenant(node, tenant));
        match &mut report.formats {
            IndicationMessageFormats::Format1(format) => {
                match self.asked.iter().find(|(id, _)| *id == action).map(|(_, asked)| asked) {
                    Some(Asked::Node(asked)) => match of_node(format, asked) {
                        Content::Written => {}
                        content => return Ok(content),
                    },
                    // its UE ID may be that of another UE by now
                    Some(Asked::Ue(ue_id)) if node.ues.has(tenant, ue_id) => {
                        if !cells.is_some_and(|plmn| report_cells(plmn, format)) {
                            return Ok(Content::Unchanged);
                        }
                    }
                    _ => return Ok(Content::Nothing),
                }
            }
            IndicationMessageFormats::Format3(format) => {
                let all = format.ue_meas_report_list.len();
                let own = format.ue_meas_report_list.iter().filter(|report| node.ues.has(tenant, &report.ue_id));
                let mut own: List<'_, _> = own.cloned().collect();
                let has_changed =
                    cells.is_some_and(|plmn| each(&mut own, |of| report_cells(plmn, &mut of.meas_report)));
                match own.len() {
                    0 => return Ok(Content::Nothing),
                    own if own == all && !has_changed => return Ok(Content::Unchanged),
                    _ => format.ue_meas_report_list = own,
                }
            }
            IndicationMessageFormats::Format2(_) => return Ok(Content::Nothing),
        }
        report.encode_in(revision, wire, out)?;
        Ok(Content::Written)
    }
}

/// Turns measurements with the labels that were sent to the base station into those that the tenant has asked for. Values belong to
/// measurements by their positions: nothing is passed on of a list with others, or with another order.
fn of_node(format: &mut IndicationMessageFormat1<'_>, asked: &NodeMeasurements) -> Content {
    let NodeMeasurements { original, sent, combinations } = asked;
    if let Some(reported) = &mut format.meas_info_list {
        let is_sent = |(reported, sent): (&MeasurementInfoItem<'_>, &MeasurementInfoItem<'_>)| {
            reported.meas_type == sent.meas_type && reported.label_info_list == sent.label_info_list
        };
        if reported.len() != sent.len() || !reported.iter().zip(sent.iter()).all(is_sent) {
            return Content::Nothing;
        }
        *reported = original.clone().into();
    }
    let sent: usize = combinations.iter().map(Combination::labels).sum();
    if combinations.iter().all(|combination| *combination == Combination::One) {
        return if format.meas_info_list.is_some() { Content::Written } else { Content::Unchanged };
    }
    if format.meas_data.iter().any(|record| record.meas_record.len() != sent) {
        return Content::Nothing;
    }
    let combined = format.meas_data.iter().map(|record| {
        let mut values = &record.meas_record[..];
        let combined = combinations.iter().map(|combination| {
            let (own, rest) = values.split_at(combination.labels());
            values = rest;
            combination.value(own)
        });
        MeasurementDataItem { meas_record: combined.collect(), incomplete_flag: record.incomplete_flag }
    });
    format.meas_data = combined.collect();
    Content::Written
}

#[cfg(test)]
mod tests;
