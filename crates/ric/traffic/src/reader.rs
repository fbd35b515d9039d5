//! The reader of records from Redis, for xApps.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use redis::streams::{StreamReadOptions, StreamReadReply};
use redis::{Connection, RedisError, TypedCommands};
use tracing::{info, warn};

use super::MODELS;
use super::publisher::{FIRST_PAUSE, LAST_PAUSE, remedy};
use super::record::Record;
use shared_store::RedisUrl;

/// The time without records after which it checks whether the reader still exists, and Redis.
const PATIENCE: Duration = Duration::from_millis(500);
/// Records that wait to be taken. Then no more are read: a stream keeps them, and a channel's subscriber is cut off by Redis
/// in the end, and connects again.
const MAX_WAITING: usize = 256;
/// Entries that are read from a stream at once.
const MAX_ENTRIES: usize = 64;

/// The kind of Redis channel that records are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedisSource {
    /// Publish and subscribe: records that are published while the reader is connected.
    PubSub,
    /// The streams, from now on: records added while the connection is lost are read afterwards, as far as the streams hold them.
    Stream,
}

impl FromStr for RedisSource {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "pubsub" => Ok(RedisSource::PubSub),
            "stream" => Ok(RedisSource::Stream),
            _ => Err("not a Redis channel type: pubsub or stream"),
        }
    }
}

impl fmt::Display for RedisSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RedisSource::PubSub => "pubsub",
            RedisSource::Stream => "stream",
        })
    }
}

/// Reads the records of RLC and TC from Redis, on a thread of its own, which connects again by itself.
#[derive(Debug)]
pub struct RedisReader {
    records: Receiver<(String, Record)>,
    ended: Arc<AtomicBool>,
}

impl RedisReader {
    /// Starts to read. Redis need not be running yet.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn start(url: RedisUrl, prefix: &str, via: RedisSource) -> io::Result<Self> {
        let (sender, records) = sync_channel(MAX_WAITING);
        let ended = Arc::new(AtomicBool::new(false));
        let names = MODELS.map(|(model, _)| format!("{prefix}:{model}"));
        let thread = Thread {
            url,
            last_ids: names.clone().map(|_| "$".to_owned()),
            names,
            via,
            sender,
            ended: Arc::clone(&ended),
            is_logged: false,
            has_logged_malformed: false,
            pause: FIRST_PAUSE,
        };
        std::thread::Builder::new().name("redis".to_owned()).spawn(move || thread.run())?;
        Ok(RedisReader { records, ended })
    }

    /// Waits for the next record; returns it with its node.
    #[must_use]
    pub fn next(&self, patience: Duration) -> Option<(String, Record)> {
        match self.records.recv_timeout(patience) {
            Ok(record) => Some(record),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                panic!("the thread that reads from Redis has ended")
            }
        }
    }
}

impl Drop for RedisReader {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
    }
}

struct Thread {
    url: RedisUrl,
    names: [String; MODELS.len()],
    /// Of each stream, the last entry that was read.
    last_ids: [String; MODELS.len()],
    via: RedisSource,
    sender: SyncSender<(String, Record)>,
    ended: Arc<AtomicBool>,
    is_logged: bool,
    has_logged_malformed: bool,
    pause: Duration,
}

impl Thread {
    fn run(mut self) {
        while !self.has_ended() {
            let read = self.url.connect().and_then(|mut connection| {
                connection.set_read_timeout(Some(4 * PATIENCE))?;
                match self.via {
                    RedisSource::PubSub => self.listen(&mut connection),
                    RedisSource::Stream => self.follow(&mut connection),
                }
            });
            if let Err(error) = read
                && !self.has_ended()
            {
                if !std::mem::replace(&mut self.is_logged, true) {
                    let remedy = remedy(&error);
                    warn!(redis = %self.url, %error, "cannot read records; retrying; remedy: {remedy}");
                }
                std::thread::sleep(self.pause);
                self.pause = (2 * self.pause).min(LAST_PAUSE);
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn connected(&mut self) {
        if std::mem::take(&mut self.is_logged) {
            info!(redis = %self.url, "Redis is available again: reading records");
        }
        self.pause = FIRST_PAUSE;
    }

    fn listen(&mut self, connection: &mut Connection) -> Result<(), RedisError> {
        let mut channels = connection.as_pubsub();
        channels.subscribe(&self.names[..])?;
        self.connected();
        channels.set_read_timeout(Some(PATIENCE))?;
        while !self.has_ended() {
            match channels.get_message() {
                Ok(message) => self.pass_on(message.get_payload_bytes()),
                // silent: is it still there?
                Err(error) if error.is_timeout() => channels.ping::<()>()?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn follow(&mut self, connection: &mut Connection) -> Result<(), RedisError> {
        let block_ms = PATIENCE.as_millis() as usize; // it fits
        let options = StreamReadOptions::default().count(MAX_ENTRIES).block(block_ms);
        self.start_from_now(connection)?;
        self.connected();
        while !self.has_ended() {
            let reply = connection.xread_options(&self.names[..], &self.last_ids[..], &options)?;
            for stream in reply.map_or_else(Vec::new, |StreamReadReply { keys, .. }| keys) {
                let Some(place) = self.names.iter().position(|name| *name == stream.key) else { continue };
                for entry in stream.ids {
                    if let Some(record) = entry.get::<Vec<u8>>("record") {
                        self.pass_on(&record);
                    }
                    self.last_ids[place] = entry.id;
                }
            }
        }
        Ok(())
    }

    /// `$` means the end of the stream at each call: what comes between two calls would be lost.
    fn start_from_now(&mut self, connection: &mut Connection) -> Result<(), RedisError> {
        for (name, last_id) in self.names.iter().zip(&mut self.last_ids) {
            if last_id == "$" {
                let last = connection.xrevrange_count(name, "+", "-", 1)?;
                *last_id = last.ids.into_iter().next().map_or_else(|| "0-0".to_owned(), |entry| entry.id);
            }
        }
        Ok(())
    }

    fn pass_on(&mut self, json: &[u8]) {
        match Record::from_json(json) {
            // the thread ends soon after the reader is dropped
            Ok(record) => drop(self.sender.send(record)),
            Err(error) => {
                if !std::mem::replace(&mut self.has_logged_malformed, true) {
                    warn!(redis = %self.url, %error, "not a record of `ferric ric`: ignored");
                }
            }
        }
    }
}
