//! Metrics by Prometheus' own tool, and by its conventions.
//!
//! `FERRIC_PROMTOOL` names promtool; scripts/northbound has it. Without it, tests say what they did not test.
#![allow(clippy::missing_panics_doc, reason = "a test fails by a panic")]

use std::io::Write;
use std::process::{Command, Stdio};

/// Runs promtool with an input. Fails unless it succeeds; returns `false` where it is not known.
pub fn promtool(arguments: &[&str], input: &str) -> bool {
    let Some(promtool) = std::env::var_os("FERRIC_PROMTOOL") else {
        eprintln!("NOT TESTED: FERRIC_PROMTOOL does not name promtool; scripts/northbound has it");
        return false;
    };
    let mut command = Command::new(promtool);
    let command = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // it lints on standard error, without a status
    assert!(output.status.success() && stderr.trim().is_empty(), "{stdout}\n{stderr}");
    true
}

/// Checks that metrics in the text form follow the conventions for names and units, with promtool where it is known.
pub fn check_metrics(text: &str) {
    promtool(&["check", "metrics"], text);
    // the same without the tool: base units, and each metric has a help text and a type
    for line in text.lines().filter(|line| line.starts_with("# TYPE ")) {
        let mut words = line.split(' ').skip(2);
        let (name, kind) = (words.next().unwrap(), words.next().unwrap());
        assert!(text.contains(&format!("# HELP {name} ")), "{name}");
        assert!(
            !["_ms", "_us", "_milliseconds", "_bytes_total_bytes"].iter().any(|unit| name.contains(unit)),
            "{name}"
        );
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
        assert!(kind != "histogram" || name.ends_with("_seconds"), "{name}");
    }
}
