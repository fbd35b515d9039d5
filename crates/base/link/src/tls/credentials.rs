//! Certificates, keys and trusted CAs, read from PEM files.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use super::ClientCertificates;
use crate::FileStamp;

/// The most certificates read from one file; the rest is ignored.
const MAX_CERTIFICATES: usize = 1024;

/// The PEM files of a TLS link. Both ends take the same three, since each presents a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of the CAs that are trusted to sign the certificate of the peer.
    pub ca: PathBuf,
    /// Our own certificate, followed by the intermediate certificates, if any.
    pub certificate: PathBuf,
    /// The private key of our certificate: PKCS #8, PKCS #1 or SEC 1, not encrypted.
    pub key: PathBuf,
}

/// One of [`TlsFiles`].
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

/// The reason why [`TlsFiles`] cannot be used.
#[derive(Debug)]
pub enum TlsFileError {
    /// A file cannot be read.
    Read {
        /// The kind of file.
        file: TlsFile,
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file does not contain the expected PEM section.
    NoPem {
        /// The kind of file.
        file: TlsFile,
        /// The path of the file.
        path: PathBuf,
    },
    /// The key is not that of the certificate.
    KeyDoesNotFit {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
    },
    /// A certificate or key is malformed or of a type that TLS 1.3 does not support.
    Unusable {
        /// The kind of file.
        file: TlsFile,
        /// The path of the file.
        path: PathBuf,
        /// The reason.
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
                "the key {} is not that of the certificate {}; the certificate must come first in its file, before those of CAs",
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

/// The credentials of `tls://` links: see [`Config::tls`](crate::Config::tls). TLS 1.3 only; every connection is verified in
/// full, without resumption or early data.
///
/// [`Tls::renew`] renews all clones together. Established links are not affected.
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
    /// The stamps of the files when they were last read, successfully or not.
    seen: [Option<FileStamp>; 3],
    looked: Instant,
}

/// The TLS configurations of new links.
#[derive(Clone)]
pub(super) struct Credentials {
    pub client: Arc<ClientConfig>,
    pub server: Arc<ServerConfig>,
    /// For clients that may come without a certificate.
    pub open_server: Arc<ServerConfig>,
}

impl TlsFiles {
    fn stamps(&self) -> [Option<FileStamp>; 3] {
        [&self.ca, &self.certificate, &self.key].map(|path| FileStamp::of(path))
    }
}

/// The result of [`Tls::renew`].
#[derive(Debug)]
pub enum Renewal {
    /// The files have not changed, or were checked within the last second.
    Unchanged,
    /// New links use the new content of the files.
    Renewed,
    /// The new content cannot be used: new links use the previous credentials. Reported once for each change.
    Failed(TlsFileError),
}

/// The minimum interval between two checks of the files.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Tls {
    /// Reads the files and checks that they match.
    ///
    /// # Errors
    ///
    /// [`TlsFileError`] names the file and states the remedy.
    pub fn load(files: &TlsFiles) -> Result<Tls, TlsFileError> {
        // Taken before the files are read, so that a change in between is detected later.
        let seen = files.stamps();
        let state = Loaded { credentials: Credentials::load(files)?, seen, looked: Instant::now() };
        Ok(Tls { shared: Arc::new(Shared { files: files.clone(), state: Mutex::new(state) }) })
    }

    /// Reads the files again if they have changed. Call this before connecting and accepting; it checks the files at most once
    /// a second.
    ///
    /// A certificate that is replaced before its key does not match it for a moment: the renewal fails and is repeated at the
    /// next change.
    #[must_use]
    pub fn renew(&self) -> Renewal {
        if self.lock().looked.elapsed() < LOOK_EVERY {
            return Renewal::Unchanged;
        }
        self.reload()
    }

    /// Reads the files again if they have changed, whenever they were checked.
    #[must_use]
    pub fn reload(&self) -> Renewal {
        let mut state = self.lock();
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
        // The state is consistent even if a thread panicked.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Credentials {
    fn load(files: &TlsFiles) -> Result<Credentials, TlsFileError> {
        let roots = roots(&files.ca)?;
        let own = Own::read(&files.certificate, &files.key)?;
        let open_server = server(&own, Some(roots.clone()), ClientCertificates::Optional)?;
        let server = server(&own, Some(roots.clone()), ClientCertificates::Required)?;
        let client = client(Some(&own), roots)?;
        Ok(Credentials { client: Arc::new(client), server: Arc::new(server), open_server: Arc::new(open_server) })
    }
}

/// The PEM files of a server other than a link, such as an HTTP server. Client certificates are optional.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsServerFiles {
    /// As [`TlsFiles::certificate`].
    pub certificate: PathBuf,
    /// As [`TlsFiles::key`].
    pub key: PathBuf,
    /// Certificates of the CAs that are trusted to sign client certificates. `None`: no client certificate is requested.
    pub client_ca: Option<PathBuf>,
}

impl TlsServerFiles {
    /// Reads the files and checks that they match. TLS 1.3 only, without resumption, as for links.
    ///
    /// # Errors
    ///
    /// [`TlsFileError`] names the file and states the remedy.
    pub fn load(&self) -> Result<ServerConfig, TlsFileError> {
        let roots = self.client_ca.as_deref().map(roots).transpose()?;
        server(&Own::read(&self.certificate, &self.key)?, roots, ClientCertificates::Required)
    }

    /// Returns the paths of all configured files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.certificate), Some(&self.key), self.client_ca.as_ref()].into_iter().flatten().map(PathBuf::as_path)
    }
}

/// The PEM files of a client other than a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsClientFiles {
    /// As [`TlsFiles::ca`].
    pub ca: PathBuf,
    /// Our own certificate and its key. `None`: no client certificate is presented.
    pub own: Option<(PathBuf, PathBuf)>,
}

impl TlsClientFiles {
    /// Reads the files and checks that they match. TLS 1.3 only, without resumption, as for links.
    ///
    /// # Errors
    ///
    /// [`TlsFileError`] names the file and states the remedy.
    pub fn load(&self) -> Result<ClientConfig, TlsFileError> {
        let own = self.own.as_ref().map(|(certificate, key)| Own::read(certificate, key)).transpose()?;
        client(own.as_ref(), roots(&self.ca)?)
    }
}

/// Our own certificate chain and key, with their paths.
struct Own<'a> {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    paths: [&'a Path; 2],
}

impl<'a> Own<'a> {
    fn read(certificate: &'a Path, key: &'a Path) -> Result<Self, TlsFileError> {
        let chain = certificates(TlsFile::Certificate, certificate)?;
        let paths = [certificate, key];
        let pem = read(TlsFile::Key, key)?;
        let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|_| no_pem(TlsFile::Key, key))?;
        Ok(Own { chain, key, paths })
    }

    /// Attributes a rustls error to one of the files.
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

/// Creates the configuration of a client that accepts servers with a certificate signed by one of `roots`.
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

/// Creates the configuration of a server; with `roots`, a certificate of a client must be signed by one of them.
fn server(
    own: &Own<'_>,
    roots: Option<Arc<RootCertStore>>,
    of_clients: ClientCertificates,
) -> Result<ServerConfig, TlsFileError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has algorithms for TLS 1.3");
    let builder = match roots {
        None => builder.with_no_client_auth(),
        Some(roots) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            let verifier = match of_clients {
                ClientCertificates::Required => verifier,
                ClientCertificates::Optional => verifier.allow_unauthenticated(),
            };
            builder.with_client_cert_verifier(verifier.build().expect("there is a CA, and no revocation list"))
        }
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
    let pem = read(file, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).take(MAX_CERTIFICATES).collect();
    found.ok().filter(|found| !found.is_empty()).ok_or_else(|| no_pem(file, path))
}

fn read(file: TlsFile, path: &Path) -> Result<Vec<u8>, TlsFileError> {
    files::read(path, files::MAX_OCTETS).map_err(|source| TlsFileError::Read { file, path: path.to_path_buf(), source })
}

fn no_pem(file: TlsFile, path: &Path) -> TlsFileError {
    TlsFileError::NoPem { file, path: path.to_path_buf() }
}
