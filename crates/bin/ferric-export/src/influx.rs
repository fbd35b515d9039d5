//! Points to an InfluxDB server over HTTP.
//!
//! A thread of its own sends them, so that a server that is slow or away holds up nothing: points wait in a buffer of bounded
//! size, whose oldest are lost when it is full.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use ferric::xapp::Batch;
use rest::client::{Client, ClientConfig, ClientResponse, ClientToken, Scheme};
use tracing::{info, warn};

use crate::arguments::{Args, Format};
use crate::sink::{Closed, Counts, Sink};
use crate::text::Encoder;

/// The points of a request: what InfluxDB's manual recommends.
const MAX_REQUEST_POINTS: usize = 5000;
/// The longest time that a point waits for others to be sent with.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// The time before the first repetition of a request; it doubles up to `MAX_RETRY`.
const MIN_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(30);
/// The longest time that a server may ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);
/// The time for a request and its answer.
const TIMEOUT: Duration = Duration::from_secs(10);
const MEDIA_TYPE: &str = "text/plain; charset=utf-8";

/// Lines that are sent together.
#[derive(Debug, Default)]
struct Chunk {
    text: String,
    points: u64,
}

#[derive(Debug, Default)]
struct State {
    chunks: VecDeque<Chunk>,
    octets: u64,
    counts: Counts,
    /// When what waits is to be sent or lost.
    close_by: Option<Instant>,
    /// The error after which nothing is sent any more.
    failure: Option<String>,
}

/// What the thread shares with the sink.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sink.
pub struct Influx {
    encoder: Encoder,
    /// The chunk that is being filled, and since when.
    filling: Chunk,
    since: Instant,
    max_octets: u64,
    drain: Duration,
    shared: Arc<Shared>,
    sender: Option<JoinHandle<()>>,
    url: String,
}

impl Influx {
    /// Starts to send to a server. It connects with the first request.
    ///
    /// # Errors
    /// If the URL is malformed or a file cannot be read.
    pub fn start(args: &Args, url: &str) -> anyhow::Result<Self> {
        let scheme = if args.database.is_some() { Scheme::Basic } else { Scheme::Token };
        let config = ClientConfig {
            ca: args.server_ca.clone(),
            token: args.token.clone().map(ClientToken::File),
            scheme,
            timeout: TIMEOUT,
            ..ClientConfig::new(url)
        };
        let client = Client::new(&config).with_context(|| format!("--url {url}"))?;
        let path = path(args);
        let shared = Arc::<Shared>::default();
        let of_sender = Arc::clone(&shared);
        let sender = std::thread::Builder::new().name("influx".into());
        let sender = sender.spawn(move || Sender { client, path, shared: of_sender, retry: None }.run())?;
        Ok(Influx {
            encoder: Encoder::new(Format::Influx, &args.measurements),
            filling: Chunk::default(),
            since: Instant::now(),
            max_octets: args.buffer_octets,
            drain: Duration::from_secs(args.drain_seconds.into()),
            shared,
            sender: Some(sender),
            url: url.to_owned(),
        })
    }

    /// Gives the chunk to the thread. The oldest chunks make room for it.
    fn pass_on(&mut self) {
        let chunk = std::mem::take(&mut self.filling);
        if chunk.points == 0 {
            return;
        }
        let mut state = self.shared.state();
        state.octets += chunk.text.len() as u64;
        state.chunks.push_back(chunk);
        while state.octets > self.max_octets && state.chunks.len() > 1 {
            if let Some(oldest) = state.chunks.pop_front() {
                state.octets -= oldest.text.len() as u64;
                state.counts.lost += oldest.points;
            }
        }
        drop(state);
        self.shared.changed.notify_one();
    }

    fn check(&self) -> anyhow::Result<()> {
        match &self.shared.state().failure {
            Some(failure) => Err(anyhow!("{failure}")),
            None => Ok(()),
        }
    }
}

/// The path of write requests. Times are in nanoseconds.
fn path(args: &Args) -> String {
    let (org, bucket) = (args.org.as_deref().unwrap_or_default(), args.bucket.as_deref().unwrap_or_default());
    match args.database.as_deref().map(|database| database.split_once('/').unwrap_or((database, ""))) {
        Some((database, "")) => format!("/write?db={}&precision=ns", encoded(database)),
        Some((database, policy)) => format!("/write?db={}&rp={}&precision=ns", encoded(database), encoded(policy)),
        None => format!("/api/v2/write?org={}&bucket={}&precision=ns", encoded(org), encoded(bucket)),
    }
}

/// Percent-encodes a value of a query (RFC 3986 2.1).
fn encoded(value: &str) -> String {
    value.bytes().fold(String::new(), |mut text, octet| {
        match octet {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(octet.into()),
            _ => text += &format!("%{octet:02X}"),
        }
        text
    })
}

impl Sink for Influx {
    fn write(&mut self, batch: &Batch, rows: usize) -> anyhow::Result<()> {
        for row in 0..rows {
            if self.filling.points == 0 {
                self.since = Instant::now();
            }
            // a record without a value is no point; nothing of it is lost
            if self.encoder.write(batch, row, &mut self.filling.text) {
                self.filling.points += 1;
            }
            // a long chunk would push everything else out of a small buffer
            let is_long = self.filling.text.len() as u64 >= self.max_octets / 4;
            if self.filling.points as usize >= MAX_REQUEST_POINTS || is_long {
                self.pass_on();
            }
        }
        self.check()
    }

    fn tick(&mut self) -> anyhow::Result<bool> {
        if self.since.elapsed() >= MAX_WAIT {
            self.pass_on();
        }
        self.check().map(|()| true)
    }

    fn close(mut self: Box<Self>) -> Closed {
        self.pass_on();
        self.shared.state().close_by = Some(Instant::now() + self.drain);
        self.shared.changed.notify_one();
        if let Some(sender) = self.sender.take() {
            // a panic of the thread is on standard error
            let _ = sender.join();
        }
        let state = self.shared.state();
        let waiting: u64 = state.chunks.iter().map(|chunk| chunk.points).sum();
        let counts = Counts { lost: state.counts.lost + waiting, ..state.counts };
        if waiting > 0 {
            warn!(server = self.url, points = waiting, "the server took no more: what waited for it is lost");
        }
        let result = match &state.failure {
            Some(failure) => Err(anyhow!("{failure}")),
            None => Ok(()),
        };
        Closed { counts, result }
    }
}

/// The thread that sends.
struct Sender {
    client: Client,
    path: String,
    shared: Arc<Shared>,
    /// The time before the next repetition, while the server takes nothing.
    retry: Option<Duration>,
}

/// What becomes of a chunk.
enum Outcome {
    Written,
    /// So many points are refused, the others are written.
    Refused(u64),
    /// It is sent again after this time, if the server names one.
    Later(String, Option<Duration>),
    /// It is sent again in two parts.
    TooLong,
    /// Nothing will be accepted.
    Failed(String),
}

impl Sender {
    fn run(mut self) {
        while let Some(chunk) = self.next() {
            match self.send(&chunk) {
                Outcome::Written => self.note(chunk.points, 0),
                Outcome::Refused(refused) => self.note(chunk.points - refused, refused),
                Outcome::TooLong if chunk.points > 1 => self.split(&chunk),
                Outcome::TooLong => self.note(0, chunk.points),
                Outcome::Failed(failure) => {
                    let mut state = self.shared.state();
                    state.counts.lost += chunk.points;
                    state.failure = Some(failure);
                    return;
                }
                Outcome::Later(reason, after) => {
                    if !self.wait(chunk, &reason, after) {
                        return;
                    }
                }
            }
        }
    }

    /// Waits for a chunk; `None` at the end.
    fn next(&self) -> Option<Chunk> {
        let mut state = self.shared.state();
        loop {
            let is_late = state.close_by.is_some_and(|end| Instant::now() >= end);
            if let Some(chunk) = (!is_late).then(|| state.chunks.pop_front()).flatten() {
                state.octets -= chunk.text.len() as u64;
                return Some(chunk);
            }
            if state.close_by.is_some() {
                return None;
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn note(&mut self, written: u64, lost: u64) {
        let mut state = self.shared.state();
        state.counts.written += written;
        state.counts.lost += lost;
        drop(state);
        if self.retry.take().is_some() {
            info!(server = self.client.url(), "the server takes points again");
        }
    }

    fn put_back(&self, chunk: Chunk) {
        let mut state = self.shared.state();
        state.octets += chunk.text.len() as u64;
        state.chunks.push_front(chunk);
    }

    fn split(&self, chunk: &Chunk) {
        let points = chunk.points / 2;
        let at: usize = chunk.text.split_inclusive('\n').take(points as usize).map(str::len).sum();
        let (first, second) = chunk.text.split_at(at);
        self.put_back(Chunk { text: second.to_owned(), points: chunk.points - points });
        self.put_back(Chunk { text: first.to_owned(), points });
    }

    /// Waits before the chunk is sent again. Returns `false` if the export ends before.
    fn wait(&mut self, chunk: Chunk, reason: &str, after: Option<Duration>) -> bool {
        let retry = self.retry.map_or(MIN_RETRY, |last| (2 * last).min(MAX_RETRY));
        let pause = after.map_or(retry, |after| after.min(MAX_RETRY_AFTER));
        if self.retry.is_none() {
            warn!(
                server = self.client.url(),
                reason,
                retry_s = pause.as_secs(),
                "the server takes no points: they wait in the buffer (--buffer-octets), and the oldest are lost when it is full"
            );
        }
        self.retry = Some(retry);
        self.put_back(chunk);
        let until = Instant::now() + pause;
        let mut state = self.shared.state();
        loop {
            let now = Instant::now();
            let end = state.close_by.map_or(until, |close_by| close_by.min(until));
            if now >= end {
                return state.close_by.is_none_or(|close_by| now < close_by);
            }
            let waited = self.shared.changed.wait_timeout(state, end - now);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn send(&self, chunk: &Chunk) -> Outcome {
        let response = match self.client.post(&self.path, MEDIA_TYPE, chunk.text.as_bytes()) {
            Ok(response) => response,
            Err(error) => return Outcome::Later(error.to_string(), None),
        };
        let outcome = outcome(&response, chunk.points);
        match &outcome {
            Outcome::Refused(points) => {
                let (server, reason) = (self.client.url(), reason(&response));
                warn!(server, points, reason, "the server has refused points: they are lost");
            }
            Outcome::TooLong if chunk.points == 1 => {
                warn!(server = self.client.url(), "the server finds one point too long: it is lost");
            }
            _ => {}
        }
        outcome
    }
}

/// Decides by the status of an answer (InfluxDB's write API).
fn outcome(response: &ClientResponse, points: u64) -> Outcome {
    match response.status {
        200..=299 => Outcome::Written,
        // some points are malformed, or have another type than their field: the message of version 1 says how many
        400 | 422 => {
            let dropped = reason(response).split_once("dropped=").and_then(|(_, count)| {
                let digits = count.find(|c: char| !c.is_ascii_digit()).unwrap_or(count.len());
                count[..digits].parse().ok()
            });
            Outcome::Refused(dropped.unwrap_or(points).min(points))
        }
        413 => Outcome::TooLong,
        408 | 429 | 500..=599 => {
            Outcome::Later(format!("{}: {}", response.status, reason(response)), response.retry_after)
        }
        // 401, 403, 404: no repetition would change it
        status => Outcome::Failed(format!(
            "the InfluxDB server refuses to be written to ({status}): {}; check --url, --database or --org and --bucket, and \
             --token",
            reason(response)
        )),
    }
}

/// The server's words: `error` in version 1, `message` in version 2.
fn reason(response: &ClientResponse) -> String {
    let words = [&response.body["error"], &response.body["message"]].into_iter().find_map(|text| text.as_str());
    program::escaped(words.unwrap_or("without a reason")).to_string()
}

#[cfg(test)]
mod tests;
