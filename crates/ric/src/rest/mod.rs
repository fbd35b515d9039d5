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

mod body;
pub(crate) mod control;
mod desk;
mod problem;
mod request;
mod route;
mod serve;
mod stream;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tracing::warn;

pub(crate) use body::given;
pub(crate) use desk::{Desk, Job, Reply, attach};
pub(crate) use problem::Problem;
pub(crate) use request::{Request, Response};
pub(crate) use route::Route;
use route::Router;
use serve::Serving;

/// Where the REST interface is, and its bounds.
#[derive(Clone, Debug)]
pub struct RestConfig {
    /// Where HTTP is awaited; with port 0 the system chooses one. There is no authentication: beyond the loopback
    /// addresses, whoever reaches it may do all that it offers.
    pub address: SocketAddr,
    /// Connections at a time; more are told 503 and closed. Default: 128.
    pub max_connections: usize,
    /// Octets of a request's body; a longer one is told 413. Default: 1 MiB.
    pub max_body_octets: usize,
    /// A request must be there within this, its head and again its body; a connection that says nothing for as long is
    /// closed. Default: 10 s.
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
            max_connections: 128,
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
        let address = config.address;
        let serving = Serving::start(config, Router::new(routes))?;
        if !address.ip().is_loopback() {
            warn!(
                address = %serving.address(),
                "REST has no authentication and is reachable from other hosts; put it behind a proxy that has, or use 127.0.0.1"
            );
        }
        Ok(Rest { serving })
    }

    /// Where it is, with the real port where port 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.serving.address()
    }
}
