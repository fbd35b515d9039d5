//! Endpoints that send to each other by their route tables.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;

use rmr::{Message, MessageType, NO_SUBSCRIPTION};

use super::*;

/// How long a test waits.
const PATIENCE: Duration = Duration::from_secs(10);

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn options(collector: Collector) -> Options {
    let port = free_port();
    Options {
        bind: Ipv4Addr::LOCALHOST.into(),
        port,
        name: format!("127.0.0.1:{port}"),
        collector,
        seed: None,
        request_period: Duration::from_secs(1),
        payload_octets: 1024,
    }
}

fn receiver() -> Endpoint {
    Endpoint::open(options(Collector::None)).unwrap()
}

fn await_ready(endpoint: &Endpoint) {
    let begun = Instant::now();
    while !endpoint.is_ready() {
        assert!(begun.elapsed() < PATIENCE, "no route table");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn header(kind: i32) -> Header<'static> {
    Header { kind: MessageType(kind), source: "test:1", ..Header::default() }
}

/// A file with a route table that is removed at the end.
struct Seed(PathBuf);

impl Seed {
    fn new(name: &str, text: &str) -> Seed {
        let path = std::env::temp_dir().join(format!("ferric-rmr-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Seed(path)
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn messages_go_in_turn_to_the_endpoints_of_the_seed_file() {
    let (a, b) = (receiver(), receiver());
    let (of_a, of_b) = (a.options().name.clone(), b.options().name.clone());
    let seed = Seed::new("seed", &format!("newrt|start\nmse|1|-1|{of_a},{of_b}\nnewrt|end|1\n"));
    let sender = Endpoint::open(Options { seed: Some(seed.0.clone()), ..options(Collector::File) }).unwrap();
    await_ready(&sender);
    for payload in [b"1", b"2", b"3"] {
        sender.send(&header(1), payload).unwrap();
    }
    let payloads = |endpoint: &Endpoint, count: usize| -> Vec<Vec<u8>> {
        let next = || endpoint.receive(Some(PATIENCE)).expect("a message").octets;
        (0..count).map(|_| Message::read(&next()).unwrap().payload.to_vec()).collect()
    };
    assert_eq!((payloads(&a, 2), payloads(&b, 1)), (vec![b"1".to_vec(), b"3".to_vec()], vec![b"2".to_vec()]));
    assert_eq!(sender.send(&header(2), b"x"), Err(SendError::NoEndpoint));
    // an endpoint that is gone: the other one of the group has its turn next
    a.close();
    let results: Vec<_> = (0..4).map(|_| sender.send(&header(1), b"y").is_ok()).collect();
    assert!(results.iter().any(|sent| *sent), "{results:?}");
    sender.close();
    assert_eq!(sender.send(&header(1), b"z"), Err(SendError::NoEndpoint));
}

#[test]
fn route_manager_is_asked_for_a_table_and_told_its_state() {
    let manager = receiver();
    let collector = Collector::Request { manager: manager.options().name.clone(), port: free_port() };
    let endpoint = Endpoint::open(options(collector)).unwrap();
    let request = manager.receive(Some(PATIENCE)).expect("a request");
    let message = Message::read(&request.octets).unwrap();
    assert_eq!((message.kind, message.subscription_id), (MessageType::TABLE_REQUEST, 0));
    assert!(message.payload.starts_with(endpoint.options().name.as_bytes()));
    assert!(!endpoint.is_ready());
    let table = |text: &[u8]| manager.send_on(request.connection, &header(MessageType::TABLE_DATA.0), text).unwrap();
    let state = || {
        let state = loop {
            let message = manager.receive(Some(PATIENCE)).expect("a state");
            // it may have asked again before the table arrived
            if Message::read(&message.octets).unwrap().kind == MessageType::TABLE_STATE {
                break message;
            }
        };
        String::from_utf8(Message::read(&state.octets).unwrap().payload.to_vec()).unwrap()
    };
    table(b"newrt|start|wrong\nmse|1|-1|nowhere\nnewrt|end|1\n");
    assert!(state().starts_with("ERR wrong `nowhere` is not an endpoint"), "the reason");
    assert!(!endpoint.is_ready());
    table(b"newrt|start|right\n");
    table(format!("mse|1|-1|{}\nnewrt|end|1\n", manager.options().name).as_bytes());
    assert!(state().starts_with("OK right"));
    await_ready(&endpoint);
    endpoint.send(&header(1), b"hello").unwrap();
    let message = manager.receive(Some(PATIENCE)).expect("the message");
    assert_eq!(Message::read(&message.octets).unwrap().payload, b"hello");
}

#[test]
fn route_manager_may_connect() {
    let port = free_port();
    let endpoint = Endpoint::open(options(Collector::Listen(port))).unwrap();
    let manager = receiver();
    let table = format!("newrt|start|t\nmse|1|-1|{}\nnewrt|end|1\n", manager.options().name);
    manager.send_to(&format!("127.0.0.1:{port}"), &header(MessageType::TABLE_DATA.0), table.as_bytes()).unwrap();
    await_ready(&endpoint);
    // a table from elsewhere is a message like any other
    let other = format!("newrt|start|t\nmse|9|-1|{}\nnewrt|end|1\n", manager.options().name);
    manager.send_to(&endpoint.options().name, &header(MessageType::TABLE_DATA.0), other.as_bytes()).unwrap();
    let received = endpoint.receive(Some(PATIENCE)).expect("a message");
    assert_eq!(Message::read(&received.octets).unwrap().kind, MessageType::TABLE_DATA);
    assert_eq!(endpoint.send(&header(9), b"x"), Err(SendError::NoEndpoint));
}

#[test]
fn malformed_message_ends_its_connection() {
    let endpoint = receiver();
    let mut bad = TcpStream::connect(&endpoint.options().name).unwrap();
    bad.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut octets = Vec::new();
    Header { subscription_id: NO_SUBSCRIPTION, ..header(1) }.write(0, &mut octets);
    octets[54..58].copy_from_slice(&[0x7F, 0xFF, 0xFF, 0xFF]);
    bad.write_all(&octets).unwrap();
    assert!(matches!(bad.read(&mut [0]), Ok(0) | Err(_)), "it is closed");
    let sender = receiver();
    sender.send_to(&endpoint.options().name, &header(1), b"well").unwrap();
    assert!(endpoint.receive(Some(PATIENCE)).is_some());
}

#[test]
fn messages_arrive_while_the_host_of_the_route_manager_is_looked_up() {
    let manager = receiver();
    let port = manager.options().port;
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let resolver = Resolver::new(move |_, port| {
        // ends also if the test has failed
        let _ = wait.lock().unwrap().recv();
        Ok(vec![(Ipv4Addr::LOCALHOST, port).into()])
    });
    let collector = Collector::Request { manager: format!("routemgr.test:{port}"), port: free_port() };
    // it is not asked again within the test: the answer of the resolver wakes the thread
    let options = Options { request_period: 100 * PATIENCE, ..options(collector) };
    let endpoint = Endpoint::with_resolver(options, resolver).unwrap();
    let sender = receiver();
    sender.send_to(&endpoint.options().name, &header(1), b"meanwhile").unwrap();
    let message = endpoint.receive(Some(PATIENCE)).expect("the message");
    assert_eq!(Message::read(&message.octets).unwrap().payload, b"meanwhile");
    assert!(manager.receive(Some(Duration::ZERO)).is_none());
    drop(release);
    let request = manager.receive(Some(PATIENCE)).expect("a request");
    assert_eq!(Message::read(&request.octets).unwrap().kind, MessageType::TABLE_REQUEST);
}
