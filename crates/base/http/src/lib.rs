//! A kit for REST services over HTTP/1.1: a server on a thread of its own, routes, JSON bodies, problem details (RFC 9457),
//! access control, bounds, and the comparison of routes with an OpenAPI document.
//!
//! # A first service
//!
//! ```
//! use rest::{Method, Problem, Request, Response, Route, Server, ServerConfig};
//! use serde_json::json;
//!
//! fn square(request: &Request) -> Result<Response, Problem> {
//!     let number: u32 = request.number(0, "number")?; // 404 if it is none
//!     let square = number.checked_mul(number).ok_or_else(|| Problem::unprocessable("the square exceeds 32 bits"))?;
//!     Ok(Response::ok(json!({ "square": square })))
//! }
//!
//! let config = ServerConfig::new("127.0.0.1:0".parse()?); // port 0: any free port
//! let server = Server::start(config, vec![Route::new(Method::GET, "/v1/squares/{number}", square)])?;
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
//! between its other events. No client can block that loop.
//!
//! # Limits
//!
//! [`ServerConfig`] bounds connections (in total and per host), the length of bodies, and the time for reading and answering a
//! request and for a connection as a whole. The head of a request is at most 16 KiB. A [`RequestQueue`] takes 256 requests;
//! more are answered with 503.
//!
//! # Errors
//!
//! Every refusal is a [`Problem`], written as `application/problem+json`: also those for requests that never reach a route,
//! such as malformed ones. A body with an unknown field or a value of a wrong type is answered with 422, the path of the
//! mistake, and the nearest known name. On a loopback address, a request for another host name is refused (421), and so is a
//! body that is not declared as JSON (415): web pages that a user of the host visits cannot use the service.
//!
//! # Access
//!
//! [`Access`] holds tokens and, with the feature `tls`, a certificate and the CAs of clients. Its files are read again when they
//! change. Without it, everyone who reaches the address can use the service; the server logs a warning if the address is not a
//! loopback address.
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
mod body;
#[cfg(feature = "client")]
pub mod client;
mod limits;
pub mod openapi;
mod problem;
mod queue;
mod request;
mod route;
mod serve;
mod stream;
#[cfg(test)]
mod tests;
#[cfg(feature = "tls")]
mod tls;
mod tokens;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tracing::warn;

pub use access::{Access, AccessError, AccessFiles, TlsFiles};
pub use body::not_null;
pub use hyper::{Method, StatusCode, header};
pub use log_lines::LogBudget;
pub use problem::Problem;
pub use queue::{Reply, RequestQueue, RequestReceiver, request_queue};
pub use request::{Request, Response};
pub use route::Route;
use route::Router;
pub use serve::AccessHandle;
use serve::Serving;
pub use tokens::TokenFault;

/// The address, access control and bounds of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The address to listen on; with port 0 the system chooses a port.
    pub address: SocketAddr,
    /// Who may send requests, and whether over HTTPS. Default: everyone, over HTTP.
    pub access: Access,
    /// Concurrent connections. Further ones are answered with 503, or over TLS not at all, and closed. Default: 128.
    pub max_connections: usize,
    /// Concurrent connections of one host, so that it cannot take all of them. Default: 96.
    pub max_connections_of_host: usize,
    /// Octets of a request's body; a longer one is answered with 413. Default: 1 MiB.
    pub max_body_octets: usize,
    /// Time for reading the head of a request, for its body, and for a TLS handshake. A connection that is idle for as long is
    /// closed. Default: 10 s.
    pub read_timeout: Duration,
    /// Time for answering a request; after it, the response is 504. It must exceed the time-outs behind the routes.
    /// Default: 25 s.
    pub response_timeout: Duration,
    /// A connection that is as old is closed after its current request. Default: 5 minutes.
    pub connection_lifetime: Duration,
    /// The number of log lines about clients: refusals, with host and reason. Default: 600 per minute. A service that logs about
    /// other peers too shares its own.
    pub log_budget: LogBudget,
}

impl ServerConfig {
    /// Returns the default bounds for an address.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        ServerConfig {
            address,
            access: Access::default(),
            max_connections: 128,
            max_connections_of_host: 96,
            max_body_octets: 1024 * 1024,
            read_timeout: Duration::from_secs(10),
            response_timeout: Duration::from_secs(25),
            connection_lifetime: Duration::from_secs(300),
            log_budget: LogBudget::new(600),
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
    /// If the address is not available, or the system refuses a thread.
    pub fn start(config: ServerConfig, routes: Vec<Route>) -> io::Result<Self> {
        let (is_loopback, access) = (config.address.ip().is_loopback(), &config.access);
        let warning = match (access.is_secured(), access.authenticates_clients()) {
            _ if is_loopback => None,
            (true, true) => None,
            (false, false) => Some(
                "REST has neither TLS nor authentication and is reachable from other hosts; configure a certificate and \
                 tokens, or listen on 127.0.0.1",
            ),
            (false, true) => Some(
                "REST receives its tokens unencrypted and is reachable from other hosts; configure a certificate, or listen \
                 on 127.0.0.1",
            ),
            (true, false) => Some(
                "REST has no authentication and is reachable from other hosts; configure tokens or a client CA, or listen \
                 on 127.0.0.1",
            ),
        };
        let serving = Serving::start(config, Router::new(routes))?;
        if let Some(warning) = warning {
            warn!(address = %serving.address(), "{warning}");
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
