//! A RIC, a RAN and a Redis server, all real.
#![allow(dead_code, reason = "each test takes what it needs")]

pub mod redis;

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ferric::StopHandle;
use ferric::link::Address;
use ferric::server::{Iapp, ServerConfig};
use ran::{Ran, RanConfig};
use ric::{Rest, RestConfig, RicConfig};

/// Nothing here takes a tenth of this, unless it never comes: a machine that is busy may take its time.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until it holds.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "it never comes: {what}\n{}", log());
        thread::sleep(Duration::from_millis(5));
    }
}

/// A RIC with internal apps, and a RAN that connects to it, each on a thread of its own.
pub struct Running {
    threads: Vec<(StopHandle, JoinHandle<()>)>,
    e2: Address,
    ran: RanConfig,
    pub xapp: Address,
    /// `http://HOST:PORT`
    pub rest: String,
}

impl Running {
    pub fn start(name: &str, iapps: Vec<Box<dyn Iapp>>, ran: RanConfig) -> Running {
        listen_to_log();
        let e2 = Address::Memory(format!("{name}-e2"));
        let xapp = Address::Memory(format!("{name}-xapp"));
        let server = ServerConfig { e2: vec![e2.clone().into()], xapp: Some(xapp.clone()), ..ServerConfig::default() };
        let rest = RestConfig::new("127.0.0.1:0".parse().unwrap());
        let config = RicConfig { server, rest: Some(rest), ..RicConfig::default() };
        let (sender, stops) = mpsc::channel();
        let (tell_rest, rest) = mpsc::channel();
        // both are made where they run
        let ric = thread::spawn(move || {
            let mut ric = ric::bind(config).unwrap();
            tell_rest.send(ric.rest().map(Rest::address).unwrap()).unwrap();
            iapps.into_iter().for_each(|iapp| ric.server.add_iapp(iapp));
            sender.send(ric.server.stop_handle()).unwrap();
            ric.server.run().unwrap();
        });
        let ric = (stops.recv().unwrap(), ric);
        let rest = format!("http://{}", rest.recv().unwrap());
        let mut running = Running { threads: vec![ric], e2, ran, xapp, rest };
        running.start_ran();
        running
    }

    fn start_ran(&mut self) {
        let (sender, stop) = mpsc::channel();
        let config = RanConfig { rics: vec![self.e2.clone().into()], ..self.ran.clone() };
        let ran = thread::spawn(move || {
            let mut ran = Ran::new(config).unwrap();
            sender.send(ran.stop_handle()).unwrap();
            ran.run().unwrap();
        });
        self.threads.push((stop.recv().unwrap(), ran));
    }

    /// The RAN is gone, with all that was set, and a new one comes.
    pub fn restart_ran(&mut self) {
        let (stop, ran) = self.threads.pop().unwrap();
        stop.stop();
        ran.join().unwrap();
        self.start_ran();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for (stop, thread) in self.threads.drain(..) {
            stop.stop();
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "a RIC and a RAN never panic");
        }
    }
}

/// What all threads have logged.
pub fn log() -> String {
    String::from_utf8_lossy(&listen_to_log().0.lock().unwrap()).into_owned()
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn listen_to_log() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = Log::default();
        let writer = log.clone();
        tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).init();
        log
    })
}
