//! The store as redis-cli uses it, plain and over TLS, with what users do wrong.
//!
//! `crates/ric/traffic/redis-server/run` brings redis-cli along where it is not installed.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use link::{Address, Tls, TlsFiles};
use log_lines::LogBudget;
use sdl::{AccessList, Config, Sdl};
use testkit::certificates::{Authority, CertificateFiles};

const TOKEN: &str = "0123456789abcdef";

/// A store at an address, for which an operator has a token, and the xApp `kpm` another and a certificate.
fn start(authority: &Authority, url: &str) -> Sdl {
    let has_tls = url.starts_with("tls:");
    let mut lines = format!("operator {TOKEN} write:*\nkpm kpm-kpm-kpm-kpm-1 write:kpm read:e2Manager\n");
    if has_tls {
        lines.push_str("kpm certificate:kpm.example write:kpm\n");
    }
    let CertificateFiles { ca, certificate, key } = authority.issue(&["127.0.0.1"], |_| ());
    let access = AccessList::load(&authority.write("sdl.tokens", &lines)).unwrap();
    let tls = has_tls.then(|| Tls::load(&TlsFiles { ca, certificate, key }).unwrap());
    Sdl::start(Config { tls, access, ..Config::new(url.parse().unwrap()) }, LogBudget::new(1000)).unwrap()
}

/// Runs redis-cli with options and a command, and an input.
fn run(program: &Path, sdl: &Sdl, arguments: &[&str], input: &[u8]) -> Output {
    let (Address::Tls { port, .. } | Address::Tcp { port, .. }) = sdl.address() else { panic!("{}", sdl.address()) };
    let mut child = Command::new(program)
        .args(["-h", "127.0.0.1", "-p", &port.to_string(), "--no-auth-warning", "-e"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // one that has failed does not read
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    })
}

/// What it has printed; on success, the standard output.
#[track_caller]
fn text(output: &Output) -> String {
    let text = if output.status.success() { &output.stdout } else { &[&output.stdout[..], &output.stderr].concat() };
    String::from_utf8_lossy(text).trim().to_owned()
}

#[test]
fn redis_cli_works_over_tls_and_plain() {
    let Some(program) = testkit::redis_cli() else { return };
    let authority = Authority::new();
    for url in ["tls://127.0.0.1:0", "tcp://127.0.0.1:0"] {
        let sdl = start(&authority, url);
        let ca = authority.ca();
        let options: &[&str] = if url.starts_with("tls") { &["--tls", "--cacert", ca.to_str().unwrap()] } else { &[] };
        let with = |more: &[&str], input: &[u8]| run(&program, &sdl, &[options, more].concat(), input);
        let cli = |more: &[&str]| text(&with(more, b""));
        assert_eq!(cli(&["--user", "operator", "--pass", TOKEN, "SET", "{ns},key", "value"]), "OK");
        assert_eq!(cli(&["-3", "-a", TOKEN, "GET", "{ns},key"]), "value");
        assert_eq!(cli(&["-a", TOKEN, "--scan", "--pattern", "{ns},*"]), "{ns},key");
        let read = ["--user", "kpm", "--pass", "kpm-kpm-kpm-kpm-1"];
        assert!(cli(&[&read[..], &["GET", "{ns},key"]].concat()).starts_with("NOPERM"));
        assert!(cli(&["-a", "wrong-wrong-wrong", "GET", "{ns},key"]).contains("WRONGPASS"));
        assert!(cli(&["GET", "{ns},key"]).contains("NOAUTH"));
        // mass insertion, which ends with a reply to its last request
        let set =
            |at: u32| format!("*3\r\n$3\r\nSET\r\n${}\r\n{{ns}},k{at}\r\n$1\r\nx\r\n", format!("{{ns}},k{at}").len());
        let piped = with(&["-a", TOKEN, "--pipe"], (0..20_000).map(set).collect::<String>().as_bytes());
        assert!(text(&piped).contains("errors: 0, replies: 20000"), "{}", text(&piped));
        assert_eq!(cli(&["-a", TOKEN, "DBSIZE"]), "20001");
        let long = vec![b'x'; 7 << 20];
        assert_eq!(text(&with(&["-a", TOKEN, "-x", "SET", "{ns},long"], &long)), "OK");
        assert_eq!(cli(&["-a", TOKEN, "STRLEN", "{ns},long"]), long.len().to_string());
        let too_long = with(&["-a", TOKEN, "-x", "SET", "{ns},long"], &vec![b'x'; 9 << 20]);
        assert!(text(&too_long).contains("a request is too long"), "{}", text(&too_long));
        assert_eq!(cli(&["-a", TOKEN, "STRLEN", "{ns},long"]), long.len().to_string(), "it is what it was");
    }
}

#[test]
fn redis_cli_is_told_what_is_wrong_with_tls() {
    let Some(program) = testkit::redis_cli() else { return };
    let (authority, stranger) = (Authority::new(), Authority::new());
    let sdl = start(&authority, "tls://127.0.0.1:0");
    let (ca, other_ca) = (authority.ca(), stranger.ca());
    let cli = |options: &[&str]| run(&program, &sdl, options, b"");
    let of = |ca: &Path, own: &CertificateFiles| {
        let paths = [ca, &own.certificate, &own.key].map(|path| path.to_str().unwrap().to_owned());
        ["--tls", "--cacert", &paths[0], "--cert", &paths[1], "--key", &paths[2]].map(str::to_owned)
    };
    let with = |own: &CertificateFiles, command: &[&str]| {
        let options = of(&ca, own);
        let options: Vec<&str> = options.iter().map(String::as_str).chain(command.iter().copied()).collect();
        text(&run(&program, &sdl, &options, b""))
    };
    let kpm = authority.issue(&["kpm.example"], |_| ());
    assert_eq!(with(&kpm, &["SET", "{kpm},key", "value"]), "OK");
    assert!(with(&kpm, &["SET", "{ns},key", "value"]).starts_with("NOPERM"));
    let unnamed = authority.issue(&["unnamed.example"], |_| ());
    assert!(with(&unnamed, &["GET", "{kpm},key"]).starts_with("NOAUTH"));
    let unknown = with(&stranger.issue(&["kpm.example"], |_| ()), &["GET", "{kpm},key"]);
    assert!(!unknown.contains("value") && unknown.to_lowercase().contains("error"), "{unknown}");
    let wrong_ca = cli(&["--tls", "--cacert", other_ca.to_str().unwrap(), "PING"]);
    assert!(!wrong_ca.status.success() && text(&wrong_ca).contains("certificate verify failed"), "{}", text(&wrong_ca));
    let plain = cli(&["PING"]);
    assert!(text(&plain).contains("this address takes TLS only"), "{}", text(&plain));
    let sdl = start(&authority, "tcp://127.0.0.1:0");
    let to_plain = run(&program, &sdl, &["--tls", "--cacert", ca.to_str().unwrap(), "PING"], b"");
    assert!(!to_plain.status.success(), "{}", text(&to_plain));
}
