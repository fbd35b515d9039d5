//! This host: its ports and its kernel.

use std::io::ErrorKind;
use std::path::Path;

use ferric::Endpoint;
use ferric::link::{Address, Config, Error, Listener, TlsFault};

use super::findings::Findings;

/// Who has an address of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Nobody,
    Taken,
    Impossible,
}

/// Whether a RIC could listen there, or somebody does.
pub fn look(endpoint: &Endpoint, link: &Config, findings: &mut Findings) -> Seen {
    if let Address::Memory(_) = endpoint.address {
        findings.fault(
            format_args!("{endpoint} is nowhere on this host"),
            "such an address is for tests, within one program",
            "on one host use unix:PATH or shm:PATH, else tcp:// or sctp://",
        );
        return Seen::Impossible;
    }
    match Listener::bind(&endpoint.address, link) {
        Ok(_) => {
            findings.fault(
                format_args!("nothing listens at {endpoint}"),
                "this host could listen there, and nobody does",
                format_args!("start the RIC there: `ferric ric --e2 {endpoint}`"),
            );
            Seen::Nobody
        }
        Err(Error::SctpUnsupported) => {
            no_sctp(findings);
            Seen::Impossible
        }
        Err(Error::Bind { source, .. }) if source.kind() == ErrorKind::AddrInUse => {
            findings.good(format_args!("somebody listens at {endpoint}"));
            Seen::Taken
        }
        Err(Error::Bind { source, .. }) => {
            let remedy = match source.kind() {
                ErrorKind::AddrNotAvailable => "use an address that this host has: `ip address` tells them",
                ErrorKind::PermissionDenied => "ports below 1024 take rights: use another, such as 36421",
                ErrorKind::NotFound => "make the directory first",
                _ => "correct the address",
            };
            findings.fault(format_args!("nobody can listen at {endpoint}"), source, remedy);
            Seen::Impossible
        }
        Err(error) => {
            let remedy = remedy(&error).unwrap_or("correct the address");
            findings.fault(format_args!("nobody can listen at {endpoint}"), error, remedy);
            Seen::Impossible
        }
    }
}

/// What to do about what TLS complains of.
pub fn remedy(error: &Error) -> Option<&'static str> {
    Some(match error {
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

/// SCTP is a module of Linux, which few hosts load by themselves.
pub fn no_sctp(findings: &mut Findings) {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    let modules = Path::new("/lib/modules").join(release);
    let is_there = |name: &str| modules.join("kernel/net/sctp").join(name).exists();
    let (why, remedy) = if ["sctp.ko", "sctp.ko.xz", "sctp.ko.zst", "sctp.ko.gz"].into_iter().any(is_there) {
        (
            "its module is installed and not loaded".to_owned(),
            "as root `modprobe sctp`, and for each start `echo sctp > /etc/modules-load.d/sctp.conf`; where that is \
             refused, see /etc/modprobe.d/sctp-blacklist.conf"
                .to_owned(),
        )
    } else {
        (
            format!("the kernel ({release}) has it neither built in nor as a module below {}", modules.display()),
            format!(
                "install its modules (Debian, Ubuntu: linux-modules-extra-{release}; Fedora, RHEL: \
                 kernel-modules-extra), then as root `modprobe sctp`; in a container do so on the host; between \
                 programs of ferric's a tcp:// address will do"
            ),
        )
    };
    findings.fault("this host's kernel has no SCTP, which most base stations speak", why, remedy);
}
