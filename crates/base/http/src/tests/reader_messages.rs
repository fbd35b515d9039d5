//! Messages of the readers of WebSockets, and WebSocket over HTTP/2.

use fastwebsockets::{Frame, OpCode, Role as Side, WebSocket};
use tokio::net::TcpStream;

use super::streams::{Streaming, config, message, next, open_socket, run};
use super::*;
use crate::StreamEvent;

/// Sends a message to the server, and returns the next one from it.
async fn exchange(socket: &mut WebSocket<TcpStream>, text: &str) -> serde_json::Value {
    socket.write_frame(Frame::text(text.as_bytes().into())).await.unwrap();
    message(&next(socket).await.1)
}

#[test]
fn reader_that_pauses_loses_its_oldest_events_and_sees_how_many() {
    let streaming = Streaming::start(config());
    run(async {
        let (_, stream) = open_socket(streaming.rest.address(), "/events", "").await;
        let mut socket = WebSocket::after_handshake(stream, Side::Client);
        let done = |kind: &str| json!({ "event": "done", "data": { "type": kind } });
        assert_eq!(exchange(&mut socket, r#"{"type":"pause"}"#).await, done("pause"));
        // the queue holds four
        streaming.publish(0..10);
        let refused = exchange(&mut socket, r#"{"type":"sleep","id":3}"#).await;
        let reason = "type: none of pause, resume, window, ack, filter";
        assert_eq!(refused, json!({ "event": "refused", "data": { "reason": reason, "id": 3 } }));
        assert_eq!(exchange(&mut socket, r#"{"type":"resume"}"#).await, done("resume"));
        let lost = message(&next(&mut socket).await.1);
        assert_eq!(lost, json!({ "event": "lost", "data": { "events": 6, "total": 6 } }));
        for number in 6..10 {
            assert_eq!(message(&next(&mut socket).await.1)["data"], number);
        }
    });
}

#[test]
fn reader_with_a_window_gets_as_many_events_as_it_acknowledges() {
    let streaming = Streaming::start(config());
    run(async {
        let (_, stream) = open_socket(streaming.rest.address(), "/events", "").await;
        let mut socket = WebSocket::after_handshake(stream, Side::Client);
        assert_eq!(exchange(&mut socket, r#"{"type":"window","events":2}"#).await["event"], "done");
        streaming.publish(0..4);
        for number in 0..2 {
            assert_eq!(message(&next(&mut socket).await.1)["data"], number);
        }
        tokio::time::timeout(Duration::from_millis(200), next(&mut socket)).await.unwrap_err();
        assert_eq!(exchange(&mut socket, r#"{"type":"ack","events":1}"#).await["data"]["type"], "ack");
        assert_eq!(message(&next(&mut socket).await.1)["data"], 2);
        tokio::time::timeout(Duration::from_millis(200), next(&mut socket)).await.unwrap_err();
        let refused = exchange(&mut socket, r#"{"type":"ack","events":3}"#).await;
        assert_eq!(refused["data"]["reason"], "events: 3 acknowledged, and only 2 were sent");
    });
}

#[test]
fn reader_changes_its_filter() {
    let streaming = Streaming::start(config());
    run(async {
        let (_, stream) = open_socket(streaming.rest.address(), "/events", "").await;
        let mut socket = WebSocket::after_handshake(stream, Side::Client);
        let refused = exchange(&mut socket, r#"{"type":"filter","topics":"all"}"#).await;
        assert_eq!(refused["data"]["reason"], "topics: a number");
        assert_eq!(exchange(&mut socket, r#"{"type":"filter","topics":2}"#).await["event"], "done");
        streaming.publish(0..1);
        streaming.events.publish(2, || StreamEvent::new("number", &json!(7)));
        assert_eq!(message(&next(&mut socket).await.1)["data"], 7);
    });
}

#[test]
fn flood_of_messages_ends_the_stream() {
    let streaming = Streaming::start(ServerConfig { stream_ping: PATIENCE, ..config() });
    run(async {
        let (_, stream) = open_socket(streaming.rest.address(), "/events", "").await;
        let mut socket = WebSocket::after_handshake(stream, Side::Client);
        let (opcode, payload) = loop {
            // the server may have closed already
            let _ = socket.write_frame(Frame::text(b"{}"[..].into())).await;
            let (opcode, payload) = next(&mut socket).await;
            if opcode == OpCode::Close {
                break (opcode, payload);
            }
        };
        assert_eq!(
            (opcode, &payload[..2], &payload[2..]),
            (OpCode::Close, &1008_u16.to_be_bytes()[..], &b"too many messages"[..])
        );
    });
    is_served(streaming.rest.address());
}

/// Opens a WebSocket as a stream of HTTP/2. Returns the status, and the first message.
async fn first_message_over_http_2(address: SocketAddr, protocol: &'static str, origin: &str) -> (u16, Vec<u8>) {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
    let connection = tokio::spawn(async move { drop(connection.await) });
    // the server's settings say that it knows CONNECT with a protocol
    for _ in 0..1000 {
        client = client.ready().await.unwrap();
        if client.is_extended_connect_protocol_enabled() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let request = hyper::Request::builder()
        .method("CONNECT")
        .uri(format!("http://{address}/events"))
        .extension(h2::ext::Protocol::from(protocol))
        .header("sec-websocket-version", "13")
        .header("origin", origin)
        .body(())
        .unwrap();
    let (response, _send) = client.send_request(request, false).unwrap();
    let response = response.await.unwrap();
    let status = response.status().as_u16();
    let mut body = response.into_body();
    let mut octets = Vec::new();
    while octets.len() < 2 || octets.len() < 2 + usize::from(octets[1]) {
        let Some(data) = body.data().await else { break };
        octets.extend_from_slice(&data.unwrap());
    }
    connection.abort();
    (status, octets)
}

#[test]
fn websocket_works_over_http_2() {
    let streaming = Streaming::start(ServerConfig { stream_ping: PATIENCE, ..config() });
    let address = streaming.rest.address();
    std::thread::scope(|scope| {
        let own = format!("http://{address}");
        let reader = scope.spawn(move || run(first_message_over_http_2(address, "websocket", &own)));
        streaming.publish(5..6);
        let (status, octets) = reader.join().unwrap();
        // an unmasked text frame in one piece
        assert_eq!((status, octets[0]), (200, 0x81));
        assert_eq!(message(&octets[2..]), json!({ "event": "number", "data": 5 }));
    });
    let (status, body) = run(first_message_over_http_2(address, "websocket", "http://evil.example"));
    assert_eq!(status, 403, "{}", String::from_utf8_lossy(&body));
    // another protocol, or CONNECT as proxies take it
    let (status, _) = run(first_message_over_http_2(address, "connect-udp", "http://localhost"));
    assert!((400..500).contains(&status), "{status}");
}
