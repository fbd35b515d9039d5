//! The base station as the RAN function sees it: what is measured of its threads, and the policy that is held for it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cpu::follow::Follower;
use cpu::latency::{Histogram, Latency, Report, ThreadLatency};
use cpu::{Change, Controller, Cpus, Error, Policy, Request, Watchdog, dynamic, journal, plan, utilisation};
use e2sm::cpu::{
    CpuNumber, Host, HostCpu, MAX_STEP, MAX_STEPS, MAX_THREAD_NAME, MAX_UNIT_NAME, Policy as ReportedPolicy, Refusal,
    Step, Thread, Unit, Waits, printable,
};
use ferric::e2::Time;
use ran_functions::cpu::{CpuSource, Progress, Refused};

use crate::policy;

/// How often the journal is read, all processes of the host are looked at, and a measurement that has failed is tried again.
const SCAN_PERIOD: Duration = Duration::from_secs(1);
/// How often threads are looked for, and counts are read.
const STEP_PERIOD: Duration = Duration::from_millis(100);
/// How often the dynamic policy looks at what was measured.
const DYNAMIC_PERIOD: Duration = Duration::from_millis(10);

/// A policy, and whom it serves.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The policy.
    pub policy: policy::Held,
    /// The base station and its CPUs.
    pub request: Request,
}

/// A base station whose threads are measured, and for which a policy is held if one is set.
pub struct ManagedUnit {
    state: PathBuf,
    /// What the operator has configured: in force without a control.
    configured: Wanted,
    /// What is wanted now.
    wanted: Wanted,
    name: String,
    period_us: Option<u64>,
    held: Option<Held>,
    latency: Option<Latency>,
    measured: Option<Report>,
    cpus: Vec<HostCpu>,
    /// The threads that were alive at the last scan.
    alive: BTreeSet<u32>,
    in_force: InForce,
    last_scan: Option<Instant>,
    has_warned: bool,
}

/// A policy that is held.
struct Held {
    controller: Controller,
    holder: Holder,
    watchdog: Watchdog,
}

enum Holder {
    Fixed(Box<Follower>),
    Dynamic(Box<dynamic::Session>),
}

/// The policy that is in force, as the journal has it: it may be that of another process.
#[derive(Default)]
struct InForce {
    policy: String,
    changes: usize,
    steps: Vec<String>,
}

impl ManagedUnit {
    /// Holds the configured policy. The base station need not be running, if the policy is `none`.
    pub fn start(state: &Path, configured: Wanted, period_us: Option<u64>) -> anyhow::Result<ManagedUnit> {
        let selection = &configured.request.selection;
        let selected = selection.names.first().cloned();
        let number = || selection.pids.first().map(|pid| format!("process {pid}"));
        let mut unit = ManagedUnit {
            state: state.to_owned(),
            name: selected.or_else(number).unwrap_or_default(),
            wanted: configured.clone(),
            configured,
            period_us,
            held: None,
            latency: None,
            measured: None,
            cpus: Vec::new(),
            alive: BTreeSet::new(),
            in_force: InForce::default(),
            last_scan: None,
            has_warned: false,
        };
        // what cannot be used is refused now
        plan::base_station_cpus(&unit.configured.request.profile, &cpu::Host::read()?)?;
        unit.hold()?;
        if let Err(error) = unit.scan() {
            drop(unit.release());
            return Err(error.into());
        }
        Ok(unit)
    }

    /// The base station's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Follows threads, and reads what was counted. Returns when it is to be called again.
    pub fn step(&mut self) -> Result<Duration, Error> {
        let stepped = match &mut self.held {
            Some(Held { controller, holder: Holder::Fixed(follower), .. }) => follower.step(controller).map(drop),
            Some(Held { controller, holder: Holder::Dynamic(session), .. }) => {
                session.poll(controller).map(|entries| entries.iter().for_each(|entry| tracing::info!("{entry}")))
            }
            None => Ok(()),
        };
        if let Err(error) = stepped {
            tracing::warn!("cannot hold the policy: {error}; what was before is restored");
            self.release()?;
            // a base station that has ended may come again
            if !matches!(error, Error::NotFound(_)) {
                self.wanted.policy = policy::Held::Fixed(Policy::None);
            }
            self.look()?;
        }
        if let Some(latency) = &mut self.latency {
            latency.poll()?;
        }
        if self.last_scan.is_none_or(|last| last.elapsed() >= SCAN_PERIOD) {
            self.scan()?;
        }
        let is_dynamic = matches!(&self.held, Some(Held { holder: Holder::Dynamic(_), .. }));
        Ok(if is_dynamic { DYNAMIC_PERIOD } else { STEP_PERIOD })
    }

    /// Looks which threads are alive, starts and ends the measurement with the base station, and reads the journal.
    fn scan(&mut self) -> Result<(), Error> {
        self.last_scan = Some(Instant::now());
        self.alive = self.configured.request.selection.find()?.iter().map(|thread| thread.tid).collect();
        // counts start again with the base station, or if it has had more threads than are counted
        let is_full =
            self.measured.as_ref().is_some_and(|report| report.threads.len() + 1 >= cpu::latency::MAX_THREADS);
        if self.alive.is_empty() || is_full {
            (self.latency, self.measured) = (None, None);
        }
        if self.latency.is_none() && !self.alive.is_empty() {
            match Latency::start(self.configured.request.selection.clone(), self.period_us) {
                Ok((latency, warning)) => {
                    self.latency = Some(latency);
                    warning.iter().filter(|_| !self.has_warned).for_each(|warning| tracing::warn!("{warning}"));
                    self.has_warned |= warning.is_some();
                }
                // it has ended meanwhile
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if self.held.is_none()
            && !self.alive.is_empty()
            && let Err(error) = self.hold()
        {
            tracing::warn!("cannot hold the policy: {error:#}; nothing is held");
            self.wanted.policy = policy::Held::Fixed(Policy::None);
        }
        self.look()
    }

    /// Reads what is in force.
    fn look(&mut self) -> Result<(), Error> {
        let Some(record) = journal::peek(&self.state)? else {
            self.in_force = InForce::default();
            return Ok(());
        };
        let is_general = |change: &&Change| !matches!(change, Change::Affinity { .. } | Change::Move { .. });
        let general = record.changes.iter().map(|(change, _)| change).filter(is_general);
        let mut steps: Vec<String> = if record.steps.is_empty() {
            general.map(Change::command).collect()
        } else {
            record.steps.iter().map(|step| step.what.clone()).collect()
        };
        steps.drain(..steps.len().saturating_sub(MAX_STEPS));
        self.in_force = InForce { policy: record.head.policy, changes: record.changes.len(), steps };
        Ok(())
    }

    /// Holds what is wanted. Nothing is changed if that fails.
    fn hold(&mut self) -> anyhow::Result<()> {
        let Wanted { policy, mut request } = self.wanted.clone();
        let policy::Held::Fixed(fixed) = policy else { return self.hold_dynamic(&request) };
        if fixed == Policy::None {
            return Ok(());
        }
        let mut controller = policy::open(&self.state)?;
        request.policy = fixed;
        let plan = cpu::plan(&request, &cpu::Host::read()?)?;
        let holder = Holder::Fixed(Box::new(Follower::new(request, &plan)));
        let watchdog = policy::begin(&self.state, &mut controller, fixed, false, &plan)?;
        self.held = Some(Held { controller, holder, watchdog });
        Ok(())
    }

    fn hold_dynamic(&mut self, request: &Request) -> anyhow::Result<()> {
        let mut controller = policy::open(&self.state)?;
        let session = dynamic::Session::start(request, dynamic::Settings::default())?;
        let watchdog = policy::begin_session(&self.state, &mut controller, "dynamic", false)?;
        controller.complete()?;
        self.held = Some(Held { controller, holder: Holder::Dynamic(Box::new(session)), watchdog });
        Ok(())
    }

    /// Restores what was before. Returns whether there was anything.
    pub fn release(&mut self) -> Result<bool, Error> {
        let Some(Held { mut controller, watchdog, .. }) = self.held.take() else { return Ok(false) };
        let restored = controller.restore();
        drop(controller);
        drop(watchdog);
        restored?.iter().for_each(|note| tracing::warn!("{note}"));
        Ok(true)
    }

    /// Replaces what is held. If the new policy cannot be held, the old one is again.
    fn replace(&mut self, wanted: Wanted) -> Result<(), Refused> {
        // a shield can only be planned on a host without one
        self.release().map_err(|error| refused(&error.into()))?;
        let before = std::mem::replace(&mut self.wanted, wanted);
        let held = self.hold();
        if held.is_err() {
            self.wanted = before;
            if let Err(error) = self.hold() {
                tracing::error!("cannot hold the policy before again: {error:#}; nothing is held");
                self.wanted.policy = policy::Held::Fixed(Policy::None);
            }
        }
        if let Err(error) = self.look() {
            tracing::warn!("{error}");
        }
        held.map_err(|error| refused(&error))
    }
}

impl Drop for ManagedUnit {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            tracing::error!("cannot restore what was before: {error}; `ferric cpu undo` tries again");
        }
    }
}

/// An error in the words of the service model.
fn refused(error: &anyhow::Error) -> Refused {
    let refusal = match error.downcast_ref::<Error>() {
        Some(Error::NotFound(_)) => Refusal::NotRunning,
        Some(Error::Busy { .. } | Error::Applied { .. }) => Refusal::Busy,
        Some(Error::Unsupported(_)) => Refusal::Unsupported,
        Some(Error::System { source, .. }) if source.kind() == std::io::ErrorKind::PermissionDenied => {
            Refusal::NotPermitted
        }
        _ => Refusal::Failed,
    };
    Refused::new(refusal, format!("{error:#}"))
}

impl CpuSource for ManagedUnit {
    fn measured_us(&self) -> u64 {
        self.measured.as_ref().map_or(0, |report| (report.seconds * 1e6) as u64)
    }

    fn host(&self) -> Host<'static> {
        let stalls = self.measured.as_ref().map(|report| &report.stalls);
        Host {
            cpus: self.cpus.clone().into(),
            stalls: stalls.map_or(0, |stalls| stalls.count),
            stalled_us: stalls.map_or(0, |stalls| stalls.total_us as u64),
        }
    }

    fn unit(&self) -> Unit<'static> {
        let cpus = cpu::Host::read().and_then(|host| plan::base_station_cpus(&self.wanted.request.profile, &host));
        let step = |command: &String| Step(printable(command, MAX_STEP));
        Unit {
            name: printable(&self.name, MAX_UNIT_NAME),
            cpus: cpus.unwrap_or_default().iter().map(number).collect(),
            policy: self.in_force.policy.parse().unwrap_or_default(),
            changes: u32::try_from(self.in_force.changes).unwrap_or(u32::MAX),
            steps: self.in_force.steps.iter().map(step).collect(),
            dl_nacks: None,
        }
    }

    fn threads(&self, out: &mut Vec<Thread<'static>>) {
        let threads = self.measured.iter().flat_map(|report| &report.threads);
        out.extend(threads.filter(|thread| self.alive.contains(&thread.tid)).map(thread));
    }

    fn apply(&mut self, policy: ReportedPolicy, numbers: &[CpuNumber]) -> Result<Progress, Refused> {
        let policy = policy.name().parse().map_err(|error: String| Refused::new(Refusal::Unsupported, error))?;
        let mut request = self.configured.request.clone();
        request.profile.cpus = Some(numbers.iter().map(|number| usize::from(number.0)).collect::<Cpus>());
        self.replace(Wanted { policy, request }).map(|()| Progress::Done)
    }

    fn withdraw(&mut self) -> Result<Progress, Refused> {
        self.replace(self.configured.clone()).map(|()| Progress::Done)
    }

    fn advance(&mut self, _: Time) {
        match utilisation::read() {
            Ok(times) => self.cpus = times.iter().map(host_cpu).collect(),
            Err(error) => tracing::warn!("{error}"),
        }
        if let Some(latency) = &mut self.latency {
            match latency.report() {
                Ok(report) => self.measured = Some(report),
                Err(error) => tracing::warn!("{error}"),
            }
        }
    }
}

fn number(cpu: usize) -> CpuNumber {
    // sets of CPUs have no greater ones
    CpuNumber(u16::try_from(cpu).unwrap_or(u16::MAX))
}

fn host_cpu(time: &utilisation::CpuTime) -> HostCpu {
    HostCpu { number: number(time.cpu), busy_us: time.busy_us, idle_us: time.idle_us }
}

/// A thread as the model has it. The base station does not say which deadlines it has missed: an activation that begins a period or
/// more late has no time left for its subframe.
fn thread(thread: &ThreadLatency) -> Thread<'static> {
    let Histogram(classes) = &thread.wakeup_waits;
    let [a, b, c, d, rest @ ..] = classes;
    let deadline_misses = thread.period_us.map(|period_us| {
        // the class `n` begins with 2^n us
        let is_late = |class: &usize| f64::from(1_u32 << class) >= period_us;
        let late = (0..thread.lateness.0.len()).filter(is_late).map(|class| thread.lateness.0[class]);
        late.sum()
    });
    Thread {
        name: printable(&thread.name, MAX_THREAD_NAME),
        tid: thread.tid,
        waits: Waits::from_counts([*a, *b, *c, *d, rest.iter().sum()]),
        preempted: thread.preempted,
        subframes: thread.period_us.map(|_| thread.lateness.total()),
        deadline_misses,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activations_that_are_a_period_late_are_deadline_misses() {
        let mut latency = ThreadLatency { name: "ru_thread\u{7}".into(), tid: 5, ..ThreadLatency::default() };
        latency.wakeup_waits.0[..6].copy_from_slice(&[10, 9, 8, 7, 6, 5]);
        latency.lateness.0[..12].copy_from_slice(&[100, 0, 0, 0, 0, 0, 0, 0, 0, 4, 2, 1]);
        let reported = thread(&latency);
        assert_eq!((&*reported.name, reported.waits.counts()), ("ru_thread?", [10, 9, 8, 7, 11]));
        assert_eq!((reported.subframes, reported.deadline_misses), (None, None), "it is not periodic");
        latency.period_us = Some(1000.0);
        let reported = thread(&latency);
        // 512 us late is not a period
        assert_eq!((reported.subframes, reported.deadline_misses), (Some(107), Some(3)));
    }
}
