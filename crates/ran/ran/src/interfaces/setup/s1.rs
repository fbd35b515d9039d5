//! S1 Setup (TS 36.413 9.1.8.4 and 9.1.8.5): an eNB and its MME.

use per::{Bits, List, Octets, Per};

use super::super::messages::{Criticality, NoSuchThing, PlmnIdentity, encoded, ie};
use super::{MAX_FEW_NETWORKS, MME_NAME, NodeName, PagingDrx, ServedNetwork, messages, name, plmn};
use crate::part::{ENB_ID_BITS, gummei};

// TS 36.413 9.3.6
const ID_S1_SETUP: u8 = 17;
const ID_GLOBAL_ENB_ID: u16 = 59;
const ID_ENB_NAME: u16 = 60;
const ID_MME_NAME: u16 = 61;
const ID_SUPPORTED_TAS: u16 = 64;
const ID_RELATIVE_MME_CAPACITY: u16 = 87;
const ID_SERVED_GUMMEIS: u16 = 105;
const ID_DEFAULT_PAGING_DRX: u16 = 137;

/// The tracking area of all cells.
const TAC: [u8; 2] = [0, 1];

/// Global-ENB-ID.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct GlobalEnbId {
    plmn_identity: PlmnIdentity,
    enb_id: EnbId,
    ie_extensions: Option<NoSuchThing>,
}

/// ENB-ID, without what was added later.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
enum EnbId {
    #[per(size = 20..=20)]
    Macro(Bits),
    #[per(size = 28..=28)]
    Home(Bits),
}

/// SupportedTAs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=256)]
struct SupportedTas<'a>(List<'a, SupportedTa<'a>>);

/// SupportedTAs-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct SupportedTa<'a> {
    tac: [u8; 2],
    #[per(size = 1..=6)]
    broadcast_plmns: List<'a, PlmnIdentity>,
    ie_extensions: Option<NoSuchThing>,
}

/// ServedGUMMEIs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=8)]
struct ServedGummeis<'a>(List<'a, ServedGummei<'a>>);

/// ServedGUMMEIsItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct ServedGummei<'a> {
    #[per(size = 1..=32)]
    served_plmns: List<'a, PlmnIdentity>,
    #[per(size = 1..=65535)]
    served_group_ids: List<'a, [u8; 2]>,
    #[per(size = 1..=256)]
    served_mmecs: List<'a, [u8; 1]>,
    ie_extensions: Option<NoSuchThing>,
}

/// An S1 SETUP REQUEST and its RESPONSE.
pub fn setup(enb: u32, networks: &[ServedNetwork]) -> [Octets<'static>; 2] {
    let plmns = || networks.iter().take(MAX_FEW_NETWORKS).map(|network| network.plmn).collect::<Vec<_>>();
    let enb_id = EnbId::Macro(Bits::new(enb.into(), ENB_ID_BITS));
    let ta = SupportedTa { tac: TAC, broadcast_plmns: plmns().into(), ie_extensions: None };
    let request = vec![
        ie(
            ID_GLOBAL_ENB_ID,
            Criticality::Reject,
            encoded(&GlobalEnbId { plmn_identity: plmn(), enb_id, ie_extensions: None }),
        ),
        ie(ID_ENB_NAME, Criticality::Ignore, encoded(&NodeName(name(format!("enb-{enb:x}"))))),
        ie(ID_SUPPORTED_TAS, Criticality::Reject, encoded(&SupportedTas(List::from(vec![ta])))),
        ie(ID_DEFAULT_PAGING_DRX, Criticality::Ignore, encoded(&PagingDrx::V128)),
    ];
    let its = gummei();
    let gummei = ServedGummei {
        served_plmns: plmns().into(),
        served_group_ids: List::from(vec![its.mme_group_id]),
        served_mmecs: List::from(vec![its.mme_code]),
        ie_extensions: None,
    };
    let response = vec![
        ie(ID_MME_NAME, Criticality::Ignore, encoded(&NodeName(name(MME_NAME.into())))),
        ie(ID_SERVED_GUMMEIS, Criticality::Reject, encoded(&ServedGummeis(List::from(vec![gummei])))),
        ie(ID_RELATIVE_MME_CAPACITY, Criticality::Ignore, encoded(&u8::MAX)),
    ];
    messages(ID_S1_SETUP, request, response)
}
