//! A RIC with REST, emulated RANs, and a client of HTTP.
#![allow(dead_code, reason = "each test takes what it needs")]

pub mod http;
pub mod station;

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ferric::StopHandle;
use ferric::link::Address;
use ran::{Ran, RanConfig};
use ric::RicConfig;
use serde_json::Value;

pub use http::{Answer, Client, PATIENCE};

/// A RIC in a thread.
pub struct World {
    pub e2: Address,
    pub rest: SocketAddr,
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

impl World {
    pub fn start() -> World {
        World::with(|_| ())
    }

    /// A RIC whose configuration `adapt` has seen.
    pub fn with(adapt: impl FnOnce(&mut RicConfig)) -> World {
        World::at("tcp://127.0.0.1:0".parse().unwrap(), adapt)
    }

    /// The same at an address for nodes.
    pub fn at(e2: Address, adapt: impl FnOnce(&mut RicConfig)) -> World {
        let mut config = RicConfig::from_toml("rest = \"127.0.0.1:0\"\nstatistics_period_ms = 20").unwrap();
        config.server.e2 = vec![e2.into()];
        config.server.xapp = None;
        adapt(&mut config);
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut ric = ric::bind(config).unwrap();
            let rest = ric.rest().unwrap().address();
            let e2 = ric.server.e2_addresses().next().unwrap().clone();
            tell.send((e2, rest, ric.server.stop_handle())).unwrap();
            ric.server.run().unwrap();
        });
        let (e2, rest, stop) = told.recv_timeout(PATIENCE).unwrap();
        World { e2, rest, stop, thread: Some(thread) }
    }

    /// An answer, over a connection of its own.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, body: impl Into<Option<Value>>) -> Answer {
        let body = body.into().map(|body| body.to_string());
        Client::connect(self.rest).ask(method, path, body.as_deref())
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        self.ask("GET", path, None).is(200)
    }

    /// Waits until a resource is as `is_it` wants it.
    #[track_caller]
    pub fn eventually(&self, path: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.ask("GET", path, None);
            if answer.status == 200 && is_it(&answer.json()) {
                return answer.json();
            }
            assert!(Instant::now() < deadline, "it never came: {path}: {answer:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until a node has told its slices.
    pub fn knows_slices(&self, node: &str) {
        self.eventually(&format!("/v1/nodes/{node}/slices"), |_| true);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the RIC never panics");
    }
}

/// An emulated RAN in a thread.
pub struct Emulated {
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

impl Emulated {
    pub fn start(ric: &Address, config: RanConfig) -> Emulated {
        let config = RanConfig { rics: vec![ric.clone().into()], ..config };
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut ran = Ran::new(config).unwrap();
            tell.send(ran.stop_handle()).unwrap();
            ran.run().unwrap();
        });
        Emulated { stop: told.recv_timeout(PATIENCE).unwrap(), thread: Some(thread) }
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the RAN never panics");
    }
}
