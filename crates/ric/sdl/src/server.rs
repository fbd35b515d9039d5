//! The event loop: one thread, one epoll instance. A round takes what has arrived of all clients, executes it, makes the changes
//! durable together, and then sends replies and messages.

mod accept;
#[cfg(feature = "tls")]
mod handshake;

use std::collections::{BTreeSet, HashMap};
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use link::{Events, Interest, Poll, Ticker};
use log_lines::{Host, LogBudget};
use tracing::{debug, error, info, warn};

use crate::MAX_ADDRESSES;
use crate::access::{AccessList, Credential};
use crate::connection::{Connection, HIGH_WATER, Received};
use crate::engine::{Depends, Engine};
use crate::file::StoreFile;
use crate::handle::{Change, Entries, Inbox, Job, NO_ROOM, Observer};
use crate::listener::Listener;
use crate::resp::{Replies, Version};
use crate::store::{Entry, Value};

/// The tokens of what is no connection: the listeners have the last ones, downwards.
const LAST_LISTENER: u64 = u64::MAX - MAX_ADDRESSES as u64 + 1;
pub(crate) const WAKE: u64 = LAST_LISTENER - 1;
const TICK: u64 = LAST_LISTENER - 2;
/// How often time limits are looked at, and keys removed whose time has come.
const TICK_PERIOD: Duration = Duration::from_millis(250);
/// Octets that are read of a client, and requests that are executed, before others have their turn.
const READ_OCTETS: usize = 64 << 10;
const TURN_REQUESTS: usize = 256;
/// Tokens that a connection may try.
const MAX_WRONG_TOKENS: u32 = 16;
/// Keys that are removed at a time because their time has come.
const EXPIRED: usize = 10_000;

/// Returns the tokens of the listeners, in their order.
pub(crate) fn listener_tokens() -> impl Iterator<Item = u64> {
    (LAST_LISTENER..=u64::MAX).rev()
}

/// The replies to a request, until the round is durable.
struct Staged {
    connection: u64,
    octets: Vec<u8>,
    depends: Depends,
}

pub(crate) struct Server {
    listeners: Vec<Listener>,
    poll: Poll,
    ticker: Ticker,
    engine: Engine,
    file: Option<StoreFile>,
    inbox: Inbox,
    /// Who of the process is told of the messages of a channel.
    observers: Vec<(Vec<u8>, Observer)>,
    log: LogBudget,
    connections: HashMap<u64, Connection>,
    hosts: HashMap<Host, usize>,
    last: u64,
    /// Octets that the buffers of all connections hold.
    buffered: usize,
    /// Connections with requests that were not executed in their last turn.
    again: BTreeSet<u64>,
    staged: Vec<Staged>,
    scratch: Vec<u8>,
    /// The file cannot be written.
    is_failing: bool,
    /// The system has had room for the clients so far.
    is_accepting: bool,
}

impl Server {
    pub fn new(
        listeners: Vec<Listener>,
        poll: Poll,
        engine: Engine,
        file: Option<StoreFile>,
        inbox: Inbox,
        log: LogBudget,
    ) -> io::Result<Self> {
        let ticker = Ticker::new(&poll, TICK, TICK_PERIOD)?;
        Ok(Server {
            listeners,
            poll,
            ticker,
            engine,
            file,
            inbox,
            observers: Vec::new(),
            log,
            connections: HashMap::new(),
            hosts: HashMap::new(),
            last: 0,
            buffered: 0,
            again: BTreeSet::new(),
            staged: Vec::new(),
            scratch: vec![0; READ_OCTETS],
            is_failing: false,
            is_accepting: true,
        })
    }

    /// Serves clients until `is_stopped` says so.
    pub fn run(mut self, is_stopped: &dyn Fn() -> bool) {
        let mut events = Events::new();
        loop {
            let timeout = (!self.again.is_empty()).then_some(Duration::ZERO);
            if let Err(source) = self.poll.wait(&mut events, timeout) {
                error!(
                    "the shared data layer is not served any more: cannot wait for events: {source}; restart the RIC"
                );
                return;
            }
            if is_stopped() {
                // what the process was told will be done
                self.do_jobs(now_ms());
                self.commit();
                return;
            }
            self.round(&events);
        }
    }

    fn round(&mut self, events: &Events) {
        let now_ms = now_ms();
        let mut turn = std::mem::take(&mut self.again);
        let mut has_ticked = false;
        #[cfg(feature = "tls")]
        let mut handshakes = handshake::IN_A_ROUND;
        for event in events.iter() {
            match event.token {
                LAST_LISTENER.. => self.accept((u64::MAX - event.token) as usize), // below MAX_ADDRESSES
                WAKE => {}
                TICK => has_ticked = true,
                #[cfg(feature = "tls")]
                number if self.is_shaking_hands(number) => {
                    // it is ready in the next round as well
                    if handshakes > 0 {
                        handshakes -= 1;
                        self.shake_hands(number);
                    }
                }
                number => {
                    // requests that wait come first
                    if event.readable && !turn.contains(&number) {
                        self.receive(number);
                    }
                    turn.insert(number);
                }
            }
        }
        for number in &turn {
            self.execute(*number, now_ms);
        }
        self.do_jobs(now_ms);
        if has_ticked {
            self.tick(now_ms);
        }
        let touched = self.commit();
        for number in turn.into_iter().chain(touched) {
            self.send(number);
        }
        self.engine.counts.connections = self.connections.len();
        self.inbox.report(self.engine.counts);
    }

    /// Reads what has arrived of a client.
    fn receive(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if connection.waiting() >= HIGH_WATER || connection.has_ended {
            return;
        }
        let Connection { socket, decoder, .. } = connection;
        if connection.lingers_since.is_some() {
            return match socket.discard(&mut self.scratch) {
                Ok(false) => {}
                Ok(true) => self.end(number, "it has closed the connection after an error", false),
                Err(error) => self.end(number, &error.to_string(), false),
            };
        }
        match socket.receive(&mut self.scratch, &mut |octets| decoder.push(octets)) {
            // the replies to what it has sent go out first
            Ok(Received::End) => connection.has_ended = true,
            Ok(Received::Octets) => {
                let own = connection.decoder.held_octets();
                self.count(number);
                let free = self.engine.limits.max_buffer_octets.saturating_sub(self.buffered);
                // half of what the others leave
                if own > free {
                    self.end(number, "its request does not fit into the memory for all clients", true);
                }
            }
            Ok(Received::Nothing) => {}
            Err(error) => self.end(number, &error.to_string(), error.kind() == ErrorKind::InvalidData),
        }
    }

    /// Executes requests of a client.
    fn execute(&mut self, number: u64, now_ms: u64) {
        for _ in 0..TURN_REQUESTS {
            let free = self.engine.limits.max_buffer_octets.saturating_sub(self.buffered) / 2;
            let Some(connection) = self.connections.get_mut(&number) else { return };
            if connection.session.is_closing {
                return;
            }
            if connection.waiting() >= HIGH_WATER {
                connection.is_blocked = true;
                return;
            }
            let room = free.min(self.engine.limits.max_queue_octets.saturating_sub(connection.waiting()));
            let bounds = self.engine.limits.of_request(&connection.session.rights);
            let Connection { decoder, session, .. } = connection;
            let (octets, depends) = match decoder.next(bounds) {
                Ok(Some(request)) => self.engine.execute(session, request, now_ms, room),
                Ok(None) => {
                    // a request that was cut is not executed
                    session.is_closing |= connection.has_ended;
                    let is_awaited = connection.decoder.has_part();
                    connection.part_since = is_awaited.then(|| connection.part_since.unwrap_or_else(Instant::now));
                    return self.count(number);
                }
                Err(fault) => {
                    session.is_closing = true;
                    connection.has_fault = true;
                    self.engine.counts.faults += 1;
                    let until = if session.rights.is_none() {
                        "; it has not authenticated, which lowers the bounds"
                    } else {
                        ""
                    };
                    if self.log.allow(connection.host) {
                        let peer = &connection.peer;
                        warn!("the client of the shared data layer at {peer} is disconnected: {fault}{until}");
                    }
                    let mut replies = Replies::new(Version::V2, usize::MAX);
                    replies.error(&format!("ERR Protocol error: {fault}{until}"));
                    (replies.into_octets().0, Depends::Connection)
                }
            };
            let wrong_tokens = connection.session.wrong_tokens;
            if wrong_tokens > connection.wrong_tokens {
                connection.wrong_tokens = wrong_tokens;
                connection.session.is_closing |= wrong_tokens == MAX_WRONG_TOKENS;
                let is_noted = wrong_tokens == 1 || wrong_tokens == MAX_WRONG_TOKENS;
                if is_noted && self.log.allow(connection.host) {
                    let peer = &connection.peer;
                    warn!(
                        "a client of the shared data layer at {peer} has sent an unknown token, or that of another xApp: {wrong_tokens} \
                         so far; the connection ends at {MAX_WRONG_TOKENS}"
                    );
                }
            }
            connection.part_since = None;
            connection.staged += octets.len();
            self.staged.push(Staged { connection: number, octets, depends });
            self.count(number);
        }
        self.again.insert(number);
    }

    /// Does what other threads of the process ask for.
    fn do_jobs(&mut self, now_ms: u64) {
        let (jobs, has_refused) = self.inbox.take();
        if has_refused {
            warn!("changes of the RIC in the shared data layer are refused: {NO_ROOM}");
        }
        for job in jobs {
            match job {
                Job::Change(change) => self.change(change, now_ms),
                Job::Access(access) => self.set_access(access),
                // the store is never away
                #[cfg(feature = "redis")]
                Job::OnReturn(_) => {}
                Job::Observe(channel, observer) => self.observers.push((channel, observer)),
                Job::Read(namespace, sender) => {
                    // whoever asked may have gone
                    let _ = sender.send(self.entries(&namespace, now_ms));
                }
            }
        }
    }

    /// Gives all connections their rights by another list.
    fn set_access(&mut self, access: AccessList) {
        self.engine.access = access;
        let mut revoked = Vec::new();
        for (number, connection) in &mut self.connections {
            let access = &self.engine.access;
            let session = &mut connection.session;
            let rights = match &session.credential {
                Credential::Token(token) => access.rights_of(token),
                Credential::Certificate => {
                    session.identity.as_ref().and_then(|identity| access.rights_of_certificate(identity))
                }
                Credential::Nothing => {
                    let (credential, rights) = access.without_token(session.identity.as_ref());
                    session.credential = credential;
                    Some(rights)
                }
            };
            match rights {
                Some(rights) => self.engine.narrow(session, rights),
                None => revoked.push(*number),
            }
        }
        for number in revoked {
            self.end(number, "its token or certificate is not in the file of tokens any more", true);
        }
    }

    fn entries(&self, namespace: &[u8], now_ms: u64) -> Entries {
        let store = &self.engine.store;
        let keys = store.keys(&prefix_of(namespace), None, now_ms).map(<[u8]>::to_vec).collect::<Vec<_>>();
        let entry = |key: Vec<u8>| match store.get(&key, now_ms)?.value {
            Value::Octets(ref octets) => Some((key, octets.clone())),
            Value::Members(_) => None,
        };
        keys.into_iter().filter_map(entry).collect()
    }

    fn change(&mut self, change: Change, now_ms: u64) {
        let store = &mut self.engine.store;
        let full = match change {
            Change::Set { key, octets } => {
                let entry = Entry { value: Value::Octets(octets), expires_ms: None };
                store.put(&key, entry).err().map(|full| (key, full))
            }
            Change::AddMember { key, member } => {
                // what has the key is that of the process
                if store.get(&key, now_ms).is_some_and(|entry| matches!(entry.value, Value::Octets(_))) {
                    store.remove(&key, now_ms);
                }
                store.add_member(&key, &member, now_ms).err().map(|full| (key, full))
            }
            Change::RemoveMember { key, member } => {
                store.remove_member(&key, &member, now_ms);
                None
            }
            Change::Remove { key } => {
                store.remove(&key, now_ms);
                None
            }
            Change::Clear { namespace } => {
                let keys: Vec<Vec<u8>> = store.keys(&prefix_of(&namespace), None, 0).map(<[u8]>::to_vec).collect();
                for key in keys {
                    store.remove(&key, now_ms);
                }
                None
            }
            Change::Guarded { key, octets, changes } => {
                let is_free = store.get(&key, now_ms).is_none_or(|entry| entry.value == Value::Octets(octets));
                for change in changes.into_iter().filter(|_| is_free) {
                    self.change(change, now_ms);
                }
                return;
            }
            Change::Publish { channel, message } => {
                self.engine.publications.push((channel, message));
                None
            }
        };
        if let Some((key, full)) = full
            && self.log.allow(Host::Local)
        {
            warn!(
                "a change of the RIC in the shared data layer is lost: no room for {:?}: {full}",
                String::from_utf8_lossy(&key)
            );
        }
    }

    /// Looks at time limits.
    fn tick(&mut self, now_ms: u64) {
        self.ticker.acknowledge();
        let (now, limits) = (Instant::now(), &self.engine.limits);
        let late = |(number, connection): (&u64, &Connection)| Some((*number, connection.late(now, limits)?));
        let late: Vec<_> = self.connections.iter().filter_map(late).collect();
        for (number, why) in late {
            self.end(number, &why, true);
        }
        let lingered = self.connections.iter().filter(|(_, connection)| connection.has_lingered(now));
        for number in lingered.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.end(number, "it has had time to read an error", false);
        }
        if !self.is_accepting {
            self.listen(Interest::READ);
        }
        self.engine.store.expire(now_ms, EXPIRED);
        self.log.report_suppressed();
    }

    /// Makes the changes of the round durable, and passes replies and messages on to the connections. Returns those that got
    /// messages.
    fn commit(&mut self) -> BTreeSet<u64> {
        let is_durable = self.write();
        let mut touched = BTreeSet::new();
        for Staged { connection, octets, depends } in std::mem::take(&mut self.staged) {
            let Some(to) = self.connections.get_mut(&connection) else { continue };
            to.staged = to.staged.saturating_sub(octets.len());
            match depends {
                Depends::Store if !is_durable => {
                    to.push(b"-ERR the file of the store cannot be written: nothing was changed\r\n");
                }
                _ => to.push(&octets),
            }
            self.count(connection);
        }
        let publications = std::mem::take(&mut self.engine.publications);
        if is_durable {
            for (channel, message) in publications {
                self.publish(&channel, &message, &mut touched);
            }
        }
        touched
    }

    /// Returns whether the changes of the round are kept.
    fn write(&mut self) -> bool {
        let store = &mut self.engine.store;
        let result = match &self.file {
            Some(file) if !store.changes().is_empty() => file.write(store),
            _ => Ok(()),
        };
        match result {
            Ok(()) => {
                store.accept();
                if std::mem::take(&mut self.is_failing) {
                    info!("the file of the shared data layer can be written again");
                }
                true
            }
            Err(error) => {
                store.revert();
                if !std::mem::replace(&mut self.is_failing, true) {
                    error!("changes of the shared data layer are refused: {error}");
                }
                false
            }
        }
    }

    /// Sends a message to all subscribers.
    fn publish(&mut self, channel: &[u8], message: &[u8], touched: &mut BTreeSet<u64>) {
        self.engine.counts.messages += 1;
        let observers = self.observers.iter().filter(|(observed, _)| observed == channel);
        observers.for_each(|(_, observer)| observer(message));
        let limits = &self.engine.limits;
        let (connections, buffered) = (&mut self.connections, &mut self.buffered);
        let mut slow = Vec::new();
        self.engine.hub.deliver(channel, message, &mut |client, octets| {
            let Some(to) = connections.get_mut(&client) else { return };
            let free = limits.max_buffer_octets.saturating_sub(*buffered) / 2;
            let room = free.min(limits.max_queue_octets.saturating_sub(to.waiting()));
            if octets.len() > room {
                slow.push(client);
                return;
            }
            match (to.session.version, octets.split_first()) {
                (Version::V3, Some((_, rest))) => {
                    to.push(b">");
                    to.push(rest);
                }
                _ => to.push(octets),
            }
            let held = to.held();
            *buffered = buffered.saturating_sub(std::mem::replace(&mut to.counted, held)) + held;
            touched.insert(client);
        });
        for client in slow {
            self.engine.counts.slow_subscribers += 1;
            self.end(client, "it does not read the messages that it has subscribed to", true);
        }
    }

    /// Sends what waits for a client, and closes the connection if that was the last.
    fn send(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if connection.lingers_since.is_some() {
            return;
        }
        if let Err(error) = connection.flush(Instant::now()) {
            return self.end(number, &error.to_string(), false);
        }
        let is_closing = connection.session.is_closing;
        if is_closing {
            self.engine.leave(&mut connection.session);
            if !connection.wants_write() && connection.has_fault && !connection.has_ended {
                return self.linger(number);
            }
            if !connection.wants_write() {
                return self.end(number, "it has closed the connection, or had its last reply", false);
            }
        }
        if connection.is_blocked && connection.waiting() < HIGH_WATER {
            connection.is_blocked = false;
            self.again.insert(number);
        }
        let waiting = connection.waiting();
        let reads = waiting < HIGH_WATER && !is_closing && !connection.has_ended;
        self.set_interest(number, Interest { read: reads, write: waiting > 0 });
        self.count(number);
    }

    /// Has the poll report that a connection can be read, or written; written too while encrypted octets wait.
    fn set_interest(&mut self, number: u64, mut interest: Interest) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        interest.write |= connection.socket.wants_write();
        if interest != connection.interest {
            connection.interest = interest;
            // it fails for a socket that is gone, which the poll reports
            let _ = self.poll.modify(&connection.socket, number, interest);
        }
    }

    /// Ends a connection when its client has read why, or goes on sending.
    fn linger(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        connection.linger(Instant::now());
        self.engine.leave(&mut connection.session);
        self.set_interest(number, Interest::READ);
        self.count(number);
    }

    /// Counts what the buffers of a connection hold.
    fn count(&mut self, number: u64) {
        if let Some(connection) = self.connections.get_mut(&number) {
            let held = connection.held();
            self.buffered = self.buffered.saturating_sub(std::mem::replace(&mut connection.counted, held)) + held;
        }
    }

    /// Closes a connection.
    fn end(&mut self, number: u64, why: &str, is_fault: bool) {
        let Some(mut connection) = self.connections.remove(&number) else { return };
        self.engine.leave(&mut connection.session);
        self.buffered = self.buffered.saturating_sub(connection.counted);
        let Connection { socket, host, peer, session, .. } = connection;
        // closing the socket removes it as well
        let _ = self.poll.remove(&socket);
        drop(socket);
        if let Some(count) = self.hosts.get_mut(&host) {
            *count -= 1;
            if *count == 0 {
                self.hosts.remove(&host);
            }
        }
        if is_fault {
            self.engine.counts.faults += 1;
            if self.log.allow(host) {
                let name = &session.rights.name;
                warn!("the client {name} of the shared data layer at {peer} is disconnected: {why}");
            }
        } else {
            debug!("a client of the shared data layer at {peer} has ended: {why}");
        }
    }
}

/// What the keys of a namespace begin with.
fn prefix_of(namespace: &[u8]) -> Vec<u8> {
    [b"{", namespace, b"},"].concat()
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
