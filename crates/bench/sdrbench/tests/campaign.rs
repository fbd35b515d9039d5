//! Runs against a controller of this process.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ferric::e2::Indication;
use ferric::link;
use ferric::server::{Iapp, IappContext, IappEvent, IappWaker, Server, ServerConfig};
use sdrbench::campaign::{self, ApplicationAccess, Observer, Options};
use sdrbench::report::Report;
use sdrbench::report::compare::Comparison;
use sdrbench::scenario::Scenario;

/// How long the controller is stalled.
const STALL: Duration = Duration::from_millis(600);

/// An internal app that blocks the controller when it is woken.
struct Stalling;

impl Iapp for Stalling {
    fn name(&self) -> &str {
        "stalling"
    }

    fn on_event(&mut self, _: &IappEvent<'_>, _: &mut IappContext<'_>) {}

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}

    fn on_wake(&mut self, _: &mut IappContext<'_>) {
        std::thread::sleep(STALL);
    }
}

/// Stalls the controller in the middle of each repetition.
struct Staller(Option<IappWaker>);

impl Observer for Staller {
    fn progress(&mut self, line: &str, _: f64) {
        if let (true, Some(waker)) = (line.contains("repetition"), self.0.clone()) {
            std::thread::spawn(move || {
                // a repetition begins at the next second, and lasts for two
                std::thread::sleep(Duration::from_millis(1500));
                waker.wake();
            });
        }
    }

    fn measured(&mut self, _: &Report) {}
}

const SCENARIO: &str = "
    warm_up_s = 0.2
    duration_s = 3
    repetitions = 2
    max_lateness_ms = 60000
    [agents]
    count = [4, 8]
    period_ms = 10
    probes_per_s = 2
";

fn run(is_stalled: bool) -> Report {
    let mut server = Server::bind(ServerConfig {
        e2: vec!["tcp://127.0.0.1:0".parse().unwrap()],
        xapp: Some("tcp://127.0.0.1:0".parse().unwrap()),
        ..ServerConfig::default()
    })
    .unwrap();
    server.add_iapp(Box::new(Stalling));
    let target = server.e2_endpoints().next().unwrap();
    let xapp = server.xapp_address().unwrap().clone();
    let (stop, waker) = (server.stop_handle(), server.iapp_waker().unwrap());
    let controller = std::thread::spawn(move || server.run());
    let options = Options {
        target,
        applications: ApplicationAccess::Ferric(xapp),
        processes: vec![std::process::id()],
        threads: 1,
        link: link::Config::default(),
        measured: Vec::new(),
    };
    let scenario = Scenario::from_toml("test", SCENARIO).unwrap();
    let mut staller = Staller(is_stalled.then_some(waker));
    let report = campaign::run(&scenario, &options, &AtomicBool::new(false), &mut staller).unwrap();
    stop.stop();
    controller.join().unwrap().unwrap();
    report
}

#[test]
fn stall_of_the_controller_counts_for_every_report_that_was_planned_meanwhile() {
    let report = run(true);
    assert!(report.complete && report.valid, "{:?}", report.why_invalid);
    for step in &report.steps {
        assert_eq!(step.agents_up, u64::from(step.agents));
        assert_eq!(step.lost, 0);
        assert_eq!((step.duplicated, step.reordered), (0, 0));
        // half of 600 ms of 3 s: at least 8 % of the reports waited for 200 ms, however few of them were in flight when it began
        let latency = step.histograms.indication_ns.histogram();
        let slow = latency.len() - latency.count_between(0, 200_000_000);
        assert!(slow as f64 > 0.08 * latency.len() as f64, "{slow} of {}", latency.len());
        assert!(step.indication_us.p99.unwrap() > 400_000.0, "{:?}", step.indication_us);
        let expected = f64::from(step.agents) * 100.0;
        assert!((step.offered_per_s.mean / expected - 1.0).abs() < 0.02, "{:?}", step.offered_per_s);
        assert!(step.fairness.unwrap() > 0.99);
        assert!(step.setup_ms.count > 0 && step.cpu_us_per_message.is_some());
    }
    let schema_path = Path::new(env!("CARGO_MANIFEST_DIR")).join("report.schema.json");
    let document: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    let schema = serde_json::from_str(&std::fs::read_to_string(schema_path).unwrap()).unwrap();
    assert_eq!(testkit::schema::fault(&document, &schema, &schema, ""), None);
    let read: Report = serde_json::from_value(document).unwrap();
    assert_eq!(read.steps.len(), 2);
    let same = Comparison::of(&report, &read);
    assert!(same.rows.len() > 4 && same.rows.iter().all(|row| row.differs != Some(true)), "{same}");
    let mut both = report.clone();
    both.merge(&read).unwrap();
    assert_eq!(both.indication_us.count, 2 * report.indication_us.count);
    assert_eq!(both.indication_us.p999, report.indication_us.p999, "twice the same values have the same percentiles");
    let page = report.html();
    assert!(page.contains("<svg") && !page.contains("http://127") && !page.contains("<script"), "self-contained");
}

#[test]
fn schema_in_the_repository_is_that_of_the_report() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("report.schema.json");
    let text = serde_json::to_string_pretty(&Report::schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), text, "write it with UPDATE_SCHEMA=1, and increment `SCHEMA`");
}

#[test]
fn stopped_run_has_a_report_that_is_not_complete() {
    let scenario = Scenario::from_toml("test", SCENARIO).unwrap();
    let options = Options {
        target: "tcp://127.0.0.1:1".parse().unwrap(),
        applications: ApplicationAccess::None,
        processes: Vec::new(),
        threads: 1,
        link: link::Config::default(),
        measured: Vec::new(),
    };
    let stop = AtomicBool::new(true);
    let report = campaign::run(&scenario, &options, &stop, &mut Staller(None)).unwrap();
    assert!(!report.complete && !report.valid && report.steps.is_empty());
    assert!(stop.load(Ordering::Relaxed));
}
