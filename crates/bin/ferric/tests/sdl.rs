//! `ferric ric --sdl`: the shared data layer with the RIC's nodes, and A1 policies.

mod program;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ferric::link::TlsClientFiles;
use program::{File, Program, run};
use rustix::process::Signal;
use rustls::{ClientConnection, StreamOwned};
use serde_json::json;
use testkit::Redis;
use testkit::certificates::{Authority, CertificateFiles};
use testkit::http::Service;

const RIC: [&str; 7] = ["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0", "--rest", "127.0.0.1:0"];

fn start(more: &[&str]) -> (Program, SocketAddr, Service) {
    let arguments: Vec<&str> = RIC.iter().chain(more).copied().collect();
    let mut ric = program::start(&arguments);
    let sdl = ric.line("sdl=tcp://").parse().unwrap();
    let rest = ric.line("rest=http://").parse().unwrap();
    (ric, sdl, Service { address: rest })
}

/// Sends a command, whose arguments have no spaces, and expects its reply.
#[track_caller]
fn exchange(client: &mut (impl Read + Write), command: &str, reply: &str) {
    let words: Vec<_> = command.split(' ').map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
    client.write_all(format!("*{}\r\n{}", words.len(), words.concat()).as_bytes()).unwrap();
    let mut octets = vec![0; reply.len()];
    client.read_exact(&mut octets).unwrap();
    assert_eq!(String::from_utf8_lossy(&octets), reply);
}

/// Reads a key until it has a value.
#[track_caller]
fn await_value(client: &mut TcpStream, key: &str, value: &str) {
    let expected = format!("${}\r\n{value}\r\n", value.len());
    let begun = Instant::now();
    loop {
        client.write_all(format!("*2\r\n$3\r\nGET\r\n${}\r\n{key}\r\n", key.len()).as_bytes()).unwrap();
        let mut reply = vec![0; "$-1\r\n".len()];
        client.read_exact(&mut reply).unwrap();
        if reply != b"$-1\r\n" {
            let mut rest = vec![0; expected.len() - reply.len()];
            client.read_exact(&mut rest).unwrap();
            reply.extend(rest);
            return assert_eq!(String::from_utf8_lossy(&reply), expected);
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{key} has no value");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A client whose reads end.
fn connect(address: SocketAddr) -> TcpStream {
    let client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    client
}

#[test]
fn store_and_policies_survive_a_restart_and_rights_are_those_of_the_file() {
    let store = File::named("sdl.redb");
    let tokens = File::new("sdl.tokens", b"xapp 0123456789abcdef read:A1m_ns write:xapp\n");
    let more = ["--sdl", "tcp://127.0.0.1:0", "--sdl-file", store.name(), "--sdl-tokens", tokens.name()];
    let (ric, sdl, rest) = start(&more);
    let mut client = connect(sdl);
    exchange(&mut client, "GET {xapp},key", "-NOAUTH ");
    let mut client = connect(sdl);
    exchange(&mut client, "AUTH xapp 0123456789abcdef", "+OK\r\n");
    exchange(&mut client, "SET {xapp},key value", "+OK\r\n");
    let policy_type =
        json!({ "name": "t", "description": "d", "policy_type_id": 1, "create_schema": { "type": "object" } });
    rest.request("PUT", "/A1-P/v2/policytypes/1", policy_type).expect(201);
    rest.request("PUT", "/A1-P/v2/policytypes/1/policies/one", json!({ "a": 1 })).expect(202);
    // it is stored soon after it was accepted
    await_value(&mut client, "{A1m_ns},a1.policy_instance.1.one", "{\"a\":1}");
    exchange(&mut client, "SET {A1m_ns},a1.policy_instance.1.one x", "-NOPERM ");
    let document = rest.request("GET", "/v1/openapi.json", None).expect(200);
    assert!(document["paths"]["/A1-P/v2/policytypes/{policy_type_id}"]["put"].is_object());
    // what was replied is on the disk
    ric.signal(Signal::KILL);
    ric.end();
    let (ric, sdl, rest) = start(&more);
    let mut client = connect(sdl);
    exchange(&mut client, "AUTH xapp 0123456789abcdef", "+OK\r\n");
    exchange(&mut client, "GET {xapp},key", "$5\r\nvalue\r\n");
    let policy = rest.request("GET", "/A1-P/v2/policytypes/1/policies/one", None).expect(200);
    assert_eq!(policy, json!({ "a": 1 }));
    std::fs::write(tokens.name(), "xapp 123456789abcdefg write:xapp\n").unwrap();
    ric.signal(Signal::HUP);
    let mut rest_of_connection = Vec::new();
    client.read_to_end(&mut rest_of_connection).unwrap();
    assert_eq!(rest_of_connection, b"", "the token was revoked");
    assert_eq!(ric.stop().code(), Some(0));
}

/// A client over TLS that trusts a CA, and presents a certificate if it has one.
fn connect_over_tls(
    address: SocketAddr,
    ca: &Path,
    own: Option<&CertificateFiles>,
) -> StreamOwned<ClientConnection, TcpStream> {
    let own = own.map(|files| (files.certificate.clone(), files.key.clone()));
    let config = TlsClientFiles { ca: ca.to_owned(), own }.load().unwrap();
    let name = "127.0.0.1".try_into().unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), connect(address))
}

#[test]
fn sighup_renews_certificate_and_rights_of_the_store_over_tls() {
    let (authority, successor) = (Authority::new(), Authority::new());
    let files = authority.issue_as("ric", &["127.0.0.1"], |_| ());
    let [ca, certificate, key] = [&files.ca, &files.certificate, &files.key].map(|path| path.to_str().unwrap());
    let tokens = File::new("tls.tokens", b"xapp 0123456789abcdef write:xapp\nkpm certificate:kpm.example write:kpm\n");
    let mut arguments: Vec<&str> = RIC.to_vec();
    arguments.extend(["--sdl", "tls://0.0.0.0:0", "--sdl", "tcp://127.0.0.1:0", "--sdl-tokens", tokens.name()]);
    arguments.extend(["--tls-ca", ca, "--tls-cert", certificate, "--tls-key", key]);
    let mut ric = program::start(&arguments);
    let port = ric.line("sdl=tls://0.0.0.0:").parse().unwrap();
    let plain: SocketAddr = ric.line("sdl=tcp://").parse().unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut xapp = connect_over_tls(address, &authority.ca(), None);
    exchange(&mut xapp, "AUTH xapp 0123456789abcdef", "+OK\r\n");
    exchange(&mut xapp, "SET {xapp},key value", "+OK\r\n");
    let own = authority.issue(&["kpm.example"], |_| ());
    let mut kpm = connect_over_tls(address, &authority.ca(), Some(&own));
    exchange(&mut kpm, "SET {kpm},key value", "+OK\r\n");
    exchange(&mut kpm, "GET {xapp},key", "-NOPERM ");
    exchange(&mut connect(plain), "GET {kpm},key", "-NOAUTH ");
    let renewed = successor.issue(&["127.0.0.1"], |_| ());
    std::fs::copy(&renewed.key, key).unwrap();
    std::fs::copy(&renewed.certificate, certificate).unwrap();
    std::fs::write(tokens.name(), "xapp 0123456789abcdef read:xapp\n").unwrap();
    ric.signal(Signal::HUP);
    let mut rest = Vec::new();
    kpm.read_to_end(&mut rest).unwrap();
    assert!(rest.ends_with(b"\r\n"), "the rest of the refusal, and the end: no line names the certificate any more");
    exchange(&mut xapp, "SET {xapp},key value", "-NOPERM this client may not write the namespace 'xapp'\r\n");
    exchange(&mut xapp, "GET {xapp},key", "$5\r\nvalue\r\n");
    exchange(&mut connect_over_tls(address, &successor.ca(), None), "PING", "-NOAUTH ");
    let error = connect_over_tls(address, &authority.ca(), None).write_all(b"*1\r\n$4\r\nPING\r\n").unwrap_err();
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    ric.logs("the peer does not know the CA of our certificate");
    let ended = ric.stop();
    assert_eq!(ended.code(), Some(0));
    assert!(!ended.stderr.contains("unprotected address"), "{}", ended.stderr);
}

#[test]
fn plain_address_beyond_this_host_is_warned_of() {
    let tokens = File::new("plain.tokens", b"xapp 0123456789abcdef write:xapp\n");
    let (mut ric, _, _) = start(&["--sdl", "tcp://0.0.0.0:0", "--sdl-tokens", tokens.name()]);
    ric.logs("unprotected address: tokens and values of the shared data layer are not encrypted; use tls://");
    let protected = File::new("ipsec.toml", b"ipsec = true\n");
    let more = ["--config", protected.name(), "--sdl", "tcp://0.0.0.0:0", "--sdl-tokens", tokens.name()];
    let (ric, _, _) = start(&more);
    let ended = ric.stop();
    assert!(!ended.stderr.contains("unprotected address"), "{}", ended.stderr);
}

#[test]
fn clients_wait_while_the_process_may_open_no_more_files() {
    let mut arguments = vec!["-c", "ulimit -n 48; exec \"$0\" \"$@\"", program::FERRIC];
    arguments.extend(RIC.iter().copied().chain(["--sdl", "tcp://127.0.0.1:0"]));
    let mut ric = Program::start("/bin/sh", &arguments);
    let sdl = ric.line("sdl=tcp://").parse().unwrap();
    let mut clients: Vec<_> = (0..60).map(|_| connect(sdl)).collect();
    exchange(&mut clients[0], "PING", "+PONG\r\n");
    ric.logs("clients of the shared data layer have to wait, since they cannot be accepted: Too many open files");
    thread::sleep(Duration::from_secs(1));
    let mut last = clients.pop().unwrap();
    drop(clients);
    exchange(&mut last, "PING", "+PONG\r\n");
    let ended = ric.stop();
    let lines = ended.stderr.matches("have to wait").count();
    assert!(lines < 5, "{lines} lines");
}

#[test]
fn address_that_is_open_to_others_and_options_without_it_are_refused() {
    let with = |more: &[&str]| run(&RIC.iter().chain(more).copied().collect::<Vec<_>>());
    with(&["--sdl", "tcp://0.0.0.0:0"]).complains(1, &["0.0.0.0", "--sdl-tokens"]);
    with(&["--sdl-file", "x"]).complains(1, &["give --sdl"]);
    with(&["--sdl-require-certificate"]).complains(1, &["give --sdl"]);
    with(&["--sdl", "tls://127.0.0.1:0"]).complains(1, &["has no certificate: give --tls-ca"]);
    with(&["--sdl", "tcp://127.0.0.1:0", "--sdl-require-certificate"]).complains(1, &["give a tls:// address"]);
    with(&["--sdl", "tcp://127.0.0.1:0", "--sdl", "redis://127.0.0.1:1"]).complains(1, &["one Redis URL only"]);
    with(&["--sdl", "sctp://127.0.0.1:1"]).complains(2, &["TCP, TLS or a Unix socket"]);
    with(&["--sdl", "tcp://127.0.0.1:0", "--sdl-file", "/tmp"]).complains(1, &["/tmp"]);
    let tokens = File::new("wrong.tokens", b"xapp secret read:x\n");
    with(&["--sdl", "tcp://127.0.0.1:0", "--sdl-tokens", tokens.name()]).complains(1, &["line 1", "a token has"]);
}

#[test]
fn redis_takes_the_place_of_the_store_and_may_be_away() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let (mut ric, rest) = start_on(&redis);
    let policy_type =
        json!({ "name": "t", "description": "d", "policy_type_id": 1, "create_schema": { "type": "object" } });
    rest.request("PUT", "/A1-P/v2/policytypes/1", policy_type).expect(201);
    rest.request("PUT", "/A1-P/v2/policytypes/1/policies/one", json!({ "a": 1 })).expect(202);
    let key = |name: &str| format!("{{A1m_ns}},a1.policy_instance.1.{name}");
    let one = "$7\r\n{\"a\":1}\r\n";
    testkit::eventually("the policy", || redis.command(&["GET", &key("one")]) == one);
    assert!(redis.command(&["GET", "{e2Manager},GENERAL"]).contains("enableRic"));
    // Redis loses everything, and the RIC accepts policies meanwhile
    redis.kill();
    ric.logs("cannot reach the shared data layer");
    rest.request("PUT", "/A1-P/v2/policytypes/1/policies/two", json!({ "a": 1 })).expect(202);
    redis.restart();
    ric.logs("the shared data layer is available");
    for name in ["one", "two"] {
        testkit::eventually("the policy", || redis.command(&["GET", &key(name)]) == one);
    }
    // the next run finds them
    ric.stop();
    let (_ric, rest) = start_on(&redis);
    let policies = rest.request("GET", "/A1-P/v2/policytypes/1/policies", None).expect(200);
    assert_eq!(policies, json!(["one", "two"]));
}

fn start_on(redis: &Redis) -> (Program, Service) {
    let url = redis.url();
    let arguments: Vec<&str> = RIC.iter().copied().chain(["--sdl", &url]).collect();
    let mut ric = program::start(&arguments);
    assert_eq!(ric.line("sdl="), url);
    let rest = ric.line("rest=http://").parse().unwrap();
    (ric, Service { address: rest })
}

#[test]
fn options_of_the_embedded_store_and_of_several_rics_are_checked() {
    let ric = |more: &[&str]| run(&[&["ric"], more].concat());
    let with_file = ric(&["--sdl", "redis://127.0.0.1:1", "--sdl-file", "sdl.redb"]);
    with_file.complains(1, &["--sdl-file, --sdl-tokens and --sdl-require-certificate concern the embedded store"]);
    ric(&["--sdl", "redis+sentinel://127.0.0.1"]).complains(2, &["the name of the primary is missing"]);
    ric(&["--peer-name", "a"]).complains(1, &["without a store: give --peers"]);
    ric(&["--peers", "redis://127.0.0.1:1", "--peer-name", "a b"]).complains(2, &["without white space"]);
    let nowhere = ric(&["--peers", "redis://127.0.0.1:1", "--e2", "tcp://0.0.0.0:0", "--xapp", "tcp://127.0.0.1:0"]);
    nowhere.complains(1, &["say where the others direct nodes to (--peer-address HOST:PORT)"]);
    let encodings = run(&["ran", "--ric", "tcp://127.0.0.1:1", "--next-ric", "tcp+flat://127.0.0.1:2"]);
    encodings.complains(1, &["RICs that share nodes have the same"]);
}
