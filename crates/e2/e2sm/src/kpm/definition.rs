//! The RAN function definition: what a node can measure and report (KPM 8.2.2.1).

use per::{List, Per};

use super::{BinRangeDefinition, MeasurementTypeId, MeasurementTypeName};
use crate::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};

/// E2SM-KPM-RANfunction-Description.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinition<'a> {
    /// Name, OID and description.
    pub ran_function_name: RanFunctionName<'a>,
    /// The event trigger styles.
    #[per(size = 1..=63)]
    pub ric_event_trigger_style_list: Option<List<'a, RicEventTriggerStyleItem<'a>>>,
    /// The report styles.
    #[per(size = 1..=63)]
    pub ric_report_style_list: Option<List<'a, RicReportStyleItem<'a>>>,
}

super::message!(RanFunctionDefinition, lists);

/// RIC-EventTriggerStyle-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RicEventTriggerStyleItem<'a> {
    /// The number of the style.
    pub ric_event_trigger_style_type: RicStyleType,
    /// The name of the style.
    pub ric_event_trigger_style_name: RicStyleName<'a>,
    /// The format of the event trigger definition.
    pub ric_event_trigger_format_type: RicFormatType,
}

/// RIC-ReportStyle-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RicReportStyleItem<'a> {
    /// The number of the style.
    pub ric_report_style_type: RicStyleType,
    /// The name of the style.
    pub ric_report_style_name: RicStyleName<'a>,
    /// The format of the action definition.
    pub ric_action_format_type: RicFormatType,
    /// The measurements on offer.
    #[per(size = 1..=65535)]
    pub meas_info_action_list: List<'a, MeasurementInfoActionItem<'a>>,
    /// The format of indication headers.
    pub ric_indication_header_format_type: RicFormatType,
    /// The format of indication messages.
    pub ric_indication_message_format_type: RicFormatType,
}

/// MeasurementInfo-Action-Item: a measurement on offer.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct MeasurementInfoActionItem<'a> {
    /// The name of the measurement, from TS 28.552 or vendor-specific.
    pub meas_name: MeasurementTypeName<'a>,
    /// A number that can replace the name.
    pub meas_id: Option<MeasurementTypeId>,
    /// The bins of a distribution (v02.03).
    #[per(addition, since = 1)]
    pub bin_range_def: Option<BinRangeDefinition<'a>>,
}
