//! The type of an E2 node: a gNB, an eNB, or a gNB's CU-CP, CU-UP or DU (TS 38.401 6.1).
//!
//! The nodes of a split gNB share one cell: each has its own functions, and controls of one have effect on all.

use e2sm::common::{
    AmfUeNgapId, Cgi, EutraCgi, GnbCuCpUeE1apId, GnbCuCpUeE1apIdItem, GnbCuUeF1apId, GnbCuUeF1apIdItem, Gummei,
    MmeUeS1apId, NrCgi, PlmnIdentity, RanUeId, UeId, UeIdEnb, UeIdGnb, UeIdGnbCuUp, UeIdGnbDu,
};
use ferric::agent::Ue;
use ferric::e2ap::{EnbId, GlobalE2NodeEnbId, GlobalE2NodeId, GlobalEnbId, GnbCuUpId, GnbDuId, GnbId};
use per::{Bits, List, Single};
use radio::phy::Rat;

use crate::gnb_cells::GnbCell;
use crate::node::{FIRST_GNB, GNB_ID_BITS, MCC, MNC, NR_CELL_BITS, guami};
use crate::scenario::CellScenario;

/// Bits of an E-UTRAN cell identity, and of the eNB's in it (TS 36.413 9.2.1.38).
const EUTRA_CELL_BITS: u8 = 28;
pub const ENB_ID_BITS: u8 = 20;
/// The id of the only CU-UP of a split gNB.
pub const ONLY: i64 = 1;
/// Bits of a UE's number in the RAN, of which there are at most [`MAX_UES`](crate::scenario::MAX_UES).
const UE_NUMBER_BITS: u32 = 20;

/// The type of an E2 node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeType {
    /// A gNB that is not split.
    Gnb,
    /// A gNB-CU-CP: RRC, handovers, NG and Xn.
    CuCp,
    /// A gNB-CU-UP: SDAP, traffic control, PDCP.
    CuUp,
    /// A gNB-DU: RLC, MAC, PHY.
    Du,
    /// An eNB.
    Enb,
}

impl NodeType {
    /// The node types of a cell, beginning with the one that has RRC.
    pub(crate) fn of(cell: &CellScenario) -> &'static [NodeType] {
        match (cell.radio.carrier.rat, cell.is_split) {
            (Rat::Lte, _) => &[NodeType::Enb],
            (Rat::Nr, false) => &[NodeType::Gnb],
            (Rat::Nr, true) => &[NodeType::CuCp, NodeType::CuUp, NodeType::Du],
        }
    }

    /// Whether it has RRC, and the interfaces to the core and to neighbours.
    pub(crate) fn has_rrc(self) -> bool {
        matches!(self, NodeType::Gnb | NodeType::CuCp | NodeType::Enb)
    }

    /// Whether it has SDAP, traffic control and PDCP.
    pub(crate) fn has_pdcp(self) -> bool {
        matches!(self, NodeType::Gnb | NodeType::CuUp | NodeType::Enb)
    }

    /// Whether it has RLC and MAC.
    pub(crate) fn has_mac(self) -> bool {
        matches!(self, NodeType::Gnb | NodeType::Du | NodeType::Enb)
    }

    /// The node's identity; `du` is the id of its DU.
    pub(crate) fn id(self, number: u32, du: u16) -> GlobalE2NodeId {
        if self == NodeType::Enb {
            let enb_id = EnbId::MacroEnbId(Bits::new(number.into(), ENB_ID_BITS));
            return GlobalE2NodeId::Enb(GlobalE2NodeEnbId {
                global_enb_id: GlobalEnbId { plmn_identity: plmn(), enb_id },
            });
        }
        let mut id = GlobalE2NodeId::gnb(plmn(), GnbId::new(number, GNB_ID_BITS));
        if let GlobalE2NodeId::Gnb(gnb) = &mut id {
            gnb.gnb_cu_up_id = (self == NodeType::CuUp).then_some(GnbCuUpId(ONLY));
            gnb.gnb_du_id = (self == NodeType::Du).then_some(GnbDuId(du.into()));
        }
        id
    }

    /// The UE id in this node: `number` is the id at the core, which stays the same in handovers; `here` are the ids within the
    /// gNB.
    pub(crate) fn ue_id(self, number: u64, here: UeNumbers, has_ran_ue_id: bool) -> UeId<'static> {
        let ran_ueid = has_ran_ue_id.then_some(RanUeId(number.to_be_bytes()));
        let (f1ap, e1ap) = (GnbCuUeF1apId(here.at_du), GnbCuCpUeE1apId(here.at_cu));
        match self {
            NodeType::Gnb | NodeType::CuCp => {
                let is_split = self == NodeType::CuCp;
                UeId::Gnb(Single::from(UeIdGnb {
                    amf_ue_ngap_id: AmfUeNgapId(number as i64), // 38 bits of 40
                    guami: guami(),
                    gnb_cu_ue_f1ap_id_list: is_split
                        .then(|| List::from(vec![GnbCuUeF1apIdItem { gnb_cu_ue_f1ap_id: f1ap }])),
                    gnb_cu_cp_ue_e1ap_id_list: is_split
                        .then(|| List::from(vec![GnbCuCpUeE1apIdItem { gnb_cu_cp_ue_e1ap_id: e1ap }])),
                    ran_ueid,
                    m_ng_ran_ue_xnap_id: None,
                    global_gnb_id: None,
                    global_ng_ran_node_id: None,
                    cell_rnti: None,
                }))
            }
            NodeType::CuUp => UeId::GnbCuUp(UeIdGnbCuUp { gnb_cu_cp_ue_e1ap_id: e1ap, ran_ueid }),
            NodeType::Du => UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: f1ap, ran_ueid, cell_rnti: None }),
            NodeType::Enb => UeId::Enb(Single::from(UeIdEnb {
                mme_ue_s1ap_id: MmeUeS1apId(number as u32), // 28 bits: gNBs and eNBs are numbered alike
                gummei: gummei(),
                m_enb_ue_x2ap_id: None,
                m_enb_ue_x2ap_id_extension: None,
                global_enb_id: None,
                cell_rnti: None,
            })),
        }
    }
}

/// The numbers of a UE within its base station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UeNumbers {
    /// On NG and E1. The UE keeps it when it moves to another DU of the CU (TS 38.401 8.2.1).
    pub at_cu: u32,
    /// On F1: each context of a UE at a DU has an id of its own (TS 38.473 9.3.1.4).
    pub at_du: u32,
}

impl UeNumbers {
    /// Those of a UE of a base station with one cell: its place, which is reused only after 65,536 other UEs had it.
    pub fn of_place(ue: Ue) -> Self {
        UeNumbers { at_cu: ue.0 as u32, at_du: ue.0 as u32 }
    }

    /// Those of a UE at a DU of several: its number in the RAN, which has 20 bits, at F1 with that of the DU.
    pub fn of_number(number: u64, du: u16) -> Self {
        let at_cu = number as u32;
        UeNumbers { at_cu, at_du: u32::from(du) << UE_NUMBER_BITS | at_cu }
    }
}

/// The MME of all eNBs.
pub fn gummei() -> Gummei {
    Gummei { plmn_identity: plmn(), mme_group_id: [0, 1], mme_code: [1] }
}

fn plmn() -> PlmnIdentity {
    PlmnIdentity::from_codes(MCC, MNC, 2)
}

/// The identity of a scenario's cell, by its place in its base station.
pub fn cell_at(place: GnbCell, rat: Rat) -> Cgi {
    let node = u64::from(FIRST_GNB + u32::from(place.first));
    match rat {
        Rat::Nr => Cgi::NrCgi(NrCgi {
            plmn_identity: plmn(),
            nr_cell_identity: Bits::new(node << (NR_CELL_BITS - GNB_ID_BITS) | u64::from(place.local), NR_CELL_BITS),
        }),
        Rat::Lte => Cgi::EutraCgi(EutraCgi {
            plmn_identity: plmn(),
            eutra_cell_identity: Bits::new(node << (EUTRA_CELL_BITS - ENB_ID_BITS) | 1, EUTRA_CELL_BITS),
        }),
    }
}

#[cfg(test)]
mod tests;
