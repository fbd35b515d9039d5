//! Threads for what takes time: names are resolved, and xApps are notified by HTTP.
//!
//! All that concerns a host is done by one thread, in order. A host that does not answer delays those that share its thread, each
//! time by at most [`TIMEOUT`] for each attempt.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use ferric::server::IappWaker;
use log_lines::{Host, LogBudget};
use rest::client::{Client, ClientConfig, ClientError};
use serde_json::Value;
use tracing::warn;

use super::links::EndpointId;

const THREADS: usize = 4;
/// Tasks that may wait for a thread.
const MAX_WAITING: usize = 256;
/// The time for an HTTP request.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);
/// Attempts to notify an xApp, which may begin to listen after it has subscribed.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(300);

enum Task {
    Resolve { endpoint: EndpointId, host: String, port: u16 },
    Notify { url: String, path: &'static str, document: Value },
}

type Resolved = (EndpointId, Result<(IpAddr, u16), String>);

/// The threads. They end when this is dropped, after the task that they are at.
pub(crate) struct Helpers {
    tasks: Vec<SyncSender<Task>>,
    resolved: Receiver<Resolved>,
    log: LogBudget,
}

impl Helpers {
    pub fn start(waker: &IappWaker, log: &LogBudget) -> io::Result<Self> {
        let (found, resolved) = channel();
        let mut tasks = Vec::new();
        for _ in 0..THREADS {
            let (sender, receiver) = sync_channel(MAX_WAITING);
            let (found, waker, log) = (found.clone(), waker.clone(), log.clone());
            let run = move || run(&receiver, &found, &waker, &log);
            std::thread::Builder::new().name("xapp-helper".to_owned()).spawn(run)?;
            tasks.push(sender);
        }
        Ok(Helpers { tasks, resolved, log: log.clone() })
    }

    /// Returns whether a thread takes a task.
    fn begin(&self, host: &str, task: Task) -> bool {
        let mut hasher = DefaultHasher::new();
        host.hash(&mut hasher);
        let thread = hasher.finish() as usize % self.tasks.len();
        self.tasks[thread].try_send(task).is_ok()
    }

    /// Looks up the address of an endpoint. Returns whether that has begun; the iApps are woken with the result.
    pub fn resolve(&self, endpoint: EndpointId, host: String, port: u16) -> bool {
        self.begin(&host.clone(), Task::Resolve { endpoint, host, port })
    }

    /// What was looked up.
    pub fn next_resolved(&self) -> Option<Resolved> {
        self.resolved.try_recv().ok()
    }

    /// Posts a document to an xApp, and tries again if nobody listens. A document for which there is no room, or that cannot be
    /// posted, is lost, with a line in the log.
    pub fn notify(&self, host: &str, port: u16, path: &'static str, document: Value) {
        let shown = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let url = format!("http://{shown}:{port}");
        if !self.begin(host, Task::Notify { url, path, document }) && self.log.allow(Host::Unknown) {
            warn!("the xApp at {host}:{port} is not notified: {MAX_WAITING} notifications wait already");
        }
    }
}

fn run(tasks: &Receiver<Task>, found: &Sender<Resolved>, waker: &IappWaker, log: &LogBudget) {
    while let Ok(task) = tasks.recv() {
        match task {
            Task::Resolve { endpoint, host, port } => {
                let addresses = (&*host, port).to_socket_addrs();
                let result = match addresses.map(|mut addresses| addresses.next()) {
                    Ok(Some(address)) => Ok((address.ip(), port)),
                    Ok(None) => Err("its name has no address".to_owned()),
                    Err(error) => Err(format!("its name cannot be resolved: {error}")),
                };
                if found.send((endpoint, result)).is_err() {
                    return;
                }
                waker.wake();
            }
            Task::Notify { url, path, document } => {
                if let Err(error) = post(&url, path, &document)
                    && log.allow(Host::Unknown)
                {
                    warn!("the xApp at {url}{path} was not notified: {error}");
                }
            }
        }
    }
}

fn post(url: &str, path: &str, document: &Value) -> Result<(), String> {
    let config = ClientConfig { timeout: TIMEOUT, max_body_octets: 64 << 10, ..ClientConfig::new(url) };
    let client = Client::new(&config).map_err(|error| error.to_string())?;
    let mut fault = String::new();
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        match client.request("POST", path, Some(document)) {
            Ok(response) if response.is_success() => return Ok(()),
            Ok(response) => return Err(format!("it answered with status {}", response.status)),
            // an answer that is no JSON is one
            Err(ClientError::Body(_)) => return Ok(()),
            Err(error) => fault = error.to_string(),
        }
    }
    Err(fault)
}
