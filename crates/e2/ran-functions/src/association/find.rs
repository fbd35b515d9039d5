//! Finding a UE by a UE ID that may omit optional parts.

use e2sm::common::{GnbCuCpUeE1apIdItem, UeId};
use ferric::agent::Ue;
use per::List;

/// Returns the UE that a UE ID identifies among all UEs: its mandatory parts and each optional part that it has are those of the
/// UE, and those of no other one.
pub fn find_ue(ues: impl IntoIterator<Item = (Ue, UeId<'static>)>, wanted: &UeId<'_>) -> Option<Ue> {
    let mut found = ues.into_iter().filter(|(_, ue_id)| has_all_parts(ue_id, wanted)).map(|(ue, _)| ue);
    found.next().filter(|_| found.next().is_none())
}

/// Whether a UE has each part of a UE ID.
fn has_all_parts(ue: &UeId<'_>, wanted: &UeId<'_>) -> bool {
    fn is<T: PartialEq>(own: &Option<T>, wanted: &Option<T>) -> bool {
        wanted.is_none() || own == wanted
    }
    fn contains<T: PartialEq>(own: Option<&List<'_, T>>, wanted: Option<&List<'_, T>>) -> bool {
        let own = own.map_or(&[][..], |own| own);
        wanted.is_none_or(|wanted| wanted.iter().all(|item| own.contains(item)))
    }
    type E1ap<'a> = Option<List<'a, GnbCuCpUeE1apIdItem>>;
    let e1ap = |own: &E1ap<'_>, wanted: &E1ap<'_>| contains(own.as_ref(), wanted.as_ref());
    match (ue, wanted) {
        (UeId::Gnb(own), UeId::Gnb(wanted)) => {
            own.amf_ue_ngap_id == wanted.amf_ue_ngap_id
                && own.guami == wanted.guami
                && contains(own.gnb_cu_ue_f1ap_id_list.as_ref(), wanted.gnb_cu_ue_f1ap_id_list.as_ref())
                && e1ap(&own.gnb_cu_cp_ue_e1ap_id_list, &wanted.gnb_cu_cp_ue_e1ap_id_list)
                && is(&own.ran_ueid, &wanted.ran_ueid)
                && is(&own.m_ng_ran_ue_xnap_id, &wanted.m_ng_ran_ue_xnap_id)
                && is(&own.global_gnb_id, &wanted.global_gnb_id)
                && is(&own.global_ng_ran_node_id, &wanted.global_ng_ran_node_id)
                && is(&own.cell_rnti, &wanted.cell_rnti)
        }
        (UeId::GnbDu(own), UeId::GnbDu(wanted)) => {
            own.gnb_cu_ue_f1ap_id == wanted.gnb_cu_ue_f1ap_id
                && is(&own.ran_ueid, &wanted.ran_ueid)
                && is(&own.cell_rnti, &wanted.cell_rnti)
        }
        (UeId::GnbCuUp(own), UeId::GnbCuUp(wanted)) => {
            own.gnb_cu_cp_ue_e1ap_id == wanted.gnb_cu_cp_ue_e1ap_id && is(&own.ran_ueid, &wanted.ran_ueid)
        }
        (UeId::NgEnb(own), UeId::NgEnb(wanted)) => {
            own.amf_ue_ngap_id == wanted.amf_ue_ngap_id
                && own.guami == wanted.guami
                && is(&own.ng_enb_cu_ue_w1ap_id, &wanted.ng_enb_cu_ue_w1ap_id)
                && is(&own.m_ng_ran_ue_xnap_id, &wanted.m_ng_ran_ue_xnap_id)
                && is(&own.global_ng_enb_id, &wanted.global_ng_enb_id)
                && is(&own.global_ng_ran_node_id, &wanted.global_ng_ran_node_id)
                && is(&own.cell_rnti, &wanted.cell_rnti)
        }
        (UeId::NgEnbDu(own), UeId::NgEnbDu(wanted)) => {
            own.ng_enb_cu_ue_w1ap_id == wanted.ng_enb_cu_ue_w1ap_id && is(&own.cell_rnti, &wanted.cell_rnti)
        }
        (UeId::EnGnb(own), UeId::EnGnb(wanted)) => {
            own.m_enb_ue_x2ap_id == wanted.m_enb_ue_x2ap_id
                && own.global_enb_id == wanted.global_enb_id
                && is(&own.m_enb_ue_x2ap_id_extension, &wanted.m_enb_ue_x2ap_id_extension)
                && is(&own.gnb_cu_ue_f1ap_id, &wanted.gnb_cu_ue_f1ap_id)
                && e1ap(&own.gnb_cu_cp_ue_e1ap_id_list, &wanted.gnb_cu_cp_ue_e1ap_id_list)
                && is(&own.ran_ueid, &wanted.ran_ueid)
                && is(&own.cell_rnti, &wanted.cell_rnti)
        }
        (UeId::Enb(own), UeId::Enb(wanted)) => {
            own.mme_ue_s1ap_id == wanted.mme_ue_s1ap_id
                && own.gummei == wanted.gummei
                && is(&own.m_enb_ue_x2ap_id, &wanted.m_enb_ue_x2ap_id)
                && is(&own.m_enb_ue_x2ap_id_extension, &wanted.m_enb_ue_x2ap_id_extension)
                && is(&own.global_enb_id, &wanted.global_enb_id)
                && is(&own.cell_rnti, &wanted.cell_rnti)
        }
        _ => false,
    }
}
