//! This host: its ports and its kernel.

use std::io::ErrorKind;
use std::path::Path;

use ferric::link::{Address, Config, Error, Listener};

use super::findings::Findings;

/// Who has an address of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Nobody,
    Taken,
    Impossible,
}

/// Whether a RIC could listen there, or somebody does.
pub fn look(address: &Address, findings: &mut Findings) -> Seen {
    match Listener::bind(address, &Config::default()) {
        Ok(_) => {
            findings.fault(
                format_args!("nothing listens at {address}"),
                "this host could listen there, and nobody does",
                format_args!("start the RIC there: `ferric ric --e2 {address}`"),
            );
            Seen::Nobody
        }
        Err(Error::SctpUnsupported) => {
            no_sctp(findings);
            Seen::Impossible
        }
        Err(Error::Bind { source, .. }) if source.kind() == ErrorKind::AddrInUse => {
            findings.good(format_args!("somebody listens at {address}"));
            Seen::Taken
        }
        Err(Error::Bind { source, .. }) => {
            let remedy = match source.kind() {
                ErrorKind::AddrNotAvailable => "use an address that this host has: `ip address` tells them",
                ErrorKind::PermissionDenied => "ports below 1024 take rights: use another, such as 36421",
                ErrorKind::NotFound => "make the directory first",
                _ => "correct the address",
            };
            findings.fault(format_args!("nobody can listen at {address}"), source, remedy);
            Seen::Impossible
        }
        Err(error) => {
            findings.fault(format_args!("nobody can listen at {address}"), error, "correct the address");
            Seen::Impossible
        }
    }
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
