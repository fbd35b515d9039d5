//! What an environment observes, controls and rewards.

use ferric::xapp::Error;
use ran::{Scenario, Stepped};

/// An observed quantity: a measurement of E2SM-KPM in a convenient unit, or the state of a control.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// Its name, such as `slice 2 DRB.RlcSduDelayDl`.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// Its range. Values beyond it are limited.
    pub low: f32,
    pub high: f32,
}

impl Quantity {
    /// A quantity from 0 on.
    pub fn new(name: impl Into<String>, unit: &'static str, high: f32) -> Self {
        Quantity { name: name.into(), unit, low: 0.0, high }
    }
}

/// The actions of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actions {
    /// One of so many choices, counted from 0.
    Choice(usize),
    /// So many weights from 0 to 1.
    Weights(usize),
    /// So many levels from -1 to 1.
    Levels(usize),
    /// So many switches, 0 or 1.
    Switches(usize),
}

impl Actions {
    /// The name in Python, and the number of choices or values.
    pub fn describe(self) -> (&'static str, usize) {
        match self {
            Actions::Choice(count) => ("choice", count),
            Actions::Weights(count) => ("weights", count),
            Actions::Levels(count) => ("levels", count),
            Actions::Switches(count) => ("switches", count),
        }
    }

    /// The number of values of an action.
    pub fn values(self) -> usize {
        match self {
            Actions::Choice(_) => 1,
            Actions::Weights(count) | Actions::Levels(count) | Actions::Switches(count) => count,
        }
    }

    /// Checks an action.
    ///
    /// # Errors
    /// [`Error::Invalid`] for `action`.
    pub fn check(self, action: &[f64]) -> Result<(), Error> {
        if action.len() != self.values() {
            return Err(invalid("action", format!("{} values", action.len()), format!("{} values", self.values())));
        }
        let is_switch = |value: f64| value == 0.0 || value == 1.0;
        let fault = action.iter().find(|value| match self {
            Actions::Choice(count) => value.fract() != 0.0 || !(0.0..count as f64).contains(*value),
            Actions::Weights(_) => !(0.0..=1.0).contains(*value),
            Actions::Levels(_) => !(-1.0..=1.0).contains(*value),
            Actions::Switches(_) => !is_switch(**value),
        });
        let Some(fault) = fault else { return Ok(()) };
        let expected = match self {
            Actions::Choice(count) => format!("a whole number from 0 to {}", count - 1),
            Actions::Weights(_) => "numbers from 0 to 1".into(),
            Actions::Levels(_) => "numbers from -1 to 1".into(),
            Actions::Switches(_) => "0 or 1 for each cell".into(),
        };
        Err(invalid("action", fault, expected))
    }
}

/// What an environment observes, controls and rewards. One value serves one episode after the other.
pub trait Task: Send {
    /// The observed quantities, in the order of an observation.
    fn quantities(&self) -> Vec<Quantity>;

    /// The actions.
    fn actions(&self) -> Actions;

    /// Draws from the seed what distinguishes episodes besides the random numbers of the model. Only shipped scenarios vary.
    fn vary(&self, scenario: &mut Scenario);

    /// Begins an episode: the controls are those of the scenario.
    ///
    /// # Errors
    /// A scenario without what the task controls.
    fn begin(&mut self, ran: &Stepped) -> Result<(), Error>;

    /// Sends the controls of an action, which was checked.
    ///
    /// # Errors
    /// A control that a node refuses.
    fn act(&mut self, ran: &mut Stepped, action: &[f64]) -> Result<(), Error>;

    /// Fills in the observation of the last step, of `seconds`, and returns the reward.
    fn observe(&mut self, ran: &Stepped, seconds: f64, observation: &mut [f32]) -> f64;
}

pub fn invalid(parameter: &str, value: impl ToString, expected: impl Into<String>) -> Error {
    Error::Invalid { parameter: parameter.into(), value: value.to_string(), expected: expected.into() }
}
