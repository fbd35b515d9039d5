//! A kit for REST services over HTTP/1.1 and HTTP/2: a server on a thread of its own, routes, JSON bodies, problem details
//! (RFC 9457), streams of events, access control with roles, bounds and rates, metrics, and an OpenAPI document made from the routes.
//!
//! # A first service
//!
//! ```
//! use rest::{Operation, Parameter, Problem, Request, Response, Route, Server, ServerConfig};
//! use serde_json::json;
//!
//! fn square(request: &Request) -> Result<Response, Problem> {
//!     let number: u32 = request.number(0, "number")?; // 404 if it is none
//!     let square = number.checked_mul(number).ok_or_else(|| Problem::unprocessable("the square exceeds 32 bits"))?;
//!     Ok(Response::ok(json!({ "square": square })))
//! }
//!
//! let config = ServerConfig::new("127.0.0.1:0".parse()?); // port 0: any free port
//! let number = Parameter::of::<u32>("number", "The number to square.");
//! let operation = Operation::get("/v1/squares/{number}", "getSquare", "The square of a number").path(&[number]);
//! let server = Server::start(config, vec![Route::new(operation, square)])?;
//! println!("serving at {}", server.url());
//! drop(server); // stops the thread and closes all connections
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Threads
//!
//! [`Server::start`] starts one thread, which accepts connections, reads requests, finds their routes, and writes JSON. A route
//! is answered there ([`Route::new`], which must not block) or by another thread ([`Route::queued`]):
//!
//! ```text
//!   client ── HTTP ──► server thread: reads, checks, routes ── RequestQueue (bounded) ──► the service's own loop
//!          ◄─────────  writes JSON                          ◄── Reply ──────────────────  (now, or any time later)
//! ```
//!
//! [`request_queue`] creates such a queue. Its waker is a closure of the service, so that any event loop can take requests
//! between its other events. No client can block that loop. With [`RequestQueue::with_shared_reads`] clients cannot keep it busy with
//! reads either: many reads of a resource share an answer, until it is too old or a write was answered.
//!
//! # Operations
//!
//! A route is an [`Operation`] and what answers it. The operation declares method, path, parameters, the types of bodies and the role
//! that it requires. The server refuses what is not declared, and [`openapi::Api`] describes exactly that.
//!
//! # Streams
//!
//! A handler calls [`Request::open_stream`], returns the response, and leaves the [`StreamSender`] to whatever has events; a
//! [`Broadcast`] sends one event to many readers. Clients read Server-Sent Events or open a WebSocket. A reader that is too slow loses
//! its own oldest events and receives their number; the sender never waits. A WebSocket of binary messages in both directions is
//! a [`MessageService`].
//!
//! # Limits
//!
//! [`ServerConfig`] bounds connections and streams (in total and per host, with a reserve for hosts that were served before), the rate
//! of requests (of each host and token), what waits for the reader of a stream, the length of bodies, and the time for reading and
//! answering a request and for a connection as a whole. The head of a request is at most 16 KiB, its target 8 KiB. A [`RequestQueue`]
//! takes 256 requests; more are answered with 503. At most 256 shared answers are remembered, of 16 MiB together.
//!
//! # Errors
//!
//! Every refusal is a [`Problem`], written as `application/problem+json` with the id of the request: also those for requests that never
//! reach a route, such as malformed ones. A body with an unknown field or a value of a wrong type is answered with 422, the path of
//! the mistake, and the nearest known name; an unknown parameter with 400. On a loopback address, a request for another host name is
//! refused (421), and so are a body that is not declared as JSON (415) and a WebSocket of another origin (403): web pages that a user
//! of the host visits cannot use the service.
//!
//! # Access
//!
//! [`Access`] holds tokens, each with a [`Role`], and, with the feature `tls`, a certificate and the CAs of clients. Its files are read
//! again when they change; a stream ends when its token is removed. Without tokens and client certificates the server starts on
//! loopback addresses only. A [`BearerVerifier`] admits tokens that a service verifies itself, such as those of OAuth 2.0: only to
//! routes that declare it ([`Route::takes_oauth2`]), whose handlers see the token's [`Subject`].
//!
//! # Metrics
//!
//! [`metrics::Registry`] has counters, gauges and histograms; the server adds its own to [`ServerConfig::metrics`].
//! [`Route::metrics`] serves them.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `tls` | HTTPS, and client certificates |
//! | `client` | module `client`: an HTTP client for JSON resources |
//!
//! Neither is a default feature.

#![forbid(unsafe_code)]

mod access;
mod bearer;
mod body;
#[cfg(feature = "client")]
pub mod client;
mod conditional;
mod connection;
mod limits;
mod messages;
pub mod metrics;
pub mod openapi;
mod operation;
mod own_metrics;
mod parameter;
mod problem;
mod queue;
mod rate;
mod reader_message;
mod refusal;
mod request;
mod request_id;
mod respond;
mod route;
mod serve;
mod snapshots;
mod sse;
mod static_file;
mod stream;
#[cfg(test)]
mod tests;
#[cfg(feature = "tls")]
mod tls;
mod tokens;
mod websocket;
mod write_observer;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tracing::warn;

pub use access::{Access, AccessError, AccessFiles, TlsFiles};
pub use bearer::{BearerFault, BearerVerifier, OAuth2, Subject};
pub use body::{not_null, object};
pub use conditional::EntityTag;
pub use hyper::{Method, StatusCode, header};
pub use log_lines::LogBudget;
pub use messages::MessageService;
use metrics::Registry;
pub use operation::{Operation, StreamForms};
pub use parameter::Parameter;
pub use problem::Problem;
pub use queue::{Reply, RequestQueue, RequestReceiver, request_queue};
pub use rate::RateLimit;
pub use request::{Request, Response};
pub use request_id::{RequestId, X_REQUEST_ID};
pub use route::Route;
use route::Router;
pub use schemars;
pub use serve::AccessHandle;
use serve::Serving;
pub use stream::{Broadcast, StreamEvent, StreamSender, Topics};
pub use tokens::{Role, TokenFault, is_readable_by_all};
pub use write_observer::{WriteObserver, WriteRecord};

/// The address, access control and bounds of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The address to listen on; with port 0 the system chooses a port.
    pub address: SocketAddr,
    /// Ends of host names under which clients may know a loopback address, beside `localhost`: those of a private domain, such as
    /// `.ricplt`. Default: none.
    pub host_suffixes: &'static [&'static str],
    /// Who may send requests, and whether over HTTPS. Default: everyone, over HTTP.
    pub access: Access,
    /// Whether other hosts are served without a token and a certificate: for receivers of notifications, whose senders have none.
    /// Default: no.
    pub is_public: bool,
    /// Concurrent connections. Further ones are answered with 503, or over TLS not at all, and closed. An eighth of them is for
    /// hosts that were served before. Default: 128.
    pub max_connections: usize,
    /// The part of the connections, and of the streams, that one host may have. Default: 75 %.
    pub max_host_percent: u8,
    /// Concurrent streams of events. Further ones are answered with 503. Default: 64.
    pub max_streams: usize,
    /// Events that may wait for a slow reader of a stream; beyond it the oldest are dropped. Default: 1024, and 1 MiB.
    pub max_stream_events: usize,
    /// The interval of pings to the readers of streams, after which their tokens are checked again. A reader that takes nothing
    /// during three of them is disconnected. Default: 15 s.
    pub stream_ping: Duration,
    /// Requests per second of one host, and of one token, beyond a burst of as many. Further ones are answered with 429.
    /// Default: 2000.
    pub max_requests_per_second: u32,
    /// Octets of a request's body; a longer one is answered with 413. Default: 1 MiB.
    pub max_body_octets: usize,
    /// Time for reading the head of a request, for its body, and for a TLS handshake. A connection that is idle for as long is
    /// closed. Default: 10 s.
    pub read_timeout: Duration,
    /// Time for answering a request; after it, the response is 504. It must exceed the time-outs behind the routes.
    /// Default: 25 s.
    pub response_timeout: Duration,
    /// A connection that is as old is closed after its current requests and streams. Default: 5 minutes.
    pub connection_lifetime: Duration,
    /// The number of log lines about clients: refusals, with host and reason. Default: 600 per minute. A service that logs about
    /// other peers too shares its own.
    pub log_budget: LogBudget,
    /// The metrics of the service, to which the server adds its own.
    pub metrics: Registry,
    /// What gets each request that may change something, with its answer; not those beyond the rate. Default: nothing.
    pub write_observer: Option<WriteObserver>,
}

impl ServerConfig {
    /// Returns the default bounds for an address.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        ServerConfig {
            address,
            host_suffixes: &[],
            access: Access::default(),
            is_public: false,
            max_connections: 128,
            max_host_percent: 75,
            max_streams: 64,
            max_stream_events: 1024,
            stream_ping: Duration::from_secs(15),
            max_requests_per_second: 2000,
            max_body_octets: 1024 * 1024,
            read_timeout: Duration::from_secs(10),
            response_timeout: Duration::from_secs(25),
            connection_lifetime: Duration::from_secs(300),
            log_budget: LogBudget::new(600),
            metrics: Registry::default(),
            write_observer: None,
        }
    }
}

/// A running server. It stops when it is dropped.
#[derive(Debug)]
pub struct Server {
    serving: Serving,
}

impl Server {
    /// Starts to listen and to serve.
    ///
    /// # Errors
    /// If the address is not available, if it is reachable from other hosts and clients need neither a token nor a certificate, or
    /// if the system refuses a thread.
    pub fn start(config: ServerConfig, routes: Vec<Route>) -> io::Result<Self> {
        let (is_loopback, access) = (config.address.ip().is_loopback(), &config.access);
        if !is_loopback && !access.authenticates_clients() && !config.is_public {
            let why = "REST without authentication serves loopback addresses only, and this one is reachable from other hosts; \
                       configure tokens or a client CA, or listen on 127.0.0.1";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        let is_plain = !is_loopback && access.authenticates_clients() && !access.is_secured();
        let serving = Serving::start(config, Router::new(routes))?;
        if is_plain {
            warn!(
                address = %serving.address(),
                "REST receives its tokens unencrypted and is reachable from other hosts; configure a certificate, or listen on \
                 127.0.0.1"
            );
        }
        Ok(Server { serving })
    }

    /// The address that the server listens on, with the real port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.serving.address()
    }

    /// Returns a handle that has the files of access control read again.
    #[must_use]
    pub fn access_handle(&self) -> AccessHandle {
        self.serving.access_handle()
    }

    /// The address as a URL: `http://127.0.0.1:8080`.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.serving.is_secured() { "https" } else { "http" };
        format!("{scheme}://{}", self.address())
    }
}
