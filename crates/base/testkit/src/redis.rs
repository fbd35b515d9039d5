//! Redis servers for tests.

mod cluster;

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::{PATIENCE, eventually};
pub use cluster::RedisCluster;

/// A store on Redis, for tests that are the same with one server and with a cluster.
pub trait RedisStore {
    /// The URL, as ferric writes it.
    fn url(&self) -> String;
    /// A number that no other store has at the same time: the port of a server.
    fn number(&self) -> u16;
    /// The port of the server that serves a key.
    fn port_of(&self, key: &str) -> u16;
    /// Sends a command to the server that serves its keys, and returns the reply as [`Redis::command`].
    fn command(&self, words: &[&str]) -> String;
    /// Stops it as [`Redis::pause`].
    fn pause(&self);
    /// Continues it.
    fn resume(&self);
}

/// A Redis server on a free port of the loopback interface, which saves nothing. It is killed on drop.
#[derive(Debug)]
pub struct Redis {
    process: Child,
    port: u16,
    arguments: Vec<String>,
    /// Where replicas and clusters write files: a server would load those of another one.
    folder: PathBuf,
}

impl Redis {
    /// Starts the server of `FERRIC_REDIS_SERVER`, or `redis-server` of `PATH`. Returns `None` if there is none, so that the
    /// test can be skipped.
    ///
    /// # Panics
    /// If there is no server and `FERRIC_REDIS=required` is set.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Option<Redis> {
        if !is_available() {
            return None;
        }
        let port = free_port();
        let arguments: Vec<_> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let folder = std::env::temp_dir().join(format!("ferric-redis-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut redis = Redis { process: spawn(port, &arguments, &folder), port, arguments, folder };
        redis.wait();
        Some(redis)
    }

    fn wait(&mut self) {
        let port = self.port;
        let end = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(self.process.try_wait().unwrap().is_none(), "redis-server ended: is port {port} in use?");
            assert!(Instant::now() < end, "redis-server does not listen on port {port}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The server's port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The server's URL, without user and password.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Kills the server.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Stops the server as SIGSTOP does: connections stay, and nothing is answered.
    pub fn pause(&self) {
        kill_process(Pid::from_child(&self.process), Signal::STOP).unwrap();
    }

    /// Continues a paused server.
    pub fn resume(&self) {
        kill_process(Pid::from_child(&self.process), Signal::CONT).unwrap();
    }

    /// Sends a command and returns its reply, as Redis's protocol has it, but without what exceeds 64 kB.
    #[must_use]
    pub fn command(&self, words: &[&str]) -> String {
        command(self.port, words)
    }

    /// Waits until its replicas have what was written until now. Otherwise it may be lost with the server.
    ///
    /// # Panics
    /// If it has no replica.
    pub fn await_replicas(&self) {
        let info = || self.command(&["INFO", "replication"]);
        let number = |text: &str| text.split([',', '\r']).next().and_then(|digits| digits.parse::<u64>().ok());
        let written = info().split_once("master_repl_offset:").and_then(|(_, rest)| number(rest));
        let written = written.expect("the offset of a primary");
        let offsets = |info: &str| info.split(",offset=").skip(1).filter_map(number).collect::<Vec<_>>();
        assert!(!offsets(&info()).is_empty(), "it has no replica");
        eventually("the replicas have all", || offsets(&info()).iter().all(|offset| *offset >= written));
    }

    /// Starts a killed server again, on the same port.
    pub fn restart(&mut self) {
        self.process = spawn(self.port, &self.arguments, &self.folder);
        self.wait();
    }
}

impl RedisStore for Redis {
    fn url(&self) -> String {
        Redis::url(self)
    }

    fn number(&self) -> u16 {
        self.port
    }

    fn port_of(&self, _: &str) -> u16 {
        self.port
    }

    fn command(&self, words: &[&str]) -> String {
        Redis::command(self, words)
    }

    fn pause(&self) {
        Redis::pause(self);
    }

    fn resume(&self) {
        Redis::resume(self);
    }
}

fn is_available() -> bool {
    is_there(&program(), "a real Redis")
}

fn is_there(program: &Path, what: &str) -> bool {
    if Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok() {
        return true;
    }
    let is_required = std::env::var_os("FERRIC_REDIS").is_some_and(|needed| needed == "required");
    assert!(!is_required, "no {}", program.display());
    println!("NOT TESTED: {what} (crates/ric/traffic/redis-server/run has one)");
    false
}

/// A port that is free, and that no other test of this process has got.
fn free_port() -> u16 {
    static TAKEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if TAKEN.lock().unwrap_or_else(PoisonError::into_inner).insert(port) {
            return port;
        }
    }
}

fn command(port: u16, words: &[&str]) -> String {
    let mut reply = try_command(port, words);
    // a server that becomes a replica closes the connections of its clients; what only reads is sent again
    if matches!(words, ["GET" | "INFO" | "ROLE", ..])
        && matches!(&reply, Err(error) if error.kind() == io::ErrorKind::ConnectionReset)
    {
        reply = try_command(port, words);
    }
    reply.unwrap_or_else(|error| panic!("{words:?} at port {port}: {error}"))
}

/// [`Redis::command`], or why the server has not replied.
fn try_command(port: u16, words: &[&str]) -> io::Result<String> {
    let mut client = TcpStream::connect(("127.0.0.1", port))?;
    client.set_read_timeout(Some(PATIENCE))?;
    let arguments: Vec<_> = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
    client.write_all(format!("*{}\r\n{}", words.len(), arguments.concat()).as_bytes())?;
    let mut reply = vec![0; 1 << 16];
    let count = client.read(&mut reply)?;
    Ok(String::from_utf8_lossy(&reply[..count]).into_owned())
}

/// A replica is served as soon as it asks.
const NO_DELAY: [&str; 2] = ["--repl-diskless-sync-delay", "0"];

/// Waits until a reply contains a text.
fn await_reply(port: u16, words: &[&str], expected: &str) {
    let end = Instant::now() + PATIENCE;
    loop {
        let reply = command(port, words);
        if reply.contains(expected) {
            return;
        }
        assert!(Instant::now() < end, "{words:?}: {reply}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A primary, its replica, and one Redis Sentinel that makes the replica the primary when that is lost. The primary's name is `ran`.
#[derive(Debug)]
pub struct RedisSentinel {
    /// The primary at the start.
    pub primary: Redis,
    /// Its replica.
    pub replica: Redis,
    sentinel: Child,
    port: u16,
    file: PathBuf,
}

impl RedisSentinel {
    /// Starts all three, and waits until the Sentinel knows the replica. Returns `None` as [`Redis::start`].
    ///
    /// # Panics
    /// As [`Redis::start`].
    #[must_use]
    pub fn start() -> Option<RedisSentinel> {
        let primary = Redis::start(&NO_DELAY)?;
        let replica = Redis::start(&["--replicaof", &format!("127.0.0.1 {}", primary.port())])?;
        await_reply(primary.port(), &["INFO", "replication"], "state=online");
        await_reply(replica.port(), &["INFO", "replication"], "master_link_status:up");
        let port = free_port();
        let file = std::env::temp_dir().join(format!("ferric-redis-sentinel-{}-{port}", std::process::id()));
        let text = format!(
            "bind 127.0.0.1\nport {port}\nsentinel monitor ran 127.0.0.1 {} 1\nsentinel down-after-milliseconds ran 500\n\
             sentinel failover-timeout ran 2000\n",
            primary.port()
        );
        std::fs::write(&file, text).unwrap();
        let sentinel = Command::new(program())
            .arg(&file)
            .arg("--sentinel")
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let started = RedisSentinel { primary, replica, sentinel, port, file };
        let end = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "Redis Sentinel does not listen on port {port}");
            thread::sleep(Duration::from_millis(5));
        }
        await_reply(port, &["SENTINEL", "REPLICAS", "ran"], "slave");
        Some(started)
    }

    /// The URL, as ferric writes it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis+sentinel://127.0.0.1:{}/ran", self.port)
    }
}

impl Drop for RedisSentinel {
    fn drop(&mut self) {
        let _ = self.sentinel.kill(); // it may have ended already
        let _ = self.sentinel.wait();
        let _ = std::fs::remove_file(&self.file);
    }
}

/// The program of `FERRIC_REDIS_CLI`, or `redis-cli` of `PATH`. Returns `None` if there is none, so that the test can be skipped.
///
/// # Panics
/// If there is none and `FERRIC_REDIS=required` is set.
#[must_use]
pub fn redis_cli() -> Option<PathBuf> {
    let program = std::env::var_os("FERRIC_REDIS_CLI").map_or_else(|| "redis-cli".into(), PathBuf::from);
    is_there(&program, "redis-cli").then_some(program)
}

fn program() -> PathBuf {
    std::env::var_os("FERRIC_REDIS_SERVER").map_or_else(|| "redis-server".into(), PathBuf::from)
}

fn spawn(port: u16, arguments: &[String], folder: &Path) -> Child {
    Command::new(program())
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--appendonly", "no"])
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it may have ended already
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder); // nobody reads what is left
    }
}
