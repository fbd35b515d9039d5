//! `ferric paper`: short runs of each figure, their files, and present and absent peers.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use testkit::program::{Outcome, Program, sibling};

const FERRIC_PAPER: &str = env!("CARGO_BIN_EXE_ferric-paper");
const PATIENCE: Duration = Duration::from_secs(20);

/// The path of the program `ferric`, which figures measure.
fn ferric() -> String {
    sibling(FERRIC_PAPER, "ferric", "ferric-cli")
}

fn run(arguments: &[&str]) -> Outcome {
    ferric();
    testkit::program::run(FERRIC_PAPER, arguments)
}

/// A directory of a test; removed when it is dropped.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        Directory(std::env::temp_dir().join(format!("ferric-paper-{}-{name}", std::process::id())))
    }

    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the JSON of a figure. Checks the keys of the object, the number of lines of the CSV file, and that the plot is
/// well-formed.
fn checked(outcome: &Outcome, figure: &str, out: &Directory) -> Value {
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|e| panic!("{e}: {outcome:?}"));
    assert_eq!(report["figure"], figure);
    for key in ["paper", "ours"] {
        assert!(!report["setting"][key].as_str().unwrap().is_empty(), "{key}");
    }
    assert!(!report["claim"].as_str().unwrap().is_empty());
    assert!(report["holds"].is_boolean() || report["holds"].is_null(), "{report}");
    let values = report["values"].as_array().unwrap();
    assert!(!values.is_empty());
    let csv = fs::read_to_string(out.0.join(format!("{figure}.csv"))).unwrap();
    let columns = values[0].as_object().unwrap();
    assert_eq!(csv.lines().count(), 1 + values.len());
    assert_eq!(csv.lines().next().unwrap().split(',').collect::<Vec<_>>(), columns.keys().collect::<Vec<_>>());
    let svg = fs::read_to_string(out.0.join(format!("{figure}.svg"))).unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
    // the grid, the axes and the legend are paths or rectangles as well
    assert!(count("circle") + count("rect") + count("path") > 8, "{svg}");
    assert!(count("text") > 5 && count("title") == 1, "{svg}");
    let statements = report["statements"].as_array().unwrap();
    if statements.iter().any(|statement| statement["holds"] == false) {
        assert_eq!(report["holds"], false, "{report}");
    }
    report
}

/// The values of a column, in all rows.
fn column(report: &Value, name: &str) -> Vec<f64> {
    let rows = report["values"].as_array().unwrap();
    rows.iter().map(|row| row[name].as_f64().unwrap_or_else(|| panic!("no {name} in {row}"))).collect()
}

fn figure(figure: &str) -> Value {
    figure_of(figure, "0.1")
}

fn figure_of(figure: &str, seconds: &str) -> Value {
    figure_of_in(figure, seconds, figure)
}

fn figure_of_in(figure: &str, seconds: &str, directory: &str) -> Value {
    let out = Directory::new(directory);
    let outcome = run(&[figure, "--json", "--seconds", seconds, "--out", out.name()]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.stderr, "", "the log is empty");
    checked(&outcome, figure, &out)
}

#[test]
fn fig6b_has_a_row_per_number_of_ues() {
    let report = figure("fig6b");
    assert_eq!(column(&report, "ues"), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
    for name in ["cpu_percent", "us_per_report", "reports_per_s", "per_cpu_percent"] {
        assert!(column(&report, name).iter().all(|value| *value > 0.0), "{name}: {report}");
    }
}

#[test]
fn fig7_has_four_combinations_of_two_sizes() {
    for (name, value) in [("fig7a", "p50_us"), ("fig7b", "octets_per_ping")] {
        let report = figure(name);
        assert_eq!(column(&report, "octets"), [100.0, 100.0, 100.0, 100.0, 1500.0, 1500.0, 1500.0, 1500.0]);
        let combinations = report["values"].as_array().unwrap().iter().map(|row| row["e2ap/e2sm"].as_str().unwrap());
        assert_eq!(combinations.collect::<Vec<_>>(), ["per/per", "per/flat", "flat/per", "flat/flat"].repeat(2));
        let values = column(&report, value);
        assert!(values.iter().all(|value| *value > 0.0), "{report}");
        if name == "fig7b" {
            assert!(
                values.iter().zip(column(&report, "octets")).all(|(wire, payload)| *wire > 2.0 * payload),
                "{report}"
            );
        }
    }
}

#[test]
fn fig9a_has_one_hop_and_two() {
    let report = figure("fig9a");
    assert_eq!(column(&report, "octets"), [100.0, 100.0, 1500.0, 1500.0]);
    for name in ["one_hop_p50_us", "two_hops_mean_us", "two_hops_p50_us", "relayed_mean_us", "relayed_p50_us"] {
        assert!(column(&report, name).iter().all(|value| *value > 0.0), "{name}: {report}");
    }
    assert!(report["holds"].is_boolean());
}

#[test]
fn fig9b_has_the_ric_the_xapp_and_both() {
    let report = figure("fig9b");
    let names = report["values"].as_array().unwrap().iter().map(|row| row["controller"].as_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["ferric, internal app", "ferric ric", "xApp", "both"]);
    let cpu = column(&report, "cpu_percent");
    assert!((cpu[1] + cpu[2] - cpu[3]).abs() < 1e-9 && cpu[0] > 0.0, "{report}");
    assert!(column(&report, "reports_per_s").iter().all(|reports| *reports > 0.0), "{report}");
}

#[test]
fn table2_has_sizes_and_notes_what_is_not_built() {
    let report = figure("table2");
    let rows = report["values"].as_array().unwrap();
    let size = |row: usize| rows[row]["mb"].as_f64().unwrap();
    assert!((size(0) + size(1) - size(2)).abs() < 1e-9 && size(0) > 1.0, "{report}");
    assert_eq!(rows[0]["found"], ferric());
    assert!(rows.iter().any(|row| row["component"].as_str().unwrap().starts_with("O-RAN RIC") && row["mb"] == 2469.0));
    let missing = rows.iter().filter(|row| row["mb"].is_null()).count();
    assert_eq!(report["notes"].to_string().matches("is not built").count(), missing);
}

#[test]
fn fig8b_has_both_encodings() {
    let report = figure("fig8b");
    assert_eq!(column(&report, "agents"), [1.0, 2.0, 4.0, 8.0, 12.0, 18.0, 100.0]);
    for name in ["per_cpu_percent", "flat_cpu_percent", "per_over_flat", "flat_mbit_per_s"] {
        assert!(column(&report, name).iter().all(|value| *value > 0.0), "{name}: {report}");
    }
    assert!(report["holds"].is_boolean());
}

#[test]
fn fig11a_and_b_have_sojourn_times() {
    for (name, is_controlled) in [("fig11a", false), ("fig11b", true)] {
        let report = figure_of(name, "0.4");
        let times = column(&report, "time_s");
        assert!(times.is_sorted() && times.len() > 50 && times.iter().all(|at| (0.0..16.0).contains(at)), "{times:?}");
        let last = report["values"].as_array().unwrap().last().unwrap();
        assert_eq!(last["tc_queue_1_ms"].is_number(), is_controlled, "{last}");
        assert_eq!(last["rlc_ms"].as_f64().unwrap() > 50.0, !is_controlled, "{last}");
        assert_eq!(report["notes"].to_string().contains("done: set the 5G-BDP pacer"), is_controlled, "{report}");
        assert_eq!(report["holds"], true, "{report}");
    }
}

#[test]
fn fig11c_has_a_distribution_of_round_trips() {
    let report = figure_of("fig11c", "0.4");
    let [cdf, alone, without, with] =
        ["cdf", "alone_rtt_ms", "without_control_rtt_ms", "with_xapp_rtt_ms"].map(|name| column(&report, name));
    assert_eq!((cdf.len(), cdf[0], cdf[100]), (101, 0.0, 1.0));
    for of in [&alone, &without, &with] {
        assert!(of.is_sorted() && of[0] > 10.0, "{report}");
    }
    assert!(without[50] > 4.0 * with[50], "{report}");
    assert_eq!(report["holds"], true, "{report}");
}

#[test]
fn plots_have_the_chosen_formats_and_samples_are_written() {
    let out = Directory::new("formats");
    let arguments = ["fig11c", "--seconds", "0.1", "--format", "pdf,tikz", "--format", "csv", "--out", out.name()];
    let outcome = run(&arguments);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let mut files: Vec<_> = fs::read_dir(&out.0).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort_unstable();
    assert_eq!(files, ["fig11c-samples.csv", "fig11c.csv", "fig11c.pdf", "fig11c.tikz"]);
    let read = |name: &str| fs::read(out.0.join(name)).unwrap();
    assert!(read("fig11c.pdf").starts_with(b"%PDF-1.4"));
    assert!(String::from_utf8(read("fig11c.tikz")).unwrap().contains("\\begin{tikzpicture}"));
    let samples = String::from_utf8(read("fig11c-samples.csv")).unwrap();
    assert_eq!(samples.lines().next(), Some("call,rlc_buffer_octets,time_s,rtt_ms"));
    for buffer in [250_000, 500_000, 1_000_000, 2_000_000] {
        let of = |call: &str| samples.lines().filter(|line| line.starts_with(&format!("{call},{buffer},"))).count();
        // a packet each 20 ms: 5 s alone, then 2.75 s
        assert!(of("alone") > 200 && of("without control") > 90 && of("with the xApp") > 90, "{buffer}");
    }
    assert!(outcome.stdout.contains("over the RLC buffer: "), "{}", outcome.stdout);
    run(&["fig11c", "--format", "png"]).complains(2, &["invalid value 'png'", "svg, pdf, csv, tikz"]);
}

#[test]
fn fig13a_has_the_throughput_of_each_ue() {
    let report = figure_of("fig13a", "0.4");
    let times = column(&report, "time_s");
    assert_eq!(times.len(), 50);
    assert!(times.is_sorted() && (times[49] - 9.9).abs() < 1e-9, "{times:?}");
    assert!(column(&report, "ue_1_mbps").iter().all(|mbps| *mbps > 5.0), "{report}");
    let rows = report["values"].as_array().unwrap();
    assert!(rows[5]["ue_3_mbps"].is_null() && rows[15]["ue_3_mbps"].as_f64().unwrap() > 5.0, "{report}");
    assert!(rows[35]["ue_4_mbps"].is_null() && rows[49]["ue_4_mbps"].as_f64().unwrap() > 1.0, "{report}");
    let share = column(&report, "ue_1_share_percent");
    assert!((share[27] - 50.0).abs() < 5.0 && (share[37] - 66.0).abs() < 5.0, "{report}");
    assert_eq!(report["holds"], true, "{report}");
}

#[test]
fn fig13b_compares_sharing_with_isolation() {
    let report = figure_of("fig13b", "0.4");
    let idle = |name: &str| column(&report, name)[15];
    assert!(idle("gray_sharing_mbps") > 1.3 * idle("gray_alone_mbps"), "{report}");
    assert!(idle("black_sharing_mbps") < 2.0 && idle("black_alone_mbps") < 2.0, "{report}");
    assert_eq!(report["holds"], true, "{report}");
}

/// What a report states and does not hold.
fn refuted(report: &Value) -> Vec<&str> {
    let statements = report["statements"].as_array().unwrap();
    assert!(statements.iter().all(|statement| statement["holds"].is_boolean()), "{report}");
    let refuted = statements.iter().filter(|statement| statement["holds"] == false);
    refuted.map(|statement| statement["says"].as_str().unwrap()).collect()
}

/// The throughput of operators in the second half of a phase, which the figure evaluates.
fn of_phase(report: &Value, phase: usize, name: &str) -> f64 {
    let all = column(report, name);
    let steps = all.len() / 4;
    let settled = &all[(phase - 1) * steps + steps / 2..phase * steps];
    settled.iter().sum::<f64>() / settled.len() as f64
}

/// The shortest phases: 20 steps each. The model waits for the controllers.
#[test]
fn fig15a_isolates_the_operators_and_loses_what_is_unused() {
    let report = figure("fig15a");
    assert_eq!(column(&report, "phase"), [1.0, 2.0, 3.0, 4.0].map(|phase| [phase; 20]).concat());
    assert_eq!((refuted(&report), &report["holds"]), (Vec::new(), &Value::Bool(true)), "{report}");
    assert_eq!(report["statements"].as_array().unwrap().len(), 7);
    let [full, idle] = [1, 4].map(|phase| of_phase(&report, phase, "a_mbps"));
    assert!(full > 5.0 && (idle / full - 1.0).abs() < 0.02, "{report}");
}

/// All statements hold but one: the paper does not say how its sub-slices came to equal parts of what is unused, here they get it in
/// the ratio of their shares.
#[test]
fn fig15b_lets_an_operator_use_what_the_other_one_leaves() {
    let report = figure("fig15b");
    let refuted = refuted(&report);
    assert!(matches!(refuted[..], [says] if says.contains("shared equally between the two sub-slices")), "{report}");
    assert_eq!(report["holds"], false);
    assert_eq!(report["statements"].as_array().unwrap().len(), 8);
    let gain = |name: &str| of_phase(&report, 4, name) - of_phase(&report, 3, name);
    let of_first = gain("a_ue_1_mbps") / gain("a_mbps");
    assert!((of_first - 0.66).abs() < 0.02, "{of_first}: {report}");
}

/// Half a minute of the model: the shortest run in which combined requests have settled.
#[test]
fn conflicts_have_a_run_with_each_policy_and_the_claim_holds() {
    let report = figure_of("conflicts", "2");
    let rows = report["values"].as_array().unwrap();
    let policies: Vec<_> = rows.iter().map(|row| row["policy"].as_str().unwrap()).collect();
    assert_eq!(policies.len(), 7, "{policies:?}");
    assert_eq!((refuted(&report), &report["holds"]), (Vec::new(), &Value::Bool(true)), "{report}");
    assert_eq!(report["statements"].as_array().unwrap().len(), 5);
    // each xApp asks every second
    for name in ["throughput", "delay"] {
        let counts = |what: &str| column(&report, &format!("{name}_{what}"));
        let asked = counts("set").into_iter().zip(counts("refused")).map(|(set, refused)| set + refused);
        assert_eq!(asked.collect::<Vec<_>>(), [30.0; 7], "{report}");
    }
}

/// A short experiment with two seeds: the files, and a row for each run.
#[test]
fn experiment_compares_runs_with_and_without_its_xapp() {
    for name in ["load-balancing", "traffic-steering"] {
        let out = Directory::new(name);
        let outcome = run(&[name, "--json", "--seconds", "0.14", "--seeds", "2", "--out", out.name()]);
        assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
        let report = checked(&outcome, name, &out);
        let rows = report["values"].as_array().unwrap();
        let runs: Vec<_> = rows.iter().map(|row| row["run"].as_str().unwrap()).collect();
        assert_eq!(runs, ["without xApp", "with xApp", "without xApp", "with xApp"]);
        assert!(column(&report, "mean_mbps").iter().all(|mbps| *mbps > 0.1), "{report}");
        let course = fs::read_to_string(out.0.join(format!("{name}-course.csv"))).unwrap();
        assert_eq!(course.lines().next(), Some("seed,run,time_s,cell,load_percent,ues,power_w"));
        // two steps of two seconds in seven cells, four of one second in 21
        let steps = if name == "load-balancing" { 2 * 7 } else { 4 * 21 };
        assert_eq!(course.lines().count(), 1 + 4 * steps);
        assert!(out.0.join(format!("{name}-samples.csv")).exists());
    }
}

/// The model waits for the controllers on any machine.
#[test]
fn figure_of_the_emulated_ran_is_reproducible() {
    for name in ["fig11b", "fig13a"] {
        let again = || {
            let name = name.to_owned();
            std::thread::spawn(move || figure_of_in(&name, "0.1", &format!("{name}-{:?}", std::thread::current().id())))
        };
        let [one, other] = [again(), again()].map(|figure| figure.join().unwrap());
        assert_eq!(one, other);
    }
}

#[test]
fn failed_peer_does_not_affect_other_columns() {
    let any = "tcp://127.0.0.1:0";
    // a RIC whose apps subscribe to nothing
    let mut ric = Program::start(&ferric(), &["ric", "--e2", any, "--xapp", any]);
    let peer = format!("other={},pid={}", ric.line("e2="), ric.id());
    let out = Directory::new("peers");
    let arguments = ["fig8a", "--json", "--seconds", "0.1", "--out", out.name()];
    let outcome = run(&[&arguments[..], &["--peer", &peer, "--peer", "gone=tcp://127.0.0.1:1"]].concat());
    outcome.complains(1, &["gone at tcp://127.0.0.1:1: accepted the setup of 0 of 1 agents", "ferric doctor --ric"]);
    let report = checked(&outcome, "fig8a", &out);
    assert_eq!(column(&report, "agents").len(), 5);
    for name in ["cpu_percent", "rss_mib", "decoding_cpu_percent", "reports_per_s", "other_rss_mib"] {
        assert!(column(&report, name).iter().all(|value| *value > 0.0), "{name}: {report}");
    }
    assert!(column(&report, "other_reports_per_s").iter().all(|reports| *reports == 0.0));
    for row in report["values"].as_array().unwrap() {
        assert!(row["gone_cpu_percent"].is_null() && row["gone_reports_per_s"].is_null(), "{row}");
    }
    let notes = report["notes"].to_string();
    for piece in [
        "other accepted the setups and subscribed to nothing",
        "142 (MAC), 143 (RLC) and 144 (PDCP)",
        "--encoding plain",
    ] {
        assert!(notes.contains(piece), "{piece}: {notes}");
    }
    assert_eq!(report["holds"], Value::Null, "there is no other controller to compare with");
}

#[test]
fn peer_that_subscribes_is_compared() {
    // our own controller as the peer
    let part = r#"{"controller":{"encoding":"flat","period_ms":1,"decodes":false}}"#;
    let mut controller = Program::start_with_input(FERRIC_PAPER, &["part", part]);
    let (url, out) = (controller.line("e2="), Directory::new("compared"));
    let (peer, nobody) = (format!("same={url},pid={}", controller.id()), format!("nobody={url},pid={}", u32::MAX));
    let arguments = ["fig9b", "--json", "--seconds", "0.1", "--out", out.name()];
    let outcome = run(&[&arguments[..], &["--peer", &peer, "--peer", &nobody]].concat());
    outcome.complains(1, &["nobody at ", "cannot read the accounts of process 4294967295"]);
    let report = checked(&outcome, "fig9b", &out);
    let rows = report["values"].as_array().unwrap();
    let same = rows.iter().find(|row| row["controller"] == "same").unwrap();
    assert!(same["reports_per_s"].as_f64().unwrap() > 0.0 && same["cpu_percent"].as_f64().unwrap() > 0.0, "{same}");
    assert!(same["rss_mib"].as_f64().unwrap() > 0.0, "{same}");
    // on a busy host there are too few reports for a comparison
    assert_ne!(report["holds"], true, "nobody takes a sixth of what it takes itself");
}

#[test]
fn peer_reads_the_models_in_the_encoding_of_its_apps() {
    // our own controller as the peer, E2AP in PER as FlexRIC's
    let part = r#"{"controller":{"encoding":"per","period_ms":1,"decodes":true}}"#;
    let mut controller = Program::start_with_input(FERRIC_PAPER, &["part", part]);
    let (url, out) = (controller.line("e2="), Directory::new("plain"));
    let peer = format!("same={url},pid={}", controller.id());
    let arguments =
        ["fig9b", "--json", "--seconds", "0.1", "--encoding", "plain", "--peer-wait", "5", "--out", out.name()];
    let outcome = run(&[&arguments[..], &["--peer", &peer]].concat());
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    for piece in ["fig9b, peer same: ", "RAN functions 142 (MAC)", "within 5 s", "FlexRIC's plain layout"] {
        assert!(outcome.stderr.contains(piece), "{piece}: {}", outcome.stderr);
    }
    let report = checked(&outcome, "fig9b", &out);
    let rows = report["values"].as_array().unwrap();
    for name in ["same", "ferric, internal app"] {
        let row = rows.iter().find(|row| row["controller"] == name).unwrap();
        assert!(row["reports_per_s"].as_f64().unwrap() > 0.0, "{row}");
    }
}

#[test]
fn impossible_request_fails_before_the_measurement() {
    let peers = ["--peer", "a=tcp://127.0.0.1:1", "--peer", "a=tcp://127.0.0.1:2"];
    run(&[&["fig8a"][..], &peers].concat()).complains(1, &["two peers have the name a"]);
    run(&[&["fig7a"][..], &peers[..2]].concat()).complains(1, &["8a, 8b and 9b"]);
    run(&["load-balancing", "--live"]).complains(1, &["load-balancing has no live mode"]);
    run(&["fig7a", "--live"]).complains(1, &["fig7a has no live mode", "11a, 11b, 11c, 13a and 13b"]);
    run(&["fig8a", "--out", "/dev/null/paper"]).complains(1, &["cannot create /dev/null/paper"]);
    // the directory exists, and no file can be created in it
    run(&["fig8a", "--out", "/proc/self"]).complains(1, &["cannot write to /proc/self"]);
    run(&["fig12"]).complains(2, &["invalid value 'fig12'", "fig13a"]);
}

#[test]
fn wrong_arguments_are_refused_with_a_hint() {
    for (arguments, hint) in [
        (&[][..], "FIGURE"),
        (&["fig10"], "fig8a"),
        (&["fig8a", "--seconds", "0"], "0.1 to 60"),
        (&["load-balancing", "--seeds", "0"], "1..=100"),
        (&["fig8a", "--peer", "tcp://127.0.0.1:1"], "NAME=URL"),
        (&["fig8a", "--peer", "a=tcp+cbor://127.0.0.1:1"], "flat"),
        (&["fig8a", "--peer", "a=tcp://127.0.0.1:1,pid=one"], "process id"),
    ] {
        run(arguments).complains(2, &[hint]);
    }
    let help = run(&["--help"]);
    for option in [
        "fig8a",
        "all",
        "--out",
        "--json",
        "--seconds",
        "--peer",
        "NAME=URL[,pid=N]",
        "--live",
        "--encoding",
        "--peer-wait",
        "--format",
        "model-check",
        "rnis-fig5",
        "rnis-rate",
    ] {
        assert!(help.stdout.contains(option), "{option}: {}", help.stdout);
    }
}

/// The processes whose parent this is.
fn children(parent: u32) -> Vec<PathBuf> {
    let of_parent = |path: &PathBuf| {
        let stat = fs::read_to_string(path.join("stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.split_whitespace().nth(1) == Some(&parent.to_string()))
    };
    fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).filter(of_parent).collect()
}

#[test]
fn sigterm_ends_the_measured_processes_too() {
    ferric();
    let out = Directory::new("sigterm");
    let measuring = Program::start(FERRIC_PAPER, &["fig8a", "--seconds", "60", "--out", out.name()]);
    let begin = Instant::now();
    let mut measured = Vec::new();
    while measured.is_empty() {
        assert!(begin.elapsed() < PATIENCE, "no process is measured");
        std::thread::sleep(Duration::from_millis(20));
        measured = children(measuring.id());
    }
    measuring.signal(Signal::TERM);
    assert_eq!(measuring.end().code(), Some(128 + 15));
    let begin = Instant::now();
    while let Some(left) = measured.iter().find(|process| process.exists()) {
        assert!(begin.elapsed() < PATIENCE, "{} still runs", left.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// With `crates/edge/rnis/brokers/run`: RabbitMQ and Kafka in both topologies, and the embedded broker.
#[test]
fn rnis_figures_compare_the_brokers_where_they_are_there() {
    let _rnis = sibling(FERRIC_PAPER, "ferric-rnis", "ferric-rnis-cli");
    if !testkit::brokers_are_available() {
        println!("NOT TESTED: figures of brokers (crates/edge/rnis/brokers/run has RabbitMQ and Kafka)");
        run(&["rnis-fig6", "--seconds", "0.1"]).complains(1, &["rnis-fig6", "crates/edge/rnis/brokers/run COMMAND"]);
        return;
    }
    let report = figure_of("rnis-fig6", "1");
    let rows = report["values"].as_array().unwrap();
    let name = |row: &Value| format!("{} {}", row["broker"].as_str().unwrap(), row["topology"].as_str().unwrap());
    assert_eq!(
        rows.iter().map(name).collect::<Vec<_>>(),
        ["embedded in process", "rabbitmq shared", "rabbitmq subscriber", "kafka shared", "kafka subscriber"]
    );
    for name in ["messages", "min_ms", "mean_ms", "deviation_ms"] {
        assert!(column(&report, name).iter().all(|value| *value > 0.0), "{name}: {report}");
    }
    assert_eq!(column(&report, "lost"), [0.0; 5], "{report}");
    assert_eq!(report["statements"].as_array().unwrap().len(), 1);
    assert!(report["holds"].is_boolean());
}
