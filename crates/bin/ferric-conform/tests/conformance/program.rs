//! The program from outside.

use conform::report::Report;
use e2ap::Version;
use testkit::program::run;

use crate::driver::driven_ric;
use crate::{Folder, socket, station};

const CONFORM: &str = env!("CARGO_BIN_EXE_ferric-conform");

#[test]
fn report_is_written_in_each_form() {
    let (ric, _driver) = driven_ric();
    let folder = Folder::new("report");
    let out = folder.0.to_str().unwrap();
    let ric = ric.e2.to_string();
    let outcome = run(CONFORM, &["--ric", &ric, "--action", "0.1", "--e2ap", "2.03", "--e2ap", "1.01", "--out", out]);
    assert_eq!(outcome.code(), Some(0), "{}{}", outcome.stdout, outcome.stderr);
    let json = std::fs::read_to_string(folder.0.join("report.json")).unwrap();
    let report: Report = serde_json::from_str(&json).unwrap();
    assert!(report.passed > 20 && report.failed == 0 && report.inconclusive > 0, "{json}");
    assert!(outcome.stdout.contains(&report.summary()), "{}", outcome.stdout);
    let xml = std::fs::read_to_string(folder.0.join("report.xml")).unwrap();
    let document = roxmltree::Document::parse(&xml).unwrap();
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase")).count();
    assert_eq!(cases, report.checks.len());
    let html = std::fs::read_to_string(folder.0.join("report.html")).unwrap();
    for check in &report.checks {
        let file = check.recording.as_deref().unwrap();
        assert!(html.contains(file) && folder.0.join(file).is_file(), "{file}");
    }
}

#[test]
fn node_is_checked_and_json_is_one_object() {
    let address = socket("program");
    let _node = station(&address, Version::V2_03);
    let url = address.to_string();
    let outcome = run(CONFORM, &["--node", &url, "--json", "--check", "setup", "--check", "reset"]);
    assert_eq!(outcome.code(), Some(0), "{}{}", outcome.stdout, outcome.stderr);
    let report: Report = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((report.passed, report.checks.len()), (2, 2));
    assert_eq!(report.checks[0].version, "2.03", "as its setup implies");
}

#[test]
fn mistakes_are_explained() {
    run(CONFORM, &[]).complains(2, &["--ric <URL>", "--node <URL>"]);
    run(CONFORM, &["--ric", "tcp://127.0.0.1:1", "--node", "tcp://127.0.0.1:2"]).complains(2, &["cannot be used"]);
    run(CONFORM, &["--ric", "http://127.0.0.1"]).complains(2, &["--ric <URL>"]);
    run(CONFORM, &["--ric", "tcp://127.0.0.1:1", "--e2ap", "4.00"]).complains(2, &["unknown E2AP version"]);
    run(CONFORM, &["--ric", "tcp://127.0.0.1:1", "--answer", "0"]).complains(2, &["not a number from 0.01 to 3600"]);
    let two = ["--node", "unix:/tmp/none", "--e2ap", "2.03", "--e2ap", "3.01"];
    run(CONFORM, &two).complains(1, &["an E2 node has one version"]);
    let unknown = ["--ric", "tcp://127.0.0.1:1", "--check", "set-up"];
    run(CONFORM, &unknown).complains(1, &["there is no check `set-up` for this peer"]);
    let nobody = ["--ric", "unix:/tmp/ferric-conform-nobody", "--action", "0.1"];
    run(CONFORM, &nobody).complains(1, &["no check has a result: no association with unix:/tmp/ferric-conform-nobody"]);
    let file = ["--ric", "tcp://127.0.0.1:1", "--out", "/dev/null/report"];
    run(CONFORM, &file).complains(1, &["cannot create /dev/null/report"]);
}

#[test]
fn stimulus_is_run_with_the_name_of_the_procedure() {
    let (ric, _driver) = driven_ric();
    let folder = Folder::new("stimulus");
    let file = folder.0.join("orders");
    let command = format!("printf '%s %s %s\\n' >{}", file.display());
    let ric = ric.e2.to_string();
    let arguments = ["--ric", &ric, "--stimulus", &command, "--check", "subscription", "--action", "2", "--json"];
    let outcome = run(CONFORM, &arguments);
    // the script only writes down what it is asked for
    outcome.complains(1, &["no check has a result: the peer sent no RicSubscriptionRequest"]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "subscribe gnb-00101-c0f2 2\n");
}

#[test]
fn checks_are_listed() {
    for (peer, count) in [("ric", conform::node::checks().len()), ("node", conform::ric::checks().len())] {
        let outcome = run(CONFORM, &["--list", peer]);
        assert_eq!((outcome.code(), outcome.stdout.lines().count()), (Some(0), count + 1), "{peer}");
    }
}
