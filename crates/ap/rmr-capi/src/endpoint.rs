//! An endpoint: its listeners, connections, route table, and the messages that have arrived.
//!
//! One thread waits for all sockets. A thread of the program that sends writes itself, under a lock that nothing holds while it waits.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use link::{Address, Class, Config, Error, Events, Framing, Interest, Link, Listener, Poll, Scratch, State, StreamId, Waker};
use rmr::message::{CALL_FLAG, TRANSACTION_OCTETS};
use rmr::{Header, Message, MessageType, TableReader};
use rustix::event::{EventfdFlags, eventfd};

use crate::log;
use crate::options::{Collector, Options, own_address};

const MESSAGES: u64 = u64::MAX;
const CONTROL: u64 = u64::MAX - 1;
const WAKE: u64 = u64::MAX - 2;

/// The longest message.
const MAX_MESSAGE_OCTETS: usize = 16 << 20;
/// Messages that may wait until the program takes them; further ones are dropped, as the original does.
const MAX_WAITING: usize = 4096;
/// Octets of them.
const MAX_WAITING_OCTETS: usize = 256 << 20;
const MAX_CONNECTIONS: usize = 1024;
const READ_OCTETS: usize = 256 << 10;
/// How long a thread that sends waits for a connection.
const CONNECT_TIME: Duration = Duration::from_millis(250);
/// How often the seed file is read until a table was found in it, and then.
const SEED_PERIOD: Duration = Duration::from_secs(1);
const SEED_REFRESH_PERIOD: Duration = Duration::from_secs(60);

/// A message that has arrived.
pub(crate) struct Received {
    pub octets: Vec<u8>,
    /// The connection, to which an answer can be returned.
    pub connection: u64,
}

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendError {
    /// No endpoint is known for it, or it cannot be connected.
    NoEndpoint,
    /// The endpoint takes no more at the moment.
    Retry,
    /// The connection is gone.
    Failed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Messages of the program.
    Messages,
    /// Messages about route tables.
    Control,
}

struct Connection {
    link: Link,
    kind: Kind,
    /// The endpoint that it was opened for.
    name: Option<String>,
    wants_write: bool,
}

struct Inner {
    listener: Listener,
    control: Option<Listener>,
    connections: HashMap<u64, Connection>,
    names: HashMap<String, u64>,
    table: TableReader,
    /// The connection with the route manager.
    manager: Option<u64>,
    last: u64,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Received>,
    octets: usize,
}

/// What waits for the answer to a call.
struct Call {
    transaction: [u8; TRANSACTION_OCTETS],
    answer: Option<Received>,
}

pub(crate) struct Shared {
    options: Options,
    /// `ADDRESS:PORT`.
    address: String,
    config: Config,
    poll: Poll,
    waker: Waker,
    is_stopped: AtomicBool,
    is_ready: AtomicBool,
    inner: Mutex<Inner>,
    queue: Mutex<Queue>,
    arrived: Condvar,
    /// A counter that can be read while messages wait.
    bell: OwnedFd,
    calls: Mutex<HashMap<u8, Call>>,
    answered: Condvar,
    queued: AtomicU64,
    dropped: AtomicU64,
}

/// An endpoint. It works until it is closed.
pub(crate) struct Endpoint {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listen(address: IpAddr, port: u16, config: &Config) -> Result<Listener, Error> {
    Listener::bind(&Address::Tcp { host: address.to_string(), port }, config)
}

impl Endpoint {
    /// Listens, and starts the thread.
    pub fn open(options: Options) -> io::Result<Self> {
        let config = Config {
            framing: Framing::OwnLength,
            max_pdu_octets: MAX_MESSAGE_OCTETS,
            outbox_octets: 2 * MAX_MESSAGE_OCTETS,
            ..Config::default()
        };
        let other = |error: Error| io::Error::other(error.to_string());
        let listener = listen(options.bind, options.port, &config).map_err(other)?;
        let poll = Poll::new()?;
        poll.add(&listener, MESSAGES, Interest::READ)?;
        let control = match &options.collector {
            Collector::Listen(port) | Collector::Request { port, .. } => match listen(options.bind, *port, &config) {
                Ok(listener) => {
                    poll.add(&listener, CONTROL, Interest::READ)?;
                    Some(listener)
                }
                Err(error) => {
                    log::line(log::WARNING, &format_args!("a route manager cannot connect: {error}"));
                    None
                }
            },
            Collector::None | Collector::File => None,
        };
        let waker = Waker::new(&poll, WAKE)?;
        let (own, port) = (own_address(), options.port);
        let address = format!("{own}:{port}");
        let names = vec![options.name.clone(), address.clone(), format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let shared = Shared {
            address,
            config,
            poll,
            waker,
            is_stopped: AtomicBool::new(false),
            is_ready: AtomicBool::new(options.collector == Collector::None),
            inner: Mutex::new(Inner {
                listener,
                control,
                connections: HashMap::new(),
                names: HashMap::new(),
                table: TableReader::new(names),
                manager: None,
                last: 0,
            }),
            queue: Mutex::default(),
            arrived: Condvar::new(),
            bell: new_bell()?,
            calls: Mutex::default(),
            answered: Condvar::new(),
            queued: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            options,
        };
        let shared = Arc::new(shared);
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("rmr".to_owned()).spawn(move || of_thread.run())?;
        Ok(Endpoint { shared, thread: Mutex::new(Some(thread)) })
    }

    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// `ADDRESS:PORT` of the endpoint.
    pub fn address(&self) -> &str {
        &self.shared.address
    }

    /// Whether a route table is in use.
    pub fn is_ready(&self) -> bool {
        self.shared.is_ready.load(Ordering::Acquire)
    }

    /// A descriptor that can be read while messages wait.
    pub fn descriptor(&self) -> RawFd {
        self.shared.bell.as_raw_fd()
    }

    /// Messages that were queued, and those that were dropped.
    pub fn counts(&self) -> (u64, u64) {
        (self.shared.queued.load(Ordering::Relaxed), self.shared.dropped.load(Ordering::Relaxed))
    }

    pub fn reset_counts(&self) {
        self.shared.queued.store(0, Ordering::Relaxed);
        self.shared.dropped.store(0, Ordering::Relaxed);
    }

    /// Ends the thread, and closes all connections. Threads that wait for a message return.
    pub fn close(&self) {
        let shared = &self.shared;
        shared.is_stopped.store(true, Ordering::Release);
        shared.waker.wake();
        let thread = locked(&self.thread).take();
        if let Some(thread) = thread {
            // a panic of the thread was reported by it
            let _ = thread.join();
        }
        let mut inner = locked(&shared.inner);
        for connection in inner.connections.values_mut() {
            // what a peer does not take now, it does not get
            let _ = connection.link.flush();
        }
        inner.connections.clear();
        inner.names.clear();
        drop(inner);
        shared.arrived.notify_all();
        shared.answered.notify_all();
    }

    /// Takes the next message. Waits for at most `timeout`, or without limit.
    pub fn receive(&self, timeout: Option<Duration>) -> Option<Received> {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        let mut queue = locked(&self.shared.queue);
        loop {
            if let Some(message) = queue.messages.pop_front() {
                queue.octets -= message.octets.len();
                silence(&self.shared.bell);
                return Some(message);
            }
            if self.shared.is_stopped.load(Ordering::Acquire) {
                return None;
            }
            queue = match until {
                None => self.shared.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return None;
                    }
                    self.shared.arrived.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Sends a message to the endpoints of the route table: one of each group.
    pub fn send(&self, header: &Header<'_>, payload: &[u8]) -> Result<(), SendError> {
        let mut to = Vec::new();
        let mut inner = locked(&self.shared.inner);
        let selected = inner.table.table().select(header.kind, header.subscription_id, header.meid, |endpoint| {
            to.push(endpoint.to_owned());
        });
        drop(inner);
        if let Err(error) = selected {
            log::line(
                log::WARNING,
                &format_args!("type {} subscription {}: {error}", header.kind, header.subscription_id),
            );
            return Err(SendError::NoEndpoint);
        }
        let mut result = Err(SendError::NoEndpoint);
        for endpoint in to {
            let sent = self.send_to(&endpoint, header, payload);
            // one group that has it is a success
            if result.is_err() {
                result = sent;
            }
        }
        result
    }

    /// Sends a message to an endpoint `HOST:PORT`.
    pub fn send_to(&self, endpoint: &str, header: &Header<'_>, payload: &[u8]) -> Result<(), SendError> {
        let connection = self.connect(endpoint)?;
        self.send_on(connection, header, payload)
    }

    /// Sends a message on a connection.
    pub fn send_on(&self, connection: u64, header: &Header<'_>, payload: &[u8]) -> Result<(), SendError> {
        let mut octets = Vec::new();
        header.write(payload.len(), &mut octets);
        let mut inner = locked(&self.shared.inner);
        let of = inner.connections.get_mut(&connection).ok_or(SendError::Failed)?;
        match of.link.send(StreamId(0), &[&octets, payload], Class::Keep) {
            Ok(_) => {}
            Err(Error::OutboxFull { .. } | Error::SendMemoryFull { .. }) => return Err(SendError::Retry),
            Err(_) => return Err(SendError::Failed),
        }
        self.shared.flush(&mut inner, connection)
    }

    /// Whether a connection is open.
    pub fn is_open(&self, connection: u64) -> bool {
        locked(&self.shared.inner).connections.contains_key(&connection)
    }

    /// The connection to an endpoint, which is opened if there is none.
    pub fn connect(&self, endpoint: &str) -> Result<u64, SendError> {
        if let Some(connection) = locked(&self.shared.inner).names.get(endpoint) {
            return Ok(*connection);
        }
        let connection = self.shared.open(endpoint, Kind::Messages)?;
        let until = Instant::now() + CONNECT_TIME;
        loop {
            let mut inner = locked(&self.shared.inner);
            let of = inner.connections.get_mut(&connection).ok_or(SendError::NoEndpoint)?;
            match of.link.finish_connect() {
                Ok(State::Established) => return Ok(connection),
                // what is sent meanwhile waits
                Ok(_) if Instant::now() >= until => return Ok(connection),
                Ok(_) => {}
                Err(error) => {
                    log::line(log::WARNING, &format_args!("{endpoint} cannot be reached: {error}"));
                    self.shared.end(&mut inner, connection);
                    return Err(SendError::NoEndpoint);
                }
            }
            drop(inner);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Sends by `send`, and waits for the answer with the same call id and transaction id.
    pub fn call(
        &self,
        id: u8,
        transaction: &[u8],
        timeout: Option<Duration>,
        send: impl FnOnce() -> Result<(), SendError>,
    ) -> Result<Option<Received>, SendError> {
        let mut expected = [0; TRANSACTION_OCTETS];
        for (octet, of_message) in expected.iter_mut().zip(transaction) {
            *octet = *of_message;
        }
        locked(&self.shared.calls).insert(id, Call { transaction: expected, answer: None });
        if let Err(error) = send() {
            locked(&self.shared.calls).remove(&id);
            return Err(error);
        }
        let until = timeout.map(|timeout| Instant::now() + timeout);
        let mut calls = locked(&self.shared.calls);
        loop {
            let is_over = match calls.get(&id) {
                Some(call) => call.answer.is_some(),
                None => true,
            };
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if is_over || left.is_some_and(|left| left.is_zero()) || self.shared.is_stopped.load(Ordering::Acquire) {
                return Ok(calls.remove(&id).and_then(|call| call.answer));
            }
            calls = match left {
                None => self.shared.answered.wait(calls).unwrap_or_else(PoisonError::into_inner),
                Some(left) => self.shared.answered.wait_timeout(calls, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }
}

impl Shared {
    fn run(&self) {
        let (mut events, mut scratch) = (Events::new(), Scratch::new());
        let (mut next_seed, mut next_request) = (Instant::now(), Instant::now());
        while !self.is_stopped.load(Ordering::Acquire) {
            let now = Instant::now();
            if now >= next_seed {
                next_seed = now + self.read_seed();
            }
            if now >= next_request {
                next_request = now + self.options.request_period;
                self.request_table();
            }
            let timeout = next_seed.min(next_request).saturating_duration_since(Instant::now());
            if let Err(error) = self.poll.wait(&mut events, Some(timeout)) {
                log::line(log::CRITICAL, &format_args!("nothing is received any more: cannot wait for events: {error}"));
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
                Kind::Messages => Some(&mut inner.listener),
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

    /// Begins to connect to `HOST:PORT`.
    fn open(&self, endpoint: &str, kind: Kind) -> Result<u64, SendError> {
        // names are looked up without the lock
        let address = endpoint.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
        let address = address.ok_or(SendError::NoEndpoint)?;
        let to = Address::Tcp { host: address.ip().to_string(), port: address.port() };
        let link = Link::connect(&to, &self.config).map_err(|_| SendError::NoEndpoint)?;
        let mut inner = locked(&self.inner);
        let name = Some(endpoint).filter(|_| kind == Kind::Messages);
        // another thread may have been faster
        if let Some(connection) = name.and_then(|name| inner.names.get(name)) {
            return Ok(*connection);
        }
        self.add(&mut inner, link, kind, name, Interest::READ_WRITE).ok_or(SendError::Failed)
    }

    fn end(&self, inner: &mut Inner, id: u64) {
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
    fn flush(&self, inner: &mut Inner, id: u64) -> Result<(), SendError> {
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
            let received = connection.link.receive(scratch, READ_OCTETS, &mut |_, octets| messages.push(octets.to_vec()));
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

    /// Asks the route manager for a table until there is one. A manager that comes back is asked again.
    fn request_table(&self) {
        let Collector::Request { manager, .. } = &self.options.collector else { return };
        let mut inner = locked(&self.inner);
        if inner.manager.is_some() && self.is_ready.load(Ordering::Acquire) {
            return;
        }
        let connection = match inner.manager {
            Some(connection) => connection,
            None => {
                drop(inner);
                let Ok(connection) = self.open(manager, Kind::Control) else {
                    return log::line(log::INFO, &format_args!("the route manager {manager} cannot be reached"));
                };
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

/// Creates a counter that can be read while it is not zero.
fn new_bell() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK | EventfdFlags::SEMAPHORE)?)
}

fn ring(bell: &OwnedFd) {
    // it fails only beyond 2^64 - 2 messages
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

fn silence(bell: &OwnedFd) {
    // it fails only if the counter is zero
    let _ = rustix::io::read(bell, &mut [0; 8]);
}
