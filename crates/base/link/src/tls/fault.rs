//! Why two ends cannot agree on TLS, and what to do about it.

use std::fmt;

use rustls::{AlertDescription, CertificateError, InvalidMessage};

/// What went wrong within TLS.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TlsFault {
    /// The peer, a client, showed no certificate.
    NoCertificate,
    /// The peer's certificate was signed by none of our CAs.
    UnknownCa,
    /// The peer's certificate is not valid any more.
    Expired,
    /// The peer's certificate is not valid yet.
    NotYetValid,
    /// The peer's certificate is for other names than the one that was connected to.
    WrongName,
    /// The peer's certificate is not for its end of a connection: extended key usage.
    WrongUse,
    /// The peer refuses our certificate: it says so in an alert.
    Refused(AlertDescription),
    /// What the peer sends is no TLS.
    NotTls,
    /// The peer closed before the handshake was over.
    Unfinished,
    /// Anything else: versions or algorithms without overlap, broken records, bad signatures.
    Protocol(rustls::Error),
}

impl From<rustls::Error> for TlsFault {
    fn from(error: rustls::Error) -> Self {
        use CertificateError as Bad;
        match error {
            rustls::Error::NoCertificatesPresented => TlsFault::NoCertificate,
            // The latter where a CA was made anew under its old name.
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
            TlsFault::NoCertificate => "the peer shows no certificate; give it one that our CA signed, and its key",
            TlsFault::UnknownCa => {
                "the peer's certificate is signed by none of our CAs; see which CA signed it, and what our CA file holds"
            }
            TlsFault::Expired => "the peer's certificate has expired; renew it, or set this host's clock right",
            TlsFault::NotYetValid => "the peer's certificate is not valid yet; see whether both hosts' clocks are right",
            TlsFault::WrongName => {
                "the peer's certificate is not for the host that was connected to; use a name that it holds, or add this \
                 one to it as a subject alternative name"
            }
            TlsFault::WrongUse => {
                "the peer's certificate is not for its end of a connection; who listens needs the extended key usage \
                 serverAuth, who connects clientAuth"
            }
            TlsFault::Refused(Alert::CertificateExpired) => "the peer says that our certificate has expired; renew it",
            TlsFault::Refused(Alert::UnknownCA) => {
                "the peer does not know the CA of our certificate; give it that CA, or us another certificate"
            }
            TlsFault::Refused(Alert::CertificateRequired) => "the peer wants a certificate of us, and got none",
            TlsFault::Refused(alert) => return write!(f, "the peer refuses our certificate ({alert:?})"),
            TlsFault::NotTls => "the peer does not speak TLS; is its address a tls:// one too?",
            TlsFault::Unfinished => "the peer closed in the middle of the handshake; its log may say why",
            TlsFault::Protocol(error) => return write!(f, "{error}"),
        })
    }
}

impl std::error::Error for TlsFault {}
