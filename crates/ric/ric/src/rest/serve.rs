//! HTTP/1.1: connections, their bounds, and the way from a request to its route.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::rc::Rc;
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
use tokio::sync::oneshot;
use tokio::task::LocalSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use super::room::Room;
use super::route::Router;
use super::stream::{Stream, written};
use super::tls::shake_hands;
use super::{Problem, Request, Response, RestAccess, RestConfig};

/// Octets of a request's head; a longer one is told 431.
const MAX_HEAD_OCTETS: usize = 16 * 1024;
/// How long to wait where the system is out of file descriptors or memory.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// The thread of HTTP. It ends when this is dropped, with all its connections.
#[derive(Debug)]
pub(super) struct Serving {
    address: SocketAddr,
    is_secured: bool,
    end: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

/// What all connections share.
struct Shared {
    config: RestConfig,
    /// That of the configuration, as it is now.
    access: RefCell<RestAccess>,
    router: Router,
    is_loopback: bool,
    /// Handshakes that came to nothing, and requests without a token of ours.
    handshakes_failed: Cell<u64>,
    unauthorized: Cell<u64>,
}

impl Serving {
    pub fn start(config: RestConfig, router: Router) -> io::Result<Self> {
        let listener = TcpListener::bind(config.address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let is_secured = config.access.is_secured();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (end, ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name("rest".into()).spawn(move || {
            let shared = Rc::new(Shared {
                access: RefCell::new(config.access.clone()),
                config,
                router,
                is_loopback: address.ip().is_loopback(),
                handshakes_failed: Cell::default(),
                unauthorized: Cell::default(),
            });
            LocalSet::new().block_on(&runtime, async {
                tokio::task::spawn_local(accept(listener, shared));
                let _ = ended.await; // it is dropped, never sent
            });
        })?;
        Ok(Serving { address, is_secured, end: Some(end), thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn is_secured(&self) -> bool {
        self.is_secured
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            warn!("the REST interface has ended by a fault of its own; please report it");
        }
    }
}

/// Takes connections.
async fn accept(listener: TcpListener, shared: Rc<Shared>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return warn!(%error, "no REST: cannot wait for connections"),
    };
    let room = Room::new(shared.config.max_connections, shared.config.max_connections_of_host);
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                debug!(%error, "no connection");
                sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        let place = match room.take(peer.ip()) {
            Ok(place) => place,
            Err(why) => {
                if !shared.access.borrow().is_secured() {
                    turn_away(&stream, why);
                }
                continue;
            }
        };
        let shared = Rc::clone(&shared);
        tokio::task::spawn_local(async move {
            welcome(stream, peer, &shared).await;
            drop(place);
        });
    }
}

/// There is no room. Who does not take that at once gets nothing.
fn turn_away(stream: &TcpStream, why: &str) {
    let answer = written(Problem::unavailable(why).into());
    let _ = stream.try_write(&answer);
}

/// One connection, secured or not.
async fn welcome(stream: TcpStream, peer: SocketAddr, shared: &Rc<Shared>) {
    let tls = {
        let mut access = shared.access.borrow_mut();
        access.renew();
        access.tls.clone()
    };
    let ended = match tls {
        None => converse(stream, peer, shared).await,
        Some(tls) => {
            let stream = timeout(shared.config.read_timeout, shake_hands(stream, tls)).await;
            match stream.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(stream) => converse(stream, peer, shared).await,
                Err(error) => {
                    let failed = count(&shared.handshakes_failed);
                    if failed.is_power_of_two() {
                        warn!(%peer, failed, %error, "no REST: a handshake of TLS failed");
                    }
                    return;
                }
            }
        }
    };
    if let Err(error) = ended {
        debug!(%peer, %error, "a REST connection ends");
    }
}

/// One more: what clients cause is told at the first, second, fourth … time.
fn count(counter: &Cell<u64>) -> u64 {
    counter.set(counter.get() + 1);
    counter.get()
}

/// One connection, from its first request to its last.
async fn converse(
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
    // who does not read its answer either is left
    timeout(config.read_timeout + config.answer_timeout, connection).await.unwrap_or(Ok(()))
}

/// From a request to its answer.
async fn respond(request: hyper::Request<Incoming>, peer: SocketAddr, shared: &Shared) -> hyper::Response<Full<Bytes>> {
    let answer = match handle(request, peer, shared).await {
        Ok(answer) => answer,
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
    check_host(&head.headers, &head.uri, head.version, *is_loopback)?;
    check_token(&head.method, &head.headers, peer, shared)?;
    let (route, parameters) = router.find(&head.method, &head.uri)?;
    let body = read_body(body, config).await?;
    let path = head.uri.path().to_owned();
    let request = Request { parameters, path, headers: head.headers, body };
    timeout(config.answer_timeout, route.answer(request)).await.unwrap_or_else(|_| {
        let within_s = config.answer_timeout.as_secs();
        Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, format!("no answer within {within_s} s")))
    })
}

/// Where there are tokens, nothing is told without one.
fn check_token(method: &Method, headers: &HeaderMap, peer: SocketAddr, shared: &Shared) -> Result<(), Problem> {
    let mut access = shared.access.borrow_mut();
    access.renew();
    let Some(tokens) = &access.tokens else { return Ok(()) };
    tokens.check(method, headers).inspect_err(|problem| {
        let refused = count(&shared.unauthorized);
        if refused.is_power_of_two() {
            warn!(%peer, refused, "a REST request is refused: {}", problem.detail());
        }
    })
}

/// A page that somebody looks at could have its own name mean this host, and speak to us as to its own server; what it then
/// says is its name.
fn check_host(headers: &HeaderMap, uri: &Uri, version: Version, is_loopback: bool) -> Result<(), Problem> {
    let mut hosts = headers.get_all(HOST).iter();
    // RFC 9112 3.2
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => String::from_utf8_lossy(host.as_bytes()),
        (Some(_), Some(_)) => return Err(Problem::bad_request("more than one Host header")),
        (None, _) if version < Version::HTTP_11 => return Ok(()),
        (None, _) => return Err(Problem::bad_request("HTTP/1.1 requires a Host header")),
    };
    if !is_loopback {
        return Ok(());
    }
    // RFC 9112 3.2.2: what stands in the target counts
    let host = uri.authority().map_or(&*host, |authority| authority.as_str());
    let name = host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    if name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback()) {
        return Ok(());
    }
    Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, format!("`{host}` is not here: this is a loopback address")))
}

async fn read_body(body: Incoming, config: &RestConfig) -> Result<Vec<u8>, Problem> {
    let most = config.max_body_octets;
    let too_large = || Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a body has at most {most} octets"));
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    match timeout(config.read_timeout, Limited::new(body, most).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes().into()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Problem::bad_request(format!("the body cannot be read: {error}"))),
        Err(_) => Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time")),
    }
}
