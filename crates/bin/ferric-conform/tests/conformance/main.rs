//! ferric's own RIC and emulated RAN pass; a peer with one defect fails the check that is about it.

mod driver;
mod node_defects;
mod program;
mod proxy;
mod ric_defects;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use conform::report::Report;
use conform::{Config, Outcome, Target, Timeouts};
use e2ap::Version;
use ferric::link::Address;
use ran::{RanConfig, Scenario};
use system_tests::{TestRan, TestRic};

use driver::{Driver, driven_ric};

/// Long enough for a loaded host: no check of a sound peer waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the address of a Unix socket that no other test uses.
pub fn socket(what: &str) -> Address {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("ferric-conform-{}-{number}-{what}", std::process::id());
    Address::Unix(std::env::temp_dir().join(name))
}

/// A folder for one test; removed when dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Creates it.
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ferric-conform-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The checks of a report with another outcome than pass, as lines.
pub fn others(report: &Report) -> Vec<String> {
    report.checks.iter().filter(|check| check.outcome != Outcome::Pass).map(|check| check.line()).collect()
}

/// An emulated base station with two UEs that connects to this address.
pub fn station(ric: &Address, version: Version) -> TestRan {
    let scenario = Scenario::with_mixed_traffic(1, 2, 1);
    TestRan::start(ric, RanConfig { scenario, e2ap_version: version, ..RanConfig::default() })
}

fn all_checks(config: &Config, driver: &mut Driver) -> Report {
    conform::run(config, driver, &mut |_: &_, _| (), None).unwrap()
}

#[test]
fn ric_passes_every_check_in_each_version() {
    let (ric, mut driver) = driven_ric();
    let mut config = Config::new(Target::Ric(ric.e2.clone()));
    config.versions = Version::ALL.to_vec();
    config.hostile = true;
    config.timeouts = Timeouts { answer: PATIENCE, action: PATIENCE, silence: PATIENCE, connect: PATIENCE };
    let folder = Folder::new("ric");
    config.recordings = Some(folder.0.clone());
    let report = all_checks(&config, &mut driver);
    assert_eq!(others(&report), Vec::<String>::new());
    for version in Version::ALL {
        let ran = report.checks.iter().filter(|check| check.version == version.to_string()).count();
        let known = conform::node::checks().iter().filter(|check| check.is_in(version)).count();
        assert_eq!(ran, known, "E2AP {version}");
    }
    for check in &report.checks {
        let file = folder.0.join(check.recording.as_deref().unwrap());
        assert!(std::fs::metadata(&file).unwrap().len() > 0, "{}", file.display());
        assert_eq!(check.unrecorded, 0, "{}", check.id);
    }
}

/// What an emulated base station does not do by itself, and what needs a content that is not given.
const NOT_OFFERED: [&str; 7] = [
    "control",
    "control-no-ack",
    "insert",
    "delete-required",
    "modification-required",
    "reset-by-node",
    "configuration-update",
];

#[test]
fn emulated_ran_passes_in_each_version() {
    for version in Version::ALL {
        let address = socket("ran");
        let mut config = Config::new(Target::Node(address.clone()));
        config.versions = vec![version];
        config.hostile = true;
        let timeouts = Timeouts { answer: PATIENCE, action: PATIENCE, silence: PATIENCE, connect: PATIENCE };
        config.timeouts = timeouts;
        config.only = conform::ric::checks()
            .iter()
            .map(|check| check.id.to_owned())
            .filter(|id| !NOT_OFFERED.contains(&id.as_str()) && id != "setup-unanswered")
            .collect();
        let ran = station(&address, version);
        let report = conform::run(&config, &mut conform::NoStimulus, &mut |_: &_, _| (), None).unwrap();
        assert_eq!(others(&report), Vec::<String>::new(), "E2AP {version}");
        assert!(report.passed > 25, "E2AP {version}: {}", report.passed);
        drop(ran);
        // what it does not offer is not a failure
        let ran = station(&address, version);
        config.only = NOT_OFFERED.iter().map(|id| (*id).to_owned()).chain(["setup-unanswered".to_owned()]).collect();
        config.timeouts.action = Duration::from_millis(200);
        let report = conform::run(&config, &mut conform::NoStimulus, &mut |_: &_, _| (), None).unwrap();
        assert_eq!(report.failed, 0, "E2AP {version}: {:?}", others(&report));
        drop(ran);
    }
}

#[test]
fn absent_ric_is_inconclusive() {
    let mut config = Config::new(Target::Ric(socket("absent")));
    config.hostile = true;
    let report = conform::run(&config, &mut conform::NoStimulus, &mut |_: &_, _| (), None).unwrap();
    assert_eq!((report.passed, report.failed), (0, 0), "{report}");
    assert!(report.inconclusive > 20);
}

#[test]
fn unknown_check_is_refused_by_name() {
    let mut config = Config::new(Target::Ric(socket("unknown")));
    config.only = vec!["setup".to_owned(), "set-up".to_owned()];
    let error = conform::run(&config, &mut conform::NoStimulus, &mut |_: &_, _| (), None).unwrap_err();
    assert_eq!(error.to_string(), "there is no check `set-up` for this peer");
}

#[test]
fn interrupted_run_has_a_report() {
    let ric = TestRic::start();
    let flag = std::sync::atomic::AtomicBool::new(false);
    let config = Config::new(Target::Ric(ric.e2.clone()));
    let mut stop_after_two = |_: &_, left: usize| {
        if left + 2
            == conform::node::checks().iter().filter(|check| check.is_in(Version::V2_03) && !check.is_hostile).count()
        {
            flag.store(true, Ordering::Release);
        }
    };
    let report = conform::run(&config, &mut conform::NoStimulus, &mut stop_after_two, Some(&flag)).unwrap();
    assert!(report.interrupted);
    assert_eq!((report.checks.len(), report.passed), (2, 2), "{report}");
}
