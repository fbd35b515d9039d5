//! `ferric vbbu` from outside: its output, refusals, and what it leaves on the host.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use testkit::live::lock_host;
use testkit::program::{Program, run, sibling};
use vbbu::{Channel, Config, Unit};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ferric-vbbu");
const THREADS: [&str; 9] = [
    "ru-thread",
    "lte-softmodem",
    "fep_processing",
    "feptx_thread",
    "TASK_GTPV1_U",
    "TASK_UDP",
    "TASK_S1AP",
    "TASK_SCTP",
    "TASK_RRC",
];
/// A load that a busy test machine can carry.
const SMALL: [&str; 6] = ["--full-load-us", "50", "--reads", "2", "--log", "error"];

/// Namespaces and network devices of this host.
fn network() -> BTreeSet<String> {
    let names = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path().display().to_string()).collect::<Vec<_>>()
    };
    ["/sys/class/net", "/var/run/netns", "/var/run/ferric/live"].into_iter().flat_map(names).collect()
}

/// The parts of the host that concern units, where other tests may change the rest.
fn of_units() -> BTreeSet<String> {
    network().into_iter().filter(|name| name.contains("vbbu")).collect()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn totals_follow_threads_and_periods() {
    let arguments = ["--network", "loopback", "--seconds", "1", "--json", "--report-ms", "250"];
    let outcome = run(PROGRAM, &[&arguments[..], &SMALL].concat());
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let lines = lines(&outcome.stdout);
    let (first, last) = (&lines[0], &lines[lines.len() - 1]);
    let names: BTreeSet<&str> =
        first["threads"].as_array().unwrap().iter().map(|thread| thread["name"].as_str().unwrap()).collect();
    assert_eq!(names, THREADS.into());
    assert_eq!(first["network"], "loopback");
    assert_eq!(last["subframes"], 1000);
    let periods = &lines[1..lines.len() - 1];
    let sum = |name: &str| periods.iter().map(|period| period[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("subframes"), 1000, "{periods:?}");
    assert_eq!(sum("misses"), last["misses"].as_u64().unwrap());
    assert!(last["dl_mbps"].as_f64().unwrap() > 0.0 && last["nacks"].as_u64() >= last["nacks_of_misses"].as_u64());
}

#[test]
fn mistakes_are_refused() {
    for (arguments, pieces) in [
        (&["--seconds", "0"][..], &["use 0.1 to 86400 seconds"][..]),
        (&["--split", "8"], &["invalid value '8'", "7.1"]),
        (&["--channel", "good"], &["use `mcs=20`, or `sinr=20,15`"]),
        (&["--e2", "nonsense"], &["invalid value 'nonsense'"]),
    ] {
        run(PROGRAM, arguments).complains(2, pieces);
    }
    for (arguments, piece) in [
        (&["--unit", "64"][..], "unit is out of range: 0 to 63"),
        (&["--ues", "0"], "ues is out of range: 1 to 64"),
        (&["--full-load-us", "1"], "full_load_us is out of range: 10 to 3000"),
        (&["--bandwidth-mhz", "7"], "the emulated cell"),
    ] {
        let network = ["--network", "loopback"];
        run(PROGRAM, &[arguments, &network, &["--seconds", "1"]].concat()).complains(1, &[piece]);
    }
}

#[test]
fn idle_cpus_have_a_limit_of_sleep_as_long_as_the_unit_runs() {
    const FILE: &str = "/dev/cpu_dma_latency";
    if fs::OpenOptions::new().write(true).open(FILE).is_err() {
        return eprintln!("NOT TESTED: {FILE} takes root");
    }
    let mut program = Program::start(PROGRAM, &[&["--network", "loopback", "--json"][..], &SMALL].concat());
    program.line("{\"pid\"");
    let open = fs::read_dir(format!("/proc/{}/fd", program.id())).unwrap();
    let is_open = open.flatten().any(|entry| fs::read_link(entry.path()).is_ok_and(|file| file == Path::new(FILE)));
    program.signal(Signal::TERM);
    program.end();
    assert!(is_open);
}

#[test]
fn nothing_stays_on_the_host() {
    let Some(_lock) = lock_host(netns::check_host) else { return };
    let before = of_units();
    for split in ["none", "7.1", "2"] {
        for network in ["veth", "namespace"] {
            let arguments = ["--network", network, "--split", split, "--seconds", "0.3", "--unit", "63", "--json"];
            let outcome = run(PROGRAM, &[&arguments[..], &SMALL].concat());
            assert_eq!(outcome.code(), Some(0), "{split} {network}: {}", outcome.stderr);
            let last = lines(&outcome.stdout).pop().unwrap();
            assert!(last["core_sent"].as_u64().unwrap() > 0, "{last:#}");
            assert_eq!(of_units(), before, "{split} {network}");
        }
    }
}

#[test]
fn what_a_killed_unit_leaves_is_removed_by_the_next_one() {
    let Some(_lock) = lock_host(netns::check_host) else { return };
    let before = of_units();
    let arguments = ["--network", "veth", "--unit", "62", "--json"];
    let mut program = Program::start(PROGRAM, &[&arguments[..], &SMALL].concat());
    program.line("{\"pid\"");
    program.signal(Signal::KILL);
    program.end();
    let arguments = ["--network", "veth", "--unit", "62", "--seconds", "0.2", "--json"];
    let begun = Instant::now();
    // the kernel removes the devices of a namespace some time after it
    loop {
        let outcome = run(PROGRAM, &[&arguments[..], &SMALL].concat());
        if outcome.code() == Some(0) {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", outcome.stderr);
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(of_units(), before);
}

/// The cell is an ordinary E2 node: a RIC accepts it, and an xApp reads the NACKs of missed subframes.
#[test]
fn misses_are_visible_in_kpm() {
    const ANY: &str = "tcp://127.0.0.1:0";
    let ferric = sibling(PROGRAM, "ferric", "ferric-cli");
    let mut ric = Program::start(&ferric, &["ric", "--e2", ANY, "--xapp", ANY]);
    let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
    let mut unit = Unit::start(Config {
        rics: vec![e2.parse().unwrap()],
        channel: Channel::Mcs(20),
        full_load_us: 50.0,
        reads_per_subframe: 2,
        ..Config::default()
    })
    .unwrap();
    let arguments = ["xapp", "kpm", "--ric", &xapp, "--period-ms", "100", "--seconds", "1", "--json"];
    let measurement = ["--measurement", "TB.ErrTotalNbrDl.1"];
    let reader = [&arguments[..], &measurement].concat();
    let outcome = thread::scope(|scope| {
        let reading = scope.spawn(|| {
            ric.logs("eNB 00101-e00 up");
            run(&ferric, &reader)
        });
        // also if the thread has failed
        while !reading.is_finished() {
            unit.hold_real_time(Duration::from_millis(50));
            unit.step().unwrap();
        }
        reading.join().unwrap()
    });
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let values = lines(&outcome.stdout);
    let nacks = |report: &Value| {
        let ues = report["values"].as_object().unwrap().values();
        ues.filter_map(|ue| ue["TB.ErrTotalNbrDl.1"].as_f64()).sum::<f64>()
    };
    let sum: f64 = values.iter().filter(|line| line["values"].is_object()).map(nacks).sum();
    assert!(sum > 100.0 && unit.counts().nacks_of_misses as f64 >= sum, "{sum} {}", outcome.stdout);
}
