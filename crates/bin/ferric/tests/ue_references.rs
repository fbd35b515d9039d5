//! Commands show all names of a UE, and accept each of them.

mod program;

use program::{Outcome, Program, run};
use serde_json::Value;

/// The second UE of the first gNB.
const UE: &str = "amf:234881025";

/// Two gNBs, with two UEs at the first one that hear both alike.
const SCENARIO: &str = "
    [[cell]]
    count = 2
    [[ue]]
    count = 2
    sinr_db = 20
    [[ue.flow]]
    kind = \"cbr\"
    rate_bps = 500_000
";

/// The next report with this UE.
fn report(program: &mut Program, ue: &str) -> Value {
    loop {
        let report: Value = serde_json::from_str(&format!("{{{}", program.line("{"))).unwrap();
        if report["ues"].get(ue).is_some_and(|ue| ue["rnti"].is_number()) {
            return report;
        }
    }
}

fn done(outcome: &Outcome) -> Vec<&str> {
    outcome.stdout.lines().filter(|line| line.ends_with(" done")).collect()
}

#[test]
fn every_name_of_a_ue_is_shown_and_accepted() {
    let mut ric = program::start(&["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"]);
    let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
    let file = std::env::temp_dir().join(format!("ferric-ue-references-{}.toml", std::process::id()));
    std::fs::write(&file, SCENARIO).unwrap();
    let ran = program::start(&["ran", "--ric", &e2, "--scenario", file.to_str().unwrap()]);
    let kpm = |more: &[&str]| {
        program::start(&[&["xapp", "kpm", "--ric", &xapp, "--period-ms", "100", "--json"], more].concat())
    };
    // as all names, each of which selects it
    let mut all = kpm(&[]);
    let first = report(&mut all, UE);
    let names = &first["ues"][UE];
    assert_eq!((&first["node"], &names["amf_ue_ngap_id"]), (&"gnb-00101-e00".into(), &234_881_025.into()), "{first}");
    assert_eq!((&names["rnti"], &names["cell"]), (&0x4602.into(), &"003800001".into()), "{first}");
    assert_eq!((&names["ip"][0], &names["s_nssais"][0]), (&"10.45.0.3".into(), &"1".into()), "{first}");
    assert_eq!(first["values"].as_object().unwrap().len(), 2, "{first}");
    all.stop();
    for name in [UE, "234881025", "rnti:0x4602@003800001", "rnti:0x4602@gnb-00101-e00", "ip:10.45.0.3"] {
        let mut one = kpm(&["--ue", name]);
        let of_one = report(&mut one, UE);
        let shown: Vec<_> = of_one["values"].as_object().unwrap().keys().collect();
        assert_eq!(shown, [UE], "{name}: {of_one}");
        one.stop();
    }
    // a control to the node that serves it, and to no other
    let rc = |more: &[&str]| run(&[&["xapp", "rc", "--ric", &xapp, "--seconds", "20"], more].concat());
    let moved = rc(&["handover", "--ue", "ip:10.45.0.3", "--cell", "003804001"]);
    assert_eq!(done(&moved), ["node=gnb-00101-e00 done"], "{moved:?}");
    assert!(
        moved.stdout.contains("node=gnb-00101-e01 left out: the UE is amf:234881025 rnti:0x4602@003800001"),
        "{moved:?}"
    );
    let mut one = kpm(&["--ue", UE]);
    let after = loop {
        let after = report(&mut one, UE);
        if after["node"] == "gnb-00101-e01" {
            break after;
        }
    };
    assert_eq!(
        (&after["ues"][UE]["rnti"], &after["ues"][UE]["cell"]),
        (&0x4601.into(), &"003804001".into()),
        "{after}"
    );
    assert_eq!(after["ues"][UE]["ip"], names["ip"], "{after}");
    one.stop();
    let asleep = rc(&["drx", "--ue", "rnti:0x4601@gnb-00101-e01", "--cycle-ms", "320"]);
    assert_eq!(done(&asleep), ["node=gnb-00101-e01 done"], "{asleep:?}");
    // what is unknown is refused with what is known
    let gone = rc(&["drx", "--ue", "rnti:0x4602@gnb-00101-e00", "--cycle-ms", "320"]);
    assert!(
        !gone.status.success() && gone.stdout.contains("no UE rnti:0x4602@gnb-00101-e00; known are amf:"),
        "{gone:?}"
    );
    let none = run(&["xapp", "kpm", "--ric", &xapp, "--ue", "ip:10.45.0.99", "--seconds", "3"]);
    none.complains(
        1,
        &["no UE ip:10.45.0.99; known are amf:", "amf:234881024 rnti:0x4601@003800001 ip:10.45.0.2 at gnb-00101-e00"],
    );
    let tc = ["xapp", "tc", "--ric", &xapp, "--period-ms", "20", "--limit-ms", "60000", "--seconds", "3"];
    let watched = run(&[&tc[..], &["--ue", UE]].concat());
    let lines: Vec<_> = watched.stdout.lines().filter(|line| line.ends_with(" watched")).collect();
    assert_eq!(lines, ["node=gnb-00101-e01 watched"], "{watched:?}");
    let unknown = run(&[&tc[..], &["--ue", "amf:1"]].concat());
    unknown.complains(1, &["no UE amf:1; known are"]);
    run(&["xapp", "kpm", "--ue", "imsi:1"]).complains(2, &["not a UE: use amf:N (or N)"]);
    run(&["xapp", "tc", "--ue", "rnti:0x4601"]).complains(2, &["an RNTI needs its cell or node"]);
    let mut top = program::start(&["top", "--ric", &xapp, "--period-ms", "100", "--json"]);
    loop {
        let shown: Value = serde_json::from_str(&format!("{{{}", top.line("{"))).unwrap();
        let ue = shown["ues"].as_array().unwrap().iter().find(|ue| ue["ue"] == UE);
        if let Some(ue) = ue.filter(|ue| ue["rnti"].is_number()) {
            assert_eq!((&ue["rnti"], &ue["ip"]), (&0x4601.into(), &names["ip"]), "{shown}");
            break;
        }
    }
    top.stop();
    ran.stop();
    ric.stop();
    std::fs::remove_file(file).unwrap();
}
