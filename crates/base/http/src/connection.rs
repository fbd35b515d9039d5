//! One connection: its version of HTTP, its end, and its streams.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::{Rc, Weak};
use std::task::Poll;
use std::time::Duration;

use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use super::limits::Permit;
use super::refusal::Stream;
use super::respond::respond;
use super::serve::Shared;
use super::tokens::{Client, Role};

/// Octets of a request's head; a longer one is answered with 431.
pub(super) const MAX_HEAD_OCTETS: usize = 16 * 1024;
/// Requests of one HTTP/2 connection at a time.
const MAX_CONCURRENT_REQUESTS: u32 = 64;
/// A reader of a stream that takes nothing during so many pings is disconnected.
pub(super) const SILENT_PINGS: u32 = 3;

/// What is known of a connection while it lasts.
pub(super) struct Connection {
    pub peer: SocketAddr,
    requests: Cell<usize>,
    streams: Cell<usize>,
    /// When the last request was answered.
    used: Cell<Instant>,
    /// Ends the connection at once.
    abort: Notify,
    _permit: Permit,
}

impl Connection {
    pub fn new(peer: SocketAddr, permit: Permit) -> Rc<Self> {
        Rc::new(Connection {
            peer,
            requests: Cell::new(0),
            streams: Cell::new(0),
            used: Cell::new(Instant::now()),
            abort: Notify::new(),
            _permit: permit,
        })
    }

    /// Counts a request until the guard is dropped.
    pub fn begin_request(&self) -> RequestGuard<'_> {
        self.requests.update(|count| count + 1);
        RequestGuard(self)
    }

    fn is_idle_for(&self, time: Duration) -> bool {
        self.requests.get() == 0 && self.streams.get() == 0 && self.used.get().elapsed() >= time
    }
}

/// A request that is being answered.
pub(super) struct RequestGuard<'c>(&'c Connection);

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        self.0.requests.update(|count| count - 1);
        self.0.used.set(Instant::now());
    }
}

/// A stream that is open. It keeps its place among the streams, and its connection among the connections.
pub(super) struct StreamGuard(Rc<StreamState>);

struct StreamState {
    shared: Rc<Shared>,
    connection: Rc<Connection>,
    is_revoked: Cell<bool>,
    revoked: Notify,
    /// When the connection last took something.
    progress: Cell<Instant>,
    _permit: Permit,
}

impl StreamGuard {
    /// Watches a stream: it ends when its client has lost its role, and its connection when the client takes nothing.
    pub fn new(
        shared: &Rc<Shared>,
        connection: &Rc<Connection>,
        permit: Permit,
        client: Option<(Client, Role)>,
    ) -> Self {
        connection.streams.update(|count| count + 1);
        let state = Rc::new(StreamState {
            shared: Rc::clone(shared),
            connection: Rc::clone(connection),
            is_revoked: Cell::new(false),
            revoked: Notify::new(),
            progress: Cell::new(Instant::now()),
            _permit: permit,
        });
        shared.metrics.streams.set(&[], shared.streams.in_use() as f64);
        tokio::task::spawn_local(watch(Rc::downgrade(&state), shared.config.stream_ping, client));
        StreamGuard(state)
    }

    pub fn note_progress(&self) {
        self.0.progress.set(Instant::now());
    }

    pub fn note_lost(&self, events: u64) {
        self.0.shared.metrics.lost_events.add(&[], events as f64);
    }

    pub fn is_revoked(&self) -> bool {
        self.0.is_revoked.get()
    }

    /// Waits until the client has lost its role.
    pub async fn revoked(&self) {
        while !self.is_revoked() {
            self.0.revoked.notified().await;
        }
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        let StreamState { shared, connection, .. } = &*self.0;
        connection.streams.update(|count| count - 1);
        connection.used.set(Instant::now());
        // its permit is returned after this
        shared.metrics.streams.set(&[], shared.streams.in_use().saturating_sub(1) as f64);
    }
}

async fn watch(stream: Weak<StreamState>, ping: Duration, client: Option<(Client, Role)>) {
    loop {
        sleep(ping).await;
        let Some(state) = stream.upgrade() else { return };
        let mut access = state.shared.access.borrow_mut();
        access.refresh();
        if client.as_ref().is_some_and(|(client, role)| !access.still_permits(client, *role)) {
            state.is_revoked.set(true);
            state.revoked.notify_one();
        }
        if state.progress.get().elapsed() > (SILENT_PINGS + 1) * ping {
            state.connection.abort.notify_one();
        }
    }
}

/// Runs the tasks of HTTP/2 on the server's thread.
#[derive(Clone, Copy)]
struct LocalExecutor;

impl<F: Future<Output: 'static> + 'static> Executor<F> for LocalExecutor {
    fn execute(&self, task: F) {
        tokio::task::spawn_local(task);
    }
}

/// Serves one connection, from its first request to its last.
pub(super) async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    connection: Rc<Connection>,
    shared: &Rc<Shared>,
) -> hyper::Result<()> {
    let config = &shared.config;
    let mut stream = Stream::new(stream, shared.ids.clone());
    // a client that is silent, or gone before its first request, needs no answer
    let Ok(Ok(Some(is_http2))) = timeout(config.read_timeout, stream.read_version()).await else { return Ok(()) };
    let service = service_fn(|request| {
        let (shared, connection) = (Rc::clone(shared), Rc::clone(&connection));
        async move { Ok::<_, Infallible>(respond(request, &connection, &shared).await) }
    });
    if is_http2 {
        let serving = http2::Builder::new(LocalExecutor)
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_CONCURRENT_REQUESTS)
            .max_header_list_size(MAX_HEAD_OCTETS as u32)
            // WebSocket (RFC 8441)
            .enable_connect_protocol()
            .keep_alive_interval(config.stream_ping)
            .keep_alive_timeout(config.read_timeout)
            .serve_connection(TokioIo::new(stream), service);
        return drive(pin!(serving), http2::Connection::graceful_shutdown, &connection, shared).await;
    }
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(config.read_timeout)
        .max_buf_size(MAX_HEAD_OCTETS)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    drive(pin!(serving), http1::UpgradeableConnection::graceful_shutdown, &connection, shared).await
}

/// Serves until the connection ends, is idle or too old. Streams on it may be older.
async fn drive<C: Future<Output = hyper::Result<()>>>(
    mut serving: Pin<&mut C>,
    shut_down: fn(Pin<&mut C>),
    connection: &Connection,
    shared: &Shared,
) -> hyper::Result<()> {
    let config = &shared.config;
    let begun = Instant::now();
    let mut checks = interval((config.read_timeout.min(config.connection_lifetime) / 4).max(Duration::from_millis(10)));
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_ending_since: Option<Instant> = None;
    loop {
        let mut aborted = pin!(connection.abort.notified());
        let ended = poll_fn(|context| {
            if let Poll::Ready(ended) = serving.as_mut().poll(context) {
                return Poll::Ready(Some(ended));
            }
            if aborted.as_mut().poll(context).is_ready() {
                return Poll::Ready(Some(Ok(())));
            }
            checks.poll_tick(context).map(|_| None)
        });
        if let Some(ended) = ended.await {
            return ended;
        }
        match is_ending_since {
            None if begun.elapsed() >= config.connection_lifetime || connection.is_idle_for(config.read_timeout) => {
                shut_down(serving.as_mut());
                is_ending_since = Some(Instant::now());
            }
            // a client that does not read its response is not waited for longer
            Some(since)
                if connection.streams.get() == 0
                    && since.elapsed() >= config.read_timeout + config.response_timeout =>
            {
                return Ok(());
            }
            _ => {}
        }
    }
}
