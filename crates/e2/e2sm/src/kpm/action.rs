//! Event triggers, when a node reports (KPM 8.2.1.1), and action definitions, what it reports (KPM 8.2.1.2).

use per::{List, Per};

use super::{
    BinRangeDefinition, DistMeasurementBinRangeItem, GranularityPeriod, LogicalOr, MatchingCondItem,
    MeasurementInfoItem, MeasurementType, TestCondInfo,
};
use crate::common::{Cgi, RicStyleType, UeId};

/// E2SM-KPM-EventTriggerDefinition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct EventTriggerDefinition {
    /// The trigger in its format.
    pub formats: EventTriggerDefinitionFormats,
}

super::message!(EventTriggerDefinition, no borrow);

impl EventTriggerDefinition {
    /// Returns the trigger of a report every `reporting_period_ms` milliseconds, at least 1.
    #[must_use]
    pub const fn every(reporting_period_ms: u32) -> Self {
        EventTriggerDefinition {
            formats: EventTriggerDefinitionFormats::Format1(EventTriggerDefinitionFormat1 {
                reporting_period: reporting_period_ms,
            }),
        }
    }
}

/// The formats of an event trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum EventTriggerDefinitionFormats {
    /// Periodic reports.
    Format1(EventTriggerDefinitionFormat1),
}

/// E2SM-KPM-EventTriggerDefinition-Format1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct EventTriggerDefinitionFormat1 {
    /// The reporting period in milliseconds, at least 1.
    #[per(range = 1..=4_294_967_295)]
    pub reporting_period: u32,
}

/// E2SM-KPM-ActionDefinition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinition<'a> {
    /// The report style, of those that the RAN function definition offers.
    pub ric_style_type: RicStyleType,
    /// The definition in the style's format.
    pub formats: ActionDefinitionFormats<'a>,
}

super::message!(ActionDefinition, lists);

/// The formats of an action definition.
// a message contains one value, and an arena does not free boxes
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ActionDefinitionFormats<'a> {
    /// Of the node or a cell.
    Format1(ActionDefinitionFormat1<'a>),
    /// Of one UE.
    Format2(ActionDefinitionFormat2<'a>),
    /// Of the UEs that meet the conditions of each measurement.
    Format3(ActionDefinitionFormat3<'a>),
    /// Of each UE that meets the conditions.
    #[per(addition)]
    Format4(ActionDefinitionFormat4<'a>),
    /// Of each UE in a list.
    #[per(addition)]
    Format5(ActionDefinitionFormat5<'a>),
}

/// E2SM-KPM-ActionDefinition-Format1: measurements of the node or a cell.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat1<'a> {
    /// The measurements.
    #[per(size = 1..=65535)]
    pub meas_info_list: List<'a, MeasurementInfoItem<'a>>,
    /// The period of a record.
    pub granul_period: GranularityPeriod,
    /// The cell; if absent, the node as a whole.
    pub cell_global_id: Option<Cgi>,
    /// The bins of distributions (v02.03).
    #[per(addition, since = 1, size = 1..=65535)]
    pub dist_meas_bin_range_info: Option<List<'a, DistMeasurementBinRangeItem<'a>>>,
}

/// E2SM-KPM-ActionDefinition-Format2: measurements of one UE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat2<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
    /// The measurements.
    pub subscript_info: ActionDefinitionFormat1<'a>,
}

/// E2SM-KPM-ActionDefinition-Format3: measurements, each over the UEs that meet its conditions.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat3<'a> {
    /// The measurements.
    #[per(size = 1..=65535)]
    pub meas_cond_list: List<'a, MeasurementCondItem<'a>>,
    /// The period of a record.
    pub granul_period: GranularityPeriod,
    /// The cell; if absent, the node as a whole.
    pub cell_global_id: Option<Cgi>,
}

/// MeasurementCondItem: a measurement over the UEs that meet conditions.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct MeasurementCondItem<'a> {
    /// The measurement.
    pub meas_type: MeasurementType<'a>,
    /// The conditions.
    #[per(size = 1..=32768)]
    pub matching_cond: List<'a, MatchingCondItem<'a>>,
    /// The bins of a distribution (v02.03).
    #[per(addition, since = 1)]
    pub bin_range_def: Option<BinRangeDefinition<'a>>,
}

/// E2SM-KPM-ActionDefinition-Format4: measurements of each UE that meets common conditions.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat4<'a> {
    /// The conditions.
    #[per(size = 1..=32768)]
    pub matching_ue_cond_list: List<'a, MatchingUeCondPerSubItem<'a>>,
    /// The measurements.
    pub subscription_info: ActionDefinitionFormat1<'a>,
}

/// MatchingUeCondPerSubItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct MatchingUeCondPerSubItem<'a> {
    /// The condition.
    pub test_cond_info: TestCondInfo<'a>,
    /// The condition is joined to the next one by OR instead of AND (v02.03).
    #[per(addition, since = 1)]
    pub logical_or: Option<LogicalOr>,
}

/// E2SM-KPM-ActionDefinition-Format5: measurements of several UEs, two or more.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat5<'a> {
    /// The UEs.
    #[per(size = 2..=65535)]
    pub matching_ueid_list: List<'a, MatchingUeidPerSubItem<'a>>,
    /// The measurements.
    pub subscription_info: ActionDefinitionFormat1<'a>,
}

/// MatchingUEidPerSubItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct MatchingUeidPerSubItem<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
}
