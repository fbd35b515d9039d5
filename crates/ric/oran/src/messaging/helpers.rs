//! Threads for what takes time: names are resolved, and xApps are notified by HTTP.
//!
//! What concerns a destination is done in order. Destinations have their turn one task each, and those of a host occupy
//! [`THREADS_OF_HOST`] threads at most: an xApp that does not answer delays its own notifications, and those of its host at most.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferric::server::IappWaker;
use log_lines::{Host, LogBudget};
use rest::client::{Client, ClientConfig, ClientError};
use serde_json::Value;
use tracing::warn;

use super::links::EndpointId;

const THREADS: usize = 4;
/// Threads that the destinations of one host may occupy.
const THREADS_OF_HOST: usize = 2;
/// Tasks that may wait for a thread: all, those of a host, those of a destination.
const MAX_WAITING: usize = 1024;
const MAX_OF_HOST: usize = MAX_WAITING * 3 / 4;
const MAX_OF_DESTINATION: usize = 64;
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

/// Where a task leads to: a host, and a port or 0 for the look-up of its name.
type Destination = (String, u16);

/// What waits, by destination.
struct Tasks<T> {
    /// Of each destination with tasks that wait, or one that is done.
    of: HashMap<Destination, VecDeque<T>>,
    /// Destinations with tasks of which none is done, in the order of their turns.
    turns: VecDeque<Destination>,
    /// Tasks that wait, and threads that are occupied, of each host with some.
    of_hosts: HashMap<String, (usize, usize)>,
    waiting: usize,
    is_ended: bool,
}

impl<T> Default for Tasks<T> {
    fn default() -> Self {
        Tasks { of: HashMap::new(), turns: VecDeque::new(), of_hosts: HashMap::new(), waiting: 0, is_ended: false }
    }
}

impl<T> Tasks<T> {
    /// Adds a task. Returns whether there is room.
    fn add(&mut self, to: &Destination, task: T) -> bool {
        let of_host = self.of_hosts.get(&to.0).map_or(0, |(waiting, _)| *waiting);
        let of_destination = self.of.get(to).map_or(0, VecDeque::len);
        if self.waiting >= MAX_WAITING || of_host >= MAX_OF_HOST || of_destination >= MAX_OF_DESTINATION {
            return false;
        }
        if !self.of.contains_key(to) {
            self.turns.push_back(to.clone());
        }
        self.of.entry(to.clone()).or_default().push_back(task);
        self.of_hosts.entry(to.0.clone()).or_default().0 += 1;
        self.waiting += 1;
        true
    }

    /// Takes the next task that a thread may do, until [`Tasks::done`].
    fn take(&mut self) -> Option<(Destination, T)> {
        let is_free = |to: &Destination| self.of_hosts.get(&to.0).is_none_or(|(_, busy)| *busy < THREADS_OF_HOST);
        let at = self.turns.iter().position(is_free)?;
        let to = self.turns.remove(at)?;
        let task = self.of.get_mut(&to)?.pop_front()?;
        let (waiting, busy) = self.of_hosts.entry(to.0.clone()).or_default();
        (*waiting, *busy) = (*waiting - 1, *busy + 1);
        self.waiting -= 1;
        Some((to, task))
    }

    /// A task of a destination is done.
    fn done(&mut self, to: Destination) {
        if let Some(of_host) = self.of_hosts.get_mut(&to.0) {
            of_host.1 -= 1;
            if *of_host == (0, 0) {
                self.of_hosts.remove(&to.0);
            }
        }
        match self.of.get(&to).map(VecDeque::is_empty) {
            Some(true) => drop(self.of.remove(&to)),
            Some(false) => self.turns.push_back(to),
            None => {}
        }
    }
}

#[derive(Default)]
struct Shared {
    tasks: Mutex<Tasks<Task>>,
    changed: Condvar,
}

impl Shared {
    fn tasks(&self) -> MutexGuard<'_, Tasks<Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The threads. They end when this is dropped, after the task that they are at.
pub(crate) struct Helpers {
    shared: Arc<Shared>,
    resolved: Receiver<Resolved>,
    log: LogBudget,
}

impl Helpers {
    pub fn start(waker: &IappWaker, log: &LogBudget) -> io::Result<Self> {
        let (found, resolved) = channel();
        let helpers = Helpers { shared: Arc::default(), resolved, log: log.clone() };
        for _ in 0..THREADS {
            let (shared, found, waker, log) = (Arc::clone(&helpers.shared), found.clone(), waker.clone(), log.clone());
            let run = move || run(&shared, &found, &waker, &log);
            std::thread::Builder::new().name("xapp-helper".to_owned()).spawn(run)?;
        }
        Ok(helpers)
    }

    /// Returns whether there is room for a task.
    fn begin(&self, to: &Destination, task: Task) -> bool {
        let is_added = self.shared.tasks().add(to, task);
        self.shared.changed.notify_one();
        is_added
    }

    /// Looks up the address of an endpoint. Returns whether that has begun; the iApps are woken with the result.
    pub fn resolve(&self, endpoint: EndpointId, host: String, port: u16) -> bool {
        self.begin(&(host.clone(), 0), Task::Resolve { endpoint, host, port })
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
        if !self.begin(&(host.to_owned(), port), Task::Notify { url, path, document }) && self.log.allow(Host::Unknown)
        {
            warn!(
                "the xApp at {host}:{port} is not notified of a subscription: {MAX_OF_DESTINATION} notifications of it wait, or \
                 {MAX_OF_HOST} of its host, or {MAX_WAITING} of all; let it answer its requests faster"
            );
        }
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        self.shared.tasks().is_ended = true;
        self.shared.changed.notify_all();
    }
}

fn run(shared: &Shared, found: &Sender<Resolved>, waker: &IappWaker, log: &LogBudget) {
    loop {
        let mut tasks = shared.tasks();
        let (to, task) = loop {
            if tasks.is_ended {
                return;
            }
            match tasks.take() {
                Some(next) => break next,
                None => tasks = shared.changed.wait(tasks).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(tasks);
        process(task, found, waker, log);
        shared.tasks().done(to);
        // what waited for this host may be for another thread
        shared.changed.notify_all();
    }
}

fn process(task: Task, found: &Sender<Resolved>, waker: &IappWaker, log: &LogBudget) {
    match task {
        Task::Resolve { endpoint, host, port } => {
            let addresses = (&*host, port).to_socket_addrs();
            let result = match addresses.map(|mut addresses| addresses.next()) {
                Ok(Some(address)) => Ok((address.ip(), port)),
                Ok(None) => Err("its name has no address".to_owned()),
                Err(error) => Err(format!("its name cannot be resolved: {error}")),
            };
            // nobody takes it any more when the app ends
            if found.send((endpoint, result)).is_ok() {
                waker.wake();
            }
        }
        Task::Notify { url, path, document } => {
            if let Err(error) = post(&url, path, &document)
                && log.allow(Host::Unknown)
            {
                warn!(
                    "the xApp at {url}{path} was not notified of a subscription: {error}; let it listen at its HTTPPort"
                );
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

#[cfg(test)]
mod tests {
    use super::*;

    fn to(host: &str, port: u16) -> Destination {
        (host.to_owned(), port)
    }

    #[test]
    fn destination_that_does_not_answer_delays_neither_others_nor_their_order() {
        let mut tasks = Tasks::default();
        // a flood for ports of one host, of which none is ever done
        for port in 1..=100 {
            for number in 0..100 {
                tasks.add(&to("bad", port), number);
            }
        }
        for number in 0..3 {
            assert!(tasks.add(&to("good", 1), number), "there is room");
            assert!(tasks.add(&to("good", 2), number));
        }
        let mut taken = Vec::new();
        let mut bad = 0;
        for _ in 0..THREADS_OF_HOST + 6 {
            let (of, number) = tasks.take().unwrap();
            if of.0 == "bad" {
                bad += 1;
                continue;
            }
            taken.push((of.1, number));
            tasks.done(of);
        }
        assert_eq!(bad, THREADS_OF_HOST);
        assert_eq!(taken, [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2)]);
        assert!(tasks.take().is_none(), "the host has its threads");
    }

    #[test]
    fn tasks_are_bounded_and_leave_no_trace() {
        let mut tasks = Tasks::default();
        let count = |tasks: &mut Tasks<usize>, host: &str, ports: u16| {
            let mut count = 0;
            for port in 1..=ports {
                count += (0..2000).take_while(|number| tasks.add(&to(host, port), *number)).count();
            }
            count
        };
        assert_eq!(count(&mut tasks, "a", 1), MAX_OF_DESTINATION);
        assert_eq!(count(&mut tasks, "a", 100), MAX_OF_HOST - MAX_OF_DESTINATION);
        assert_eq!(count(&mut tasks, "b", 100), MAX_WAITING - MAX_OF_HOST);
        while let Some((of, _)) = tasks.take() {
            tasks.done(of);
        }
        assert_eq!((tasks.waiting, tasks.of.len(), tasks.turns.len(), tasks.of_hosts.len()), (0, 0, 0, 0));
    }
}
