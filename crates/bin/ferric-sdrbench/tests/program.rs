//! The program from outside.

mod common;

use std::fs;

use common::Folder;
use testkit::program::{Outcome, run as run_program};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ferric-sdrbench");

fn run(arguments: &[&str]) -> Outcome {
    run_program(PROGRAM, arguments)
}

const SHORT: &str = "warm_up_s = 0\nduration_s = 0.5\nrepetitions = 1\n[agents]\ncount = 1\nsetups_per_s = 10\n";

#[test]
fn mistakes_are_explained() {
    let folder = Folder::new("mistakes");
    let target = ["--target", "tcp://127.0.0.1:1", "--out"];
    let with = |scenario: &str| run(&[&["run", "--scenario", scenario], &target[..], &[&folder.path("out")]].concat());
    with("smok").complains(1, &["no scenario `smok`", "ten-thousand"]);
    with(&folder.path("missing.toml")).complains(1, &["missing.toml"]);
    let impossible = folder.path("impossible.toml");
    fs::write(&impossible, "[agents]\ncount = 60000\nperiod_ms = 1\n").unwrap();
    with(&impossible).complains(1, &["line 2", "count", "no host sends more"]);
    assert!(!folder.0.join("out").exists(), "nothing is left of a run that does not begin");
    run(&["run", "--target", "10.0.0.1", "--out", "x"]).complains(2, &["tcp://host:port"]);
    let resumed = run(&[&["run", "--resume"], &target[..], &[&folder.path("out")]].concat());
    resumed.complains(1, &["nothing to resume"]);
    let other = folder.path("other.json");
    fs::write(&other, "{\"schema\": \"ferric-sdrbench/9\"}").unwrap();
    run(&["compare", &other, &other]).complains(1, &["other.json", "ferric-sdrbench/9", "ferric-sdrbench/3"]);
    fs::write(&other, "{}").unwrap();
    run(&["compare", &other, &other]).complains(1, &["no report of sdrbench"]);
}

#[test]
fn scenarios_are_listed_and_printed() {
    let list = run(&["scenarios"]);
    assert_eq!(list.stdout.lines().count(), 12, "{}", list.stdout);
    assert!(run(&["scenarios", "faults"]).stdout.contains("reconnect-storm"));
    run(&["scenarios", "fault"]).complains(1, &["faults"]);
}

#[test]
fn controller_that_refuses_connections_has_a_report_that_says_so() {
    let folder = Folder::new("refused");
    let (scenario, out) = (folder.path("short.toml"), folder.path("out"));
    fs::write(&scenario, SHORT).unwrap();
    let arguments = ["run", "--scenario", &scenario, "--target", "tcp://127.0.0.1:1", "--out", &out, "--quiet"];
    let outcome = run(&arguments);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("0 of 1 agents were set up"), "{}", outcome.stdout);
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path("out/report.json")).unwrap()).unwrap();
    assert_eq!((report["valid"].as_bool(), report["complete"].as_bool()), (Some(false), Some(true)));
    assert!(report["steps"][0]["connections_lost"].as_u64() > Some(0));
    for name in ["report.html", "steps.csv", "series.csv"] {
        assert!(folder.0.join("out").join(name).exists(), "{name}");
    }
    run(&arguments).complains(1, &["exists", "--resume"]);
    let again = run(&[&arguments[..], &["--resume"]].concat());
    assert_eq!(again.code(), Some(0), "what was measured is not measured again: {}", again.stderr);
    run(&["fit", &out]).complains(1, &["0 valid steps", "needs three"]);
    let json = folder.path("out/report.json");
    let same = run(&["compare", &json, &json]);
    assert!(
        same.stdout.contains("same") && same.stdout.contains("warning: the first report is not valid"),
        "{}",
        same.stdout
    );
    let both = run(&["merge", &json, &json, "--out", &folder.path("both")]);
    assert!(both.stdout.contains("valid") && folder.0.join("both/report.html").exists(), "{}", both.stderr);
}
