//! S1AP, between an eNB and the MME (TS 36.413).

use ids::{EnbId, EutraTac, GlobalEnbId, MmeUeS1apId, PlmnIdentity};
use per::{List, Per, Reader};

use crate::common::{NodeName, Unused, read_plmn, skip_extensions};
use crate::numeric_ie::table::{closed, int, list, open};
use crate::{Criticality, MessageKind, NumericIe, PagingDrx, Pdu, PduView, Protocol, ProtocolIe};

// TS 36.413 9.3.7
/// S1 Setup.
pub const PROCEDURE_S1_SETUP: u8 = 17;
/// UE Context Suspend.
pub const PROCEDURE_UE_CONTEXT_SUSPEND: u8 = 55;
/// UE Context Resume.
pub const PROCEDURE_UE_CONTEXT_RESUME: u8 = 56;
const IE_MME_UE_S1AP_ID: u16 = 0;
const IE_ENB_UE_S1AP_ID: u16 = 8;
const IE_GLOBAL_ENB_ID: u16 = 59;
const IE_ENB_NAME: u16 = 60;
const IE_MME_NAME: u16 = 61;
const IE_SUPPORTED_TAS: u16 = 64;
const IE_RELATIVE_MME_CAPACITY: u16 = 87;
const IE_SERVED_GUMMEIS: u16 = 105;
const IE_DEFAULT_PAGING_DRX: u16 = 137;

/// UE CONTEXT SUSPEND REQUEST (TS 36.413 9.1.4.23): the eNB suspends the context of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UeContextSuspendRequest(pub UeS1apIds);

/// UE CONTEXT RESUME REQUEST (TS 36.413 9.1.4.25): the eNB resumes the context of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UeContextResumeRequest(pub UeS1apIds);

/// A UE on S1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UeS1apIds {
    /// The UE at the MME.
    pub mme_ue_s1ap_id: MmeUeS1apId,
    /// The UE at the eNB: 24 bits.
    pub enb_ue_s1ap_id: u32,
}

impl UeContextSuspendRequest {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        self.0.encode(PROCEDURE_UE_CONTEXT_SUSPEND)
    }
}

impl UeContextResumeRequest {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        self.0.encode(PROCEDURE_UE_CONTEXT_RESUME)
    }
}

impl UeS1apIds {
    fn encode(self, procedure_code: u8) -> Result<Vec<u8>, per::Error> {
        let ies = vec![
            ProtocolIe::new(IE_MME_UE_S1AP_ID, Criticality::Reject, &self.mme_ue_s1ap_id)?,
            ProtocolIe::new(IE_ENB_UE_S1AP_ID, Criticality::Reject, &EnbUeS1apId(self.enb_ue_s1ap_id))?,
        ];
        Pdu::new(MessageKind::InitiatingMessage, procedure_code, Criticality::Reject, ies)?.encode(Protocol::S1ap)
    }
}

/// S1 SETUP REQUEST (TS 36.413 9.1.8.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S1SetupRequest<'a> {
    /// The eNB.
    pub global_enb_id: GlobalEnbId,
    /// Its name: 1 to 150 ASCII characters.
    pub enb_name: &'a str,
    /// Its only tracking area.
    pub tac: EutraTac,
    /// The networks broadcast there, 1 to 6.
    pub broadcast_plmns: &'a [PlmnIdentity],
    /// Its default paging cycle.
    pub default_paging_drx: PagingDrx,
}

impl S1SetupRequest<'_> {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let GlobalEnbId { plmn_identity, enb_id } = self.global_enb_id;
        let id = GlobalEnbIdIe { plmn_identity, enb_id, ie_extensions: None };
        let broadcast_plmns = self.broadcast_plmns.to_vec().into();
        let ta = SupportedTaItem { tac: self.tac.0, broadcast_plmns, ie_extensions: None };
        let ies = vec![
            ProtocolIe::new(IE_GLOBAL_ENB_ID, Criticality::Reject, &id)?,
            ProtocolIe::new(IE_ENB_NAME, Criticality::Ignore, &NodeName::new(self.enb_name)?)?,
            ProtocolIe::new(IE_SUPPORTED_TAS, Criticality::Reject, &SupportedTas(vec![ta].into()))?,
            ProtocolIe::new(IE_DEFAULT_PAGING_DRX, Criticality::Ignore, &self.default_paging_drx)?,
        ];
        let kind = MessageKind::InitiatingMessage;
        Pdu::new(kind, PROCEDURE_S1_SETUP, Criticality::Reject, ies)?.encode(Protocol::S1ap)
    }
}

/// Calls `visit` with each network of the tracking areas of an S1 SETUP REQUEST. Octets that are something else have none; of a damaged
/// message, those before the damage are visited.
pub fn visit_broadcast_plmns(octets: &[u8], mut visit: impl FnMut(PlmnIdentity)) {
    let Some(request) = PduView::read(Protocol::S1ap, octets) else { return };
    if (request.kind, request.procedure_code) != (MessageKind::InitiatingMessage, PROCEDURE_S1_SETUP) {
        return;
    }
    if let Some(list) = request.ie(IE_SUPPORTED_TAS) {
        // nodes put other things in this place too: damage is not an error
        let _ = read_tracking_areas(&mut Reader::new(list, 0), &mut visit);
    }
}

fn read_tracking_areas(list: &mut Reader<'_>, visit: &mut impl FnMut(PlmnIdentity)) -> Result<(), per::Error> {
    for _ in 0..list.constrained(1, 256)? {
        let options = list.bits(2)?; // extension, and extensions of the protocol
        if options > 1 {
            return Err(list.error(per::ErrorKind::OutOfRange));
        }
        list.bits(16)?; // TAC
        for _ in 0..list.constrained(1, 6)? {
            visit(read_plmn(list)?);
        }
        if options == 1 {
            skip_extensions(list)?;
        }
    }
    Ok(())
}

/// S1 SETUP RESPONSE (TS 36.413 9.1.8.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S1SetupResponse<'a> {
    /// The MME's name: 1 to 150 ASCII characters.
    pub mme_name: &'a str,
    /// The networks that the MME serves, 1 to 32.
    pub served_plmns: &'a [PlmnIdentity],
    /// The MME's group.
    pub mme_group_id: [u8; 2],
    /// The MME in its group.
    pub mme_code: [u8; 1],
    /// The MME's weight when eNBs select among MMEs.
    pub relative_mme_capacity: u8,
}

impl S1SetupResponse<'_> {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let gummei = ServedGummeiItem {
            served_plmns: self.served_plmns.to_vec().into(),
            served_group_ids: vec![self.mme_group_id].into(),
            served_mmecs: vec![self.mme_code].into(),
            ie_extensions: None,
        };
        let ies = vec![
            ProtocolIe::new(IE_MME_NAME, Criticality::Ignore, &NodeName::new(self.mme_name)?)?,
            ProtocolIe::new(IE_SERVED_GUMMEIS, Criticality::Reject, &ServedGummeis(vec![gummei].into()))?,
            ProtocolIe::new(IE_RELATIVE_MME_CAPACITY, Criticality::Ignore, &self.relative_mme_capacity)?,
        ];
        let kind = MessageKind::SuccessfulOutcome;
        Pdu::new(kind, PROCEDURE_S1_SETUP, Criticality::Reject, ies)?.encode(Protocol::S1ap)
    }
}

/// ENB-UE-S1AP-ID (TS 36.413 9.2.3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(range = 0..=16_777_215)]
struct EnbUeS1apId(u32);

/// Global-ENB-ID: unlike [`GlobalEnbId`], it has protocol extensions.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct GlobalEnbIdIe {
    plmn_identity: PlmnIdentity,
    enb_id: EnbId,
    ie_extensions: Option<Unused>,
}

/// SupportedTAs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=256)]
struct SupportedTas<'a>(List<'a, SupportedTaItem<'a>>);

/// SupportedTAs-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct SupportedTaItem<'a> {
    tac: [u8; 2],
    #[per(size = 1..=6)]
    broadcast_plmns: List<'a, PlmnIdentity>,
    ie_extensions: Option<Unused>,
}

/// ServedGUMMEIs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=8)]
struct ServedGummeis<'a>(List<'a, ServedGummeiItem<'a>>);

/// ServedGUMMEIsItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct ServedGummeiItem<'a> {
    #[per(size = 1..=32)]
    served_plmns: List<'a, PlmnIdentity>,
    #[per(size = 1..=65535)]
    served_group_ids: List<'a, [u8; 2]>,
    #[per(size = 1..=256)]
    served_mmecs: List<'a, [u8; 1]>,
    ie_extensions: Option<Unused>,
}

/// The IEs whose values are numbers, in Release 17, by id.
#[rustfmt::skip]
pub const NUMERIC_IES: &[NumericIe] = &[
    int(0, 0, 4_294_967_295), list(1, 5), int(8, 0, 16_777_215), list(44, 4), list(65, 6), list(71, 2), list(79, 1),
    list(83, 2), list(84, 1), int(87, 0, 255), int(88, 0, 4_294_967_295), int(106, 1, 256), list(108, 1),
    closed(109, 2), int(114, 0, 4095), int(115, 0, 65_535), list(124, 1), list(125, 2), list(134, 5), list(137, 4),
    int(140, 0, 2047), closed(142, 1), int(144, 4096, 131_071), list(145, 1), closed(146, 2), int(148, 0, 255),
    list(150, 1), list(151, 8), int(158, 0, 4_294_967_295), list(160, 1), int(161, 1, 99), list(163, 1), list(164, 1),
    list(165, 1), list(166, 2), list(169, 2), list(170, 2), list(187, 2), closed(191, 1), list(228, 1),
    int(230, 0, 255), list(234, 4), list(241, 1), list(242, 1), list(243, 1), list(245, 5), int(246, 0, 65_535),
    list(249, 1), list(250, 1), list(251, 1), list(266, 1), list(268, 1), list(271, 2), list(272, 1), list(275, 1),
    list(277, 2), list(280, 2), list(281, 1), list(283, 1), list(301, 2), list(302, 1), list(303, 1),
    open(304, 1, 4095), list(320, 1), list(324, 6), list(331, 1), list(353, 1),
];
