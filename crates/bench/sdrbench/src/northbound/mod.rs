//! The side of the controller under test that faces applications.

mod e42;
mod ferric_xapp;
mod oran;
mod received;
mod session;
mod slices;

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow};

use crate::clock::Clock;
use crate::content::Content;
use crate::generator::Window;
use crate::target::pin;

pub use e42::E42;
pub use ferric_xapp::FerricXapp;
pub use oran::Oran;
pub use received::{Received, Second};

/// Characters of a controller's reason that are kept.
const MAX_REASON: usize = 200;
/// How long a thread may need to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// What an application needs.
#[derive(Clone)]
pub struct NorthboundConfig {
    /// The clock of the run.
    pub clock: Clock,
    /// What agents report.
    pub content: Arc<Content>,
    /// What it does beside receiving reports.
    pub requests: Requests,
    /// The seed of all random times.
    pub seed: u64,
    /// The number of the application, from 0 on.
    pub number: u32,
    /// The number of the first agent: agents of other generators have other numbers.
    pub first: u32,
    /// How long it reads nothing after it has read reports, so that it reads many at once.
    pub read_pause: Duration,
    /// The processors of its thread; empty if it may use all.
    pub cpus: Vec<usize>,
}

/// What an application requests beside its subscriptions, at random times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requests {
    /// Slice requests per second: a random tenant creates a slice at a random agent, or changes or deletes the one that it has.
    pub slices_per_s: f64,
    /// The tenants of the application.
    pub tenants: u32,
    /// Subscriptions that end and begin again, per second, each at a random agent.
    pub resubscriptions_per_s: f64,
}

/// An order to an application.
pub enum Order {
    /// Request reports of the agents of a step.
    Subscribe {
        /// Their period.
        period_ms: u32,
        /// How many agents there are.
        agents: u32,
    },
    /// Count what was planned in the window.
    Count(Window),
    /// Send the counts.
    Collect(Sender<Received>),
    /// Read nothing for that long.
    Sleep(Duration),
}

/// What an application counts for the progress.
#[derive(Debug, Default)]
pub struct Progress {
    /// Nodes that it knows.
    pub nodes: AtomicU64,
    /// Steps that it has begun.
    pub steps: AtomicU64,
    /// Subscriptions of the step that were accepted, less those that have ended.
    pub subscribed: AtomicU64,
    /// Requests that have failed.
    pub failed: AtomicU64,
    /// Why the first subscription was refused.
    refusal: Mutex<Option<String>>,
}

impl Progress {
    /// Notes why a subscription was refused, unless one was before.
    fn refuse(&self, reason: &str) {
        let mut refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        refusal.get_or_insert_with(|| reason.chars().take(MAX_REASON).collect());
    }

    /// Why the first subscription was refused.
    pub fn refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Makes applications of a controller.
pub trait Northbound: Send + Sync {
    /// The name of the interface, for the report.
    fn name(&self) -> String;

    /// Runs an application on this thread until the orders end or `stop` is raised.
    ///
    /// # Errors
    /// If there is no session with the controller any more.
    fn run(
        &self,
        config: NorthboundConfig,
        orders: Receiver<Order>,
        progress: &Progress,
        stop: &AtomicBool,
    ) -> anyhow::Result<()>;
}

/// Applications, each on a thread of its own; they end when this is dropped.
pub struct Applications {
    threads: Vec<Application>,
    stop: Arc<AtomicBool>,
}

struct Application {
    orders: Option<Sender<Order>>,
    progress: Arc<Progress>,
    thread: Option<JoinHandle<anyhow::Result<()>>>,
}

impl Applications {
    /// Starts applications.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn start(northbound: &Arc<dyn Northbound>, config: &NorthboundConfig, count: u32) -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for number in 0..count {
            let (orders, received) = mpsc::channel();
            let progress = Arc::new(Progress::default());
            let thread = std::thread::Builder::new().name(format!("xapp-{number}")).spawn({
                let (northbound, stop, progress) = (Arc::clone(northbound), Arc::clone(&stop), Arc::clone(&progress));
                let config = NorthboundConfig { number, ..config.clone() };
                move || {
                    pin(&config.cpus)?;
                    northbound.run(config, received, &progress, &stop)
                }
            });
            let thread = Some(thread.context("cannot start a thread")?);
            threads.push(Application { orders: Some(orders), progress, thread });
        }
        Ok(Applications { threads, stop })
    }

    /// No applications.
    #[must_use]
    pub fn none() -> Self {
        Applications { threads: Vec::new(), stop: Arc::default() }
    }

    /// Whether there are none: the controller is measured from the south only.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// Gives an order to each.
    ///
    /// # Errors
    /// The reason for which an application has ended.
    pub fn order(&mut self, order: impl Fn() -> Order) -> anyhow::Result<()> {
        for application in &mut self.threads {
            let is_sent = application.orders.as_ref().is_some_and(|orders| orders.send(order()).is_ok());
            if !is_sent {
                return Err(application.end());
            }
        }
        Ok(())
    }

    /// The counts of each.
    ///
    /// # Errors
    /// As [`Applications::order`].
    pub fn collect(&mut self) -> anyhow::Result<Vec<Received>> {
        let mut all = Vec::new();
        let mut replies = Vec::new();
        for application in &mut self.threads {
            let (reply, received) = mpsc::channel();
            let is_sent = application.orders.as_ref().is_some_and(|orders| orders.send(Order::Collect(reply)).is_ok());
            if !is_sent {
                return Err(application.end());
            }
            replies.push(received);
        }
        for (application, received) in self.threads.iter_mut().zip(replies) {
            match received.recv_timeout(PATIENCE) {
                Ok(counts) => all.push(counts),
                Err(RecvTimeoutError::Disconnected) => return Err(application.end()),
                Err(RecvTimeoutError::Timeout) => return Err(anyhow!("an xApp of the benchmark does not answer")),
            }
        }
        Ok(all)
    }

    /// What each counts for the progress.
    pub fn progress(&self) -> impl Iterator<Item = &Progress> {
        self.threads.iter().map(|application| &*application.progress)
    }

    /// The reason for which an application has ended, if one has.
    pub fn failure(&mut self) -> Option<anyhow::Error> {
        let ended = self.threads.iter_mut().find(|a| a.thread.as_ref().is_some_and(JoinHandle::is_finished));
        ended.map(Application::end)
    }
}

impl Application {
    /// The reason for which it has ended, or is about to end: it takes no orders any more.
    fn end(&mut self) -> anyhow::Error {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Err(error))) => error,
            _ => anyhow!("an xApp of the benchmark has ended"),
        }
    }
}

impl Drop for Applications {
    fn drop(&mut self) {
        self.stop.store(true, std::sync::atomic::Ordering::Release);
        for application in &mut self.threads {
            drop(application.orders.take());
            if let Some(thread) = application.thread.take() {
                // its error does not matter any more
                let _ = thread.join();
            }
        }
    }
}
