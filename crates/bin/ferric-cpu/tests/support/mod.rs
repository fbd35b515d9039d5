//! A base station of the tests: a process with named threads, which does what it is told on standard input.
#![allow(dead_code, reason = "not every test uses everything")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write, stdin};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_ferric-cpu");

/// The arguments that make the tests' own program a base station: an ignored test that calls [`be_a_unit`].
const AS_UNIT: [&str; 4] = ["--exact", "unit", "--ignored", "--nocapture"];

/// What the base station does until its input ends. Commands: `thread NAME`, `rename OLD NEW`,
/// `churn COUNT`, `fork`, `spin CPU`, `call NAME`, `tick CPU`, `flood CPU MS`,
/// `commit FOLDER CPU MS`, `pace CPU`, `rival CPU MS`, `write FOLDER CPU MS`, and those of [`Pair`]: `pair CPU`, `wake COUNT US`, `preempt COUNT US`, `hog MS`.
pub fn be_a_unit() {
    if std::env::var_os("FERRIC_CPU_UNIT").is_none() {
        return;
    }
    fs::write(format!("/proc/self/task/{}/comm", std::process::id()), "lte-softmodem").unwrap();
    let mut threads: BTreeMap<String, Sender<String>> = BTreeMap::new();
    let mut children = Vec::new();
    let mut pair = None;
    println!("ready");
    for line in stdin().lines() {
        let line = line.unwrap();
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["thread", name] => {
                let (sender, names) = channel::<String>();
                let (done, is_named) = channel();
                thread::spawn(move || {
                    for name in names {
                        fs::write("/proc/thread-self/comm", name).unwrap();
                        done.send(()).unwrap();
                    }
                });
                sender.send(name.into()).unwrap();
                is_named.recv().unwrap();
                thread::spawn(move || is_named.iter().for_each(drop));
                threads.insert(name.into(), sender);
            }
            ["rename", old, new] => {
                let sender = threads.remove(old).unwrap();
                sender.send(new.into()).unwrap();
                threads.insert(new.into(), sender);
            }
            ["churn", count] => {
                for _ in 0..count.parse().unwrap() {
                    thread::spawn(|| {
                        loop {
                            let short = thread::spawn(|| thread::sleep(Duration::from_micros(300)));
                            short.join().unwrap();
                        }
                    });
                }
            }
            ["pair", cpu] => pair = Some(Pair::start(cpu)),
            ["wake", count, us] => pair.as_ref().unwrap().wake(count.parse().unwrap(), us.parse().unwrap()),
            ["preempt", count, us] => pair.as_ref().unwrap().preempt(count.parse().unwrap(), us.parse().unwrap()),
            ["tick", cpu] => {
                let cpu = cpu.to_owned();
                thread::spawn(move || {
                    become_thread("victim", &cpu, 40);
                    loop {
                        thread::sleep(Duration::from_micros(200));
                    }
                });
            }
            // as `tick`, with an ordinary priority and some work
            ["pace", cpu] => {
                let cpu = cpu.to_owned();
                thread::spawn(move || {
                    fs::write("/proc/thread-self/comm", "victim").unwrap();
                    pin(&cpu);
                    loop {
                        thread::sleep(Duration::from_millis(1));
                        let begun = std::time::Instant::now();
                        while begun.elapsed() < Duration::from_micros(200) {}
                    }
                });
            }
            // a task of somebody else that may use all CPUs, and begins on this one
            ["rival", cpu, ms] => {
                let (cpu, time) = (cpu.to_owned(), Duration::from_millis(ms.parse().unwrap()));
                thread::spawn(move || {
                    fs::write("/proc/thread-self/comm", "rival").unwrap();
                    pin(&cpu);
                    let end = std::time::Instant::now() + time;
                    while std::time::Instant::now() < end {}
                });
            }
            // writes through a loop device: work of unbound kernel workers
            ["write", folder, cpu, ms] => {
                let (folder, cpu, time) =
                    (folder.to_owned(), cpu.to_owned(), Duration::from_millis(ms.parse().unwrap()));
                thread::spawn(move || {
                    pin(&cpu);
                    let (end, data) = (std::time::Instant::now() + time, vec![7; 8 << 20]);
                    while std::time::Instant::now() < end {
                        let mut file = fs::File::create(Path::new(&folder).join("data")).unwrap();
                        file.write_all(&data).unwrap();
                        file.sync_all().unwrap();
                    }
                });
            }
            // packets to a port where nobody listens
            ["flood", cpu, ms] => {
                pin(cpu);
                let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
                let end = std::time::Instant::now() + Duration::from_millis(ms.parse().unwrap());
                while std::time::Instant::now() < end {
                    for _ in 0..64 {
                        let _ = socket.send_to(&[0; 64], "127.0.0.1:9");
                    }
                }
            }
            ["call", name] => fs::write(format!("/proc/self/task/{}/comm", std::process::id()), name).unwrap(),
            // commits of a journalling file system: work of its kernel thread
            ["commit", folder, cpu, ms] => {
                pin(cpu);
                let end = std::time::Instant::now() + Duration::from_millis(ms.parse().unwrap());
                for round in 0.. {
                    let mut file = fs::File::create(Path::new(folder).join(format!("{}", round % 64))).unwrap();
                    file.write_all(&[round as u8; 65536]).unwrap();
                    file.sync_all().unwrap();
                    if std::time::Instant::now() > end {
                        break;
                    }
                }
            }
            ["hog", ms] => pair.as_ref().unwrap().hog(Duration::from_millis(ms.parse().unwrap())),
            ["spin", cpu] => {
                let cpu = cpu.to_owned();
                thread::spawn(move || {
                    pin(&cpu);
                    loop {
                        std::hint::spin_loop();
                    }
                });
            }
            ["fork"] => children.push(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()),
            _ => panic!("{line}"),
        }
        println!("ok");
    }
    std::process::exit(0);
}

/// Two real-time threads on one CPU: `victim` waits as long as `blocker`, which has the higher priority, does not let it run.
struct Pair {
    /// Rounds of the blocker: how many, for how many us each, and whether each wakes the victim.
    rounds: Sender<(u32, u64, bool)>,
    done: std::sync::mpsc::Receiver<()>,
    /// Whether the victim is to run all the time.
    busy: std::sync::Arc<std::sync::atomic::AtomicBool>,
    victim: thread::Thread,
}

impl Pair {
    fn start(cpu: &str) -> Pair {
        use std::sync::atomic::{AtomicBool, Ordering};
        let busy = std::sync::Arc::new(AtomicBool::new(false));
        let (is_busy, pinned) = (busy.clone(), cpu.to_owned());
        let (ready, is_ready) = channel();
        let victim = thread::spawn(move || {
            become_thread("victim", &pinned, 40);
            ready.send(()).unwrap();
            loop {
                thread::park();
                while is_busy.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        });
        let (victim, pinned) = (victim.thread().clone(), cpu.to_owned());
        let (rounds, requests) = channel();
        let (finished, done) = channel();
        let woken = victim.clone();
        thread::spawn(move || {
            become_thread("blocker", &pinned, 50);
            finished.send(()).unwrap();
            for (count, us, wakes) in requests {
                for _ in 0..count {
                    // the victim comes to rest
                    thread::sleep(Duration::from_millis(4));
                    if wakes {
                        woken.unpark();
                    }
                    let begun = std::time::Instant::now();
                    while begun.elapsed() < Duration::from_micros(us) {}
                }
                finished.send(()).unwrap();
            }
        });
        is_ready.recv().unwrap();
        done.recv().unwrap();
        Pair { rounds, done, busy, victim }
    }

    /// Wakes the victim, and does not let it run for so long, so many times.
    fn wake(&self, count: u32, us: u64) {
        self.rounds.send((count, us, true)).unwrap();
        self.done.recv().unwrap();
    }

    /// Has the victim run all the time for so long.
    fn hog(&self, time: Duration) {
        use std::sync::atomic::Ordering;
        self.busy.store(true, Ordering::Relaxed);
        self.victim.unpark();
        thread::sleep(time);
        self.busy.store(false, Ordering::Relaxed);
    }

    /// Takes the CPU from the running victim for so long, so many times.
    fn preempt(&self, count: u32, us: u64) {
        use std::sync::atomic::Ordering;
        self.busy.store(true, Ordering::Relaxed);
        self.victim.unpark();
        self.rounds.send((count, us, false)).unwrap();
        self.done.recv().unwrap();
        self.busy.store(false, Ordering::Relaxed);
    }
}

/// Gives this thread a name, a CPU and a real-time priority: nothing but the tests' own threads keeps it from running.
pub fn become_thread(name: &str, cpu: &str, priority: u32) {
    fs::write("/proc/thread-self/comm", name).unwrap();
    pin(cpu);
    let tid = fs::read_link("/proc/thread-self").unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    assert!(Command::new("chrt").args(["-f", "-p", &priority.to_string(), &tid]).status().unwrap().success());
}

/// A running base station; it ends when this is dropped, and when the test is killed.
pub struct Unit {
    child: Child,
    input: ChildStdin,
    output: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Unit {
    pub fn start(threads: &[&str]) -> Unit {
        Unit::start_by(Command::new(std::env::current_exe().unwrap()), threads)
    }

    /// Starts it in namespaces of its own for the network and for mounts, after a script: what that changes ends with it.
    pub fn start_in_namespaces(script: &str) -> Unit {
        let mut command = Command::new("unshare");
        let script = format!("mount -t sysfs none /sys && {script} && exec \"$0\" \"$@\"");
        command.args(["--net", "--mount", "sh", "-c", &script]).arg(std::env::current_exe().unwrap());
        Unit::start_by(command, &[])
    }

    fn start_by(mut command: Command, threads: &[&str]) -> Unit {
        command
            .args(AS_UNIT)
            .env("FERRIC_CPU_UNIT", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
        let mut unit = Unit { child, input, output };
        assert!(unit.output.any(|line| line.unwrap().contains("ready")));
        threads.iter().for_each(|name| unit.tell(&format!("thread {name}")));
        unit
    }

    pub fn tell(&mut self, command: &str) {
        writeln!(self.input, "{command}").unwrap();
        assert!(self.output.any(|line| line.unwrap() == "ok"), "the unit ended");
    }

    pub fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// The CPUs of each of its threads, by name. `thread_of` a name that several have: one of them.
    pub fn cpus(&self) -> BTreeMap<String, String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let of_task = |task: fs::DirEntry| {
            let name = fs::read_to_string(task.path().join("comm")).ok()?.trim_end().to_owned();
            Some((name, allowed(&task.path())?))
        };
        tasks.filter_map(|task| of_task(task.unwrap())).collect()
    }

    /// The number of its child process.
    pub fn forked(&self) -> u32 {
        let mut tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let of_task = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).ok()?.trim().parse().ok();
        tasks.find_map(|task| of_task(task.unwrap())).unwrap()
    }

    /// How many threads it has.
    pub fn thread_count(&self) -> usize {
        fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap().count()
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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
        let _ = self.guard.wait();
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

/// Gives this thread a CPU.
fn pin(cpu: &str) {
    let mut cpus = rustix::thread::CpuSet::new();
    cpus.set(cpu.parse().unwrap());
    rustix::thread::sched_setaffinity(None, &cpus).unwrap();
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
