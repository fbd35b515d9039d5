//! srsRAN Project's and OCUDU's base stations: a CU-CP, a CU-UP and a DU, each with an E2 agent.
//!
//! The facts are those of `lib/e2` of srsRAN Project (February 2026) and OCUDU (July 2026), which agree. Where these end
//! with a fault of the program, such as on a slice-level PRB quota without the RRM Policy Ratio Group, the emulated node
//! answers with RIC CONTROL FAILURE and names the parameter.

use std::borrow::Cow;

use e2sm::kpm::Revision;
use e2sm::kpm::dictionary::Scope::{self, Cell as OfCell, CellAndUe};
use e2sm::kpm::{TimestampFormat, TimestampMoment};
use e2sm::rc::{self, ActionId, ControlAction};
use ran_functions::kpm::{MissingValue, ReportStyle};
use ran_functions::rc::{ControlRequirement, RcOffer, RequiredUeId};

use super::{CccProfile, KpmProfile, NodeProfile, Profile, RcProfile};
use crate::node_type::NodeType;

/// The object identifier of KPM v02, which srsRAN registers for v03.00 too.
const KPM_OID: &str = "1.3.6.1.4.1.53148.1.2.2.2";

const fn profile(name: &'static str, nodes: &'static [(NodeType, NodeProfile)]) -> Profile {
    Profile {
        name,
        e2ap_version: None,
        kpm_revision: Some(Revision::V3_00),
        rc_revision: Some(rc::Revision::V3_00),
        is_split: true,
        nodes: Some(nodes),
        setup_order: &[],
    }
}

/// A split gNB whose three parts have E2 agents.
pub static SPLIT_GNB: Profile = profile("srsran", &ALL);
/// A split gNB whose DU has an E2 agent.
pub static DU: Profile = profile("srsran-du", &OF_DU);
/// A split gNB whose CU-CP has an E2 agent.
pub static CU_CP: Profile = profile("srsran-cucp", &OF_CU_CP);
/// A split gNB whose CU-UP has an E2 agent.
pub static CU_UP: Profile = profile("srsran-cuup", &OF_CU_UP);

static ALL: [(NodeType, NodeProfile); 3] = [(NodeType::CuCp, cu_cp()), (NodeType::CuUp, cu_up()), (NodeType::Du, du())];
static OF_DU: [(NodeType, NodeProfile); 1] = [(NodeType::Du, du())];
static OF_CU_CP: [(NodeType, NodeProfile); 1] = [(NodeType::CuCp, cu_cp())];
static OF_CU_UP: [(NodeType, NodeProfile); 1] = [(NodeType::CuUp, cu_up())];

/// The measurements of the DU, in the order of its definition.
const OF_DU_MEASURED: &[(&str, Scope)] = &[
    ("DRB.AirIfDelayUl", CellAndUe),
    ("DRB.RlcDelayUl", CellAndUe),
    ("DRB.RlcPacketDropRateDl", CellAndUe),
    ("DRB.RlcSduDelayDl", CellAndUe),
    ("DRB.RlcSduTransmittedVolumeDL", CellAndUe),
    ("DRB.RlcSduTransmittedVolumeUL", CellAndUe),
    ("DRB.UEThpDl", CellAndUe),
    ("DRB.UEThpUl", CellAndUe),
    ("RACH.PreambleDedCell", OfCell),
    ("RRU.PrbAvailDl", CellAndUe),
    ("RRU.PrbAvailUl", CellAndUe),
    ("RRU.PrbTotDl", CellAndUe),
    ("RRU.PrbTotUl", CellAndUe),
    ("RRU.PrbUsedDl", CellAndUe),
    ("RRU.PrbUsedUl", CellAndUe),
];

/// The parameters that the DU's definition lists for the slice-level PRB quota.
const QUOTA: (ActionId, &[u32]) = (ControlAction::SLICE_PRB_QUOTA, &[1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
/// The whole nesting, and the three ratios. The quota is that of a UE.
const QUOTA_REQUIRED: ControlRequirement = ControlRequirement {
    action: ControlAction::SLICE_PRB_QUOTA,
    parameters: &[&[1, 2, 3, 5, 6, 7], &[1, 2, 3, 5, 6, 8, 9], &[1, 2, 11], &[1, 2, 12], &[1, 2, 13]],
    ue_id: RequiredUeId::Known,
};

/// The parameters that the CU-CP's definition lists for handovers.
const HANDOVER: (ActionId, &[u32]) = (ControlAction::HANDOVER, &[1, 2, 3, 4, 5, 6]);
/// The target cell, and the UE by AMF UE NGAP ID, GUAMI and gNB-CU UE F1AP ID.
const HANDOVER_REQUIRED: ControlRequirement =
    ControlRequirement { action: ControlAction::HANDOVER, parameters: &[&[1, 2, 3, 4]], ue_id: RequiredUeId::F1apId };

const fn du() -> NodeProfile {
    NodeProfile {
        functions: Some(&[3, 4]),
        kpm: kpm(
            &[
                ReportStyle::Node,
                ReportStyle::SingleUe,
                ReportStyle::Conditions,
                ReportStyle::CommonConditions,
                ReportStyle::Ues,
            ],
            OF_DU_MEASURED,
            MissingValue::NoValue,
        ),
        rc: rc(&[ControlAction::SLICE_PRB_QUOTA], &[QUOTA], &[QUOTA_REQUIRED]),
        ccc: CccProfile::RrmPolicyControl,
        accepts_unknown: false,
        has_ran_ue_id: false,
        has_ng_only: false,
    }
}

const fn cu_cp() -> NodeProfile {
    NodeProfile {
        functions: Some(&[3]),
        kpm: kpm(&[], &[], MissingValue::NoValue),
        rc: rc(&[ControlAction::HANDOVER], &[HANDOVER], &[HANDOVER_REQUIRED]),
        ccc: CccProfile::Short,
        accepts_unknown: false,
        has_ran_ue_id: false,
        has_ng_only: true,
    }
}

const fn cu_up() -> NodeProfile {
    NodeProfile {
        functions: Some(&[3]),
        kpm: kpm(
            &[ReportStyle::Node],
            &[("DRB.PacketSuccessRateUlgNBUu", OfCell), ("DRB.PdcpReordDelayUl", OfCell)],
            MissingValue::Omitted,
        ),
        rc: rc(&[], &[], &[]),
        ccc: CccProfile::Short,
        accepts_unknown: false,
        has_ran_ue_id: false,
        has_ng_only: false,
    }
}

const fn kpm(
    styles: &'static [ReportStyle],
    measurements: &'static [(&'static str, Scope)],
    missing_value: MissingValue,
) -> KpmProfile {
    KpmProfile {
        function_id: 2,
        styles: Some(styles),
        measurements: Some(measurements),
        revision: Some(0),
        oid: Some(KPM_OID),
        definition_oid: None,
        short_name: None,
        v1_name: None,
        missing_value,
        timestamps: Some((TimestampFormat::Ntp, TimestampMoment::Report)),
        evaluates_conditions: false,
        max_actions_per_subscription: 16,
    }
}

const fn rc(
    actions: &'static [ActionId],
    listed_parameters: &'static [(ActionId, &'static [u32])],
    requirements: &'static [ControlRequirement],
) -> RcProfile {
    RcProfile {
        revision: Some(0),
        actions: Some(actions),
        events: Some(&[]),
        has_ue_parameters: false,
        has_procedures: false,
        offer: Some(RcOffer {
            multiple_actions: false,
            queries: false,
            on_demand_reports: false,
            report_parameters: Some(Cow::Borrowed(&[])),
            listed_parameters: Cow::Borrowed(listed_parameters),
            counts_from_zero: false,
            requirements: Cow::Borrowed(requirements),
        }),
    }
}
