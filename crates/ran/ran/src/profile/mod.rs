//! Profiles: what the base stations of a RAN announce, and how they behave.
//!
//! A profile repeats what a public base station or simulator announces in its E2 Setup: RAN functions with their ids,
//! revisions, object identifiers and names, report styles and measurements, control actions and their parameters. The nodes
//! obey it as announced: a request for anything else is refused. `docs/base-stations/profiles.md` describes each profile.

#[cfg(feature = "control")]
mod flexric;
#[cfg(feature = "control")]
mod simulators;
#[cfg(feature = "control")]
mod srsran;
#[cfg(all(test, feature = "all"))]
mod tests;

use e2sm::kpm::Revision;
use e2sm::kpm::dictionary::Scope;
use e2sm::kpm::{TimestampFormat, TimestampMoment};
#[cfg(feature = "control")]
use e2sm::rc::{self, ActionId};
use ferric::e2ap::Version;
use ran_functions::kpm::{MissingValue, ReportStyle};
#[cfg(feature = "control")]
use ran_functions::rc::{EventKind, RcOffer};

use crate::node_type::NodeType;

/// What the base stations of a RAN announce, and how they behave.
#[derive(Debug)]
pub struct Profile {
    /// Its name, as [`Profile::named`] finds it.
    pub name: &'static str,
    /// The E2AP version; `None` as [`RanConfig::e2ap_version`](crate::RanConfig::e2ap_version).
    pub e2ap_version: Option<Version>,
    /// The revision of E2SM-KPM; `None` as [`RanConfig::kpm_revision`](crate::RanConfig::kpm_revision).
    pub kpm_revision: Option<Revision>,
    /// The revision of E2SM-RC; `None` as [`RanConfig::rc_revision`](crate::RanConfig::rc_revision).
    #[cfg(feature = "control")]
    pub rc_revision: Option<rc::Revision>,
    /// Whether all NR cells are split into CU-CP, CU-UP and DU.
    pub is_split: bool,
    /// The E2 nodes: parts of a base station of other types have no E2 agent. `None` for all.
    pub nodes: Option<&'static [(NodeType, NodeProfile)]>,
    /// The order of the IEs of the setup request, by their ids (E2AP 9.3.7); empty for the order of the specification.
    pub setup_order: &'static [u16],
}

/// What E2 nodes of one type announce, and how they behave.
#[derive(Debug)]
pub struct NodeProfile {
    /// The RAN functions besides E2SM-KPM, by id; `None` for all that the node has.
    pub functions: Option<&'static [u16]>,
    /// E2SM-KPM.
    pub kpm: KpmProfile,
    /// E2SM-RC.
    #[cfg(feature = "control")]
    pub rc: RcProfile,
    /// E2SM-CCC.
    #[cfg(feature = "control")]
    pub ccc: CccProfile,
    /// Whether QoS flows and schedulers of slices that the model does not know, and controls of MAC, are accepted without
    /// effect, and whether reports of slices list UEs without a slice too: FlexRIC's RIC and xApps end on a failure, and
    /// its slice xApp associates the first UE listed.
    pub accepts_unknown: bool,
    /// Whether UE IDs contain the RAN UE ID.
    pub has_ran_ue_id: bool,
    /// Whether a CU-CP declares no other interface than NG.
    pub has_ng_only: bool,
}

/// What a node announces of E2SM-KPM.
#[derive(Debug)]
pub struct KpmProfile {
    /// The RAN function id.
    pub function_id: u16,
    /// The report styles, in this order; `None` as configured. v01.00 has its own.
    pub styles: Option<&'static [ReportStyle]>,
    /// The measurements by name, without ids, bins and labels; `None` for all that the node has.
    pub measurements: Option<&'static [(&'static str, Scope)]>,
    /// The RAN function revision; `None` after the revision of the specification.
    pub revision: Option<u16>,
    /// The object identifier in E2AP; `None` for that of the specification.
    pub oid: Option<&'static str>,
    /// The object identifier in the definition; `None` for that of E2AP.
    pub definition_oid: Option<&'static str>,
    /// The short name; `None` for that of the specification.
    pub short_name: Option<&'static str>,
    /// The name of the gNB in reports of v01.00, which then have the layout of v01.02 ([`KpmConfig::v1_name`]).
    ///
    /// [`KpmConfig::v1_name`]: ran_functions::kpm::KpmConfig::v1_name
    pub v1_name: Option<&'static str>,
    /// What records contain where there is no value.
    pub missing_value: MissingValue,
    /// The format of time stamps and the moment that they state; `None`: as configured.
    pub timestamps: Option<(TimestampFormat, TimestampMoment)>,
    /// Whether conditions that select UEs are evaluated.
    pub evaluates_conditions: bool,
    /// The most actions of a subscription.
    pub max_actions_per_subscription: usize,
}

/// What a node announces of E2SM-RC.
#[cfg(feature = "control")]
#[derive(Debug)]
pub struct RcProfile {
    /// The RAN function revision; `None` after the revision of the specification.
    pub revision: Option<u16>,
    /// The control actions; `None` for all that the node has.
    pub actions: Option<&'static [ActionId]>,
    /// The kinds of events that are reported; `None` for all that the node has.
    pub events: Option<&'static [EventKind]>,
    /// Whether parameters of UEs can be reported and tested.
    pub has_ue_parameters: bool,
    /// Whether there are inserts and policies.
    pub has_procedures: bool,
    /// What is offered of the specification, and required of controls; `None` as configured.
    pub offer: Option<RcOffer>,
}

/// The attributes that a node announces of E2SM-CCC.
#[cfg(feature = "control")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CccProfile {
    /// Those that controllers set or follow: cell states, physical cell identity, RRM policies. A definition repeats the
    /// services for each attribute, so that those of all attributes have 24 kB. [`RanConfig::all_ccc_attributes`] announces
    /// all.
    ///
    /// [`RanConfig::all_ccc_attributes`]: crate::RanConfig::all_ccc_attributes
    Short,
    /// RRM policies, to be set only.
    RrmPolicyControl,
}

/// Everything, as specified.
pub static FULL: Profile = Profile {
    name: "full",
    e2ap_version: None,
    kpm_revision: None,
    #[cfg(feature = "control")]
    rc_revision: None,
    is_split: false,
    nodes: None,
    setup_order: &[],
};

/// All of E2SM-RC that the node has.
#[cfg(feature = "control")]
const FULL_RC: RcProfile = RcProfile {
    revision: None,
    actions: None,
    events: None,
    has_ue_parameters: true,
    has_procedures: true,
    offer: None,
};

/// Everything that the node has, as specified.
static FULL_NODE: NodeProfile = NodeProfile {
    functions: None,
    kpm: KpmProfile {
        function_id: 2,
        styles: None,
        measurements: None,
        revision: None,
        oid: None,
        definition_oid: None,
        short_name: None,
        v1_name: None,
        missing_value: MissingValue::NoValue,
        timestamps: None,
        evaluates_conditions: true,
        max_actions_per_subscription: 16,
    },
    #[cfg(feature = "control")]
    rc: FULL_RC,
    #[cfg(feature = "control")]
    ccc: CccProfile::Short,
    accepts_unknown: false,
    has_ran_ue_id: true,
    has_ng_only: false,
};

#[cfg(feature = "control")]
static PROFILES: [&Profile; 10] = [
    &FULL,
    &flexric::OAI,
    &flexric::FLEXRIC,
    &srsran::SPLIT_GNB,
    &srsran::DU,
    &srsran::CU_CP,
    &srsran::CU_UP,
    &simulators::OSC,
    &simulators::OSC_V1,
    &simulators::ONOS,
];
#[cfg(not(feature = "control"))]
static PROFILES: [&Profile; 1] = [&FULL];

impl Profile {
    /// All profiles.
    #[must_use]
    pub fn all() -> &'static [&'static Profile] {
        &PROFILES
    }

    /// The profile of that name: `full`, `oai`, `flexric`, `srsran`, `srsran-du`, `srsran-cucp`, `srsran-cuup`, `osc`, `osc-v1`
    /// or `onos`.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Profile> {
        PROFILES.iter().copied().find(|profile| profile.name == name)
    }

    /// The names of all profiles, as text.
    #[must_use]
    pub fn names() -> String {
        PROFILES.iter().map(|profile| profile.name).collect::<Vec<_>>().join(", ")
    }

    /// What nodes of a type announce; `None` if they have no E2 agent.
    #[must_use]
    pub fn node(&self, node_type: NodeType) -> Option<&'static NodeProfile> {
        match self.nodes {
            None => Some(&FULL_NODE),
            Some(nodes) => nodes.iter().find(|(of, _)| *of == node_type).map(|(_, profile)| profile),
        }
    }
}
