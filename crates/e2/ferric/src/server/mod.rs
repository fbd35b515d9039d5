//! A controller: E2 nodes on one side, internal and external apps on the other.
//!
//! ```no_run
//! use ferric::server::{Server, ServerConfig};
//!
//! let mut server = Server::bind(ServerConfig {
//!     e2: vec!["tcp://127.0.0.1:36421".parse()?],
//!     xapp: Some("tcp://127.0.0.1:36423".parse()?),
//!     ..ServerConfig::default()
//! })?;
//! server.run()?; // until its `StopHandle` says so
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! One loop, one thread. An indication goes from the read buffer of its node's link straight into the outboxes of the
//! apps that take it, in the loop that read it; each link is written once a turn.
//!
//! With [`ServerConfig::loops`] above one there are workers beside that loop, each with links of its own. The first loop
//! keeps the controller, the internal apps, and nodes that nobody has subscribed to. A worker takes reports straight to
//! xApps, its own and, through a ring of bytes, those of other workers; all else it leaves to the first loop.

mod admission;
mod apps;
mod config;
mod e42;
mod iapp;
mod log_limiter;
mod pending;
mod rights;
mod ring;
mod routes;
mod send_queue;
mod subscribers;
mod wake;
mod worker;
mod workers;
mod xapp_links;

use std::collections::VecDeque;
use std::time::Duration;

use e2::topology::RanDatabase;
use e2::{AssocId, Controller, E42Host, Routed, Time, XappHost};
use link::{Address, Events, Listener, Poll, Scratch};
use tracing::error;

use crate::event_loop::STOP_TOKEN;
use crate::event_loop::{self, Clock};
use crate::peers::{self, Peers};
use crate::{Endpoint, Error, StopHandle};
use apps::Apps;
use config::xapp_link;
use e42::E42Apps;
use log_limiter::LogLimiter;
use pending::reason;
use ring::RecordHeader;
use workers::{WorkerInbox, Workers};
use xapp_links::XappLinks;

pub use config::{DEFAULT_XAPP_PORT, ServerConfig};
pub use e2::RequestEvent;
pub use e42::{DEFAULT_E42_PORT, E42Address, E42Config};
pub use iapp::{Iapp, IappContext, IappEvent};
pub use rights::{NodeEntry, Rights, XappEntry};
pub use wake::IappWaker;
pub use workers::MAX_LOOPS;

const KIND_LISTENER: u64 = 1;
const KIND_NODE: u64 = 2;
const KIND_XAPP: u64 = 3;
const KIND_E42: u64 = 4;
const KIND_BELL: u64 = 5;
const KIND_WAKE: u64 = 6;

/// Octets read from one link before the others have their turn.
const BUDGET_OCTETS: usize = 256 * 1024;

/// What the server did until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Indications that came and were of a subscription that stands.
    pub indications: u64,
    /// Times that an indication was handed to an app.
    pub deliveries: u64,
    /// Reports that xApps lost by reading too slowly.
    pub dropped_reports: u64,
}

/// A controller with its event loop.
pub struct Server {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    clock: Clock,
    stop: StopHandle,
    /// What other threads wake internal apps with, once somebody wants to.
    waker: Option<IappWaker>,
    config: ServerConfig,
    listeners: Vec<(Listener, u64)>,
    nodes: Peers,
    controller: Controller,
    apps: Apps,
    /// Where what workers say comes out.
    inboxes: Vec<WorkerInbox>,
    log_limiter: LogLimiter,
    counters: Counters,
    out: Vec<u8>,
    /// xApps by when they must have said hello.
    hello_deadlines: VecDeque<(Time, AssocId)>,
}

impl Server {
    /// Listens on all addresses.
    ///
    /// # Errors
    /// Where one of them cannot be had, or the system refuses an epoll or a thread.
    ///
    /// # Panics
    /// Where [`ServerConfig::loops`] is not within its bounds.
    pub fn bind(mut config: ServerConfig) -> Result<Self, Error> {
        // an xApp's command must not be what ends a node's link
        let max_pdu_octets = &mut config.controller.max_pdu_octets;
        *max_pdu_octets = config.link.max_pdu_octets.min(*max_pdu_octets);
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
        let mut host = XappHost::new();
        host.set_hints(config.hints.clone());
        let e42_version = config.e42.as_ref().map_or(e2ap::e42::E42Version::V2, |e42| e42.version);
        let e42_host = E42Host::new(e42_version, e42_link.max_pdu_octets);
        let log_limiter = LogLimiter::new(config.max_log_lines);
        let e42 = E42Apps::new(e42_host, Peers::new(KIND_E42, &e42_link), log_limiter.clone());
        let mut controller = Controller::new(config.controller.clone());
        let (workers, inboxes) = Workers::start(&config, &xapp_link, &poll, &log_limiter)?;
        if !workers.is_empty() {
            controller.track_routes();
        }
        Ok(Server {
            poll,
            events: Events::new(),
            scratch: Scratch::new(),
            clock: Clock::new(),
            stop,
            waker: None,
            listeners,
            nodes: Peers::new(KIND_NODE, &config.link),
            controller,
            apps: Apps::new(
                host,
                XappLinks::new(Peers::new(KIND_XAPP, &xapp_link)),
                workers,
                e42,
                config.max_ues,
                log_limiter.clone(),
            ),
            inboxes,
            log_limiter,
            counters: Counters::default(),
            out: Vec::new(),
            hello_deadlines: VecDeque::new(),
            config,
        })
    }

    /// Adds an internal app. It is told of what happens from now on.
    pub fn add_iapp(&mut self, iapp: Box<dyn Iapp>) {
        self.apps.iapps.push(iapp);
    }

    /// What has [`Iapp::on_wake`] called, from any thread. All wakers of a server are clones of one.
    ///
    /// # Errors
    /// Where the system refuses an eventfd.
    pub fn iapp_waker(&mut self) -> Result<IappWaker, Error> {
        if let Some(waker) = &self.waker {
            return Ok(waker.clone());
        }
        let waker = IappWaker::new(&self.poll).map_err(Error::epoll)?;
        Ok(self.waker.insert(waker).clone())
    }

    /// Where E2 nodes can connect, with the real port where port 0 was asked for.
    pub fn e2_addresses(&self) -> impl Iterator<Item = &Address> {
        self.addresses(KIND_NODE)
    }

    /// The same, with what is spoken there.
    pub fn e2_endpoints(&self) -> impl Iterator<Item = Endpoint> {
        let codecs = self.config.e2.iter().map(|endpoint| endpoint.codec);
        self.e2_addresses().zip(codecs).map(|(address, codec)| Endpoint::new(address.clone(), codec))
    }

    /// Where xApps can connect, with the real port where port 0 was asked for.
    #[must_use]
    pub fn xapp_address(&self) -> Option<&Address> {
        self.addresses(KIND_XAPP).next()
    }

    fn addresses(&self, kind: u64) -> impl Iterator<Item = &Address> {
        self.listeners.iter().filter(move |(_, k)| *k == kind).map(|(listener, _)| listener.local_address())
    }

    /// What ends [`Server::run`].
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// The machine within, to look at.
    #[must_use]
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// What the nodes make up together: base stations, cells, UEs.
    #[must_use]
    pub fn ran(&self) -> &RanDatabase {
        &self.apps.ran
    }

    /// What it did until now.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        self.apps.workers.add_to(&mut counters);
        counters
    }

    /// Serves until [`StopHandle::stop`] is called.
    ///
    /// # Errors
    /// Where the system refuses to wait for events. What a peer does never ends the loop.
    ///
    /// # Panics
    /// As a worker has, where one did.
    pub fn run(&mut self) -> Result<(), Error> {
        while !self.stop.is_stopped() {
            self.poll(None)?;
        }
        self.apps.workers.end()
    }

    /// Waits at most `timeout` (`None`: until something happens), then does what there is to do.
    ///
    /// # Errors
    /// As [`Server::run`].
    pub fn poll(&mut self, timeout: Option<Duration>) -> Result<(), Error> {
        let hello_deadline = self.hello_deadlines.front().map(|(by, _)| *by);
        let deadline = [self.controller.poll_timeout(), hello_deadline].into_iter().flatten().min();
        let timeout = if self.apps.host.has_news() { Some(Duration::ZERO) } else { timeout };
        let timeout = event_loop::time_to_wait(self.clock.now(), deadline, timeout);
        let begin_sleep = self.apps.workers.begin_sleep(&self.inboxes);
        let timeout = [timeout, begin_sleep, self.log_limiter.report_deadline()].into_iter().flatten().min();
        self.poll.wait(&mut self.events, timeout).map_err(Error::epoll)?;
        self.apps.workers.end_sleep();
        self.apps.workers.check()?;
        let now = self.clock.now();
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
                KIND_WAKE => self.apps.wake_iapps(now, &mut self.controller),
                KIND_BELL => {} // what it is rung for is looked for in every turn
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
        self.log_limiter.report_suppressed();
        self.process_pending(now);
        self.assign_nodes();
        self.apps.workers.ring_bells();
        self.inboxes.iter().for_each(WorkerInbox::settled);
        Ok(())
    }

    /// How many links live on this loop.
    fn load(&self) -> usize {
        self.nodes.len() + self.apps.xapp_links.xapps.len() + self.apps.e42.peers.len() - self.apps.workers.links()
    }

    /// Nodes whose first subscription stands go where they are to live.
    fn assign_nodes(&mut self) {
        let affinity_links = self.config.affinity_links;
        while let Some((assoc, codec, event_loop)) = self.apps.workers.next_to_place(self.load(), affinity_links) {
            let Some(peer) = self.nodes.get_mut(assoc) else { continue }; // it is there already
            if !std::mem::replace(&mut peer.is_placed, true)
                && event_loop > 0
                && let Some(link) = self.nodes.move_out(&self.poll, assoc)
            {
                self.apps.workers.place_node(event_loop, assoc, link, codec);
            }
        }
    }

    /// The hot path: from a node's read buffer to the outboxes of the apps.
    fn receive_from_node(&mut self, now: Time, assoc: AssocId) {
        if self.nodes.get_mut(assoc).is_some_and(|peer| !peer.admitted) && !self.continue_handshake(now, assoc) {
            return;
        }
        let Server { nodes, apps, controller, counters, scratch, .. } = self;
        let Some(peer) = nodes.get_mut(assoc) else { return };
        let received = peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
            if let Routed::Indication(indication) = controller.handle_pdu(now, assoc, pdu) {
                // what happened before it is told before it
                apps.dispatch_events(now, controller);
                apps.deliver(now, controller, &indication, counters);
            }
        });
        peer.log_paths();
        self.apps.log_unattributed_notices(nodes);
        self.apps.workers.ring_bells();
        if let Err(error) = received {
            self.lose_node(now, assoc, &error);
        }
    }

    fn receive_from_xapp(&mut self, now: Time, assoc: AssocId) {
        if self.apps.xapp_links.xapps.get_mut(assoc).is_some_and(|peer| !peer.admitted)
            && !self.continue_handshake(now, assoc)
        {
            return;
        }
        let Server { apps: Apps { xapp_links, host, .. }, controller, scratch, .. } = self;
        let Some(peer) = xapp_links.xapps.get_mut(assoc) else { return };
        let has_sent = &mut peer.has_sent;
        let received = peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
            *has_sent = true;
            host.handle_pdu(now, assoc, pdu, controller);
        });
        peer.log_paths();
        if let Err(error) = received {
            self.lose_xapp(now, assoc, &error);
        }
    }

    /// What workers say: mostly what came over the links that live with them.
    fn receive_from_workers(&mut self, now: Time) {
        let Server { inboxes, nodes, apps, controller, counters, .. } = self;
        for inbox in inboxes {
            inbox.read(|event_loop, record, head, payload| {
                apps.workers.heard(event_loop, record);
                match head {
                    RecordHeader::Received(assoc) if apps.workers.loop_of(assoc) == 0 => {} // closed meanwhile
                    RecordHeader::Received(assoc) if peers::kind(assoc.0) == KIND_NODE => {
                        if let Routed::Indication(indication) = controller.handle_pdu(now, assoc, payload) {
                            apps.dispatch_events(now, controller);
                            apps.deliver(now, controller, &indication, counters);
                        }
                    }
                    RecordHeader::Received(assoc) => {
                        apps.workers.has_sent(assoc);
                        apps.host.handle_pdu(now, assoc, payload, controller);
                    }
                    RecordHeader::Lost(assoc, reason) => match apps.workers.forget(assoc).map(|_| peers::kind(assoc.0))
                    {
                        None => {} // closed meanwhile
                        Some(KIND_NODE) => {
                            nodes.vacate(assoc);
                            controller.handle_close(now, assoc, reason);
                        }
                        Some(_) => {
                            apps.xapp_links.xapps.vacate(assoc);
                            apps.host.handle_close(now, assoc, controller);
                        }
                    },
                    RecordHeader::HasRoom(assoc, kept_octets) => {
                        apps.workers.has_room_again(assoc, kept_octets);
                        apps.host.handle_room(assoc);
                    }
                    other => unreachable!("a worker hears this, and never says it: {other:?}"),
                }
            });
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.log_limiter.finish();
        if std::thread::panicking() {
            error!("the server ends by a fault of its own; please report it");
        }
    }
}
