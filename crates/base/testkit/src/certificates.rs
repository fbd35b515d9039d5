//! Certificate authorities and certificates for tests of TLS, generated when a test needs them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub use rcgen;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

/// A certificate authority with a temporary folder for its files. The folder is removed when the authority is dropped.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: PathBuf,
    issued: AtomicU32,
}

/// The PEM files of an issued certificate.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    /// The certificate of the authority.
    pub ca: PathBuf,
    /// The issued certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Authority {
    /// Creates an authority with a new key.
    ///
    /// # Panics
    /// When the folder or its files cannot be written.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "each authority differs from all others")]
    pub fn new() -> Authority {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("ferric-ca-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, format!("Test CA {number}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        fs::write(folder.join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        Authority { issuer: Issuer::new(params, key), folder, issued: AtomicU32::new(0) }
    }

    /// Returns the path of the authority's certificate.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.path("ca.pem")
    }

    /// Returns the folder of all files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the file `name` in the folder; the file need not exist.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Issues a certificate for the subject alternative names `names` and both ends of a connection, after `adapt` has
    /// changed its parameters.
    ///
    /// # Panics
    /// When a name is invalid or the files cannot be written.
    pub fn issue(&self, names: &[&str], adapt: impl FnOnce(&mut CertificateParams)) -> CertificateFiles {
        let number = self.issued.fetch_add(1, Ordering::Relaxed);
        self.issue_as(&number.to_string(), names, adapt)
    }

    /// Issues a certificate as [`Authority::issue`] does, into `FILE.pem` and `FILE.key`; files of that name are replaced.
    ///
    /// # Panics
    /// As [`Authority::issue`].
    pub fn issue_as(&self, file: &str, names: &[&str], adapt: impl FnOnce(&mut CertificateParams)) -> CertificateFiles {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        adapt(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        CertificateFiles {
            ca: self.ca(),
            certificate: self.write(&format!("{file}.pem"), &certificate.pem()),
            key: self.write(&format!("{file}.key"), &key.serialize_pem()),
        }
    }

    /// Writes a file into the folder that only its owner may read, and returns its path.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        // a failure leaves a temporary folder
        let _ = fs::remove_dir_all(&self.folder);
    }
}
