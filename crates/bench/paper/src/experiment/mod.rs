//! Experiments: a scenario with an xApp of the examples and without it, over E2, for several seeds.
//!
//! The RAN advances in steps and stands until the xApp has evaluated the reports of a step and its controls are answered, so an
//! experiment gives the same result on every machine.

mod conflicts;
mod energy_saving;
mod load_balancing;
mod recording;
mod report;
#[cfg(test)]
mod tests;
mod traffic_steering;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::bail;
use ferric::Endpoint;
use ferric::link::Address;
use ferric::xapp::{Error, Ric, XappConfig};
use ran::scenario::ScenarioFolders;
use ran::{Ran, RanConfig, Scenario};
use use_cases::PeriodicXapp;

use super::testbed::{PATIENCE, start_ric};
use super::{Context, FigureReport};

pub(super) use conflicts::conflicts;
pub(super) use energy_saving::energy_saving;
pub(super) use load_balancing::load_balancing;
pub(super) use recording::{CellSample, Recording};
pub(super) use traffic_steering::traffic_steering;

/// Seconds of the model per second of a point.
const LENGTH: f64 = 30.0;
/// The part of a step by which it begins later than the multiples of 10 ms at which UEs report: the reports of a period have all
/// been sent when the period ends.
const OFFSET: Duration = Duration::from_millis(5);

/// The first judged seed. Those below were for the design of xApps, scenarios and limits, and are no evidence.
const FIRST_SEED: u64 = 31;
/// How an experiment is judged.
const JUDGED: &str = "statement by statement; the claim holds if all do. The limits, the scenario and the xApp were fixed with seeds below \
                      31, before any run with the seeds above";

/// Makes an xApp with a reporting period in milliseconds: it returns when nodes have accepted its subscriptions.
type Start = fn(&Ric, u32) -> Result<Box<dyn PeriodicXapp>, Error>;

/// An experiment.
pub(super) struct Experiment {
    /// The scenario file, without a seed.
    pub scenario: &'static str,
    /// The xApp's reporting period, which is the length of a step.
    pub period: Duration,
    /// Makes the xApp.
    pub xapp: Start,
    /// The first judged seed.
    pub first_seed: u64,
}

/// The runs with one seed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub seed: u64,
    pub without: Recording,
    pub with: Recording,
}

impl Experiment {
    /// The runs for the length and the seeds of a context; several at a time.
    pub fn run(&self, context: &Context<'_>) -> anyhow::Result<Vec<Pair>> {
        // two at least: the second half is evaluated
        let steps = (context.seconds * LENGTH / self.period.as_secs_f64()).round().max(2.0) as u64;
        self.run_seeds(steps, self.first_seed..self.first_seed + u64::from(context.seeds))
    }

    /// The runs of so many steps with these seeds.
    fn run_seeds(&self, steps: u64, seeds: Range<u64>) -> anyhow::Result<Vec<Pair>> {
        let runs: Vec<(u64, bool)> = seeds.clone().flat_map(|seed| [(seed, false), (seed, true)]).collect();
        let (next, recordings) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let work = || {
            while let Some((seed, is_controlled)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let recording = self.record(*seed, steps, *is_controlled);
                let mut recordings = recordings.lock().unwrap_or_else(PoisonError::into_inner);
                recordings.insert((*seed, *is_controlled), recording);
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(runs.len());
        std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        let mut recordings = recordings.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut take = |run| recordings.remove(&run).unwrap_or_else(|| panic!("a thread has taken each run"));
        let pair = |seed| Ok(Pair { seed, without: take((seed, false))?, with: take((seed, true))? });
        seeds.map(pair).collect()
    }

    fn scenario(&self, seed: u64) -> anyhow::Result<Scenario> {
        let text = format!("seed = {seed}\n{}", self.scenario);
        let folders = ScenarioFolders::with_traces(std::path::Path::new("."));
        // runs are parallel, not cells
        Ok(Scenario { threads: NonZero::<usize>::MIN, ..Scenario::from_toml(&text, &folders)? })
    }

    /// One run.
    fn record(&self, seed: u64, steps: u64, is_controlled: bool) -> anyhow::Result<Recording> {
        let scenario = self.scenario(seed)?;
        let (ric, addresses) = start_ric()?;
        let mut ran = start_ran(&addresses.e2, scenario)?;
        let controller = if is_controlled {
            let (make, period_ms) = (self.xapp, self.period.as_millis() as u32); // seconds
            Some(Controller::start(&addresses.xapp, "experiment", &mut ran, move |ric| make(ric, period_ms))?)
        } else {
            None
        };
        let mut recording = Recording::new(&ran.network(), self.period);
        for _ in 0..steps {
            ran.step(self.period)?;
            recording.add(&ran.network());
            if let Some(controller) = &controller {
                controller.serve(&mut ran)?;
            }
        }
        drop(controller);
        drop(ran);
        ric.end()?;
        Ok(recording)
    }
}

/// Starts a RAN that advances in steps, and waits until its nodes are connected.
fn start_ran(ric: &Endpoint, scenario: Scenario) -> anyhow::Result<Ran> {
    let config = RanConfig { rics: vec![ric.clone()], scenario, is_stepped: true, ..RanConfig::default() };
    let mut ran = Ran::new(config)?;
    ran.step(OFFSET)?;
    let nodes = ran.network().cells();
    let begun = Instant::now();
    while ran.up() < nodes {
        ran.poll(Some(Duration::from_millis(10)))?;
        if begun.elapsed() > PATIENCE {
            bail!("{} of {nodes} nodes are connected after {} s", ran.up(), PATIENCE.as_secs());
        }
    }
    Ok(ran)
}

/// An xApp that runs on a thread of its own, step by step.
struct Controller {
    ric: Ric,
    /// Has it do the next step.
    next: Sender<()>,
    /// A result once it is ready, and one of each period: `false` at the end of the session.
    steps: Receiver<Result<bool, Error>>,
    thread: Option<JoinHandle<()>>,
}

impl Controller {
    /// Starts an xApp, and serves the RAN until it is ready.
    fn start(
        ric: &Address,
        name: &str,
        ran: &mut Ran,
        make: impl FnOnce(&Ric) -> Result<Box<dyn PeriodicXapp>, Error> + Send + 'static,
    ) -> anyhow::Result<Self> {
        let config = XappConfig { reconnect: None, ..XappConfig::default() };
        let ric = Ric::options().address(ric.to_string()).name(name).config(config).connect()?;
        let ((results, steps), (next, turns)) = (mpsc::channel(), mpsc::channel());
        let session = ric.clone();
        let thread = std::thread::spawn(move || {
            let mut app = match make(&session) {
                Ok(app) => app,
                Err(error) => return drop(results.send(Err(error))),
            };
            let mut sent = results.send(Ok(true));
            // the experiment drops both channels at the end
            while sent.is_ok() && turns.recv().is_ok() {
                sent = results.send(app.step(&mut |_| ()));
            }
        });
        let controller = Controller { ric, next, steps, thread: Some(thread) };
        controller.wait(ran)?;
        Ok(controller)
    }

    /// Has the xApp do its step, and serves the RAN until that is done. The model stands.
    fn serve(&self, ran: &mut Ran) -> anyhow::Result<()> {
        // without a receiver, `wait` says why
        let _ = self.next.send(());
        self.wait(ran)
    }

    fn wait(&self, ran: &mut Ran) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            match self.steps.try_recv() {
                Ok(Ok(true)) => return Ok(()),
                Ok(Ok(false)) => bail!("the session of the xApp has ended"),
                Ok(Err(error)) => bail!("the xApp: {error}"),
                Err(TryRecvError::Disconnected) => bail!("the xApp has panicked"),
                Err(TryRecvError::Empty) => ran.poll(Some(Duration::from_millis(1)))?,
            }
            if begun.elapsed() > PATIENCE {
                bail!("the xApp has not finished its period within {} s", PATIENCE.as_secs());
            }
        }
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        // the xApp sees the end of its session, and that its result has no receiver
        drop(std::mem::replace(&mut self.steps, mpsc::channel().1));
        drop(std::mem::replace(&mut self.next, mpsc::channel().0));
        self.ric.close();
        // a panic has been reported by `serve`
        drop(self.thread.take().map(JoinHandle::join));
    }
}
