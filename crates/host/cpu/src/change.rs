//! Changes of the host's state, one by one: what each equals on a command line, how it is made and how it is reverted.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::threads::{self, Thread, present};
use crate::{Cpus, CpusetMount, Error, sys};

const NICE: &str = "CAP_SYS_NICE, or the user of the thread";
const ROOT: &str = "root";

/// A thread that a change concerns: its number could be another one's by the time that the change is reverted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The number of its process.
    pub pid: u32,
    /// Its own number.
    pub tid: u32,
    /// When it was started, in clock ticks since the host was.
    pub start: u64,
    /// Its name at that time.
    pub name: String,
}

impl From<&Thread> for Target {
    fn from(thread: &Thread) -> Target {
        Target { pid: thread.pid, tid: thread.tid, start: thread.start, name: thread.name.clone() }
    }
}

impl Target {
    /// The thread as it is now; `None` if it has ended.
    fn current(&self) -> Result<Option<Thread>, Error> {
        let read = Thread::read(self.pid, self.tid);
        let read = read.map_err(|source| Error::system(format!("read thread {}", self.tid), "", source))?;
        Ok(read.filter(|thread| thread.start == self.start))
    }
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// The CPUs that a thread may use.
    Affinity {
        /// The thread.
        thread: Target,
        /// The CPUs.
        cpus: Cpus,
    },
    /// The scheduling policy of a thread without a real-time one.
    Scheduling {
        /// The thread.
        thread: Target,
        /// 0 other, 3 batch, 5 idle: it runs where nothing else would.
        policy: u32,
    },
    /// The content of a file of the kernel.
    File {
        /// The file.
        path: PathBuf,
        /// The content, without a line feed.
        value: String,
        /// Whether the kernel may refuse it: it manages some interrupts itself.
        may_fail: bool,
    },
    /// A controller of a control group's children (version 2).
    Subtree {
        /// The control group.
        path: PathBuf,
    },
    /// A new control group.
    Cgroup {
        /// Its folder.
        path: PathBuf,
        /// What is written to its files, in this order.
        files: Vec<(String, String)>,
    },
    /// The control group of a thread, or of a process in version 2.
    Move {
        /// The thread.
        thread: Target,
        /// The hierarchy: its version and root.
        version: u8,
        /// The hierarchy's root.
        root: PathBuf,
        /// The control group's folder.
        path: PathBuf,
    },
}

/// What a change has replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Before {
    /// The CPUs of a thread.
    Cpus(Cpus),
    /// The scheduling policy of a thread.
    Policy(u32),
    /// The content of a file, without a line feed.
    Content(String),
    /// It did not exist, or was not enabled.
    Absent,
    /// The folder of a control group, and the CPUs of the thread there.
    Member(PathBuf, Cpus),
}

/// The effect of making or reverting a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The state is as wanted.
    Done,
    /// The thread has ended.
    Ended,
    /// The kernel has refused it, and the rest works without; the text says what and why.
    Refused(String),
}

impl Change {
    /// The command that does the same.
    #[must_use]
    pub fn command(&self) -> String {
        match self {
            Change::Affinity { thread, cpus } => format!("taskset -pc {cpus} {}  # {}", thread.tid, thread.name),
            Change::Scheduling { thread, policy } => {
                let option = match policy {
                    3 => "--batch",
                    5 => "--idle",
                    _ => "--other",
                };
                format!("chrt {option} -p 0 {}  # {}", thread.tid, thread.name)
            }
            Change::File { path, value, .. } => format!("echo {value} > {}", path.display()),
            Change::Subtree { path } => format!("echo +cpuset > {}/cgroup.subtree_control", path.display()),
            Change::Cgroup { path, files } => {
                let path = path.display();
                let files = files.iter().map(|(name, value)| format!(" && echo {value} > {path}/{name}"));
                format!("mkdir {path}{}", files.collect::<String>())
            }
            Change::Move { thread, version, path, .. } => {
                let (number, file) = member(thread, *version);
                format!("echo {number} > {}/{file}  # {}", path.display(), thread.name)
            }
        }
    }

    /// The state that this change replaces. `None` if its thread has ended.
    pub(crate) fn before(&self) -> Result<Option<Before>, Error> {
        match self {
            Change::Affinity { thread, .. } => Ok(thread.current()?.map(|thread| Before::Cpus(thread.cpus))),
            Change::Scheduling { thread, .. } => Ok(thread.current()?.map(|thread| Before::Policy(thread.policy))),
            Change::File { path, .. } => Ok(Some(Before::Content(read(path)?))),
            Change::Subtree { path } if is_enabled(path)? => Ok(Some(Before::Content("cpuset".into()))),
            Change::Subtree { .. } | Change::Cgroup { .. } => Ok(Some(Before::Absent)),
            Change::Move { thread, version, root, .. } => {
                let Some(current) = thread.current()? else { return Ok(None) };
                Ok(cgroup_of(thread, *version, root)?.map(|path| Before::Member(path, current.cpus)))
            }
        }
    }

    /// Whether the state that it replaces is the wanted one already.
    pub(crate) fn is_made(&self, before: &Before) -> bool {
        match (self, before) {
            (Change::Affinity { cpus, .. }, Before::Cpus(before)) => cpus == before,
            (Change::Scheduling { policy, .. }, Before::Policy(before)) => policy == before,
            (Change::File { value, .. }, Before::Content(before)) => value == before,
            (Change::Subtree { .. }, Before::Content(_)) => true,
            (Change::Move { path, .. }, Before::Member(before, _)) => path == before,
            _ => false,
        }
    }

    /// Makes the change.
    pub(crate) fn make(&self) -> Result<Effect, Error> {
        match self {
            Change::Affinity { thread, cpus } => set_affinity(thread, cpus),
            Change::Scheduling { thread, policy } => set_scheduling(thread, *policy, None),
            Change::File { path, value, may_fail } => match (write(path, value), may_fail) {
                (Err(error @ Error::System { .. }), true) => Ok(Effect::Refused(error.to_string())),
                (written, _) => written.map(|()| Effect::Done),
            },
            Change::Subtree { path } => write(&path.join("cgroup.subtree_control"), "+cpuset").map(|()| Effect::Done),
            Change::Cgroup { path, files } => {
                let action = || format!("create the control group {}", path.display());
                fs::create_dir(path).map_err(|source| Error::system(action(), ROOT, source))?;
                for (name, value) in files {
                    write(&path.join(name), value)?;
                    // the kernel accepts a partition that cannot be one, and says so in the file
                    let now = read(&path.join(name))?;
                    if name == "cpuset.cpus.partition" && now != *value {
                        return Err(Error::Unsupported(format!(
                            "the kernel makes no partition of {}: {now}",
                            path.display()
                        )));
                    }
                }
                Ok(Effect::Done)
            }
            Change::Move { thread, version, path, .. } => enter(thread, *version, path),
        }
    }

    /// Reverts the change.
    pub(crate) fn revert(&self, before: &Before) -> Result<Effect, Error> {
        match (self, before) {
            (Change::Affinity { thread, .. }, Before::Cpus(cpus)) => set_affinity(thread, cpus),
            (Change::Scheduling { thread, policy }, Before::Policy(before)) => {
                set_scheduling(thread, *before, Some(*policy))
            }
            (Change::File { path, .. }, Before::Content(content)) => match read(path) {
                Ok(now) if now == *content => Ok(Effect::Done),
                // the interrupt, the device or the CPU is gone
                Err(Error::System { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(Effect::Ended),
                _ => write(path, content).map(|()| Effect::Done),
            },
            (Change::Subtree { path }, Before::Absent) if is_enabled(path)? => {
                write(&path.join("cgroup.subtree_control"), "-cpuset").map(|()| Effect::Done)
            }
            (Change::Cgroup { path, .. }, _) => remove_cgroup(path),
            (Change::Move { thread, version, root, .. }, Before::Member(path, cpus)) => {
                if cgroup_of(thread, *version, root)?.as_ref() != Some(path) {
                    let effect = enter(thread, *version, path)?;
                    if effect != Effect::Done {
                        return Ok(effect);
                    }
                }
                // version 1 gives a thread that enters a control group all of its CPUs
                set_affinity(thread, cpus)
            }
            _ => Ok(Effect::Done),
        }
    }

    /// Whether there is nothing to revert any more: its thread has ended.
    #[must_use]
    pub fn is_void(&self) -> bool {
        match self {
            Change::Affinity { thread, .. } | Change::Scheduling { thread, .. } | Change::Move { thread, .. } => {
                matches!(thread.current(), Ok(None))
            }
            _ => false,
        }
    }

    /// Whether two changes are of the same thing, so that the later one counts.
    #[must_use]
    pub fn is_of_same(&self, other: &Change) -> bool {
        match (self, other) {
            (Change::Affinity { thread, .. }, Change::Affinity { thread: other, .. })
            | (Change::Scheduling { thread, .. }, Change::Scheduling { thread: other, .. })
            | (Change::Move { thread, .. }, Change::Move { thread: other, .. }) => {
                (thread.tid, thread.start) == (other.tid, other.start)
            }
            (Change::File { path, .. }, Change::File { path: other, .. }) => path == other,
            _ => false,
        }
    }

    /// Whether the change is in force now; `None` if its thread or file is gone.
    #[must_use]
    pub fn is_in_force(&self) -> Option<bool> {
        match self {
            Change::Cgroup { path, .. } => Some(path.is_dir()),
            _ => self.before().ok().flatten().map(|now| self.is_made(&now)),
        }
    }
}

/// The number that moves a thread, and the file that takes it.
fn member(thread: &Target, version: u8) -> (u32, &'static str) {
    if version == 1 { (thread.tid, "tasks") } else { (thread.pid, "cgroup.procs") }
}

fn enter(thread: &Target, version: u8, path: &Path) -> Result<Effect, Error> {
    let (number, file) = member(thread, version);
    if thread.current()?.is_none() {
        return Ok(Effect::Ended);
    }
    match write(&path.join(file), &number.to_string()) {
        Err(Error::System { source, .. }) if source.raw_os_error() == Some(libc::ESRCH) => Ok(Effect::Ended),
        written => written.map(|()| Effect::Done),
    }
}

/// The folder of a thread's control group; `None` if it has ended.
pub(crate) fn cgroup_of(thread: &Target, version: u8, root: &Path) -> Result<Option<PathBuf>, Error> {
    let path = format!("/proc/{}/task/{}/cgroup", thread.pid, thread.tid);
    let read =
        present(fs::read_to_string(&path)).map_err(|source| Error::system(format!("read {path}"), "", source))?;
    let Some(text) = read else { return Ok(None) };
    // `hierarchy:controllers:path`, cgroups(7)
    let is_its = |controllers: &str| match version {
        1 => controllers.split(',').any(|controller| controller == "cpuset"),
        _ => controllers.is_empty(),
    };
    let found = text.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        is_its(controllers).then(|| root.join(path.trim_start_matches('/')))
    });
    Ok(found)
}

fn set_affinity(thread: &Target, cpus: &Cpus) -> Result<Effect, Error> {
    let Some(now) = thread.current()? else { return Ok(Effect::Ended) };
    if now.cpus == *cpus {
        return Ok(Effect::Done);
    }
    let mut set = rustix::thread::CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(cpu));
    let tid = i32::try_from(thread.tid).ok().and_then(rustix::process::Pid::from_raw);
    match rustix::thread::sched_setaffinity(tid, &set) {
        // a number of 0 would be this thread
        _ if tid.is_none() => Ok(Effect::Ended),
        Ok(()) => Ok(Effect::Done),
        Err(rustix::io::Errno::SRCH) => Ok(Effect::Ended),
        Err(error) => {
            let action = format!("let thread {} ({}) use CPUs {cpus}", thread.tid, thread.name);
            Err(Error::system(action, NICE, error.into()))
        }
    }
}

/// Gives a thread a scheduling policy, if it still has the one that is `expected`.
fn set_scheduling(thread: &Target, policy: u32, expected: Option<u32>) -> Result<Effect, Error> {
    let Some(now) = thread.current()? else { return Ok(Effect::Ended) };
    if now.policy == policy || expected.is_some_and(|expected| expected != now.policy) {
        return Ok(Effect::Done);
    }
    match sys::set_scheduling(thread.tid, policy) {
        Ok(()) => Ok(Effect::Done),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(Effect::Ended),
        Err(error) => {
            let action = format!("give thread {} ({}) scheduling policy {policy}", thread.tid, thread.name);
            Err(Error::system(action, NICE, error))
        }
    }
}

fn is_enabled(group: &Path) -> Result<bool, Error> {
    Ok(read(&group.join("cgroup.subtree_control"))?.split_ascii_whitespace().any(|controller| controller == "cpuset"))
}

/// Removes a control group. What runs in it by now, such as children of what was moved there, goes to the group above.
fn remove_cgroup(path: &Path) -> Result<Effect, Error> {
    // it was not created, which a read-only file system would not say
    if !path.exists() {
        return Ok(Effect::Ended);
    }
    for _ in 0..100 {
        let error = match fs::remove_dir(path) {
            Ok(()) => return Ok(Effect::Done),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Effect::Ended),
            Err(error) => error,
        };
        if error.raw_os_error() != Some(libc::EBUSY) {
            return Err(Error::system(format!("remove the control group {}", path.display()), ROOT, error));
        }
        let parent = path.parent().unwrap_or(path);
        for file in ["tasks", "cgroup.procs"].iter().filter(|file| path.join(file).exists()).take(1) {
            for number in fs::read_to_string(path.join(file)).unwrap_or_default().lines() {
                // it may have ended
                let _ = write(&parent.join(file), number);
            }
        }
        // a thread that is ending stays for a moment
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Err(Error::Unsupported(format!(
        "the control group {} stays busy: end what runs in it, then undo again",
        path.display()
    )))
}

/// The content of a file of the kernel, without the line feed at its end.
pub(crate) fn read(path: &Path) -> Result<String, Error> {
    let read =
        fs::read_to_string(path).map_err(|source| Error::system(format!("read {}", path.display()), ROOT, source))?;
    Ok(read.trim_end().to_owned())
}

fn write(path: &Path, value: &str) -> Result<(), Error> {
    let written = fs::OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|mut file| io::Write::write_all(&mut file, value.as_bytes()));
    written.map_err(|source| Error::system(format!("write `{value}` to {}", path.display()), ROOT, source))
}

/// The threads and child processes that a changed thread has started meanwhile, and that have inherited its CPUs.
///
/// Returns changes that give them the CPUs that the thread had before.
pub(crate) fn inherited(changes: &[(Change, Before)]) -> Result<Vec<Change>, Error> {
    /// What a thread was given, and had before.
    enum Given<'c> {
        Cpus(&'c Cpus, &'c Cpus),
        Policy(u32, u32),
        Group,
    }
    let mut changed = Vec::new();
    for (change, before) in changes {
        match (change, before) {
            (Change::Affinity { thread, cpus }, Before::Cpus(before)) => {
                changed.push((thread, Given::Cpus(cpus, before)))
            }
            (Change::Scheduling { thread, policy }, Before::Policy(before)) => {
                changed.push((thread, Given::Policy(*policy, *before)))
            }
            (Change::Move { thread, .. }, Before::Member(..)) => changed.push((thread, Given::Group)),
            _ => {}
        }
    }
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    let failed = |source| Error::system("list processes", "", source);
    let all = threads::processes().map_err(failed)?;
    let mut found = Vec::new();
    // each process that a changed one has started, and what these have started, with the first changed thread of it
    let mut family: std::collections::BTreeMap<u32, Vec<usize>> = std::collections::BTreeMap::new();
    for (index, (thread, ..)) in changed.iter().enumerate() {
        family.entry(thread.pid).or_default().push(index);
    }
    let known: std::collections::BTreeSet<u32> = changed.iter().map(|(thread, ..)| thread.tid).collect();
    for pid in all {
        let of_process = threads::of_process(pid).map_err(failed)?;
        let Some(first) = of_process.first() else { continue };
        let parent = family.get(&first.parent).cloned();
        let Some(origins) = family.get(&pid).cloned().or(parent) else { continue };
        family.entry(pid).or_insert_with(|| origins.clone());
        for thread in of_process.iter().filter(|thread| !known.contains(&thread.tid)) {
            let mut cpus = origins.iter().filter_map(|index| match changed[*index].1 {
                Given::Cpus(given, before) if *given == thread.cpus => Some(before.clone()),
                _ => None,
            });
            found.extend(cpus.next().map(|cpus| Change::Affinity { thread: thread.into(), cpus }));
            let mut policies = origins.iter().filter_map(|index| match changed[*index].1 {
                Given::Policy(given, before) if given == thread.policy => Some(before),
                _ => None,
            });
            found.extend(policies.next().map(|policy| Change::Scheduling { thread: thread.into(), policy }));
        }
    }
    Ok(found)
}

impl CpusetMount {
    /// A change that moves a thread to a control group of this hierarchy.
    pub(crate) fn move_to(&self, thread: &Thread, path: &Path) -> Change {
        Change::Move { thread: thread.into(), version: self.version, root: self.root.clone(), path: path.to_owned() }
    }
}
