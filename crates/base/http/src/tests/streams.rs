//! Streams: Server-Sent Events and WebSocket, their bounds, and readers that misbehave.

use std::sync::{Arc, Mutex};

use fastwebsockets::{Frame, OpCode, Role as Side, WebSocket};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::{Broadcast, StreamEvent, StreamForms};

/// A server with two streams: `/events` in both forms, `/socket` by WebSocket only.
pub(super) struct Streaming {
    pub(super) rest: Server,
    pub(super) events: Broadcast,
    senders: Arc<Mutex<Vec<crate::StreamSender>>>,
}

pub(super) fn config() -> ServerConfig {
    ServerConfig { max_connections: 64, max_stream_events: 4, stream_ping: Duration::from_millis(50), ..small() }
}

impl Streaming {
    pub(super) fn start(config: ServerConfig) -> Self {
        let (events, senders) = (Broadcast::default(), Arc::<Mutex<Vec<_>>>::default());
        let (readers, kept) = (events.clone(), Arc::clone(&senders));
        let open = move |request: &Request| {
            let (sender, response) = request.open_stream();
            let topics = readers.add(1, sender);
            Ok(response.filtered_by(move |members| match members.get("topics").and_then(serde_json::Value::as_u64) {
                Some(set) => {
                    topics.set(set as u32);
                    Ok(())
                }
                None => Err("topics: a number".to_owned()),
            }))
        };
        let keep = move |request: &Request| {
            let (sender, response) = request.open_stream();
            kept.lock().unwrap().push(sender);
            Ok(response)
        };
        let get = |path| Operation::get(path, "", "");
        let oauth2 = crate::OAuth2 { token_url: "/token".to_owned(), scope: "all", about: "" };
        let routes = vec![
            Route::new(get("/events").streams::<serde_json::Value>(StreamForms::Both, ""), open).takes_oauth2(&oauth2),
            Route::new(get("/socket").streams::<serde_json::Value>(StreamForms::WebSocket, ""), keep),
            Route::new(get("/hello"), |_| Ok(Response::ok("world"))),
        ];
        Streaming { rest: Server::start(config, routes).unwrap(), events, senders }
    }

    /// Publishes numbers as soon as somebody reads.
    pub(super) fn publish(&self, numbers: std::ops::Range<u32>) {
        testkit::eventually("a reader", || self.events.is_read());
        numbers.for_each(|number| self.events.publish(1, || StreamEvent::new("number", &json!(number))));
    }
}

/// Reads a stream of Server-Sent Events without comments, after the head of the response.
fn read_event(client: &mut Client) -> Option<(String, serde_json::Value)> {
    let mut kind = String::new();
    loop {
        let line = client.line()?;
        let line = line.trim_end();
        if let Some(name) = line.strip_prefix("event: ") {
            kind = name.to_owned();
        } else if let Some(data) = line.strip_prefix("data: ") {
            return Some((kind, serde_json::from_str(data).unwrap()));
        }
    }
}

fn open_events(address: SocketAddr) -> Client {
    let mut client = Client::connect(address);
    client.write(b"GET /events HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n");
    client
}

#[test]
fn events_arrive_as_server_sent_events_with_pings_between() {
    let streaming = Streaming::start(config());
    let mut client = open_events(streaming.rest.address());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        head += &client.line().unwrap();
    }
    for piece in
        ["HTTP/1.1 200 OK\r\n", "content-type: text/event-stream\r\n", "cache-control: no-store\r\n", "x-request-id: "]
    {
        assert!(head.contains(piece), "{head}");
    }
    streaming.publish(0..3);
    for number in 0..3 {
        assert_eq!(read_event(&mut client), Some(("number".into(), json!(number))));
    }
    let mut lines = std::iter::from_fn(|| client.line());
    assert!(lines.any(|line| line == ": ping\n"), "the connection ended");
    // a stream is older than its connection may be, and other connections are served
    is_served(streaming.rest.address());
}

#[test]
fn stream_outlives_the_time_of_its_connection() {
    let streaming = Streaming::start(ServerConfig {
        connection_lifetime: Duration::from_millis(100),
        response_timeout: Duration::from_millis(50),
        read_timeout: Duration::from_millis(50),
        ..config()
    });
    let mut client = open_events(streaming.rest.address());
    testkit::eventually("a reader", || streaming.events.is_read());
    std::thread::sleep(Duration::from_millis(600));
    streaming.publish(7..8);
    assert_eq!(read_event(&mut client), Some(("number".into(), json!(7))));
}

#[test]
fn reader_that_takes_nothing_is_disconnected_and_forgotten() {
    let streaming = Streaming::start(ServerConfig { max_streams: 1, max_stream_events: 100_000, ..config() });
    let stuck = open_events(streaming.rest.address());
    testkit::eventually("a reader", || streaming.events.is_read());
    // more than the buffers of both ends of a connection
    let long = json!("x".repeat(100_000));
    let deadline = Instant::now() + PATIENCE;
    while streaming.events.is_read() {
        streaming.events.publish(1, || StreamEvent::new("long", &long));
        assert!(Instant::now() < deadline, "the reader is never disconnected");
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(stuck);
    let mut other = open_events(streaming.rest.address());
    streaming.publish(1..2);
    assert_eq!(read_event(&mut other), Some(("number".into(), json!(1))));
}

#[test]
fn slow_reader_is_told_what_it_lost() {
    let streaming = Streaming::start(ServerConfig { stream_ping: PATIENCE, ..config() });
    let mut client = open_events(streaming.rest.address());
    testkit::eventually("a reader", || streaming.events.is_read());
    // until the buffers of the connection are full, and the stream's queue of four
    let long = json!("x".repeat(200_000));
    let sent = 200_u64;
    for _ in 0..sent {
        streaming.events.publish(1, || StreamEvent::new("long", &long));
        std::thread::sleep(Duration::from_millis(1));
    }
    streaming.events.publish(1, || StreamEvent::new("last", &json!(0)));
    let (mut received, mut lost) = (0, 0);
    loop {
        let (kind, data) = read_event(&mut client).expect("the stream is open");
        match &*kind {
            "long" => received += 1,
            "lost" => {
                lost += data["events"].as_u64().unwrap();
                assert_eq!(data["total"], lost);
            }
            "last" => break,
            other => panic!("{other}"),
        }
    }
    assert!(lost > 0, "the test is too small for the buffers of this host");
    assert_eq!(received + lost, sent);
}

#[test]
fn streams_are_bounded_in_total_and_by_host() {
    let streaming =
        Streaming::start(ServerConfig { max_streams: 4, max_host_percent: 50, max_connections: 64, ..config() });
    let open: Vec<_> = (0..2)
        .map(|_| {
            let mut client = open_events(streaming.rest.address());
            assert_eq!(client.line().as_deref(), Some("HTTP/1.1 200 OK\r\n"));
            client
        })
        .collect();
    let mut third = open_events(streaming.rest.address());
    third.receive().expect_problem(503, &["too many streams of this host, which may have 2"]);
    drop(open);
    testkit::eventually("a place", || {
        let mut client = open_events(streaming.rest.address());
        client.line().as_deref() == Some("HTTP/1.1 200 OK\r\n")
    });
}

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

fn handshake(path: &str, more: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: keep-alive, Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: {KEY}\r\n{more}\r\n"
    )
}

/// Opens a WebSocket. Returns the head of the response and the connection.
pub(super) async fn open_socket(address: SocketAddr, path: &str, more: &str) -> (String, TcpStream) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(handshake(path, more).as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    (String::from_utf8(head).unwrap(), stream)
}

/// Runs a client until it ends.
pub(super) fn run<T>(client: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, client).await.expect("in time") })
}

/// Reads the next text or close frame. The client answers pings by itself.
pub(super) async fn next(socket: &mut WebSocket<TcpStream>) -> (OpCode, Vec<u8>) {
    loop {
        let frame = socket.read_frame().await.unwrap();
        if matches!(frame.opcode, OpCode::Text | OpCode::Close) {
            return (frame.opcode, frame.payload.to_vec());
        }
    }
}

pub(super) fn message(payload: &[u8]) -> serde_json::Value {
    serde_json::from_slice(payload).unwrap()
}

#[test]
fn independent_client_reads_a_websocket() {
    let streaming = Streaming::start(config());
    run(async {
        let (head, stream) =
            open_socket(streaming.rest.address(), "/events", "sec-websocket-protocol: ferric.v1\r\n").await;
        for piece in [
            "HTTP/1.1 101 Switching Protocols\r\n",
            // RFC 6455 1.3
            "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n",
            "sec-websocket-protocol: ferric.v1\r\n",
            "x-request-id: ",
        ] {
            assert!(head.contains(piece), "{head}");
        }
        let mut socket = WebSocket::after_handshake(stream, Side::Client);
        streaming.publish(0..3);
        for number in 0..3 {
            let (_, payload) = next(&mut socket).await;
            assert_eq!(message(&payload), json!({ "event": "number", "data": number }));
        }
        // it stays open over many pings
        tokio::time::timeout(Duration::from_millis(400), next(&mut socket)).await.unwrap_err();
        streaming.publish(3..4);
        assert_eq!(message(&next(&mut socket).await.1)["data"], 3);
        socket.write_frame(Frame::close(1000, b"bye")).await.unwrap();
        testkit::eventually("that the reader is forgotten", || {
            streaming.events.publish(1, || StreamEvent::new("number", &json!(0)));
            !streaming.events.is_read()
        });
    });
}

#[test]
fn end_of_a_stream_closes_its_websocket() {
    let streaming = Streaming::start(config());
    run(async {
        let (_, stream) = open_socket(streaming.rest.address(), "/socket", "").await;
        let mut socket = WebSocket::after_handshake(stream, Side::Client);
        let sender = streaming.senders.lock().unwrap().pop().unwrap();
        assert!((0..3).all(|number| sender.send(StreamEvent::new("number", &json!(number)))));
        drop(sender);
        for number in 0..3 {
            assert_eq!(message(&next(&mut socket).await.1)["data"], number);
        }
        let (opcode, payload) = next(&mut socket).await;
        assert_eq!(
            (opcode, &payload[..2], &payload[2..]),
            (OpCode::Close, &1000_u16.to_be_bytes()[..], &b"the stream has ended"[..])
        );
    });
    let mut plain = Client::connect(streaming.rest.address());
    let refused = plain.request("GET", "/socket", None);
    refused.expect_problem(426, &["WebSocket"]);
    assert_eq!(refused.header("upgrade"), Some("websocket"));
}

/// Returns the status code with which the server closes after some octets.
fn close_code_after(address: SocketAddr, octets: &[u8]) -> Option<u16> {
    run(async {
        let (_, mut stream) = open_socket(address, "/events", "").await;
        stream.write_all(octets).await.unwrap();
        let mut received = Vec::new();
        let _ = stream.read_to_end(&mut received).await; // a reset ends it as well
        // pings without content are 0x89 0x00
        let close = received.chunks(2).position(|frame| frame[0] == 0x88)?;
        Some(u16::from_be_bytes(received[2 * close + 2..2 * close + 4].try_into().unwrap()))
    })
}

#[test]
fn malformed_frames_close_the_socket_with_a_reason() {
    let streaming = Streaming::start(ServerConfig { stream_ping: Duration::from_millis(300), ..config() });
    let address = streaming.rest.address();
    let masked = |head: &[u8], payload: &[u8]| [head, &[0; 4], payload].concat();
    for (octets, code) in [
        (masked(&[0x82, 0x82], b"hi"), 1003),                                  // binary
        (vec![0x81, 0x02, b'h', b'i'], 1002),                                  // not masked
        (masked(&[0xc1, 0x82], b"hi"), 1002),                                  // a reserved bit
        (masked(&[0x83, 0x80], b""), 1002),                                    // a reserved opcode
        (masked(&[0x09, 0x80], b""), 1002),                                    // a fragmented ping
        (masked(&[0x80, 0x80], b""), 1002),                                    // a continuation of nothing
        (masked(&[0x89, 0xfe, 0, 200], &[0; 200]), 1002),                      // a long ping
        (masked(&[0x81, 0x82], b"\xff\xff"), 1007),                            // not UTF-8
        (masked(&[0x82, 0xff, 0, 0, 0, 0, 0x7f, 0, 0, 0], b"too much"), 1009), // 2 GiB announced
    ] {
        assert_eq!(close_code_after(address, &octets), Some(code), "{octets:x?}");
        is_served(address);
    }
}

#[test]
fn wrong_handshakes_are_refused() {
    let streaming = Streaming::start(config());
    let right = handshake("/events", "");
    for (request, status, piece) in [
        (right.replace("version: 13", "version: 8"), 426, "version 13"),
        (right.replace("connection: keep-alive, Upgrade\r\n", ""), 400, "Connection: Upgrade"),
        (right.replace(KEY, "c2hvcnQ="), 400, "Sec-WebSocket-Key"),
        (right.replace(&format!("sec-websocket-key: {KEY}\r\n"), ""), 400, "Sec-WebSocket-Key"),
        (right.replace("HTTP/1.1", "HTTP/1.0"), 400, "HTTP/1.1"),
        (handshake("/events", "origin: https://evil.example\r\n"), 403, "https://evil.example"),
        (handshake("/events", "origin: null\r\n"), 403, "null"),
    ] {
        let mut client = Client::connect(streaming.rest.address());
        client.write(request.as_bytes());
        client.receive().expect_problem(status, &[piece]);
    }
    // an upgrade of what is no stream is ignored (RFC 9110 7.8)
    let mut client = Client::connect(streaming.rest.address());
    client.write(handshake("/hello", "").as_bytes());
    assert_eq!(client.receive().expect(200), "world");
    run(async {
        let (head, _) = open_socket(streaming.rest.address(), "/events", "origin: http://localhost\r\n").await;
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    });
}

#[test]
fn stream_needs_a_token_and_ends_with_it() {
    let folder = testkit::certificates::Authority::new();
    let write = |text: &str| folder.write("tokens", text);
    let file = write("read 0123456789abcdef\nread fedcba9876543210\n");
    let access = crate::Access::load(crate::AccessFiles { tls: None, tokens: Some(file) }).unwrap();
    let streaming = Streaming::start(ServerConfig { access, ..config() });
    let address = streaming.rest.address();
    open_events(address).receive().expect_problem(401, &["no bearer token"]);
    // base64url of 0123456789abcdef
    let offered = "sec-websocket-protocol: ferric.v1, bearer.MDEyMzQ1Njc4OWFiY2RlZg\r\n";
    run(async {
        let wrong = "sec-websocket-protocol: bearer.AAAA\r\n";
        assert!(open_socket(address, "/events", wrong).await.0.starts_with("HTTP/1.1 401 "));
        let (head, stream) = open_socket(address, "/events", offered).await;
        assert!(head.starts_with("HTTP/1.1 101 ") && head.contains("sec-websocket-protocol: ferric.v1\r\n"), "{head}");
        let mut socket = WebSocket::after_handshake(stream, Side::Client);
        streaming.publish(0..1);
        assert_eq!(message(&next(&mut socket).await.1)["data"], 0);
        let mut events = Client::connect(address);
        events.write(b"GET /events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer 0123456789abcdef\r\n\r\n");
        assert_eq!(events.line().as_deref(), Some("HTTP/1.1 200 OK\r\n"));
        write("read fedcba9876543210\n# the other one is revoked\n");
        streaming.rest.access_handle().reload();
        let (opcode, payload) = next(&mut socket).await;
        assert_eq!((opcode, &payload[..2]), (OpCode::Close, &1008_u16.to_be_bytes()[..]));
        while events.line().is_some_and(|line| line != "0\r\n") {}
    });
}

#[cfg(feature = "tls")]
#[test]
fn streams_work_through_tls() {
    use std::io::{BufRead, BufReader, Write};

    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};

    let authority = testkit::certificates::Authority::new();
    let files = authority.issue_as("server", &["127.0.0.1"], |_| ());
    let tls = crate::TlsFiles { certificate: files.certificate, key: files.key, client_ca: None };
    let access = crate::Access::load(crate::AccessFiles { tls: Some(tls), tokens: None }).unwrap();
    let streaming = Streaming::start(ServerConfig { access, ..config() });
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority.ca()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    for request in ["GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(), handshake("/events", "")] {
        let socket = std::net::TcpStream::connect(streaming.rest.address()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let client = rustls::ClientConnection::new(Arc::clone(&config), name).unwrap();
        let mut stream = BufReader::new(rustls::StreamOwned::new(client, socket));
        stream.get_mut().write_all(request.as_bytes()).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            stream.read_line(&mut head).unwrap();
        }
        assert!(head.starts_with("HTTP/1.1 200 ") || head.starts_with("HTTP/1.1 101 "), "{head}");
        streaming.publish(5..6);
        let mut octets = Vec::new();
        while !octets.windows(6).any(|octets| octets == b"number") {
            let read = stream.fill_buf().unwrap();
            assert!(!read.is_empty(), "the stream has ended");
            octets.extend_from_slice(read);
            let count = read.len();
            stream.consume(count);
        }
    }
}
