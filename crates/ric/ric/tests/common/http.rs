//! A client of HTTP/1.1, as small as can be.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Nothing here takes a tenth of this, unless it never comes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| &**value)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Fails unless it is problem details of that status whose detail holds each of `pieces`.
    #[track_caller]
    pub fn complains(&self, status: u16, pieces: &[&str]) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let document = self.json();
        assert_eq!(document["status"], status);
        assert_eq!(document["type"], "about:blank");
        assert!(document["title"].is_string(), "{document}");
        let detail = document["detail"].as_str().unwrap();
        for piece in pieces {
            assert!(detail.contains(piece), "not told: {piece}\n{detail}");
        }
        document
    }

    /// Fails unless it is of that status; gives back its JSON.
    #[track_caller]
    pub fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        if self.body.is_empty() {
            return Value::Null;
        }
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        self.json()
    }
}

/// A connection.
pub struct Client(BufReader<TcpStream>);

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client(BufReader::new(stream))
    }

    /// Waits no longer than that for an answer.
    pub fn set_patience(&mut self, patience: Duration) {
        self.0.get_ref().set_read_timeout(Some(patience)).unwrap();
    }

    pub fn write(&mut self, octets: &[u8]) {
        self.try_write(octets).unwrap();
    }

    pub fn try_write(&mut self, octets: &[u8]) -> std::io::Result<()> {
        self.0.get_mut().write_all(octets)
    }

    /// The next answer; `None` where the connection ends.
    pub fn try_receive(&mut self) -> Option<Answer> {
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
        let mut answer = Answer { status, headers, body: String::new() };
        if status == 100 {
            return self.try_receive();
        }
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        answer.body = String::from_utf8(body).unwrap();
        Some(answer)
    }

    /// The next line of an answer, as it is.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.0.read_line(&mut line).ok().filter(|octets| *octets > 0).map(|_| line)
    }

    pub fn receive(&mut self) -> Answer {
        self.try_receive().expect("an answer")
    }

    /// Says that nothing more comes, and nothing is awaited.
    pub fn leave(&mut self) {
        self.0.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    /// Waits until the other side closes, whatever it still says.
    pub fn expect_closed(&mut self) {
        let mut rest = Vec::new();
        // it may be reset, which is as good
        if let Err(error) = self.0.read_to_end(&mut rest) {
            assert!(!matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "it never closes");
        }
    }

    pub fn send(&mut self, method: &str, path: &str, body: Option<&str>) {
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n");
        if let Some(body) = body {
            text += &format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        } else {
            text += "\r\n";
        }
        self.write(text.as_bytes());
    }

    pub fn ask(&mut self, method: &str, path: &str, body: Option<&str>) -> Answer {
        self.send(method, path, body);
        self.receive()
    }

    /// The same of a connection that may be closed before.
    pub fn ask_or_none(&mut self, method: &str, path: &str) -> Option<Answer> {
        let text = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        self.try_write(text.as_bytes()).ok()?;
        self.try_receive()
    }
}
