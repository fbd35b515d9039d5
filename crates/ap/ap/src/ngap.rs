//! NGAP, between a node of NG-RAN and the AMF (TS 38.413).

mod session;
mod session_changes;
mod session_types;

use ids::{AmfUeNgapId, FiveGsTac, GlobalGnbId, GnbId, Guami, NrCgi, PlmnIdentity, SNssai, Sd, Sst};
use per::{Bits, List, Per, Reader};

use crate::common::{NodeName, NrCgiIe, SNssaiIe, Unused, read_plmn, skip_extensions};
use crate::numeric_ie::table::{int, list, open};
use crate::{Criticality, MessageKind, NumericIe, PagingDrx, Pdu, PduView, Protocol, ProtocolIe, ServedPlmn};

pub use session::{
    EstablishedSession, GtpTunnel, PROCEDURE_INITIAL_CONTEXT_SETUP, PROCEDURE_PDU_SESSION_RESOURCE_SETUP,
    PduSessionResourceSetupRequest, PduSessionResourceSetupResponse, QosFlow, RequestedSession,
};
pub use session_changes::{
    PROCEDURE_PDU_SESSION_RESOURCE_MODIFY, PROCEDURE_PDU_SESSION_RESOURCE_RELEASE, SessionChange, SessionChangeMessage,
};

// TS 38.413 9.4.7
/// NG Setup.
pub const PROCEDURE_NG_SETUP: u8 = 21;
/// RRC Inactive Transition Report.
pub const PROCEDURE_RRC_INACTIVE_TRANSITION_REPORT: u8 = 37;
/// RRC State, an [`RrcState`].
pub const IE_RRC_STATE: u16 = 92;
const IE_AMF_NAME: u16 = 1;
const IE_AMF_UE_NGAP_ID: u16 = 10;
const IE_DEFAULT_PAGING_DRX: u16 = 21;
const IE_GLOBAL_RAN_NODE_ID: u16 = 27;
const IE_PLMN_SUPPORT_LIST: u16 = 80;
const IE_RAN_NODE_NAME: u16 = 82;
const IE_RAN_UE_NGAP_ID: u16 = 85;
const IE_RELATIVE_AMF_CAPACITY: u16 = 86;
const IE_SERVED_GUAMI_LIST: u16 = 96;
const IE_SUPPORTED_TA_LIST: u16 = 102;
const IE_USER_LOCATION_INFORMATION: u16 = 121;

/// RRC INACTIVE TRANSITION REPORT (TS 38.413 9.2.2.10): a UE enters or leaves RRC_INACTIVE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RrcInactiveTransitionReport {
    /// The UE at the AMF.
    pub amf_ue_ngap_id: AmfUeNgapId,
    /// The UE at the node.
    pub ran_ue_ngap_id: u32,
    /// The state that the UE entered.
    pub rrc_state: RrcState,
    /// The UE's cell.
    pub nr_cgi: NrCgi,
    /// The tracking area of the cell, in the cell's network.
    pub tac: FiveGsTac,
}

impl RrcInactiveTransitionReport {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let location = UserLocationInformation::Nr(UserLocationInformationNr {
            nr_cgi: self.nr_cgi.into(),
            tai: Tai { plmn_identity: self.nr_cgi.plmn_identity, tac: self.tac.0, ie_extensions: None },
            time_stamp: None,
            ie_extensions: None,
        });
        let ies = vec![
            ProtocolIe::new(IE_AMF_UE_NGAP_ID, Criticality::Reject, &self.amf_ue_ngap_id)?,
            ProtocolIe::new(IE_RAN_UE_NGAP_ID, Criticality::Reject, &self.ran_ue_ngap_id)?,
            ProtocolIe::new(IE_RRC_STATE, Criticality::Ignore, &self.rrc_state)?,
            ProtocolIe::new(IE_USER_LOCATION_INFORMATION, Criticality::Ignore, &location)?,
        ];
        let procedure_code = PROCEDURE_RRC_INACTIVE_TRANSITION_REPORT;
        Pdu::new(MessageKind::InitiatingMessage, procedure_code, Criticality::Ignore, ies)?.encode(Protocol::Ngap)
    }
}

/// RRC State (TS 38.413 9.3.1.92).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum RrcState {
    /// RRC_INACTIVE.
    Inactive,
    /// RRC_CONNECTED.
    Connected,
}

/// NG SETUP REQUEST of a gNB (TS 38.413 9.2.6.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NgSetupRequest<'a> {
    /// The gNB.
    pub global_gnb_id: GlobalGnbId,
    /// Its name: 1 to 150 ASCII characters.
    pub ran_node_name: &'a str,
    /// Its only tracking area.
    pub tac: FiveGsTac,
    /// The networks broadcast there, 1 to 12.
    pub broadcast_plmns: &'a [ServedPlmn],
    /// Its default paging cycle.
    pub default_paging_drx: PagingDrx,
}

impl NgSetupRequest<'_> {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let GnbId::GnbId(gnb_id) = self.global_gnb_id.gnb_id;
        let id = GlobalRanNodeId::Gnb(GlobalGnbIdIe {
            plmn_identity: self.global_gnb_id.plmn_identity,
            gnb_id: GnbIdIe::GnbId(gnb_id),
            ie_extensions: None,
        });
        let broadcast_plmn_list = supported_plmns(self.broadcast_plmns);
        let ta = SupportedTaItem { tac: self.tac.0, broadcast_plmn_list, ie_extensions: None };
        let ies = vec![
            ProtocolIe::new(IE_GLOBAL_RAN_NODE_ID, Criticality::Reject, &id)?,
            ProtocolIe::new(IE_RAN_NODE_NAME, Criticality::Ignore, &NodeName::new(self.ran_node_name)?)?,
            ProtocolIe::new(IE_SUPPORTED_TA_LIST, Criticality::Reject, &SupportedTaList(vec![ta].into()))?,
            ProtocolIe::new(IE_DEFAULT_PAGING_DRX, Criticality::Ignore, &self.default_paging_drx)?,
        ];
        let kind = MessageKind::InitiatingMessage;
        Pdu::new(kind, PROCEDURE_NG_SETUP, Criticality::Reject, ies)?.encode(Protocol::Ngap)
    }
}

/// Calls `visit` with each network of the tracking areas of an NG SETUP REQUEST, and its slices there. Octets that are something else
/// have none; of a damaged message, and before an extension that is not known, those that can be read are visited.
pub fn visit_broadcast_plmns(octets: &[u8], mut visit: impl FnMut(ServedPlmn)) {
    let Some(request) = PduView::read(Protocol::Ngap, octets) else { return };
    if (request.kind, request.procedure_code) != (MessageKind::InitiatingMessage, PROCEDURE_NG_SETUP) {
        return;
    }
    if let Some(list) = request.ie(IE_SUPPORTED_TA_LIST) {
        // nodes put other things in this place too: damage is not an error
        let _ = read_tracking_areas(&mut Reader::new(list, 0), &mut visit);
    }
}

fn read_tracking_areas(list: &mut Reader<'_>, visit: &mut impl FnMut(ServedPlmn)) -> Result<(), per::Error> {
    for _ in 0..list.constrained(1, 256)? {
        let has_extensions = root_options(list, 1)? == 1;
        list.align();
        list.octets(3)?; // TAC
        for _ in 0..list.constrained(1, 12)? {
            let has_extensions = root_options(list, 1)? == 1;
            let plmn_identity = read_plmn(list)?;
            let slices = list.constrained(1, 1024)?;
            let s_nssais = (0..slices).map(|_| read_slice(list)).collect::<Result<Vec<_>, _>>()?;
            visit(ServedPlmn { plmn_identity, s_nssais });
            if has_extensions {
                skip_extensions(list)?;
            }
        }
        if has_extensions {
            skip_extensions(list)?;
        }
    }
    Ok(())
}

/// Reads a SliceSupportItem.
fn read_slice(list: &mut Reader<'_>) -> Result<SNssai, per::Error> {
    let has_extensions = root_options(list, 1)? == 1;
    let options = root_options(list, 2)?; // S-NSSAI
    let sst = list.bits(8)? as u8;
    let mut sd = None;
    if options & 2 != 0 {
        list.align();
        if let [a, b, c] = *list.octets(3)? {
            sd = Some(Sd([a, b, c]));
        }
    }
    for has_extensions in [options & 1 == 1, has_extensions] {
        if has_extensions {
            skip_extensions(list)?;
        }
    }
    Ok(SNssai { sst: Sst([sst]), sd })
}

/// Reads the bit that says whether a SEQUENCE has extension additions, which must not be, and those of its optional components.
fn root_options(list: &mut Reader<'_>, options: u32) -> Result<u64, per::Error> {
    if list.bits(1)? == 1 {
        return Err(list.error(per::ErrorKind::OutOfRange));
    }
    list.bits(options)
}

/// NG SETUP RESPONSE (TS 38.413 9.2.6.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NgSetupResponse<'a> {
    /// The AMF's name: 1 to 150 ASCII characters.
    pub amf_name: &'a str,
    /// The only GUAMI that the AMF serves.
    pub served_guami: Guami,
    /// The AMF's weight when nodes select among AMFs.
    pub relative_amf_capacity: u8,
    /// The networks that the AMF supports, 1 to 12.
    pub supported_plmns: &'a [ServedPlmn],
}

impl NgSetupResponse<'_> {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let Guami { plmn_identity, amf_region_id, amf_set_id, amf_pointer } = self.served_guami;
        let guami = ServedGuamiItem {
            guami: GuamiIe { plmn_identity, amf_region_id, amf_set_id, amf_pointer, ie_extensions: None },
            backup_amf_name: None,
            ie_extensions: None,
        };
        let plmns = PlmnSupportList(supported_plmns(self.supported_plmns));
        let ies = vec![
            ProtocolIe::new(IE_AMF_NAME, Criticality::Reject, &NodeName::new(self.amf_name)?)?,
            ProtocolIe::new(IE_SERVED_GUAMI_LIST, Criticality::Reject, &ServedGuamiList(vec![guami].into()))?,
            ProtocolIe::new(IE_RELATIVE_AMF_CAPACITY, Criticality::Ignore, &self.relative_amf_capacity)?,
            ProtocolIe::new(IE_PLMN_SUPPORT_LIST, Criticality::Reject, &plmns)?,
        ];
        let kind = MessageKind::SuccessfulOutcome;
        Pdu::new(kind, PROCEDURE_NG_SETUP, Criticality::Reject, ies)?.encode(Protocol::Ngap)
    }
}

/// UserLocationInformation (TS 38.413 9.3.1.16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
enum UserLocationInformation {
    Eutra(Unused),
    Nr(UserLocationInformationNr),
    N3iwf(Unused),
    Extensions(Unused),
}

/// UserLocationInformationNR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
struct UserLocationInformationNr {
    nr_cgi: NrCgiIe,
    tai: Tai,
    time_stamp: Option<[u8; 4]>,
    ie_extensions: Option<Unused>,
}

/// TAI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
struct Tai {
    plmn_identity: PlmnIdentity,
    tac: [u8; 3],
    ie_extensions: Option<Unused>,
}

/// GlobalRANNodeID.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
enum GlobalRanNodeId {
    Gnb(GlobalGnbIdIe),
    NgEnb(Unused),
    N3iwf(Unused),
    Extensions(Unused),
}

/// GlobalGNB-ID: unlike [`GlobalGnbId`], it has protocol extensions.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct GlobalGnbIdIe {
    plmn_identity: PlmnIdentity,
    gnb_id: GnbIdIe,
    ie_extensions: Option<Unused>,
}

/// GNB-ID: unlike [`GnbId`], it has a second alternative in place of an extension marker.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
enum GnbIdIe {
    #[per(size = 22..=32)]
    GnbId(Bits),
    Extensions(Unused),
}

/// SupportedTAList.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=256)]
struct SupportedTaList<'a>(List<'a, SupportedTaItem<'a>>);

/// SupportedTAItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct SupportedTaItem<'a> {
    tac: [u8; 3],
    #[per(size = 1..=12)]
    broadcast_plmn_list: List<'a, SupportedPlmnItem<'a>>,
    ie_extensions: Option<Unused>,
}

/// BroadcastPLMNItem and PLMNSupportItem, which have one form.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct SupportedPlmnItem<'a> {
    plmn_identity: PlmnIdentity,
    #[per(size = 1..=1024)]
    slice_support_list: List<'a, SliceSupportItem>,
    ie_extensions: Option<Unused>,
}

/// SliceSupportItem.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct SliceSupportItem {
    s_nssai: SNssaiIe,
    ie_extensions: Option<Unused>,
}

/// PLMNSupportList.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=12)]
struct PlmnSupportList<'a>(List<'a, SupportedPlmnItem<'a>>);

/// ServedGUAMIList.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=256)]
struct ServedGuamiList<'a>(List<'a, ServedGuamiItem>);

/// ServedGUAMIItem.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct ServedGuamiItem {
    guami: GuamiIe,
    backup_amf_name: Option<Unused>,
    ie_extensions: Option<Unused>,
}

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

fn supported_plmns(plmns: &[ServedPlmn]) -> List<'static, SupportedPlmnItem<'static>> {
    let item = |plmn: &ServedPlmn| {
        let slice = |s_nssai| SliceSupportItem { s_nssai: SNssaiIe::from(s_nssai), ie_extensions: None };
        let slices: Vec<_> = plmn.s_nssais.iter().map(slice).collect();
        SupportedPlmnItem { plmn_identity: plmn.plmn_identity, slice_support_list: slices.into(), ie_extensions: None }
    };
    plmns.iter().map(item).collect::<Vec<_>>().into()
}

/// The IEs whose values are numbers, in Release 17, by id.
#[rustfmt::skip]
pub const NUMERIC_IES: &[NumericIe] = &[
    int(9, 1, 99), int(10, 0, 1_099_511_627_775), list(14, 1), list(17, 1), list(21, 4), list(22, 1), list(29, 3),
    list(30, 2), open(31, 1, 256), int(40, 0, 1_099_511_627_775), list(41, 1), int(47, 0, 65_535), list(50, 4),
    list(51, 1), list(52, 8), int(83, 1, 256), int(85, 0, 4_294_967_295), int(86, 0, 255), int(87, 0, 131_071),
    list(90, 10), list(91, 3), list(92, 2), int(100, 0, 1_099_511_627_775), list(107, 6), list(112, 1), list(127, 1),
    open(129, 1, 256), list(134, 5), list(143, 1), list(146, 2), list(147, 1), list(177, 2), list(199, 2),
    list(200, 1), list(201, 1), list(202, 6), list(204, 4), list(205, 1), int(206, 0, 255), open(210, 0, 255),
    list(222, 2), list(224, 1), list(225, 1), list(226, 2), list(227, 1), list(228, 1), list(234, 1), list(235, 1),
    list(236, 1), list(237, 10), list(245, 1), list(256, 2), list(269, 1), open(295, 0, 65_535), list(333, 1),
    list(342, 1), list(367, 2), list(373, 2), list(388, 2), list(400, 2), list(402, 1), list(403, 1), list(404, 1),
    list(408, 1), list(427, 1), list(428, 1),
];
