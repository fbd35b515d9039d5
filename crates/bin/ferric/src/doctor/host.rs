//! This host: its ports and its kernel.

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::Path;

use ferric::Endpoint;
use ferric::link::{Address, Config, Error, Listener};

use super::findings::Findings;

/// The state of an address of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressState {
    Free,
    InUse,
    Unusable,
}

/// Checks whether a RIC listens at an address, or could.
pub fn check_address(endpoint: &Endpoint, link: &Config, findings: &mut Findings) -> AddressState {
    let state = check_free(endpoint, link, findings);
    if matches!(endpoint.address, Address::Sctp { .. }) {
        check_acknowledgements(findings);
    }
    state
}

fn check_free(endpoint: &Endpoint, link: &Config, findings: &mut Findings) -> AddressState {
    match Listener::bind(&endpoint.address, link) {
        Ok(_) => {
            // no fault of this host: before the RIC runs, it is what is wanted
            findings.note(
                format_args!("nothing listens at {endpoint} yet"),
                "the address is free, and this host can serve it",
                format_args!("start the RIC there: `ferric ric --e2 {endpoint}`"),
            );
            AddressState::Free
        }
        Err(Error::SctpUnsupported) => {
            no_sctp(findings);
            AddressState::Unusable
        }
        Err(Error::Bind { source, .. }) if source.kind() == ErrorKind::AddrInUse => {
            findings.good(format_args!("a program listens at {endpoint}"));
            AddressState::InUse
        }
        Err(error) => {
            let remedy = program::link_remedy(&error).unwrap_or("correct the address");
            let why: &dyn Display = match &error {
                Error::Bind { source, .. } => source,
                other => other,
            };
            findings.fault(format_args!("no program can listen at {endpoint}"), why, remedy);
            AddressState::Unusable
        }
    }
}

/// Checks that SCTP acknowledges at once. Base stations that leave Nagle's algorithm on, such as srsRAN's, send no further small
/// message before that, and Linux delays it by 200 ms.
fn check_acknowledgements(findings: &mut Findings) {
    let address = Address::Sctp { hosts: vec!["127.0.0.1".into()], port: 0 };
    let delays =
        Listener::bind(&address, &Config::default()).ok().and_then(|listener| listener.delays_acknowledgements());
    match delays {
        Some(false) => findings.good("SCTP messages are acknowledged at once"),
        Some(true) => findings.note(
            "SCTP messages are not acknowledged at once",
            "the kernel does not apply SCTP_DELAYED_SACK",
            "reports of base stations that use Nagle's algorithm arrive up to 200 ms late; use another kernel",
        ),
        None => {}
    }
}

/// Checks the requirements of live mode.
pub fn check_live_mode(findings: &Findings) {
    match netns::check_host() {
        Ok(()) => findings.good("live mode can run here: network namespaces and TUN devices can be created"),
        Err(error) => {
            let remedy = error.remedy().unwrap_or("check this host's log");
            findings.note("live mode (UEs as network namespaces) cannot run here", &error, remedy);
        }
    }
}

/// Reports that the kernel has no SCTP: a module of Linux, which few hosts load by default.
pub fn no_sctp(findings: &mut Findings) {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    let modules = Path::new("/lib/modules").join(release);
    let exists = |name: &str| modules.join("kernel/net/sctp").join(name).exists();
    let (why, remedy) = if ["sctp.ko", "sctp.ko.xz", "sctp.ko.zst", "sctp.ko.gz"].into_iter().any(exists) {
        (
            "its module is installed, but not loaded".to_owned(),
            "run `modprobe sctp` as root, and `echo sctp > /etc/modules-load.d/sctp.conf` for the next start; if that is \
             refused, see /etc/modprobe.d/sctp-blacklist.conf"
                .to_owned(),
        )
    } else {
        (
            format!("the kernel ({release}) has it neither built in nor as a module in {}", modules.display()),
            format!(
                "install its modules (Debian, Ubuntu: linux-modules-extra-{release}; Fedora, RHEL: \
                 kernel-modules-extra), then run `modprobe sctp` as root; for a container, do so on the host; between \
                 programs of ferric, tcp:// addresses work too"
            ),
        )
    };
    findings.fault("this host's kernel has no SCTP, which most base stations use", why, remedy);
}
