//! UE IDs of E2SM, as the emulated core assigns them.

use e2sm::common::{AmfUeNgapId, Guami, PlmnIdentity, UeId, UeIdGnb};
use per::{Bits, Single};

/// The AMF-UE-NGAP-ID of the first UE of a scenario.
pub const FIRST_UE: i64 = 0xe00 << 16;

/// Returns the UE with this AMF-UE-NGAP-ID at the AMF of the emulated core.
#[must_use]
pub fn by_amf(amf_ue_ngap_id: i64) -> UeId<'static> {
    let guami = Guami {
        plmn_identity: PlmnIdentity::from_codes(1, 1, 2),
        amf_region_id: Bits::new(1, 8),
        amf_set_id: Bits::new(1, 10),
        amf_pointer: Bits::new(1, 6),
    };
    UeId::Gnb(Single::from(UeIdGnb {
        amf_ue_ngap_id: AmfUeNgapId(amf_ue_ngap_id),
        guami,
        gnb_cu_ue_f1ap_id_list: None,
        gnb_cu_cp_ue_e1ap_id_list: None,
        ran_ueid: None,
        m_ng_ran_ue_xnap_id: None,
        global_gnb_id: None,
        global_ng_ran_node_id: None,
        cell_rnti: None,
    }))
}
