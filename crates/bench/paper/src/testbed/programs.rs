//! Real programs at both ends of the emulated cell, in live mode.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use ran::Namespace;

use super::{Mode, PATIENCE};

/// The interval in which a program is checked for its end.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Fails unless the programs are on the PATH.
pub fn require(programs: &[&str]) -> anyhow::Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = |program: &&str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let missing: Vec<_> = programs.iter().filter(|program| !is_installed(program)).copied().collect();
    if !missing.is_empty() {
        let missing = missing.join(" and ");
        bail!("{missing} not found on the PATH; do: install it (Debian: apt-get install iperf3 irtt)");
    }
    Ok(())
}

/// A running program at one end; killed when dropped.
pub struct Program {
    command: String,
    child: Child,
    /// Its output, read continuously so that it never blocks.
    output: Option<JoinHandle<std::io::Result<String>>>,
}

impl Program {
    /// Starts a command, whose words are separated by blanks.
    pub fn start(at: &Namespace, command: &str) -> anyhow::Result<Self> {
        Program::begin(at, command, None)
    }

    /// Starts a server, and waits until its output contains `ready`.
    pub fn serve(at: &Namespace, command: &str, ready: &str) -> anyhow::Result<Self> {
        Program::begin(at, command, Some(ready))
    }

    fn begin(at: &Namespace, command: &str, ready: Option<&str>) -> anyhow::Result<Self> {
        let mut words = command.split(' ');
        let mut started = Command::new(words.next().unwrap_or_default());
        started.args(words).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = at.enter(|| started.spawn())?.with_context(|| format!("cannot start {command}"))?;
        let output = child.stdout.take();
        let mut program = Program { command: command.to_owned(), child, output: None };
        let mut output = BufReader::new(output.context("a program without standard output")?);
        let mut line = String::new();
        while ready.is_some_and(|ready| !line.contains(ready)) {
            line.clear();
            if output.read_line(&mut line)? == 0 {
                bail!("{command} ended at once");
            }
        }
        program.output = Some(std::thread::spawn(move || {
            let mut text = String::new();
            output.read_to_string(&mut text).map(|_| text)
        }));
        Ok(program)
    }

    /// Whether it runs.
    ///
    /// # Errors
    /// If it has failed.
    pub fn is_running(&mut self) -> anyhow::Result<bool> {
        match self.child.try_wait().with_context(|| self.command.clone())? {
            None => Ok(true),
            Some(status) if status.success() => Ok(false),
            Some(status) => {
                let output = self.take_output()?;
                bail!("{} ended with {status}: {}", self.command, output.trim_end())
            }
        }
    }

    /// Waits until it ends; returns its output.
    pub fn output(mut self, mode: Mode<'_>) -> anyhow::Result<String> {
        let begin = Instant::now();
        while self.is_running()? {
            mode.check()?;
            if begin.elapsed() > PATIENCE {
                bail!("{} did not end in time", self.command);
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
        self.take_output()
    }

    /// The whole output of a program that has ended.
    fn take_output(&mut self) -> anyhow::Result<String> {
        let output = self.output.take().unwrap_or_else(|| panic!("the output is taken once"));
        Ok(output.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // it may have ended by itself
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_programs_are_named() {
        require(&["sh"]).unwrap();
        let error = require(&["sh", "no-such-program", "nor-this"]).unwrap_err().to_string();
        assert!(error.starts_with("no-such-program and nor-this not found"), "{error}");
    }
}
