//! Tests of live mode: they change the host's network, and need root and programs that may not be installed.
//!
//! Where `FERRIC_LIVE=required`, a test that cannot run fails.
#![allow(clippy::missing_panics_doc, reason = "a test fails by a panic")]

use std::fmt::Display;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde_json::Value;

/// The longest time of all other tests that use the host, one after the other.
const OTHER_TESTS: Duration = Duration::from_secs(1200);

/// Exclusive use of the host's network namespaces until it is dropped.
#[derive(Debug)]
pub struct HostLock {
    _file: File,
}

/// Waits until no other test of live mode runs: each removes the namespaces that killed programs have left. `None`, with the
/// reason printed, if this host fails the `check`, or if another test does not end.
pub fn lock_host<E: Display>(check: impl FnOnce() -> Result<(), E>) -> Option<HostLock> {
    if let Err(error) = check() {
        assert!(!is_required(), "{error}");
        println!("NOT TESTED: {error}");
        return None;
    }
    let file = File::create(std::env::temp_dir().join("ferric-live-tests.lock")).unwrap();
    let deadline = Instant::now() + OTHER_TESTS;
    while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        assert!(matches!(error, Errno::WOULDBLOCK | Errno::INTR), "cannot lock the host: {error}");
        if Instant::now() > deadline {
            assert!(!is_required(), "another test uses the host, and does not end");
            println!("NOT TESTED: another test uses this host for {} s and more", OTHER_TESTS.as_secs());
            return None;
        }
        sleep(Duration::from_millis(10));
    }
    Some(HostLock { _file: file })
}

/// Whether all programs are on the PATH; prints a missing one. `crates/ran/netns/tools/run` fetches those that tests need.
#[must_use]
pub fn are_installed(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    let Some(missing) = programs.iter().find(|program| !is_installed(program)) else { return true };
    assert!(!is_required(), "{missing} is not installed");
    println!("NOT TESTED: {missing} is not installed; crates/ran/netns/tools/run fetches it");
    false
}

fn is_required() -> bool {
    std::env::var_os("FERRIC_LIVE").is_some_and(|value| value == "required")
}

/// A prefix of namespaces' names that no other process uses.
#[must_use]
pub fn prefix(letter: char) -> String {
    format!("t{letter}{}", std::process::id() % 1_000_000)
}

/// A program that is killed when this is dropped.
#[derive(Debug)]
pub struct RunningProgram(Child);

impl Drop for RunningProgram {
    fn drop(&mut self) {
        // it may have ended by itself
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Starts a server, and waits until a line of its output contains `ready`. `spawn` starts the program in its namespace.
pub fn serve(spawn: impl FnOnce(&mut Command) -> Child, command: &str, ready: &str) -> RunningProgram {
    let mut child = spawn(&mut program(command));
    let output = child.stdout.take().unwrap();
    let running = RunningProgram(child);
    let mut lines = BufReader::new(output).lines();
    assert!(lines.any(|line| line.unwrap().contains(ready)), "{command} ended");
    // further output is discarded, so that the pipe never blocks the server
    std::thread::spawn(move || lines.for_each(drop));
    running
}

/// Runs a program to its end, and parses its output as JSON. `spawn` starts the program in its namespace.
pub fn run_json(spawn: impl FnOnce(&mut Command) -> Child, command: &str) -> Value {
    let output = spawn(&mut program(command)).wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{command}: {text}");
    serde_json::from_str(&text).unwrap()
}

fn program(command: &str) -> Command {
    let mut words = command.split(' ');
    let mut program = Command::new(words.next().unwrap());
    program.args(words).stdin(Stdio::null()).stdout(Stdio::piped());
    program
}
