//! CAs and certificates for the tests of TLS, made as they are needed.
#![allow(dead_code, reason = "each test binary uses some of it")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use ferric_link::{Tls, TlsFileError, TlsFiles};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

/// A CA, with a folder for what it signs.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub folder: PathBuf,
    count: AtomicU32,
}

impl Authority {
    pub fn new() -> Authority {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("ferric-link-ca-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "A test's CA");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        std::fs::write(folder.join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        Authority { issuer: Issuer::new(params, key), folder, count: AtomicU32::new(0) }
    }

    /// A certificate for `names`, for both ends of a connection, and what `change` makes of it.
    pub fn issue(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> TlsFiles {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let write = |name: &str, text: String| {
            let path = self.folder.join(format!("{count}-{name}"));
            std::fs::write(&path, text).unwrap();
            path
        };
        TlsFiles {
            ca: self.folder.join("ca.pem"),
            certificate: write("certificate.pem", certificate.pem()),
            key: write("key.pem", key.serialize_pem()),
        }
    }

    /// The same, loaded.
    pub fn tls(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Result<Tls, TlsFileError> {
        Tls::load(&self.issue(names, change))
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        // A temporary folder that stays does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
