//! Real programs in namespaces.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use netns::Namespace;
use serde_json::Value;

/// A program that is ended with the test.
pub struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether there is such a program on the PATH; says if not. `crates/ran/netns/tools/run` fetches those that tests need.
pub fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|directory| directory.join(program).exists());
    if !is_there {
        let is_required = std::env::var_os("FERRIC_LIVE").is_some_and(|value| value == "required");
        assert!(!is_required, "{program} is not installed");
        println!("NOT TESTED: {program} is not installed; crates/ran/netns/tools/run fetches it");
    }
    is_there
}

/// A server, once it has said that it listens.
pub fn serve(namespace: &Namespace, command: &str, says: &str) -> Running {
    let mut child = spawn(namespace, command);
    let output = child.stdout.take().unwrap();
    let running = Running(child);
    let mut lines = BufReader::new(output).lines();
    assert!(lines.any(|line| line.unwrap().contains(says)), "{command} ended");
    // whatever it says later is of no interest, and must not stop it
    std::thread::spawn(move || lines.for_each(drop));
    running
}

/// What a program says, as JSON.
pub fn json(namespace: &Namespace, command: &str) -> Value {
    let output = spawn(namespace, command).wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{command}: {text}");
    serde_json::from_str(&text).unwrap()
}

fn spawn(namespace: &Namespace, command: &str) -> Child {
    let mut words = command.split(' ');
    let mut program = Command::new(words.next().unwrap());
    program.args(words).stdin(Stdio::null()).stdout(Stdio::piped());
    namespace.enter(|| program.spawn().unwrap()).unwrap()
}
