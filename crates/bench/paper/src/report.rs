//! The report of a figure: its values, and whether they support what the paper says.

use std::fmt;

use serde::Serialize;

use crate::Figure;
use crate::table::Table;
use crate::testbed::Punctuality;
use plot::Plot;

/// The setting of a measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// The paper's setting.
    pub paper: &'static str,
    /// Our setting.
    pub ours: &'static str,
    /// The relevant differences.
    pub differs: Vec<&'static str>,
}

/// The result of a figure.
#[derive(Clone, Debug, Serialize)]
pub struct FigureReport {
    /// The figure.
    pub figure: Figure,
    /// The setting.
    pub setting: Setting,
    /// The measured values.
    pub values: Table,
    /// The table to print, if the values are too many.
    #[serde(skip)]
    pub summary: Option<Table>,
    /// The raw samples, if the values are statistics of them.
    #[serde(skip)]
    pub samples: Option<Table>,
    /// What happened over time, if the values are totals.
    #[serde(skip)]
    pub course: Option<Table>,
    /// The paper's claim, in our words.
    pub claim: &'static str,
    /// The criterion of the claim.
    pub judged: &'static str,
    /// What the paper says about the figure, one after the other, with our verdicts; empty if the criterion decides.
    pub statements: Vec<Statement>,
    /// Whether our numbers support the claim; `None` if the systems that the paper compares with are missing, or if the machine
    /// was too slow for live mode.
    pub holds: Option<bool>,
    /// Further remarks.
    pub notes: Vec<String>,
    /// The plot.
    #[serde(skip)]
    pub plot: Plot,
}

impl FigureReport {
    /// Notes the timing of live mode. A machine that was too slow leaves the claim undecided.
    pub(crate) fn judge(&mut self, punctuality: Punctuality) {
        self.notes.push(punctuality.note());
        if !punctuality.is_good() && self.holds.take().is_some() {
            self.plot.title += " (the machine was too slow)";
        }
    }
}

impl fmt::Display for FigureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n\n{}", self.plot.title, self.summary.as_ref().unwrap_or(&self.values))?;
        writeln!(f, "  paper:   {}", self.setting.paper)?;
        writeln!(f, "  ours:    {}", self.setting.ours)?;
        self.setting.differs.iter().try_for_each(|line| writeln!(f, "  differs: {line}"))?;
        writeln!(f, "  claim:   {}", self.claim)?;
        writeln!(f, "  judged:  {}", self.judged)?;
        for Statement { says, measured, holds } in &self.statements {
            writeln!(f, "  {:<9}{says}: {measured}", format!("{}:", verdict(*holds)))?;
        }
        writeln!(f, "  holds:   {}", verdict(self.holds))?;
        self.notes.iter().try_for_each(|note| writeln!(f, "  note:    {note}"))
    }
}

/// One statement of the paper about a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statement {
    /// What the paper says, in our words, with the limits within which we take it as true.
    pub says: &'static str,
    /// What we have measured.
    pub measured: String,
    /// Whether it is so; `None` if that cannot be decided here.
    pub holds: Option<bool>,
}

impl Statement {
    pub(crate) fn new(says: &'static str, measured: String, holds: impl Into<Option<bool>>) -> Self {
        Statement { says, measured, holds: holds.into() }
    }

    /// Whether all statements that can be decided here hold; `None` if there are none.
    pub(crate) fn all(statements: &[Statement]) -> Option<bool> {
        statements.iter().filter_map(|statement| statement.holds).reduce(|all, holds| all && holds)
    }
}

fn verdict(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "yes",
        Some(false) => "no",
        None => "undecided",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_false_statement_refutes_a_figure() {
        let of = |holds: &[Option<bool>]| {
            let all: Vec<_> = holds.iter().map(|holds| Statement::new("says", String::new(), *holds)).collect();
            Statement::all(&all)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[None]), None);
        assert_eq!(of(&[Some(true), None]), Some(true));
        assert_eq!(of(&[Some(true), Some(false), None]), Some(false));
    }
}
