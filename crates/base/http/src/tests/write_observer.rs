//! Requests that change something are passed to an observer.

use std::sync::{Arc, Mutex};

use super::*;
use crate::{Access, AccessFiles, WriteObserver};

#[test]
fn observer_gets_requests_that_may_change_something_with_client_and_outcome() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let of_observer = Arc::clone(&seen);
    let observer = WriteObserver::new(move |write| {
        let body = String::from_utf8_lossy(write.body).into_owned();
        let refusal = write.refusal.map(str::to_owned);
        let what = format!("{} {} {:?}", write.method, write.path, write.operation);
        assert!(!write.request_id.is_empty() && write.peer.ip().is_loopback());
        of_observer.lock().unwrap().push((write.client.to_owned(), what, body, write.status, refusal));
    });
    let folder = testkit::certificates::Authority::new();
    let tokens = Some(folder.write("tokens", "read 0123456789abcdef\ncontrol fedcba9876543210\n"));
    let access = Access::load(AccessFiles { tls: None, tokens }).unwrap();
    let routes = vec![
        Route::new(Operation::get("/thing", "getThing", ""), |_| Ok(Response::ok("it"))),
        Route::new(Operation::put("/thing", "putThing", ""), |request| {
            let document: serde_json::Value = request.json()?;
            if document["n"].as_u64() > Some(9) {
                return Err(Problem::unprocessable("it exceeds 9"));
            }
            Ok(Response::no_content())
        }),
    ];
    let config = ServerConfig { access, write_observer: Some(observer), max_requests_per_second: 8, ..small() };
    let rest = Server::start(config, routes).unwrap();
    let mut client = Client::connect(rest.address());
    let ask = |client: &mut Client, method: &str, path: &str, token: &str, body: &str| {
        let authorization = if token.is_empty() { String::new() } else { format!("authorization: Bearer {token}\r\n") };
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{authorization}");
        client.write(
            format!("{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").as_bytes(),
        );
        client.receive().status
    };
    let (read, control) = ("0123456789abcdef", "fedcba9876543210");
    assert_eq!(ask(&mut client, "GET", "/thing", control, ""), 200);
    assert_eq!(ask(&mut client, "PUT", "/thing", control, r#"{"n":7}"#), 204);
    assert_eq!(ask(&mut client, "PUT", "/thing", control, r#"{"n":70}"#), 422);
    assert_eq!(ask(&mut client, "PUT", "/thing", read, r#"{"n":7}"#), 403);
    assert_eq!(ask(&mut client, "PUT", "/thing", "", r#"{"n":7}"#), 401);
    assert_eq!(ask(&mut client, "DELETE", "/none", control, ""), 404);
    // what is beyond the rate is not recorded: nobody fills a record with it
    let request = format!("DELETE /thing HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {control}\r\n\r\n");
    client.write(request.repeat(100).as_bytes());
    let beyond = (0..100).filter(|_| client.receive().status == 429).count();
    assert!(beyond > 0);
    let seen = seen.lock().unwrap();
    let put = "PUT /thing Some(\"putThing\")";
    let hash = |text: &str| {
        let hash = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        hash.as_ref()[..4].iter().map(|octet| format!("{octet:02x}")).collect::<String>()
    };
    let of_control = format!("control token {}", hash(control));
    let expected = [
        (&*of_control, put, r#"{"n":7}"#, 204, None),
        (&*of_control, put, r#"{"n":70}"#, 422, Some("it exceeds 9")),
        (
            &*format!("read token {}", hash(read)),
            put,
            "",
            403,
            Some("this token has the role `read`; the request needs `control`"),
        ),
    ];
    for (at, (client, what, body, status, refusal)) in expected.into_iter().enumerate() {
        let (of, request, content, answer, reason) = &seen[at];
        assert_eq!((&**of, &**request, &**content, *answer, reason.as_deref()), (client, what, body, status, refusal));
    }
    let (client, what, _, status, refusal) = &seen[3];
    assert_eq!((&**client, &**what, *status), ("not admitted", "PUT /thing None", 401));
    assert!(refusal.as_deref().unwrap().contains("no bearer token"), "{refusal:?}");
    assert_eq!((&*seen[4].1, seen[4].3), ("DELETE /none None", 404));
    assert!(seen.iter().all(|(.., status, _)| *status != 429), "{seen:?}");
}
