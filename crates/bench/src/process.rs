//! This program, started again as the RIC or as the mover, and the kernel's accounts of it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, anyhow};

/// A process of ours; ended when it is dropped.
pub(crate) struct Process {
    child: Child,
    /// What it printed of itself, `name=value` a line.
    said: Vec<(String, String)>,
}

impl Process {
    /// Starts this program with other arguments, and reads the `lines` lines in which it says where it listens.
    pub fn start(arguments: &[&str], lines: usize) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {arguments:?}"))?;
        let stdout = child.stdout.take().context("a process without output")?;
        let mut process = Process { child, said: Vec::new() };
        for line in BufReader::new(stdout).lines().take(lines) {
            let line = line?;
            let (name, value) = line.split_once('=').ok_or_else(|| anyhow!("unexpected: {line}"))?;
            process.said.push((name.to_owned(), value.to_owned()));
        }
        if process.said.len() < lines {
            return Err(anyhow!("{arguments:?} ended at once"));
        }
        Ok(process)
    }

    /// What it said of `name`.
    pub fn said(&self, name: &str) -> anyhow::Result<&str> {
        let found = self.said.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str()).ok_or_else(|| anyhow!("it did not tell its {name}"))
    }

    /// Nanoseconds that its threads have run until now.
    pub fn cpu_ns(&self) -> anyhow::Result<u64> {
        let mut sum = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
            let first = text.split_whitespace().next().and_then(|n| n.parse::<u64>().ok());
            sum += first.context("the kernel keeps no schedstat")?;
        }
        Ok(sum)
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Files and sockets that it has open.
    pub fn descriptors(&self) -> anyhow::Result<u64> {
        Ok(std::fs::read_dir(format!("/proc/{}/fd", self.child.id()))?.count() as u64)
    }

    /// Its resident memory.
    pub fn rss_bytes(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|l| l.split_whitespace().next()).and_then(|n| n.parse::<u64>().ok());
        Ok(kib.context("no VmRSS")? * 1024)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
