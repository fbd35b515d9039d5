//! A server in a thread.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use ferric::StopHandle;
use ferric::link::Address;
use ferric::server::{Counters, Iapp, Server, ServerConfig};

use super::peer::Peer;
use super::well_behaved_peers::WellBehavedPeers;

/// The log of a server.
#[derive(Clone, Default)]
pub struct ServerLog(Arc<Mutex<Vec<u8>>>);

impl ServerLog {
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for ServerLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A server that runs until it is dropped.
pub struct Ric {
    pub log: ServerLog,
    pub e2: Vec<Address>,
    pub xapp: Address,
    stop: StopHandle,
    thread: Option<JoinHandle<Counters>>,
}

/// Listens on free ports of this host.
pub fn free_ports() -> ServerConfig {
    let any_port: Address = "tcp://127.0.0.1:0".parse().unwrap();
    let e2 = vec![any_port.clone().into()];
    // with several loops, indications cross loops
    ServerConfig { e2, xapp: Some(any_port), loops: super::loops(), affinity_links: 0, ..ServerConfig::default() }
}

impl Ric {
    pub fn start(config: ServerConfig) -> Ric {
        Ric::with_iapps(config, Vec::new)
    }

    pub fn with_iapps(config: ServerConfig, iapps: impl FnOnce() -> Vec<Box<dyn Iapp>> + Send + 'static) -> Ric {
        Ric::prepared(config, move |server| iapps().into_iter().for_each(|iapp| server.add_iapp(iapp)))
    }

    /// Starts a server after `prepare` has had it.
    pub fn prepared(config: ServerConfig, prepare: impl FnOnce(&mut Server) + Send + 'static) -> Ric {
        let (sender, receiver) = mpsc::channel();
        let log = ServerLog::default();
        let writer = log.clone();
        let thread = std::thread::Builder::new().name("ric".into()).spawn(move || {
            let subscriber = tracing_subscriber::fmt()
                .with_max_level(tracing::Level::INFO)
                .with_ansi(false)
                .without_time()
                .with_writer(move || writer.clone())
                .finish();
            let _logged = tracing::subscriber::set_default(subscriber);
            let mut server = Server::bind(config).unwrap();
            prepare(&mut server);
            let e2 = server.e2_addresses().cloned().collect();
            sender.send((e2, server.xapp_address().cloned().unwrap(), server.stop_handle())).unwrap();
            server.run().unwrap();
            server.counters()
        });
        let (e2, xapp, stop) = receiver.recv().expect("the server binds");
        Ric { log, e2, xapp, stop, thread: Some(thread.unwrap()) }
    }

    /// Connects as a node.
    pub fn node(&self) -> Peer {
        Peer::connect(&self.e2[0])
    }

    /// Connects as an xApp.
    pub fn xapp(&self) -> Peer {
        Peer::connect(&self.xapp)
    }

    /// Stops the server; fails if it failed.
    pub fn stop(mut self) -> Counters {
        self.end()
    }

    fn end(&mut self) -> Counters {
        self.stop.stop();
        self.thread.take().map(|thread| thread.join().expect("the server never panics")).unwrap_or_default()
    }
}

impl Drop for Ric {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.stop.stop();
        } else {
            self.end();
        }
    }
}

/// A server with a well-behaved node and xApp, which must not be affected.
pub struct TestServer {
    peers: Option<WellBehavedPeers>,
    pub ric: Ric,
}

impl TestServer {
    pub fn new() -> TestServer {
        TestServer::with(|_| ())
    }

    pub fn with(change: impl FnOnce(&mut ServerConfig)) -> TestServer {
        let mut config = free_ports();
        change(&mut config);
        let ric = Ric::start(config);
        let peers = Some(WellBehavedPeers::start(&ric));
        TestServer { peers, ric }
    }

    /// Checks that the node and the xApp are still served.
    pub fn check_peers(&self) {
        self.peers.as_ref().unwrap().check_progress();
    }

    /// Ends the test: nothing was lost, and the server is well.
    pub fn end(mut self) -> Counters {
        self.check_peers();
        self.peers.take().unwrap().end();
        self.ric.end()
    }
}
