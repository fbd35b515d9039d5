//! `ferric ran --live`: what it makes is there, and gone when it ends, however it ends. `ferric paper --live`: a figure with
//! real programs. Needs root; the figure needs iperf3 and irtt.

mod program;
#[path = "../../live/tests/support/programs.rs"]
#[allow(dead_code, reason = "only whether programs are there")]
mod programs;
#[path = "../../live/tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};

use program::{Program, run};
use rustix::process::Signal;

fn prefix(letter: char) -> String {
    support::config(letter, 1).prefix
}

fn namespace(prefix: &str, end: &str) -> PathBuf {
    Path::new("/var/run/netns").join(format!("{prefix}-{end}"))
}

/// A RAN in live mode whose RIC is not there, once its namespaces are.
fn start(prefix: &str) -> Program {
    let mut ran = Program::start(&["ran", "--live", "1", "--live-prefix", prefix, "--ric", "tcp://127.0.0.1:1"]);
    ran.logs(&format!("`ip netns exec {prefix}-core COMMAND` runs it at the core, 10.45.0.1"));
    ran.logs(&format!("`ip netns exec {prefix}-ue1 COMMAND` runs it at a UE, 10.45.0.2"));
    assert!(namespace(prefix, "ue1").exists() && namespace(prefix, "core").exists());
    ran
}

#[test]
fn signals_end_it_and_leave_nothing() {
    let Some(_turn) = support::turn() else { return };
    let prefix = prefix('y');
    let outcome = start(&prefix).stop();
    assert!(outcome.stderr.contains("live mode: dropped: 0 to nobody"), "{}", outcome.stderr);
    assert!(!namespace(&prefix, "ue1").exists() && !namespace(&prefix, "core").exists());
    let ran = start(&prefix);
    ran.signal(Signal::TERM);
    assert_eq!(ran.end().code(), Some(0));
    assert!(!namespace(&prefix, "ue1").exists() && !namespace(&prefix, "core").exists());
}

#[test]
fn who_is_killed_is_cleaned_up_after() {
    let Some(_turn) = support::turn() else { return };
    let prefix = prefix('z');
    drop(start(&prefix));
    // the next one takes the names
    start(&prefix).stop();
    assert!(!namespace(&prefix, "ue1").exists() && !namespace(&prefix, "core").exists());
}

#[test]
fn a_name_that_another_one_has_is_told() {
    let Some(_turn) = support::turn() else { return };
    let prefix = prefix('g');
    let first = start(&prefix);
    let second = run(&["ran", "--live", "1", "--live-prefix", &prefix]);
    second.complains(
        1,
        &["another ferric that runs has the network namespace", "do: end that one, or use another prefix"],
    );
    first.stop();
    run(&["ran", "--live", "1", "--live-prefix", "A B"]).complains(1, &["a prefix of names has 1 to 10 of"]);
    run(&["ran", "--live", "0"]).complains(2, &["0 is not in 1..=256"]);
    run(&["ran", "--live", "1", "--ues", "3"]).complains(2, &["cannot be used with"]);
}

#[test]
fn a_figure_of_the_paper_with_real_programs() {
    let Some(_turn) = support::turn() else { return };
    if !["iperf3", "irtt"].into_iter().all(programs::is_there) {
        return;
    }
    let out = std::env::temp_dir().join(format!("ferric-paper-live-{}", std::process::id()));
    let directory = out.to_str().unwrap();
    let outcome = run(&["paper", "fig11b", "--live", "--json", "--seconds", "0.1", "--out", directory]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert!(report["notes"].to_string().contains("done: set the 5G-BDP pacer"), "{report}");
    assert!(report["setting"]["ours"].as_str().unwrap().contains("network namespaces"), "{report}");
    assert!(report["values"].as_array().unwrap().len() > 50, "{report}");
    std::fs::remove_dir_all(out).unwrap();
    assert!(!namespace("paper", "ue1").exists() && !namespace("paper", "core").exists());
}
