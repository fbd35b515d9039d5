//! Indication headers and messages: copies of what UEs have sent, and measurements.

use per::{BitString, List, Octets, Per};

use super::message;
use super::{LogicalChannelId, RicEventTriggerConditionId, SlotTimeStamp};
use crate::common::UeId;

/// E2SM-LLC-IndicationHeader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct IndicationHeader {
    /// The formats.
    pub formats: IndicationHeaderFormats,
}

message!(IndicationHeader, no borrow);

/// The formats of an indication header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum IndicationHeaderFormats {
    /// The only format.
    Format1(IndicationHeaderFormat1),
}

/// E2SM-LLC-IndicationHeader-Format1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct IndicationHeaderFormat1 {
    /// The event that has caused the indication; absent in periodic reports.
    pub ric_event_trigger_condition_id: Option<RicEventTriggerConditionId>,
}

impl IndicationHeader {
    /// The header of an event, or of a periodic report.
    #[must_use]
    pub const fn new(ric_event_trigger_condition_id: Option<RicEventTriggerConditionId>) -> Self {
        let format = IndicationHeaderFormat1 { ric_event_trigger_condition_id };
        IndicationHeader { formats: IndicationHeaderFormats::Format1(format) }
    }
}

/// E2SM-LLC-IndicationMessage.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessage<'a> {
    /// The formats.
    pub formats: IndicationMessageFormats<'a>,
}

message!(IndicationMessage, lists);

/// The formats of an indication message.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum IndicationMessageFormats<'a> {
    /// Report style 1: a copy of lower layers information.
    Format1(IndicationMessageFormat1<'a>),
    /// Report style 2: measurements.
    Format2(IndicationMessageFormat2<'a>),
}

/// E2SM-LLC-IndicationMessage-Format1.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat1<'a> {
    /// The slot in which the latest of the contents was received.
    pub slot_time_stamp: SlotTimeStamp,
    /// The contents.
    pub lower_layers_info_type: LowerLayersInfo<'a>,
}

/// Lower layers information.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum LowerLayersInfo<'a> {
    /// Sounding reference signals. The event in the header names the UE.
    Srs(Srs<'a>),
    /// Channel state information.
    Csi(Csi<'a>),
}

/// SRS: sounding reference signals of one UE as received.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct Srs<'a> {
    /// By receive antenna.
    #[per(size = 1..=65535)]
    pub srs_receive_antenna_list: List<'a, SrsReceiveAntennaItem<'a>>,
}

/// SrsReceiveAntenna-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct SrsReceiveAntennaItem<'a> {
    /// By symbol: 1, 2 or 4.
    #[per(size = 1..=4, extensible)]
    pub srs_symbol_list: List<'a, SrsSymbolItem<'a>>,
}

/// SrsSymbol-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct SrsSymbolItem<'a> {
    /// The compression of a static configuration: udCompHdr of O-RAN's fronthaul (WG4 CUS 8.3.3.13).
    pub srs_compression_header: [u8; 1],
    /// A section of the fronthaul's uplink data, from its id on (WG4 CUS table 8.3.2-1, octet 13).
    pub raw_srs: Octets<'a>,
}

/// CSI.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct Csi<'a> {
    /// By UE.
    #[per(size = 1..=65535)]
    pub csi_ue_identifier_list: List<'a, CsiUeIdentifierItem<'a>>,
}

/// CsiUeIdentifier-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct CsiUeIdentifierItem<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
    /// The channel of the report.
    pub channel_carrying_uci: ChannelCarryingUci,
    /// The reports.
    #[per(size = 1..=255)]
    pub csi_report_list: List<'a, CsiReportItem<'a>>,
}

/// The channel that carries uplink control information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum ChannelCarryingUci {
    /// The control channel.
    Pucch,
    /// The shared channel.
    Pusch,
}

/// CsiReport-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct CsiReportItem<'a> {
    /// CSI-ReportConfigId (TS 38.331).
    pub csi_report_config_id: i64,
    /// The fields of part 1, or of a report without parts (TS 38.212 6.3.1.1.2).
    pub csi_fields_csi_report_part1: BitString<'a>,
    /// The fields of part 2.
    pub csi_fields_csi_report_part2: Option<BitString<'a>>,
}

/// E2SM-LLC-IndicationMessage-Format2.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessageFormat2<'a> {
    /// The measurements.
    #[per(size = 1..=63)]
    pub lower_layers_measurement_list: List<'a, LowerLayersMeasurementItem<'a>>,
}

/// LowerLayersMeasurement-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct LowerLayersMeasurementItem<'a> {
    /// The last slot of the data; with [`LowerLayersMeasurement::SlotTimeStamp`] the slot at the time of sending.
    pub slot_time_stamp: SlotTimeStamp,
    /// The measurement.
    pub lower_layers_measurement_type: LowerLayersMeasurement<'a>,
}

/// A measurement.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum LowerLayersMeasurement<'a> {
    /// Buffers of RLC in the downlink.
    DlRlcBufferStatus(DlRlcBufferStatus<'a>),
    /// Buffers of PDCP in the downlink.
    DlPdcpBufferStatus(DlPdcpBufferStatus<'a>),
    /// HARQ feedback of the downlink.
    DlHarqStatistics(DlHarqStatistics<'a>),
    /// Only the slot.
    SlotTimeStamp,
}

/// DlRlcBufferStatus.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct DlRlcBufferStatus<'a> {
    /// By UE.
    #[per(size = 1..=65535)]
    pub dl_rlc_ue_identifiers_list: List<'a, DlRlcUeIdentifiersItem<'a>>,
}

/// DlRlcUeIdentifiers-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct DlRlcUeIdentifiersItem<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
    /// By logical channel.
    #[per(size = 1..=255)]
    pub dl_rlc_ue_bearers_list: List<'a, DlRlcUeBearersItem>,
}

/// DlRlcUeBearers-Item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct DlRlcUeBearersItem {
    /// The logical channel.
    pub lc_id: LogicalChannelId,
    /// Octets in the buffer.
    pub dl_rlc_buffer_occupancy: i64,
    /// Until the first PDU has exceeded its delay budget, in units of 0.5 ms.
    #[per(range = 0..=1032, extensible)]
    pub dl_rlc_hol_time_to_live: u16,
}

/// DlPdcpBufferStatus.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct DlPdcpBufferStatus<'a> {
    /// By UE.
    #[per(size = 1..=65535)]
    pub dl_pdcp_ue_identifiers_list: List<'a, DlPdcpUeIdentifiersItem<'a>>,
}

/// DlPdcpUeIdentifiers-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct DlPdcpUeIdentifiersItem<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
    /// By bearer.
    #[per(size = 1..=255)]
    pub dl_pdcp_ue_bearers_list: List<'a, DlPdcpUeBearersItem>,
}

/// DlPdcpUeBearers-Item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct DlPdcpUeBearersItem {
    /// The data radio bearer.
    #[per(range = 1..=32, extensible)]
    pub drb_id: u16,
    /// Octets in the buffer.
    pub dl_pdcp_buffer_occupancy: i64,
    /// Until the first PDU has exceeded its delay budget, in units of 0.5 ms.
    #[per(range = 0..=1032, extensible)]
    pub dl_pdcp_hol_time_to_live: u16,
}

/// DlHarqStatistics.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct DlHarqStatistics<'a> {
    /// By UE.
    #[per(size = 1..=65535)]
    pub dl_harq_ue_identifier_list: List<'a, DlHarqUeIdentifierItem<'a>>,
}

/// DlHarqUeIdentifier-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct DlHarqUeIdentifierItem<'a> {
    /// The UE.
    pub harq_ue_id: UeId<'a>,
    /// By codeword.
    #[per(size = 1..=2, extensible)]
    pub dl_harq_codeword_list: List<'a, DlHarqCodewordItem>,
}

/// DlHarqCodeword-Item: feedback since the last report, of transmissions to one UE (SU) and to several on the same resources
/// (MU).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct DlHarqCodewordItem {
    /// Acknowledgements.
    pub dl_su_ack_count: i64,
    /// Negative acknowledgements.
    pub dl_su_nack_count: i64,
    /// Transmissions without feedback.
    pub dl_su_dtx_count: i64,
    /// Acknowledgements, MU.
    pub dl_mu_ack_count: i64,
    /// Negative acknowledgements, MU.
    pub dl_mu_nack_count: i64,
    /// Transmissions without feedback, MU.
    pub dl_mu_dtx_count: i64,
}
