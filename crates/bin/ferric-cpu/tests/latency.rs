//! Scheduling latency of a thread whose waits are known: a real-time thread on the same CPU lets it wait.

mod support;

use std::time::Duration;

use cpu::Selection;
use cpu::latency::{Histogram, Latency, Report, Source, ThreadLatency};
use serde_json::Value;
use support::{PROGRAM, Unit, lock};
use testkit::program::Program;

/// How long the blocker does not let the victim run, in us: the class of 2048 to 4095 us begins below.
const BLOCKED_US: u64 = 2500;
const ROUNDS: u64 = 50;

#[test]
#[ignore = "a base station, which the tests start"]
fn unit() {
    support::be_a_unit();
}

/// A base station with a victim on the last CPU.
fn unit_with_pair() -> Unit {
    let mut unit = Unit::start(&[]);
    let last = cpu::Host::read().unwrap().online.last();
    unit.tell(&format!("pair {last}"));
    unit
}

fn thread<'a>(document: &'a Value, name: &str) -> &'a Value {
    document["threads"].as_array().unwrap().iter().find(|thread| thread["name"] == name).unwrap()
}

/// How many times at least `us` long there are.
fn longer(histogram: &Histogram, us: u64) -> u64 {
    histogram.0[us.ilog2() as usize..].iter().sum()
}

#[test]
fn known_waits_are_measured_by_name() {
    let Some(_lock) = lock() else { return };
    let mut unit = unit_with_pair();
    let mut program = Program::start(PROGRAM, &["latency", "--name", "victim", "--seconds", "60", "--json"]);
    program.logs("measuring");
    unit.tell(&format!("wake {ROUNDS} {BLOCKED_US}"));
    // its last wait is over
    std::thread::sleep(Duration::from_millis(300));
    let outcome = support::stop(program);
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(document["source"], "bpf", "{}", outcome.stderr);
    assert_eq!(document["threads"].as_array().unwrap().len(), 1);
    let victim = thread(&document, "victim");
    // a stall of the host voids a wait
    let (wakeups, stalls) = (victim["wakeups"].as_u64().unwrap(), victim["stalls"].as_u64().unwrap());
    assert_eq!(wakeups + stalls, ROUNDS, "{document:#}");
    assert_eq!(document["valid"], document["stalls"]["count"] == 0, "{document:#}");
    let buckets = victim["buckets_us"].as_object().unwrap();
    assert_eq!(buckets.keys().collect::<Vec<_>>(), ["0-1", "2-3", "4-7", "8-15", "16-"]);
    assert_eq!(buckets["16-"], 100.0, "{document:#}");
    assert!(victim["mean_us"].as_f64().unwrap() >= BLOCKED_US as f64, "{document:#}");
}

#[test]
fn wakeups_and_preemptions_are_counted_apart_and_by_both_sources_alike() {
    let Some(_lock) = lock() else { return };
    let mut unit = unit_with_pair();
    // in a stall of the host, the ticks of the two sources and the order of their samples differ
    let Some(reports) = (0..5).map(|_| measure_by_both_sources(&mut unit)).find(is_undisturbed) else {
        println!("NOT TESTED: wake-ups and preemptions by both sources: the host stalled in five of five measurements");
        return;
    };
    let victims =
        reports.each_ref().map(|report| report.threads.iter().find(|thread| thread.name == "victim").unwrap());
    for (report, victim) in reports.iter().zip(victims) {
        println!("{:?}: {victim:?}", report.source);
        // and one that begins the preemptions
        assert_eq!(victim.wakeup_waits.total() + victim.preemption_waits.total(), ROUNDS + 1 + victim.preempted);
        assert!((ROUNDS..ROUNDS + 10).contains(&victim.preempted), "{}", victim.preempted);
        assert!(longer(&victim.wakeup_waits, BLOCKED_US) >= ROUNDS);
        assert!(longer(&victim.preemption_waits, BLOCKED_US) >= ROUNDS && victim.preempted >= ROUNDS);
        assert_eq!((report.lost, victim.stalls), (0, 0));
    }
    let [bpf, samples] = victims;
    let total =
        |thread: &ThreadLatency| (thread.wakeup_waits.total() + thread.preemption_waits.total(), thread.preempted);
    assert_eq!(total(bpf), total(samples));
    // they read the clock some hundred nanoseconds apart
    let apart = longer(&bpf.lateness, 1024).abs_diff(longer(&samples.lateness, 1024));
    assert!(apart <= 2 && bpf.lateness.total() + 1 >= ROUNDS, "{apart}");
}

/// Wakes and preempts the victim as often as [`ROUNDS`] says, measured by BPF and by samples at once.
fn measure_by_both_sources(unit: &mut Unit) -> [Report; 2] {
    let selection = Selection { names: vec![], pids: vec![unit.pid().parse().unwrap()] };
    let start = |source| Latency::start_with(selection.clone(), Some(5000), source).unwrap();
    let mut both = [start(Source::Bpf), start(Source::PerfEvent)];
    unit.tell(&format!("wake {ROUNDS} {BLOCKED_US}"));
    both.iter_mut().for_each(|latency| latency.poll().unwrap());
    unit.tell(&format!("preempt {ROUNDS} {BLOCKED_US}"));
    std::thread::sleep(Duration::from_millis(300));
    both.each_mut().map(|latency| latency.report().unwrap())
}

fn is_undisturbed(reports: &[Report; 2]) -> bool {
    reports.iter().all(|report| report.stalls.count == 0)
}

#[test]
fn waits_are_those_that_perf_sees() {
    let Some(_lock) = lock() else { return };
    if !support::are_installed(&["perf", "unshare"]) {
        return;
    }
    let mut unit = unit_with_pair();
    let file = testkit::program::File::named("perf.data");
    let mut program = Program::start(PROGRAM, &["latency", "--name", "victim", "--seconds", "60", "--json"]);
    program.logs("measuring");
    // its mount of tracefs ends with it
    let script = "mount -t tracefs none /sys/kernel/tracing && perf sched record -o \"$0\" -- sleep 2";
    let mut perf = std::process::Command::new("unshare");
    perf.args(["--mount", "sh", "-c", script, file.name()]).stdout(std::process::Stdio::null());
    let mut perf = perf.stderr(std::process::Stdio::null()).spawn().unwrap();
    // perf has begun once its own program runs
    let children = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    testkit::eventually("perf", || {
        let mut below = children(perf.id());
        for _ in 0..8 {
            let Some(child) = below.split_ascii_whitespace().next().map(|pid| pid.parse().unwrap()) else {
                return false;
            };
            if std::fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|name| name == "sleep\n") {
                return true;
            }
            below = children(child);
        }
        false
    });
    unit.tell(&format!("wake {ROUNDS} {BLOCKED_US}"));
    if !support::wait(&mut perf, "perf").success() {
        println!("NOT TESTED: perf cannot record on this host");
        return;
    }
    let document: Value = serde_json::from_str(&support::stop(program).stdout).unwrap();
    let victim = thread(&document, "victim");
    let output = support::output(std::process::Command::new("perf").args(["sched", "timehist", "-i", file.name()]));
    let text = String::from_utf8_lossy(&output.stdout);
    // time, CPU, thread, time between runs, delay, run time
    let delay_of = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        fields.get(2)?.starts_with("victim[").then(|| fields.get(4)?.parse::<f64>().ok())?
    };
    let delays: Vec<f64> = text.lines().filter_map(delay_of).collect();
    let ours = victim["wakeups"].as_u64().unwrap() + victim["stalls"].as_u64().unwrap();
    println!("perf: {} waits; ferric cpu: {ours}", delays.len());
    assert_eq!(ours, ROUNDS, "{document:#}");
    let long = delays.iter().filter(|ms| **ms >= BLOCKED_US as f64 / 1000.0 - 0.1).count() as u64;
    assert_eq!(long, ROUNDS, "{text}");
    // perf counts each wait, ours leave out those that a stall voids
    if victim["stalls"] == 0 {
        let perf_mean_us = 1000.0 * delays.iter().sum::<f64>() / delays.len() as f64;
        let mean_us = victim["mean_us"].as_f64().unwrap();
        assert!((mean_us - perf_mean_us).abs() < 0.02 * mean_us, "{mean_us} {perf_mean_us}");
    }
}

#[test]
fn samples_are_counted_with_a_warning_where_bpf_is_not_allowed() {
    let Some(_lock) = lock() else { return };
    if !support::are_installed(&["setpriv", "unshare"]) {
        return;
    }
    let unit = Unit::start(&["early"]);
    // with CAP_PERFMON, without CAP_BPF
    let script = "mount -t tracefs none /sys/kernel/tracing && exec setpriv --bounding-set=-sys_admin,-bpf \"$@\"";
    let arguments =
        ["--mount", "sh", "-c", script, "sh", PROGRAM, "latency", "--pid", &unit.pid(), "--seconds", "0.3", "--json"];
    let output = support::output(std::process::Command::new("unshare").args(arguments));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("samples of perf_event are counted instead"), "{errors}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["source"], "perf_event");
    assert!(document["warnings"][0].as_str().unwrap().contains("CAP_BPF"), "{document:#}");
}

#[test]
fn trace_is_counted_with_a_warning_where_perf_event_open_is_refused() {
    let Some(_lock) = lock() else { return };
    if !support::are_installed(&["setpriv", "unshare"]) {
        return;
    }
    let mut unit = unit_with_pair();
    let instances = || {
        let mount = "mount -t tracefs none /sys/kernel/tracing && ls /sys/kernel/tracing/instances";
        let output = support::output(std::process::Command::new("unshare").args(["--mount", "sh", "-c", mount]));
        String::from_utf8(output.stdout).unwrap()
    };
    let before = instances();
    // neither CAP_BPF nor CAP_PERFMON
    let script =
        "mount -t tracefs none /sys/kernel/tracing && exec setpriv --bounding-set=-sys_admin,-bpf,-perfmon \"$@\"";
    let arguments =
        ["--mount", "sh", "-c", script, "sh", PROGRAM, "latency", "--name", "victim", "--seconds", "60", "--json"];
    let mut program = Program::start("unshare", &arguments);
    program.logs("measuring");
    unit.tell(&format!("wake {ROUNDS} {BLOCKED_US}"));
    std::thread::sleep(Duration::from_millis(300));
    let outcome = support::stop(program);
    assert!(outcome.stderr.contains("the text of a trace is counted instead"), "{}", outcome.stderr);
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(document["source"], "tracefs");
    let victim = thread(&document, "victim");
    assert_eq!((&victim["wakeups"], &victim["buckets_us"]["16-"]), (&ROUNDS.into(), &100.0.into()), "{document:#}");
    assert!(victim["mean_us"].as_f64().unwrap() >= BLOCKED_US as f64 - 1.0, "{document:#}");
    assert_eq!(instances(), before, "the instance is removed");
}

#[test]
fn threads_that_are_started_meanwhile_are_measured() {
    let Some(_lock) = lock() else { return };
    let mut unit = Unit::start(&["early"]);
    let mut program = Program::start(PROGRAM, &["latency", "--pid", &unit.pid(), "--seconds", "60", "--json"]);
    program.logs("measuring");
    unit.tell("thread late");
    unit.tell("rename late later");
    std::thread::sleep(Duration::from_millis(300));
    let document: Value = serde_json::from_str(&support::stop(program).stdout).unwrap();
    assert!(thread(&document, "later")["wakeups"].as_u64().unwrap() >= 1, "{document:#}");
}

#[test]
fn measurement_that_cannot_be_made_is_refused_with_what_to_do() {
    let refused =
        |arguments: &[&str], code, pieces: &[&str]| testkit::program::run(PROGRAM, arguments).complains(code, pieces);
    refused(&["latency", "--name", "no-such-thing"], 1, &["no such thread is running", "ps -eLo"]);
    refused(&["latency"], 1, &["no process is given", "--name"]);
    refused(&["latency", "--pid", "1"], 1, &["process 1"]);
    refused(&["latency", "--name", "x", "--seconds", "0"], 2, &["not a number from 0.1 to 86400"]);
    let Some(_lock) = lock() else { return };
    let unit = Unit::start(&[]);
    let copy = testkit::program::File::new("cpu-latency", &std::fs::read(PROGRAM).unwrap());
    std::fs::set_permissions(copy.name(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = std::process::Command::new(copy.name());
    command.args(["latency", "--pid", &unit.pid(), "--seconds", "1"]);
    let output = support::output(std::os::unix::process::CommandExt::uid(&mut command, 65534));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("it takes root"), "{errors}");
}
