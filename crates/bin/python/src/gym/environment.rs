//! One environment: a stepped RAN with a task.

use std::time::Duration;

use ferric::xapp::Error;
use ran::{RanConfig, Scenario, Stepped};

use super::balancing::Balancing;
use super::energy::Energy;
use super::slicing::Slicing;
use super::task::{Actions, Quantity, Task, invalid};
use super::traffic_control::TrafficControl;

/// The range of a step, in milliseconds.
const STEP_MS: std::ops::RangeInclusive<f64> = 1.0..=60_000.0;
/// The most steps of an episode.
const MAX_EPISODE_STEPS: u32 = 1_000_000;

/// What is common to the environments of a kind.
#[derive(Clone)]
pub struct Settings {
    pub kind: Kind,
    pub scenario: Scenario,
    /// Whether the scenario is that of the kind, which varies with the seed.
    pub is_shipped: bool,
    pub step: Duration,
    pub episode_steps: u32,
}

/// The kind of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Slicing,
    TrafficControl,
    Balancing,
    Energy,
}

impl Kind {
    const ALL: [(&'static str, Kind); 4] = [
        ("slicing", Kind::Slicing),
        ("traffic-control", Kind::TrafficControl),
        ("load-balancing", Kind::Balancing),
        ("energy-saving", Kind::Energy),
    ];

    /// The kind of this name.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn of(name: &str) -> Result<Self, Error> {
        let found = Kind::ALL.iter().find(|(known, _)| *known == name);
        let names = || Kind::ALL.map(|(known, _)| known).join(", ");
        found.map(|(_, kind)| *kind).ok_or_else(|| invalid("kind", name, names()))
    }

    /// The text of its scenario.
    pub fn scenario(self) -> &'static str {
        match self {
            Kind::Slicing => include_str!("scenarios/slicing.toml"),
            Kind::TrafficControl => include_str!("scenarios/traffic-control.toml"),
            Kind::Balancing => include_str!("scenarios/load-balancing.toml"),
            Kind::Energy => include_str!("scenarios/energy-saving.toml"),
        }
    }

    fn task(self, scenario: &Scenario) -> Result<Box<dyn Task>, Error> {
        Ok(match self {
            Kind::Slicing => Box::new(Slicing::new(scenario)?),
            Kind::TrafficControl => Box::new(TrafficControl::new(scenario)?),
            Kind::Balancing => Box::new(Balancing::new(scenario)?),
            Kind::Energy => Box::new(Energy::new(scenario)?),
        })
    }
}

impl Settings {
    /// Checks the length of steps and episodes.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn new(
        kind: Kind,
        scenario: Scenario,
        is_shipped: bool,
        step_ms: f64,
        episode_steps: u32,
    ) -> Result<Self, Error> {
        if !STEP_MS.contains(&step_ms) {
            return Err(invalid("step_ms", step_ms, format!("{} to {}", STEP_MS.start(), STEP_MS.end())));
        }
        if !(1..=MAX_EPISODE_STEPS).contains(&episode_steps) {
            return Err(invalid("episode_steps", episode_steps, format!("1 to {MAX_EPISODE_STEPS}")));
        }
        let step = Duration::from_secs_f64(step_ms / 1e3);
        Ok(Settings { kind, scenario, is_shipped, step, episode_steps })
    }
}

/// An environment.
pub struct Environment {
    settings: Settings,
    task: Box<dyn Task>,
    quantities: Vec<Quantity>,
    /// Absent before the first episode.
    ran: Option<Movable>,
    steps: u32,
}

/// A stepped RAN that can move to another thread.
struct Movable(Stepped);

// SAFETY: a `Stepped` is not `Send` for its `Rc`s alone (its nodes, RAN functions and clock share each other); what they contain
// is owned data, and neither it nor the radio model uses thread-local state. The `Rc`s are created in `Stepped::new`, all of them
// belong to the same value, and its methods return borrows and copies, never an `Rc`. So all of them move together, behind a
// `&mut`, and their counters are used by one thread at a time.
unsafe impl Send for Movable {}

impl Environment {
    /// An environment before its first episode.
    ///
    /// # Errors
    /// A scenario without what the task controls.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let task = settings.kind.task(&settings.scenario)?;
        let quantities = task.quantities();
        let mut environment = Environment { settings, task, quantities, ran: None, steps: 0 };
        // a scenario that cannot run is refused here, not in the first episode
        environment.start(1)?;
        environment.ran = None;
        Ok(environment)
    }

    /// The actions.
    pub fn actions(&self) -> Actions {
        self.task.actions()
    }

    /// The observed quantities, in the order of an observation.
    pub fn quantities(&self) -> &[Quantity] {
        &self.quantities
    }

    fn start(&mut self, seed: u64) -> Result<&mut Stepped, Error> {
        let mut scenario = self.settings.scenario.clone();
        scenario.seed = seed;
        if self.settings.is_shipped {
            self.task.vary(&mut scenario);
        }
        let config = RanConfig { scenario, ..RanConfig::default() };
        let ran = Stepped::new(config).map_err(|error| invalid("scenario", "this one", error.to_string()))?;
        self.task.begin(&ran)?;
        self.steps = 0;
        Ok(&mut self.ran.insert(Movable(ran)).0)
    }

    /// Begins an episode. The first observation is that of a step with the controls of the scenario.
    ///
    /// # Errors
    /// None, for a scenario that was valid in [`Environment::new`].
    pub fn reset(&mut self, seed: u64, observation: &mut [f32]) -> Result<(), Error> {
        let length = self.settings.step;
        let ran = self.start(seed)?;
        ran.step(length);
        self.observe(observation);
        Ok(())
    }

    /// Acts, and advances by a step. Returns the reward, and whether the episode has ended.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an action, and without a running episode; [`Error::Refused`] for a control that a node refuses.
    pub fn step(&mut self, action: &[f64], observation: &mut [f32]) -> Result<(f64, bool), Error> {
        self.task.actions().check(action)?;
        let Some(Movable(ran)) = &mut self.ran else {
            return Err(invalid("step", "no episode has begun", "reset before it"));
        };
        if self.steps >= self.settings.episode_steps {
            return Err(invalid("step", "the episode has ended", "reset before it"));
        }
        self.task.act(ran, action)?;
        ran.step(self.settings.step);
        self.steps += 1;
        let reward = self.observe(observation);
        Ok((reward, self.steps == self.settings.episode_steps))
    }

    fn observe(&mut self, observation: &mut [f32]) -> f64 {
        let Some(Movable(ran)) = &self.ran else { return 0.0 };
        let reward = self.task.observe(ran, self.settings.step.as_secs_f64(), observation);
        for (value, quantity) in observation.iter_mut().zip(&self.quantities) {
            *value = value.clamp(quantity.low, quantity.high);
        }
        reward
    }

    /// The time of the model in seconds.
    pub fn time_s(&self) -> f64 {
        self.ran.as_ref().map_or(0.0, |Movable(ran)| ran.now().as_nanos() as f64 / 1e9)
    }
}
