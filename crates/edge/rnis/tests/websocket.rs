//! Notifications by WebSocket, read with a library that shares no code with the server.

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fastwebsockets::{Frame, OpCode, Payload, Role, WebSocket};
use rest::{Server, ServerConfig};
use rnis::api::ApiConfig;
use rnis::{Criteria, Delivery, DeliveryConfig, Embedded, Key, NewSubscription, Service, Target, Topic};
use support::{send, target};
use testkit::eventually;
use testkit::http::Client;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const SEQUENCE: &[u8] = b"3GPP-WS-Notif-Seq: ";

/// A service with a subscription that has a WebSocket, and its REST interface.
struct Serving {
    service: Arc<Service>,
    key: Key,
    server: Server,
}

impl Serving {
    fn start() -> Self {
        let delivery = Delivery::start(DeliveryConfig::default()).unwrap();
        let connect = |sink| Ok::<_, std::convert::Infallible>(Box::new(Embedded::new(sink)) as _);
        let service = Arc::new(Service::new(delivery, connect).unwrap());
        let criteria = Criteria::all(Topic::CellChange);
        let target = Target::websocket(r#","_links":{}}"#);
        let (key, _) = service.subscribe(|_| NewSubscription::new("app", criteria, target)).unwrap();
        let config =
            ServerConfig { stream_ping: Duration::from_secs(1), ..ServerConfig::new("127.0.0.1:0".parse().unwrap()) };
        let server = Server::start(config, rnis::api::routes(&service, &ApiConfig::default()).unwrap()).unwrap();
        Serving { service, key, server }
    }

    fn send(&self, numbers: std::ops::Range<u64>) {
        send(self.service.delivery(), &[self.key.0], numbers);
    }

    fn state(&self) -> rnis::DeliveryState {
        self.service.delivery().state(self.key).unwrap()
    }

    async fn open(&self) -> WebSocket<TcpStream> {
        let (head, stream) = handshake(self.server.address(), &rnis::websocket_path(self.key)).await;
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        let mut socket = WebSocket::after_handshake(stream, Role::Client);
        socket.set_auto_pong(true);
        socket
    }
}

async fn handshake(address: SocketAddr, path: &str) -> (String, TcpStream) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    (String::from_utf8(head).unwrap(), stream)
}

/// The next message that is no ping.
async fn next(socket: &mut WebSocket<TcpStream>) -> (OpCode, Vec<u8>) {
    loop {
        let frame = socket.read_frame().await.unwrap();
        if matches!(frame.opcode, OpCode::Binary | OpCode::Text | OpCode::Close) {
            return (frame.opcode, frame.payload.to_vec());
        }
    }
}

/// The next notification: sequence number, and the number of the notification.
async fn notification(socket: &mut WebSocket<TcpStream>) -> (u32, u64) {
    let (opcode, message) = next(socket).await;
    assert_eq!(opcode, OpCode::Binary, "{}", String::from_utf8_lossy(&message));
    let (sequence, rest) = message.strip_prefix(SEQUENCE).unwrap().split_first_chunk().unwrap();
    let rest = std::str::from_utf8(rest).unwrap();
    let (head, body) = rest.split_once("\r\n\r\n").unwrap();
    assert_eq!(head, format!("\r\nContent-Type: application/json\r\nContent-Length: {}", body.len()));
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    (u32::from_be_bytes(*sequence), body["n"].as_u64().unwrap())
}

async fn answer(socket: &mut WebSocket<TcpStream>, sequence: u32, status: &str) {
    let mut message = SEQUENCE.to_vec();
    message.extend_from_slice(&sequence.to_be_bytes());
    message.extend_from_slice(format!("\r\nHTTP/1.1 {status}\r\nServer: test\r\n\r\n").as_bytes());
    socket.write_frame(Frame::binary(Payload::Owned(message))).await.unwrap();
}

fn run<T>(client: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(30), client).await.unwrap() })
}

#[test]
fn notifications_are_numbered_and_wait_for_their_answers() {
    let serving = Serving::start();
    // before the WebSocket is opened
    serving.send(0..2);
    assert_eq!((serving.state().waiting, serving.state().is_connected), (2, false));
    run(async {
        let mut socket = serving.open().await;
        serving.send(2..5);
        for number in 0..5 {
            assert_eq!(notification(&mut socket).await, (number as u32 + 1, number));
            assert_eq!(serving.state().delivered, number);
            answer(&mut socket, number as u32 + 1, "204 No Content").await;
        }
        eventually("five answers", || serving.state().delivered == 5);
        assert!(serving.state().is_connected);
        // silence, but for pings
        tokio::time::timeout(Duration::from_millis(1200), next(&mut socket)).await.unwrap_err();
    });
    eventually("the end of the WebSocket", || !serving.state().is_connected);
}

#[test]
fn unanswered_notification_is_sent_again_on_the_next_websocket() {
    let serving = Serving::start();
    serving.send(0..2);
    run(async {
        let mut socket = serving.open().await;
        assert_eq!(notification(&mut socket).await, (1, 0));
        // answers to numbers that are not its own change nothing
        answer(&mut socket, 7, "204 No Content").await;
        drop(socket);
        eventually("the end of the WebSocket", || !serving.state().is_connected);
        assert_eq!(serving.state().delivered, 0);
        let mut socket = serving.open().await;
        assert_eq!(notification(&mut socket).await, (1, 0));
        // a new one takes its place
        let mut other = serving.open().await;
        let (opcode, payload) = next(&mut socket).await;
        assert_eq!((opcode, &payload[..2]), (OpCode::Close, &1000_u16.to_be_bytes()[..]));
        assert_eq!(notification(&mut other).await, (1, 0));
        answer(&mut other, 1, "200 OK").await;
        assert_eq!(notification(&mut other).await, (2, 1));
    });
}

#[test]
fn refusals_and_failures_of_the_subscriber_count() {
    let serving = Serving::start();
    serving.send(0..3);
    run(async {
        let mut socket = serving.open().await;
        assert_eq!(notification(&mut socket).await, (1, 0));
        answer(&mut socket, 1, "400 Bad Request").await;
        // dropped, and the next one follows
        assert_eq!(notification(&mut socket).await, (2, 1));
        answer(&mut socket, 2, "503 Service Unavailable").await;
        // repeated
        assert_eq!(notification(&mut socket).await, (3, 1));
        answer(&mut socket, 3, "204 No Content").await;
        assert_eq!(notification(&mut socket).await, (4, 2));
    });
    let state = serving.state();
    assert_eq!((state.delivered, state.dropped), (1, 1));
    assert!(state.failures >= 2, "{state:?}");
}

#[test]
fn malformed_answers_close_the_websocket() {
    let serving = Serving::start();
    for (frame, code) in [
        (Frame::binary(Payload::Borrowed(b"hello")), 1002_u16),
        (Frame::text(Payload::Borrowed(b"3GPP-WS-Notif-Seq: ")), 1003),
        (Frame::binary(Payload::Owned(vec![0; 5000])), 1009),
    ] {
        run(async {
            let mut socket = serving.open().await;
            socket.write_frame(frame).await.unwrap();
            let (opcode, payload) = next(&mut socket).await;
            assert_eq!((opcode, &payload[..2]), (OpCode::Close, &code.to_be_bytes()[..]));
        });
    }
}

#[test]
fn subscription_without_a_websocket_has_none() {
    let serving = Serving::start();
    let target = target("http://127.0.0.1:1/");
    let new = NewSubscription::new("app", Criteria::all(Topic::CellChange), target);
    let (callback, _) = serving.service.subscribe(|_| new).unwrap();
    for path in [rnis::websocket_path(callback), rnis::websocket_path(Key(999))] {
        let (head, _) = run(handshake(serving.server.address(), &path));
        assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    }
    let mut plain = Client::connect(serving.server.address());
    assert_eq!(plain.request("GET", &rnis::websocket_path(serving.key), None).status, 426);
    run(async {
        let mut socket = serving.open().await;
        assert!(serving.service.unsubscribe(serving.key).unwrap());
        assert_eq!(next(&mut socket).await.0, OpCode::Close, "it ends with its subscription");
    });
}
