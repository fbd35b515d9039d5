//! Control headers and messages: logical channels that a controller schedules, and the downlink scheduling of slots.

use per::{BitString, Bits, List, Octets, Per};

use super::message;
use super::{LogicalChannelId, RicControlActionId, SlotInfo, SpsConfigIndex};
use crate::common::{RicStyleType, UeId};

/// E2SM-LLC-ControlHeader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct ControlHeader {
    /// The formats.
    pub formats: ControlHeaderFormats,
}

message!(ControlHeader, no borrow);

/// The formats of a control header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum ControlHeaderFormats {
    /// The only format.
    Format1(ControlHeaderFormat1),
}

/// E2SM-LLC-ControlHeader-Format1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct ControlHeaderFormat1 {
    /// The control style.
    pub ric_style_type: RicStyleType,
    /// The action.
    pub ric_control_action_id: RicControlActionId,
}

impl ControlHeader {
    /// The header of an action of a style.
    #[must_use]
    pub const fn new(ric_style_type: RicStyleType, ric_control_action_id: RicControlActionId) -> Self {
        let format = ControlHeaderFormat1 { ric_style_type, ric_control_action_id };
        ControlHeader { formats: ControlHeaderFormats::Format1(format) }
    }
}

/// E2SM-LLC-ControlMessage.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlMessage<'a> {
    /// The formats.
    pub formats: ControlMessageFormats<'a>,
}

message!(ControlMessage, lists);

/// The formats of a control message.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ControlMessageFormats<'a> {
    /// The only format.
    Format1(ControlMessageFormat1<'a>),
}

/// E2SM-LLC-ControlMessage-Format1.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlMessageFormat1<'a> {
    /// The control.
    pub control_type: ControlType<'a>,
}

/// The kinds of control.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ControlType<'a> {
    /// Control style 1, action 1.
    LogicalChannelHandlingControl(LogicalChannelHandlingControl<'a>),
    /// Control style 2, action 1.
    DlSchedulingControl(DlSchedulingControl<'a>),
}

impl<'a> From<ControlType<'a>> for ControlMessage<'a> {
    fn from(control_type: ControlType<'a>) -> Self {
        ControlMessage { formats: ControlMessageFormats::Format1(ControlMessageFormat1 { control_type }) }
    }
}

/// LogicalChannelHandlingControl.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct LogicalChannelHandlingControl<'a> {
    /// By UE.
    #[per(size = 1..=65535)]
    pub logical_channel_ueid_list: List<'a, LogicalChannelUeIdItem<'a>>,
}

/// LogicalChannelUEID-Item. Neither list can be empty: a controller that only adds channels also names one to release that it
/// does not hold.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct LogicalChannelUeIdItem<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
    /// The channels that the controller schedules from a slot on.
    #[per(size = 1..=63)]
    pub logical_chan_cont_by_near_rt_ric_to_add_list: List<'a, LogicalChannelControlItem>,
    /// The channels that it no longer schedules from a slot on.
    #[per(size = 1..=63)]
    pub logical_chan_cont_by_near_rt_ric_to_rel_list: List<'a, LogicalChannelControlItem>,
}

/// LogicalChanContByNearRTRicToAdd-Item and LogicalChanContByNearRTRicToRel-Item, which have one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct LogicalChannelControlItem {
    /// The logical channel.
    pub logical_channel_id: LogicalChannelId,
    /// The first slot.
    pub starting_slot_number: SlotInfo,
}

/// DlSchedulingControl.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct DlSchedulingControl<'a> {
    /// By slot.
    #[per(size = 1..=63)]
    pub dl_slot_to_be_scheduled_list: List<'a, DlSlotToBeScheduledItem<'a>>,
}

/// DlSlotToBeScheduled-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct DlSlotToBeScheduledItem<'a> {
    /// The slot.
    pub slot_info: SlotInfo,
    /// The grants.
    #[per(size = 1..=63)]
    pub dl_grant_list: List<'a, DlGrantItem<'a>>,
    /// The precoders of resource blocks: spatial multiplexing groups.
    #[per(size = 1..=63)]
    pub pdsch_smg_list: List<'a, PdschSmgItem>,
    /// The precoders of channel state reference signals.
    #[per(size = 0..=63)]
    pub csi_rs_precoding_band_list: List<'a, CsiRsPrecodingBandItem<'a>>,
    /// The precoders, which are numbered by their places from 0 on.
    #[per(size = 1..=255)]
    pub precoder_list: List<'a, PrecoderItem<'a>>,
}

/// DlGrant-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct DlGrantItem<'a> {
    /// The number of the grant.
    #[per(range = 1..=63, extensible)]
    pub grant_id: u16,
    /// The bandwidth part; absent: the initial one.
    #[per(range = 0..=4, extensible)]
    pub bwp_id: Option<u16>,
    /// The UE.
    pub ue_id: UeId<'a>,
    /// What the transport blocks carry.
    #[per(size = 1..=63)]
    pub logical_channel_list: List<'a, LogicalChannelItem>,
    /// The downlink control information.
    pub dl_control_info_type: DlControlInfoType<'a>,
}

/// LogicalChannel-Item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct LogicalChannelItem {
    /// The logical channel.
    pub logical_channel_id: LogicalChannelId,
    /// Its octets in the first transport block.
    pub noof_bytes_tb1: i64,
    /// Its octets in the second transport block.
    pub noof_bytes_tb2: Option<i64>,
}

/// The downlink control information of a grant.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum DlControlInfoType<'a> {
    /// DCI format 1_0.
    Dci10(Dci10),
    /// DCI format 1_1.
    Dci11(Dci11<'a>),
    /// Resources of semi-persistent scheduling, without control information.
    SemiPersistence,
}

/// Dci-10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct Dci10 {
    /// Activates or deactivates semi-persistent scheduling, by the CS-RNTI.
    pub use_cs_rnti: Option<CsConfiguredWithActivation>,
    /// The resource indication value of type 1: [`super::resource_indication_value`].
    pub freq_domain_resources: i64,
    /// The row of the table of time domain resources.
    #[per(range = 0..=15, extensible)]
    pub time_domain_resources: u16,
    /// The mapping of virtual to physical resource blocks; absent: the same numbers.
    pub vrb_to_prb_mapping: Option<VrbToPrbMapping>,
    /// The MCS index.
    #[per(range = 0..=31, extensible)]
    pub mcs: u16,
    /// The redundancy version.
    #[per(range = 0..=3, extensible)]
    pub redundancy_version: u16,
}

/// The use of the CS-RNTI in DCI format 1_0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct CsConfiguredWithActivation {
    /// One of several configurations.
    pub sps_config_index: Option<SpsConfigIndex>,
    /// Whether it begins or ends.
    pub activation: SpsActivation,
}

/// Whether semi-persistent scheduling begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
pub enum SpsActivation {
    /// It begins.
    Activate,
    /// It ends.
    Deactivate,
}

/// The mapping of virtual to physical resource blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum VrbToPrbMapping {
    /// Bundles of resource blocks are interleaved (TS 38.211 7.3.1.6).
    Interleaved,
}

/// Dci-11.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct Dci11<'a> {
    /// Activates semi-persistent scheduling, by the CS-RNTI.
    pub use_cs_rnti: Option<CsConfigured>,
    /// The carrier; absent: that of the serving cell.
    #[per(range = 1..=7, extensible)]
    pub carrier_indicator: Option<u16>,
    /// The resource blocks, by type 0 or type 1.
    pub freq_domain_resources: BitString<'a>,
    /// The row of the table of time domain resources.
    #[per(range = 0..=15, extensible)]
    pub time_domain_resources: u16,
    /// The mapping of virtual to physical resource blocks; absent: the same numbers.
    pub vrb_to_prb_mapping: Option<VrbToPrbMapping>,
    /// Which of two sizes of bundles applies.
    #[per(range = 0..=1, extensible)]
    pub prb_bundling_size_indicator: u16,
    /// The MCS index of the first transport block.
    #[per(range = 0..=31, extensible)]
    pub mcs_tb1: u16,
    /// The redundancy version of the first transport block.
    #[per(range = 0..=3, extensible)]
    pub redundancy_version_tb1: u16,
    /// The MCS index of the second transport block.
    #[per(range = 0..=31, extensible)]
    pub mcs_tb2: Option<u16>,
    /// The redundancy version of the second transport block.
    #[per(range = 0..=3, extensible)]
    pub redundancy_version_tb2: Option<u16>,
    /// The antenna ports (TS 38.212 7.3.1.2.2).
    #[per(size = 4..=6)]
    pub antenna_ports: Bits,
    /// The transmission configuration indication.
    #[per(range = 0..=7, extensible)]
    pub transmission_config_indication: Option<u16>,
    /// The resource sets of sounding reference signals to trigger.
    #[per(size = 2..=3)]
    pub srs_request: Option<Bits>,
    /// Which way of initialising the demodulation reference signals applies.
    #[per(range = 0..=1)]
    pub dmrs_sequence_init: u8,
}

/// The use of the CS-RNTI in DCI format 1_1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct CsConfigured {
    /// One of several configurations.
    pub sps_config_index: Option<SpsConfigIndex>,
}

/// PdschSMG-Item: resource elements with one precoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct PdschSmgItem {
    /// The place of the precoder in the list of the slot.
    #[per(range = 0..=63, extensible)]
    pub precoder_id: u16,
    /// Its precedence over others, 0 first.
    #[per(range = 0..=31, extensible)]
    pub smg_priority: Option<u16>,
    /// The first virtual resource block.
    pub start_rb: i64,
    /// The number of resource blocks.
    pub noof_rbs: i64,
    /// The first symbol.
    pub start_symbol: i64,
    /// The number of symbols.
    pub noof_symbols: i64,
}

/// CsiRsPrecodingBand-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct CsiRsPrecodingBandItem<'a> {
    /// The place of the precoder in the list of the slot.
    #[per(range = 0..=63, extensible)]
    pub precoder_id: u16,
    /// The UE.
    pub ueid: UeId<'a>,
    /// NZP-CSI-RS-ResourceId (TS 38.331).
    #[per(range = 0..=191, extensible)]
    pub nzp_csi_rs_resource_id: u16,
    /// The first resource block.
    pub start_rb: i64,
    /// The number of resource blocks.
    pub noof_rbs: i64,
}

/// Precoder-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct PrecoderItem<'a> {
    /// How the coefficients are compressed.
    pub compression_information: Option<CompressionInformation<'a>>,
    /// The coefficients, of layers and antenna elements.
    #[per(size = 1..=65535)]
    pub precoder_coeff_list: List<'a, PrecoderCoeffItem>,
}

/// The compression of a precoder's coefficients (WG4 CUS 7.7.1).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct CompressionInformation<'a> {
    /// The header.
    pub precoder_compression_header: Octets<'a>,
    /// The parameters.
    pub precoder_compression_param: Octets<'a>,
}

/// PrecoderCoeff-Item: a complex number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct PrecoderCoeffItem {
    /// The real part.
    pub precoder_coeff_i: i64,
    /// The imaginary part.
    pub precoder_coeff_q: i64,
}
