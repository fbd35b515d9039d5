//! What to do about what a link complains of.

use std::io::ErrorKind;

use ferric::link::{Address, Error, TlsFault};

/// What to do about it, where its own words do not say.
pub fn remedy(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::Bind { address: Address::Unix(_) | Address::Shm(_), source } => match source.kind() {
            ErrorKind::AddrInUse => {
                "end the program that listens there (`ss -lxp` names it), or give another path: what is there and is no \
                 socket is left alone"
            }
            ErrorKind::PermissionDenied => "use a directory that this user may write to",
            ErrorKind::NotFound => "make the directory first",
            _ => return None,
        },
        Error::Bind { source, .. } => match source.kind() {
            ErrorKind::AddrInUse => {
                "end the program that listens there (`ss -lntp`, `ss -lnSp` name it), or give another address"
            }
            ErrorKind::AddrNotAvailable => "use an address that this host has: `ip address` tells them",
            ErrorKind::PermissionDenied => "ports below 1024 take rights: use another, such as 36421",
            _ => return None,
        },
        Error::TlsMissing => "give --tls-ca, --tls-cert and --tls-key; docs/tls.md tells how to make the files",
        Error::Tls(fault) => match fault {
            TlsFault::NoCertificate => "give the other end a certificate that our CA has signed",
            TlsFault::UnknownCa => "give both ends certificates that the CA of the other one's --tls-ca has signed",
            TlsFault::Expired => "issue the other end's certificate anew, and look at both clocks",
            TlsFault::NotYetValid => "look at both clocks (`timedatectl`)",
            TlsFault::WrongName => {
                "connect to a name that the certificate has, or issue it for this name or address too"
            }
            TlsFault::WrongUse => {
                "issue the certificate with the extended key usage of its end: serverAuth, clientAuth"
            }
            TlsFault::Refused(_) => {
                "the other end does not take our certificate: look at its CA, its clock and its log"
            }
            TlsFault::NotTls => "use tcp:// here, or tls:// at the other end: both must be the same",
            TlsFault::Unfinished => "look at the other end's log; it may speak plain TCP, or refuse our certificate",
            _ => "look at the other end's log, and whether both speak a common version of TLS (1.3 is ours)",
        },
        _ => return None,
    })
}

/// The same of a whole chain of causes, in which a link's error may stand.
pub fn of(error: &anyhow::Error) -> Option<&'static str> {
    error.chain().find_map(|cause| match cause.downcast_ref() {
        Some(ferric::Error::Link(error)) => remedy(error),
        _ => cause.downcast_ref().and_then(remedy).or_else(|| cause.downcast_ref().and_then(netns::Error::remedy)),
    })
}
