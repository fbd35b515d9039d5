//! `--tls-ca`, `--tls-cert`, `--tls-key`: what `tls://` addresses take.

use std::path::PathBuf;

use ferric::link::{Tls, TlsFiles};

/// Options of every command that takes tls:// addresses. docs/tls.md tells how to make the files.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TlsArgs {
    /// PEM file of the CA that the peer's certificate must be signed by; with it come the other two.
    #[arg(long, global = true, help_heading = "TLS, for tls:// addresses", value_name = "FILE", requires_all = ["tls_cert", "tls_key"])]
    tls_ca: Option<PathBuf>,
    /// PEM file of our own certificate.
    #[arg(long, global = true, help_heading = "TLS, for tls:// addresses", value_name = "FILE", requires_all = ["tls_ca", "tls_key"])]
    tls_cert: Option<PathBuf>,
    /// PEM file of its private key.
    #[arg(long, global = true, help_heading = "TLS, for tls:// addresses", value_name = "FILE", requires_all = ["tls_ca", "tls_cert"])]
    tls_key: Option<PathBuf>,
}

impl TlsArgs {
    /// Reads the files, if there are any, or else those that a configuration file names.
    pub fn load(&self, configured: Option<&TlsFiles>) -> anyhow::Result<Option<Tls>> {
        let given = match (&self.tls_ca, &self.tls_cert, &self.tls_key) {
            (Some(ca), Some(certificate), Some(key)) => {
                Some(TlsFiles { ca: ca.clone(), certificate: certificate.clone(), key: key.clone() })
            }
            _ => configured.cloned(),
        };
        Ok(given.map(|files| Tls::load(&files)).transpose()?)
    }
}
