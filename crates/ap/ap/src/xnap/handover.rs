//! Handover preparation and cancel (TS 38.423 8.2.1 and 8.2.3).
//!
//! Requests have the context of a UE with sessions for IPv4 and without security: null algorithms and a key of zeros. The containers
//! of RRC are its shortest messages.

#[cfg(test)]
mod tests;

use std::net::Ipv4Addr;

use ids::{AmfUeNgapId, Cgi, EutraCgi, Guami, NgRanNodeUeXnapId, NrCgi, PlmnIdentity, SNssai};
use per::{BitString, Bits, List, Octets, Per};

use super::{
    IE_SOURCE_NG_RAN_NODE_UE_XNAP_ID, IE_TARGET_CELL_GLOBAL_ID, IE_TARGET_NG_RAN_NODE_UE_XNAP_ID,
    PROCEDURE_HANDOVER_CANCEL, PROCEDURE_HANDOVER_PREPARATION,
};
use crate::common::{SNssaiIe, Unused};
use crate::{Criticality, MessageKind, Pdu, PduView, Protocol, ProtocolIe};

const IE_CAUSE: u16 = 7;
const IE_GUAMI: u16 = 15;
const IE_PDU_SESSION_RESOURCES_ADMITTED: u16 = 42;
const IE_TARGET_TO_SOURCE_CONTAINER: u16 = 77;
const IE_UE_CONTEXT_INFO: u16 = 83;
const IE_UE_HISTORY: u16 = 88;
const IE_CHO_INFORMATION_REQ: u16 = 158;
const IE_CHO_INFORMATION_ACK: u16 = 159;
const IE_TARGET_CELLS_TO_CANCEL: u16 = 160;
const IE_REQUESTED_TARGET_CELL: u16 = 161;

/// HandoverPreparationInformation (TS 38.331 11.2.2) without capabilities and configurations.
const PREPARATION_INFORMATION: &[u8] = &[0, 0];
/// HandoverCommand (TS 38.331 11.2.2) with an RRCReconfiguration that changes nothing.
const COMMAND: &[u8] = &[0, 0x20, 0, 0];
/// The largest bit rate, in bit/s: no limit.
const UNLIMITED_BPS: i64 = 4_000_000_000_000;
/// The allocation and retention priority of flows (the same of all).
const PRIORITY: u8 = 8;

/// What a message between the source and the target says of a handover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandoverMessage {
    /// HANDOVER REQUEST: the source asks the target to prepare this cell.
    Request {
        /// The target cell.
        target: Cgi,
        /// Whether it is a candidate of a conditional handover.
        is_conditional: bool,
    },
    /// HANDOVER REQUEST ACKNOWLEDGE: the target is prepared, and the source will command the UE.
    Acknowledge {
        /// The cell, if the handover is conditional: then the UE begins it by itself.
        candidate: Option<Cgi>,
    },
    /// HANDOVER PREPARATION FAILURE: the target refuses.
    Failure {
        /// The cell, if the handover is conditional.
        candidate: Option<Cgi>,
    },
    /// HANDOVER CANCEL: the source gives the handover up.
    Cancel {
        /// The cells, if the handover is conditional and not given up as a whole.
        candidates: Vec<Cgi>,
    },
}

impl HandoverMessage {
    /// Reads a message; `None` for another one, and for one whose cells cannot be read.
    #[must_use]
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let pdu = PduView::read(Protocol::Xnap, octets)?;
        match (pdu.procedure_code, pdu.kind) {
            (PROCEDURE_HANDOVER_PREPARATION, MessageKind::InitiatingMessage) => {
                let target: TargetCgi = per::decode(pdu.ie(IE_TARGET_CELL_GLOBAL_ID)?, 0).ok()?;
                let is_conditional = pdu.ie(IE_CHO_INFORMATION_REQ).is_some();
                Some(HandoverMessage::Request { target: target.cell()?, is_conditional })
            }
            (PROCEDURE_HANDOVER_PREPARATION, MessageKind::SuccessfulOutcome) => {
                let candidate = match pdu.ie(IE_CHO_INFORMATION_ACK) {
                    Some(octets) => Some(per::decode::<ChoInformationAck<'_>>(octets, 0).ok()?.target.cell()?),
                    None => None,
                };
                Some(HandoverMessage::Acknowledge { candidate })
            }
            (PROCEDURE_HANDOVER_PREPARATION, MessageKind::UnsuccessfulOutcome) => {
                let candidate = match pdu.ie(IE_REQUESTED_TARGET_CELL) {
                    Some(octets) => Some(per::decode::<TargetCgi>(octets, 0).ok()?.cell()?),
                    None => None,
                };
                Some(HandoverMessage::Failure { candidate })
            }
            (PROCEDURE_HANDOVER_CANCEL, MessageKind::InitiatingMessage) => {
                let candidates = match pdu.ie(IE_TARGET_CELLS_TO_CANCEL) {
                    Some(octets) => {
                        let TargetCells(cells) = per::decode(octets, 0).ok()?;
                        cells.iter().map(|item| item.target.cell()).collect::<Option<_>>()?
                    }
                    None => Vec::new(),
                };
                Some(HandoverMessage::Cancel { candidates })
            }
            _ => None,
        }
    }
}

/// The end of a GTP tunnel at the UPF, and the flows in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoverSession {
    /// The PDU session ID.
    pub id: u8,
    /// Its slice.
    pub s_nssai: SNssai,
    /// The address of the UPF.
    pub gateway: Ipv4Addr,
    /// The TEID at the UPF.
    pub teid: u32,
    /// QFI and 5QI of each QoS flow, 1 to 64.
    pub flows: Vec<(u8, u8)>,
}

/// HANDOVER REQUEST (TS 38.423 9.1.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoverRequest {
    /// The UE at the source.
    pub source_ng_ran_node_ue_xnap_id: NgRanNodeUeXnapId,
    /// The cell that it comes from, and how long it was there, in seconds.
    pub source: (NrCgi, u16),
    /// The target cell.
    pub target: NrCgi,
    /// The UE's AMF.
    pub guami: Guami,
    /// The UE there.
    pub amf_ue_ngap_id: AmfUeNgapId,
    /// The address of the source for signalling.
    pub address: Ipv4Addr,
    /// Its sessions, 1 to 256.
    pub sessions: Vec<HandoverSession>,
    /// Whether the target is a candidate of a conditional handover.
    pub is_conditional: bool,
}

impl HandoverRequest {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let (source, stayed_s) = self.source;
        let mut visited = Vec::new();
        let of_source = LastVisitedNgRanCell {
            cell: NgRanCgi::Nr(source.into()),
            cell_type: CellType { size: CellSize::Medium, ie_extensions: None },
            stayed_s: stayed_s.min(4095),
            stayed_exactly: None,
            handover_cause: None,
            ie_extensions: None,
        };
        per::encode(&of_source, 0, &mut visited)?;
        let history = UeHistory(vec![LastVisitedCell::NgRan(visited.into())].into());
        let mut ies = vec![
            ProtocolIe::new(
                IE_SOURCE_NG_RAN_NODE_UE_XNAP_ID,
                Criticality::Reject,
                &self.source_ng_ran_node_ue_xnap_id,
            )?,
            ProtocolIe::new(IE_CAUSE, Criticality::Reject, &Cause::radio(HandoverCause::RadioReasons))?,
            ProtocolIe::new(IE_TARGET_CELL_GLOBAL_ID, Criticality::Reject, &TargetCgi::Nr(self.target.into()))?,
            ProtocolIe::new(IE_GUAMI, Criticality::Reject, &GuamiIe::from(self.guami))?,
            ProtocolIe::new(IE_UE_CONTEXT_INFO, Criticality::Reject, &self.context())?,
            ProtocolIe::new(IE_UE_HISTORY, Criticality::Ignore, &history)?,
        ];
        if self.is_conditional {
            let information = ChoInformationReq {
                trigger: ChoTrigger::Initiation,
                target_id: None,
                probability: None,
                ie_extensions: None,
            };
            ies.push(ProtocolIe::new(IE_CHO_INFORMATION_REQ, Criticality::Reject, &information)?);
        }
        let kind = MessageKind::InitiatingMessage;
        Pdu::new(kind, PROCEDURE_HANDOVER_PREPARATION, Criticality::Reject, ies)?.encode(Protocol::Xnap)
    }

    fn context(&self) -> UeContextInfo<'static> {
        let session = |session: &HandoverSession| {
            let flow = |(qfi, five_qi): &(u8, u8)| FlowToSetUp {
                qfi: Qfi(*qfi),
                qos: QosParameters {
                    characteristics: Characteristics::NonDynamic(NonDynamic {
                        five_qi: FiveQi(*five_qi),
                        priority_level: None,
                        averaging_window: None,
                        maximum_burst: None,
                        ie_extensions: None,
                    }),
                    arp: Arp {
                        priority_level: PriorityLevel(PRIORITY),
                        pre_emption_capability: PreEmption::No,
                        pre_emption_vulnerability: PreEmption::No,
                        ie_extensions: None,
                    },
                    gbr: None,
                    reflective: None,
                    additional: None,
                    ie_extensions: None,
                },
                e_rab_id: None,
                ie_extensions: None,
            };
            SessionToSetUp {
                id: session.id,
                s_nssai: SNssaiIe::from(&session.s_nssai),
                ambr: None,
                gateway: UpTnl::GtpTunnel(GtpTunnelIe {
                    address: TransportLayerAddress(BitString::new(u32::from(session.gateway).into(), 32)),
                    teid: session.teid.to_be_bytes(),
                    ie_extensions: None,
                }),
                source_downlink: None,
                security: None,
                session_type: PduSessionType::Ipv4,
                network_instance: None,
                flows: session.flows.iter().map(flow).collect::<Vec<_>>().into(),
                forwarding: None,
                ie_extensions: None,
            }
        };
        let none = Bits::new(0, 16);
        UeContextInfo {
            amf_ue_ngap_id: self.amf_ue_ngap_id,
            signalling: CpTnl::Address(TransportLayerAddress(BitString::new(u32::from(self.address).into(), 32))),
            security_capabilities: SecurityCapabilities {
                nr_encryption: none,
                nr_integrity: none,
                eutra_encryption: none,
                eutra_integrity: none,
                ie_extensions: None,
            },
            security: AsSecurity {
                key: BitString::Long { octets: vec![0; 32].into(), count: 256 },
                ncc: 0,
                ie_extensions: None,
            },
            rat_frequency_priority: None,
            ambr: UeAmbr { dl: BitRate(UNLIMITED_BPS), ul: BitRate(UNLIMITED_BPS), ie_extensions: None },
            sessions: self.sessions.iter().map(session).collect::<Vec<_>>().into(),
            rrc_context: PREPARATION_INFORMATION.to_vec().into(),
            location_reporting: None,
            restrictions: None,
            ie_extensions: None,
        }
    }
}

/// HANDOVER REQUEST ACKNOWLEDGE (TS 38.423 9.1.1.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoverRequestAcknowledge {
    /// The UE at the source.
    pub source_ng_ran_node_ue_xnap_id: NgRanNodeUeXnapId,
    /// The UE at the target.
    pub target_ng_ran_node_ue_xnap_id: NgRanNodeUeXnapId,
    /// The admitted sessions, 1 to 256, each with its QFIs.
    pub sessions: Vec<(u8, Vec<u8>)>,
    /// The cell, if the handover is conditional.
    pub candidate: Option<NrCgi>,
}

impl HandoverRequestAcknowledge {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let [source, target] = [self.source_ng_ran_node_ue_xnap_id, self.target_ng_ran_node_ue_xnap_id];
        let session = |(id, qfis): &(u8, Vec<u8>)| {
            let flow = |qfi: &u8| AdmittedFlow { qfi: Qfi(*qfi), ie_extensions: None };
            AdmittedSession {
                id: *id,
                admitted: AdmittedInfo {
                    unchanged: None,
                    flows: qfis.iter().map(flow).collect::<Vec<_>>().into(),
                    not_admitted: None,
                    forwarding: None,
                    ie_extensions: None,
                },
                ie_extensions: None,
            }
        };
        let sessions = AdmittedSessions(self.sessions.iter().map(session).collect::<Vec<_>>().into());
        let container: Octets<'_> = COMMAND.into();
        let mut ies = vec![
            ProtocolIe::new(IE_SOURCE_NG_RAN_NODE_UE_XNAP_ID, Criticality::Ignore, &source)?,
            ProtocolIe::new(IE_TARGET_NG_RAN_NODE_UE_XNAP_ID, Criticality::Ignore, &target)?,
            ProtocolIe::new(IE_PDU_SESSION_RESOURCES_ADMITTED, Criticality::Ignore, &sessions)?,
            ProtocolIe::new(IE_TARGET_TO_SOURCE_CONTAINER, Criticality::Ignore, &Container(container))?,
        ];
        if let Some(cell) = self.candidate {
            let acknowledge =
                ChoInformationAck { target: TargetCgi::Nr(cell.into()), most_preparations: None, ie_extensions: None };
            ies.push(ProtocolIe::new(IE_CHO_INFORMATION_ACK, Criticality::Reject, &acknowledge)?);
        }
        let kind = MessageKind::SuccessfulOutcome;
        Pdu::new(kind, PROCEDURE_HANDOVER_PREPARATION, Criticality::Reject, ies)?.encode(Protocol::Xnap)
    }
}

/// Why a handover is requested, refused or cancelled: values of CauseRadioNetworkLayer (TS 38.423 9.2.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverCause {
    /// The target cell admits no UE.
    CellNotAvailable = 0,
    /// The handover is desirable for radio reasons.
    RadioReasons = 1,
    /// The target cell is full.
    NoRadioResources = 4,
    /// The UE has not accessed the target in time.
    OverallExpiry = 9,
    /// The source has given the handover up.
    ProcedureCancelled = 32,
    /// The source has lost the UE.
    ConnectionLost = 36,
}

/// HANDOVER PREPARATION FAILURE (TS 38.423 9.1.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoverPreparationFailure {
    /// The UE at the source.
    pub source_ng_ran_node_ue_xnap_id: NgRanNodeUeXnapId,
    /// Why.
    pub cause: HandoverCause,
    /// The cell, if the handover is conditional.
    pub candidate: Option<NrCgi>,
}

impl HandoverPreparationFailure {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let source = self.source_ng_ran_node_ue_xnap_id;
        let mut ies = vec![
            ProtocolIe::new(IE_SOURCE_NG_RAN_NODE_UE_XNAP_ID, Criticality::Ignore, &source)?,
            ProtocolIe::new(IE_CAUSE, Criticality::Ignore, &Cause::radio(self.cause))?,
        ];
        if let Some(cell) = self.candidate {
            let cell = TargetCgi::Nr(cell.into());
            ies.push(ProtocolIe::new(IE_REQUESTED_TARGET_CELL, Criticality::Reject, &cell)?);
        }
        let kind = MessageKind::UnsuccessfulOutcome;
        Pdu::new(kind, PROCEDURE_HANDOVER_PREPARATION, Criticality::Reject, ies)?.encode(Protocol::Xnap)
    }
}

/// HANDOVER CANCEL (TS 38.423 9.1.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoverCancel {
    /// The UE at the source.
    pub source_ng_ran_node_ue_xnap_id: NgRanNodeUeXnapId,
    /// The UE at the target.
    pub target_ng_ran_node_ue_xnap_id: NgRanNodeUeXnapId,
    /// Why.
    pub cause: HandoverCause,
    /// The cell, if the handover is conditional.
    pub candidate: Option<NrCgi>,
}

impl HandoverCancel {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let [source, target] = [self.source_ng_ran_node_ue_xnap_id, self.target_ng_ran_node_ue_xnap_id];
        let mut ies = vec![
            ProtocolIe::new(IE_SOURCE_NG_RAN_NODE_UE_XNAP_ID, Criticality::Reject, &source)?,
            ProtocolIe::new(IE_TARGET_NG_RAN_NODE_UE_XNAP_ID, Criticality::Ignore, &target)?,
            ProtocolIe::new(IE_CAUSE, Criticality::Ignore, &Cause::radio(self.cause))?,
        ];
        if let Some(cell) = self.candidate {
            let cells = vec![TargetCell { target: TargetCgi::Nr(cell.into()), ie_extensions: None }];
            ies.push(ProtocolIe::new(IE_TARGET_CELLS_TO_CANCEL, Criticality::Reject, &TargetCells(cells.into()))?);
        }
        let kind = MessageKind::InitiatingMessage;
        Pdu::new(kind, PROCEDURE_HANDOVER_CANCEL, Criticality::Ignore, ies)?.encode(Protocol::Xnap)
    }
}

/// ProtocolExtensionContainer: extensions are read over.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=65535)]
struct Extensions<'a>(List<'a, ProtocolIe<'a>>);

/// Target-CGI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
enum TargetCgi {
    Nr(NrCgiIe),
    Eutra(EutraCgiIe),
    Extensions(Unused),
}

impl TargetCgi {
    fn cell(self) -> Option<Cgi> {
        match self {
            TargetCgi::Nr(cell) => Some(Cgi::NrCgi(NrCgi::new(cell.plmn_identity, cell.identity.value))),
            TargetCgi::Eutra(EutraCgiIe { plmn_identity, identity: eutra_cell_identity, .. }) => {
                Some(Cgi::EutraCgi(EutraCgi { plmn_identity, eutra_cell_identity }))
            }
            TargetCgi::Extensions(_) => None,
        }
    }
}

/// NR-CGI of XnAP and NGAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
struct NrCgiIe {
    plmn_identity: PlmnIdentity,
    #[per(size = 36..=36)]
    identity: Bits,
    ie_extensions: Option<Unused>,
}

impl From<NrCgi> for NrCgiIe {
    fn from(cell: NrCgi) -> Self {
        NrCgiIe { plmn_identity: cell.plmn_identity, identity: cell.nr_cell_identity, ie_extensions: None }
    }
}

/// E-UTRA-CGI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
struct EutraCgiIe {
    plmn_identity: PlmnIdentity,
    #[per(size = 28..=28)]
    identity: Bits,
    ie_extensions: Option<Unused>,
}

/// TargetCellList.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=8)]
struct TargetCells<'a>(List<'a, TargetCell<'a>>);

/// TargetCellList-Item, which has no extension marker.
#[derive(Clone, Debug, PartialEq, Per)]
struct TargetCell<'a> {
    target: TargetCgi,
    ie_extensions: Option<Extensions<'a>>,
}

/// CHOinformation-Req.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct ChoInformationReq<'a> {
    trigger: ChoTrigger,
    target_id: Option<NgRanNodeUeXnapId>,
    probability: Option<Unused>,
    ie_extensions: Option<Extensions<'a>>,
}

/// CHOtrigger.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
#[allow(dead_code, reason = "candidates are not replaced")]
enum ChoTrigger {
    Initiation,
    Replace,
}

/// CHOinformation-Ack.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct ChoInformationAck<'a> {
    target: TargetCgi,
    most_preparations: Option<Preparations>,
    ie_extensions: Option<Extensions<'a>>,
}

/// MaxCHOpreparations.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 1..=8, extensible)]
struct Preparations(u8);

/// Cause.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
enum Cause {
    Radio(RadioCause),
    Transport(Unused),
    Protocol(Unused),
    Misc(Unused),
    Extensions(Unused),
}

impl Cause {
    fn radio(cause: HandoverCause) -> Self {
        Cause::Radio(RadioCause(cause as u8))
    }
}

/// CauseRadioNetworkLayer: the number of a value.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=52, extensible)]
struct RadioCause(u8);

/// GUAMI: unlike [`Guami`], it has protocol extensions.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct GuamiIe {
    plmn_identity: PlmnIdentity,
    #[per(size = 8..=8)]
    amf_region_id: Bits,
    #[per(size = 10..=10)]
    amf_set_id: Bits,
    #[per(size = 6..=6)]
    amf_pointer: Bits,
    ie_extensions: Option<Unused>,
}

impl From<Guami> for GuamiIe {
    fn from(guami: Guami) -> Self {
        let Guami { plmn_identity, amf_region_id, amf_set_id, amf_pointer } = guami;
        GuamiIe { plmn_identity, amf_region_id, amf_set_id, amf_pointer, ie_extensions: None }
    }
}

/// UEHistoryInformation.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=16)]
struct UeHistory<'a>(List<'a, LastVisitedCell<'a>>);

/// LastVisitedCell-Item.
#[derive(Clone, Debug, PartialEq, Per)]
enum LastVisitedCell<'a> {
    NgRan(Octets<'a>),
    Eutran(Octets<'a>),
    Utran(Octets<'a>),
    Geran(Octets<'a>),
    Extensions(Unused),
}

/// LastVisitedNGRANCellInformation (TS 38.413 9.3.1.97).
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct LastVisitedNgRanCell {
    cell: NgRanCgi,
    cell_type: CellType,
    #[per(range = 0..=4095)]
    stayed_s: u16,
    stayed_exactly: Option<Unused>,
    handover_cause: Option<Unused>,
    ie_extensions: Option<Unused>,
}

/// NGRAN-CGI.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
enum NgRanCgi {
    Nr(NrCgiIe),
    Eutra(EutraCgiIe),
    Extensions(Unused),
}

/// CellType.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct CellType {
    size: CellSize,
    ie_extensions: Option<Unused>,
}

/// CellSize.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
#[allow(dead_code, reason = "cells of the model have one size")]
enum CellSize {
    VerySmall,
    Small,
    Medium,
    Large,
}

/// UEContextInfoHORequest.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct UeContextInfo<'a> {
    amf_ue_ngap_id: AmfUeNgapId,
    signalling: CpTnl<'a>,
    security_capabilities: SecurityCapabilities,
    security: AsSecurity<'a>,
    rat_frequency_priority: Option<Unused>,
    ambr: UeAmbr,
    #[per(size = 1..=256)]
    sessions: List<'a, SessionToSetUp<'a>>,
    rrc_context: Octets<'a>,
    location_reporting: Option<Unused>,
    restrictions: Option<Unused>,
    ie_extensions: Option<Unused>,
}

/// CPTransportLayerInformation.
#[derive(Clone, Debug, PartialEq, Per)]
enum CpTnl<'a> {
    Address(TransportLayerAddress<'a>),
    Extensions(Unused),
}

/// TransportLayerAddress.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=160, extensible)]
struct TransportLayerAddress<'a>(BitString<'a>);

/// UESecurityCapabilities.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct SecurityCapabilities {
    #[per(size = 16..=16, extensible)]
    nr_encryption: Bits,
    #[per(size = 16..=16, extensible)]
    nr_integrity: Bits,
    #[per(size = 16..=16, extensible)]
    eutra_encryption: Bits,
    #[per(size = 16..=16, extensible)]
    eutra_integrity: Bits,
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
#[per(range = 0..=4_000_000_000_000, extensible)]
struct BitRate(i64);

/// PDUSessionResourcesToBeSetup-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct SessionToSetUp<'a> {
    id: u8,
    s_nssai: SNssaiIe,
    ambr: Option<Unused>,
    gateway: UpTnl<'a>,
    source_downlink: Option<Unused>,
    security: Option<Unused>,
    session_type: PduSessionType,
    network_instance: Option<Unused>,
    #[per(size = 1..=64)]
    flows: List<'a, FlowToSetUp>,
    forwarding: Option<Unused>,
    ie_extensions: Option<Unused>,
}

/// UPTransportLayerInformation.
#[derive(Clone, Debug, PartialEq, Per)]
enum UpTnl<'a> {
    GtpTunnel(GtpTunnelIe<'a>),
    Extensions(Unused),
}

/// GTPtunnelTransportLayerInformation.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct GtpTunnelIe<'a> {
    address: TransportLayerAddress<'a>,
    teid: [u8; 4],
    ie_extensions: Option<Unused>,
}

/// PDUSessionType.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
#[allow(dead_code, reason = "sessions are for IPv4")]
enum PduSessionType {
    Ipv4,
    Ipv6,
    Ipv4v6,
    Ethernet,
    Unstructured,
}

/// QoSFlowsToBeSetup-Item.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct FlowToSetUp {
    qfi: Qfi,
    qos: QosParameters,
    e_rab_id: Option<Unused>,
    ie_extensions: Option<Unused>,
}

/// QoSFlowIdentifier.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=63, extensible)]
struct Qfi(u8);

/// QoSFlowLevelQoSParameters.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct QosParameters {
    characteristics: Characteristics,
    arp: Arp,
    gbr: Option<Unused>,
    reflective: Option<Unused>,
    additional: Option<Unused>,
    ie_extensions: Option<Unused>,
}

/// QoSCharacteristics.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
enum Characteristics {
    NonDynamic(NonDynamic),
    Dynamic(Unused),
    Extensions(Unused),
}

/// NonDynamic5QIDescriptor.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct NonDynamic {
    five_qi: FiveQi,
    priority_level: Option<Unused>,
    averaging_window: Option<Unused>,
    maximum_burst: Option<Unused>,
    ie_extensions: Option<Unused>,
}

/// FiveQI.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=255, extensible)]
struct FiveQi(u8);

/// AllocationandRetentionPriority.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct Arp {
    priority_level: PriorityLevel,
    pre_emption_capability: PreEmption,
    pre_emption_vulnerability: PreEmption,
    ie_extensions: Option<Unused>,
}

/// priorityLevel.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=15, extensible)]
struct PriorityLevel(u8);

/// Pre-emption capability and vulnerability.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
#[allow(dead_code, reason = "no flow pre-empts another")]
enum PreEmption {
    No,
    Yes,
}

/// PDUSessionResourcesAdmitted-List.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=256)]
struct AdmittedSessions<'a>(List<'a, AdmittedSession<'a>>);

/// PDUSessionResourcesAdmitted-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct AdmittedSession<'a> {
    id: u8,
    admitted: AdmittedInfo<'a>,
    ie_extensions: Option<Unused>,
}

/// PDUSessionResourceAdmittedInfo.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct AdmittedInfo<'a> {
    unchanged: Option<Unused>,
    #[per(size = 1..=64)]
    flows: List<'a, AdmittedFlow>,
    not_admitted: Option<Unused>,
    forwarding: Option<Unused>,
    ie_extensions: Option<Unused>,
}

/// QoSFlowsAdmitted-Item.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct AdmittedFlow {
    qfi: Qfi,
    ie_extensions: Option<Unused>,
}

/// A container: an OCTET STRING.
#[derive(Clone, Debug, PartialEq, Per)]
struct Container<'a>(Octets<'a>);
