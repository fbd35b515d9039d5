//! Which notification is sent when: a state machine without clock, sockets and randomness, which its caller passes in.
//!
//! A subscription sends one notification at a time, so that its order holds. When it has something to send it gets a tag of its
//! tenant ([`Tenant::tag`]) and waits among the others that are ready, lowest tag first. It leaves that order only to wait for
//! something: a connection of its server, the quota of its tenant, the end of a pause after a failure, or its WebSocket.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Notification;
use super::breaker::Breaker;
use super::callback::{Channel, Endpoint, Target};
use super::config::DeliveryConfig;
use super::queue::{Queue, Waiting, octets_of};
use super::state::{DeliveryError, DeliveryState, DeliveryTotals, Latencies, RecentDeliveries};
use super::tenant::{Tenant, TenantShare};
use crate::matcher::Key;

/// A notification to send. Each ends with one call of [`Scheduler::finish`].
#[derive(Debug)]
pub struct Job {
    pub key: Key,
    /// The subscription among those that have had this key.
    instance: u64,
    pub target: Arc<Target>,
    pub waiting: Arc<Waiting>,
    /// The subscriber may have received it before.
    pub is_repeated: bool,
}

/// What a subscription waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A notification.
    Empty,
    /// Its turn, with the number of its place in the order.
    Ready(u64),
    /// A connection of its server.
    Host,
    /// The quota of its tenant, or the tenant's share of the requests.
    Tenant,
    /// The end of a pause.
    Pause,
    /// The subscriber, who has not opened the WebSocket.
    Detached,
    /// An answer.
    InFlight,
}

#[derive(Debug)]
struct Subscription {
    instance: u64,
    target: Arc<Target>,
    phase: Phase,
    queue: Queue,
    /// The one in flight; it returns to the front after a failure.
    head: Option<Arc<Waiting>>,
    /// How often the head has been sent to a server.
    attempts: u32,
    breaker: Breaker,
    is_connected: bool,
    delivered: u64,
    dropped: u64,
    failures: u64,
    last_error: Option<DeliveryError>,
    latencies: Option<Box<Latencies>>,
}

/// A server of callbacks.
#[derive(Debug, Default)]
struct Host {
    references: usize,
    in_flight: usize,
    max_in_flight: usize,
    waiting: BinaryHeap<Reverse<(u64, Key)>>,
}

/// A place in the order: tag, number, subscription.
type Turn = Reverse<(u64, u64, Key)>;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Pause(Key, u64),
    Quota(Arc<str>),
}

/// The queues of all subscriptions.
#[derive(Debug)]
pub struct Scheduler {
    config: DeliveryConfig,
    subscriptions: HashMap<Key, Subscription>,
    hosts: HashMap<Arc<Endpoint>, Host>,
    tenants: HashMap<Arc<str>, Tenant>,
    shares: HashMap<Arc<str>, TenantShare>,
    ready: BinaryHeap<Turn>,
    timers: BinaryHeap<Reverse<(Instant, Timer)>>,
    virtual_time: u64,
    last_number: u64,
    random: u64,
    totals: DeliveryTotals,
    latencies: Latencies,
    /// Those since they were taken, once somebody takes them.
    recent: Option<Latencies>,
}

impl Scheduler {
    pub fn new(config: DeliveryConfig) -> Self {
        let random = config.seed | 1;
        Scheduler {
            config,
            subscriptions: HashMap::new(),
            hosts: HashMap::new(),
            tenants: HashMap::new(),
            shares: HashMap::new(),
            ready: BinaryHeap::new(),
            timers: BinaryHeap::new(),
            virtual_time: 0,
            last_number: 0,
            random,
            totals: DeliveryTotals::default(),
            latencies: Latencies::new(2),
            recent: None,
        }
    }

    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Sets the share of a tenant.
    pub fn set_share(&mut self, name: Arc<str>, share: TenantShare, now: Instant) {
        if let Some(tenant) = self.tenants.get_mut(&name) {
            tenant.set_share(share, now);
            self.release(&name, usize::MAX);
        }
        if share == TenantShare::default() {
            self.shares.remove(&name);
        } else {
            self.shares.insert(name, share);
        }
    }

    /// Adds a subscription, or changes its target: then what waits for it is sent there, at once.
    pub fn insert(&mut self, key: Key, target: Target, now: Instant) {
        let target = Arc::new(target);
        self.refer(&target, now);
        let is_websocket = matches!(target.channel, Channel::WebSocket);
        if let Some(subscription) = self.subscriptions.get_mut(&key) {
            let old = std::mem::replace(&mut subscription.target, target);
            subscription.is_connected &= is_websocket;
            if subscription.breaker.is_tripped(&self.config) {
                self.totals.open_breakers -= 1;
            }
            subscription.breaker.close();
            let is_in_flight = subscription.phase == Phase::InFlight;
            self.pass_on(&old, now);
            self.unrefer(&old);
            if !is_in_flight {
                self.make_ready(key);
            }
            return;
        }
        let subscription = Subscription {
            instance: self.number(),
            target,
            phase: if is_websocket { Phase::Detached } else { Phase::Empty },
            queue: Queue::default(),
            head: None,
            attempts: 0,
            breaker: Breaker::default(),
            is_connected: false,
            delivered: 0,
            dropped: 0,
            failures: 0,
            last_error: None,
            latencies: None,
        };
        self.totals.subscriptions += 1;
        self.subscriptions.insert(key, subscription);
    }

    /// Removes a subscription and what waits for it.
    pub fn remove(&mut self, key: Key, now: Instant) {
        let Some(mut subscription) = self.subscriptions.remove(&key) else { return };
        self.totals.subscriptions -= 1;
        if subscription.breaker.is_tripped(&self.config) {
            self.totals.open_breakers -= 1;
        }
        self.totals.waiting -= subscription.queue.len() + usize::from(subscription.head.is_some());
        let of_head = subscription.head.take().map_or(0, |head| octets_of(&head));
        self.totals.waiting_octets -= subscription.queue.octets() + of_head;
        self.pass_on(&subscription.target, now);
        self.unrefer(&subscription.target);
    }

    fn refer(&mut self, target: &Target, now: Instant) {
        let share = self.shares.get(&target.tenant).copied().unwrap_or_default();
        let tenant = self.tenants.entry(Arc::clone(&target.tenant)).or_insert_with(|| Tenant::new(share, now));
        tenant.references += 1;
        if let Some(endpoint) = target.endpoint() {
            let config = &self.config;
            let is_http2 = config.is_http2_assumed && !endpoint.is_secured;
            let max_in_flight = if is_http2 { config.max_host_streams } else { config.max_host_connections };
            let host = self.hosts.entry(Arc::clone(endpoint)).or_default();
            host.max_in_flight = host.max_in_flight.max(max_in_flight);
            host.references += 1;
        }
    }

    fn unrefer(&mut self, target: &Target) {
        if let Some(tenant) = self.tenants.get_mut(&target.tenant) {
            tenant.references -= 1;
            if tenant.references == 0 {
                self.tenants.remove(&target.tenant);
            }
        }
        if let Some(endpoint) = target.endpoint()
            && let Some(host) = self.hosts.get_mut(endpoint)
        {
            host.references -= 1;
            if host.references == 0 {
                self.hosts.remove(endpoint);
            }
        }
    }

    /// The server speaks HTTP/2: more requests fit on its connection.
    pub fn note_http2(&mut self, endpoint: &Endpoint) {
        if let Some(host) = self.hosts.get_mut(endpoint) {
            host.max_in_flight = self.config.max_host_streams;
        }
    }

    /// Queues a notification for subscriptions; those that do not exist any more are left out.
    pub fn send(&mut self, keys: &[Key], notification: Notification, now: Instant) {
        let waiting = Arc::new(Waiting { notification, queued: now });
        let octets = octets_of(&waiting);
        for key in keys {
            let Some(subscription) = self.subscriptions.get_mut(key) else { continue };
            subscription.queue.push(Arc::clone(&waiting));
            self.totals.waiting += 1;
            self.totals.queued += 1;
            self.totals.waiting_octets += octets;
            let of_rest = self.config.max_total_octets.saturating_sub(self.totals.waiting_octets) / 4;
            let max_octets = self.config.max_waiting_octets.min(of_rest);
            let queue = &mut subscription.queue;
            while queue.len() > 1 && (queue.len() > self.config.max_waiting || queue.octets() > max_octets) {
                if let Some(dropped) = queue.pop() {
                    subscription.dropped += 1;
                    self.totals.dropped += 1;
                    self.totals.waiting -= 1;
                    self.totals.waiting_octets -= octets_of(&dropped);
                }
            }
            if subscription.phase == Phase::Empty {
                self.make_ready(*key);
            }
        }
    }

    /// Lets a subscription wait for its turn, if it has something to send and can.
    fn make_ready(&mut self, key: Key) {
        let number = self.number();
        let Some(subscription) = self.subscriptions.get_mut(&key) else { return };
        let is_websocket = matches!(subscription.target.channel, Channel::WebSocket);
        if is_websocket && !subscription.is_connected {
            subscription.phase = Phase::Detached;
        } else if subscription.head.is_none() && subscription.queue.is_empty() {
            subscription.phase = Phase::Empty;
        } else if let Some(tenant) = self.tenants.get_mut(&subscription.target.tenant) {
            subscription.phase = Phase::Ready(number);
            self.ready.push(Reverse((tenant.tag(self.virtual_time), number, key)));
        }
    }

    /// Returns what is to be sent now; the caller repeats until there is nothing.
    pub fn next(&mut self, now: Instant) -> Option<Job> {
        self.fire_timers(now);
        while let Some(Reverse((tag, number, key))) = self.ready.pop() {
            let Some(subscription) = self.subscriptions.get_mut(&key) else { continue };
            if subscription.phase != Phase::Ready(number) {
                continue;
            }
            self.virtual_time = self.virtual_time.max(tag);
            let target = &subscription.target;
            let Some(tenant) = self.tenants.get_mut(&target.tenant) else { continue };
            let mut host = target.endpoint().and_then(|endpoint| self.hosts.get_mut(endpoint));
            if let Some(host) = &mut host
                && host.in_flight >= host.max_in_flight
            {
                subscription.phase = Phase::Host;
                host.waiting.push(Reverse((tag, key)));
                let target = Arc::clone(target);
                self.pass_on(&target, now);
                continue;
            }
            let left = self.config.max_in_flight.saturating_sub(self.totals.in_flight);
            if tenant.in_flight >= left.max(1) || tenant.allowance(now) == 0 {
                subscription.phase = Phase::Tenant;
                tenant.return_tag(tag);
                tenant.waiting.push_back(key);
                let target = Arc::clone(target);
                self.pass_on(&target, now);
                continue;
            }
            self.totals.retried += u64::from(subscription.head.is_some());
            let Some(waiting) = subscription.head.take().or_else(|| subscription.queue.pop()) else {
                subscription.phase = Phase::Empty;
                continue;
            };
            subscription.phase = Phase::InFlight;
            subscription.head = Some(Arc::clone(&waiting));
            tenant.take();
            self.totals.in_flight += 1;
            tenant.in_flight += 1;
            tenant.references += 1;
            if let Some(host) = host {
                host.in_flight += 1;
                host.references += 1;
            }
            return Some(Job {
                key,
                instance: subscription.instance,
                target: Arc::clone(target),
                is_repeated: subscription.attempts > 0 || waiting.notification.is_redelivered,
                waiting,
            });
        }
        None
    }

    fn fire_timers(&mut self, now: Instant) {
        while self.timers.peek().is_some_and(|Reverse((when, _))| *when <= now) {
            let Some(Reverse((_, timer))) = self.timers.pop() else { return };
            match timer {
                Timer::Pause(key, instance) => {
                    let subscription = self.subscriptions.get(&key);
                    if subscription.is_some_and(|s| s.instance == instance && s.phase == Phase::Pause) {
                        self.make_ready(key);
                    }
                }
                Timer::Quota(name) => {
                    let Some(tenant) = self.tenants.get_mut(&name) else { continue };
                    tenant.has_timer = false;
                    // at least one, which sets the next timer if it is too early
                    let count = tenant.allowance(now).max(1);
                    self.release(&name, count);
                }
            }
        }
    }

    /// Lets subscriptions that wait for their tenant try again.
    fn release(&mut self, tenant: &Arc<str>, count: usize) {
        let mut released = 0;
        while released < count {
            let Some(key) = self.tenants.get_mut(tenant).and_then(|tenant| tenant.waiting.pop_front()) else { return };
            if self.subscriptions.get(&key).is_some_and(|subscription| subscription.phase == Phase::Tenant) {
                self.make_ready(key);
                released += 1;
            }
        }
    }

    /// Gives what a subscription does not use, or not any more, to the next that waits for its server and its tenant.
    fn pass_on(&mut self, target: &Target, now: Instant) {
        if let Some(endpoint) = target.endpoint()
            && let Some(host) = self.hosts.get_mut(endpoint)
            && host.in_flight < host.max_in_flight
        {
            while let Some(Reverse((tag, next))) = host.waiting.pop() {
                if let Some(subscription) = self.subscriptions.get_mut(&next)
                    && subscription.phase == Phase::Host
                {
                    self.last_number += 1;
                    subscription.phase = Phase::Ready(self.last_number);
                    self.ready.push(Reverse((tag, self.last_number, next)));
                    break;
                }
            }
        }
        let left = self.config.max_in_flight.saturating_sub(self.totals.in_flight);
        let Some(tenant) = self.tenants.get_mut(&target.tenant) else { return };
        if tenant.waiting.is_empty() || tenant.in_flight >= left.max(1) {
            return;
        }
        if tenant.allowance(now) > 0 {
            self.release(&target.tenant, 1);
        } else if !tenant.has_timer {
            tenant.has_timer = true;
            self.timers.push(Reverse((now + tenant.pause(), Timer::Quota(Arc::clone(&target.tenant)))));
        }
    }

    /// When [`Scheduler::next`] has something to do though nothing happens before.
    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.peek().map(|Reverse((when, _))| *when)
    }

    /// Notes what became of a notification.
    pub fn finish(&mut self, job: Job, result: Result<(), DeliveryError>, now: Instant) {
        let Job { key, instance, target, waiting, .. } = job;
        self.totals.in_flight -= 1;
        if let Some(endpoint) = target.endpoint()
            && let Some(host) = self.hosts.get_mut(endpoint)
        {
            host.in_flight -= 1;
        }
        if let Some(tenant) = self.tenants.get_mut(&target.tenant) {
            tenant.in_flight -= 1;
        }
        self.pass_on(&target, now);
        self.unrefer(&target);
        match &result {
            Ok(()) => {
                self.totals.delivered += 1;
                let us = now.saturating_duration_since(waiting.queued).as_micros() as u64;
                self.latencies.record(us);
                if let Some(recent) = &mut self.recent {
                    recent.record(us);
                }
            }
            Err(_) => self.totals.failures += 1,
        }
        let subscription = self.subscriptions.get_mut(&key);
        let Some(subscription) = subscription.filter(|subscription| subscription.instance == instance) else { return };
        let was_open = subscription.breaker.is_tripped(&self.config);
        let pause = subscription.note(result, &waiting, now, &self.config, || {
            // xorshift64
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            self.random
        });
        let is_open = subscription.breaker.is_tripped(&self.config);
        self.totals.open_breakers = self.totals.open_breakers + usize::from(is_open) - usize::from(was_open);
        if subscription.head.is_none() {
            self.totals.waiting -= 1;
            self.totals.waiting_octets -= octets_of(&waiting);
            self.totals.dropped += u64::from(matches!(pause, Outcome::Dropped(_)));
        }
        // a target that has changed in the meantime is tried at once
        let has_moved = !Arc::ptr_eq(&subscription.target, &target);
        match pause {
            Outcome::Delivered => self.make_ready(key),
            Outcome::Repeat(_) | Outcome::Dropped(_) if has_moved => self.make_ready(key),
            Outcome::Repeat(pause) | Outcome::Dropped(pause) => {
                subscription.phase = Phase::Pause;
                self.timers.push(Reverse((now + pause, Timer::Pause(key, instance))));
            }
        }
    }

    /// The subscriber has opened or closed its WebSocket. Returns whether the subscription is one of a WebSocket.
    pub fn set_connected(&mut self, key: Key, is_connected: bool) -> bool {
        let Some(subscription) = self.subscriptions.get_mut(&key) else { return false };
        if !matches!(subscription.target.channel, Channel::WebSocket) {
            return false;
        }
        subscription.is_connected = is_connected;
        if subscription.phase != Phase::InFlight {
            self.make_ready(key);
        }
        true
    }

    /// The state of a subscription.
    pub fn state(&self, key: Key) -> Option<DeliveryState> {
        let s = self.subscriptions.get(&key)?;
        let at = |quantile| s.latencies.as_ref().map_or(0, |latencies| latencies.at(quantile));
        Some(DeliveryState {
            waiting: s.queue.len() + usize::from(s.head.is_some()),
            waiting_octets: s.queue.octets() + s.head.as_ref().map_or(0, |head| octets_of(head)),
            delivered: s.delivered,
            dropped: s.dropped,
            failures: s.failures,
            breaker: s.breaker.state(&self.config, s.phase == Phase::InFlight),
            is_connected: s.is_connected,
            last_error: s.last_error.as_ref().map(ToString::to_string),
            p50_us: at(0.5),
            p99_us: at(0.99),
            max_us: s.latencies.as_ref().map_or(0, |latencies| latencies.max()),
        })
    }

    /// What was delivered since the last call.
    pub fn take_recent(&mut self) -> RecentDeliveries {
        self.recent.get_or_insert_with(|| Latencies::new(2)).take()
    }

    /// Where the notifications of a subscription go.
    pub fn target(&self, key: Key) -> Option<Arc<Target>> {
        self.subscriptions.get(&key).map(|subscription| Arc::clone(&subscription.target))
    }

    /// The state of all of them.
    pub fn totals(&self) -> DeliveryTotals {
        DeliveryTotals { p50_us: self.latencies.at(0.5), p99_us: self.latencies.at(0.99), ..self.totals }
    }
}

/// What follows an attempt.
enum Outcome {
    Delivered,
    /// The same notification is sent again after a pause.
    Repeat(Duration),
    /// It is dropped; the next one follows after a pause.
    Dropped(Duration),
}

impl Subscription {
    fn note(
        &mut self,
        result: Result<(), DeliveryError>,
        waiting: &Waiting,
        now: Instant,
        config: &DeliveryConfig,
        random: impl FnOnce() -> u64,
    ) -> Outcome {
        let error = match result {
            Ok(()) => {
                self.delivered += 1;
                let us = now.saturating_duration_since(waiting.queued).as_micros() as u64;
                self.latencies.get_or_insert_with(|| Box::new(Latencies::new(1))).record(us);
                self.breaker.close();
                (self.head, self.attempts) = (None, 0);
                return Outcome::Delivered;
            }
            Err(error) => error,
        };
        self.failures += 1;
        self.attempts += u32::from(error.counts_as_attempt());
        let is_dropped = error.is_final() || self.attempts >= config.max_attempts;
        self.last_error = Some(error);
        let pause = self.breaker.note_failure(config, random());
        if is_dropped {
            self.dropped += 1;
            (self.head, self.attempts) = (None, 0);
            Outcome::Dropped(pause)
        } else {
            Outcome::Repeat(pause)
        }
    }
}

#[cfg(test)]
mod tests;
