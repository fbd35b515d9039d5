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
use super::container::Container;
use super::descriptor::Descriptor;
use super::documents::LogLevel;
use super::guard::Guard;
use super::output::Output;
use super::process::{Launch, Process};
use crate::json_schema::Schema;

/// The pause before an xApp is started again that has ended for the first time; each further one is twice as long.
pub const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// An xApp that has ended as often in a row is not started again. A run of a minute ends the row.
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
    /// Its end was requested; then it is removed, or started again.
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
    /// What runs it, if it is an image.
    container: Option<Container>,
    permitted: Permitted,
    environment: Vec<(String, String)>,
    folder: PathBuf,
    begun: Instant,
    well_at: Option<Instant>,
    pub log_level: LogLevel,
}

/// The file that the platform's libraries for logs watch, in the folder of the xApp.
pub(super) const LOG_LEVEL_FILE: &str = "log-level.yaml";

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
        (command, container): (Vec<String>, Option<Container>),
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
            container,
            permitted,
            environment,
            folder,
            begun: Instant::now(),
            well_at: None,
            // that of the platform's libraries
            log_level: LogLevel::Error,
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

    /// Why it does not run although it should: it waits to be started again, or is given up.
    pub fn fault_now(&self) -> Option<&str> {
        match self.phase {
            Phase::Waiting { .. } | Phase::Failed => self.reason.as_deref(),
            _ => None,
        }
    }

    /// Starts its process.
    ///
    /// # Errors
    /// Why the system does not.
    pub fn start(&mut self, now: Instant, host: &mut Surroundings<'_>) -> Result<(), String> {
        let Permitted { folder, limits, .. } = &self.permitted;
        let name = &self.descriptor.name;
        let run = self
            .container
            .as_ref()
            .map(|container| container.run(&self.command, &self.environment, &self.folder, folder.as_ref(), limits));
        let launch = Launch {
            name,
            command: run.as_ref().unwrap_or(&self.command),
            environment: if run.is_some() { &[] } else { &self.environment },
            folder: folder.as_ref().filter(|_| run.is_none()).unwrap_or(&self.folder),
            limits,
            cgroup: host.cgroup,
            container: self.container.as_ref(),
        };
        let process = Process::start(&launch, &self.output)?;
        host.guard.add(process.id());
        if let Some(container) = &self.container {
            host.guard.add_container(&container.shell_line());
        }
        info!("xApp {name} runs as process {}", process.id());
        if let Some(why) = &process.unlimited {
            warn!("xApp {name} runs without its limits of processor and memory: {why}");
        }
        (self.phase, self.begun, self.well_at) = (Phase::Running(process), now, None);
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

    /// Changes the level of its log. The libraries watch the file itself, so that it is written in place.
    pub fn set_log_level(&mut self, level: LogLevel) -> std::io::Result<()> {
        let path = self.folder.join(LOG_LEVEL_FILE);
        let mut file = File::options().write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        // all levels have the same number of octets: a reader finds a whole line
        file.write_all(format!("log-level: {:<7}\n", level.word()).as_bytes())?;
        self.log_level = level;
        Ok(())
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
                    let exceeded_memory = process.exceeded_memory();
                    host.guard.remove(id);
                    self.ended(status, exceeded_memory, now, host);
                } else if let Some(why) = self.unwell(now, bus) {
                    warn!(
                        "xApp {} is stopped and started again: {why}; see `ferric xapps logs {0}`",
                        self.descriptor.name
                    );
                    self.reason = Some(why);
                    self.terminate(now, false);
                }
            }
            Phase::Waiting { until } if *until <= now => {
                self.restarts += 1;
                if let Err(why) = self.start(now, host) {
                    self.fault(why, now, host);
                }
            }
            Phase::Stopping { process, kill_at, .. } => {
                let id = process.id();
                if process.ended().is_none() {
                    if *kill_at <= now {
                        warn!(
                            "xApp {} has not ended {} s after SIGTERM, and is killed: let it handle SIGTERM",
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

    fn ended(
        &mut self,
        status: std::process::ExitStatus,
        exceeded_memory: bool,
        now: Instant,
        host: &Surroundings<'_>,
    ) {
        if status.success() {
            info!("xApp {} has ended", self.descriptor.name);
            self.reason = Some("it has ended by itself".to_owned());
            self.phase = Phase::Completed;
            return;
        }
        let mut why = format!("it has ended: {status}");
        if let (true, Some(mib)) = (exceeded_memory, self.permitted.limits.memory_mib) {
            why += &format!("; the kernel has killed it for more than {mib} MiB of memory (max_memory_mib)");
        }
        self.fault(why, now, host);
    }

    /// It has ended with a fault: it is started again, unless that has happened too often.
    fn fault(&mut self, why: String, now: Instant, host: &Surroundings<'_>) {
        let name = &self.descriptor.name;
        if now.saturating_duration_since(self.begun) >= STEADY {
            self.in_a_row = 0;
        }
        self.in_a_row += 1;
        if self.in_a_row >= MAX_IN_A_ROW {
            warn!(
                "xApp {name} is not started again, as it has ended {MAX_IN_A_ROW} times in a row: {why}; see `ferric xapps logs \
                 {name}`, and start it with `ferric xapps run DESCRIPTOR`"
            );
            (self.phase, self.reason) = (Phase::Failed, Some(why));
            return;
        }
        let pause = (FIRST_PAUSE * (1 << (self.in_a_row - 1).min(16))).min(LONGEST_PAUSE);
        if host.log.allow(Host::Local) {
            warn!("xApp {name} is started again in {} ms: {why}; see `ferric xapps logs {name}`", pause.as_millis());
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::cgroup::Limits;
    use super::*;
    use crate::messaging::{Health, NamedXapp};

    /// Answers health checks as it is told.
    struct Answering(Option<Health>);

    impl Bus for Answering {
        fn set_routes(&self, _: Vec<String>) {}

        fn watch(&self, _: Vec<String>) {}

        fn set_named(&self, _: Vec<NamedXapp>) {}

        fn health(&self, _: &str) -> Option<Health> {
            self.0
        }
    }

    struct Bed {
        guard: Guard,
        log: LogBudget,
        xapp: Xapp,
        now: Instant,
    }

    impl Bed {
        /// An xApp that is a script of the shell.
        fn of(name: &str, script: &str) -> Bed {
            let folder = std::env::temp_dir().join(format!("ferric-xapp-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            let config = json!({
                "xapp_name": name, "version": "1", "messaging": { "ports": [{ "name": "rmr-data", "port": 4560 }] },
            });
            let descriptor = Descriptor::check(config, None).unwrap();
            let command: Vec<_> = ["/bin/sh", "-c", script].map(str::to_owned).into();
            let permitted = Permitted {
                name: name.to_owned(),
                command: command.clone(),
                image: None,
                extra_arguments: false,
                descriptor: None,
                schema: None,
                folder: None,
                environment: Vec::new(),
                start: false,
                limits: Limits::default(),
            };
            let output = Output::new(4096, None);
            let xapp = Xapp::new(descriptor, None, (command, None), permitted, Vec::new(), folder, output);
            Bed { guard: Guard::none(), log: LogBudget::new(1000), xapp, now: Instant::now() }
        }

        fn start(&mut self) {
            let mut surroundings = Surroundings { guard: &mut self.guard, cgroup: None, log: &self.log };
            self.xapp.start(self.now, &mut surroundings).unwrap();
        }

        fn step(&mut self, bus: Option<&dyn Bus>) -> bool {
            let mut surroundings = Surroundings { guard: &mut self.guard, cgroup: None, log: &self.log };
            self.xapp.step(self.now, bus, &mut surroundings).is_some()
        }

        /// Steps without time that passes until the phase is another.
        fn step_until(&mut self, is: impl Fn(&Phase) -> bool) {
            let end = Instant::now() + Duration::from_secs(20);
            while !is(&self.xapp.phase) {
                assert!(Instant::now() < end, "the phase is never reached");
                self.step(None);
                std::thread::sleep(Duration::from_millis(2));
            }
        }

        fn process(&self) -> u32 {
            match &self.xapp.phase {
                Phase::Running(process) => process.id(),
                _ => panic!("it does not run"),
            }
        }
    }

    fn exists(process: u32) -> bool {
        std::path::Path::new(&format!("/proc/{process}")).exists()
    }

    #[test]
    fn xapp_that_crashes_is_started_again_after_growing_pauses_until_it_is_given_up() {
        let mut bed = Bed::of("crash", "exit 3");
        bed.start();
        let mut pauses = Vec::new();
        loop {
            bed.step_until(|phase| !matches!(phase, Phase::Running(_)));
            let Phase::Waiting { until } = bed.xapp.phase else { break };
            pauses.push((until - bed.now).as_millis());
            bed.step(None);
            assert!(matches!(bed.xapp.phase, Phase::Waiting { .. }), "not before the pause is over");
            bed.now = until;
            bed.step(None);
        }
        assert!(matches!(bed.xapp.phase, Phase::Failed));
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16000, 30000]);
        assert_eq!(bed.xapp.restarts, u64::from(MAX_IN_A_ROW) - 1);
        assert_eq!(bed.xapp.reason.as_deref(), Some("it has ended: exit status: 3"));
    }

    #[test]
    fn long_run_ends_the_row_and_an_end_without_fault_is_final() {
        let mut bed = Bed::of("steady", "sleep 0.1; exit 3");
        for _ in 0..2 {
            bed.start();
            bed.now += STEADY;
            bed.step_until(|phase| !matches!(phase, Phase::Running(_)));
            let Phase::Waiting { until } = bed.xapp.phase else { panic!("it is started again") };
            assert_eq!(until - bed.now, FIRST_PAUSE);
        }
        let mut bed = Bed::of("done", "exit 0");
        bed.start();
        bed.step_until(|phase| matches!(phase, Phase::Completed));
    }

    #[test]
    fn process_that_ignores_sigterm_is_killed_with_its_children() {
        let mut bed = Bed::of("stubborn", "trap '' TERM; sleep 1000 & echo ready $!; while :; do sleep 0.1; done");
        bed.start();
        let (process, end) = (bed.process(), Instant::now() + Duration::from_secs(20));
        let child = loop {
            let text = bed.xapp.output.text().0;
            if let Some(child) = text.strip_prefix("ready ").and_then(|rest| rest.trim().parse::<u32>().ok()) {
                break child;
            }
            assert!(Instant::now() < end, "{text}");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(bed.xapp.terminate(bed.now, true));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!bed.step(None) && exists(process), "it has time to end");
        bed.now += GRACE;
        while !bed.step(None) {
            assert!(Instant::now() < end, "it is not killed");
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(!exists(process));
        // a child of a process that has ended is waited for by process 1
        while std::fs::read_to_string(format!("/proc/{child}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(Instant::now() < end, "its child is not killed");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn xapp_that_was_well_and_is_silent_is_started_again() {
        let mut bed = Bed::of("silent", "exec sleep 1000");
        bed.start();
        let health = |is_well, answered| Answering(Some(Health { is_well, answered }));
        let begun = bed.now;
        bed.now += 2 * UNWELL;
        bed.step(Some(&Answering(None)));
        bed.step(Some(&health(false, bed.now)));
        assert!(matches!(bed.xapp.phase, Phase::Running(_)), "it has never said that it is well");
        let well = health(true, begun + 2 * UNWELL);
        bed.step(Some(&well));
        bed.now += UNWELL - Duration::from_secs(1);
        bed.step(Some(&well));
        assert!(matches!(bed.xapp.phase, Phase::Running(_)));
        bed.now += Duration::from_secs(1);
        bed.step(Some(&well));
        assert_eq!(bed.xapp.reason.as_deref(), Some("it does not answer health checks since 60 s"));
        bed.step_until(|phase| matches!(phase, Phase::Waiting { .. }));
    }

    #[test]
    fn configuration_is_written_to_the_same_file() {
        use std::os::unix::fs::MetadataExt;
        let mut bed = Bed::of("config", "exit 0");
        bed.xapp.write_config().unwrap();
        let path = bed.xapp.config_file();
        let inode = std::fs::metadata(&path).unwrap().ino();
        let read = || serde_json::from_slice::<Value>(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(read(), bed.xapp.descriptor.config);
        for controls in [json!({ "text": "x".repeat(1000) }), json!({}), json!({ "a": 1 })] {
            let mut config = bed.xapp.descriptor.config.clone();
            config["controls"] = controls;
            bed.xapp.set_config(Descriptor::check(config.clone(), None).unwrap()).unwrap();
            assert_eq!(read(), config);
        }
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode, "xApps watch the file itself");
    }
}
