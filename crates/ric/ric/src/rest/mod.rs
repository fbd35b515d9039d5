//! The northbound interface: REST over HTTP/1.1, on a thread of its own.
//!
//! ```text
//!   client ── HTTP ──► Rest's thread: reads, checks, routes ── Desk (bounded) ──► the RIC's loop: an internal app
//!          ◄─────────  writes JSON                         ◄── Reply ──────────  (on_wake, then whenever a node answers)
//! ```
//!
//! A resource is a module that gives [`Route`]s. What a route needs of an internal app it asks for at the app's [`Desk`];
//! the app runs what it was given between two indications, and its [`Reply`] may come later. JSON is read and written on
//! the thread of HTTP. Nothing that a client does, or leaves undone, holds up the RIC's loop.
//!
//! All that is refused is told as problem details (RFC 9457).

mod access;
mod body;
pub(crate) mod control;
mod desk;
mod problem;
mod request;
mod room;
mod route;
mod serve;
mod stream;
#[cfg(test)]
mod tests;
mod tls;
mod tokens;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tracing::warn;

pub use access::{AccessError, RestAccess, RestFiles};
pub(crate) use body::given;
pub(crate) use desk::{Desk, Job, Reply, attach};
pub(crate) use problem::Problem;
pub(crate) use request::{Request, Response};
pub(crate) use route::Route;
use route::Router;
use serve::Serving;
pub use tokens::TokenFault;

/// Where the REST interface is, and its bounds.
#[derive(Clone, Debug)]
pub struct RestConfig {
    /// Where HTTP is awaited; with port 0 the system chooses one.
    pub address: SocketAddr,
    /// Who may ask, and whether it is HTTPS. Default: everybody, in the clear, and then whoever reaches the address may do
    /// all that is offered there.
    pub access: RestAccess,
    /// Connections at a time; more are told 503, or over TLS nothing, and closed. Default: 128.
    pub max_connections: usize,
    /// Of these, connections of one host, which leaves room for others. Default: 96.
    pub max_connections_of_host: usize,
    /// Octets of a request's body; a longer one is told 413. Default: 1 MiB.
    pub max_body_octets: usize,
    /// A request must be there within this, its head and again its body, and so must be a handshake of TLS; a connection
    /// that says nothing for as long is closed. Default: 10 s.
    pub read_timeout: Duration,
    /// A request that was not answered within this is told 504. Nodes have their own, shorter times to answer, and some requests take
    /// them a few answers. Default: 25 s.
    pub answer_timeout: Duration,
    /// A connection ends after the request that it then has in hand. Default: 5 minutes.
    pub connection_lifetime: Duration,
}

impl RestConfig {
    /// The default bounds.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        RestConfig {
            address,
            access: RestAccess::default(),
            max_connections: 128,
            max_connections_of_host: 96,
            max_body_octets: 1024 * 1024,
            read_timeout: Duration::from_secs(10),
            answer_timeout: Duration::from_secs(25),
            connection_lifetime: Duration::from_secs(300),
        }
    }
}

/// The REST interface while it serves: until it is dropped.
#[derive(Debug)]
pub struct Rest {
    serving: Serving,
}

impl Rest {
    /// Listens, and serves from now on.
    ///
    /// # Errors
    /// Where the address cannot be had, or the system refuses a thread.
    pub(crate) fn start(config: RestConfig, routes: Vec<Route>) -> io::Result<Self> {
        let (is_loopback, access) = (config.address.ip().is_loopback(), &config.access);
        let warning = match (access.is_secured(), access.knows_its_clients()) {
            _ if is_loopback => None,
            (true, true) => None,
            (false, false) => Some(
                "REST has neither TLS nor authentication and is reachable from other hosts; give `ferric ric` --rest-cert, \
                 --rest-key and --rest-tokens, or use 127.0.0.1",
            ),
            (false, true) => Some(
                "the tokens of REST go over the network in the clear; give `ferric ric` --rest-cert and --rest-key, or use 127.0.0.1",
            ),
            (true, false) => Some(
                "REST has no authentication and is reachable from other hosts; give `ferric ric` --rest-tokens or --rest-client-ca, \
                 or use 127.0.0.1",
            ),
        };
        let serving = Serving::start(config, Router::new(routes))?;
        if let Some(warning) = warning {
            warn!(address = %serving.address(), "{warning}");
        }
        Ok(Rest { serving })
    }

    /// Where it is, with the real port where port 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.serving.address()
    }

    /// The same as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.serving.is_secured() { "https" } else { "http" };
        format!("{scheme}://{}", self.address())
    }
}
