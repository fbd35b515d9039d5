//! Connections to the servers of callbacks: TCP, and TLS on it.

use std::net::IpAddr;

use tokio::net::TcpStream;

use super::callback::Endpoint;
use super::config::DeliveryConfig;
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
    #[cfg(feature = "tls")]
    tls: Option<tokio_rustls::TlsConnector>,
}

impl Connector {
    /// Reads the file of authorities, if there is one.
    pub fn new(config: &DeliveryConfig) -> Result<Self, DeliveryStartError> {
        #[cfg(not(feature = "tls"))]
        return if config.ca.is_none() { Ok(Connector {}) } else { Err(DeliveryStartError::NoTls) };
        #[cfg(feature = "tls")]
        {
            let tls = |ca: &std::path::PathBuf| {
                let mut config = ferric::link::TlsClientFiles { ca: ca.clone(), own: None }.load()?;
                config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
                Ok(tokio_rustls::TlsConnector::from(std::sync::Arc::new(config)))
            };
            let tls = config.ca.as_ref().map(tls).transpose().map_err(DeliveryStartError::Ca)?;
            Ok(Connector { tls })
        }
    }

    /// Whether `https` can be spoken.
    pub fn has_tls(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        false
    }

    /// Connects to a server.
    pub async fn connect(&self, endpoint: &Endpoint) -> Result<Socket, DeliveryError> {
        let failed = |error: std::io::Error| DeliveryError::Connect(error.to_string());
        let host = &*endpoint.host;
        let stream = match host.parse::<IpAddr>() {
            // no thread is asked to resolve it
            Ok(address) => TcpStream::connect((address, endpoint.port)).await,
            Err(_) => TcpStream::connect((host, endpoint.port)).await,
        };
        let stream = stream.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        if !endpoint.is_secured {
            return Ok(Socket::Plain(stream));
        }
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            let name = rustls::pki_types::ServerName::try_from(host.to_owned());
            let name = name.map_err(|_| DeliveryError::Connect(format!("`{host}` is no name of a server")))?;
            let stream = tls.connect(name, stream).await.map_err(failed)?;
            return Ok(Socket::Tls(Box::new(stream)));
        }
        Err(DeliveryError::Connect("https requires a CA for callbacks".to_owned()))
    }
}
