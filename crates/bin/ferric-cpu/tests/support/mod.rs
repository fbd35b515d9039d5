//! What the tests share: a base station, the journal of a test, a control group, and the state of the host.
#![allow(dead_code, reason = "not every test uses everything")]

pub mod disturbance;
mod unit;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
pub use unit::{Unit, be_a_unit};

/// The longest time that a base station or a program of the host may take for an answer. None needs a tenth of it, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_ferric-cpu");

/// The CPUs that a task may use.
pub fn allowed(task: &Path) -> Option<String> {
    let status = fs::read_to_string(task.join("status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(|cpus| cpus.trim().to_owned())
}

/// The folder of the journal of one test. Whatever happens to the test, what is applied is undone, and `group` is removed.
pub struct State {
    pub folder: PathBuf,
    guard: Child,
}

impl State {
    pub fn new(name: &str, group: Option<&Path>) -> State {
        let folder = std::env::temp_dir().join(format!("ferric-cpu-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        // once what runs in it has ended
        let remove = |group: &Path| {
            let group = group.display();
            format!(
                "; (for i in $(seq 100); do rmdir {group}/*/; rmdir {group}; [ -d {group} ] || break; sleep 0.1; done) &"
            )
        };
        let remove = group.map(remove).unwrap_or_default();
        // it ends when its input does: when this is dropped, and when the test is killed
        let script = format!(
            "read x; for i in $(seq 50); do {PROGRAM} --state {0} undo && break; sleep 0.2; done; rm -rf {0}{remove}",
            folder.display()
        );
        let mut guard = Command::new("sh");
        guard.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Ctrl-C ends the test, not this
        std::os::unix::process::CommandExt::process_group(&mut guard, 0);
        State { folder, guard: guard.spawn().unwrap() }
    }

    /// Runs the program with this state.
    pub fn run(&self, arguments: &[&str]) -> testkit::program::Outcome {
        testkit::program::run(PROGRAM, &self.arguments(arguments))
    }

    /// Starts the program with this state.
    pub fn start(&self, arguments: &[&str]) -> testkit::program::Program {
        testkit::program::Program::start(PROGRAM, &self.arguments(arguments))
    }

    pub fn succeeds(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code(), Some(0), "{arguments:?}: {}{}", outcome.stdout, outcome.stderr);
        outcome.stdout
    }

    fn arguments<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["--state", self.folder.to_str().unwrap()], arguments].concat()
    }
}

impl Drop for State {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        // a guard that hangs is left alone: this may be the end of a test that has failed
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.guard.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Everything that a policy may change, file by file: affinities and control groups of processes, the host's knobs, and the tree of
/// the cpuset controller.
pub fn snapshot(units: &[&Unit]) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut add = |path: PathBuf| found.extend(fs::read_to_string(&path).ok().map(|text| (path, text)));
    for unit in units {
        for task in fs::read_dir(format!("/proc/{}/task", unit.pid())).unwrap() {
            let task = task.unwrap().path();
            add(task.join("cgroup"));
            add(task.join("comm"));
        }
    }
    for interrupt in fs::read_dir("/proc/irq").into_iter().flatten() {
        add(interrupt.unwrap().path().join("smp_affinity_list"));
    }
    for device in fs::read_dir("/sys/class/net").into_iter().flatten() {
        for queue in fs::read_dir(device.unwrap().path().join("queues")).into_iter().flatten() {
            let queue = queue.unwrap().path();
            add(queue.join("rps_cpus"));
            add(queue.join("xps_cpus"));
        }
    }
    for path in [
        "/sys/devices/virtual/workqueue/cpumask",
        "/proc/sys/kernel/sched_rt_runtime_us",
        "/sys/devices/system/cpu/online",
    ] {
        add(path.into());
    }
    for unit in units {
        for task in fs::read_dir(format!("/proc/{}/task", unit.pid())).unwrap() {
            let task = task.unwrap().path();
            found.extend(allowed(&task).map(|cpus| (task.join("status: Cpus_allowed_list"), cpus)));
            // the 41st field, of which the second may contain spaces
            let policy = fs::read_to_string(task.join("stat"))
                .ok()
                .and_then(|stat| stat[stat.rfind(')')?..].split_ascii_whitespace().nth(39).map(str::to_owned));
            found.extend(policy.map(|policy| (task.join("stat: policy"), policy)));
        }
    }
    if let Some(cpu::CpusetMount { root, .. }) = cpu::Host::read().unwrap().cpuset {
        // the groups of tests that have ended are removed a moment later
        let groups: Vec<String> =
            found.iter().filter(|(path, _)| path.ends_with("cgroup")).map(|(_, text)| text.clone()).collect();
        let of_others = |folder: &Path| {
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with("ferric-test-") && !groups.iter().any(|text| text.contains(&name))
        };
        tree(&root, &mut found, &of_others);
    }
    found
}

/// Fails if two snapshots differ, with what differs.
#[track_caller]
pub fn assert_same(after: &BTreeMap<PathBuf, String>, before: &BTreeMap<PathBuf, String>) {
    let paths = before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path));
    let differences: Vec<_> = paths.map(|path| (path, before.get(path), after.get(path))).collect();
    assert!(differences.is_empty(), "{differences:#?}");
}

fn tree(folder: &Path, found: &mut BTreeMap<PathBuf, String>, of_others: &dyn Fn(&Path) -> bool) {
    for file in ["cpuset.cpus", "cpuset.mems", "cpuset.cpus.partition", "cgroup.subtree_control"] {
        let path = folder.join(file);
        found.extend(fs::read_to_string(&path).ok().map(|text| (path, text)));
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !of_others(&entry.path()) {
            tree(&entry.path(), found, of_others);
        }
    }
}

/// Exclusive use of this host's CPU settings; `None` where they cannot be changed, with the reason printed.
pub fn lock() -> Option<testkit::live::HostLock> {
    testkit::live::lock_host(|| {
        let online = cpu::Host::read().map_err(|error| error.to_string())?.online;
        match online.len() {
            _ if !rustix::process::geteuid().is_root() => Err("policies of the host's CPUs take root".to_owned()),
            1 => Err("policies take two CPUs, and one is online".to_owned()),
            _ => Ok(()),
        }
    })
}

/// Runs a program to its end, within a bounded time.
#[track_caller]
pub fn output(command: &mut Command) -> Output {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let read = |pipe: Box<dyn Read + Send>| {
        let mut pipe = pipe;
        thread::spawn(move || {
            let mut octets = Vec::new();
            pipe.read_to_end(&mut octets).map(|_| octets).unwrap_or_default()
        })
    };
    let (stdout, stderr) = (read(Box::new(child.stdout.take().unwrap())), read(Box::new(child.stderr.take().unwrap())));
    let status = wait(&mut child, command);
    Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

/// Waits until a program ends, within a bounded time.
#[track_caller]
pub fn wait(child: &mut Child, what: impl std::fmt::Debug) -> std::process::ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return status,
            None if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                panic!("{what:?} does not end in {PATIENCE:?}");
            }
        }
    }
}

/// Ends a program in an orderly way; how long that takes is that of the host, which detaches tracepoints.
#[track_caller]
pub fn stop(program: testkit::program::Program) -> testkit::program::Outcome {
    program.interrupt();
    let outcome = program.end();
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    outcome
}

/// Whether programs are on the PATH; prints a missing one.
pub fn are_installed(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_missing = |program: &&&str| !std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    let missing = programs.iter().find(is_missing);
    missing.iter().for_each(|program| println!("NOT TESTED: {program} is not installed"));
    missing.is_none()
}

/// A control group of its own for a test of shields, with what was started in it.
pub struct Group(pub PathBuf);

impl Group {
    pub fn new(name: &str, units: &[&Unit]) -> Option<Group> {
        let Some(cpu::CpusetMount { version: 1, root }) = cpu::Host::read().unwrap().cpuset else {
            println!(
                "NOT TESTED: shields take the cpuset controller of version 1 here; in version 2 only the whole host has them"
            );
            return None;
        };
        let path = root.join(format!("ferric-test-{}-{name}", std::process::id()));
        fs::create_dir(&path).unwrap();
        for file in ["cpuset.cpus", "cpuset.mems"] {
            let name = file.replace("cpuset.", "cpuset.effective_");
            fs::write(path.join(file), fs::read_to_string(root.join(name)).unwrap()).unwrap();
        }
        for unit in units {
            fs::write(path.join("cgroup.procs"), unit.pid()).unwrap();
        }
        Some(Group(path))
    }

    pub fn name(&self) -> &str {
        self.0.file_name().unwrap().to_str().unwrap()
    }
}

/// The last CPU of this host, and another one.
pub fn two_cpus() -> (String, String) {
    let online = cpu::Host::read().unwrap().online;
    let mut cpus = online.iter().rev();
    (cpus.next().unwrap().to_string(), cpus.next().unwrap().to_string())
}

/// Sends SIGKILL, and says whether the process was there.
pub fn kill(pid: u32) -> bool {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), Signal::KILL).is_ok()
}

/// The numbers of a process's children.
pub fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_ascii_whitespace().map(|pid| pid.parse().unwrap()).collect()
}
