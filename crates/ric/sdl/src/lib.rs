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
mod listener;
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
pub use handle::{Change, Entries, Handle, NO_ROOM, Observer};
pub use limits::{Limits, MAX_KEY_OCTETS};
#[cfg(feature = "redis")]
pub use remote::RemoteSdl;
use server::{Server, WAKE};

/// The port of a Redis server, and of this one.
pub const DEFAULT_PORT: u16 = 6379;
/// The most addresses of a shared data layer.
pub const MAX_ADDRESSES: usize = 16;

/// What a shared data layer is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where clients connect: `tcp://`, `tls://` or `unix:`, 1 to [`MAX_ADDRESSES`].
    pub addresses: Vec<Address>,
    /// The certificate of `tls://` addresses, and the CAs of those of clients. Default: none.
    #[cfg(feature = "tls")]
    pub tls: Option<link::Tls>,
    /// Each client of a `tls://` address presents a certificate. Default: false, so that one may come without; one that is presented is verified.
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
            addresses: vec![address],
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

    /// Whether somebody could use it who should not.
    fn check(&self) -> Result<(), Error> {
        if !(1..=MAX_ADDRESSES).contains(&self.addresses.len()) {
            return Err(Error::Count(self.addresses.len()));
        }
        let has_tls = |address: &Address| matches!(address, Address::Tls { .. });
        let wants_certificates = self.requires_certificate || self.access.names_certificates();
        if wants_certificates && !self.addresses.iter().any(has_tls) {
            return Err(Error::Plain);
        }
        let is_restricted = |address| self.access.is_restricted() || self.requires_certificate && has_tls(address);
        match self.addresses.iter().find(|address| !address.is_local() && !is_restricted(address)) {
            Some(address) => Err(Error::Open(address.clone())),
            None => Ok(()),
        }
    }

    /// Whether others than the hosts at both ends could read what is sent at an address.
    fn exposes(&self, address: &Address) -> bool {
        !address.is_local() && !matches!(address, Address::Tls { .. }) && !self.is_protected
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
    /// Certificates are required or have rights, and no address has TLS.
    Plain,
    /// There is no address, or there are more than [`MAX_ADDRESSES`].
    Count(usize),
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
            Error::Plain => f.write_str(
                "certificates of clients of the shared data layer are required, or named in the file of tokens, and nobody can \
                 present one: give a tls:// address",
            ),
            Error::Count(count) => {
                write!(f, "the shared data layer listens at 1 to {MAX_ADDRESSES} addresses, not at {count}")
            }
            Error::File(error) => error.fmt(f),
            Error::System(error) => write!(f, "the shared data layer cannot be started: {error}"),
        }
    }
}

impl std::error::Error for Error {}

/// A running shared data layer. It ends when it is dropped.
pub struct Sdl {
    addresses: Vec<Address>,
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
        config.check()?;
        let mut store = store::Store::new(config.limits.of_store());
        let file = config.file.as_deref().map(|path| file::StoreFile::open(path, &mut store)).transpose();
        let file = file.map_err(Error::File)?;
        let listeners =
            config.addresses.iter().map(|address| listener::listen(address, &config)).collect::<Result<Vec<_>, _>>()?;
        let (listeners, addresses): (Vec<_>, Vec<_>) = listeners.into_iter().unzip();
        for address in addresses.iter().filter(|address| config.exposes(address)) {
            warn!(
                %address,
                "unprotected address: tokens and values of the shared data layer are not encrypted; use tls://, or IPsec between \
                 these hosts and `ipsec = true`"
            );
        }
        let poll = Poll::new().map_err(Error::System)?;
        for (listener, token) in listeners.iter().zip(server::listener_tokens()) {
            poll.add(listener, token, Interest::READ).map_err(Error::System)?;
        }
        let waker = Waker::new(&poll, WAKE).map_err(Error::System)?;
        let (handle, inbox) = handle::channel(Some(waker.clone()));
        let engine = engine::Engine::new(store, config.access, config.limits);
        let server = Server::new(listeners, poll, engine, file, inbox, log).map_err(Error::System)?;
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::Builder::new().name("sdl".to_owned()).spawn({
            let stop = Arc::clone(&stop);
            move || server.run(&|| stop.load(Ordering::Acquire))
        });
        let thread = thread.map_err(Error::System)?;
        Ok(Sdl { addresses, handle, stop, waker, thread: Some(thread) })
    }

    /// Where it listens, as the configuration names it, with the ports that the system has chosen.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// The first of its addresses.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.addresses[0]
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
        f.debug_struct("Sdl").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_addresses_beyond_this_host_are_exposed() {
        let mut config = Config::new("tcp://127.0.0.1:0".parse().unwrap());
        let exposed = |config: &Config| {
            let urls =
                ["tcp://0.0.0.0:6379", "tls://0.0.0.0:6379", "tcp://[::1]:6379", "unix:/run/sdl", "tcp://192.0.2.1:1"];
            let addresses = urls.map(|url| url.parse::<Address>().unwrap());
            let exposed = addresses.into_iter().filter(|address| config.exposes(address));
            exposed.map(|address| address.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(exposed(&config), ["tcp://0.0.0.0:6379", "tcp://192.0.2.1:1"]);
        config.is_protected = true;
        assert_eq!(exposed(&config), [""; 0]);
    }
}
