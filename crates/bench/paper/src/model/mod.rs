//! The emulated RAN against specifications and literature: each check runs the model and compares one value with what a formula
//! or a standard gives for the same setting.
//!
//! A check runs a scenario, as a user would write it, or a public part of the model, and takes its expected value from elsewhere:
//! no check compares the model with itself. A scenario that the model refuses is a check that does not hold.

mod mac;
mod measurements;
mod mobility;
mod packets;
mod phy;
mod power;
mod radio;
mod run;
mod tcp;
mod ue;

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use run::Length;

/// What a check has found.
struct Outcome {
    expected: f64,
    measured: f64,
}

/// The definition of a check.
struct Definition {
    name: &'static str,
    what: &'static str,
    unit: &'static str,
    source: &'static str,
    /// The largest difference between measured and expected value, in the check's unit.
    tolerance: f64,
    run: fn(Length) -> anyhow::Result<Outcome>,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The name, to select it on the command line.
    pub name: &'static str,
    /// What is compared.
    pub what: &'static str,
    /// The unit of the values.
    pub unit: &'static str,
    /// The specification or publication that the expected value is from.
    pub source: &'static str,
    /// The expected value; `None` if the model could not run.
    pub expected: Option<f64>,
    /// The measured value; `None` if the model could not run.
    pub measured: Option<f64>,
    /// The largest difference between both.
    pub tolerance: f64,
    /// Whether the difference is within the tolerance.
    pub holds: bool,
    /// Why the model could not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The results of checks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelCheck {
    /// The checks, in their order.
    pub checks: Vec<Check>,
}

/// A value with four digits that count, or all before the point.
fn shown(value: f64) -> String {
    let digits = (3 - value.abs().max(1e-3).log10().floor() as i32).clamp(0, 4) as usize;
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".into() } else { text.into() }
}

fn definitions() -> impl Iterator<Item = &'static Definition> {
    [
        phy::CHECKS,
        mac::CHECKS,
        radio::CHECKS,
        ue::CHECKS,
        mobility::CHECKS,
        power::CHECKS,
        measurements::CHECKS,
        packets::CHECKS,
        tcp::CHECKS,
    ]
    .into_iter()
    .flatten()
}

/// The names of all checks.
pub fn check_names() -> impl Iterator<Item = &'static str> {
    definitions().map(|definition| definition.name)
}

/// Runs the checks whose name is in `names`, all if it is empty. `is_quick` measures a fifth of the time, with the same
/// tolerances. The result does not depend on `threads`.
#[must_use]
pub fn model_check(names: &[String], is_quick: bool, threads: usize) -> ModelCheck {
    let length = if is_quick { Length::Quick } else { Length::Full };
    let is_chosen = |definition: &&Definition| names.is_empty() || names.iter().any(|name| name == definition.name);
    let chosen: Vec<&Definition> = definitions().filter(is_chosen).collect();
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, chosen.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Relaxed);
                    let Some(definition) = chosen.get(place) else { break };
                    let check = definition.run(length);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((place, check));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(place, _)| *place);
    ModelCheck { checks: results.into_iter().map(|(_, check)| check).collect() }
}

impl Definition {
    fn run(&self, length: Length) -> Check {
        let Definition { name, what, unit, source, tolerance, run } = *self;
        let (outcome, failure) = match run(length) {
            Ok(outcome) => (Some(outcome), None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        // a comparison with NaN fails
        let holds = outcome.as_ref().is_some_and(|of| (of.measured - of.expected).abs() <= tolerance);
        let finite = |of: fn(&Outcome) -> f64| outcome.as_ref().map(of).filter(|value| value.is_finite());
        let (expected, measured) = (finite(|of| of.expected), finite(|of| of.measured));
        Check { name, what, unit, source, expected, measured, tolerance, holds, failure }
    }
}

impl ModelCheck {
    /// The names of the checks that do not hold.
    pub fn failed(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.checks.iter().filter(|check| !check.holds).map(|check| check.name)
    }

    /// The results as a table in Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out = String::from(
            "| check | what | source | unit | expected | measured | tolerance | holds |\n|---|---|---|---|---|---|---|---|\n",
        );
        for check in &self.checks {
            let Check { name, what, source, unit, tolerance, .. } = check;
            let [expected, measured] = [check.expected, check.measured].map(|value| value.map_or("-".into(), shown));
            let (tolerance, holds) = (shown(*tolerance), if check.holds { "yes" } else { "no" });
            // a String takes everything
            let _ = writeln!(
                out,
                "| `{name}` | {what} | {source} | {unit} | {expected} | {measured} | {tolerance} | {holds} |"
            );
        }
        out
    }
}

/// One line for each check.
impl fmt::Display for ModelCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
        for check in &self.checks {
            let holds = if check.holds { "holds" } else { "FAILS" };
            let [expected, measured] = [check.expected, check.measured].map(|value| value.map_or("-".into(), shown));
            let (unit, tolerance) = (check.unit, shown(check.tolerance));
            writeln!(
                f,
                "{holds}  {:width$}  expected {expected:>8}  measured {measured:>8}  tolerance {tolerance:>6}  {unit}",
                check.name
            )?;
            writeln!(f, "       {:width$}  {} ({})", "", check.what, check.source)?;
            if let Some(failure) = &check.failure {
                writeln!(f, "       {:width$}  the model could not run: {failure}", "")?;
            }
        }
        let failed = self.failed().count();
        write!(f, "{} checks, {} hold, {failed} do not", self.checks.len(), self.checks.len() - failed)
    }
}
