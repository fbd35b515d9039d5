//! Clients over sockets, with what they must not be able to do.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use link::Address;
use log_lines::LogBudget;
use sdl::{Change, Config, Error, Limits, Sdl};

const PATIENCE: Duration = Duration::from_secs(20);

fn start(limits: Limits) -> Sdl {
    let config = Config { limits, ..Config::new("tcp://127.0.0.1:0".parse().unwrap()) };
    Sdl::start(config, LogBudget::new(1000)).unwrap()
}

fn connect(sdl: &Sdl) -> TcpStream {
    let Address::Tcp { host, port } = sdl.address() else { panic!("{}", sdl.address()) };
    let client = TcpStream::connect((host.as_str(), *port)).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client
}

fn request(words: &[&[u8]]) -> Vec<u8> {
    let mut octets = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        octets.extend(format!("${}\r\n", word.len()).into_bytes());
        octets.extend_from_slice(word);
        octets.extend(b"\r\n");
    }
    octets
}

/// Sends a command, whose arguments have no spaces.
fn send(client: &mut impl Write, command: &str) {
    let words: Vec<_> = command.split(' ').map(str::as_bytes).collect();
    client.write_all(&request(&words)).unwrap();
}

fn expect(client: &mut impl Read, reply: &str) {
    let mut octets = vec![0; reply.len()];
    client.read_exact(&mut octets).unwrap();
    assert_eq!(String::from_utf8_lossy(&octets), reply);
}

fn exchange(client: &mut (impl Read + Write), command: &str, reply: &str) {
    send(client, command);
    expect(client, reply);
}

/// Waits until the service has closed a connection, and returns what it sent before.
fn rest(client: &mut impl Read) -> String {
    let mut octets = Vec::new();
    match client.read_to_end(&mut octets) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("{error}"),
    }
    String::from_utf8_lossy(&octets).into_owned()
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ferric-sdl-server-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path); // of an earlier run
        TemporaryFile(path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let sdl = start(Limits::default());
    let mut client = connect(&sdl);
    let mut sender = client.try_clone().unwrap();
    const REQUESTS: usize = 5000;
    let thread = std::thread::spawn(move || {
        for at in 0..REQUESTS {
            send(&mut sender, &format!("SET {{ns}},key {at}"));
            send(&mut sender, "GET {ns},key");
        }
    });
    for at in 0..REQUESTS {
        expect(&mut client, &format!("+OK\r\n${}\r\n{at}\r\n", at.to_string().len()));
    }
    thread.join().unwrap();
    exchange(&mut client, "QUIT", "+OK\r\n");
    assert_eq!(rest(&mut client), "");
    wait_for("the connection is counted after its end", || sdl.counts().connections == 0);
    assert_eq!((sdl.counts().admitted, sdl.counts().faults), (1, 0));
}

#[test]
fn notification_reaches_subscribers_after_the_change() {
    let sdl = start(Limits::default());
    let (mut subscriber, mut client, mut reader) = (connect(&sdl), connect(&sdl), connect(&sdl));
    exchange(&mut subscriber, "SUBSCRIBE {ns},ch", "*3\r\n$9\r\nsubscribe\r\n$7\r\n{ns},ch\r\n:1\r\n");
    let mut third = connect(&sdl);
    send(&mut third, "HELLO 3");
    send(&mut third, "SUBSCRIBE {ns},ch");
    let mut hello = vec![0; 4];
    third.read_exact(&mut hello).unwrap();
    assert_eq!(hello, b"%7\r\n");
    let confirmed = b">3\r\n$9\r\nsubscribe\r\n$7\r\n{ns},ch\r\n:1\r\n";
    while !hello.ends_with(confirmed) {
        let mut octet = [0];
        third.read_exact(&mut octet).unwrap();
        hello.extend(octet);
    }
    exchange(&mut client, "MSETMPUB 1 1 {ns},key value {ns},ch event", "+OK\r\n");
    expect(&mut third, ">3\r\n$7\r\nmessage\r\n$7\r\n{ns},ch\r\n$5\r\nevent\r\n");
    expect(&mut subscriber, "*3\r\n$7\r\nmessage\r\n$7\r\n{ns},ch\r\n$5\r\nevent\r\n");
    exchange(&mut reader, "GET {ns},key", "$5\r\nvalue\r\n");
    let changes = vec![
        Change::Set { key: b"{ns},own".to_vec(), octets: b"1".to_vec() },
        Change::AddMember { key: b"{ns},group".to_vec(), member: b"a".to_vec() },
        Change::Remove { key: b"{ns},key".to_vec() },
        Change::Publish { channel: b"{ns},ch".to_vec(), message: b"own".to_vec() },
    ];
    let (sender, observed) = std::sync::mpsc::channel();
    sdl.handle().observe(b"{ns},ch".to_vec(), Box::new(move |message| sender.send(message.to_vec()).unwrap()));
    assert!(sdl.handle().apply(changes));
    assert_eq!(observed.recv_timeout(PATIENCE).unwrap(), b"own");
    assert_eq!(sdl.handle().read(b"ns"), [(b"{ns},own".to_vec(), b"1".to_vec())], "a group has no octets");
    expect(&mut subscriber, "*3\r\n$7\r\nmessage\r\n$7\r\n{ns},ch\r\n$3\r\nown\r\n");
    exchange(&mut reader, "MGET {ns},own {ns},key", "*2\r\n$1\r\n1\r\n$-1\r\n");
    exchange(&mut reader, "SMEMBERS {ns},group", "*1\r\n$1\r\na\r\n");
    assert!(sdl.handle().apply(vec![
        Change::Clear { namespace: b"ns".to_vec() },
        Change::Publish { channel: b"{ns},ch".to_vec(), message: b"end".to_vec() },
    ]));
    expect(&mut subscriber, "*3\r\n$7\r\nmessage\r\n$7\r\n{ns},ch\r\n$3\r\nend\r\n");
    exchange(&mut reader, "DBSIZE", ":0\r\n");
}

#[test]
fn store_is_what_it_was_after_a_restart() {
    let file = TemporaryFile::new("restart");
    let config = || Config { file: Some(file.0.clone()), ..Config::new("tcp://127.0.0.1:0".parse().unwrap()) };
    let sdl = Sdl::start(config(), LogBudget::new(1000)).unwrap();
    let mut client = connect(&sdl);
    exchange(&mut client, "SET {ns},key value", "+OK\r\n");
    exchange(&mut client, "SET {ns},lock token NX PX 3600000", "+OK\r\n");
    exchange(&mut client, "SET {ns},short token PX 1", "+OK\r\n");
    exchange(&mut client, "SADD {ns},group a b", ":2\r\n");
    exchange(&mut client, "SREM {ns},group a", ":1\r\n");
    assert!(matches!(Sdl::start(config(), LogBudget::new(1000)), Err(Error::File(_))), "the file is in use");
    drop(sdl);
    assert_eq!(rest(&mut client), "");
    let sdl = Sdl::start(config(), LogBudget::new(1000)).unwrap();
    let mut client = connect(&sdl);
    exchange(&mut client, "MGET {ns},key {ns},short", "*2\r\n$5\r\nvalue\r\n$-1\r\n");
    exchange(&mut client, "SMEMBERS {ns},group", "*1\r\n$1\r\nb\r\n");
    exchange(&mut client, "SET {ns},lock other NX PX 10", "$-1\r\n");
    exchange(&mut client, "PERSIST {ns},lock", ":1\r\n");
}

#[test]
fn malformed_request_ends_its_connection_only() {
    let sdl = start(Limits { max_request_octets: 1000, max_arguments: 10, ..Limits::default() });
    let mut other = connect(&sdl);
    for (octets, why) in [
        (&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], "begins with `*`"),
        (b"*11\r\n", "no elements or too many"),
        (b"*1\r\n$1001\r\n", "too long"),
        (b"*1\r\n$1\r\nabc\r\n", "does not end with CR LF"),
        (b"*2147483648\r\n", "too many"),
    ] {
        let mut client = connect(&sdl);
        client.write_all(octets).unwrap();
        let reply = rest(&mut client);
        assert!(reply.starts_with("-ERR Protocol error: ") && reply.contains(why), "{reply}");
        exchange(&mut other, "PING", "+PONG\r\n");
    }
    wait_for("all are counted", || sdl.counts().faults == 5);
}

#[test]
fn reason_reaches_a_client_that_sends_too_much_and_reads_later() {
    let sdl = start(Limits { max_request_octets: 1 << 20, ..Limits::default() });
    let mut client = connect(&sdl);
    client.write_all(&request(&[b"SET", b"{ns},key", &vec![b'x'; 9 << 20]])).unwrap();
    let mut reply = String::new();
    client.read_to_string(&mut reply).unwrap();
    assert_eq!(reply, "-ERR Protocol error: a request is too long\r\n");
    // one that goes on is cut off
    let mut client = connect(&sdl);
    client.write_all(&request(&[b"SET", b"{ns},key", &vec![b'x'; 2 << 20]])).unwrap();
    let begun = Instant::now();
    while client.write_all(b"x").is_ok() {
        assert!(begun.elapsed() < PATIENCE, "it sends for ever");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(client);
    wait_for("both have ended", || sdl.counts().connections == 0);
    assert_eq!(sdl.counts().faults, 2);
}

#[test]
fn subscriber_that_does_not_read_is_disconnected() {
    let sdl = start(Limits { max_queue_octets: 1 << 20, ..Limits::default() });
    let (mut slow, mut quick, mut client) = (connect(&sdl), connect(&sdl), connect(&sdl));
    exchange(&mut slow, "SUBSCRIBE {ns},ch", "*3\r\n$9\r\nsubscribe\r\n$7\r\n{ns},ch\r\n:1\r\n");
    exchange(&mut quick, "SUBSCRIBE {ns},other", "*3\r\n$9\r\nsubscribe\r\n$10\r\n{ns},other\r\n:1\r\n");
    let message = vec![b'x'; 100_000];
    let publish = request(&[b"PUBLISH", b"{ns},ch", &message]);
    let mut published = 0;
    while sdl.counts().slow_subscribers == 0 {
        client.write_all(&publish).unwrap();
        let mut reply = [0; 4];
        client.read_exact(&mut reply).unwrap();
        published += 1;
        assert!(published < 1000, "the queue of the subscriber is not bounded");
    }
    exchange(&mut client, "PUBLISH {ns},other event", ":1\r\n");
    expect(&mut quick, "*3\r\n$7\r\nmessage\r\n$10\r\n{ns},other\r\n$5\r\nevent\r\n");
    exchange(&mut client, "PUBLISH {ns},ch event", ":0\r\n");
}

#[test]
fn client_that_does_not_read_replies_harms_nobody() {
    let limits = Limits { request_timeout: Duration::from_millis(600), max_queue_octets: 1 << 20, ..Limits::default() };
    let sdl = start(limits);
    let (mut slow, mut other) = (connect(&sdl), connect(&sdl));
    let value = "x".repeat(100_000);
    exchange(&mut other, &format!("SET {{ns}},key {value}"), "+OK\r\n");
    let get = request(&[b"GET", b"{ns},key"]);
    slow.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    // far more replies than the sockets' buffers take; the requests may not fit either
    for _ in 0..20_000 {
        if slow.write_all(&get).is_err() {
            break;
        }
    }
    exchange(&mut other, "PING", "+PONG\r\n");
    wait_for("a client that does not read is disconnected", || sdl.counts().connections == 1);
    exchange(&mut other, "PING", "+PONG\r\n");
}

#[test]
fn unfinished_request_and_missing_token_end_in_time() {
    let file = TemporaryFile::new("tokens");
    std::fs::write(&file.0, "xapp 0123456789abcdef write:ns\n").unwrap();
    let access = sdl::AccessList::load(&file.0).unwrap();
    let limits = Limits { request_timeout: Duration::from_millis(300), ..Limits::default() };
    let config = Config { access, limits, ..Config::new("tcp://127.0.0.1:0".parse().unwrap()) };
    let sdl = Sdl::start(config, LogBudget::new(1000)).unwrap();
    let mut silent = connect(&sdl);
    assert_eq!(rest(&mut silent), "");
    let mut client = connect(&sdl);
    exchange(&mut client, "AUTH xapp 0123456789abcdef", "+OK\r\n");
    std::thread::sleep(Duration::from_millis(700));
    exchange(&mut client, "SET {ns},key value", "+OK\r\n");
    client.write_all(b"*2\r\n$3\r\nGET\r\n$8\r\n{ns}").unwrap();
    assert_eq!(rest(&mut client), "");
    wait_for("both are counted", || sdl.counts().faults == 2);
}

#[test]
fn client_without_rights_may_send_little_and_try_few_tokens() {
    let file = TemporaryFile::new("few-tokens");
    std::fs::write(&file.0, "xapp 0123456789abcdef write:ns\n").unwrap();
    let access = sdl::AccessList::load(&file.0).unwrap();
    let limits = Limits { request_timeout: 3 * PATIENCE, ..Limits::default() };
    let config = Config { access, limits, ..Config::new("tcp://127.0.0.1:0".parse().unwrap()) };
    let sdl = Sdl::start(config, LogBudget::new(1000)).unwrap();
    let long = "x".repeat(20_000);
    let mut client = connect(&sdl);
    send(&mut client, &format!("SET {{ns}},key {long}"));
    let reply = rest(&mut client);
    assert!(reply.contains("too long; it has not authenticated"), "{reply}");
    let mut client = connect(&sdl);
    send(&mut client, &format!("DEL{}", " k".repeat(16)));
    assert!(rest(&mut client).contains("too many; it has not authenticated"));
    // what follows the token at once has the rights
    let mut client = connect(&sdl);
    send(&mut client, "AUTH 0123456789abcdef");
    send(&mut client, &format!("SET {{ns}},key {long}"));
    expect(&mut client, "+OK\r\n+OK\r\n");
    let wrong = "-WRONGPASS unknown token, or not that of this xApp\r\n";
    let mut client = connect(&sdl);
    for _ in 0..16 {
        exchange(&mut client, "AUTH xapp 0123456789abcdeX", wrong);
    }
    assert_eq!(rest(&mut client), "");
}

#[test]
fn replies_reach_a_client_that_has_stopped_sending() {
    let sdl = start(Limits::default());
    let mut client = connect(&sdl);
    let value = "x".repeat(200_000);
    exchange(&mut client, &format!("SET {{ns}},key {value}"), "+OK\r\n");
    const GETS: usize = 100;
    (0..GETS).for_each(|_| send(&mut client, "GET {ns},key"));
    // what is cut is not executed
    client.write_all(b"*2\r\n$3\r\nDEL\r\n$8\r\n{ns}").unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let reply = format!("${}\r\n{value}\r\n", value.len());
    (0..GETS).for_each(|_| expect(&mut client, &reply));
    assert_eq!(rest(&mut client), "");
    let mut subscriber = connect(&sdl);
    exchange(&mut subscriber, "SUBSCRIBE {ns},ch", "*3\r\n$9\r\nsubscribe\r\n$7\r\n{ns},ch\r\n:1\r\n");
    subscriber.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(rest(&mut subscriber), "");
    exchange(&mut connect(&sdl), "EXISTS {ns},key", ":1\r\n");
    assert_eq!(sdl.counts().faults, 0);
}

#[test]
fn rights_change_while_clients_are_connected() {
    let load = |content: &str| {
        let file = TemporaryFile::new("changing-tokens");
        std::fs::write(&file.0, content).unwrap();
        sdl::AccessList::load(&file.0).unwrap()
    };
    let access = load("one 0123456789abcdef write:a read:b\ntwo 123456789abcdefg write:a\ndefault - read:a\n");
    let config = Config { access, ..Config::new("tcp://127.0.0.1:0".parse().unwrap()) };
    let sdl = Sdl::start(config, LogBudget::new(1000)).unwrap();
    let (mut one, mut two, mut nobody) = (connect(&sdl), connect(&sdl), connect(&sdl));
    exchange(&mut one, "AUTH 0123456789abcdef", "+OK\r\n");
    exchange(&mut two, "AUTH 123456789abcdefg", "+OK\r\n");
    exchange(&mut two, "SET {a},key value", "+OK\r\n");
    exchange(&mut nobody, "GET {a},key", "$5\r\nvalue\r\n");
    exchange(&mut one, "SUBSCRIBE {b},ch", "*3\r\n$9\r\nsubscribe\r\n$6\r\n{b},ch\r\n:1\r\n");
    sdl.handle().set_access(load("one 0123456789abcdef write:a\n"));
    assert_eq!(rest(&mut two), "");
    exchange(&mut nobody, "GET {a},key", "-NOAUTH ");
    // without the right there is no subscription either
    exchange(&mut one, "GET {a},key", "$5\r\nvalue\r\n");
    exchange(&mut one, "GET {b},key", "-NOPERM ");
}

#[test]
fn memory_of_unfinished_requests_is_bounded() {
    let limits = Limits { max_request_octets: 64 << 20, max_buffer_octets: 4 << 20, ..Limits::default() };
    let sdl = start(limits);
    let mut other = connect(&sdl);
    let mut greedy = connect(&sdl);
    greedy.write_all(b"*1\r\n$60000000\r\n").unwrap();
    let piece = vec![b'x'; 1 << 16];
    let has_ended = (0..1000).any(|_| greedy.write_all(&piece).is_err());
    assert!(has_ended, "64 MiB were accepted");
    exchange(&mut other, "PING", "+PONG\r\n");
}

#[test]
fn connections_are_bounded_for_each_host() {
    let sdl = start(Limits { max_connections: 8, max_host_percent: 50, ..Limits::default() });
    let mut clients: Vec<_> = (0..4).map(|_| connect(&sdl)).collect();
    for client in &mut clients {
        exchange(client, "PING", "+PONG\r\n");
    }
    assert_eq!(rest(&mut connect(&sdl)), "");
    wait_for("the refusal is counted", || sdl.counts().refused == 1);
    drop(clients.pop());
    wait_for("a place is free again", || sdl.counts().connections == 3);
    exchange(&mut connect(&sdl), "PING", "+PONG\r\n");
}

#[test]
fn unix_socket_is_served_and_its_file_removed() {
    let path = TemporaryFile::new("socket");
    let address = || Config::address(&format!("unix:{}", path.0.display())).unwrap();
    // the file of a process that was killed
    drop(std::os::unix::net::UnixListener::bind(&path.0).unwrap());
    let sdl = Sdl::start(Config::new(address()), LogBudget::new(1000)).unwrap();
    let mut client = UnixStream::connect(&path.0).unwrap();
    exchange(&mut client, "SET {ns},key value", "+OK\r\n");
    assert!(matches!(Sdl::start(Config::new(address()), LogBudget::new(1000)), Err(Error::Bind(..))), "it is in use");
    drop(sdl);
    assert!(!path.0.exists());
}

#[test]
fn address_for_other_hosts_requires_tokens() {
    let config = Config::new("tcp://0.0.0.0:0".parse().unwrap());
    let error = Sdl::start(config, LogBudget::new(1000)).unwrap_err();
    assert!(matches!(error, Error::Open(_)) && error.to_string().contains("--sdl-tokens"), "{error}");
    assert_eq!(Config::address("tcp://127.0.0.1").unwrap().to_string(), "tcp://127.0.0.1:6379");
    assert!(Config::address("sctp://127.0.0.1:1").unwrap_err().contains("TCP, TLS or a Unix socket"));
}
