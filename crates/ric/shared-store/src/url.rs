//! The URL and the credentials of a Redis server.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use link::{TlsClientFiles, TlsFileError};
use redis::{
    Client, ClientTlsConfig, Connection, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisError,
    TlsCertificates,
};

/// The timeout of connecting, reading and writing.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);

/// A Redis server: `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`, `rediss://…` over TLS, `redis+unix:///PATH`. Its
/// `Display` omits the password.
#[derive(Clone)]
pub struct RedisUrl {
    text: String,
    client: Client,
}

/// Files with credentials that are not part of the URL. Default: none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedisFiles {
    /// PEM file of the CA that signed the server's certificate. Default: the CAs of this host.
    pub ca: Option<PathBuf>,
    /// PEM files of the client certificate and its key, if the server requests one.
    pub own: Option<(PathBuf, PathBuf)>,
    /// A file that contains only the password.
    pub password: Option<PathBuf>,
}

impl RedisUrl {
    /// Returns the same server with the credentials of some files.
    ///
    /// # Errors
    /// If a file cannot be used, or the URL does not use TLS and a file is for TLS.
    pub fn with_files(&self, files: &RedisFiles) -> Result<Self, RedisUrlError> {
        let mut info = connection_info(&self.text)?;
        if let Some(path) = &files.password {
            let text = String::from_utf8(read(path)?).unwrap_or_default();
            let password = text.trim_end_matches(['\r', '\n']);
            if password.is_empty() || password.contains('\n') {
                return Err(RedisUrlError::Password(path.clone()));
            }
            let settings = info.redis_settings().clone().set_password(password);
            info = info.set_redis_settings(settings);
        }
        if let Some(ca) = files.ca.clone() {
            TlsClientFiles { ca, own: files.own.clone() }.load().map_err(RedisUrlError::Tls)?;
        }
        let certificates = files.certificates()?;
        let is_tls = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
        let client = match (is_tls, &certificates) {
            (true, _) => Client::build_with_tls(info, certificates),
            (false, TlsCertificates { root_cert: None, client_tls: None }) => Client::open(info),
            (false, _) => return Err(RedisUrlError::NoTls),
        };
        let client = client.map_err(|error| RedisUrlError::Malformed(error.to_string()))?;
        Ok(RedisUrl { text: self.text.clone(), client })
    }

    /// Connects. Each reply must arrive within 2 s.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses the credentials.
    pub fn connect(&self) -> Result<Connection, RedisError> {
        let connection = self.client.get_connection_with_timeout(TIMEOUT)?;
        connection.set_read_timeout(Some(TIMEOUT))?;
        connection.set_write_timeout(Some(TIMEOUT))?;
        Ok(connection)
    }
}

impl RedisFiles {
    /// Reads the certificates.
    pub(crate) fn certificates(&self) -> Result<TlsCertificates, RedisUrlError> {
        let own = self.own.as_ref().map(|(certificate, key)| {
            Ok::<_, RedisUrlError>(ClientTlsConfig { client_cert: read(certificate)?, client_key: read(key)? })
        });
        Ok(TlsCertificates { root_cert: self.ca.as_deref().map(read).transpose()?, client_tls: own.transpose()? })
    }
}

fn connection_info(url: &str) -> Result<ConnectionInfo, RedisUrlError> {
    if url.contains("#insecure") {
        return Err(RedisUrlError::Insecure);
    }
    url.into_connection_info().map_err(|error| RedisUrlError::Malformed(error.to_string()))
}

impl RedisUrl {
    pub(crate) fn info(&self) -> &ConnectionInfo {
        self.client.get_connection_info()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, RedisUrlError> {
    files::read(path, files::MAX_OCTETS).map_err(|error| RedisUrlError::Read(path.to_owned(), error))
}

impl FromStr for RedisUrl {
    type Err = RedisUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let client = connection_info(text).map(Client::open)?;
        let client = client.map_err(|error| RedisUrlError::Malformed(error.to_string()))?;
        Ok(RedisUrl { text: text.to_owned(), client })
    }
}

impl PartialEq for RedisUrl {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for RedisUrl {}

impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.client.get_connection_info().addr() {
            ConnectionAddr::Tcp(host, port) => write!(f, "redis://{host}:{port}"),
            ConnectionAddr::TcpTls { host, port, .. } => write!(f, "rediss://{host}:{port}"),
            other => write!(f, "redis+unix://{other}"),
        }
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedisUrl").field(&self.to_string()).finish()
    }
}

/// The reason why a URL or one of its files cannot be used.
#[derive(Debug)]
pub enum RedisUrlError {
    /// The URL is malformed, with the reason.
    Malformed(String),
    /// The URL disables the verification of the server, which is not supported.
    Insecure,
    /// There are files for TLS, but the URL does not use TLS.
    NoTls,
    /// The files for TLS cannot be used.
    Tls(TlsFileError),
    /// A file cannot be read.
    Read(PathBuf, io::Error),
    /// A file does not contain a password.
    Password(PathBuf),
}

impl fmt::Display for RedisUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FORM: &str = "a server is redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], rediss:// likewise over TLS, or redis+unix:///PATH";
        match self {
            RedisUrlError::Malformed(why) => write!(f, "{why}; {FORM}"),
            RedisUrlError::Insecure => {
                f.write_str("`#insecure` is not supported: name the CA of the server's certificate")
            }
            RedisUrlError::NoTls => f.write_str("a CA and a certificate require a rediss:// URL"),
            RedisUrlError::Tls(error) => write!(f, "TLS of Redis: {error}"),
            RedisUrlError::Read(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            RedisUrlError::Password(path) => {
                write!(f, "{} does not contain exactly one line, with the password", path.display())
            }
        }
    }
}

impl std::error::Error for RedisUrlError {}
