//! Clients that show tokens and certificates, or none, before a real server.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use hyper::Method;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use testkit::certificates::Authority;
use testkit::certificates::rcgen::{CertificateParams, ExtendedKeyUsagePurpose, date_time_ymd};

use super::*;
use crate::rest::tests::http::{Client, PATIENCE};
use crate::rest::{Response, Rest, RestConfig, Route};

const READ: &str = "0123456789abcdef-read";
const WRITE: &str = "0123456789abcdef-write";

/// Issues a certificate for 127.0.0.1 and returns its file and that of its key.
fn issue(authority: &Authority, name: &str, adapt: impl FnOnce(&mut CertificateParams)) -> [PathBuf; 2] {
    let files = authority.issue_as(name, &["127.0.0.1"], adapt);
    [files.certificate, files.key]
}

fn tls(authority: &Authority, client_ca: Option<PathBuf>) -> TlsServerFiles {
    let [certificate, key] = issue(authority, "server", |_| ());
    TlsServerFiles { certificate, key, client_ca }
}

fn tokens(authority: &Authority, text: &str) -> PathBuf {
    authority.write("tokens", text)
}

/// A client that believes a CA, and shows a certificate.
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

fn start(files: RestFiles, adapt: impl FnOnce(&mut RestConfig)) -> Rest {
    let mut config = RestConfig::new("127.0.0.1:0".parse().unwrap());
    config.access = RestAccess::load(files).unwrap();
    config.read_timeout = PATIENCE;
    adapt(&mut config);
    let routes = vec![
        Route::new(Method::GET, "/hello", |_| Ok(Response::ok("world"))),
        Route::new(Method::DELETE, "/hello", |_| Ok(Response::no_content())),
    ];
    Rest::start(config, routes).unwrap()
}

/// All that is answered to a request, over TLS where the client has it.
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
fn tokens_say_what_each_may_do() {
    let authority = Authority::new();
    let file = tokens(&authority, &format!("read {READ}\nwrite {WRITE}\n"));
    let rest = start(RestFiles { tls: Some(tls(&authority, None)), tokens: Some(file) }, |_| ());
    assert_eq!(rest.url(), format!("https://{}", rest.address()));
    let ask = |method, token| ask(rest.address(), Some(client(&authority, None)), method, token).unwrap();
    has(&ask("GET", None), &["HTTP/1.1 401 Unauthorized\r\n", "www-authenticate: Bearer realm=\"ferric\"\r\n"]);
    let wrong = ask("GET", Some("0123456789abcdef"));
    has(&wrong, &["HTTP/1.1 401 ", "error=\"invalid_token\"\r\n", "application/problem+json"]);
    has(&ask("GET", Some(READ)), &["HTTP/1.1 200 OK\r\n", "\"world\""]);
    has(&ask("DELETE", Some(READ)), &["HTTP/1.1 403 ", "error=\"insufficient_scope\", scope=\"write\"\r\n"]);
    has(&ask("DELETE", Some(WRITE)), &["HTTP/1.1 204 "]);
    has(&ask("GET", Some(WRITE)), &["HTTP/1.1 200 "]);
}

#[test]
fn who_speaks_http_where_https_is_spoken_is_told_so() {
    let authority = Authority::new();
    let rest = start(RestFiles { tls: Some(tls(&authority, None)), tokens: None }, |_| ());
    let mut in_the_clear = Client::connect(rest.address());
    in_the_clear.ask("GET", "/hello", None).complains(400, &["HTTPS is spoken here", "https://"]);
    in_the_clear.expect_closed();
    let mut garbage = Client::connect(rest.address());
    garbage.write(b"\x16\x03\x01\xff\xff\xff\xff\xff\xff");
    garbage.expect_closed();
    has(&ask(rest.address(), Some(client(&authority, None)), "GET", None).unwrap(), &["HTTP/1.1 200 "]);
    // and the other way round
    let plain = start(RestFiles::default(), |_| ());
    assert!(ask(plain.address(), Some(client(&authority, None)), "GET", None).is_err());
}

#[test]
fn a_handshake_that_does_not_end_is_ended() {
    let authority = Authority::new();
    let files = RestFiles { tls: Some(tls(&authority, None)), tokens: None };
    let rest = start(files, |config| config.read_timeout = std::time::Duration::from_millis(200));
    let mut silent = Client::connect(rest.address());
    let mut slow = Client::connect(rest.address());
    slow.write(b"\x16\x03\x01\x02\x00\x01");
    silent.expect_closed();
    slow.expect_closed();
}

#[test]
fn where_certificates_are_wanted_nobody_gets_in_without_one() {
    let authority = Authority::new();
    let stranger = Authority::new();
    let rest = start(RestFiles { tls: Some(tls(&authority, Some(authority.ca()))), tokens: None }, |_| ());
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
fn a_certificate_that_is_not_the_rics_is_not_believed() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let rest = start(RestFiles { tls: Some(tls(&stranger, None)), tokens: None }, |_| ());
    let error = ask(rest.address(), Some(client(&authority, None)), "GET", None).unwrap_err();
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
}

#[test]
fn files_that_are_changed_count_anew_and_broken_ones_do_not() {
    let authority = Authority::new();
    let file = tokens(&authority, &format!("write {WRITE}\n"));
    let mut access = RestAccess::load(RestFiles { tls: Some(tls(&authority, None)), tokens: Some(file) }).unwrap();
    let look = |access: &mut RestAccess| {
        access.looked -= LOOK_EVERY;
        access.renew();
    };
    let (shown, first) = (access.tls.clone().unwrap(), access.tokens.clone());
    look(&mut access);
    assert!(Arc::ptr_eq(&shown, access.tls.as_ref().unwrap()), "nothing is read again without need");
    tokens(&authority, &format!("read {READ}\nwrite {WRITE}-2\n"));
    access.renew();
    assert_eq!(access.tokens, first, "not looked at so soon");
    look(&mut access);
    let second = access.tokens.clone();
    assert_ne!(second, first);
    tokens(&authority, "nonsense, and longer than what was there before it was");
    look(&mut access);
    assert_eq!(access.tokens, second);
    fs::remove_file(authority.path("tokens")).unwrap();
    look(&mut access);
    assert_eq!(access.tokens, second, "who deletes the file opens nothing");
    tokens(&authority, &format!("write {WRITE}\n"));
    issue(&authority, "server", |_| ());
    look(&mut access);
    assert_eq!(access.tokens, first);
    assert!(!Arc::ptr_eq(&shown, access.tls.as_ref().unwrap()));
}

#[test]
fn files_that_cannot_be_used_say_which() {
    let authority = Authority::new();
    let says = |tls: Option<TlsServerFiles>, tokens: Option<PathBuf>| {
        RestAccess::load(RestFiles { tls, tokens }).unwrap_err().to_string()
    };
    let nowhere = || authority.path("nowhere");
    let good = || tls(&authority, None);
    let of_tls = |tls| says(Some(tls), None);
    has(&of_tls(TlsServerFiles { certificate: nowhere(), ..good() }), &["TLS of REST", "certificate file", "nowhere"]);
    has(&of_tls(TlsServerFiles { key: good().certificate, ..good() }), &["holds no private key"]);
    has(&of_tls(TlsServerFiles { key: issue(&authority, "other", |_| ())[1].clone(), ..good() }), &["is not that of"]);
    has(&of_tls(TlsServerFiles { client_ca: Some(good().key), ..good() }), &["CA file", "holds no certificate"]);
    has(&says(None, Some(nowhere())), &["cannot read the tokens in", "nowhere"]);
    has(&says(None, Some(tokens(&authority, "write x"))), &["tokens: line 1: a token has 16 to"]);
}
