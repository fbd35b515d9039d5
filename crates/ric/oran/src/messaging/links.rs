//! The connections with xApps: those that they have opened, and those to the endpoints at which they receive.
//!
//! An endpoint is connected while something is to be sent to it. Its name is resolved by a [`Helpers`] thread; a connection that
//! fails is opened again after a pause, and what is to be sent meanwhile is lost and counted.

mod endpoints;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use ferric::link::{Address, Class, Config, Error, Events, Interest, Link, Listener, Poll, Scratch, StreamId, Ticker};
use log_lines::{Host, LogBudget};
use rmr::{Message, MessageError};
use tracing::{info, warn};

use super::helpers::Helpers;
use endpoints::Endpoint;
pub(crate) use endpoints::{EndpointId, EndpointState, Purpose, UNREACHABLE};

/// The tokens of what is no connection.
const LISTENER: u64 = u64::MAX;
const TICK: u64 = u64::MAX - 1;
/// How often time limits are looked at.
const TICK_PERIOD: Duration = Duration::from_millis(250);
/// Connections that are accepted in an iteration.
const ACCEPTED: usize = 64;
/// Octets that are read of a connection in an iteration: about a hundred requests, before the others have their turn.
const READ_OCTETS: usize = 16 << 10;
/// Octets that a connection to an endpoint gathers within an iteration before they are written, at most; less if the outbox is shorter than
/// twice that. So indications are dropped for a slow xApp only, never for a burst.
const GATHER_OCTETS: usize = 128 << 10;
/// A connection in [`Links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ConnectionId(pub u64);

/// Bounds of connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub max_connections: usize,
    pub max_connections_per_host: usize,
    /// For the rest of a message.
    pub message_timeout: Duration,
}

/// What has arrived or happened.
pub(crate) enum LinkEvent {
    /// A message.
    Message(ConnectionId, Vec<u8>),
    /// A connection that an xApp had opened has ended.
    Closed(ConnectionId),
    /// An endpoint could not be reached for [`UNREACHABLE`].
    Unreachable(EndpointId),
    /// Time has passed.
    Tick,
}

struct Connection {
    link: Link,
    host: Host,
    peer: String,
    /// This RIC as the peer can reach it: `IP:PORT`.
    local: String,
    /// The endpoint that it leads to; `None` if the peer has opened it.
    endpoint: Option<EndpointId>,
    wants_write: bool,
    /// Whether the kernel took less than it was given: writing again is useless before the link is writable.
    is_full: bool,
    is_dirty: bool,
    /// A message of which a part has arrived, and since when.
    unfinished: Option<(u64, Instant)>,
}

/// Why a connection ends.
enum End {
    Link(Error),
    Malformed(MessageError),
    Unfinished,
    Unused,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Link(error) => error.fmt(f),
            End::Malformed(error) => write!(f, "a message is malformed: {error}"),
            End::Unfinished => f.write_str("it has not sent the rest of a message in time"),
            End::Unused => f.write_str("nothing is to be sent any more"),
        }
    }
}

pub(crate) struct Links {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    listener: Listener,
    ticker: Ticker,
    config: Config,
    limits: Limits,
    log: LogBudget,
    helpers: Helpers,
    connections: HashMap<ConnectionId, Connection>,
    /// Connections that each host has opened.
    hosts: HashMap<Host, usize>,
    accepted: usize,
    endpoints: HashMap<EndpointId, Endpoint>,
    names: HashMap<String, EndpointId>,
    /// Connections with something to write.
    dirty: Vec<ConnectionId>,
    gather_octets: usize,
    last_connection: u64,
    last_endpoint: u32,
}

impl Links {
    pub fn new(
        listener: Listener,
        config: Config,
        limits: Limits,
        helpers: Helpers,
        log: LogBudget,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        poll.add(&listener, LISTENER, Interest::READ)?;
        let ticker = Ticker::new(&poll, TICK, TICK_PERIOD)?;
        let gather_octets = GATHER_OCTETS.min(config.outbox_octets / 2);
        Ok(Links {
            poll,
            events: Events::new(),
            scratch: Scratch::new(),
            listener,
            ticker,
            config,
            limits,
            log,
            helpers,
            connections: HashMap::new(),
            hosts: HashMap::new(),
            accepted: 0,
            endpoints: HashMap::new(),
            names: HashMap::new(),
            dirty: Vec::new(),
            gather_octets,
            last_connection: 0,
            last_endpoint: 0,
        })
    }

    /// What can be read while something is to be processed.
    pub fn descriptor(&self) -> &Poll {
        &self.poll
    }

    pub fn address(&self) -> &Address {
        self.listener.local_address()
    }

    pub fn log(&self) -> &LogBudget {
        &self.log
    }

    /// Processes what is ready, without waiting. Appends what it means to `found`.
    pub fn process(&mut self, found: &mut Vec<LinkEvent>) {
        while let Some((endpoint, result)) = self.helpers.next_resolved() {
            self.resolved(endpoint, result);
        }
        if self.poll.wait(&mut self.events, Some(Duration::ZERO)).is_err() {
            return; // the next wake-up tries again
        }
        let mut at = 0;
        while let Some(event) = self.events.get(at) {
            at += 1;
            match event.token {
                LISTENER => self.accept(),
                TICK => {
                    self.tick(found);
                    found.push(LinkEvent::Tick);
                }
                connection => self.serve(ConnectionId(connection), event.readable, found),
            }
        }
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTED {
            match self.listener.accept() {
                Ok(Some(link)) => self.admit(link),
                Ok(None) => return,
                Err(error) => {
                    if self.log.allow(Host::Unknown) {
                        warn!(
                            "an xApp cannot be accepted over RMR at {}: {error}; it waits; raise the limit of open files (ulimit -n) \
                             if that is it",
                            self.listener.local_address()
                        );
                    }
                    return;
                }
            }
        }
    }

    /// Admits a connection, or closes it by dropping it.
    fn admit(&mut self, link: Link) {
        let host = link.peer().ip_addresses().first().map_or(Host::Local, |address| Host::from(*address));
        let of_host = self.hosts.get(&host).copied().unwrap_or(0);
        let Limits { max_connections, max_connections_per_host, .. } = self.limits;
        if self.accepted >= max_connections || of_host >= max_connections_per_host {
            if self.log.allow(host) {
                warn!(
                    "an xApp of {host} is refused: {} RMR connections are open and {of_host} of this host; {max_connections} and \
                     {max_connections_per_host} are allowed (max_xapp_connections, max_host_percent)",
                    self.accepted
                );
            }
            return;
        }
        let peer = link.peer().to_string();
        if let Some(connection) = self.add(link, host, peer, None, Interest::READ) {
            *self.hosts.entry(host).or_default() += 1;
            self.accepted += 1;
            if self.log.allow(host) {
                let peer = &self.connections[&connection].peer;
                info!("RMR connection accepted from {peer}");
            }
        }
    }

    fn add(
        &mut self,
        link: Link,
        host: Host,
        peer: String,
        endpoint: Option<EndpointId>,
        interest: Interest,
    ) -> Option<ConnectionId> {
        self.last_connection += 1;
        let connection = ConnectionId(self.last_connection);
        if let Err(error) = self.poll.add(&link, connection.0, interest) {
            if self.log.allow(host) {
                warn!("the RMR connection with {peer} is closed: its socket cannot be waited for: {error}");
            }
            return None;
        }
        let local = self.own_endpoint(&link);
        let wants_write = interest.write;
        let (is_full, is_dirty, unfinished) = (false, false, None);
        let of = Connection { link, host, peer, local, endpoint, wants_write, is_full, is_dirty, unfinished };
        self.connections.insert(connection, of);
        Some(connection)
    }

    /// The listener, with the address of this host that a connection uses.
    fn own_endpoint(&self, link: &Link) -> String {
        let address = rustix::net::getsockname(link).ok().and_then(|address| SocketAddr::try_from(address).ok());
        match (address, self.address()) {
            (Some(address), Address::Tcp { port, .. }) => {
                SocketAddr::new(address.ip().to_canonical(), *port).to_string()
            }
            _ => self.source(),
        }
    }

    /// The name of this RIC in messages to several xApps: where it listens, if that is one address.
    pub fn source(&self) -> String {
        match self.address() {
            Address::Tcp { host, port } => match host.parse::<IpAddr>() {
                Ok(address) if !address.is_unspecified() => SocketAddr::new(address, *port).to_string(),
                _ => format!("ferric-ric:{port}"),
            },
            other => other.to_string(),
        }
    }

    /// The endpoints that are this RIC: a route to one of them would be a loop.
    pub fn own_names(&self) -> Vec<String> {
        let Address::Tcp { host, port } = self.address() else { return vec![self.source()] };
        let hosts = [host.as_str(), "127.0.0.1", "[::1]", "localhost"];
        hosts.iter().map(|host| format!("{host}:{port}")).chain([self.source()]).collect()
    }

    fn serve(&mut self, id: ConnectionId, is_readable: bool, found: &mut Vec<LinkEvent>) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if is_readable {
            let mut fault = None;
            let received = connection.link.receive(&mut self.scratch, READ_OCTETS, &mut |_, octets| {
                // nothing behind a fault is read
                if fault.is_none() {
                    match Message::read(octets) {
                        Ok(_) => found.push(LinkEvent::Message(id, octets.to_vec())),
                        Err(error) => fault = Some(error),
                    }
                }
            });
            match (fault, received) {
                (Some(error), _) => return self.end(id, &End::Malformed(error), found),
                (None, Err(error)) => return self.end(id, &End::Link(error), found),
                (None, Ok(_)) => {}
            }
        }
        self.mark(id);
    }

    /// Puts a message into the outbox of a connection. Returns whether the connection is there and has taken it.
    pub fn send(&mut self, id: ConnectionId, parts: &[&[u8]], class: Class) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        let sent = connection.link.send(StreamId(0), parts, class);
        if !connection.is_dirty {
            connection.is_dirty = true;
            self.dirty.push(id);
        }
        match sent {
            Ok(sent) => sent.queued,
            Err(error) => {
                // its end is reported with the next flush or read
                if self.log.allow(connection.host) {
                    warn!(
                        "an RMR message for the xApp at {} is lost, and its connection ends: {error}",
                        connection.peer
                    );
                }
                false
            }
        }
    }

    fn mark(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id)
            && !connection.is_dirty
        {
            connection.is_dirty = true;
            self.dirty.push(id);
        }
    }

    /// Writes what waits, each connection once.
    pub fn flush(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for id in dirty.drain(..) {
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            connection.is_dirty = false;
            let Connection { link, wants_write, is_full, .. } = connection;
            match link.flush() {
                Ok(flushed) => *is_full = flushed.waiting,
                Err(error) => {
                    // an xApp's end is found by reading, which is ready then; this is for one that could not be connected
                    self.end(id, &End::Link(error), &mut Vec::new());
                    continue;
                }
            }
            if link.wants_write() != *wants_write {
                *wants_write = link.wants_write();
                let interest = if *wants_write { Interest::READ_WRITE } else { Interest::READ };
                // it fails for a socket that is gone, which the poll reports
                let _ = self.poll.modify(link, id.0, interest);
            }
        }
        // its memory is used again
        dirty.append(&mut self.dirty);
        self.dirty = dirty;
    }

    /// Ends a connection.
    fn end(&mut self, id: ConnectionId, end: &End, found: &mut Vec<LinkEvent>) {
        let Some(connection) = self.connections.remove(&id) else { return };
        let Connection { link, host, peer, endpoint, .. } = connection;
        // closing the socket removes it as well
        let _ = self.poll.remove(&link);
        drop(link);
        if let Some(endpoint) = endpoint {
            return self.lost(endpoint, host, end);
        }
        self.accepted -= 1;
        if let Some(count) = self.hosts.get_mut(&host) {
            *count -= 1;
            if *count == 0 {
                self.hosts.remove(&host);
            }
        }
        if self.log.allow(host) {
            match end {
                End::Link(Error::Closed) => info!("RMR connection closed by {peer}"),
                end => warn!("RMR connection from {peer} has ended: {end}"),
            }
        }
        found.push(LinkEvent::Closed(id));
    }

    fn tick(&mut self, found: &mut Vec<LinkEvent>) {
        self.ticker.acknowledge();
        let now = Instant::now();
        let mut late = Vec::new();
        for (id, connection) in &mut self.connections {
            let unfinished = connection.link.unfinished_pdu().map(|(message, _)| message);
            connection.unfinished = match (connection.unfinished, unfinished) {
                (Some((known, since)), Some(message)) if known == message => Some((message, since)),
                (_, Some(message)) => Some((message, now)),
                (_, None) => None,
            };
            let since = connection.unfinished.map(|(_, since)| now.saturating_duration_since(since));
            if since.is_some_and(|since| since >= self.limits.message_timeout) {
                late.push(*id);
            }
        }
        for id in late {
            self.end(id, &End::Unfinished, found);
        }
        self.tick_endpoints(now, found);
    }

    /// Writes what waits on a connection that is about to end.
    fn flush_one(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id) {
            // what the peer does not take now, it does not get
            let _ = connection.link.flush();
        }
    }

    /// This RIC as the peer of a connection can reach it, and the peer's host and address.
    pub fn ends(&self, id: ConnectionId) -> Option<(&str, Host, Option<IpAddr>)> {
        let connection = self.connections.get(&id)?;
        let address = connection.link.peer().ip_addresses().first().copied();
        Some((&connection.local, connection.host, address))
    }

    /// The other end of a connection: of several xApps of a host, the port tells which one.
    pub fn peer_of(&self, id: ConnectionId) -> Option<&str> {
        self.connections.get(&id).map(|connection| connection.peer.as_str())
    }

    /// Posts a document to an xApp: see [`Helpers::notify`].
    pub fn helpers(&self) -> &Helpers {
        &self.helpers
    }
}
