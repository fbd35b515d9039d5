//! Runs against a controller of this process.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use e2ap::e42::E42Version;
use ferric::e2::Indication;
use ferric::link;
use ferric::server::{E42Config, Iapp, IappContext, IappEvent, IappWaker, Server, ServerConfig};
use oran::messaging::{MessagingConfig, MessagingSetup};
use rest::client::ClientConfig;
use sdrbench::campaign::{self, ApplicationAccess, Observer, Options, OranAccess};
use sdrbench::report::Report;
use sdrbench::report::compare::Comparison;
use sdrbench::scenario::Scenario;

/// How long the controller is stalled.
const STALL: Duration = Duration::from_millis(600);

/// An internal app that blocks the controller when it is told to; others are woken as well.
struct Stalling(Arc<AtomicBool>);

impl Iapp for Stalling {
    fn name(&self) -> &str {
        "stalling"
    }

    fn on_event(&mut self, _: &IappEvent<'_>, _: &mut IappContext<'_>) {}

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}

    fn on_wake(&mut self, _: &mut IappContext<'_>) {
        if self.0.swap(false, Ordering::AcqRel) {
            std::thread::sleep(STALL);
        }
    }
}

/// Stalls the controller in the middle of each repetition.
struct Staller(Option<(Arc<AtomicBool>, IappWaker)>);

impl Observer for Staller {
    fn progress(&mut self, line: &str, _: f64) {
        if let (true, Some((stalls, waker))) = (line.contains("repetition"), self.0.clone()) {
            std::thread::spawn(move || {
                // a repetition begins at the next second, and lasts for two
                std::thread::sleep(Duration::from_millis(1500));
                stalls.store(true, Ordering::Release);
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

/// The interface of the applications.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Interface {
    Ferric,
    E42(E42Version),
    Oran,
}

/// An address with a free port.
fn any<T: std::str::FromStr<Err: std::fmt::Debug>>() -> T {
    "tcp://127.0.0.1:0".parse().unwrap()
}

fn run(text: &str, interface: Interface, is_stalled: bool) -> Report {
    let e42 = match interface {
        Interface::Ferric | Interface::Oran => None,
        Interface::E42(version) => Some(E42Config {
            addresses: vec!["e42+tcp://127.0.0.1:0".parse().unwrap()],
            version,
            ..E42Config::default()
        }),
    };
    let config = ServerConfig { e2: vec![any()], xapp: Some(any()), e42, ..ServerConfig::default() };
    let messaging = MessagingConfig {
        address: "tcp://127.0.0.1:0".parse().unwrap(),
        routes: Vec::new(),
        rights: None,
        audit: None,
    };
    let messaging = (interface == Interface::Oran).then(|| MessagingSetup::new(messaging, &config));
    let mut server = Server::bind(config).unwrap();
    // the REST interfaces of the platform
    let platform = messaging.map(|setup| {
        let messaging = setup.add_to(&mut server).unwrap();
        let mut routes = oran::e2_manager::add_to(&mut server, None).unwrap();
        routes.extend(oran::subscription::routes(&messaging));
        let rest = rest::Server::start(rest::ServerConfig::new("127.0.0.1:0".parse().unwrap()), routes).unwrap();
        (messaging, rest)
    });
    let stalls = Arc::new(AtomicBool::new(false));
    server.add_iapp(Box::new(Stalling(Arc::clone(&stalls))));
    let target = server.e2_endpoints().next().unwrap();
    let applications = match interface {
        Interface::Ferric => ApplicationAccess::Ferric(server.xapp_address().unwrap().clone()),
        Interface::E42(version) => ApplicationAccess::E42(server.e42_addresses().next().unwrap().clone(), version),
        Interface::Oran => {
            let (messaging, rest) = platform.as_ref().unwrap();
            let client = || ClientConfig::new(&rest.url());
            let (rmr, host) = (messaging.address().clone(), "127.0.0.1".parse().unwrap());
            ApplicationAccess::Oran(Box::new(OranAccess { subscriptions: client(), nodes: client(), rmr, host }))
        }
    };
    let (stop, waker) = (server.stop_handle(), server.iapp_waker().unwrap());
    let controller = std::thread::spawn(move || server.run());
    let options = Options {
        target,
        applications,
        rest: None,
        processes: vec![std::process::id()],
        threads: 1,
        cpus: Vec::new(),
        xapp_cpus: Vec::new(),
        link: link::Config::default(),
        measured: Vec::new(),
    };
    let scenario = Scenario::from_toml("test", text).unwrap();
    let mut staller = Staller(is_stalled.then_some((stalls, waker)));
    let report = campaign::run(&scenario, &options, &AtomicBool::new(false), &mut staller).unwrap();
    stop.stop();
    controller.join().unwrap().unwrap();
    report
}

#[test]
fn stall_of_the_controller_counts_for_every_report_that_was_planned_meanwhile() {
    let report = run(SCENARIO, Interface::Ferric, true);
    assert!(report.complete && report.valid, "{:?}", report.why_invalid);
    for step in &report.steps {
        assert_eq!(step.agents_up, u64::from(step.agents));
        assert_eq!(step.lost, 0);
        assert_eq!((step.duplicated, step.reordered), (0, 0));
        // half of 600 ms of 3 s: at least 8 % of the reports waited for 200 ms, however few of them were in flight when it began
        let latency = step.histograms.indication_ns.histogram();
        let slow = latency.len() - latency.count_between(0, 200_000_000);
        assert!(slow as f64 > 0.08 * latency.len() as f64, "{slow} of {}", latency.len());
        let delay = step.indication_us;
        assert!(delay.p99.unwrap() > 400_000.0 && delay.p999.unwrap() > 500_000.0, "{delay:?}");
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

// the last step has fewer agents than the one before: nodes come and go
const REQUESTS: &str = "
    warm_up_s = 0.2
    duration_s = 1.5
    repetitions = 1
    max_lateness_ms = 60000
    [agents]
    count = [6, 2]
    first = 1001
    period_ms = 20
    probes_per_s = 2
    [applications]
    count = 2
    slices_per_s = 40
    tenants = 3
    resubscriptions_per_s = 5
";

#[test]
fn xapps_over_each_interface_receive_reports_and_are_answered() {
    let interfaces =
        [Interface::Ferric, Interface::E42(E42Version::V2), Interface::E42(E42Version::V3), Interface::Oran];
    // a subscription by REST takes several requests: reports are missing for longer
    let fewer = REQUESTS.replace("resubscriptions_per_s = 5", "resubscriptions_per_s = 2");
    let reports = interfaces.map(|interface| {
        let text = if interface == Interface::Oran { fewer.clone() } else { REQUESTS.to_owned() };
        std::thread::spawn(move || run(&text, interface, false))
    });
    for (interface, report) in interfaces.into_iter().zip(reports) {
        let (loss, subscriptions) = if interface == Interface::Oran { (0.4, 1) } else { (0.2, 3) };
        let report = report.join().unwrap();
        assert!(report.complete && report.valid, "{interface:?}: {:?}", report.why_invalid);
        let name = match interface {
            Interface::Ferric => "xApps of ferric on".to_owned(),
            Interface::E42(version) => format!("E42 v{version} on"),
            Interface::Oran => "O-RAN subscription manager on".to_owned(),
        };
        assert!(report.target.northbound.starts_with(&name), "{}", report.target.northbound);
        assert_eq!(report.steps.len(), 2);
        for step in &report.steps {
            assert_eq!(step.agents_up, u64::from(step.agents), "{interface:?}");
            assert_eq!((step.duplicated, step.reordered, step.failed_requests), (0, 0, 0), "{interface:?}");
            let planned = step.offered_per_s.mean * 1.5;
            assert!((planned / (75.0 * f64::from(step.agents)) - 1.0).abs() < 0.2, "{interface:?}: {planned}");
            // of two applications; a report may be between the end of a subscription and the beginning of the next one
            assert!((step.lost as f64) < loss * planned, "{interface:?}: {} of {planned}", step.lost);
            assert!(step.indication_us.count > 0 && step.indication_us.p50.unwrap() > 0.0);
            // Poisson: 1.5 s of 80 requests per second, and more than that of 10 resubscriptions
            assert!((65..=180).contains(&step.control_us.count), "{interface:?}: {}", step.control_us.count);
            assert!(step.subscription_us.count >= subscriptions, "{interface:?}: {}", step.subscription_us.count);
            let tenants = step.tenants.unwrap();
            assert_eq!(tenants.count, 6, "{interface:?}");
            assert!(tenants.fairness > 0.0 && tenants.fairness <= 1.0 && tenants.slowest_us > 0.0, "{tenants:?}");
        }
    }
}

const PAUSE: &str = "
    warm_up_s = 0.2
    duration_s = 1
    repetitions = 1
    max_lateness_ms = 60000
    [agents]
    count = 10
    period_ms = 10
    slot_us = 500
    [applications]
    read_pause_us = 60000
";

#[test]
fn pause_of_an_xapp_is_part_of_the_delay_and_loses_nothing() {
    let report = run(PAUSE, Interface::Ferric, false);
    assert!(report.complete && report.valid, "{:?}", report.why_invalid);
    let step = &report.steps[0];
    assert_eq!((step.lost, step.duplicated, step.reordered), (0, 0, 0));
    // reports wait between 0 and 60 ms
    assert!(step.indication_us.p50.unwrap() > 20_000.0, "{:?}", step.indication_us);
    assert!(step.generator.applications_cpu_share > 0.0 && step.generator.applications_cpu_share < 0.9);
}

#[test]
fn knee_is_a_lower_bound_if_not_the_controller_was_measured_beyond_it() {
    // no delay is within 10 us, and no generator is as punctual
    let text = |limit_ms: &str| {
        format!(
            "warm_up_s = 0.1\nduration_s = 0.5\nrepetitions = 1\nlimit_ms = {limit_ms}\nmax_lateness_ms = 0.01\n[agents]\ncount = 1\n\
             period_ms = 10\n[knee]\nfrom = 2\nuntil = 4\n"
        )
    };
    let report = run(&text("0.01"), Interface::Ferric, false);
    let knee = report.knee.as_ref().unwrap();
    assert_eq!((knee.agents, knee.tried.len(), knee.tried[0].is_within), (None, 1, false));
    assert!(knee.is_lower_bound && !report.valid);
    let why = report.why_invalid.iter().find(|why| why.starts_with("knee, with 2 agents: ")).unwrap();
    assert!(why.contains("max_lateness_ms"), "{why}");
    assert!(report.html().contains("<h2>Knee</h2>"));
    // all are within a minute
    let report = run(&text("60000"), Interface::Ferric, false);
    let knee = report.knee.as_ref().unwrap();
    assert_eq!((knee.agents, knee.is_lower_bound), (Some(4), true));
    assert!(knee.doubtful().is_none() && knee.tried.iter().all(|load| load.achieved_per_s > 0.0), "{knee:?}");
    assert!(report.to_string().contains("knee: at least 4 agents; this is the highest load"), "{report}");
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

/// Nobody listens there.
fn no_controller() -> Options {
    Options {
        target: "tcp://127.0.0.1:1".parse().unwrap(),
        applications: ApplicationAccess::None,
        rest: None,
        processes: Vec::new(),
        threads: 1,
        cpus: Vec::new(),
        xapp_cpus: Vec::new(),
        link: link::Config::default(),
        measured: Vec::new(),
    }
}

#[test]
fn rest_clients_and_their_address_belong_together() {
    let with_clients = format!("{SCENARIO}[rest]\nclients = 1\nrequests_per_s = 1\n");
    let mut options = no_controller();
    let refused = |text: &str, options: &Options| {
        let scenario = Scenario::from_toml("test", text).unwrap();
        campaign::run(&scenario, options, &AtomicBool::new(false), &mut Staller(None)).unwrap_err().to_string()
    };
    assert!(refused(&with_clients, &options).contains("--rest"));
    options.rest = Some(ClientConfig::new("http://127.0.0.1:1"));
    assert!(refused(SCENARIO, &options).contains("no REST clients"));
}

#[test]
fn stopped_run_has_a_report_that_is_not_complete() {
    let scenario = Scenario::from_toml("test", SCENARIO).unwrap();
    let options = no_controller();
    let stop = AtomicBool::new(true);
    let report = campaign::run(&scenario, &options, &stop, &mut Staller(None)).unwrap();
    assert!(!report.complete && !report.valid && report.steps.is_empty());
    assert!(stop.load(Ordering::Relaxed));
}
