//! NG Setup (TS 38.413 9.2.6): a gNB and its AMF.

use per::{Bits, List, Octets, Per};

use super::super::messages::{Criticality, NoSuchThing, PlmnIdentity, TAC, encoded, ie};
use super::{AMF_NAME, NodeName, PagingDrx, ServedNetwork, Slice, messages, name, plmn};
use crate::node::{GNB_ID_BITS, guami};

// TS 38.413 9.4.7
const ID_NG_SETUP: u8 = 21;
const ID_AMF_NAME: u16 = 1;
const ID_DEFAULT_PAGING_DRX: u16 = 21;
const ID_GLOBAL_RAN_NODE_ID: u16 = 27;
const ID_PLMN_SUPPORT_LIST: u16 = 80;
const ID_RAN_NODE_NAME: u16 = 82;
const ID_RELATIVE_AMF_CAPACITY: u16 = 86;
const ID_SERVED_GUAMI_LIST: u16 = 96;
const ID_SUPPORTED_TA_LIST: u16 = 102;

/// GlobalRANNodeID, of which a gNB has one kind.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
enum GlobalRanNodeId {
    Gnb(GlobalGnbId),
    NgEnb(NoSuchThing),
    N3iwf(NoSuchThing),
    Extensions(NoSuchThing),
}

/// GlobalGNB-ID.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct GlobalGnbId {
    plmn_identity: PlmnIdentity,
    gnb_id: GnbId,
    ie_extensions: Option<NoSuchThing>,
}

/// GNB-ID.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
enum GnbId {
    #[per(size = 22..=32)]
    GnbId(Bits),
    Extensions(NoSuchThing),
}

/// SupportedTAList.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=256)]
struct SupportedTas<'a>(List<'a, SupportedTa<'a>>);

/// SupportedTAItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct SupportedTa<'a> {
    tac: [u8; 3],
    #[per(size = 1..=12)]
    broadcast_plmn_list: List<'a, SupportedPlmn<'a>>,
    ie_extensions: Option<NoSuchThing>,
}

/// BroadcastPLMNItem and PLMNSupportItem, which are alike.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct SupportedPlmn<'a> {
    plmn_identity: PlmnIdentity,
    #[per(size = 1..=1024)]
    slice_support_list: List<'a, SliceSupportItem>,
    ie_extensions: Option<NoSuchThing>,
}

/// SliceSupportItem.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct SliceSupportItem {
    s_nssai: Slice,
    ie_extensions: Option<NoSuchThing>,
}

/// PLMNSupportList.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=12)]
struct PlmnSupportList<'a>(List<'a, SupportedPlmn<'a>>);

/// ServedGUAMIList.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=256)]
struct ServedGuamis<'a>(List<'a, ServedGuami>);

/// ServedGUAMIItem.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct ServedGuami {
    guami: Guami,
    backup_amf_name: Option<NoSuchThing>,
    ie_extensions: Option<NoSuchThing>,
}

/// GUAMI.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct Guami {
    plmn_identity: PlmnIdentity,
    #[per(size = 8..=8)]
    amf_region_id: Bits,
    #[per(size = 10..=10)]
    amf_set_id: Bits,
    #[per(size = 6..=6)]
    amf_pointer: Bits,
    ie_extensions: Option<NoSuchThing>,
}

fn supported(networks: &[ServedNetwork]) -> List<'static, SupportedPlmn<'static>> {
    let of = |network: &ServedNetwork| {
        let slice = |slice| SliceSupportItem { s_nssai: Slice::of(slice), ie_extensions: None };
        let slices: Vec<_> = network.slices.iter().map(slice).collect();
        SupportedPlmn { plmn_identity: network.plmn, slice_support_list: slices.into(), ie_extensions: None }
    };
    networks.iter().map(of).collect::<Vec<_>>().into()
}

/// An NG SETUP REQUEST and its RESPONSE.
pub fn setup(gnb: u32, networks: &[ServedNetwork]) -> [Octets<'static>; 2] {
    let id = GlobalRanNodeId::Gnb(GlobalGnbId {
        plmn_identity: plmn(),
        gnb_id: GnbId::GnbId(Bits::new(gnb.into(), GNB_ID_BITS)),
        ie_extensions: None,
    });
    let ta = SupportedTa { tac: TAC, broadcast_plmn_list: supported(networks), ie_extensions: None };
    let request = vec![
        ie(ID_GLOBAL_RAN_NODE_ID, Criticality::Reject, encoded(&id)),
        ie(ID_RAN_NODE_NAME, Criticality::Ignore, encoded(&NodeName(name(format!("gnb-{gnb:x}"))))),
        ie(ID_SUPPORTED_TA_LIST, Criticality::Reject, encoded(&SupportedTas(List::from(vec![ta])))),
        ie(ID_DEFAULT_PAGING_DRX, Criticality::Ignore, encoded(&PagingDrx::V128)),
    ];
    let its = guami();
    let guami = ServedGuami {
        guami: Guami {
            plmn_identity: its.plmn_identity,
            amf_region_id: its.amf_region_id,
            amf_set_id: its.amf_set_id,
            amf_pointer: its.amf_pointer,
            ie_extensions: None,
        },
        backup_amf_name: None,
        ie_extensions: None,
    };
    let response = vec![
        ie(ID_AMF_NAME, Criticality::Reject, encoded(&NodeName(name(AMF_NAME.into())))),
        ie(ID_SERVED_GUAMI_LIST, Criticality::Reject, encoded(&ServedGuamis(List::from(vec![guami])))),
        ie(ID_RELATIVE_AMF_CAPACITY, Criticality::Ignore, encoded(&u8::MAX)),
        ie(ID_PLMN_SUPPORT_LIST, Criticality::Reject, encoded(&PlmnSupportList(supported(networks)))),
    ];
    messages(ID_NG_SETUP, request, response)
}
