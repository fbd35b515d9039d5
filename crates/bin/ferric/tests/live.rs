//! `ferric ran --live`: its namespaces exist while it runs, and are removed however it ends. Needs root.

mod program;

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use program::{Program, run};
use rustix::process::Signal;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use testkit::live::{HostLock, prefix};

fn lock_host() -> Option<HostLock> {
    testkit::live::lock_host(netns::check_host)
}

fn namespace(prefix: &str, end: &str) -> PathBuf {
    Path::new("/var/run/netns").join(format!("{prefix}-{end}"))
}

/// Starts a RAN in live mode, without a RIC, and waits for its namespaces.
fn start(prefix: &str) -> Program {
    let mut ran = program::start(&["ran", "--live", "1", "--live-prefix", prefix, "--ric", "tcp://127.0.0.1:1"]);
    ran.logs(&format!("core 10.45.0.1: start programs with `ip netns exec {prefix}-core COMMAND`"));
    ran.logs(&format!("UE 10.45.0.2: start programs with `ip netns exec {prefix}-ue1 COMMAND`"));
    assert!(namespace(prefix, "ue1").exists() && namespace(prefix, "core").exists());
    ran
}

#[test]
fn signal_removes_the_namespaces() {
    let Some(_lock) = lock_host() else { return };
    let prefix = prefix('y');
    let outcome = start(&prefix).stop();
    assert!(outcome.stderr.contains("live mode: dropped packets: 0 unknown destination"), "{}", outcome.stderr);
    assert!(!namespace(&prefix, "ue1").exists() && !namespace(&prefix, "core").exists());
    let ran = start(&prefix);
    ran.signal(Signal::TERM);
    assert_eq!(ran.end().code(), Some(0));
    assert!(!namespace(&prefix, "ue1").exists() && !namespace(&prefix, "core").exists());
}

#[test]
fn namespaces_of_a_killed_program_are_removed_by_the_next() {
    let Some(_lock) = lock_host() else { return };
    let prefix = prefix('z');
    drop(start(&prefix));
    // the next one uses the same names
    start(&prefix).stop();
    assert!(!namespace(&prefix, "ue1").exists() && !namespace(&prefix, "core").exists());
}

#[test]
fn prefix_in_use_is_refused() {
    let Some(_lock) = lock_host() else { return };
    let prefix = prefix('g');
    let first = start(&prefix);
    let second = run(&["ran", "--live", "1", "--live-prefix", &prefix]);
    second.complains(1, &["belongs to another running ferric", "do: end that process, or use another name prefix"]);
    first.stop();
    run(&["ran", "--live", "1", "--live-prefix", "A B"]).complains(1, &["invalid name prefix: use 1 to 10"]);
    run(&["ran", "--live", "0"]).complains(2, &["0 is not in 1..=256"]);
    run(&["ran", "--live", "1", "--ues", "3"]).complains(2, &["cannot be used with"]);
}

#[test]
fn programs_left_in_a_namespace_are_named() {
    let Some(_lock) = lock_host() else { return };
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
    let warning = format!("network namespace {prefix}-ue1 is removed while programs run in it");
    assert!(outcome.stderr.contains(&warning), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(&format!("{} (sleep)", sleep.id())), "{}", outcome.stderr);
}
