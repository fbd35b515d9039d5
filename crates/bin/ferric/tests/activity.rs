//! The log of a RIC and of nodes in the words of the field: one line for each thing that happens.

mod program;

use program::{Program, run};

const ANY: &str = "tcp://127.0.0.1:0";

fn line<'a>(log: &'a str, part: &str) -> &'a str {
    let found: Vec<_> = log.lines().filter(|line| line.contains(part)).collect();
    assert_eq!(found.len(), 1, "lines with `{part}` in:\n{log}");
    found[0]
}

/// A RIC with base stations.
fn network(nodes: &str) -> (Program, Program, String) {
    let mut ric = program::start(&["ric", "--e2", ANY, "--xapp", ANY]);
    let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
    let ran = program::start(&["ran", "--ric", &e2, "--nodes", nodes, "--ues", "3"]);
    (ric, ran, xapp)
}

#[test]
fn log_says_which_node_is_up_and_what_xapps_subscribe_to_and_control() {
    let (mut ric, mut ran, xapp) = network("1");
    ran.logs("gNB 00101-e00 up: NR 40 MHz TDD, 3 UEs; KPM v3.00");
    ric.logs("gNB 00101-e00 up: KPM v3.00, RC v3.00");
    let arguments =
        ["xapp", "kpm", "--ric", &xapp, "--period-ms", "100", "--measurement", "DRB.UEThpDl", "--seconds", "1"];
    assert_eq!(run(&arguments).code(), Some(0));
    let arguments = ["xapp", "rc", "--ric", &xapp, "slice-quota", "--sst", "1", "--min", "20", "--max", "60"];
    assert_eq!(run(&arguments).code(), Some(0));
    let arguments = ["xapp", "rc", "--ric", &xapp, "drx", "--ue", "amf:77", "--long-cycle-ms", "320"];
    run(&arguments);
    ran.stop();
    let log = ric.stop().stderr;
    line(&log, "xApp ferric-kpm (1) subscribed: DRB.UEThpDl of each UE every 100 ms");
    let control = line(&log, "control: slice 1: 20 to 60 % of the PRBs, acknowledged in ");
    assert!(control.contains("node=gnb-00101-e00") && control.contains("xapp=\"ferric-rc (2)\""), "{control}");
    assert!(!log.contains("measurements: "), "only at debug level: {log}");
}

#[test]
fn hundred_nodes_are_hundred_lines() {
    let (mut ric, mut ran, _) = network("100");
    for number in 0xe00..0xe64 {
        ric.logs(&format!("gNB 00101-{number:x} up: "));
        ran.logs(&format!("gNB 00101-{number:x} up: "));
    }
    let of_ran = ran.stop().stderr;
    let ups = of_ran.lines().filter(|line| line.contains(" up: ")).count();
    assert_eq!((ups, of_ran.lines().count()), (100, 100), "{of_ran}");
    let log = ric.stop().stderr;
    assert_eq!(log.lines().filter(|line| line.contains(" up: ")).count(), 100, "{log}");
}

#[test]
fn handover_names_both_cells_and_its_reason() {
    let mut ric = program::start(&["ric", "--e2", ANY, "--xapp", ANY]);
    let e2 = ric.line("e2=");
    let mut ran = program::start(&["ran", "--ric", &e2, "--nodes", "2", "--ues", "1", "--handovers-per-minute", "600"]);
    ran.logs("cell 0 -> 1 (periodic)");
    ric.stop();
}

#[test]
fn nodes_of_one_identity_are_both_told_what_may_be_wrong() {
    let mut ric = program::start(&["ric", "--e2", ANY, "--xapp", ANY]);
    let e2 = ric.line("e2=");
    let mut nodes = [0, 1].map(|_| program::start(&["ran", "--ric", &e2, "--ues", "0"]));
    ric.logs("two base stations have this identity: give each its own");
    for node in &mut nodes {
        node.logs("does another base station have this identity?");
    }
}
