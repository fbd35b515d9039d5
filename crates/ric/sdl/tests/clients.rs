//! The store as others use it: ricsdl, the SDL library of the O-RAN SC for Python, and redis-py, both as they are published.
//!
//! `FERRIC_SDL_PYTHON` names a Python with ricsdl and the redis-py that it requires, `FERRIC_REDIS_PYTHON` one with the newest
//! redis-py;
//! `scripts/northbound` makes both.

use std::process::Command;

use link::Address;
use log_lines::LogBudget;
use sdl::{Config, Sdl};

fn run(variable: &str, what: &str) {
    let Some(python) = std::env::var_os(variable) else {
        println!("NOT TESTED: {what}: {variable} does not name a Python that has it; scripts/northbound does");
        return;
    };
    let sdl = Sdl::start(Config::new("tcp://127.0.0.1:0".parse().unwrap()), LogBudget::new(1000)).unwrap();
    let Address::Tcp { host, port } = sdl.address() else { panic!("{}", sdl.address()) };
    let status = Command::new(python)
        .args([concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients.py"), what])
        .env("DBAAS_SERVICE_HOST", host)
        .env("DBAAS_SERVICE_PORT", port.to_string())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(sdl.counts().faults, 0);
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
