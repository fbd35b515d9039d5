//! What a user can do about an error.

use std::io::ErrorKind;

#[cfg(feature = "tls")]
use ferric::link::TlsFault;
use ferric::link::{Address, Error};

/// The remedy of a link's error, if its own text does not contain one.
#[must_use]
pub fn link_remedy(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::Bind { address: Address::Unix(_) | Address::Shm(_), source } => match source.kind() {
            ErrorKind::AddrInUse => {
                "end the program that listens there (`ss -lxp` names it), or give another path; a file that is no socket \
                 is not replaced"
            }
            ErrorKind::PermissionDenied => "use a directory that this user may write to",
            ErrorKind::NotFound => "make the directory first",
            _ => return None,
        },
        Error::Bind { source, .. } => match source.kind() {
            ErrorKind::AddrInUse => {
                "end the program that listens there (`ss -lntp`, `ss -lnSp` name it), or give another address"
            }
            ErrorKind::AddrNotAvailable => "use an address of this host: `ip address` lists them",
            ErrorKind::PermissionDenied => "ports below 1024 need root: use another, such as 36421",
            _ => return None,
        },
        Error::TlsMissing => "give --tls-ca, --tls-cert and --tls-key; docs/tls.md describes how to make the files",
        #[cfg(feature = "tls")]
        Error::Tls(fault) => match fault {
            TlsFault::NoCertificate => "give the peer a certificate signed by the CA of --tls-ca",
            TlsFault::UnknownCa => "give each end a certificate signed by the CA of the other end's --tls-ca",
            TlsFault::Expired => "renew the peer's certificate, and check both clocks (`timedatectl`)",
            TlsFault::NotYetValid => "check both clocks (`timedatectl`)",
            TlsFault::WrongName => "connect to a name in the certificate, or issue it for this name or address too",
            TlsFault::WrongUse => {
                "issue the certificate with the extended key usage of its end: serverAuth, clientAuth"
            }
            TlsFault::Refused(_) => "the peer rejects our certificate: check its CA, its clock and its log",
            TlsFault::NotTls => "use tcp:// here, or tls:// at the peer: both must be the same",
            TlsFault::Unfinished => "check the peer's log; it may use plain TCP, or reject our certificate",
            _ => "check the peer's log, and that it supports TLS 1.3",
        },
        _ => return None,
    })
}

/// The remedy of an error or of one of its causes.
#[must_use]
pub fn remedy(error: &anyhow::Error) -> Option<&'static str> {
    error.chain().find_map(|cause| {
        let of_link = match cause.downcast_ref() {
            Some(ferric::Error::Link(error)) => link_remedy(error),
            _ => cause.downcast_ref().and_then(link_remedy),
        };
        #[cfg(feature = "netns")]
        let of_link = of_link.or_else(|| cause.downcast_ref().and_then(netns::Error::remedy));
        of_link
    })
}
