//! An endpoint: its listeners, connections, route table, and the messages that have arrived.
//!
//! One thread waits for all sockets. A thread of the program that sends writes itself, under a lock that nothing holds while it
//! waits.

#[cfg(test)]
mod tests;
mod thread;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use link::{
    Address, Class, Config, Error, Framing, Interest, Link, Listener, Lookup, Poll, Resolver, State, StreamId, Waker,
};
use rmr::message::TRANSACTION_OCTETS;
use rmr::{Header, TableReader};
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
/// How long a thread that sends waits until a host name is looked up, and then for a connection.
const LOOKUP_TIME: Duration = Duration::from_secs(2);
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
    /// `None` once the endpoint is closed.
    listener: Option<Listener>,
    control: Option<Listener>,
    connections: HashMap<u64, Connection>,
    names: HashMap<String, u64>,
    table: TableReader,
    /// The connection with the route manager.
    manager: Option<u64>,
    /// The host of the route manager, while it is looked up.
    manager_lookup: Option<Lookup>,
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
        Endpoint::with_resolver(options, Resolver::system())
    }

    fn with_resolver(options: Options, resolver: Resolver) -> io::Result<Self> {
        let config = Config {
            framing: Framing::OwnLength,
            max_pdu_octets: MAX_MESSAGE_OCTETS,
            outbox_octets: 2 * MAX_MESSAGE_OCTETS,
            resolver,
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
        let names =
            vec![options.name.clone(), address.clone(), format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let shared = Shared {
            address,
            config,
            poll,
            waker,
            is_stopped: AtomicBool::new(false),
            is_ready: AtomicBool::new(options.collector == Collector::None),
            inner: Mutex::new(Inner {
                listener: Some(listener),
                control,
                connections: HashMap::new(),
                names: HashMap::new(),
                table: TableReader::new(names),
                manager: None,
                manager_lookup: None,
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
        (inner.listener, inner.control) = (None, None);
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
        let lookup = self.shared.look_up(endpoint)?;
        let until = Instant::now() + LOOKUP_TIME;
        while !lookup.is_done() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let connection = self.shared.open(endpoint, lookup, Kind::Messages)?;
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
