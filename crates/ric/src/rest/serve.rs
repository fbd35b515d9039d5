//! HTTP/1.1: connections, their bounds, and the way from a request to its route.

use std::convert::Infallible;
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
use hyper::{StatusCode, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::LocalSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use super::route::Router;
use super::stream::{Stream, written};
use super::{Problem, Request, Response, RestConfig};

/// Octets of a request's head; a longer one is told 431.
const MAX_HEAD_OCTETS: usize = 16 * 1024;
/// How long to wait where the system is out of file descriptors or memory.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// The thread of HTTP. It ends when this is dropped, with all its connections.
#[derive(Debug)]
pub(super) struct Serving {
    address: SocketAddr,
    end: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

/// What all connections share.
struct Shared {
    config: RestConfig,
    router: Router,
    is_loopback: bool,
}

impl Serving {
    pub fn start(config: RestConfig, router: Router) -> io::Result<Self> {
        let listener = TcpListener::bind(config.address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (end, ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name("rest".into()).spawn(move || {
            let shared = Rc::new(Shared { config, router, is_loopback: address.ip().is_loopback() });
            LocalSet::new().block_on(&runtime, async {
                tokio::task::spawn_local(accept(listener, shared));
                let _ = ended.await; // it is dropped, never sent
            });
        })?;
        Ok(Serving { address, end: Some(end), thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
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
    let room = Arc::new(Semaphore::new(shared.config.max_connections));
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                debug!(%error, "no connection");
                sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            turn_away(&stream);
            continue;
        };
        let shared = Rc::clone(&shared);
        tokio::task::spawn_local(async move {
            if let Err(error) = converse(stream, &shared).await {
                debug!(%peer, %error, "a REST connection ends");
            }
            drop(place);
        });
    }
}

/// There is no room. Who does not take that at once gets nothing.
fn turn_away(stream: &TcpStream) {
    let answer = written(Problem::unavailable("too many connections; come again later").into());
    let _ = stream.try_write(&answer);
}

/// One connection, from its first request to its last.
async fn converse(stream: TcpStream, shared: &Rc<Shared>) -> hyper::Result<()> {
    let config = &shared.config;
    let service = service_fn(|request| {
        let shared = Rc::clone(shared);
        async move { Ok::<_, Infallible>(respond(request, &shared).await) }
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
async fn respond(request: hyper::Request<Incoming>, shared: &Shared) -> hyper::Response<Full<Bytes>> {
    let answer = match handle(request, shared).await {
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

async fn handle(request: hyper::Request<Incoming>, shared: &Shared) -> Result<Response, Problem> {
    let Shared { config, router, is_loopback } = shared;
    let (head, body) = request.into_parts();
    check_host(&head.headers, head.version, *is_loopback)?;
    let (route, parameters) = router.find(&head.method, &head.uri)?;
    let body = read_body(body, config).await?;
    let path = head.uri.path().to_owned();
    let request = Request { parameters, path, headers: head.headers, body };
    timeout(config.answer_timeout, route.answer(request)).await.unwrap_or_else(|_| {
        let within_s = config.answer_timeout.as_secs();
        Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, format!("no answer within {within_s} s")))
    })
}

/// A page that somebody looks at could have its own name mean this host, and speak to us as to its own server; what it then
/// says is its name.
fn check_host(headers: &HeaderMap, version: Version, is_loopback: bool) -> Result<(), Problem> {
    let Some(host) = headers.get(HOST) else {
        // RFC 9112 3.2
        let detail = "HTTP/1.1 requires a Host header";
        return if version < Version::HTTP_11 { Ok(()) } else { Err(Problem::bad_request(detail)) };
    };
    if !is_loopback {
        return Ok(());
    }
    let host = String::from_utf8_lossy(host.as_bytes());
    let name = host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(&*host, |(name, _)| name);
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
