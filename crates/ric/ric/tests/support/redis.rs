//! A real Redis server.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A Redis server of its own, on a free port of the loopback interface, without files; killed when it is dropped.
pub struct Redis {
    process: Child,
    pub port: u16,
    arguments: Vec<String>,
}

impl Redis {
    /// None where there is no server to be started, unless `FERRIC_REDIS=required` says that there is.
    pub fn start(arguments: &[&str]) -> Option<Redis> {
        let program = std::env::var_os("FERRIC_REDIS_SERVER").map_or_else(|| "redis-server".into(), PathBuf::from);
        if Command::new(&program).arg("--version").stdout(Stdio::null()).status().is_err() {
            assert!(
                std::env::var_os("FERRIC_REDIS").is_none_or(|needed| needed != "required"),
                "no {}",
                program.display()
            );
            println!("NOT TESTED here: a real Redis (crates/ric/ric/redis-server/run has one)");
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
        let end = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(self.process.try_wait().unwrap().is_none(), "redis-server ended: is port {port} taken?");
            assert!(Instant::now() < end, "redis-server does not listen");
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub fn restart(&mut self) {
        self.process = spawn(self.port, &self.arguments);
        self.wait();
    }
}

fn spawn(port: u16, arguments: &[String]) -> Child {
    let program = std::env::var_os("FERRIC_REDIS_SERVER").map_or_else(|| "redis-server".into(), PathBuf::from);
    Command::new(program)
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
        let _ = self.process.kill(); // it may be dead
        let _ = self.process.wait();
    }
}
