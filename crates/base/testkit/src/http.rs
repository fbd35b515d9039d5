//! A client of HTTP/1.1 for tests: it sends any octets, malformed requests included, and reads one response at a time.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::PATIENCE;

/// A response.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The content.
    pub body: String,
}

impl Response {
    /// Returns the value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| &**value)
    }

    /// Returns the content as JSON.
    ///
    /// # Panics
    /// If it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the problem details (RFC 9457) of a refusal.
    ///
    /// # Panics
    /// If the response has another status or no problem details, or if its detail lacks one of `pieces`.
    #[track_caller]
    pub fn expect_problem(&self, status: u16, pieces: &[&str]) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let document = self.json();
        assert_eq!(document["status"], status);
        assert_eq!(document["type"], "about:blank");
        assert!(document["title"].is_string(), "{document}");
        let detail = document["detail"].as_str().unwrap();
        for piece in pieces {
            assert!(detail.contains(piece), "missing: {piece}\n{detail}");
        }
        document
    }

    /// Returns the content as JSON; null if there is none.
    ///
    /// # Panics
    /// If the response has another status, or content that is not `application/json`.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        if self.body.is_empty() {
            return Value::Null;
        }
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        self.json()
    }
}

/// A connection to a server. Reading fails after [`PATIENCE`].
#[derive(Debug)]
pub struct Client(BufReader<TcpStream>);

impl Client {
    /// Connects.
    #[must_use]
    pub fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client(BufReader::new(stream))
    }

    /// Limits the wait for a response.
    pub fn set_patience(&mut self, patience: Duration) {
        self.0.get_ref().set_read_timeout(Some(patience)).unwrap();
    }

    /// Writes octets.
    pub fn write(&mut self, octets: &[u8]) {
        self.try_write(octets).unwrap();
    }

    /// Writes octets to a connection that may be closed.
    ///
    /// # Errors
    /// If it is closed.
    pub fn try_write(&mut self, octets: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(octets)
    }

    /// Reads the next response; `None` if the connection ends.
    pub fn try_receive(&mut self) -> Option<Response> {
        let mut line = String::new();
        if self.0.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("{line}")).parse().unwrap();
        let mut headers = Vec::new();
        loop {
            line.clear();
            self.0.read_line(&mut line).unwrap();
            match line.trim_end().split_once(": ") {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
                None => break,
            }
        }
        let mut response = Response { status, headers, body: String::new() };
        if status == 100 {
            return self.try_receive();
        }
        let length = response.header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        response.body = String::from_utf8(body).unwrap();
        Some(response)
    }

    /// Reads the next response.
    pub fn receive(&mut self) -> Response {
        self.try_receive().expect("a response")
    }

    /// Reads one line as it is; `None` if the connection ends.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.0.read_line(&mut line).ok().filter(|octets| *octets > 0).map(|_| line)
    }

    /// Closes the sending direction.
    pub fn close_write(&mut self) {
        self.0.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    /// Waits until the server closes the connection, and ignores what it still sends.
    #[track_caller]
    pub fn expect_closed(&mut self) {
        let mut rest = Vec::new();
        // a reset closes it as well
        if let Err(error) = self.0.read_to_end(&mut rest) {
            assert!(!matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "the connection stays open");
        }
    }

    /// Sends a request without waiting for its response.
    pub fn send(&mut self, method: &str, path: &str, body: Option<&str>) {
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n");
        if let Some(body) = body {
            text += &format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        } else {
            text += "\r\n";
        }
        self.write(text.as_bytes());
    }

    /// Sends a request and reads its response.
    pub fn request(&mut self, method: &str, path: &str, body: Option<&str>) -> Response {
        self.send(method, path, body);
        self.receive()
    }

    /// Sends a request on a connection that may be closed; `None` if it is.
    pub fn try_request(&mut self, method: &str, path: &str) -> Option<Response> {
        let text = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        self.try_write(text.as_bytes()).ok()?;
        self.try_receive()
    }
}

/// A REST service under test. Each request has a connection of its own.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// The service's address.
    pub address: SocketAddr,
}

impl Service {
    /// Sends a request and reads its response.
    pub fn request(&self, method: &str, path: &str, body: impl Into<Option<Value>>) -> Response {
        let body = body.into().map(|body| body.to_string());
        Client::connect(self.address).request(method, path, body.as_deref())
    }

    /// Sends a request without waiting for its response.
    pub fn send(&self, method: &str, path: &str, body: impl Into<Option<Value>>) -> Client {
        let mut client = Client::connect(self.address);
        client.send(method, path, body.into().map(|body| body.to_string()).as_deref());
        client
    }

    /// Returns the document of a resource.
    ///
    /// # Panics
    /// If it is not answered with 200 and JSON.
    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        self.request("GET", path, None).expect(200)
    }

    /// Waits until a resource exists and meets a condition. Returns its document.
    ///
    /// # Panics
    /// If it does not within [`PATIENCE`].
    #[track_caller]
    pub fn eventually(&self, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let response = self.request("GET", path, None);
            if response.status == 200 && holds(&response.json()) {
                return response.json();
            }
            assert!(Instant::now() < deadline, "timed out: {path}: {response:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
