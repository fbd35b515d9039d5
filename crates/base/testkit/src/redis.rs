//! Redis servers for tests.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::PATIENCE;

/// A Redis server on a free port of the loopback interface, without files. It is killed on drop.
#[derive(Debug)]
pub struct Redis {
    process: Child,
    port: u16,
    arguments: Vec<String>,
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
        let mut redis = Redis { process: spawn(port, &arguments), port, arguments };
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

    /// Starts a killed server again, on the same port.
    pub fn restart(&mut self) {
        self.process = spawn(self.port, &self.arguments);
        self.wait();
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

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn command(port: u16, words: &[&str]) -> String {
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let arguments: Vec<_> = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
    client.write_all(format!("*{}\r\n{}", words.len(), arguments.concat()).as_bytes()).unwrap();
    let mut reply = vec![0; 1 << 16];
    let count = client.read(&mut reply).unwrap();
    String::from_utf8_lossy(&reply[..count]).into_owned()
}

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

/// A Redis Cluster of servers on free ports of the loopback interface, without replicas.
#[derive(Debug)]
pub struct RedisCluster {
    /// The servers. They have the slots in this order.
    pub servers: Vec<Redis>,
    files: Vec<PathBuf>,
}

impl RedisCluster {
    /// Starts a cluster of so many servers. Returns `None` as [`Redis::start`].
    ///
    /// # Panics
    /// As [`Redis::start`], and if the servers do not form a cluster.
    #[must_use]
    pub fn start(count: usize) -> Option<RedisCluster> {
        let mut cluster = RedisCluster { servers: Vec::new(), files: Vec::new() };
        let mut buses = Vec::new();
        for _ in 0..count {
            let bus = free_port().to_string();
            let file = std::env::temp_dir().join(format!("ferric-redis-cluster-{}-{bus}", std::process::id()));
            let name = file.to_str().unwrap().to_owned();
            cluster.files.push(file);
            let arguments = ["--cluster-enabled", "yes", "--cluster-config-file", &name, "--cluster-port", &bus];
            cluster.servers.push(Redis::start(&[&arguments[..], &["--cluster-node-timeout", "2000"]].concat())?);
            buses.push(bus);
        }
        let slot = |at: usize| (16384 * at / count).to_string();
        for (at, server) in cluster.servers.iter().enumerate() {
            let last = (16384 * (at + 1) / count - 1).to_string();
            assert!(server.command(&["CLUSTER", "ADDSLOTSRANGE", &slot(at), &last]).starts_with("+OK"));
            let (port, bus) = (cluster.servers[0].port().to_string(), &buses[0]);
            if at > 0 {
                assert!(server.command(&["CLUSTER", "MEET", "127.0.0.1", &port, bus]).starts_with("+OK"));
            }
        }
        for server in &cluster.servers {
            await_reply(server.port(), &["CLUSTER", "INFO"], &format!("cluster_known_nodes:{count}\r\n"));
            await_reply(server.port(), &["CLUSTER", "INFO"], "cluster_state:ok");
        }
        Some(cluster)
    }

    /// The URL of all servers, as ferric writes it.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts: Vec<_> = self.servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }
}

impl Drop for RedisCluster {
    fn drop(&mut self) {
        self.servers.clear();
        for file in &self.files {
            let _ = std::fs::remove_file(file); // a server that did not start has not written it
        }
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
        let primary = Redis::start(&[])?;
        let replica = Redis::start(&["--replicaof", &format!("127.0.0.1 {}", primary.port())])?;
        await_reply(primary.port(), &["INFO", "replication"], "state=online");
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

fn spawn(port: u16, arguments: &[String]) -> Child {
    Command::new(program())
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--appendonly", "no"])
        .args(arguments)
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it may have ended already
        let _ = self.process.wait();
    }
}
