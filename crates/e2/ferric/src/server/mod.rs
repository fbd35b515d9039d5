//! The server of a near-RT RIC: E2 nodes on one side, internal apps (iApps) and external apps (xApps) on the other.
//!
//! ```no_run
//! use ferric::server::{Server, ServerConfig};
//!
//! let mut server = Server::bind(ServerConfig {
//!     e2: vec!["tcp://127.0.0.1:36421".parse()?],
//!     xapp: Some("tcp://127.0.0.1:36423".parse()?),
//!     ..ServerConfig::default()
//! })?;
//! server.run()?; // until its `StopHandle` stops it
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! By default the server is one event loop on one thread. An indication goes from the read buffer of its node's link
//! directly into the outboxes of its xApps; each link is written once per iteration.
//!
//! With [`ServerConfig::loops`] above one there are workers beside the main loop, each with its own links. The main
//! loop keeps the controller machine, the iApps, and nodes without subscriptions. A worker forwards reports directly
//! to xApps, its own and, through ring buffers, those of other workers; everything else goes to the main loop.

mod admission;
mod apps;
mod balance;
mod config;
mod counters;
mod describe;
mod e42;
mod exposure;
mod iapp;
mod indication_counts;
mod log_limiter;
mod memory;
mod newcomers;
mod outbox_level;
mod overview;
mod pending;
mod recall;
mod receive;
mod rights;
mod ring;
mod routes;
mod send_queue;
mod subscribers;
mod sweep;
mod trace;
mod wake;
mod worker;
mod worker_handle;
mod worker_inbox;
mod workers;
mod xapp_links;

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::AsFd;
use std::time::Duration;

use e2::topology::RanDatabase;
use e2::{
    AssocId, Consumer, ConsumerIdentity, Controller, ControllerInstance, E42Host, Mediator, NodePlacement, Time,
    XappHost,
};
use link::{Address, Events, Listener, MemoryBudget, Poll, Scratch, Ticker};
use tracing::error;

use crate::event_loop::STOP_TOKEN;
use crate::event_loop::{self, Clock};
use crate::peers::{self, Peers};
use crate::{Endpoint, Error, StopHandle};
use apps::Apps;
use config::xapp_link;
use e42::E42Apps;
use log_limiter::LogLimiter;
use memory::MemoryReturn;
use newcomers::Newcomers;
use ring::Moved;
use trace::{OpenTrace, Tracer};
use worker_inbox::WorkerInbox;
use workers::Workers;
use xapp_links::XappLinks;

pub use balance::LoopBalance;
pub use config::{DEFAULT_XAPP_PORT, ServerConfig};
pub use counters::Counters;
pub use describe::Describe;
pub use e2::RequestEvent;
pub use e42::{DEFAULT_E42_PORT, E42Address, E42Config};
pub use iapp::{Iapp, IappContext, IappEvent, RelayError};
pub use indication_counts::SubscriptionCounters;
pub use log_lines::{Host, LogBudget};
pub(crate) use outbox_level::OutboxLevel;
pub use overview::{SubscriptionOverview, XappOverview};
pub use rights::{NodeEntry, Rights, RightsHandle, XappEntry};
pub use trace::{IndicationTrace, TraceObserver};
pub use wake::IappWaker;
pub use workers::MAX_LOOPS;

const KIND_LISTENER: u64 = 1;
const KIND_NODE: u64 = 2;
const KIND_XAPP: u64 = 3;
const KIND_E42: u64 = 4;
const KIND_BELL: u64 = 5;
const KIND_WAKE: u64 = 6;
const KIND_TICK: u64 = 7;
/// The place in the token of the ticker of [`Server::balance`]; that of sweeps has 0.
const BALANCE: usize = 1;

/// A near-RT RIC with its event loop.
pub struct Server {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    clock: Clock,
    stop: StopHandle,
    /// The waker of the iApps, once it was requested.
    waker: Option<IappWaker>,
    /// Its number, if it shares its nodes.
    instance: Option<ControllerInstance>,
    /// Rights that are to replace those of the configuration.
    pending_rights: rights::Pending,
    config: ServerConfig,
    listeners: Vec<(Listener, u64)>,
    nodes: Peers,
    controller: Controller,
    apps: Apps,
    /// The records of the workers.
    inboxes: Vec<WorkerInbox>,
    /// Links that workers have returned.
    returned: Vec<(AssocId, Box<Moved>)>,
    /// Of [`Server::balance`], with several loops.
    balance_ticker: Option<Ticker>,
    log_limiter: LogLimiter,
    counters: Counters,
    out: Vec<u8>,
    /// Associations whose progress is reported to the controller.
    unsent: Vec<AssocId>,
    newcomers: Newcomers,
    /// Of [`sweep::sweep`].
    ticker: Ticker,
    memory: MemoryReturn,
    /// The deadlines for the hellos of xApps.
    hello_deadlines: VecDeque<(Time, AssocId)>,
    tracer: Option<Tracer>,
    trace_observer: Option<TraceObserver>,
}

impl Server {
    /// Listens on all configured addresses.
    ///
    /// # Errors
    /// When an address cannot be bound, or the system refuses an epoll instance or a thread.
    ///
    /// # Panics
    /// When [`ServerConfig::loops`] is out of its range.
    pub fn bind(mut config: ServerConfig) -> Result<Self, Error> {
        // an xApp's command must not exceed the limit of a node's link
        let max_pdu_octets = &mut config.controller.max_pdu_octets;
        *max_pdu_octets = config.link.max_pdu_octets.min(*max_pdu_octets);
        config.controller.outbox_octets = Some(config.link.outbox_octets);
        config.controller.kept_control_octets = describe::KEPT_CONTROL_OCTETS;
        memory::set_budgets(&mut config);
        let newcomers = Newcomers::new(&mut config);
        let xapp_link = xapp_link(&config);
        let poll = Poll::new().map_err(Error::epoll)?;
        let stop = StopHandle::new(&poll).map_err(Error::epoll)?;
        let mut listeners = Vec::new();
        for endpoint in &config.e2 {
            listeners.push((Listener::bind(&endpoint.address, &endpoint.link(&config.link))?, KIND_NODE));
        }
        if let Some(address) = &config.xapp {
            listeners.push((Listener::bind(address, &xapp_link)?, KIND_XAPP));
        }
        let e42_link = link::Config { tap: config.e42.as_ref().and_then(|e42| e42.tap.clone()), ..config.link.clone() };
        for address in config.e42.iter().flat_map(|e42| &e42.addresses) {
            listeners.push((Listener::bind(&address.0, &e42_link)?, KIND_E42));
        }
        for (place, (listener, _)) in listeners.iter().enumerate() {
            poll.add(listener, peers::token(KIND_LISTENER, place), link::Interest::READ).map_err(Error::epoll)?;
        }
        exposure::warn_of_exposed_listeners(&config);
        let mut host = XappHost::new();
        host.set_hints(config.hints.clone());
        let e42_version = config.e42.as_ref().map_or(e2ap::e42::E42Version::V2, |e42| e42.version);
        let mut e42_host = E42Host::new(e42_version, e42_link.max_pdu_octets);
        if let Some(e42) = &config.e42 {
            e42_host.list_functions(e42.functions.clone());
        }
        let log_limiter = LogLimiter::new(config.max_log_lines);
        let e42 = E42Apps::new(e42_host, Peers::new(KIND_E42, &e42_link), log_limiter.clone());
        let mut controller = Controller::new(config.controller.clone());
        controller.set_max_ues(config.max_ues);
        let ticker = sweep::ticker(&poll, config.pdu_timeout).map_err(Error::epoll)?;
        let clock = Clock::new();
        let (workers, inboxes) = Workers::start(&config, &xapp_link, &poll, clock, &log_limiter)?;
        let mut balance_ticker = None;
        if !workers.is_empty() {
            controller.track_routes();
            let token = peers::token(KIND_TICK, BALANCE);
            balance_ticker = Some(Ticker::new(&poll, token, config.balance.interval).map_err(Error::epoll)?);
        }
        Ok(Server {
            poll,
            events: Events::new(),
            scratch: Scratch::new(),
            clock,
            stop,
            waker: None,
            instance: None,
            pending_rights: rights::Pending::default(),
            listeners,
            nodes: Peers::new(KIND_NODE, &config.link),
            controller,
            apps: Apps::new(host, XappLinks::new(Peers::new(KIND_XAPP, &xapp_link)), workers, e42, log_limiter.clone()),
            inboxes,
            returned: Vec::new(),
            balance_ticker,
            log_limiter,
            counters: Counters::default(),
            out: Vec::new(),
            unsent: Vec::new(),
            newcomers,
            ticker,
            memory: MemoryReturn::new(std::time::Instant::now()),
            hello_deadlines: VecDeque::new(),
            tracer: None,
            trace_observer: None,
            config,
        })
    }

    /// Adds an iApp. It gets the events that happen from now on.
    pub fn add_iapp(&mut self, iapp: Box<dyn Iapp>) {
        let consumer = Consumer(self.apps.iapps.len() as u32); // a program has few of them
        let identity = ConsumerIdentity { is_internal: true, ..ConsumerIdentity::named(iapp.name()) };
        self.controller.introduce(consumer, identity);
        self.apps.iapps.push(iapp);
    }

    /// Returns the number of this controller, which is to share its nodes as virtual nodes: from the first call on, setups of virtual
    /// nodes of its own nodes are refused, over any number of levels.
    pub fn share_nodes(&mut self) -> ControllerInstance {
        // the keys of a hash table are random
        *self.instance.get_or_insert_with(|| {
            let instance = ControllerInstance(RandomState::new().hash_one(std::process::id()));
            self.controller.set_instance(instance);
            instance
        })
    }

    /// Has a mediator decide on all controls: of xApps, and of the iApps. Without one, controls are sent as they are.
    pub fn set_mediator(&mut self, mediator: Box<dyn Mediator>) {
        self.controller.set_mediator(mediator);
    }

    /// Has nodes directed to other RICs that share them. Without it, this RIC serves all nodes.
    pub fn set_placement(&mut self, placement: Box<dyn NodePlacement>) {
        self.controller.set_placement(placement);
    }

    /// Traces one indication in `one_in` on each event loop. To be called once. Without it, indications cost nothing more: there is a
    /// branch for each read, on workers for each indication.
    pub fn trace(&mut self, one_in: u32, observer: TraceObserver) {
        self.tracer = Some(Tracer::new(one_in));
        self.trace_observer = Some(observer);
        self.apps.workers.begin_traces(one_in);
    }

    /// Returns a handle with which any thread has [`Iapp::on_wake`] called. All wakers of a server are clones of one.
    ///
    /// # Errors
    /// When the system refuses an eventfd.
    pub fn iapp_waker(&mut self) -> Result<IappWaker, Error> {
        if let Some(waker) = &self.waker {
            return Ok(waker.clone());
        }
        let waker = IappWaker::new(&self.poll).map_err(Error::epoll)?;
        Ok(self.waker.insert(waker).clone())
    }

    /// Has [`Iapp::on_wake`] called while a file descriptor can be read: for an app with links of its own, its
    /// [`Poll`]. The app takes what is ready, since it is called again otherwise.
    ///
    /// # Errors
    /// When the system refuses it.
    pub fn wake_iapps_on(&mut self, source: &impl AsFd) -> Result<(), Error> {
        self.poll.add(source, peers::token(KIND_WAKE, 1), link::Interest::READ).map_err(Error::epoll)
    }

    /// Returns the addresses on which E2 nodes connect, with the assigned port for port 0.
    pub fn e2_addresses(&self) -> impl Iterator<Item = &Address> {
        self.addresses(KIND_NODE)
    }

    /// Returns the same addresses with their encodings.
    pub fn e2_endpoints(&self) -> impl Iterator<Item = Endpoint> {
        let codecs = self.config.e2.iter().map(|endpoint| endpoint.codec);
        self.e2_addresses().zip(codecs).map(|(address, codec)| Endpoint::new(address.clone(), codec))
    }

    /// Returns the address on which xApps connect, with the assigned port for port 0.
    #[must_use]
    pub fn xapp_address(&self) -> Option<&Address> {
        self.addresses(KIND_XAPP).next()
    }

    fn addresses(&self, kind: u64) -> impl Iterator<Item = &Address> {
        self.listeners.iter().filter(move |(_, k)| *k == kind).map(|(listener, _)| listener.local_address())
    }

    /// Returns a handle that ends [`Server::run`].
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Returns the controller machine.
    #[must_use]
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Returns the database of base stations, cells and UEs that the nodes form.
    #[must_use]
    pub fn ran(&self) -> &RanDatabase {
        self.controller.ran()
    }

    /// Returns the budget of log lines that peers cause, for others that log about peers: REST, an app's own threads. It is
    /// that of [`ServerConfig::max_log_lines`].
    #[must_use]
    pub fn log_budget(&self) -> LogBudget {
        self.log_limiter.budget().clone()
    }

    /// Returns the counters since the start.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        counters.stray_indications = self.controller.stray_indications();
        counters.stray_answers = self.controller.stray_answers();
        self.apps.workers.add_to(&mut counters);
        counters
    }

    /// Runs until [`StopHandle::stop`] is called.
    ///
    /// # Errors
    /// When the system refuses to wait for events. Nothing that a peer does ends the loop.
    ///
    /// # Panics
    /// When a worker has panicked.
    pub fn run(&mut self) -> Result<(), Error> {
        while !self.stop.is_stopped() {
            self.poll(None)?;
        }
        self.apps.workers.end()
    }

    /// Waits for I/O or a deadline for at most `timeout` (`None`: without limit), then processes all that is pending.
    ///
    /// # Errors
    /// As [`Server::run`].
    pub fn poll(&mut self, timeout: Option<Duration>) -> Result<(), Error> {
        let deadline = [self.controller.poll_timeout(), self.hello_deadline()].into_iter().flatten().min();
        let has_more = self.apps.host.has_announcements() || self.apps.has_postponed();
        let timeout = if has_more { Some(Duration::ZERO) } else { timeout };
        let timeout = event_loop::time_to_wait(self.clock.now(), deadline, timeout);
        let begin_sleep = self.apps.workers.begin_sleep(&self.inboxes);
        let timeout = [timeout, begin_sleep, self.log_limiter.report_deadline()].into_iter().flatten().min();
        self.poll.wait(&mut self.events, timeout).map_err(Error::epoll)?;
        self.apps.workers.end_sleep();
        self.apps.workers.check()?;
        let now = self.clock.now();
        let (mut is_sweep_due, mut is_balance_due) = (false, false);
        let mut at = 0;
        while let Some(event) = self.events.get(at) {
            at += 1;
            let assoc = AssocId(event.token);
            match peers::kind(event.token) {
                _ if event.token == STOP_TOKEN => return Ok(()),
                KIND_LISTENER => self.accept(now, peers::place(event.token)),
                KIND_NODE => {
                    if event.readable {
                        self.receive_from_node(now, assoc);
                    }
                    if event.writable {
                        self.nodes.touch(assoc);
                    }
                }
                KIND_E42 => {
                    if event.readable {
                        self.receive_from_e42(now, assoc);
                    }
                    if event.writable {
                        self.apps.e42.peers.touch(assoc);
                    }
                }
                KIND_WAKE => {
                    self.apply_pending_rights(now);
                    let counters = self.counters();
                    self.apps.wake_iapps(now, &mut self.controller, counters);
                }
                KIND_TICK if peers::place(event.token) == BALANCE => is_balance_due = true,
                KIND_TICK => is_sweep_due = true,
                KIND_BELL => {} // the rings are read in each iteration
                _ => {
                    if event.readable {
                        self.receive_from_xapp(now, assoc);
                    }
                    if event.writable {
                        self.apps.xapp_links.xapps.touch(assoc);
                        self.apps.host.handle_room(assoc);
                    }
                }
            }
        }
        self.receive_from_workers(now);
        self.controller.handle_timeout(now);
        self.close_silent(now);
        if self.apps.has_postponed() {
            self.apps.resume_postponed(now, &mut self.controller);
        }
        self.memory.note_use(self.memory_in_use());
        if is_sweep_due {
            self.ticker.acknowledge();
            self.sweep_links();
        }
        self.log_limiter.report_suppressed();
        self.process_pending(now);
        self.apps.end_iteration();
        self.report_traces();
        self.assign_nodes();
        if let (true, Some(ticker)) = (is_balance_due, &self.balance_ticker) {
            ticker.acknowledge();
            self.balance(now);
        }
        self.apps.workers.ring_bells();
        self.inboxes.iter().for_each(WorkerInbox::publish_progress);
        Ok(())
    }

    /// Passes the traces of indications that were written to the observer.
    fn report_traces(&mut self) {
        let Server { tracer: Some(tracer), trace_observer: Some(observer), controller, apps, .. } = self else {
            return;
        };
        let mut report = |(node, trace): OpenTrace| {
            let node = controller.node(node).map(|node| node.global_id);
            observer(&IndicationTrace { node, ..trace });
        };
        tracer.note_written(&mut report);
        apps.workers.traces().for_each(report);
    }

    /// Returns the number of links on this loop.
    fn load(&self) -> usize {
        self.nodes.len() + self.apps.xapp_links.xapps.len() + self.apps.e42.peers.len() - self.apps.workers.links()
    }

    /// Returns the octets of the budgets in use.
    fn memory_in_use(&self) -> usize {
        let link::Config { receive_budget, send_budget, .. } = &self.config.link;
        [receive_budget, send_budget].into_iter().flatten().map(MemoryBudget::used_octets).sum()
    }

    fn closed_links(&self) -> u64 {
        self.nodes.closed() + self.apps.xapp_links.xapps.closed() + self.apps.e42.peers.closed()
    }

    /// Closes the links whose PDU does not arrive whole, and returns memory after many were closed.
    fn sweep_links(&mut self) {
        let Apps { xapp_links: XappLinks { xapps, lost, .. }, e42, .. } = &mut self.apps;
        for peers in [&mut self.nodes, xapps, &mut e42.peers] {
            sweep::sweep(peers, |assoc, error| lost.push((assoc, error)));
        }
        let (used_octets, closed_links) = (self.memory_in_use(), self.closed_links());
        if self.memory.is_due(std::time::Instant::now(), used_octets, closed_links) {
            link::release_freed_memory();
        }
    }

    /// Moves nodes with a first subscription to their loops.
    fn assign_nodes(&mut self) {
        let affinity_links = self.config.affinity_links;
        while let Some((assoc, codec, event_loop)) = self.apps.workers.next_to_place(self.load(), affinity_links) {
            let Some(peer) = self.nodes.get_mut(assoc) else { continue }; // the link was moved already
            peer.codec = codec;
            if !std::mem::replace(&mut peer.is_placed, true)
                && event_loop > 0
                && let Some(link) = self.nodes.move_out(&self.poll, assoc)
            {
                self.apps.workers.place_node(event_loop, assoc, link, codec);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.log_limiter.finish();
        if std::thread::panicking() {
            error!("the server panicked; this is a defect: please report it");
        }
    }
}
