//! `--tls-ca`, `--tls-cert`, `--tls-key`: credentials for `tls://` addresses.

use std::path::PathBuf;

use ferric::link::{Tls, TlsFiles};

/// Options of all commands that have tls:// addresses. docs/tls.md shows how to make the files.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TlsArgs {
    /// PEM file of the CA that signed the peer's certificate.
    #[arg(long, global = true, help_heading = "TLS, for tls:// addresses", value_name = "FILE", requires_all = ["tls_cert", "tls_key"])]
    tls_ca: Option<PathBuf>,
    /// PEM file of this end's certificate.
    #[arg(long, global = true, help_heading = "TLS, for tls:// addresses", value_name = "FILE", requires_all = ["tls_ca", "tls_key"])]
    tls_cert: Option<PathBuf>,
    /// PEM file of the certificate's private key.
    #[arg(long, global = true, help_heading = "TLS, for tls:// addresses", value_name = "FILE", requires_all = ["tls_ca", "tls_cert"])]
    tls_key: Option<PathBuf>,
}

impl TlsArgs {
    /// Reads the files of the command line, else those of the configuration file; `None` without any.
    ///
    /// # Errors
    /// If a file cannot be read, or is not what its option names.
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
