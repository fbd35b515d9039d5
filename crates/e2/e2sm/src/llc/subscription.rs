//! Event triggers and action definitions.

use per::{List, Per};

use super::message;
use super::{RicEventTriggerConditionId, RicEventTriggerUeId};
use crate::common::{Cgi, RicStyleType, UeId};

/// E2SM-LLC-EventTrigger.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTrigger<'a> {
    /// The formats.
    pub formats: EventTriggerFormats<'a>,
}

message!(EventTrigger, lists);

/// The formats of an event trigger.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum EventTriggerFormats<'a> {
    /// Lower layers information arrives from a UE.
    Format1(EventTriggerFormat1<'a>),
    /// Periodic.
    Format2(EventTriggerFormat2<'a>),
}

/// E2SM-LLC-EventTrigger-Format1: events, joined by "and" or "or".
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat1<'a> {
    /// The events.
    #[per(size = 1..=63)]
    pub message_list: List<'a, EventTriggerFormat1Item<'a>>,
    /// The UEs of all events; overrides those of the events.
    pub global_associated_ue_info: Option<EventTriggerUeInfo<'a>>,
}

/// E2SM-LLC-EventTrigger-Format1-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat1Item<'a> {
    /// The number of the event, which is in the header of indications.
    pub ric_event_trigger_condition_id: RicEventTriggerConditionId,
    /// What arrives.
    pub lower_layers_info_type: LowerLayersInfoType,
    /// The UEs; absent: any.
    pub associated_ue_info: Option<EventTriggerUeInfo<'a>>,
    /// How the event is joined to the next one.
    pub logical_or: Option<LogicalOr>,
}

/// E2SM-LLC-EventTrigger-Format2.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat2<'a> {
    /// The period in milliseconds.
    #[per(range = 1..=65535)]
    pub reporting_period: u32,
    /// The UEs; absent: any.
    pub associated_ue_info: Option<EventTriggerUeInfo<'a>>,
}

/// EventTrigger-UE-Info: conditions on UEs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerUeInfo<'a> {
    /// The conditions.
    #[per(size = 1..=65535)]
    pub ue_info_list: List<'a, EventTriggerUeInfoItem<'a>>,
}

/// EventTrigger-UE-Info-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerUeInfoItem<'a> {
    /// The number of the condition.
    pub event_trigger_ue_id: RicEventTriggerUeId,
    /// The UE or UEs.
    pub ue_type: UeType<'a>,
    /// How the condition is joined to the next one.
    pub logical_or: Option<LogicalOr>,
}

/// The UEs of a condition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum UeType<'a> {
    /// One UE.
    Individual(IndividualUeInfo<'a>),
    /// Several UEs.
    Group(GroupUeInfo<'a>),
}

/// EventTrigger-UE-Info-Item-Choice-Individual.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndividualUeInfo<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
}

/// EventTrigger-UE-Info-Item-Choice-Group.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct GroupUeInfo<'a> {
    /// The UEs.
    pub group_of_ues: GroupOfUes<'a>,
}

/// GroupOfUEs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct GroupOfUes<'a> {
    /// The UEs of a cell.
    pub cell_global_id: Option<Cgi>,
    /// UEs by name.
    #[per(size = 0..=65535)]
    pub ue_identifier_list: List<'a, UeIdentifierItem<'a>>,
}

/// UeIdentifier-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct UeIdentifierItem<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
}

/// LogicalOR: how a condition is joined to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum LogicalOr {
    /// By "or".
    True,
    /// By "and".
    False,
}

/// LowerLayers-Info-Type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum LowerLayersInfoType {
    /// Sounding reference signals (TS 38.211 6.4.1.4).
    Srs,
    /// Channel state information in uplink control information (TS 38.213 9).
    Csi,
}

/// LowerLayers-Meas-Type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum LowerLayersMeasType {
    /// Buffers of RLC in the downlink.
    DlRlcBufferStatus,
    /// Buffers of PDCP in the downlink.
    DlPdcpBufferStatus,
    /// HARQ feedback of the downlink.
    DlHarqStatistics,
    /// The slot, and when it starts.
    SlotTimeStamp,
}

/// E2SM-LLC-ActionDefinition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinition<'a> {
    /// The report style.
    pub ric_style_type: RicStyleType,
    /// The formats.
    pub formats: ActionDefinitionFormats<'a>,
}

message!(ActionDefinition, lists);

/// The formats of an action definition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ActionDefinitionFormats<'a> {
    /// Report style 1: a copy of lower layers information.
    Format1(ActionDefinitionFormat1),
    /// Report style 2: measurements.
    Format2(ActionDefinitionFormat2<'a>),
}

/// E2SM-LLC-ActionDefinition-Format1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat1 {
    /// What is copied.
    pub lower_layers_info_type: LowerLayersInfoType,
}

/// E2SM-LLC-ActionDefinition-Format2.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat2<'a> {
    /// The measurements.
    #[per(size = 1..=65535)]
    pub measurement_to_report_list: List<'a, MeasurementToReportItem>,
}

/// MeasurementToReport-Item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct MeasurementToReportItem {
    /// The measurement.
    pub lower_layers_meas_type: LowerLayersMeasType,
}

impl<'a> EventTrigger<'a> {
    /// A periodic trigger for all UEs.
    #[must_use]
    pub fn every(period_ms: u32) -> Self {
        let format = EventTriggerFormat2 { reporting_period: period_ms, associated_ue_info: None };
        EventTrigger { formats: EventTriggerFormats::Format2(format) }
    }

    /// A trigger for the arrival of lower layers information of any UE.
    #[must_use]
    pub fn arrival(kind: LowerLayersInfoType) -> Self {
        let item = EventTriggerFormat1Item {
            ric_event_trigger_condition_id: RicEventTriggerConditionId(1),
            lower_layers_info_type: kind,
            associated_ue_info: None,
            logical_or: None,
        };
        let format = EventTriggerFormat1 { message_list: vec![item].into(), global_associated_ue_info: None };
        EventTrigger { formats: EventTriggerFormats::Format1(format) }
    }
}

impl ActionDefinition<'static> {
    /// A report of measurements.
    #[must_use]
    pub fn measurements(kinds: &[LowerLayersMeasType]) -> Self {
        let item = |kind: &LowerLayersMeasType| MeasurementToReportItem { lower_layers_meas_type: *kind };
        let measurement_to_report_list = kinds.iter().map(item).collect();
        ActionDefinition {
            ric_style_type: RicStyleType(2),
            formats: ActionDefinitionFormats::Format2(ActionDefinitionFormat2 { measurement_to_report_list }),
        }
    }

    /// A report of copies of lower layers information.
    #[must_use]
    pub fn copies(kind: LowerLayersInfoType) -> Self {
        ActionDefinition {
            ric_style_type: RicStyleType(1),
            formats: ActionDefinitionFormats::Format1(ActionDefinitionFormat1 { lower_layers_info_type: kind }),
        }
    }
}
