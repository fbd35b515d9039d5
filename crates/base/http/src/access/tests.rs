//! A real server, and clients with tokens and certificates, or without.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use testkit::PATIENCE;
use testkit::certificates::Authority;
use testkit::certificates::rcgen::{CertificateParams, ExtendedKeyUsagePurpose, date_time_ymd};
use testkit::http::Client;

use super::*;
use crate::{Operation, Response, Route, Server, ServerConfig};

const READ: &str = "0123456789abcdef-read";
const CONTROL: &str = "0123456789abcdef-control";
const ADMIN: &str = "0123456789abcdef-admin";

/// Issues a certificate for 127.0.0.1. Returns its file and that of its key.
fn issue(authority: &Authority, name: &str, adapt: impl FnOnce(&mut CertificateParams)) -> [PathBuf; 2] {
    let files = authority.issue_as(name, &["127.0.0.1"], adapt);
    [files.certificate, files.key]
}

fn tls(authority: &Authority, client_ca: Option<PathBuf>) -> TlsFiles {
    let [certificate, key] = issue(authority, "server", |_| ());
    TlsFiles { certificate, key, client_ca }
}

fn tokens(authority: &Authority, text: &str) -> PathBuf {
    authority.write("tokens", text)
}

/// A client that trusts a CA, with its own certificate or without.
fn client(authority: &Authority, own: Option<[PathBuf; 2]>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority.ca()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    match own {
        None => builder.with_no_client_auth(),
        Some([certificate, key]) => {
            let chain = vec![CertificateDer::from_pem_file(certificate).unwrap()];
            builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap()).unwrap()
        }
    }
}

fn start(files: AccessFiles, adapt: impl FnOnce(&mut ServerConfig)) -> Server {
    let mut config = ServerConfig::new("127.0.0.1:0".parse().unwrap());
    config.access = Access::load(files).unwrap();
    config.read_timeout = PATIENCE;
    adapt(&mut config);
    let routes = vec![
        Route::new(Operation::get("/hello", "", ""), |_| Ok(Response::ok("world"))),
        Route::new(Operation::delete("/hello", "", ""), |_| Ok(Response::no_content())),
        Route::new(Operation::post("/hello", "", "").role(Role::Admin), |_| Ok(Response::no_content())),
        Route::file("/", "text/html", b"<!doctype html>"),
    ];
    Server::start(config, routes).unwrap()
}

/// Sends a request, over TLS if the client has a configuration for it. Returns the whole response.
fn ask(
    address: SocketAddr,
    client: Option<ClientConfig>,
    method: &str,
    token: Option<&str>,
) -> std::io::Result<String> {
    let authorization = token.map_or_else(String::new, |token| format!("authorization: Bearer {token}\r\n"));
    let request = format!("{method} /hello HTTP/1.1\r\nhost: localhost\r\n{authorization}connection: close\r\n\r\n");
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut answer = String::new();
    match client {
        None => {
            socket.write_all(request.as_bytes())?;
            socket.read_to_string(&mut answer)?;
        }
        Some(client) => {
            let name = ServerName::try_from("127.0.0.1").unwrap();
            let mut stream = StreamOwned::new(ClientConnection::new(Arc::new(client), name).unwrap(), socket);
            stream.write_all(request.as_bytes())?;
            stream.read_to_string(&mut answer)?;
        }
    }
    Ok(answer)
}

#[track_caller]
fn has(answer: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(answer.contains(piece), "no {piece}: {answer}");
    }
}

#[test]
fn token_has_a_role_and_a_route_requires_one() {
    let authority = Authority::new();
    let file = tokens(&authority, &format!("read {READ}\ncontrol {CONTROL}\nadmin {ADMIN}\n"));
    let rest = start(AccessFiles { tls: Some(tls(&authority, None)), tokens: Some(file) }, |_| ());
    assert_eq!(rest.url(), format!("https://{}", rest.address()));
    let ask = |method, token| ask(rest.address(), Some(client(&authority, None)), method, token).unwrap();
    has(&ask("GET", None), &["HTTP/1.1 401 Unauthorized\r\n", "www-authenticate: Bearer realm=\"ferric\"\r\n"]);
    let wrong = ask("GET", Some("0123456789abcdef"));
    has(&wrong, &["HTTP/1.1 401 ", "error=\"invalid_token\"\r\n", "application/problem+json"]);
    has(&ask("GET", Some(READ)), &["HTTP/1.1 200 OK\r\n", "\"world\"", "strict-transport-security: max-age="]);
    has(&ask("DELETE", Some(READ)), &["HTTP/1.1 403 ", "error=\"insufficient_scope\", scope=\"control\"\r\n"]);
    has(&ask("DELETE", Some(CONTROL)), &["HTTP/1.1 204 "]);
    has(&ask("GET", Some(CONTROL)), &["HTTP/1.1 200 "]);
    has(
        &ask("POST", Some(CONTROL)),
        &["HTTP/1.1 403 ", "scope=\"admin\"\r\n", "the role `control`; the request needs `admin`"],
    );
    has(&ask("POST", Some(ADMIN)), &["HTTP/1.1 204 "]);
    // paths and methods are no secret of a stranger's
    has(&ask("PATCH", None), &["HTTP/1.1 401 "]);
    has(&ask("PATCH", Some(READ)), &["HTTP/1.1 405 "]);
}

#[test]
fn file_of_a_page_needs_no_token() {
    let authority = Authority::new();
    let file = tokens(&authority, &format!("read {READ}\n"));
    let rest = start(AccessFiles { tls: None, tokens: Some(file) }, |_| ());
    let mut client = Client::connect(rest.address());
    assert_eq!(client.request("GET", "/", None).body, "<!doctype html>");
    client.request("GET", "/hello", None).expect_problem(401, &["no bearer token"]);
}

#[test]
fn service_without_authentication_is_refused_beyond_loopback() {
    let authority = Authority::new();
    let any: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let start = |files: AccessFiles| {
        let config = ServerConfig { access: Access::load(files).unwrap(), ..ServerConfig::new(any) };
        Server::start(config, Vec::new()).map(drop).map_err(|error| error.to_string())
    };
    let error = start(AccessFiles { tls: Some(tls(&authority, None)), tokens: None }).unwrap_err();
    has(&error, &["without authentication", "configure tokens or a client CA"]);
    assert_eq!(start(AccessFiles { tls: Some(tls(&authority, Some(authority.ca()))), tokens: None }), Ok(()));
    let file = tokens(&authority, &format!("read {READ}\n"));
    assert_eq!(start(AccessFiles { tls: None, tokens: Some(file) }), Ok(()));
}

#[test]
fn http_on_an_https_port_is_answered_with_400() {
    let authority = Authority::new();
    let rest = start(AccessFiles { tls: Some(tls(&authority, None)), tokens: None }, |_| ());
    let mut in_the_clear = Client::connect(rest.address());
    in_the_clear.request("GET", "/hello", None).expect_problem(400, &["expects HTTPS", "https://"]);
    in_the_clear.expect_closed();
    let mut garbage = Client::connect(rest.address());
    garbage.write(b"\x16\x03\x01\xff\xff\xff\xff\xff\xff");
    garbage.expect_closed();
    has(&ask(rest.address(), Some(client(&authority, None)), "GET", None).unwrap(), &["HTTP/1.1 200 "]);
    // HTTPS on an HTTP port
    let plain = start(AccessFiles::default(), |_| ());
    assert!(ask(plain.address(), Some(client(&authority, None)), "GET", None).is_err());
}

#[test]
fn slow_handshake_is_closed() {
    let authority = Authority::new();
    let files = AccessFiles { tls: Some(tls(&authority, None)), tokens: None };
    let rest = start(files, |config| config.read_timeout = std::time::Duration::from_millis(200));
    let mut silent = Client::connect(rest.address());
    let mut slow = Client::connect(rest.address());
    slow.write(b"\x16\x03\x01\x02\x00\x01");
    silent.expect_closed();
    slow.expect_closed();
}

#[test]
fn client_without_a_valid_certificate_is_refused() {
    let authority = Authority::new();
    let stranger = Authority::new();
    let rest = start(AccessFiles { tls: Some(tls(&authority, Some(authority.ca()))), tokens: None }, |_| ());
    let with = |own| ask(rest.address(), Some(client(&authority, own)), "GET", None);
    has(&with(Some(issue(&authority, "client", |_| ()))).unwrap(), &["HTTP/1.1 200 "]);
    let expired = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(2019, 1, 1);
        params.not_after = date_time_ymd(2020, 1, 1);
    };
    let server_only = |params: &mut CertificateParams| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    };
    for (wrong, alert) in [
        (None, "CertificateRequired"),
        (Some(issue(&authority, "expired", expired)), "CertificateExpired"),
        (Some(issue(&stranger, "stranger", |_| ())), "UnknownCA"),
        (Some(issue(&authority, "server_only", server_only)), "UnsupportedCertificate"),
    ] {
        let error = with(wrong).unwrap_err().to_string();
        assert!(error.contains(alert), "{alert}: {error}");
    }
    has(&with(Some(issue(&authority, "client", |_| ()))).unwrap(), &["HTTP/1.1 200 "]);
}

#[test]
fn certificate_of_another_ca_is_rejected_by_clients() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let rest = start(AccessFiles { tls: Some(tls(&stranger, None)), tokens: None }, |_| ());
    let error = ask(rest.address(), Some(client(&authority, None)), "GET", None).unwrap_err();
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
}

#[test]
fn changed_files_take_effect_and_broken_ones_do_not() {
    let authority = Authority::new();
    let file = tokens(&authority, &format!("control {CONTROL}\n"));
    let mut access = Access::load(AccessFiles { tls: Some(tls(&authority, None)), tokens: Some(file) }).unwrap();
    let check = |access: &mut Access| {
        access.expire();
        access.refresh();
    };
    let (tls, first) = (access.content.tls.clone().unwrap(), access.content.tokens.clone());
    check(&mut access);
    assert!(Arc::ptr_eq(&tls, access.content.tls.as_ref().unwrap()), "unchanged files are not read again");
    tokens(&authority, &format!("read {READ}\ncontrol {CONTROL}-2\n"));
    access.refresh();
    assert_eq!(access.content.tokens, first, "the files are not checked so soon");
    check(&mut access);
    let second = access.content.tokens.clone();
    assert_ne!(second, first);
    tokens(&authority, "malformed, and longer than the content before");
    check(&mut access);
    assert_eq!(access.content.tokens, second);
    fs::remove_file(authority.path("tokens")).unwrap();
    check(&mut access);
    assert_eq!(access.content.tokens, second, "deleting the file does not open the service");
    tokens(&authority, &format!("control {CONTROL}\n"));
    issue(&authority, "server", |_| ());
    check(&mut access);
    assert_eq!(access.content.tokens, first);
    assert!(!Arc::ptr_eq(&tls, access.content.tls.as_ref().unwrap()));
}

#[test]
fn error_names_the_unusable_file() {
    let authority = Authority::new();
    let says = |tls: Option<TlsFiles>, tokens: Option<PathBuf>| {
        Access::load(AccessFiles { tls, tokens }).unwrap_err().to_string()
    };
    let nowhere = || authority.path("nowhere");
    let good = || tls(&authority, None);
    let of_tls = |tls| says(Some(tls), None);
    has(&of_tls(TlsFiles { certificate: nowhere(), ..good() }), &["TLS of REST", "certificate file", "nowhere"]);
    has(&of_tls(TlsFiles { key: good().certificate, ..good() }), &["holds no private key"]);
    has(&of_tls(TlsFiles { key: issue(&authority, "other", |_| ())[1].clone(), ..good() }), &["is not that of"]);
    has(&of_tls(TlsFiles { client_ca: Some(good().key), ..good() }), &["CA file", "holds no certificate"]);
    has(&says(None, Some(nowhere())), &["cannot read the token file", "nowhere"]);
    has(&says(None, Some(tokens(&authority, "control x"))), &["token file", "tokens: line 1: a token has 16 to"]);
}
