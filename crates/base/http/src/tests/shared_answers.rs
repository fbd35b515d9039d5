//! Answers of another thread that reads share.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;
use crate::{Reply, RequestReceiver, request_queue};

/// Longer than any test.
const AGE: Duration = Duration::from_secs(3600);

/// A service whose loop is the test: it counts its answers.
struct Service {
    rest: Server,
    requests: RequestReceiver<&'static str>,
    woken: Receiver<()>,
    answers: u32,
}

impl Service {
    fn start(max_age: Duration) -> Self {
        Service::with_own_answers(max_age, 0)
    }

    fn with_own_answers(max_age: Duration, per_second: u32) -> Self {
        let (wake, woken): (Sender<()>, _) = channel();
        let (queue, requests) = request_queue(move || wake.send(()).unwrap());
        let queue = queue.with_shared_reads(max_age, per_second);
        let route = |operation: Operation, job| Route::queued(operation, &queue, move |_| Ok(job));
        let routes = vec![
            route(Operation::get("/count", "", ""), "count"),
            route(Operation::get("/missing", "", ""), "missing"),
            route(Operation::put("/count", "", ""), "write"),
        ];
        Service { rest: Server::start(small(), routes).unwrap(), requests, woken, answers: 0 }
    }

    fn connect(&self) -> Client {
        Client::connect(self.rest.address())
    }

    /// Waits for the next request.
    #[track_caller]
    fn next(&self) -> (&'static str, Reply) {
        self.woken.recv_timeout(PATIENCE).expect("a request");
        self.requests.try_next().unwrap()
    }

    /// Answers the next request with the number of answers so far.
    #[track_caller]
    fn answer(&mut self) {
        let (job, reply) = self.next();
        self.answers += 1;
        reply.send(match job {
            "missing" => Err(Problem::not_found("there is no such thing")),
            _ => Ok(Response::ok(self.answers).tagged()),
        });
    }

    fn is_idle(&self) -> bool {
        self.requests.try_next().is_none()
    }
}

#[test]
fn reads_share_an_answer() {
    let mut service = Service::start(AGE);
    let (mut one, mut other) = (service.connect(), service.connect());
    one.send("GET", "/count", None);
    service.answer();
    let first = one.receive();
    assert_eq!(first.expect(200), 1);
    assert_eq!(other.request("GET", "/count", None).expect(200), 1);
    let tag = first.header("etag").unwrap();
    other.write(format!("GET /count HTTP/1.1\r\nhost: localhost\r\nif-none-match: {tag}\r\n\r\n").as_bytes());
    assert_eq!(other.receive().status, 304);
    assert!(service.is_idle());
}

#[test]
fn answer_that_is_too_old_is_not_shared() {
    let mut service = Service::start(Duration::from_millis(1));
    let mut client = service.connect();
    for number in 1..=3 {
        client.send("GET", "/count", None);
        service.answer();
        assert_eq!(client.receive().expect(200), number);
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn read_after_a_write_shows_it() {
    let mut service = Service::start(AGE);
    let (mut reader, mut writer) = (service.connect(), service.connect());
    reader.send("GET", "/count", None);
    service.answer();
    assert_eq!(reader.receive().expect(200), 1);
    writer.send("PUT", "/count", Some("{}"));
    service.answer();
    assert_eq!(writer.receive().expect(200), 2);
    reader.send("GET", "/count", None);
    service.answer();
    assert_eq!(reader.receive().expect(200), 3);
}

#[test]
fn read_after_a_write_does_not_wait_for_an_answer_from_before_it() {
    let mut service = Service::start(AGE);
    let (mut early, mut late, mut writer) = (service.connect(), service.connect(), service.connect());
    early.send("GET", "/count", None);
    let (_, reply_of_early) = service.next();
    writer.send("PUT", "/count", Some("{}"));
    service.answer();
    assert_eq!(writer.receive().expect(200), 1);
    late.send("GET", "/count", None);
    service.answer();
    assert_eq!(late.receive().expect(200), 2);
    reply_of_early.send(Ok(Response::ok("from before")));
    assert_eq!(early.receive().expect(200), "from before");
    assert_eq!(late.request("GET", "/count", None).expect(200), 2);
}

#[test]
fn reads_that_wait_share_the_answer_even_if_the_first_is_cancelled() {
    let mut service = Service::start(AGE);
    let mut waiting: Vec<_> = (0..4).map(|_| service.connect()).collect();
    let mut first = service.connect();
    first.send("GET", "/count", None);
    let (_, lost) = service.next();
    waiting.iter_mut().for_each(|client| client.send("GET", "/count", None));
    drop(first);
    // the server sees that the client is gone, and one of the others requests the answer
    service.answer();
    assert!(lost.is_closed());
    for mut client in waiting {
        assert_eq!(client.receive().expect(200), 1);
    }
    assert!(service.is_idle());
}

#[test]
fn refusal_is_not_shared_later() {
    let mut service = Service::start(AGE);
    let mut client = service.connect();
    for _ in 0..2 {
        client.send("GET", "/missing", None);
        service.answer();
        client.receive().expect_problem(404, &["no such thing"]);
    }
}

#[test]
fn few_reads_have_answers_of_their_own() {
    let mut service = Service::with_own_answers(AGE, 1);
    let mut client = service.connect();
    // the first has nothing to share, the second may have its own
    for number in 1..=2 {
        client.send("GET", "/count", None);
        service.answer();
        assert_eq!(client.receive().expect(200), number);
    }
}

#[test]
fn read_that_accepts_an_age_takes_an_older_answer() {
    let mut service = Service::with_own_answers(Duration::ZERO, 1000);
    let mut client = service.connect();
    let read = |client: &mut Client, directives: &str| {
        client
            .write(format!("GET /count HTTP/1.1\r\nhost: localhost\r\ncache-control: {directives}\r\n\r\n").as_bytes());
    };
    client.send("GET", "/count", None);
    service.answer();
    assert_eq!(client.receive().expect(200), 1);
    read(&mut client, "max-age=10");
    assert_eq!(client.receive().expect(200), 1);
    read(&mut client, "no-transform, Max-Age=3600");
    assert_eq!(client.receive().expect(200), 1);
    assert!(service.is_idle());
    // what is no age, or refuses an old answer
    for (number, directives) in (2..).zip(["max-age=0", "max-age=x", "max-age", "no-cache, max-age=10", "max-age=-1"]) {
        read(&mut client, directives);
        service.answer();
        assert_eq!(client.receive().expect(200), number, "{directives}");
    }
    // nor is an answer from before a write taken
    client.send("PUT", "/count", Some("{}"));
    service.answer();
    client.receive().expect(200);
    read(&mut client, "max-age=10");
    service.answer();
    assert_eq!(client.receive().expect(200), 8);
}
