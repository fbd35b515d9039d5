//! `ferric ran --scenario`: scenario files and their errors.

mod program;

use std::path::Path;

use program::{File, run};
use testkit::ObjectFolder;

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/scenarios").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn check_prints_a_summary() {
    let outcome = run(&["ran", "--scenario", &example("three-cells.toml"), "--check"]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines[0], "3 cells, 2 UEs; offered 5.1 Mbit/s downlink, 0.1 Mbit/s uplink");
    assert_eq!(lines[1], "seed 1, speed 1, 1 thread, handover by A3 at 3 dB");
    assert!(
        lines[2].starts_with(
            "cell 0: NR, 40 MHz at 3600 MHz, TDD, 106 PRBs of 30 kHz downlink and 104 uplink: 1 UE; offered"
        )
    );
    assert_eq!(lines.len(), 5);
    let outcome = run(&["ran", "--scenario", &example("trace.toml"), "--check", "--speed", "8", "--threads", "2"]);
    assert!(outcome.stdout.contains("speed 8, 2 threads"), "{}", outcome.stdout);
}

#[test]
fn error_in_a_scenario_names_its_place() {
    let wrong = File::new("wrong.toml", b"[[cell]]\n\n[cell.rlc]\nbufer_octets = 5\n");
    let place =
        format!("{}: line 4: cell[0].rlc: unknown key `bufer_octets`; did you mean `buffer_octets`?", wrong.name());
    run(&["ran", "--scenario", wrong.name()]).complains(1, &[&place]);
    run(&["ran", "--scenario", wrong.name(), "--check"]).complains(1, &[&place]);
    let no_trace = File::new("trace.toml", b"[[cell]]\n[[ue]]\ntrace = \"none.csv\"\n");
    run(&["ran", "--scenario", no_trace.name()]).complains(1, &["line 3: ue[0]: trace: ", "none.csv: No such file"]);
    run(&["ran", "--scenario", "/nowhere/at-all.toml"]).complains(1, &["/nowhere/at-all.toml: No such file"]);
}

#[test]
fn scenario_excludes_options_that_it_defines() {
    let file = example("trace.toml");
    for (argument, value, why) in [
        ("--nodes", "2", "the scenario file defines the cells"),
        ("--ues", "2", "the scenario file defines the UEs"),
        ("--seed", "2", "the scenario file defines the seed"),
    ] {
        let why = format!("{argument} cannot be used with --scenario: {why}");
        run(&["ran", "--scenario", &file, argument, value]).complains(1, &[&why]);
    }
    run(&["ran", "--check"]).complains(2, &["--scenario <FILE>"]);
    run(&["ran", "--scenario", &file, "--speed", "0"]).complains(2, &["not a number from 0.001 to 1000"]);
    run(&["ran", "--scenario", &file, "--threads", "0"]).complains(2, &["not a number from 1 to 256"]);
}

#[test]
fn custom_traffic_control_part_is_loaded() {
    let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ran/tc-plugin");
    let folder = ObjectFolder::new();
    folder.compile(plugin, "tests/parts/fixed-target.c", "fixed-target", |source| source);
    let check = |key: &str, settings: &str| {
        let part = format!("{{ part = \"fixed-target\", settings = \"{settings}\" }}");
        let file = File::new("part.toml", format!("[[cell]]\ntraffic_control = {{ {key} = {part} }}\n").as_bytes());
        run(&["ran", "--scenario", file.name(), "--check", "--parts-from", folder.path().to_str().unwrap()])
    };
    let taken = check("pacer", "20000");
    assert_eq!(taken.code(), Some(0), "{}", taken.stderr);
    let place = "line 2: cell[0].traffic_control: ";
    check("scheduler", "20000").complains(1, &[place, "scheduler: fixed-target is a pacer, not a scheduler"]);
    check("pacer", "much").complains(1, &[place, "pacer: fixed-target rejects the settings \"much\""]);
}

#[test]
fn timeline_begins_when_a_ric_has_accepted_a_node() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("tcp://127.0.0.1:{port}");
    let scenario = example("timeline.toml");
    let arguments = ["ran", "--ric", &address, "--scenario", &scenario, "--speed", "10"];
    let mut waiting = program::start(&arguments);
    let mut hasty = program::start(&[&arguments[..], &["--no-wait"]].concat());
    waiting.logs("begins when a RIC has accepted a node");
    hasty.logs("cell 0 -> 1");
    hasty.logs("timeline: administrative state changed");
    assert!(!hasty.stop().stderr.contains(" up: "));
    let ric = program::start(&["ric", "--e2", &address, "--xapp", "tcp://127.0.0.1:0"]);
    waiting.logs("timeline: administrative state changed");
    let log = waiting.stop().stderr;
    let at = |part: &str| log.find(part).unwrap_or_else(|| panic!("no `{part}` in {log}"));
    assert!(at(" up: ") < at("cell 0 -> 1") && at("cell 0 -> 1") < at("timeline: administrative"), "{log}");
    ric.stop();
}

#[test]
fn scenario_is_run() {
    let mut ran = program::start(&["ran", "--ric", "tcp://127.0.0.1:1", "--scenario", &example("slices-shared.toml")]);
    // no RIC listens there
    ran.logs("127.0.0.1:1");
    let ended = ran.stop();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
}
