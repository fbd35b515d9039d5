//! A run: the checks of a peer, one after the other, and their report.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use e2ap::Version;
use link::Listener;

use crate::both::Side;
use crate::capture::Capture;
use crate::node::NodeSide;
use crate::report::{CheckReport, Report};
use crate::ric::RicSide;
use crate::{Check, Config, Error, Outcome, Role, Step, Stimulus, Stop, Target, node, ric};

/// What a run tells while it goes on.
pub trait Progress {
    /// A check has ended; `left` are still to come in this version.
    fn checked(&mut self, check: &CheckReport, left: usize);
}

impl<F: FnMut(&CheckReport, usize)> Progress for F {
    fn checked(&mut self, check: &CheckReport, left: usize) {
        self(check, left);
    }
}

/// Returns the ids of the checks of a peer.
#[must_use]
pub fn check_ids(role: Role) -> Vec<&'static str> {
    match role {
        Role::Ric => node::checks().iter().map(|check| check.id).collect(),
        Role::Node => ric::checks().iter().map(|check| check.id).collect(),
    }
}

/// Checks a peer. `is_interrupted` ends the run after the check in progress; the report then says so.
///
/// # Errors
/// If a check does not exist, or this host refuses what the run needs: an address, a file. What the peer does is never an error.
pub fn run(
    config: &Config,
    stimulus: &mut dyn Stimulus,
    progress: &mut dyn Progress,
    is_interrupted: Option<&AtomicBool>,
) -> Result<Report, Error> {
    let role = match config.target {
        Target::Ric(_) => Role::Ric,
        Target::Node(_) => Role::Node,
    };
    let ids = check_ids(role);
    if let Some(unknown) = config.only.iter().find(|id| !ids.contains(&id.as_str())) {
        return Err(Error::UnknownCheck(unknown.clone()));
    }
    let capture = config.recordings.as_deref().map(Capture::new).transpose()?;
    let mut link = config.link.clone();
    link.tap = capture.as_ref().map(Capture::tap);
    let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut runner = Runner { config, capture, progress, is_interrupted, reports: Vec::new() };
    match &config.target {
        Target::Ric(_) => {
            for version in &config.versions {
                let mut side = NodeSide::new(config, &link, *version, stimulus);
                runner.run_all(&node::checks(), *version, &mut side, |_| None)?;
            }
        }
        Target::Node(address) => {
            let failed = |source| Error::Listen { address: address.clone(), source };
            let listener = Listener::bind(address, &link).map_err(failed)?;
            let configured = config.versions.first().copied();
            let mut side = RicSide::new(config, listener, configured);
            if configured.is_none() {
                // the version of the node decides which checks there are
                side.meet();
            }
            let version = side.version();
            runner.run_all(&ric::checks(), version, &mut side, |side| side.broken.take())?;
            if configured.is_none() && !side.knows_version() {
                runner.reports.iter_mut().for_each(|report| report.version = String::new());
            }
        }
    }
    let was_interrupted = runner.was_interrupted();
    Ok(Report::new(config, role, began, was_interrupted, runner.reports))
}

struct Runner<'r> {
    config: &'r Config,
    capture: Option<Capture>,
    progress: &'r mut dyn Progress,
    is_interrupted: Option<&'r AtomicBool>,
    reports: Vec<CheckReport>,
}

impl Runner<'_> {
    fn was_interrupted(&self) -> bool {
        self.is_interrupted.is_some_and(|flag| flag.load(Ordering::Acquire))
    }

    fn run_all<S>(
        &mut self,
        checks: &[Check<S>],
        version: Version,
        side: &mut S,
        mut broken: impl FnMut(&mut S) -> Option<Error>,
    ) -> Result<(), Error> {
        let wanted = |check: &&Check<S>| {
            let is_named = self.config.only.iter().any(|id| id == check.id);
            check.is_in(version)
                && (self.config.only.is_empty() || is_named)
                && (self.config.hostile || !check.is_hostile)
        };
        let wanted: Vec<_> = checks.iter().filter(wanted).collect();
        for (at, check) in wanted.iter().enumerate() {
            if self.was_interrupted() {
                break;
            }
            let recording = match &self.capture {
                Some(capture) => Some(capture.begin(&format!("{version}-{}", check.id))?),
                None => None,
            };
            let began = Instant::now();
            let result = (check.run)(side);
            let duration = began.elapsed();
            let unrecorded = self.capture.as_ref().map_or(0, Capture::end);
            if let Some(error) = broken(side) {
                return Err(error);
            }
            let (outcome, reason) = outcome_of(result);
            let report = CheckReport {
                id: check.id.to_owned(),
                version: version.to_string(),
                clause: check.clause.to_owned(),
                title: check.title.to_owned(),
                outcome,
                reason,
                duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
                recording,
                unrecorded,
            };
            self.progress.checked(&report, wanted.len() - at - 1);
            self.reports.push(report);
        }
        Ok(())
    }
}

fn outcome_of(result: Step) -> (Outcome, Option<String>) {
    match result {
        Ok(()) => (Outcome::Pass, None),
        Err(Stop::Fail(reason)) => (Outcome::Fail, Some(reason)),
        Err(Stop::Inconclusive(reason)) => (Outcome::Inconclusive, Some(reason)),
    }
}
