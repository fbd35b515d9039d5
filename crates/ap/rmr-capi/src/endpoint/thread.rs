//! The thread of an endpoint: it accepts and receives, passes messages on, and keeps the route table.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use link::{Address, Class, Events, Interest, Link, Listener, Lookup, OutdatedName, Scratch, StreamId};
use rmr::message::CALL_FLAG;
use rmr::{Header, Message, MessageType};

use super::{
    CONTROL, Connection, Inner, Kind, MAX_CONNECTIONS, MAX_WAITING, MAX_WAITING_OCTETS, MESSAGES, READ_OCTETS,
    Received, SEED_PERIOD, SEED_REFRESH_PERIOD, SendError, Shared, WAKE, locked, ring,
};
use crate::log;
use crate::options::Collector;

impl Shared {
    pub(super) fn run(&self) {
        let (mut events, mut scratch) = (Events::new(), Scratch::new());
        let (mut next_seed, mut next_request) = (Instant::now(), Instant::now());
        while !self.is_stopped.load(Ordering::Acquire) {
            let now = Instant::now();
            if now >= next_seed {
                next_seed = now + self.read_seed();
            }
            if now >= next_request || self.is_manager_found() {
                next_request = now + self.options.request_period;
                self.request_table();
            }
            let timeout = next_seed.min(next_request).saturating_duration_since(Instant::now());
            if let Err(error) = self.poll.wait(&mut events, Some(timeout)) {
                log::line(
                    log::CRITICAL,
                    &format_args!("nothing is received any more: cannot wait for events: {error}"),
                );
                return;
            }
            for event in events.iter() {
                match event.token {
                    MESSAGES => self.accept(Kind::Messages),
                    CONTROL => self.accept(Kind::Control),
                    WAKE => {}
                    connection => self.serve(connection, event.readable, &mut scratch),
                }
            }
        }
    }

    fn accept(&self, kind: Kind) {
        let mut inner = locked(&self.inner);
        loop {
            let inner = &mut *inner;
            let listener = match kind {
                Kind::Messages => inner.listener.as_mut(),
                Kind::Control => inner.control.as_mut(),
            };
            let Some(Ok(Some(link))) = listener.map(Listener::accept) else { return };
            if inner.connections.len() < MAX_CONNECTIONS {
                self.add(inner, link, kind, None, Interest::READ);
            }
        }
    }

    fn add(&self, inner: &mut Inner, link: Link, kind: Kind, name: Option<&str>, interest: Interest) -> Option<u64> {
        inner.last += 1;
        let id = inner.last;
        self.poll.add(&link, id, interest).ok()?;
        let name = name.map(str::to_owned);
        if let Some(name) = &name {
            inner.names.insert(name.clone(), id);
        }
        inner.connections.insert(id, Connection { link, kind, name, wants_write: interest.write });
        Some(id)
    }

    /// Has the host of `HOST:PORT` looked up on another thread, which wakes the endpoint's.
    pub(super) fn look_up(&self, endpoint: &str) -> Result<Lookup, SendError> {
        let (host, port) = endpoint.rsplit_once(':').ok_or(SendError::NoEndpoint)?;
        let port = port.parse().map_err(|_| SendError::NoEndpoint)?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Lookup::begin(&Address::Tcp { host, port }, &self.config, &self.waker))
    }

    /// Begins to connect to `HOST:PORT`, whose host is looked up, or was not in time.
    pub(super) fn open(&self, endpoint: &str, lookup: Lookup, kind: Kind) -> Result<u64, SendError> {
        let opened = lookup.finish().and_then(|resolved| {
            for OutdatedName { host, error } in resolved.outdated() {
                log::line(log::WARNING, &format_args!("{host} keeps the addresses that it had at last: {error}"));
            }
            Link::connect_resolved(resolved, &self.config)
        });
        let link = opened.map_err(|error| {
            log::line(log::WARNING, &format_args!("{endpoint} cannot be reached: {error}"));
            SendError::NoEndpoint
        })?;
        let mut inner = locked(&self.inner);
        let name = Some(endpoint).filter(|_| kind == Kind::Messages);
        if self.is_stopped.load(Ordering::Acquire) {
            return Err(SendError::NoEndpoint);
        }
        // another thread may have been faster
        if let Some(connection) = name.and_then(|name| inner.names.get(name)) {
            return Ok(*connection);
        }
        self.add(&mut inner, link, kind, name, Interest::READ_WRITE).ok_or(SendError::Failed)
    }

    pub(super) fn end(&self, inner: &mut Inner, id: u64) {
        let Some(Connection { link, name, .. }) = inner.connections.remove(&id) else { return };
        // closing the socket removes it as well
        let _ = self.poll.remove(&link);
        if let Some(name) = name {
            inner.names.remove(&name);
        }
        if inner.manager == Some(id) {
            inner.manager = None;
        }
    }

    /// Writes what waits on a connection.
    pub(super) fn flush(&self, inner: &mut Inner, id: u64) -> Result<(), SendError> {
        let Some(Connection { link, wants_write, .. }) = inner.connections.get_mut(&id) else {
            return Err(SendError::Failed);
        };
        if let Err(error) = link.flush() {
            log::line(log::WARNING, &format_args!("a connection has ended: {error}"));
            self.end(inner, id);
            return Err(SendError::Failed);
        }
        if link.wants_write() != *wants_write {
            *wants_write = link.wants_write();
            let interest = if *wants_write { Interest::READ_WRITE } else { Interest::READ };
            // it fails for a socket that is gone, which the poll reports
            let _ = self.poll.modify(link, id, interest);
        }
        Ok(())
    }

    fn serve(&self, id: u64, is_readable: bool, scratch: &mut Scratch) {
        let mut inner = locked(&self.inner);
        let Some(connection) = inner.connections.get_mut(&id) else { return };
        let kind = connection.kind;
        let mut messages = Vec::new();
        let mut result = Ok(());
        if is_readable {
            let received =
                connection.link.receive(scratch, READ_OCTETS, &mut |_, octets| messages.push(octets.to_vec()));
            result = received.map(drop);
        }
        for octets in messages {
            if !self.deliver(&mut inner, id, kind, octets) {
                return self.end(&mut inner, id);
            }
        }
        match result {
            Ok(()) => drop(self.flush(&mut inner, id)),
            Err(_) => self.end(&mut inner, id),
        }
    }

    /// Passes a message on. Returns whether it is one.
    fn deliver(&self, inner: &mut Inner, connection: u64, kind: Kind, octets: Vec<u8>) -> bool {
        let message = match Message::read(&octets) {
            Ok(message) => message,
            Err(error) => {
                log::line(log::WARNING, &format_args!("a connection is closed: a message is malformed: {error}"));
                return false;
            }
        };
        if kind == Kind::Control {
            if message.kind == MessageType::TABLE_DATA {
                self.read_table(inner, connection, &message);
            }
            return true;
        }
        let call = message.data.first().copied().unwrap_or(0);
        if message.flags & CALL_FLAG == 0 && call != 0 {
            let mut calls = locked(&self.calls);
            match calls.get_mut(&call) {
                Some(of) if of.transaction[..] == *message.transaction => {
                    of.answer = Some(Received { octets, connection });
                    self.answered.notify_all();
                }
                // nobody waits for it any more
                _ => drop(self.dropped.fetch_add(1, Ordering::Relaxed)),
            }
            return true;
        }
        let mut queue = locked(&self.queue);
        if queue.messages.len() >= MAX_WAITING || queue.octets + octets.len() > MAX_WAITING_OCTETS {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        queue.octets += octets.len();
        queue.messages.push_back(Received { octets, connection });
        self.queued.fetch_add(1, Ordering::Relaxed);
        ring(&self.bell);
        drop(queue);
        self.arrived.notify_one();
        true
    }

    fn read_table(&self, inner: &mut Inner, connection: u64, message: &Message<'_>) {
        let text = String::from_utf8_lossy(message.payload);
        let events = inner.table.read(&text);
        if inner.table.is_complete() {
            self.is_ready.store(true, Ordering::Release);
        }
        let state = message.answer(MessageType::TABLE_STATE, &self.options.name);
        for event in events {
            log::line(log::INFO, &format_args!("route table: {event}"));
            let payload = format!("{event}\n\0");
            let mut octets = Vec::new();
            state.write(payload.len(), &mut octets);
            if let Some(of) = inner.connections.get_mut(&connection) {
                // an answer that cannot be sent is missed by the route manager only
                let _ = of.link.send(StreamId(0), &[&octets, payload.as_bytes()], Class::Keep);
            }
        }
    }

    /// Reads the seed file. Returns when to do so again.
    fn read_seed(&self) -> Duration {
        let (Some(path), false) = (&self.options.seed, self.options.collector == Collector::None) else {
            return SEED_REFRESH_PERIOD;
        };
        let is_static = self.options.collector == Collector::File;
        if self.is_ready.load(Ordering::Acquire) && !is_static {
            return SEED_REFRESH_PERIOD;
        }
        let text = match files::read(path, files::MAX_OCTETS) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) => {
                log::line(log::WARNING, &format_args!("the route table {} cannot be read: {error}", path.display()));
                return SEED_PERIOD;
            }
        };
        let mut inner = locked(&self.inner);
        for event in inner.table.read(&text) {
            log::line(log::INFO, &format_args!("route table {}: {event}", path.display()));
        }
        if inner.table.is_complete() {
            self.is_ready.store(true, Ordering::Release);
            return SEED_REFRESH_PERIOD;
        }
        SEED_PERIOD
    }

    /// Whether the host of the route manager is looked up.
    fn is_manager_found(&self) -> bool {
        locked(&self.inner).manager_lookup.as_ref().is_some_and(Lookup::is_done)
    }

    /// Asks the route manager for a table until there is one. A manager that comes back is asked again.
    fn request_table(&self) {
        let Collector::Request { manager, .. } = &self.options.collector else { return };
        let mut inner = locked(&self.inner);
        if inner.manager.is_some() && self.is_ready.load(Ordering::Acquire) {
            return;
        }
        let is_first = inner.manager_lookup.is_none();
        let connection = match inner.manager {
            Some(connection) => connection,
            None => {
                let lookup = match inner.manager_lookup.take().map_or_else(|| self.look_up(manager), Ok) {
                    Ok(lookup) => lookup,
                    Err(_) => {
                        let line = "the address of the route manager is not HOST:PORT, see RMR_RTG_SVC:";
                        return log::line(log::WARNING, &format_args!("{line} {manager}"));
                    }
                };
                // it has until the next request
                if is_first && !lookup.is_done() {
                    inner.manager_lookup = Some(lookup);
                    return;
                }
                drop(inner);
                let Ok(connection) = self.open(manager, lookup, Kind::Control) else { return };
                inner = locked(&self.inner);
                inner.manager = Some(connection);
                connection
            }
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let payload = format!("{} ts={since}\n\0", self.options.name);
        let header = Header {
            kind: MessageType::TABLE_REQUEST,
            subscription_id: 0,
            source: &self.options.name,
            source_address: &self.address,
            ..Header::default()
        };
        let mut octets = Vec::new();
        header.write(payload.len(), &mut octets);
        if let Some(of) = inner.connections.get_mut(&connection) {
            // it is asked again otherwise
            let _ = of.link.send(StreamId(0), &[&octets, payload.as_bytes()], Class::Keep);
        }
        let _ = self.flush(&mut inner, connection);
    }
}
