//! xApps over E42 and REST clients against `ferric ric`.

mod common;

use std::fs;

use common::Folder;
use serde_json::Value;
use testkit::program::{Program, run, sibling};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ferric-sdrbench");

struct Ric {
    _program: Program,
    e2: String,
    e42: String,
    rest: String,
}

fn start_ric(options: &[&str]) -> Ric {
    let any = "tcp://127.0.0.1:0";
    let common = ["ric", "--e2", any, "--xapp", any, "--e42", "e42+tcp://127.0.0.1:0", "--rest", "127.0.0.1:0"];
    let mut program = Program::start(&sibling(PROGRAM, "ferric", "ferric-cli"), &[&common[..], options].concat());
    let [e2, e42, rest] = ["e2=", "e42=", "rest="].map(|name| program.line(name));
    Ric { _program: program, e2, e42, rest }
}

fn measure(folder: &Folder, scenario: &str, options: &[&str]) -> Value {
    let (path, out) = (folder.path("scenario.toml"), folder.path("out"));
    fs::write(&path, scenario).unwrap();
    let common = ["run", "--quiet", "--json", "--scenario", &path, "--out", &out];
    let outcome = run(PROGRAM, &[&common, options].concat());
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap()
}

// lateness is not limited: other tests share the host
const SCENARIO: &str = "
    warm_up_s = 0.2
    duration_s = 2
    repetitions = 2
    max_lateness_ms = 60000
    [agents]
    count = 5
    period_ms = 50
";

#[test]
fn xapps_over_e42_measure_the_ric() {
    for version in ["1", "2", "3"] {
        let ric = start_ric(&["--e42-version", version]);
        let folder = Folder::new(&format!("e42-{version}"));
        let scenario = format!("{SCENARIO}[applications]\nslices_per_s = 10\nresubscriptions_per_s = 2\n");
        let options = ["--target", &ric.e2, "--xapp", &ric.e42, "--e42-version", version];
        let report = measure(&folder, &scenario, &options);
        assert_eq!(report["valid"].as_bool(), Some(true), "{}", report["why_invalid"]);
        let northbound = report["target"]["northbound"].as_str().unwrap();
        assert!(northbound.starts_with(&format!("E42 v{version} on tcp://127.0.0.1:")), "{northbound}");
        let step = &report["steps"][0];
        assert_eq!(step["agents_up"], 5);
        assert_eq!(step["failed_requests"], 0);
        for (values, least) in [("indication_us", 300), ("control_us", 15), ("subscription_us", 1)] {
            assert!(step[values]["count"].as_u64() > Some(least), "{values}: {}", step[values]);
            assert!(step[values]["p99"].as_f64() > Some(0.0), "{values}: {}", step[values]);
        }
        // two repetitions of two seconds, five agents with 20 reports per second
        assert!(step["lost"].as_u64() < Some(40), "{}", step["lost"]);
    }
}

#[test]
fn xapps_of_the_oran_reference_platform_measure_the_ric() {
    let any = "tcp://127.0.0.1:0";
    let options = ["ric", "--e2", any, "--xapp", any, "--rmr", any, "--oran-rest", "127.0.0.1:0"];
    let mut ric = Program::start(&sibling(PROGRAM, "ferric", "ferric-cli"), &options);
    let [e2, rmr, rest] = ["e2=", "rmr=", "oran-rest="].map(|name| ric.line(name));
    let folder = Folder::new("oran");
    let scenario = format!("{SCENARIO}[applications]\ncount = 2\nslices_per_s = 10\nresubscriptions_per_s = 2\n");
    let xapp = format!("oran+{rest}");
    let report = measure(&folder, &scenario, &["--target", &e2, "--xapp", &xapp, "--oran-rmr", &rmr]);
    assert_eq!(report["valid"].as_bool(), Some(true), "{}", report["why_invalid"]);
    let northbound = report["target"]["northbound"].as_str().unwrap();
    assert!(northbound.contains(&rest) && northbound.contains(&rmr), "{northbound}");
    let step = &report["steps"][0];
    assert_eq!((step["agents_up"].as_u64(), step["failed_requests"].as_u64()), (Some(5), Some(0)));
    for (values, least) in [("indication_us", 600), ("control_us", 30), ("subscription_us", 1)] {
        assert!(step[values]["count"].as_u64() > Some(least), "{values}: {}", step[values]);
    }
    // nobody listens there
    let path = folder.path("scenario.toml");
    let out = folder.path("other");
    let nobody = ["run", "--quiet", "--scenario", &path, "--target", &e2, "--xapp", "oran+http://127.0.0.1:1"];
    run(PROGRAM, &[&nobody[..], &["--oran-rmr", &rmr, "--out", &out]].concat()).complains(1, &["/v1/nodeb/states"]);
}

#[test]
fn second_core_of_the_controller_is_compared() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return println!("this host has one processor: there is nothing to compare");
    }
    let ric = start_ric(&[]);
    let folder = Folder::new("cores");
    let report =
        measure(&folder, SCENARIO, &["--target", &ric.e2, "--cores", "1,2", "--cpus", "1", "--xapp-cpus", "0-1"]);
    assert_eq!(report["valid"].as_bool(), Some(true), "{}", report["why_invalid"]);
    assert_eq!(report["steps"].as_array().unwrap().len(), 2);
    let [compared] = report["over_cores"].as_array().unwrap().as_slice() else { panic!("{}", report["over_cores"]) };
    assert_eq!([&compared["agents"], &compared["fewest_cores"], &compared["cores"]], [5, 1, 2]);
    assert!(compared["cpu_ratio"]["mean"].as_f64() > Some(0.0), "{compared}");
    assert!(fs::read_to_string(folder.0.join("out/report.html")).unwrap().contains("with 2 cores as with 1"));
    let mistakes = |options: &[&str]| {
        let out = folder.path("mistake");
        let common = ["run", "--quiet", "--target", &ric.e2, "--out", &out];
        run(PROGRAM, &[&common, options].concat())
    };
    mistakes(&["--cpus", "2-1"]).complains(2, &["1,3-5"]);
    mistakes(&["--cpus", "1024"]).complains(2, &["below 1024"]);
    mistakes(&["--xapp-cpus", "1023"]).complains(1, &["processor 1023"]);
}

#[test]
fn target_without_e42_is_named() {
    let ric = start_ric(&[]);
    let folder = Folder::new("no-e42");
    let path = folder.path("scenario.toml");
    fs::write(&path, SCENARIO).unwrap();
    let with = |xapp: &str| {
        let out = folder.path("out");
        run(PROGRAM, &["run", "--quiet", "--scenario", &path, "--target", &ric.e2, "--xapp", xapp, "--out", &out])
    };
    with("e42+tcp://127.0.0.1:1").complains(1, &["E42 setup with tcp://127.0.0.1:1", "refused"]);
    // for E2 nodes
    with(&format!("e42+{}", ric.e2)).complains(1, &["E42 setup", &ric.e2]);
    with("e42+http://127.0.0.1").complains(2, &["--xapp"]);
}

#[test]
fn rest_clients_load_the_ric_beside_the_agents() {
    let ric = start_ric(&[]);
    let folder = Folder::new("rest");
    let scenario = format!("{SCENARIO}[rest]\nclients = 3\nrequests_per_s = 20\n");
    let report = measure(&folder, &scenario, &["--target", &ric.e2, "--rest", &ric.rest]);
    assert_eq!(report["valid"].as_bool(), Some(true), "{}", report["why_invalid"]);
    assert_eq!(report["target"]["rest"].as_str(), Some(ric.rest.as_str()));
    let step = &report["steps"][0];
    assert_eq!(step["lost"], 0);
    let rest = &step["rest"];
    // Poisson: 4 s of 60 requests per second
    let requests = rest["requests"].as_u64().unwrap();
    assert!((150..=330).contains(&requests), "{rest}");
    assert_eq!((rest["failed"].as_u64(), rest["failure"].is_null()), (Some(0), true), "{rest}");
    assert_eq!(rest["latency_us"]["count"].as_u64(), Some(requests));
    assert!(rest["latency_us"]["p50"].as_f64() > Some(0.0), "{rest}");
    assert_eq!(rest["offered_per_s"], rest["achieved_per_s"]);
    let read = |name: &str| fs::read_to_string(folder.0.join("out").join(name)).unwrap();
    let (html, csv) = (read("report.html"), read("steps.csv"));
    assert!(html.contains("REST request") && html.contains("Delay of REST requests"));
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (names, cells) = (lines.next().unwrap(), lines.next().unwrap());
    assert_eq!(names.len(), cells.len());
    let at = names.iter().position(|name| *name == "rest_requests").unwrap();
    assert_eq!(cells[at], requests.to_string());
}

#[test]
fn refused_rest_requests_are_counted_with_a_reason() {
    let ric = start_ric(&[]);
    let folder = Folder::new("rest-refused");
    let scenario = format!(
        "{SCENARIO}[rest]\nclients = 2\nrequests_per_s = 10\narrivals = \"fixed\"\npaths = [\"/v1/nothing\"]\n"
    );
    let report = measure(&folder, &scenario, &["--target", &ric.e2, "--rest", &ric.rest]);
    let rest = &report["steps"][0]["rest"];
    assert_eq!((rest["requests"].as_u64(), rest["failed"].as_u64()), (Some(80), Some(80)), "{rest}");
    let failure = rest["failure"].as_str().unwrap();
    assert!(failure.contains("GET /v1/nothing: status 404"), "{failure}");
    assert_eq!(report["valid"].as_bool(), Some(true), "the controller was measured: {}", report["why_invalid"]);
    // nobody listens there
    let folder = Folder::new("rest-nobody");
    let report = measure(&folder, &scenario, &["--target", &ric.e2, "--rest", "http://127.0.0.1:1"]);
    let rest = &report["steps"][0]["rest"];
    assert_eq!(rest["failed"], rest["requests"], "{rest}");
    assert!(rest["failure"].as_str().unwrap().contains("no response"), "{rest}");
}

#[test]
fn mistakes_of_rest_options_are_explained() {
    let folder = Folder::new("rest-mistakes");
    let out = folder.path("out");
    let with = |scenario: &str, options: &[&str]| {
        let common = ["run", "--quiet", "--scenario", scenario, "--target", "tcp://127.0.0.1:1", "--out", &out];
        run(PROGRAM, &[&common, options].concat())
    };
    with("rest", &[]).complains(1, &["--rest"]);
    with("smoke", &["--rest", "http://127.0.0.1:1"]).complains(1, &["no REST clients"]);
    with("rest", &["--rest", "127.0.0.1:8080"]).complains(2, &["http://HOST:PORT"]);
    with("rest", &["--rest-token", "token"]).complains(2, &["--rest"]);
}
