//! Who connects: the listeners, and the bounds of connections.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use link::Interest;
use log_lines::Host;
use tracing::warn;

#[cfg(feature = "tls")]
use super::handshake;
use super::{Server, listener_tokens};
use crate::connection::{Connection, Socket};
use crate::engine::Session;
use crate::listener::Listener;

/// Connections that are accepted before clients have their turn.
const ACCEPTED: usize = 64;
impl Server {
    /// Has the poll report clients that wait, or not.
    pub(super) fn listen(&self, interest: Interest) {
        for (listener, token) in self.listeners.iter().zip(listener_tokens()) {
            // it does not fail for a source that was added
            let _ = self.poll.modify(listener, token, interest);
        }
    }

    /// Accepts clients of a listener.
    pub(super) fn accept(&mut self, at: usize) {
        let of_tcp = |(socket, peer): (TcpStream, SocketAddr)| {
            let _ = socket.set_nodelay(true); // replies only wait longer without it
            (Socket::Tcp(socket), Host::from(peer.ip()), peer.to_string())
        };
        #[cfg(feature = "tls")]
        if let Some(Listener::Tls(_, tls, _)) = self.listeners.get(at) {
            handshake::renew(tls);
        }
        for _ in 0..ACCEPTED {
            let Some(listener) = self.listeners.get(at) else { return };
            let accepted = match listener {
                Listener::Tcp(listener) => listener.accept().map(of_tcp),
                #[cfg(feature = "tls")]
                Listener::Tls(listener, ..) => listener.accept().map(of_tcp),
                Listener::Unix(listener, _) => {
                    listener.accept().map(|(socket, _)| (Socket::Unix(socket), Host::Local, "a Unix socket".to_owned()))
                }
            };
            match accepted {
                Ok((socket, host, peer)) => self.admit(at, socket, host, peer),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.is_accepting = true;
                    return;
                }
                // it has gone again
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(error) => {
                    if std::mem::replace(&mut self.is_accepting, false) {
                        warn!(
                            "clients of the shared data layer have to wait, since they cannot be accepted: {error}; raise the limit of \
                             open files (ulimit -n) if that is it"
                        );
                    }
                    // what waits would be reported at once again
                    self.listen(Interest { read: false, write: false });
                    return;
                }
            }
        }
    }

    /// Admits a connection of a listener, or closes it by dropping it.
    fn admit(&mut self, at: usize, socket: Socket, host: Host, peer: String) {
        let limits = &self.engine.limits;
        let (all, of_host) = (self.connections.len(), self.hosts.get(&host).copied().unwrap_or(0));
        let (most, most_of_host) =
            (limits.max_connections, (limits.max_connections * limits.max_host_percent / 100).max(1));
        if all >= most || of_host >= most_of_host {
            self.engine.counts.refused += 1;
            if self.log.allow(host) {
                warn!(
                    "a client of the shared data layer on {host} is refused: {all} clients are connected, {of_host} of this host; \
                     {most} and {most_of_host} are allowed (max_connections, max_host_percent)"
                );
            }
            return;
        }
        self.last += 1;
        let is_ready = match &socket {
            Socket::Tcp(socket) => socket.set_nonblocking(true),
            Socket::Unix(socket) => socket.set_nonblocking(true),
            #[cfg(feature = "tls")]
            Socket::Tls(_) => Ok(()),
        };
        let added = is_ready.and_then(|()| {
            let socket = match self.listeners.get(at) {
                Some(listener) => listener.protect(socket)?,
                None => socket,
            };
            self.poll.add(&socket, self.last, Interest::READ)?;
            Ok(socket)
        });
        let socket = match added {
            Ok(socket) => socket,
            Err(error) => {
                if self.log.allow(host) {
                    warn!("a client of the shared data layer at {peer} cannot be served: {error}");
                }
                return;
            }
        };
        let session = Session::new(self.last, self.engine.access.default_rights());
        *self.hosts.entry(host).or_default() += 1;
        self.engine.counts.admitted += 1;
        self.connections.insert(self.last, Connection::new(socket, host, peer, session, Instant::now()));
    }
}
