//! The store as others use it: ricsdl, the SDL library of the O-RAN SC for Python, and redis-py, both as they are published.
//!
//! `FERRIC_SDL_PYTHON` names a Python with ricsdl and the redis-py that it requires, `FERRIC_REDIS_PYTHON` one with the newest
//! redis-py;
//! `scripts/northbound` makes both.

use std::path::Path;
use std::process::Command;

use link::{Address, Tls, TlsFiles};
use log_lines::LogBudget;
use sdl::{AccessList, Config, Sdl};
use testkit::certificates::{Authority, CertificateFiles};

fn run(variable: &str, what: &str) {
    let sdl = run_with(variable, what, Config::new("tcp://127.0.0.1:0".parse().unwrap()), None);
    assert!(sdl.is_none_or(|sdl| sdl.counts().faults == 0));
}

/// Runs the program with a store, and returns this.
fn run_with(variable: &str, what: &str, config: Config, pki: Option<&Path>) -> Option<Sdl> {
    let Some(python) = std::env::var_os(variable) else {
        println!("NOT TESTED: {what}: {variable} does not name a Python that has it; scripts/northbound does");
        return None;
    };
    let sdl = Sdl::start(config, LogBudget::new(1000)).unwrap();
    let (Address::Tcp { host, port } | Address::Tls { host, port }) = sdl.address() else {
        panic!("{}", sdl.address())
    };
    let status = Command::new(python)
        .args([concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients.py"), what])
        .env("DBAAS_SERVICE_HOST", host)
        .env("DBAAS_SERVICE_PORT", port.to_string())
        .envs(pki.map(|folder| ("FERRIC_SDL_PKI", folder)))
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    Some(sdl)
}

/// Runs the program with a store behind TLS, for which an operator has a token and an xApp a certificate.
fn run_over_tls(variable: &str) {
    let (authority, other) = (Authority::new(), Authority::new());
    authority.issue_as("kpm", &["kpm.example"], |_| ());
    std::fs::create_dir(authority.path("other")).unwrap();
    std::fs::copy(other.ca(), authority.path("other/ca.pem")).unwrap();
    let lines = "operator operator-operator write:*\nkpm certificate:kpm.example write:kpm\n";
    let access = AccessList::load(&authority.write("sdl.tokens", lines)).unwrap();
    let CertificateFiles { ca, certificate, key } = authority.issue(&["127.0.0.1"], |_| ());
    let tls = Some(Tls::load(&TlsFiles { ca, certificate, key }).unwrap());
    let config = Config { tls, access, ..Config::new("tls://127.0.0.1:0".parse().unwrap()) };
    if let Some(sdl) = run_with(variable, "redis", config, Some(authority.folder())) {
        assert!(sdl.counts().faults >= 2, "a client has another CA, and one no TLS");
    }
}

#[test]
fn sdl_library_of_the_reference_platform_works_unmodified() {
    run("FERRIC_SDL_PYTHON", "ricsdl");
}

#[test]
fn newest_redis_client_works_unmodified() {
    run("FERRIC_REDIS_PYTHON", "redis");
}

#[test]
fn redis_client_of_the_sdl_library_works_unmodified() {
    run("FERRIC_SDL_PYTHON", "redis");
}

#[test]
fn newest_redis_client_works_over_tls() {
    run_over_tls("FERRIC_REDIS_PYTHON");
}

#[test]
fn redis_client_of_the_sdl_library_works_over_tls() {
    run_over_tls("FERRIC_SDL_PYTHON");
}
