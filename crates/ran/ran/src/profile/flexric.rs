//! FlexRIC's emulated nodes, and OpenAirInterface's base stations, whose agent is FlexRIC's.
//!
//! The facts are those of FlexRIC's emulator of March 2025 and of its xApps, which read the definitions and end with an
//! assertion where they find something else.

use std::borrow::Cow;

use e2sm::kpm::Revision;
use e2sm::kpm::dictionary::Scope::{self, CellAndUe};
use e2sm::kpm::{TimestampFormat, TimestampMoment};
use e2sm::rc::dictionary::ue_information::RRC_STATE_CHANGED_TO;
use e2sm::rc::{self, ActionId, ControlAction};
use ran_functions::kpm::{MissingValue, ReportStyle};
use ran_functions::rc::{EventKind, RcOffer, ReportParameter};

use super::{CccProfile, KpmProfile, NodeProfile, Profile, RcProfile};
use crate::node_type::NodeType;

/// The emulator's nodes with all of FlexRIC's models.
pub static FLEXRIC: Profile = Profile {
    name: "flexric",
    e2ap_version: None,
    kpm_revision: Some(Revision::V3_00),
    rc_revision: Some(rc::Revision::V1_03),
    is_split: false,
    nodes: Some(&FLEXRIC_NODES),
    setup_order: &[],
};

/// OAI's base stations: without slice and traffic control, which their schedulers do not have.
pub static OAI: Profile = Profile {
    name: "oai",
    e2ap_version: None,
    kpm_revision: Some(Revision::V3_00),
    rc_revision: Some(rc::Revision::V1_03),
    is_split: false,
    nodes: Some(&OAI_NODES),
    setup_order: &[],
};

static FLEXRIC_NODES: [(NodeType, NodeProfile); 5] = [
    (NodeType::Gnb, node(&[3, 142, 143, 144, 145, 146, 148], GNB, WITH_RRC)),
    (NodeType::Enb, node(&[3, 142, 143, 144, 145, 146, 148], ENB, WITHOUT_RRC)),
    (NodeType::CuCp, node(&[3], &[], WITH_RRC)),
    (NodeType::CuUp, node(&[3, 144, 146, 148], CU_UP, WITHOUT_RRC)),
    (NodeType::Du, node(&[3, 142, 143, 145], DU, WITHOUT_RRC)),
];

static OAI_NODES: [(NodeType, NodeProfile); 5] = [
    (NodeType::Gnb, node(&[3, 142, 143, 144, 148], GNB, WITH_RRC)),
    (NodeType::Enb, node(&[3, 142, 143, 144, 148], ENB, WITHOUT_RRC)),
    (NodeType::CuCp, node(&[3], &[], WITH_RRC)),
    (NodeType::CuUp, node(&[3, 144, 148], CU_UP, WITHOUT_RRC)),
    (NodeType::Du, node(&[3, 142, 143], DU, WITHOUT_RRC)),
];

/// The measurements by node type.
type Measurements = &'static [(&'static str, Scope)];
const GNB: Measurements = &[
    ("DRB.PdcpSduVolumeDL", CellAndUe),
    ("DRB.PdcpSduVolumeUL", CellAndUe),
    ("DRB.RlcSduDelayDl", CellAndUe),
    ("DRB.UEThpDl", CellAndUe),
    ("DRB.UEThpUl", CellAndUe),
    ("RRU.PrbTotDl", CellAndUe),
    ("RRU.PrbTotUl", CellAndUe),
];
const ENB: Measurements = &[
    ("DRB.PdcpSduVolumeDL", CellAndUe),
    ("DRB.PdcpSduVolumeUL", CellAndUe),
    ("RRU.PrbTotDl", CellAndUe),
    ("RRU.PrbTotUl", CellAndUe),
];
const CU_UP: Measurements = &[("DRB.PdcpSduVolumeDL", CellAndUe), ("DRB.PdcpSduVolumeUL", CellAndUe)];
const DU: Measurements = &[
    ("DRB.RlcSduDelayDl", CellAndUe),
    ("DRB.UEThpDl", CellAndUe),
    ("DRB.UEThpUl", CellAndUe),
    ("RRU.PrbTotDl", CellAndUe),
    ("RRU.PrbTotUl", CellAndUe),
];

/// Reports of RRC states, and the mapping of QoS flows: the xApps accept nothing else. Nodes without RRC announce the
/// function without any style.
const WITH_RRC: (&[ActionId], &[EventKind]) = (&[ControlAction::QOS_FLOW_MAPPING], &[EventKind::RrcStates]);
const WITHOUT_RRC: (&[ActionId], &[EventKind]) = (&[], &[]);

/// The only parameter of reports, under the name that FlexRIC's monitor compares.
const RRC_STATE: ReportParameter = ReportParameter { style: 4, id: RRC_STATE_CHANGED_TO, name: "RRC State" };

/// DRB ID and the list of QoS flows, without the nesting of the list: FlexRIC decodes one level of definitions, and the flow's
/// structure would be a second one.
const QOS_FLOW_MAPPING: (ActionId, &[u32]) = (ControlAction::QOS_FLOW_MAPPING, &[1, 2]);

const fn node(
    functions: &'static [u16],
    measurements: Measurements,
    (actions, events): (&'static [ActionId], &'static [EventKind]),
) -> NodeProfile {
    // the xApps read the first style only, and know no other than style 4 there
    let styles: &[ReportStyle] =
        if measurements.is_empty() { &[] } else { &[ReportStyle::CommonConditions, ReportStyle::Node] };
    NodeProfile {
        functions: Some(functions),
        kpm: KpmProfile {
            function_id: 2,
            styles: Some(styles),
            measurements: Some(measurements),
            revision: None,
            oid: None,
            definition_oid: None,
            short_name: None,
            v1_name: None,
            missing_value: MissingValue::Zero,
            timestamps: Some((TimestampFormat::UnixMicros, TimestampMoment::Report)),
            evaluates_conditions: true,
            max_actions_per_subscription: 16,
        },
        rc: RcProfile {
            revision: None,
            actions: Some(actions),
            events: Some(events),
            has_ue_parameters: false,
            has_procedures: false,
            offer: Some(RcOffer {
                multiple_actions: false,
                queries: false,
                on_demand_reports: false,
                report_parameters: Some(Cow::Borrowed(&[RRC_STATE])),
                listed_parameters: Cow::Borrowed(&[QOS_FLOW_MAPPING]),
                counts_from_zero: true,
                requirements: Cow::Borrowed(&[]),
            }),
        },
        ccc: CccProfile::Short,
        accepts_unknown: true,
        has_ran_ue_id: true,
        has_ng_only: false,
    }
}
