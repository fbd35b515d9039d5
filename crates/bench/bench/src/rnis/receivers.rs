//! The servers of subscribers, all on one thread: they read notifications and answer 204.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use ferric::link::{Events, Interest, Poll};
use hdrhistogram::Histogram;

use crate::latency_histogram;

const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";
/// The longest request: a service that sends longer ones is broken.
const MAX_REQUEST_OCTETS: usize = 64 * 1024;
const TICK: Duration = Duration::from_millis(50);

/// What has arrived since the last look: times from the event's time stamp to its arrival.
#[derive(Debug)]
pub struct Received {
    /// Of all subscribers.
    pub latencies_ns: Histogram<u64>,
    /// Of the first subscriber, in the order of arrival.
    pub of_first_ns: Vec<u64>,
}

impl Received {
    fn nothing() -> Self {
        Received { latencies_ns: latency_histogram(), of_first_ns: Vec::new() }
    }
}

/// Servers with an address each.
pub struct Receivers {
    pub addresses: Vec<SocketAddr>,
    state: Arc<State>,
    thread: Option<JoinHandle<anyhow::Result<()>>>,
}

struct State {
    received: Mutex<Received>,
    total: AtomicU64,
    is_over: AtomicBool,
}

impl Receivers {
    /// Starts so many servers.
    pub fn start(count: usize) -> anyhow::Result<Self> {
        let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<Vec<_>, _>>()?;
        let addresses = listeners.iter().map(TcpListener::local_addr).collect::<Result<_, _>>()?;
        let (received, total, is_over) = (Mutex::new(Received::nothing()), AtomicU64::new(0), AtomicBool::new(false));
        let state = Arc::new(State { received, total, is_over });
        let of_thread = Arc::clone(&state);
        let thread = thread::spawn(move || serve(&listeners, &of_thread));
        Ok(Receivers { addresses, state, thread: Some(thread) })
    }

    /// Takes what has arrived.
    pub fn take(&self) -> Received {
        let mut received = self.state.received.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut received, Received::nothing())
    }

    /// The notifications that have arrived since the start.
    pub fn total(&self) -> u64 {
        self.state.total.load(Ordering::Acquire)
    }
}

impl Drop for Receivers {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Release);
        if let Some(Ok(Err(error))) = self.thread.take().map(JoinHandle::join) {
            eprintln!("the receivers have failed: {error:#}");
        }
    }
}

struct Connection {
    /// The number of the listener that has accepted it.
    subscriber: usize,
    stream: TcpStream,
    buffer: Vec<u8>,
}

fn serve(listeners: &[TcpListener], state: &State) -> anyhow::Result<()> {
    let poll = Poll::new()?;
    for (token, listener) in listeners.iter().enumerate() {
        listener.set_nonblocking(true)?;
        poll.add(listener, token as u64, Interest::READ)?;
    }
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let (mut events, mut latencies_ns, mut of_first_ns) = (Events::new(), Vec::new(), Vec::new());
    while !state.is_over.load(Ordering::Acquire) {
        poll.wait(&mut events, Some(TICK))?;
        for event in events.iter() {
            let token = event.token as usize;
            if let Some(listener) = listeners.get(token) {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    poll.add(&stream, (listeners.len() + connections.len()) as u64, Interest::READ)?;
                    connections.push(Some(Connection { subscriber: token, stream, buffer: Vec::new() }));
                }
                continue;
            }
            let Some(place) = connections.get_mut(token - listeners.len()) else { continue };
            let Some(connection) = place else { continue };
            let (subscriber, known) = (connection.subscriber, latencies_ns.len());
            if !connection.receive(&mut latencies_ns)? {
                *place = None;
            }
            if subscriber == 0 {
                of_first_ns.extend_from_slice(&latencies_ns[known..]);
            }
        }
        if !latencies_ns.is_empty() {
            state.total.fetch_add(latencies_ns.len() as u64, Ordering::AcqRel);
            let mut received = state.received.lock().unwrap_or_else(PoisonError::into_inner);
            latencies_ns.drain(..).for_each(|latency_ns| received.latencies_ns += latency_ns);
            received.of_first_ns.append(&mut of_first_ns);
        }
    }
    Ok(())
}

impl Connection {
    /// Reads what has arrived and answers complete requests. Returns whether the connection remains.
    fn receive(&mut self, latencies_ns: &mut Vec<u64>) -> anyhow::Result<bool> {
        let mut octets = [0; 4096];
        match self.stream.read(&mut octets) {
            Ok(0) => return Ok(false),
            Ok(count) => self.buffer.extend_from_slice(&octets[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(_) => return Ok(false),
        }
        let now_ns = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
        while let Some((head, body)) = self.request()? {
            let stamp_ns = time_stamp_ns(&self.buffer[head..body]).context("a notification without a time stamp")?;
            latencies_ns.push(now_ns.saturating_sub(stamp_ns));
            self.buffer.drain(..body);
            // the answers of one connection fit into its send buffer: it has one request at a time
            self.stream.write_all(ANSWER)?;
        }
        Ok(self.buffer.len() <= MAX_REQUEST_OCTETS)
    }

    /// The ends of the head and of the body of a complete request.
    fn request(&self) -> anyhow::Result<Option<(usize, usize)>> {
        let Some(head) = find(&self.buffer, b"\r\n\r\n") else { return Ok(None) };
        let head = head + 4;
        let field = b"content-length: ";
        let at = find(&self.buffer[..head], field).context("a request without Content-Length")?;
        let length = number(&self.buffer[at + field.len()..]).context("a Content-Length that is no number")?;
        let end = head + usize::try_from(length)?;
        Ok((self.buffer.len() >= end).then_some((head, end)))
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn number(text: &[u8]) -> Option<u64> {
    let end = text.iter().position(|octet| !octet.is_ascii_digit()).unwrap_or(text.len());
    std::str::from_utf8(&text[..end]).ok()?.parse().ok()
}

/// The time stamp of a notification.
fn time_stamp_ns(body: &[u8]) -> Option<u64> {
    let member = |name: &[u8]| number(&body[find(body, name)? + name.len()..]);
    Some(member(b"\"seconds\":")? * 1_000_000_000 + member(b"\"nanoSeconds\":")?)
}
