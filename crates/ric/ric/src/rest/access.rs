//! Who may speak REST: the files for it, and what they hold while the program runs.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ferric::link::{FileStamp, TlsFileError, TlsServerFiles};
use rustls::ServerConfig;
use tracing::{info, warn};

use super::tokens::{TokenFault, Tokens, is_open_to_all};

/// The files are not looked at more often than that, however many requests come.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The files that say who may speak REST. Default: none, so that everybody may, in the clear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestFiles {
    /// For HTTPS, which is then the only thing spoken.
    pub tls: Option<TlsServerFiles>,
    /// Bearer tokens, a line each: `read TOKEN` or `write TOKEN`. With them, nothing is answered without one.
    pub tokens: Option<PathBuf>,
}

/// What those files hold. Where they change while the program runs, they are read again, before new connections and requests.
#[derive(Clone)]
pub struct RestAccess {
    files: RestFiles,
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) tokens: Option<Tokens>,
    /// How the files looked when they were read last, whatever came of it.
    seen: Vec<Option<FileStamp>>,
    looked: Instant,
}

/// Why [`RestFiles`] cannot be used.
#[derive(Debug)]
pub enum AccessError {
    /// Those for TLS.
    Tls(TlsFileError),
    /// The file of tokens cannot be read.
    ReadTokens(PathBuf, io::Error),
    /// The file of tokens holds something else.
    Tokens(PathBuf, TokenFault),
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccessError::Tls(error) => write!(f, "TLS of REST: {error}"),
            AccessError::ReadTokens(path, error) => write!(f, "cannot read the tokens in {}: {error}", path.display()),
            AccessError::Tokens(path, fault) => write!(f, "the tokens in {}: {fault}", path.display()),
        }
    }
}

impl std::error::Error for AccessError {}

impl Default for RestAccess {
    /// Everybody may do everything.
    fn default() -> Self {
        RestAccess { files: RestFiles::default(), tls: None, tokens: None, seen: Vec::new(), looked: Instant::now() }
    }
}

impl fmt::Debug for RestAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestAccess").field("files", &self.files).finish_non_exhaustive()
    }
}

impl RestAccess {
    /// Reads the files.
    ///
    /// # Errors
    /// Which one cannot be used, and what to do.
    pub fn load(files: RestFiles) -> Result<Self, AccessError> {
        // before they are read: what is written meanwhile is read again
        let seen = files.stamps();
        let (tls, tokens) = files.read()?;
        Ok(RestAccess { files, tls, tokens, seen, looked: Instant::now() })
    }

    /// Whether this is what those files hold.
    pub(crate) fn is_of(&self, files: &RestFiles) -> bool {
        self.files == *files
    }

    /// Whether HTTPS is spoken.
    #[must_use]
    pub fn is_secured(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether those who ask show who they are: a certificate or a token.
    pub(super) fn knows_its_clients(&self) -> bool {
        self.tokens.is_some() || self.files.tls.as_ref().is_some_and(|files| files.client_ca.is_some())
    }

    /// Reads the files again where they are not what they were. Where they cannot be used, what was there before holds; that
    /// is told once for each change.
    pub(super) fn renew(&mut self) {
        if self.looked.elapsed() < LOOK_EVERY {
            return;
        }
        self.looked = Instant::now();
        let seen = self.files.stamps();
        if seen == self.seen {
            return;
        }
        self.seen = seen;
        match self.files.read() {
            Ok((tls, tokens)) => {
                (self.tls, self.tokens) = (tls, tokens);
                info!("the files for access to REST have changed: what they hold now counts");
            }
            Err(error) => {
                warn!(%error, "the files for access to REST have changed and cannot be used: what they held before counts; correct them");
            }
        }
    }
}

/// What the files hold.
type Held = (Option<Arc<ServerConfig>>, Option<Tokens>);

impl RestFiles {
    fn read(&self) -> Result<Held, AccessError> {
        let tls = self.tls.as_ref().map(TlsServerFiles::load).transpose().map_err(AccessError::Tls)?;
        let tls = tls.map(|mut tls| {
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
            Arc::new(tls)
        });
        Ok((tls, self.tokens.as_deref().map(read_tokens).transpose()?))
    }

    fn stamps(&self) -> Vec<Option<FileStamp>> {
        let tls = self.tls.iter().flat_map(TlsServerFiles::paths);
        tls.chain(self.tokens.as_deref()).map(FileStamp::of).collect()
    }
}

fn read_tokens(path: &Path) -> Result<Tokens, AccessError> {
    let text = std::fs::read_to_string(path).map_err(|error| AccessError::ReadTokens(path.to_owned(), error))?;
    let tokens = Tokens::parse(&text).map_err(|fault| AccessError::Tokens(path.to_owned(), fault))?;
    if is_open_to_all(path) {
        warn!(path = %path.display(), "every user of this host can read the tokens of REST; do: chmod o= on that file");
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests;
