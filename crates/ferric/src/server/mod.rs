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
//! server.run()?; // until its `Stop` says so
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! One loop, one thread. An indication goes from the read buffer of its node's link straight into the outboxes of the
//! apps that take it, in the loop that read it; each link is written once a turn.
//!
//! With [`ServerConfig::loops`] above one there are workers beside that loop, each with links of its own. The first loop
//! keeps the controller, the internal apps, and nodes that nobody has subscribed to. A worker takes reports straight to
//! xApps, its own and, through a ring of bytes, those of other workers; all else it leaves to the first loop.

mod apps;
mod e42;
mod iapp;
mod lane;
mod lines;
mod outlets;
mod rights;
mod ring;
mod routes;
mod takers;
mod worker;
mod workers;

use std::collections::VecDeque;
use std::time::Duration;

use e2::ran::RanDatabase;
use e2::{AssocId, CloseReason, Controller, ControllerConfig, E42Host, Routed, Time, XappHost};
use e2ap::Codec;
use link::{Address, Class, Events, Link, Listener, Poll, Scratch, State};
use tracing::{debug, error, info, warn};

use crate::clock::{self, Clock};
use crate::credentials;
use crate::peers::{self, Peers};
use crate::stop::STOP_TOKEN;
use crate::{Endpoint, Error, Stop};
use apps::Apps;
use e42::E42Apps;
use lines::Lines;
use outlets::Outlets;
use rights::Admission;
use ring::Head;
use workers::{Uplink, Workers};

pub use e42::{DEFAULT_E42_PORT, E42Address, E42Config};
pub use iapp::{Iapp, IappEvent, Ric};
pub use rights::{NodeEntry, Rights, XappEntry};
pub use workers::MAX_LOOPS;

/// What a server listens on and how it behaves.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Where E2 nodes connect, and the encoding that is spoken there. Default: `tcp://127.0.0.1:36421`, in PER.
    pub e2: Vec<Endpoint>,
    /// Where xApps connect; without it there is no host for them. Default: `tcp://127.0.0.1:36423`.
    pub xapp: Option<Address>,
    /// Where FlexRIC's xApps connect; without it they do not. Default: nowhere.
    pub e42: Option<E42Config>,
    /// The controller's identity and patience.
    pub controller: ControllerConfig,
    /// The links' bounds. What comes in the longest PDU fits the links of xApps, whose PDUs are a little longer.
    pub link: link::Config,
    /// Who looks on at the links of xApps, in place of the one in `link`. Default: nobody.
    pub xapp_tap: Option<link::Tap>,
    /// What xApps are told of nodes' functions beyond what the nodes tell. Default: nothing.
    pub hints: Vec<e2::xapp::FunctionHint>,
    /// Who may connect, and what each may do. Default: everybody everything.
    pub rights: Rights,
    /// Connections of either kind at a time; more are closed at once. Default: 8192.
    pub max_connections: usize,
    /// Lines in the log that peers may cause in a minute, all of them together; the others are left out, and how many is told.
    /// Default: 6000.
    pub max_log_lines: u32,
    /// UEs that the RAN database keeps; the one that was not heard of for the longest makes room. Default: 65536.
    pub max_ues: usize,
    /// Event loops, each a thread: 1 to [`MAX_LOOPS`]. More than one pays where one core is not enough. Default: 1.
    pub loops: usize,
    /// With several loops, a node goes to the loop of an xApp that takes its reports, even if that loop then has so many
    /// links more than the one with the fewest: what crosses from loop to loop costs more than what does not. Default: 16.
    pub affinity_links: usize,
}

impl Default for ServerConfig {
    fn default() -> Self {
        ServerConfig {
            e2: vec![Address::Tcp { host: "127.0.0.1".into(), port: link::DEFAULT_PORT }.into()],
            xapp: Some(Address::Tcp { host: "127.0.0.1".into(), port: DEFAULT_XAPP_PORT }),
            e42: None,
            controller: ControllerConfig::default(),
            link: link::Config::default(),
            xapp_tap: None,
            hints: Vec::new(),
            rights: Rights::default(),
            max_connections: 8192,
            max_log_lines: 6000,
            max_ues: 65_536,
            loops: 1,
            affinity_links: 16,
        }
    }
}

/// The port on which xApps are awaited.
pub const DEFAULT_XAPP_PORT: u16 = 36423;

const KIND_LISTENER: u64 = 1;
const KIND_NODE: u64 = 2;
const KIND_XAPP: u64 = 3;
const KIND_E42: u64 = 4;
const KIND_BELL: u64 = 5;

/// Octets read from one link before the others have their turn.
const BUDGET_OCTETS: usize = 256 * 1024;
/// Connections accepted in one turn.
const ACCEPT_BATCH: usize = 64;

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
    stop: Stop,
    config: ServerConfig,
    listeners: Vec<(Listener, u64)>,
    nodes: Peers,
    controller: Controller,
    apps: Apps,
    /// Where what workers say comes out.
    uplinks: Vec<Uplink>,
    lines: Lines,
    counters: Counters,
    out: Vec<u8>,
    /// xApps by when they must have said hello.
    greetings: VecDeque<(Time, AssocId)>,
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
        let stop = Stop::new(&poll).map_err(Error::epoll)?;
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
        let lines = Lines::new(config.max_log_lines);
        let e42 = E42Apps::new(e42_host, Peers::new(KIND_E42, &e42_link), lines.clone());
        let mut controller = Controller::new(config.controller.clone());
        let (workers, uplinks) = Workers::start(&config, &xapp_link, &poll, &lines)?;
        if !workers.is_empty() {
            controller.track_routes();
        }
        Ok(Server {
            poll,
            events: Events::new(),
            scratch: Scratch::new(),
            clock: Clock::new(),
            stop,
            listeners,
            nodes: Peers::new(KIND_NODE, &config.link),
            controller,
            apps: Apps::new(
                host,
                Outlets::new(Peers::new(KIND_XAPP, &xapp_link)),
                workers,
                e42,
                config.max_ues,
                lines.clone(),
            ),
            uplinks,
            lines,
            counters: Counters::default(),
            out: Vec::new(),
            greetings: VecDeque::new(),
            config,
        })
    }

    /// Adds an internal app. It is told of what happens from now on.
    pub fn add_iapp(&mut self, iapp: Box<dyn Iapp>) {
        self.apps.iapps.push(iapp);
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
    pub fn stop(&self) -> Stop {
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

    /// Serves until [`Stop::stop`] is called.
    ///
    /// # Errors
    /// Where the system refuses to wait for events. What a peer does never ends the loop.
    ///
    /// # Panics
    /// As a worker has, where one did.
    pub fn run(&mut self) -> Result<(), Error> {
        while !self.stop.is_stopped() {
            self.turn(None)?;
        }
        self.apps.workers.end()
    }

    /// Waits at most `patience` (`None`: until something happens), then does what there is to do.
    ///
    /// # Errors
    /// As [`Server::run`].
    pub fn turn(&mut self, patience: Option<Duration>) -> Result<(), Error> {
        let greeting = self.greetings.front().map(|(by, _)| *by);
        let deadline = [self.controller.poll_timeout(), greeting].into_iter().flatten().min();
        let patience = if self.apps.host.has_news() { Some(Duration::ZERO) } else { patience };
        let timeout = clock::wait(self.clock.now(), deadline, patience);
        let doze = self.apps.workers.doze(&self.uplinks);
        let timeout = [timeout, doze, self.lines.patience()].into_iter().flatten().min();
        self.poll.wait(&mut self.events, timeout).map_err(Error::epoll)?;
        self.apps.workers.rise();
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
                KIND_BELL => {} // what it is rung for is looked for in every turn
                _ => {
                    if event.readable {
                        self.receive_from_xapp(now, assoc);
                    }
                    if event.writable {
                        self.apps.outlets.xapps.touch(assoc);
                        self.apps.host.handle_room(assoc);
                    }
                }
            }
        }
        self.hear_workers(now);
        self.controller.handle_timeout(now);
        self.end_silence(now);
        self.lines.turn();
        self.settle(now);
        self.place_nodes();
        self.apps.workers.ring_bells();
        self.uplinks.iter().for_each(Uplink::settled);
        Ok(())
    }

    fn accept(&mut self, now: Time, at: usize) {
        credentials::renew(&self.config.link);
        for _ in 0..ACCEPT_BATCH {
            let Some((listener, kind)) = self.listeners.get_mut(at) else { return };
            let kind = *kind;
            // those of E2 stand first
            let codec = self.config.e2.get(at).map(|endpoint| endpoint.codec).unwrap_or_default();
            match listener.accept() {
                Ok(Some(link)) => self.welcome(now, kind, codec, link),
                Ok(None) => return,
                Err(error) => {
                    if self.lines.take() {
                        warn!(address = %listener.local_address(), %error, "a connection could not be accepted");
                    }
                    return;
                }
            }
        }
    }

    fn welcome(&mut self, now: Time, kind: u64, codec: Codec, link: Link) {
        let peer = link.peer().clone();
        if self.nodes.len() + self.apps.outlets.xapps.len() + self.apps.e42.peers.len() >= self.config.max_connections {
            if self.lines.take() {
                let limit = self.config.max_connections;
                warn!(%peer, limit, "closed at once: too many connections; raise max_connections");
            }
            return;
        }
        let is_established = link.state() == State::Established;
        let peers = match kind {
            KIND_NODE => &mut self.nodes,
            KIND_E42 => return self.welcome_e42(now, link),
            _ => &mut self.apps.outlets.xapps,
        };
        let assoc = match peers.insert(&self.poll, link) {
            Ok(assoc) if kind == KIND_NODE => {
                debug!(%peer, "a node connects");
                self.controller.handle_open_in(now, assoc, codec);
                assoc
            }
            Ok(assoc) => {
                debug!(%peer, "an xApp connects");
                self.await_greeting(now, assoc);
                self.apps.host.handle_open(assoc);
                assoc
            }
            Err(error) => {
                if self.lines.take() {
                    warn!(%peer, %error, "closed at once: cannot wait for it");
                }
                return;
            }
        };
        if is_established {
            self.admit(now, assoc);
        }
    }

    /// An xApp must say something in time.
    fn await_greeting(&mut self, now: Time, assoc: AssocId) {
        if self.greetings.len() > 2 * self.config.max_connections {
            let apps = &mut self.apps;
            self.greetings
                .retain(|(_, assoc)| apps.peer(*assoc).is_some_and(|(_, spoke)| !spoke) || apps.e42.is_silent(*assoc));
        }
        self.greetings.push_back((now + self.config.controller.setup_timeout, assoc));
    }

    /// Who it is that has connected is known by now: it is given its rights, or turned away. Whether it may stay.
    fn admit(&mut self, now: Time, assoc: AssocId) -> bool {
        const REFUSED: &str = "closed: its certificate is in no entry of the rights";
        const NOBODY: &str = "closed: there are rights to keep to, and it has shown no certificate; use tls://";
        let is_node = peers::kind(assoc.0) == KIND_NODE;
        let peers = if is_node { &mut self.nodes } else { &mut self.apps.outlets.xapps };
        let Some(peer) = peers.get_mut(assoc) else { return false };
        let (peer, identity) = (peer.link.peer(), peer.link.identity());
        let certificate = identity.map(ToString::to_string);
        if certificate.is_some() && self.lines.take() {
            info!(%peer, certificate, "{}", if is_node { "a node shows who it is" } else { "an xApp shows who it is" });
        }
        let is_refused = if is_node {
            match self.config.rights.of_node(identity) {
                Admission::Unknown => false,
                Admission::Known(rights) => {
                    self.controller.vouch(assoc, rights);
                    false
                }
                Admission::Refused => true,
            }
        } else {
            match self.config.rights.of_xapp(identity) {
                Admission::Unknown => false,
                Admission::Known(rights) => {
                    self.apps.host.set_rights(assoc, rights);
                    false
                }
                Admission::Refused => true,
            }
        };
        if is_refused {
            if self.lines.take() {
                let fingerprint = identity.map(|identity| identity.fingerprint.to_string());
                warn!(%peer, certificate, fingerprint, "{}", if identity.is_some() { REFUSED } else { NOBODY });
            }
            if is_node {
                self.nodes.remove(&self.poll, assoc);
                self.controller.handle_close(now, assoc, CloseReason::NotAllowed);
            } else {
                // it is told before it is closed
                self.apps.host.refuse(now, assoc, &mut self.controller);
            }
        }
        if !is_node && !is_refused {
            self.place_xapp(assoc);
        }
        !is_refused
    }

    /// An xApp whose link stands, and that has said nothing yet, goes where it is to live.
    fn place_xapp(&mut self, assoc: AssocId) {
        let event_loop = self.apps.workers.loop_for_xapp(self.load());
        if event_loop > 0
            && let Some(link) = self.apps.outlets.xapps.move_out(&self.poll, assoc)
        {
            self.apps.workers.place_xapp(event_loop, assoc, link);
        }
    }

    /// Goes on with what must be before a link stands. Whether it stands, and its peer may say something.
    fn shake_hands(&mut self, now: Time, assoc: AssocId) -> bool {
        let is_node = peers::kind(assoc.0) == KIND_NODE;
        let peers = if is_node { &mut self.nodes } else { &mut self.apps.outlets.xapps };
        let Some(peer) = peers.get_mut(assoc) else { return false };
        match peer.link.finish_connect() {
            Ok(State::Established) => self.admit(now, assoc),
            Ok(_) => {
                // what could not be written at once is waited for
                peers.touch(assoc);
                false
            }
            Err(error) if is_node => {
                self.lose_node(now, assoc, &error);
                false
            }
            Err(error) => {
                self.lose_xapp(now, assoc, &error);
                false
            }
        }
    }

    /// How many links live on this loop.
    fn load(&self) -> usize {
        self.nodes.len() + self.apps.outlets.xapps.len() + self.apps.e42.peers.len() - self.apps.workers.links()
    }

    /// Nodes whose first subscription stands go where they are to live.
    fn place_nodes(&mut self) {
        let affinity_links = self.config.affinity_links;
        while let Some((assoc, codec, event_loop)) = self.apps.workers.next_to_place(self.load(), affinity_links) {
            let Some(peer) = self.nodes.get_mut(assoc) else { continue }; // it is there already
            if !std::mem::replace(&mut peer.settled, true)
                && event_loop > 0
                && let Some(link) = self.nodes.move_out(&self.poll, assoc)
            {
                self.apps.workers.place_node(event_loop, assoc, link, codec);
            }
        }
    }

    /// xApps that connected and said nothing take the place of others.
    fn end_silence(&mut self, now: Time) {
        while let Some((by, assoc)) = self.greetings.front().copied()
            && by <= now
        {
            self.greetings.pop_front();
            self.apps.e42.end_silence(now, &self.poll, assoc, &mut self.controller);
            if let Some((peer, false)) = self.apps.peer(assoc) {
                if self.lines.take() {
                    info!(xapp = %peer, "closed: no hello in time");
                }
                drop(self.close_xapp(assoc));
                self.apps.host.handle_close(now, assoc, &mut self.controller);
            }
        }
    }

    /// The hot path: from a node's read buffer to the outboxes of the apps.
    fn receive_from_node(&mut self, now: Time, assoc: AssocId) {
        if self.nodes.get_mut(assoc).is_some_and(|peer| peer.link.state() == State::Connecting)
            && !self.shake_hands(now, assoc)
        {
            return;
        }
        let Server { nodes, apps, controller, counters, scratch, .. } = self;
        let Some(peer) = nodes.get_mut(assoc) else { return };
        let received = peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
            if let Routed::Indication(indication) = controller.handle_pdu(now, assoc, pdu) {
                // what happened before it is told before it
                apps.tell(now, controller);
                apps.deliver(now, controller, &indication, counters);
            }
        });
        peer.log_paths();
        self.apps.log_strangers(nodes);
        self.apps.workers.ring_bells();
        if let Err(error) = received {
            self.lose_node(now, assoc, &error);
        }
    }

    fn receive_from_xapp(&mut self, now: Time, assoc: AssocId) {
        if self.apps.outlets.xapps.get_mut(assoc).is_some_and(|peer| peer.link.state() == State::Connecting)
            && !self.shake_hands(now, assoc)
        {
            return;
        }
        let Server { apps: Apps { outlets, host, .. }, controller, scratch, .. } = self;
        let Some(peer) = outlets.xapps.get_mut(assoc) else { return };
        let spoke = &mut peer.spoke;
        let received = peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
            *spoke = true;
            host.handle_pdu(now, assoc, pdu, controller);
        });
        peer.log_paths();
        if let Err(error) = received {
            self.lose_xapp(now, assoc, &error);
        }
    }

    /// What workers say: mostly what came over the links that live with them.
    fn hear_workers(&mut self, now: Time) {
        let Server { uplinks, nodes, apps, controller, counters, .. } = self;
        for uplink in uplinks {
            uplink.read(|event_loop, record, head, payload| {
                apps.workers.heard(event_loop, record);
                match head {
                    Head::Came(assoc) if apps.workers.loop_of(assoc) == 0 => {} // closed meanwhile
                    Head::Came(assoc) if peers::kind(assoc.0) == KIND_NODE => {
                        if let Routed::Indication(indication) = controller.handle_pdu(now, assoc, payload) {
                            apps.tell(now, controller);
                            apps.deliver(now, controller, &indication, counters);
                        }
                    }
                    Head::Came(assoc) => {
                        apps.workers.spoke(assoc);
                        apps.host.handle_pdu(now, assoc, payload, controller);
                    }
                    Head::Gone(assoc, reason) => match apps.workers.forget(assoc).map(|_| peers::kind(assoc.0)) {
                        None => {} // closed meanwhile
                        Some(KIND_NODE) => {
                            nodes.vacate(assoc);
                            controller.handle_close(now, assoc, reason);
                        }
                        Some(_) => {
                            apps.outlets.xapps.vacate(assoc);
                            apps.host.handle_close(now, assoc, controller);
                        }
                    },
                    Head::Room(assoc, kept_octets) => {
                        apps.workers.has_room_again(assoc, kept_octets);
                        apps.host.handle_room(assoc);
                    }
                    other => unreachable!("a worker hears this, and never says it: {other:?}"),
                }
            });
        }
    }

    /// Does what the machines want until they want nothing more, then writes.
    fn settle(&mut self, now: Time) {
        loop {
            self.apps.tell(now, &mut self.controller);
            self.apps.log_strangers(&mut self.nodes);
            // most of what may wait for an xApp is left for what else must not be dropped
            self.apps.tell_news(&self.controller, self.config.link.outbox_octets / 4);
            self.send_queued();
            self.flush();
            self.apps.look_for_room();
            if self.apps.outlets.tell_slow(self.config.link.outbox_octets / 2) {
                self.flush();
            }
            self.close_wanted();
            if self.apps.outlets.lost.is_empty() {
                return;
            }
            for (assoc, error) in std::mem::take(&mut self.apps.outlets.lost) {
                match peers::kind(assoc.0) {
                    KIND_NODE => self.lose_node(now, assoc, &error),
                    KIND_E42 => self.lose_e42(now, assoc, &error),
                    _ => self.lose_xapp(now, assoc, &error),
                }
            }
        }
    }

    fn flush(&mut self) {
        let Apps { outlets: Outlets { xapps, lost, .. }, e42, .. } = &mut self.apps;
        let nodes = &mut self.nodes;
        nodes.flush(&self.poll, |assoc, error| lost.push((assoc, error)));
        xapps.flush(&self.poll, |assoc, error| lost.push((assoc, error)));
        e42.peers.flush(&self.poll, |assoc, error| lost.push((assoc, error)));
    }

    /// Puts what the controller wants sent into the nodes' outboxes.
    fn send_queued(&mut self) {
        self.out.clear();
        while let Some(assoc) = self.controller.poll_transmit(&mut self.out) {
            if !self.apps.workers.send(assoc, &self.out)
                && let Err(error) = self.nodes.send(assoc, &[&self.out], Class::Keep)
            {
                self.apps.outlets.lost.push((assoc, error));
            }
            self.out.clear();
        }
    }

    fn close_wanted(&mut self) {
        while let Some((assoc, reason)) = self.controller.poll_close() {
            let moved = self.apps.workers.close(assoc);
            if moved.is_some() {
                self.nodes.vacate(assoc);
            }
            let peer = moved.or_else(|| self.nodes.remove(&self.poll, assoc).map(closed));
            if let Some(peer) = peer
                && self.lines.take()
            {
                info!(%peer, %reason, "closed");
            }
        }
        self.apps.e42.close_wanted(&self.poll);
        while let Some((assoc, reason)) = self.apps.host.poll_close() {
            if let Some(peer) = self.close_xapp(assoc)
                && self.lines.take()
            {
                info!(xapp = %peer, %reason, "closed");
            }
        }
    }

    /// Writes what waits for an external app, closes its link, and tells who was there.
    fn close_xapp(&mut self, assoc: AssocId) -> Option<Address> {
        let moved = self.apps.workers.close(assoc);
        if moved.is_some() {
            self.apps.outlets.xapps.vacate(assoc);
        }
        moved.or_else(|| self.apps.outlets.xapps.remove(&self.poll, assoc).map(closed))
    }

    fn lose_node(&mut self, now: Time, assoc: AssocId, error: &link::Error) {
        let Some(link) = self.nodes.remove(&self.poll, assoc) else { return };
        self.lines.lost("node", &link, error);
        let reason = reason(error);
        self.controller.handle_close(now, assoc, reason);
    }

    fn lose_xapp(&mut self, now: Time, assoc: AssocId, error: &link::Error) {
        let Some(link) = self.apps.outlets.xapps.remove(&self.poll, assoc) else { return };
        self.lines.lost("xApp", &link, error);
        self.apps.host.handle_close(now, assoc, &mut self.controller);
    }
}

/// The links of xApps: an indication of the longest PDU fits, and so do all functions of a node in one message.
fn xapp_link(config: &ServerConfig) -> link::Config {
    let longest = config.link.max_pdu_octets.max(config.controller.max_function_octets);
    let max_pdu_octets = longest + crate::XAPP_OVERHEAD_OCTETS;
    link::Config { max_pdu_octets, tap: config.xapp_tap.clone(), ..config.link.clone() }
}

/// Writes what waits, closes, and tells who was there.
fn closed(link: Link) -> Address {
    let peer = link.peer().clone();
    link.close();
    peer
}

fn reason(error: &link::Error) -> CloseReason {
    match error {
        link::Error::OutboxFull { .. } => CloseReason::Overflow,
        link::Error::PduTooLong { .. } | link::Error::EmptyPdu | link::Error::SharedMemoryCorrupt => {
            CloseReason::Misbehaved
        }
        _ => CloseReason::Transport,
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.lines.end();
        if std::thread::panicking() {
            error!("the server ends by a fault of its own; please report it");
        }
    }
}
