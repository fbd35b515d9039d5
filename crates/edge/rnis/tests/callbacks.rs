//! HTTP callbacks: order, connections, and servers that misbehave.

mod support;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rnis::{BreakerState, Delivery, DeliveryConfig, DeliveryState, Key};
use support::{Server, accept, send, target};
use testkit::eventually;

/// Short times, so that misbehaviour is noticed within a test.
fn start() -> Delivery {
    let config = DeliveryConfig {
        timeout: Duration::from_millis(400),
        first_pause: Duration::from_millis(10),
        longest_pause: Duration::from_millis(200),
        ..DeliveryConfig::default()
    };
    Delivery::start(config).unwrap()
}

fn state(delivery: &Delivery, key: u64) -> DeliveryState {
    delivery.state(Key(key)).unwrap()
}

#[test]
fn order_holds_and_connections_are_reused() {
    let (delivery, server) = (start(), Server::start(accept));
    for key in 0..20 {
        delivery.insert(Key(key), server.target(&format!("/{key}?x=1")));
    }
    send(&delivery, &(0..20).collect::<Vec<_>>(), 0..50);
    eventually("all arrive", || server.posts().len() == 1000);
    for key in 0..20 {
        let path = format!("/{key}?x=1");
        let posts = server.posts();
        let numbers = posts.iter().filter(|post| post.path == path).map(support::Post::number);
        assert!(numbers.eq(0..50), "order of {path}");
    }
    assert!(server.connections() <= 8, "{} connections", server.connections());
    let post = &server.posts()[0];
    assert_eq!((&*post.body, post.is_redelivered), (r#"{"n":0,"_links":{}}"#, false));
    eventually("all are answered", || state(&delivery, 3).delivered == 50);
    let state = state(&delivery, 3);
    assert!(state.p50_us > 0 && state.p50_us <= state.p99_us && state.p99_us <= state.max_us, "{state:?}");
    assert_eq!((state.waiting, state.dropped, state.failures), (0, 0, 0));
}

#[test]
fn answers_of_every_form_are_read_and_their_connection_is_reused() {
    for answer in [
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n10;x=y\r\n0123456789abcdef\r\n0\r\n\r\n",
    ] {
        let (delivery, server) = (
            start(),
            Server::start(move |stream, _| {
                // in pieces: the answer is read however it arrives
                let (first, rest) = answer.as_bytes().split_at(answer.len() - 7);
                stream.write_all(first).unwrap();
                thread::sleep(Duration::from_millis(2));
                stream.write_all(rest).is_ok()
            }),
        );
        delivery.insert(Key(1), server.target("/"));
        send(&delivery, &[1], 0..5);
        eventually(answer, || state(&delivery, 1).delivered == 5);
        assert_eq!((server.connections(), state(&delivery, 1).failures), (1, 0), "{answer}");
    }
}

#[test]
fn answers_that_end_their_connection_are_answers() {
    for answer in [
        "HTTP/1.1 200 OK\r\nconnection: keep-alive, close\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nuntil the end",
        "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    ] {
        let (delivery, server) = (start(), Server::start(move |stream, _| stream.write_all(answer.as_bytes()).is_ok()));
        delivery.insert(Key(1), server.target("/"));
        send(&delivery, &[1], 0..3);
        eventually(answer, || state(&delivery, 1).delivered == 3);
        assert_eq!(server.connections(), 3, "{answer}");
        assert!(server.posts().iter().all(|post| !post.is_redelivered), "{answer}");
    }
}

#[test]
fn misbehaving_servers_cost_others_nothing_and_are_named() {
    type Behaviour = fn(&mut std::net::TcpStream, &support::Post) -> bool;
    let behaviours: [(&str, Behaviour, &str); 8] = [
        ("answers 500", |s, _| s.write_all(b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n").is_ok(), "status 500"),
        ("redirects", |s, _| s.write_all(b"HTTP/1.1 302 F\r\nlocation: http://h/\r\n\r\n").is_ok(), "status 302"),
        ("never answers", |_, _| true, "no answer in time"),
        ("closes before the answer", |_, _| false, "closed before the answer"),
        (
            "closes within the head",
            |s, _| {
                let _ = s.write_all(b"HTTP/1.1 200 OK\r\ncontent-le");
                false
            },
            "closed before the answer",
        ),
        (
            "head without end",
            |s, _| {
                let _ = s.write_all(b"HTTP/1.1 200 OK\r\n");
                while s.write_all(b"x-field: 0123456789012345678901234567890123456789\r\n").is_ok() {}
                false
            },
            "cannot be read",
        ),
        ("is no HTTP", |s, _| s.write_all(b"SSH-2.0-server\r\n").is_ok(), "cannot be read"),
        (
            "one octet at a time",
            |s, _| {
                b"HTTP/1.1 200 OK\r\n\r\n".iter().all(|octet| {
                    thread::sleep(Duration::from_millis(100));
                    s.write_all(&[*octet]).is_ok()
                })
            },
            "no answer in time",
        ),
    ];
    let delivery = start();
    let good = Server::start(accept);
    delivery.insert(Key(0), good.target("/"));
    let bad: Vec<Server> = behaviours.iter().map(|(_, behaviour, _)| Server::start(*behaviour)).collect();
    for (key, server) in (1..).zip(&bad) {
        delivery.insert(Key(key), server.target("/"));
    }
    // nothing listens there
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    delivery.insert(Key(100), target(&format!("http://{free}/")));
    let all: Vec<u64> = (0..=bad.len() as u64).chain([100]).collect();
    send(&delivery, &all, 0..200);
    eventually("the good one has everything", || state(&delivery, 0).delivered == 200);
    assert!(good.posts().iter().map(support::Post::number).eq(0..200));
    assert!(good.posts().iter().all(|post| !post.is_redelivered));
    for (key, (name, _, error)) in (1..).zip(behaviours) {
        eventually(name, || state(&delivery, key).last_error.is_some_and(|last| last.contains(error)));
        assert_eq!(state(&delivery, key).delivered, 0, "{name}");
        assert!(state(&delivery, key).waiting > 0, "{name}: the others wait");
    }
    eventually("a server that is not there", || {
        state(&delivery, 100).last_error.is_some_and(|last| last.contains("cannot connect"))
    });
    eventually("an open breaker", || state(&delivery, 1).breaker != BreakerState::Closed);
    assert!(delivery.totals().open_breakers > 0);
}

#[test]
fn endless_body_counts_as_its_status_and_is_not_read() {
    let server = Server::start(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        while stream.write_all(b"400\r\n").and_then(|()| stream.write_all(&[b'x'; 0x402])).is_ok() {}
        false
    });
    let slow = Server::start(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n");
        while stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
        false
    });
    let delivery = start();
    delivery.insert(Key(1), server.target("/"));
    delivery.insert(Key(2), slow.target("/"));
    send(&delivery, &[1, 2], 0..3);
    for (key, server) in [(1, &server), (2, &slow)] {
        eventually("three answers", || state(&delivery, key).delivered == 3);
        assert!(server.posts().iter().map(support::Post::number).eq(0..3), "none is repeated");
    }
}

#[test]
fn nothing_is_lost_and_repetitions_are_marked_when_a_server_restarts() {
    let delivery = start();
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    // it closes while it has a request
    let first = Server::start(move |stream, post| counted.fetch_add(1, Ordering::AcqRel) < 20 && accept(stream, post));
    let address = first.address;
    delivery.insert(Key(1), first.target("/"));
    send(&delivery, &[1], 0..40);
    eventually("the end of the first server", || count.load(Ordering::Acquire) > 20);
    let mut posts = first.posts();
    drop(first);
    send(&delivery, &[1], 40..60);
    eventually("failures", || state(&delivery, 1).failures > 2);
    let second = Server::start_at(address, accept);
    eventually("the rest", || state(&delivery, 1).delivered == 60);
    posts.extend(second.posts());
    let mut expected = 0;
    for post in &posts {
        if post.number() == expected {
            expected += 1;
        } else {
            assert!(post.number() + 1 == expected && post.is_redelivered, "{post:?} after {expected}");
        }
    }
    assert_eq!((expected, state(&delivery, 1).dropped), (60, 0));
}

#[test]
fn connection_that_the_server_closed_while_idle_costs_no_failure() {
    let delivery = start();
    // it closes after each answer, without a word
    let server = Server::start(|stream, post| {
        accept(stream, post);
        false
    });
    delivery.insert(Key(1), server.target("/"));
    for number in 0..20 {
        send(&delivery, &[1], number..number + 1);
        eventually("an answer", || state(&delivery, 1).delivered == number + 1);
    }
    assert_eq!(state(&delivery, 1).failures, 0);
    assert!(server.posts().iter().map(support::Post::number).eq(0..20));
}

#[test]
fn queue_of_a_hanging_server_is_bounded() {
    let config = DeliveryConfig { max_waiting: 10, ..DeliveryConfig::default() };
    let (delivery, server) = (Delivery::start(config).unwrap(), Server::start(|_, _| true));
    delivery.insert(Key(1), server.target("/"));
    send(&delivery, &[1], 0..1);
    eventually("a request", || server.posts().len() == 1);
    send(&delivery, &[1], 1..1001);
    let state = state(&delivery, 1);
    assert_eq!((state.waiting, state.dropped), (11, 990));
    delivery.remove(Key(1));
    assert_eq!(delivery.state(Key(1)), None);
    assert_eq!(delivery.totals().waiting, 0);
}
