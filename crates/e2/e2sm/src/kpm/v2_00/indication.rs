//! Indications.

use per::{List, Per, PrintableString};

use super::{CellObjectId, GlobalKpmNodeId, MatchingCondItem, MeasurementInfoItem, SubscriptionId, UeIdentity};
use crate::kpm::{GranularityPeriod, MeasurementDataItem, MeasurementType, TimeStamp};
use crate::message::message_of_one_format as message;

/// E2SM-KPM-IndicationHeader.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationHeader<'a> {
    /// The header in its format.
    pub formats: IndicationHeaderFormats<'a>,
}

message!(IndicationHeader, no lists);

/// The formats of an indication header.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum IndicationHeaderFormats<'a> {
    /// The only one.
    Format1(IndicationHeaderFormat1<'a>),
}

/// E2SM-KPM-IndicationHeader-Format1.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationHeaderFormat1<'a> {
    /// When the first record's period began, in 4 octets.
    pub collet_start_time: TimeStamp,
    /// The version of the file format that the report follows.
    #[per(size = 0..=15, extensible)]
    pub file_format_version: Option<PrintableString<'a>>,
    /// The sender's name.
    #[per(size = 0..=400, extensible)]
    pub sender_name: Option<PrintableString<'a>>,
    /// The type of the sender.
    #[per(size = 0..=8, extensible)]
    pub sender_type: Option<PrintableString<'a>>,
    /// The vendor of the sender.
    #[per(size = 0..=32, extensible)]
    pub vendor_name: Option<PrintableString<'a>>,
    /// The node.
    pub kpm_node_id: Option<GlobalKpmNodeId>,
}

/// E2SM-KPM-IndicationMessage.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessage<'a> {
    /// The message in its format.
    pub formats: IndicationMessageFormats<'a>,
}

message!(IndicationMessage, lists);

impl IndicationMessage<'_> {
    /// Returns the name of the cell, if the node states it.
    #[must_use]
    pub fn cell_obj_id(&self) -> Option<&str> {
        let cell = match &self.formats {
            IndicationMessageFormats::Format1(format1) => &format1.cell_obj_id,
            IndicationMessageFormats::Format2(format2) => &format2.cell_obj_id,
        };
        cell.as_ref().map(|cell| cell.0.as_str())
    }

    /// Returns the number that the controller gave to the action.
    #[must_use]
    pub fn subscript_id(&self) -> SubscriptionId {
        match &self.formats {
            IndicationMessageFormats::Format1(format1) => format1.subscript_id,
            IndicationMessageFormats::Format2(format2) => format2.subscript_id,
        }
    }
}

/// The formats of an indication message.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum IndicationMessageFormats<'a> {
    /// Of a cell or one UE.
    Format1(IndicationMessageFormat1<'a>),
    /// Of groups of UEs; each measurement has conditions.
    Format2(IndicationMessageFormat2<'a>),
}

/// E2SM-KPM-IndicationMessage-Format1: values of a cell or one UE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat1<'a> {
    /// The number of the action.
    pub subscript_id: SubscriptionId,
    /// The cell.
    pub cell_obj_id: Option<CellObjectId<'a>>,
    /// The granularity period; if absent, that of the action definition.
    pub granul_period: Option<GranularityPeriod>,
    /// The measurements; if absent, those of the action definition.
    #[per(size = 1..=65535)]
    pub meas_info_list: Option<List<'a, MeasurementInfoItem<'a>>>,
    /// A record for each granularity period.
    #[per(size = 1..=65535)]
    pub meas_data: List<'a, MeasurementDataItem<'a>>,
}

/// E2SM-KPM-IndicationMessage-Format2: values over groups of UEs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat2<'a> {
    /// The number of the action.
    pub subscript_id: SubscriptionId,
    /// The cell.
    pub cell_obj_id: Option<CellObjectId<'a>>,
    /// The granularity period; if absent, that of the action definition.
    pub granul_period: Option<GranularityPeriod>,
    /// The measurements and conditions.
    #[per(size = 1..=65535)]
    pub meas_cond_ueid_list: List<'a, MeasurementCondUeidItem<'a>>,
    /// A record for each granularity period.
    #[per(size = 1..=65535)]
    pub meas_data: List<'a, MeasurementDataItem<'a>>,
}

/// MeasurementCondUEidItem: a measurement, its conditions and the UEs that met them.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct MeasurementCondUeidItem<'a> {
    /// The measurement.
    pub meas_type: MeasurementType<'a>,
    /// The conditions.
    #[per(size = 1..=32768)]
    pub matching_cond: List<'a, MatchingCondItem<'a>>,
    /// The UEs that met them.
    #[per(size = 1..=65535)]
    pub matching_ueid_list: Option<List<'a, MatchingUeidItem<'a>>>,
}

/// MatchingUEidItem: a UE that met the conditions.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct MatchingUeidItem<'a> {
    /// The UE.
    pub ue_id: UeIdentity<'a>,
}
