//! Where callbacks may go, over real sockets: names that resolve inward, redirects, and connections that several tenants could share.

mod support;

use std::collections::HashMap;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rnis::{AllowList, CallbackPolicy, Delivery, DeliveryConfig, Key, Resolver};
use support::{Server, accept, send, target};
use testkit::eventually;

fn list(rules: &[&str]) -> AllowList {
    AllowList::new(rules.iter().map(|rule| rule.parse().unwrap()).collect())
}

/// A delivery whose resolver answers what the test says.
fn start(callbacks: CallbackPolicy, resolve: impl Fn(usize) -> Vec<SocketAddr> + Send + Sync + 'static) -> Delivery {
    let asked = AtomicUsize::new(0);
    let resolver = Resolver::new(move |_, _| Ok(resolve(asked.fetch_add(1, Ordering::AcqRel))));
    let config = DeliveryConfig {
        timeout: Duration::from_millis(400),
        first_pause: Duration::from_millis(10),
        longest_pause: Duration::from_millis(50),
        callbacks,
        resolver,
        ..DeliveryConfig::default()
    };
    Delivery::start(config).unwrap()
}

fn last_error(delivery: &Delivery, key: u64) -> String {
    delivery.state(Key(key)).unwrap().last_error.unwrap_or_default()
}

#[test]
fn name_that_resolves_inward_the_second_time_is_not_connected_to() {
    // each answer ends its connection, so that the name is resolved for each notification
    let public = Server::start(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
        false
    });
    let port = public.address.port();
    let private = Server::start_at(SocketAddr::new(IpAddr::from([127, 0, 0, 2]), port), accept);
    let (good, bad) = (public.address, private.address);
    // 127.0.0.1 stands for an address that is allowed, 127.0.0.2 for one that is not
    let policy = CallbackPolicy::new(list(&["127.0.0.1"]));
    let delivery = start(policy, move |asked| if asked == 0 { vec![bad, good] } else { vec![bad] });
    delivery.insert(Key(1), target(&format!("http://app.example:{port}/")));
    send(&delivery, &[1], 0..2);
    eventually("the first is delivered, to the address that is allowed", || public.posts().len() == 1);
    eventually("the second is not", || delivery.state(Key(1)).is_some_and(|state| state.failures >= 3));
    assert_eq!((public.posts().len(), private.connections()), (1, 0));
    let error = last_error(&delivery, 1);
    assert!(
        error.contains("`app.example` has no address") && !error.contains("127."),
        "no address is disclosed: {error}"
    );
}

#[test]
fn redirect_inward_is_not_followed() {
    let inner = Server::start_at("127.0.0.2:0".parse().unwrap(), accept);
    let location = inner.address;
    let outer = Server::start(move |stream, _| {
        write!(stream, "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{location}/\r\ncontent-length: 0\r\n\r\n")
            .is_ok()
    });
    let delivery = start(CallbackPolicy::default(), |_| Vec::new());
    delivery.insert(Key(1), outer.target("/"));
    send(&delivery, &[1], 0..3);
    eventually("all fail", || delivery.state(Key(1)).is_some_and(|state| state.dropped == 3));
    assert!(last_error(&delivery, 1).contains("307"));
    assert_eq!((outer.posts().len(), inner.connections()), (3, 0));
}

#[test]
fn connection_of_one_tenant_is_not_used_for_another_that_may_not() {
    for is_http2_assumed in [false, true] {
        let server = Server::start(accept);
        let address = server.address;
        let policy = CallbackPolicy::new(AllowList::public());
        policy.set_tenants(HashMap::from([("a".into(), list(&["127.0.0.1"]))]));
        let resolver = Resolver::new(move |_, _| Ok(vec![address]));
        let config =
            DeliveryConfig { callbacks: policy.clone(), resolver, is_http2_assumed, ..DeliveryConfig::default() };
        let delivery = Delivery::start(config).unwrap();
        let url = format!("http://app.example:{}/", address.port());
        delivery.insert(Key(1), target(&url).of_tenant("a"));
        delivery.insert(Key(2), target(&url).of_tenant("b"));
        if is_http2_assumed {
            // this server speaks HTTP/1.1 only: what counts is that the other tenant opens no connection
            send(&delivery, &[2], 0..1);
            eventually("it is refused", || last_error(&delivery, 2).contains("has no address"));
            assert_eq!(server.connections(), 0);
            continue;
        }
        send(&delivery, &[1], 0..1);
        eventually("the first tenant's arrives", || delivery.state(Key(1)).is_some_and(|it| it.delivered == 1));
        send(&delivery, &[2], 1..2);
        eventually("the other one's is refused", || last_error(&delivery, 2).contains("has no address"));
        send(&delivery, &[1], 2..3);
        eventually("the connection is still used", || delivery.state(Key(1)).is_some_and(|it| it.delivered == 2));
        assert_eq!((server.posts().len(), server.connections()), (2, 1));
        // a list that is withdrawn holds for connections that are open
        policy.set_tenants(HashMap::new());
        send(&delivery, &[1], 3..4);
        eventually("the first tenant's is refused", || last_error(&delivery, 1).contains("has no address"));
        assert_eq!(server.posts().len(), 2);
    }
}

#[test]
fn every_address_of_a_name_is_compared_and_resolvers_that_fail_are_errors() {
    let server = Server::start(accept);
    let address = server.address;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let resolver = Resolver::new(move |host, port| {
        seen.lock().unwrap().push((host.to_owned(), port));
        match host {
            "mixed.example" => Ok(vec!["10.255.255.1:1".parse().unwrap(), address, "[::1]:1".parse().unwrap()]),
            "inner.example" => Ok(vec!["169.254.169.254:80".parse().unwrap(), "[::ffff:10.0.0.1]:80".parse().unwrap()]),
            _ => Err(std::io::Error::other("no such name")),
        }
    });
    let config = DeliveryConfig {
        callbacks: CallbackPolicy::new(list(&["public", &format!("127.0.0.1:{}", address.port())])),
        resolver,
        ..DeliveryConfig::default()
    };
    let delivery = Delivery::start(config).unwrap();
    for (key, host) in [(1, "mixed.example"), (2, "inner.example"), (3, "absent.example")] {
        delivery.insert(Key(key), target(&format!("http://{host}:8080/")));
    }
    send(&delivery, &[1, 2, 3], 0..1);
    eventually("the one with an allowed address arrives", || {
        delivery.state(Key(1)).is_some_and(|it| it.delivered == 1)
    });
    eventually("the inner one is refused", || last_error(&delivery, 2).contains("has no address"));
    eventually("the absent one is an error", || last_error(&delivery, 3).contains("no such name"));
    assert!(asked.lock().unwrap().contains(&("mixed.example".to_owned(), 8080)));
}
