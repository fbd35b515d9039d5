//! KPM v02.00: reports on the cell (style 1), which actions and reports name.

use std::time::SystemTime;

use e2sm::common::{Cgi, GlobalGnbId, GnbId, PlmnIdentity, RicStyleName};
use e2sm::kpm::v2_00::{
    ActionDefinition, ActionDefinitionFormats, CellMeasurementObjectItem, CellObjectId, GlobalKpmNodeGnbId,
    GlobalKpmNodeId, IndicationHeader, IndicationHeaderFormat1, IndicationHeaderFormats, IndicationMessage,
    IndicationMessageFormat1, IndicationMessageFormats, KpmNodeItem, MeasurementInfoActionItem, MeasurementInfoItem,
    Number, RanFunctionDefinition, RanFunctionName, RicEventTriggerStyleItem, RicReportStyleItem, SubscriptionId,
};
use e2sm::kpm::{self, GranularityPeriod, MeasurementDataItem, MeasurementTypeId, MeasurementTypeName, Revision};
use ferric::e2ap::Cause;
use per::{Bits, IntoOwned, List, PrintableString};

use super::{KpmConfig, KpmSource, ReportStyle};
use crate::cause::{ACTION_NOT_SUPPORTED, INFORMATION_UNAVAILABLE, undecodable};

/// The bits of a gNB-ID that is made of an NR cell identity: the fewest that one has.
const GNB_ID_BITS: u8 = 22;
const NR_CELL_BITS: u8 = 36;

/// What reports of an action repeat.
pub(super) struct CellObject {
    subscript_id: SubscriptionId,
    measurements: List<'static, MeasurementInfoItem<'static>>,
}

/// The RAN function definition: the cell, and the measurements of cells.
pub(super) fn definition<S: KpmSource>(source: &S) -> Result<Vec<u8>, per::Error> {
    let cell = source.cell();
    let object = CellMeasurementObjectItem { cell_object_id: name(cell)?, cell_global_id: cell };
    let node = KpmNodeItem {
        ric_kpm_node_type: GlobalKpmNodeId::Gnb(GlobalKpmNodeGnbId {
            global_gnb_id: gnb(cell),
            gnb_cu_up_id: None,
            gnb_du_id: None,
        }),
        cell_measurement_object_list: Some(List::from(vec![object])),
    };
    let trigger = RicEventTriggerStyleItem {
        ric_event_trigger_style_type: Number(1),
        ric_event_trigger_style_name: RicStyleName(PrintableString::literal("Periodic report")),
        ric_event_trigger_format_type: Number(1),
    };
    let measurements = source.measurements().iter().filter(|measurement| ReportStyle::Node.supports(measurement.scope));
    let item = |measurement: &super::SupportedMeasurement| {
        Ok(MeasurementInfoActionItem {
            meas_name: MeasurementTypeName(PrintableString::try_from(measurement.name.clone().into_owned())?),
            meas_id: measurement.id.map(MeasurementTypeId),
        })
    };
    let style = RicReportStyleItem {
        ric_report_style_type: Number(1),
        ric_report_style_name: RicStyleName(PrintableString::literal("E2 Node Measurement")),
        ric_action_format_type: Number(1),
        meas_info_action_list: measurements.map(item).collect::<Result<_, per::Error>>()?,
        ric_indication_header_format_type: Number(1),
        ric_indication_message_format_type: Number(1),
    };
    let mut bytes = Vec::new();
    let definition = RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: PrintableString::literal("ORAN-E2SM-KPM"),
            e2sm_oid: PrintableString::literal(Revision::V2_00.oid()),
            description: PrintableString::literal("KPM Monitor"),
            instance: None,
        },
        ric_kpm_node_list: Some(List::from(vec![node])),
        ric_event_trigger_style_list: Some(List::from(vec![trigger])),
        ric_report_style_list: Some(List::from(vec![style])),
    };
    definition.encode(&mut bytes)?;
    Ok(bytes)
}

/// The name of a cell: its identity in hexadecimal digits.
fn name(cell: Cgi) -> Result<CellObjectId<'static>, per::Error> {
    let identity = match cell {
        Cgi::NrCgi(cell) => cell.nr_cell_identity.value,
        Cgi::EutraCgi(cell) => cell.eutra_cell_identity.value,
    };
    PrintableString::try_from(format!("{identity:x}")).map(CellObjectId)
}

/// The gNB of a cell, as far as the cell's identity contains it.
fn gnb(cell: Cgi) -> GlobalGnbId {
    let (plmn_identity, value): (PlmnIdentity, u64) = match cell {
        Cgi::NrCgi(cell) => (cell.plmn_identity, cell.nr_cell_identity.value >> (NR_CELL_BITS - GNB_ID_BITS)),
        Cgi::EutraCgi(cell) => (cell.plmn_identity, cell.eutra_cell_identity.value >> 8),
    };
    GlobalGnbId { plmn_identity, gnb_id: GnbId::GnbId(Bits::new(value, GNB_ID_BITS)) }
}

/// Decodes an action: its measurements in the types of later revisions, and what its reports repeat.
pub(super) fn action<S: KpmSource>(
    source: &S,
    bytes: &[u8],
) -> Result<(kpm::ActionDefinition<'static>, CellObject), Cause> {
    let action = ActionDefinition::decode_owned(bytes).map_err(undecodable("action definition"))?;
    let (ActionDefinitionFormats::Format1(format1), Some(current)) = (&action.formats, action.to_current()) else {
        return Err(ACTION_NOT_SUPPORTED);
    };
    let own = name(source.cell()).map_err(|_| INFORMATION_UNAVAILABLE)?;
    if !format1.cell_obj_id.0.is_empty() && format1.cell_obj_id != own {
        return Err(INFORMATION_UNAVAILABLE);
    }
    let measurements = format1.meas_info_list.clone().into_owned();
    Ok((current, CellObject { subscript_id: format1.subscript_id, measurements }))
}

/// Encodes a report.
pub(super) fn write(
    config: &KpmConfig,
    stated: SystemTime,
    cell: Cgi,
    object: &CellObject,
    granularity_ms: u32,
    data: &[MeasurementDataItem<'_>],
    (header, message): (&mut Vec<u8>, &mut Vec<u8>),
) -> Result<(), per::Error> {
    let format1 = IndicationHeaderFormat1 {
        collet_start_time: config.timestamp_format.short(stated),
        file_format_version: None,
        sender_name: None,
        sender_type: None,
        vendor_name: None,
        kpm_node_id: None,
    };
    IndicationHeader { formats: IndicationHeaderFormats::Format1(format1) }.encode(header)?;
    let format1 = IndicationMessageFormat1 {
        subscript_id: object.subscript_id,
        cell_obj_id: Some(name(cell)?),
        granul_period: Some(GranularityPeriod(granularity_ms)),
        meas_info_list: Some(List::Borrowed(&object.measurements[..])),
        meas_data: List::Borrowed(data),
    };
    IndicationMessage { formats: IndicationMessageFormats::Format1(format1) }.encode(message)
}
