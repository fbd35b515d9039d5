//! The shared data layer on a Redis server, in place of the embedded store.
//!
//! xApps use that server directly; the process writes to it through the same [`Handle`]. Changes that were requested together are
//! made together, by one script. While Redis is away, changes wait, 64 MiB of them, and further ones are refused; when it is back
//! they are made, and then the functions of [`Handle::on_return`] are called, since Redis may have lost what it had.
//!
//! A connection that ends while a batch is on its way leaves open whether it was executed: it is repeated. Keys then have the same
//! values; a message may reach subscribers twice.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use redis::{Cmd, RedisError, cmd};
use shared_store::{StoreConnection, StoreUrl, remedy};
use tracing::{info, warn};

use crate::access::namespace_of;
use crate::handle::{self, Change, Entries, Handle, Inbox, Job, NO_ROOM};
use crate::observers::Observers;

/// The pauses before it connects again: each next one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(5);
/// How often a connection that is not used is checked.
const IDLE: Duration = Duration::from_secs(1);
/// The time after which everything is written again if Redis has refused a change.
const REPEAT_AFTER: Duration = Duration::from_secs(10);
/// The most changes of one script.
const MAX_BATCH: usize = 512;
/// Keys that are read at a time.
const READ_KEYS: usize = 256;

/// Makes changes, unless a key has other octets than those of the guard. Each change is a key or channel, an operation and a value.
const SCRIPT: &str = "\
local guards = tonumber(ARGV[1])
for i = 1, guards do
  local octets = redis.call('GET', KEYS[i])
  if octets and octets ~= ARGV[1 + i] then return 0 end
end
local a = 2 + guards
for i = guards + 1, #KEYS do
  local what, value = ARGV[a], ARGV[a + 1]
  a = a + 2
  if what == 's' then redis.call('SET', KEYS[i], value)
  elseif what == 'd' then redis.call('DEL', KEYS[i])
  elseif what == 'p' then redis.call('PUBLISH', KEYS[i], value)
  else
    local kind = redis.call('TYPE', KEYS[i])['ok']
    if kind ~= 'set' and kind ~= 'none' then redis.call('DEL', KEYS[i]) end
    if what == 'a' then redis.call('SADD', KEYS[i], value) else redis.call('SREM', KEYS[i], value) end
  end
end
return 1";

/// A shared data layer on Redis. It ends when it is dropped; what waits then is lost if Redis is away.
pub struct RemoteSdl {
    url: StoreUrl,
    handle: Handle,
    stop: Arc<AtomicBool>,
    losses: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl RemoteSdl {
    /// Starts a thread that writes to the store. The store need not be there yet.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn start(url: StoreUrl) -> io::Result<Self> {
        let (handle, inbox) = handle::channel(None);
        let stop = Arc::new(AtomicBool::new(false));
        let losses = Arc::new(AtomicU64::new(0));
        let remote = Remote {
            observers: Observers::new(url.clone(), Arc::clone(&stop)),
            url: url.clone(),
            inbox,
            stop: Arc::clone(&stop),
            losses: Arc::clone(&losses),
            returns: Vec::new(),
            waiting: VecDeque::new(),
            pause: FIRST_PAUSE,
            lost_at: None,
            has_connected: false,
            refused_at: None,
            logged: None,
        };
        let thread = std::thread::Builder::new().name("sdl".to_owned()).spawn(move || remote.run())?;
        Ok(RemoteSdl { url, handle, stop, losses, thread: Some(thread) })
    }

    /// The store, without its password.
    #[must_use]
    pub fn url(&self) -> &StoreUrl {
        &self.url
    }

    /// The way for other threads of this process to change the store.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// How often Redis was lost since the start.
    #[must_use]
    pub fn losses(&self) -> u64 {
        self.losses.load(Ordering::Relaxed)
    }
}

impl Drop for RemoteSdl {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.handle.wake();
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl fmt::Debug for RemoteSdl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteSdl").field("url", &self.url).finish_non_exhaustive()
    }
}

struct Remote {
    url: StoreUrl,
    inbox: Inbox,
    stop: Arc<AtomicBool>,
    losses: Arc<AtomicU64>,
    observers: Observers,
    /// What is called when Redis is back.
    returns: Vec<Box<dyn Fn() + Send>>,
    /// Jobs that were taken and not done yet, in their order.
    waiting: VecDeque<Job>,
    pause: Duration,
    lost_at: Option<Instant>,
    has_connected: bool,
    /// When Redis has refused changes.
    refused_at: Option<Instant>,
    /// The remedy that was logged last: each is logged once until Redis is back.
    logged: Option<&'static str>,
}

impl Remote {
    fn run(mut self) {
        loop {
            let served = self.url.connect().and_then(|mut connection| {
                // a server that accepts connections need not serve
                connection.query::<()>(&cmd("PING"))?;
                self.serve(&mut connection)
            });
            let Err(error) = served else { return };
            self.lose(&error);
            self.take();
            if self.is_stopped() {
                let changes = self.waiting.iter().filter(|job| matches!(job, Job::Change(_))).count();
                if changes > 0 {
                    warn!(
                        redis = %self.url,
                        "{changes} changes of the shared data layer are lost: its store was away when the RIC stopped; R-NIB and A1 are \
                         written again when the RIC starts"
                    );
                }
                return;
            }
            let until = Instant::now() + self.pause;
            while Instant::now() < until && !self.is_stopped() {
                std::thread::sleep(FIRST_PAUSE);
            }
            self.pause = (2 * self.pause).min(LAST_PAUSE);
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    fn lose(&mut self, error: &RedisError) {
        if self.lost_at.is_none() {
            self.lost_at = Some(Instant::now());
            self.losses.fetch_add(1, Ordering::Relaxed);
        }
        let remedy = remedy(error);
        if self.logged.replace(remedy) != Some(remedy) {
            let (redis, waiting) = (&self.url, self.waiting.len());
            warn!(%redis, %error, waiting, "cannot reach the shared data layer; changes wait; retrying; remedy: {remedy}");
        }
    }

    /// Takes the jobs that wait in the inbox, and does those that need no Redis. Changes that wait for Redis count against the bound
    /// of the inbox until they are made.
    fn take(&mut self) {
        let (jobs, has_refused) = self.inbox.take_counted();
        if has_refused {
            warn!(redis = %self.url, "changes of the RIC in the shared data layer are refused: {NO_ROOM}");
        }
        for job in jobs {
            match job {
                Job::Observe(channel, observer) => self.observers.add(channel, observer),
                Job::OnReturn(observer) => self.returns.push(observer),
                // rights are those of Redis
                Job::Access(_) => {}
                job @ (Job::Change(_) | Job::Read(..)) => self.waiting.push_back(job),
            }
        }
    }

    /// Does jobs until the end.
    fn serve(&mut self, connection: &mut StoreConnection) -> Result<(), RedisError> {
        loop {
            self.take();
            let is_idle = self.waiting.is_empty();
            while !self.waiting.is_empty() {
                self.do_next(connection)?;
            }
            self.connected();
            if self.refused_at.is_some_and(|at| at.elapsed() >= REPEAT_AFTER) {
                self.refused_at = None;
                self.returns.iter().for_each(|observer| observer());
                continue;
            }
            if is_idle {
                if self.is_stopped() {
                    return Ok(());
                }
                if !self.inbox.wait(IDLE) {
                    connection.query::<()>(&cmd("PING"))?;
                }
            }
        }
    }

    /// Redis has answered, and nothing waits.
    fn connected(&mut self) {
        self.pause = FIRST_PAUSE;
        if self.refused_at.is_none() {
            self.logged = None;
        }
        let lost_at = self.lost_at.take();
        if let Some(lost_at) = lost_at {
            info!(redis = %self.url, "the shared data layer is available, after {:.1} s", lost_at.elapsed().as_secs_f64());
        }
        if lost_at.is_some() && self.has_connected {
            self.returns.iter().for_each(|observer| observer());
        }
        self.has_connected = true;
    }

    /// Does the first of the jobs that wait, with the changes behind it that it may be made with.
    fn do_next(&mut self, connection: &mut StoreConnection) -> Result<(), RedisError> {
        let mut refusal = None;
        let count = match &self.waiting[0] {
            Job::Read(namespace, sender) => {
                // whoever asked may have gone
                let _ = sender.try_send(read(connection, namespace)?);
                1
            }
            Job::Change(first) => {
                let namespace = namespace_of(first.key());
                let fits = |job: &&Job| match job {
                    Job::Change(change) => is_plain(change) && namespace_of(change.key()) == namespace,
                    _ => false,
                };
                let count =
                    if is_plain(first) { self.waiting.iter().take(MAX_BATCH).take_while(fits).count() } else { 1 };
                let changes = self.waiting.iter().take(count).filter_map(|job| match job {
                    Job::Change(change) => Some(change),
                    _ => None,
                });
                refusal = change(connection, changes)?;
                count
            }
            _ => 1,
        };
        if let Some(error) = refusal {
            self.refused(&error);
        }
        let done = self.waiting.drain(..count);
        let octets = done.map(|job| if let Job::Change(change) = job { change.octets() } else { 0 }).sum();
        self.inbox.release(octets);
        Ok(())
    }

    /// Redis has refused changes. Others do not wait for them; everything is written again later.
    fn refused(&mut self, error: &RedisError) {
        self.refused_at = Some(Instant::now());
        let remedy = remedy(error);
        if self.logged.replace(remedy) != Some(remedy) {
            let repeat_s = REPEAT_AFTER.as_secs();
            warn!(redis = %self.url, %error, repeat_s, "Redis refuses changes of the shared data layer; remedy: {remedy}");
        }
    }
}

/// Makes changes together. Returns why Redis refuses them.
fn change<'a>(
    connection: &mut StoreConnection,
    changes: impl Iterator<Item = &'a Change>,
) -> Result<Option<RedisError>, RedisError> {
    let mut script = Script::default();
    for change in changes {
        match change {
            Change::Clear { namespace } => {
                for keys in connection.keys(namespace)?.chunks(READ_KEYS) {
                    connection.query::<()>(cmd("UNLINK").arg(keys))?;
                }
            }
            Change::Guarded { key, octets, changes } => {
                script.guards.push((key, octets));
                changes.iter().for_each(|change| script.add(change));
            }
            change => script.add(change),
        }
    }
    let Some(command) = script.command() else { return Ok(None) };
    match connection.query::<i64>(&command) {
        Ok(_) => Ok(None),
        Err(error) if is_refusal(&error) => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

/// Whether an error concerns the command rather than the server's state.
fn is_refusal(error: &RedisError) -> bool {
    let code = error.code().unwrap_or_default();
    matches!(code, "ERR" | "WRONGTYPE" | "NOPERM" | "OOM" | "CROSSSLOT")
}

/// Whether a change may be made in one script with others.
fn is_plain(change: &Change) -> bool {
    !matches!(change, Change::Clear { .. } | Change::Guarded { .. })
}

/// Reads all keys of a namespace that have octets.
fn read(connection: &mut StoreConnection, namespace: &[u8]) -> Result<Entries, RedisError> {
    let mut entries = Vec::new();
    for keys in connection.keys(namespace)?.chunks(READ_KEYS) {
        // a key without octets, or none any more, has none
        let values: Vec<Option<Vec<u8>>> = connection.query(cmd("MGET").arg(keys))?;
        let found = keys.iter().zip(values).filter_map(|(key, value)| Some((key.clone(), value?)));
        entries.extend(found);
    }
    Ok(entries)
}

/// The arguments of [`SCRIPT`].
#[derive(Default)]
struct Script<'a> {
    guards: Vec<(&'a Vec<u8>, &'a Vec<u8>)>,
    changes: Vec<(&'a [u8], &'static str, &'a [u8])>,
}

impl<'a> Script<'a> {
    fn add(&mut self, change: &'a Change) {
        self.changes.push(match change {
            Change::Set { key, octets } => (key, "s", octets),
            Change::Remove { key } => (key, "d", &[]),
            Change::AddMember { key, member } => (key, "a", member),
            Change::RemoveMember { key, member } => (key, "r", member),
            Change::Publish { channel, message } => (channel, "p", message),
            // neither stands in a guarded one
            Change::Clear { .. } | Change::Guarded { .. } => return,
        });
    }

    fn command(&self) -> Option<Cmd> {
        if self.changes.is_empty() {
            return None;
        }
        let mut command = cmd("EVAL");
        command.arg(SCRIPT).arg(self.guards.len() + self.changes.len());
        for key in self.guards.iter().map(|(key, _)| key.as_slice()).chain(self.changes.iter().map(|(key, ..)| *key)) {
            command.arg(key);
        }
        command.arg(self.guards.len());
        for (_, octets) in &self.guards {
            command.arg(*octets);
        }
        for (_, what, value) in &self.changes {
            command.arg(*what).arg(*value);
        }
        Some(command)
    }
}
