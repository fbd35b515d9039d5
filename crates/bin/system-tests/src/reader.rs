//! A reader of Server-Sent Events.

use std::net::SocketAddr;
use std::time::Instant;

use serde_json::Value;
use testkit::PATIENCE;
use testkit::http::Client;

/// A reader of Server-Sent Events.
pub struct Reader(Client);

impl Reader {
    /// Opens a stream.
    ///
    /// # Panics
    /// If it is refused.
    #[must_use]
    pub fn open(rest: SocketAddr, path: &str) -> Self {
        let (client, status) = Reader::ask(rest, path);
        assert!(status.starts_with("HTTP/1.1 200 "), "{path}: {status}");
        Reader(client)
    }

    /// Returns the status line with which a stream is answered, and closes it.
    #[must_use]
    pub fn status(rest: SocketAddr, path: &str) -> String {
        Reader::ask(rest, path).1
    }

    fn ask(rest: SocketAddr, path: &str) -> (Client, String) {
        let mut client = Client::connect(rest);
        client.send("GET", path, None);
        let status = client.line().expect("an answer");
        (client, status)
    }

    /// Returns the data of the next event of a kind, or of one of several kinds: `ue_attached|ue_present`.
    ///
    /// # Panics
    /// If there is none in time.
    pub fn next(&mut self, kind: &str) -> Value {
        let mut last = String::new();
        let mut others = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < deadline, "no {kind} among {others:?}");
            let line = self.0.line().expect("the stream is open");
            if let Some(name) = line.trim_end().strip_prefix("event: ") {
                last = name.to_owned();
            } else if let Some(data) = line.trim_end().strip_prefix("data: ")
                && kind.split('|').any(|kind| last == kind)
            {
                return serde_json::from_str(data).expect("JSON");
            } else if line.starts_with("data: ") && others.len() < 20 {
                others.push(format!("{last} {line}"));
            }
        }
    }
}
