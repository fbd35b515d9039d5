//! `ferric ran --live`: what it makes is there, and gone when it ends, however it ends. `ferric paper --live`: a figure with
//! real programs. Needs root; the figure needs iperf3 and irtt.

mod program;
#[path = "../../../ran/netns/tests/support/programs.rs"]
#[allow(dead_code, reason = "only whether programs are there")]
mod programs;
#[path = "../../../ran/netns/tests/support/mod.rs"]
mod support;

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use program::{PATIENCE, Program, run};
use rustix::process::Signal;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

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
    assert!(report["notes"].to_string().contains("of the slots came more than 2 ms after their time"), "{report}");
    fs::remove_dir_all(out).unwrap();
}

/// Begins a figure, and waits until its call's two ends run.
fn begin_figure(directory: &str) -> Program {
    let figure = Program::start(&["paper", "fig11a", "--live", "--seconds", "0.1", "--out", directory]);
    let parent = format!("PPid:\t{}\n", figure.id());
    let is_child = |id: &str| fs::read_to_string(format!("/proc/{id}/status")).is_ok_and(|it| it.contains(&parent));
    let children = || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter(|entry| entry.file_name().to_str().is_some_and(is_child)).count()
    };
    let begin = Instant::now();
    while children() < 2 {
        assert!(begin.elapsed() < PATIENCE, "there is no call");
        thread::sleep(Duration::from_millis(20));
    }
    figure
}

#[test]
fn a_figure_that_is_interrupted_leaves_nothing() {
    let Some(_turn) = support::turn() else { return };
    if !["iperf3", "irtt"].into_iter().all(programs::is_there) {
        return;
    }
    let out = std::env::temp_dir().join(format!("ferric-paper-interrupted-{}", std::process::id()));
    let figure = begin_figure(out.to_str().unwrap());
    let prefix = format!("fig{}", figure.id());
    assert!(namespace(&prefix, "ue1").exists() && namespace(&prefix, "core").exists());
    figure.signal(Signal::INT);
    let outcome = figure.end();
    outcome.complains(1, &["fig11a: interrupted"]);
    assert!(!outcome.stderr.contains("programs still run"), "{}", outcome.stderr);
    assert!(!namespace(&prefix, "ue1").exists() && !namespace(&prefix, "core").exists());
    fs::remove_dir_all(out).unwrap();
}

#[test]
fn programs_that_outlive_their_ran_are_named() {
    let Some(_turn) = support::turn() else { return };
    let prefix = prefix('o');
    let ran = start(&prefix);
    let file = File::open(namespace(&prefix, "ue1")).unwrap();
    let in_namespace = thread::spawn(move || {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
        Command::new("sleep").arg("1000").spawn().unwrap()
    });
    let mut sleep = in_namespace.join().unwrap();
    let outcome = ran.stop();
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    let told = format!("programs still run in the network namespace {prefix}-ue1, which goes");
    assert!(outcome.stderr.contains(&told), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(&format!("{} (sleep)", sleep.id())), "{}", outcome.stderr);
}
