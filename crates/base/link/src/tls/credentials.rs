//! What an end shows, and whom it believes: PEM files.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustls::client::Resumption;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::FileStamp;

/// Certificates read from one file; what comes behind them is left.
const MAX_CERTIFICATES: usize = 1024;

/// The PEM files that TLS takes. Both ends take the same three, since each shows a certificate to the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of the CAs whose word counts for who the peer is.
    pub ca: PathBuf,
    /// Our own certificate, and after it those that lead to its CA, if any.
    pub certificate: PathBuf,
    /// The private key of our certificate: PKCS #8, PKCS #1 or SEC 1, not encrypted.
    pub key: PathBuf,
}

/// Which of [`TlsFiles`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFile {
    /// [`TlsFiles::ca`]
    Ca,
    /// [`TlsFiles::certificate`]
    Certificate,
    /// [`TlsFiles::key`]
    Key,
}

impl fmt::Display for TlsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TlsFile::Ca => "CA",
            TlsFile::Certificate => "certificate",
            TlsFile::Key => "key",
        })
    }
}

/// Why [`TlsFiles`] cannot be used.
#[derive(Debug)]
pub enum TlsFileError {
    /// A file cannot be read.
    Read {
        /// Which.
        file: TlsFile,
        /// Where it should be.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file does not hold what it should, as PEM.
    NoPem {
        /// Which.
        file: TlsFile,
        /// Where.
        path: PathBuf,
    },
    /// The key is not that of the certificate.
    KeyDoesNotFit {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
    },
    /// A certificate or key is of a kind that TLS 1.3 does not use, or broken.
    Unusable {
        /// Which.
        file: TlsFile,
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        source: rustls::Error,
    },
}

impl fmt::Display for TlsFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsFileError::Read { file, path, source } => {
                write!(f, "cannot read the {file} file {}: {source}", path.display())
            }
            TlsFileError::NoPem { file: TlsFile::Key, path } => write!(
                f,
                "the key file {} holds no private key as PEM (`-----BEGIN PRIVATE KEY-----`); an encrypted one must be \
                 decrypted first",
                path.display()
            ),
            TlsFileError::NoPem { file, path } => write!(
                f,
                "the {file} file {} holds no certificate as PEM (`-----BEGIN CERTIFICATE-----`)",
                path.display()
            ),
            TlsFileError::KeyDoesNotFit { certificate, key } => write!(
                f,
                "the key {} is not that of the certificate {}; the certificate comes first in its file, before those of CAs",
                key.display(),
                certificate.display()
            ),
            TlsFileError::Unusable { file, path, source } => {
                write!(f, "the {file} file {} cannot be used: {source}", path.display())
            }
        }
    }
}

impl std::error::Error for TlsFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TlsFileError::Read { source, .. } => Some(source),
            TlsFileError::Unusable { source, .. } => Some(source),
            TlsFileError::NoPem { .. } | TlsFileError::KeyDoesNotFit { .. } => None,
        }
    }
}

/// What `tls://` links show and believe: see [`Config::tls`](crate::Config::tls). TLS 1.3 only, and every connection is
/// verified anew: no resumption, no early data.
///
/// All copies of one are renewed together, by [`Tls::renew`]: links that stand keep what they have shown and seen.
#[derive(Clone)]
pub struct Tls {
    shared: Arc<Shared>,
}

struct Shared {
    files: TlsFiles,
    state: Mutex<Loaded>,
}

struct Loaded {
    credentials: Credentials,
    /// How the files looked when they were read last, whatever came of it.
    seen: [Option<FileStamp>; 3],
    looked: Instant,
}

/// What new links take.
#[derive(Clone)]
pub(super) struct Credentials {
    pub client: Arc<ClientConfig>,
    pub server: Arc<ServerConfig>,
}

impl TlsFiles {
    fn stamps(&self) -> [Option<FileStamp>; 3] {
        [&self.ca, &self.certificate, &self.key].map(|path| FileStamp::of(path))
    }
}

/// What came of [`Tls::renew`].
#[derive(Debug)]
pub enum Renewal {
    /// The files are as they were, or were looked at within the last second.
    Unchanged,
    /// New links take what they hold now.
    Renewed,
    /// They cannot be used as they are now: new links take what was there before. This is told once for each change.
    Failed(TlsFileError),
}

/// The files are not looked at more often than that, however many links come.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Tls {
    /// Reads the files, and sees whether they fit together.
    ///
    /// # Errors
    ///
    /// [`TlsFileError`] tells which file is wrong, and what to do.
    pub fn load(files: &TlsFiles) -> Result<Tls, TlsFileError> {
        // before they are read: what is written meanwhile is read again
        let seen = files.stamps();
        let state = Loaded { credentials: Credentials::load(files)?, seen, looked: Instant::now() };
        Ok(Tls { shared: Arc::new(Shared { files: files.clone(), state: Mutex::new(state) }) })
    }

    /// Reads the files again where they are not what they were: a renewed certificate, another CA. Who listens or connects
    /// calls this before new links; it looks at the files once a second at most.
    ///
    /// A certificate that is replaced before its key does not fit it for a moment: that fails, and the next change is
    /// tried again.
    #[must_use]
    pub fn renew(&self) -> Renewal {
        let mut state = self.lock();
        if state.looked.elapsed() < LOOK_EVERY {
            return Renewal::Unchanged;
        }
        state.looked = Instant::now();
        let seen = self.shared.files.stamps();
        if seen == state.seen {
            return Renewal::Unchanged;
        }
        state.seen = seen;
        match Credentials::load(&self.shared.files) {
            Ok(credentials) => {
                state.credentials = credentials;
                Renewal::Renewed
            }
            Err(error) => Renewal::Failed(error),
        }
    }

    pub(super) fn credentials(&self) -> Credentials {
        self.lock().credentials.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Loaded> {
        // nothing is left half done where a thread panicked
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Credentials {
    fn load(files: &TlsFiles) -> Result<Credentials, TlsFileError> {
        let roots = roots(&files.ca)?;
        let own = Own::read(&files.certificate, &files.key)?;
        let server = server(&own, Some(roots.clone()))?;
        let client = client(Some(&own), roots)?;
        Ok(Credentials { client: Arc::new(client), server: Arc::new(server) })
    }
}

/// The PEM files of a server that is no link, such as one of HTTP: it need not ask for certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsServerFiles {
    /// As [`TlsFiles::certificate`].
    pub certificate: PathBuf,
    /// As [`TlsFiles::key`].
    pub key: PathBuf,
    /// Certificates of the CAs of those who may connect. None: nobody is asked for a certificate.
    pub client_ca: Option<PathBuf>,
}

impl TlsServerFiles {
    /// Reads the files, and sees whether they fit together. TLS 1.3 only, without resumption, as for links.
    ///
    /// # Errors
    ///
    /// [`TlsFileError`] tells which file is wrong, and what to do.
    pub fn load(&self) -> Result<ServerConfig, TlsFileError> {
        let roots = self.client_ca.as_deref().map(roots).transpose()?;
        server(&Own::read(&self.certificate, &self.key)?, roots)
    }

    /// The files that there are.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.certificate), Some(&self.key), self.client_ca.as_ref()].into_iter().flatten().map(PathBuf::as_path)
    }
}

/// The PEM files of a client that is no link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsClientFiles {
    /// As [`TlsFiles::ca`].
    pub ca: PathBuf,
    /// Our own certificate and its key. None: we show none.
    pub own: Option<(PathBuf, PathBuf)>,
}

impl TlsClientFiles {
    /// Reads the files, and sees whether they fit together. TLS 1.3 only, without resumption, as for links.
    ///
    /// # Errors
    ///
    /// [`TlsFileError`] tells which file is wrong, and what to do.
    pub fn load(&self) -> Result<ClientConfig, TlsFileError> {
        let own = self.own.as_ref().map(|(certificate, key)| Own::read(certificate, key)).transpose()?;
        client(own.as_ref(), roots(&self.ca)?)
    }
}

/// What an end shows, and where that stood.
struct Own<'a> {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    paths: [&'a Path; 2],
}

impl<'a> Own<'a> {
    fn read(certificate: &'a Path, key: &'a Path) -> Result<Self, TlsFileError> {
        let chain = certificates(TlsFile::Certificate, certificate)?;
        let paths = [certificate, key];
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| bad_pem(TlsFile::Key, key, error))?;
        Ok(Own { chain, key, paths })
    }

    /// What is wrong with it.
    fn fault(&self, source: rustls::Error) -> TlsFileError {
        let [certificate, key] = self.paths.map(Path::to_path_buf);
        match source {
            rustls::Error::InconsistentKeys(_) => TlsFileError::KeyDoesNotFit { certificate, key },
            rustls::Error::General(_) => TlsFileError::Unusable { file: TlsFile::Key, path: key, source },
            _ => TlsFileError::Unusable { file: TlsFile::Certificate, path: certificate, source },
        }
    }
}

fn roots(ca: &Path) -> Result<Arc<RootCertStore>, TlsFileError> {
    let mut roots = RootCertStore::empty();
    for authority in certificates(TlsFile::Ca, ca)? {
        let unusable = |source| TlsFileError::Unusable { file: TlsFile::Ca, path: ca.to_path_buf(), source };
        roots.add(authority).map_err(unusable)?;
    }
    Ok(Arc::new(roots))
}

/// A client that takes nobody whom `roots` do not know.
fn client(own: Option<&Own<'_>>, roots: Arc<RootCertStore>) -> Result<ClientConfig, TlsFileError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has algorithms for TLS 1.3")
        .with_root_certificates(roots);
    let mut client = match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            builder.with_client_auth_cert(own.chain.clone(), own.key.clone_key()).map_err(|source| own.fault(source))?
        }
    };
    client.resumption = Resumption::disabled();
    Ok(client)
}

/// A server; with `roots`, one that takes nobody without a certificate.
fn server(own: &Own<'_>, roots: Option<Arc<RootCertStore>>) -> Result<ServerConfig, TlsFileError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has algorithms for TLS 1.3");
    let builder = match roots {
        None => builder.with_no_client_auth(),
        Some(roots) => builder.with_client_cert_verifier(
            WebPkiClientVerifier::builder_with_provider(roots, provider)
                .build()
                .expect("there is a CA, and no revocation list"),
        ),
    };
    let mut server =
        builder.with_single_cert(own.chain.clone(), own.key.clone_key()).map_err(|source| own.fault(source))?;
    server.send_tls13_tickets = 0;
    Ok(server)
}

/// Loaded by the same call, or not.
impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for Tls {}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

fn certificates(file: TlsFile, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFileError> {
    let found = CertificateDer::pem_file_iter(path).map_err(|error| bad_pem(file, path, error))?;
    let found: Result<Vec<_>, _> = found.take(MAX_CERTIFICATES).collect();
    match found {
        Ok(found) if found.is_empty() => Err(TlsFileError::NoPem { file, path: path.to_path_buf() }),
        Ok(found) => Ok(found),
        Err(error) => Err(bad_pem(file, path, error)),
    }
}

fn bad_pem(file: TlsFile, path: &Path, error: pem::Error) -> TlsFileError {
    match error {
        pem::Error::Io(source) => TlsFileError::Read { file, path: path.to_path_buf(), source },
        _ => TlsFileError::NoPem { file, path: path.to_path_buf() },
    }
}
