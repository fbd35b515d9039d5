//! The thread that writes reports to Redis.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use e2sm::Arena;
use ferric::link::TlsFault;
use redis::{Connection, ConnectionLike, ErrorKind, RedisError, ServerErrorKind, Value};
use shared_store::{RedisFiles, RedisUrl};
use tracing::{info, warn};

use super::backlog::{Backlog, Report};
use super::forwarder::Counters;
use super::{MODELS, record};

/// The pauses before it connects again: each next one is twice as long.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(250);
pub(super) const LAST_PAUSE: Duration = Duration::from_secs(10);
/// What refuses some records takes others: when it has refused none for so long, it takes all of them again.
const REFUSES_NONE: Duration = Duration::from_secs(10);
/// The shortest time between two log lines about dropped reports.
const DROP_LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The Redis server that statistics are forwarded to: the table `[redis]` of the configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisConfig {
    /// The server.
    pub url: RedisUrl,
    /// Files with what does not stand in its URL. Whoever starts a [`Forwarder`](super::Forwarder) has them read:
    /// [`RedisUrl::with_files`].
    pub files: RedisFiles,
    /// Milliseconds from report to report of each node, 1 to 3600000. Default: 100.
    pub period_ms: u32,
    /// About how many records each stream keeps, at least; 0: nothing is added to streams. Default: 1000.
    pub stream_length: u32,
    /// Channels and streams are called `{prefix}:rlc` and `{prefix}:tc`. Default: `ferric`.
    pub prefix: String,
    /// Octets of reports that wait for Redis at most: then the oldest make room. Default: 4 MiB.
    pub queue_octets: usize,
}

impl RedisConfig {
    /// The defaults, and a server.
    #[must_use]
    pub fn new(url: RedisUrl) -> Self {
        let prefix = DEFAULT_PREFIX.to_owned();
        let files = RedisFiles::default();
        RedisConfig { url, files, period_ms: 100, stream_length: 1000, prefix, queue_octets: 4 << 20 }
    }
}

/// The default prefix of the names of channels and streams.
pub const DEFAULT_PREFIX: &str = "ferric";

const PASSWORD: &str =
    "give user and password in the URL: redis://USER:PASSWORD@HOST:PORT, or the password in a file: [redis] password";

/// Returns the remedy for an error of Redis.
pub(super) fn remedy(error: &RedisError) -> &'static str {
    match tls_fault(error) {
        None => {}
        Some(TlsFault::NotTls) => {
            return "the server does not use TLS there: use redis://, or the server's tls-port";
        }
        Some(_) => {
            return "check the certificates: ours ([redis] ca, certificate, key) and the server's";
        }
    }
    match error.kind() {
        ErrorKind::AuthenticationFailed => PASSWORD,
        ErrorKind::Server(ServerErrorKind::NoPerm) => {
            "allow the user PUBLISH, XADD, SUBSCRIBE, XREAD and these keys (ACL SETUSER)"
        }
        ErrorKind::Server(ServerErrorKind::BusyLoading) => "none is needed: Redis is loading its data",
        ErrorKind::Server(ServerErrorKind::ReadOnly) => "give the URL of the primary: this is a replica",
        ErrorKind::Parse => "check the URL: the server is not Redis",
        ErrorKind::Io if error.is_timeout() => {
            "check the host, its load and the network: Redis does not answer in time"
        }
        ErrorKind::Io => "start a Redis there (`redis-server`), or give another URL",
        _ => match error.code() {
            Some("NOAUTH" | "WRONGPASS") => PASSWORD,
            Some("OOM") => "give Redis more memory (maxmemory), or reduce [redis] stream_length",
            Some("MISCONF") => "check the disk that Redis writes its snapshots to",
            Some("WRONGTYPE") => "delete the keys that have the names of the streams, or choose another [redis] prefix",
            _ => "check the log of Redis",
        },
    }
}

/// Returns the TLS fault of an error.
fn tls_fault(error: &RedisError) -> Option<TlsFault> {
    // as the client wraps it
    let error = error.source()?.downcast_ref::<Arc<dyn Error + Send + Sync>>()?;
    let error = error.downcast_ref::<io::Error>()?.get_ref()?;
    error.downcast_ref::<rustls::Error>().cloned().map(TlsFault::from)
}

pub(super) fn start(config: RedisConfig, backlog: Arc<Backlog>, counters: Arc<Counters>) -> io::Result<()> {
    let publisher = Publisher {
        names: MODELS.map(|(model, _)| format!("{}:{model}", config.prefix)),
        config,
        backlog,
        counters,
        arena: Arena::new(),
        trouble: None,
        refused_at: None,
        logged_drops: None,
        has_logged_undecodable: false,
        pause: FIRST_PAUSE,
    };
    // the thread ends after the last push; it is not joined, since Redis may block it until the timeout
    std::thread::Builder::new().name("redis".to_owned()).spawn(move || publisher.run())?;
    Ok(())
}

struct Publisher {
    config: RedisConfig,
    /// Of each model, its channel and stream.
    names: [String; MODELS.len()],
    backlog: Arc<Backlog>,
    counters: Arc<Counters>,
    arena: Arena,
    /// The logged errors of Redis, until it accepts records again: each kind is logged once.
    trouble: Option<(ErrorKind, Option<String>)>,
    refused_at: Option<Instant>,
    /// The time of the last log line about dropped reports, with their number.
    logged_drops: Option<(Instant, u64)>,
    has_logged_undecodable: bool,
    /// The next one.
    pause: Duration,
}

impl Publisher {
    fn run(mut self) {
        loop {
            let served = self.config.url.connect().and_then(|mut connection| self.serve(&mut connection));
            let Err(error) = served else { return };
            self.complain(&error, "reports cannot be forwarded to Redis");
            if !self.backlog.rest(self.pause) {
                return;
            }
            self.pause = (2 * self.pause).min(LAST_PAUSE);
        }
    }

    fn complain(&mut self, error: &RedisError, what: &str) {
        let trouble = (error.kind(), error.code().map(str::to_owned));
        if self.trouble.as_ref() != Some(&trouble) {
            let (redis, remedy) = (&self.config.url, remedy(error));
            warn!(%redis, %error, "{what}; retrying; remedy: {remedy}");
            self.trouble = Some(trouble);
        }
    }

    /// Sends reports, until the last sender is gone.
    fn serve(&mut self, connection: &mut Connection) -> Result<(), RedisError> {
        loop {
            let reports = self.backlog.take();
            if reports.is_empty() {
                return Ok(());
            }
            let (pipe, records) = self.pack(&reports);
            drop(reports);
            let commands = pipe.len();
            let answers = connection.req_packed_commands(&pipe.get_packed_pipeline(), 0, commands);
            match answers {
                Ok(answers) => self.count(records, answers),
                Err(error) => {
                    self.counters.lost.fetch_add(records, Relaxed);
                    return Err(error);
                }
            }
            self.log_drops();
        }
    }

    /// The commands for some reports, and how many records they carry.
    fn pack(&mut self, reports: &[Report]) -> (redis::Pipeline, u64) {
        let mut pipe = redis::Pipeline::with_capacity(2 * reports.len());
        let mut records = 0;
        for Report { node, model, wire, message } in reports {
            self.arena.reset();
            let json = match record::to_json(MODELS[*model].0, node, message, *wire, &self.arena) {
                Ok(json) => json,
                Err(error) => {
                    self.counters.unreadable.fetch_add(1, Relaxed);
                    if !std::mem::replace(&mut self.has_logged_undecodable, true) {
                        let model = MODELS[*model].0;
                        warn!(node = &**node, model, %error, "cannot decode reports: they are not forwarded");
                    }
                    continue;
                }
            };
            records += 1;
            let name = &self.names[*model];
            pipe.cmd("PUBLISH").arg(name).arg(&json);
            if self.config.stream_length > 0 {
                let length = self.config.stream_length;
                pipe.cmd("XADD").arg(name).arg(&["MAXLEN", "~"]).arg(length).arg("*");
                pipe.arg(&["node", node]).arg("record").arg(&json);
            }
        }
        (pipe, records)
    }

    /// Counts the replies of Redis.
    fn count(&mut self, records: u64, answers: Vec<Value>) {
        let of_each = if self.config.stream_length > 0 { 2 } else { 1 };
        let refused = |value: &&Value| matches!(value, Value::ServerError(_));
        let lost =
            answers.chunks(of_each).filter(|of_record| of_record.iter().any(|value| refused(&value))).count() as u64;
        self.counters.lost.fetch_add(lost, Relaxed);
        self.counters.forwarded.fetch_add(records.saturating_sub(lost), Relaxed);
        match answers.into_iter().find_map(|value| value.extract_error().err()) {
            Some(error) => {
                self.refused_at = Some(Instant::now());
                self.complain(&error, "Redis refuses records");
            }
            None if self.refused_at.is_some_and(|at| at.elapsed() < REFUSES_NONE) => {}
            None => {
                self.pause = FIRST_PAUSE;
                self.refused_at = None;
                if self.trouble.take().is_some() {
                    let dropped = self.backlog.dropped() + self.counters.lost.load(Relaxed);
                    info!(redis = %self.config.url, dropped, "Redis accepts records again");
                    // those are logged
                    self.logged_drops = Some((Instant::now(), self.backlog.dropped()));
                }
            }
        }
    }

    /// Logs drops by a Redis that is too slow.
    fn log_drops(&mut self) {
        let dropped = self.backlog.dropped();
        let (logged_at, logged) = self.logged_drops.map_or((None, 0), |(at, logged)| (Some(at), logged));
        if dropped > logged && logged_at.is_none_or(|at| at.elapsed() >= DROP_LOG_INTERVAL) {
            let redis = &self.config.url;
            warn!(%redis, dropped, "Redis accepts records more slowly than they arrive: records are dropped; increase [redis] period_ms");
            self.logged_drops = Some((Instant::now(), dropped));
        }
    }
}
