//! The report of a run.

mod html;
mod junit;
mod text;

use serde::{Deserialize, Serialize};

use crate::{Config, Outcome, Role, Target};

/// The version of the JSON document.
pub const SCHEMA_VERSION: u32 = 1;

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The name of the check.
    pub id: String,
    /// The version of E2AP; empty if the peer was never there.
    pub version: String,
    /// The clause.
    pub clause: String,
    /// What the peer must do.
    pub title: String,
    /// The result.
    pub outcome: Outcome,
    /// Why it failed or is inconclusive.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The file with its messages, within the folder of the recordings.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub recording: Option<String>,
    /// Messages that are not in the file, because it was written too slowly.
    #[serde(default)]
    pub unrecorded: u64,
}

/// The report of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The version of this document: [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The side that was checked.
    pub peer: Role,
    /// The address.
    pub address: String,
    /// When the run began, in seconds since 1970.
    pub began_s: u64,
    /// Whether malformed octets were sent.
    pub hostile: bool,
    /// Whether the run ended before its last check.
    pub interrupted: bool,
    /// The number of checks that passed.
    pub passed: usize,
    /// The number of checks that failed.
    pub failed: usize,
    /// The number of checks without a result.
    pub inconclusive: usize,
    /// The checks, in the order in which they ran.
    pub checks: Vec<CheckReport>,
}

impl Report {
    pub(crate) fn new(config: &Config, peer: Role, began_s: u64, interrupted: bool, checks: Vec<CheckReport>) -> Self {
        let count = |outcome| checks.iter().filter(|check| check.outcome == outcome).count();
        let (Target::Ric(address) | Target::Node(address)) = &config.target;
        Report {
            schema_version: SCHEMA_VERSION,
            peer,
            address: address.to_string(),
            began_s,
            hostile: config.hostile,
            interrupted,
            passed: count(Outcome::Pass),
            failed: count(Outcome::Fail),
            inconclusive: count(Outcome::Inconclusive),
            checks,
        }
    }

    /// Returns the result of a check in a version.
    #[must_use]
    pub fn check(&self, version: &str, id: &str) -> Option<&CheckReport> {
        self.checks.iter().find(|check| check.version == version && check.id == id)
    }
}

/// Escapes text for HTML and XML. Characters that XML does not allow are replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(' '),
            other if other.is_control() || matches!(other, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests;
