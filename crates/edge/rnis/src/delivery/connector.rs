//! Connections to the servers of callbacks: TCP, and TLS on it.

use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpStream;

use super::allow_list::CallbackPolicy;
use super::callback::Endpoint;
use super::config::DeliveryConfig;
use super::resolver::Resolver;
use super::state::DeliveryError;

/// Why the delivery cannot be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum DeliveryStartError {
    /// The system refuses a thread or an epoll instance.
    System(std::io::Error),
    /// The file of authorities cannot be used.
    #[cfg(feature = "tls")]
    Ca(ferric::link::TlsFileError),
    /// There is a file of authorities, and the crate was built without the feature `tls`.
    NoTls,
}

impl std::fmt::Display for DeliveryStartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DeliveryStartError::System(error) => write!(f, "the thread for notifications cannot be started: {error}"),
            #[cfg(feature = "tls")]
            DeliveryStartError::Ca(error) => write!(f, "the CA of callbacks: {error}"),
            DeliveryStartError::NoTls => f.write_str("the CA of callbacks: this program was built without `tls`"),
        }
    }
}

impl std::error::Error for DeliveryStartError {}

/// A connection.
pub enum Socket {
    Plain(TcpStream),
    #[cfg(feature = "tls")]
    Tls(Box<tokio_rustls::client::TlsStream<TcpStream>>),
}

impl Socket {
    /// Whether the TLS handshake has agreed on HTTP/2.
    pub fn is_http2(&self) -> bool {
        match self {
            Socket::Plain(_) => false,
            #[cfg(feature = "tls")]
            Socket::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }
}

/// Opens connections.
#[derive(Clone)]
pub struct Connector {
    callbacks: CallbackPolicy,
    resolver: Resolver,
    #[cfg(feature = "tls")]
    tls: Option<tokio_rustls::TlsConnector>,
}

impl Connector {
    /// Reads the file of authorities, if there is one.
    pub fn new(config: &DeliveryConfig) -> Result<Self, DeliveryStartError> {
        #[cfg(not(feature = "tls"))]
        return if config.ca.is_none() {
            Ok(Connector { callbacks: config.callbacks.clone(), resolver: config.resolver.clone() })
        } else {
            Err(DeliveryStartError::NoTls)
        };
        #[cfg(feature = "tls")]
        {
            let tls = |ca: &std::path::PathBuf| {
                let mut config = ferric::link::TlsClientFiles { ca: ca.clone(), own: None }.load()?;
                config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
                Ok(tokio_rustls::TlsConnector::from(std::sync::Arc::new(config)))
            };
            let tls = config.ca.as_ref().map(tls).transpose().map_err(DeliveryStartError::Ca)?;
            Ok(Connector { callbacks: config.callbacks.clone(), resolver: config.resolver.clone(), tls })
        }
    }

    /// Whether `https` can be spoken.
    pub fn has_tls(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        false
    }

    /// Whether a callback of a tenant may be sent over a connection to an address.
    pub fn allows(&self, tenant: &str, endpoint: &Endpoint, address: SocketAddr) -> bool {
        self.callbacks.allows(tenant, endpoint, address)
    }

    /// The addresses of a server that callbacks of a tenant may be sent to. They are connected to as they are, so that a name which
    /// resolves to others in the next moment (DNS rebinding) leads nowhere else.
    async fn resolve(&self, tenant: &str, endpoint: &Endpoint) -> Result<Vec<SocketAddr>, DeliveryError> {
        let Endpoint { host, port, .. } = endpoint;
        let mut addresses = match host.parse::<IpAddr>() {
            // no thread is asked to resolve it
            Ok(address) => vec![SocketAddr::new(address, *port)],
            Err(_) => {
                let resolved = self.resolver.resolve(host, *port).await;
                resolved.map_err(|error| DeliveryError::Connect(error.to_string()))?
            }
        };
        addresses.retain(|address| self.allows(tenant, endpoint, *address));
        if addresses.is_empty() {
            // the addresses are not named: they may be of a network that the subscriber must not learn
            return Err(DeliveryError::Connect(format!("`{host}` has no address that callbacks may be sent to")));
        }
        Ok(addresses)
    }

    /// Connects to a server for a callback of a tenant. Returns also the address that it is connected to.
    pub async fn connect(&self, tenant: &str, endpoint: &Endpoint) -> Result<(Socket, SocketAddr), DeliveryError> {
        let failed = |error: std::io::Error| DeliveryError::Connect(error.to_string());
        let addresses = self.resolve(tenant, endpoint).await?;
        let stream = TcpStream::connect(&*addresses).await.map_err(failed)?;
        let address = stream.peer_addr().map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        if !endpoint.is_secured {
            return Ok((Socket::Plain(stream), address));
        }
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            let host = &*endpoint.host;
            let name = rustls::pki_types::ServerName::try_from(host.to_owned());
            let name = name.map_err(|_| DeliveryError::Connect(format!("`{host}` is no name of a server")))?;
            let stream = tls.connect(name, stream).await.map_err(failed)?;
            return Ok((Socket::Tls(Box::new(stream)), address));
        }
        Err(DeliveryError::Connect("https requires a CA for callbacks".to_owned()))
    }
}
