//! Servers of callbacks that behave as a test wants, and numbered notifications.

#![allow(dead_code, reason = "each test uses a part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use rnis::{Delivery, Key, Notification, Target};

/// A request that a server has received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    pub path: String,
    pub body: String,
    pub is_redelivered: bool,
}

impl Post {
    /// The number of its notification.
    pub fn number(&self) -> u64 {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        body["n"].as_u64().unwrap()
    }
}

/// What a server does with a request. It returns whether the connection remains.
pub type Answer = dyn Fn(&mut TcpStream, &Post) -> bool + Send + Sync;

#[derive(Default)]
struct Shared {
    posts: Mutex<Vec<Post>>,
    streams: Mutex<Vec<TcpStream>>,
    connections: AtomicUsize,
    is_over: AtomicBool,
}

/// A server of callbacks, with a thread for each connection.
pub struct Server {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<thread::JoinHandle<()>>,
}

/// Answers 204.
pub fn accept(stream: &mut TcpStream, _: &Post) -> bool {
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").is_ok()
}

impl Server {
    pub fn start(answer: impl Fn(&mut TcpStream, &Post) -> bool + Send + Sync + 'static) -> Self {
        Server::start_at("127.0.0.1:0".parse().unwrap(), answer)
    }

    pub fn start_at(
        address: SocketAddr,
        answer: impl Fn(&mut TcpStream, &Post) -> bool + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (shared, answer) = (Arc::<Shared>::default(), Arc::new(answer));
        let of_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if of_thread.is_over.load(Ordering::Acquire) {
                    return;
                }
                let stream = stream.unwrap();
                of_thread.connections.fetch_add(1, Ordering::AcqRel);
                of_thread.streams.lock().unwrap().push(stream.try_clone().unwrap());
                let (shared, answer) = (Arc::clone(&of_thread), Arc::clone(&answer));
                thread::spawn(move || serve(stream, &shared, &*answer));
            }
        });
        Server { address, shared, thread: Some(thread) }
    }

    pub fn posts(&self) -> Vec<Post> {
        self.shared.posts.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Acquire)
    }

    pub fn target(&self, path: &str) -> Target {
        target(&format!("http://{}{path}", self.address))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        // ends the wait for a connection
        drop(TcpStream::connect(self.address));
        self.thread.take().unwrap().join().unwrap();
        for stream in self.shared.streams.lock().unwrap().drain(..) {
            // it may be closed
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn serve(stream: TcpStream, shared: &Shared, answer: &Answer) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some(post) = read(&mut reader) {
        shared.posts.lock().unwrap().push(post.clone());
        if !answer(&mut stream, &post) {
            // the list of streams has it too
            let _ = stream.shutdown(Shutdown::Both);
            return;
        }
    }
}

/// Reads a request; `None` at the end of the connection.
fn read(reader: &mut BufReader<TcpStream>) -> Option<Post> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let path = line.strip_prefix("POST ")?.split(' ').next()?.to_owned();
    let (mut length, mut is_redelivered) = (0, false);
    loop {
        line.clear();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        if line == "\r\n" {
            break;
        }
        let (name, value) = line.trim_end().split_once(": ")?;
        match name {
            "content-length" => length = value.parse().ok()?,
            "ferric-redelivered" => is_redelivered = value == "true",
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Post { path, body: String::from_utf8(body).unwrap(), is_redelivered })
}

pub fn target(url: &str) -> Target {
    Target::callback(url, r#","_links":{}}"#).unwrap()
}

pub fn notification(number: u64) -> Notification {
    let body = format!(r#"{{"n":{number}"#);
    Notification { body: body.into(), received_ns: 0, acknowledgement: None, is_redelivered: false }
}

/// Sends numbered notifications to subscriptions.
pub fn send(delivery: &Delivery, keys: &[u64], numbers: std::ops::Range<u64>) {
    let keys: Vec<Key> = keys.iter().copied().map(Key).collect();
    numbers.for_each(|number| delivery.send(&keys, &notification(number)));
}
