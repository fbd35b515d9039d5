//! The messages that the emulated node sends, as their protocols have them.

pub use e2sm::common::PlmnIdentity;
use per::{Bits, List, Octets, Per};

use super::plmn;
use crate::node::{GNB_ID_BITS, NR_CELL_BITS};

/// The tracking area of all cells.
pub const TAC: [u8; 3] = [0, 0, 1];

/// NGAP-PDU (TS 38.413 9.4.3), XnAP-PDU (TS 38.423 9.3.3) and their likes.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum Pdu<'a> {
    InitiatingMessage(MessageOf<'a>),
    SuccessfulOutcome(MessageOf<'a>),
    UnsuccessfulOutcome(MessageOf<'a>),
}

/// InitiatingMessage, SuccessfulOutcome and UnsuccessfulOutcome, which are alike. An open type is written as octets are.
#[derive(Clone, Debug, PartialEq, Per)]
pub struct MessageOf<'a> {
    pub procedure_code: u8,
    pub criticality: Criticality,
    pub value: Octets<'a>,
}

/// Criticality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
pub enum Criticality {
    Reject,
    Ignore,
    Notify,
}

/// A message: a list of IEs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ProtocolIes<'a> {
    #[per(size = 0..=65535)]
    pub protocol_ies: List<'a, ProtocolIeField<'a>>,
}

/// ProtocolIE-Field.
#[derive(Clone, Debug, PartialEq, Per)]
pub struct ProtocolIeField<'a> {
    pub id: u16,
    criticality: Criticality,
    pub value: Octets<'a>,
}

/// AMF-UE-NGAP-ID (TS 38.413 9.3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(range = 0..=1_099_511_627_775)]
struct AmfUeNgapId(i64);

/// RRCState (TS 38.413 9.3.1.92).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum RrcState {
    Inactive,
    Connected,
}

/// UserLocationInformation (TS 38.413 9.3.1.16), of which a gNB has one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
enum UserLocationInformation {
    Eutra(NoSuchThing),
    Nr(UserLocationInformationNr),
    N3iwf(NoSuchThing),
    Extensions(NoSuchThing),
}

/// UserLocationInformationNR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
struct UserLocationInformationNr {
    nr_cgi: NrCgi,
    tai: Tai,
    time_stamp: Option<[u8; 4]>,
    ie_extensions: Option<NoSuchThing>,
}

/// NR-CGI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct NrCgi {
    plmn_identity: PlmnIdentity,
    #[per(size = 36..=36)]
    nr_cell_identity: Bits,
    ie_extensions: Option<NoSuchThing>,
}

/// TAI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
struct Tai {
    plmn_identity: PlmnIdentity,
    tac: [u8; 3],
    ie_extensions: Option<NoSuchThing>,
}

/// ENB-UE-S1AP-ID (TS 36.413 9.2.3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(range = 0..=16_777_215)]
struct EnbUeS1apId(u32);

/// UE-X2AP-ID (TS 36.423 9.2.24): a cell has room for as many UEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(range = 0..=4095)]
struct UeX2apId(u32);

/// In the place of what is never written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
pub struct NoSuchThing(bool);

// TS 38.413 9.4.7
pub const ID_RRC_INACTIVE_TRANSITION_REPORT: u8 = 37;
const ID_AMF_UE_NGAP_ID: u16 = 10;
const ID_RAN_UE_NGAP_ID: u16 = 85;
pub const ID_RRC_STATE: u16 = 92;
const ID_USER_LOCATION_INFORMATION: u16 = 121;

// TS 38.423 9.3.7
pub const ID_UE_CONTEXT_RELEASE: u8 = 6;
const ID_SOURCE_UE_XNAP_ID: u16 = 73;
const ID_TARGET_UE_XNAP_ID: u16 = 79;

// TS 36.413 9.3.7
pub const ID_UE_CONTEXT_SUSPEND: u8 = 55;
pub const ID_UE_CONTEXT_RESUME: u8 = 56;
const ID_MME_UE_S1AP_ID: u16 = 0;
const ID_ENB_UE_S1AP_ID: u16 = 8;

// TS 36.423 9.3.7
pub const ID_X2_UE_CONTEXT_RELEASE: u8 = 5;
const ID_NEW_ENB_UE_X2AP_ID: u16 = 9;
const ID_OLD_ENB_UE_X2AP_ID: u16 = 10;

/// The octets of a value, which is within its constraints.
pub fn encoded<T: per::Encode>(value: &T) -> Octets<'static> {
    let mut octets = Vec::new();
    match per::encode(value, 0, &mut octets) {
        Ok(()) => Octets::from(octets),
        Err(error) => panic!("the model's values are within the protocols' bounds: {error}"),
    }
}

/// The name of a gNB's only cell.
pub fn nr_cgi(gnb: u32) -> NrCgi {
    let cell = u64::from(gnb) << (NR_CELL_BITS - GNB_ID_BITS) | 1;
    NrCgi { plmn_identity: plmn(), nr_cell_identity: Bits::new(cell, NR_CELL_BITS), ie_extensions: None }
}

/// An RRC INACTIVE TRANSITION REPORT (TS 38.413 9.2.2.10).
pub fn rrc_inactive_transition_report(amf_ue_ngap_id: i64, ran_ue_ngap_id: u32, state: RrcState, gnb: u32) -> Vec<u8> {
    let location = UserLocationInformationNr {
        nr_cgi: nr_cgi(gnb),
        tai: Tai { plmn_identity: plmn(), tac: TAC, ie_extensions: None },
        time_stamp: None,
        ie_extensions: None,
    };
    let ies = vec![
        ie(ID_AMF_UE_NGAP_ID, Criticality::Reject, encoded(&AmfUeNgapId(amf_ue_ngap_id))),
        ie(ID_RAN_UE_NGAP_ID, Criticality::Reject, encoded(&ran_ue_ngap_id)),
        ie(ID_RRC_STATE, Criticality::Ignore, encoded(&state)),
        ie(ID_USER_LOCATION_INFORMATION, Criticality::Ignore, encoded(&UserLocationInformation::Nr(location))),
    ];
    initiating(ID_RRC_INACTIVE_TRANSITION_REPORT, Criticality::Ignore, ies)
}

/// A UE CONTEXT RELEASE (TS 38.423 9.1.1.5): the target of a handover tells its source that the UE is there.
pub fn ue_context_release(source_ue_xnap_id: u32, target_ue_xnap_id: u32) -> Vec<u8> {
    let ies = vec![
        ie(ID_SOURCE_UE_XNAP_ID, Criticality::Reject, encoded(&source_ue_xnap_id)),
        ie(ID_TARGET_UE_XNAP_ID, Criticality::Reject, encoded(&target_ue_xnap_id)),
    ];
    initiating(ID_UE_CONTEXT_RELEASE, Criticality::Reject, ies)
}

pub fn ie(id: u16, criticality: Criticality, value: Octets<'static>) -> ProtocolIeField<'static> {
    ProtocolIeField { id, criticality, value }
}

/// A UE CONTEXT SUSPEND REQUEST or RESUME REQUEST (TS 36.413 9.1.4.23 and 9.1.4.25): an eNB puts a UE to rest, or has woken it.
pub fn ue_context_suspend_or_resume(procedure_code: u8, mme_ue_s1ap_id: u32, enb_ue_s1ap_id: u32) -> Vec<u8> {
    let ies = vec![
        ie(ID_MME_UE_S1AP_ID, Criticality::Reject, encoded(&mme_ue_s1ap_id)),
        ie(ID_ENB_UE_S1AP_ID, Criticality::Reject, encoded(&EnbUeS1apId(enb_ue_s1ap_id))),
    ];
    initiating(procedure_code, Criticality::Reject, ies)
}

/// A UE CONTEXT RELEASE of X2 (TS 36.423 9.1.1.5), as [`ue_context_release`] is of Xn.
pub fn x2_ue_context_release(old_enb_ue_x2ap_id: u32, new_enb_ue_x2ap_id: u32) -> Vec<u8> {
    let ies = vec![
        ie(ID_OLD_ENB_UE_X2AP_ID, Criticality::Reject, encoded(&UeX2apId(old_enb_ue_x2ap_id))),
        ie(ID_NEW_ENB_UE_X2AP_ID, Criticality::Reject, encoded(&UeX2apId(new_enb_ue_x2ap_id))),
    ];
    initiating(ID_X2_UE_CONTEXT_RELEASE, Criticality::Ignore, ies)
}

fn initiating(procedure_code: u8, criticality: Criticality, ies: Vec<ProtocolIeField<'static>>) -> Vec<u8> {
    let value = encoded(&ProtocolIes { protocol_ies: List::from(ies) });
    encoded(&Pdu::InitiatingMessage(MessageOf { procedure_code, criticality, value })).to_cow().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The octets are those of an independent encoder (pycrate 0.8.1).
    #[test]
    fn messages_are_the_protocols() {
        let digits = |octets: &[u8]| octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
        let report = rrc_inactive_transition_report(0x0e00_0003, 3, RrcState::Inactive, 0xe00);
        let expected = "0025402a000004000a0005600e000003005500020003005c4001000079400f4000f1100038000010\
                        00f110000001";
        assert_eq!(digits(&report), expected);
        let vector = include_str!("../../../../../vectors/interfaces/xnap-ue-context-release.hex");
        assert_eq!(digits(&ue_context_release(3, 259)), vector.trim());
        let vector = include_str!("../../../../../vectors/interfaces/x2ap-ue-context-release.hex");
        assert_eq!(digits(&x2_ue_context_release(5, 4095)), vector.trim());
        let mme_ue_s1ap_id = 0x0e00_0005;
        let vector = include_str!("../../../../../vectors/interfaces/s1ap-ue-context-suspend-request.hex");
        assert_eq!(digits(&ue_context_suspend_or_resume(ID_UE_CONTEXT_SUSPEND, mme_ue_s1ap_id, 259)), vector.trim());
        let vector = include_str!("../../../../../vectors/interfaces/s1ap-ue-context-resume-request.hex");
        assert_eq!(digits(&ue_context_suspend_or_resume(ID_UE_CONTEXT_RESUME, mme_ue_s1ap_id, 259)), vector.trim());
    }
}
