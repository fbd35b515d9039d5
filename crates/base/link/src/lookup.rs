//! Looks up host names on threads of their own, so that no event loop waits for a name server.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use crate::resolve::{numeric, resolve};
use crate::{Address, Config, Error, Waker, block_signals};

/// The most threads of a resolver: names that are looked up at a time.
const MAX_THREADS: usize = 4;
/// The most names that wait for a thread; another one fails at once.
const MAX_QUEUED: usize = 256;
/// The most names whose last addresses are remembered; then one of them is forgotten for each new one.
const MAX_REMEMBERED: usize = 1024;
/// A thread ends when there was nothing to look up for that long.
const IDLE: Duration = Duration::from_secs(10);

type Function = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;
type Name = (String, u16);
type Found = Result<Vec<SocketAddr>, Failure>;

/// What looks up host names: see [`Config::resolver`]. Clones are one.
///
/// It has at most 4 threads, which start when they are needed and end when they are not. A name is looked up once for all that ask for
/// it meanwhile, and at most 256 names wait. The last addresses of 1024 names are remembered for the case that a name cannot be looked
/// up later.
#[derive(Clone)]
pub struct Resolver(Arc<Inner>);

struct Inner {
    function: Box<Function>,
    state: Mutex<State>,
    has_work: Condvar,
}

#[derive(Default)]
struct State {
    /// The process that has the threads.
    process: u32,
    threads: usize,
    idle: usize,
    queue: VecDeque<Name>,
    /// Who waits for the names that are in the queue or being looked up.
    waiting: HashMap<Name, Vec<Weak<Answer>>>,
    /// The addresses that a name had at last.
    remembered: HashMap<Name, Vec<SocketAddr>>,
}

/// Where a thread leaves what it has found.
struct Answer {
    found: OnceLock<Found>,
    waker: Waker,
}

/// An I/O error that can be copied.
#[derive(Clone, Debug)]
struct Failure {
    kind: io::ErrorKind,
    text: String,
}

impl Failure {
    fn new(kind: io::ErrorKind, text: impl Into<String>) -> Self {
        Failure { kind, text: text.into() }
    }
}

impl Resolver {
    /// The resolver of the system, which the links of this process share.
    pub fn system() -> Resolver {
        static SYSTEM: OnceLock<Resolver> = OnceLock::new();
        SYSTEM.get_or_init(|| Resolver::new(resolve)).clone()
    }

    /// A resolver that calls a function, which may block: it gets a host name and a port, and returns all addresses of the host with
    /// that port.
    pub fn new(function: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static) -> Resolver {
        Resolver(Arc::new(Inner { function: Box::new(function), state: Mutex::default(), has_work: Condvar::new() }))
    }

    /// Looks up a name on this thread.
    pub(crate) fn resolve_now(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        if let Some(address) = numeric(host, port) {
            return address.map(|address| vec![address]);
        }
        let name = (host.to_owned(), port);
        let found = self.0.look_up(&name);
        self.0.state().remember(&name, &found);
        found.map_err(|failure| unresolved(host, &failure))
    }

    /// Has a name looked up. `waker` is woken once there is an answer, unless there is one at once.
    fn ask(&self, name: &Name, waker: &Waker) -> Arc<Answer> {
        let answer = Arc::new(Answer { found: OnceLock::new(), waker: waker.clone() });
        let mut state = self.0.state();
        if let Some(waiting) = state.waiting.get_mut(name) {
            // those that have given up
            waiting.retain(|other| other.strong_count() > 0);
            waiting.push(Arc::downgrade(&answer));
            return answer;
        }
        if state.queue.len() >= MAX_QUEUED {
            let text = format!("{MAX_QUEUED} other names wait to be looked up");
            let _ = answer.found.set(Err(Failure::new(io::ErrorKind::WouldBlock, text)));
            return answer;
        }
        if state.idle <= state.queue.len() && state.threads < MAX_THREADS {
            let inner = Arc::clone(&self.0);
            match std::thread::Builder::new().name("ferric-resolver".into()).spawn(move || inner.run()) {
                Ok(_) => state.threads += 1,
                // the other threads will look it up
                Err(_) if state.threads > 0 => {}
                Err(error) => {
                    let text = format!("no thread to look it up: {error}");
                    let _ = answer.found.set(Err(Failure::new(error.kind(), text)));
                    return answer;
                }
            }
        }
        state.waiting.insert(name.clone(), vec![Arc::downgrade(&answer)]);
        state.queue.push_back(name.clone());
        self.0.has_work.notify_one();
        answer
    }
}

impl Default for Resolver {
    /// [`Resolver::system`]
    fn default() -> Self {
        Resolver::system()
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

/// Resolvers are equal if they are clones of one.
impl PartialEq for Resolver {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Resolver {}

impl Inner {
    /// The state. In the child of a fork, which has none of the threads, the names that were being looked up are forgotten.
    fn state(&self) -> MutexGuard<'_, State> {
        // each change under the lock is complete, whatever panics
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if state.process != process {
            let remembered = std::mem::take(&mut state.remembered);
            *state = State { process, remembered, ..State::default() };
        }
        state
    }

    fn look_up(&self, (host, port): &Name) -> Found {
        match catch_unwind(AssertUnwindSafe(|| (self.function)(host, *port))) {
            Ok(Ok(addresses)) if addresses.is_empty() => {
                Err(Failure::new(io::ErrorKind::NotFound, "the name has no address"))
            }
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) => Err(Failure::new(error.kind(), error.to_string())),
            Err(_) => Err(Failure::new(io::ErrorKind::Other, "the resolver has panicked: a defect")),
        }
    }

    /// Looks up names until there were none for a while.
    fn run(&self) {
        block_signals();
        let mut state = self.state();
        loop {
            let Some(name) = state.queue.pop_front() else {
                state.idle += 1;
                let (next, waited) = self.has_work.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
                state = next;
                state.idle -= 1;
                if waited.timed_out() && state.queue.is_empty() {
                    state.threads -= 1;
                    return;
                }
                continue;
            };
            drop(state);
            let found = self.look_up(&name);
            state = self.state();
            state.remember(&name, &found);
            for answer in state.waiting.remove(&name).iter().flatten().filter_map(Weak::upgrade) {
                let _ = answer.found.set(found.clone()); // it is set once
                answer.waker.wake();
            }
        }
    }
}

impl State {
    fn remember(&mut self, name: &Name, found: &Found) {
        let Ok(addresses) = found else { return };
        if self.remembered.len() >= MAX_REMEMBERED
            && !self.remembered.contains_key(name)
            && let Some(other) = self.remembered.keys().next().cloned()
        {
            self.remembered.remove(&other);
        }
        self.remembered.insert(name.clone(), addresses.clone());
    }
}

/// The host names of an address while they are looked up, for an event loop that does not wait for it:
///
/// 1. [`Lookup::begin`]; an address without host names [is done](Lookup::is_done) at once.
/// 2. When the waker has woken the loop and the look-up is done, or when it has taken too long, [`Lookup::finish`].
/// 3. [`Link::connect_resolved`](crate::Link::connect_resolved).
///
/// A look-up that is dropped goes on, and its result is remembered.
pub struct Lookup {
    address: Address,
    resolver: Resolver,
    hosts: Vec<Host>,
}

enum Host {
    Numeric(io::Result<SocketAddr>),
    Asked(Name, Arc<Answer>),
}

/// An address whose host names are resolved.
#[derive(Debug)]
pub struct Resolved {
    pub(crate) address: Address,
    /// Empty for an address without hosts.
    pub(crate) sockets: Vec<SocketAddr>,
    outdated: Vec<OutdatedName>,
}

/// A host name that could not be looked up this time, and whose last addresses are used.
#[derive(Debug)]
pub struct OutdatedName {
    /// The host name.
    pub host: String,
    /// Why it could not be looked up.
    pub error: io::Error,
}

impl Lookup {
    /// Has the host names of an address looked up by the [resolver](Config::resolver). `waker` is woken when one is.
    pub fn begin(address: &Address, config: &Config, waker: &Waker) -> Lookup {
        let resolver = config.resolver.clone();
        let hosts = hosts_of(address)
            .map(|(host, port)| match numeric(host, port) {
                Some(address) => Host::Numeric(address),
                None => {
                    let name = (host.to_owned(), port);
                    let answer = resolver.ask(&name, waker);
                    Host::Asked(name, answer)
                }
            })
            .collect();
        Lookup { address: address.clone(), resolver, hosts }
    }

    /// Whether each host name is looked up, or cannot be.
    pub fn is_done(&self) -> bool {
        self.hosts.iter().all(|host| match host {
            Host::Numeric(_) => true,
            Host::Asked(_, answer) => answer.found.get().is_some(),
        })
    }

    /// Returns the addresses. A name that could not be looked up, or not yet, has the addresses that it had at last, which
    /// [`Resolved::outdated`] reports.
    ///
    /// # Errors
    /// [`Error::Connect`] if a name could not be looked up, or not yet, and never was before.
    pub fn finish(self) -> Result<Resolved, Error> {
        let Lookup { address, resolver, hosts } = self;
        let (mut sockets, mut outdated) = (Vec::new(), Vec::new());
        let mut add = |host| {
            match host {
                Host::Numeric(found) => sockets.push(found?),
                Host::Asked(name, answer) => {
                    let late = || Failure::new(io::ErrorKind::TimedOut, "the name server has not answered in time");
                    match answer.found.get().cloned().unwrap_or_else(|| Err(late())) {
                        Ok(found) => sockets.extend(found),
                        Err(failure) => {
                            let last = resolver.0.state().remembered.get(&name).cloned();
                            sockets.extend(last.ok_or_else(|| unresolved(&name.0, &failure))?);
                            let error = io::Error::new(failure.kind, failure.text);
                            outdated.push(OutdatedName { host: name.0, error });
                        }
                    }
                }
            }
            Ok(())
        };
        match hosts.into_iter().try_for_each(&mut add) {
            Ok(()) => Ok(Resolved { address, sockets, outdated }),
            Err(source) => Err(Error::Connect { address, source }),
        }
    }
}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookup").field("address", &self.address).field("is_done", &self.is_done()).finish()
    }
}

impl Resolved {
    /// Looks up the host names of an address on this thread.
    pub(crate) fn now(address: &Address, config: &Config) -> Result<Resolved, Error> {
        let mut sockets = Vec::new();
        for (host, port) in hosts_of(address) {
            let found = config.resolver.resolve_now(host, port);
            sockets.extend(found.map_err(|source| Error::Connect { address: address.clone(), source })?);
        }
        Ok(Resolved { address: address.clone(), sockets, outdated: Vec::new() })
    }

    /// The address that was resolved.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The host names that could not be looked up, whose last addresses are used.
    pub fn outdated(&self) -> &[OutdatedName] {
        &self.outdated
    }
}

/// The hosts of an address, with the port.
fn hosts_of(address: &Address) -> impl Iterator<Item = (&str, u16)> {
    let (hosts, port) = match address {
        Address::Tcp { host, port } | Address::Tls { host, port } => (std::slice::from_ref(host), *port),
        Address::Sctp { hosts, port } => (&hosts[..], *port),
        Address::Unix(_) | Address::Shm(_) | Address::Memory(_) => (&[][..], 0),
    };
    hosts.iter().map(move |host| (&**host, port))
}

fn unresolved(host: &str, failure: &Failure) -> io::Error {
    let text = &failure.text;
    io::Error::new(
        failure.kind,
        format!("the host name `{host}` is not resolved: {text}; check the name, DNS and /etc/hosts"),
    )
}

#[cfg(test)]
mod tests;
