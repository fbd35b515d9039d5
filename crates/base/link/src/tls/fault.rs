//! Causes of failed TLS connections, with remedies.

use std::fmt;

use rustls::{AlertDescription, CertificateError, InvalidMessage, PeerIncompatible};

/// The cause of a failed TLS connection.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TlsFault {
    /// The client presented no certificate.
    NoCertificate,
    /// The peer's certificate was signed by none of our CAs.
    UnknownCa,
    /// The peer's certificate has expired.
    Expired,
    /// The peer's certificate is not valid yet.
    NotYetValid,
    /// The peer's certificate is not valid for the host name of the address.
    WrongName,
    /// The extended key usage of the peer's certificate does not permit its role.
    WrongUse,
    /// The peer rejected our certificate with an alert.
    Refused(AlertDescription),
    /// The peer has no version of TLS that we have: TLS 1.3.
    Version,
    /// The peer does not use TLS.
    NotTls,
    /// The peer closed during the handshake.
    Unfinished,
    /// Any other failure: no common version or algorithm, malformed records, invalid signatures.
    Protocol(rustls::Error),
}

impl From<rustls::Error> for TlsFault {
    fn from(error: rustls::Error) -> Self {
        use CertificateError as Bad;
        match error {
            rustls::Error::NoCertificatesPresented => TlsFault::NoCertificate,
            // `BadSignature` occurs if a CA was recreated with the same name.
            rustls::Error::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature) => TlsFault::UnknownCa,
            rustls::Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => TlsFault::Expired,
            rustls::Error::InvalidCertificate(Bad::NotValidYet | Bad::NotValidYetContext { .. }) => {
                TlsFault::NotYetValid
            }
            rustls::Error::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
                TlsFault::WrongName
            }
            rustls::Error::InvalidCertificate(Bad::InvalidPurpose | Bad::InvalidPurposeContext { .. }) => {
                TlsFault::WrongUse
            }
            rustls::Error::AlertReceived(alert) if is_about_certificate(alert) => TlsFault::Refused(alert),
            rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => TlsFault::NotTls,
            rustls::Error::PeerIncompatible(PeerIncompatible::SupportedVersionsExtensionRequired)
            | rustls::Error::AlertReceived(AlertDescription::ProtocolVersion) => TlsFault::Version,
            other => TlsFault::Protocol(other),
        }
    }
}

fn is_about_certificate(alert: AlertDescription) -> bool {
    use AlertDescription as Alert;
    matches!(
        alert,
        Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied
            | Alert::CertificateRequired
            | Alert::DecryptError
    )
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use AlertDescription as Alert;
        f.write_str(match self {
            TlsFault::NoCertificate => "the peer presents no certificate; configure one at the peer that our CA signed",
            TlsFault::UnknownCa => {
                "the peer's certificate is signed by none of our CAs; add the CA that signed it to our CA file"
            }
            TlsFault::Expired => "the peer's certificate has expired; renew it, or correct this host's clock",
            TlsFault::NotYetValid => "the peer's certificate is not valid yet; check the clocks of both hosts",
            TlsFault::WrongName => {
                "the peer's certificate is not valid for the host name of the address; use a name that it contains, or add \
                 this name to it as a subject alternative name"
            }
            TlsFault::WrongUse => {
                "the peer's certificate does not permit its role; a listener needs the extended key usage serverAuth, a \
                 client clientAuth"
            }
            TlsFault::Refused(Alert::CertificateExpired) => "the peer rejects our certificate as expired; renew it",
            TlsFault::Refused(Alert::UnknownCA) => {
                "the peer does not know the CA of our certificate; configure that CA at the peer"
            }
            TlsFault::Refused(Alert::CertificateRequired) => "the peer requires a certificate from us; configure one",
            TlsFault::Refused(alert) => return write!(f, "the peer rejects our certificate ({alert:?})"),
            TlsFault::Version => "the peer has no TLS 1.3, which is required; update the peer, or allow it there",
            TlsFault::NotTls => "the peer does not use TLS; configure a tls:// address at the peer too",
            TlsFault::Unfinished => "the peer closed in the middle of the handshake; see the log of the peer",
            TlsFault::Protocol(error) => return write!(f, "{error}"),
        })
    }
}

impl std::error::Error for TlsFault {}
