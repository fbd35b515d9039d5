//! The listeners of a shared data layer.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use link::Address;
#[cfg(feature = "tls")]
use link::{ClientCertificates, Tls, TlsStream};

use crate::connection::Socket;
use crate::{Config, Error};

/// What clients connect to.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
    #[cfg(feature = "tls")]
    Tls(TcpListener, Tls, ClientCertificates),
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener, _) => listener.as_fd(),
            #[cfg(feature = "tls")]
            Listener::Tls(listener, ..) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            let _ = std::fs::remove_file(path); // it may be gone already
        }
    }
}

impl Listener {
    /// Begins TLS on an accepted socket, if the address has it.
    pub fn protect(&self, socket: Socket) -> io::Result<Socket> {
        match (socket, self) {
            #[cfg(feature = "tls")]
            (Socket::Tcp(socket), Listener::Tls(_, tls, of_clients)) => {
                Ok(Socket::Tls(Box::new(TlsStream::accepted(socket.into(), tls, *of_clients)?)))
            }
            (socket, _) => Ok(socket),
        }
    }
}

/// Listens at an address, and returns it with the port that the system has chosen.
#[cfg_attr(not(feature = "tls"), allow(unused_variables, reason = "only TLS has settings"))]
pub(crate) fn listen(address: &Address, config: &Config) -> Result<(Listener, Address), Error> {
    let failed = |error| Error::Bind(address.clone(), error);
    match address {
        Address::Tcp { host, port } => {
            let (listener, local) = listen_tcp(host, *port).map_err(failed)?;
            let bound = Address::Tcp { host: local.ip().to_string(), port: local.port() };
            Ok((Listener::Tcp(listener), bound))
        }
        #[cfg(feature = "tls")]
        Address::Tls { host, port } => {
            let tls = config.tls.clone().ok_or_else(|| Error::NoCredentials(address.clone()))?;
            let of_clients = match config.requires_certificate {
                true => link::ClientCertificates::Required,
                false => link::ClientCertificates::Optional,
            };
            let (listener, local) = listen_tcp(host, *port).map_err(failed)?;
            let bound = Address::Tls { host: local.ip().to_string(), port: local.port() };
            Ok((Listener::Tls(listener, tls, of_clients), bound))
        }
        #[cfg(not(feature = "tls"))]
        Address::Tls { .. } => Err(Error::NoCredentials(address.clone())),
        Address::Unix(path) => {
            // a socket that nobody listens at is left of an earlier run
            if UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
                std::fs::remove_file(path).map_err(failed)?;
            }
            let listener = UnixListener::bind(path).map_err(failed)?;
            listener.set_nonblocking(true).map_err(failed)?;
            Ok((Listener::Unix(listener, path.clone()), address.clone()))
        }
        _ => Err(failed(io::ErrorKind::Unsupported.into())),
    }
}

fn listen_tcp(host: &str, port: u16) -> io::Result<(TcpListener, SocketAddr)> {
    let addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
    let listener = TcpListener::bind(addresses.as_slice())?;
    listener.set_nonblocking(true)?;
    let local = listener.local_addr()?;
    Ok((listener, local))
}
