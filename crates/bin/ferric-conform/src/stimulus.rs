//! A program that has a RIC begin procedures.

use std::process::{Child, Stdio};

use conform::{Action, Stimulus};
use e2ap::RanFunctionId;

/// The most programs that run at a time; what is beyond ends first.
const MOST: usize = 8;

/// Runs a command of the shell for each action.
pub struct Command {
    command: String,
    running: Vec<Child>,
}

impl Command {
    /// Creates a stimulus of a command, to which three arguments are appended.
    pub fn new(command: &str) -> Self {
        Command { command: command.to_owned(), running: Vec::new() }
    }

    fn end_oldest(&mut self) {
        // a program that has ended is only waited for
        self.running.retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
        while self.running.len() >= MOST {
            end(self.running.remove(0));
        }
    }
}

fn end(mut child: Child) {
    // it may have ended meanwhile
    let _ = child.kill();
    let _ = child.wait();
}

impl Stimulus for Command {
    fn act(&mut self, action: Action, node: &str, function: RanFunctionId) {
        self.end_oldest();
        // the shell splits the command, not the arguments
        let script = format!("{} \"$@\"", self.command);
        let started = std::process::Command::new("/bin/sh")
            .args(["-c", &script, "stimulus", action.name(), node, &function.0.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        match started {
            Ok(child) => self.running.push(child),
            Err(error) => eprintln!("ferric conform: cannot run the stimulus `{}`: {error}", self.command),
        }
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        self.running.drain(..).for_each(end);
    }
}
