//! Certificates that were renewed while the program runs.

/// Looks whether the files behind `tls://` links are others now: before new links, which take what they hold.
#[cfg(feature = "tls")]
pub(crate) fn renew(config: &link::Config) {
    use link::Renewal;

    match config.tls.as_ref().map(link::Tls::renew) {
        None | Some(Renewal::Unchanged) => {}
        Some(Renewal::Renewed) => {
            tracing::info!("the files for TLS have changed: new links show and believe what they hold")
        }
        Some(Renewal::Failed(error)) => tracing::warn!(
            %error,
            "the files for TLS have changed and cannot be used: new links go on with what was there before; correct them"
        ),
    }
}

/// Issues a certificate and loads it.
#[cfg(all(test, feature = "tls"))]
pub(crate) fn issue(authority: &testkit::certificates::Authority, names: &[&str]) -> link::Tls {
    let files = authority.issue(names, |_| ());
    link::Tls::load(&link::TlsFiles { ca: files.ca, certificate: files.certificate, key: files.key }).unwrap()
}

/// Without TLS there are none.
#[cfg(not(feature = "tls"))]
pub(crate) fn renew(_: &link::Config) {}
