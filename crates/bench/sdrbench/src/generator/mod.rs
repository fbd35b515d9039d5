//! The generator: threads that each serve a share of the agents, with one epoll instance and one schedule.
//!
//! The load is open: the time of each report is fixed before it is sent, by the period that the controller has requested or by the random
//! numbers of a seed. A thread that is late sends late, with the planned time in the report, so that the delay counts; nothing is left
//! out. How late it was is measured as well: a run in which the generator was the bottleneck is not a measurement of the controller.

mod confirmation;
mod counts;
mod node;
mod schedule;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow};
use ferric::link::{self, Address, Poll, Waker};

use crate::clock::Clock;
use crate::northbound::Received;
use crate::southbound::Southbound;
use crate::users::UsersConfig;

pub use counts::WindowCounts;
use worker::Worker;

/// The numbers of nodes from here on belong to probes and faults: xApps do not subscribe to them.
pub const FIRST_PROBE: u32 = 4_000_000;
/// How long a thread may need to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the generator needs.
#[derive(Clone)]
pub struct GeneratorConfig {
    /// The controller.
    pub address: Address,
    /// The links of agents.
    pub link: link::Config,
    /// The protocol.
    pub southbound: Arc<dyn Southbound>,
    /// The clock of the run.
    pub clock: Clock,
    /// Threads, one for each core that the generator may use.
    pub threads: usize,
    /// The processors of the threads; empty if they may use all.
    pub cpus: Vec<usize>,
    /// The length of the slots at whose beginnings agents report; 0 if they report at any time.
    pub slot_ns: u64,
    /// The UEs of each agent at its start.
    pub ues: u16,
    /// After how many reports of an agent the controller is asked for a confirmation, where the protocol has one.
    pub confirm_every: usize,
    /// How users come and go; `None` if each agent has the same UEs all the time.
    pub users: Option<UsersConfig>,
    /// The number of the first agent.
    pub first: u32,
    /// The seed of all random times.
    pub seed: u64,
}

/// What all threads count together, for the progress.
#[derive(Debug, Default)]
pub struct Totals {
    /// Agents that are set up.
    pub up: AtomicI64,
    /// Active subscriptions.
    pub subscribed: AtomicI64,
    /// Connections that could not be opened, or were closed by the controller.
    pub lost: AtomicU64,
    /// Setups that the controller has refused.
    pub refused: AtomicU64,
    /// Messages that the protocol does not allow.
    pub faults: AtomicU64,
    /// Controls answered.
    pub controls: AtomicU64,
    /// The period of the last subscription.
    pub period_ns: AtomicU64,
}

/// A part of the run in which events are counted, by their planned times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its beginning.
    pub from_ns: u64,
    /// Its end.
    pub until_ns: u64,
}

impl Window {
    /// Whether a moment belongs to it.
    #[must_use]
    pub fn contains(&self, at_ns: u64) -> bool {
        (self.from_ns..self.until_ns).contains(&at_ns)
    }

    /// Its length.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.until_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }
}

/// An order to a thread.
enum Command {
    /// Connect these agents at these times.
    Connect(Vec<(u32, u64)>),
    /// Close all agents with a higher number.
    Keep(u32),
    /// Close agents at a time, each with this probability, and connect them again.
    Storm { at_ns: u64, share: f64 },
    /// Set a second agent up with the number of another one, which does not connect again when it is closed.
    Duplicate { number: u32, at_ns: u64 },
    /// Set a probe up again and again, from a time on, with a period, until another time.
    Probe { number: u32, from_ns: u64, every_ns: u64, until_ns: u64 },
    /// Count what is planned in the window.
    Count(Window),
    /// Send the counts when all of the window is sent.
    Collect(Sender<WindowCounts>),
    /// Send what the controller has confirmed of the window.
    Confirmed(Sender<Received>),
}

/// A running generator; it ends when it is dropped.
pub struct Generator {
    threads: Vec<(Sender<Command>, Waker, JoinHandle<anyhow::Result<()>>)>,
    /// The number of the probe: another one at each generator.
    probe: u32,
    /// What all threads count together.
    pub totals: Arc<Totals>,
}

impl Generator {
    /// Starts the threads, without agents.
    ///
    /// # Errors
    /// If the system refuses an epoll instance or a thread.
    pub fn start(config: &GeneratorConfig) -> anyhow::Result<Self> {
        let totals = Arc::new(Totals::default());
        let mut threads = Vec::new();
        for number in 0..config.threads.max(1) {
            let poll = Poll::new().context("cannot create an epoll instance")?;
            let waker = Waker::new(&poll, worker::WAKE).context("cannot create an eventfd")?;
            let (commands, received) = mpsc::channel();
            let worker = Worker::new(config.clone(), number as u64, poll, received, Arc::clone(&totals));
            let thread = std::thread::Builder::new().name(format!("agents-{number}"));
            threads.push((commands, waker, thread.spawn(move || worker.run()).context("cannot start a thread")?));
        }
        Ok(Generator { threads, probe: FIRST_PROBE + config.first, totals })
    }

    fn send(&self, thread: usize, command: Command) -> anyhow::Result<()> {
        let (commands, waker, _) = &self.threads[thread % self.threads.len()];
        commands.send(command).map_err(|_| anyhow!("a thread of the generator has ended"))?;
        waker.wake();
        Ok(())
    }

    fn send_all(&self, command: impl Fn() -> Command) -> anyhow::Result<()> {
        (0..self.threads.len()).try_for_each(|thread| self.send(thread, command()))
    }

    /// Connects agents, each at its planned time.
    ///
    /// # Errors
    /// If a thread has ended.
    pub fn connect(&self, agents: impl Iterator<Item = (u32, u64)>) -> anyhow::Result<()> {
        let mut shares: Vec<Vec<_>> = vec![Vec::new(); self.threads.len()];
        for agent in agents {
            let thread = agent.0 as usize % self.threads.len();
            shares[thread].push(agent);
        }
        shares.into_iter().enumerate().try_for_each(|(thread, share)| self.send(thread, Command::Connect(share)))
    }

    /// Closes all agents whose number is higher.
    ///
    /// # Errors
    /// As [`Generator::connect`].
    pub fn keep(&self, highest: u32) -> anyhow::Result<()> {
        self.send_all(|| Command::Keep(highest))
    }

    /// Closes a share of the agents at a time; they connect again at once.
    ///
    /// # Errors
    /// As [`Generator::connect`].
    pub fn storm(&self, at_ns: u64, share: f64) -> anyhow::Result<()> {
        self.send_all(|| Command::Storm { at_ns, share })
    }

    /// Sets a second agent up with the identity of another one.
    ///
    /// # Errors
    /// As [`Generator::connect`].
    pub fn duplicate(&self, number: u32, at_ns: u64) -> anyhow::Result<()> {
        self.send(number as usize, Command::Duplicate { number, at_ns })
    }

    /// Sets one more agent up, again and again within the window, and measures how long that takes: the paper's delay of the hello of
    /// the n-th agent.
    ///
    /// # Errors
    /// As [`Generator::connect`].
    pub fn probe(&self, window: Window, every_ns: u64) -> anyhow::Result<()> {
        let (from_ns, until_ns) = (window.from_ns, window.until_ns);
        self.send(0, Command::Probe { number: self.probe, from_ns, every_ns, until_ns })
    }

    /// Counts what is planned in the window.
    ///
    /// # Errors
    /// As [`Generator::connect`].
    pub fn count(&self, window: Window) -> anyhow::Result<()> {
        self.send_all(|| Command::Count(window))
    }

    /// Waits until all that was planned in the window is sent, and returns its counts.
    ///
    /// # Errors
    /// If a thread has ended or is stuck.
    pub fn collect(&self) -> anyhow::Result<WindowCounts> {
        let (reply, replies) = mpsc::channel();
        self.send_all(|| Command::Collect(reply.clone()))?;
        let mut all = WindowCounts::default();
        for _ in &self.threads {
            let counts = replies.recv_timeout(PATIENCE);
            all.add(&counts.map_err(|_| anyhow!("a thread of the generator is stuck or has ended"))?);
        }
        Ok(all)
    }

    /// What the controller has confirmed until now of the window that was counted last.
    ///
    /// # Errors
    /// If a thread has ended or is stuck.
    pub fn confirmed(&self) -> anyhow::Result<Received> {
        let (reply, replies) = mpsc::channel();
        self.send_all(|| Command::Confirmed(reply.clone()))?;
        let mut all = Received::default();
        for _ in &self.threads {
            let confirmed = replies.recv_timeout(PATIENCE);
            all.add(&confirmed.map_err(|_| anyhow!("a thread of the generator is stuck or has ended"))?);
        }
        Ok(all)
    }

    /// The agents that are set up.
    #[must_use]
    pub fn up(&self) -> u64 {
        u64::try_from(self.totals.up.load(Relaxed)).unwrap_or(0)
    }

    /// The active subscriptions.
    #[must_use]
    pub fn subscribed(&self) -> u64 {
        u64::try_from(self.totals.subscribed.load(Relaxed)).unwrap_or(0)
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        for (commands, waker, thread) in self.threads.drain(..) {
            drop(commands);
            waker.wake();
            // the error of a thread was reported by the order that it did not take
            let _ = thread.join();
        }
    }
}
