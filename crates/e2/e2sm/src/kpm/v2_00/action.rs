//! Action definitions.

use per::{List, Per};

use super::{CellObjectId, Number, SubscriptionId, UeIdentity};
use crate::common::{FiveQi, PlmnIdentity, QosFlowIdentifier, SNssai, True};
use crate::kpm::{GranularityPeriod, MeasurementType, StartEndInd, TestCondInfo};
use crate::message::message_of_one_format as message;

/// E2SM-KPM-ActionDefinition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinition<'a> {
    /// The report style, of those that the RAN function definition offers.
    pub ric_style_type: Number,
    /// The definition in the style's format.
    pub formats: ActionDefinitionFormats<'a>,
}

message!(ActionDefinition, lists);

/// The formats of an action definition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ActionDefinitionFormats<'a> {
    /// Of a cell.
    Format1(ActionDefinitionFormat1<'a>),
    /// Of one UE.
    Format2(ActionDefinitionFormat2<'a>),
    /// Of the UEs that meet the conditions of each measurement.
    Format3(ActionDefinitionFormat3<'a>),
}

/// E2SM-KPM-ActionDefinition-Format1: measurements of a cell.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat1<'a> {
    /// The cell.
    pub cell_obj_id: CellObjectId<'a>,
    /// The measurements.
    #[per(size = 1..=65535)]
    pub meas_info_list: List<'a, MeasurementInfoItem<'a>>,
    /// The period of a record.
    pub granul_period: GranularityPeriod,
    /// The number that reports repeat.
    pub subscript_id: SubscriptionId,
}

/// E2SM-KPM-ActionDefinition-Format2: measurements of one UE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat2<'a> {
    /// The UE.
    pub ue_id: UeIdentity<'a>,
    /// The measurements.
    pub subscript_info: ActionDefinitionFormat1<'a>,
}

/// E2SM-KPM-ActionDefinition-Format3: measurements, each over the UEs that meet its conditions.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat3<'a> {
    /// The cell.
    pub cell_obj_id: CellObjectId<'a>,
    /// The measurements.
    #[per(size = 1..=65535)]
    pub meas_cond_list: List<'a, MeasurementCondItem<'a>>,
    /// The period of a record.
    pub granul_period: GranularityPeriod,
    /// The number that reports repeat.
    pub subscript_id: SubscriptionId,
}

/// MeasurementInfoItem: a measurement and its labels.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct MeasurementInfoItem<'a> {
    /// The measurement.
    pub meas_type: MeasurementType<'a>,
    /// Its subcounters; if absent, the measurement as a whole.
    #[per(size = 1..=2_147_483_647)]
    pub label_info_list: Option<List<'a, LabelInfoItem>>,
}

/// LabelInfoItem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct LabelInfoItem {
    /// The label.
    pub meas_label: MeasurementLabel,
}

/// MeasurementLabel: a subcounter of a measurement. There is no noLabel, min, max or avg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct MeasurementLabel {
    /// The share of a PLMN.
    pub plmn_id: Option<PlmnIdentity>,
    /// The share of a slice.
    pub slice_id: Option<SNssai>,
    /// The share of a 5QI.
    pub five_qi: Option<FiveQi>,
    /// The share of a QoS flow.
    pub qfi: Option<QosFlowIdentifier>,
    /// The share of a QCI.
    #[per(range = 0..=255, extensible)]
    pub qci: Option<u8>,
    /// The highest of a range of QCIs.
    #[per(range = 0..=255, extensible)]
    pub qci_max: Option<u8>,
    /// The lowest of a range of QCIs.
    #[per(range = 0..=255, extensible)]
    pub qci_min: Option<u8>,
    /// The highest of a range of allocation and retention priorities.
    #[per(range = 1..=15, extensible)]
    pub arp_max: Option<u8>,
    /// The lowest of a range of allocation and retention priorities.
    #[per(range = 1..=15, extensible)]
    pub arp_min: Option<u8>,
    /// The number of a bit rate range.
    #[per(range = 1..=65536, extensible)]
    pub bitrate_range: Option<u32>,
    /// A layer of multi-user MIMO.
    #[per(range = 1..=65536, extensible)]
    pub layer_mu_mimo: Option<u32>,
    /// The sum of all subcounters.
    pub sum: Option<True>,
    /// A bin of a distribution's first dimension.
    #[per(range = 1..=65536, extensible)]
    pub dist_bin_x: Option<u32>,
    /// A bin of a distribution's second dimension.
    #[per(range = 1..=65536, extensible)]
    pub dist_bin_y: Option<u32>,
    /// A bin of a distribution's third dimension.
    #[per(range = 1..=65536, extensible)]
    pub dist_bin_z: Option<u32>,
    /// The components replace those of the previous label.
    pub pre_label_override: Option<True>,
    /// The start or end of a range of labels.
    pub start_end_ind: Option<StartEndInd>,
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
}

/// MatchingCondItem: a condition of a measurement.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum MatchingCondItem<'a> {
    /// A label of the measurement.
    MeasLabel(MeasurementLabel),
    /// A test of the UE.
    TestCondInfo(TestCondInfo<'a>),
}
