//! Access control: the files that define who may send requests, and their content while the server runs.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::header::HeaderMap;
use link::FileStamp;
use tracing::{info, warn};

use super::Problem;
use super::bearer::BearerVerifier;
#[cfg(feature = "tls")]
use super::tls;
use super::tokens::{self, Client, Role, TokenFault, Tokens, is_readable_by_all};

/// The files are checked for changes at most this often, whatever the rate of requests.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The PEM files of an HTTPS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, followed by the certificates between it and its CA, if any.
    pub certificate: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
    /// The CAs of client certificates. With it, only clients with a certificate of these CAs may connect.
    pub client_ca: Option<PathBuf>,
}

impl TlsFiles {
    fn paths(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.certificate), Some(&self.key), self.client_ca.as_ref()].into_iter().flatten().map(PathBuf::as_path)
    }
}

/// The files that define who may send requests. Default: none; everyone may, over HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessFiles {
    /// The files for HTTPS. With them the server refuses HTTP. They need the feature `tls`.
    pub tls: Option<TlsFiles>,
    /// The bearer tokens, one per line, each after its role: `read TOKEN`, `control TOKEN` or `admin TOKEN`. With them, every
    /// request needs a token.
    pub tokens: Option<PathBuf>,
}

/// The content of [`AccessFiles`]. Files that change while the server runs are read again before the next connection or
/// request.
#[derive(Clone)]
pub struct Access {
    files: AccessFiles,
    pub(super) content: Content,
    /// Verifies tokens that are in no file.
    verifier: Option<Arc<dyn BearerVerifier>>,
    /// The stamps of the files when they were last read, usable or not.
    stamps: Vec<Option<FileStamp>>,
    checked: Instant,
}

#[derive(Clone, Default)]
pub(super) struct Content {
    #[cfg(feature = "tls")]
    pub tls: Option<Arc<tls::TlsConfig>>,
    pub tokens: Option<Tokens>,
}

/// The reason why [`AccessFiles`] cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum AccessError {
    /// There are files for TLS, and the crate was built without the feature `tls`.
    NoTls,
    /// A file for TLS cannot be used.
    #[cfg(feature = "tls")]
    Tls(tls::TlsFileError),
    /// The token file cannot be read.
    ReadTokens(PathBuf, io::Error),
    /// The token file is malformed.
    Tokens(PathBuf, TokenFault),
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccessError::NoTls => f.write_str("TLS of REST: this program was built without the feature `tls`"),
            #[cfg(feature = "tls")]
            AccessError::Tls(error) => write!(f, "TLS of REST: {error}"),
            AccessError::ReadTokens(path, error) => write!(f, "cannot read the token file {}: {error}", path.display()),
            AccessError::Tokens(path, fault) => write!(f, "token file {}: {fault}", path.display()),
        }
    }
}

impl std::error::Error for AccessError {}

impl Default for Access {
    /// Allows everything to everyone.
    fn default() -> Self {
        Access {
            files: AccessFiles::default(),
            content: Content::default(),
            verifier: None,
            stamps: Vec::new(),
            checked: Instant::now(),
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Access {
    /// Reads the files.
    ///
    /// # Errors
    /// If a file cannot be used; the error names it and the remedy.
    pub fn load(files: AccessFiles) -> Result<Self, AccessError> {
        // taken before reading, so that a file that is written meanwhile is read again
        let stamps = files.stamps();
        let content = files.read()?;
        Ok(Access { files, content, verifier: None, stamps, checked: Instant::now() })
    }

    /// Admits tokens that a service verifies itself, beside those of the file. Every request needs a token then.
    #[must_use]
    pub fn with_verifier(self, verifier: Arc<dyn BearerVerifier>) -> Self {
        Access { verifier: Some(verifier), ..self }
    }

    /// Whether it was loaded from these files.
    #[must_use]
    pub fn is_from(&self, files: &AccessFiles) -> bool {
        self.files == *files
    }

    /// Whether the server speaks HTTPS.
    #[must_use]
    pub fn is_secured(&self) -> bool {
        self.files.tls.is_some()
    }

    /// Whether clients need a certificate or a token.
    pub(super) fn authenticates_clients(&self) -> bool {
        self.content.tokens.is_some()
            || self.verifier.is_some()
            || self.files.tls.as_ref().is_some_and(|files| files.client_ca.is_some())
    }

    /// Returns the client of a request: without tokens, whoever reaches the server may do everything.
    pub(super) fn client(&self, headers: &HeaderMap, offered: Option<&[u8]>) -> Result<Client, Problem> {
        if self.content.tokens.is_none() && self.verifier.is_none() {
            return Ok(Client { role: Role::Admin, token: None, subject: None });
        }
        let token = tokens::given(headers, offered)?;
        if let Some(client) = self.content.tokens.as_ref().and_then(|tokens| tokens.client(token)) {
            return Ok(client);
        }
        let verifier = self.verifier.as_ref().ok_or_else(tokens::unknown)?;
        let subject = verifier.verify(token)?;
        let hash = tokens::hash(subject.name.as_bytes());
        Ok(Client { role: subject.role, token: Some(hash), subject: Some((subject.name, token.into())) })
    }

    /// Whether a client that was admitted still has a role.
    pub(super) fn still_permits(&self, client: &Client, role: Role) -> bool {
        if let Some((name, token)) = &client.subject {
            // what cannot be verified now was verified before
            let verified = self.verifier.as_ref().map(|verifier| verifier.verify(token));
            return match verified {
                Some(Ok(subject)) => subject.name == *name && subject.role >= role,
                Some(Err(super::BearerFault::Unavailable(_))) => true,
                Some(Err(_)) | None => false,
            };
        }
        match (&self.content.tokens, &client.token) {
            (None, _) => self.verifier.is_none(),
            (Some(tokens), Some(token)) => tokens.role(token).is_some_and(|has| has >= role),
            (Some(_), None) => false,
        }
    }

    /// Reads the files again if they have changed. If they cannot be used, the previous content stays in force; this is logged
    /// once per change.
    pub(super) fn refresh(&mut self) {
        if self.checked.elapsed() >= CHECK_INTERVAL {
            self.reload();
        }
    }

    /// As [`Access::refresh`], whenever the files were checked.
    pub(super) fn reload(&mut self) {
        self.checked = Instant::now();
        let stamps = self.files.stamps();
        if stamps == self.stamps {
            return;
        }
        self.stamps = stamps;
        match self.files.read() {
            Ok(content) => {
                self.content = content;
                info!("REST access files have changed: the new content is in force");
            }
            Err(error) => {
                warn!(%error, "REST access files have changed and cannot be used: the previous content stays in force; correct the files");
            }
        }
    }

    #[cfg(test)]
    fn expire(&mut self) {
        self.checked -= CHECK_INTERVAL;
    }
}

impl AccessFiles {
    fn read(&self) -> Result<Content, AccessError> {
        Ok(Content {
            #[cfg(feature = "tls")]
            tls: self.tls.as_ref().map(tls::load).transpose().map_err(AccessError::Tls)?,
            tokens: match (&self.tls, &self.tokens) {
                (Some(_), _) if cfg!(not(feature = "tls")) => return Err(AccessError::NoTls),
                (_, tokens) => tokens.as_deref().map(read_tokens).transpose()?,
            },
        })
    }

    fn stamps(&self) -> Vec<Option<FileStamp>> {
        let tls = self.tls.iter().flat_map(TlsFiles::paths);
        tls.chain(self.tokens.as_deref()).map(FileStamp::of).collect()
    }
}

fn read_tokens(path: &Path) -> Result<Tokens, AccessError> {
    let text =
        files::read_text(path, files::MAX_OCTETS).map_err(|error| AccessError::ReadTokens(path.to_owned(), error))?;
    let tokens = Tokens::parse(&text).map_err(|fault| AccessError::Tokens(path.to_owned(), fault))?;
    if is_readable_by_all(path) {
        warn!(path = %path.display(), "every user of this host can read the token file of REST; do: chmod o= on that file");
    }
    Ok(tokens)
}

#[cfg(all(test, feature = "tls"))]
mod tests;
