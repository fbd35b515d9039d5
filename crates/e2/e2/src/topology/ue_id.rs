//! UE IDs of E2SM and the names in them: each part of a base station has a UE ID of its own kind.

use std::collections::BTreeSet;

use e2ap::GlobalE2NodeId;
use e2sm::common::{
    AmfUeNgapId, CellRnti, Cgi, GnbCuCpUeE1apId, GnbCuCpUeE1apIdItem, GnbCuUeF1apId, GnbCuUeF1apIdItem, Guami, Gummei,
    MmeUeS1apId, NgEnbCuUeW1apId, PlmnIdentity, RanUeId, RntiValue, UeId, UeIdEnGnb, UeIdEnb, UeIdGnb, UeIdGnbCuUp,
    UeIdGnbDu, UeIdNgEnb, UeIdNgEnbDu,
};
use per::{Bits, List, Single};

use super::{Part, UeName};

/// The most F1AP ids of a UE (E2SM, UEID-GNB).
const MAX_F1AP_IDS: usize = 4;
/// The most E1AP ids of a UE that are read and written: one per CU-UP that serves it.
const MAX_E1AP_IDS: usize = 8;

impl UeName {
    /// Returns the name on NG.
    #[must_use]
    pub fn ngap(guami: &Guami, id: AmfUeNgapId) -> Self {
        let [a, b, c] = guami.plmn_identity.0;
        // 8 bits, and 10 beside 6
        let region = guami.amf_region_id.value as u8;
        let [set, pointer] = ((guami.amf_set_id.value << 6 | guami.amf_pointer.value) as u16).to_be_bytes();
        UeName::Ngap { guami: [a, b, c, region, set, pointer], amf_ue_ngap_id: id.0.unsigned_abs() }
    }

    /// Returns a C-RNTI in a cell.
    #[must_use]
    pub fn rnti(rnti: RntiValue, cell: &Cgi) -> Self {
        UeName::Rnti { rnti: rnti.0, cell: Some(cell_identity(cell)) }
    }

    /// Returns the names in a UE ID that a node has reported, with its C-RNTI where there is one. A UE ID of an en-gNB without ids
    /// on F1 or E1 has its id on X2, as a name that is valid within the node.
    #[must_use]
    pub fn all_of(ue_id: &UeId<'_>) -> Vec<UeName> {
        let mut names = Vec::new();
        let e1ap = |list: &Option<List<'_, GnbCuCpUeE1apIdItem>>| {
            let items = list.iter().flatten().take(MAX_E1AP_IDS);
            items.map(|item| UeName::E1ap(item.gnb_cu_cp_ue_e1ap_id.0)).collect::<Vec<_>>()
        };
        let ran_ue_id = |id: Option<RanUeId>| id.map(|id| UeName::RanUeId(id.0));
        let rnti = |id: Option<CellRnti>| id.map(|id| UeName::rnti(id.c_rnti, &id.cell_global_id));
        match ue_id {
            UeId::Gnb(id) => {
                names.push(UeName::ngap(&id.guami, id.amf_ue_ngap_id));
                let f1ap = id.gnb_cu_ue_f1ap_id_list.iter().flatten().take(MAX_F1AP_IDS);
                names.extend(f1ap.map(|item| UeName::F1ap(item.gnb_cu_ue_f1ap_id.0)));
                names.extend(e1ap(&id.gnb_cu_cp_ue_e1ap_id_list));
                names.extend(ran_ue_id(id.ran_ueid));
                names.extend(rnti(id.cell_rnti));
            }
            UeId::GnbDu(id) => {
                names.push(UeName::F1ap(id.gnb_cu_ue_f1ap_id.0));
                names.extend(ran_ue_id(id.ran_ueid));
                names.extend(rnti(id.cell_rnti));
            }
            UeId::GnbCuUp(id) => {
                names.push(UeName::E1ap(id.gnb_cu_cp_ue_e1ap_id.0));
                names.extend(ran_ue_id(id.ran_ueid));
            }
            UeId::NgEnb(id) => {
                names.push(UeName::ngap(&id.guami, id.amf_ue_ngap_id));
                names.extend(id.ng_enb_cu_ue_w1ap_id.map(|id| UeName::W1ap(id.0)));
                names.extend(rnti(id.cell_rnti));
            }
            UeId::NgEnbDu(id) => {
                names.push(UeName::W1ap(id.ng_enb_cu_ue_w1ap_id.0));
                names.extend(rnti(id.cell_rnti));
            }
            UeId::EnGnb(id) => {
                names.extend(id.gnb_cu_ue_f1ap_id.map(|id| UeName::F1ap(id.0)));
                names.extend(e1ap(&id.gnb_cu_cp_ue_e1ap_id_list));
                names.extend(ran_ue_id(id.ran_ueid));
                if names.is_empty() {
                    names.push(UeName::Local(x2ap_number(id).into()));
                }
                names.extend(rnti(id.cell_rnti));
            }
            UeId::Enb(id) => {
                let ([a, b, c], [d, e], [f]) = (id.gummei.plmn_identity.0, id.gummei.mme_group_id, id.gummei.mme_code);
                names.push(UeName::S1ap { gummei: [a, b, c, d, e, f], mme_ue_s1ap_id: id.mme_ue_s1ap_id.0 });
                names.extend(rnti(id.cell_rnti));
            }
        }
        names
    }

    /// Whether a UE ID names the UE by more than [`UeName::all_of`] returns: by ids on Xn or X2, or by more ids on F1 or E1 than are
    /// read.
    #[cfg(feature = "content")]
    pub(crate) fn are_partial(ue_id: &UeId<'_>) -> bool {
        let e1ap =
            |list: &Option<List<'_, GnbCuCpUeE1apIdItem>>| list.as_ref().is_some_and(|list| list.len() > MAX_E1AP_IDS);
        match ue_id {
            UeId::Gnb(id) => {
                let has_more = id.gnb_cu_ue_f1ap_id_list.as_ref().is_some_and(|list| list.len() > MAX_F1AP_IDS);
                id.m_ng_ran_ue_xnap_id.is_some() || has_more || e1ap(&id.gnb_cu_cp_ue_e1ap_id_list)
            }
            UeId::NgEnb(id) => id.m_ng_ran_ue_xnap_id.is_some(),
            // beside others, its id on X2 is none of the names
            UeId::EnGnb(id) => {
                let has_others = id.gnb_cu_ue_f1ap_id.is_some() || id.ran_ueid.is_some();
                has_others || id.gnb_cu_cp_ue_e1ap_id_list.as_ref().is_some_and(|list| !list.is_empty())
            }
            UeId::Enb(id) => id.m_enb_ue_x2ap_id.is_some(),
            UeId::GnbDu(_) | UeId::GnbCuUp(_) | UeId::NgEnbDu(_) => false,
        }
    }

    /// Returns the UE ID for a node, with all names that its kind contains; `None` if its mandatory one is unknown. A DU and a
    /// CU-UP have one name of a UE: the smallest number.
    #[must_use]
    pub fn to_ue_id(names: &BTreeSet<UeName>, node: &GlobalE2NodeId) -> Option<UeId<'static>> {
        let f1ap = || {
            names.iter().filter_map(|name| if let UeName::F1ap(id) = name { Some(GnbCuUeF1apId(*id)) } else { None })
        };
        let e1ap = || {
            names.iter().filter_map(|name| if let UeName::E1ap(id) = name { Some(GnbCuCpUeE1apId(*id)) } else { None })
        };
        let ran_ueid =
            names.iter().find_map(|name| if let UeName::RanUeId(id) = name { Some(RanUeId(*id)) } else { None });
        let w1ap =
            names.iter().find_map(|name| if let UeName::W1ap(id) = name { Some(NgEnbCuUeW1apId(*id)) } else { None });
        let ngap = names.iter().find_map(ngap_of);
        match (node, Part::of(node)) {
            (GlobalE2NodeId::Gnb(_) | GlobalE2NodeId::EnGnb(_), Part::Du(_)) => {
                Some(UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: f1ap().next()?, ran_ueid, cell_rnti: None }))
            }
            (GlobalE2NodeId::Gnb(_) | GlobalE2NodeId::EnGnb(_), Part::CuUp(_)) => {
                Some(UeId::GnbCuUp(UeIdGnbCuUp { gnb_cu_cp_ue_e1ap_id: e1ap().next()?, ran_ueid }))
            }
            (GlobalE2NodeId::Gnb(_), Part::Control) => {
                let (guami, amf_ue_ngap_id) = ngap?;
                let f1ap = f1ap().take(MAX_F1AP_IDS).map(|gnb_cu_ue_f1ap_id| GnbCuUeF1apIdItem { gnb_cu_ue_f1ap_id });
                let e1ap =
                    e1ap().take(MAX_E1AP_IDS).map(|gnb_cu_cp_ue_e1ap_id| GnbCuCpUeE1apIdItem { gnb_cu_cp_ue_e1ap_id });
                Some(UeId::Gnb(Single::from(UeIdGnb {
                    amf_ue_ngap_id,
                    guami,
                    gnb_cu_ue_f1ap_id_list: non_empty(f1ap.collect()),
                    gnb_cu_cp_ue_e1ap_id_list: non_empty(e1ap.collect()),
                    ran_ueid,
                    m_ng_ran_ue_xnap_id: None,
                    global_gnb_id: None,
                    global_ng_ran_node_id: None,
                    cell_rnti: None,
                })))
            }
            (GlobalE2NodeId::NgEnb(_), Part::Du(_)) => {
                Some(UeId::NgEnbDu(UeIdNgEnbDu { ng_enb_cu_ue_w1ap_id: w1ap?, cell_rnti: None }))
            }
            (GlobalE2NodeId::NgEnb(_), _) => {
                let (guami, amf_ue_ngap_id) = ngap?;
                Some(UeId::NgEnb(Single::from(UeIdNgEnb {
                    amf_ue_ngap_id,
                    guami,
                    ng_enb_cu_ue_w1ap_id: w1ap,
                    m_ng_ran_ue_xnap_id: None,
                    global_ng_enb_id: None,
                    global_ng_ran_node_id: None,
                    cell_rnti: None,
                })))
            }
            (GlobalE2NodeId::Enb(_), _) => names.iter().find_map(s1ap_of).map(|(gummei, mme_ue_s1ap_id)| {
                UeId::Enb(Single::from(UeIdEnb {
                    mme_ue_s1ap_id,
                    gummei,
                    m_enb_ue_x2ap_id: None,
                    m_enb_ue_x2ap_id_extension: None,
                    global_enb_id: None,
                    cell_rnti: None,
                }))
            }),
            // its mandatory id is that of the master eNB, which is no name here
            (GlobalE2NodeId::EnGnb(_), Part::Control) => None,
        }
    }
}

/// The NR or E-UTRA cell identity of a cell.
#[must_use]
pub fn cell_identity(cell: &Cgi) -> u64 {
    match cell {
        Cgi::NrCgi(cell) => cell.nr_cell_identity.value,
        Cgi::EutraCgi(cell) => cell.eutra_cell_identity.value,
    }
}

/// The id of a UE of an en-gNB on X2 at its master eNB, with the extension as its more significant bits.
pub(super) fn x2ap_number(id: &UeIdEnGnb<'_>) -> u32 {
    let extension = id.m_enb_ue_x2ap_id_extension.map_or(0, |extension| extension.0);
    u32::from(extension) << 12 | u32::from(id.m_enb_ue_x2ap_id.0)
}

fn ngap_of(name: &UeName) -> Option<(Guami, AmfUeNgapId)> {
    let UeName::Ngap { guami: [a, b, c, region, set, pointer], amf_ue_ngap_id } = *name else { return None };
    let low = u64::from(u16::from_be_bytes([set, pointer]));
    let guami = Guami {
        plmn_identity: PlmnIdentity([a, b, c]),
        amf_region_id: Bits::new(region.into(), 8),
        amf_set_id: Bits::new(low >> 6, 10),
        amf_pointer: Bits::new(low & 0x3f, 6),
    };
    Some((guami, AmfUeNgapId(i64::try_from(amf_ue_ngap_id).ok()?)))
}

fn s1ap_of(name: &UeName) -> Option<(Gummei, MmeUeS1apId)> {
    let UeName::S1ap { gummei: [a, b, c, d, e, f], mme_ue_s1ap_id } = *name else { return None };
    let gummei = Gummei { plmn_identity: PlmnIdentity([a, b, c]), mme_group_id: [d, e], mme_code: [f] };
    Some((gummei, MmeUeS1apId(mme_ue_s1ap_id)))
}

fn non_empty<T>(items: Vec<T>) -> Option<List<'static, T>> {
    (!items.is_empty()).then(|| List::from(items))
}
