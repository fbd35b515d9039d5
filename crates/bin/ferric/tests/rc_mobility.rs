//! `ferric xapp rc`: conditional handovers and measurements of UEs of the emulated RAN.

mod program;

use program::run;

/// The identity of a measurement in an answer: a RAN parameter of ferric's own.
const IDENTITY: &str = "parameter 4000000101 is ";

#[test]
fn conditional_handovers_and_measurements_are_set_changed_and_removed() {
    let any = "tcp://127.0.0.1:0";
    let mut ric = program::start(&["ric", "--e2", any, "--xapp", any]);
    let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
    let ran = program::start(&["ran", "--ric", &e2, "--nodes", "2", "--ues", "2"]);
    let ask = |arguments: &[&str]| {
        let common = ["--ue", "amf:234881025", "--ric", &xapp, "--seconds", "20"];
        run(&[&["xapp", "rc"], arguments, &common].concat())
    };
    let done = |arguments: &[&str]| {
        let outcome = ask(arguments);
        let line = outcome.stdout.lines().find(|line| line.contains(" done")).map(str::to_owned);
        line.filter(|_| outcome.status.success()).unwrap_or_else(|| panic!("{arguments:?}: {outcome:?}"))
    };
    let refused = |arguments: &[&str], why: &str| {
        let outcome = ask(arguments);
        assert!(!outcome.status.success() && outcome.stdout.contains(why), "{arguments:?}: {outcome:?}");
    };

    let event = ["--event", "a2", "--serving-dbm", "-100", "--hysteresis-db", "1.5", "--time-to-trigger-ms", "320"];
    let line = done(&[&["add-measurement"], &event[..]].concat());
    let (_, id) = line.split_once(IDENTITY).unwrap_or_else(|| panic!("{line}"));
    let a3 = ["--event", "a3", "--offset-db", "-2.5", "--time-to-trigger-ms", "0"];
    done(&[&["change-measurement", "--id", id], &a3[..]].concat());
    done(&["change-measurement", "--id", id, "--interval-ms", "1024"]);
    done(&["delete-measurement", "--id", id]);
    let missing = format!("the UE has no measurement with identity {id}");
    refused(&["delete-measurement", "--id", id], &missing);
    refused(&["change-measurement", "--id", id, "--interval-ms", "480"], &missing);

    done(&[
        "conditional-handover",
        "--cell",
        "003804001",
        "--event",
        "a3",
        "--offset-db",
        "15",
        "--time-to-trigger-ms",
        "640",
    ]);
    done(&["conditional-handover", "--cancel"]);
    refused(&["conditional-handover", "--cell", "fffffffff"], "the target cell does not exist in this RAN");
    ran.stop();
    ric.stop();
}

#[test]
fn trigger_that_contradicts_itself_is_refused() {
    let ue = ["--ue", "amf:1"];
    for (arguments, code, why) in [
        (&["add-measurement"][..], 2, "<--interval-ms <MS>|--event <EVENT>>"),
        (&["add-measurement", "--interval-ms", "100"], 2, "none of 120, 240"),
        (&["add-measurement", "--interval-ms", "120", "--event", "a1"], 2, "cannot be used with"),
        (&["add-measurement", "--event", "a6", "--time-to-trigger-ms", "0"], 2, "a1, a2, a3, a4, a5, b1, b2"),
        (&["add-measurement", "--event", "a1"], 2, "--time-to-trigger-ms <MS>"),
        (&["add-measurement", "--event", "a1", "--time-to-trigger-ms", "10"], 2, "none of 0, 40"),
        (&["add-measurement", "--event", "a1", "--time-to-trigger-ms", "0"], 1, "event a1 needs --serving-dbm"),
        (
            &[
                "add-measurement",
                "--event",
                "a3",
                "--offset-db",
                "1",
                "--serving-dbm",
                "-90",
                "--time-to-trigger-ms",
                "0",
            ],
            1,
            "event a3 has no --serving-dbm",
        ),
        (&["add-measurement", "--event", "a3", "--offset-db", "0.3"], 2, "from -15 to 15 in steps of 0.5"),
        (&["add-measurement", "--event", "a2", "--serving-dbm", "-30"], 2, "-156..=-31"),
        (&["change-measurement", "--id", "65", "--interval-ms", "120"], 2, "1..=64"),
        (&["delete-measurement"], 2, "--id <N>"),
        (&["conditional-handover"], 2, "--cell <HEX>"),
        (&["conditional-handover", "--cancel", "--cell", "1"], 2, "cannot be used with"),
    ] {
        let outcome = run(&[&["xapp", "rc"], arguments, &ue].concat());
        assert!(outcome.code() == Some(code) && outcome.stderr.contains(why), "{arguments:?}: {outcome:?}");
    }
}
