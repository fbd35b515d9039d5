//! The subscriptions of a service of several processes.
//!
//! Every change is a record of a [`SharedLog`], and takes effect when it is read from the log: all processes make the same changes in
//! the same order, and the one that has asked for it answers then. A change has the number of the change that it follows; of two that
//! follow the same one, the first in the log takes effect, and the other one nowhere. The log is compacted, which keeps the last record of a
//! subscription, so the leader repeats what holds after a record without effect.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tracing::{info, warn};

use super::record::Record;
use super::state_feed::StateFeed;
use super::{Collecting, NewSubscription, Service, SubscriptionError};
use crate::broker::{BrokerError, Sink};
use crate::delivery::{Channel, Target};
use crate::faults::Faults;
use crate::matcher::Key;
use crate::model;
use crate::shared_log::{Feed, LogRecord, SharedLog};
use crate::subscriptions::{Due, Subscription, SubscriptionLimits};

/// How long a change waits for its record.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the start waits for the next record.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// How long one wait for a record lasts: so often duties are looked at.
const TICK: Duration = Duration::from_millis(50);
/// The time between attempts of what may fail.
const RETRY: Duration = Duration::from_secs(1);
/// How often a change without a condition is tried, when others are faster.
const MAX_ATTEMPTS: usize = 16;
/// The key of the record by which a process announces itself.
const PROCESS: &str = "process";
/// Ids of subscriptions that a process has for one announcement: ids are exact in JSON's numbers for 2^33 records.
const IDS: u64 = 1 << 20;
/// Ids of ended subscriptions that are remembered.
const MAX_ENDED: usize = 65_536;
/// The number of records for which no one waits.
const UNAWAITED: u64 = 0;

/// The part of the service that reads and writes the log.
pub struct Replica {
    log: Box<dyn SharedLog>,
    known: Mutex<Known>,
    /// A record was read.
    progress: Condvar,
    last_request: AtomicU64,
    state: StateFeed,
    /// Events for WebSockets are needed at this process.
    wants_events: AtomicBool,
    unreadable: Faults,
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
struct Known {
    entries: HashMap<Key, Entry>,
    /// Subscriptions that have ended.
    ended: BTreeSet<Key>,
    /// Subscriptions whose last record had no effect.
    contested: BTreeSet<Key>,
    /// Subscriptions that have expired, and are to be ended by the leader.
    expired: BTreeSet<Key>,
    /// WebSockets that were opened here, and belong to another process as far as the log says.
    claims: BTreeSet<Key>,
    /// The position after the last record that was read.
    applied: i64,
    /// What became of the records that someone waits for.
    awaited: HashMap<u64, Awaited>,
    /// The position of this process's first announcement: its name.
    process: Option<i64>,
    /// The position of its last announcement, and the ids that it has used since.
    ids: (u64, u64),
}

#[derive(Clone, Debug)]
struct Entry {
    change: u64,
    target: Target,
    holder: i64,
    is_noticed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Awaited {
    is_tested: bool,
    had_effect: Option<bool>,
}

/// A replica with its thread, which ends when it is dropped.
pub struct Running {
    pub replica: Arc<Replica>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.replica.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl Replica {
    /// Reads the log to its end, and starts to follow it.
    pub fn start(service: &Arc<Service>, log: Box<dyn SharedLog>) -> Result<Running, BrokerError> {
        service.dispatcher.share();
        let replica = Arc::new(Replica {
            log,
            known: Mutex::default(),
            progress: Condvar::new(),
            last_request: AtomicU64::new(UNAWAITED),
            state: StateFeed::default(),
            wants_events: AtomicBool::new(false),
            unreadable: Faults::default(),
            is_over: AtomicBool::new(false),
        });
        replica.log.append(Feed::Subscriptions, PROCESS, Some("{}"), UNAWAITED)?;
        let mut last = Instant::now();
        while replica.known().process.is_none() {
            match replica.log.read(TICK) {
                Some(record) => {
                    replica.apply(service, record);
                    last = Instant::now();
                }
                None if last.elapsed() > START_PATIENCE => return Err(replica.log.silent()),
                None => {}
            }
        }
        let (process, subscriptions) = (replica.process(), replica.known().entries.len());
        info!(process, subscriptions, "the subscriptions are shared with other processes");
        let (weak, of_thread) = (Arc::downgrade(service), Arc::clone(&replica));
        let thread = std::thread::Builder::new()
            .name("replica".into())
            .spawn(move || of_thread.run(&weak))
            .map_err(|_| replica.log.silent())?;
        Ok(Running { replica, thread: Some(thread) })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of this process. Before its announcement is read it is that of none.
    fn process(&self) -> i64 {
        self.known().process.unwrap_or(-1)
    }

    fn run(&self, service: &Weak<Service>) {
        let mut looked_at = Instant::now();
        let mut retried = Instant::now();
        while !self.is_over.load(Ordering::Acquire) {
            let record = self.log.read(TICK);
            let Some(service) = service.upgrade() else { return };
            if let Some(record) = record {
                self.apply(&service, record);
            }
            if looked_at.elapsed() >= TICK {
                looked_at = Instant::now();
                if self.wants_events.load(Ordering::Acquire) {
                    self.follow(&service)
                        .unwrap_or_else(|error| warn!("WebSockets of this process have no events: {error}"));
                }
                if self.log.is_leader() {
                    self.expire(&service);
                }
                if retried.elapsed() >= RETRY {
                    retried = Instant::now();
                    self.retry(&service);
                    self.state.publish(&service, &*self.log);
                }
            }
        }
    }

    /// Makes the change of a record.
    fn apply(&self, service: &Service, record: LogRecord) {
        let LogRecord { feed, position, key, value, request } = record;
        if feed == Feed::State {
            return self.state.apply(service, &key, value.as_deref());
        }
        let mut had_effect = true;
        if key == PROCESS {
            if request.is_some() {
                let mut known = self.known();
                known.process.get_or_insert(position);
                known.ids = (position as u64, 0);
            }
        } else if let Ok(number) = key.parse() {
            had_effect = self.apply_change(service, Key(number), value.as_deref(), request);
        } else if let Some(records) = self.unreadable.count() {
            warn!(key, records, "records of the log are not of this program: left out");
        }
        let mut known = self.known();
        known.applied = position + 1;
        if let Some(awaited) = request.and_then(|request| known.awaited.get_mut(&request)) {
            awaited.had_effect = Some(had_effect);
        }
        drop(known);
        self.progress.notify_all();
    }

    /// Returns whether the record has an effect.
    fn apply_change(&self, service: &Service, key: Key, value: Option<&str>, request: Option<u64>) -> bool {
        let mut known = self.known();
        let Some(text) = value else {
            known.end(key);
            let existed = known.entries.remove(&key).is_some();
            drop(known);
            service.subscriptions().remove(key);
            service.withdraw(key);
            return existed;
        };
        let read = serde_json::from_str::<Record>(text).map_err(|error| error.to_string());
        let read = read.and_then(|record| {
            let (change, holder, is_noticed) = (record.change, record.holder, record.is_noticed);
            let new = record.into_subscription().map_err(|error| error.to_string())?;
            let entry = Entry { change, target: new.target.clone(), holder, is_noticed };
            Ok((entry, new))
        });
        let (entry, new) = match read {
            Ok(read) => read,
            Err(reason) => {
                if let Some(records) = self.unreadable.count() {
                    warn!(subscription = key.0, records, "records of the log cannot be read, left out: {reason}");
                }
                return false;
            }
        };
        let before = known.entries.get(&key).cloned();
        if known.ended.contains(&key) || before.as_ref().is_some_and(|before| before.change >= entry.change) {
            known.contested.insert(key);
            return false;
        }
        known.contested.remove(&key);
        known.expired.remove(&key);
        let process = known.process.unwrap_or(-1);
        let is_websocket = matches!(entry.target.channel, Channel::WebSocket);
        let is_held = entry.holder == process || known.claims.contains(&key);
        let is_tested =
            request.and_then(|request| known.awaited.get(&request)).is_some_and(|awaited| awaited.is_tested);
        let is_noticed = entry.is_noticed && before.is_some_and(|before| !before.is_noticed);
        let is_notified = is_noticed && if is_websocket { is_held } else { request.is_some() };
        let skips_notice = entry.is_noticed;
        known.entries.insert(key, entry);
        drop(known);
        let deadline = new.subscription.deadline;
        let is_same = self.store(service, key, &new.subscription, skips_notice);
        if is_websocket && !is_held {
            service.dispatcher.remove(key);
        } else if !is_same || is_tested || is_websocket {
            service.route(key, NewSubscription { is_tested, ..new });
        }
        if let Some(deadline) = deadline.filter(|_| is_notified) {
            service.notify(key, model::notification::expiry(deadline));
        }
        true
    }

    /// Stores a subscription in the table. Returns whether it was there with the same document.
    fn store(&self, service: &Service, key: Key, subscription: &Subscription, skips_notice: bool) -> bool {
        // the process that has written it has compared it with the bounds
        let limits = SubscriptionLimits { max_per_owner: usize::MAX, max_total: usize::MAX, ..*service.limits() };
        let now = Instant::now();
        let mut table = service.subscriptions();
        let is_same = table.get(key, now).is_some_and(|before| before.document == subscription.document);
        if !table.replace(key, subscription.clone(), &limits, now) {
            let _ = table.insert(key, subscription.clone(), &limits, now);
        }
        if skips_notice {
            table.skip_notice(key);
        }
        is_same
    }

    /// Appends a record and waits until it is read. Returns whether it has an effect.
    fn write(&self, key: &str, value: Option<&str>, is_tested: bool) -> Result<bool, BrokerError> {
        let request = self.last_request.fetch_add(1, Ordering::Relaxed) + 1;
        self.known().awaited.insert(request, Awaited { is_tested, had_effect: None });
        let appended = self.log.append(Feed::Subscriptions, key, value, request);
        let waits = |known: &mut Known| known.awaited.get(&request).is_some_and(|awaited| awaited.had_effect.is_none());
        let mut known = self.known();
        if appended.is_ok() {
            let waited = self.progress.wait_timeout_while(known, PATIENCE, waits);
            known = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let awaited = known.awaited.remove(&request);
        drop(known);
        appended?;
        awaited.and_then(|awaited| awaited.had_effect).ok_or_else(|| self.log.silent())
    }

    /// Waits until what is in the log now has its effect here.
    pub fn catch_up(&self) -> Result<(), BrokerError> {
        let end = self.log.end()?;
        let waited = self.progress.wait_timeout_while(self.known(), PATIENCE, |known| known.applied < end);
        if waited.unwrap_or_else(PoisonError::into_inner).1.timed_out() { Err(self.log.silent()) } else { Ok(()) }
    }

    /// A number that no subscription of any process has had.
    fn next_key(&self) -> Result<Key, BrokerError> {
        if self.known().ids.1 + 1 >= IDS {
            self.write(PROCESS, Some("{}"), false)?;
        }
        let mut known = self.known();
        known.ids.1 += 1;
        Ok(Key(known.ids.0 * IDS + known.ids.1))
    }

    /// Adds a subscription.
    pub fn subscribe(
        &self,
        service: &Service,
        create: impl FnOnce(Key) -> NewSubscription,
    ) -> Result<(Key, Arc<Subscription>), SubscriptionError> {
        let key = self.next_key().map_err(SubscriptionError::Broker)?;
        let NewSubscription { subscription, target, is_tested } = create(key);
        let limits = service.limits_of(&subscription.owner);
        service.subscriptions().check(&subscription.owner, &limits)?;
        self.prepare(service, &target).map_err(SubscriptionError::Broker)?;
        let record = Record::new(&subscription, &target, 1, self.process());
        let name = key.0.to_string();
        if let Err(error) = self.write(&name, Some(&record.text()), is_tested) {
            // the record may still arrive: the client has got an error, and does not expect a subscription
            let _ = self.log.append(Feed::Subscriptions, &name, None, UNAWAITED);
            return Err(SubscriptionError::Broker(error));
        }
        Ok((key, Arc::new(subscription)))
    }

    /// Changes a subscription: of `seen`, if it is given, only if it is as it was seen. Returns whether it exists.
    pub fn change(
        &self,
        service: &Service,
        key: Key,
        new: &NewSubscription,
        seen: Option<&Subscription>,
    ) -> Result<bool, SubscriptionError> {
        let NewSubscription { subscription, target, is_tested } = new;
        self.prepare(service, target).map_err(SubscriptionError::Broker)?;
        for _ in 0..MAX_ATTEMPTS {
            let Some(before) = self.known().entries.get(&key).cloned() else { return Ok(false) };
            if let Some(seen) = seen
                && service.subscription(key).is_none_or(|now| now.document != seen.document)
            {
                return Err(SubscriptionError::Changed);
            }
            // a WebSocket stays where it is open
            let was_websocket = matches!(before.target.channel, Channel::WebSocket);
            let holder = if was_websocket { before.holder } else { self.process() };
            let record = Record::new(subscription, target, before.change + 1, holder);
            let written = self.write(&key.0.to_string(), Some(&record.text()), *is_tested);
            if written.map_err(SubscriptionError::Broker)? {
                return Ok(true);
            }
        }
        Err(SubscriptionError::Changed)
    }

    /// Removes a subscription. Returns whether there was one.
    pub fn unsubscribe(&self, key: Key) -> Result<bool, BrokerError> {
        if !self.known().entries.contains_key(&key) {
            return Ok(false);
        }
        self.write(&key.0.to_string(), None, false)
    }

    /// Gets the events of all processes, if the target is a WebSocket.
    fn prepare(&self, service: &Service, target: &Target) -> Result<(), BrokerError> {
        if matches!(target.channel, Channel::WebSocket) { self.follow(service) } else { Ok(()) }
    }

    fn follow(&self, service: &Service) -> Result<(), BrokerError> {
        let sink: Arc<dyn Sink> = Arc::<crate::dispatcher::Dispatcher>::clone(&service.dispatcher);
        self.log.follow(sink)?;
        self.wants_events.store(false, Ordering::Release);
        Ok(())
    }

    /// A WebSocket is opened here: its notifications come to this process from now on.
    pub fn claim(&self, service: &Service, key: Key) {
        let mut known = self.known();
        let process = known.process.unwrap_or(-1);
        let Some(entry) = known.entries.get(&key).cloned() else { return };
        if !matches!(entry.target.channel, Channel::WebSocket) || entry.holder == process {
            return;
        }
        known.claims.insert(key);
        drop(known);
        self.wants_events.store(true, Ordering::Release);
        if let Some(subscription) = service.subscription(key) {
            let new = NewSubscription { subscription: (*subscription).clone(), target: entry.target, is_tested: false };
            service.route(key, new);
            self.restate(service, key, |entry| entry.holder = process);
        }
    }

    /// Appends a record of what a subscription is, after a change of how it is delivered.
    fn restate(&self, service: &Service, key: Key, adapt: impl FnOnce(&mut Entry)) {
        let entry = self.known().entries.get(&key).cloned();
        let (Some(mut entry), Some(subscription)) = (entry, service.subscription(key)) else { return };
        adapt(&mut entry);
        let mut record = Record::new(&subscription, &entry.target, entry.change + 1, entry.holder);
        record.is_noticed = entry.is_noticed;
        // if it is lost, it is repeated
        let _ = self.log.append(Feed::Subscriptions, &key.0.to_string(), Some(&record.text()), UNAWAITED);
    }

    /// What the leader does for subscriptions with a deadline.
    fn expire(&self, service: &Service) {
        let due = service.subscriptions().due(Instant::now());
        for due in due {
            match due {
                Due::Notice(key, _) => self.restate(service, key, |entry| entry.is_noticed = true),
                Due::Expired(key) => {
                    info!(subscription = key.0, "subscription expired: removed");
                    self.known().expired.insert(key);
                    let _ = self.log.append(Feed::Subscriptions, &key.0.to_string(), None, UNAWAITED);
                }
            }
        }
    }

    /// Repeats what may have been lost, or had no effect.
    fn retry(&self, service: &Service) {
        let mut known = self.known();
        let process = known.process.unwrap_or(-1);
        let Known { claims, entries, .. } = &mut *known;
        claims.retain(|key| {
            let is_open = service.delivery_state(*key).is_some_and(|state| state.is_connected);
            is_open && entries.get(key).is_some_and(|entry| entry.holder != process)
        });
        let (claims, expired, contested) = (known.claims.clone(), known.expired.clone(), known.contested.clone());
        drop(known);
        claims.into_iter().for_each(|key| self.restate(service, key, |entry| entry.holder = process));
        if !self.log.is_leader() {
            return;
        }
        for key in contested {
            if self.known().entries.contains_key(&key) {
                self.restate(service, key, |_| ());
            } else {
                let _ = self.log.append(Feed::Subscriptions, &key.0.to_string(), None, UNAWAITED);
            }
        }
        for key in expired {
            let _ = self.log.append(Feed::Subscriptions, &key.0.to_string(), None, UNAWAITED);
        }
    }

    /// Whether this process leads.
    pub fn is_leader(&self) -> bool {
        self.log.is_leader()
    }

    /// Whether this process writes the latest state.
    pub fn set_collecting(&self, service: &Service, collecting: Option<Collecting>) {
        self.state.set_collecting(service, collecting);
    }
}

impl Known {
    fn end(&mut self, key: Key) {
        self.contested.remove(&key);
        self.expired.remove(&key);
        self.claims.remove(&key);
        self.ended.insert(key);
        while self.ended.len() > MAX_ENDED {
            self.ended.pop_first();
        }
    }
}
