//! The types of PDU session resource setup (TS 38.413 9.3), as they are encoded.

use per::{BitString, List, Octets, Per};

use crate::ProtocolIe;
use crate::common::{SNssaiIe, Unused};

/// ProtocolExtensionContainer: extensions are read over.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=65535)]
pub(super) struct Extensions<'a>(pub List<'a, ProtocolIe<'a>>);

/// PDUSessionResourceSetupListSUReq and -CxtReq, which have one form.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=256)]
pub(super) struct SetupListReq<'a>(pub List<'a, SetupItemReq<'a>>);

/// PDUSessionResourceSetupItemSUReq and -CxtReq.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct SetupItemReq<'a> {
    pub id: u8,
    pub nas_pdu: Option<Octets<'a>>,
    pub s_nssai: SNssaiIe,
    pub transfer: Octets<'a>,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// PDUSessionResourceSetupRequestTransfer: a container of IEs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct SetupRequestTransfer<'a> {
    #[per(size = 0..=65535)]
    pub ies: List<'a, ProtocolIe<'a>>,
}

/// PDUSessionResourceSetupListSURes and -CxtRes, which have one form.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=256)]
pub(super) struct SetupListRes<'a>(pub List<'a, SetupItemRes<'a>>);

/// PDUSessionResourceSetupItemSURes and -CxtRes.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct SetupItemRes<'a> {
    pub id: u8,
    pub transfer: Octets<'a>,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// PDUSessionResourceSetupResponseTransfer. Components behind the first one are not decoded: they make the message unsupported.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct SetupResponseTransfer<'a> {
    pub flows: FlowPerTnl<'a>,
    pub additional: Option<Unused>,
    pub security: Option<Unused>,
    pub failed: Option<Unused>,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// QosFlowPerTNLInformation.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct FlowPerTnl<'a> {
    pub tnl: UpTnl<'a>,
    #[per(size = 1..=64)]
    pub flows: List<'a, AssociatedQosFlow<'a>>,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// AssociatedQosFlowItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct AssociatedQosFlow<'a> {
    pub qfi: Qfi,
    pub mapping: Option<Mapping>,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// The direction that a QoS flow is mapped in.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) enum Mapping {
    Uplink,
    Downlink,
}

/// UPTransportLayerInformation.
#[derive(Clone, Debug, PartialEq, Per)]
pub(super) enum UpTnl<'a> {
    GtpTunnel(GtpTunnelIe<'a>),
    Extensions(Unused),
}

/// GTPTunnel.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct GtpTunnelIe<'a> {
    pub address: TransportLayerAddress<'a>,
    pub teid: [u8; 4],
    pub ie_extensions: Option<Extensions<'a>>,
}

/// TransportLayerAddress.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=160, extensible)]
pub(super) struct TransportLayerAddress<'a>(pub BitString<'a>);

/// PDUSessionType.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
#[allow(dead_code, reason = "values are read over")]
pub(super) enum PduSessionType {
    Ipv4,
    Ipv6,
    Ipv4v6,
    Ethernet,
    Unstructured,
}

/// QosFlowSetupRequestList.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=64)]
pub(super) struct QosFlowRequests<'a>(pub List<'a, QosFlowRequest<'a>>);

/// QosFlowSetupRequestItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct QosFlowRequest<'a> {
    pub qfi: Qfi,
    pub qos: QosParameters<'a>,
    pub e_rab_id: Option<ERabId>,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// QosFlowIdentifier.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=63, extensible)]
pub(super) struct Qfi(pub u8);

/// E-RAB-ID.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=15, extensible)]
pub(super) struct ERabId(pub u8);

/// QosFlowLevelQosParameters.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct QosParameters<'a> {
    pub characteristics: Characteristics<'a>,
    pub arp: Arp<'a>,
    pub gbr: Option<GbrQos<'a>>,
    pub reflective: Option<Reflective>,
    pub additional: Option<AdditionalFlow>,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// QosCharacteristics.
#[derive(Clone, Debug, PartialEq, Per)]
pub(super) enum Characteristics<'a> {
    NonDynamic(NonDynamic<'a>),
    Dynamic(Dynamic<'a>),
    Extensions(Unused),
}

/// NonDynamic5QIDescriptor.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct NonDynamic<'a> {
    pub five_qi: FiveQi,
    pub priority_level: Option<PriorityLevel>,
    pub averaging_window: Option<Window>,
    pub maximum_burst: Option<Window>,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// Dynamic5QIDescriptor.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct Dynamic<'a> {
    pub priority_level: PriorityLevel,
    pub delay_budget: DelayBudget,
    pub error_rate: ErrorRate<'a>,
    pub five_qi: Option<FiveQi>,
    pub is_delay_critical: Option<DelayCritical>,
    pub averaging_window: Option<Window>,
    pub maximum_burst: Option<Window>,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// FiveQI.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=255, extensible)]
pub(super) struct FiveQi(pub u8);

/// PriorityLevelQos.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 1..=127, extensible)]
pub(super) struct PriorityLevel(pub u8);

/// AveragingWindow, and MaximumDataBurstVolume.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=4095, extensible)]
pub(super) struct Window(pub u32);

/// PacketDelayBudget.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=1023, extensible)]
pub(super) struct DelayBudget(pub u16);

/// PacketErrorRate.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct ErrorRate<'a> {
    pub scalar: Digit,
    pub exponent: Digit,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// A part of PacketErrorRate.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=9, extensible)]
pub(super) struct Digit(pub u8);

/// DelayCritical.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) enum DelayCritical {
    DelayCritical,
    NonDelayCritical,
}

/// AllocationAndRetentionPriority.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct Arp<'a> {
    #[per(range = 1..=15)]
    pub priority_level: u8,
    pub pre_emption_capability: PreEmption,
    pub pre_emption_vulnerability: PreEmption,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// Pre-emptionCapability, and Pre-emptionVulnerability.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) enum PreEmption {
    No,
    Yes,
}

/// GBR-QosInformation.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct GbrQos<'a> {
    pub mbr_dl: BitRate,
    pub mbr_ul: BitRate,
    pub gbr_dl: BitRate,
    pub gbr_ul: BitRate,
    pub notification_control: Option<NotificationControl>,
    pub loss_dl: Option<PacketLossRate>,
    pub loss_ul: Option<PacketLossRate>,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// BitRate.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=4_000_000_000_000, extensible)]
pub(super) struct BitRate(pub i64);

impl BitRate {
    /// A rate in bit/s; one beyond the range is refused when it is encoded.
    pub fn new(bps: u64) -> Self {
        BitRate(i64::try_from(bps).unwrap_or(i64::MAX))
    }
}

/// NotificationControl.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) enum NotificationControl {
    Requested,
}

/// PacketLossRate.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=1000, extensible)]
pub(super) struct PacketLossRate(pub u16);

/// ReflectiveQosAttribute.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) enum Reflective {
    SubjectTo,
}

/// AdditionalQosFlowInformation.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) enum AdditionalFlow {
    MoreLikely,
}

/// PDUSessionResourceModifyListModReq.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=256)]
pub(super) struct ModifyListReq<'a>(pub List<'a, ModifyItemReq<'a>>);

/// PDUSessionResourceModifyItemModReq.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct ModifyItemReq<'a> {
    pub id: u8,
    pub nas_pdu: Option<Octets<'a>>,
    pub transfer: Octets<'a>,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// QosFlowAddOrModifyRequestList.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=64)]
pub(super) struct FlowChanges<'a>(pub List<'a, FlowChange<'a>>);

/// QosFlowAddOrModifyRequestItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct FlowChange<'a> {
    pub qfi: Qfi,
    pub qos: Option<QosParameters<'a>>,
    pub e_rab_id: Option<ERabId>,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// PDUSessionResourceModifyListModRes, PDUSessionResourceToReleaseListRelCmd and PDUSessionResourceReleasedListRelRes, which have one
/// form.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=256)]
pub(super) struct SessionList<'a>(pub List<'a, SessionItem<'a>>);

/// The items of these lists.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct SessionItem<'a> {
    pub id: u8,
    pub transfer: Octets<'a>,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// PDUSessionResourceModifyResponseTransfer. Tunnels and failed flows are not decoded: they make the message unsupported.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct ModifyResponseTransfer<'a> {
    pub downlink: Option<Unused>,
    pub uplink: Option<Unused>,
    pub flows: Option<ChangedFlows<'a>>,
    pub additional: Option<Unused>,
    pub failed: Option<Unused>,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// QosFlowAddOrModifyResponseList.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=64)]
pub(super) struct ChangedFlows<'a>(pub List<'a, ChangedFlow<'a>>);

/// QosFlowAddOrModifyResponseItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct ChangedFlow<'a> {
    pub qfi: Qfi,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// PDUSessionResourceReleaseCommandTransfer.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct ReleaseCommandTransfer<'a> {
    pub cause: Cause,
    pub ie_extensions: Option<Extensions<'a>>,
}

/// Cause.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
pub(super) enum Cause {
    Radio(Unused),
    Transport(Unused),
    Nas(NasCause),
    Protocol(Unused),
    Misc(Unused),
    Extensions(Unused),
}

/// CauseNas.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
#[allow(dead_code, reason = "sessions are released normally")]
pub(super) enum NasCause {
    NormalRelease,
    AuthenticationFailure,
    Deregister,
    Unspecified,
}

/// PDUSessionResourceReleaseResponseTransfer.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub(super) struct ReleaseResponseTransfer<'a> {
    pub ie_extensions: Option<Extensions<'a>>,
}
