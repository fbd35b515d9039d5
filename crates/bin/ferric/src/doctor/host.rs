//! This host: its ports and its kernel.

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::Path;

use ferric::Endpoint;
use ferric::link::{Config, Error, Listener};

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
        Err(error) => {
            let remedy = program::link_remedy(&error).unwrap_or("correct the address");
            let why: &dyn Display = match &error {
                Error::Bind { source, .. } => source,
                other => other,
            };
            findings.fault(format_args!("nobody can listen at {endpoint}"), why, remedy);
            Seen::Impossible
        }
    }
}

/// Whether UEs could be network namespaces here.
pub fn look_at_live_mode(findings: &Findings) {
    match netns::check_host() {
        Ok(()) => findings.good("live mode can run here: network namespaces and TUN devices can be made"),
        Err(error) => {
            let remedy = error.remedy().unwrap_or("look at this host's log");
            findings.note("live mode (UEs as network namespaces) cannot run here", &error, remedy);
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
