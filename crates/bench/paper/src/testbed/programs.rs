//! Real programs at both ends of the emulated cell.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use ran::Namespace;

use super::{Mode, PATIENCE};

/// Until it is looked again whether a program has ended.
const AGAIN: Duration = Duration::from_millis(20);

/// That programs are there, before anything is measured.
pub fn require(programs: &[&str]) -> anyhow::Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &&str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let missing: Vec<_> = programs.iter().filter(|program| !is_there(program)).copied().collect();
    if !missing.is_empty() {
        let missing = missing.join(" and ");
        bail!("{missing} cannot be found on the PATH; do: install it (Debian: apt-get install iperf3 irtt)");
    }
    Ok(())
}

/// A program that runs at an end. It is ended when this is dropped.
pub struct Program {
    command: String,
    child: Child,
    /// What it says, read as it comes, so that it never waits for a reader.
    output: Option<JoinHandle<std::io::Result<String>>>,
}

impl Program {
    /// Starts a command, whose words are parted by blanks.
    pub fn start(at: &Namespace, command: &str) -> anyhow::Result<Self> {
        Program::begin(at, command, None)
    }

    /// Starts a server, and waits until it says that it serves.
    pub fn serve(at: &Namespace, command: &str, says: &str) -> anyhow::Result<Self> {
        Program::begin(at, command, Some(says))
    }

    fn begin(at: &Namespace, command: &str, says: Option<&str>) -> anyhow::Result<Self> {
        let mut words = command.split(' ');
        let mut started = Command::new(words.next().unwrap_or_default());
        started.args(words).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = at.enter(|| started.spawn())?.with_context(|| format!("cannot start {command}"))?;
        let output = child.stdout.take();
        let mut program = Program { command: command.to_owned(), child, output: None };
        let mut output = BufReader::new(output.context("a program without output")?);
        let mut line = String::new();
        while says.is_some_and(|says| !line.contains(says)) {
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
    /// It has failed.
    pub fn is_running(&mut self) -> anyhow::Result<bool> {
        match self.child.try_wait().with_context(|| self.command.clone())? {
            None => Ok(true),
            Some(status) if status.success() => Ok(false),
            Some(status) => {
                let said = self.said()?;
                bail!("{} ended with {status}: {}", self.command, said.trim_end())
            }
        }
    }

    /// Waits until it ends; what it has said.
    pub fn output(mut self, mode: Mode<'_>) -> anyhow::Result<String> {
        let begin = Instant::now();
        while self.is_running()? {
            mode.check()?;
            if begin.elapsed() > PATIENCE {
                bail!("{} does not end", self.command);
            }
            std::thread::sleep(AGAIN);
        }
        self.said()
    }

    /// All that it has said, once it has ended.
    fn said(&mut self) -> anyhow::Result<String> {
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
    fn what_is_missing_is_named() {
        require(&["sh"]).unwrap();
        let error = require(&["sh", "no-such-program", "nor-this"]).unwrap_err().to_string();
        assert!(error.starts_with("no-such-program and nor-this cannot be found"), "{error}");
    }
}
