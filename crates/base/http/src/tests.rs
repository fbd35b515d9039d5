//! A real server and clients of all kinds.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use serde_json::json;

use testkit::PATIENCE;
use testkit::http::{Client, Response as Received};

use super::{Operation, Parameter, Problem, Request, Response, Route, Server, ServerConfig};

fn routes() -> Vec<Route> {
    let echo = |request: &Request| Ok(Response::ok(request.json::<serde_json::Value>()?));
    let octets = |request: &Request| Ok(Response::ok(json!({ "octets": request.body.len() })));
    let long = |_: &Request| Ok(Response::ok("x".repeat(32 * 1024 * 1024)));
    vec![
        Route::new(Operation::get("/hello", "", ""), |_| Ok(Response::ok("world"))),
        Route::new(Operation::put("/echo", "", ""), echo),
        Route::new(Operation::put("/octets", "", ""), octets),
        Route::new(Operation::get("/long", "", ""), long),
        Route::new(Operation::delete("/hello", "", ""), |_| Ok(Response::no_content())),
        Route::new(Operation::post("/hello", "", ""), |request| {
            Ok(Response::created(&format!("{}/1", request.path), json!({})))
        }),
        Route::new(Operation::get("/later", "", ""), |_| Err(Problem::unavailable("not now"))),
    ]
}

/// Small bounds, with long time-outs for tests on a loaded machine.
fn small() -> ServerConfig {
    ServerConfig {
        max_connections: 8,
        max_host_percent: 100,
        max_body_octets: 1000,
        read_timeout: PATIENCE,
        ..ServerConfig::new("127.0.0.1:0".parse().unwrap())
    }
}

fn start(config: ServerConfig) -> Server {
    Server::start(config, routes()).unwrap()
}

/// Another client is served.
#[track_caller]
fn is_served(address: SocketAddr) {
    let answer = response_to(address, b"GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n").0;
    assert_eq!((answer.status, &*answer.body), (200, "\"world\"\n"));
}

/// Sends octets; returns the response and the connection. A server with short time-outs may find this test too slow: then it
/// tries again.
#[track_caller]
fn response_to(address: SocketAddr, octets: &[u8]) -> (Received, Client) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut client = Client::connect(address);
        let answer = client.try_write(octets).ok().and_then(|()| client.try_receive());
        if let Some(answer) = answer {
            return (answer, client);
        }
        assert!(Instant::now() < deadline, "no response");
    }
}

#[test]
fn one_connection_carries_many_requests() {
    let rest = start(small());
    let mut client = Client::connect(rest.address());
    assert_eq!(client.request("GET", "/hello", None).expect(200), "world");
    let created = client.request("POST", "/hello", Some("{}"));
    assert_eq!((created.status, created.header("location")), (201, Some("/hello/1")));
    assert_eq!(client.request("DELETE", "/hello", None).status, 204);
    assert_eq!(client.request("PUT", "/echo", Some("{\"a\": [1, 2]}")).expect(200), json!({ "a": [1, 2] }));
    client.request("GET", "/hello?x=1", None).expect_problem(400, &["no query parameters: `x`"]);
    client.request("GET", "/nowhere", None).expect_problem(404, &["nothing at /nowhere"]);
    let refused = client.request("PATCH", "/hello", None);
    refused.expect_problem(405, &["GET, HEAD, DELETE, POST"]);
    assert_eq!(refused.header("allow"), Some("GET, HEAD, DELETE, POST"));
    let later = client.request("GET", "/later", None);
    later.expect_problem(503, &["not now"]);
    assert_eq!(later.header("retry-after"), Some("1"));
    // pipelined requests are answered in order
    client.write(b"GET /hello HTTP/1.1\r\nhost: [::1]:1\r\n\r\nDELETE /hello HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    assert_eq!((client.receive().status, client.receive().status), (200, 204));
}

#[test]
fn head_is_get_without_content() {
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
fn long_body_is_refused_announced_or_chunked() {
    let rest = start(small());
    let body = "x".repeat(2000);
    let mut announced = Client::connect(rest.address());
    announced.write(b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2000\r\n\r\n");
    let answer = announced.receive();
    answer.expect_problem(413, &["at most 1000 octets"]);
    assert_eq!(answer.header("connection"), Some("close"));
    announced.expect_closed();
    let mut chunked = Client::connect(rest.address());
    chunked.write(b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n7d0\r\n");
    chunked.write(body.as_bytes());
    chunked.receive().expect_problem(413, &["at most 1000 octets"]);
    let mut right = Client::connect(rest.address());
    right.write(b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(right.receive().expect(200), json!({ "octets": 3 }));
    right.write(b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\nexpect: 100-continue\r\n\r\nabcd");
    assert_eq!(right.receive().expect(200), json!({ "octets": 4 }));
}

#[test]
fn slow_request_is_closed_and_delays_no_other() {
    let rest = start(ServerConfig { max_connections: 64, read_timeout: Duration::from_millis(200), ..small() });
    let address = rest.address();
    // endless heads, one octet at a time
    let mut slow_clients: Vec<_> = (0..32).map(|_| Client::connect(address)).collect();
    for octet in b"GET /hello HTTP/1.1\r\nx-a: " {
        for slow in &mut slow_clients {
            let _ = slow.try_write(&[*octet]); // it may be closed already
        }
        is_served(address);
        std::thread::sleep(Duration::from_millis(10));
    }
    for mut slow in slow_clients {
        slow.expect_closed();
    }
    // an incomplete body
    let incomplete = b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\nabc";
    let (answer, mut slow) = response_to(address, incomplete);
    answer.expect_problem(408, &["did not arrive in time"]);
    slow.expect_closed();
    // no octets at all
    Client::connect(address).expect_closed();
    is_served(address);
}

#[test]
fn client_that_does_not_read_is_disconnected() {
    let config = ServerConfig {
        connection_lifetime: Duration::from_millis(100),
        response_timeout: Duration::from_millis(100),
        read_timeout: Duration::from_millis(200),
        max_connections: 1,
        ..small()
    };
    let rest = start(config);
    let mut client = Client::connect(rest.address());
    client.send("GET", "/long", None);
    // another client is served once it is disconnected
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = Client::connect(rest.address()).try_request("GET", "/hello");
        match answer.map(|answer| answer.status) {
            Some(200) => break,
            Some(503) | None => assert!(Instant::now() < deadline, "it is never disconnected"),
            Some(other) => panic!("{other}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn connection_beyond_the_limit_is_answered_with_503() {
    let rest = start(small());
    let address = rest.address();
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let mut client = Client::connect(address);
            client.request("GET", "/hello", None).expect(200);
            client
        })
        .collect();
    for _ in 0..100 {
        let mut client = Client::connect(address);
        client.receive().expect_problem(503, &["too many connections"]);
        client.expect_closed();
    }
    drop(clients);
    let deadline = Instant::now() + PATIENCE;
    while Client::connect(address).try_request("GET", "/hello").is_none_or(|answer| answer.status != 200) {
        assert!(Instant::now() < deadline, "no connection is accepted again");
    }
}

#[test]
fn garbage_is_answered_and_affects_no_other() {
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
        (b"PRI * HTTP/2.0\r\n\r\nSX\r\n\r\n", Some(400)),
    ] {
        let mut client = Client::connect(address);
        client.write(garbage);
        let answer = client.try_receive();
        match status {
            Some(status) => drop(answer.expect("a response").expect_problem(status, &[])),
            None => assert!(answer.is_none_or(|answer| answer.status >= 400)),
        }
        is_served(address);
    }
    let mut long = Client::connect(address);
    long.write(format!("GET /hello HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(20_000)).as_bytes());
    long.receive().expect_problem(431, &[]);
    let mut long_path = Client::connect(address);
    long_path.write(format!("GET /{} HTTP/1.1\r\n", "y".repeat(70_000)).as_bytes());
    let status = long_path.receive().status;
    assert!(matches!(status, 414 | 431), "{status}");
    is_served(address);
}

#[test]
fn foreign_host_name_is_refused_on_a_loopback_address() {
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
        client.receive().expect_problem(StatusCode::MISDIRECTED_REQUEST.as_u16(), &["is not served here"]);
    }
    // the target overrides the header, and there is one header
    client.write(b"GET http://evil.example/hello HTTP/1.1\r\nhost: localhost\r\n\r\n");
    client.receive().expect_problem(421, &["evil.example"]);
    client.write(b"GET http://localhost:1/hello HTTP/1.1\r\nhost: evil.example\r\n\r\n");
    assert_eq!(client.receive().status, 200);
    client.write(b"GET /hello HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n");
    client.receive().expect_problem(400, &["more than one Host"]);
    // HTTP/1.0 has no such header
    client.write(b"GET /hello HTTP/1.0\r\n\r\n");
    assert_eq!(client.receive().status, 200);
}

#[test]
fn host_name_of_a_private_domain_is_served_if_it_is_configured() {
    let rest = start(ServerConfig { host_suffixes: &[".ricplt"], ..small() });
    let mut client = Client::connect(rest.address());
    for (host, status) in
        [("appmgr.ricplt:8080", 200), ("localhost", 200), ("ricplt.evil.example", 421), ("appmgr.ricplt.evil", 421)]
    {
        client.write(format!("GET /hello HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes());
        assert_eq!(client.receive().status, status, "{host}");
    }
    // as a client with a proxy writes it
    client.write(b"GET http://appmgr.ricplt:8080/hello HTTP/1.1\r\nhost: appmgr.ricplt:8080\r\n\r\n");
    assert_eq!(client.receive().status, 200);
}

#[test]
fn content_length_that_overflows_is_named() {
    let rest = start(small());
    for length in ["99999999999999999999", "18446744073709551615", "18446744073709551616", "-1", "1x"] {
        let mut client = Client::connect(rest.address());
        client.write(format!("PUT /octets HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n").as_bytes());
        client.receive().expect_problem(400, &["Content-Length", length]);
        client.expect_closed();
        is_served(rest.address());
    }
    // a length that is possible is only too long
    let mut client = Client::connect(rest.address());
    client.write(b"PUT /octets HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9223372036854775807\r\n\r\n");
    client.receive().expect_problem(413, &["at most 1000 octets"]);
}

#[test]
fn host_with_user_information_is_refused() {
    let rest = start(small());
    for head in [
        "GET /hello HTTP/1.1\r\nhost: user@localhost\r\n\r\n",
        "GET /hello HTTP/1.1\r\nhost: user:secret@127.0.0.1:80\r\n\r\n",
        "GET http://user:secret@localhost/hello HTTP/1.1\r\nhost: localhost\r\n\r\n",
    ] {
        let mut client = Client::connect(rest.address());
        client.write(head.as_bytes());
        let problem = client.receive().expect_problem(400, &["user information"]);
        assert!(!problem.to_string().contains("secret"), "{problem}");
    }
}

#[test]
fn refused_clients_are_logged_with_host_and_reason() {
    let log = testkit::log::global();
    let rest = start(ServerConfig { max_host_percent: 13, ..small() });
    let mut client = Client::connect(rest.address());
    client.write(b"GET /hello HTTP/1.1\r\nhost: refused.example\r\n\r\n");
    client.receive().expect_problem(421, &[]);
    let mut second = Client::connect(rest.address());
    second.receive().expect_problem(503, &[]);
    client.write(b"garbage of a client\r\n\r\n");
    client.receive().expect_problem(400, &[]);
    testkit::eventually("three refusals", || {
        let text = log.text();
        let refused = |reason: &str| {
            text.lines().any(|line| line.contains("peer=127.0.0.1:") && line.contains("REST") && line.contains(reason))
        };
        refused("request refused: `refused.example` is not served here")
            && refused("connection refused: too many connections of this host")
            && refused("request refused: invalid HTTP")
    });
}

#[test]
fn refusals_do_not_flood_the_log() {
    let log = testkit::log::global();
    let rest = start(ServerConfig { log_budget: crate::LogBudget::new(20), ..small() });
    let mut client = Client::connect(rest.address());
    for _ in 0..200 {
        client.write(b"GET /hello HTTP/1.1\r\nhost: flood.example\r\n\r\n");
        client.receive().expect_problem(421, &[]);
    }
    let lines = log.text().lines().filter(|line| line.contains("flood.example")).count();
    assert!((1..=40).contains(&lines), "{lines} lines");
}

#[test]
fn server_stops_at_once_with_clients_connected() {
    let rest = start(small());
    let mut client = Client::connect(rest.address());
    client.request("GET", "/hello", None).expect(200);
    let mut half = Client::connect(rest.address());
    half.write(b"GET /he");
    let begun = Instant::now();
    drop(rest);
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    client.expect_closed();
    half.expect_closed();
}

#[test]
fn address_in_use_is_an_error() {
    let rest = start(small());
    let error = Server::start(ServerConfig::new(rest.address()), routes()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}

mod http2;
mod reader_messages;
mod requests;
mod shared_answers;
mod streams;
mod verified_tokens;
mod write_observer;
