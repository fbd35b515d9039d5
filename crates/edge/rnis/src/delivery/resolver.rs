//! How host names of callbacks are resolved.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

/// Resolves a host name and a port to addresses. It may block: it is called on a thread of its own.
type Resolve = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// What resolves the host names of callbacks. Default: the system.
#[derive(Clone)]
pub struct Resolver(Arc<Resolve>);

impl Default for Resolver {
    fn default() -> Self {
        Resolver::new(|host, port| Ok((host, port).to_socket_addrs()?.collect()))
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

impl Resolver {
    /// A resolver that calls a function, which may block.
    pub fn new(resolve: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static) -> Self {
        Resolver(Arc::new(resolve))
    }

    /// Resolves a name without blocking the caller's thread.
    pub async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let (resolve, host) = (Arc::clone(&self.0), host.to_owned());
        let resolving = tokio::task::spawn_blocking(move || resolve(&host, port));
        resolving.await.unwrap_or_else(|_| Err(io::Error::other("the resolver has ended")))
    }
}
