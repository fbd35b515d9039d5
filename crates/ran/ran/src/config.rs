//! The configuration of an emulated RAN.

use std::fmt;

use e2sm::Wire;
use e2sm::kpm::Revision;
#[cfg(feature = "control")]
use e2sm::rc;
use ferric::Endpoint;
use ferric::e2::AgentMisuse;
use ferric::e2ap::Version;
#[cfg(feature = "tls")]
use ferric::link::Tls;
use ferric::link::{Address, DEFAULT_PORT, Tap};
use radio::phy::Rat;
#[cfg(any(feature = "control", feature = "statistics", feature = "tc"))]
use ran_functions::PeriodicConfig;
use ran_functions::kpm::KpmConfig;
#[cfg(feature = "llc")]
use ran_functions::llc::LlcConfig;
#[cfg(feature = "control")]
use ran_functions::rc::RcConfig;

#[cfg(feature = "live")]
use crate::live::LiveConfig;
use crate::node_type::NodeType;
use crate::pace::Pace;
use crate::profile::{self, Profile};
use crate::scenario::{CellScenario, Scenario, ScenarioError};
use crate::simulation::Steps;

/// The most handovers that a node begins in a minute.
const MAX_HANDOVERS: u16 = 600;

/// The configuration of an emulated RAN.
#[derive(Clone, Debug)]
pub struct RanConfig {
    /// The RICs that every node connects to; only with [`RanConfig::steps`] there may be none. Default: `tcp://127.0.0.1:36421`.
    pub rics: Vec<Endpoint>,
    /// Further addresses of the first controller: RICs that share the nodes with it. A node has one of them at a time and goes to the
    /// next one when it is lost. Default: none.
    pub next_rics: Vec<Endpoint>,
    /// The cells and UEs. Each cell belongs to a gNB, or an eNB for LTE; their ids are 0xe00 and on, in network 001.01, that of a CU with
    /// several cells is that of the first.
    /// Default: one cell with a 32 UEs with mixed traffic.
    pub scenario: Scenario,
    /// What the nodes announce, and how they behave. Default: everything, as specified.
    pub profile: &'static Profile,
    /// Whether the nodes announce all attributes of E2SM-CCC: the setup request of a gNB then has more than 32 kB, which some
    /// controllers cannot receive. Only with a profile that announces E2SM-CCC as specified. Default: no.
    #[cfg(feature = "control")]
    pub all_ccc_attributes: bool,
    /// The E2AP version of the nodes. Default: v02.03.
    pub e2ap_version: Version,
    /// The E2SM-KPM revision of the nodes. Default: v03.00.
    pub kpm_revision: Revision,
    /// The wire form of KPM, RC and the ping: PER, or FlatBuffers, which KPM v01.00 and v02.00 do not have. Default: PER.
    pub wire: Wire,
    /// The styles and bounds of the KPM functions; their `revision` is taken from above. Default: all styles.
    pub kpm: KpmConfig,
    /// The E2SM-RC revision of the nodes. Default: v03.00.
    #[cfg(feature = "control")]
    pub rc_revision: rc::Revision,
    /// The bounds of the RC functions; their `revision` and `wire` are taken from above.
    #[cfg(feature = "control")]
    pub rc: RcConfig,
    /// The bounds of the LLC functions.
    #[cfg(feature = "llc")]
    pub llc: LlcConfig,
    /// Handovers that each cell begins in a minute, each of the UE with the weakest signal, to the next cell: at most 600. A RAN of one
    /// cell has none. Default: 0.
    pub handovers_per_minute: u16,
    /// The wire form of FlexRIC's models, and the bounds of their functions; their ids are those of the models. Default:
    /// FlexRIC's plain layout.
    #[cfg(any(feature = "control", feature = "statistics", feature = "tc"))]
    pub periodic: PeriodicConfig,
    /// Whether the model stands still until a RIC has accepted a node, so that a RIC sees a timeline from its beginning. Live mode
    /// does not wait. Default: no.
    pub waits_for_ric: bool,
    /// The most octets that wait to be sent to one RIC. Default: 4 MiB.
    pub outbox_octets: usize,
    /// The certificates for `tls://` addresses. Default: none, so that such addresses are refused.
    #[cfg(feature = "tls")]
    pub tls: Option<Tls>,
    /// An observer of the links to the RICs, such as a recorder. Default: none.
    pub tap: Option<Tap>,
    /// A replacement of the clock: the scenario's speed and warm-up have no effect then. Default: the clock.
    pub steps: Option<Steps>,
    /// Whether the model advances in [`Ran::step`](crate::Ran::step) only. RAN functions then have the time of the model: a
    /// report is due after its period of the model. The scenario's speed has no effect. Default: no.
    pub is_stepped: bool,
    /// Live mode: UEs as network namespaces, for real programs (Linux, root). Default: none.
    #[cfg(feature = "live")]
    pub live: Option<LiveConfig>,
}

impl Default for RanConfig {
    fn default() -> Self {
        RanConfig {
            rics: vec![Address::Tcp { host: "127.0.0.1".into(), port: DEFAULT_PORT }.into()],
            next_rics: Vec::new(),
            scenario: Scenario::with_mixed_traffic(1, 32, 1),
            profile: &profile::FULL,
            #[cfg(feature = "control")]
            all_ccc_attributes: false,
            e2ap_version: Version::V2_03,
            kpm_revision: Revision::V3_00,
            wire: Wire::Per,
            kpm: KpmConfig::default(),
            #[cfg(feature = "control")]
            rc_revision: rc::Revision::V3_00,
            #[cfg(feature = "control")]
            rc: RcConfig::default(),
            #[cfg(feature = "llc")]
            llc: LlcConfig::default(),
            handovers_per_minute: 0,
            waits_for_ric: false,
            #[cfg(any(feature = "control", feature = "statistics", feature = "tc"))]
            periodic: PeriodicConfig::default(),
            outbox_octets: 4 * 1024 * 1024,
            #[cfg(feature = "tls")]
            tls: None,
            tap: None,
            steps: None,
            is_stepped: false,
            #[cfg(feature = "live")]
            live: None,
        }
    }
}

impl RanConfig {
    /// The default configuration with a profile, its version of E2AP and its revisions of the service models.
    #[must_use]
    pub fn with_profile(profile: &'static Profile) -> Self {
        let default = RanConfig::default();
        RanConfig {
            e2ap_version: profile.e2ap_version.unwrap_or(default.e2ap_version),
            kpm_revision: profile.kpm_revision.unwrap_or(default.kpm_revision),
            #[cfg(feature = "control")]
            rc_revision: profile.rc_revision.unwrap_or(default.rc_revision),
            profile,
            ..default
        }
    }

    /// The pace of the model: RAN functions run in its time. In steps, the speed has no effect.
    pub(crate) fn pace(&self) -> Pace {
        let is_in_steps = self.is_stepped || self.steps.is_some();
        Pace::of_speed(if is_in_steps { 1.0 } else { self.scenario.speed })
    }

    /// The configuration with the cells split that the profile splits.
    pub(crate) fn with_parts(mut self) -> Self {
        if self.profile.is_split {
            let is_nr = |cell: &&mut CellScenario| cell.radio.carrier.rat == Rat::Nr;
            self.scenario.cells.iter_mut().filter(is_nr).for_each(|cell| cell.is_split = true);
        }
        self
    }

    /// The E2 nodes of a cell.
    pub(crate) fn nodes_of(&self, cell: u16) -> impl Iterator<Item = NodeType> + use<> {
        let profile = self.profile;
        let parts = NodeType::of(&self.scenario.cells[usize::from(cell)]).iter().copied();
        parts.filter(move |node_type| profile.node(*node_type).is_some())
    }

    /// Whether a cell has an E2 node.
    fn has_node(&self, cell: &CellScenario) -> bool {
        let is_split = cell.is_split || self.profile.is_split;
        let parts = NodeType::of(&CellScenario { is_split, ..cell.clone() });
        parts.iter().any(|node_type| self.profile.node(*node_type).is_some())
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        // a caller that advances the model itself may do without
        if self.rics.is_empty() && self.steps.is_none() {
            return Err(Error::NoRic);
        }
        if self.wire != Wire::Per && self.kpm_revision < Revision::V2_01 {
            return Err(Error::WireForm);
        }
        if !self.scenario.cells.is_empty() && !self.scenario.cells.iter().any(|cell| self.has_node(cell)) {
            return Err(Error::Profile(self.profile.name));
        }
        if self.handovers_per_minute > MAX_HANDOVERS {
            return Err(Error::Handovers);
        }
        #[cfg(feature = "live")]
        if self.live.is_some() && (self.steps.is_some() || self.is_stepped) {
            return Err(Error::LiveSpeed);
        }
        Ok(())
    }
}

/// The reason why a RAN cannot be created or continue.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Misuse: the configuration contains no RIC.
    NoRic,
    /// Misuse: an invalid scenario.
    Scenario(ScenarioError),
    /// Misuse: KPM v01.00 or v02.00 in another wire form than PER.
    WireForm,
    /// Misuse: a profile without an E2 node for any cell of the scenario, such as an NR one for LTE cells; its name.
    Profile(&'static str),
    /// Misuse: the number of handovers is out of range.
    Handovers,
    /// Misuse: a step of a RAN that follows the clock.
    NotStepped,
    /// Misuse: a RAN function that cannot be added, such as one with the id of another.
    Function(AgentMisuse),
    /// Misuse: live mode for no UE, or for more than the scenario has; the number that it has.
    #[cfg(feature = "live")]
    LiveUes(usize),
    /// Misuse: live mode at another speed than 1, or in steps.
    #[cfg(feature = "live")]
    LiveSpeed,
    /// The interfaces of live mode cannot be created, or have failed.
    #[cfg(feature = "live")]
    Live(netns::Error),
    /// The agents have failed.
    Agents(ferric::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoRic => f.write_str("no RIC configured: a RAN connects to at least one"),
            Error::Scenario(source) => source.fmt(f),
            Error::WireForm => f.write_str("KPM v01.00 and v02.00 have the wire form PER only; use a later revision"),
            Error::Profile(name) => {
                write!(
                    f,
                    "no E2 node: profile {name} has none for the cells of the scenario; use another profile or other cells"
                )
            }
            Error::Function(source) => write!(f, "cannot add a RAN function: {source}"),
            Error::Handovers => write!(f, "a node begins at most {MAX_HANDOVERS} handovers per minute"),
            Error::NotStepped => {
                f.write_str("the RAN follows the clock: create it with `is_stepped` to advance it in steps")
            }
            #[cfg(feature = "live")]
            Error::LiveUes(ues) => write!(f, "live mode supports 1 to {ues} UEs of this scenario"),
            #[cfg(feature = "live")]
            Error::LiveSpeed => f.write_str("live mode runs in real time: the scenario's speed must be 1"),
            #[cfg(feature = "live")]
            Error::Live(source) => write!(f, "live mode: {source}"),
            Error::Agents(source) => source.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Agents(source) => Some(source),
            Error::Scenario(source) => Some(source),
            Error::Function(source) => Some(source),
            #[cfg(feature = "live")]
            Error::Live(source) => Some(source),
            _ => None,
        }
    }
}

impl From<ScenarioError> for Error {
    fn from(source: ScenarioError) -> Self {
        Error::Scenario(source)
    }
}

#[cfg(feature = "live")]
impl From<netns::Error> for Error {
    fn from(source: netns::Error) -> Self {
        Error::Live(source)
    }
}

impl From<ferric::Error> for Error {
    fn from(source: ferric::Error) -> Self {
        Error::Agents(source)
    }
}
