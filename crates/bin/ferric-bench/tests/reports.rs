//! The program `ferric-bench`: its reports and its command line.

use testkit::program::{Outcome, sibling};

const FERRIC_BENCH: &str = env!("CARGO_BIN_EXE_ferric-bench");

fn run(arguments: &[&str]) -> Outcome {
    testkit::program::run(FERRIC_BENCH, arguments)
}

#[test]
fn report_has_the_documented_keys() {
    let _ferric = sibling(FERRIC_BENCH, "ferric", "ferric-cli");
    let outcome = run(&["e2", "--json", "--repetitions", "1", "--seconds", "0.1"]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    for key in ["peek_1500_ns", "decode_1500_ns", "encode_1500_ns", "kpm_f3_32x8_decode_ns"] {
        assert!(report["codec"][key].as_f64().unwrap() > 0.0, "{key}");
    }
    assert!(report["codec"]["decode_allocs"].is_u64());
    let loops = report["loops"].as_array().unwrap();
    let shape = |row: &serde_json::Value| (row["nodes"].as_u64().unwrap(), row["xapps"].as_u64().unwrap());
    assert_eq!(loops.iter().map(shape).collect::<Vec<_>>(), [(2, 1), (4, 1), (4, 2)]);
    for row in loops {
        assert!(row["ratio"].as_f64().unwrap() > 0.0 && row["indications"].as_u64().unwrap() > 0, "{row}");
    }
    let rows = report["relay"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["nodes"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 4, 16]);
    for row in rows {
        assert!(row["indications"].as_u64().unwrap() > 0);
        assert_eq!(row["payload_bytes"], 4285);
        for key in ["ric_cpu_us", "mover_cpu_us", "ratio", "p50_us", "p99_us", "mover_p50_us", "mover_p99_us"] {
            assert!(row[key].as_f64().unwrap() > 0.0, "{key}");
        }
        for (xapp, key) in ["shm", "shm_spins"].into_iter().flat_map(|x| ["cpu_us", "ratio", "p50_us"].map(|k| (x, k)))
        {
            assert!(row[xapp][key].as_f64().unwrap() > 0.0, "{xapp} {key}");
        }
    }
    let agent = report["agent"].as_array().unwrap();
    assert_eq!(
        agent.iter().map(|row| row["ues"].as_u64().unwrap()).collect::<Vec<_>>(),
        [1, 2, 4, 8, 16, 32].repeat(2)
    );
    for row in agent {
        let us = |key: &str| row[key].as_f64().unwrap();
        let parts = ["gather_us", "model_us", "e2ap_us", "send_us"].map(us);
        assert!(parts[..3].iter().all(|part| *part > 0.0), "{row}");
        assert!((parts.iter().sum::<f64>() - us("cpu_us")).abs() < 1e-6, "the parts are the whole: {row}");
    }
    let pings = report["ping"]["rows"].as_array().unwrap();
    for link in ["tcp", "unix", "shm", "tls"] {
        let on = |processors| pings.iter().filter(move |row| row["link"] == link && row["processors"] == processors);
        assert_eq!(on(1).count(), 10, "{link}");
        // where there are two
        assert!([0, 10].contains(&on(2).count()), "{link}");
        assert!(on(1).chain(on(2)).all(|row| row["p50_us"].as_f64().unwrap() > 0.0), "{link}");
    }
    assert_eq!(report["idle"]["nodes"], 1000);
    assert!(report["idle"]["rss_bytes"].as_u64().unwrap() > 0);
    for key in ["cpu", "cores", "kernel"] {
        assert!(!report["host"][key].is_null(), "{key}");
    }
}

#[test]
fn help_names_the_options() {
    for (command, options) in [
        (&[][..], &["e2", "ping", "ran", "soak", "--log"][..]),
        (&["e2"], &["--json", "--repetitions", "--seconds"]),
        (&["soak"], &["--minutes", "--seed"]),
    ] {
        let outcome = run(&[command, &["--help"]].concat());
        assert_eq!(outcome.code(), Some(0), "{command:?}");
        assert!(options.iter().all(|option| outcome.stdout.contains(option)), "{command:?}: {}", outcome.stdout);
        assert!(!outcome.stdout.contains("mover"), "{}", outcome.stdout);
    }
    run(&["e2", "--repetitions", "0"]).complains(2, &["1..=99"]);
    run(&["soak", "--minutes", "0"]).complains(2, &["0.1 to 1440"]);
}

#[test]
fn log_level_is_applied() {
    let log = |level: &[&str]| run(&[level, &["ping", "--rounds", "1", "--pings", "1"]].concat()).stderr;
    assert_eq!(log(&[]), "");
    assert!(log(&["--log", "info"]).contains("INFO"));
}
