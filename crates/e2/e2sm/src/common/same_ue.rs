//! Comparison of UE IDs.

use super::{PartialUeId, UeId};

impl UeId<'_> {
    /// Returns whether both identify the same UE. Optional parts may differ or be missing.
    #[must_use]
    pub fn is_same_ue(&self, other: &UeId<'_>) -> bool {
        match (self, other) {
            (UeId::Gnb(a), UeId::Gnb(b)) => a.amf_ue_ngap_id == b.amf_ue_ngap_id && a.guami == b.guami,
            (UeId::GnbDu(a), UeId::GnbDu(b)) => a.gnb_cu_ue_f1ap_id == b.gnb_cu_ue_f1ap_id,
            (UeId::GnbCuUp(a), UeId::GnbCuUp(b)) => a.gnb_cu_cp_ue_e1ap_id == b.gnb_cu_cp_ue_e1ap_id,
            (UeId::NgEnb(a), UeId::NgEnb(b)) => a.amf_ue_ngap_id == b.amf_ue_ngap_id && a.guami == b.guami,
            (UeId::NgEnbDu(a), UeId::NgEnbDu(b)) => a.ng_enb_cu_ue_w1ap_id == b.ng_enb_cu_ue_w1ap_id,
            (UeId::EnGnb(a), UeId::EnGnb(b)) => {
                (a.m_enb_ue_x2ap_id, a.m_enb_ue_x2ap_id_extension, a.global_enb_id)
                    == (b.m_enb_ue_x2ap_id, b.m_enb_ue_x2ap_id_extension, b.global_enb_id)
            }
            (UeId::Enb(a), UeId::Enb(b)) => a.mme_ue_s1ap_id == b.mme_ue_s1ap_id && a.gummei == b.gummei,
            _ => false,
        }
    }
}

impl PartialUeId {
    /// Returns all parts of a UE ID.
    #[must_use]
    pub fn of(ue_id: &UeId<'_>) -> Self {
        let mut parts = PartialUeId::default();
        match ue_id {
            UeId::Gnb(ue) => {
                (parts.amf_ue_ngap_id, parts.guami) = (Some(ue.amf_ue_ngap_id), Some(ue.guami));
                (parts.ran_ueid, parts.cell_rnti) = (ue.ran_ueid, ue.cell_rnti);
                parts.gnb_cu_ue_f1ap_id =
                    ue.gnb_cu_ue_f1ap_id_list.iter().flatten().next().map(|id| id.gnb_cu_ue_f1ap_id);
                let e1ap = ue.gnb_cu_cp_ue_e1ap_id_list.iter().flatten().next();
                parts.gnb_cu_cp_ue_e1ap_id = e1ap.map(|id| id.gnb_cu_cp_ue_e1ap_id);
                parts.m_ng_ran_ue_xnap_id = ue.m_ng_ran_ue_xnap_id;
                parts.global_ng_ran_node_id = ue.global_ng_ran_node_id;
            }
            UeId::GnbDu(ue) => {
                (parts.ran_ueid, parts.cell_rnti) = (ue.ran_ueid, ue.cell_rnti);
                parts.gnb_cu_ue_f1ap_id = Some(ue.gnb_cu_ue_f1ap_id);
            }
            UeId::GnbCuUp(ue) => {
                parts.ran_ueid = ue.ran_ueid;
                parts.gnb_cu_cp_ue_e1ap_id = Some(ue.gnb_cu_cp_ue_e1ap_id);
            }
            UeId::NgEnb(ue) => {
                (parts.amf_ue_ngap_id, parts.guami) = (Some(ue.amf_ue_ngap_id), Some(ue.guami));
                (parts.ng_enb_cu_ue_w1ap_id, parts.cell_rnti) = (ue.ng_enb_cu_ue_w1ap_id, ue.cell_rnti);
                parts.m_ng_ran_ue_xnap_id = ue.m_ng_ran_ue_xnap_id;
                parts.global_ng_ran_node_id = ue.global_ng_ran_node_id;
            }
            UeId::NgEnbDu(ue) => {
                parts.ng_enb_cu_ue_w1ap_id = Some(ue.ng_enb_cu_ue_w1ap_id);
                parts.cell_rnti = ue.cell_rnti;
            }
            UeId::EnGnb(ue) => {
                (parts.m_enb_ue_x2ap_id, parts.global_enb_id) = (Some(ue.m_enb_ue_x2ap_id), Some(ue.global_enb_id));
                parts.m_enb_ue_x2ap_id_extension = ue.m_enb_ue_x2ap_id_extension;
                (parts.gnb_cu_ue_f1ap_id, parts.ran_ueid, parts.cell_rnti) =
                    (ue.gnb_cu_ue_f1ap_id, ue.ran_ueid, ue.cell_rnti);
            }
            UeId::Enb(ue) => {
                (parts.mme_ue_s1ap_id, parts.gummei) = (Some(ue.mme_ue_s1ap_id), Some(ue.gummei));
                (parts.m_enb_ue_x2ap_id, parts.global_enb_id, parts.cell_rnti) =
                    (ue.m_enb_ue_x2ap_id, ue.global_enb_id, ue.cell_rnti);
            }
        }
        parts
    }

    /// Returns whether a UE has all parts, of which there is at least one.
    #[must_use]
    pub fn matches(&self, ue_id: &UeId<'_>) -> bool {
        let theirs = self;
        let ours = PartialUeId::of(ue_id);
        let mut any = false;
        macro_rules! same {
        ($($name:ident),*) => {
            $(if theirs.$name.is_some() {
                if theirs.$name != ours.$name {
                    return false;
                }
                any = true;
            })*
        };
    }
        same!(
            amf_ue_ngap_id,
            guami,
            gnb_cu_ue_f1ap_id,
            gnb_cu_cp_ue_e1ap_id,
            ran_ueid,
            m_ng_ran_ue_xnap_id,
            global_ng_ran_node_id,
            cell_rnti,
            ng_enb_cu_ue_w1ap_id,
            m_enb_ue_x2ap_id,
            m_enb_ue_x2ap_id_extension,
            global_enb_id,
            mme_ue_s1ap_id,
            gummei
        );
        any
    }
}
