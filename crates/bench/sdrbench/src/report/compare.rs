//! What differs between two reports beyond their confidence intervals.

use std::fmt;

use serde::Serialize;

use super::{Report, StepReport};
use crate::statistics::Estimate;

/// The comparison of two reports.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The values of steps that both have.
    pub rows: Vec<Row>,
    /// Steps that only one has: agents, period, which.
    pub unmatched: Vec<String>,
    /// What makes the comparison doubtful.
    pub warnings: Vec<String>,
}

/// A value in two reports.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The step.
    pub step: String,
    /// The value.
    pub name: &'static str,
    /// In the first report.
    pub first: Estimate,
    /// In the second.
    pub second: Estimate,
    /// The second relative to the first; `None` if the first is 0.
    pub ratio: Option<f64>,
    /// Whether the confidence intervals are apart; `None` if one is unknown.
    pub differs: Option<bool>,
}

/// A name and where a step has the value.
type Value = (&'static str, fn(&StepReport) -> Option<Estimate>);

const VALUES: [Value; 7] = [
    ("achieved_per_s", |step| Some(step.achieved_per_s)),
    ("indication_p99_us", |step| step.indication_p99_us),
    ("cpu_us_per_message", |step| step.cpu_us_per_message),
    ("cpu_share", |step| step.cpu_share),
    ("rest_p99_us", |step| step.rest.as_ref()?.latency_p99_us),
    ("rest_failed", |step| Some(counted(step.rest.as_ref()?.failed))),
    ("lost", |step| Some(counted(step.lost))),
];

/// A number that is counted, not estimated.
fn counted(number: u64) -> Estimate {
    Estimate { mean: number as f64, ci95: Some(0.0) }
}

impl Comparison {
    /// Compares two reports step by step.
    #[must_use]
    pub fn of(first: &Report, second: &Report) -> Self {
        let key = |step: &StepReport| (step.agents, step.period_ms, step.cores);
        let name = |step: &StepReport| {
            let cores = step.cores.map(|cores| format!(", {cores} cores")).unwrap_or_default();
            format!("{} agents at {} ms{cores}", step.agents, step.period_ms)
        };
        let (mut rows, mut unmatched) = (Vec::new(), Vec::new());
        for one in &first.steps {
            let Some(other) = second.steps.iter().find(|other| key(other) == key(one)) else {
                unmatched.push(format!("{}: in the first report only", name(one)));
                continue;
            };
            for (value, of) in VALUES {
                let (Some(first), Some(second)) = (of(one), of(other)) else { continue };
                let apart = |(first_ci, second_ci)| (first.mean - second.mean).abs() > first_ci + second_ci;
                rows.push(Row {
                    step: name(one),
                    name: value,
                    first,
                    second,
                    ratio: (first.mean != 0.0).then(|| second.mean / first.mean),
                    differs: first.ci95.zip(second.ci95).map(apart),
                });
            }
        }
        let of_second = second.steps.iter().filter(|other| !first.steps.iter().any(|one| key(one) == key(other)));
        unmatched.extend(of_second.map(|step| format!("{}: in the second report only", name(step))));
        let mut warnings = Vec::new();
        for (report, which) in [(first, "first"), (second, "second")] {
            warnings.extend(report.why_invalid.iter().map(|why| format!("the {which} report is not valid: {why}")));
        }
        if first.host.cpu != second.host.cpu || first.host.cores != second.host.cores {
            warnings.push(format!("different hosts: {} and {}", first.host.cpu, second.host.cpu));
        }
        if first.scenario.text != second.scenario.text {
            warnings.push("different scenarios".to_owned());
        }
        Comparison { rows, unmatched, warnings }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut step = "";
        let text = |estimate: Estimate| match estimate.ci95 {
            Some(ci95) if ci95 > 0.0 => format!("{:.2} ± {ci95:.2}", estimate.mean),
            _ => format!("{:.2}", estimate.mean),
        };
        for row in &self.rows {
            if row.step != step {
                writeln!(f, "{}", row.step)?;
                step = &row.step;
            }
            let verdict = match row.differs {
                Some(true) => "differs",
                Some(false) => "same",
                None => "unknown",
            };
            let ratio = row.ratio.map_or(String::new(), |ratio| format!("{:+.1} %", 100.0 * (ratio - 1.0)));
            writeln!(f, "  {:<20} {:>22} {:>22} {ratio:>9}  {verdict}", row.name, text(row.first), text(row.second))?;
        }
        self.unmatched.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        self.warnings.iter().try_for_each(|line| writeln!(f, "warning: {line}"))
    }
}
