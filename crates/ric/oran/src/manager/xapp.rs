//! An xApp that was started: its process, its configuration, and when it is started again.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use log_lines::{Host, LogBudget};
use rest::Reply;
use serde_json::Value;
use tracing::{info, warn};

use super::Bus;
use super::commands::Permitted;
use super::descriptor::Descriptor;
use super::guard::Guard;
use super::output::Output;
use super::process::{Launch, Process};
use crate::json_schema::Schema;

/// The pause before an xApp is started again that has ended for the first time; each further one is twice as long.
pub const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// An xApp that has ended as often in a row is not started again. A run of [`STEADY`] ends the row.
pub const MAX_IN_A_ROW: u32 = 8;
const STEADY: Duration = Duration::from_secs(60);
/// The time between SIGTERM and SIGKILL.
pub const GRACE: Duration = Duration::from_secs(5);
/// How long an xApp that has answered health checks may be silent, or say that it is not well.
pub const UNWELL: Duration = Duration::from_secs(60);

/// Where an xApp is in its life.
pub(super) enum Phase {
    Running(Process),
    /// It has ended with a fault, and is started again.
    Waiting {
        until: Instant,
    },
    /// It was told to end; then it is removed, or started again.
    Stopping {
        process: Process,
        kill_at: Instant,
        replies: Vec<Reply>,
        is_removed: bool,
    },
    /// It has ended without a fault.
    Completed,
    /// It is not started again.
    Failed,
}

/// An xApp that was started.
pub(super) struct Xapp {
    pub descriptor: Descriptor,
    pub schema: Option<Schema>,
    pub phase: Phase,
    /// Times that it has ended with a fault in a row, and that it was started again in all.
    in_a_row: u32,
    pub restarts: u64,
    /// How it has ended last.
    pub reason: Option<String>,
    pub output: Output,
    command: Vec<String>,
    permitted: Permitted,
    environment: Vec<(String, String)>,
    folder: PathBuf,
    begun: Instant,
    well_at: Option<Instant>,
}

/// What all xApps are started with.
pub(super) struct Surroundings<'a> {
    pub guard: &'a mut Guard,
    pub cgroup: Option<&'a Path>,
    pub log: &'a LogBudget,
}

impl Xapp {
    /// An xApp that was not started yet.
    pub fn new(
        descriptor: Descriptor,
        schema: Option<Schema>,
        command: Vec<String>,
        permitted: Permitted,
        environment: Vec<(String, String)>,
        folder: PathBuf,
        output: Output,
    ) -> Self {
        let environment = environment.into_iter().chain(permitted.environment.iter().cloned()).collect();
        Xapp {
            descriptor,
            schema,
            phase: Phase::Failed,
            in_a_row: 0,
            restarts: 0,
            reason: None,
            output,
            command,
            permitted,
            environment,
            folder,
            begun: Instant::now(),
            well_at: None,
        }
    }

    /// The endpoint at which it receives over RMR.
    pub fn rmr_endpoint(&self) -> Option<String> {
        self.descriptor.rmr_port.map(|port| format!("127.0.0.1:{port}"))
    }

    /// The file that has its configuration.
    pub fn config_file(&self) -> PathBuf {
        self.folder.join("config-file.json")
    }

    /// Whether something of it runs, or will.
    pub fn is_active(&self) -> bool {
        !matches!(self.phase, Phase::Completed | Phase::Failed)
    }

    /// Starts its process.
    ///
    /// # Errors
    /// Why the system does not.
    pub fn start(&mut self, host: &mut Surroundings<'_>) -> Result<(), String> {
        let folder = self.permitted.folder.clone().unwrap_or_else(|| self.folder.clone());
        let launch = Launch {
            name: &self.descriptor.name,
            command: &self.command,
            environment: &self.environment,
            folder: &folder,
            limits: &self.permitted.limits,
            cgroup: host.cgroup,
        };
        let process = Process::start(&launch, &self.output)?;
        host.guard.add(process.id());
        let name = &self.descriptor.name;
        info!("xApp {name} runs as process {}", process.id());
        if let Some(why) = &process.unlimited {
            warn!("xApp {name} runs without its limits: {why}");
        }
        (self.phase, self.begun, self.well_at) = (Phase::Running(process), Instant::now(), None);
        Ok(())
    }

    /// Writes its configuration. xApps watch the file itself, so that it is not replaced: it is written at once, and does not become
    /// shorter, so that a reader finds a JSON document.
    pub fn write_config(&self) -> std::io::Result<()> {
        let path = self.config_file();
        let mut file = File::options().write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        let before = usize::try_from(file.metadata()?.len()).unwrap_or(0);
        // texts, numbers and members are written in any case
        let mut octets = serde_json::to_vec_pretty(&self.descriptor.config).unwrap_or_default();
        octets.push(b'\n');
        octets.resize(octets.len().max(before), b' ');
        file.write_all(&octets)
    }

    /// Replaces its configuration, which was checked.
    pub fn set_config(&mut self, descriptor: Descriptor) -> std::io::Result<Value> {
        let before = std::mem::replace(&mut self.descriptor, descriptor);
        match self.write_config() {
            Ok(()) => Ok(before.config),
            Err(error) => {
                self.descriptor = before;
                Err(error)
            }
        }
    }

    /// Looks at its process. Returns who waits for its end, if it has ended to be removed.
    pub fn step(&mut self, now: Instant, bus: Option<&dyn Bus>, host: &mut Surroundings<'_>) -> Option<Vec<Reply>> {
        match &mut self.phase {
            Phase::Running(process) => {
                let id = process.id();
                if let Some(status) = process.ended() {
                    host.guard.remove(id);
                    self.ended(status, now, host);
                } else if let Some(why) = self.unwell(now, bus) {
                    warn!("xApp {} is started again: {why}", self.descriptor.name);
                    self.reason = Some(why);
                    self.terminate(now, false);
                }
            }
            Phase::Waiting { until } if *until <= now => {
                self.restarts += 1;
                if let Err(why) = self.start(host) {
                    self.fault(why, now, host);
                }
            }
            Phase::Stopping { process, kill_at, .. } => {
                let id = process.id();
                if process.ended().is_none() {
                    if *kill_at <= now {
                        warn!(
                            "xApp {} has not ended {} s after SIGTERM: it is killed",
                            self.descriptor.name,
                            GRACE.as_secs()
                        );
                        process.kill();
                        *kill_at = now + GRACE;
                    }
                    return None;
                }
                host.guard.remove(id);
                if let Phase::Stopping { replies, is_removed: true, .. } =
                    std::mem::replace(&mut self.phase, Phase::Failed)
                {
                    info!("xApp {} has ended", self.descriptor.name);
                    return Some(replies);
                }
                let why = self.reason.take().unwrap_or_default();
                self.fault(why, now, host);
            }
            _ => {}
        }
        None
    }

    /// Has a request answered when it has ended to be removed.
    ///
    /// # Errors
    /// If it does not end.
    pub fn await_end(&mut self, reply: Reply) -> Result<(), Reply> {
        match &mut self.phase {
            Phase::Stopping { replies, is_removed: true, .. } => {
                replies.push(reply);
                Ok(())
            }
            _ => Err(reply),
        }
    }

    /// Asks it to end. Returns whether it was running.
    pub fn terminate(&mut self, now: Instant, is_removed: bool) -> bool {
        match std::mem::replace(&mut self.phase, Phase::Failed) {
            Phase::Running(process) => {
                process.terminate();
                self.phase = Phase::Stopping { process, kill_at: now + GRACE, replies: Vec::new(), is_removed };
                true
            }
            Phase::Stopping { process, kill_at, replies, is_removed: was_removed } => {
                let is_removed = is_removed || was_removed;
                self.phase = Phase::Stopping { process, kill_at, replies, is_removed };
                true
            }
            _ => false,
        }
    }

    /// Why it is started again although it runs.
    fn unwell(&mut self, now: Instant, bus: Option<&dyn Bus>) -> Option<String> {
        let endpoint = self.rmr_endpoint()?;
        let health = bus?.health(&endpoint).filter(|health| health.answered >= self.begun)?;
        if health.is_well {
            self.well_at = Some(health.answered);
        }
        let since = self.well_at?;
        if now.saturating_duration_since(since) < UNWELL {
            return None;
        }
        let what = if health.is_well { "it does not answer health checks" } else { "it says that it is not well" };
        Some(format!("{what} since {} s", UNWELL.as_secs()))
    }

    fn ended(&mut self, status: std::process::ExitStatus, now: Instant, host: &Surroundings<'_>) {
        if status.success() {
            info!("xApp {} has ended", self.descriptor.name);
            self.reason = Some("it has ended by itself".to_owned());
            self.phase = Phase::Completed;
            return;
        }
        self.fault(format!("it has ended: {status}"), now, host);
    }

    /// It has ended with a fault: it is started again, unless that has happened too often.
    fn fault(&mut self, why: String, now: Instant, host: &Surroundings<'_>) {
        let name = &self.descriptor.name;
        if now.saturating_duration_since(self.begun) >= STEADY {
            self.in_a_row = 0;
        }
        self.in_a_row += 1;
        if self.in_a_row >= MAX_IN_A_ROW {
            warn!("xApp {name} is not started again, as it has ended {MAX_IN_A_ROW} times in a row: {why}");
            (self.phase, self.reason) = (Phase::Failed, Some(why));
            return;
        }
        let pause = (FIRST_PAUSE * (1 << (self.in_a_row - 1).min(16))).min(LONGEST_PAUSE);
        if host.log.allow(Host::Local) {
            warn!("xApp {name} is started again in {} ms: {why}", pause.as_millis());
        }
        (self.phase, self.reason) = (Phase::Waiting { until: now + pause }, Some(why));
    }
}

impl Drop for Xapp {
    fn drop(&mut self) {
        // the folder may hold what the xApp has written
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
