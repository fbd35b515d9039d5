//! The event loop of FlexRAN agents.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use ferric::link::{Class, Error, Events, Interest, Link, Listener, Poll, Scratch, StreamId, Ticker};
use log_lines::{Host, LogBudget};
use tracing::{error, info, warn};

use super::Limits;
use super::agents::FlexRanAgents;
use super::session::{Fault, Progress, Session};

/// The tokens of what is no connection.
pub(super) const LISTENER: u64 = u64::MAX;
pub(super) const WAKE: u64 = u64::MAX - 1;
const TICK: u64 = u64::MAX - 2;
/// How often time limits are looked at.
const TICK_PERIOD: Duration = Duration::from_millis(250);
/// Connections that are accepted before agents have their turn.
const ACCEPTED: usize = 64;
/// Octets that are read of an agent before the others have their turn.
const READ_OCTETS: usize = 128 << 10;

pub(super) struct Server {
    listener: Listener,
    poll: Poll,
    ticker: Ticker,
    limits: Limits,
    period_ms: u32,
    agents: FlexRanAgents,
    log: LogBudget,
    connections: HashMap<u64, Connection>,
    /// Connections of each host.
    hosts: HashMap<Host, usize>,
    /// The connection of each eNB id.
    ids: HashMap<u64, u64>,
    last: u64,
    scratch: Scratch,
}

struct Connection {
    link: Link,
    host: Host,
    peer: String,
    session: Session,
    wants_write: bool,
    /// The id that it has in [`Server::ids`].
    id: Option<u64>,
    /// A message of which a part has arrived, and since when.
    unfinished: Option<(u64, Instant)>,
}

/// Why a connection has ended.
enum End {
    Fault(Fault),
    Link(Error),
}

impl Server {
    pub fn new(
        listener: Listener,
        poll: Poll,
        limits: Limits,
        period_ms: u32,
        agents: FlexRanAgents,
        log: LogBudget,
    ) -> io::Result<Self> {
        let ticker = Ticker::new(&poll, TICK, TICK_PERIOD)?;
        Ok(Server {
            listener,
            poll,
            ticker,
            limits,
            period_ms,
            agents,
            log,
            connections: HashMap::new(),
            hosts: HashMap::new(),
            ids: HashMap::new(),
            last: 0,
            scratch: Scratch::new(),
        })
    }

    /// Serves agents until `is_stopped` says so.
    pub fn run(mut self, is_stopped: &dyn Fn() -> bool) {
        let mut events = Events::new();
        while !is_stopped() {
            if let Err(source) = self.poll.wait(&mut events, None) {
                error!("FlexRAN agents are not served any more: cannot wait for events: {source}");
                return;
            }
            for event in events.iter() {
                match event.token {
                    LISTENER => self.accept(),
                    WAKE => {}
                    TICK => self.tick(),
                    connection => self.serve(connection, event.readable),
                }
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
                        warn!("a FlexRAN agent cannot be accepted: {error}");
                    }
                    return;
                }
            }
        }
    }

    /// Admits a connection, or closes it by dropping it.
    fn admit(&mut self, link: Link) {
        let host = link.peer().ip_addresses().first().map_or(Host::Local, |address| Host::from(*address));
        let (all, of_host) = (self.connections.len(), self.hosts.get(&host).copied().unwrap_or(0));
        let Limits { max_agents, max_agents_per_host, .. } = self.limits;
        if all >= max_agents || of_host >= max_agents_per_host {
            self.agents.lock().counters.refused += 1;
            if self.log.allow(host) {
                warn!(
                    "a FlexRAN agent of {host} is refused: {all} agents are connected and {of_host} of this host; {max_agents} and \
                     {max_agents_per_host} are allowed (max_connections, max_host_percent)"
                );
            }
            return;
        }
        self.last += 1;
        if let Err(error) = self.poll.add(&link, self.last, Interest::READ) {
            if self.log.allow(host) {
                warn!("a FlexRAN agent of {host} cannot be served: {error}");
            }
            return;
        }
        *self.hosts.entry(host).or_default() += 1;
        let peer = link.peer().to_string();
        let session = Session::open(self.last, self.period_ms, Instant::now());
        let connection = Connection { link, host, peer, session, wants_write: false, id: None, unfinished: None };
        self.connections.insert(self.last, connection);
        self.send(self.last);
    }

    /// Reads and writes a connection.
    fn serve(&mut self, number: u64, is_readable: bool) {
        let now = Instant::now();
        if is_readable {
            let Some(connection) = self.connections.get_mut(&number) else { return };
            let Connection { link, session, peer, .. } = connection;
            let mut state = self.agents.lock();
            let (mut fault, mut progress) = (None, Vec::new());
            let received = link.receive(&mut self.scratch, READ_OCTETS, &mut |_, octets| {
                // nothing behind a fault is read
                if fault.is_some() {
                    return;
                }
                match session.receive(octets, now, peer, &mut state) {
                    Ok(Progress::None) => {}
                    Ok(of_message) => progress.push(of_message),
                    Err(of_message) => fault = Some(of_message),
                }
            });
            drop(state);
            for of_message in progress {
                self.progress(number, of_message);
            }
            match (fault, received) {
                (Some(fault), _) => return self.end(number, &End::Fault(fault)),
                (None, Err(error)) => return self.end(number, &End::Link(error)),
                (None, Ok(_)) => {}
            }
        }
        self.send(number);
    }

    /// An agent is known, or its eNB is.
    fn progress(&mut self, number: u64, progress: Progress) {
        let agent = self.agents.lock().agents.get(&number).map(|agent| (agent.enb_id, agent.name(), agent.cells.len()));
        let Some((id, name, cells)) = agent else { return };
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let (host, former) = (connection.host, connection.id);
        if former != id {
            connection.id = id;
            if let Some(former) = former {
                self.ids.remove(&former);
            }
            if let Some(id) = id {
                let other = self.ids.insert(id, number).filter(|other| *other != number);
                let of_other = other.and_then(|other| Some((other, self.connections.get(&other)?.host)));
                match of_other {
                    Some((other, of_host)) if of_host == host => self.end(other, &End::Fault(Fault::TakenOver)),
                    Some((other, _)) => {
                        self.ids.insert(id, other);
                        if let Some(connection) = self.connections.get_mut(&number) {
                            connection.id = None;
                        }
                        return self.end(number, &End::Fault(Fault::Duplicate));
                    }
                    None => {}
                }
            }
        }
        if self.log.allow(host)
            && let Some(connection) = self.connections.get(&number)
        {
            match progress {
                Progress::Greeted => info!("the FlexRAN agent {name} has connected from {}", connection.peer),
                _ => info!(cells, "the FlexRAN agent {name} has stated its configuration"),
            }
        }
    }

    /// Sends what waits.
    fn send(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let Connection { link, session, wants_write, .. } = connection;
        let mut result = Ok(());
        for message in session.take_messages() {
            result = result.and_then(|()| link.send(StreamId(0), &[&message], Class::Keep).map(drop));
        }
        let result = result.and_then(|()| link.flush().map(drop));
        if let Err(error) = result {
            return self.end(number, &End::Link(error));
        }
        if link.wants_write() != *wants_write {
            *wants_write = link.wants_write();
            let interest = if *wants_write { Interest::READ_WRITE } else { Interest::READ };
            // it fails for a socket that is gone, which the poll reports
            let _ = self.poll.modify(link, number, interest);
        }
    }

    /// Looks at all time limits.
    fn tick(&mut self) {
        self.ticker.acknowledge();
        let now = Instant::now();
        let (mut ended, mut asked) = (Vec::new(), Vec::new());
        for (number, connection) in &mut self.connections {
            let unfinished = connection.link.unfinished_pdu().map(|(message, _)| message);
            connection.unfinished = match (connection.unfinished, unfinished) {
                (Some((known, since)), Some(message)) if known == message => Some((message, since)),
                (_, Some(message)) => Some((message, now)),
                (_, None) => None,
            };
            let is_late = connection
                .unfinished
                .is_some_and(|(_, since)| now.saturating_duration_since(since) >= self.limits.message_timeout);
            let result = connection.session.advance(now, &self.limits);
            match if is_late { Err(Fault::Unfinished) } else { result } {
                Ok(()) if connection.session.has_messages() => asked.push(*number),
                Ok(()) => {}
                Err(fault) => ended.push((*number, fault)),
            }
        }
        for (number, fault) in ended {
            self.end(number, &End::Fault(fault));
        }
        for number in asked {
            self.send(number);
        }
        self.log.report_suppressed();
    }

    /// Closes a connection.
    fn end(&mut self, number: u64, end: &End) {
        let Some(connection) = self.connections.remove(&number) else { return };
        let Connection { link, host, peer, session, id, .. } = connection;
        // closing the socket removes it as well
        let _ = self.poll.remove(&link);
        drop(link);
        if let Some(count) = self.hosts.get_mut(&host) {
            *count -= 1;
            if *count == 0 {
                self.hosts.remove(&host);
            }
        }
        if let Some(id) = id.filter(|id| self.ids.get(id) == Some(&number)) {
            self.ids.remove(&id);
        }
        let is_fault = match end {
            End::Fault(fault) => !matches!(fault, Fault::Disconnect | Fault::TakenOver),
            End::Link(error) => !matches!(error, Error::Closed | Error::Lost(_)),
        };
        let agent = {
            let mut state = self.agents.lock();
            state.counters.faults += u64::from(is_fault);
            state.remove(number)
        };
        let name = agent.map_or_else(|| peer.clone(), |agent| agent.name());
        // the loss of an agent that was known must not be lost in the log
        let is_logged = if session.is_greeted { self.log.allow_important(host) } else { self.log.allow(host) };
        if is_logged {
            match end {
                End::Fault(fault) => warn!("the connection of the FlexRAN agent {name} at {peer} has ended: {fault}"),
                End::Link(error) => warn!("the connection of the FlexRAN agent {name} at {peer} has ended: {error}"),
            }
        }
    }
}
