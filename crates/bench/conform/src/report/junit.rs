//! The report as JUnit XML, which CI systems read: a suite for each version of E2AP. Inconclusive checks are skipped ones.

use std::fmt::Write;

use super::{CheckReport, Report, escaped};
use crate::Outcome;

impl Report {
    /// Returns the report as JUnit XML.
    #[must_use]
    pub fn junit(&self) -> String {
        let mut versions: Vec<&str> = Vec::new();
        for check in &self.checks {
            if !versions.contains(&check.version.as_str()) {
                versions.push(&check.version);
            }
        }
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let totals = numbers(&self.checks.iter().collect::<Vec<_>>());
        // writing to a string does not fail
        let _ = writeln!(out, "<testsuites name=\"E2AP conformance\"{totals}>");
        for version in versions {
            let checks: Vec<_> = self.checks.iter().filter(|check| check.version == version).collect();
            let name = format!("E2AP v{version}, {} at {}", self.peer, self.address);
            let _ = writeln!(out, "  <testsuite name=\"{}\"{}>", escaped(&name), numbers(&checks));
            for check in checks {
                write_case(&mut out, check);
            }
            out.push_str("  </testsuite>\n");
        }
        out.push_str("</testsuites>\n");
        out
    }
}

fn numbers(checks: &[&CheckReport]) -> String {
    let count = |outcome| checks.iter().filter(|check| check.outcome == outcome).count();
    let seconds = checks.iter().map(|check| check.duration_ms).sum::<u64>() as f64 / 1e3;
    format!(
        " tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{seconds:.3}\"",
        checks.len(),
        count(Outcome::Fail),
        count(Outcome::Inconclusive)
    )
}

fn write_case(out: &mut String, check: &CheckReport) {
    let seconds = check.duration_ms as f64 / 1e3;
    let class = format!("E2AP v{}", check.version);
    let _ = write!(
        out,
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{seconds:.3}\"",
        escaped(&class),
        escaped(&check.id)
    );
    let element = match check.outcome {
        Outcome::Pass => {
            out.push_str("/>\n");
            return;
        }
        Outcome::Fail => "failure",
        Outcome::Inconclusive => "skipped",
    };
    let reason = escaped(check.reason.as_deref().unwrap_or_default());
    let about = escaped(&format!("clause {}: {}", check.clause, check.title));
    let _ = write!(out, ">\n      <{element} message=\"{reason}\">{about}</{element}>\n    </testcase>\n");
}
