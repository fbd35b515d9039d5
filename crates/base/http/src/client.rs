//! A client of JSON resources, and of services that take other octets and answer with JSON or nothing.
//!
//! ```no_run
//! use rest::client::{Client, ClientConfig};
//!
//! let client = Client::new(&ClientConfig::new("http://127.0.0.1:8080"))?;
//! let response = client.request("GET", "/v1/nodes", None)?;
//! println!("{} {}", response.status, response.body);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::http::{self, Request};

/// The address of a service, what it requires of its clients, and bounds.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// `http://HOST:PORT` or `https://HOST:PORT`.
    pub url: String,
    /// PEM file of the CA that signed the service's certificate: required for https://, and only then.
    pub ca: Option<PathBuf>,
    /// PEM files of the client's certificate and its key, for a service that requires one.
    pub own: Option<(PathBuf, PathBuf)>,
    /// The client's token.
    pub token: Option<ClientToken>,
    /// How the token is presented. Default: [`Scheme::Bearer`].
    pub scheme: Scheme,
    /// Time for a request and its response. It must exceed the service's own time-out. Default: 30 s.
    pub timeout: Duration,
    /// Octets of a response's body. Default: 1 MiB.
    pub max_body_octets: u64,
}

impl ClientConfig {
    /// Returns the default bounds for a URL, without certificate and token.
    #[must_use]
    pub fn new(url: &str) -> Self {
        ClientConfig {
            url: url.to_owned(),
            ca: None,
            own: None,
            token: None,
            scheme: Scheme::Bearer,
            timeout: Duration::from_secs(30),
            max_body_octets: 1 << 20,
        }
    }
}

/// Where a client's bearer token is. Its text is not in the output of `Debug`.
#[derive(Clone)]
pub enum ClientToken {
    /// In a file with nothing else.
    File(PathBuf),
    /// Here: the name of what it comes from, for errors, and the token.
    Text(&'static str, String),
}

impl fmt::Debug for ClientToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientToken::File(path) => f.debug_tuple("File").field(path).finish(),
            ClientToken::Text(source, _) => f.debug_tuple("Text").field(source).finish_non_exhaustive(),
        }
    }
}

/// A scheme of the header `Authorization` (RFC 9110 11.6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// A bearer token (RFC 6750).
    #[default]
    Bearer,
    /// InfluxDB's scheme of this name: `Token TOKEN`.
    Token,
    /// `USER:PASSWORD` in base64 (RFC 7617).
    Basic,
}

/// A response.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientResponse {
    /// The status.
    pub status: u16,
    /// The path of a new resource.
    pub location: Option<String>,
    /// When to try again, if the service says so in seconds (RFC 9110 10.2.3).
    pub retry_after: Option<Duration>,
    /// The document; null if there is none.
    pub body: Value,
}

impl ClientResponse {
    /// Whether the status is 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The detail of problem details (RFC 9457), for people.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.body["detail"].as_str()
    }
}

/// The reason why a client cannot be created, or gets no response.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// The URL is neither http:// nor https://.
    Url(String),
    /// A CA is given for an http:// URL.
    CaWithoutTls(String),
    /// No CA is given for an https:// URL.
    NoCa,
    /// The crate was built without the feature `tls`.
    NoTls,
    /// A file cannot be read.
    Read(PathBuf, io::Error),
    /// A file is not PEM, or contains another kind of data.
    Pem(PathBuf, String),
    /// A file or a variable, of this name, does not contain a token.
    Token(String),
    /// The request is malformed, such as a path with spaces.
    Request(String),
    /// The service did not answer, or closed the connection.
    NoResponse(String),
    /// The response is not JSON.
    Body(String),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Url(url) => write!(f, "`{url}` is not http://HOST:PORT or https://HOST:PORT"),
            ClientError::CaWithoutTls(url) => write!(f, "a CA is configured, but {url} is not an https:// URL"),
            ClientError::NoCa => f.write_str("https:// requires the CA that signed the service's certificate"),
            ClientError::NoTls => f.write_str("https://: this program was built without the feature `tls`"),
            ClientError::Read(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            ClientError::Pem(path, fault) => write!(f, "cannot use {}: {fault}", path.display()),
            ClientError::Token(source) => write!(
                f,
                "{source} does not contain a token: it must be one word, without `read`, `control` or `admin` before it"
            ),
            ClientError::Request(fault) => write!(f, "malformed request: {fault}"),
            ClientError::NoResponse(error) => write!(f, "no response: {error}"),
            ClientError::Body(fault) => write!(f, "the response is not JSON: {fault}"),
        }
    }
}

impl std::error::Error for ClientError {}

/// A client. It keeps its connections open between requests, and follows no redirects.
#[derive(Debug)]
pub struct Client {
    agent: Agent,
    url: String,
    authorization: Option<String>,
    max_body_octets: u64,
}

impl Client {
    /// Creates a client; it connects with its first request.
    ///
    /// # Errors
    /// If the URL is malformed, or a file cannot be used.
    pub fn new(config: &ClientConfig) -> Result<Self, ClientError> {
        let url = config.url.trim_end_matches('/');
        let is_https = url.starts_with("https://");
        if !is_https && !url.starts_with("http://") {
            return Err(ClientError::Url(config.url.clone()));
        }
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(config.timeout))
            .proxy(None)
            .max_redirects(0);
        let agent = match (&config.ca, is_https) {
            (None, false) => agent,
            (Some(_), false) => return Err(ClientError::CaWithoutTls(config.url.clone())),
            (None, true) => return Err(ClientError::NoCa),
            #[cfg(feature = "tls")]
            (Some(ca), true) => agent.https_only(true).tls_config(tls::config(ca, config.own.as_ref())?),
            #[cfg(not(feature = "tls"))]
            (Some(_), true) => return Err(ClientError::NoTls),
        };
        let authorization = config.token.as_ref().map(|token| authorization(token, config.scheme)).transpose()?;
        let max_body_octets = config.max_body_octets;
        Ok(Client { agent: agent.build().into(), url: url.to_owned(), authorization, max_body_octets })
    }

    /// The service's URL, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends a request, and waits for its response. A refusal by the service is a response, too.
    ///
    /// # Errors
    /// If there is no response, or its body is not JSON.
    pub fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Result<ClientResponse, ClientError> {
        match body {
            Some(body) => self.send(method, path, Some(("application/json", body.to_string().as_bytes()))),
            None => self.send(method, path, None),
        }
    }

    /// Posts octets of a media type, and waits for the response, whose body is JSON or empty.
    ///
    /// # Errors
    /// If there is no response, or its body is not JSON.
    pub fn post(&self, path: &str, media_type: &str, body: &[u8]) -> Result<ClientResponse, ClientError> {
        self.send("POST", path, Some((media_type, body)))
    }

    fn send(&self, method: &str, path: &str, body: Option<(&str, &[u8])>) -> Result<ClientResponse, ClientError> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let malformed = |error: http::Error| ClientError::Request(error.to_string());
        let sent = match body {
            Some((media_type, body)) => {
                self.agent.run(request.header("content-type", media_type).body(body).map_err(malformed)?)
            }
            None => self.agent.run(request.body(()).map_err(malformed)?),
        };
        let mut response = sent.map_err(|error| ClientError::NoResponse(error.to_string()))?;
        let text = response.body_mut().with_config().limit(self.max_body_octets).read_to_string();
        let text = text.map_err(|error| ClientError::NoResponse(error.to_string()))?;
        let status = response.status().as_u16();
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let location = header("location").map(str::to_owned);
        let retry_after = header("retry-after").and_then(|value| value.parse().ok()).map(Duration::from_secs);
        let body = match serde_json::from_str(&text) {
            _ if text.is_empty() => Value::Null,
            Ok(body) => body,
            // the status is informative enough, and so a proxy's page is
            Err(_) if !(200..300).contains(&status) => Value::Null,
            Err(error) => return Err(ClientError::Body(error.to_string())),
        };
        Ok(ClientResponse { status, location, retry_after, body })
    }
}

/// Returns the header that presents a token.
fn authorization(token: &ClientToken, scheme: Scheme) -> Result<String, ClientError> {
    let (source, text) = match token {
        ClientToken::File(path) => (path.display().to_string(), read(path)?),
        ClientToken::Text(source, text) => ((*source).to_owned(), text.clone().into_bytes()),
    };
    let token = text.trim_ascii();
    if token.is_empty() || !token.iter().all(u8::is_ascii_graphic) {
        return Err(ClientError::Token(source));
    }
    Ok(match scheme {
        Scheme::Bearer => format!("Bearer {}", String::from_utf8_lossy(token)),
        Scheme::Token => format!("Token {}", String::from_utf8_lossy(token)),
        Scheme::Basic => format!("Basic {}", data_encoding::BASE64.encode(token)),
    })
}

fn read(path: &Path) -> Result<Vec<u8>, ClientError> {
    files::read(path, files::MAX_OCTETS).map_err(|error| ClientError::Read(path.to_owned(), error))
}

#[cfg(feature = "tls")]
mod tls {
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

    use super::{ClientError, read};

    pub(super) fn config(ca: &Path, own: Option<&(PathBuf, PathBuf)>) -> Result<TlsConfig, ClientError> {
        let own = own.map(|(certificate, key)| {
            let key = PrivateKey::from_pem(&read(key)?).map_err(|error| fault(key, &error))?;
            Ok(ClientCert::new_with_certs(&certificates(certificate)?, key))
        });
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
        Ok(tls.root_certs(RootCerts::new_with_certs(&certificates(ca)?)).client_cert(own.transpose()?).build())
    }

    fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, ClientError> {
        let text = read(path)?;
        let certificates = parse_pem(&text).filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
            Ok(_) => None,
            Err(error) => Some(Err(fault(path, &error))),
        });
        let certificates: Vec<_> = certificates.collect::<Result<_, _>>()?;
        if certificates.is_empty() {
            let fault = "it contains no certificate as PEM (`-----BEGIN CERTIFICATE-----`)".to_owned();
            return Err(ClientError::Pem(path.to_owned(), fault));
        }
        Ok(certificates)
    }

    fn fault(path: &Path, error: &ureq::Error) -> ClientError {
        ClientError::Pem(path.to_owned(), error.to_string())
    }
}
