//! The sink against servers that answer in every way.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};

use clap::Parser;

use super::*;
use crate::text::tests::{batch, names};

/// A server that answers each request in turn, and keeps the requests: head and body.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<(String, String)>>>,
}

impl Server {
    fn start(answers: Vec<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for answer in answers {
                let (stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream);
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    reader.read_line(&mut head).unwrap();
                }
                let length = head.to_ascii_lowercase();
                let length = length.split_once("content-length: ").unwrap().1.split_once('\r').unwrap().0;
                let mut body = vec![0; length.parse().unwrap()];
                reader.read_exact(&mut body).unwrap();
                kept.lock().unwrap().push((head, String::from_utf8(body).unwrap()));
                let _ = reader.get_mut().write_all(answer.as_bytes());
            }
        });
        Server { address, requests }
    }

    fn open(&self, more: &[&str]) -> Box<Influx> {
        open(&format!("http://{}", self.address), more)
    }

    fn requests(&self) -> Vec<(String, String)> {
        self.requests.lock().unwrap().clone()
    }
}

fn open(url: &str, more: &[&str]) -> Box<Influx> {
    let words = ["ferric-export", "--to", "influx", "-m", "x", "--url", url];
    let mut args = Args::try_parse_from(words.iter().chain(more)).unwrap();
    args.measurements = names();
    Box::new(Influx::start(&args, url).unwrap())
}

const DONE: &str = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
const BUSY: &str =
    "HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
const V2: [&str; 4] = ["--org", "o g", "--bucket", "b"];

#[test]
fn points_are_sent_again_until_the_server_takes_them() {
    let server = Server::start(vec![BUSY, BUSY, DONE]);
    let token = std::env::temp_dir().join(format!("ferric-export-token-{}", std::process::id()));
    std::fs::write(&token, "secret\n").unwrap();
    let mut sink = server.open(&[&V2[..], &["--token", token.to_str().unwrap()]].concat());
    std::fs::remove_file(token).unwrap();
    sink.write(&batch(), 2).unwrap();
    let closed = sink.close();
    assert!(closed.result.is_ok());
    assert_eq!(closed.counts, Counts { written: 2, lost: 0 });
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| request == &requests[0]));
    let (head, body) = &requests[0];
    assert!(head.starts_with("POST /api/v2/write?org=o%20g&bucket=b&precision=ns HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Token secret\r\n") && body.lines().count() == 2, "{head}{body}");
}

#[test]
fn path_of_version_1_names_database_and_retention_policy() {
    let server = Server::start(vec![DONE]);
    let mut sink = server.open(&["--database", "a&b/day"]);
    sink.write(&batch(), 1).unwrap();
    assert_eq!(sink.close().counts, Counts { written: 1, lost: 0 });
    let (head, _) = &server.requests()[0];
    assert!(head.starts_with("POST /write?db=a%26b&rp=day&precision=ns HTTP/1.1\r\n"), "{head}");
}

#[test]
fn points_that_the_server_refuses_are_counted() {
    let answer = |body: &str| {
        let text =
            format!("HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        &*text.leak()
    };
    let partial = answer("{\"error\":\"partial write: field type conflict dropped=1\"}");
    let all = answer("{\"code\":\"invalid\",\"message\":\"unable to parse\"}");
    for (answer, written, lost) in [(partial, 1, 1), (all, 0, 2)] {
        let mut sink = Server::start(vec![answer]).open(&V2);
        sink.write(&batch(), 2).unwrap();
        let closed = sink.close();
        assert_eq!((closed.counts, closed.result.is_ok()), (Counts { written, lost }, true));
    }
}

#[test]
fn chunk_that_is_too_long_is_sent_in_parts() {
    const LONG: &str = "HTTP/1.1 413 Request Entity Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let server = Server::start(vec![LONG, DONE, LONG]);
    let mut sink = server.open(&V2);
    sink.write(&batch(), 2).unwrap();
    assert_eq!(sink.close().counts, Counts { written: 1, lost: 1 });
    let lines: Vec<_> = server.requests().iter().map(|(_, body)| body.lines().count()).collect();
    assert_eq!(lines, [2, 1, 1]);
}

#[test]
fn server_that_refuses_the_writer_ends_the_export_with_a_reason() {
    let body = "{\"code\":\"unauthorized\",\"message\":\"unauthorized access\"}";
    let answer =
        format!("HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let mut sink = Server::start(vec![answer.leak()]).open(&V2);
    sink.write(&batch(), 2).unwrap();
    let closed = sink.close();
    let error = closed.result.unwrap_err().to_string();
    assert!(error.contains("(401): unauthorized access; check --url"), "{error}");
    assert_eq!(closed.counts, Counts { written: 0, lost: 2 });
}

#[test]
fn absent_server_fills_the_bounded_buffer_and_every_loss_is_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let mut sink = open(&url, &[&V2[..], &["--buffer-octets", "4K", "--drain-seconds", "0"]].concat());
    let mut sent = 0;
    for _ in 0..500 {
        sink.write(&batch(), 2).unwrap();
        sent += 2;
    }
    let (octets, lost) = {
        let state = sink.shared.state();
        (state.octets, state.counts.lost)
    };
    // the chunk that is being sent is beside the buffer for a moment
    assert!(octets <= 4096 + 2048 && lost > 0, "{octets} {lost}");
    let closed = sink.close();
    assert_eq!((closed.counts, closed.result.is_ok()), (Counts { written: 0, lost: sent }, true));
}
