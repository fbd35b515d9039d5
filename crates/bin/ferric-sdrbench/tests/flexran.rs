//! FlexRAN agents against `ferric ric --flexran`.

mod common;

use std::fs;
use std::io::Write;
use std::net::TcpStream;

use common::Folder;
use serde_json::Value;
use testkit::program::{Program, run, sibling};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ferric-sdrbench");

struct Ric {
    program: Program,
    flexran: String,
    rest: String,
}

fn ferric() -> String {
    sibling(PROGRAM, "ferric", "ferric-cli")
}

fn start_ric() -> Ric {
    let any = "tcp://127.0.0.1:0";
    let options = ["--flexran", any, "--flexran-period-ms", "50", "--rest", "127.0.0.1:0"];
    let mut program = Program::start(&ferric(), &[&["ric", "--e2", any, "--xapp", any], &options[..]].concat());
    let flexran = program.line("flexran=");
    let rest = program.line("rest=");
    Ric { program, flexran, rest }
}

fn sdrbench(folder: &Folder, scenario: &str, target: &str, out: &str) -> Value {
    let path = folder.path("scenario.toml");
    fs::write(&path, scenario).unwrap();
    let out = folder.path(out);
    let outcome = run(PROGRAM, &["run", "--quiet", "--json", "--scenario", &path, "--target", target, "--out", &out]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap()
}

/// The metric of the RIC.
fn metric(ric: &Ric, name: &str) -> f64 {
    let address = ric.rest.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let text = std::io::read_to_string(stream).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} in {text}")).trim().parse().unwrap()
}

// lateness is not limited, and recovery is lenient: other tests share the host
const SCENARIO: &str = "
    warm_up_s = 0.2
    duration_s = 2
    repetitions = 2
    max_lateness_ms = 60000
    limit_ms = 1000
    [agents]
    count = [3, 8]
    period_ms = 50
    southbound = \"flexran\"
    confirm_every = 3
    probes_per_s = 4
";

#[test]
fn agents_report_to_the_ric_without_loss() {
    let ric = start_ric();
    let folder = Folder::new("flexran");
    let report = sdrbench(&folder, SCENARIO, &ric.flexran, "out");
    assert_eq!(
        (report["valid"].as_bool(), report["lost"].as_u64()),
        (Some(true), Some(0)),
        "{}",
        report["why_invalid"]
    );
    assert_eq!(report["target"]["southbound"], "FlexRAN");
    for (step, agents) in report["steps"].as_array().unwrap().iter().zip([3.0, 8.0]) {
        assert_eq!(step["agents_up"].as_f64(), Some(agents));
        let rate = |name: &str| step[name]["mean"].as_f64().unwrap();
        assert!((rate("offered_per_s") / (20.0 * agents) - 1.0).abs() < 0.1, "{step}");
        assert_eq!(rate("achieved_per_s"), rate("offered_per_s"), "all are confirmed");
        // a third of the reports is timed, and each probe
        assert!(step["indication_us"]["count"].as_f64() > Some(agents * 20.0), "{}", step["indication_us"]);
        assert!(step["indication_us"]["p50"].as_f64() > Some(0.0));
        assert!(step["setup_ms"]["count"].as_u64() > Some(8) && step["setup_ms"]["p50"].as_f64() > Some(0.0));
        assert!(step["fairness"].as_f64() > Some(0.98), "{}", step["fairness"]);
        let counts = ["duplicated", "reordered", "connections_lost", "setups_refused", "faults_of_controller"];
        assert!(counts.iter().all(|name| step[*name] == 0), "{step}");
        assert!(step["cpu_us_per_message"]["mean"].as_f64() > Some(0.0));
    }
    let reports: f64 = report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| {
            // two repetitions of two seconds
            step["achieved_per_s"]["mean"].as_f64().unwrap() * 4.0
        })
        .sum();
    assert!(metric(&ric, "ferric_flexran_reports_total") >= reports, "the RIC has counted them");
    assert_eq!(metric(&ric, "ferric_flexran_faults_total"), 0.0);
}

#[test]
fn agents_are_among_the_nodes_cells_and_ues_of_the_ric() {
    let ric = start_ric();
    let folder = Folder::new("flexran-lists");
    let scenario = SCENARIO.replace("duration_s = 2", "duration_s = 8").replace("[3, 8]", "2");
    let path = folder.path("scenario.toml");
    fs::write(&path, scenario).unwrap();
    let (target, out) = (ric.flexran.clone(), folder.path("out"));
    let _load = Program::start(PROGRAM, &["run", "--scenario", &path, "--target", &target, "--out", &out]);
    let deadline = std::time::Instant::now() + testkit::program::PATIENCE;
    let list = |resource: &str| {
        let outcome = run(&ferric(), &[resource, "--rest", &ric.rest]);
        assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
        outcome.stdout
    };
    loop {
        let ues = list("ues");
        if ues.lines().filter(|line| line.contains("imsi:00101")).count() >= 4 {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{ues}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let nodes = list("nodes");
    let row: Vec<&str> =
        nodes.lines().find(|line| line.starts_with("enb-00101-2 ")).unwrap().split_whitespace().collect();
    assert_eq!(row[1..], ["FlexRAN", "2", "no"], "{nodes}");
    assert!(list("cells").contains("000000200"), "the cell of eNB 2");
    assert!(list("ues").contains("0x4601"));
}

#[test]
fn garbage_lies_and_half_open_connections_do_not_disturb_agents() {
    let ric = start_ric();
    let address = ric.flexran.trim_start_matches("tcp://").to_owned();
    let bad: Vec<TcpStream> = [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 8], &[0, 0, 0, 9, 0x0a], &[]]
        .into_iter()
        .map(|octets| {
            let mut stream = TcpStream::connect(&address).unwrap();
            stream.write_all(octets).unwrap();
            stream
        })
        .collect();
    let folder = Folder::new("flexran-bad");
    let faults = SCENARIO.replace("[3, 8]", "4")
        + "[[fault]]\nkind = \"malformed\"\nat_s = 0.2\ncount = 10\nduration_s = 0.2\n\
           [[fault]]\nkind = \"half-open\"\nat_s = 0.6\ncount = 10\nduration_s = 0.2\n\
           [[fault]]\nkind = \"reconnect-storm\"\nat_s = 1\ncount = 50\n";
    let report = sdrbench(&folder, &faults, &ric.flexran, "out");
    assert_eq!(report["valid"].as_bool(), Some(true), "{}", report["why_invalid"]);
    let step = &report["steps"][0];
    assert_eq!(step["faults"].as_array().unwrap().len(), 6);
    assert!(step["faults"].as_array().unwrap().iter().all(|fault| fault["recovered_after_s"].is_number()), "{step}");
    assert!(metric(&ric, "ferric_flexran_faults_total") >= 2.0);
    drop(bad);
    drop(ric.program);
}

#[test]
fn mistakes_of_flexran_scenarios_are_explained() {
    let folder = Folder::new("flexran-mistakes");
    let path = folder.path("scenario.toml");
    fs::write(&path, SCENARIO).unwrap();
    let with = |target: &str, more: &[&str]| {
        let out = folder.path("out");
        let common = ["run", "--quiet", "--scenario", &path, "--target", target, "--out", &out];
        run(PROGRAM, &[&common, more].concat())
    };
    with("tcp+flat://127.0.0.1:1", &[]).complains(1, &["FlexRAN", "+flat"]);
    with("tcp://127.0.0.1:1", &["--xapp", "tcp://127.0.0.1:2"]).complains(1, &["xApps do not see FlexRAN agents"]);
    run(&ferric(), &["ric", "--flexran", "sctp://127.0.0.1:1"]).complains(2, &["over TCP"]);
    run(&ferric(), &["ric", "--flexran-period-ms", "10"]).complains(1, &["--flexran"]);
    // a controller with another period
    let ric = start_ric();
    let other = SCENARIO.replace("period_ms = 50", "period_ms = 20").replace("[3, 8]", "1");
    let report = sdrbench(&folder, &other, &ric.flexran, "other");
    let why = report["why_invalid"].to_string();
    assert!(why.contains("each 50 ms instead of 20 ms"), "{why}");
}
