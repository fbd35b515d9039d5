//! What the RAN is made of.

use std::fmt;

use e2sm::Wire;
use e2sm::kpm::Revision;
use e2sm::rc;
use ferric::Endpoint;
use ferric::e2ap::Version;
use ferric::link::{Address, DEFAULT_PORT, Tap, Tls};
use ran_functions::PeriodicConfig;
use ran_functions::kpm::KpmConfig;
use ran_functions::rc::RcConfig;

use crate::live::LiveConfig;
use crate::scenario::{Scenario, ScenarioError};
use crate::world::Steps;

/// Most handovers that a node begins in a minute.
const MAX_HANDOVERS: u16 = 600;

/// What the RAN is made of.
#[derive(Clone, Debug)]
pub struct RanConfig {
    /// The RICs that every node connects to. Default: `tcp://127.0.0.1:36421`.
    pub rics: Vec<Endpoint>,
    /// The cells, each of a base station: gNBs, or eNBs for LTE, 0xe00 and on of network 001.01; and the UEs. Default: one cell with a crowd of 32.
    pub scenario: Scenario,
    /// The version of E2AP that the nodes speak. Default: v02.03.
    pub e2ap_version: Version,
    /// The revision of E2SM-KPM that they speak. Default: v03.00.
    pub kpm_revision: Revision,
    /// The wire form of KPM, RC and the ping: PER, or FlatBuffers, which KPM v01.00 does not have. Default: PER.
    pub wire: Wire,
    /// What else their KPM functions offer, and their bounds; `revision` is taken from above. Default: all styles.
    pub kpm: KpmConfig,
    /// The revision of E2SM-RC that they speak. Default: v03.00.
    pub rc_revision: rc::Revision,
    /// The bounds of their RC functions; `revision` and `wire` are taken from above.
    pub rc: RcConfig,
    /// Handovers that each node begins by itself in a minute, each of the UE that it hears worst, to the next node's
    /// cell: at most 600, and none where there is one node only. Default: 0.
    pub handovers_per_minute: u16,
    /// The wire form of FlexRIC's models, and the bounds of their functions; their ids are the models' own. Default:
    /// FlexRIC's plain layout.
    pub periodic: PeriodicConfig,
    /// Bound of what waits to be written to one RIC, in octets. Default: 4 MiB.
    pub outbox_octets: usize,
    /// What `tls://` links show and believe. Default: nothing, so that there are none.
    pub tls: Option<Tls>,
    /// Who looks on at the links to the RICs, such as a recorder. Default: nobody.
    pub tap: Option<Tap>,
    /// Who says how late it is in the model: the scenario's speed and warm-up do not count then. Default: the clock does.
    pub steps: Option<Steps>,
    /// UEs as network namespaces, for real programs (Linux, root). Default: none.
    pub live: Option<LiveConfig>,
}

impl Default for RanConfig {
    fn default() -> Self {
        RanConfig {
            rics: vec![Address::Tcp { host: "127.0.0.1".into(), port: DEFAULT_PORT }.into()],
            scenario: Scenario::crowd(1, 32, 1),
            e2ap_version: Version::V2_03,
            kpm_revision: Revision::V3_00,
            wire: Wire::Per,
            kpm: KpmConfig::default(),
            rc_revision: rc::Revision::V3_00,
            rc: RcConfig::default(),
            handovers_per_minute: 0,
            periodic: PeriodicConfig::default(),
            outbox_octets: 4 * 1024 * 1024,
            tls: None,
            tap: None,
            steps: None,
            live: None,
        }
    }
}

impl RanConfig {
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.rics.is_empty() {
            return Err(Error::NoRic);
        }
        if self.wire != Wire::Per && self.kpm_revision == Revision::V1_00 {
            return Err(Error::WireForm);
        }
        if self.handovers_per_minute > MAX_HANDOVERS {
            return Err(Error::Handovers);
        }
        if self.live.is_some() && self.steps.is_some() {
            return Err(Error::LiveSpeed);
        }
        Ok(())
    }
}

/// A RAN that cannot be.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Misuse: no RIC to connect to.
    NoRic,
    /// Misuse: a scenario that cannot be.
    Scenario(ScenarioError),
    /// Misuse: KPM v01.00 in another wire form than PER.
    WireForm,
    /// Misuse: a number of handovers out of bounds.
    Handovers,
    /// Misuse: more UEs in live mode than there are in the scenario, or none; how many there are.
    LiveUes(usize),
    /// Misuse: live mode at another speed than time's, or in steps.
    LiveSpeed,
    /// There are no interfaces for live mode, or they have failed.
    Live(netns::Error),
    /// The agents cannot go on.
    Agents(ferric::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoRic => f.write_str("a RAN needs a RIC to connect to"),
            Error::Scenario(source) => source.fmt(f),
            Error::WireForm => f.write_str("KPM v01.00 is in PER only; take a later revision"),
            Error::Handovers => write!(f, "a node begins at most {MAX_HANDOVERS} handovers a minute"),
            Error::LiveUes(ues) => write!(f, "live mode takes 1 to {ues} of this scenario's UEs"),
            Error::LiveSpeed => f.write_str("live mode runs as fast as time does: a scenario for it has the speed 1"),
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
            Error::Live(source) => Some(source),
            Error::NoRic | Error::WireForm | Error::Handovers | Error::LiveUes(_) | Error::LiveSpeed => None,
        }
    }
}

impl From<ScenarioError> for Error {
    fn from(source: ScenarioError) -> Self {
        Error::Scenario(source)
    }
}

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
