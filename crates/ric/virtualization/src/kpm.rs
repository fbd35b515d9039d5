//! KPM of a tenant: measurements of its network and of its UEs.
//!
//! | report style | what a tenant receives |
//! |---|---|
//! | 1, node measurements | those with the label of its PLMN; of its S-NSSAI, if it has one |
//! | 2, one UE; 5, several UEs | measurements of its own UEs; a request that names another UE is refused |
//! | 4, UEs with a condition | the reports of its own UEs |
//!
//! So cell aggregates are those that the base station itself counts for the tenant. Style 3 is not offered: its values are sums over
//! the UEs of all tenants. Revisions are v02.01 to v04.00.

use std::sync::Arc;

use e2sm::common::{RicStyleType, UeId};
use e2sm::kpm::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormats, Detection, IndicationMessage,
    IndicationMessageFormats, LabelInfoItem, LabelInfoList, MeasurementInfoItem, MeasurementLabel,
    RanFunctionDefinition, Revision,
};
use e2sm::{Arena, Error};
use ferric::e2::SubscriptionSpec;
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RicActionId};
use per::{IntoOwned, List};

use crate::node::NodeState;
use crate::reports::Content;
use crate::sla::Tenant;

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

/// How the reports of a subscription differ from those that the tenant has asked for.
#[derive(Debug)]
pub(crate) struct KpmView {
    /// The measurements of actions of style 1, as the tenant has labelled them.
    measurements: Vec<(RicActionId, List<'static, MeasurementInfoItem<'static>>)>,
}

impl KpmView {
    /// Returns the subscription that is sent to the base station for a tenant.
    ///
    /// # Errors
    /// The cause with which the tenant's subscription is refused.
    pub fn translate(
        detection: &Detection,
        mut spec: SubscriptionSpec,
        tenant: usize,
        node: &NodeState,
    ) -> Result<(Arc<Self>, SubscriptionSpec), Cause> {
        const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
        const UNAVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
        let Detection { revision, wire, .. } = *detection;
        let mut measurements = Vec::new();
        for action in &mut spec.actions {
            let octets = action.definition.take().ok_or(NOT_SUPPORTED)?;
            let arena = Arena::new();
            let mut definition = ActionDefinition::decode_in(&octets, revision, wire, &arena)
                .map_err(|_| Cause::Protocol(CauseProtocol::TransferSyntaxError))?;
            let has = |id: &UeId<'_>| node.ues.has(tenant, id);
            match &mut definition.formats {
                ActionDefinitionFormats::Format1(format) => {
                    let original = format.meas_info_list.clone().into_owned();
                    add_labels(format, &node.sla.tenants[tenant]).ok_or(UNAVAILABLE)?;
                    measurements.push((action.id, original));
                }
                ActionDefinitionFormats::Format2(format) if !has(&format.ue_id) => return Err(UNAVAILABLE),
                ActionDefinitionFormats::Format5(format)
                    if !format.matching_ueid_list.iter().all(|item| has(&item.ue_id)) =>
                {
                    return Err(UNAVAILABLE);
                }
                ActionDefinitionFormats::Format3(_) => return Err(NOT_SUPPORTED),
                _ => {}
            }
            let mut out = Vec::new();
            definition
                .encode_in(revision, wire, &mut out)
                .map_err(|_| Cause::Protocol(CauseProtocol::TransferSyntaxError))?;
            action.definition = Some(out);
        }
        Ok((Arc::new(KpmView { measurements }), spec))
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
        match &mut report.formats {
            IndicationMessageFormats::Format1(format) => {
                let Some((_, original)) = self.measurements.iter().find(|(id, _)| *id == action) else {
                    return Ok(Content::Unchanged);
                };
                let Some(reported) = &format.meas_info_list else { return Ok(Content::Unchanged) };
                if reported.len() != original.len() {
                    // a base station that reports less than it admitted
                    return Ok(Content::Nothing);
                }
                format.meas_info_list = Some(original.clone().into());
            }
            IndicationMessageFormats::Format3(format) => {
                let all = format.ue_meas_report_list.len();
                let own = format.ue_meas_report_list.iter().filter(|report| node.ues.has(tenant, &report.ue_id));
                let own: List<'_, _> = own.cloned().collect();
                match own.len() {
                    0 => return Ok(Content::Nothing),
                    own if own == all => return Ok(Content::Unchanged),
                    _ => format.ue_meas_report_list = own,
                }
            }
            IndicationMessageFormats::Format2(_) => return Ok(Content::Nothing),
        }
        report.encode_in(revision, wire, out)?;
        Ok(Content::Written)
    }
}

/// Adds the tenant's label to each measurement; `None` if a measurement has the label of another network.
fn add_labels(format: &mut ActionDefinitionFormat1<'_>, tenant: &Tenant) -> Option<()> {
    let labelled = |item: &LabelInfoItem| {
        let mut label = item.meas_label;
        if label.no_label.take().is_some() {
            label = MeasurementLabel { no_label: None, ..label };
        }
        match tenant.s_nssais[..] {
            [] => {
                if label.plmn_id.is_some_and(|plmn| plmn != tenant.plmn) {
                    return None;
                }
                label.plmn_id = Some(tenant.plmn);
            }
            [slice] => {
                if label.slice_id.is_some_and(|asked| asked != slice) {
                    return None;
                }
                label.slice_id = Some(slice);
            }
            // the sum of several is not a measurement of the base station
            _ => {
                label.slice_id.filter(|asked| tenant.s_nssais.contains(asked))?;
            }
        }
        Some(LabelInfoItem { meas_label: label })
    };
    let items = format.meas_info_list.iter().map(|item| {
        let labels = item.label_info_list.iter().map(labelled).collect::<Option<Vec<_>>>()?;
        Some(MeasurementInfoItem { label_info_list: LabelInfoList(labels.into()), ..item.clone() })
    });
    format.meas_info_list = items.collect::<Option<Vec<_>>>()?.into();
    Some(())
}
