//! Tokens that a service verifies itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::streams::{Streaming, config as streaming_config};
use super::*;
use crate::{Access, AccessFiles, BearerFault, BearerVerifier, OAuth2, Role, Subject, request_queue};

/// The subjects of tokens.
type Subjects = HashMap<Vec<u8>, Result<&'static str, BearerFault>>;

/// Tokens and their subjects, which a test changes.
#[derive(Clone, Default)]
struct Known(Arc<Mutex<Subjects>>);

impl Known {
    fn set(&self, token: &str, subject: Result<&'static str, BearerFault>) {
        self.0.lock().unwrap().insert(token.into(), subject);
    }
}

impl BearerVerifier for Known {
    fn verify(&self, token: &[u8]) -> Result<Subject, BearerFault> {
        let found = self.0.lock().unwrap().get(token).cloned();
        let name = found.unwrap_or_else(|| Err(BearerFault::Invalid("it is not known".to_owned())))?;
        Ok(Subject { name: name.into(), role: Role::Read })
    }
}

fn oauth2() -> OAuth2 {
    OAuth2 { token_url: "/token".to_owned(), scope: "all", about: "Everything." }
}

fn get(address: SocketAddr, path: &str, token: &str) -> Received {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n");
    response_to(address, request.as_bytes()).0
}

#[test]
fn verified_token_is_for_routes_that_declare_it() {
    let known = Known::default();
    known.set("a-token", Ok("a"));
    known.set("later", Err(BearerFault::Unavailable("the issuer is away".to_owned())));
    known.set("narrow", Err(BearerFault::Scope("all")));
    let whose = |request: &Request| Ok(Response::ok(request.subject().map(ToString::to_string)));
    let own = Route::new(Operation::get("/own", "", ""), whose).takes_oauth2(&oauth2());
    let write = Route::new(Operation::delete("/own", "", ""), |_| Ok(Response::no_content())).takes_oauth2(&oauth2());
    let other = Route::new(Operation::get("/other", "", ""), whose);
    let open = Route::new(Operation::get("/open", "", "").public(), whose);
    let folder = testkit::certificates::Authority::new();
    let tokens = Some(folder.write("tokens", "admin 0123456789abcdef\n"));
    let access = Access::load(AccessFiles { tls: None, tokens }).unwrap().with_verifier(Arc::new(known.clone()));
    let rest = Server::start(ServerConfig { access, ..small() }, vec![own, write, other, open]).unwrap();
    let get = |path: &str, token: &str| get(rest.address(), path, token);
    assert_eq!(get("/own", "a-token").expect(200), "a");
    get("/other", "a-token").expect_problem(403, &["not for"]);
    let mut client = Client::connect(rest.address());
    client.write(b"DELETE /own HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer a-token\r\n\r\n");
    client.receive().expect_problem(403, &["needs `control`"]);
    // a token of the file has no subject, and is for everything
    assert_eq!(get("/own", "0123456789abcdef").expect(200), serde_json::Value::Null);
    assert_eq!(get("/other", "0123456789abcdef").status, 200);
    let unknown = get("/own", "b-token");
    unknown.expect_problem(401, &["it is not known"]);
    assert!(unknown.header("www-authenticate").unwrap().contains("invalid_token"));
    let narrow = get("/own", "narrow");
    narrow.expect_problem(403, &["scope `all`"]);
    assert!(narrow.header("www-authenticate").unwrap().contains("insufficient_scope"));
    let later = get("/own", "later");
    later.expect_problem(503, &["the issuer is away"]);
    assert!(later.header("retry-after").is_some());
    client.request("GET", "/own", None).expect_problem(401, &["no bearer token"]);
    assert_eq!(client.request("GET", "/open", None).status, 200);
    assert_eq!(get("/open", "b-token").status, 200);
    known.set("a-token", Err(BearerFault::Invalid("revoked".to_owned())));
    get("/own", "a-token").expect_problem(401, &["revoked"]);
}

#[test]
fn subjects_share_no_answers() {
    let known = Known::default();
    known.set("a-token", Ok("a"));
    known.set("b-token", Ok("b"));
    let (wake, woken) = std::sync::mpsc::channel();
    let (queue, requests) = request_queue::<Option<String>>(move || wake.send(()).unwrap());
    let queue = queue.with_shared_reads(Duration::from_secs(3600), 100);
    let whose = |request: &Request| Ok(request.subject().map(ToString::to_string));
    let route = Route::queued(Operation::get("/own", "", ""), &queue, whose).takes_oauth2(&oauth2());
    let access = Access::default().with_verifier(Arc::new(known));
    let rest = Server::start(ServerConfig { access, ..small() }, vec![route]).unwrap();
    let answering = std::thread::spawn(move || {
        while woken.recv().is_ok() {
            while let Some((subject, reply)) = requests.try_next() {
                reply.send(Ok(Response::ok(subject)));
            }
        }
    });
    for name in ["a", "b", "a"] {
        assert_eq!(get(rest.address(), "/own", &format!("{name}-token")).expect(200), name);
    }
    drop((rest, queue));
    answering.join().unwrap();
}

#[test]
fn stream_ends_when_its_token_is_not_verified_any_more() {
    let known = Known::default();
    known.set("a-token", Ok("a"));
    let access = Access::default().with_verifier(Arc::new(known.clone()));
    let streaming = Streaming::start(ServerConfig { access, ..streaming_config() });
    let mut events = Client::connect(streaming.rest.address());
    events.write(b"GET /events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer a-token\r\n\r\n");
    assert_eq!(events.line().as_deref(), Some("HTTP/1.1 200 OK\r\n"));
    // what cannot be verified now was verified before
    known.set("a-token", Err(BearerFault::Unavailable("away".to_owned())));
    std::thread::sleep(3 * streaming_config().stream_ping);
    streaming.publish(0..1);
    while events.line().is_some_and(|line| !line.starts_with("data: ")) {}
    known.set("a-token", Err(BearerFault::Invalid("expired".to_owned())));
    while events.line().is_some_and(|line| line != "0\r\n") {}
}

#[test]
fn document_says_how_tokens_are_had() {
    let api = crate::openapi::Api { title: "T", tags: &[("a", "A.")], ..Default::default() };
    let operation = Operation::get("/own", "own", "Own").tag("a").returns::<u32>("Own.");
    let route = Route::new(operation, |_| Ok(Response::ok(1))).takes_oauth2(&oauth2());
    let document = api.document(&[route]);
    let flow = &document["components"]["securitySchemes"]["oauth2"]["flows"]["clientCredentials"];
    assert_eq!(*flow, json!({ "tokenUrl": "/token", "scopes": { "all": "Everything." } }));
    assert_eq!(document["paths"]["/own"]["get"]["security"][0], json!({ "oauth2": ["all"] }));
}
