//! This program, started again as the RIC, as the mover or as another part, and the kernel's accounts of it.

use std::io::{BufRead, BufReader, Write};
use std::ops::Deref;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, anyhow};

/// The kernel's accounts of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accounts {
    id: u32,
}

impl Accounts {
    /// Those of somebody else's process.
    ///
    /// # Errors
    /// Where there is no such process, or it is not ours to look at.
    pub fn of(id: u32) -> anyhow::Result<Self> {
        let accounts = Accounts { id };
        accounts.cpu_ns().with_context(|| format!("cannot read the accounts of process {id}"))?;
        Ok(accounts)
    }

    /// Nanoseconds that its threads have run until now.
    pub fn cpu_ns(self) -> anyhow::Result<u64> {
        let mut sum = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.id))? {
            let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
            let first = text.split_whitespace().next().and_then(|n| n.parse::<u64>().ok());
            sum += first.context("the kernel keeps no schedstat")?;
        }
        Ok(sum)
    }

    /// Files and sockets that it has open.
    pub fn descriptors(self) -> anyhow::Result<u64> {
        Ok(std::fs::read_dir(format!("/proc/{}/fd", self.id))?.count() as u64)
    }

    /// Its resident memory.
    pub fn rss_bytes(self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|l| l.split_whitespace().next()).and_then(|n| n.parse::<u64>().ok());
        Ok(kib.context("no VmRSS")? * 1024)
    }
}

/// A process of ours; ended when it is dropped.
pub(crate) struct Process {
    child: Child,
    accounts: Accounts,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What it printed of itself, `name=value` a line.
    said: Vec<(String, String)>,
}

impl Process {
    /// Starts this program with other arguments, and reads the `lines` lines in which it says where it listens.
    pub fn start(arguments: &[&str], lines: usize) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {arguments:?}"))?;
        let input = child.stdin.take().context("a process without input")?;
        let output = BufReader::new(child.stdout.take().context("a process without output")?);
        let accounts = Accounts { id: child.id() };
        let mut process = Process { child, accounts, input, output, said: Vec::new() };
        for _ in 0..lines {
            let line = process.line().with_context(|| format!("{arguments:?}"))?;
            let (name, value) = line.split_once('=').ok_or_else(|| anyhow!("unexpected: {line}"))?;
            process.said.push((name.to_owned(), value.to_owned()));
        }
        Ok(process)
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err(anyhow!("ended at once")),
            _ => Ok(line.trim_end().to_owned()),
        }
    }

    /// Asks a part (`part`) what it has counted until now: the line that it answers.
    pub fn ask(&mut self) -> anyhow::Result<String> {
        writeln!(self.input, "?")?;
        self.line()
    }

    /// What it said of `name`.
    pub fn said(&self, name: &str) -> anyhow::Result<&str> {
        let found = self.said.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str()).ok_or_else(|| anyhow!("it did not tell its {name}"))
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }
}

impl Deref for Process {
    type Target = Accounts;

    fn deref(&self) -> &Accounts {
        &self.accounts
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
