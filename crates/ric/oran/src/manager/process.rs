//! A process of an xApp.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::cgroup::{Cgroup, Limits};
use super::container::Container;
use super::output::Output;

/// Variables of the RIC's environment that xApps have too.
const INHERITED: [&str; 5] = ["HOME", "LANG", "PATH", "TMPDIR", "TZ"];
/// Those that container engines have beside them.
const OF_ENGINES: [&str; 2] = ["DOCKER_HOST", "XDG_RUNTIME_DIR"];

/// What is started.
pub(super) struct Launch<'a> {
    pub name: &'a str,
    /// The program and its arguments.
    pub command: &'a [String],
    pub environment: &'a [(String, String)],
    pub folder: &'a Path,
    pub limits: &'a Limits,
    /// The cgroup below which that of the xApp is created.
    pub cgroup: Option<&'a Path>,
    /// The container that the process runs, which has the limits itself.
    pub container: Option<&'a Container>,
}

/// A process group that runs.
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
    cgroup: Option<Cgroup>,
    container: Option<Container>,
    /// Of its cgroup, when it was started: the group may be that of a former process.
    memory_kills: u64,
    /// Why its limits have no effect.
    pub unlimited: Option<String>,
    stop_output: Arc<AtomicBool>,
}

/// Checks that a program can be started.
///
/// # Errors
/// Why it cannot.
pub(super) fn check_program(program: &str) -> Result<(), String> {
    let metadata = std::fs::metadata(program).map_err(|error| format!("{program}: {error}"))?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err(format!("{program}: it is not an executable file"));
    }
    Ok(())
}

impl Process {
    /// Starts it.
    ///
    /// # Errors
    /// Why the system does not. Without the right to limit it, it starts without limits.
    pub fn start(launch: &Launch<'_>, output: &Output) -> Result<Process, String> {
        let [program, arguments @ ..] = launch.command else { return Err("there is no command".to_owned()) };
        check_program(program)?;
        let (cgroup, unlimited) = match launch.limits {
            limits if limits.is_empty() || launch.container.is_some() => (None, None),
            limits => match Cgroup::create(launch.cgroup, launch.name, limits) {
                Ok(cgroup) => (Some(cgroup), None),
                Err(why) => (None, Some(why)),
            },
        };
        let memory_kills = cgroup.as_ref().map(Cgroup::memory_kills);
        let mut command = match &cgroup {
            // the shell enters the cgroup, and becomes the program
            Some(cgroup) => {
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", "echo $$ >\"$0\" && exec \"$@\""]).arg(cgroup.processes()).arg(program);
                shell
            }
            None => Command::new(program),
        };
        let system = |error: std::io::Error| format!("{program}: {error}");
        let (reader, writer) = std::io::pipe().map_err(system)?;
        let of_engine = OF_ENGINES.iter().filter(|_| launch.container.is_some());
        let inherited = INHERITED.iter().chain(of_engine).filter_map(|name| Some((name, std::env::var_os(name)?)));
        command
            .args(arguments)
            .env_clear()
            .envs(inherited)
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(launch.folder)
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(system)?)
            .stderr(writer)
            .process_group(0);
        if let Some(container) = launch.container {
            container.remove();
        }
        let mut child = command.spawn().map_err(system)?;
        // the writing ends of the pipe are in the command
        drop(command);
        let stop_output = Arc::new(AtomicBool::new(false));
        if let Err(error) = output.follow(reader, Arc::clone(&stop_output)) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(system(error));
        }
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let memory_kills = memory_kills.unwrap_or(0);
        let container = launch.container.cloned();
        Ok(Process { child, group, cgroup, container, memory_kills, unlimited, stop_output })
    }

    /// The process, which is also its group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The status with which it has ended. What is left of its group is killed then, and its container: the engine's client may have
    /// ended before it.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        // while it is not waited for, its id belongs to no other group
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let group = self.group?;
        if let Ok(None) = waitid(WaitId::Pid(group), peek) {
            return None;
        }
        if let Some(container) = &self.container {
            container.remove();
        }
        self.kill_group();
        self.child.wait().ok()
    }

    /// Whether a process of it was killed because of its limit of memory.
    pub fn exceeded_memory(&self) -> bool {
        self.cgroup.as_ref().is_some_and(|cgroup| cgroup.memory_kills() > self.memory_kills)
    }

    /// Asks the group to end.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends the container, or the group. The engine ends with its container.
    pub fn kill(&self) {
        if !self.container.as_ref().is_some_and(Container::kill) {
            self.kill_group();
        }
    }

    fn kill_group(&self) {
        self.signal(Signal::KILL);
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
    }

    fn signal(&self, signal: Signal) {
        // it fails for a group without processes
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // one that was waited for has no group any more: this is for a panic
        if let Ok(None) = self.child.try_wait() {
            self.kill();
            let _ = self.child.wait();
        }
        self.stop_output.store(true, Ordering::Release);
    }
}

/// A folder that only the RIC's user may read.
pub(super) fn private_folder(path: PathBuf) -> std::io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    match std::fs::DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(path),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn container_is_killed_if_the_client_of_its_engine_has_ended() {
        let folder = std::env::temp_dir().join(format!("ferric-engine-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (program, calls) = (folder.join("engine"), folder.join("calls"));
        // the client dies, its container does not
        let script = format!("#!/bin/sh\necho \"$1\" >>'{}'\n[ \"$1\" != run ] || exit 7\n", calls.display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        let engine = [program.display().to_string()];
        let container = Container::new(&engine, "image", "01234567", "kpm").unwrap();
        let limits = Limits { memory_mib: None, cpu_percent: None, processes: None };
        let launch = Launch {
            name: "kpm",
            command: &container.run(&[], &[], &folder, None, &limits),
            environment: &[],
            folder: &folder,
            limits: &limits,
            cgroup: None,
            container: Some(&container),
        };
        let mut process = Process::start(&launch, &Output::new(1 << 16, None)).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let status = loop {
            if let Some(status) = process.ended() {
                break status;
            }
            assert!(Instant::now() < deadline, "it has not ended");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!(status.code(), Some(7));
        let calls = std::fs::read_to_string(&calls).unwrap();
        let _ = std::fs::remove_dir_all(&folder);
        assert!(calls.ends_with("run\nkill\nrm\n"), "{calls}");
    }
}
