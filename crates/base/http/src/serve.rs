//! The server's thread: connections, their bounds, and the path of a request to its route.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt::Display;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONNECTION, HOST, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, StatusCode, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio::task::LocalSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use super::limits::ConnectionLimits;
use super::route::Router;
use super::stream::{Stream, to_octets};
#[cfg(feature = "tls")]
use super::tls::handshake;
use super::{Access, Problem, Request, Response, ServerConfig};

/// Octets of a request's head; a longer one is answered with 431.
pub(super) const MAX_HEAD_OCTETS: usize = 16 * 1024;
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
struct Shared {
    config: ServerConfig,
    /// The access control of the configuration, refreshed.
    access: RefCell<Access>,
    router: Router,
    is_loopback: bool,
}

impl Shared {
    /// Logs that a client was refused, and why, if the budget of lines allows.
    fn log_refusal(&self, peer: SocketAddr, what: &str, why: &dyn Display) {
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
            let shared = Rc::new(Shared {
                access: RefCell::new(config.access.clone()),
                config,
                router,
                is_loopback: address.ip().is_loopback(),
            });
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
    let limits = ConnectionLimits::new(shared.config.max_connections, shared.config.max_connections_of_host);
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                debug!(%error, "cannot accept a connection");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let permit = match limits.acquire(peer.ip()) {
            Ok(permit) => permit,
            Err(reason) => {
                shared.log_refusal(peer, "connection", &reason);
                if !shared.access.borrow().is_secured() {
                    refuse(&stream, reason);
                }
                continue;
            }
        };
        let shared = Rc::clone(&shared);
        tokio::task::spawn_local(async move {
            serve_client(stream, peer, &shared).await;
            drop(permit);
        });
    }
}

/// Answers a connection beyond the limits. A client that does not take the response at once does not get it.
fn refuse(stream: &TcpStream, reason: &str) {
    let _ = stream.try_write(&to_octets(Problem::unavailable(reason).into()));
}

/// Serves one connection, over TLS or not.
async fn serve_client(stream: TcpStream, peer: SocketAddr, shared: &Rc<Shared>) {
    shared.access.borrow_mut().refresh();
    #[cfg(feature = "tls")]
    let tls = shared.access.borrow().content.tls.clone();
    #[cfg(feature = "tls")]
    if let Some(tls) = tls {
        let stream = timeout(shared.config.read_timeout, handshake(stream, tls)).await;
        match stream.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(stream) => log_end(serve_connection(stream, peer, shared).await, peer, shared),
            Err(error) => shared.log_refusal(peer, "TLS handshake", &error),
        }
        return;
    }
    log_end(serve_connection(stream, peer, shared).await, peer, shared);
}

fn log_end(result: hyper::Result<()>, peer: SocketAddr, shared: &Shared) {
    match result {
        Ok(()) => {}
        Err(error) if error.is_parse() => shared.log_refusal(peer, "request", &error),
        Err(error) => debug!(%peer, %error, "REST connection ended"),
    }
}

/// Serves one connection, from its first request to its last.
async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: SocketAddr,
    shared: &Rc<Shared>,
) -> hyper::Result<()> {
    let config = &shared.config;
    let service = service_fn(|request| {
        let shared = Rc::clone(shared);
        async move { Ok::<_, Infallible>(respond(request, peer, &shared).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(config.read_timeout)
        .max_buf_size(MAX_HEAD_OCTETS)
        .serve_connection(TokioIo::new(Stream::new(stream)), service);
    let mut connection = pin!(connection);
    if let Ok(ended) = timeout(config.connection_lifetime, connection.as_mut()).await {
        return ended;
    }
    connection.as_mut().graceful_shutdown();
    // a client that does not read its response is not waited for longer
    timeout(config.read_timeout + config.response_timeout, connection).await.unwrap_or(Ok(()))
}

/// Answers a request.
async fn respond(request: hyper::Request<Incoming>, peer: SocketAddr, shared: &Shared) -> hyper::Response<Full<Bytes>> {
    let answer = match handle(request, peer, shared).await {
        Ok(response) => response,
        Err(problem) => problem.into(),
    };
    let (status, mut headers) = (answer.status, answer.headers.clone());
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE) {
        // the rest of the request is not read
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let mut response = hyper::Response::new(Full::new(Bytes::from(answer.into_body())));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

async fn handle(request: hyper::Request<Incoming>, peer: SocketAddr, shared: &Shared) -> Result<Response, Problem> {
    let Shared { config, router, is_loopback, .. } = shared;
    let (head, body) = request.into_parts();
    check_host(&head.headers, &head.uri, head.version, *is_loopback)
        .and_then(|()| check_token(&head.method, &head.headers, shared))
        .inspect_err(|problem| shared.log_refusal(peer, "request", &problem.detail()))?;
    let (route, parameters) = router.find(&head.method, &head.uri)?;
    let body = read_body(body, config).await?;
    let path = head.uri.path().to_owned();
    let request = Request { parameters, path, headers: head.headers, body };
    timeout(config.response_timeout, route.answer(request)).await.unwrap_or_else(|_| {
        let within_s = config.response_timeout.as_secs();
        Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, format!("no answer within {within_s} s")))
    })
}

/// Requires a valid token if tokens are configured.
fn check_token(method: &Method, headers: &HeaderMap, shared: &Shared) -> Result<(), Problem> {
    let mut access = shared.access.borrow_mut();
    access.refresh();
    let Some(tokens) = &access.content.tokens else { return Ok(()) };
    tokens.check(method, headers)
}

/// Refuses requests for other host names on a loopback address. A web page could otherwise resolve its own name to this host
/// (DNS rebinding), and its visitor's browser would take this server for the page's.
fn check_host(headers: &HeaderMap, uri: &Uri, version: Version, is_loopback: bool) -> Result<(), Problem> {
    let mut hosts = headers.get_all(HOST).iter();
    // RFC 9112 3.2
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => String::from_utf8_lossy(host.as_bytes()),
        (Some(_), Some(_)) => return Err(Problem::bad_request("more than one Host header")),
        (None, _) if version < Version::HTTP_11 => return Ok(()),
        (None, _) => return Err(Problem::bad_request("HTTP/1.1 requires a Host header")),
    };
    // RFC 9112 3.2.2: the target overrides the header
    let target = uri.authority().map(|authority| authority.as_str());
    // RFC 9112 3.2: a Host header without user information; RFC 9110 4.2.4: so is a target of http
    if let Some(with_user) = [Some(&*host), target].into_iter().flatten().find(|name| name.contains('@')) {
        let problem = "user information before `@` is not allowed; use a bearer token";
        return Err(Problem::bad_request(format!("`{}` is not a host: {problem}", without_user(with_user))));
    }
    if !is_loopback {
        return Ok(());
    }
    let host = target.unwrap_or(&host);
    let name = host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    if name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback()) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        format!("`{host}` is not served here: this is a loopback address"),
    ))
}

/// Hides user information, which may be a password.
fn without_user(host: &str) -> String {
    let name = host.rsplit_once('@').map_or(host, |(_, name)| name);
    format!("…@{name}")
}

async fn read_body(body: Incoming, config: &ServerConfig) -> Result<Vec<u8>, Problem> {
    let max_octets = config.max_body_octets;
    let too_large = || Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a body has at most {max_octets} octets"));
    if body.size_hint().lower() > max_octets as u64 {
        return Err(too_large());
    }
    match timeout(config.read_timeout, Limited::new(body, max_octets).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes().into()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Problem::bad_request(format!("the body cannot be read: {error}"))),
        Err(_) => Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    }
}
