//! Clients of all kinds, before a real server.

#[path = "../../tests/common/http.rs"]
#[allow(dead_code, reason = "each test takes what it needs")]
pub mod http;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hyper::{Method, StatusCode};
use serde_json::json;

use super::{Problem, Request, Response, Rest, RestConfig, Route};
use http::{Answer, Client};

fn routes() -> Vec<Route> {
    let echo = |request: &Request| Ok(Response::ok(request.json::<serde_json::Value>()?));
    let octets = |request: &Request| Ok(Response::ok(json!({ "octets": request.body.len() })));
    let long = |_: &Request| Ok(Response::ok("x".repeat(32 * 1024 * 1024)));
    vec![
        Route::new(Method::GET, "/hello", |_| Ok(Response::ok("world"))),
        Route::new(Method::PUT, "/echo", echo),
        Route::new(Method::PUT, "/octets", octets),
        Route::new(Method::GET, "/long", long),
        Route::new(Method::DELETE, "/hello", |_| Ok(Response::no_content())),
        Route::new(Method::POST, "/hello", |request| Ok(Response::created(&format!("{}/1", request.path), json!({})))),
        Route::new(Method::GET, "/later", |_| Err(Problem::unavailable("not now"))),
    ]
}

/// Little room, and patience with tests on a busy machine.
fn small() -> RestConfig {
    RestConfig {
        max_connections: 8,
        max_body_octets: 1000,
        read_timeout: http::PATIENCE,
        ..RestConfig::new("127.0.0.1:0".parse().unwrap())
    }
}

fn start(config: RestConfig) -> Rest {
    Rest::start(config, routes()).unwrap()
}

/// Others are served as ever.
#[track_caller]
fn is_served(address: SocketAddr) {
    let answer = answer_to(address, b"GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n").0;
    assert_eq!((answer.status, &*answer.body), (200, "\"world\"\n"));
}

/// The answer to some octets, and its connection. Where the server has little patience, this test may be too slow for it: then
/// it asks again.
#[track_caller]
fn answer_to(address: SocketAddr, octets: &[u8]) -> (Answer, Client) {
    let deadline = Instant::now() + http::PATIENCE;
    loop {
        let mut client = Client::connect(address);
        let answer = client.try_write(octets).ok().and_then(|()| client.try_receive());
        if let Some(answer) = answer {
            return (answer, client);
        }
        assert!(Instant::now() < deadline, "it never answers");
    }
}

#[test]
fn many_requests_go_over_one_connection() {
    let rest = start(small());
    let mut client = Client::connect(rest.address());
    assert_eq!(client.ask("GET", "/hello", None).is(200), "world");
    let created = client.ask("POST", "/hello", Some("{}"));
    assert_eq!((created.status, created.header("location")), (201, Some("/hello/1")));
    assert_eq!(client.ask("DELETE", "/hello", None).status, 204);
    assert_eq!(client.ask("PUT", "/echo", Some("{\"a\": [1, 2]}")).is(200), json!({ "a": [1, 2] }));
    client.ask("GET", "/hello?x=1", None).complains(400, &["no query parameters: `x=1`"]);
    client.ask("GET", "/nowhere", None).complains(404, &["nothing at /nowhere", "/v1/openapi.json"]);
    let refused = client.ask("PATCH", "/hello", None);
    refused.complains(405, &["GET, HEAD, DELETE, POST"]);
    assert_eq!(refused.header("allow"), Some("GET, HEAD, DELETE, POST"));
    let later = client.ask("GET", "/later", None);
    later.complains(503, &["not now"]);
    assert_eq!(later.header("retry-after"), Some("1"));
    // two at once are answered in order
    client.write(b"GET /hello HTTP/1.1\r\nhost: [::1]:1\r\n\r\nDELETE /hello HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    assert_eq!((client.receive().status, client.receive().status), (200, 204));
}

#[test]
fn head_is_get_without_the_content() {
    let rest = start(small());
    let mut client = Client::connect(rest.address());
    client.write(b"HEAD /hello HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let mut text = String::new();
    while let Some(line) = client.line() {
        text += &line;
    }
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert!(text.contains("content-length: 8\r\n") && text.ends_with("\r\n\r\n"), "{text}");
}

#[test]
fn a_body_that_is_too_long_is_refused_however_it_comes() {
    let rest = start(small());
    let body = "x".repeat(2000);
    let mut announced = Client::connect(rest.address());
    announced.write(b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2000\r\n\r\n");
    let answer = announced.receive();
    answer.complains(413, &["at most 1000 octets"]);
    assert_eq!(answer.header("connection"), Some("close"));
    announced.expect_closed();
    let mut chunked = Client::connect(rest.address());
    chunked.write(b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n7d0\r\n");
    chunked.write(body.as_bytes());
    chunked.receive().complains(413, &["at most 1000 octets"]);
    let mut right = Client::connect(rest.address());
    right.write(b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(right.receive().is(200), json!({ "octets": 3 }));
    right.write(b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\nexpect: 100-continue\r\n\r\nabcd");
    assert_eq!(right.receive().is(200), json!({ "octets": 4 }));
}

#[test]
fn who_dawdles_is_closed_and_holds_up_nobody() {
    let rest = start(RestConfig { max_connections: 64, read_timeout: Duration::from_millis(200), ..small() });
    let address = rest.address();
    // heads that never end, an octet at a time
    let mut dawdlers: Vec<_> = (0..32).map(|_| Client::connect(address)).collect();
    for octet in b"GET /hello HTTP/1.1\r\nx-a: " {
        for dawdler in &mut dawdlers {
            let _ = dawdler.try_write(&[*octet]); // it may be closed by now
        }
        is_served(address);
        std::thread::sleep(Duration::from_millis(10));
    }
    for mut dawdler in dawdlers {
        dawdler.expect_closed();
    }
    // a body that never ends
    let begun = b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\nabc";
    let (answer, mut dawdler) = answer_to(address, begun);
    answer.complains(408, &["did not come in time"]);
    dawdler.expect_closed();
    // nothing at all
    Client::connect(address).expect_closed();
    is_served(address);
}

#[test]
fn who_does_not_read_is_left_in_the_end() {
    let config = RestConfig {
        connection_lifetime: Duration::from_millis(100),
        answer_timeout: Duration::from_millis(100),
        read_timeout: Duration::from_millis(200),
        max_connections: 1,
        ..small()
    };
    let rest = start(config);
    let mut client = Client::connect(rest.address());
    client.send("GET", "/long", None);
    // its place is another's once it is left
    let deadline = Instant::now() + http::PATIENCE;
    loop {
        let answer = Client::connect(rest.address()).ask_or_none("GET", "/hello");
        match answer.map(|answer| answer.status) {
            Some(200) => break,
            Some(503) | None => assert!(Instant::now() < deadline, "it is never left"),
            Some(other) => panic!("{other}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn more_connections_than_there_is_room_for_are_told_so() {
    let rest = start(small());
    let address = rest.address();
    let held: Vec<_> = (0..8)
        .map(|_| {
            let mut client = Client::connect(address);
            client.ask("GET", "/hello", None).is(200);
            client
        })
        .collect();
    for _ in 0..100 {
        let mut client = Client::connect(address);
        client.receive().complains(503, &["too many connections"]);
        client.expect_closed();
    }
    drop(held);
    let deadline = Instant::now() + http::PATIENCE;
    while Client::connect(address).ask_or_none("GET", "/hello").is_none_or(|answer| answer.status != 200) {
        assert!(Instant::now() < deadline, "there is never room again");
    }
}

#[test]
fn garbage_is_answered_and_harms_nobody() {
    let rest = start(small());
    let address = rest.address();
    for (garbage, status) in [
        (&b"hello\r\n\r\n"[..], Some(400)),
        (b"GET /hello HTTP/9.9\r\n\r\n", Some(400)),
        (b"GET /hello HTTP/1.1\r\n\r\n", Some(400)),
        (b"GET /hello HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n", Some(400)),
        (b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", Some(400)),
        (b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n", Some(400)),
        (b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip\r\n\r\n", Some(400)),
        (b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", Some(400)),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", Some(400)), // TLS
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", None),
    ] {
        let mut client = Client::connect(address);
        client.write(garbage);
        let answer = client.try_receive();
        match status {
            Some(status) => drop(answer.expect("an answer").complains(status, &[])),
            None => assert!(answer.is_none_or(|answer| answer.status >= 400)),
        }
        is_served(address);
    }
    let mut long = Client::connect(address);
    long.write(format!("GET /hello HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(20_000)).as_bytes());
    long.receive().complains(431, &[]);
    let mut far = Client::connect(address);
    far.write(format!("GET /{} HTTP/1.1\r\n", "y".repeat(70_000)).as_bytes());
    let status = far.receive().status;
    assert!(matches!(status, 414 | 431), "{status}");
    is_served(address);
}

#[test]
fn a_name_that_is_not_this_hosts_is_refused_on_a_loopback_address() {
    let rest = start(small());
    let mut client = Client::connect(rest.address());
    for (host, status) in
        [("localhost:80", 200), ("LOCALHOST", 200), ("127.0.0.5:80", 200), ("[::1]", 200), ("[::1]:80", 200)]
    {
        client.write(format!("GET /hello HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes());
        assert_eq!(client.receive().status, status, "{host}");
    }
    for host in ["evil.example", "evil.example:80", "192.0.2.1", "localhost.evil.example", "", "[::2]"] {
        client.write(format!("GET /hello HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes());
        client.receive().complains(StatusCode::MISDIRECTED_REQUEST.as_u16(), &["is not here"]);
    }
    // what stands in the target counts, and nobody has two names
    client.write(b"GET http://evil.example/hello HTTP/1.1\r\nhost: localhost\r\n\r\n");
    client.receive().complains(421, &["evil.example"]);
    client.write(b"GET http://localhost:1/hello HTTP/1.1\r\nhost: evil.example\r\n\r\n");
    assert_eq!(client.receive().status, 200);
    client.write(b"GET /hello HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n");
    client.receive().complains(400, &["more than one Host"]);
    // before HTTP/1.1 there was no such header
    client.write(b"GET /hello HTTP/1.0\r\n\r\n");
    assert_eq!(client.receive().status, 200);
}

#[test]
fn it_ends_at_once_whoever_is_connected() {
    let rest = start(small());
    let mut client = Client::connect(rest.address());
    client.ask("GET", "/hello", None).is(200);
    let mut half = Client::connect(rest.address());
    half.write(b"GET /he");
    let begun = Instant::now();
    drop(rest);
    assert!(begun.elapsed() < http::PATIENCE / 2, "{:?}", begun.elapsed());
    client.expect_closed();
    half.expect_closed();
}

#[test]
fn an_address_that_is_taken_is_an_error() {
    let rest = start(small());
    let error = Rest::start(RestConfig::new(rest.address()), routes()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}
