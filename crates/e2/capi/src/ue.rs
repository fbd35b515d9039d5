//! The identity of a UE, as a base station states it.

use e2sm::common::{
    AmfUeNgapId, Cgi, FiveQi, GnbCuUeF1apId, Guami, PlmnIdentity, RanUeId, SNssai, UeId, UeIdGnb, UeIdGnbDu,
};
use ids::{CellRnti, RntiValue, Sd, Sst};
use per::Bits;

use crate::status::Failure;

/// The UE is named by AMF UE NGAP ID and GUAMI: in a gNB or a gNB-CU (E2SM 6.2.2.6, choice gNB-UEID).
pub const FERRIC_UE_GNB: u32 = 1;
/// The UE is named by gNB-CU UE F1AP ID: in a gNB-DU (choice gNB-DU-UEID).
pub const FERRIC_UE_GNB_DU: u32 = 2;

/// The most slices of a UE, and the most 5QIs.
pub const FERRIC_UE_MAX_SLICES: usize = 8;

/// A slice: S-NSSAI (TS 23.501 5.15.2).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_slice {
    /// The slice/service type.
    pub sst: u8,
    /// 1 if there is a slice differentiator, else 0.
    pub has_sd: u8,
    /// The slice differentiator, 24 bits.
    pub sd: u32,
}

/// The names of a UE, and what it uses. Set it to zeros, then `size`, `kind` and what is known.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_ue_identity {
    /// sizeof(struct ferric_ue_identity)
    pub size: u32,
    /// FERRIC_UE_GNB or FERRIC_UE_GNB_DU: which of the following names are used.
    pub kind: u32,
    /// AMF UE NGAP ID, 0 to 2^40 - 1 (FERRIC_UE_GNB).
    pub amf_ue_ngap_id: u64,
    /// AMF region, 8 bits (FERRIC_UE_GNB).
    pub amf_region: u8,
    /// AMF pointer, 6 bits (FERRIC_UE_GNB).
    pub amf_pointer: u8,
    /// AMF set, 10 bits (FERRIC_UE_GNB).
    pub amf_set: u16,
    /// gNB-CU UE F1AP ID (FERRIC_UE_GNB_DU).
    pub gnb_cu_ue_f1ap_id: u32,
    /// RAN UE ID within the node; 0 if there is none.
    pub ran_ue_id: u64,
    /// C-RNTI, 1 to 65,519; 0 if it is not to be reported. Reported from KPM v04.00 on.
    pub c_rnti: u16,
    /// The number of slices: at most FERRIC_UE_MAX_SLICES.
    pub slice_count: u8,
    /// The number of 5QIs: at most FERRIC_UE_MAX_SLICES.
    pub five_qi_count: u8,
    /// The 5QIs of its QoS flows.
    pub five_qis: [u8; FERRIC_UE_MAX_SLICES],
    /// The slices of its PDU sessions.
    pub slices: [ferric_slice; FERRIC_UE_MAX_SLICES],
}

/// The largest C-RNTI (TS 38.321 7.1).
const MAX_C_RNTI: u16 = 65_519;

/// A checked identity.
pub(crate) struct Identity {
    pub id: UeId<'static>,
    pub slices: Vec<SNssai>,
    pub five_qis: Vec<FiveQi>,
}

impl Identity {
    /// Checks what a base station states of a UE of `cell`.
    pub fn new(stated: &ferric_ue_identity, plmn_identity: PlmnIdentity, cell: Cgi) -> Result<Self, Failure> {
        let max = FERRIC_UE_MAX_SLICES;
        for (count, name) in [(stated.slice_count, "slice_count"), (stated.five_qi_count, "five_qi_count")] {
            if usize::from(count) > max {
                return Err(Failure::argument(name, format_args!("{name} {count} is not in 0 to {max}")));
            }
        }
        if stated.c_rnti > MAX_C_RNTI {
            return Err(Failure::argument(
                "c_rnti",
                format_args!("c_rnti {} is not in 0 to {MAX_C_RNTI}", stated.c_rnti),
            ));
        }
        let ran_ueid = (stated.ran_ue_id != 0).then(|| RanUeId(stated.ran_ue_id.to_be_bytes()));
        let rnti = RntiValue(stated.c_rnti);
        let cell_rnti = (stated.c_rnti != 0).then_some(CellRnti { c_rnti: rnti, cell_global_id: cell });
        let id = match stated.kind {
            FERRIC_UE_GNB => {
                let bits = |value: u16, count: u8, name: &str| {
                    let fits = u32::from(value) < 1 << count;
                    fits.then(|| Bits::new(value.into(), count)).ok_or_else(|| {
                        Failure::argument(name, format_args!("{name} {value} has more than {count} bits"))
                    })
                };
                let amf_ue_ngap_id = i64::try_from(stated.amf_ue_ngap_id).ok().filter(|id| *id < 1 << 40);
                let amf_ue_ngap_id = amf_ue_ngap_id
                    .ok_or_else(|| Failure::argument("amf_ue_ngap_id", "amf_ue_ngap_id has more than 40 bits"))?;
                let guami = Guami {
                    plmn_identity,
                    amf_region_id: bits(stated.amf_region.into(), 8, "amf_region")?,
                    amf_set_id: bits(stated.amf_set, 10, "amf_set")?,
                    amf_pointer: bits(stated.amf_pointer.into(), 6, "amf_pointer")?,
                };
                UeId::Gnb(per::Single::from(UeIdGnb {
                    amf_ue_ngap_id: AmfUeNgapId(amf_ue_ngap_id),
                    guami,
                    gnb_cu_ue_f1ap_id_list: None,
                    gnb_cu_cp_ue_e1ap_id_list: None,
                    ran_ueid,
                    m_ng_ran_ue_xnap_id: None,
                    global_gnb_id: None,
                    global_ng_ran_node_id: None,
                    cell_rnti,
                }))
            }
            FERRIC_UE_GNB_DU => {
                let gnb_cu_ue_f1ap_id = GnbCuUeF1apId(stated.gnb_cu_ue_f1ap_id);
                UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id, ran_ueid, cell_rnti })
            }
            kind => {
                return Err(Failure::argument(
                    "kind",
                    format_args!("kind {kind} is neither FERRIC_UE_GNB nor FERRIC_UE_GNB_DU"),
                ));
            }
        };
        let slices = &stated.slices[..usize::from(stated.slice_count)];
        let slices = slices.iter().map(|slice| {
            let sd = slice.sd.to_be_bytes();
            match (slice.has_sd, sd) {
                (0, _) => Ok(SNssai { sst: Sst([slice.sst]), sd: None }),
                (1, [0, sd @ ..]) => Ok(SNssai { sst: Sst([slice.sst]), sd: Some(Sd(sd)) }),
                (1, _) => {
                    Err(Failure::argument("sd", format_args!("sd {:#x} of a slice has more than 24 bits", slice.sd)))
                }
                (other, _) => {
                    Err(Failure::argument("has_sd", format_args!("has_sd {other} of a slice is neither 0 nor 1")))
                }
            }
        });
        let five_qis = stated.five_qis[..usize::from(stated.five_qi_count)].iter().map(|five_qi| FiveQi(*five_qi));
        Ok(Identity { id, slices: slices.collect::<Result<_, _>>()?, five_qis: five_qis.collect() })
    }
}
