//! gNB-CU-UP E1 Setup (TS 37.483 9.2.1.4 and 9.2.1.5): a CU-UP and its CU-CP.

use per::{List, Octets, Per};

use super::super::messages::{Criticality, NoSuchThing, PlmnIdentity, encoded, ie};
use super::{GnbPartId, NodeName, ServedNetwork, Slice, TransactionId, messages, name};

// TS 37.483 9.4.7
const ID_E1_SETUP: u8 = 3;
const ID_GNB_CU_UP_ID: u16 = 7;
const ID_GNB_CU_UP_NAME: u16 = 8;
const ID_GNB_CU_CP_NAME: u16 = 9;
const ID_CN_SUPPORT: u16 = 10;
const ID_SUPPORTED_PLMNS: u16 = 11;
const ID_TRANSACTION_ID: u16 = 57;

/// CNSupport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
enum CnSupport {
    Epc,
    FiveGc,
    Both,
}

/// SupportedPLMNs-List.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=12)]
struct SupportedPlmns<'a>(List<'a, SupportedPlmn<'a>>);

/// SupportedPLMNs-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct SupportedPlmn<'a> {
    plmn_identity: PlmnIdentity,
    slice_support_list: Option<SliceSupportList<'a>>,
    nr_cgi_support_list: Option<NoSuchThing>,
    qos_parameters_support_list: Option<NoSuchThing>,
    ie_extensions: Option<NoSuchThing>,
}

/// Slice-Support-List.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=1024)]
struct SliceSupportList<'a>(List<'a, SliceSupportItem>);

/// Slice-Support-Item.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
struct SliceSupportItem {
    s_nssai: Slice,
    ie_extensions: Option<NoSuchThing>,
}

/// A GNB-CU-UP E1 SETUP REQUEST and its RESPONSE.
pub fn setup(gnb: u32, networks: &[ServedNetwork]) -> [Octets<'static>; 2] {
    let supported = |network: &ServedNetwork| {
        let slice = |slice| SliceSupportItem { s_nssai: Slice::of(slice), ie_extensions: None };
        SupportedPlmn {
            plmn_identity: network.plmn,
            slice_support_list: Some(SliceSupportList(network.slices.iter().map(slice).collect::<Vec<_>>().into())),
            nr_cgi_support_list: None,
            qos_parameters_support_list: None,
            ie_extensions: None,
        }
    };
    let plmns = SupportedPlmns(networks.iter().map(supported).collect::<Vec<_>>().into());
    let request = vec![
        ie(ID_TRANSACTION_ID, Criticality::Reject, encoded(&TransactionId(0))),
        ie(ID_GNB_CU_UP_ID, Criticality::Reject, encoded(&GnbPartId::ONLY)),
        ie(ID_GNB_CU_UP_NAME, Criticality::Ignore, encoded(&NodeName(name(format!("gnb-{gnb:x}-cu-up"))))),
        ie(ID_CN_SUPPORT, Criticality::Reject, encoded(&CnSupport::FiveGc)),
        ie(ID_SUPPORTED_PLMNS, Criticality::Reject, encoded(&plmns)),
    ];
    let response = vec![
        ie(ID_TRANSACTION_ID, Criticality::Reject, encoded(&TransactionId(0))),
        ie(ID_GNB_CU_CP_NAME, Criticality::Ignore, encoded(&NodeName(name(format!("gnb-{gnb:x}-cu"))))),
    ];
    messages(ID_E1_SETUP, request, response)
}
