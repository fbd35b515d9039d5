//! The report as a table.

use std::fmt;

use super::{CheckReport, Report};

impl CheckReport {
    /// Returns the heading of the table.
    #[must_use]
    pub fn heading() -> String {
        format!("{:<12}  {:<5}  {:<31}  {:<16}  requirement", "result", "E2AP", "check", "clause")
    }

    /// Returns the line of the check in the table, with its reason on a second line.
    #[must_use]
    pub fn line(&self) -> String {
        let CheckReport { id, version, clause, title, outcome, .. } = self;
        let mut line = format!("{outcome:<12}  v{version:<4}  {id:<31}  {clause:<16}  {title}");
        if let Some(reason) = &self.reason {
            line += &format!("\n{:14}{reason}", "");
        }
        line
    }
}

impl Report {
    /// Returns the numbers of the run in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        let Report { peer, address, passed, failed, inconclusive, .. } = self;
        let end = if self.interrupted { ", interrupted" } else { "" };
        format!("{peer} at {address}: passed={passed} failed={failed} inconclusive={inconclusive}{end}")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", CheckReport::heading())?;
        for check in &self.checks {
            writeln!(f, "{}", check.line())?;
        }
        f.write_str(&self.summary())
    }
}
