//! The shared data layer of xApps: keys and values, groups, locks and notifications, in namespaces with rights.
//!
//! xApps written for the O-RAN reference platform reach it with the SDL libraries of the O-RAN SC, which speak to a Redis server
//! with a module of their own. This crate is such a server: it speaks Redis's protocol, knows the commands that
//! these libraries use and those of the module, and keeps everything in memory, and durable in one file if it is given one. It is
//! no Redis: there is one database, and neither lists, hashes, streams nor programs in Lua.
//!
//! With the feature `redis`, a real Redis server can take the place of the embedded store (`RemoteSdl`). With the feature `tls`, it
//! listens at `tls://` addresses, and certificates give rights.
//!
//! # Durability
//! With a file, the changes of all requests that arrived together are one transaction, and replies and notifications are sent
//! after it is on the disk. If it cannot be written, all of these requests are refused and the store is what it was before.
//!
//! # Bounds
//! [`Limits`] states them. A request that exceeds one is refused, or ends its connection where the rest cannot be read; a
//! subscriber that does not read is disconnected, and nobody waits for it.
//!
//! # Example
//!
//! ```
//! use std::io::{Read, Write};
//! use sdl::{Config, Sdl};
//!
//! let sdl = Sdl::start(Config::new("tcp://127.0.0.1:0".parse()?), log_lines::LogBudget::new(1000))?;
//! # let link::Address::Tcp { host, port } = sdl.address() else { panic!() };
//! let mut client = std::net::TcpStream::connect((host.as_str(), *port))?;
//! client.write_all(b"*3\r\n$3\r\nSET\r\n$8\r\n{ns},key\r\n$5\r\nvalue\r\n")?;
//! let mut reply = [0; 5];
//! client.read_exact(&mut reply)?;
//! assert_eq!(&reply, b"+OK\r\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod access;
mod commands;
mod connection;
mod engine;
mod file;
mod glob;
mod handle;
mod hub;
mod limits;
#[cfg(feature = "redis")]
mod observers;
mod refusal;
#[cfg(feature = "redis")]
mod remote;
pub mod resp;
mod scripts;
mod server;
mod store;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use link::{Address, Interest, Poll, Waker};
use log_lines::LogBudget;
use tracing::warn;

pub use access::{Access, AccessError, AccessList, LineFault, Rights, namespace_of};
pub use engine::Counts;
pub use file::FileError;
pub use handle::{Change, Entries, Handle, Observer};
pub use limits::{Limits, MAX_KEY_OCTETS};
#[cfg(feature = "redis")]
pub use remote::RemoteSdl;
use server::{LISTENER, Listener, Server, WAKE};

/// The port of a Redis server, and of this one.
pub const DEFAULT_PORT: u16 = 6379;

/// What a shared data layer is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where clients connect: `tcp://`, `tls://` or `unix:`.
    pub address: Address,
    /// The certificate of `tls://` addresses, and the CAs of those of clients. Default: none.
    #[cfg(feature = "tls")]
    pub tls: Option<link::Tls>,
    /// Each client presents a certificate. Default: false, so that one may come without; one that is presented is verified.
    pub requires_certificate: bool,
    /// The file that keeps the store. Default: none; it is lost at the end.
    pub file: Option<PathBuf>,
    /// Who may do what. Default: everybody everything.
    pub access: AccessList,
    /// The bounds.
    pub limits: Limits,
    /// IPsec protects addresses beyond this host. Default: false.
    pub is_protected: bool,
}

impl Config {
    /// A store in memory, open to all who reach the address.
    #[must_use]
    pub fn new(address: Address) -> Self {
        Config {
            address,
            #[cfg(feature = "tls")]
            tls: None,
            requires_certificate: false,
            file: None,
            access: AccessList::default(),
            limits: Limits::default(),
            is_protected: false,
        }
    }

    /// Reads the URL of an address: `tcp://HOST:PORT` or `tls://HOST:PORT`, whose default port is [`DEFAULT_PORT`], or `unix:PATH`.
    ///
    /// # Errors
    /// Why it is none.
    pub fn address(url: &str) -> Result<Address, String> {
        match Address::from_url(url, DEFAULT_PORT).map_err(|error| error.to_string())? {
            address @ (Address::Tcp { .. } | Address::Tls { .. } | Address::Unix(_)) => Ok(address),
            address => Err(format!(
                "clients of the shared data layer connect over TCP, TLS or a Unix socket, not to {address}"
            )),
        }
    }
}

/// Why a shared data layer cannot be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The address is not available.
    Bind(Address, io::Error),
    /// Other hosts can reach the address, and neither tokens nor certificates are required.
    Open(Address),
    /// There is no certificate for a `tls://` address, or TLS is not built in.
    NoCredentials(Address),
    /// Certificates are required at an address without TLS, or have rights there.
    Plain(Address),
    /// The file cannot be used.
    File(FileError),
    /// A resource of the system is not available.
    System(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Bind(address, error) => write!(f, "the shared data layer cannot listen at {address}: {error}"),
            Error::Open(address) => write!(
                f,
                "the shared data layer at {address} could be read and written by every host that reaches it: give tokens \
                 (--sdl-tokens), require certificates (--sdl-require-certificate, over TLS), or give a loopback address"
            ),
            Error::NoCredentials(address) => write!(
                f,
                "the shared data layer at {address} has no certificate: give --tls-ca, --tls-cert and --tls-key, or [tls]"
            ),
            Error::Plain(address) => write!(
                f,
                "the shared data layer at {address} cannot check certificates, which are required or named in the file of tokens: \
                 give a tls:// address"
            ),
            Error::File(error) => error.fmt(f),
            Error::System(error) => write!(f, "the shared data layer cannot be started: {error}"),
        }
    }
}

impl std::error::Error for Error {}

/// A running shared data layer. It ends when it is dropped.
pub struct Sdl {
    address: Address,
    handle: Handle,
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Sdl {
    /// Opens the file, listens, and serves on a thread of its own.
    ///
    /// # Errors
    /// If the address or the file cannot be used, or everybody could use the store over a network.
    pub fn start(config: Config, log: LogBudget) -> Result<Self, Error> {
        let has_tls = matches!(config.address, Address::Tls { .. });
        if !has_tls && (config.requires_certificate || config.access.names_certificates()) {
            return Err(Error::Plain(config.address));
        }
        if !config.address.is_local() && !config.access.is_restricted() && !config.requires_certificate {
            return Err(Error::Open(config.address));
        }
        let mut store = store::Store::new(config.limits.of_store());
        let file = config.file.as_deref().map(|path| file::StoreFile::open(path, &mut store)).transpose();
        let file = file.map_err(Error::File)?;
        let (listener, address) = listen(&config)?;
        if !address.is_local() && !has_tls && !config.is_protected {
            warn!(
                %address,
                "unprotected address: tokens and values of the shared data layer are not encrypted; use tls://, or IPsec between \
                 these hosts and `ipsec = true`"
            );
        }
        let poll = Poll::new().map_err(Error::System)?;
        poll.add(&listener, LISTENER, Interest::READ).map_err(Error::System)?;
        let waker = Waker::new(&poll, WAKE).map_err(Error::System)?;
        let (handle, inbox) = handle::channel(Some(waker.clone()));
        let engine = engine::Engine::new(store, config.access, config.limits);
        let server = Server::new(listener, poll, engine, file, inbox, log).map_err(Error::System)?;
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::Builder::new().name("sdl".to_owned()).spawn({
            let stop = Arc::clone(&stop);
            move || server.run(&|| stop.load(Ordering::Acquire))
        });
        let thread = thread.map_err(Error::System)?;
        Ok(Sdl { address, handle, stop, waker, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The way for other threads of this process to change the store.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// What has happened since the start.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.handle.counts()
    }
}

impl Drop for Sdl {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl fmt::Debug for Sdl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sdl").field("address", &self.address).finish_non_exhaustive()
    }
}

fn listen(config: &Config) -> Result<(Listener, Address), Error> {
    let address = &config.address;
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
            if std::os::unix::net::UnixStream::connect(path)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
            {
                std::fs::remove_file(path).map_err(failed)?;
            }
            let listener = std::os::unix::net::UnixListener::bind(path).map_err(failed)?;
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
