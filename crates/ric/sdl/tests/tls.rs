//! Clients over TLS: certificates, rights by their names, and what clients must not be able to do.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use link::{Address, Renewal, Tls, TlsClientFiles, TlsFiles};
use log_lines::LogBudget;
use rustls::{ClientConnection, StreamOwned};
use sdl::{AccessList, Config, Error, Limits, Sdl};
use testkit::certificates::{Authority, CertificateFiles};

const PATIENCE: Duration = Duration::from_secs(20);
const TOKENS: &str = "kpm certificate:kpm.example write:kpm\noperator 0123456789abcdef write:*\n";

/// A client's connection; `S` is the socket.
type Client<S = TcpStream> = StreamOwned<ClientConnection, S>;

fn credentials(authority: &Authority) -> Tls {
    let CertificateFiles { ca, certificate, key } = authority.issue_as("sdl", &["127.0.0.1"], |_| ());
    Tls::load(&TlsFiles { ca, certificate, key }).unwrap()
}

fn config(tls: Tls) -> Config {
    Config { tls: Some(tls), ..Config::new("tls://127.0.0.1:0".parse().unwrap()) }
}

fn start(config: Config) -> Sdl {
    Sdl::start(config, LogBudget::new(1000)).unwrap()
}

fn access(authority: &Authority, text: &str) -> AccessList {
    AccessList::load(&authority.write("sdl.tokens", text)).unwrap()
}

fn socket(sdl: &Sdl) -> TcpStream {
    let (Address::Tls { host, port } | Address::Tcp { host, port }) = sdl.address() else {
        panic!("{}", sdl.address())
    };
    let socket = TcpStream::connect((host.as_str(), *port)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// A client that trusts the CA, and presents a certificate if it has one. The handshake begins with the first octet.
fn client_over<S: Read + Write>(socket: S, ca: PathBuf, own: Option<&CertificateFiles>) -> Client<S> {
    let own = own.map(|files| (files.certificate.clone(), files.key.clone()));
    let config = TlsClientFiles { ca, own }.load().unwrap();
    let name = "127.0.0.1".try_into().unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), socket)
}

fn connect(sdl: &Sdl, authority: &Authority, own: Option<&CertificateFiles>) -> Client {
    client_over(socket(sdl), authority.ca(), own)
}

fn send(client: &mut impl Write, command: &str) {
    let words: Vec<_> = command.split(' ').map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
    client.write_all(format!("*{}\r\n{}", words.len(), words.concat()).as_bytes()).unwrap();
    client.flush().unwrap();
}

#[track_caller]
fn expect(client: &mut impl Read, reply: &str) {
    let mut octets = vec![0; reply.len()];
    client.read_exact(&mut octets).unwrap();
    assert!(octets == reply.as_bytes(), "{}", String::from_utf8_lossy(octets.get(..200).unwrap_or(&octets)));
}

#[track_caller]
fn exchange(client: &mut (impl Read + Write), command: &str, reply: &str) {
    send(client, command);
    expect(client, reply);
}

/// Why a client is not served, when it has sent a command.
#[track_caller]
fn refusal(client: &mut (impl Read + Write)) -> String {
    let ping = b"*1\r\n$4\r\nPING\r\n";
    let result = client.write_all(ping).and_then(|()| client.flush()).and_then(|()| client.read_exact(&mut [0; 7]));
    result.unwrap_err().to_string()
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn client_with_a_token_is_served_over_tls() {
    let authority = Authority::new();
    let sdl = start(Config { access: access(&authority, TOKENS), ..config(credentials(&authority)) });
    assert!(sdl.address().to_string().starts_with("tls://127.0.0.1:"), "{}", sdl.address());
    let mut client = connect(&sdl, &authority, None);
    exchange(&mut client, "GET {ns},key", "-NOAUTH authentication required: send AUTH with the token of the xApp\r\n");
    exchange(&mut client, "AUTH operator 0123456789abcdef", "+OK\r\n");
    // several records in each direction
    let value = "x".repeat(1 << 20);
    exchange(&mut client, &format!("SET {{ns}},key {value}"), "+OK\r\n");
    exchange(&mut client, "GET {ns},key", &format!("${}\r\n{value}\r\n", value.len()));
    client.conn.refresh_traffic_keys().unwrap();
    for at in 0..1000 {
        send(&mut client, &format!("SET {{ns}},key {at}"));
        send(&mut client, "GET {ns},key");
    }
    for at in 0..1000 {
        expect(&mut client, &format!("+OK\r\n${}\r\n{at}\r\n", at.to_string().len()));
    }
    let mut subscriber = connect(&sdl, &authority, None);
    exchange(&mut subscriber, "AUTH 0123456789abcdef", "+OK\r\n");
    exchange(&mut subscriber, "SUBSCRIBE {ns},ch", "*3\r\n$9\r\nsubscribe\r\n$7\r\n{ns},ch\r\n:1\r\n");
    exchange(&mut client, "PUBLISH {ns},ch event", ":1\r\n");
    expect(&mut subscriber, "*3\r\n$7\r\nmessage\r\n$7\r\n{ns},ch\r\n$5\r\nevent\r\n");
    exchange(&mut client, "QUIT", "+OK\r\n");
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).expect("the connection ends with a close notification");
    assert_eq!(rest, b"");
    wait_for("the end of the connection", || sdl.counts().connections == 1);
    assert_eq!(sdl.counts().faults, 0);
}

#[test]
fn rights_follow_the_certificate() {
    let authority = Authority::new();
    let sdl = start(Config { access: access(&authority, TOKENS), ..config(credentials(&authority)) });
    let (kpm, other) = (authority.issue(&["kpm.example"], |_| ()), authority.issue(&["other.example"], |_| ()));
    let mut kpm = connect(&sdl, &authority, Some(&kpm));
    exchange(&mut kpm, "ACL WHOAMI", "$3\r\nkpm\r\n");
    exchange(&mut kpm, "SET {kpm},key value", "+OK\r\n");
    let denied = "-NOPERM this client may not write the namespace 'other'\r\n";
    exchange(&mut kpm, "SET {other},key value", denied);
    // a token takes the place of the certificate until the session begins anew
    exchange(&mut kpm, "AUTH operator 0123456789abcdef", "+OK\r\n");
    exchange(&mut kpm, "ACL WHOAMI", "$8\r\noperator\r\n");
    exchange(&mut kpm, "SET {other},key value", "+OK\r\n");
    exchange(&mut kpm, "RESET", "+RESET\r\n");
    exchange(&mut kpm, "SET {other},key value", denied);
    let no_auth = "-NOAUTH authentication required: send AUTH with the token of the xApp\r\n";
    let mut other = connect(&sdl, &authority, Some(&other));
    exchange(&mut other, "GET {other},key", no_auth);
    exchange(&mut other, "ACL WHOAMI", "$7\r\ndefault\r\n");
    exchange(&mut other, "ACL LIST", "-ERR syntax error\r\n");
    // the names in the file change
    sdl.handle().set_access(access(&authority, "other certificate:other.example read:other\n"));
    assert_eq!(kpm.read(&mut [0; 1]).unwrap(), 0, "no line names the certificate any more");
    exchange(&mut other, "GET {other},key", "$5\r\nvalue\r\n");
    sdl.handle().set_access(access(&authority, "other certificate:other.example write:other\n"));
    // which is answered when the rights are in force
    let _ = sdl.handle().read(b"other");
    exchange(&mut other, "SET {other},key new", "+OK\r\n");
    exchange(&mut other, "GET {kpm},key", "-NOPERM this client may not read the namespace 'kpm'\r\n");
}

#[test]
fn certificate_is_verified_and_may_be_required() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let tls = credentials(&authority);
    let (known, unknown) = (authority.issue(&["kpm.example"], |_| ()), stranger.issue(&["kpm.example"], |_| ()));
    let optional = start(Config { access: access(&authority, TOKENS), ..config(tls.clone()) });
    let required = start(Config { requires_certificate: true, ..config(tls) });
    for sdl in [&optional, &required] {
        exchange(&mut connect(sdl, &authority, Some(&known)), "SET {kpm},key value", "+OK\r\n");
        let refused = refusal(&mut connect(sdl, &authority, Some(&unknown)));
        assert!(refused.contains("UnknownCA"), "{refused}");
        // a client that trusts another CA breaks off
        let refused = refusal(&mut connect(sdl, &stranger, None));
        assert!(refused.contains("UnknownIssuer"), "{refused}");
        wait_for("both are counted", || sdl.counts().faults == 2);
    }
    // also one that goes on sending before it reads the reason
    for pings in [1, 1000] {
        let mut client = connect(&required, &authority, None);
        (0..pings).for_each(|_| send(&mut client, "PING"));
        let refused = refusal(&mut client);
        assert!(refused.contains("CertificateRequired"), "{refused}");
    }
    wait_for("all have ended", || required.counts().connections == 0);
}

#[test]
fn client_without_tls_is_told_to_use_it() {
    let authority = Authority::new();
    let sdl = start(config(credentials(&authority)));
    let mut other = connect(&sdl, &authority, None);
    exchange(&mut other, "PING", "+PONG\r\n");
    let mut plain = socket(&sdl);
    send(&mut plain, "AUTH operator 0123456789abcdef");
    let mut reply = String::new();
    plain.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("-ERR this address takes TLS only: connect with rediss://"), "{reply}");
    wait_for("it is counted", || sdl.counts().faults == 1);
    exchange(&mut other, "PING", "+PONG\r\n");
}

#[test]
fn client_with_tls_is_refused_at_a_plain_address() {
    let authority = Authority::new();
    let sdl = start(Config::new("tcp://127.0.0.1:0".parse().unwrap()));
    let refused = refusal(&mut connect(&sdl, &authority, None));
    assert!(refused.contains("InvalidContentType"), "{refused}");
    let mut plain = socket(&sdl);
    exchange(&mut plain, "PING", "+PONG\r\n");
    wait_for("it is counted", || sdl.counts().faults == 1);
}

/// Writes an octet at a time.
struct Trickle(TcpStream);

impl Read for Trickle {
    fn read(&mut self, octets: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(octets)
    }
}

impl Write for Trickle {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.0.write(octets.get(..1).unwrap_or_default())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

#[test]
fn stalled_handshakes_hold_up_nobody_and_end_in_time() {
    let authority = Authority::new();
    let limits = Limits {
        max_connections: 8,
        max_host_percent: 75,
        handshake_timeout: Duration::from_millis(700),
        ..Limits::default()
    };
    let sdl = start(Config { limits, ..config(credentials(&authority)) });
    let mut client = connect(&sdl, &authority, None);
    exchange(&mut client, "PING", "+PONG\r\n");
    let begun = Instant::now();
    let mut stalled: Vec<_> = (0..5).map(|_| socket(&sdl)).collect();
    // a record of which the rest does not follow
    stalled.iter_mut().for_each(|socket| socket.write_all(&[22, 3, 1, 1, 0, 1]).unwrap());
    wait_for("all are admitted", || sdl.counts().connections == 6);
    exchange(&mut client, "PING", "+PONG\r\n");
    // they count towards the share of the host
    assert_eq!(socket(&sdl).read(&mut [0; 1]).unwrap(), 0);
    wait_for("the refusal is counted", || sdl.counts().refused == 1);
    for mut socket in stalled {
        assert_eq!(socket.read(&mut [0; 1]).unwrap(), 0, "it is closed");
    }
    assert!(begun.elapsed() >= Duration::from_millis(700));
    // a slow one that goes on is served
    let mut slow = client_over(Trickle(socket(&sdl)), authority.ca(), None);
    exchange(&mut slow, "PING", "+PONG\r\n");
    exchange(&mut client, "PING", "+PONG\r\n");
}

#[test]
fn corrupt_record_ends_its_connection_only() {
    let authority = Authority::new();
    let sdl = start(config(credentials(&authority)));
    let (mut other, mut client) = (connect(&sdl, &authority, None), connect(&sdl, &authority, None));
    exchange(&mut other, "PING", "+PONG\r\n");
    for garbage in [&[23, 3, 3, 0, 17, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16][..], &[0; 100]] {
        exchange(&mut client, "PING", "+PONG\r\n");
        client.sock.write_all(garbage).unwrap();
        let mut rest = [0; 1];
        let error = client.read(&mut rest).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidData || error.kind() == ErrorKind::ConnectionReset, "{error}");
        exchange(&mut other, "PING", "+PONG\r\n");
        client = connect(&sdl, &authority, None);
    }
    wait_for("both are counted", || sdl.counts().faults == 2);
    // a request that is cut is not executed
    exchange(&mut client, "SET {ns},key value", "+OK\r\n");
    client.write_all(b"*2\r\n$3\r\nDEL\r\n$8\r\n{ns}").unwrap();
    drop(client);
    wait_for("the connection has ended", || sdl.counts().connections == 1);
    exchange(&mut other, "GET {ns},key", "$5\r\nvalue\r\n");
    assert_eq!(sdl.counts().faults, 2);
}

#[test]
fn client_that_does_not_read_harms_nobody_over_tls() {
    let authority = Authority::new();
    let limits = Limits { request_timeout: Duration::from_millis(600), max_queue_octets: 1 << 20, ..Limits::default() };
    let sdl = start(Config { limits, ..config(credentials(&authority)) });
    let (mut other, mut slow) = (connect(&sdl, &authority, None), connect(&sdl, &authority, None));
    exchange(&mut other, &format!("SET {{ns}},key {}", "x".repeat(100_000)), "+OK\r\n");
    exchange(&mut slow, "PING", "+PONG\r\n");
    slow.sock.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    let get = b"*2\r\n$3\r\nGET\r\n$8\r\n{ns},key\r\n".repeat(100);
    // far more replies than the sockets' buffers take; the requests may not fit either
    let _ = (0..200).try_for_each(|_| slow.write_all(&get));
    exchange(&mut other, "PING", "+PONG\r\n");
    wait_for("a client that does not read is disconnected", || sdl.counts().connections == 1);
    exchange(&mut other, "PING", "+PONG\r\n");
}

#[test]
fn replies_reach_a_client_that_has_stopped_sending() {
    let authority = Authority::new();
    let sdl = start(config(credentials(&authority)));
    let mut client = connect(&sdl, &authority, None);
    let value = "x".repeat(200_000);
    exchange(&mut client, &format!("SET {{ns}},key {value}"), "+OK\r\n");
    const GETS: usize = 100;
    (0..GETS).for_each(|_| send(&mut client, "GET {ns},key"));
    client.conn.send_close_notify();
    client.flush().unwrap();
    client.sock.shutdown(std::net::Shutdown::Write).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let reply = format!("${}\r\n{value}\r\n", value.len());
    (0..GETS).for_each(|_| expect(&mut client, &reply));
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(sdl.counts().faults, 0);
}

#[test]
fn client_without_tls_1_3_is_refused() {
    let authority = Authority::new();
    let sdl = start(config(credentials(&authority)));
    // TLS 1.2 (RFC 5246 7.4.1.2): a random, no session, one cipher suite, no compression, groups and signature algorithms
    let mut hello = vec![22, 3, 1, 0, 63, 1, 0, 0, 59, 3, 3];
    hello.extend([7; 32]);
    hello.extend([0, 0, 2, 0xc0, 0x2f, 1, 0, 0, 16, 0, 10, 0, 4, 0, 2, 0, 29, 0, 13, 0, 4, 0, 2, 4, 3]);
    let mut client = socket(&sdl);
    client.write_all(&hello).unwrap();
    let mut alert = Vec::new();
    client.read_to_end(&mut alert).unwrap();
    assert_eq!(alert, [21, 3, 3, 0, 2, 2, 70], "a fatal alert: protocol version");
    wait_for("it is counted", || sdl.counts().faults == 1);
}

#[test]
fn replies_before_quit_arrive_at_a_slow_reader() {
    let authority = Authority::new();
    let sdl = start(config(credentials(&authority)));
    let mut client = connect(&sdl, &authority, None);
    let value = "x".repeat(200_000);
    exchange(&mut client, &format!("SET {{ns}},key {value}"), "+OK\r\n");
    const GETS: usize = 100;
    (0..GETS).for_each(|_| send(&mut client, "GET {ns},key"));
    send(&mut client, "QUIT");
    // the buffers of the sockets are full meanwhile
    std::thread::sleep(Duration::from_millis(300));
    let reply = format!("${}\r\n{value}\r\n", value.len());
    (0..GETS).for_each(|_| expect(&mut client, &reply));
    expect(&mut client, "+OK\r\n");
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn new_clients_get_a_renewed_certificate() {
    let (authority, successor) = (Authority::new(), Authority::new());
    let tls = credentials(&authority);
    let sdl = start(config(tls.clone()));
    let mut client = connect(&sdl, &authority, None);
    exchange(&mut client, "PING", "+PONG\r\n");
    let renewed = successor.issue(&["127.0.0.1"], |_| ());
    std::fs::copy(&renewed.certificate, authority.path("sdl.pem")).unwrap();
    assert!(matches!(tls.reload(), Renewal::Failed(_)), "the key is missing");
    exchange(&mut connect(&sdl, &authority, None), "PING", "+PONG\r\n");
    std::fs::copy(&renewed.key, authority.path("sdl.key")).unwrap();
    assert!(matches!(tls.reload(), Renewal::Renewed));
    let refused = refusal(&mut connect(&sdl, &authority, None));
    assert!(refused.contains("UnknownIssuer"), "{refused}");
    exchange(&mut connect(&sdl, &successor, None), "PING", "+PONG\r\n");
    exchange(&mut client, "PING", "+PONG\r\n");
}

#[test]
fn addresses_of_several_kinds_share_a_store() {
    let authority = Authority::new();
    let path = authority.path("socket");
    let urls = ["tcp://127.0.0.1:0".to_owned(), "tls://127.0.0.1:0".to_owned(), format!("unix:{}", path.display())];
    let addresses = urls.iter().map(|url| url.parse().unwrap()).collect();
    let sdl = start(Config { addresses, ..config(credentials(&authority)) });
    let [Address::Tcp { port: plain, .. }, Address::Tls { port: tls, .. }, _] = sdl.addresses() else {
        panic!("{:?}", sdl.addresses())
    };
    let socket = |port: &u16| TcpStream::connect(("127.0.0.1", *port)).unwrap();
    exchange(&mut socket(plain), "SET {ns},key 1", "+OK\r\n");
    exchange(&mut client_over(socket(tls), authority.ca(), None), "INCR {ns},key", ":2\r\n");
    exchange(&mut std::os::unix::net::UnixStream::connect(&path).unwrap(), "INCR {ns},key", ":3\r\n");
}

#[test]
fn addresses_that_protect_nothing_are_refused() {
    let authority = Authority::new();
    let tls = credentials(&authority);
    let refused = |config| Sdl::start(config, LogBudget::new(1000)).unwrap_err();
    let at = |url: &str| Config { tls: Some(tls.clone()), ..Config::new(url.parse().unwrap()) };
    assert!(matches!(refused(at("tls://0.0.0.0:0")), Error::Open(_)));
    start(Config { requires_certificate: true, ..at("tls://0.0.0.0:0") });
    start(Config { access: access(&authority, TOKENS), ..at("tls://0.0.0.0:0") });
    let plain = refused(Config { requires_certificate: true, ..at("tcp://127.0.0.1:0") });
    assert!(matches!(plain, Error::Plain) && plain.to_string().contains("give a tls:// address"), "{plain}");
    let plain = refused(Config { access: access(&authority, TOKENS), ..at("unix:/tmp/sdl") });
    assert!(matches!(plain, Error::Plain), "{plain}");
    // beside a plain address that only this host reaches
    let both = |plain: &str| Config {
        addresses: vec![plain.parse().unwrap(), "tls://0.0.0.0:0".parse().unwrap()],
        requires_certificate: true,
        ..at("tls://0.0.0.0:0")
    };
    assert!(matches!(refused(both("tcp://0.0.0.0:0")), Error::Open(_)));
    assert_eq!(start(both("tcp://127.0.0.1:0")).addresses().len(), 2);
    for count in [0, sdl::MAX_ADDRESSES + 1] {
        let addresses = vec!["tcp://127.0.0.1:0".parse().unwrap(); count];
        assert!(matches!(refused(Config { addresses, ..at("tls://127.0.0.1:0") }), Error::Count(_)), "{count}");
    }
    let without = refused(Config { tls: None, ..at("tls://127.0.0.1:0") });
    assert!(matches!(without, Error::NoCredentials(_)) && without.to_string().contains("--tls-cert"), "{without}");
}
