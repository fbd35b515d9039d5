//! Scheduling of a cell by an xApp, slot by slot (E2SM-LLC): a RAN, a RIC and the xApp `slot_scheduler` of the examples, with ordinary
//! indications and controls.

mod delay;
mod latency;
mod links;
mod stepped;
#[cfg(test)]
mod tests;

use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use ferric::StopHandle;
use ferric::agent::AgentWaker;
use ferric::link::{self, Address};
use ferric::xapp::XappConfig;
use ran::scenario::ScenarioFolders;
use ran::{Ran, Scenario};
use use_cases::slots::{SlotConfig, SlotCounts, SlotXapp};

use super::testbed::PATIENCE;

pub(super) use delay::loop_delay;
pub(super) use latency::loop_latency;

#[allow(dead_code, reason = "its main is not called here")]
#[path = "../../../../../examples/src/bin/slot_scheduler.rs"]
mod xapp;

/// The scenario file, without a seed.
const SCENARIO: &str = include_str!("../../../../../examples/scenarios/slot-scheduling.toml");
/// Its slot.
const SLOT: Duration = Duration::from_millis(1);
/// The subscriptions of the xApp.
const SUBSCRIPTIONS: usize = 2;

fn scenario(seed: u64) -> anyhow::Result<Scenario> {
    let text = format!("seed = {seed}\n{SCENARIO}");
    let folders = ScenarioFolders::with_traces(Path::new("."));
    Ok(Scenario { threads: NonZero::<usize>::MIN, ..Scenario::from_toml(&text, &folders)? })
}

/// How far an xApp is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Progress {
    /// Accepted subscriptions.
    subscribed: usize,
    /// Slot reports whose controls have all been answered.
    settled: u64,
}

/// An xApp that schedules: the calls of its thread.
trait SlotLoop {
    /// A handle that ends a poll.
    fn stop_handle(&self) -> StopHandle;
    /// Waits for events and decides.
    fn poll(&mut self, timeout: Duration) -> Result<(), ferric::Error>;
    /// The accepted subscriptions.
    fn subscribed(&self) -> usize;
    /// The slot reports whose controls have all been answered, if none is outstanding.
    fn settled(&self) -> Option<u64>;
    /// The counters.
    fn counts(&self) -> SlotCounts;
}

impl SlotLoop for SlotXapp<xapp::ProportionalFair> {
    fn stop_handle(&self) -> StopHandle {
        self.stop_handle()
    }

    fn poll(&mut self, timeout: Duration) -> Result<(), ferric::Error> {
        self.poll(Some(timeout))
    }

    fn subscribed(&self) -> usize {
        self.subscribed()
    }

    fn settled(&self) -> Option<u64> {
        self.settled()
    }

    fn counts(&self) -> SlotCounts {
        self.counts()
    }
}

/// The xApp on a thread of its own.
struct Scheduler {
    stop: StopHandle,
    is_ended: Arc<AtomicBool>,
    progress: Receiver<Progress>,
    latest: Progress,
    thread: Option<JoinHandle<anyhow::Result<(SlotCounts, f64)>>>,
}

impl Scheduler {
    /// Starts the xApp. `waker` ends the wait of the RAN when it has progressed.
    fn start(ric: &Address, delay_slots: u64, link: &link::Config, waker: Option<AgentWaker>) -> anyhow::Result<Self> {
        let default = XappConfig::default();
        let link = link::Config { max_pdu_octets: default.link.max_pdu_octets, ..link.clone() };
        let session = XappConfig { reconnect: None, link, ..default };
        let config = SlotConfig { delay_slots, session, ..SlotConfig::default() };
        let ric = ric.clone();
        Scheduler::run(waker, move || SlotXapp::connect(&ric, "slot-loop", config, xapp::ProportionalFair))
    }

    /// Starts the xApp that `connect` makes.
    fn run<X: SlotLoop>(
        waker: Option<AgentWaker>,
        connect: impl FnOnce() -> Result<X, ferric::Error> + Send + 'static,
    ) -> anyhow::Result<Self> {
        let is_ended = Arc::new(AtomicBool::new(false));
        let (starts, started) = mpsc::channel();
        let (sender, progress) = mpsc::channel();
        let ends = Arc::clone(&is_ended);
        let thread = std::thread::spawn(move || {
            let mut xapp = connect()?;
            let _ = starts.send(xapp.stop_handle());
            let mut last = None;
            while !ends.load(Ordering::Acquire) {
                xapp.poll(Duration::from_millis(100))?;
                let now = xapp.settled().map(|settled| Progress { subscribed: xapp.subscribed(), settled });
                if let Some(progress) = now.filter(|_| now != last) {
                    last = now;
                    let _ = sender.send(progress);
                    waker.iter().for_each(AgentWaker::wake);
                }
            }
            Ok((xapp.counts(), thread_seconds()))
        });
        let stop = started.recv_timeout(PATIENCE).map_err(|_| anyhow!("the xApp cannot use the RIC"))?;
        let latest = Progress { subscribed: 0, settled: 0 };
        Ok(Scheduler { stop, is_ended, progress, latest, thread: Some(thread) })
    }

    /// Serves the RAN until the xApp has progressed so far. The model stands.
    fn serve(&mut self, ran: &mut Ran, until: impl Fn(Progress) -> bool) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            self.latest = self.progress.try_iter().last().unwrap_or(self.latest);
            if until(self.latest) {
                return Ok(());
            }
            if self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
                bail!("the xApp has ended");
            }
            if begun.elapsed() > PATIENCE {
                bail!("the xApp has not decided within {} s", PATIENCE.as_secs());
            }
            ran.poll(Some(Duration::from_millis(1)))?;
        }
    }

    /// Ends it. Returns its counters, and the seconds of a processor that it has taken.
    fn end(mut self) -> anyhow::Result<(SlotCounts, f64)> {
        self.halt();
        let thread = self.thread.take().ok_or_else(|| anyhow!("the xApp ends once"))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn halt(&self) {
        self.is_ended.store(true, Ordering::Release);
        self.stop.stop();
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.halt();
        // its error has been reported, or the measurement has failed otherwise
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// The seconds of a processor that this thread has taken; not a number where the kernel does not tell.
fn thread_seconds() -> f64 {
    seconds_of(Path::new("/proc/thread-self"))
}

/// The same of a task, by its directory in `/proc`.
fn seconds_of(task: &Path) -> f64 {
    let text = std::fs::read_to_string(task.join("schedstat")).unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).map_or(f64::NAN, |ns| ns / 1e9)
}
