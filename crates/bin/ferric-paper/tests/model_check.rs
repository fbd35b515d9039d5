//! `ferric paper model-check`: its output, its table in a document, and wrong arguments.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

const FERRIC_PAPER: &str = env!("CARGO_BIN_EXE_ferric-paper");

fn run(arguments: &[&str]) -> testkit::program::Outcome {
    testkit::program::run(FERRIC_PAPER, arguments)
}

#[test]
fn chosen_checks_are_run_and_reported() {
    let outcome = run(&["model-check", "--json", "--quick", "block-size-largest", "voip-rate"]);
    assert_eq!(outcome.code(), Some(0), "{outcome:?}");
    assert_eq!(outcome.stdout.lines().count(), 1);
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let names: Vec<_> = checks.iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["block-size-largest", "voip-rate"]);
    for check in checks {
        let number = |key: &str| check[key].as_f64().unwrap_or_else(|| panic!("no {key} in {check}"));
        let difference = (number("measured") - number("expected")).abs();
        assert_eq!(check["holds"], difference <= number("tolerance"), "{check}");
        assert_eq!(check["holds"], true, "{check}");
        for key in ["what", "unit", "source"] {
            assert!(!check[key].as_str().unwrap().is_empty(), "{check}");
        }
    }
    let outcome = run(&["model-check", "--quick", "voip-rate"]);
    assert!(outcome.stdout.contains("holds  voip-rate  expected"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("1 checks, 1 hold, 0 do not"), "{}", outcome.stdout);
}

#[test]
fn wrong_arguments_are_refused_before_anything_runs() {
    run(&["model-check", "nothing"]).complains(2, &["invalid value 'nothing'"]);
    run(&["model-check", "--json", "--update", "x"]).complains(2, &["cannot be used with"]);
    run(&["model-check", "--update", "/nonexistent/model.md"]).complains(1, &["cannot read /nonexistent/model.md"]);
    // a document without the lines around the table
    run(&["model-check", "--update", "/dev/null"]).complains(1, &["/dev/null has no line `<!-- model-check -->`"]);
}

/// The table is made with `ferric paper model-check --update docs/model.md`.
#[test]
fn document_has_a_row_for_each_check() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/model.md");
    let text = fs::read_to_string(path).unwrap();
    let (_, table) = text.split_once("<!-- model-check -->\n").unwrap();
    let (table, _) = table.split_once("<!-- end of model-check -->").unwrap();
    let name = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let rows: Vec<_> = table.lines().filter_map(name).collect();
    let unique: BTreeSet<_> = rows.iter().collect();
    assert_eq!(unique.len(), rows.len(), "a check twice");
    assert_eq!(rows, paper::check_names().collect::<Vec<_>>());
}

#[test]
fn every_check_holds() {
    let outcome = run(&["model-check", "--quick"]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stdout);
}
