//! Handover preparation and cancel (TS 36.423 8.2.1 and 8.2.3).
//!
//! Requests have the context of a UE with bearers for IPv4 and without security: null algorithms and a key of zeros. The containers
//! of RRC are its shortest messages.

use std::net::Ipv4Addr;

use ids::{EnbUeX2apId, EutraCgi, Gummei, MmeUeS1apId, PlmnIdentity};
use per::{BitString, Bits, List, Octets, Per};

use super::{IE_NEW_ENB_UE_X2AP_ID, IE_OLD_ENB_UE_X2AP_ID};
use crate::common::Unused;
use crate::{Criticality, MessageKind, Pdu, PduView, Protocol, ProtocolIe};

// TS 36.423 9.3.7
/// Handover Preparation.
pub const PROCEDURE_HANDOVER_PREPARATION: u8 = 0;
/// Handover Cancel.
pub const PROCEDURE_HANDOVER_CANCEL: u8 = 1;
const IE_E_RABS_ADMITTED_ITEM: u16 = 0;
const IE_E_RABS_ADMITTED_LIST: u16 = 1;
const IE_E_RABS_TO_BE_SETUP_ITEM: u16 = 4;
const IE_CAUSE: u16 = 5;
const IE_TARGET_CELL_ID: u16 = 11;
const IE_TARGET_TO_SOURCE_CONTAINER: u16 = 12;
const IE_UE_CONTEXT_INFORMATION: u16 = 14;
const IE_UE_HISTORY_INFORMATION: u16 = 15;
const IE_GUMMEI: u16 = 23;

/// HandoverPreparationInformation (TS 36.331 10.2.2) without capabilities and configurations.
const PREPARATION_INFORMATION: &[u8] = &[0, 0];
/// HandoverCommand (TS 36.331 10.2.2) with an RRCConnectionReconfiguration that changes nothing.
const COMMAND: &[u8] = &[0, 0x19, 0, 0, 0];
/// The largest bit rate, in bit/s: no limit.
const UNLIMITED_BPS: i64 = 10_000_000_000;
/// The allocation and retention priority of bearers (the same of all).
const PRIORITY: u8 = 8;

/// What a message between the source and the target says of a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverMessage {
    /// HANDOVER REQUEST: the source asks the target to prepare this cell.
    Request(EutraCgi),
    /// HANDOVER REQUEST ACKNOWLEDGE: the target admits the UE.
    Acknowledge,
    /// HANDOVER PREPARATION FAILURE: the target refuses the UE.
    Failure,
    /// HANDOVER CANCEL: the source gives the handover up.
    Cancel,
}

impl HandoverMessage {
    /// Reads a message; `None` for another one, and for one whose cell cannot be read.
    #[must_use]
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let pdu = PduView::read(Protocol::X2ap, octets)?;
        match (pdu.procedure_code, pdu.kind) {
            (PROCEDURE_HANDOVER_PREPARATION, MessageKind::InitiatingMessage) => {
                let target: EcgiIe = per::decode(pdu.ie(IE_TARGET_CELL_ID)?, 0).ok()?;
                let EcgiIe { plmn_identity, identity: eutra_cell_identity, .. } = target;
                Some(HandoverMessage::Request(EutraCgi { plmn_identity, eutra_cell_identity }))
            }
            (PROCEDURE_HANDOVER_PREPARATION, MessageKind::SuccessfulOutcome) => Some(HandoverMessage::Acknowledge),
            (PROCEDURE_HANDOVER_PREPARATION, MessageKind::UnsuccessfulOutcome) => Some(HandoverMessage::Failure),
            (PROCEDURE_HANDOVER_CANCEL, MessageKind::InitiatingMessage) => Some(HandoverMessage::Cancel),
            _ => None,
        }
    }
}

/// A bearer that the target is to take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoverBearer {
    /// The E-RAB ID, 0 to 15.
    pub id: u8,
    /// Its QCI.
    pub qci: u8,
    /// The address of the serving gateway.
    pub gateway: Ipv4Addr,
    /// The TEID there.
    pub teid: u32,
}

/// HANDOVER REQUEST (TS 36.423 9.1.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoverRequest {
    /// The UE at the source.
    pub old_enb_ue_x2ap_id: EnbUeX2apId,
    /// The cell that it comes from, and how long it was there, in seconds.
    pub source: (EutraCgi, u16),
    /// The target cell.
    pub target: EutraCgi,
    /// The UE's MME.
    pub gummei: Gummei,
    /// The UE there.
    pub mme_ue_s1ap_id: MmeUeS1apId,
    /// Its bearers, 1 to 256.
    pub bearers: Vec<HandoverBearer>,
}

impl HandoverRequest {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let (source, stayed_s) = self.source;
        let visited = LastVisitedCell::Eutran(LastVisitedEutranCell {
            cell: source.into(),
            cell_type: CellType { size: CellSize::Medium, ie_extensions: None },
            stayed_s: stayed_s.min(4095),
            ie_extensions: None,
        });
        let kind = MessageKind::InitiatingMessage;
        let ies = vec![
            ProtocolIe::new(IE_OLD_ENB_UE_X2AP_ID, Criticality::Reject, &self.old_enb_ue_x2ap_id)?,
            ProtocolIe::new(IE_CAUSE, Criticality::Ignore, &Cause::radio(HandoverCause::RadioReasons))?,
            ProtocolIe::new(IE_TARGET_CELL_ID, Criticality::Reject, &EcgiIe::from(self.target))?,
            ProtocolIe::new(IE_GUMMEI, Criticality::Reject, &GummeiIe::from(self.gummei))?,
            ProtocolIe::new(IE_UE_CONTEXT_INFORMATION, Criticality::Reject, &self.context()?)?,
            ProtocolIe::new(IE_UE_HISTORY_INFORMATION, Criticality::Ignore, &UeHistory(vec![visited].into()))?,
        ];
        Pdu::new(kind, PROCEDURE_HANDOVER_PREPARATION, Criticality::Reject, ies)?.encode(Protocol::X2ap)
    }

    fn context(&self) -> Result<UeContextInformation<'static>, per::Error> {
        let bearer = |bearer: &HandoverBearer| {
            let item = BearerToSetUp {
                id: ErabId(bearer.id),
                qos: QosParameters {
                    qci: bearer.qci,
                    arp: Arp {
                        priority_level: PRIORITY,
                        pre_emption_capability: PreEmption::No,
                        pre_emption_vulnerability: PreEmption::No,
                        ie_extensions: None,
                    },
                    gbr: None,
                    ie_extensions: None,
                },
                forwarding: None,
                gateway: GtpTunnel {
                    address: TransportLayerAddress(BitString::new(u32::from(bearer.gateway).into(), 32)),
                    teid: bearer.teid.to_be_bytes(),
                    ie_extensions: None,
                },
                ie_extensions: None,
            };
            ProtocolIe::new(IE_E_RABS_TO_BE_SETUP_ITEM, Criticality::Ignore, &item)
        };
        let none = Bits::new(0, 16);
        Ok(UeContextInformation {
            mme_ue_s1ap_id: self.mme_ue_s1ap_id,
            security_capabilities: SecurityCapabilities { encryption: none, integrity: none, ie_extensions: None },
            security: AsSecurity {
                key: BitString::Long { octets: vec![0; 32].into(), count: 256 },
                ncc: 0,
                ie_extensions: None,
            },
            ambr: UeAmbr { dl: BitRate(UNLIMITED_BPS), ul: BitRate(UNLIMITED_BPS), ie_extensions: None },
            subscriber_profile: None,
            bearers: self.bearers.iter().map(bearer).collect::<Result<Vec<_>, _>>()?.into(),
            rrc_context: PREPARATION_INFORMATION.to_vec().into(),
            restrictions: None,
            location_reporting: None,
            ie_extensions: None,
        })
    }
}

/// HANDOVER REQUEST ACKNOWLEDGE (TS 36.423 9.1.1.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoverRequestAcknowledge {
    /// The UE at the source.
    pub old_enb_ue_x2ap_id: EnbUeX2apId,
    /// The UE at the target.
    pub new_enb_ue_x2ap_id: EnbUeX2apId,
    /// The E-RAB IDs of the admitted bearers, 1 to 256.
    pub bearers: Vec<u8>,
}

impl HandoverRequestAcknowledge {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let bearer = |id: &u8| {
            let item = AdmittedBearer { id: ErabId(*id), uplink: None, downlink: None, ie_extensions: None };
            ProtocolIe::new(IE_E_RABS_ADMITTED_ITEM, Criticality::Ignore, &item)
        };
        let bearers = AdmittedBearers(self.bearers.iter().map(bearer).collect::<Result<Vec<_>, _>>()?.into());
        let container: Octets<'_> = COMMAND.into();
        let ies = vec![
            ProtocolIe::new(IE_OLD_ENB_UE_X2AP_ID, Criticality::Ignore, &self.old_enb_ue_x2ap_id)?,
            ProtocolIe::new(IE_NEW_ENB_UE_X2AP_ID, Criticality::Ignore, &self.new_enb_ue_x2ap_id)?,
            ProtocolIe::new(IE_E_RABS_ADMITTED_LIST, Criticality::Ignore, &bearers)?,
            ProtocolIe::new(IE_TARGET_TO_SOURCE_CONTAINER, Criticality::Ignore, &Container(container))?,
        ];
        let kind = MessageKind::SuccessfulOutcome;
        Pdu::new(kind, PROCEDURE_HANDOVER_PREPARATION, Criticality::Reject, ies)?.encode(Protocol::X2ap)
    }
}

/// Why a handover is requested, refused or cancelled: values of CauseRadioNetwork (TS 36.423 9.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverCause {
    /// The handover is desirable for radio reasons.
    RadioReasons = 0,
    /// The UE has not accessed the target in time.
    OverallExpiry = 9,
    /// The target cell admits no UE.
    CellNotAvailable = 11,
    /// The target cell is full.
    NoRadioResources = 12,
    /// Another reason.
    Unspecified = 21,
}

/// HANDOVER PREPARATION FAILURE (TS 36.423 9.1.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoverPreparationFailure {
    /// The UE at the source.
    pub old_enb_ue_x2ap_id: EnbUeX2apId,
    /// Why.
    pub cause: HandoverCause,
}

impl HandoverPreparationFailure {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let ies = vec![
            ProtocolIe::new(IE_OLD_ENB_UE_X2AP_ID, Criticality::Ignore, &self.old_enb_ue_x2ap_id)?,
            ProtocolIe::new(IE_CAUSE, Criticality::Ignore, &Cause::radio(self.cause))?,
        ];
        let kind = MessageKind::UnsuccessfulOutcome;
        Pdu::new(kind, PROCEDURE_HANDOVER_PREPARATION, Criticality::Reject, ies)?.encode(Protocol::X2ap)
    }
}

/// HANDOVER CANCEL (TS 36.423 9.1.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoverCancel {
    /// The UE at the source.
    pub old_enb_ue_x2ap_id: EnbUeX2apId,
    /// The UE at the target.
    pub new_enb_ue_x2ap_id: EnbUeX2apId,
    /// Why.
    pub cause: HandoverCause,
}

impl HandoverCancel {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let ies = vec![
            ProtocolIe::new(IE_OLD_ENB_UE_X2AP_ID, Criticality::Reject, &self.old_enb_ue_x2ap_id)?,
            ProtocolIe::new(IE_NEW_ENB_UE_X2AP_ID, Criticality::Ignore, &self.new_enb_ue_x2ap_id)?,
            ProtocolIe::new(IE_CAUSE, Criticality::Ignore, &Cause::radio(self.cause))?,
        ];
        let kind = MessageKind::InitiatingMessage;
        Pdu::new(kind, PROCEDURE_HANDOVER_CANCEL, Criticality::Ignore, ies)?.encode(Protocol::X2ap)
    }
}

/// ECGI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
struct EcgiIe {
    plmn_identity: PlmnIdentity,
    #[per(size = 28..=28)]
    identity: Bits,
    ie_extensions: Option<Unused>,
}

impl From<EutraCgi> for EcgiIe {
    fn from(cell: EutraCgi) -> Self {
        EcgiIe { plmn_identity: cell.plmn_identity, identity: cell.eutra_cell_identity, ie_extensions: None }
    }
}

/// GUMMEI: unlike [`Gummei`], it has a group of the MME with its network.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct GummeiIe {
    group: GuGroupId,
    mme_code: [u8; 1],
    ie_extensions: Option<Unused>,
}

/// GU-Group-ID.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct GuGroupId {
    plmn_identity: PlmnIdentity,
    mme_group_id: [u8; 2],
    ie_extensions: Option<Unused>,
}

impl From<Gummei> for GummeiIe {
    fn from(gummei: Gummei) -> Self {
        let Gummei { plmn_identity, mme_group_id, mme_code } = gummei;
        GummeiIe {
            group: GuGroupId { plmn_identity, mme_group_id, ie_extensions: None },
            mme_code,
            ie_extensions: None,
        }
    }
}

/// Cause.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
enum Cause {
    Radio(RadioCause),
    Transport(Unused),
    Protocol(Unused),
    Misc(Unused),
}

impl Cause {
    fn radio(cause: HandoverCause) -> Self {
        Cause::Radio(RadioCause(cause as u8))
    }
}

/// CauseRadioNetwork: the number of a value.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=21, extensible)]
struct RadioCause(u8);

/// UE-HistoryInformation.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=16)]
struct UeHistory<'a>(List<'a, LastVisitedCell<'a>>);

/// LastVisitedCell-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
enum LastVisitedCell<'a> {
    Eutran(LastVisitedEutranCell),
    Utran(Octets<'a>),
    Geran(Unused),
}

/// LastVisitedEUTRANCellInformation (TS 36.413 9.2.1.43).
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct LastVisitedEutranCell {
    cell: EcgiIe,
    cell_type: CellType,
    #[per(range = 0..=4095)]
    stayed_s: u16,
    ie_extensions: Option<Unused>,
}

/// CellType.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct CellType {
    size: CellSize,
    ie_extensions: Option<Unused>,
}

/// Cell-Size.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
#[allow(dead_code, reason = "cells of the model have one size")]
enum CellSize {
    VerySmall,
    Small,
    Medium,
    Large,
}

/// UE-ContextInformation.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct UeContextInformation<'a> {
    mme_ue_s1ap_id: MmeUeS1apId,
    security_capabilities: SecurityCapabilities,
    security: AsSecurity<'a>,
    ambr: UeAmbr,
    subscriber_profile: Option<Unused>,
    #[per(size = 1..=256)]
    bearers: List<'a, ProtocolIe<'a>>,
    rrc_context: Octets<'a>,
    restrictions: Option<Unused>,
    location_reporting: Option<Unused>,
    ie_extensions: Option<Unused>,
}

/// UESecurityCapabilities.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct SecurityCapabilities {
    #[per(size = 16..=16, extensible)]
    encryption: Bits,
    #[per(size = 16..=16, extensible)]
    integrity: Bits,
    ie_extensions: Option<Unused>,
}

/// AS-SecurityInformation.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct AsSecurity<'a> {
    #[per(size = 256..=256)]
    key: BitString<'a>,
    #[per(range = 0..=7)]
    ncc: u8,
    ie_extensions: Option<Unused>,
}

/// UEAggregateMaximumBitRate.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct UeAmbr {
    dl: BitRate,
    ul: BitRate,
    ie_extensions: Option<Unused>,
}

/// BitRate.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=10_000_000_000)]
struct BitRate(i64);

/// E-RABs-ToBeSetup-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct BearerToSetUp<'a> {
    id: ErabId,
    qos: QosParameters,
    forwarding: Option<Unused>,
    gateway: GtpTunnel<'a>,
    ie_extensions: Option<Unused>,
}

/// E-RAB-ID.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=15, extensible)]
struct ErabId(u8);

/// E-RAB-Level-QoS-Parameters.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct QosParameters {
    qci: u8,
    arp: Arp,
    gbr: Option<Unused>,
    ie_extensions: Option<Unused>,
}

/// AllocationAndRetentionPriority.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct Arp {
    #[per(range = 0..=15)]
    priority_level: u8,
    pre_emption_capability: PreEmption,
    pre_emption_vulnerability: PreEmption,
    ie_extensions: Option<Unused>,
}

/// Pre-emption capability and vulnerability.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[allow(dead_code, reason = "no bearer pre-empts another")]
enum PreEmption {
    No,
    Yes,
}

/// GTPtunnelEndpoint.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct GtpTunnel<'a> {
    address: TransportLayerAddress<'a>,
    teid: [u8; 4],
    ie_extensions: Option<Unused>,
}

/// TransportLayerAddress.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=160, extensible)]
struct TransportLayerAddress<'a>(BitString<'a>);

/// E-RABs-Admitted-List.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=256)]
struct AdmittedBearers<'a>(List<'a, ProtocolIe<'a>>);

/// E-RABs-Admitted-Item.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct AdmittedBearer {
    id: ErabId,
    uplink: Option<Unused>,
    downlink: Option<Unused>,
    ie_extensions: Option<Unused>,
}

/// A container: an OCTET STRING.
#[derive(Clone, Debug, PartialEq, Per)]
struct Container<'a>(Octets<'a>);

/// The octets are those of an independent encoder (pycrate 0.8.1).
#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_vectors::unhex;

    const REQUEST: &str = "0000008086000006000a00020003000540020000000b00080000f11000e01010001700070000f110000101000e004c060e00\
        0003000000000000000000000000000000000000000000000000000000000000000000000000000402540be4008002540be4\
        00000004400e0500092003e0c613000100000004020000000f400c000000f11000e0001100000c";
    const ACKNOWLEDGE: &str = "20000024000004000a400200030009400201040001400700000040020280000c4006050019000000";
    const FAILURE: &str = "4000000f000002000a40020003000540020600";
    const CANCEL: &str = "00014015000003000a00020003000940020104000540020480";

    fn cell(identity: u64) -> EutraCgi {
        EutraCgi { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), eutra_cell_identity: Bits::new(identity, 28) }
    }

    /// Each message, its octets, and what it says.
    fn messages() -> [(Vec<u8>, &'static str, HandoverMessage); 4] {
        let [old, new] = [3, 260].map(EnbUeX2apId);
        let request = HandoverRequest {
            old_enb_ue_x2ap_id: old,
            source: (cell(0xe_0001), 12),
            target: cell(0xe_0101),
            gummei: Gummei { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), mme_group_id: [0, 1], mme_code: [1] },
            mme_ue_s1ap_id: MmeUeS1apId(0xe00_0003),
            bearers: vec![HandoverBearer { id: 5, qci: 9, gateway: [198, 19, 0, 1].into(), teid: 4 }],
        };
        let acknowledge =
            HandoverRequestAcknowledge { old_enb_ue_x2ap_id: old, new_enb_ue_x2ap_id: new, bearers: vec![5] };
        let failure = HandoverPreparationFailure { old_enb_ue_x2ap_id: old, cause: HandoverCause::NoRadioResources };
        let cancel =
            HandoverCancel { old_enb_ue_x2ap_id: old, new_enb_ue_x2ap_id: new, cause: HandoverCause::OverallExpiry };
        [
            (request.encode().unwrap(), REQUEST, HandoverMessage::Request(cell(0xe_0101))),
            (acknowledge.encode().unwrap(), ACKNOWLEDGE, HandoverMessage::Acknowledge),
            (failure.encode().unwrap(), FAILURE, HandoverMessage::Failure),
            (cancel.encode().unwrap(), CANCEL, HandoverMessage::Cancel),
        ]
    }

    #[test]
    fn messages_match_vectors() {
        for (encoded, octets, said) in messages() {
            assert_eq!(encoded, unhex(octets), "{said:?}");
            assert_eq!(HandoverMessage::decode(&encoded), Some(said));
        }
    }

    #[test]
    fn other_messages_are_not_read() {
        let release =
            super::super::UeContextRelease { old_enb_ue_x2ap_id: EnbUeX2apId(1), new_enb_ue_x2ap_id: EnbUeX2apId(2) };
        assert_eq!(HandoverMessage::decode(&release.encode().unwrap()), None);
        let request = unhex(REQUEST);
        for length in 0..request.len() {
            // a shorter message has no target, or is none
            assert_eq!(HandoverMessage::decode(&request[..length]), None, "{length}");
        }
    }
}
