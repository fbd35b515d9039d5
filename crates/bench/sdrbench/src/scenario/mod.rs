//! A scenario: the load, what is measured, and how long. It is a TOML file; twelve are part of the program.

mod file;

use std::time::Duration;

use e2ap::Version;

use crate::northbound::Requests;
use crate::rest_clients::RestLoad;
use crate::users::UsersConfig;

/// The scenarios of the program, by name.
const SHIPPED: [(&str, &str); 12] = [
    ("smoke", include_str!("../../scenarios/smoke.toml")),
    ("agents", include_str!("../../scenarios/agents.toml")),
    ("flexran", include_str!("../../scenarios/flexran.toml")),
    ("periods", include_str!("../../scenarios/periods.toml")),
    ("ten-thousand", include_str!("../../scenarios/ten-thousand.toml")),
    ("knee", include_str!("../../scenarios/knee.toml")),
    ("users", include_str!("../../scenarios/users.toml")),
    ("flash-crowd", include_str!("../../scenarios/flash-crowd.toml")),
    ("slices", include_str!("../../scenarios/slices.toml")),
    ("applications", include_str!("../../scenarios/applications.toml")),
    ("rest", include_str!("../../scenarios/rest.toml")),
    ("faults", include_str!("../../scenarios/faults.toml")),
];

/// A scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name: that of the file.
    pub name: String,
    /// Its text, which the report contains.
    pub text: String,
    /// What it is for.
    pub description: String,
    /// The seed of all random times.
    pub seed: u64,
    /// Time after a change of the load that does not count.
    pub warm_up_s: f64,
    /// The length of a repetition.
    pub duration_s: f64,
    /// Repetitions of each step.
    pub repetitions: usize,
    /// The limit of the 99th percentile of the latency, for the knee and for recovery after faults.
    pub limit_ms: f64,
    /// The largest 99th percentile of the generator's lateness of a valid run.
    pub max_lateness_ms: f64,
    /// The numbers of agents, in steps.
    pub agents: Vec<u32>,
    /// The number of the first agent: generators that load a controller together have agents of different numbers.
    pub first: u32,
    /// The periods of their reports, in steps.
    pub periods_ms: Vec<u32>,
    /// The length of the slots at whose beginnings agents report; zero if they report at any time.
    pub slot: Duration,
    /// The cores of the controller, in steps; none if they stay as they are.
    pub cores: Vec<usize>,
    /// The rate at which agents connect.
    pub setups_per_s: f64,
    /// The UEs of each agent at its start, and the most of a report.
    pub ues: u16,
    /// The most UEs of a report.
    pub max_ues: u16,
    /// The measurements of each UE.
    pub measurements: Vec<String>,
    /// The protocol of the agents.
    pub southbound: Protocol,
    /// The version of E2AP.
    pub e2ap: Version,
    /// After how many reports of a FlexRAN agent the controller is asked for an echo, which confirms them.
    pub confirm_every: usize,
    /// How often one more agent is set up while the others report.
    pub probes_per_s: f64,
    /// How users come and go.
    pub users: Option<UsersConfig>,
    /// xApps.
    pub applications: u32,
    /// What each xApp requests.
    pub requests: Requests,
    /// How long an xApp reads nothing after it has read reports.
    pub read_pause: Duration,
    /// REST clients.
    pub rest: Option<RestLoad>,
    /// Faults, in each repetition.
    pub faults: Vec<Fault>,
    /// The search for the highest load.
    pub knee: Option<Knee>,
}

/// The protocol of the agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// E2 nodes.
    #[default]
    E2ap,
    /// FlexRAN agents of eNBs.
    FlexRan,
}

impl Protocol {
    /// All protocols with their names.
    pub const ALL: [(&'static str, Protocol); 2] = [("e2ap", Protocol::E2ap), ("flexran", Protocol::FlexRan)];
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// What happens.
    pub kind: FaultKind,
    /// When, after the beginning of the repetition.
    pub at_s: f64,
    /// How long it lasts.
    pub duration_s: f64,
    /// Connections or messages; of a storm, the share of the agents in percent.
    pub count: u32,
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A share of the agents closes its connections and connects again at once.
    ReconnectStorm,
    /// The xApps read nothing.
    SlowReader,
    /// Connections send octets that are no E2AP.
    Malformed,
    /// A second agent sets up with the identity of the first.
    DuplicateNode,
    /// Connections send nothing, or the beginning of a message.
    HalfOpen,
}

impl FaultKind {
    /// All kinds with their names.
    pub const ALL: [(&'static str, FaultKind); 5] = [
        ("reconnect-storm", FaultKind::ReconnectStorm),
        ("slow-reader", FaultKind::SlowReader),
        ("malformed", FaultKind::Malformed),
        ("duplicate-node", FaultKind::DuplicateNode),
        ("half-open", FaultKind::HalfOpen),
    ];

    /// The name in scenarios and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        FaultKind::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// The search for the knee: the highest number of agents with a 99th percentile below the limit and no loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// The lowest number.
    pub from: u32,
    /// The highest number.
    pub until: u32,
    /// The search ends when it is known to this share, in percent.
    pub tolerance_percent: f64,
}

impl Knee {
    /// How many loads the search tries if the knee is in the middle: both ends, then halves.
    #[must_use]
    pub fn expected_tries(&self) -> u32 {
        let (from, until) = (f64::from(self.from), f64::from(self.until));
        let tolerated = ((from + until) / 2.0 * self.tolerance_percent / 100.0).max(1.0);
        2 + ((until - from) / tolerated).log2().max(0.0).ceil() as u32
    }
}

/// A part of a scenario with a load of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Cores of the controller.
    pub cores: Option<usize>,
    /// Agents.
    pub agents: u32,
    /// The period of their reports.
    pub period_ms: u32,
}

impl Scenario {
    /// A scenario of the program.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn shipped(name: &str) -> Result<Self, ScenarioError> {
        let found = SHIPPED.iter().find(|(known, _)| *known == name);
        let (name, text) = found.ok_or_else(|| ScenarioError::Unknown(name.to_owned()))?;
        Ok(file::read(name, text)?)
    }

    /// The names of the scenarios of the program.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// The scenario of a text.
    ///
    /// # Errors
    /// The key at fault, with its line.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ScenarioError> {
        Ok(file::read(name, text)?)
    }

    /// The steps, in order: cores, periods, agents.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        let cores: Vec<_> = match self.cores.as_slice() {
            [] => vec![None],
            cores => cores.iter().copied().map(Some).collect(),
        };
        let mut steps = Vec::new();
        for cores in cores {
            for &period_ms in &self.periods_ms {
                steps.extend(self.agents.iter().map(|&agents| Step { cores, agents, period_ms }));
            }
        }
        steps
    }

    /// The seconds that a step takes, without the connections of its agents.
    #[must_use]
    pub fn step_s(&self) -> f64 {
        self.warm_up_s + self.repetitions as f64 * (self.duration_s + 1.5)
    }
}

/// Why a scenario cannot be used.
#[derive(Debug)]
pub enum ScenarioError {
    /// There is none of that name.
    Unknown(String),
    /// A mistake in the file.
    File(settings::Error),
}

impl std::fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ScenarioError::Unknown(name) => {
                let names: Vec<_> = Scenario::names().collect();
                write!(
                    f,
                    "there is no scenario `{name}`; those of the program are {}; a file ends with .toml",
                    names.join(", ")
                )
            }
            ScenarioError::File(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ScenarioError {}

impl From<settings::Error> for ScenarioError {
    fn from(error: settings::Error) -> Self {
        ScenarioError::File(error)
    }
}
