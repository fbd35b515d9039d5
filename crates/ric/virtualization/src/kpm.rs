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
//! The cells of actions and of labels (v04.00) have the PLMN of the tenant, as in [`cells`](crate::cells).

use std::sync::Arc;

use e2sm::common::{RicStyleType, UeId};
use e2sm::kpm::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormats, Detection, IndicationMessage,
    IndicationMessageFormat1, IndicationMessageFormats, MeasurementDataItem, MeasurementInfoItem,
    RanFunctionDefinition, Revision,
};
use e2sm::{Arena, Error};
use ferric::e2::SubscriptionSpec;
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RicActionId};
use per::{IntoOwned, List};

use crate::cells::{CellPlmn, each};
use crate::node::NodeState;
use crate::reports::Content;
use labels::{Combination, Labels};
pub(crate) use labels::{is_sum, sum};

mod labels;

/// The report style with values that are sums over UEs.
const CONDITION_STYLE: RicStyleType = RicStyleType(3);

/// Whether functions of a revision are offered.
pub(crate) fn is_supported(detection: &Detection) -> bool {
    !matches!(detection.revision, Revision::V1_00 | Revision::V2_00)
}

/// Returns the definition of the function that a tenant has: without style 3.
///
/// # Errors
/// If the definition cannot be decoded.
pub(crate) fn offered_definition(detection: &Detection, definition: &[u8]) -> Result<Vec<u8>, Error> {
    let arena = Arena::new();
    let Detection { revision, wire, .. } = *detection;
    let mut offered = RanFunctionDefinition::decode_in(definition, revision, wire, &arena)?;
    if let Some(styles) = offered.ric_report_style_list {
        let styles = styles.iter().filter(|style| style.ric_report_style_type != CONDITION_STYLE).cloned();
        offered.ric_report_style_list = Some(styles.collect::<List<'_, _>>()).filter(|styles| !styles.is_empty());
    }
    let mut out = Vec::new();
    offered.encode_in(revision, wire, &mut out)?;
    Ok(out)
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
        let Detection { revision, wire, .. } = *detection;
        let plmn = CellPlmn::to_station(node, tenant);
        let (mut asked, mut with_cells) = (Vec::new(), Vec::new());
        for action in &mut spec.actions {
            let octets = action.definition.take().ok_or(NOT_SUPPORTED)?;
            let arena = Arena::new();
            let mut definition = ActionDefinition::decode_in(&octets, revision, wire, &arena)
                .map_err(|_| Cause::Protocol(CauseProtocol::TransferSyntaxError))?;
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
