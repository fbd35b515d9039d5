//! What every request and response has: ids, rates, conditions, negotiation, query parameters, metrics, headers for browsers.

use super::*;
use crate::metrics::Registry;

fn routes(registry: &Registry) -> Vec<Route> {
    let query = [Parameter::of::<u32>("period_ms", "The period."), Parameter::text("cell", "The cell.")];
    let period = |request: &Request| {
        let period = request.query_number("period_ms", 1..=1000_u32)?;
        Ok(Response::ok(json!({ "period_ms": period, "cell": request.query("cell") })))
    };
    let change = |request: &Request| {
        request.check_if_match(&Response::tag_of("one"))?;
        Ok(Response::ok("two"))
    };
    vec![
        Route::new(Operation::get("/period", "", "").query(&query).returns::<serde_json::Value>("It."), period),
        Route::new(Operation::get("/tagged", "", ""), |_| Ok(Response::ok("one").tagged())),
        Route::new(Operation::put("/tagged", "", ""), change),
        Route::file("/", "text/html; charset=utf-8", b"<!doctype html>"),
        Route::metrics(Operation::get("/metrics", "", ""), registry),
    ]
}

fn start(adapt: impl FnOnce(&mut ServerConfig)) -> Server {
    let mut config = small();
    adapt(&mut config);
    let routes = routes(&config.metrics);
    Server::start(config, routes).unwrap()
}

fn ask(client: &mut Client, request: &str, headers: &str) -> Received {
    client.write(format!("{request} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n").as_bytes());
    client.receive()
}

#[test]
fn request_id_is_in_every_answer_and_problem() {
    let rest = start(|_| ());
    let mut client = Client::connect(rest.address());
    let id = |answer: &Received| answer.header("x-request-id").unwrap().to_owned();
    let own = ask(&mut client, "GET /period", "x-request-id: order-66.a_B\r\n");
    assert_eq!(id(&own), "order-66.a_B");
    let problem = ask(&mut client, "GET /nowhere", "x-request-id: order-67\r\n");
    assert_eq!(problem.expect_problem(404, &[])["request_id"], "order-67");
    assert_eq!(id(&problem), "order-67");
    let made = ask(&mut client, "GET /period", "x-request-id: <b>\r\n");
    assert_eq!(id(&made).len(), 16);
    let other = ask(&mut client, "GET /nowhere", "");
    assert_eq!(other.expect_problem(404, &[])["request_id"], *id(&other));
    assert_ne!(id(&made), id(&other));
    // what is no request has one too
    let mut garbage = Client::connect(rest.address());
    garbage.write(b"garbage\r\n\r\n");
    let refused = garbage.receive();
    assert_eq!(refused.expect_problem(400, &[])["request_id"], *id(&refused));
}

#[test]
fn refusal_is_logged_with_its_request_id() {
    let log = testkit::log::global();
    let rest = start(|_| ());
    let mut client = Client::connect(rest.address());
    client.write(b"GET /period HTTP/1.1\r\nhost: id.example\r\nx-request-id: order-68\r\n\r\n");
    client.receive().expect_problem(421, &[]);
    testkit::eventually("the line", || {
        log.text().lines().any(|line| line.contains("request_id=order-68") && line.contains("id.example"))
    });
}

#[test]
fn requests_beyond_the_rate_of_a_host_are_answered_with_429() {
    let rest = start(|config| config.max_requests_per_second = 1);
    let mut client = Client::connect(rest.address());
    assert_eq!(client.request("GET", "/period", None).status, 200);
    let refused = client.request("GET", "/period", None);
    refused.expect_problem(429, &["too many requests of this host"]);
    assert_eq!(refused.header("retry-after"), Some("1"));
    // the connection stays, and a later request is served
    let deadline = Instant::now() + PATIENCE;
    while client.request("GET", "/period", None).status != 200 {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn token_has_a_rate_of_its_own() {
    let folder = testkit::certificates::Authority::new();
    let file = folder.write("tokens", "read 0123456789abcdef\nread fedcba9876543210\n");
    let files = crate::AccessFiles { tls: None, tokens: Some(file) };
    let rest = start(|config| {
        config.access = crate::Access::load(files).unwrap();
        config.max_requests_per_second = 4;
    });
    let mut client = Client::connect(rest.address());
    let mut ask = |token: &str| ask(&mut client, "GET /period", &format!("authorization: Bearer {token}\r\n"));
    // unknown tokens use the rate of the host only
    ask("0000000000000000").expect_problem(401, &[]);
    let statuses: Vec<_> = (0..8).map(|_| ask("0123456789abcdef").status).collect();
    assert!(statuses.contains(&200) && statuses.contains(&429), "{statuses:?}");
    testkit::eventually("the other token", || ask("fedcba9876543210").status == 200);
}

#[test]
fn query_parameters_are_declared_typed_and_within_their_range() {
    let rest = start(|_| ());
    let mut client = Client::connect(rest.address());
    let read = client.request("GET", "/period?period_ms=10&cell=a%20b", None).expect(200);
    assert_eq!(read, json!({ "period_ms": 10, "cell": "a b" }));
    let none = client.request("GET", "/period", None).expect(200);
    assert_eq!(none, json!({ "period_ms": null, "cell": null }));
    for (query, piece) in [
        ("period=1", "did you mean `period_ms`?"),
        ("period_ms=0", "period_ms: `0` is not a number from 1 to 1000"),
        ("period_ms=1001", "from 1 to 1000"),
        ("period_ms=", "from 1 to 1000"),
        ("cell=a&cell=b", "cell: the parameter is repeated"),
    ] {
        client.request("GET", &format!("/period?{query}"), None).expect_problem(400, &[piece]);
    }
}

#[test]
fn entity_tag_saves_a_transfer_and_prevents_a_lost_update() {
    let rest = start(|_| ());
    let mut client = Client::connect(rest.address());
    let first = client.request("GET", "/tagged", None);
    let tag = first.header("etag").unwrap().to_owned();
    assert_eq!((first.expect(200), first.header("cache-control")), (json!("one"), Some("no-cache")));
    let again = ask(&mut client, "GET /tagged", &format!("if-none-match: \"x\", {tag}\r\n"));
    assert_eq!((again.status, &*again.body, again.header("etag")), (304, "", Some(&*tag)));
    let change = |client: &mut Client, tag: &str| {
        ask(client, "PUT /tagged", &format!("if-match: {tag}\r\ncontent-length: 0\r\n"))
    };
    change(&mut client, "\"old\"").expect_problem(412, &["has changed", &tag]);
    assert_eq!(change(&mut client, &tag).expect(200), "two");
    assert_eq!(change(&mut client, "*").expect(200), "two");
}

#[test]
fn unacceptable_media_type_and_long_target_are_refused() {
    let rest = start(|_| ());
    let mut client = Client::connect(rest.address());
    ask(&mut client, "GET /period", "accept: text/html\r\n").expect_problem(406, &["application/json"]);
    assert_eq!(ask(&mut client, "GET /period", "accept: text/html, */*;q=0.1\r\n").status, 200);
    let long = format!("GET /period?cell={}", "x".repeat(9000));
    ask(&mut client, &long, "").expect_problem(414, &["at most 8192 octets"]);
    assert_eq!(client.request("GET", "/period", None).status, 200);
}

#[test]
fn file_has_a_tag_and_a_strict_policy() {
    let rest = start(|_| ());
    let mut client = Client::connect(rest.address());
    let page = client.request("GET", "/", None);
    assert_eq!((page.status, &*page.body), (200, "<!doctype html>"));
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    let api = client.request("GET", "/period", None);
    assert_eq!(api.header("content-security-policy"), Some("default-src 'none'; frame-ancestors 'none'"));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!((page.header(name), api.header(name)), (Some(value), Some(value)), "{name}");
    }
    let tag = page.header("etag").unwrap();
    assert_eq!(ask(&mut client, "GET /", &format!("if-none-match: {tag}\r\n")).status, 304);
    client.request("PUT", "/", Some("{}")).expect_problem(405, &["GET, HEAD"]);
}

#[test]
fn metrics_count_requests_by_route_and_never_by_path() {
    let rest = start(|_| ());
    let mut client = Client::connect(rest.address());
    (0..3).for_each(|_| drop(client.request("GET", "/period", None)));
    (0..20).for_each(|number| drop(client.request("GET", &format!("/nowhere/{number}"), None)));
    client.write(b"PURGE /period HTTP/1.1\r\nhost: localhost\r\n\r\n");
    client.receive().expect_problem(405, &[]);
    let metrics = client.request("GET", "/metrics", None);
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for line in [
        "# TYPE ferric_http_requests_total counter",
        "ferric_http_requests_total{method=\"GET\",route=\"/period\",status=\"200\"} 3",
        "ferric_http_requests_total{method=\"GET\",route=\"none\",status=\"404\"} 20",
        "ferric_http_requests_total{method=\"other\",route=\"none\",status=\"405\"} 1",
        "# TYPE ferric_http_request_duration_seconds histogram",
        "ferric_http_request_duration_seconds_bucket{route=\"/period\",le=\"+Inf\"} 3",
        "ferric_http_request_duration_seconds_count{route=\"/period\"} 3",
        "ferric_http_connections 1",
        "ferric_http_streams 0",
    ] {
        assert!(metrics.body.lines().any(|found| found == line), "{line}:\n{}", metrics.body);
    }
    assert!(!metrics.body.contains("nowhere"));
}
