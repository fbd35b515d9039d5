//! A base station of the tests: a process with named threads, which does what it is told on standard input.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write, stdin};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::{PATIENCE, allowed, output};

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
                        let begun = Instant::now();
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
                    let end = Instant::now() + time;
                    while Instant::now() < end {}
                });
            }
            // writes through a loop device: work of unbound kernel workers
            ["write", folder, cpu, ms] => {
                let (folder, cpu, time) =
                    (folder.to_owned(), cpu.to_owned(), Duration::from_millis(ms.parse().unwrap()));
                thread::spawn(move || {
                    pin(&cpu);
                    let (end, data) = (Instant::now() + time, vec![7; 8 << 20]);
                    while Instant::now() < end {
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
                let end = Instant::now() + Duration::from_millis(ms.parse().unwrap());
                while Instant::now() < end {
                    for _ in 0..64 {
                        let _ = socket.send_to(&[0; 64], "127.0.0.1:9");
                    }
                }
            }
            ["call", name] => fs::write(format!("/proc/self/task/{}/comm", std::process::id()), name).unwrap(),
            // commits of a journalling file system: work of its kernel thread
            ["commit", folder, cpu, ms] => {
                pin(cpu);
                let end = Instant::now() + Duration::from_millis(ms.parse().unwrap());
                for round in 0.. {
                    let mut file = fs::File::create(Path::new(folder).join(format!("{}", round % 64))).unwrap();
                    file.write_all(&[round as u8; 65536]).unwrap();
                    file.sync_all().unwrap();
                    if Instant::now() > end {
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
                    let begun = Instant::now();
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
    assert!(output(Command::new("chrt").args(["-f", "-p", &priority.to_string(), &tid])).status.success());
}

/// A running base station; it ends when this is dropped, and when the test is killed.
pub struct Unit {
    child: Child,
    input: ChildStdin,
    /// Lines of its output, read on a thread.
    output: Receiver<String>,
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
        let input = child.stdin.take().unwrap();
        let (sender, output) = channel();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        thread::spawn(move || lines.map_while(|line| sender.send(line).ok()).for_each(drop));
        let mut unit = Unit { child, input, output };
        // after what the test harness prints
        unit.wait_for("its start", |line| line.contains("ready"));
        threads.iter().for_each(|name| unit.tell(&format!("thread {name}")));
        unit
    }

    pub fn tell(&mut self, command: &str) {
        writeln!(self.input, "{command}").unwrap();
        self.wait_for(command, |line| line == "ok");
    }

    /// Waits for a line of its output.
    #[track_caller]
    fn wait_for(&mut self, what: &str, is_it: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if is_it(&line) => return,
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("{what}: the unit has ended"),
                Err(RecvTimeoutError::Timeout) => panic!("{what}: no answer of the unit in {PATIENCE:?}"),
            }
        }
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

/// Gives this thread a CPU.
fn pin(cpu: &str) {
    let mut cpus = rustix::thread::CpuSet::new();
    cpus.set(cpu.parse().unwrap());
    rustix::thread::sched_setaffinity(None, &cpus).unwrap();
}
