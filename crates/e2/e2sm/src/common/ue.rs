//! The UE ID of E2SM: a UE by its identities on the interfaces of its node.

use ids::{
    AmfUeNgapId, CellRnti, EnbUeX2apId, EnbUeX2apIdExtension, GlobalEnbId, GlobalGnbId, GlobalNgEnbId,
    GlobalNgRanNodeId, GnbCuCpUeE1apId, GnbCuUeF1apId, Guami, Gummei, MmeUeS1apId, NgEnbCuUeW1apId, NgRanNodeUeXnapId,
    RanUeId,
};
use per::{List, Per, Single};

/// UEID: the identities of a UE that its kind of node uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible, fast)]
pub enum UeId<'a> {
    /// In a gNB, or its CU-CP.
    Gnb(Single<'a, UeIdGnb<'a>>),
    /// In a gNB-DU.
    GnbDu(UeIdGnbDu),
    /// In a gNB-CU-UP.
    GnbCuUp(UeIdGnbCuUp),
    /// In an ng-eNB, or its CU.
    NgEnb(Single<'a, UeIdNgEnb>),
    /// In an ng-eNB-DU.
    NgEnbDu(UeIdNgEnbDu),
    /// In an en-gNB.
    EnGnb(Single<'a, UeIdEnGnb<'a>>),
    /// In an eNB.
    Enb(Single<'a, UeIdEnb>),
}

/// UEID-GNB.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible, fast)]
pub struct UeIdGnb<'a> {
    /// The UE at its AMF.
    pub amf_ue_ngap_id: AmfUeNgapId,
    /// The AMF.
    pub guami: Guami,
    /// The UE on F1, with a CU-DU split; more than one with NR-DC only.
    #[per(size = 1..=4)]
    pub gnb_cu_ue_f1ap_id_list: Option<List<'a, GnbCuUeF1apIdItem>>,
    /// The UE on E1, with a CP-UP split.
    #[per(size = 1..=65535)]
    pub gnb_cu_cp_ue_e1ap_id_list: Option<List<'a, GnbCuCpUeE1apIdItem>>,
    /// The UE within the node.
    pub ran_ueid: Option<RanUeId>,
    /// The UE at the master node, under dual connectivity.
    pub m_ng_ran_ue_xnap_id: Option<NgRanNodeUeXnapId>,
    /// No longer used.
    pub global_gnb_id: Option<GlobalGnbId>,
    /// The master node, which the secondary node reports under dual connectivity.
    #[per(addition)]
    pub global_ng_ran_node_id: Option<GlobalNgRanNodeId>,
    /// The UE in its cell (E2SM v05.00).
    #[per(addition, since = 3)]
    pub cell_rnti: Option<CellRnti>,
}

/// UEID-GNB-CU-CP-F1AP-ID-Item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible, fast)]
pub struct GnbCuUeF1apIdItem {
    /// The UE on one F1.
    pub gnb_cu_ue_f1ap_id: GnbCuUeF1apId,
}

/// UEID-GNB-CU-CP-E1AP-ID-Item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct GnbCuCpUeE1apIdItem {
    /// The UE on one E1.
    pub gnb_cu_cp_ue_e1ap_id: GnbCuCpUeE1apId,
}

/// UEID-GNB-DU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible, fast)]
pub struct UeIdGnbDu {
    /// The UE on F1.
    pub gnb_cu_ue_f1ap_id: GnbCuUeF1apId,
    /// The UE within the node.
    pub ran_ueid: Option<RanUeId>,
    /// The UE in its cell (E2SM v05.00).
    #[per(addition, since = 3)]
    pub cell_rnti: Option<CellRnti>,
}

/// UEID-GNB-CU-UP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct UeIdGnbCuUp {
    /// The UE on E1.
    pub gnb_cu_cp_ue_e1ap_id: GnbCuCpUeE1apId,
    /// The UE within the node.
    pub ran_ueid: Option<RanUeId>,
}

/// UEID-NG-ENB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct UeIdNgEnb {
    /// The UE at its AMF.
    pub amf_ue_ngap_id: AmfUeNgapId,
    /// The AMF.
    pub guami: Guami,
    /// The UE on W1, with a CU-DU split.
    pub ng_enb_cu_ue_w1ap_id: Option<NgEnbCuUeW1apId>,
    /// The UE at the master node, under dual connectivity.
    pub m_ng_ran_ue_xnap_id: Option<NgRanNodeUeXnapId>,
    /// No longer used.
    pub global_ng_enb_id: Option<GlobalNgEnbId>,
    /// The master node, which the secondary node reports under dual connectivity.
    #[per(addition)]
    pub global_ng_ran_node_id: Option<GlobalNgRanNodeId>,
    /// The UE in its cell (E2SM v05.00).
    #[per(addition, since = 3)]
    pub cell_rnti: Option<CellRnti>,
}

/// UEID-NG-ENB-DU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct UeIdNgEnbDu {
    /// The UE on W1.
    pub ng_enb_cu_ue_w1ap_id: NgEnbCuUeW1apId,
    /// The UE in its cell (E2SM v05.00).
    #[per(addition, since = 3)]
    pub cell_rnti: Option<CellRnti>,
}

/// UEID-EN-GNB.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct UeIdEnGnb<'a> {
    /// The UE at the master eNB.
    pub m_enb_ue_x2ap_id: EnbUeX2apId,
    /// The extension of the id to more bits.
    pub m_enb_ue_x2ap_id_extension: Option<EnbUeX2apIdExtension>,
    /// The master eNB.
    pub global_enb_id: GlobalEnbId,
    /// The UE on F1, with a CU-DU split.
    pub gnb_cu_ue_f1ap_id: Option<GnbCuUeF1apId>,
    /// The UE on E1, with a CP-UP split.
    #[per(size = 1..=65535)]
    pub gnb_cu_cp_ue_e1ap_id_list: Option<List<'a, GnbCuCpUeE1apIdItem>>,
    /// The UE within the node.
    pub ran_ueid: Option<RanUeId>,
    /// The UE in its cell (E2SM v05.00).
    #[per(addition, since = 3)]
    pub cell_rnti: Option<CellRnti>,
}

/// UEID-ENB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct UeIdEnb {
    /// The UE at its MME.
    pub mme_ue_s1ap_id: MmeUeS1apId,
    /// The MME.
    pub gummei: Gummei,
    /// The UE at the master eNB, under dual connectivity.
    pub m_enb_ue_x2ap_id: Option<EnbUeX2apId>,
    /// The extension of the id to more bits.
    pub m_enb_ue_x2ap_id_extension: Option<EnbUeX2apIdExtension>,
    /// The master eNB, which the secondary node reports under dual connectivity.
    pub global_enb_id: Option<GlobalEnbId>,
    /// The UE in its cell (E2SM v05.00).
    #[per(addition, since = 3)]
    pub cell_rnti: Option<CellRnti>,
}

/// PartialUEID: some of the identities of a UE (E2SM v05.00).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct PartialUeId {
    /// The UE at its AMF.
    pub amf_ue_ngap_id: Option<AmfUeNgapId>,
    /// The AMF.
    pub guami: Option<Guami>,
    /// The UE on F1.
    pub gnb_cu_ue_f1ap_id: Option<GnbCuUeF1apId>,
    /// The UE on E1.
    pub gnb_cu_cp_ue_e1ap_id: Option<GnbCuCpUeE1apId>,
    /// The UE within the node.
    pub ran_ueid: Option<RanUeId>,
    /// The UE at the master node, under dual connectivity.
    pub m_ng_ran_ue_xnap_id: Option<NgRanNodeUeXnapId>,
    /// The master node.
    pub global_ng_ran_node_id: Option<GlobalNgRanNodeId>,
    /// The UE in its cell.
    pub cell_rnti: Option<CellRnti>,
    /// The UE on W1.
    pub ng_enb_cu_ue_w1ap_id: Option<NgEnbCuUeW1apId>,
    /// The UE at the master eNB, under dual connectivity.
    pub m_enb_ue_x2ap_id: Option<EnbUeX2apId>,
    /// The extension of the id to more bits.
    pub m_enb_ue_x2ap_id_extension: Option<EnbUeX2apIdExtension>,
    /// The master eNB.
    pub global_enb_id: Option<GlobalEnbId>,
    /// The UE at its MME.
    pub mme_ue_s1ap_id: Option<MmeUeS1apId>,
    /// The MME.
    pub gummei: Option<Gummei>,
}
