//! Listeners.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::net::SocketFlags;
use socket2::SockRef;

use crate::link::Transport;
use crate::memory::MemoryListener;
use crate::shm::ShmLink;
use crate::stream::{self, StreamLink};
#[cfg(feature = "tls")]
use crate::tls::TlsLink;
use crate::{Address, Config, Error, Link, sctp};

/// The most connections that one call skips because they broke before they were accepted.
const PASSED_OVER: usize = 64;

/// Accepts links. Dropping a listener stops listening and removes the file of a Unix socket.
pub struct Listener {
    socket: ListenerSocket,
    local: Address,
    config: Config,
    /// A reserved file descriptor, so that a connection can still be rejected when the process has no other left.
    reserve: Option<OwnedFd>,
}

/// What a listener listens with.
enum ListenerSocket {
    Tcp(OwnedFd),
    #[cfg(feature = "tls")]
    Tls(OwnedFd, crate::Tls),
    Unix(OwnedFd, PathBuf),
    Sctp(OwnedFd),
    Shm(OwnedFd, PathBuf),
    Memory(MemoryListener),
}

impl Listener {
    /// Listens on an address. Host names are looked up with the [resolver](Config::resolver), which may block.
    ///
    /// Port 0 lets the system choose: see [`local_address`](Self::local_address). `tcp://[::]` and `sctp://[::]` accept
    /// IPv4 too. A stale Unix socket file is replaced.
    ///
    /// # Errors
    ///
    /// [`Error::Bind`], or [`Error::SctpUnsupported`] on a host without SCTP.
    pub fn bind(address: &Address, config: &Config) -> Result<Self, Error> {
        let failed = |source| match source {
            source if sctp::is_unsupported(address, &source) => Error::SctpUnsupported,
            source => Error::Bind { address: address.clone(), source },
        };
        let (socket, local) = match address {
            Address::Tls { host, port } => {
                let socket = config
                    .resolver
                    .resolve_now(host, *port)
                    .and_then(|addresses| stream::listen_tcp(&addresses, config));
                listen_tls(address, socket.map_err(failed)?, config)?
            }
            _ => open(address, config).map_err(failed)?,
        };
        let reserve = new_reserve().map_err(failed)?;
        Ok(Listener { socket, local, config: config.clone(), reserve: Some(reserve) })
    }

    /// Accepts the next link; `None` when none waits.
    ///
    /// # Errors
    ///
    /// None ends the listener: call again when it is readable. Connections that broke while they waited are passed over
    /// silently. When the process or the system has no file descriptor or memory left, the connection is closed at once and
    /// reported as [`Error::ConnectionRejected`], so that the listener does not stay readable for ever. [`Error::Io`] reports anything
    /// else.
    pub fn accept(&mut self) -> Result<Option<Link>, Error> {
        let socket = match &mut self.socket {
            ListenerSocket::Memory(listener) => {
                let link = listener.accept();
                return Ok(link.map(|link| Link::accepted(Transport::Memory(link), self.local.clone(), &self.config)));
            }
            #[cfg(feature = "tls")]
            ListenerSocket::Tls(socket, _) => socket,
            ListenerSocket::Tcp(socket)
            | ListenerSocket::Unix(socket, _)
            | ListenerSocket::Sctp(socket)
            | ListenerSocket::Shm(socket, _) => socket,
        };
        let Some(socket) = accept_socket(socket, &mut self.reserve)? else { return Ok(None) };
        let failed = |source: io::Error| match Errno::from_io_error(&source) {
            // The memory to share takes a descriptor too.
            Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOSPC) => Error::ConnectionRejected(source),
            _ => Error::Io { operation: "accept", source },
        };
        let (transport, peer) = match &self.socket {
            #[cfg(feature = "tls")]
            ListenerSocket::Tls(_, tls) => {
                let peer = peer_of(&socket);
                let link = TlsLink::accepted(socket, tls, &self.config).map_err(failed)?;
                (Transport::Tls(Box::new(link)), peer.as_ref().map(stream::tls_address))
            }
            ListenerSocket::Tcp(_) => {
                let peer = peer_of(&socket);
                let link = StreamLink::accepted(socket, &self.config, true).map_err(failed)?;
                (Transport::Stream(link), peer.as_ref().map(stream::tcp_address))
            }
            ListenerSocket::Sctp(_) => {
                let link = sctp::SctpLink::accepted(socket, &self.config).map_err(failed)?;
                let peer = link.peer_address();
                (Transport::Sctp(link), peer)
            }
            ListenerSocket::Shm(..) => (Transport::Shm(ShmLink::accepted(socket, &self.config).map_err(failed)?), None),
            ListenerSocket::Unix(..) | ListenerSocket::Memory(_) => {
                let link = StreamLink::accepted(socket, &self.config, false).map_err(failed)?;
                (Transport::Stream(link), None)
            }
        };
        // A peer without an address (Unix, shared memory) or one that is gone already gets the address of the listener.
        let peer = peer.unwrap_or_else(|| self.local.clone());
        Ok(Some(Link::accepted(transport, peer, &self.config)))
    }

    /// Whether the associations that it accepts delay their SCTP acknowledgements; `None` on other links. See
    /// [`Link::delays_acknowledgements`].
    pub fn delays_acknowledgements(&self) -> Option<bool> {
        match &self.socket {
            ListenerSocket::Sctp(socket) => sctp::delays_acknowledgements(socket),
            _ => None,
        }
    }

    /// The address of the listener, with the port that the system chose if port 0 was requested.
    pub fn local_address(&self) -> &Address {
        &self.local
    }
}

fn open(address: &Address, config: &Config) -> io::Result<(ListenerSocket, Address)> {
    Ok(match address {
        Address::Tcp { host, port } => {
            let socket = stream::listen_tcp(&config.resolver.resolve_now(host, *port)?, config)?;
            let local = SockRef::from(&socket).local_addr()?.as_socket();
            let local = local.as_ref().map_or_else(|| address.clone(), stream::tcp_address);
            (ListenerSocket::Tcp(socket), local)
        }
        Address::Tls { .. } => unreachable!("`listen_tls` handles TLS"),
        Address::Unix(path) => {
            (ListenerSocket::Unix(stream::listen_unix(path, config)?, path.clone()), address.clone())
        }
        Address::Shm(path) => (ListenerSocket::Shm(stream::listen_unix(path, config)?, path.clone()), address.clone()),
        Address::Sctp { hosts, port } => {
            let mut addresses = Vec::new();
            for host in hosts {
                addresses.extend(config.resolver.resolve_now(host, *port)?);
            }
            let (socket, port) = sctp::listen(addresses, config)?;
            (ListenerSocket::Sctp(socket), Address::Sctp { hosts: hosts.clone(), port })
        }
        Address::Memory(name) => (ListenerSocket::Memory(MemoryListener::bind(name, config)?), address.clone()),
    })
}

fn peer_of(socket: &OwnedFd) -> Option<SocketAddr> {
    SockRef::from(socket).peer_addr().ok().and_then(|peer| peer.as_socket())
}

#[cfg(feature = "tls")]
fn listen_tls(address: &Address, socket: OwnedFd, config: &Config) -> Result<(ListenerSocket, Address), Error> {
    let tls = config.tls.clone().ok_or(Error::TlsMissing)?;
    let local = SockRef::from(&socket).local_addr().ok().and_then(|local| local.as_socket());
    let local = local.as_ref().map_or_else(|| address.clone(), stream::tls_address);
    Ok((ListenerSocket::Tls(socket, tls), local))
}

#[cfg(not(feature = "tls"))]
fn listen_tls(_: &Address, _: OwnedFd, _: &Config) -> Result<(ListenerSocket, Address), Error> {
    Err(Error::TlsMissing)
}

fn new_reserve() -> io::Result<OwnedFd> {
    Ok(rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC)?)
}

fn accept_socket(listener: &OwnedFd, reserve: &mut Option<OwnedFd>) -> Result<Option<OwnedFd>, Error> {
    for _ in 0..PASSED_OVER {
        let errno = match rustix::net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(socket) => {
                // Reserved again as soon as a descriptor is free.
                if reserve.is_none() {
                    *reserve = new_reserve().ok();
                }
                return Ok(Some(socket));
            }
            Err(errno) => errno,
        };
        match errno {
            Errno::AGAIN => return Ok(None),
            // accept(2): errors of the new connection, to be treated like "try again".
            Errno::INTR
            | Errno::CONNABORTED
            | Errno::CONNRESET
            | Errno::PROTO
            | Errno::NOPROTOOPT
            | Errno::NETDOWN
            | Errno::HOSTDOWN
            | Errno::NONET
            | Errno::HOSTUNREACH
            | Errno::OPNOTSUPP
            | Errno::NETUNREACH
            | Errno::PERM
            | Errno::TIMEDOUT => {}
            Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => {
                // The kernel returns this even if no connection waits: free the reserve and try again.
                drop(reserve.take());
                let turned_away = rustix::net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK);
                let is_empty = matches!(turned_away, Err(Errno::AGAIN));
                drop(turned_away);
                *reserve = new_reserve().ok();
                return if is_empty { Ok(None) } else { Err(Error::ConnectionRejected(errno.into())) };
            }
            _ => return Err(Error::Io { operation: "accept", source: errno.into() }),
        }
    }
    // Level-triggered readiness brings the caller back for the rest.
    Ok(None)
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            #[cfg(feature = "tls")]
            ListenerSocket::Tls(socket, _) => socket.as_fd(),
            ListenerSocket::Tcp(socket)
            | ListenerSocket::Unix(socket, _)
            | ListenerSocket::Sctp(socket)
            | ListenerSocket::Shm(socket, _) => socket.as_fd(),
            ListenerSocket::Memory(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let ListenerSocket::Unix(_, path) | ListenerSocket::Shm(_, path) = &self.socket {
            // The file may be gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}
