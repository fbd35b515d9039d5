//! `ferric-paper FIGURE --live`: a figure with real programs. Needs root, iperf3 and irtt.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use testkit::live::{HostLock, are_installed};
use testkit::program::{Outcome, PATIENCE, Program, sibling};

const FERRIC_PAPER: &str = env!("CARGO_BIN_EXE_ferric-paper");

fn run(arguments: &[&str]) -> Outcome {
    testkit::program::run(FERRIC_PAPER, arguments)
}

/// The lock of a host on which figures can be measured.
fn lock_host() -> Option<HostLock> {
    let lock = testkit::live::lock_host(netns::check_host)?;
    let _ferric = sibling(FERRIC_PAPER, "ferric", "ferric-cli");
    are_installed(&["iperf3", "irtt"]).then_some(lock)
}

fn namespace(prefix: &str, end: &str) -> PathBuf {
    Path::new("/var/run/netns").join(format!("{prefix}-{end}"))
}

#[test]
fn figure_is_measured_with_real_programs() {
    let Some(_lock) = lock_host() else { return };
    let out = std::env::temp_dir().join(format!("ferric-paper-live-{}", std::process::id()));
    let directory = out.to_str().unwrap();
    let outcome = run(&["fig11b", "--live", "--json", "--seconds", "0.1", "--out", directory]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert!(report["notes"].to_string().contains("done: set the 5G-BDP pacer"), "{report}");
    assert!(report["setting"]["ours"].as_str().unwrap().contains("network namespaces"), "{report}");
    assert!(report["values"].as_array().unwrap().len() > 50, "{report}");
    assert!(report["notes"].to_string().contains("of the slots were more than 2 ms late"), "{report}");
    fs::remove_dir_all(out).unwrap();
}

/// Starts a figure, and waits until both ends of its call run.
fn begin_figure(directory: &str) -> Program {
    let figure = Program::start(FERRIC_PAPER, &["fig11a", "--live", "--seconds", "0.1", "--out", directory]);
    let parent = format!("PPid:\t{}\n", figure.id());
    let is_child = |id: &str| fs::read_to_string(format!("/proc/{id}/status")).is_ok_and(|it| it.contains(&parent));
    let children = || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter(|entry| entry.file_name().to_str().is_some_and(is_child)).count()
    };
    let begin = Instant::now();
    while children() < 2 {
        assert!(begin.elapsed() < PATIENCE, "the call does not start");
        thread::sleep(Duration::from_millis(20));
    }
    figure
}

#[test]
fn interrupt_removes_the_namespaces() {
    let Some(_lock) = lock_host() else { return };
    let out = std::env::temp_dir().join(format!("ferric-paper-interrupted-{}", std::process::id()));
    let figure = begin_figure(out.to_str().unwrap());
    let prefix = format!("fig{}", figure.id());
    assert!(namespace(&prefix, "ue1").exists() && namespace(&prefix, "core").exists());
    figure.signal(Signal::INT);
    let outcome = figure.end();
    outcome.complains(1, &["fig11a: interrupted"]);
    assert!(!outcome.stderr.contains("while programs run in it"), "{}", outcome.stderr);
    assert!(!namespace(&prefix, "ue1").exists() && !namespace(&prefix, "core").exists());
    fs::remove_dir_all(out).unwrap();
}
