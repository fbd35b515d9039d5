//! The session and its thread: handles send it jobs and wait for the replies.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tracing::Dispatch;
use tracing::subscriber::NoSubscriber;

use super::core::Core;
use super::error::Error;
use super::raw::{Commands, Xapp, XappConfig, XappEvent, XappGroup};
use crate::StopHandle;
use link::Address;

/// The time between two attempts to connect to a RIC that is absent.
const RETRY: Duration = Duration::from_millis(200);
/// After the welcome, nodes are announced one after the other: a pause of this length is the end.
const ANNOUNCEMENT_PAUSE: Duration = Duration::from_millis(30);
/// The longest wait for the announcement of nodes.
const ANNOUNCEMENT: Duration = Duration::from_secs(1);

/// What a handle asks the thread to do.
pub(super) type Job = Box<dyn FnOnce(&mut Core, &mut Commands<'_>) + Send>;

/// Where a job leaves its result; a reply after the deadline goes nowhere.
pub(super) struct Reply<T>(SyncSender<Result<T, Error>>);

impl<T> Reply<T> {
    pub fn send(self, result: Result<T, Error>) {
        // the handle may have stopped waiting
        let _ = self.0.try_send(result);
    }
}

/// What the thread and the handles share.
pub(super) struct Shared {
    jobs: Mutex<Vec<Job>>,
    waker: StopHandle,
    is_ended: AtomicBool,
    process: u32,
}

impl Shared {
    /// Fails in a child of the process that opened the session, and after its end. Takes no lock, which the thread may have
    /// held at the time of the fork.
    pub fn check(&self) -> Result<(), Error> {
        if std::process::id() != self.process {
            return Err(Error::Forked);
        }
        if self.is_ended.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }

    /// Has the thread run a job; after the end of the session the job is dropped, and with it its reply.
    pub fn post(&self, job: Job) {
        let mut jobs = lock(&self.jobs);
        // the thread takes the last jobs after it has set this
        if !self.is_ended.load(Ordering::Acquire) {
            jobs.push(job);
        }
        drop(jobs);
        self.waker.wake();
    }

    fn take_jobs(&self) -> Vec<Job> {
        std::mem::take(&mut *lock(&self.jobs))
    }
}

/// A lock whose holder has panicked protects what is still consistent: each change under it is one assignment.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session: it ends when the last handle is dropped.
pub(super) struct Session {
    pub shared: Arc<Shared>,
    pub address: String,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Session {
    /// Opens a session on a thread of its own. Waits for a RIC that does not listen yet until the time is over.
    pub fn open(addresses: Vec<Address>, name: &str, config: XappConfig, timeout: Duration) -> Result<Session, Error> {
        let (send, receive) = sync_channel(1);
        let (address, label) = (joined(&addresses), name.to_owned());
        // the session's lines go where those of the thread that opens it go
        let log = tracing::dispatcher::get_default(Dispatch::clone);
        let log = (!log.is::<NoSubscriber>()).then_some(log);
        let thread = std::thread::Builder::new().name("ferric-xapp".into()).spawn(move || {
            let _log = log.as_ref().map(tracing::dispatcher::set_default);
            match Link::connect(&addresses, &label, config, timeout) {
                Ok(link) => begin(link, &send),
                Err(error) => drop(send.send(Err(error))),
            }
        });
        let failed = |source| Error::Connect { address: address.clone(), source: Arc::new(source) };
        let thread = thread.map_err(|source| failed(crate::Error::System { what: "thread of the session", source }))?;
        match receive.recv() {
            Ok(Ok(shared)) => Ok(Session { shared, address, thread: Mutex::new(Some(thread)) }),
            Ok(Err(error)) => Err(failed(error)),
            Err(_) => Err(Error::Closed),
        }
    }

    /// Runs a job on the thread and waits for its reply.
    pub fn ask<T: Send + 'static>(
        &self,
        what: impl FnOnce() -> String,
        deadline: Duration,
        job: impl FnOnce(&mut Core, &mut Commands<'_>, Reply<T>) + Send + 'static,
    ) -> Result<T, Error> {
        self.shared.check()?;
        let (send, receive) = sync_channel(1);
        self.shared.post(Box::new(move |core, commands| job(core, commands, Reply(send))));
        wait(&receive, deadline, what)
    }

    /// As [`Session::ask`], for a job that may have to wait: it is tried again after each event, until it returns a result.
    pub fn ask_until<T: Send + 'static>(
        &self,
        what: impl FnOnce() -> String,
        deadline: Duration,
        mut attempt: impl FnMut(&mut Core, &mut Commands<'_>) -> Attempt<T> + Send + 'static,
    ) -> Result<T, Error> {
        let until = Instant::now() + deadline;
        // the job replies itself at the deadline, with the reason that it waits for
        self.ask(what, deadline + Duration::from_secs(1), move |core, commands, reply: Reply<T>| {
            let mut reply = Some(reply);
            core.wait(
                commands,
                until,
                Box::new(move |core, commands, is_late| {
                    let result = match attempt(core, commands) {
                        Attempt::Done(result) => result,
                        Attempt::Wait(reason) if is_late => Err(reason),
                        Attempt::Wait(_) => return false,
                    };
                    if let Some(reply) = reply.take() {
                        reply.send(result);
                    }
                    true
                }),
            );
        })
    }

    /// Ends the session; the thread has ended afterwards. In another process, and the second time, it does nothing.
    pub fn close(&self) {
        if std::process::id() != self.shared.process {
            return;
        }
        self.shared.is_ended.store(true, Ordering::Release);
        self.shared.waker.stop();
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            // a panic of the thread was logged there
            let _ = thread.join();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close();
    }
}

/// The result of trying a job that may have to wait.
pub(super) enum Attempt<T> {
    Done(Result<T, Error>),
    /// The reason, if it is too late.
    Wait(Error),
}

fn wait<T>(
    receive: &Receiver<Result<T, Error>>,
    deadline: Duration,
    what: impl FnOnce() -> String,
) -> Result<T, Error> {
    match receive.recv_timeout(deadline) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => Err(Error::Timeout { what: what(), after: deadline }),
        Err(RecvTimeoutError::Disconnected) => Err(Error::Closed),
    }
}

/// The addresses as one text.
pub(super) fn joined(addresses: &[Address]) -> String {
    addresses.iter().map(Address::to_string).collect::<Vec<_>>().join(" ")
}

/// The raw session: with one RIC, or with several.
enum Link {
    One(Box<Xapp>),
    Group(Box<XappGroup>),
}

impl Link {
    fn connect(addresses: &[Address], name: &str, config: XappConfig, timeout: Duration) -> Result<Self, crate::Error> {
        match addresses {
            [address] => {
                connect(address, name, &config, Instant::now() + timeout).map(|xapp| Link::One(Box::new(xapp)))
            }
            several => XappGroup::connect(several, name, config, timeout).map(|group| Link::Group(Box::new(group))),
        }
    }

    fn stop_handle(&self) -> StopHandle {
        match self {
            Link::One(xapp) => xapp.stop_handle(),
            Link::Group(group) => group.stop_handle(),
        }
    }

    fn address(&self) -> String {
        match self {
            Link::One(xapp) => xapp.address().to_string(),
            Link::Group(group) => group.addresses(),
        }
    }

    fn nodes(&self) -> usize {
        match self {
            Link::One(xapp) => xapp.nodes().count(),
            Link::Group(group) => group.nodes().count(),
        }
    }

    fn commands(&mut self) -> Commands<'_> {
        match self {
            Link::One(xapp) => xapp.commands(),
            Link::Group(group) => group.commands(),
        }
    }

    fn poll(
        &mut self,
        timeout: Option<Duration>,
        handle: impl FnMut(XappEvent<'_>, &mut Commands<'_>),
    ) -> Result<(), crate::Error> {
        match self {
            Link::One(xapp) => xapp.poll(timeout, handle),
            Link::Group(group) => group.poll(timeout, handle),
        }
    }
}

/// Connects a raw session. Waits for a RIC that does not listen yet until `end`.
pub(super) fn connect(address: &Address, name: &str, config: &XappConfig, end: Instant) -> Result<Xapp, crate::Error> {
    let mut is_waiting = false;
    loop {
        match Xapp::connect(address, name, config.clone()) {
            Err(error) if is_absent(&error) && Instant::now() + RETRY < end => {
                if !std::mem::replace(&mut is_waiting, true) {
                    tracing::warn!(ric = %address, %error, "no RIC at this address yet: waiting for it; `ferric ric` starts one");
                }
                std::thread::sleep(RETRY);
            }
            result => return result,
        }
    }
}

/// Whether the RIC may come: nothing listens, or what listens is not ready.
fn is_absent(error: &crate::Error) -> bool {
    match error {
        crate::Error::Link(_) | crate::Error::NoAnswer => true,
        crate::Error::Refused(_) | crate::Error::Protocol(_) | crate::Error::System { .. } => false,
    }
}

fn begin(mut link: Link, ready: &SyncSender<Result<Arc<Shared>, crate::Error>>) {
    let shared = Arc::new(Shared {
        jobs: Mutex::default(),
        waker: link.stop_handle(),
        is_ended: AtomicBool::new(false),
        process: std::process::id(),
    });
    let mut core = Core::new();
    let end = Instant::now() + ANNOUNCEMENT;
    loop {
        let known = link.nodes();
        if let Err(error) = link.poll(Some(ANNOUNCEMENT_PAUSE), |event, commands| core.handle(event, commands)) {
            drop(ready.send(Err(error)));
            return;
        }
        // the first poll reports the nodes that came with the welcome
        let is_quiet = link.nodes() == known && core.nodes().count() == known;
        if is_quiet || Instant::now() >= end {
            break;
        }
    }
    if ready.send(Ok(Arc::clone(&shared))).is_err() {
        return;
    }
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| run(&mut link, &mut core, &shared)));
    shared.is_ended.store(true, Ordering::Release);
    let reason = match result {
        Ok(Ok(())) => None,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the session with the RIC has ended");
            Some(Error::Connect { address: link.address(), source: Arc::new(error) })
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text");
            tracing::error!(panic = text, "the session's thread has panicked: a defect; the session is over");
            Some(Error::Closed)
        }
    };
    core.end(reason);
    // jobs that no thread runs any more: their handles learn it
    drop(shared.take_jobs());
}

fn run(link: &mut Link, core: &mut Core, shared: &Shared) -> Result<(), crate::Error> {
    while !shared.waker.is_stopped() {
        for job in shared.take_jobs() {
            job(core, &mut link.commands());
        }
        core.advance(&mut link.commands());
        let timeout = core.next_deadline().map(|at| at.saturating_duration_since(Instant::now()));
        link.poll(timeout, |event, commands| core.handle(event, commands))?;
        core.notify_streams();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(process: u32) -> Arc<Shared> {
        let poll = link::Poll::new().unwrap();
        let waker = StopHandle::new(&poll).unwrap();
        Arc::new(Shared { jobs: Mutex::default(), waker, is_ended: AtomicBool::new(false), process })
    }

    fn session(process: u32) -> Session {
        Session { shared: shared(process), address: "tcp://127.0.0.1:1".into(), thread: Mutex::new(None) }
    }

    #[test]
    fn child_of_a_fork_has_no_session_and_ends_none() {
        let session = session(std::process::id() + 1);
        let asked = session.ask(String::new, Duration::from_secs(60), |_, _, reply: Reply<()>| reply.send(Ok(())));
        assert!(matches!(asked, Err(Error::Forked)), "{asked:?}");
        session.close();
        assert!(!session.shared.waker.is_stopped(), "the session of the parent stays open");
    }

    #[test]
    fn second_close_does_nothing_and_jobs_are_refused() {
        let session = session(std::process::id());
        session.close();
        session.close();
        let asked = session.ask(String::new, Duration::from_secs(60), |_, _, reply: Reply<()>| reply.send(Ok(())));
        assert!(matches!(asked, Err(Error::Closed)), "{asked:?}");
        session.shared.post(Box::new(|_, _| unreachable!("the thread is gone")));
        assert!(session.shared.take_jobs().is_empty());
    }

    #[test]
    fn job_without_reply_ends_at_the_deadline() {
        let session = session(std::process::id());
        let asked = session.ask(|| "answer".into(), Duration::from_millis(1), |_, _, _: Reply<()>| {});
        assert!(matches!(&asked, Err(Error::Timeout { what, .. }) if what == "answer"), "{asked:?}");
    }
}
