//! The contract of every link, for the links that every host supports. `tests/sctp.rs` runs the same tests for SCTP.

mod suite;

use suite::Kind;

macro_rules! on_every_kind {
    ($($name:ident),* $(,)?) => {
        mod tcp { $(#[test] fn $name() { super::suite::$name(super::Kind::Tcp); })* }
        mod tcp_ipv6 { $(#[test] fn $name() { super::suite::$name(super::Kind::TcpIpv6); })* }
        mod unix { $(#[test] fn $name() { super::suite::$name(super::Kind::Unix); })* }
        mod shm { $(#[test] fn $name() { super::suite::$name(super::Kind::Shm); })* }
        mod memory { $(#[test] fn $name() { super::suite::$name(super::Kind::Memory); })* }
    };
}

suite::for_every_test!(on_every_kind);
