//! Simulators of base stations: O-RAN SC's kpm_sim and ONOS's ran-simulator.

use e2sm::kpm::Revision;
use e2sm::kpm::dictionary::Scope::{self, Cell as OfCell};
use e2sm::kpm::{TimestampFormat, TimestampMoment};
use ferric::e2ap::Version;
use ran_functions::kpm::{MissingValue, ReportStyle};

use super::{CccProfile, FULL_RC, KpmProfile, NodeProfile, Profile};
use crate::node_type::NodeType;

/// kpm_sim of O-RAN SC's sim/e2-interface under the name of its project.
pub static OSC: Profile = osc("osc");
/// kpm_sim of O-RAN SC's sim/e2-interface: E2AP v01.00, hence without object identifiers, and KPM v01.00.
pub static OSC_V1: Profile = osc("osc-v1");

const fn osc(name: &'static str) -> Profile {
    Profile {
        name,
        e2ap_version: Some(Version::V1_00),
        kpm_revision: Some(Revision::V1_00),
        rc_revision: None,
        is_split: false,
        nodes: Some(&OSC_NODES),
        setup_order: &[],
    }
}

static OSC_NODES: [(NodeType, NodeProfile); 1] = [(
    NodeType::Gnb,
    NodeProfile {
        functions: Some(&[]),
        kpm: KpmProfile {
            function_id: 0,
            styles: None,
            measurements: None,
            revision: Some(1),
            oid: None,
            // the simulator clears the short name before it encodes the definition
            definition_oid: Some("OID123"),
            short_name: Some(""),
            v1_name: Some("kpm_sim"),
            missing_value: MissingValue::NoValue,
            timestamps: None,
            evaluates_conditions: true,
            max_actions_per_subscription: 1,
        },
        rc: FULL_RC,
        ccc: CccProfile::Short,
        accepts_unknown: false,
        has_ran_ue_id: true,
        has_ng_only: false,
    },
)];

/// ONOS's ran-simulator: the transaction id is the third of the setup request's IEs, although it is the first in the
/// specification. Its models RC-PRE and MHO are ONOS's own and not part of the profile.
pub static ONOS: Profile = Profile {
    name: "onos",
    e2ap_version: Some(Version::V2_03),
    kpm_revision: Some(Revision::V2_00),
    rc_revision: None,
    is_split: false,
    nodes: Some(&ONOS_NODES),
    // global node id, RAN functions, transaction id, components
    setup_order: &[3, 10, 49, 50],
};

/// The measurements of the simulator that the model has, under the simulator's names.
const ONOS_MEASURED: &[(&str, Scope)] = &[("RRC.Conn.Avg", OfCell), ("PrbUsedDL", OfCell), ("PrbUsedUL", OfCell)];

static ONOS_NODES: [(NodeType, NodeProfile); 1] = [(
    NodeType::Gnb,
    NodeProfile {
        functions: Some(&[]),
        kpm: KpmProfile {
            function_id: 4,
            styles: Some(&[ReportStyle::Node]),
            measurements: Some(ONOS_MEASURED),
            revision: Some(1),
            oid: Some("1.3.6.1.4.1.53148.1.2.2.2"),
            definition_oid: None,
            short_name: None,
            v1_name: None,
            missing_value: MissingValue::NoValue,
            timestamps: Some((TimestampFormat::UnixSeconds, TimestampMoment::Report)),
            evaluates_conditions: true,
            max_actions_per_subscription: 16,
        },
        rc: FULL_RC,
        ccc: CccProfile::Short,
        accepts_unknown: false,
        has_ran_ue_id: true,
        has_ng_only: false,
    },
)];
