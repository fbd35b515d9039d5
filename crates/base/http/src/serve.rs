//! The server's thread: its listener, and the state that all connections share.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt::Display;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio::task::LocalSet;
use tokio::time::sleep;
#[cfg(feature = "tls")]
use tokio::time::timeout;
use tracing::{debug, warn};

use super::connection::{self, Connection};
use super::limits::{KnownHosts, Pool};
use super::own_metrics::OwnMetrics;
use super::rate::RateLimit;
use super::refusal::to_octets;
use super::request_id::RequestIds;
use super::route::Router;
use super::snapshots::Snapshots;
#[cfg(feature = "tls")]
use super::tls::handshake;
use super::tokens::TokenHash;
use super::{Access, Problem, ServerConfig};

/// The pause after the system refused a connection for want of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The server's thread. It ends on drop, and closes all connections.
#[derive(Debug)]
pub(super) struct Serving {
    address: SocketAddr,
    is_secured: bool,
    end: Option<oneshot::Sender<Infallible>>,
    reload: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

/// The state that all connections share.
pub(super) struct Shared {
    pub config: ServerConfig,
    /// The access control of the configuration, refreshed.
    pub access: RefCell<Access>,
    pub router: Router,
    pub is_loopback: bool,
    pub is_secured: bool,
    pub ids: Arc<RequestIds>,
    /// Hosts that were served before.
    pub known: RefCell<KnownHosts>,
    connections: Rc<Pool>,
    pub streams: Rc<Pool>,
    /// The rates of hosts, and of tokens.
    pub rates: RefCell<(RateLimit<IpAddr>, RateLimit<TokenHash>)>,
    pub metrics: OwnMetrics,
    /// Answers that reads share.
    pub snapshots: Snapshots,
}

impl Shared {
    fn new(config: ServerConfig, router: Router, is_loopback: bool) -> Self {
        let percent = config.max_host_percent;
        Shared {
            access: RefCell::new(config.access.clone()),
            router,
            is_loopback,
            is_secured: config.access.is_secured(),
            ids: Arc::new(RequestIds::new()),
            known: RefCell::default(),
            connections: Pool::new("connections", config.max_connections, percent),
            streams: Pool::new("streams", config.max_streams, percent),
            rates: RefCell::new((
                RateLimit::new(config.max_requests_per_second),
                RateLimit::new(config.max_requests_per_second),
            )),
            metrics: OwnMetrics::new(&config.metrics),
            snapshots: Snapshots::default(),
            config,
        }
    }

    /// Logs that a client was refused, and why, if the budget of lines allows.
    pub fn log_refusal(&self, peer: SocketAddr, what: &str, why: &dyn Display) {
        if self.config.log_budget.allow(peer.ip().into()) {
            warn!(%peer, "REST {what} refused: {why}");
        }
    }
}

impl Serving {
    pub fn start(config: ServerConfig, router: Router) -> io::Result<Self> {
        let listener = TcpListener::bind(config.address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let is_secured = config.access.is_secured();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (end, ended) = oneshot::channel();
        let reload = Arc::new(Notify::new());
        let wanted = Arc::clone(&reload);
        let thread = std::thread::Builder::new().name("rest".into()).spawn(move || {
            let shared = Rc::new(Shared::new(config, router, address.ip().is_loopback()));
            LocalSet::new().block_on(&runtime, async {
                let reloaded = Rc::clone(&shared);
                tokio::task::spawn_local(async move {
                    loop {
                        wanted.notified().await;
                        reloaded.access.borrow_mut().reload();
                    }
                });
                tokio::task::spawn_local(accept(listener, shared));
                let _ = ended.await; // the sender is dropped, nothing is sent
            });
        })?;
        Ok(Serving { address, is_secured, end: Some(end), reload, thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn is_secured(&self) -> bool {
        self.is_secured
    }

    pub fn access_handle(&self) -> AccessHandle {
        AccessHandle(Arc::clone(&self.reload))
    }
}

/// Has the files of a server's access control read again, from any thread.
#[derive(Clone, Debug)]
pub struct AccessHandle(Arc<Notify>);

impl AccessHandle {
    /// Reads the files again if they have changed, now rather than with the next connection. The server logs the result.
    pub fn reload(&self) {
        self.0.notify_one();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            warn!("the REST server panicked; please report it");
        }
    }
}

/// Accepts connections.
async fn accept(listener: TcpListener, shared: Rc<Shared>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return warn!(%error, "REST is not available: cannot accept connections"),
    };
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                debug!(%error, "cannot accept a connection");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let is_known = shared.known.borrow().contains(peer.ip());
        let permit = match shared.connections.acquire(peer.ip(), is_known) {
            Ok(permit) => permit,
            Err(reason) => {
                shared.log_refusal(peer, "connection", &reason);
                shared.metrics.refused_connections.add(&[], 1.0);
                if !shared.is_secured {
                    refuse(&stream, reason, &shared);
                }
                continue;
            }
        };
        shared.metrics.connections.set(&[], shared.connections.in_use() as f64);
        let shared = Rc::clone(&shared);
        tokio::task::spawn_local(async move {
            serve_client(stream, Connection::new(peer, permit), &shared).await;
            shared.metrics.connections.set(&[], shared.connections.in_use() as f64);
        });
    }
}

/// Answers a connection beyond the limits. A client that does not take the response at once does not get it.
fn refuse(stream: &TcpStream, reason: String, shared: &Shared) {
    let _ = stream.try_write(&to_octets(Problem::unavailable(reason), &shared.ids.next()));
}

/// Serves one connection, over TLS or not.
async fn serve_client(stream: TcpStream, connection: Rc<Connection>, shared: &Rc<Shared>) {
    let peer = connection.peer;
    shared.access.borrow_mut().refresh();
    #[cfg(feature = "tls")]
    let tls = shared.access.borrow().content.tls.clone();
    #[cfg(feature = "tls")]
    if let Some(tls) = tls {
        let stream = timeout(shared.config.read_timeout, handshake(stream, tls, &shared.ids)).await;
        match stream.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(stream) => log_end(connection::serve(stream, connection, shared).await, peer, shared),
            Err(error) => shared.log_refusal(peer, "TLS handshake", &error),
        }
        return;
    }
    log_end(connection::serve(stream, connection, shared).await, peer, shared);
}

fn log_end(result: hyper::Result<()>, peer: SocketAddr, shared: &Shared) {
    match result {
        Ok(()) => {}
        Err(error) if error.is_parse() => shared.log_refusal(peer, "request", &error),
        Err(error) => debug!(%peer, %error, "REST connection ended"),
    }
}
