//! The contract on kernel SCTP. Where the host's kernel has none, `kernel-sctp/run` brings one:
//!
//! `CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=$PWD/crates/link/kernel-sctp/run cargo test -p ferric-link --test sctp`

mod suite;

use ferric_link::{Address, Config, Error, Listener};
use suite::Kind;

/// Whether SCTP can be tested here. The runner promises it: then its lack is a failure.
fn has_sctp() -> bool {
    let required = std::env::var_os("FERRIC_SCTP").is_some_and(|value| value == "required");
    match Listener::bind(&"sctp://127.0.0.1:0".parse::<Address>().unwrap(), &Config::default()) {
        Ok(_) => true,
        Err(Error::SctpUnsupported) if !required => {
            // Written past the test harness, which hides what passing tests print.
            use std::io::Write;
            static TOLD: std::sync::Once = std::sync::Once::new();
            TOLD.call_once(|| {
                let _ = writeln!(
                    std::io::stderr(),
                    "\nSCTP not tested here: {}; see kernel-sctp/run",
                    Error::SctpUnsupported
                );
            });
            false
        }
        Err(error) => panic!("SCTP is required here: {error}"),
    }
}

macro_rules! on_every_kind {
    ($($name:ident),* $(,)?) => {
        mod sctp { $(#[test] fn $name() { if super::has_sctp() { super::suite::$name(super::Kind::Sctp); } })* }
        mod sctp_ipv6 { $(#[test] fn $name() { if super::has_sctp() { super::suite::$name(super::Kind::SctpIpv6); } })* }
        mod sctp_multihomed {
            $(#[test] fn $name() { if super::has_sctp() { super::suite::$name(super::Kind::SctpMultihomed); } })*
        }
    };
}

suite::for_every_test!(on_every_kind);
