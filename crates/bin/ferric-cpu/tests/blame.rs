//! Blame against culprits that are injected: each test lets a thread wait for one class of them.

mod support;

use std::collections::BTreeMap;

use serde_json::Value;
use support::disturbance::Disturbance;
use support::{PROGRAM, Unit, lock};
use testkit::program::Program;

/// How long a culprit does not let the victim run, in us.
const BLOCKED_US: u64 = 2500;
const ROUNDS: u64 = 40;

#[test]
#[ignore = "a base station, which the tests start"]
fn unit() {
    support::be_a_unit();
}

/// What was found of victims called `victim`.
struct Found {
    report: Value,
    /// The time that each class took from them, in us.
    classes: BTreeMap<String, f64>,
    /// What has disturbed the host meanwhile.
    disturbance: Option<String>,
}

/// Lets a base station do something while it is watched.
fn blamed(unit: &mut Unit, target: &[&str], commands: &[String]) -> Found {
    let arguments = [&["blame", "--seconds", "60", "--json"], target].concat();
    let mut disturbance = Disturbance::start(unit);
    let mut program = Program::start(PROGRAM, &arguments);
    program.logs("watching");
    commands.iter().for_each(|command| unit.tell(command));
    std::thread::sleep(std::time::Duration::from_millis(100));
    let outcome = support::stop(program);
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let mut classes = BTreeMap::new();
    for culprit in report["culprits"].as_array().unwrap().iter().filter(|culprit| culprit["victim"] == "victim") {
        *classes.entry(culprit["class"].as_str().unwrap().to_owned()).or_default() +=
            culprit["total_us"].as_f64().unwrap();
    }
    Found { report, classes, disturbance: disturbance.reason(unit) }
}

/// Fails unless a class has at least 90 % of the time, not counting stalls of the host, and `least_us` of it. On a host that was
/// disturbed, says so instead, and returns `false`.
#[track_caller]
fn is_to_blame(class: &str, least_us: u64, found: &Found) -> bool {
    let Found { report, classes, disturbance } = found;
    let total: f64 = classes.iter().filter(|(class, _)| *class != "host").map(|(_, us)| us).sum();
    let own = classes.get(class).copied().unwrap_or(0.0);
    // a stall of the host is blamed on the host, and takes some rounds with it
    let stalled = classes.get("host").copied().unwrap_or(0.0);
    let holds = own >= 0.9 * total && own + stalled >= 0.9 * least_us as f64;
    if let Some(reason) = disturbance.as_ref().filter(|_| !holds) {
        println!("NOT TESTED: blame of {class}: {reason}; it has {own:.0} us of {total:.0} us");
        return false;
    }
    assert!(holds, "{report:#}");
    true
}

fn last_cpu() -> String {
    cpu::Host::read().unwrap().online.last().to_string()
}

#[test]
fn sibling_thread_of_the_base_station_is_found() {
    let Some(_lock) = lock() else { return };
    let mut unit = Unit::start(&[]);
    unit.tell(&format!("pair {}", last_cpu()));
    let commands = [format!("wake {ROUNDS} {BLOCKED_US}"), format!("preempt {ROUNDS} {BLOCKED_US}")];
    let pid = unit.pid();
    let found = blamed(&mut unit, &["--pid", &pid], &commands);
    if !is_to_blame("sibling", 2 * ROUNDS * BLOCKED_US, &found) {
        return;
    }
    let culprits = found.report["culprits"].as_array().unwrap();
    assert!(
        culprits.iter().any(|culprit| culprit["name"] == "blocker" && culprit["victim"] == "victim"),
        "{}",
        found.report
    );
}

#[test]
fn user_task_is_found() {
    let Some(_lock) = lock() else { return };
    let mut unit = Unit::start(&[]);
    unit.tell(&format!("pair {}", last_cpu()));
    let commands = [format!("wake {ROUNDS} {BLOCKED_US}"), format!("preempt {ROUNDS} {BLOCKED_US}")];
    // the blocker is nobody's sibling where only the victim is the base station
    let found = blamed(&mut unit, &["--name", "victim"], &commands);
    if !is_to_blame("user task", 2 * ROUNDS * BLOCKED_US, &found) {
        return;
    }
    let class = &found.report["classes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|class| class["class"] == "user task")
        .unwrap()
        .clone();
    assert_eq!(class["knob"], "ferric cpu apply shield");
}

#[test]
fn throttling_is_found() {
    let Some(_lock) = lock() else { return };
    let limit = std::fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").unwrap();
    if limit.trim() == "-1" {
        println!("NOT TESTED: real-time threads are not throttled on this host");
        return;
    }
    let mut unit = Unit::start(&[]);
    unit.tell(&format!("pair {}", last_cpu()));
    // a thread without a real-time priority that would run on the same CPU
    unit.tell(&format!("spin {}", last_cpu()));
    // the victim runs all the time, for longer than it may
    let found = blamed(&mut unit, &["--name", "victim"], &["hog 1600".to_owned()]);
    is_to_blame("throttling", 20_000, &found);
}

#[test]
fn softirq_is_found() {
    let Some(_lock) = lock() else { return };
    if !support::are_installed(&["ip", "unshare"]) {
        return;
    }
    let cpus: Vec<usize> = cpu::Host::read().unwrap().online.iter().collect();
    let (last, other) = (cpus[cpus.len() - 1], cpus[cpus.len() - 2]);
    // packets are sent on one CPU and received on the victim's, as receive packet steering does for a device
    let mask = cpu::Cpus::from_iter([last]).mask();
    let mut unit = Unit::start_in_namespaces(&format!(
        "ip link set lo up && echo {mask} > /sys/class/net/lo/queues/rx-0/rps_cpus"
    ));
    unit.tell(&format!("tick {last}"));
    let found = blamed(&mut unit, &["--name", "victim"], &[format!("flood {other} 1000")]);
    is_to_blame("softirq", 10_000, &found);
}

/// The number, the name and the CPU of the interrupt of a disk's first queue, and the disk.
fn disk() -> Option<(u64, String, usize, String)> {
    let host = cpu::Host::read().unwrap();
    let disks: Vec<String> =
        std::fs::read_dir("/sys/block").ok()?.flatten().map(|disk| disk.file_name().into_string().unwrap()).collect();
    let device = |disk: &String| {
        let path = std::fs::canonicalize(format!("/sys/block/{disk}/device")).ok()?;
        Some((disk.clone(), path.file_name()?.to_str()?.to_owned()))
    };
    let (disk, interrupt) = disks.iter().filter_map(device).find_map(|(disk, device)| {
        let is_its = |name: &String| name.starts_with(&format!("{device}-req."));
        let found = host.interrupts.iter().find(|interrupt| interrupt.names.iter().any(is_its))?;
        Some((disk, found.clone()))
    })?;
    let cpus = std::fs::read_to_string(format!("/proc/irq/{}/effective_affinity_list", interrupt.number)).ok()?;
    Some((interrupt.number.into(), interrupt.names.join(" "), cpus.trim().parse().ok()?, disk))
}

#[test]
fn interrupts_of_a_disk_are_found_by_number_and_name() {
    let Some(_lock) = lock() else { return };
    let Some((number, name, cpu, disk)) = disk().filter(|_| support::are_installed(&["dd", "taskset"])) else {
        println!("NOT TESTED: this host has no disk with an interrupt of one CPU");
        return;
    };
    let mut unit = Unit::start(&[]);
    unit.tell(&format!("pair {cpu}"));
    // reads without a cache, from another CPU: each ends with an interrupt
    let other = cpu::Host::read().unwrap().online.iter().find(|other| *other != cpu).unwrap();
    let read = format!(
        "while true; do dd if=/dev/{disk} of=/dev/null bs=4k count=20000 iflag=direct 2>/dev/null || exit; done"
    );
    let mut reader = std::process::Command::new("taskset");
    reader.args(["-c", &other.to_string(), "timeout", "20", "sh", "-c", &read]);
    let mut reader = reader.spawn().unwrap();
    let commands = [format!("wake {ROUNDS} {BLOCKED_US}")];
    let mut outcome = None;
    for _ in 0..5 {
        let before = interrupt_count(number);
        let found = blamed(&mut unit, &["--name", "victim", "--over-us", "1"], &commands);
        let count = interrupt_count(number) - before;
        let culprits = found.report["culprits"].as_array().unwrap();
        let is_its = |culprit: &&Value| culprit["class"] == "interrupt" && culprit["number"] == number;
        let interrupt = culprits.iter().find(is_its).cloned();
        outcome = Some((count, found, interrupt));
        if outcome.as_ref().is_some_and(|(.., interrupt)| interrupt.is_some()) {
            break;
        }
    }
    // it ends what it has started
    rustix::process::kill_process(rustix::process::Pid::from_child(&reader), rustix::process::Signal::TERM).unwrap();
    support::wait(&mut reader, "the reader of the disk");
    let (count, found, interrupt) = outcome.unwrap();
    let Some(interrupt) = interrupt else {
        // the victim waits for a third of the time
        assert!(count < 200, "interrupt {number} came {count} times, and is not to blame: {:#}", found.report);
        println!("NOT TESTED: blame of interrupts: the disk's came {count} times only");
        return;
    };
    assert_eq!(interrupt["name"], name.as_str(), "{interrupt}");
    // what interrupts take is not blamed on the thread that they have interrupted as well
    let total: f64 = found.classes.values().sum();
    assert!(total <= 1.5 * (ROUNDS * BLOCKED_US) as f64 || found.classes.contains_key("host"), "{:#}", found.report);
}

/// How often an interrupt came, on all CPUs.
fn interrupt_count(number: u64) -> u64 {
    let text = std::fs::read_to_string("/proc/interrupts").unwrap();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(&format!("{number}:"))).unwrap();
    line.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok()).sum()
}

#[test]
fn exit_from_idle_is_the_hosts() {
    let Some(_lock) = lock() else { return };
    let mut unit = Unit::start(&[]);
    unit.tell(&format!("tick {}", last_cpu()));
    for _ in 0..5 {
        let found = blamed(&mut unit, &["--name", "victim", "--over-us", "1"], &["churn 0".into(), "call idle".into()]);
        let culprits = found.report["culprits"].as_array().unwrap();
        if let Some(idle) = culprits.iter().find(|culprit| culprit["name"] == "idle") {
            assert_eq!((&idle["class"], &idle["number"]), (&"host".into(), &0.into()), "{idle}");
            return;
        }
    }
    println!("NOT TESTED: the exit from idle: CPU {} never was idle when its thread was woken", last_cpu());
}

/// The kernel's threads that commit journals of loop devices.
fn committers() -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let is_one = |folder: &std::fs::DirEntry| {
        std::fs::read_to_string(folder.path().join("comm")).is_ok_and(|name| name.starts_with("jbd2/loop"))
    };
    processes.filter(is_one).map(|folder| folder.file_name().into_string().unwrap()).collect()
}

#[test]
fn kernel_thread_is_found() {
    let Some(_lock) = lock() else { return };
    if !support::are_installed(&["mkfs.ext4", "unshare", "chrt", "taskset"]) {
        return;
    }
    let cpus: Vec<usize> = cpu::Host::read().unwrap().online.iter().collect();
    let (last, other) = (cpus[cpus.len() - 1], cpus[cpus.len() - 2]);
    let before = committers();
    // a file system of its own, which ends with the unit: its committing thread gets the higher real-time priority
    let folder = std::env::temp_dir().join(format!("ferric-cpu-mount-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let folder = folder.to_str().unwrap();
    let image = testkit::program::File::named("ext4");
    let script = format!("truncate -s 64M {0} && mkfs.ext4 -q {0} && mount -o loop {0} {folder}", image.name());
    let mut unit = Unit::start_in_namespaces(&script);
    let own: Vec<_> = committers().into_iter().filter(|pid| !before.contains(pid)).collect();
    let [thread] = &own[..] else {
        println!("NOT TESTED: the kernel has started {} committing threads for a file system", own.len());
        return;
    };
    let run = |program: &str, arguments: &[&str]| {
        let output = support::output(std::process::Command::new(program).args(arguments));
        assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run("chrt", &["-f", "-p", "50", thread]);
    run("taskset", &["-pc", &last.to_string(), thread]);
    unit.tell(&format!("tick {last}"));
    let found = blamed(&mut unit, &["--name", "victim", "--over-us", "10"], &[format!("commit {folder} {other} 1500")]);
    drop(unit);
    std::fs::remove_dir(folder).unwrap();
    // its own work is short, so that what else runs on the host shares the blame
    let culprits = found.report["culprits"].as_array().unwrap();
    let is_committer = |culprit: &&Value| culprit["name"].as_str().unwrap().starts_with("jbd2/loop");
    let of_thread: Vec<_> = culprits.iter().filter(is_committer).collect();
    assert!(of_thread.iter().all(|culprit| culprit["class"] == "kernel thread"), "{of_thread:#?}");
    let total: f64 = of_thread.iter().map(|culprit| culprit["total_us"].as_f64().unwrap()).sum();
    assert!(total >= 500.0, "{:#}", found.report);
}

#[test]
fn nobody_is_blamed_for_short_times() {
    let Some(_lock) = lock() else { return };
    let mut unit = Unit::start(&[]);
    unit.tell(&format!("pair {}", last_cpu()));
    let Found { report, classes, .. } =
        blamed(&mut unit, &["--name", "victim", "--over-us", "50000"], &[format!("wake 10 {BLOCKED_US}")]);
    let but_host: Vec<_> = classes.keys().filter(|class| *class != "host").collect();
    assert!(but_host.is_empty(), "{report:#}");
}
