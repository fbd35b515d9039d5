//! Processes that a measurement starts, and the kernel's accounts of them.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, anyhow};
use ferric::Endpoint;
use ferric::link::Address;
use ferric::server::E42Address;
use rustix::io::Errno;

use crate::links::TemporaryPath;

/// The kernel's accounts of a process.
#[derive(Clone, Copy, Debug)]
pub struct Accounts {
    id: u32,
}

impl Accounts {
    /// The accounts of the process `id`, which another program may have started.
    ///
    /// # Errors
    /// If there is no such process, or this user may not read its accounts.
    pub fn of(id: u32) -> anyhow::Result<Self> {
        let accounts = Accounts { id };
        accounts.cpu_ns().with_context(|| format!("cannot read the accounts of process {id}"))?;
        Ok(accounts)
    }

    /// The process id.
    #[must_use]
    pub fn id(self) -> u32 {
        self.id
    }

    /// The processor time of all its threads until now, in nanoseconds.
    ///
    /// # Errors
    /// If the process has ended, or the kernel keeps no such account.
    pub fn cpu_ns(self) -> anyhow::Result<u64> {
        let mut sum = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.id))? {
            let text = match std::fs::read_to_string(task?.path().join("schedstat")) {
                // the thread has ended since it was listed
                Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::NOENT | Errno::SRCH)) => continue,
                other => other?,
            };
            let first = text.split_whitespace().next().and_then(|n| n.parse::<u64>().ok());
            sum += first.context("the kernel keeps no schedstat")?;
        }
        Ok(sum)
    }

    /// The processor time of its first thread until now, in nanoseconds: of `ferric ric`, the event loop.
    ///
    /// # Errors
    /// As [`Accounts::cpu_ns`].
    pub fn first_thread_cpu_ns(self) -> anyhow::Result<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/task/{}/schedstat", self.id, self.id))?;
        let first = text.split_whitespace().next().and_then(|n| n.parse().ok());
        first.context("the kernel keeps no schedstat")
    }

    /// The number of its open files and sockets.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn descriptors(self) -> anyhow::Result<u64> {
        Ok(std::fs::read_dir(format!("/proc/{}/fd", self.id))?.count() as u64)
    }

    /// Its resident memory in bytes.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn rss_bytes(self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|l| l.split_whitespace().next()).and_then(|n| n.parse::<u64>().ok());
        Ok(kib.context("no VmRSS")? * 1024)
    }
}

/// A process that this one has started; killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    accounts: Accounts,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The `name=value` lines that it printed at its start.
    values: Vec<(String, String)>,
}

impl Process {
    /// Starts a program and reads the `lines` lines that it prints at its start, each `name=value`.
    ///
    /// # Errors
    /// If the program cannot be started, or prints anything else.
    pub fn start(program: &Path, arguments: &[&str], lines: usize) -> anyhow::Result<Self> {
        let command = || format!("{} {}", program.display(), arguments.join(" "));
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", command()))?;
        let input = child.stdin.take().context("a process without standard input")?;
        let output = BufReader::new(child.stdout.take().context("a process without standard output")?);
        let accounts = Accounts { id: child.id() };
        let mut process = Process { child, accounts, input, output, values: Vec::new() };
        for _ in 0..lines {
            let line = process.line().with_context(command)?;
            let (name, value) = line.split_once('=').ok_or_else(|| anyhow!("unexpected line: {line}"))?;
            process.values.push((name.to_owned(), value.to_owned()));
        }
        Ok(process)
    }

    /// Starts this program again, with other arguments.
    ///
    /// # Errors
    /// As [`Process::start`].
    pub fn start_self(arguments: &[&str], lines: usize) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        Process::start(&program, arguments, lines)
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err(anyhow!("the process ended")),
            _ => Ok(line.trim_end().to_owned()),
        }
    }

    /// Writes a line to a part ([`crate::part`]) and returns its answer: its counters until now.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn query(&mut self) -> anyhow::Result<String> {
        self.ask("?")
    }

    /// Writes a line to the process and returns its answer.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn ask(&mut self, line: &str) -> anyhow::Result<String> {
        writeln!(self.input, "{line}")?;
        self.line()
    }

    /// The value of the line `name=value` that it printed at its start.
    ///
    /// # Errors
    /// If it printed no such line.
    pub fn value(&self, name: &str) -> anyhow::Result<&str> {
        let found = self.values.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str()).ok_or_else(|| anyhow!("the process printed no {name}="))
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// If the system does not answer.
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
        // it may have ended by itself
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process that runs `ferric ric`.
#[derive(Debug)]
pub struct RicProcess {
    /// The process.
    pub process: Process,
    /// Its address for E2 nodes.
    pub e2: Endpoint,
    /// Its address for xApps.
    pub xapp: Address,
    /// Its address for FlexRIC's xApps, with the option `--e42`.
    pub e42: Option<Address>,
    /// Its address for FlexRAN agents, with the option `--flexran`.
    pub flexran: Option<Address>,
    /// Its address for xApps over RMR, with the option `--rmr`.
    pub rmr: Option<Address>,
    /// The URL of the REST interfaces of the O-RAN reference platform, with the option `--oran-rest`.
    pub oran_rest: Option<String>,
    /// The address of its REST interface, with the option `--rest`.
    pub rest: Option<SocketAddr>,
}

impl RicProcess {
    /// Starts `ferric ric` with free TCP ports. `options` override these.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(ferric: &Path, options: &[&str]) -> anyhow::Result<Self> {
        let mut arguments = vec!["--log", "error", "ric"];
        for (option, url) in [("--e2", "tcp://127.0.0.1:0"), ("--xapp", "tcp://127.0.0.1:0")] {
            if !options.contains(&option) {
                arguments.extend([option, url]);
            }
        }
        arguments.extend_from_slice(options);
        let optional = ["e42", "flexran", "rmr", "oran-rest", "rest"];
        let optional: Vec<_> =
            optional.into_iter().filter(|name| options.iter().any(|of| of.strip_prefix("--") == Some(*name))).collect();
        let process = Process::start(ferric, &arguments, 2 + optional.len())?;
        let value = |name: &str| optional.contains(&name).then(|| process.value(name)).transpose();
        let (e2, xapp) = (process.value("e2")?.parse()?, process.value("xapp")?.parse()?);
        let e42 = value("e42")?.map(str::parse::<E42Address>).transpose()?.map(|address| address.0);
        let flexran = value("flexran")?.map(str::parse).transpose()?;
        let rmr = value("rmr")?.map(str::parse).transpose()?;
        let oran_rest = value("oran-rest")?.map(str::to_owned);
        let rest = value("rest")?.map(|url| url.trim_start_matches("http://").parse()).transpose()?;
        Ok(RicProcess { process, e2, xapp, e42, flexran, rmr, oran_rest, rest })
    }

    /// Starts `ferric ric` with an address for E2 nodes such as `e2`, as a relay: the controller at `controller` sees the gNB named
    /// `gnb`, which is in one piece, as an E2 node of the relay.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_relay(ferric: &Path, e2: &Endpoint, gnb: &str, controller: &Endpoint) -> anyhow::Result<Self> {
        // read before the process prints its addresses
        let file = TemporaryPath::new("topology.toml");
        let text = format!("ric = \"{controller}\"\n[[base_station]]\ngnb = \"{gnb}\"\ndus = []\n");
        std::fs::write(&file.0, text).context("cannot write the topology")?;
        let (e2, topology) = (e2.to_string(), file.0.to_string_lossy().into_owned());
        RicProcess::start(ferric, &["--e2", &e2, "--topology", &topology])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_end_while_the_accounts_are_read_do_no_harm() {
        let accounts = Accounts::of(std::process::id()).unwrap();
        let ends = std::thread::spawn(|| (0..3000).for_each(|_| std::thread::spawn(|| {}).join().unwrap()));
        while !ends.is_finished() {
            accounts.cpu_ns().unwrap();
        }
        ends.join().unwrap();
        // beyond the highest process id
        assert!(Accounts::of(u32::MAX >> 1).is_err());
    }
}
