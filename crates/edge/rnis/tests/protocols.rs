//! Callbacks over HTTP/2 and TLS. The servers are those of the REST kit.

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rest::{Access, AccessFiles, Operation, Response, Route, ServerConfig, TlsFiles, header};
use rnis::{CallbackError, Delivery, DeliveryConfig, Key, Target};
use support::{send, target};
use testkit::certificates::Authority;
use testkit::eventually;

type Posts = Arc<Mutex<Vec<(u64, bool)>>>;

/// A server that notes the number of each notification, and whether it came over HTTP/2.
fn server(access: Access) -> (rest::Server, Posts) {
    let posts = Posts::default();
    let noted = Arc::clone(&posts);
    let operation = Operation::post("/callback", "postNotification", "A notification").empties();
    let route = Route::new(operation, move |request| {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        // RFC 9113 8.3.1: HTTP/2 has the host in the target, and the kit appends it to the headers
        let is_http2 = request.headers.keys().next() != Some(&header::HOST);
        noted.lock().unwrap().push((body["n"].as_u64().unwrap(), is_http2));
        Ok(Response::no_content())
    });
    let config = ServerConfig { access, ..ServerConfig::new("127.0.0.1:0".parse().unwrap()) };
    (rest::Server::start(config, vec![route]).unwrap(), posts)
}

fn secured(authority: &Authority) -> Access {
    let files = authority.issue(&["127.0.0.1"], |_| {});
    let tls = Some(TlsFiles { certificate: files.certificate, key: files.key, client_ca: None });
    Access::load(AccessFiles { tls, tokens: None }).unwrap()
}

fn expect(delivery: &Delivery, posts: &Posts, is_http2: bool) {
    send(delivery, &[1], 0..20);
    eventually("all answers", || delivery.state(Key(1)).unwrap().delivered == 20);
    let posts = posts.lock().unwrap();
    assert!(posts.iter().copied().eq((0..20).map(|number| (number, is_http2))), "{posts:?}");
    assert_eq!(delivery.state(Key(1)).unwrap().failures, 0);
}

#[test]
fn http_callbacks_use_http1() {
    let (server, posts) = server(Access::default());
    let delivery = Delivery::start(DeliveryConfig::default()).unwrap();
    delivery.insert(Key(1), target(&format!("{}/callback", server.url())));
    expect(&delivery, &posts, false);
}

#[test]
fn http_callbacks_use_http2_where_it_is_assumed() {
    let (server, posts) = server(Access::default());
    let config = DeliveryConfig { is_http2_assumed: true, ..DeliveryConfig::default() };
    let delivery = Delivery::start(config).unwrap();
    delivery.insert(Key(1), target(&format!("{}/callback", server.url())));
    expect(&delivery, &posts, true);
    // many at once share the connection
    (10..110).for_each(|key| delivery.insert(Key(key), target(&format!("{}/callback", server.url()))));
    send(&delivery, &(10..110).collect::<Vec<_>>(), 0..3);
    eventually("all answers", || delivery.totals().delivered == 320);
    assert_eq!(delivery.totals().failures, 0);
}

#[test]
fn server_without_http2_is_named_where_it_is_assumed() {
    let config =
        DeliveryConfig { is_http2_assumed: true, timeout: Duration::from_millis(300), ..DeliveryConfig::default() };
    let (delivery, server) = (Delivery::start(config).unwrap(), support::Server::start(support::accept));
    delivery.insert(Key(1), server.target("/"));
    send(&delivery, &[1], 0..1);
    eventually("a failure", || delivery.state(Key(1)).unwrap().last_error.is_some());
    assert_eq!(delivery.state(Key(1)).unwrap().delivered, 0);
}

#[test]
fn https_callbacks_agree_on_http2() {
    let authority = Authority::new();
    let (server, posts) = server(secured(&authority));
    let config = DeliveryConfig { ca: Some(authority.ca()), ..DeliveryConfig::default() };
    let delivery = Delivery::start(config).unwrap();
    let target = target(&format!("{}/callback", server.url()));
    assert_eq!(delivery.check(&target), Ok(()));
    delivery.insert(Key(1), target);
    expect(&delivery, &posts, true);
}

#[test]
fn certificate_of_another_authority_is_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (server, posts) = server(secured(&other));
    let config = DeliveryConfig { ca: Some(authority.ca()), ..DeliveryConfig::default() };
    let delivery = Delivery::start(config).unwrap();
    delivery.insert(Key(1), target(&format!("{}/callback", server.url())));
    send(&delivery, &[1], 0..1);
    let error = || delivery.state(Key(1)).unwrap().last_error.unwrap_or_default();
    eventually("a failure", || error().contains("certificate"));
    assert!(posts.lock().unwrap().is_empty());
}

#[test]
fn https_without_authorities_and_unreadable_authorities_are_refused() {
    let delivery = Delivery::start(DeliveryConfig::default()).unwrap();
    let target = Target::callback("https://127.0.0.1:1/", "}").unwrap();
    assert_eq!(delivery.check(&target), Err(CallbackError::NoTls));
    let config = DeliveryConfig { ca: Some("/nonexistent/ca.pem".into()), ..DeliveryConfig::default() };
    let error = Delivery::start(config).err().unwrap().to_string();
    assert!(error.contains("the CA of callbacks") && error.contains("/nonexistent/ca.pem"), "{error}");
}
