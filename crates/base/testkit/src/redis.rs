//! Redis servers for tests.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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
        let program = program();
        if Command::new(&program).arg("--version").stdout(Stdio::null()).status().is_err() {
            let is_required = std::env::var_os("FERRIC_REDIS").is_some_and(|needed| needed == "required");
            assert!(!is_required, "no {}", program.display());
            println!("NOT TESTED: a real Redis (crates/ric/traffic/redis-server/run has one)");
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
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

    /// Starts a killed server again, on the same port.
    pub fn restart(&mut self) {
        self.process = spawn(self.port, &self.arguments);
        self.wait();
    }
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
